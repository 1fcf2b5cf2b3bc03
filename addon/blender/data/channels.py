"""Mapping between the joint values of a mechanism, its bones' channels and the names of its servos in motion files.

The only place that knows it: bones are built with it, limited, keyed, read and driven by it. The channel of each
degree of freedom is stored in its record when the rig is built (``scene.dof_layout`` decides). Also: bone names in data
paths of F-curves and drivers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import bpy
import numpy as np

from ...core.model import DOF_SIZE, Array, DofKind
from ...core.motion.root_motion import root_trajectory_names
from ...core.naming import servo_names as names_of
from ..compat import action_curves, played_action
from .access import armature_of, bone_record, record_of
from .conversion import initial_dof_coordinates
from .properties.action import KnuckleServoName
from .queries import RigParts, file_name, parts_by_id

_PREFIX = 'pose.bones["'


def bone_of_path(path: str) -> str:
    """Return the name of the bone that a data path begins with; empty for another path."""
    end = _bone_name_end(path)
    return bpy.utils.unescape_identifier(path[len(_PREFIX) : end]) if end else ""


def path_with_renamed_bone(path: str, names: Mapping[str, str]) -> str:
    """Return a data path with its bone renamed.

    Args:
        path: Data path from the armature object.
        names: New names by old ones.
    """
    end = _bone_name_end(path)
    new = names.get(bone_of_path(path)) if end else None
    return path if new is None else f"{_PREFIX}{bpy.utils.escape_identifier(new)}{path[end:]}"


def _bone_name_end(path: str) -> int:
    """Return the index of the quote that ends a bone's name in a data path; 0 for a path of no bone."""
    if not path.startswith(_PREFIX):
        return 0
    at = len(_PREFIX)
    while at < len(path) and path[at] != '"':
        at += 2 if path[at] == "\\" else 1
    return at if at < len(path) else 0


#: Prefix of the keys of roots, before the body's id. No name in a file contains its first character.
ROOT_KEY_PREFIX = "\x1froot:"


@dataclass(frozen=True)
class Channel:
    """A joint value and the channel that poses it.

    For kinds with one value the value is element ``index`` of ``prop`` (``location`` or ``rotation_euler``). The values
    of a ball are elements 0 to 2 of a rotation vector (rad), posed by the bone's whole ``rotation_quaternion``; a free
    joint adds elements 3 to 5, a translation.
    """

    joint: str
    dof_index: int  # index among the joint's values
    name: str  # of the servo
    kind: DofKind
    bone: str
    prop: str
    index: int
    is_reversed: bool  # the joint points towards the root: its bones have the inverse of its motion
    start: float  # initial value

    @property
    def is_root(self) -> bool:
        """True if the value belongs to the root motion rather than to a servo."""
        return self.joint.startswith(ROOT_KEY_PREFIX)

    @property
    def is_single(self) -> bool:
        """True if the channel's value is the joint value itself."""
        return DOF_SIZE[self.kind] == 1

    @property
    def is_angle(self) -> bool:
        """True if the joint value is in radians, false if in length units."""
        if self.is_single:
            return self.prop == "rotation_euler"
        return self.index < 3

    @property
    def path(self) -> str:
        """Data path of the property, from the armature object."""
        return bone_path(self.bone, self.prop)

    def numbers(self) -> list[tuple[str, int]]:
        """Return (property, index) of all of the bone's channels that pose the joint value."""
        if self.is_single:
            return [(self.prop, self.index)]
        turns = [("rotation_quaternion", index) for index in range(4)]
        return turns + [("location", index) for index in range(3 if self.kind == "free" else 0)]

    def curves(self) -> list[tuple[str, int]]:
        """Return (data path, index) of all channels that pose the joint value."""
        return [(bone_path(self.bone, prop), index) for prop, index in self.numbers()]


def bone_path(bone: str, prop: str) -> str:
    """Return the data path of a bone's property, from the armature object."""
    return f'pose.bones["{bpy.utils.escape_identifier(bone)}"].{prop}'


def servo_names_by_joint(rig: bpy.types.Object, found: RigParts | None = None) -> dict[str, tuple[str, ...]]:
    """Return the servo names of each joint, in the order of its joint values, by joint id: the names in motion files.

    Args:
        rig: The mechanism's armature object.
        found: Its parts, where they are at hand.
    """
    found = found or RigParts(rig)
    records = ((empty, record_of(empty)) for empty in found.joints)
    return names_of(
        (record.source_id, file_name(empty, found.renamed_bones), record.joint.dofs) for empty, record in records
    )


def original_servo_names(found: RigParts) -> dict[str, tuple[str, ...]]:
    """Return the servo names of each joint as in the model file, by joint id."""
    records = [record_of(empty) for empty in found.joints]
    return names_of((record.source_id, record.source_name, record.joint.dofs) for record in records)


def servo_channels(rig: bpy.types.Object, found: RigParts | None = None) -> dict[str, list[Channel]]:
    """Return the channels of every joint that moves and has bones, one per joint value in order, by joint id.

    Args:
        rig: The mechanism's armature object.
        found: Its parts, where they are at hand.
    """
    found = found or RigParts(rig)
    chains, names = found.chains, servo_names_by_joint(rig, found)
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
            for number, start in enumerate(initial_dof_coordinates(dof)):
                at, index = len(made), dof.channel_index if size == 1 else number
                bone = chain[dof.step]
                made.append(
                    Channel(key, at, names[key][at], kind, bone, dof.channel, index, record.joint.is_reversed, start)
                )
        out[key] = made
    return out


def root_channels(rig: bpy.types.Object, found: RigParts | None = None) -> dict[str, list[Channel]]:
    """Return the channels of the root motion: those of a free joint for each root body.

    Args:
        rig: The mechanism's armature object.
        found: Its parts, where they are at hand.

    Returns:
        Lists of six channels by ``ROOT_KEY_PREFIX`` and the body's id. They are no servos: ``servo_channels`` is
        without them.
    """
    bones = (found or RigParts(rig)).roots
    bodies = parts_by_id(rig, "BODY") if bones else {}
    named = ((body, file_name(bodies[body]) if body in bodies else bones[body]) for body in bones)
    return {
        ROOT_KEY_PREFIX + body: [
            Channel(
                ROOT_KEY_PREFIX + body, number, name, "free", bones[body], "rotation_quaternion", number, False, 0.0
            )
            for number, name in enumerate(names)
        ]
        for body, names in root_trajectory_names(named).items()
    }


def motion_channels(rig: bpy.types.Object) -> dict[str, list[Channel]]:
    """Return all channels that motion files may hold: those of the servos, then those of the root motion."""
    found = RigParts(rig)
    return servo_channels(rig, found) | root_channels(rig, found)


def is_screw_driver_curve(curve: bpy.types.FCurve) -> bool:
    """Return whether a driver is the one that slides a screw joint's bone as it rotates; False for keyframes."""
    driver = curve.driver
    if driver is None or [each.name for each in driver.variables] != ["angle"]:
        return False
    source = driver.variables[0].targets[0].id
    own = isinstance(source, bpy.types.Object) and source.type == "ARMATURE"
    return own and driver.expression.startswith("angle * ")


def block_rotation(rig: bpy.types.Object, bone: str) -> Array:
    """Return the rotation (3, 3) from a bone's axes to those of its joint values.

    Args:
        rig: The mechanism's armature object.
        bone: Name of the bone of a ball or free joint, or of a root. For a root the values are in the armature's axes.
    """
    data = armature_of(rig).bones[bone]
    if bone_record(data).root:
        return np.array(data.matrix_local.to_3x3(), dtype=np.float64)
    return np.array(bone_record(data).joint_rotation, dtype=np.float64).reshape(3, 3)


def store_chosen_servo(chosen: KnuckleServoName) -> None:
    """Store the joint id and the index of the servo whose name the user chose, since the joint may be renamed later."""
    rig = cast(Any, chosen.id_data).knuckle.rig
    names = servo_names_by_joint(rig) if rig is not None else {}
    at = next(((joint, own.index(chosen.servo)) for joint, own in names.items() if chosen.servo in own), ("", 0))
    chosen.joint, chosen.dof_index = at


def settings_curves(rig: bpy.types.Object) -> dict[tuple[str, int], bpy.types.FCurve]:
    """Return the F-curves of the mechanism's settings, which are on the armature's data, by data path and index."""
    return {(curve.data_path, curve.array_index): curve for curve in _curves(armature_of(rig))}


def pose_curves(rig: bpy.types.Object) -> dict[tuple[str, int], bpy.types.FCurve]:
    """Return the F-curves of the armature's Action that pose bones, by data path and index."""
    return {
        (curve.data_path, curve.array_index): curve
        for curve in _curves(rig)
        if curve.data_path.startswith("pose.bones")
    }


def _curves(owner: bpy.types.Object | bpy.types.Armature) -> Iterator[bpy.types.FCurve]:
    """Yield the unmuted F-curves of a datablock's Action; Blender does not evaluate muted ones."""
    data = owner.animation_data
    action = played_action(data) if data is not None else None
    if action is not None:
        yield from (curve for curve in action_curves(owner, action, create=False) or () if not curve.mute)
