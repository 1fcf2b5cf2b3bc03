"""File > Import > Mechanism, and what is dropped into the viewport."""

from __future__ import annotations

import bpy
from bpy.props import CollectionProperty, StringProperty

from ... import formats
from ...core.model import Mechanism
from ..build import BuildOptions, build
from ..data.preferences import overlay_defaults
from ..data.queries import parts, require_rig, rigs_in
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
from .default_scene import untouched_cube
from .import_options import ImportOptions, draw_options, take_defaults
from .input_presets import goes_forward, start_inputs
from .keying_set import select_keyed_bones, use_servos
from .local_views import seen_in_local_views
from .overlay import show_marks
from .view_framing import frame_objects

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
        if self.inputs == "AUTO" and any(map(goes_forward, chosen_files(self))):
            self.inputs = "FORWARD"
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
        cube = untouched_cube(context) if self._is_asked_for("replace_cube") else None
        first = not any(True for _rig in rigs_in(context.scene))
        imported = [rig for path in paths if (rig := self._import(context, path)) is not None]
        if not imported:
            return {"CANCELLED"}
        if first:
            show_marks(context.scene, overlay_defaults())
        _select_models(context, imported)
        for rig in imported:
            select_keyed_bones(rig)
        use_servos(context.scene)
        if cube is not None:
            bpy.data.objects.remove(cube)
        if self._is_asked_for("frame_view"):
            frame_objects(context, [body for rig in imported for body in parts(rig, "BODY")])
        return {"FINISHED"}

    def _import(self, context: bpy.types.Context, path: str) -> bpy.types.Object | None:
        """One file's model; None, and its message, where the file is bad."""
        try:
            mechanism = formats.load(bpy.path.abspath(path))
            leave_modes(context)
            with seen_in_local_views(context):
                rig = require_rig(build(mechanism, context, self._options()))
                if self._is_asked_for("inputs"):
                    start_inputs(context.scene, rig, bpy.path.abspath(path), self.inputs)
        except ERRORS as error:
            refuse(self, error)
            return None
        warnings = mechanism.report.count("warning")
        say(self, {"WARNING" if warnings else "INFO"}, _summary(mechanism, rig, warnings))
        return rig

    def _is_asked_for(self, name: str) -> bool:
        """Return whether to do what changes the user's view or scene: by default only what is imported by hand does."""
        is_by_hand = self.options.is_invoke or self.properties.is_property_set(name)
        return is_by_hand and bool(getattr(self, name))

    def _options(self) -> BuildOptions:
        return BuildOptions(
            physics=self.physics,
            gait=self.gait,
            gait_seconds=self.gait_seconds,
            sine_without_type=self.sine_without_type,
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


def menu(self: bpy.types.Menu, _context: bpy.types.Context) -> None:
    """The entry of File > Import."""
    self.layout.operator(IMPORT_SCENE_OT_mechanism.bl_idname, text=told(f"Mechanism ({' '.join(EXTENSIONS)})"))


CLASSES = (IMPORT_SCENE_OT_mechanism, IO_FH_mechanism)
