"""Bone names in data paths of F-curves and drivers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import bpy
import numpy as np

from ...core.model import DOF_SIZE, Array, DofKind
from ...core.motion.root_motion import root_names
from ...core.naming import servo_names as names_of
from ..compat import action_curves, played_action
from .access import armature_of, bone_record, record_of
from .conversion import start_of
from .properties.action import KnuckleServoName
from .queries import RigParts, file_name, parts

_PREFIX = 'pose.bones["'


def bone_in(path: str) -> str:
    """The name of the bone that a data path begins with; empty for another path."""
    end = _end_of_name(path)
    return bpy.utils.unescape_identifier(path[len(_PREFIX) : end]) if end else ""


def renamed_path(path: str, names: Mapping[str, str]) -> str:
    """A data path with the new name of its bone, if that is among the old ones."""
    end = _end_of_name(path)
    new = names.get(bone_in(path)) if end else None
    return path if new is None else f"{_PREFIX}{bpy.utils.escape_identifier(new)}{path[end:]}"


def _end_of_name(path: str) -> int:
    """Return where the quotes around a bone's name end; 0 where a path is no bone's."""
    if not path.startswith(_PREFIX):
        return 0
    at = len(_PREFIX)
    while at < len(path) and path[at] != '"':
        at += 2 if path[at] == "\\" else 1
    return at if at < len(path) else 0


#: What the keys of roots among channels begin with, before the body's id: no name in a file has such a character.
ROOT = "\x1froot:"


@dataclass(frozen=True)
class Channel:
    """A coordinate of a joint and the channel that poses it.

    One-number kinds are number ``index`` of ``prop`` (``location`` or ``rotation_euler``), value for value. The
    numbers of a ball are number ``index`` (0 to 2) of a rotation vector that is posed by the bone's whole
    ``rotation_quaternion``; of a free block those and, 3 to 5, of a translation.
    """

    joint: str
    number: int  # among the joint's coordinates
    name: str  # of the servo
    kind: DofKind
    bone: str
    prop: str
    index: int
    against: bool  # the joint points against the tree: its bones carry the inverse of its motion
    start: float  # where the file has it

    @property
    def is_root(self) -> bool:
        """Return whether it is a coordinate of a root's path, and no servo's."""
        return self.joint.startswith(ROOT)

    @property
    def is_single(self) -> bool:
        """Return whether the channel's value is the coordinate itself."""
        return DOF_SIZE[self.kind] == 1

    @property
    def is_angle(self) -> bool:
        """Return whether the coordinate is in radians, not in length units."""
        if self.is_single:
            return self.prop == "rotation_euler"
        return self.index < 3

    @property
    def path(self) -> str:
        """The data path of the property, from the armature object."""
        return bone_path(self.bone, self.prop)

    def numbers(self) -> list[tuple[str, int]]:
        """The (property, index) of all of its bone that poses it."""
        if self.is_single:
            return [(self.prop, self.index)]
        turns = [("rotation_quaternion", index) for index in range(4)]
        return turns + [("location", index) for index in range(3 if self.kind == "free" else 0)]

    def curves(self) -> list[tuple[str, int]]:
        """The (data path, index) of all that poses it."""
        return [(bone_path(self.bone, prop), index) for prop, index in self.numbers()]


def bone_path(bone: str, prop: str) -> str:
    """The data path of a bone's property, from the armature object."""
    return f'pose.bones["{bpy.utils.escape_identifier(bone)}"].{prop}'


def servo_names(rig: bpy.types.Object, found: RigParts | None = None) -> dict[str, tuple[str, ...]]:
    """The names of the servos of every joint's coordinates, in their order, by joint id: as motions use them.

    ``found``: the rig's parts, where they were looked up.
    """
    found = found or RigParts(rig)
    records = ((empty, record_of(empty)) for empty in found.joints)
    return names_of(
        (record.source_id, file_name(empty, found.renamed_bones), record.joint.dofs) for empty, record in records
    )


def names_as_built(found: RigParts) -> dict[str, tuple[str, ...]]:
    """The names that they had in the model's file."""
    records = [record_of(empty) for empty in found.joints]
    return names_of((record.source_id, record.source_name, record.joint.dofs) for record in records)


def servo_channels(rig: bpy.types.Object, found: RigParts | None = None) -> dict[str, list[Channel]]:
    """The channels of every joint that moves and has bones, one per coordinate in their order, by joint id.

    ``found``: the rig's parts, where they were looked up.
    """
    found = found or RigParts(rig)
    chains, names = found.chains, servo_names(rig, found)
    out: dict[str, list[Channel]] = {}
    for empty in found.joints:
        record = record_of(empty)
        key, chain = record.source_id, chains.get(record.source_id, [])
        if key in out or not record.joint.dofs or any(not 0 <= dof.step < len(chain) for dof in record.joint.dofs):
            continue
        made: list[Channel] = []
        for dof in record.joint.dofs:
            kind = cast(DofKind, dof.kind)
            size = DOF_SIZE[kind]
            for number, start in enumerate(start_of(dof)):
                at, index = len(made), dof.channel_index if size == 1 else number
                bone = chain[dof.step]
                made.append(
                    Channel(key, at, names[key][at], kind, bone, dof.channel, index, record.joint.against, start)
                )
        out[key] = made
    return out


def root_channels(rig: bpy.types.Object, found: RigParts | None = None) -> dict[str, list[Channel]]:
    """Find the channels of the paths of a mechanism's roots: those of free blocks, one list for each root.

    Args:
        rig: The mechanism's armature.
        found: Its parts, where they were looked up.

    Returns:
        Lists of six channels by ``ROOT`` and the body's id. They are no servos: ``servo_channels`` is without them.
    """
    bones = (found or RigParts(rig)).roots
    bodies = {record_of(obj).source_id: obj for obj in reversed(parts(rig, "BODY"))} if bones else {}
    named = ((body, file_name(bodies[body]) if body in bodies else bones[body]) for body in bones)
    return {
        ROOT + body: [
            Channel(ROOT + body, number, name, "free", bones[body], "rotation_quaternion", number, False, 0.0)
            for number, name in enumerate(names)
        ]
        for body, names in root_names(named).items()
    }


def motion_channels(rig: bpy.types.Object) -> dict[str, list[Channel]]:
    """All that motion files may hold: the channels of servos, and those of the roots' paths behind them."""
    found = RigParts(rig)
    return servo_channels(rig, found) | root_channels(rig, found)


def is_of_screw(curve: bpy.types.FCurve) -> bool:
    """Return whether a driver is one that has a screw's bone slide as another turns."""
    names = [variable.name for variable in curve.driver.variables]
    return names == ["angle"] and curve.driver.expression.startswith("angle * ")


def block_turn(rig: bpy.types.Object, bone: str) -> Array:
    """The turn (3, 3) from the axes of a ball's or free block's bone to those that its coordinates count in: of a root
    those of the armature."""
    data = armature_of(rig).bones[bone]
    if bone_record(data).root:
        return np.array(data.matrix_local.to_3x3(), dtype=np.float64)
    return np.array(bone_record(data).turn, dtype=np.float64).reshape(3, 3)


def keep_chosen_servo(chosen: KnuckleServoName) -> None:
    """Store the joint and coordinate of the servo that a name means: the joint may be renamed later."""
    rig = cast(Any, chosen.id_data).knuckle.rig
    names = servo_names(rig) if rig is not None else {}
    at = next(((joint, own.index(chosen.servo)) for joint, own in names.items() if chosen.servo in own), ("", 0))
    chosen.joint, chosen.number = at


def settings_curves(rig: bpy.types.Object) -> dict[tuple[str, int], bpy.types.FCurve]:
    """The curves that key the model's settings, by data path and index. They live on the armature's data."""
    return {(curve.data_path, curve.array_index): curve for curve in _curves(armature_of(rig))}


def pose_curves(rig: bpy.types.Object) -> dict[tuple[str, int], bpy.types.FCurve]:
    """The curves of the rig's Action that pose bones, by data path and index."""
    return {
        (curve.data_path, curve.array_index): curve
        for curve in _curves(rig)
        if curve.data_path.startswith("pose.bones")
    }


def _curves(owner: bpy.types.Object | bpy.types.Armature) -> Iterator[bpy.types.FCurve]:
    """Curves of an owner's Action that have a say: Blender passes over muted ones."""
    data = owner.animation_data
    action = played_action(data) if data is not None else None
    if action is not None:
        yield from (curve for curve in action_curves(owner, action, create=False) or () if not curve.mute)
