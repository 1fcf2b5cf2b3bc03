"""Overlays drawn over mechanisms in the 3D View: joint axes, stops, twins, centers of mass, inertia.

The switches are stored on the scene. The draw handler exists only while one of them is on in some scene. *Save Picture*
renders the view with its overlays to an image; Blender leaves draw handlers out of renders.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, cast

import bpy
import gpu
import gpu as blender_gpu  # its stubs are wrong on half of what is used here
import gpu_extras.batch
import numpy as np
from bpy.app.handlers import persistent
from bpy.props import BoolProperty, FloatProperty, IntVectorProperty, PointerProperty, StringProperty
from mathutils import Matrix

from ...core.model import Array
from ...core.overlay_geometry import OverlayDrawing, VertexBuffer
from ...core.report import FormatError, Message
from ...formats.text.file_io import disk_full_error, make_folder, replacement_file
from .. import overlay
from ..compat import init_gpu
from ..events.handlers import Handlers, connect, disconnect
from ..events.runtime_state import Lifetime, RuntimeState, state_of
from ..events.signals import Signal
from ..rendering.images import is_complete_png
from .base.operators import ExportHelper, ModelOperator, Result, report_message, with_extension

_THIN_LINE, _THICK_LINE = 1.5, 3.0  # line widths in pixels
_FACE, _SOLID = 0.0, -1.0  # in place of a line width: faces, and faces of solids

#: Rows of shader, batch, and line width (pixels) or ``_FACE`` or ``_SOLID``.
Batches = list[tuple[Any, Any, float]]


@dataclass
class _Drawing(RuntimeState):
    """Drawing of the overlay: the handle of its function, and the batches of the scene drawn last, by its full name."""

    lifetime: ClassVar = Lifetime.PROGRAM
    handle: Any = None
    scene: str = ""
    batches: Batches | None = None


def _kind_property(name: str, description: str) -> Any:
    return BoolProperty(name=name, description=description, update=_on_switch)


def _on_switch(_settings: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    update_draw_handler()


class KnuckleOverlay(bpy.types.PropertyGroup):
    """Settings of the overlays: ``Scene.knuckle_overlay``."""

    axes: _kind_property("Axes", "Arrow along each joint's axis, in the direction of increasing values")
    stops: _kind_property("Stops", "Dial or bar from stop to stop with the present value; red if past a stop")
    twins: _kind_property("Twins", "Lines between the twins of the left and the right side")
    centres: _kind_property("Centers of Mass", "Center of mass of each body")
    inertia: _kind_property("Inertia", "Box of uniform density with the body's moments of inertia")
    size: FloatProperty(
        name="Size", description="Size of dials and arrows", default=1.0, min=0.1, max=10.0, update=_on_switch
    )
    in_front: BoolProperty(
        name="In Front", description="Draw through bodies, not behind them", default=True, update=_on_switch
    )
    ground: BoolProperty(name="Ground", description="Draw the ground of a simulation", default=True)
    handles: BoolProperty(
        name="Stop Handles", description="Drag the stops of the active joint in the view", default=True
    )


def overlay_settings(scene: bpy.types.Scene) -> KnuckleOverlay:
    """Return a scene's overlay settings."""
    return cast(KnuckleOverlay, scene.knuckle_overlay)  # type: ignore[attr-defined]


def active_kinds(scene: bpy.types.Scene) -> list[str]:
    """Return the kinds of overlays that are on."""
    return [kind for kind in overlay.OVERLAY_KINDS if getattr(overlay_settings(scene), kind)]


def enable_overlays(scene: bpy.types.Scene, kinds: Iterable[str]) -> None:
    """Enable kinds of overlays; others keep their state."""
    for kind in kinds:
        setattr(overlay_settings(scene), kind, True)


# ---------------------------------------------------------------- drawing


def draw_overlay(scene: bpy.types.Scene, width: float, height: float, bolder: float = 1.0) -> None:
    """Draw a scene's overlays with the current GPU matrices.

    Args:
        scene: The scene.
        width: Width of the viewport in pixels.
        height: Height of the viewport in pixels.
        bolder: Factor on line widths.
    """
    choices = overlay_settings(scene)
    drawing = state_of(_Drawing)
    if drawing.batches is None or drawing.scene != scene.name_full:
        drawing.batches = make_batches(overlay.draw_models(scene, active_kinds(scene), choices.size))
        drawing.scene = scene.name_full
    draw_batches(drawing.batches, (width, height), choices.in_front, bolder)


def draw_batches(batches: Batches, size: tuple[float, float], in_front: bool = True, bolder: float = 1.0) -> None:
    """Draw the batches of ``make_batches`` into a viewport of ``size`` (width, height) pixels."""
    gpu.state.blend_set("ALPHA")
    gpu.state.depth_test_set("NONE" if in_front else "LESS_EQUAL")
    scale = bpy.context.preferences.system.ui_scale or 1.0  # 0 without a window
    for shader, batch, line in batches:
        shader.bind()
        if line > 0.0:
            shader.uniform_float("viewportSize", size)
            shader.uniform_float("lineWidth", line * scale * bolder)
        gpu.state.face_culling_set("BACK" if line == _SOLID else "NONE")
        batch.draw(shader)
    gpu.state.face_culling_set("NONE")
    gpu.state.depth_test_set("NONE")
    gpu.state.blend_set("NONE")


def make_batches(drawing: OverlayDrawing) -> Batches:
    """Upload a drawing to the GPU: one batch for all lines of a width, or faces of a kind."""
    faces, lines = (gpu.shader.from_builtin(name) for name in ("FLAT_COLOR", "POLYLINE_FLAT_COLOR"))
    rows = (
        (faces, "TRIS", drawing.faces, _FACE),
        (lines, "LINES", drawing.fine, _THIN_LINE),
        (lines, "LINES", drawing.bold, _THICK_LINE),
        (faces, "TRIS", drawing.solids, _SOLID),
    )
    return [
        (shader, batch, line) for shader, kind, strokes, line in rows if (batch := _make_batch(shader, kind, strokes))
    ]


def _make_batch(shader: Any, kind: Any, strokes: VertexBuffer) -> Any:
    points, colours = strokes.arrays()
    batch_for_shader: Any = gpu_extras.batch.batch_for_shader  # its stub knows no arrays
    return batch_for_shader(shader, kind, {"pos": points, "color": colours}) if len(points) else None


def _draw_view() -> None:
    """Draw the overlays of the current 3D View.

    Note:
        Blender leaves draw handlers out of renders, also of viewport renders.
    """
    context = bpy.context
    space, region = context.space_data, context.region
    if not isinstance(space, bpy.types.SpaceView3D) or not space.overlay.show_overlays or region is None:
        return
    if active_kinds(context.scene):
        draw_overlay(context.scene, region.width, region.height)


# ---------------------------------------------------------------- updates


@persistent
def _on_scene_update(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph | None = None) -> None:
    """Invalidate the batches, and update the index of joints whose record was edited.

    Note:
        Blender reports an edited record as a geometry update of the empty, which a pose is not.
    """
    state_of(_Drawing).batches = None
    for update in depsgraph.updates if depsgraph is not None else ():
        if update.is_updated_geometry and isinstance(update.id, bpy.types.Object) and update.id.type == "EMPTY":
            overlay.update_joint_index(update.id.original)


def _on_joint_edit(empty: bpy.types.Object, _values: Collection[str]) -> None:
    overlay.update_joint_index(empty)
    state_of(_Drawing).batches = None


def _on_part_edit(_part: bpy.types.Object, _values: Collection[str] = ()) -> None:
    invalidate_overlay()


@persistent
def _on_file_change(*_args: Any) -> None:
    """Update the draw handler after undo, redo or loading a file."""
    update_draw_handler()


def invalidate_overlay() -> None:
    """Discard the cached indices and batches."""
    overlay.clear_mechanism_indices()
    state_of(_Drawing).batches = None


def update_draw_handler() -> None:
    """Add the draw handler if a scene has an overlay on, else remove it; redraw the views."""
    invalidate_overlay()
    wanted, drawing = any(active_kinds(scene) for scene in bpy.data.scenes), state_of(_Drawing)
    if wanted and drawing.handle is None:
        drawing.handle = bpy.types.SpaceView3D.draw_handler_add(_draw_view, (), "WINDOW", "POST_VIEW")
        connect(_ACTIVE_HANDLERS)
    elif not wanted and drawing.handle is not None:
        bpy.types.SpaceView3D.draw_handler_remove(drawing.handle, "WINDOW")
        drawing.handle = None
        disconnect(_ACTIVE_HANDLERS)
    redraw_views()


def is_overlay_drawn() -> bool:
    """Return whether the draw handler is added."""
    return state_of(_Drawing).handle is not None


def redraw_views() -> None:
    """Redraw all 3D views."""
    for window in bpy.context.window_manager.windows if bpy.context.window_manager is not None else ():
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                area.tag_redraw()


_ACTIVE_HANDLERS: Handlers = (
    ("depsgraph_update_post", _on_scene_update),
    ("frame_change_post", _on_scene_update),
    (Signal.VALUE, _on_joint_edit),
    (Signal.BODY, _on_part_edit),
    (Signal.TWIN, _on_part_edit),
)
_PERMANENT_HANDLERS: Handlers = tuple(
    (name, _on_file_change) for name in ("load_post", "load_factory_startup_post", "undo_post", "redo_post")
)


# ---------------------------------------------------------------- popover and picture


class VIEW3D_PT_knuckle_overlay(bpy.types.Panel):
    """Panel: popover with the switches of the overlays."""

    bl_label = "Overlays"
    bl_description = "Marks drawn over mechanisms in the view"
    bl_space_type = "VIEW_3D"
    bl_region_type = "HEADER"
    bl_options = {"INSTANCED"}
    bl_ui_units_x = 11

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the panel."""
        layout = self.layout
        choices = overlay_settings(context.scene)
        layout.label(text="Mechanism Overlays")
        column = layout.column(align=True)
        for kind in overlay.OVERLAY_KINDS:
            column.prop(choices, kind)
        options = layout.column(align=True)
        options.active = bool(active_kinds(context.scene))
        options.prop(choices, "in_front")
        options.prop(choices, "size")
        layout.prop(choices, "ground")
        layout.prop(choices, "handles")
        layout.operator("knuckle.overlay_picture", icon="RENDER_STILL")


def draw_overlay_button(layout: bpy.types.UILayout) -> None:
    """Draw the button that opens the popover, for the sidebar."""
    layout.popover("VIEW3D_PT_knuckle_overlay", text="Overlays", icon="OVERLAY")


_SAMPLES = 2  # supersampling: factor on width and height


class KNUCKLE_OT_overlay_picture(ExportHelper, ModelOperator):
    """Operator: save a picture of the 3D View with its overlays."""

    bl_idname = "knuckle.overlay_picture"
    bl_label = "Save Picture…"
    bl_description = "Save a picture of the view with its overlays, from the camera if the view shows it"
    bl_options = {"REGISTER"}

    filename_ext = ".png"
    filter_glob: StringProperty(default="*.png", options={"HIDDEN"})
    size: IntVectorProperty(
        name="Size", description="Width and height in pixels", size=2, default=(1280, 800), min=16, max=8192
    )

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        if not active_kinds(context.scene):
            return "No overlay is on: choose some above"
        return "" if _find_view(context) is not None else "There is no 3D view to take the picture of"

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Render the view and save the picture."""
        path = with_extension(bpy.path.abspath(self.filepath), (".png",))
        save_picture(render_view_pixels(context, tuple(self.size)), path)
        report_message(self, {"INFO"}, Message("Picture saved: {}", path))
        return {"FINISHED"}


def _find_view(context: bpy.types.Context) -> tuple[bpy.types.SpaceView3D, bpy.types.Region] | None:
    """Return the 3D View of the context, else the first of all windows, and its main region; None without one."""
    areas = [context.area] if context.area is not None else []
    areas += [area for window in context.window_manager.windows for area in window.screen.areas]
    for area in areas:
        if area.type == "VIEW_3D":
            region = next(region for region in area.regions if region.type == "WINDOW")
            return area.spaces.active, region  # type: ignore[return-value]
    return None


def render_view_pixels(context: bpy.types.Context, size: tuple[int, int]) -> Array:
    """Render the 3D View with its overlays: as the camera sees it if the view looks through it, else as it is.

    Args:
        context: Context of the view.
        size: Width and height in pixels.

    Returns:
        RGBA from 0 to 1, (height, width, 4), the lowest row first.

    Raises:
        ValueError: If there is no 3D view.
    """
    found = _find_view(context)
    if found is None:
        raise ValueError("There is no 3D view to take the picture of")
    space, region = found
    init_gpu()
    view, lens = _matrices(context, space, size)
    wide, high = (_SAMPLES * side for side in size)
    shown, space.overlay.show_overlays = space.overlay.show_overlays, False
    gpu: Any = blender_gpu
    canvas = gpu.types.GPUOffScreen(wide, high)
    try:
        canvas.draw_view3d(context.scene, context.view_layer, space, region, view, lens, do_color_management=True)
        with canvas.bind(), gpu.matrix.push_pop(), gpu.matrix.push_pop_projection():
            gpu.matrix.load_matrix(view)
            gpu.matrix.load_projection_matrix(lens)
            draw_overlay(context.scene, wide, high, _SAMPLES)
            read = gpu.state.active_framebuffer_get().read_color(0, 0, wide, high, 4, 0, "UBYTE")
    finally:
        canvas.free()
        space.overlay.show_overlays = shown
    read.dimensions = wide * high * 4
    fine = np.array(read, dtype=np.float64).reshape(size[1], _SAMPLES, size[0], _SAMPLES, 4) / 255.0
    out: Array = fine.mean(axis=(1, 3))
    out[..., 3] = 1.0
    return out


def _matrices(context: bpy.types.Context, space: Any, size: tuple[int, int]) -> tuple[Matrix, Matrix]:
    camera, seen = context.scene.camera, space.region_3d
    if camera is not None and seen.view_perspective == "CAMERA":
        lens = camera.calc_matrix_camera(context.evaluated_depsgraph_get(), x=size[0], y=size[1])
        return camera.matrix_world.normalized().inverted_safe(), lens
    lens = seen.window_matrix.copy()
    was = lens[1][1] / lens[0][0]  # width by height of the view
    lens[0][0] = lens[1][1] * size[1] / size[0] if was else lens[0][0]
    return seen.view_matrix.copy(), lens


def save_picture(pixels: Array, path: str) -> None:
    """Write pixels (height, width, 4) to a .png file without color management.

    Raises:
        FormatError: If the file cannot be written.
    """
    make_folder(Path(path).parent)
    image: Any = bpy.data.images.new("knuckle picture", pixels.shape[1], pixels.shape[0], alpha=True)
    try:
        image.colorspace_settings.name = "sRGB"
        image.pixels.foreach_set(pixels.astype(np.float32).ravel())
        with replacement_file(path, ".png") as beside:
            image.filepath_raw, image.file_format = beside, "PNG"
            image.save()
            if not is_complete_png(beside):  # Blender reports no error on a full disk
                raise disk_full_error()
    except RuntimeError as error:
        raise FormatError(f"Blender could not save it: {error}".strip(), path=path) from error
    finally:
        bpy.data.images.remove(image)


CLASSES = (
    KnuckleOverlay,
    VIEW3D_PT_knuckle_overlay,
    KNUCKLE_OT_overlay_picture,
)


def register() -> None:
    """Register the settings, and the file handlers: that of ``load_post`` adds the draw handler that a file needs."""
    bpy.types.Scene.knuckle_overlay = PointerProperty(type=KnuckleOverlay)  # type: ignore[attr-defined]
    connect(_PERMANENT_HANDLERS)


def unregister() -> None:
    """Remove all handlers and the settings."""
    disconnect(_PERMANENT_HANDLERS)
    drawing = state_of(_Drawing)
    if drawing.handle is not None:
        bpy.types.SpaceView3D.draw_handler_remove(drawing.handle, "WINDOW")
        drawing.handle = None
        disconnect(_ACTIVE_HANDLERS)
    invalidate_overlay()
    del bpy.types.Scene.knuckle_overlay  # type: ignore[attr-defined]
