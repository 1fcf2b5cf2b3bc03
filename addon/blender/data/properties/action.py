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

from ...events.signals import on_servo_chosen, servo_name_providers

#: Units of the angles in a motion file.
ANGLE_UNITS = [
    ("RAD", "Radians", "Angles in the file are in radians"),
    ("DEG", "Degrees", "Angles in the file are in degrees"),
]
LENGTH_UNITS = [
    ("M", "Metres", "Lengths in the file are in the model's unit, for most the metre"),
    ("MM", "Millimetres", "Lengths in the file are in thousandths of the model's unit"),
]


class KnuckleOriginServo(bpy.types.PropertyGroup):
    """Channel that a trajectory of a motion file was keyed on."""

    place: IntProperty(description="Which trajectory of the motion in the file, from 0")
    joint: StringProperty(description="Id of the joint; empty for one that moves nothing here")
    number: IntProperty(description="Which of the joint's coordinates, from 0")


class KnuckleOrigin(bpy.types.PropertyGroup):
    """Motion of a file that was keyed in an Action, and the mapping of its times to frames."""

    key: StringProperty(description="The Action's property that holds the file")
    packed: BoolProperty(description="Whether the file is compressed there")
    path: StringProperty(name="File", description="The file that the motion came from", subtype="FILE_PATH")
    index: IntProperty(description="Which motion of the document, from 0")
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

    value: StringProperty(name="Value", description="What the file says there")


def _servo_names(self: Any, _context: bpy.types.Context, text: str) -> list[str]:
    """Return the names of the mechanism's servos that contain a text, as suggestions for the field."""
    rig = self.id_data.knuckle.rig
    by_joint = [names for source in servo_name_providers for names in source(rig).values()] if rig is not None else []
    return [name for names in by_joint for name in names if text.lower() in name.lower()]


def _on_servo_chosen(self: Any, _context: bpy.types.Context) -> None:
    for act in on_servo_chosen:
        act(self)


class KnuckleServoName(bpy.types.PropertyGroup):
    """Servo of the mechanism that a motion file means by another name."""

    leave_out: BoolProperty(name="Leave Out", description="The servo of this name is to move nothing here")
    servo: StringProperty(
        name="Servo",
        description="The model's servo that this name means; empty while nobody has said",
        search=_servo_names,
        search_options=set(),
        update=_on_servo_chosen,
    )
    joint: StringProperty(description="Id of that servo's joint, which may be renamed; empty for no servo of the model")
    number: IntProperty(description="Which of the joint's coordinates, from 0")


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
    model: StringProperty(description="Which model it was made for; empty for the user's own")
    checksum: StringProperty()
    motion: StringProperty(description="Name of the motion")
    title: StringProperty(description="What Blender called the Action for it; the user may have renamed it since")
    attributes: CollectionProperty(
        name="Attributes", description="What the file says of the motion besides its keys", type=KnuckleAttribute
    )
    origins: CollectionProperty(type=KnuckleOrigin)
    bodies: PointerProperty(type=bpy.types.Action, description="Keys of every body, which play with this bake")


CLASSES = (KnuckleOriginServo, KnuckleOrigin, KnuckleAttribute, KnuckleServoName, KnuckleAction)
