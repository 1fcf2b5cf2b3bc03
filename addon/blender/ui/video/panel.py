"""Panel Video of the sidebar."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import bpy

from ....core.report import FormatError, Message, count_with_noun
from ...locale import translated
from ...rendering.encoding import is_poster_path
from ...rendering.frames import resumable_frames
from ...rendering.options import FilmOptions
from ...rendering.playback import may_move
from ...rendering.video import planned_frame_count
from ..base.modal_tasks import running_task
from ..base.operators import polled_model
from ..base.panels import PANEL_ORDER, ModelPanel, draw_paragraph, property_layout
from .operators import RENDER_OPERATORS, bad_path_message, video_path
from .properties import copy_video_settings, video_ending, video_render_options, video_settings


class VIEW3D_PT_knuckle_film(ModelPanel, bpy.types.Panel):
    """Panel: video settings, and buttons that render video and preview."""

    bl_label = "Video"
    bl_order = PANEL_ORDER["video"]
    help_page = "film"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the panel."""
        layout = self.layout
        options = video_settings(context.scene)
        going = running_task(*RENDER_OPERATORS)
        column = property_layout(layout.column())
        column.enabled = going is None
        column.prop(options, "stage")
        column.prop(options, "camera")
        column.prop(options, "engine")
        column.prop(options, "format")
        if options.format == "OWN":
            column.prop(options, "size")
        column.prop(options, "length")
        if options.length == "OWN":
            column.prop(options, "seconds")
        column.prop(options, "filepath", placeholder=translated("Beside the .blend"))
        if going is not None:
            layout.progress(text=going.text, factor=going.share, translate=False)
            layout.label(text="Press Esc to stop")
            return
        reason, notices = draw_summary(context, layout, options)
        row = layout.row(align=True)
        row.scale_y = 1.3
        copy_video_settings(options, row.operator("knuckle.preview_film", icon="IMAGE_DATA"))
        button = row.row(align=True)
        button.enabled = not reason
        copy_video_settings(
            options, button.operator("knuckle.render_film", text="Render Video", icon="RENDER_ANIMATION")
        )
        for text, icon in notices:  # below the buttons, which stay where they are when a notice comes or goes
            draw_paragraph(context, layout, text, icon)


class VIEW3D_PT_knuckle_film_overlays(ModelPanel, bpy.types.Panel):
    """Panel: titles, overlays and additional files of the video."""

    bl_label = "Titles and Extras"
    bl_parent_id = "VIEW3D_PT_knuckle_film"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the panel."""
        layout = self.layout
        options = video_settings(context.scene)
        layout.enabled = running_task(*RENDER_OPERATORS) is None
        property_layout(layout.column()).prop(options, "title")
        layout.row(align=True).prop(options, "burn")
        column = layout.column()
        column.prop(options, "side_by_side")
        column.prop(options, "sheet")
        column.prop(options, "poster")
        column.prop(options, "keep_frames")
        property_layout(layout.column()).prop(options, "samples")


def draw_summary(
    context: bpy.types.Context, layout: bpy.types.UILayout, options: Any
) -> tuple[str, list[tuple[str, str]]]:
    """Draw what will be rendered.

    Returns:
        The reason why it cannot be rendered, empty if it can, and notices with their icons, the reason first.
    """
    rig = polled_model(context)
    notices: list[tuple[str, str]] = []
    reason = bad_path_message(options.filepath)
    ending = video_ending(options)
    path = f"video{ending}" if reason else video_path(rig, options.filepath, ending)
    try:
        draw_paragraph(context, layout, video_summary(context.scene, path, video_render_options(options)), "INFO")
    except FormatError as error:
        reason = reason or str(error)
    if not may_move(rig):
        said = "The mechanism does not move: it has neither keyframes nor physics"
        notices.append((said, "ERROR"))
    left = 0 if reason else resumable_frames(path)
    if left:
        message = Message("An interrupted render left {}, which the next one uses", count_with_noun(left, "frame"))
        notices.append((message, "NONE"))
    return reason, [(reason, "ERROR"), *notices] if reason else notices


def video_summary(scene: bpy.types.Scene, path: str, options: FilmOptions) -> str:
    """Return size, length and number of frames of the video in words.

    Raises:
        FormatError: If it cannot be rendered.
    """
    size = " x ".join(map(str, options.size))
    if is_poster_path(path):
        return translated(Message("{}, one picture", size))
    frames, fps = planned_frame_count(scene, replace(options, poster_frame=None))
    return translated(
        Message(
            "{}, {} s, {} at {} per second", size, f"{frames / fps:.1f}", count_with_noun(frames, "frame"), f"{fps:g}"
        )
    )


CLASSES = (VIEW3D_PT_knuckle_film, VIEW3D_PT_knuckle_film_overlays)
