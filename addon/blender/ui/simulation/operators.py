"""Who moves the bodies: the drive switch, physics made and cleared, a joint or body selected from a list."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty

from .... import formats
from ....core.gait.presets import FORWARD, PRESETS, input_presets
from ....core.report import FormatError
from ...animation.gait import input_names, presets_of, set_inputs
from ...animation.loops.drivers import drive_from
from ...data.access import settings
from ...data.channels import settings_curves
from ...data.properties.model import DRIVE_ITEMS, control_property
from ...data.queries import file_name, is_foreign, parts
from ...editing.repair.missing_parts import lost_joint_names, unmoved, why_unmoved
from ...locale import told
from ...physics.recording.accuracy import worst_joints
from ...physics.simulation.removal import leftovers, remove_leftovers
from ...physics.simulation.setup import build_physics, clear_physics
from ...physics.world.membership import is_simulated, simulated_in, why_elsewhere
from ...physics.world.rigidbody_world import fit_world
from ...physics.world.scale import distortion
from ...scene.samples import is_sample
from ..base.operators import NeedsModel, Result, counted, say, tell
from ..base.panels import paragraph
from ..base.selection import active_joint, select_part
from .physics_view import follow_drive


class KNUCKLE_OT_set_drive(NeedsModel):
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
        done = self.execute(context)
        follow_drive(context)
        return done

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        settings(rig).drive = self.drive
        spoilt = distortion(rig) if self.drive != "KEYS" else ""
        if spoilt:
            say(self, {"WARNING"}, spoilt)
        return {"FINISHED"}


class KNUCKLE_OT_build_physics(NeedsModel):
    bl_idname = "knuckle.build_physics"
    bl_label = "Add Rigid Bodies"
    bl_description = "Add the rigid bodies and constraints of the mechanism, and those that an edit left missing"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def why_not(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        return why_elsewhere(context.scene, rig) if parts(rig, "BODY") else "The mechanism has no bodies"

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        report = build_physics(context.scene, rig)
        bodies = sum(obj.rigid_body is not None for obj in parts(rig, "BODY"))
        joints = sum(empty.rigid_body_constraint is not None for empty in parts(rig, "JOINT"))
        held = f"{counted(bodies, 'rigid body', 'rigid bodies')} and {counted(joints, 'constraint')}"
        loose = unmoved(rig, parts(rig, "BODY"), parts(rig, "JOINT"))
        if lost_joint_names(rig, loose):
            report.warn("unmoved", why_unmoved(rig, loose))
        tell(self, f"Rigid bodies added: {held}", report)
        return {"FINISHED"}


class KNUCKLE_OT_clear_physics(NeedsModel):
    bl_idname = "knuckle.clear_physics"
    bl_label = "Remove Rigid Bodies"
    bl_description = "Remove the rigid bodies and constraints of the mechanism. Its joints keep their settings"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def why_not(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        return why_elsewhere(context.scene, rig) if is_simulated(rig) else "The mechanism has no rigid bodies to remove"

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        baked = context.scene.rigidbody_world.point_cache.is_baked
        clear_physics(context.scene, rig)
        say(
            self,
            {"INFO"},
            "Rigid bodies removed, and the world's baked cache freed" if baked else "Rigid bodies removed",
        )
        return {"FINISHED"}


class KNUCKLE_OT_select_part(NeedsModel):
    bl_idname = "knuckle.select_part"
    bl_label = "Select Part"
    bl_description = "Select a joint or body of the mechanism: its bone in pose mode, else its object"
    bl_options = {"REGISTER", "UNDO"}

    part: StringProperty(name="Part", description="Name of the object of the joint or body")
    extend: BoolProperty(name="Extend", description="Keep what is selected", default=False)

    @classmethod
    def why_not(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        return "" if context.mode in {"OBJECT", "POSE"} else "Go to object mode or pose mode to select parts"

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        obj = next((obj for role in ("JOINT", "BODY") for obj in parts(rig, role) if obj.name == self.part), None)
        if obj is None:
            raise ValueError(f"{rig.name!r} has no joint or body called {self.part!r}")
        if not select_part(context, rig, obj, self.extend):
            raise ValueError(f"{self.part!r} cannot be selected: it is hidden, or has no bone")
        return {"FINISHED"}


class KNUCKLE_OT_select_worst(NeedsModel):
    bl_idname = "knuckle.select_worst"
    bl_label = "Select Worst Joints"
    bl_description = "Select the joints with the largest separation in the last baked simulation"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def why_not(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        if not any(empty is not None for empty, _line in worst_joints(rig)):
            return "Bake a simulation of the mechanism first"
        return "" if context.mode in {"OBJECT", "POSE"} else "Go to object mode or pose mode to select parts"

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        chosen = [
            (empty, line)
            for empty, line in reversed(worst_joints(rig))  # the worst last: that one is active
            if empty is not None
        ]
        done = 0
        for empty, _line in chosen:
            done += select_part(context, rig, empty, extend=done > 0)
        if not done:
            raise ValueError("The worst joints cannot be selected: they are hidden, or have no bone")
        say(self, {"INFO"}, f"{counted(done, 'joint')} selected")
        return {"FINISHED"}


class KNUCKLE_OT_drive_loop(NeedsModel):
    bl_idname = "knuckle.drive_loop"
    bl_label = "Make Input Joint"
    bl_description = "Make this joint an input of its closed loop; another input joint becomes dependent"
    bl_options = {"REGISTER", "UNDO"}

    joint: StringProperty(name="Joint", description="Name of the joint's object; the active joint if empty")

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        active = active_joint(context, rig)
        empty = next((obj for obj in parts(rig, "JOINT") if obj.name == self.joint), None) if self.joint else active
        if empty is None:
            raise ValueError(f"{rig.name!r} has no joint called {self.joint!r}" if self.joint else "Select a joint")
        drivers = drive_from(rig, empty)
        say(self, {"INFO"}, f"Input joints of the loop: {', '.join(file_name(driver) for driver in drivers)}")
        return {"FINISHED"}


class KNUCKLE_OT_fit_world(NeedsModel):
    bl_idname = "knuckle.fit_world"
    bl_label = "Fit to Mechanism"
    bl_description = "Set substeps and iterations of the scene to what its mechanisms need to stay together"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def why_not(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        return why_elsewhere(context.scene, rig) if is_simulated(rig) else "Use Add Rigid Bodies first"

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        say(self, {"INFO"}, fit_world(context.scene, list(simulated_in(context.scene))).why)
        return {"FINISHED"}


class KNUCKLE_OT_clean_up(bpy.types.Operator):
    bl_idname = "knuckle.clean_up"
    bl_label = "Clean Up"
    bl_description = "Remove the ground, the motors and the rigid-body world that deleted mechanisms left behind"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if leftovers(context.scene):
            return True
        cls.poll_message_set(told("No deleted mechanism has left anything behind"))
        return False

    def execute(self, context: bpy.types.Context) -> Result:
        say(self, {"INFO"}, f"{counted(remove_leftovers(context.scene), 'object')} removed")
        return {"FINISHED"}


ITEMS: list[Any] = [
    ("STAND", "Stand", "Inputs at which the mechanism stays where it is", "PAUSE", 0),
    ("FORWARD", "Forward", "Inputs at which the mechanism goes forward", "TRIA_UP", 1),
    ("BACKWARD", "Backward", "Inputs at which the mechanism goes backward", "TRIA_DOWN", 2),
    ("TURN_LEFT", "Turn Left", "Inputs at which the mechanism turns to the left", "LOOP_BACK", 3),
    ("TURN_RIGHT", "Turn Right", "Inputs at which the mechanism turns to the right", "LOOP_FORWARDS", 4),
]
_LABELS = {item[0]: item[1] for item in ITEMS}


class KNUCKLE_OT_set_inputs(NeedsModel):
    bl_idname = "knuckle.set_inputs"
    bl_label = "Set Inputs"
    bl_description = "Set the inputs of the gait by a preset. An unedited Action of the gait is baked anew with them"
    bl_options = {"REGISTER", "UNDO"}

    preset: EnumProperty(name="Preset", description="Inputs to set", items=ITEMS)

    @classmethod
    def why_not(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        return "" if input_names(rig) else "The gait of the mechanism reads no input"

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        inputs = presets_of(rig).get(self.preset)
        if inputs is None:
            raise ValueError(f"No input lets the mechanism do this: {_LABELS[self.preset]}")
        set_inputs(context.scene, rig, inputs)
        curves = settings_curves(rig)
        keyed = [name for name in input_names(rig) if (f"knuckle.controls.{control_property(name)}", 0) in curves]
        if keyed:
            say(self, {"WARNING"}, f"The keyframes of {', '.join(keyed)} override the preset. Remove them to use it")
        return {"FINISHED"}


def draw_presets(context: bpy.types.Context, layout: bpy.types.UILayout, rig: bpy.types.Object) -> None:
    """The presets of a mechanism's gait as buttons: standing and both ways in one row, turning in the next.

    A document that cannot be read, as while somebody edits its text, has its error in their place.
    """
    if is_foreign(rig):
        return
    try:
        found = presets_of(rig)
    except FormatError as error:
        paragraph(context, layout, str(error), "ERROR")
        return
    column = layout.column(align=True)
    for names in (PRESETS[:3], PRESETS[3:]):
        row = column.row(align=True)
        for item in ITEMS:
            if item[0] in names and item[0] in found:
                row.operator("knuckle.set_inputs", text=item[1], icon=item[3]).preset = item[0]


def start_inputs(scene: bpy.types.Scene, rig: bpy.types.Object, path: str, chosen: str) -> None:
    """Set the inputs that an import begins with.

    Args:
        scene: The scene that it was imported into.
        rig: The mechanism.
        path: The file that it came from.
        chosen: A preset, or ``AUTO``: forward for samples of ours. A preset that the gait has not is passed over.
    """
    if chosen == "AUTO":
        chosen = FORWARD if is_sample(Path(path)) else ""
    inputs = presets_of(rig).get(chosen)
    if inputs is not None and settings(rig).listens_to:
        set_inputs(scene, rig, inputs)


def goes_forward(path: str) -> bool:
    """Return whether a file is a sample of ours with a gait that inputs let go forward."""
    return is_sample(Path(path)) and FORWARD in input_presets(formats.load(path))


CLASSES = (
    KNUCKLE_OT_clean_up,
    KNUCKLE_OT_set_drive,
    KNUCKLE_OT_drive_loop,
    KNUCKLE_OT_fit_world,
    KNUCKLE_OT_build_physics,
    KNUCKLE_OT_clear_physics,
    KNUCKLE_OT_select_part,
    KNUCKLE_OT_select_worst,
    KNUCKLE_OT_set_inputs,
)
