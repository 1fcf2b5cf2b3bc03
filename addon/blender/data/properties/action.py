"""Property groups of Actions: their kind, and the motion files that their keyframes came from.

Blender's keyframes are 32-bit. The document of a motion is kept in the .blend as it was read, and an Action records
where its servos' keyframes were placed, so that unedited keyframes are exported with the file's own numbers.
"""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from ...events.signals import Signal, emit

#: Units of the angles in a motion file.
ANGLE_UNITS = [
    ("RAD", "Radians", "Angles in the file are in radians"),
    ("DEG", "Degrees", "Angles in the file are in degrees"),
]
LENGTH_UNITS = [
    ("M", "Meters", "Lengths in the file are in the mechanism's unit, usually meters"),
    ("MM", "Millimeters", "Lengths in the file are in thousandths of the mechanism's unit"),
]


class KnuckleOriginServo(bpy.types.PropertyGroup):
    """Channel that a trajectory of a motion file was keyed on."""

    trajectory_index: IntProperty(description="Index of the trajectory in the file's motion, from 0")
    joint: StringProperty(description="ID of the joint; empty for one that moves nothing here")
    dof_index: IntProperty(description="Index of the joint's degree of freedom, from 0")


class KnuckleOrigin(bpy.types.PropertyGroup):
    """Motion of a file that was keyed in an Action, and the mapping of its times to frames."""

    key: StringProperty(description="The Action's property that holds the file")
    packed: BoolProperty(description="File is stored compressed")
    path: StringProperty(name="File", description="File that the motion came from", subtype="FILE_PATH")
    index: IntProperty(description="Index of the motion in the document, from 0")
    start: FloatProperty(description="The scene's frame at time 0")
    fps: IntProperty()
    fps_base: FloatProperty()
    map_old: IntProperty()
    map_new: IntProperty()
    angle: EnumProperty(items=ANGLE_UNITS)
    length: EnumProperty(items=LENGTH_UNITS)
    servos: CollectionProperty(type=KnuckleOriginServo)


class KnuckleAttribute(bpy.types.PropertyGroup):
    """Attribute of a motion, found by its name."""

    value: StringProperty(name="Value", description="Value of the attribute in the file")


def _servo_names(self: Any, _context: bpy.types.Context, text: str) -> list[str]:
    """Return the names of the mechanism's servos that contain a text, as suggestions for the field."""
    rig = self.id_data.knuckle.rig
    by_joint = [names for found in emit(Signal.SERVO_NAMES, rig) for names in found.values()] if rig is not None else []
    return [name for names in by_joint for name in names if text.lower() in name.lower()]


def _on_servo_chosen(self: Any, _context: bpy.types.Context) -> None:
    emit(Signal.SERVO_CHOSEN, self)


class KnuckleServoName(bpy.types.PropertyGroup):
    """Servo of the mechanism that a motion file means by another name."""

    leave_out: BoolProperty(name="Leave Out", description="Servo of this name moves nothing here")
    servo: StringProperty(
        name="Servo",
        description="Servo of the mechanism that this name means; empty if not chosen yet",
        search=_servo_names,
        search_options=set(),
        update=_on_servo_chosen,
    )
    joint: StringProperty(
        description="ID of that servo's joint, which may be renamed; empty for no servo of the mechanism"
    )
    dof_index: IntProperty(description="Index of the joint's degree of freedom, from 0")


class KnuckleAction(bpy.types.PropertyGroup):
    """Kind and origin of an Action of ours; a baked gait is recognized by it, edited or not."""

    kind: EnumProperty(
        items=[
            ("NONE", "", ""),
            ("GAIT", "Gait", ""),
            ("BAKE", "Bake", ""),
            ("MOTION", "Motion", ""),
            ("POSE", "Pose", ""),
        ]
    )
    model: StringProperty(description="UID of the mechanism that it was made for; empty for the user's own Action")
    checksum: StringProperty()
    motion: StringProperty(description="Name of the motion")
    title: StringProperty(description="Name that Blender gave the Action; the user may have renamed it since")
    attributes: CollectionProperty(
        name="Attributes", description="Attributes of the motion in its file", type=KnuckleAttribute
    )
    origins: CollectionProperty(type=KnuckleOrigin)
    split_from: PointerProperty(
        type=bpy.types.Action, description="Action of the mechanism from which this one's bones were split off"
    )
    bodies: PointerProperty(
        type=bpy.types.Action, description="Action with keyframes of every body, which plays with this bake"
    )


CLASSES = (KnuckleOriginServo, KnuckleOrigin, KnuckleAttribute, KnuckleServoName, KnuckleAction)
