from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from ..core.kinematics import joint_coordinates
from ..core.mass_properties import body_inertia
from ..core.model import DOF_SIZE, Array, Body, Dof, Joint
from ..core.overlay_geometry import (
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
from ..core.transforms import inverse
from .data.access import armature_of, record_of, settings
from .data.channels import servo_names
from .data.conversion import read_dofs, read_shape, unflat
from .data.queries import is_part, joint_bones, parts, rigs_in
from .physics.actuators.dof_coordinates import closed_form
from .rig.joint_frames import constraint_turn

#: What can be drawn, in the order in which it is offered.
KINDS = ("axes", "stops", "twins", "centres", "inertia")
#: The radius of a dial as a share of the model's size: at least, and at most.
_LEAST, _MOST = 0.025, 0.085
_REACH = 0.6  # and of the way from the joint to its body's centre of mass
_INNER = 0.8  # how much smaller each further dial of one joint is
_CENTRE = 0.013  # the sign of a centre of mass, as a share of the model's size


def draw_models(scene: bpy.types.Scene, kinds: Collection[str], size: float = 1.0) -> Drawing:
    """All marks of some ``KINDS`` of the models of a scene that can be seen, dials ``size`` times as large as usual."""
    drawing = Drawing()
    for rig in rigs_in(scene):
        if settings(rig).collection is not None:
            _draw(drawing, rig, kinds, size)
    return drawing


def _draw(drawing: Drawing, rig: bpy.types.Object, kinds: Collection[str], size: float) -> None:
    stand = stand_of(rig, size)
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


def stand_of(rig: bpy.types.Object, size: float = 1.0) -> Stand:
    """A whole model as it stands, to be drawn ``size`` times as large as usual."""
    return Stand(rig, settings(rig).collection.all_objects, roster_of(rig), size)


class Stand:
    """A model, or a part of it, as it stands at this moment. Dials are ``size`` times as large as usual."""

    def __init__(self, rig: bpy.types.Object, objects: Any, roster: Roster, size: float = 1.0) -> None:
        self.rig, self.objects, self.roster, self.wish = rig, objects, roster, size
        self.world, self.basis = (_matrices(objects, name) for name in ("matrix_world", "matrix_basis"))
        self.scale = float(np.array(rig.matrix_world.to_scale()).mean())
        self.size = roster.span * self.scale * size

    @cached_property
    def seen(self) -> NDArray[np.bool_]:
        """Return which objects are bodies that can be seen."""
        out = np.array([obj.visible_get() for obj in self.objects], dtype=bool)
        out[np.setdiff1d(np.arange(len(out)), self.roster.bodies)] = False
        return out

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

    def degrees(self, hidden: bool = False) -> tuple[Degrees, Array, Array]:
        """The joints' degrees of freedom of one coordinate; the frames (k, 4, 4) of their balls and free blocks, and
        radii (k,) for those. Without ``hidden`` only where a body can be seen."""
        roster, table = self.roster, self.roster.table
        if not roster.empty:
            return _no_degrees(), np.zeros((0, 4, 4)), np.zeros(0)
        parent, child = self.sides()
        values = self._values(inverse(parent) @ child)
        hint, radius = self._dials(parent)
        shown = np.full(len(roster.empty), True) if hidden else self._shown()
        frames, dials, blocks, radii = parent.copy(), [], [], []
        for number, level in enumerate(table.levels):
            mine, balls = shown[level.joints], level.blocks[shown[level.blocks]]
            rows, joints = level.rows[mine], level.joints[mine]
            dials.append(self._dial(rows, frames[joints], values, hint[joints], radius[joints] * _INNER**number))
            blocks.append(frames[balls])
            radii.append(radius[balls])
            if number + 1 < len(table.levels):
                self._move_on(frames, level, values)
        return _joined(dials), np.concatenate([np.zeros((0, 4, 4)), *blocks]), np.concatenate([np.zeros(0), *radii])

    def servo_names(self) -> list[str]:
        """The servos of the degrees of one coordinate, in the order in which ``degrees`` gives hidden ones too."""
        roster, known = self.roster, servo_names(self.rig)
        places: dict[int, int] = {}
        for number, row in enumerate(roster.rows):
            first = row.level == 0
            places[number] = 0 if first else places[number - 1] + DOF_SIZE[roster.rows[number - 1].dof.kind]
        rows = [number for level in roster.table.levels for number in level.rows.tolist()]
        ids = [record_of(self.objects[roster.empty[roster.rows[number].joint]]).source_id for number in rows]
        return [known[key][places[number]] for key, number in zip(ids, rows, strict=True)]

    def _dial(self, rows: NDArray[np.int64], frames: Array, values: Array, hint: Array, radius: Array) -> Degrees:
        table, turned = self.roster.table, frames[:, :3, :3]
        axis = np.einsum("nij,nj->ni", turned, table.axis[rows])
        scale = np.full(len(rows), self.scale)
        stops = table.lower[rows], table.upper[rows]
        return Degrees(
            frames[:, :3, 3], axis, across(axis, hint), radius, table.turns[rows], scale, values[rows], *stops
        )

    def _move_on(self, frames: Array, level: Level, values: Array) -> None:
        """Frames behind these degrees of freedom: what comes after a turn is turned."""
        table, rows = self.roster.table, level.rows
        step, turns = np.nan_to_num(values[rows])[:, None] * table.axis[rows], table.turns[rows, None]
        slide = np.where(turns, step * table.pitch[rows, None], step)
        frames[level.joints] = moved(frames[level.joints], np.where(turns, step, 0.0), slide * self.scale)

    def _values(self, motion: Array) -> Array:
        """The present values of all degrees: what bones are posed at while bodies follow them, else what is measured
        on the bodies."""
        table = self.roster.table
        local = motion.copy()
        local[:, :3, 3] /= self.scale
        out = measured(local[table.joint], table.axis, table.turns)
        posed = (table.bone >= 0) & (settings(self.rig).drive == "KEYS")
        if posed.any():
            out[posed] = _channels(self.rig)[table.bone[posed], table.slot[posed]]
        for joint, (rows, read) in self.roster.readers.items():
            if not posed[rows[0]]:
                out[rows] = read(local[joint])
        return out

    def _dials(self, frames: Array) -> tuple[Array, Array]:
        """Return where the hands of dials point at 0, (joints, 3) in the world, towards the body that moves; and
        radii."""
        roster = self.roster
        place = self.basis[roster.empty]
        child, parent = np.array(roster.child), np.array(roster.parent)
        of_child = self.basis[child, :3, 3] - place[:, :3, 3]
        of_parent = place[:, :3, 3] - self.basis[parent, :3, 3]
        of_child[child < 0], of_parent[parent < 0] = 0.0, 0.0
        reach = np.linalg.norm(of_child, axis=1)
        blind = reach < 1e-6
        of_child[blind], reach[blind] = of_parent[blind], np.linalg.norm(of_parent[blind], axis=1)
        local = np.einsum("nji,nj->ni", (without_scale(place) @ np.stack(roster.turn))[:, :3, :3], of_child)
        radius = np.clip(_REACH * self.wish * self.scale * reach, _LEAST * self.size, _MOST * self.size)
        return np.einsum("nij,nj->ni", frames[:, :3, :3], local), radius

    def _shown(self) -> NDArray[np.bool_]:
        """Joints of which either body can be seen."""
        seen = np.append(self.seen, False)
        return seen[np.array(self.roster.parent)] | seen[np.array(self.roster.child)]

    def draw_twins(self, drawing: Drawing) -> None:
        """Lines between twins of which the bodies can be seen."""
        seen = self.seen | ~np.isin(np.arange(len(self.objects)), self.roster.bodies)
        pairs = np.array([pair for pair in self.roster.pairs if seen[list(pair)].all()], dtype=int).reshape(-1, 2)
        place = self.world[:, :3, 3]
        draw_twins(drawing, place[pairs[:, 0]], place[pairs[:, 1]])

    def draw_centres(self, drawing: Drawing) -> None:
        """Bodies' centres of mass: the origins of their objects."""
        places = self.world[self.seen, :3, 3]
        draw_centres(drawing, places, np.full(len(places), _CENTRE * self.size))

    def draw_inertia(self, drawing: Drawing) -> None:
        """The boxes that turn as the bodies do."""
        roster, seen = self.roster, self.seen
        if roster.boxes is None:
            objects = list(self.objects)
            roster.boxes = [(row, *box) for row in roster.bodies if (box := box_of(objects[row])) is not None]
        mine = [(row, axes, edges) for row, axes, edges in roster.boxes if seen[row]]
        if not mine:
            return
        poses = self.world[[row for row, _, _ in mine]].copy()
        poses[:, :3, :3] = poses[:, :3, :3] @ np.stack([axes for _, axes, _ in mine])
        draw_boxes(drawing, poses, np.stack([edges for _, _, edges in mine]))


def degrees_of(empty: bpy.types.Object, size: float = 1.0) -> tuple[Degrees, list[int]]:
    """The degrees of freedom of one coordinate of one joint as they stand, and their numbers in its record.

    All is read anew: it is asked for one joint at a time.
    """
    record, rig = record_of(empty), record_of(empty).model
    roster = Roster(np.zeros(0, np.int64), [], span_of([body.matrix_basis for body in parts(rig, "BODY")]))
    ends = [empty, *(body for body in (record.joint.parent, record.joint.child) if body is not None)]
    chain = [rig.pose.bones.find(name) for name in joint_bones(rig).get(record.source_id, ())]
    read_joint(roster, 0, empty, {obj.session_uid: row for row, obj in enumerate(ends)}, chain)
    numbers = [row.level for row in roster.rows if DOF_SIZE[row.dof.kind] == 1]
    return Stand(rig, ends, roster, size).degrees(hidden=True)[0], numbers


def _channels(rig: bpy.types.Object) -> Array:
    """Return what all bones are posed at, (bones, 6): their locations and Euler angles."""
    bones = rig.pose.bones
    out = np.empty((len(bones), 6))
    for at, name in ((0, "location"), (3, "rotation_euler")):
        numbers = np.empty(3 * len(bones), dtype=np.float32)
        bones.foreach_get(name, numbers)
        out[:, at : at + 3] = numbers.reshape(-1, 3)
    return out


def _matrices(objects: Any, name: str) -> Array:
    if isinstance(objects, list):
        return np.array([getattr(obj, name) for obj in objects], dtype=np.float64)
    numbers = np.empty(16 * len(objects), dtype=np.float32)
    objects.foreach_get(name, numbers)
    return numbers.reshape(-1, 4, 4).transpose(0, 2, 1).astype(np.float64)  # Blender's go column by column


def _joined(rows: list[Degrees]) -> Degrees:
    every = [_no_degrees(), *rows]
    return Degrees(*(np.concatenate([getattr(row, name) for row in every]) for name in Degrees.__dataclass_fields__))


def _no_degrees() -> Degrees:
    none, triples = np.zeros(0), np.zeros((0, 3))
    return Degrees(triples, triples, triples, none, np.zeros(0, bool), none, none, none, none)


Reader = Callable[[Array], Array]


class Level:
    """The degrees of freedom of many joints that are their first, or their second, and so on: rows of ``Table``."""

    def __init__(self, rows: NDArray[np.int64], table: Table) -> None:
        one = rows[~table.block[rows]]
        self.rows, self.joints = one, table.joint[one]
        self.blocks = table.joint[rows[table.block[rows]]]


class Table:
    """The degrees of freedom of a model, n of them, in numbers."""

    def __init__(self, rows: list[_Row]) -> None:
        dofs = [row.dof for row in rows]
        self.joint = np.array([row.joint for row in rows], dtype=np.int64)
        self.block = np.array([dof.kind in {"ball", "free"} for dof in dofs], dtype=bool)
        self.turns = np.array([dof.kind != "translation" for dof in dofs], dtype=bool)
        axis = np.array([dof.axis for dof in dofs], dtype=np.float64).reshape(-1, 3)
        self.axis = axis / np.linalg.norm(axis, axis=1, keepdims=True)
        self.pitch = np.array([dof.pitch if dof.kind == "screw" else 0.0 for dof in dofs])
        self.lower, self.upper = np.array([_stops(dof) for dof in dofs], dtype=np.float64).reshape(-1, 2).T.copy()
        # which bone poses it (-1: none does), and which of that bone's six numbers: its location, then its turns
        self.bone = np.array([row.bone for row in rows], dtype=np.int64)
        self.slot = np.array([row.slot for row in rows], dtype=np.int64)
        level = np.array([row.level for row in rows], dtype=np.int64)
        self.levels = [Level(np.flatnonzero(level == k), self) for k in range(level.max(initial=-1) + 1)]


class _Row(NamedTuple):
    joint: int
    level: int
    dof: Dof
    bone: int
    slot: int


@dataclass
class Roster:
    """What is known of a model until its records change. Objects are rows of its collection's."""

    objects: NDArray[np.int64]
    bones: list[str]
    span: float = 1.0  # how large it is
    empty: list[int] = field(default_factory=list)  # per joint, its own row, its parent's and its child's
    parent: list[int] = field(default_factory=list)  # -1 is the world
    child: list[int] = field(default_factory=list)
    turn: list[Array] = field(default_factory=list)  # from its empty to its frame
    opening: list[Array] = field(default_factory=list)
    rows: list[_Row] = field(default_factory=list)
    readers: dict[int, tuple[list[int], Reader]] = field(default_factory=dict)  # of joints of several degrees
    bodies: list[int] = field(default_factory=list)
    boxes: list[tuple[int, Array, Array]] | None = None  # bodies' boxes of inertia, read when first drawn
    pairs: list[tuple[int, int]] = field(default_factory=list)

    def joint_of(self, empty: bpy.types.Object) -> int | None:
        """Return which of its joints an empty is, None where it is none that moves."""
        row = self.row_of(empty)
        return self.empty.index(row) if row in self.empty else None

    def row_of(self, obj: bpy.types.Object | None) -> int:
        """The row of an object, -1 where it has none."""
        found = np.flatnonzero(self.objects == obj.session_uid) if obj is not None else ()
        return int(found[0]) if len(found) else -1

    def ends(self, empty: bpy.types.Object) -> list[int] | None:
        """The rows of a joint's bodies, -1 for the world; None for what is no joint, or one that is switched off."""
        record = record_of(empty)
        if record.role != "JOINT" or not record.joint.active:
            return None
        return [self.row_of(body) for body in (record.joint.parent, record.joint.child)]

    @cached_property
    def table(self) -> Table:
        """Its degrees of freedom."""
        return Table(self.rows)


_rosters: dict[int, Roster] = {}


def forget() -> None:
    """Records changed, or another file was opened: read all anew when it is needed."""
    _rosters.clear()


def reread(empty: bpy.types.Object) -> None:
    """The record of a joint changed. Where only its stops did, they alone are read."""
    rig = record_of(empty).model
    roster = _rosters.get(rig.session_uid) if rig is not None else None
    if roster is None:
        return
    joint = roster.joint_of(empty)
    rows = [k for k, row in enumerate(roster.rows) if row.joint == joint]
    dofs = read_dofs(record_of(empty).joint)
    ends = None if joint is None else [roster.parent[joint], roster.child[joint]]
    if ends != roster.ends(empty) or [_shape(roster.rows[k].dof) for k in rows] != [_shape(dof) for dof in dofs]:
        forget()
        return
    for k, dof in zip(rows, dofs, strict=True):
        roster.table.lower[k], roster.table.upper[k] = _stops(dof)


def _shape(dof: Dof) -> tuple[object, ...]:
    return dof.kind, dof.pitch, *dof.axis.tolist()


def _stops(dof: Dof) -> tuple[float, float]:
    return np.nan if dof.lower is None else dof.lower, np.nan if dof.upper is None else dof.upper


def roster_of(rig: bpy.types.Object) -> Roster:
    objects = settings(rig).collection.all_objects
    uids = np.empty(len(objects), dtype=np.int32)
    objects.foreach_get("session_uid", uids)
    bones = rig.pose.bones.keys()
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
            roster.bodies.append(row)
        elif record_of(obj).joint.active:
            chain = [number[name] for name in chains.get(record_of(obj).source_id, ())]
            read_joint(roster, row, obj, row_of, chain)
    roster.span = span_of([objects[row].matrix_basis for row in roster.bodies])
    for (role, key), row in by_id.items():
        mate = by_id.get((role, record_of(objects[row]).twin))
        if mate is not None and mate > row and record_of(objects[mate]).twin == key:
            roster.pairs.append((row, mate))
    return roster


def read_joint(roster: Roster, row: int, empty: bpy.types.Object, row_of: dict[int, int], chain: list[int]) -> None:
    record, joint = record_of(empty).joint, len(roster.empty)
    turn = constraint_turn(record)
    roster.empty.append(row)
    for rows, body in ((roster.parent, record.parent), (roster.child, record.child)):
        rows.append(row_of.get(body.session_uid, -1) if body is not None else -1)
    roster.turn.append(np.eye(4) if turn is None else inverse(turn))
    opening = unflat(record.opening) if record.is_open else np.eye(4)
    roster.opening.append(opening if turn is None else turn @ opening @ inverse(turn))
    dofs = read_dofs(record)
    posed = all(0 <= kept.step < len(chain) and kept.channel_index >= 0 for kept in record.dofs)
    first = len(roster.rows)
    for level, (dof, kept) in enumerate(zip(dofs, record.dofs, strict=True)):
        slot = kept.channel_index + (3 if kept.channel == "rotation_euler" else 0)
        roster.rows.append(_Row(joint, level, dof, chain[kept.step] if posed else -1, slot))
    if len(dofs) > 1:
        roster.readers[joint] = [*range(first, len(roster.rows))], _reader(dofs)


def _reader(dofs: list[Dof]) -> Reader:
    """From the motion (4, 4) of a joint to one number for each of its degrees; of a block nobody asks for it."""
    quick = closed_form(dofs)
    if quick is not None:
        return quick
    joint = Joint("", "", "", None, None, dofs=dofs)
    places = np.cumsum([0, *(DOF_SIZE[dof.kind] for dof in dofs[:-1])])
    return lambda motion: joint_coordinates(joint, motion[None])[0][places]


def box_of(obj: bpy.types.Object) -> tuple[Array, Array] | None:
    """Axes and edges of the box that turns as a body does; None where it is a point, or a floor that never turns."""
    record = record_of(obj)
    if record.immobile:
        return None
    if record.has_tensor:
        tensor = np.array(record.tensor, dtype=np.float64).reshape(3, 3)
    else:
        tensor = body_inertia(Body("", "", mass=1.0, shapes=[read_shape(shape) for shape in record.shapes]))
    axes, edges = inertia_box(tensor)
    return (axes, edges) if edges.any() else None


def span_of(poses: list[Matrix]) -> float:
    """Return how large a model is with bodies at these poses: 1 where they are all at one place."""
    places = np.array([pose.translation for pose in poses]).reshape(-1, 3)
    return (float(np.ptp(places, axis=0).max()) if len(places) else 0.0) or 1.0
