"""Settings of Live Input, kept with a mechanism: ``Armature.knuckle_live``."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import BoolProperty, CollectionProperty, EnumProperty, FloatProperty, PointerProperty, StringProperty

from ....core.gait.live_input import SMOOTHING

AXIS_ITEMS: list[Any] = [
    ("UP_DOWN", "Up/W, Down/S", "Arrow keys up and down, or W and S"),
    ("RIGHT_LEFT", "Right/D, Left/A", "Arrow keys right and left, or D and A"),
    ("E_Q", "E, Q", "Keys E and Q"),
    ("I_K", "I, K", "Keys I and K"),
    ("L_J", "L, J", "Keys L and J"),
    ("O_U", "O, U", "Keys O and U"),
]
AXIS_LABELS = {item[0]: item[1] for item in AXIS_ITEMS}


class KnuckleLiveServo(bpy.types.PropertyGroup):
    """A servo that keys move."""

    joint: StringProperty(description="The id of its joint")
    axis: EnumProperty(name="Keys", description="Pair of keys that moves the servo", items=AXIS_ITEMS)
    speed: FloatProperty(
        name="Speed", description="Speed while a key is held, in rad or length units per second", default=1.0
    )


class KnuckleLiveInput(bpy.types.PropertyGroup):
    """Settings of Live Input on a mechanism."""

    record: BoolProperty(
        name="Record", description="Write the inputs as keyframes, one per frame, from the first frame on"
    )
    record_joints: BoolProperty(
        name="Servo Values", description="Write the values of the servos as well, as an Action that does not play yet"
    )
    follow: BoolProperty(name="Follow in View", description="Move the view along with the root body", default=True)
    smoothing: FloatProperty(
        name="Smoothing",
        description="Time in which an input comes most of its way",
        default=SMOOTHING,
        min=0.0,
        soft_max=1.0,
        unit="TIME_ABSOLUTE",
    )
    servos: CollectionProperty(type=KnuckleLiveServo)


CLASSES = (KnuckleLiveServo, KnuckleLiveInput)


def register() -> None:
    """Add the settings to armatures. The classes are registered before."""
    bpy.types.Armature.knuckle_live = PointerProperty(type=KnuckleLiveInput)  # type: ignore[attr-defined]


def unregister() -> None:
    """Remove them."""
    del bpy.types.Armature.knuckle_live  # type: ignore[attr-defined]


def live_settings(rig: bpy.types.Object) -> KnuckleLiveInput:
    """The settings of a mechanism."""
    settings: KnuckleLiveInput = rig.data.knuckle_live  # type: ignore[union-attr]
    return settings
