"""The video in the sidebar."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import bpy

from ....core.report import FormatError
from ...locale import told
from ...rendering.encoding import wants_poster
from ...rendering.frames import frames_left
from ...rendering.options import FilmOptions
from ...rendering.playback import may_move
from ...rendering.video import frames_of
from ..base.modal_tasks import under_way
from ..base.operators import counted, model_in
from ..base.panels import ORDER, ModelPanel, paragraph, split
from .operators import RENDERING, film_path, why_no_place
from .properties import copy_wishes, ending_from, film_wishes, options_from


class VIEW3D_PT_knuckle_film(ModelPanel, bpy.types.Panel):
    bl_label = "Video"
    bl_order = ORDER["video"]
    help_page = "film"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        wishes = film_wishes(context.scene)
        going = under_way(*RENDERING)
        column = split(layout.column())
        column.enabled = going is None
        column.prop(wishes, "stage")
        column.prop(wishes, "camera")
        column.prop(wishes, "engine")
        column.prop(wishes, "format")
        if wishes.format == "OWN":
            column.prop(wishes, "size")
        column.prop(wishes, "length")
        if wishes.length == "OWN":
            column.prop(wishes, "seconds")
        column.prop(wishes, "filepath", placeholder=told("Beside the .blend"))
        if going is not None:
            layout.progress(text=going.text, factor=going.share, translate=False)
            layout.label(text="Press Esc to stop")
            return
        reason = tell_what(context, layout, wishes)
        row = layout.row(align=True)
        row.scale_y = 1.3
        copy_wishes(wishes, row.operator("knuckle.preview_film", icon="IMAGE_DATA"))
        button = row.row(align=True)
        button.enabled = not reason
        copy_wishes(wishes, button.operator("knuckle.render_film", text="Render Video", icon="RENDER_ANIMATION"))


class VIEW3D_PT_knuckle_film_overlays(ModelPanel, bpy.types.Panel):
    bl_label = "Titles and Extras"
    bl_parent_id = "VIEW3D_PT_knuckle_film"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        wishes = film_wishes(context.scene)
        layout.enabled = under_way(*RENDERING) is None
        split(layout.column()).prop(wishes, "title")
        layout.row(align=True).prop(wishes, "burn")
        column = layout.column()
        column.prop(wishes, "side_by_side")
        column.prop(wishes, "sheet")
        column.prop(wishes, "poster")
        column.prop(wishes, "keep_frames")
        split(layout.column()).prop(wishes, "samples")


def tell_what(context: bpy.types.Context, layout: bpy.types.UILayout, wishes: Any) -> str:
    """Say what will be made, be there a place for it yet or not; why it cannot, where it cannot."""
    reason = why_no_place(wishes.filepath)
    ending = ending_from(wishes)
    path = f"video{ending}" if reason else film_path(model_in(context), wishes.filepath, ending)
    try:
        paragraph(context, layout, summary(context.scene, path, options_from(wishes)), "INFO")
    except FormatError as error:
        reason = reason or str(error)
    rig = model_in(context)
    if rig is not None and not may_move(rig):
        paragraph(context, layout, "The mechanism does not move: it has no keyframes, and no physics", "ERROR")
    left = 0 if reason else frames_left(path)
    if left:
        paragraph(context, layout, f"An interrupted render left {counted(left, 'frame')} to go on with")
    if reason:
        paragraph(context, layout, reason, "ERROR")
    return reason


def summary(scene: bpy.types.Scene, path: str, options: FilmOptions) -> str:
    """Return what will be made. FormatError where that cannot be."""
    size = f"{options.size[0]} x {options.size[1]}"
    if wants_poster(path):
        return told(f"{size}, one picture")
    frames, fps = frames_of(scene, replace(options, poster_frame=None))
    return told(f"{size}, {frames / fps:.1f} s, {counted(frames, 'frame')} at {fps:g} per second")


CLASSES = (VIEW3D_PT_knuckle_film, VIEW3D_PT_knuckle_film_overlays)
