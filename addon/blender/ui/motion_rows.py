"""A motion chosen from the list, and the place shown where its check found something."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
from bpy.props import FloatProperty, StringProperty

from ..animation.actions import let_play
from ..animation.check import overviews
from ..data.access import record_of
from ..data.channels import servo_channels
from ..data.queries import parts
from ..translations import told
from .common import NeedsModel, Result
from .selection import select_part


class KNUCKLE_OT_use_motion(NeedsModel):
    bl_idname = "knuckle.use_motion"
    bl_label = "Use Motion"
    bl_description = "Let the mechanism play one of its motions"
    bl_options = {"REGISTER", "UNDO"}

    motion: StringProperty(name="Motion", description="Name of the Action")

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        if self.motion not in {found.name for found in overviews(rig, context.scene)}:
            raise ValueError(f"No Action called {self.motion!r} keys a servo of {rig.name!r}")
        let_play(rig, bpy.data.actions[self.motion])
        return {"FINISHED"}


class KNUCKLE_OT_show_servo(NeedsModel):
    bl_idname = "knuckle.show_servo"
    bl_label = "Show Servo"
    bl_description = "Go to the frame and select the servo: its bone in pose mode, else its joint"
    bl_options = {"REGISTER", "UNDO"}

    servo: StringProperty(name="Servo", description="The name that motion files use")
    frame: FloatProperty(name="Frame", description="The frame to go to")

    @classmethod
    def description(cls, context: bpy.types.Context, properties: Any) -> str:
        return told(f"{properties.servo}: go to frame {properties.frame:g} and select it")

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        every = (channel for own in servo_channels(rig).values() for channel in own)
        channel = next((channel for channel in every if channel.name == self.servo), None)
        if channel is None:
            raise ValueError(f"{rig.name!r} has no servo called {self.servo!r}")
        if self.properties.is_property_set("frame"):
            whole = int(np.floor(self.frame))
            context.scene.frame_set(whole, subframe=min(self.frame - whole, 0.999999))
        empty = next(obj for obj in parts(rig, "JOINT") if record_of(obj).source_id == channel.joint)
        if not select_part(context, rig, empty):
            raise ValueError(f"{self.servo!r} cannot be selected: it is hidden")
        return {"FINISHED"}


CLASSES = (KNUCKLE_OT_use_motion, KNUCKLE_OT_show_servo)
