"""What an Action of ours keeps: what it is, and the documents that its keys came from.

Blender's keys are 32-bit. The document of a motion stays in the .blend as it was read, and an Action remembers where
its servos' keys were put, so that keys nobody touched go out with the file's own numbers.
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

from ...events.signals import on_servo_chosen, servo_name_sources

#: What numbers in a file of motion can be in.
ANGLE_UNITS = [
    ("RAD", "Radians", "Angles in the file are in radians"),
    ("DEG", "Degrees", "Angles in the file are in degrees"),
]
LENGTH_UNITS = [
    ("M", "Metres", "Lengths in the file are in the model's unit, for most the metre"),
    ("MM", "Millimetres", "Lengths in the file are in thousandths of the model's unit"),
]


class KnuckleOriginServo(bpy.types.PropertyGroup):
    """Which channel a trajectory of a file keys."""

    place: IntProperty(description="Which trajectory of the motion in the file, from 0")
    joint: StringProperty(description="Id of the joint; empty for one that moves nothing here")
    number: IntProperty(description="Which of the joint's coordinates, from 0")


class KnuckleOrigin(bpy.types.PropertyGroup):
    """A motion of a file that was keyed in an Action, and how its times became frames."""

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
    """An attribute of a motion, called by its name."""

    value: StringProperty(name="Value", description="What the file says there")


def _servo_names(self: Any, _context: bpy.types.Context, text: str) -> list[str]:
    """The names of the model's servos, for the field to choose from."""
    rig = self.id_data.knuckle.rig
    by_joint = [names for source in servo_name_sources for names in source(rig).values()] if rig is not None else []
    return [name for names in by_joint for name in names if text.lower() in name.lower()]


def _servo_chosen(self: Any, _context: bpy.types.Context) -> None:
    for act in on_servo_chosen:
        act(self)


class KnuckleServoName(bpy.types.PropertyGroup):
    """Which servo of the model a motion means by a name that is not the servo's."""

    leave_out: BoolProperty(name="Leave Out", description="The servo of this name is to move nothing here")
    servo: StringProperty(
        name="Servo",
        description="The model's servo that this name means; empty while nobody has said",
        search=_servo_names,
        search_options=set(),
        update=_servo_chosen,
    )
    joint: StringProperty(description="Id of that servo's joint, which may be renamed; empty for no servo of the model")
    number: IntProperty(description="Which of the joint's coordinates, from 0")


class KnuckleAction(bpy.types.PropertyGroup):
    """What an Action of ours is: a baked gait knows itself again, edited or not."""

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
