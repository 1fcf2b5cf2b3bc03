"""Operators on simulation: drive, rigid bodies, input presets, input joints, and selecting joints and bodies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty

from .... import formats
from ....core.gait.presets import FORWARD, INPUT_PRESETS, find_input_presets
from ....core.report import FormatError, Message, count_with_noun
from ....installation import is_sample
from ...animation.gait import document_presets, input_names, set_inputs
from ...animation.loops.input_joints import set_input_joint
from ...data.access import armature_settings, settings, world_of
from ...data.channels import settings_curves
from ...data.properties.model import DRIVE_ITEMS, input_property_name
from ...data.queries import file_name, is_foreign, parts
from ...editing.repair.missing_parts import find_deleted_joints, unmoved_bodies, unmoved_message
from ...events.handlers import Handlers, connect, disconnect
from ...events.signals import Signal
from ...locale import translated
from ...physics.recording.accuracy import accuracy_lines, worst_joint_lines
from ...physics.recording.bake import record_steps
from ...physics.recording.reference_engine import compare_steps, mujoco_missing_message
from ...physics.recording.step_trials import convergence_steps, lacks_selection, select_steps, selection_lines
from ...physics.simulation.setup import build_physics, clear_physics, find_leftovers, remove_leftovers
from ...physics.world.membership import (
    is_simulated,
    simulated_elsewhere_message,
    simulated_rigs,
    stopped_world_message,
)
from ...physics.world.rigidbody_world import fit_world, has_own_settings
from ...physics.world.scale import distortion_message
from ..base.modal_tasks import ModalTask, TaskSteps, busy_message
from ..base.operators import ModelOperator, Result, report_message, report_result
from ..base.panels import draw_paragraph
from ..base.selection import active_joint, select_part
from .physics_view import follow_drive


class KNUCKLE_OT_set_drive(ModelOperator):
    """Operator: set the drive, the source of the bodies' motion."""

    bl_idname = "knuckle.set_drive"
    bl_label = "Set Drive"
    bl_description = "Choose the source of the bodies' motion: keyframes, servos, or gravity alone"
    bl_options = {"REGISTER", "UNDO"}

    drive: EnumProperty(
        name="Drive",
        description="Source of the bodies' motion",
        items=DRIVE_ITEMS,
    )

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> Result:
        """Set the drive and update the display of the 3D views."""
        done = self.execute(context)
        follow_drive(context)
        return done

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Set the drive; warn of a distorting scale under physics."""
        settings(rig).drive = self.drive
        distortion = distortion_message(rig) if self.drive != "KEYS" else ""
        if distortion:
            report_message(self, {"WARNING"}, distortion)
        return {"FINISHED"}


class KNUCKLE_OT_build_physics(ModelOperator):
    """Operator: add the rigid bodies and constraints of the mechanism."""

    bl_idname = "knuckle.build_physics"
    bl_label = "Add Rigid Bodies"
    bl_description = "Add the rigid bodies and constraints of the mechanism, and those that an edit left missing"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        return simulated_elsewhere_message(context.scene, rig) if parts(rig, "BODY") else "The mechanism has no bodies"

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Add rigid bodies and constraints, and report their number and unmoved bodies."""
        report = build_physics(context.scene, rig)
        bodies = sum(obj.rigid_body is not None for obj in parts(rig, "BODY"))
        joints = sum(empty.rigid_body_constraint is not None for empty in parts(rig, "JOINT"))
        held = Message(
            "{} and {}", count_with_noun(bodies, "rigid body", "rigid bodies"), count_with_noun(joints, "constraint")
        )
        loose = unmoved_bodies(rig, parts(rig, "BODY"), parts(rig, "JOINT"))
        if find_deleted_joints(rig, loose):
            report.warn("unmoved", unmoved_message(rig, loose))
        report_result(self, Message("Rigid bodies added: {}", held), report)
        return {"FINISHED"}


class KNUCKLE_OT_clear_physics(ModelOperator):
    """Operator: remove the rigid bodies and constraints of the mechanism."""

    bl_idname = "knuckle.clear_physics"
    bl_label = "Remove Rigid Bodies"
    bl_description = "Remove the rigid bodies and constraints of the mechanism. Its joints keep their settings"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        return (
            simulated_elsewhere_message(context.scene, rig)
            if is_simulated(rig)
            else "The mechanism has no rigid bodies to remove"
        )

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Remove rigid bodies and constraints, which frees a baked cache."""
        baked = world_of(context.scene).point_cache.is_baked
        clear_physics(context.scene, rig)
        report_message(
            self,
            {"INFO"},
            "Rigid bodies removed, and the world's baked cache freed" if baked else "Rigid bodies removed",
        )
        return {"FINISHED"}


class KNUCKLE_OT_select_part(ModelOperator):
    """Operator: select a joint or body by the name of its object."""

    bl_idname = "knuckle.select_part"
    bl_label = "Select Part"
    bl_description = "Select a joint or body of the mechanism: its bone in pose mode, else its object"
    bl_options = {"REGISTER", "UNDO"}

    part: StringProperty(name="Part", description="Name of the object of the joint or body")
    extend: BoolProperty(name="Extend", description="Keep what is selected", default=False)

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        return "" if context.mode in {"OBJECT", "POSE"} else "Go to object mode or pose mode to select parts"

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Select the bone of the part in pose mode, else its object."""
        obj = next((obj for role in ("JOINT", "BODY") for obj in parts(rig, role) if obj.name == self.part), None)
        if obj is None:
            raise ValueError(Message("{} has no joint or body called {}", repr(rig.name), repr(self.part)))
        if not select_part(context, rig, obj, self.extend):
            raise ValueError(Message("{} cannot be selected: it is hidden, or has no bone", repr(self.part)))
        return {"FINISHED"}


class KNUCKLE_OT_select_worst(ModelOperator):
    """Operator: select the joints with the largest separation."""

    bl_idname = "knuckle.select_worst"
    bl_label = "Select Worst Joints"
    bl_description = "Select the joints with the largest separation in the last baked simulation"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        if not any(empty is not None for empty, _line in worst_joint_lines(rig)):
            return "Bake a simulation of the mechanism first"
        return "" if context.mode in {"OBJECT", "POSE"} else "Go to object mode or pose mode to select parts"

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Select the joints; the one with the largest separation becomes active."""
        chosen = [
            (empty, line)
            for empty, line in reversed(worst_joint_lines(rig))  # the worst last, so that it becomes active
            if empty is not None
        ]
        done = 0
        for empty, _line in chosen:
            done += select_part(context, rig, empty, extend=done > 0)
        if not done:
            raise ValueError("The worst joints cannot be selected: they are hidden, or have no bone")
        report_message(self, {"INFO"}, Message("{} selected", count_with_noun(done, "joint")))
        return {"FINISHED"}


class KNUCKLE_OT_drive_loop(ModelOperator):
    """Operator: make a joint an input joint of its closed loop."""

    bl_idname = "knuckle.drive_loop"
    bl_label = "Make Input Joint"
    bl_description = "Make this joint an input of its closed loop; another input joint becomes dependent"
    bl_options = {"REGISTER", "UNDO"}

    joint: StringProperty(name="Joint", description="Name of the joint's object; the active joint if empty")

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Make the joint an input joint, and report all input joints of the loop."""
        active = active_joint(context, rig)
        empty = next((obj for obj in parts(rig, "JOINT") if obj.name == self.joint), None) if self.joint else active
        if empty is None:
            raise ValueError(
                Message("{} has no joint called {}", repr(rig.name), repr(self.joint))
                if self.joint
                else "Select a joint"
            )
        drivers = set_input_joint(rig, empty)
        report_message(
            self, {"INFO"}, Message("Input joints of the loop: {}", ", ".join(file_name(driver) for driver in drivers))
        )
        return {"FINISHED"}


class KNUCKLE_OT_fit_world(ModalTask):
    """Operator: measure and set substeps and iterations of the rigid-body world."""

    bl_idname = "knuckle.fit_world"
    bl_label = "Measure Again"
    bl_description = "Measure and set the substeps and iterations with which the mechanisms of the scene stay together"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        return simulated_elsewhere_message(context.scene, rig) if is_simulated(rig) else "Use Add Rigid Bodies first"

    def steps(self, context: bpy.types.Context, rig: bpy.types.Object) -> TaskSteps:
        """Return the generator that measures."""
        scene, rigs = context.scene, list(simulated_rigs(context.scene))
        yield from select_steps(scene, rigs, "PREVIEW", record_steps, again=True)
        return fit_world(scene, rigs), rigs

    def finish(self, context: bpy.types.Context, result: Any) -> None:
        """Report the settings."""
        fit, rigs = result
        found = [line for rig in rigs for line in selection_lines(rig)[:1]]
        report_message(self, {"INFO"}, ". ".join(map(translated, found)) or fit.why)


class KNUCKLE_OT_check_convergence(ModalTask):
    """Operator: measure how far paths move if the substeps of the last bake are doubled."""

    bl_idname = "knuckle.check_convergence"
    bl_label = "Check Convergence"
    bl_description = (
        "Simulate a second of the last bake with its substeps and with twice as many, and compare the paths"
    )
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        if busy := busy_message():
            return busy
        if not accuracy_lines(rig):
            return "Bake a simulation of the mechanism first"
        return simulated_elsewhere_message(context.scene, rig) or stopped_world_message(context.scene)

    def steps(self, context: bpy.types.Context, rig: bpy.types.Object) -> TaskSteps:
        """Return the generator that simulates twice."""
        yield from convergence_steps(context.scene, rig, record_steps)
        return rig

    def finish(self, context: bpy.types.Context, result: Any) -> None:
        """Report the path shift."""
        line = accuracy_lines(result)[-1]
        report_message(self, {"INFO"}, translated(line.what) + ": " + translated(line.worst))


class KNUCKLE_OT_compare_mujoco(ModalTask):
    """Operator: simulate the last bake in MuJoCo too, and measure how far bodies are apart."""

    bl_idname = "knuckle.compare_mujoco"
    bl_label = "Compare with MuJoCo"
    bl_description = "Simulate the last bake again, in Blender and in MuJoCo, and compare the paths of the bodies"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        if busy := busy_message():
            return busy
        if not accuracy_lines(rig):
            return "Bake a simulation of the mechanism first"
        return (
            mujoco_missing_message()
            or simulated_elsewhere_message(context.scene, rig)
            or stopped_world_message(context.scene)
        )

    def steps(self, context: bpy.types.Context, rig: bpy.types.Object) -> TaskSteps:
        """Return the generator that simulates in both."""
        return compare_steps(context.scene, rig)

    def finish(self, context: bpy.types.Context, result: Any) -> None:
        """Report the largest difference."""
        largest = max((difference.largest for difference in result), default=0.0)
        report_message(self, {"INFO"}, Message("Blender and MuJoCo differ by {} m at most", f"{largest:.3g}"))


def _measure_later(armature: bpy.types.Armature) -> None:
    """Measure substeps and iterations before a simulation is played in a window, unless that is done or not ours."""
    rig = armature_settings(armature).rig
    if bpy.app.background or rig is None or armature_settings(armature).drive == "KEYS":
        return
    if not bpy.app.timers.is_registered(_measure):
        bpy.app.timers.register(_measure, first_interval=0.0)


def _measure() -> None:
    window = next(iter(bpy.context.window_manager.windows), None)
    if window is None or busy_message():
        return
    scene = window.scene
    rigs = list(simulated_rigs(scene))
    if has_own_settings(scene) and any(lacks_selection(rig, "PREVIEW") for rig in rigs):
        with bpy.context.temp_override(window=window, active_object=rigs[0]):
            bpy.ops.knuckle.fit_world("INVOKE_DEFAULT", False)  # type: ignore[attr-defined]


_HANDLERS: Handlers = ((Signal.DRIVE, _measure_later),)


def register() -> None:
    """Connect the handlers."""
    connect(_HANDLERS)


def unregister() -> None:
    """Disconnect the handlers, and measure no more."""
    disconnect(_HANDLERS)
    if bpy.app.timers.is_registered(_measure):
        bpy.app.timers.unregister(_measure)


class KNUCKLE_OT_clean_up(bpy.types.Operator):
    """Operator: remove what deleted mechanisms left behind."""

    bl_idname = "knuckle.clean_up"
    bl_label = "Clean Up"
    bl_description = "Remove the ground, the motors and the rigid-body world that deleted mechanisms left behind"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Return whether a deleted mechanism left something behind; set the poll message if not."""
        if find_leftovers(context.scene):
            return True
        cls.poll_message_set(translated("No deleted mechanism has left anything behind"))
        return False

    def execute(self, context: bpy.types.Context) -> Result:
        """Remove the leftovers and report their number."""
        report_message(
            self, {"INFO"}, Message("{} removed", count_with_noun(remove_leftovers(context.scene), "object"))
        )
        return {"FINISHED"}


INPUT_PRESET_ITEMS: list[Any] = [
    ("STAND", "Stand", "Inputs at which the mechanism stays where it is", "PAUSE", 0),
    ("FORWARD", "Forward", "Inputs at which the mechanism goes forward", "TRIA_UP", 1),
    ("BACKWARD", "Backward", "Inputs at which the mechanism goes backward", "TRIA_DOWN", 2),
    ("TURN_LEFT", "Turn Left", "Inputs at which the mechanism turns to the left", "LOOP_BACK", 3),
    ("TURN_RIGHT", "Turn Right", "Inputs at which the mechanism turns to the right", "LOOP_FORWARDS", 4),
]
_PRESET_LABELS = {item[0]: item[1] for item in INPUT_PRESET_ITEMS}


class KNUCKLE_OT_set_inputs(ModelOperator):
    """Operator: set the inputs of the gait to a preset."""

    bl_idname = "knuckle.set_inputs"
    bl_label = "Set Inputs"
    bl_description = "Set the inputs of the gait by a preset, and bake its unedited Action again"
    bl_options = {"REGISTER", "UNDO"}

    preset: EnumProperty(name="Preset", description="Inputs to set", items=INPUT_PRESET_ITEMS)

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        return "" if input_names(rig) else "The gait of the mechanism reads no input"

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Set the inputs; warn of keyframes that override them."""
        inputs = document_presets(rig).get(self.preset)
        if inputs is None:
            raise ValueError(Message("No input lets the mechanism do this: {}", _PRESET_LABELS[self.preset]))
        set_inputs(context.scene, rig, inputs)
        curves = settings_curves(rig)
        keyed = [name for name in input_names(rig) if (f"knuckle.controls.{input_property_name(name)}", 0) in curves]
        if keyed:
            report_message(
                self,
                {"WARNING"},
                Message("The keyframes of {} override the preset. Remove them to use it", ", ".join(keyed)),
            )
        return {"FINISHED"}


def draw_presets(context: bpy.types.Context, layout: bpy.types.UILayout, rig: bpy.types.Object) -> None:
    """Draw the presets of a mechanism's gait: standing, forward and backward in one row, turning in the next.

    If the document cannot be read, as while its text is being edited, its error is drawn instead.
    """
    if is_foreign(rig):
        return
    try:
        found = document_presets(rig)
    except FormatError as error:
        draw_paragraph(context, layout, str(error), "ERROR")
        return
    column = layout.column(align=True)
    for names in (INPUT_PRESETS[:3], INPUT_PRESETS[3:]):
        row = column.row(align=True)
        for item in INPUT_PRESET_ITEMS:
            if item[0] in names and item[0] in found:
                row.operator("knuckle.set_inputs", text=item[1], icon=item[3]).preset = item[0]


def set_initial_inputs(scene: bpy.types.Scene, rig: bpy.types.Object, path: str, chosen: str) -> None:
    """Set the inputs of a mechanism that was imported.

    Args:
        scene: Scene of the import.
        rig: The mechanism.
        path: The imported file.
        chosen: A preset, or ``AUTO``: forward for the samples of the extension. A preset that the gait does not have
            is ignored.
    """
    if chosen == "AUTO":
        chosen = FORWARD if is_sample(Path(path)) else ""
    inputs = document_presets(rig).get(chosen)
    if inputs is not None and settings(rig).gait_inputs:
        set_inputs(scene, rig, inputs)


def is_forward_sample(path: str) -> bool:
    """Return whether a file is a sample of the extension whose gait has the preset forward."""
    return is_sample(Path(path)) and FORWARD in find_input_presets(formats.load(path))


CLASSES = (
    KNUCKLE_OT_clean_up,
    KNUCKLE_OT_set_drive,
    KNUCKLE_OT_drive_loop,
    KNUCKLE_OT_check_convergence,
    KNUCKLE_OT_compare_mujoco,
    KNUCKLE_OT_fit_world,
    KNUCKLE_OT_build_physics,
    KNUCKLE_OT_clear_physics,
    KNUCKLE_OT_select_part,
    KNUCKLE_OT_select_worst,
    KNUCKLE_OT_set_inputs,
)
