"""File > Import > Mechanism, and what is dropped into the viewport."""

from __future__ import annotations

import bpy
from bpy.props import CollectionProperty, StringProperty

from ... import formats
from ...model.records import Mechanism
from ..build import BuildOptions, build
from ..model_parts import rig_in, rigs_in
from ..preferences import overlay_defaults
from ..translations import told
from .common import (
    ERRORS,
    ImportHelper,
    Result,
    census,
    chosen_files,
    counted,
    distinct,
    glob_of,
    poll_file_object_drop,
    refuse,
    say,
)
from .import_options import ImportOptions, draw_options, take_defaults
from .local_views import seen_in_local_views
from .overlay import show_marks

EXTENSIONS = distinct(row.extensions for row in formats.FORMATS.values())


class IMPORT_SCENE_OT_mechanism(bpy.types.Operator, ImportHelper, ImportOptions):
    bl_idname = "import_scene.mechanism"
    bl_label = "Import Mechanism"
    bl_description = "Bring in mechanisms: bodies, joints that turn within their stops, physics and the file's gait"
    bl_options = {"REGISTER", "UNDO", "PRESET"}

    filename_ext = EXTENSIONS[0]
    # not remembered: the importer opens the file browser unless a file was dropped on it
    filepath: StringProperty(name="File", subtype="FILE_PATH", options={"HIDDEN", "SKIP_SAVE", "SKIP_PRESET"})
    filter_glob: StringProperty(default=glob_of(EXTENSIONS), options={"HIDDEN"})
    files: CollectionProperty(type=bpy.types.OperatorFileListElement, options={"HIDDEN", "SKIP_SAVE"})
    directory: StringProperty(subtype="DIR_PATH", options={"HIDDEN", "SKIP_SAVE"})

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> Result:
        take_defaults(self)
        return self.invoke_popup(context)

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        draw_options(layout, self)

    def execute(self, context: bpy.types.Context) -> Result:
        paths = chosen_files(self)
        if not paths:
            return refuse(self, "No file was chosen")
        first = not any(True for _rig in rigs_in(context.scene))
        imported = [rig for path in paths if (rig := self._import(context, path)) is not None]
        if not imported:
            return {"CANCELLED"}
        if first:
            show_marks(context.scene, overlay_defaults())
        _select_models(context, imported)
        if self.frame_view:
            _frame(context)
        return {"FINISHED"}

    def _import(self, context: bpy.types.Context, path: str) -> bpy.types.Object | None:
        """One file's model; None, and its message, where the file is bad."""
        try:
            mechanism = formats.load(bpy.path.abspath(path))
            leave_modes(context)
            with seen_in_local_views(context):
                rig = rig_in(build(mechanism, context, self._options()))
        except ERRORS as error:
            refuse(self, error)
            return None
        warnings = mechanism.report.count("warning")
        say(self, {"WARNING" if warnings else "INFO"}, _summary(mechanism, rig, warnings))
        return rig

    def _options(self) -> BuildOptions:
        return BuildOptions(
            physics=self.physics,
            gait=self.gait,
            gait_seconds=self.gait_seconds,
            adapt_scene=self.adapt_scene,
            ground=self.ground,
            up_axis=self.up_axis,
            assemble=self.assemble,
        )


class IO_FH_mechanism(bpy.types.FileHandler):
    bl_idname = "IO_FH_mechanism"
    bl_label = "Mechanism"
    bl_import_operator = "import_scene.mechanism"
    bl_export_operator = "export_scene.mechanism"
    bl_file_extensions = ";".join(EXTENSIONS)

    @classmethod
    def poll_drop(cls, context: bpy.types.Context) -> bool:
        return poll_file_object_drop(context)


def _summary(mechanism: Mechanism, rig: bpy.types.Object, warnings: int) -> str:
    return f"Imported {mechanism.name}: {census(rig)}, {counted(warnings, 'warning')}"


def leave_modes(context: bpy.types.Context) -> None:
    """Object mode, as nothing can be selected in another."""
    active = context.view_layer.objects.active
    if active is not None and active.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")


def _select_models(context: bpy.types.Context, rigs: list[bpy.types.Object]) -> None:
    for obj in list(context.view_layer.objects.selected):
        obj.select_set(False)
    for rig in rigs:
        rig.select_set(True)
    context.view_layer.objects.active = rigs[-1]


def _frame(context: bpy.types.Context) -> None:
    """Show what is selected in the 3D views of the screen; nothing to do without a window."""
    for area in context.screen.areas if context.screen is not None else ():
        window = next((region for region in area.regions if region.type == "WINDOW"), None)
        if area.type == "VIEW_3D" and window is not None:
            with context.temp_override(area=area, region=window):
                bpy.ops.view3d.view_selected()


def menu(self: bpy.types.Menu, _context: bpy.types.Context) -> None:
    """The entry of File > Import."""
    self.layout.operator(IMPORT_SCENE_OT_mechanism.bl_idname, text=told(f"Mechanism ({' '.join(EXTENSIONS)})"))


CLASSES = (IMPORT_SCENE_OT_mechanism, IO_FH_mechanism)
