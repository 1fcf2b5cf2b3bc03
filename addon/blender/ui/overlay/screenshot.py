"""A picture of the scene with the marks over it, for documentation: the one way in which they get into an image."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import gpu as blender_gpu  # its stubs are wrong on half of what is used here
import numpy as np
from bpy.props import IntVectorProperty, StringProperty
from mathutils import Matrix

from ....core.model import Array
from ....core.report import FormatError
from ....formats.text.file_io import in_place_of, make_folder, no_room
from ...compat import ready_gpu
from ...rendering.images import is_whole
from ..base.operators import ExportHelper, NeedsModel, Result, say, with_extension
from .draw import draw_marks, kinds_of

_SAMPLES = 2  # the picture is drawn this many times as large and then made small


class KNUCKLE_OT_overlay_picture(ExportHelper, NeedsModel):
    bl_idname = "knuckle.overlay_picture"
    bl_label = "Save Picture…"
    bl_description = "Save a picture of the view with the overlays in it: as the camera sees it, or this view"
    bl_options = {"REGISTER"}

    filename_ext = ".png"
    filter_glob: StringProperty(default="*.png", options={"HIDDEN"})
    size: IntVectorProperty(
        name="Size", description="Width and height in pixels", size=2, default=(1280, 800), min=16, max=8192
    )

    @classmethod
    def why_not(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        if not kinds_of(context.scene):
            return "No overlay is on: choose some above"
        return "" if _view(context) is not None else "There is no 3D view to take the picture of"

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        path = with_extension(bpy.path.abspath(self.filepath), (".png",))
        save_picture(pixels_of_view(context, tuple(self.size)), path)
        say(self, {"INFO"}, f"Picture saved: {path}")
        return {"FINISHED"}


def _view(context: bpy.types.Context) -> tuple[bpy.types.SpaceView3D, bpy.types.Region] | None:
    """The 3D view that is worked in, or the first there is."""
    areas = [context.area] if context.area is not None else []
    areas += [area for window in context.window_manager.windows for area in window.screen.areas]
    for area in areas:
        if area.type == "VIEW_3D":
            region = next(region for region in area.regions if region.type == "WINDOW")
            return area.spaces.active, region  # type: ignore[return-value]
    return None


def pixels_of_view(context: bpy.types.Context, size: tuple[int, int]) -> Array:
    """The 3D view with a scene's marks, (height, width, 4) from the lowest row up, 0 to 1: as the camera sees it where
    the view looks through that, else as the view does. ValueError where nothing can be drawn here."""
    found = _view(context)
    if found is None:
        raise ValueError("There is no 3D view to take the picture of")
    space, region = found
    ready_gpu()
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
            draw_marks(context.scene, wide, high, _SAMPLES)
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
    """Write a picture (height, width, 4) to a .png as it is. FormatError where that cannot be."""
    make_folder(Path(path).parent)
    image: Any = bpy.data.images.new("knuckle picture", pixels.shape[1], pixels.shape[0], alpha=True)
    try:
        image.colorspace_settings.name = "sRGB"
        image.pixels.foreach_set(pixels.astype(np.float32).ravel())
        with in_place_of(path, ".png") as beside:
            image.filepath_raw, image.file_format = beside, "PNG"
            image.save()
            if not is_whole(beside):  # on a full disk Blender says nothing of it
                raise no_room()
    except RuntimeError as error:
        raise FormatError(f"Blender could not save it: {error}".strip(), path=path) from error
    finally:
        bpy.data.images.remove(image)


CLASSES = (KNUCKLE_OT_overlay_picture,)
