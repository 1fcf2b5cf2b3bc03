"""Operators on stops: set them from pose or motion, switch them, and sweep joints through their ranges."""

from __future__ import annotations

import time
from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, StringProperty

from ....core.editing.joints import STOP_ENDS
from ....core.overlay_geometry import format_dof_value
from ....core.report import Message, count_with_noun
from ...animation.fcurves import editable_action
from ...data.access import record_of, settings
from ...editing.joint_settings import (
    JointDof,
    JointSweep,
    is_angular,
    stops_from_motion,
    stops_from_pose,
    switch_stops,
)
from ...locale import translated
from ..base.modal_tasks import RunningTask, is_interactive, stop_playback
from ..base.operators import (
    ERRORS,
    ModelOperator,
    Result,
    cancel_with_error,
    polled_model,
    report_message,
    report_result,
)
from ..base.selection import active_joint, selected_parts

_TIMER_INTERVAL = 1.0 / 60.0


def selected_joints(context: bpy.types.Context, rig: bpy.types.Object) -> list[bpy.types.Object]:
    """Return the joints that are selected, by their bones or themselves; else the active one."""
    found = [obj for obj in selected_parts(context, rig) if record_of(obj).role == "JOINT"]
    active = active_joint(context, rig)
    return found or ([active] if active is not None else [])


class JointsOperator(ModelOperator):
    """Base of the operators that work on the selected joints. Not registered itself."""

    bl_idname = "knuckle.needs_joints"
    bl_label = "Needs Joints"

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        return "" if selected_joints(context, rig) else "Select joints, their bones, or bodies that they move"


class KNUCKLE_OT_set_stops(JointsOperator):
    """Operator: set the stops of the selected joints."""

    bl_idname = "knuckle.set_stops"
    bl_label = "Set Stops"
    bl_description = "Set stops of the selected joints from the present pose or from the motion"
    bl_options = {"REGISTER", "UNDO"}

    to: EnumProperty(
        name="From",
        description="Source of the stops",
        items=[
            ("LOWER", "Lower from Pose", "Set the lower stop to the present joint value"),
            ("UPPER", "Upper from Pose", "Set the upper stop to the present joint value"),
            ("MOTION", "Both from Motion", "Set both stops to the smallest and largest value in the motion"),
        ],
    )

    @classmethod
    def description(cls, context: bpy.types.Context, properties: Any) -> str:
        """Return the tooltip for the source of the stops."""
        items = cls.bl_rna.properties["to"].enum_items  # type: ignore[attr-defined]
        return translated(Message("{}. For all selected joints", items[properties.to].description))

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Set the stops from the pose or the active motion."""
        chosen = selected_joints(context, rig)
        if self.to == "MOTION":
            editable_action(rig)
            count, report = stops_from_motion(rig, chosen, context.scene)
        else:
            context.view_layer.update()
            count, report = stops_from_pose(rig, chosen, "lower" if self.to == "LOWER" else "upper")
        if not count:
            why = f": {report.entries[0].message}" if report.entries else ": a joint that closes a loop has no pose"
            raise ValueError(Message("No stop was set{}", why))
        report_result(self, Message("Stops of {} set", count_with_noun(count, "servo")), report)
        return {"FINISHED"}


class KNUCKLE_OT_switch_stops(JointsOperator):
    """Operator: switch the stops of the selected joints on or off."""

    bl_idname = "knuckle.switch_stops"
    bl_label = "Switch Stops"
    bl_description = "Switch stops of the selected joints on or off. Their values stay"
    bl_options = {"REGISTER", "UNDO"}

    on: BoolProperty(name="On", description="Switch the stops on, else off", default=True)
    ends: EnumProperty(
        name="Ends",
        description="Stops to switch",
        items=[
            ("BOTH", "Both", "The lower and the upper stop"),
            ("LOWER", "Lower", "The lower stop"),
            ("UPPER", "Upper", "The upper stop"),
        ],
    )

    @classmethod
    def description(cls, context: bpy.types.Context, properties: Any) -> str:
        """Return the tooltip for switching on or off."""
        if properties.on:
            return translated("Switch the stops of the selected joints on. Stops that were never set begin near 0")
        return translated("Switch the stops of the selected joints off. Their values stay")

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Switch the stops on or off."""
        ends = [end for end in STOP_ENDS if self.ends in {"BOTH", end.upper()}]
        count = switch_stops(rig, selected_joints(context, rig), self.on, ends)
        report_message(
            self,
            {"INFO"},
            Message("Stops of {} switched {}", count_with_noun(count, "servo"), "on" if self.on else "off"),
        )
        return {"FINISHED"}


class KNUCKLE_OT_sweep(JointsOperator):
    """Operator: play joints through their ranges."""

    bl_idname = "knuckle.sweep"
    bl_label = "Sweep"
    bl_description = "Play the selected joints through their ranges, one by one. Esc or a click ends it"
    bl_options = {"REGISTER"}

    seconds: FloatProperty(name="Seconds", description="Time per servo (s)", default=3.0, min=0.1, soft_max=20)
    joint: StringProperty(name="Joint", description="Name of the joint's object; the selected joints if empty")

    _sweep: JointSweep | None = None
    _running_task: RunningTask | None = None
    _began = 0.0

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run, such as physics; empty if it can."""
        if settings(rig).drive != "KEYS":
            return "Physics moves the bodies: set Drive to Keyframes to see a sweep"
        return super().poll_message(context, rig)

    def begin(self, context: bpy.types.Context) -> JointSweep:
        """Return the sweep of the named joint, else of the selected ones."""
        rig = polled_model(context)
        named = bpy.data.objects.get(self.joint) if self.joint else None
        return JointSweep(rig, [named] if named is not None else selected_joints(context, rig), self.seconds)

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Play the whole sweep step by step, without a window."""
        sweep = self.begin(context)
        try:
            for step in range(int(sweep.duration / _TIMER_INTERVAL)):
                sweep.at(step * _TIMER_INTERVAL)
                context.view_layer.update()
        finally:
            sweep.end()
        report_message(self, {"INFO"}, Message("Played for {} s", f"{sweep.duration:.3g}"))
        return {"FINISHED"}

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> Result:
        """Start the sweep in a window; without one, play it at once."""
        if not is_interactive(context):
            return self.execute(context)
        stop_playback(context)
        try:
            self._sweep = self.begin(context)
        except ERRORS as error:
            return cancel_with_error(self, error)
        self._began = time.perf_counter()
        self._running_task = RunningTask(context, _TIMER_INTERVAL, self._sweep.end)
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> Result:
        """Show the sweep on each timer event; Esc, Return or a click ends it.

        Only view navigation is passed on: an edit would change a pose that does not stay.
        """
        if event.type in {"ESC", "LEFTMOUSE", "RIGHTMOUSE", "RET"} and event.value == "PRESS":
            return self._leave()
        if event.type in {"MIDDLEMOUSE", "WHEELUPMOUSE", "WHEELDOWNMOUSE", "TRACKPADPAN", "TRACKPADZOOM"}:
            return {"PASS_THROUGH"}
        if event.type != "TIMER":
            return {"RUNNING_MODAL"}
        try:
            goes_on = self._show()
        except (ReferenceError, KeyError):  # armature or bones deleted, in another window or by a script
            self._leave()
            return cancel_with_error(
                self, Message("{}: stopped, because its mechanism was deleted or undone", self.bl_label)
            )
        except BaseException:
            self._leave()
            raise
        return {"RUNNING_MODAL"} if goes_on else self._leave()

    def _show(self) -> bool:
        """Pose the joints for the present time; return whether the sweep goes on."""
        assert self._sweep is not None and self._running_task is not None
        shown = self._sweep.at(time.perf_counter() - self._began)
        if shown is None:
            return False
        each, value, span = shown
        lower, upper = (value_label(each, end) for end in span)
        ends = translated("Esc or a click ends the sweep")
        self._running_task.show_status(f"{each.name}: {value_label(each, value)} ({lower} … {upper}).  {ends}")
        return True

    def cancel(self, context: bpy.types.Context) -> None:
        """End the sweep when Blender closes its window or opens another file."""
        self._leave()

    def _leave(self) -> Result:
        if self._running_task is not None:
            self._running_task.leave()
        return {"FINISHED"}


def value_label(each: JointDof, value: float) -> str:
    """Format a joint value in the interface's units: degrees or lengths."""
    return format_dof_value(value, is_angular(each))


CLASSES = (KNUCKLE_OT_set_stops, KNUCKLE_OT_switch_stops, KNUCKLE_OT_sweep)
