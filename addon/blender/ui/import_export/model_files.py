"""Model files: import and export of mechanisms, dropped files, collection exporters, and the replaced default cube."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
from bpy.props import BoolProperty, CollectionProperty, EnumProperty, StringProperty

from .... import formats
from ....core.model import Array, Mechanism
from ....core.report import Message, Report, count_with_noun
from ....core.up_axis import rotate_mechanism, upright_transform
from ....formats.text.file_io import write_transaction
from ...data.access import record_of, settings
from ...data.datablocks import mesh_points
from ...data.preferences import ignore_collada_units, mesh_folders, overlay_defaults
from ...data.queries import collection_of, deleted_armature_message, parts, require_rig, rig_in, rigs_in
from ...editing.repair.checks import report_findings
from ...locale import translated
from ...reconcile.build import BuildOptions, build
from ...scene.read.mechanism import extract
from ...scene.read.mesh_export import write_own_meshes
from ..base.operators import (
    ERRORS,
    ExportHelper,
    ImportHelper,
    Result,
    active_model,
    cancel_with_error,
    extension_glob,
    keep_extension,
    model_summary,
    no_model_message,
    poll_file_object_drop,
    report_message,
    report_result,
    selected_files,
    shown_in_local_views,
    unique_extensions,
    with_extension,
)
from ..base.selection import deselect_all
from ..overlay import enable_overlays
from ..servos.operators import select_keyed_bones, use_servo_keying_set
from ..simulation.operators import is_forward_sample, set_initial_inputs
from ..simulation.view import frame_objects, world_corners
from .options import ImportOptions, apply_preferences, draw_options

#: Location, Euler rotation (rad) and scale of the factory scene's objects, equal in Blender 4.2, 4.5, 5.0 and 5.2.
_FACTORY_TRANSFORMS = {
    "Cube": ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    "Light": ((4.07625, 1.00545, 5.90386), (0.65033, 0.05522, 1.86639)),
    "Camera": ((7.35889, -6.92579, 4.95831), (1.10932, 0.0, 0.81493)),
}
_TRANSFORM_TOLERANCE = 1e-4


def default_cube(context: bpy.types.Context) -> bpy.types.Object | None:
    """Return the default cube if the file is Blender's unchanged factory scene, else None.

    The file was never saved and has one scene that holds exactly the factory's cube, camera and light, with their
    transforms, the cube's mesh and its material unchanged, and nothing animated, constrained or modified.
    """
    scene = context.scene
    objects = {obj.name: obj for obj in scene.objects}
    if bpy.data.filepath or len(bpy.data.scenes) > 1 or objects.keys() != _FACTORY_TRANSFORMS.keys():
        return None
    if len(bpy.data.objects) > len(objects) or not all(map(_is_untouched, objects.values())):
        return None
    cube = objects["Cube"]
    return cube if _is_factory_cube(cube) else None


def _is_untouched(obj: Any) -> bool:
    """Return whether an object has its factory transform, and no parent, physics, modifier or animation."""
    location, rotation = _FACTORY_TRANSFORMS[obj.name]
    is_there = (
        _are_close(obj.location, location)
        and obj.rotation_mode == "XYZ"
        and _are_close(obj.rotation_euler, rotation)
        and _are_close(obj.scale, (1.0, 1.0, 1.0))
        and _are_close(np.ravel(obj.matrix_parent_inverse), np.eye(4).ravel())
    )
    is_held = obj.parent is not None or obj.constraints or obj.rigid_body is not None
    is_shaped = obj.modifiers or obj.vertex_groups or obj.particle_systems
    data = obj.data
    is_animated = obj.animation_data is not None or (data is not None and data.animation_data is not None)
    return is_there and not (is_held or is_shaped or is_animated)


def _is_factory_cube(cube: Any) -> bool:
    """Return whether the default cube's mesh and material are the factory's."""
    mesh: Any = cube.data
    if not isinstance(mesh, bpy.types.Mesh) or mesh.shape_keys is not None:
        return False
    if (len(mesh.vertices), len(mesh.edges), len(mesh.polygons)) != (8, 12, 6):
        return False
    signs = (-1.0, 1.0)
    if set(map(tuple, mesh_points(mesh).tolist())) != {(x, y, z) for x in signs for y in signs for z in signs}:
        return False
    if len(mesh.materials) != 1 or mesh.materials[0] is None or mesh.materials[0].name != "Material":
        return False
    material: Any = mesh.materials[0]
    tree = material.node_tree
    if tree is None or len(tree.nodes) != 2 or len(tree.links) != 1 or material.animation_data is not None:
        return False
    shader = next((node for node in tree.nodes if node.bl_idname == "ShaderNodeBsdfPrincipled"), None)
    gray = (0.8, 0.8, 0.8, 1.0)
    return shader is not None and _are_close(shader.inputs["Base Color"].default_value, gray)


def _are_close(numbers: Any, others: Any) -> bool:
    return bool(np.allclose(np.array(numbers), others, atol=_TRANSFORM_TOLERANCE))


MODEL_EXTENSIONS = unique_extensions(row.extensions for row in formats.FORMATS.values())


class IMPORT_SCENE_OT_mechanism(bpy.types.Operator, ImportHelper, ImportOptions):
    """Operator: import mechanisms from model files."""

    bl_idname = "import_scene.mechanism"
    bl_label = "Import Mechanism"
    bl_description = "Import mechanisms: bodies, joints with stops, physics and the file's gait"
    bl_options = {"REGISTER", "UNDO", "PRESET"}

    filename_ext = MODEL_EXTENSIONS[0]
    # not remembered: ``invoke_popup`` opens the file browser unless a file was dropped
    filepath: StringProperty(name="File", subtype="FILE_PATH", options={"HIDDEN", "SKIP_SAVE", "SKIP_PRESET"})
    filter_glob: StringProperty(default=extension_glob(MODEL_EXTENSIONS), options={"HIDDEN"})
    files: CollectionProperty(type=bpy.types.OperatorFileListElement, options={"HIDDEN", "SKIP_SAVE"})
    directory: StringProperty(subtype="DIR_PATH", options={"HIDDEN", "SKIP_SAVE"})

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> Result:
        """Apply the preferences; open the file browser or, for dropped files, the options."""
        apply_preferences(self)
        if self.inputs == "AUTO" and any(map(is_forward_sample, selected_files(self))):
            self.inputs = "FORWARD"
        return self.invoke_popup(context)

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the options."""
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        draw_options(layout, self)

    def execute(self, context: bpy.types.Context) -> Result:
        """Import the files, select the mechanisms and frame their bodies in the 3D views."""
        paths = selected_files(self)
        if not paths:
            return cancel_with_error(self, "No file was chosen")
        cube = default_cube(context) if self._is_requested("replace_cube") else None
        first = not any(True for _rig in rigs_in(context.scene))
        imported = [rig for path in paths if (rig := self._import(context, path)) is not None]
        if not imported:
            return {"CANCELLED"}
        if first:
            enable_overlays(context.scene, overlay_defaults())
        _select_models(context, imported)
        for rig in imported:
            select_keyed_bones(rig)
        use_servo_keying_set(context.scene)
        if cube is not None:
            bpy.data.objects.remove(cube)
        if self._is_requested("frame_view"):
            frame_objects(context, [body for rig in imported for body in parts(rig, "BODY")])
        return {"FINISHED"}

    def _import(self, context: bpy.types.Context, path: str) -> bpy.types.Object | None:
        """Import a file and return its armature; None, after an error report, for an invalid file."""
        try:
            mechanism = formats.load(bpy.path.abspath(path))
            set_object_mode(context)
            with shown_in_local_views(context):
                rig = require_rig(build(mechanism, context, self._options()))
                if self._is_requested("inputs"):
                    set_initial_inputs(context.scene, rig, bpy.path.abspath(path), self.inputs)
        except ERRORS as error:
            cancel_with_error(self, error)
            return None
        warnings = mechanism.report.count("warning")
        message, other = _summary(mechanism, rig, warnings), overlapped_mechanism(context, rig)
        if other is not None:
            message = Message("{}. It overlaps {}: press G to move it", message, repr(other.name))
        report_message(self, {"WARNING" if warnings else "INFO"}, message)
        return rig

    def _is_requested(self, name: str) -> bool:
        """Return whether to apply an option that changes view or scene; scripts must set it explicitly."""
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
    """File handler: drag and drop of model files."""

    bl_idname = "IO_FH_mechanism"
    bl_label = "Mechanism"
    bl_import_operator = "import_scene.mechanism"
    bl_export_operator = "export_scene.mechanism"
    bl_file_extensions = ";".join(MODEL_EXTENSIONS)

    @classmethod
    def poll_drop(cls, context: bpy.types.Context) -> bool:
        """Return whether files may be dropped here."""
        return poll_file_object_drop(context)


def _summary(mechanism: Mechanism, rig: bpy.types.Object, warnings: int) -> str:
    return Message("Imported {}: {}, {}", mechanism.name, model_summary(rig), count_with_noun(warnings, "warning"))


def overlapped_mechanism(context: bpy.types.Context, rig: bpy.types.Object) -> bpy.types.Object | None:
    """Return another mechanism of the scene whose bounding box overlaps that of ``rig``, else None.

    An import keeps the coordinates of its file, as other importers do, so that two of one file stand in each other.
    """
    others = [other for other in rigs_in(context.scene) if other != rig]
    own = _bounding_box(context, rig) if others else None
    for other in others:
        box = _bounding_box(context, other)
        if (
            own is not None
            and box is not None
            and (np.minimum(own[1], box[1]) - np.maximum(own[0], box[0])).min() > _TRANSFORM_TOLERANCE
        ):
            return other
    return None


def _bounding_box(context: bpy.types.Context, rig: bpy.types.Object) -> Array | None:
    """Return the lowest and highest corner (2, 3) of a mechanism's bodies but floors and walls; None if empty."""
    corners = world_corners(context, [body for body in parts(rig, "BODY") if not record_of(body).scenery])
    return np.stack([corners.min(axis=0), corners.max(axis=0)]) if len(corners) else None


def set_object_mode(context: bpy.types.Context) -> None:
    """Switch to object mode, as objects cannot be selected in another."""
    active = context.view_layer.objects.active
    if active is not None and active.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")


def _select_models(context: bpy.types.Context, rigs: list[bpy.types.Object]) -> None:
    deselect_all(context)
    for rig in rigs:
        rig.select_set(True)
    context.view_layer.objects.active = rigs[-1]


def import_menu(self: bpy.types.Menu, _context: bpy.types.Context) -> None:
    """Draw the entry of File > Import."""
    self.layout.operator(
        IMPORT_SCENE_OT_mechanism.bl_idname, text=translated(Message("Mechanism ({})", " ".join(MODEL_EXTENSIONS)))
    )


# ---------------------------------------------------------------- export


class EXPORT_SCENE_OT_mechanism(bpy.types.Operator, ExportHelper):
    """Operator: export a mechanism to a model file."""

    bl_idname = "export_scene.mechanism"
    bl_label = "Export Mechanism"
    bl_description = "Write the mechanism to a model file. Unedited parts keep the text of the source file"
    bl_options = {"PRESET"}

    filename_ext = MODEL_EXTENSIONS[0]
    check_extension = None  # a format may have several extensions, and the typed one decides the dialect
    filepath: StringProperty(name="File", description="The file to write", subtype="FILE_PATH")
    filter_glob: StringProperty(default=extension_glob(MODEL_EXTENSIONS), options={"HIDDEN"})
    format: EnumProperty(
        name="Format",
        description="Format of the file",
        items=[(row.id, row.label, "Write a file of this format") for row in formats.FORMATS.values()],
    )
    upright: BoolProperty(
        name="Upright",
        description="Rotate the mechanism so that its gravity is along -Z, as Juice needs it",
    )
    meshes: EnumProperty(
        name="Meshes",
        description="Treatment of mesh files when exporting to another folder",
        items=[
            (
                "COPY",
                "Copy",
                "Copy mesh files, materials and images to the new folder, without overwriting other files",
            ),
            ("REFER", "Reference", "Refer to the mesh files in their present folder"),
        ],
    )
    collection: StringProperty(
        name="Collection",
        description="Collection of the mechanism to write; the active mechanism if empty",
        options={"HIDDEN", "SKIP_SAVE"},
    )

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Return whether the context has a mechanism to export; set the poll message if not."""
        # in the Exporters panel of a collection, context.collection is that collection
        if active_model(context) is not None or rig_in(context.collection) is not None:
            return True
        cls.poll_message_set(translated(no_model_message(context)))
        return False

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> Result:
        """Set format and file name from the active mechanism, then open the file browser."""
        rig = active_model(context)
        if not self.properties.is_property_set("format") and rig is not None and settings(rig).format:
            self.format = settings(rig).format
        if not self.filepath and rig is not None:
            name = bpy.path.clean_name(record_of(rig).source_name or rig.name)
            self.filepath = name + formats.FORMATS[self.format].extensions[0]
        return ExportHelper.invoke(self, context, event)

    def check(self, context: bpy.types.Context) -> bool:
        """Give the file an extension of the chosen format; return whether its path changed."""
        return keep_extension(self, formats.FORMATS[self.format].extensions, MODEL_EXTENSIONS)

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the options."""
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.prop(self, "format")
        layout.prop(self, "upright")
        row = layout.row()
        row.active = formats.FORMATS[self.format].names_meshes
        row.prop(self, "meshes")

    def execute(self, context: bpy.types.Context) -> Result:
        """Write the model file, and report the number of bodies, joints and changes."""
        try:
            rig = self._rig(context)
            mechanism = extract(rig)
            findings = report_findings(rig, mechanism)
            if not self.properties.is_property_set("format"):
                found = formats.format_id(mechanism, self.filepath)
                self.format = found if found in formats.FORMATS else mechanism.source.format or self.format
            extensions = formats.FORMATS[self.format].extensions
            path = with_extension(bpy.path.abspath(self.filepath), extensions, MODEL_EXTENSIONS)
            with write_transaction():
                meshes = write_own_meshes(rig, mechanism, path, self.format)
                if self.upright:
                    mechanism = rotate_mechanism(mechanism, upright_transform(mechanism))
                report: Report = mechanism.report
                report.extend(findings)
                report.extend(meshes)
                report.extend(self._save(mechanism, path))
        except ERRORS as error:
            return cancel_with_error(self, error)
        bodies = count_with_noun(len(mechanism.bodies), "body", "bodies")
        joints = count_with_noun(len(mechanism.joints), "joint")
        edits = sum(entry.code in {"added", "deleted"} for entry in report.entries)
        changes = Message("; added or deleted: {}", edits) if edits else ""
        report_result(self, Message("Exported {}: {}, {}{}", bpy.path.basename(path), bodies, joints, changes), report)
        return {"FINISHED"}

    def _save(self, mechanism: Mechanism, path: str) -> Report:
        copies = self.meshes == "COPY"
        return formats.save(mechanism, path, self.format, mesh_folders(), ignore_collada_units(), copies)

    def _rig(self, context: bpy.types.Context) -> bpy.types.Object:
        if not self.collection:
            rig = active_model(context)
            if rig is None:
                raise ValueError(no_model_message(context))
            if not rig.users_scene:
                raise ValueError(deleted_armature_message(rig))
            collection_of(rig)
            return rig
        collection: bpy.types.Collection | None = bpy.data.collections.get(self.collection)
        if collection is None:
            raise ValueError(Message("There is no collection {}", repr(self.collection)))
        rigs = [obj for obj in collection.all_objects if record_of(obj).role == "MODEL"]
        if len(rigs) > 1:
            raise ValueError(
                Message("Collection {} holds {} mechanisms: a file holds one", repr(collection.name), len(rigs))
            )
        return require_rig(collection)


def export_menu(self: bpy.types.Menu, _context: bpy.types.Context) -> None:
    """Draw the entries of File > Export, one per format."""
    for row in formats.FORMATS.values():
        entry = self.layout.operator(
            EXPORT_SCENE_OT_mechanism.bl_idname, text=translated(f"{row.label} ({row.extensions[0]})")
        )
        entry.format = row.id
        entry.filter_glob = extension_glob(row.extensions)


CLASSES = (IMPORT_SCENE_OT_mechanism, IO_FH_mechanism, EXPORT_SCENE_OT_mechanism)
