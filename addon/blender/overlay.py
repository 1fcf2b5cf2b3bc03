"""Overlay marks of mechanisms: placement of axes, stops, twins, centers of mass and inertia boxes in the current pose.

Data that change with every frame, poses of bodies and bones, are read with one call for all. Data of the records are
cached and read again when the records change. Objects are referred to by row indices in the mechanism's collection, so
that no reference to a deleted object is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from ..core.joint_types import closed_form_coordinates
from ..core.kinematics import joint_values_from_transform
from ..core.mass_properties import body_inertia
from ..core.model import DOF_SIZE, Array, Body, Dof, Joint, first_indices
from ..core.overlay_geometry import (
    DofGlyphs,
    OverlayDrawing,
    draw_axes,
    draw_ball_joints,
    draw_centers_of_mass,
    draw_inertia_boxes,
    draw_stops,
    draw_twins,
    frames_in_world,
    inertia_box,
    measure_axis_values,
    move_frames,
    perpendicular,
    remove_scale,
)
from ..core.transforms import inverse
from .data.access import armature_of, record_of, settings
from .data.channels import servo_names_by_joint
from .data.conversion import read_dofs, read_shape, unflatten_pose
from .data.queries import is_part, joint_bones, parts, rigs_in
from .events.runtime_state import RuntimeState, end_state, state_of
from .rig.joint_frames import constraint_rotation

#: Kinds of marks, in the order in which they are offered.
OVERLAY_KINDS = ("axes", "stops", "twins", "centres", "inertia")
#: Limits of a dial's radius as a share of the mechanism's size.
_MIN_DIAL_RADIUS, _MAX_DIAL_RADIUS = 0.025, 0.085
_DIAL_REACH = 0.6  # radius of a dial as a share of the distance from the joint to its body's center of mass
_INNER_DIAL_FACTOR = 0.8  # ratio of the radii of consecutive dials of a joint
_CENTER_SIZE = 0.013  # radius of the symbol of a center of mass, as a share of the mechanism's size


def draw_models(scene: bpy.types.Scene, kinds: Collection[str], size: float = 1.0) -> OverlayDrawing:
    """Draw marks of the given ``OVERLAY_KINDS`` for a scene's visible mechanisms; ``size`` scales the dials."""
    drawing = OverlayDrawing()
    for rig in rigs_in(scene):
        if settings(rig).collection is not None:
            _draw_mechanism(drawing, rig, kinds, size)
    return drawing


def _draw_mechanism(drawing: OverlayDrawing, rig: bpy.types.Object, kinds: Collection[str], size: float) -> None:
    stand = mechanism_snapshot(rig, size)
    if {"axes", "stops"} & set(kinds):
        degrees, frames, radius = stand.degrees()
        if "axes" in kinds:
            draw_axes(drawing, degrees)
            draw_ball_joints(drawing, frames, 0.5 * radius)
        if "stops" in kinds:
            draw_stops(drawing, degrees)
    if "twins" in kinds:
        stand.draw_twins(drawing)
    if "inertia" in kinds:
        stand.draw_inertia(drawing)
    if "centres" in kinds:
        stand.draw_centres(drawing)


def mechanism_snapshot(rig: bpy.types.Object, size: float = 1.0) -> MechanismSnapshot:
    """Create the state of a whole mechanism for drawing, with dials scaled by ``size``."""
    return MechanismSnapshot(rig, settings(rig).collection.all_objects, mechanism_index(rig), size)


class MechanismSnapshot:
    """State of a mechanism, or a part of it, in its current pose. ``size`` scales the dials."""

    def __init__(self, rig: bpy.types.Object, objects: Any, index: MechanismIndex, size: float = 1.0) -> None:
        self.rig, self.objects, self.index, self.dial_size = rig, objects, index, size
        self.world, self.basis = (_object_matrices(objects, name) for name in ("matrix_world", "matrix_basis"))
        self.scale = float(np.array(rig.matrix_world.to_scale()).mean())
        self.size = index.span * self.scale * size

    @cached_property
    def seen(self) -> NDArray[np.bool_]:
        """Return the mask of objects that are visible bodies."""
        out = np.array([obj.visible_get() for obj in self.objects], dtype=bool)
        out[np.setdiff1d(np.arange(len(out)), self.index.bodies)] = False
        return out

    def sides(self) -> tuple[Array, Array]:
        """Compute each joint's frame, (joints, 4, 4), as its parent carries it and as its child does."""
        index = self.index
        design = remove_scale(self.basis[index.empty]) @ np.stack(index.turn)
        of_child = design @ np.stack(index.opening)
        world = np.array(self.rig.matrix_world, dtype=np.float64)[None]

        def side(rows: list[int], frames: Array) -> Array:
            those, still = np.array(rows), np.array(rows) < 0
            now, then = self.world[those].copy(), self.basis[those].copy()
            now[still], then[still] = world, np.eye(4)
            return frames_in_world(now, then, frames, self.scale)

        return side(index.parent, design), side(index.child, of_child)

    def degrees(self, hidden: bool = False) -> tuple[DofGlyphs, Array, Array]:
        """Return the joints' degrees of freedom with a single coordinate, and those with several.

        Args:
            hidden: Include those whose bodies are both hidden.

        Returns:
            The single-coordinate dofs; the frames (k, 4, 4) of balls and free blocks, and radii (k,) for those.
        """
        index, table = self.index, self.index.table
        if not index.empty:
            return _no_dofs(), np.zeros((0, 4, 4)), np.zeros(0)
        parent, child = self.sides()
        values = self._values(inverse(parent) @ child)
        hint, radius = self._dials(parent)
        shown = np.full(len(index.empty), True) if hidden else self._shown()
        frames, dials, blocks, radii = parent.copy(), [], [], []
        for number, level in enumerate(table.levels):
            mine, balls = shown[level.joints], level.blocks[shown[level.blocks]]
            rows, joints = level.rows[mine], level.joints[mine]
            dials.append(
                self._dial(rows, frames[joints], values, hint[joints], radius[joints] * _INNER_DIAL_FACTOR**number)
            )
            blocks.append(frames[balls])
            radii.append(radius[balls])
            if number + 1 < len(table.levels):
                self._move_on(frames, level, values)
        return (
            _concatenate(dials),
            np.concatenate([np.zeros((0, 4, 4)), *blocks]),
            np.concatenate([np.zeros(0), *radii]),
        )

    def servo_names(self) -> list[str]:
        """Return the servos of the single-coordinate dofs, in the order of ``degrees(hidden=True)``."""
        index, known = self.index, servo_names_by_joint(self.rig)
        places: dict[int, int] = {}
        for number, row in enumerate(index.rows):
            first = row.level == 0
            places[number] = 0 if first else places[number - 1] + DOF_SIZE[index.rows[number - 1].dof.kind]
        rows = [number for level in index.table.levels for number in level.rows.tolist()]
        ids = [record_of(self.objects[index.empty[index.rows[number].joint]]).source_id for number in rows]
        return [known[key][places[number]] for key, number in zip(ids, rows, strict=True)]

    def _dial(self, rows: NDArray[np.int64], frames: Array, values: Array, hint: Array, radius: Array) -> DofGlyphs:
        table, turned = self.index.table, frames[:, :3, :3]
        axis = np.einsum("nij,nj->ni", turned, table.axis[rows])
        scale = np.full(len(rows), self.scale)
        stops = table.lower[rows], table.upper[rows]
        return DofGlyphs(
            frames[:, :3, 3], axis, perpendicular(axis, hint), radius, table.turns[rows], scale, values[rows], *stops
        )

    def _move_on(self, frames: Array, level: DofLevel, values: Array) -> None:
        """Move the frames by these degrees of freedom, for the dofs that follow."""
        table, rows = self.index.table, level.rows
        step, turns = np.nan_to_num(values[rows])[:, None] * table.axis[rows], table.turns[rows, None]
        slide = np.where(turns, step * table.pitch[rows, None], step)
        frames[level.joints] = move_frames(frames[level.joints], np.where(turns, step, 0.0), slide * self.scale)

    def _values(self, motion: Array) -> Array:
        """Return the current values of all dofs: from bones while bodies follow them, else measured on the bodies."""
        table = self.index.table
        local = motion.copy()
        local[:, :3, 3] /= self.scale
        out = measure_axis_values(local[table.joint], table.axis, table.turns)
        posed = (table.bone >= 0) & (settings(self.rig).drive == "KEYS")
        if posed.any():
            out[posed] = _bone_values(self.rig)[table.bone[posed], table.slot[posed]]
        for joint, (rows, read) in self.index.readers.items():
            if not posed[rows[0]]:
                out[rows] = read(local[joint])
        return out

    def _dials(self, frames: Array) -> tuple[Array, Array]:
        """Compute the zero directions of dials, (joints, 3) in the world, and their radii (joints,).

        Zero is towards the body that moves.
        """
        index = self.index
        place = self.basis[index.empty]
        child, parent = np.array(index.child), np.array(index.parent)
        of_child = self.basis[child, :3, 3] - place[:, :3, 3]
        of_parent = place[:, :3, 3] - self.basis[parent, :3, 3]
        of_child[child < 0], of_parent[parent < 0] = 0.0, 0.0
        reach = np.linalg.norm(of_child, axis=1)
        blind = reach < 1e-6
        of_child[blind], reach[blind] = of_parent[blind], np.linalg.norm(of_parent[blind], axis=1)
        local = np.einsum("nji,nj->ni", (remove_scale(place) @ np.stack(index.turn))[:, :3, :3], of_child)
        radius = np.clip(
            _DIAL_REACH * self.dial_size * self.scale * reach,
            _MIN_DIAL_RADIUS * self.size,
            _MAX_DIAL_RADIUS * self.size,
        )
        return np.einsum("nij,nj->ni", frames[:, :3, :3], local), radius

    def _shown(self) -> NDArray[np.bool_]:
        """Return the mask of joints of which either body is visible."""
        seen = np.append(self.seen, False)
        return seen[np.array(self.index.parent)] | seen[np.array(self.index.child)]

    def draw_twins(self, drawing: OverlayDrawing) -> None:
        """Draw lines between twins, of bodies only where both are visible."""
        seen = self.seen | ~np.isin(np.arange(len(self.objects)), self.index.bodies)
        pairs = np.array([pair for pair in self.index.pairs if seen[list(pair)].all()], dtype=int).reshape(-1, 2)
        place = self.world[:, :3, 3]
        draw_twins(drawing, place[pairs[:, 0]], place[pairs[:, 1]])

    def draw_centres(self, drawing: OverlayDrawing) -> None:
        """Draw the centers of mass of visible bodies: the origins of their objects."""
        places = self.world[self.seen, :3, 3]
        draw_centers_of_mass(drawing, places, np.full(len(places), _CENTER_SIZE * self.size))

    def draw_inertia(self, drawing: OverlayDrawing) -> None:
        """Draw the inertia boxes of visible bodies."""
        index, seen = self.index, self.seen
        if index.boxes is None:
            objects = list(self.objects)
            index.boxes = [(row, *box) for row in index.bodies if (box := body_inertia_box(objects[row])) is not None]
        mine = [(row, axes, edges) for row, axes, edges in index.boxes if seen[row]]
        if not mine:
            return
        poses = self.world[[row for row, _, _ in mine]].copy()
        poses[:, :3, :3] = poses[:, :3, :3] @ np.stack([axes for _, axes, _ in mine])
        draw_inertia_boxes(drawing, poses, np.stack([edges for _, _, edges in mine]))


def joint_dials(empty: bpy.types.Object, size: float = 1.0) -> tuple[DofGlyphs, list[int]]:
    """Return the single-coordinate dofs of one joint in its current pose, and their indices in its record.

    Nothing is cached: it is called for one joint at a time.
    """
    record, rig = record_of(empty), record_of(empty).model
    index = MechanismIndex(
        np.zeros(0, np.int64), [], mechanism_span([body.matrix_basis for body in parts(rig, "BODY")])
    )
    ends = [empty, *(body for body in (record.joint.parent, record.joint.child) if body is not None)]
    chain = [rig.pose.bones.find(name) for name in joint_bones(rig).get(record.source_id, ())]
    add_joint_to_index(index, 0, empty, {obj.session_uid: row for row, obj in enumerate(ends)}, chain)
    numbers = [row.level for row in index.rows if DOF_SIZE[row.dof.kind] == 1]
    return MechanismSnapshot(rig, ends, index, size).degrees(hidden=True)[0], numbers


def _bone_values(rig: bpy.types.Object) -> Array:
    """Return the pose of all bones, (bones, 6): their locations and Euler angles."""
    bones = rig.pose.bones
    out = np.empty((len(bones), 6))
    for at, name in ((0, "location"), (3, "rotation_euler")):
        numbers = np.empty(3 * len(bones), dtype=np.float32)
        bones.foreach_get(name, numbers)
        out[:, at : at + 3] = numbers.reshape(-1, 3)
    return out


def _object_matrices(objects: Any, name: str) -> Array:
    if isinstance(objects, list):
        return np.array([getattr(obj, name) for obj in objects], dtype=np.float64)
    numbers = np.empty(16 * len(objects), dtype=np.float32)
    objects.foreach_get(name, numbers)
    return numbers.reshape(-1, 4, 4).transpose(0, 2, 1).astype(np.float64)  # Blender's are column-major


def _concatenate(rows: list[DofGlyphs]) -> DofGlyphs:
    every = [_no_dofs(), *rows]
    return DofGlyphs(
        *(np.concatenate([getattr(row, name) for row in every]) for name in DofGlyphs.__dataclass_fields__)
    )


def _no_dofs() -> DofGlyphs:
    none, triples = np.zeros(0), np.zeros((0, 3))
    return DofGlyphs(triples, triples, triples, none, np.zeros(0, bool), none, none, none, none)


DofReader = Callable[[Array], Array]


class DofLevel:
    """Dofs at the same position in their joints, first, second and so on: row indices of ``DofTable``."""

    def __init__(self, rows: NDArray[np.int64], table: DofTable) -> None:
        one = rows[~table.block[rows]]
        self.rows, self.joints = one, table.joint[one]
        self.blocks = table.joint[rows[table.block[rows]]]


class DofTable:
    """Degrees of freedom of a mechanism, n of them, as arrays."""

    def __init__(self, rows: list[_DofRow]) -> None:
        dofs = [row.dof for row in rows]
        self.joint = np.array([row.joint for row in rows], dtype=np.int64)
        self.block = np.array([dof.kind in {"ball", "free"} for dof in dofs], dtype=bool)
        self.turns = np.array([dof.kind != "translation" for dof in dofs], dtype=bool)
        axis = np.array([dof.axis for dof in dofs], dtype=np.float64).reshape(-1, 3)
        self.axis = axis / np.linalg.norm(axis, axis=1, keepdims=True)
        self.pitch = np.array([dof.pitch if dof.kind == "screw" else 0.0 for dof in dofs])
        self.lower, self.upper = np.array([_dof_range(dof) for dof in dofs], dtype=np.float64).reshape(-1, 2).T.copy()
        # index of the bone that poses it (-1: none), and of the bone's channel: three of location, three of rotation
        self.bone = np.array([row.bone for row in rows], dtype=np.int64)
        self.slot = np.array([row.slot for row in rows], dtype=np.int64)
        level = np.array([row.level for row in rows], dtype=np.int64)
        self.levels = [DofLevel(np.flatnonzero(level == k), self) for k in range(level.max(initial=-1) + 1)]


class _DofRow(NamedTuple):
    joint: int
    level: int
    dof: Dof
    bone: int
    slot: int


@dataclass
class MechanismIndex:
    """Cached data of a mechanism's records. Objects are row indices in its collection's objects."""

    objects: NDArray[np.int64]
    bones: list[str]
    span: float = 1.0  # size of the mechanism
    empty: list[int] = field(default_factory=list)  # rows of each joint's empty, parent and child
    parent: list[int] = field(default_factory=list)  # -1 is the world
    child: list[int] = field(default_factory=list)
    turn: list[Array] = field(default_factory=list)  # from the empty to the joint frame
    opening: list[Array] = field(default_factory=list)
    rows: list[_DofRow] = field(default_factory=list)
    readers: dict[int, tuple[list[int], DofReader]] = field(default_factory=dict)  # of joints with several dofs
    bodies: list[int] = field(default_factory=list)
    boxes: list[tuple[int, Array, Array]] | None = None  # inertia boxes of bodies, computed when first drawn
    pairs: list[tuple[int, int]] = field(default_factory=list)

    def joint_of(self, empty: bpy.types.Object) -> int | None:
        """Return the index of an empty's joint, None where it is no active joint."""
        row = self.row_of(empty)
        return self.empty.index(row) if row in self.empty else None

    def row_of(self, obj: bpy.types.Object | None) -> int:
        """Return the row of an object, -1 where it has none."""
        found = np.flatnonzero(self.objects == obj.session_uid) if obj is not None else ()
        return int(found[0]) if len(found) else -1

    def ends(self, empty: bpy.types.Object) -> list[int] | None:
        """Return the rows of a joint's bodies, -1 for the world; None for objects that are no active joint."""
        record = record_of(empty)
        if record.role != "JOINT" or not record.joint.active:
            return None
        return [self.row_of(body) for body in (record.joint.parent, record.joint.child)]

    @cached_property
    def table(self) -> DofTable:
        """Return its degrees of freedom as arrays."""
        return DofTable(self.rows)


@dataclass
class _KnownIndex(RuntimeState):
    """Index of a mechanism."""

    index: MechanismIndex | None = None


def clear_mechanism_indices() -> None:
    """Clear the cache: records changed."""
    end_state(_KnownIndex)


def update_joint_index(empty: bpy.types.Object) -> None:
    """Update the cache for a joint whose record changed: only its stops where nothing else did, else clear it."""
    rig = record_of(empty).model
    index = state_of(_KnownIndex, rig).index if rig is not None else None
    if index is None:
        return
    joint = index.joint_of(empty)
    rows = [k for k, row in enumerate(index.rows) if row.joint == joint]
    dofs = read_dofs(record_of(empty).joint)
    ends = None if joint is None else [index.parent[joint], index.child[joint]]
    if ends != index.ends(empty) or [_dof_shape(index.rows[k].dof) for k in rows] != [_dof_shape(dof) for dof in dofs]:
        clear_mechanism_indices()
        return
    for k, dof in zip(rows, dofs, strict=True):
        index.table.lower[k], index.table.upper[k] = _dof_range(dof)


def _dof_shape(dof: Dof) -> tuple[object, ...]:
    return dof.kind, dof.pitch, *dof.axis.tolist()


def _dof_range(dof: Dof) -> tuple[float, float]:
    return np.nan if dof.lower is None else dof.lower, np.nan if dof.upper is None else dof.upper


def mechanism_index(rig: bpy.types.Object) -> MechanismIndex:
    """Return the cached data of a mechanism; read them if objects or bones changed."""
    objects = settings(rig).collection.all_objects
    uids = np.empty(len(objects), dtype=np.int32)
    objects.foreach_get("session_uid", uids)
    bones = rig.pose.bones.keys()
    known = state_of(_KnownIndex, rig)
    found = known.index
    if found is None or found.bones != bones or not np.array_equal(found.objects, uids):
        found = known.index = _read_index(rig, MechanismIndex(uids.astype(np.int64), bones))
    return found


def _read_index(rig: bpy.types.Object, index: MechanismIndex) -> MechanismIndex:
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
            index.bodies.append(row)
        elif record_of(obj).joint.active:
            chain = [number[name] for name in chains.get(record_of(obj).source_id, ())]
            add_joint_to_index(index, row, obj, row_of, chain)
    index.span = mechanism_span([objects[row].matrix_basis for row in index.bodies])
    for (role, key), row in by_id.items():
        twin = by_id.get((role, record_of(objects[row]).twin))
        if twin is not None and twin > row and record_of(objects[twin]).twin == key:
            index.pairs.append((row, twin))
    return index


def add_joint_to_index(
    index: MechanismIndex, row: int, empty: bpy.types.Object, row_of: dict[int, int], chain: list[int]
) -> None:
    """Read a joint's record into an index.

    Args:
        index: The index.
        row: Row of the joint's empty.
        empty: The joint's empty.
        row_of: Rows of objects by ``session_uid``.
        chain: Indices of the joint's bones.
    """
    record, joint = record_of(empty).joint, len(index.empty)
    turn = constraint_rotation(record)
    index.empty.append(row)
    for rows, body in ((index.parent, record.parent), (index.child, record.child)):
        rows.append(row_of.get(body.session_uid, -1) if body is not None else -1)
    index.turn.append(np.eye(4) if turn is None else inverse(turn))
    opening = unflatten_pose(record.opening) if record.is_open else np.eye(4)
    index.opening.append(opening if turn is None else turn @ opening @ inverse(turn))
    dofs = read_dofs(record)
    posed = all(0 <= kept.step < len(chain) and kept.channel_index >= 0 for kept in record.dofs)
    first = len(index.rows)
    for level, (dof, kept) in enumerate(zip(dofs, record.dofs, strict=True)):
        slot = kept.channel_index + (3 if kept.channel == "rotation_euler" else 0)
        index.rows.append(_DofRow(joint, level, dof, chain[kept.step] if posed else -1, slot))
    if len(dofs) > 1:
        index.readers[joint] = [*range(first, len(index.rows))], _dof_reader(dofs)


def _dof_reader(dofs: list[Dof]) -> DofReader:
    """Return a function from a joint's motion (4, 4) to one value per dof; that of a block is not used."""
    quick = closed_form_coordinates(dofs)
    if quick is not None:
        return quick
    joint = Joint("", "", "", None, None, dofs=dofs)
    places = first_indices(dofs)[:-1]
    return lambda motion: joint_values_from_transform(joint, motion[None])[0][places]


def body_inertia_box(obj: bpy.types.Object) -> tuple[Array, Array] | None:
    """Return axes (3, 3) and edges (3,) of a body's inertia box; None for a point mass or an immobile body."""
    record = record_of(obj)
    if record.immobile:
        return None
    if record.has_tensor:
        tensor = np.array(record.tensor, dtype=np.float64).reshape(3, 3)
    else:
        tensor = body_inertia(Body("", "", mass=1.0, shapes=[read_shape(shape) for shape in record.shapes]))
    axes, edges = inertia_box(tensor)
    return (axes, edges) if edges.any() else None


def mechanism_span(poses: list[Matrix]) -> float:
    """Return the size of a mechanism with bodies at these poses: 1 where they are all at one point."""
    places = np.array([pose.translation for pose in poses]).reshape(-1, 3)
    return (float(np.ptp(places, axis=0).max()) if len(places) else 0.0) or 1.0
