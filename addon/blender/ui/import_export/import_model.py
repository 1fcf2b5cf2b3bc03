"""Import of mechanisms: File > Import > Mechanism, dropped files, and the replaced default cube."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
from bpy.props import CollectionProperty, StringProperty

from .... import formats
from ....core.model import Array, Mechanism
from ....core.report import Message, count_with_noun
from ...data.access import record_of
from ...data.preferences import overlay_defaults
from ...data.queries import parts, require_rig, rigs_in
from ...locale import translated
from ...reconcile.build import BuildOptions, build
from ..base.operators import (
    ERRORS,
    ImportHelper,
    Result,
    cancel_with_error,
    extension_glob,
    model_summary,
    poll_file_object_drop,
    report_message,
    selected_files,
    shown_in_local_views,
    unique_extensions,
)
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
    corners = np.empty(24, dtype=np.float32)
    mesh.vertices.foreach_get("co", corners)
    signs = (-1.0, 1.0)
    if set(map(tuple, corners.reshape(8, 3).tolist())) != {(x, y, z) for x in signs for y in signs for z in signs}:
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
    for obj in list(context.view_layer.objects.selected):
        obj.select_set(False)
    for rig in rigs:
        rig.select_set(True)
    context.view_layer.objects.active = rigs[-1]


def menu(self: bpy.types.Menu, _context: bpy.types.Context) -> None:
    """Draw the entry of File > Import."""
    self.layout.operator(
        IMPORT_SCENE_OT_mechanism.bl_idname, text=translated(Message("Mechanism ({})", " ".join(MODEL_EXTENSIONS)))
    )


CLASSES = (IMPORT_SCENE_OT_mechanism, IO_FH_mechanism)
