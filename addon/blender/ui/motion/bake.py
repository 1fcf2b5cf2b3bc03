"""Baking: the gait to keys, and what physics did to keys."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import BoolProperty, IntProperty

from ....core.accuracy import verdict
from ...animation.gait import bake_gait, settings_curves
from ...data.access import record_of, settings
from ...physics.recording.accuracy import truth_lines
from ...physics.recording.bake import bake_steps, steps_per_frame
from ...physics.simulation.recording import remove_body_keys
from ...physics.world.membership import why_elsewhere, why_stopped
from ...physics.world.scale import distortion
from ...translations import told
from ..base.modal_tasks import LongWork, Steps
from ..base.operators import NeedsModel, Result, say


class KNUCKLE_OT_bake_gait(NeedsModel):
    bl_idname = "knuckle.bake_gait"
    bl_label = "Bake Gait"
    bl_description = "Write the gait as keyframes in a new Action, for the inputs as they are set or keyed"
    bl_options = {"REGISTER", "UNDO"}

    frame_start: IntProperty(
        name="Start Frame", description="First frame of the Action; by default the scene's", options={"SKIP_SAVE"}
    )
    frame_end: IntProperty(
        name="End Frame", description="Last frame of the Action; by default the scene's", options={"SKIP_SAVE"}
    )

    @classmethod
    def why_not(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        return "" if settings(rig).format == "juice" else "The mechanism came without a gait"

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        if not self.properties.is_property_set("frame_start"):
            self.frame_start = context.scene.frame_start
        if not self.properties.is_property_set("frame_end"):
            self.frame_end = context.scene.frame_end
        if self.frame_end < self.frame_start:
            raise ValueError(f"The range ends (frame {self.frame_end}) before it begins (frame {self.frame_start})")
        action = bake_gait(context.scene, rig, self.frame_start, self.frame_end)
        if action is None:
            raise ValueError("The mechanism came without a gait")
        say(self, {"INFO"}, f"Gait baked to Action {action.name!r}, frames {self.frame_start} to {self.frame_end}")
        return {"FINISHED"}


class KNUCKLE_OT_bake_physics(LongWork):
    bl_idname = "knuckle.bake_physics"
    bl_label = "Bake Simulation"
    bl_description = "Simulate from the first frame and write the result as keyframes in a new Action"
    bl_options = {"REGISTER", "UNDO"}

    frame_end: IntProperty(
        name="End Frame",
        description="Last frame to simulate; by default the scene's. A simulation begins at the first frame",
        options={"SKIP_SAVE"},
    )

    all_bodies: BoolProperty(
        name="All Bodies",
        description="Write keyframes for every body besides the servos, in a second Action",
        default=False,
    )

    _finer = 1

    @classmethod
    def why_not(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        if settings(rig).drive == "KEYS" and ("knuckle.drive", 0) not in settings_curves(rig):
            return "The bodies follow their keyframes: set Drive to Servos or Ragdoll first"
        return why_elsewhere(context.scene, rig) or why_stopped(context.scene)

    def steps(self, context: bpy.types.Context, rig: bpy.types.Object) -> Steps:
        scene = context.scene
        last = self.frame_end if self.properties.is_property_set("frame_end") else scene.frame_end
        if last < scene.frame_start:
            raise ValueError(f"The range ends (frame {last}) before the simulation begins (frame {scene.frame_start})")
        self._finer = steps_per_frame(scene, rig)
        return bake_steps(scene, rig, last, f"{record_of(rig).source_name} Bake", self.all_bodies)

    def finish(self, context: bpy.types.Context, result: Any) -> None:
        action, recording = result
        lines = truth_lines(recording.plant.rig)
        bad = [line for line in lines if line.good is False]
        found = [verdict(lines), *(str(line) for line in (bad or lines)[:1])] if lines else []
        where = told("Simulation Accuracy has all of them") if bad else ""
        finer = (
            f"Servos were controlled {self._finer} times per frame, and follow less closely when it is played live"
            if self._finer > 1
            else ""
        )
        said = f"{len(recording.frames)} frames baked to Action {action.name!r}"
        spoilt = distortion(recording.plant.rig)
        say(
            self,
            {"WARNING"} if spoilt else {"INFO"},
            ". ".join(told(each) for each in (said, *found, where, finer, spoilt) if each),
        )


class KNUCKLE_OT_remove_body_keys(NeedsModel):
    bl_idname = "knuckle.remove_body_keys"
    bl_label = "Remove Body Keyframes"
    bl_description = "Let the bodies follow the bones again. Keyframes of the servos stay"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def why_not(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        return "" if settings(rig).body_keys is not None else "The bodies have no keyframes of their own"

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        remove_body_keys(rig)
        say(self, {"INFO"}, "The bodies follow the bones")
        return {"FINISHED"}


CLASSES = (KNUCKLE_OT_bake_gait, KNUCKLE_OT_bake_physics, KNUCKLE_OT_remove_body_keys)
