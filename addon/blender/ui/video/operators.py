"""Operators that render the video or a preview of the current frame, and the video settings of the scene."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import bpy
from bpy.props import PointerProperty

from ....core.report import Message, count_with_noun
from ...data.access import record_of
from ...data.queries import parts
from ...locale import translated
from ...progress import WorkStep
from ...rendering.encoding import is_poster_path
from ...rendering.frames import resumable_frames
from ...rendering.playback import PLAYING
from ...rendering.video import preview_steps, video_steps
from ..base.modal_tasks import ModalTask, TaskSteps, busy_message
from ..base.operators import report_message, report_result
from .properties import VideoProperties, file_property, format_property, video_ending, video_render_options

#: Name of the preview's image in the .blend.
PREVIEW_NAME = "Video Preview"
#: Operators that render as modal tasks.
RENDER_OPERATORS = ("knuckle.render_film", "knuckle.preview_film")


class KnuckleFilm(VideoProperties, bpy.types.PropertyGroup):
    """Video settings of a scene: ``Scene.knuckle_film``."""

    format: format_property("HD")


class _VideoOperator(VideoProperties, ModalTask):
    """Base of operators that render the video or a frame of it. Not registered itself."""

    filepath: file_property(options={"SKIP_SAVE"})
    format: format_property("OWN")

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        return busy_message() or ("" if parts(rig, "BODY") else "The mechanism has no bodies to render")

    def progress_text(self, step: WorkStep) -> str:
        """Return the status text of a step: the operator, and whether it plays the motion."""
        return (
            Message("{}, playing the motion", self.bl_label) if step.phase == PLAYING else super().progress_text(step)
        )


class KNUCKLE_OT_render_film(_VideoOperator):
    """Operator: render the video."""

    bl_idname = "knuckle.render_film"
    bl_label = "Render Video"
    bl_description = "Render the mechanism over the scene's frame range, on a stage and with a camera of its own"
    bl_options = {"REGISTER"}

    @classmethod
    def description(cls, _context: bpy.types.Context, properties: Any) -> str:
        """Return the tooltip: the reason if the file is missing, else the description."""
        return translated(bad_path_message(properties.filepath) or cls.bl_description)

    def steps(self, context: bpy.types.Context, rig: bpy.types.Object) -> TaskSteps:
        """Return the generator that renders the video, and contact sheet and poster beside it."""
        self.filepath = video_path(rig, self.filepath, video_ending(self))
        beside = Path(self.filepath)
        options = replace(
            video_render_options(self),
            sheet=str(beside.with_name(f"{beside.stem}_sheet.png")) if self.sheet else "",
            poster=str(beside.with_name(f"{beside.stem}_poster.png")) if self.poster else "",
        )
        return video_steps(context, parts(rig, "BODY"), self.filepath, options)

    def finish(self, context: bpy.types.Context, result: Any) -> None:
        """Report the file."""
        if is_poster_path(self.filepath):
            report_result(self, Message("Picture rendered: {}", self.filepath), result)
        else:
            report_result(self, Message("Video rendered: {}", self.filepath), result)

    def stopped_message(self) -> str:
        """Return the message for a user who stopped, with the number of frames kept."""
        left = resumable_frames(self.filepath)
        if not left:
            return super().stopped_message()
        return Message("{}: stopped, {} kept. Render again to continue", self.bl_label, count_with_noun(left, "frame"))


class KNUCKLE_OT_preview_film(_VideoOperator):
    """Operator: render the current frame of the video."""

    bl_idname = "knuckle.preview_film"
    bl_label = "Preview"
    bl_description = "Render the current frame as it will be in the video"
    bl_options = {"REGISTER", "UNDO"}  # the preview is a datablock

    def steps(self, context: bpy.types.Context, rig: bpy.types.Object) -> TaskSteps:
        """Render the preview in a temporary folder and store it in the .blend."""
        folder = tempfile.mkdtemp(prefix="knuckle-film-")
        picture = os.path.join(folder, "preview.png")
        try:
            report = yield from preview_steps(context, parts(rig, "BODY"), picture, video_render_options(self))
            store_preview(picture)
        finally:
            if os.path.exists(picture):
                os.remove(picture)
            os.rmdir(folder)
        return report

    def finish(self, context: bpy.types.Context, result: Any) -> None:
        """Show the preview, if there is a window, and report its name."""
        if not bpy.app.background and context.window is not None:
            show_preview(context)
        report_message(self, {"INFO"}, Message("Preview: the image {}", repr(PREVIEW_NAME)))


def store_preview(picture: str) -> bpy.types.Image:
    """Load and pack a picture as the preview image, in place of an earlier preview."""
    fresh = bpy.data.images.load(picture)
    fresh.pack()
    before: Any = bpy.data.images.get(PREVIEW_NAME)
    if before is not None:
        before.user_remap(fresh)
        bpy.data.images.remove(before)
    fresh.name = PREVIEW_NAME
    return fresh


def show_preview(context: bpy.types.Context) -> None:
    """Show the preview in the Image Editors that show no image of the user.

    Without one, Blender's window for renders is opened: by default a new window of the picture's size.
    """
    image = bpy.data.images[PREVIEW_NAME]
    editors = image_editors(context)
    if not any(is_editor_free(each) for each in editors):
        with render_resolution(context.scene, image.size[:]):
            bpy.ops.render.view_show("INVOKE_DEFAULT")
        editors = [each for each in image_editors(context) if is_editor_free(each)]
    for space in (each for each in editors if is_editor_free(each)):
        space.image = image
    for area in (area for window in context.window_manager.windows for area in window.screen.areas):
        area.tag_redraw()


def image_editors(context: bpy.types.Context) -> list[Any]:
    """Return the Image Editors of all windows."""
    areas = (area for window in context.window_manager.windows for area in window.screen.areas)
    return [area.spaces.active for area in areas if area.type == "IMAGE_EDITOR" and area.ui_type == "IMAGE_EDITOR"]


def is_editor_free(editor: Any) -> bool:
    """Return whether an Image Editor shows nothing, a render or the preview."""
    return editor.image is None or editor.image.type == "RENDER_RESULT" or editor.image.name == PREVIEW_NAME


@contextmanager
def render_resolution(scene: bpy.types.Scene, size: Sequence[int]) -> Iterator[None]:
    """Set the scene's resolution to ``size`` in this context, for Blender's window for renders."""
    render = scene.render
    kept = render.resolution_x, render.resolution_y, render.resolution_percentage
    render.resolution_x, render.resolution_y, render.resolution_percentage = size[0], size[1], 100
    try:
        yield
    finally:
        render.resolution_x, render.resolution_y, render.resolution_percentage = kept


def video_path(rig: bpy.types.Object, wanted: str, ending: str = ".mp4") -> str:
    """Return the path of the video: as set, else beside the .blend.

    Args:
        rig: The mechanism, whose name is the default file name.
        wanted: Path in the settings; may be empty or a folder.
        ending: Extension for a path without one.

    Raises:
        ValueError: If the path depends on a .blend that was never saved.
    """
    name = bpy.path.clean_name(record_of(rig).source_name or rig.name)
    reason = bad_path_message(wanted)
    if reason:
        raise ValueError(reason)
    path = bpy.path.abspath(wanted or f"//{name}")
    if Path(path).is_dir():
        path = str(Path(path) / name)
    return path if Path(path).suffix else path + ending


def bad_path_message(wanted: str) -> str:
    """Return the reason why a video has no valid path, such as an unsaved .blend; empty if it has one."""
    if bpy.data.filepath or (wanted and not wanted.startswith("//")):
        return ""
    if not wanted:
        return "Choose a file for the video, or save the .blend first: the video then goes beside it"
    return "The video's file is beside the .blend, which was never saved: save it, or choose another file"


def register() -> None:
    """Register the video settings of scenes."""
    bpy.types.Scene.knuckle_film = PointerProperty(type=KnuckleFilm)  # type: ignore[attr-defined]


def unregister() -> None:
    """Unregister the video settings of scenes."""
    del bpy.types.Scene.knuckle_film  # type: ignore[attr-defined]


CLASSES = (KnuckleFilm, KNUCKLE_OT_render_film, KNUCKLE_OT_preview_film)
