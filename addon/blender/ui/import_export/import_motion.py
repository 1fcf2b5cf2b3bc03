"""Import of motion files as keyframes of bones: File > Import > Servo Motion."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import BoolProperty, CollectionProperty, EnumProperty, IntProperty, StringProperty

from .... import formats
from ....core.model import Motion
from ....core.report import FormatError, Message, Report, count_with_noun
from ...animation import Units, apply
from ...animation.actions import activate_action, active_action
from ...animation.apply_motion import match_channels, natural_frame_rate, stack_in_nla
from ...animation.frame_time import set_frame_rate
from ...animation.pose_library import reset_unkeyed
from ...data.conversion import IMPORT_CODES, add_to_report
from ...data.properties.action import ANGLE_UNITS, LENGTH_UNITS
from ...data.queries import rigs_in
from ...locale import translated
from ..base.operators import (
    ImportHelper,
    ModelOperator,
    Result,
    active_model,
    extension_glob,
    linked_model_message,
    no_model_message,
    report_message,
    report_result,
    selected_files,
    unique_extensions,
)
from ..servos.operators import select_keyed_bones

MOTION_EXTENSIONS = unique_extensions(row.extensions for row in formats.MOTION_FORMATS.values())


class IMPORT_ANIM_OT_servo_motion(ModelOperator, ImportHelper):
    """Operator: import motion files as keyframes of the servos."""

    bl_idname = "import_anim.servo_motion"
    bl_label = "Import Servo Motion"
    bl_description = "Key the servos of the active mechanism from a motion file, by their names, in a new Action"
    bl_options = {"REGISTER", "UNDO", "PRESET"}

    filename_ext = MOTION_EXTENSIONS[0]
    filepath: StringProperty(name="File", subtype="FILE_PATH", options={"HIDDEN", "SKIP_SAVE", "SKIP_PRESET"})
    filter_glob: StringProperty(default=extension_glob(MOTION_EXTENSIONS), options={"HIDDEN"})
    files: CollectionProperty(type=bpy.types.OperatorFileListElement, options={"HIDDEN", "SKIP_SAVE"})
    directory: StringProperty(subtype="DIR_PATH", options={"HIDDEN", "SKIP_SAVE"})
    model: StringProperty(
        name="Mechanism",
        description="Armature of the mechanism that is to move; empty for the active one",
        options={"SKIP_SAVE", "SKIP_PRESET"},
    )
    frame_start: IntProperty(
        name="Start Frame", description="First frame of the motion", default=1, options={"SKIP_SAVE"}
    )
    use_fps_scale: BoolProperty(
        name="Scale FPS",
        description="Convert the motion's times to the scene's frame rate; else each step of 32 ms is one frame",
        default=True,
    )
    update_scene_fps: BoolProperty(
        name="Update Scene FPS",
        description="Set the scene's frame rate to one frame per step of the motion: 31.25 fps for 32 ms",
    )
    update_scene_duration: BoolProperty(
        name="Update Scene Duration",
        description="Lengthen the scene's frame range to hold the motion. It is never shortened",
        default=True,
    )
    use_cyclic: BoolProperty(
        name="Repeat", description="Repeat the motion endlessly, by a Cycles modifier on its curves"
    )
    action: EnumProperty(
        name="Action",
        description="Action that gets the keyframes",
        items=[
            ("NEW", "New", "Each motion becomes an Action of its own; the first plays"),
            (
                "LAYER",
                "Active Action",
                "Replace keyframes of the same servos in the active Action, within the motion's time",
            ),
        ],
    )
    use_initial_pose: BoolProperty(
        name="Initial Pose for Other Servos",
        description="Set servos that the motion does not key to their initial values",
        default=True,
    )
    use_nla: BoolProperty(
        name="Stack in NLA",
        description="Put each motion on an NLA track. The first plays; the others are muted",
    )
    angle_unit: EnumProperty(name="Angles", description="Unit of angles in the file", items=ANGLE_UNITS)
    length_unit: EnumProperty(name="Lengths", description="Unit of lengths in the file", items=LENGTH_UNITS)

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Return whether the scene has a mechanism; set the poll message if not."""
        if any(True for _rig in rigs_in(context.scene)):
            return True
        rig = active_model(context)
        cls.poll_message_set(
            translated((linked_model_message(rig) if rig is not None else "") or no_model_message(context))
        )
        return False

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> Result:
        """Set start frame and mechanism; open the file browser or, for dropped files, the options."""
        if not self.properties.is_property_set("frame_start"):
            self.frame_start = context.scene.frame_start
        rig = active_model(context)
        if not self.model and rig is not None:
            self.model = rig.name
        return self.invoke_popup(context)

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the options."""
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.prop_search(self, "model", context.scene, "objects", icon="ARMATURE_DATA")
        layout.prop(self, "frame_start")
        column = layout.column(heading="Scene")
        column.prop(self, "update_scene_fps")
        column.prop(self, "update_scene_duration")
        row = layout.column()
        row.active = not self.update_scene_fps
        row.prop(self, "use_fps_scale")
        layout.prop(self, "action")
        column = layout.column()
        column.active = self.action == "NEW"
        column.prop(self, "use_nla")
        column.prop(self, "use_initial_pose")
        layout.prop(self, "use_cyclic")
        column = layout.column(align=True)
        column.prop(self, "angle_unit")
        column.prop(self, "length_unit")

    def execute(self, context: bpy.types.Context) -> Result:
        """Check that there is a mechanism to move, then import."""
        if self.model:
            rig: Any = context.scene.objects.get(self.model)
            if rig is None or rig not in list(rigs_in(context.scene)):
                report_message(
                    self, {"ERROR"}, Message("{} is not the armature of a mechanism in this scene", repr(self.model))
                )
                return {"CANCELLED"}
        elif active_model(context) is None:
            report_message(self, {"ERROR"}, no_model_message(context))
            return {"CANCELLED"}
        return ModelOperator.execute(self, context)

    def work(self, context: bpy.types.Context, active: bpy.types.Object) -> Result:
        """Key the servos from the files; restore the scene's frame rate on an error."""
        rig: Any = context.scene.objects.get(self.model) or active
        report = Report()
        motions = self._fitting(rig, self._read(report), report)
        onto = active_action(rig) if self.action == "LAYER" else None
        render = context.scene.render
        rate = render.fps, render.fps_base
        made: list[bpy.types.Action] = []
        try:
            if self.update_scene_fps:
                set_frame_rate(context.scene, natural_frame_rate(motions[0]))
            for motion in motions:
                action, applied = self._apply(context.scene, rig, motion, onto)
                onto = action if self.action == "LAYER" else None
                made.append(action)
                report.extend(applied)
        except BaseException:
            render.fps, render.fps_base = rate
            raise
        first = made[0]
        if self.use_nla and self.action == "NEW":
            stack_in_nla(rig, made)
        elif self.action == "NEW":
            activate_action(rig, first)
        if self.use_initial_pose and self.action == "NEW":
            reset_unkeyed(rig, first)
        select_keyed_bones(rig)
        add_to_report(rig, report, IMPORT_CODES)
        keyed = [entry.message for entry in report.entries if entry.code == "servos-keyed"]
        report_result(
            self,
            keyed[-1]
            if len(motions) == 1
            else Message("{}; {} plays", count_with_noun(len(motions), "motion"), repr(first.name)),
            report,
        )
        return {"FINISHED"}

    def _apply(
        self, scene: bpy.types.Scene, rig: bpy.types.Object, motion: Motion, onto: bpy.types.Action | None
    ) -> tuple[bpy.types.Action, Report]:
        return apply(
            motion,
            rig,
            scene,
            self._start(scene),
            self.update_scene_duration,
            scale_to_scene=self.use_fps_scale or self.update_scene_fps,
            onto=onto,
            cyclic=self.use_cyclic,
            units=Units(self.angle_unit, self.length_unit),
        )

    def _start(self, scene: bpy.types.Scene) -> int:
        return self.frame_start if self.properties.is_property_set("frame_start") else scene.frame_start

    def _read(self, report: Report) -> list[Motion]:
        paths = selected_files(self)
        if not paths:
            raise ValueError("No file was chosen")
        motions: list[Motion] = []
        for path in paths:
            found, read = formats.read_motions(bpy.path.abspath(path))
            motions += found
            report.extend(read)
        return motions

    def _fitting(self, rig: bpy.types.Object, motions: list[Motion], report: Report) -> list[Motion]:
        """Return the motions that match servos of a mechanism; report the others.

        Raises:
            FormatError: If none matches, before anything is created.
        """
        fitting: list[Motion] = []
        error: Any = None
        for motion in motions:
            try:
                match_channels(motion, rig)
                fitting.append(motion)
            except FormatError as why:
                error = why
                report.warn("motion-unmatched", str(why), where=motion.name)
        if not fitting:
            raise error
        return fitting


class IO_FH_servo_motion(bpy.types.FileHandler):
    """File handler: drag and drop of motion files into a 3D View."""

    bl_idname = "IO_FH_servo_motion"
    bl_label = "Servo Motion"
    bl_import_operator = "import_anim.servo_motion"
    # .xml is left to the model importer, which reports a motion file: with one handler Blender asks nothing
    bl_file_extensions = ";".join(extension for extension in MOTION_EXTENSIONS if extension != ".xml")

    @classmethod
    def poll_drop(cls, context: bpy.types.Context) -> bool:
        """Return whether files are dropped into a 3D View."""
        return context.area is not None and context.area.type == "VIEW_3D"


def menu_label() -> str:
    """Return the label of servo motion in the menus File > Import and File > Export."""
    return f"Servo Motion ({' '.join(e for e in MOTION_EXTENSIONS if e != '.xml')})"


def menu(self: bpy.types.Menu, _context: bpy.types.Context) -> None:
    """Draw the entry of File > Import."""
    self.layout.operator(IMPORT_ANIM_OT_servo_motion.bl_idname, text=menu_label())


CLASSES = (IMPORT_ANIM_OT_servo_motion, IO_FH_servo_motion)
