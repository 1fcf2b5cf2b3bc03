"""What the marks of a model need of its records: read once, and again where they change. Objects are known by their
rows in the model's collection, so that nothing is held on to that may be deleted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from ...core.kinematics import joint_coordinates
from ...core.mass_properties import body_inertia
from ...core.model import DOF_SIZE, Array, Body, Dof, Joint
from ...core.overlay_geometry import inertia_box
from ...core.transforms import inverse
from ..data.access import armature_of, record_of, settings
from ..data.conversion import read_dofs, read_shape, unflat
from ..data.queries import is_part, joint_bones
from ..physics.actuators.dof_coordinates import closed_form
from ..rig.joint_axes import constraint_turn

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
