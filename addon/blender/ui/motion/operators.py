"""Operators on motion: repeat, mirror, offset and scale the active one, bake gait and simulation."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, cast

import bpy
import numpy as np
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty

from ....core.accuracy import accuracy_verdict
from ....core.motion.keyframes import MotionSpan
from ....core.motion.retiming import SeamMode
from ....core.report import Message, count_with_noun
from ...animation.fcurves import editable_action
from ...animation.frame_time import Clock
from ...animation.gait import bake_gait
from ...animation.mirror import Side, mirror_keys
from ...animation.retiming import (
    action_speed_for_duration,
    motion_range,
    offset_keys,
    path_warnings,
    repeat_endlessly,
    repeat_keys,
    scale_action_speed,
    stop_repeating,
)
from ...data.access import record_of, settings
from ...data.channels import settings_curves
from ...data.queries import simulates_here
from ...locale import translated
from ...physics.actuators.servo_targets import steps_per_frame
from ...physics.recording.accuracy import accuracy_lines
from ...physics.recording.bake import bake_steps
from ...physics.simulation.recording import remove_body_keys
from ...physics.world.membership import simulated_elsewhere_message, stopped_world_message
from ...physics.world.scale import distortion_message
from ..base.modal_tasks import ModalTask, TaskSteps, busy_message
from ..base.operators import ModelOperator, Result, polled_model, report_message, report_result
from ..base.selection import target_bones

_WIDTH = 300  # of the popup with options, in pixels
_AXIS_VECTORS = {axis: np.eye(3)[k] for k, axis in enumerate("XYZ")}


class _RetimeOperator(ModelOperator):
    """Base of operators that change the keyframes of the active motion. Not registered itself."""

    bl_idname = "knuckle.retimes"
    bl_label = "Retimes"

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the active Action cannot be edited; empty if it can."""
        try:
            editable_action(rig)
        except ValueError as reason:
            return str(reason)
        return ""

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> Result:
        """Open the options in a popup."""
        return context.window_manager.invoke_props_dialog(self, width=_WIDTH)

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the options."""
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        self.draw_options(layout)
        layout.prop(self, "only_selected")

    def draw_options(self, layout: bpy.types.UILayout) -> None:
        """Draw the operator's own options."""

    def extend_range(self, context: bpy.types.Context, rig: bpy.types.Object) -> float:
        """Return the scene frame of the last servo keyframe; extend the scene's range to it if wanted."""
        options: Any = self
        clock = Clock.of(context.scene)
        last = float(clock.frames(clock.key_times(motion_range(rig)[1])))
        if options.extend:
            context.scene.frame_end = max(context.scene.frame_end, int(np.ceil(last - 1e-3)))
        return last

    def report_path_warnings(self, left: Iterable[str]) -> None:
        """Report as warnings why root motion was left out of the repetition."""
        for why in left:
            report_message(self, {"WARNING"}, why)

    def bones(self, context: bpy.types.Context, rig: bpy.types.Object) -> set[str] | None:
        """Return the names of the bones to change; None for all."""
        options: Any = self
        return target_bones(context, rig, options.only_selected)


def _frames_to_keys(scene: bpy.types.Scene, frames: float) -> float:
    """Convert a duration in scene frames to one in the frames of an Action."""
    clock = Clock.of(scene)
    return _seconds_to_keys(scene, frames / clock.rate)


def _seconds_to_keys(scene: bpy.types.Scene, seconds: float) -> float:
    """Convert a duration in seconds to one in the frames of an Action."""
    begin, end = Clock.of(scene).keys([0.0, seconds])
    return float(end - begin)


def _duration(scene: bpy.types.Scene, first: float, last: float) -> float:
    """Return the time (s) between two frames of an Action."""
    begin, end = Clock.of(scene).key_times([first, last])
    return float(end - begin)


def _extend_property() -> Any:
    return BoolProperty(
        name="Extend Range",
        description="Lengthen the scene's frame range to hold the motion. It is never shortened",
        default=True,
    )


def _only_selected_property() -> Any:
    return BoolProperty(
        name="Only Selected",
        description="Change the servos of the selected bones, joints and bodies alone",
        options={"SKIP_SAVE"},
    )


def _gap_property() -> Any:
    return FloatProperty(
        name="Pause",
        description="Frames before the next repetition begins, if the motion does not end as it begins",
        default=1.0,
        min=0.02,
        soft_max=100.0,
    )


class KNUCKLE_OT_loop_motion(_RetimeOperator):
    """Operator: repeat the active motion."""

    bl_idname = "knuckle.loop_motion"
    bl_label = "Repeat Motion"
    bl_description = "Repeat the motion of the mechanism, by keyframes or endlessly"
    bl_options = {"REGISTER", "UNDO"}

    way: EnumProperty(
        name="Method",
        description="Method of repetition",
        items=[
            ("KEYS", "Keyframes", "Repeat every keyframe, as files can store it"),
            ("CYCLES", "Cycles Modifier", "Repeat endlessly, before and after, by a Cycles modifier on every curve"),
        ],
    )
    rounds: IntProperty(
        name="Count", description="Number of times that the motion plays", default=2, min=1, soft_max=20
    )
    seam: EnumProperty(
        name="Transition",
        description="Transition from the end of a repetition to the start of the next",
        items=[
            ("REPEAT", "Start Over", "Servos that do not end as they begin return during the pause"),
            ("CLIMB", "Continue", "Each repetition continues from the end of the previous one, as wheels do"),
            ("BLEND", "Blend", "The end of a repetition blends into the values at its start"),
        ],
    )
    gap: _gap_property()
    blend: IntProperty(name="Blend", description="Frames at the end that are blended", default=10, min=1, soft_max=100)
    extend: _extend_property()
    only_selected: _only_selected_property()

    def draw_options(self, layout: bpy.types.UILayout) -> None:
        """Draw the operator's own options."""
        layout.prop(self, "way")
        if self.way == "KEYS":
            layout.prop(self, "rounds")
            layout.prop(self, "extend")
        layout.prop(self, "seam")
        if self.seam == "REPEAT":
            layout.prop(self, "gap")
        elif self.seam == "BLEND":
            layout.prop(self, "blend")

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Repeat the motion by keyframes or by Cycles modifiers."""
        bones, scene = self.bones(context, rig), context.scene
        seam = cast(SeamMode, self.seam.lower())
        blend, gap = _frames_to_keys(scene, self.blend), _frames_to_keys(scene, self.gap)
        left = path_warnings(rig, bones)
        if self.way == "CYCLES":
            span = repeat_endlessly(rig, seam, blend, gap, bones)
            report_message(
                self, {"INFO"}, Message("Repeats every {}", count_with_noun(self.frames_of(scene, span), "frame"))
            )
            self.report_path_warnings(left)
            return {"FINISHED"}
        span = repeat_keys(rig, self.rounds, seam, blend, gap, bones)
        last = self.extend_range(context, rig)
        frames = self.frames_of(scene, span)
        report_message(
            self,
            {"INFO"},
            Message(
                "Plays {}, {} each, to frame {}",
                count_with_noun(self.rounds, "time"),
                count_with_noun(frames, "frame"),
                f"{last:g}",
            ),
        )
        self.report_path_warnings(left)
        return {"FINISHED"}

    @staticmethod
    def frames_of(scene: bpy.types.Scene, span: MotionSpan) -> float:
        """Return the number of scene frames of a round."""
        return round(_duration(scene, 0.0, span.period) * Clock.of(scene).rate, 4)


class KNUCKLE_OT_stop_looping(_RetimeOperator):
    """Operator: remove the Cycles modifiers of the active motion."""

    bl_idname = "knuckle.stop_looping"
    bl_label = "Stop Repeating"
    bl_description = "Remove the Cycles modifiers that repeat the motion. Its keyframes stay"
    bl_options = {"REGISTER", "UNDO"}

    only_selected: _only_selected_property()

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> Result:
        """Run without a popup."""
        return self.execute(context)

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Remove the Cycles modifiers."""
        report_message(
            self,
            {"INFO"},
            Message("{} no longer repeated", count_with_noun(stop_repeating(rig, self.bones(context, rig)), "curve")),
        )
        return {"FINISHED"}


class KNUCKLE_OT_mirror_motion(_RetimeOperator):
    """Operator: mirror the active motion."""

    bl_idname = "knuckle.mirror_motion"
    bl_label = "Mirror Motion"
    bl_description = "Mirror the motion of servos to their twins on the other side"
    bl_options = {"REGISTER", "UNDO"}

    side: EnumProperty(
        name="From",
        description="Source of the mirrored motion",
        items=[
            ("BOTH", "Both Sides", "Exchange the sides, and mirror servos at the center"),
            (
                "NEGATIVE",
                "Negative Side",
                "Copy the side of smaller coordinates, usually the left, to the other",
            ),
            (
                "POSITIVE",
                "Positive Side",
                "Copy the side of larger coordinates, usually the right, to the other",
            ),
        ],
    )
    phase: FloatProperty(
        name="Phase",
        description="Delay of the mirrored motion, as a share of the period: 0.5 for a walk",
        min=-1.0,
        max=1.0,
        subtype="FACTOR",
    )
    period: FloatProperty(
        name="Period", description="Frames of a period; 0 for the length of the motion", min=0.0, soft_max=1000.0
    )
    axis: EnumProperty(
        name="Mirror Axis",
        description="The axis of the file's space that is mirrored",
        items=[
            ("AUTO", "Automatic", "Axis between the pairs of twins"),
            ("X", "X", "Left and right are along X"),
            ("Y", "Y", "Left and right are along Y"),
            ("Z", "Z", "Left and right are along Z"),
        ],
    )
    only_selected: _only_selected_property()

    def draw_options(self, layout: bpy.types.UILayout) -> None:
        """Draw the operator's own options."""
        layout.prop(self, "side")
        layout.prop(self, "phase")
        if self.phase:
            layout.prop(self, "period")
        layout.prop(self, "axis")

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Mirror the keyframes, and report pairs of servos found by name."""
        side = cast(Side, self.side.lower())
        period, bones = _frames_to_keys(context.scene, self.period) or None, self.bones(context, rig)
        report = mirror_keys(rig, side, self.phase, period, bones, _AXIS_VECTORS.get(self.axis))
        for entry in report.entries:
            if entry.code == "mirror-by-name":
                report_message(self, {"INFO"}, entry.message)
        report_result(self, report.entries[-1].message, report)
        return {"FINISHED"}


class KNUCKLE_OT_offset_motion(_RetimeOperator):
    """Operator: offset the active motion in time."""

    bl_idname = "knuckle.offset_motion"
    bl_label = "Offset Motion"
    bl_description = "Move the motion in time"
    bl_options = {"REGISTER", "UNDO"}

    unit: EnumProperty(
        name="Unit",
        description="Unit of the offset",
        items=[
            ("FRAMES", "Frames", "Frames of the scene"),
            ("SECONDS", "Seconds", "Seconds, at the scene's frame rate"),
        ],
    )
    frames: FloatProperty(name="Frames", description="Offset in time; earlier if negative", soft_min=-250, soft_max=250)
    seconds: FloatProperty(name="Seconds", description="Offset in time; earlier if negative", soft_min=-10, soft_max=10)
    wrap: BoolProperty(
        name="Wrap",
        description="Move keyframes that leave the range at one end to the other end",
    )
    gap: _gap_property()
    extend: _extend_property()
    only_selected: _only_selected_property()

    def draw_options(self, layout: bpy.types.UILayout) -> None:
        """Draw the operator's own options."""
        layout.prop(self, "unit", expand=True)
        layout.prop(self, "frames" if self.unit == "FRAMES" else "seconds")
        layout.prop(self, "wrap")
        layout.prop(self, "gap" if self.wrap else "extend")

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Offset the keyframes, and wrap them if wanted."""
        scene = context.scene
        frames = self.frames if self.unit == "FRAMES" else self.seconds * Clock.of(scene).rate
        bones = self.bones(context, rig)
        left = path_warnings(rig, bones) if self.wrap else []
        offset_keys(rig, _frames_to_keys(scene, frames), self.wrap, _frames_to_keys(scene, self.gap), bones)
        self.report_path_warnings(left)
        self.extend_range(context, rig)
        report_message(
            self,
            {"INFO"},
            Message("{} {}", count_with_noun(abs(frames), "frame"), "later" if frames >= 0 else "earlier"),
        )
        return {"FINISHED"}


class KNUCKLE_OT_scale_motion(_RetimeOperator):
    """Operator: scale the speed of the active motion."""

    bl_idname = "knuckle.scale_motion"
    bl_label = "Scale Speed"
    bl_description = "Play the motion faster or slower"
    bl_options = {"REGISTER", "UNDO"}

    to: EnumProperty(
        name="To",
        description="Quantity that sets the speed",
        items=[("SPEED", "Speed", "Multiple of the present speed"), ("DURATION", "Duration", "Duration of the motion")],
    )
    speed: FloatProperty(
        name="Speed", description="Factor on the speed; 2 is twice as fast", default=1.0, min=1e-3, soft_max=10.0
    )
    duration: FloatProperty(
        name="Duration",
        description="Time from the first to the last keyframe (s)",
        default=1.0,
        min=1e-3,
        soft_max=100.0,
    )
    about: EnumProperty(
        name="Pivot",
        description="Frame that stays in place",
        items=[
            ("START", "Start", "First keyframe of the motion"),
            ("CURRENT", "Current Frame", "Current frame of the scene"),
        ],
    )
    extend: _extend_property()
    only_selected: _only_selected_property()

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> Result:
        """Set the duration to the motion's, then open the options in a popup."""
        if not self.properties.is_property_set("duration"):
            with suppress(ValueError):  # reported when the operator runs
                self.duration = _duration(context.scene, *motion_range(polled_model(context)))
        return _RetimeOperator.invoke(self, context, event)

    def draw_options(self, layout: bpy.types.UILayout) -> None:
        """Draw the operator's own options."""
        layout.prop(self, "to", expand=True)
        layout.prop(self, "speed" if self.to == "SPEED" else "duration")
        layout.prop(self, "about")
        layout.prop(self, "extend")

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Scale the keyframes in time."""
        bones = self.bones(context, rig)
        scene = context.scene
        wanted = _seconds_to_keys(scene, self.duration)
        speed = self.speed if self.to == "SPEED" else action_speed_for_duration(rig, wanted, bones)
        start = motion_range(rig, bones)[0]
        # frame_current_final is the frame of Actions under time remapping
        scale_action_speed(rig, speed, start if self.about == "START" else scene.frame_current_final, bones)
        lasts = _duration(scene, *motion_range(rig, bones))
        self.extend_range(context, rig)
        report_message(self, {"INFO"}, Message("{} times as fast: lasts {} s", f"{speed:.4g}", f"{lasts:.4g}"))
        return {"FINISHED"}


class KNUCKLE_OT_bake_gait(ModelOperator):
    """Operator: bake the gait to an Action."""

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
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        return "" if settings(rig).format == "juice" else "The mechanism has no gait"

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Bake the gait over the chosen range, by default the scene's."""
        if not self.properties.is_property_set("frame_start"):
            self.frame_start = context.scene.frame_start
        if not self.properties.is_property_set("frame_end"):
            self.frame_end = context.scene.frame_end
        if self.frame_end < self.frame_start:
            raise ValueError(
                Message("The range ends (frame {}) before it begins (frame {})", self.frame_end, self.frame_start)
            )
        action = bake_gait(context.scene, rig, self.frame_start, self.frame_end)
        if action is None:
            raise ValueError("The mechanism has no gait")
        report_message(
            self,
            {"INFO"},
            Message("Gait baked to Action {}, frames {} to {}", repr(action.name), self.frame_start, self.frame_end),
        )
        return {"FINISHED"}


class KNUCKLE_OT_bake_physics(ModalTask):
    """Operator: simulate and bake the result to an Action."""

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
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        if busy := busy_message():
            return busy
        if settings(rig).drive == "KEYS" and ("knuckle.drive", 0) not in settings_curves(rig):
            return "The bodies follow their keyframes: set Drive to Servos or Ragdoll first"
        return simulated_elsewhere_message(context.scene, rig) or stopped_world_message(context.scene)

    def steps(self, context: bpy.types.Context, rig: bpy.types.Object) -> TaskSteps:
        """Return the generator that simulates and bakes."""
        scene = context.scene
        last = self.frame_end if self.properties.is_property_set("frame_end") else scene.frame_end
        if last < scene.frame_start:
            raise ValueError(
                Message("The range ends (frame {}) before the simulation begins (frame {})", last, scene.frame_start)
            )
        self._finer = steps_per_frame(scene, rig) if simulates_here(scene) else 1
        return bake_steps(scene, rig, last, f"{record_of(rig).source_name} Bake", self.all_bodies)

    def finish(self, context: bpy.types.Context, result: Any) -> None:
        """Report the Action and the accuracy of the simulation."""
        action, recording = result
        lines = accuracy_lines(recording.joint_state.rig)
        found = Message("{}: see Simulation Accuracy", accuracy_verdict(lines)) if lines else ""
        finer = (
            Message("Servos were controlled {} times per frame. Played live, they track less closely", self._finer)
            if self._finer > 1
            else ""
        )
        said = Message("{} baked to Action {}", count_with_noun(len(recording.frames), "frame"), repr(action.name))
        distortion = distortion_message(recording.joint_state.rig)
        report_message(
            self,
            {"WARNING"} if distortion else {"INFO"},
            ". ".join(translated(each) for each in (said, found, finer, distortion) if each),
        )


class KNUCKLE_OT_remove_body_keys(ModelOperator):
    """Operator: remove the keyframes of bodies."""

    bl_idname = "knuckle.remove_body_keys"
    bl_label = "Remove Body Keyframes"
    bl_description = "Let the bodies follow the bones again. Keyframes of the servos stay"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        return "" if settings(rig).body_keys is not None else "The bodies have no keyframes of their own"

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Remove the keyframes of the bodies, which follow the bones again."""
        remove_body_keys(rig)
        report_message(self, {"INFO"}, "The bodies follow the bones")
        return {"FINISHED"}


CLASSES = (
    KNUCKLE_OT_loop_motion,
    KNUCKLE_OT_stop_looping,
    KNUCKLE_OT_mirror_motion,
    KNUCKLE_OT_offset_motion,
    KNUCKLE_OT_scale_motion,
    KNUCKLE_OT_bake_gait,
    KNUCKLE_OT_bake_physics,
    KNUCKLE_OT_remove_body_keys,
)
