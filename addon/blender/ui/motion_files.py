"""File > Import and Export > Servo Motion: keys of the bones from and to motion files."""

from __future__ import annotations

import math
from pathlib import Path

import bpy
from bpy.props import BoolProperty, CollectionProperty, EnumProperty, IntProperty, StringProperty

from ... import formats
from ...formats.xmdi import FRAME_SECONDS
from ...model.records import Motion
from ...model.report import Report
from ..access import record_of, settings
from ..animation import apply, sample
from ..channels import servo_channels
from ..physics.world import frame_rate
from .common import (
    ExportHelper,
    ImportHelper,
    NeedsModel,
    Result,
    chosen_files,
    counted,
    distinct,
    glob_of,
    model_in,
    tell,
    with_extension,
)

EXTENSIONS = distinct(row.extensions for row in formats.MOTION_FORMATS.values())


class IMPORT_ANIM_OT_servo_motion(NeedsModel, ImportHelper):
    bl_idname = "import_anim.servo_motion"
    bl_label = "Import Servo Motion"
    bl_description = "Key the servos of the active mechanism from a motion file, by their names, in a new Action"
    bl_options = {"REGISTER", "UNDO", "PRESET"}

    filename_ext = EXTENSIONS[0]
    filepath: StringProperty(name="File", subtype="FILE_PATH", options={"HIDDEN", "SKIP_SAVE", "SKIP_PRESET"})
    filter_glob: StringProperty(default=glob_of(EXTENSIONS), options={"HIDDEN"})
    files: CollectionProperty(type=bpy.types.OperatorFileListElement, options={"HIDDEN", "SKIP_SAVE"})
    directory: StringProperty(subtype="DIR_PATH", options={"HIDDEN", "SKIP_SAVE"})
    frame_start: IntProperty(
        name="Start Frame", description="The frame at which the motion begins", default=1, options={"SKIP_SAVE"}
    )
    extend: BoolProperty(
        name="Extend Range",
        description="Lengthen the scene's frame range to hold the motion. It is never shortened",
        default=True,
    )

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> Result:
        if not self.properties.is_property_set("frame_start"):
            self.frame_start = context.scene.frame_start
        return self.invoke_popup(context)

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.prop(self, "frame_start")
        layout.prop(self, "extend")

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        paths = chosen_files(self)
        if not paths:
            raise ValueError("No file was chosen")
        report = Report()
        motions: list[Motion] = []
        for path in paths:
            found, read = formats.read_motions(bpy.path.abspath(path))
            motions += found
            report.extend(read)
        set_start = self.properties.is_property_set("frame_start")
        start = self.frame_start if set_start else context.scene.frame_start
        for motion in reversed(motions):  # the first is the one that plays in the end
            action, applied = apply(motion, settings(rig).collection, context.scene, start, self.extend)
            report.extend(applied)
        keyed = [entry.message for entry in report.entries if entry.code == "servos-keyed"]
        tell(self, keyed[-1] if len(motions) == 1 else f"{len(motions)} motions; {action.name!r} plays", report)
        return {"FINISHED"}


class EXPORT_ANIM_OT_servo_motion(NeedsModel, ExportHelper):
    bl_idname = "export_anim.servo_motion"
    bl_label = "Export Servo Motion"
    bl_description = "Write what the servos of the active mechanism do, as the bones show it, to a motion file"
    bl_options = {"PRESET"}

    filename_ext = EXTENSIONS[0]
    check_extension = None
    filepath: StringProperty(name="File", subtype="FILE_PATH")
    filter_glob: StringProperty(default=glob_of(EXTENSIONS), options={"HIDDEN"})
    frame_start: IntProperty(name="Start Frame", description="Time 0 of the motion", options={"SKIP_SAVE"})
    frame_end: IntProperty(name="End Frame", description="The last frame that is written", options={"SKIP_SAVE"})
    servos: EnumProperty(
        name="Servos",
        description="Which servos to write",
        items=[
            ("KEYED", "Keyed", "Those that the Action keys; all of them where it keys none"),
            ("ALL", "All", "Every servo, those that stand still too"),
        ],
    )

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> Result:
        self.frame_start, self.frame_end = self._range(context.scene)
        rig = model_in(context)
        if not self.filepath and rig is not None:
            self.filepath = bpy.path.clean_name(_motion_name(rig)) + self.filename_ext
        return ExportHelper.invoke(self, context, event)

    def check(self, context: bpy.types.Context) -> bool:
        path = with_extension(self.filepath, EXTENSIONS)
        changed = path != self.filepath
        if changed:
            self.filepath = path
        return changed

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        column = layout.column(align=True)
        column.prop(self, "frame_start")
        column.prop(self, "frame_end", text="End")
        layout.prop(self, "servos")

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        scene = context.scene
        first, last = self._range(scene)
        if last < first:
            raise ValueError(f"The range ends (frame {last}) before it begins (frame {first})")
        frames = motion_frames(first, last, frame_rate(scene))
        joints = None if self.servos == "KEYED" else list(servo_channels(rig))
        motion = sample(settings(rig).collection, scene, frames, joints, _motion_name(rig))
        path = with_extension(bpy.path.abspath(self.filepath), EXTENSIONS)
        report = formats.save_motion(motion, path)
        servos = counted(len(motion.trajectories), "servo")
        tell(self, f"Exported {Path(path).name}: {servos}, {motion.duration:g} s", report)
        return {"FINISHED"}

    def _range(self, scene: bpy.types.Scene) -> tuple[int, int]:
        given = self.properties.is_property_set
        return (
            self.frame_start if given("frame_start") else scene.frame_start,
            self.frame_end if given("frame_end") else scene.frame_end,
        )


class IO_FH_servo_motion(bpy.types.FileHandler):
    bl_idname = "IO_FH_servo_motion"
    bl_label = "Servo Motion"
    bl_import_operator = "import_anim.servo_motion"
    # .xml is the model importer's: it says so when it is given a motion, and Blender asks nothing
    bl_file_extensions = ";".join(extension for extension in EXTENSIONS if extension != ".xml")

    @classmethod
    def poll_drop(cls, context: bpy.types.Context) -> bool:
        return context.area is not None and context.area.type == "VIEW_3D"


def motion_frames(first: int, last: int, rate: float) -> list[float]:
    """The scene frames of a motion's own, 32 ms apart and thus mostly between frames, from first to last."""
    count = math.floor((last - first) / (FRAME_SECONDS * rate) + 1e-6) + 1
    return [first + number * FRAME_SECONDS * rate for number in range(count)]


def _motion_name(rig: bpy.types.Object) -> str:
    data = rig.animation_data
    if data is not None and data.action is not None:
        return data.action.name
    return record_of(rig).source_name or rig.name


def import_menu(self: bpy.types.Menu, _context: bpy.types.Context) -> None:
    """The entry of File > Import."""
    self.layout.operator(IMPORT_ANIM_OT_servo_motion.bl_idname, text=_label())


def export_menu(self: bpy.types.Menu, _context: bpy.types.Context) -> None:
    """The entry of File > Export."""
    self.layout.operator(EXPORT_ANIM_OT_servo_motion.bl_idname, text=_label())


def _label() -> str:
    return f"Servo Motion ({' '.join(e for e in EXTENSIONS if e != '.xml')})"


CLASSES = (IMPORT_ANIM_OT_servo_motion, EXPORT_ANIM_OT_servo_motion, IO_FH_servo_motion)
