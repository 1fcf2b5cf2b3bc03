"""Where the marks of a model go that are drawn over it: gathered from its objects and bones, as they stand.

What changes with every frame (where bodies are, what bones are posed at) is read with one call for all; the records of
joints are read once and again when they change."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...model.inertia import body_inertia
from ...model.kinematics import joint_coordinates
from ...model.marks import (
    Degrees,
    Drawing,
    across,
    draw_axes,
    draw_balls,
    draw_boxes,
    draw_centres,
    draw_stops,
    draw_twins,
    inertia_box,
    measured,
    moved,
    side_frames,
    without_scale,
)
from ...model.records import Array, Body, Dof, Joint
from ...model.rotations import inverse
from ..access import armature_of, record_of, settings
from ..joint_axes import constraint_turn
from ..model_parts import is_part, joint_bones, rigs_in
from ..physics.coordinates import closed_form
from ..records import read_dofs, read_shape, stops, unflat

#: What can be drawn, in the order in which it is offered.
KINDS = ("axes", "stops", "twins", "centres", "inertia")
#: The radius of a dial as a share of the model's size: at least, and at most.
_LEAST, _MOST = 0.025, 0.085
_REACH = 0.6  # and of the way from the joint to its body's centre of mass
_INNER = 0.8  # how much smaller each further dial of one joint is
_CENTRE = 0.016  # the sign of a centre of mass, as a share of the model's size

Reader = Callable[[Array], Array]


@dataclass
class _Degree:
    joint: int
    level: int
    dof: Dof
    bone: int = -1  # number of the bone that poses it
    slot: int = 0  # which of the bone's six numbers: its location, then its turns
    block: bool = False


@dataclass
class Roster:
    """What is known of a model until its records change: rows of its collection's objects, and their numbers."""

    objects: NDArray[np.int64]
    bones: int
    empty: list[int] = field(default_factory=list)  # per joint, of it, its parent and its child; -1 for the world
    parent: list[int] = field(default_factory=list)
    child: list[int] = field(default_factory=list)
    turn: list[Array] = field(default_factory=list)  # from its empty to its frame
    opening: list[Array] = field(default_factory=list)
    degrees: list[_Degree] = field(default_factory=list)
    readers: dict[int, Reader] = field(default_factory=dict)  # of joints of several degrees, or of blocks
    posed: list[bool] = field(default_factory=list)  # whether bones have all its coordinates
    bodies: list[int] = field(default_factory=list)
    boxes: list[tuple[int, Array, Array]] = field(default_factory=list)
    pairs: list[tuple[int, int]] = field(default_factory=list)


_rosters: dict[int, Roster] = {}


def forget() -> None:
    """Records changed, or objects came and went: read all anew when it is needed."""
    _rosters.clear()


def draw_models(scene: bpy.types.Scene, kinds: Collection[str], size: float = 1.0) -> Drawing:
    """All marks of some ``KINDS`` of the models of a scene that can be seen, dials ``size`` times as large as usual."""
    drawing = Drawing()
    for rig in rigs_in(scene):
        if settings(rig).collection is not None:
            _draw(drawing, rig, kinds, size)
    return drawing


def _draw(drawing: Drawing, rig: bpy.types.Object, kinds: Collection[str], size: float) -> None:
    stand = Stand(rig, size)
    if {"axes", "stops"} & set(kinds):
        degrees, frames, radius = stand.degrees()
        if "axes" in kinds:
            draw_axes(drawing, degrees)
            draw_balls(drawing, frames, 0.5 * radius)
        if "stops" in kinds:
            draw_stops(drawing, degrees)
    if "twins" in kinds:
        stand.draw_twins(drawing)
    if "inertia" in kinds:
        stand.draw_inertia(drawing)
    if "centres" in kinds:
        stand.draw_centres(drawing)


class Stand:
    """A model as it stands at this moment."""

    def __init__(self, rig: bpy.types.Object, size: float = 1.0) -> None:
        self.rig, self.wish = rig, size
        self.objects = settings(rig).collection.all_objects
        self.roster = _roster(rig)
        self.world, self.basis = (_matrices(self.objects, name) for name in ("matrix_world", "matrix_basis"))
        self.scale = float(np.mean(rig.matrix_world.to_scale()))
        places = self.basis[self.roster.bodies, :3, 3]
        span = float(np.ptp(places, axis=0).max(initial=0.0)) if len(places) else 0.0
        self.size = (span or 1.0) * self.scale * size

    def seen(self) -> NDArray[np.bool_]:
        """Which objects can be seen, of bodies."""
        seen = np.zeros(len(self.objects), bool)
        for row in self.roster.bodies:
            seen[row] = self.objects[row].visible_get()
        return seen

    def sides(self) -> tuple[Array, Array]:
        """Each joint's frame, (joints, 4, 4), as its parent carries it and as its child does."""
        roster = self.roster
        design = without_scale(self.basis[roster.empty]) @ np.stack(roster.turn)
        of_child = design @ np.stack(roster.opening)
        world = np.array(self.rig.matrix_world, dtype=np.float64)[None]

        def side(rows: list[int], frames: Array) -> Array:
            those, still = np.array(rows), np.array(rows) < 0
            now, then = self.world[those].copy(), self.basis[those].copy()
            now[still], then[still] = world, np.eye(4)
            return side_frames(now, then, frames, self.scale)

        return side(roster.parent, design), side(roster.child, of_child)

    def degrees(self, joint: int | None = None) -> tuple[Degrees, Array, Array]:
        """The joints' degrees of freedom of one coordinate; the frames (k, 4, 4) of their balls and free blocks, and
        radii (k,) for those. Of one joint alone all degrees, also of bodies that are hidden."""
        roster = self.roster
        if not roster.empty:
            return _no_degrees(), np.zeros((0, 4, 4)), np.zeros(0)
        parent, child = self.sides()
        values = self._values(inverse(parent) @ child)
        hint, radius = self._dials()
        chosen = self._shown() if joint is None else np.arange(len(roster.empty)) == joint
        frames, rows, blocks, radii = parent.copy(), [], [], []
        for level in range(max((degree.level for degree in roster.degrees), default=-1) + 1):
            here = [(k, degree) for k, degree in enumerate(roster.degrees) if degree.level == level]
            for block in (False, True):
                mine = [(k, degree) for k, degree in here if degree.block == block and chosen[degree.joint]]
                joints = np.array([degree.joint for _, degree in mine], dtype=int)
                if block:
                    blocks.append(frames[joints])
                    radii.append(radius[joints])
                elif mine:
                    those = np.array([k for k, _ in mine])
                    rows.append(self._dial(those, frames[joints], values, hint[joints], radius[joints] * _INNER**level))
            self._move_on(frames, here, values)
        degrees = _joined(rows)
        return degrees, np.concatenate([np.zeros((0, 4, 4)), *blocks]), np.concatenate([np.zeros(0), *radii])

    def _dial(self, rows: NDArray[np.int64], frames: Array, values: Array, hint: Array, radius: Array) -> Degrees:
        axes, turns, lower, upper, _pitch = self._numbers()
        axis = axes[rows]
        zero = across(axis, np.einsum("nji,nj->ni", frames[:, :3, :3], hint))
        turned = frames[:, :3, :3]
        return Degrees(
            frames[:, :3, 3],
            np.einsum("nij,nj->ni", turned, axis),
            np.einsum("nij,nj->ni", turned, zero),
            radius,
            turns[rows],
            np.full(len(rows), self.scale),
            values[rows],
            lower[rows],
            upper[rows],
        )

    def _move_on(self, frames: Array, here: list[tuple[int, _Degree]], values: Array) -> None:
        """Frames behind these degrees of freedom: what comes after a turn is turned."""
        last = max((degree.level for degree in self.roster.degrees), default=0)
        single = [(k, degree) for k, degree in here if not degree.block]
        if not single or single[0][1].level == last:
            return
        axes, turns, _lower, _upper, pitch = self._numbers()
        rows, joints = np.array([k for k, _ in single]), np.array([degree.joint for _, degree in single])
        value = np.nan_to_num(values[rows])[:, None] * axes[rows]
        turn, slide = np.where(turns[rows, None], value, 0.0), np.where(turns[rows, None], value * pitch[rows, None], value)
        frames[joints] = moved(frames[joints], turn, slide * self.scale)

    def _numbers(self) -> tuple[Array, NDArray[np.bool_], Array, Array, Array]:
        """Of all degrees: axes, whether they turn, stops, pitches."""
        dofs = [degree.dof for degree in self.roster.degrees]
        axis = np.array([dof.axis for dof in dofs]).reshape(-1, 3)
        lower, upper = (np.array([_or_nan(getattr(dof, end)) for dof in dofs]) for end in ("lower", "upper"))
        turns = np.array([dof.kind != "translation" for dof in dofs], dtype=bool)
        pitch = np.array([dof.pitch if dof.kind == "screw" else 0.0 for dof in dofs])
        return axis / np.linalg.norm(axis, axis=1, keepdims=True), turns, lower, upper, pitch

    def _values(self, motion: Array) -> Array:
        """The present values of all degrees: what bones are posed at while bodies follow them, else what is measured
        on the bodies."""
        roster = self.roster
        axes, turns, *_ = self._numbers()
        joints = np.array([degree.joint for degree in roster.degrees], dtype=int)
        local = motion.copy()
        local[:, :3, 3] /= self.scale
        out = measured(local[joints], axes, turns)
        posed = np.array(roster.posed, dtype=bool)[joints] & (settings(self.rig).drive == "KEYS")
        if posed.any():
            channels = _channels(self.rig)
            bone = np.array([degree.bone for degree in roster.degrees])
            slot = np.array([degree.slot for degree in roster.degrees])
            out[posed] = channels[bone[posed], slot[posed]]
        rows: dict[int, list[int]] = {}
        for k, degree in enumerate(roster.degrees):
            if degree.joint in roster.readers and not posed[k]:
                rows.setdefault(degree.joint, []).append(k)
        for joint, mine in rows.items():
            out[mine] = _singles(roster, mine, roster.readers[joint](local[joint]))
        return out

    def _dials(self) -> tuple[Array, Array]:
        """Where the hands of dials point at 0, (joints, 3) in the world, towards the body that moves; and radii."""
        roster = self.roster
        place = self.basis[roster.empty]
        child, parent = np.array(roster.child), np.array(roster.parent)
        of_child = self.basis[child, :3, 3] - place[:, :3, 3]
        of_parent = place[:, :3, 3] - self.basis[parent, :3, 3]
        of_child[child < 0], of_parent[parent < 0] = 0.0, 0.0
        reach = np.linalg.norm(of_child, axis=1)
        blind = reach < 1e-6
        of_child[blind], reach[blind] = of_parent[blind], np.linalg.norm(of_parent[blind], axis=1)
        turned, _ = self.sides()
        local = np.einsum("nji,nj->ni", (without_scale(place) @ np.stack(roster.turn))[:, :3, :3], of_child)
        radius = np.clip(_REACH * self.wish * self.scale * reach, _LEAST * self.size, _MOST * self.size)
        return np.einsum("nij,nj->ni", turned[:, :3, :3], local), radius

    def _shown(self) -> NDArray[np.bool_]:
        """Joints of which either body can be seen."""
        seen = np.append(self.seen(), False)
        return seen[np.array(self.roster.parent)] | seen[np.array(self.roster.child)]

    def draw_twins(self, drawing: Drawing) -> None:
        """Lines between twins of which the bodies can be seen."""
        seen = self.seen() | ~np.isin(np.arange(len(self.objects)), self.roster.bodies)
        pairs = np.array([pair for pair in self.roster.pairs if seen[list(pair)].all()], dtype=int).reshape(-1, 2)
        place = self.world[:, :3, 3]
        draw_twins(drawing, place[pairs[:, 0]], place[pairs[:, 1]])

    def draw_centres(self, drawing: Drawing) -> None:
        """Bodies' centres of mass: the origins of their objects."""
        places = self.world[self.seen(), :3, 3]
        draw_centres(drawing, places, np.full(len(places), _CENTRE * self.size))

    def draw_inertia(self, drawing: Drawing) -> None:
        """The boxes that turn as the bodies do."""
        seen = self.seen()
        mine = [(row, axes, edges) for row, axes, edges in self.roster.boxes if seen[row]]
        if not mine:
            return
        poses = self.world[[row for row, _, _ in mine]].copy()
        poses[:, :3, :3] = poses[:, :3, :3] @ np.stack([axes for _, axes, _ in mine])
        draw_boxes(drawing, poses, np.stack([edges for _, _, edges in mine]))


def degrees_of(empty: bpy.types.Object) -> Degrees:
    """The degrees of freedom of one coordinate of one joint, as they stand, in the order of its record."""
    rig = record_of(empty).model
    stand = Stand(rig)
    row = int(np.flatnonzero(stand.roster.objects == empty.session_uid)[0])
    if row not in stand.roster.empty:
        return _no_degrees()
    return stand.degrees(stand.roster.empty.index(row))[0]


# ---------------------------------------------------------------- reading


def _roster(rig: bpy.types.Object) -> Roster:
    objects = settings(rig).collection.all_objects
    uids = np.empty(len(objects), dtype=np.int32)
    objects.foreach_get("session_uid", uids)
    bones = len(rig.pose.bones)
    found = _rosters.get(rig.session_uid)
    if found is None or found.bones != bones or not np.array_equal(found.objects, uids):
        found = _rosters[rig.session_uid] = _read(rig, Roster(uids.astype(np.int64), bones))
    return found


def _read(rig: bpy.types.Object, roster: Roster) -> Roster:
    objects = list(settings(rig).collection.all_objects)
    row_of = {obj.session_uid: row for row, obj in enumerate(objects)}
    chains, number = joint_bones(rig), {bone.name: k for k, bone in enumerate(armature_of(rig).bones)}
    by_id: dict[tuple[str, str], int] = {}
    for row, obj in enumerate(objects):
        role = record_of(obj).role
        if role not in {"BODY", "JOINT"} or not is_part(obj, rig, role):
            continue
        by_id.setdefault((role, record_of(obj).source_id), row)
        if role == "BODY":
            _read_body(roster, row, obj)
        elif record_of(obj).joint.active:
            chain = [number[name] for name in chains.get(record_of(obj).source_id, ())]
            _read_joint(roster, row, obj, row_of, chain)
    for (role, key), row in by_id.items():
        mate = by_id.get((role, record_of(objects[row]).twin))
        if mate is not None and mate > row and record_of(objects[mate]).twin == key:
            roster.pairs.append((row, mate))
    return roster


def _read_body(roster: Roster, row: int, obj: bpy.types.Object) -> None:
    roster.bodies.append(row)
    record = record_of(obj)
    if record.has_tensor:
        tensor = np.array(record.tensor, dtype=np.float64).reshape(3, 3)
    else:
        tensor = body_inertia(Body("", "", mass=1.0, shapes=[read_shape(shape) for shape in record.shapes]))
    axes, edges = inertia_box(tensor)
    if edges.any():
        roster.boxes.append((row, axes, edges))


def _read_joint(roster: Roster, row: int, empty: bpy.types.Object, row_of: dict[int, int], chain: list[int]) -> None:
    record, joint = record_of(empty).joint, len(roster.empty)
    turn = constraint_turn(record)
    roster.empty.append(row)
    for rows, body in ((roster.parent, record.parent), (roster.child, record.child)):
        rows.append(row_of.get(body.session_uid, -1) if body is not None else -1)
    roster.turn.append(np.eye(4) if turn is None else inverse(turn))
    opening = unflat(record.opening) if record.is_open else np.eye(4)
    roster.opening.append(opening if turn is None else turn @ opening @ inverse(turn))
    dofs = read_dofs(record)
    blocks = any(dof.kind in {"ball", "free"} for dof in dofs)
    posed = not blocks and all(0 <= kept.step < len(chain) for kept in record.dofs)
    roster.posed.append(posed)
    if len(dofs) > 1:
        roster.readers[joint] = _reader(Joint("", "", "", None, None, dofs=dofs))
    for level, (dof, kept) in enumerate(zip(dofs, record.dofs, strict=True)):
        degree = _Degree(joint, level, dof, block=dof.kind in {"ball", "free"})
        dof.lower, dof.upper = stops(kept)
        if posed:
            degree.bone = chain[kept.step]
            degree.slot = kept.channel_index + (3 if kept.channel == "rotation_euler" else 0)
        roster.degrees.append(degree)


def _reader(joint: Joint) -> Reader:
    quick = closed_form(joint.dofs)
    return quick if quick is not None else lambda motion: joint_coordinates(joint, motion[None])[0]


def _singles(roster: Roster, rows: list[int], values: Array) -> Array:
    """Of a joint's coordinates one for each of its degrees; that of a block is not asked for."""
    out, at = [], 0
    for row in rows:
        degree = roster.degrees[row]
        out.append(values[at])
        at += {"ball": 3, "free": 6}.get(degree.dof.kind, 1)
    return np.array(out)


def _channels(rig: bpy.types.Object) -> Array:
    """What all bones are posed at, (bones, 6): their locations and Euler angles."""
    bones = rig.pose.bones
    out = np.empty((len(bones), 6))
    for at, name in ((0, "location"), (3, "rotation_euler")):
        numbers = np.empty(3 * len(bones), dtype=np.float32)
        bones.foreach_get(name, numbers)
        out[:, at : at + 3] = numbers.reshape(-1, 3)
    return out


def _matrices(objects: Any, name: str) -> Array:
    numbers = np.empty(16 * len(objects), dtype=np.float32)
    objects.foreach_get(name, numbers)
    return numbers.reshape(-1, 4, 4).transpose(0, 2, 1).astype(np.float64)  # Blender's go column by column


def _joined(rows: list[Degrees]) -> Degrees:
    every = [_no_degrees(), *rows]
    return Degrees(*(np.concatenate([getattr(row, name) for row in every]) for name in Degrees.__dataclass_fields__))


def _no_degrees() -> Degrees:
    none, triples = np.zeros(0), np.zeros((0, 3))
    return Degrees(triples, triples, triples, none, np.zeros(0, bool), none, none, none, none)


def _or_nan(value: float | None) -> float:
    return np.nan if value is None else value
