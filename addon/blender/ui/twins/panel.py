"""The panel of twins, and the list of what differs between them."""

from __future__ import annotations

from typing import Any

import bpy

from ...data.access import settings
from ...editing.symmetry.links import twin_of
from ...editing.symmetry.live_mirror import lacks_twins
from ...translations import told
from ..base.operators import model_in
from ..base.panels import ORDER, ModelPanel, split
from .operators import chosen_parts


class KNUCKLE_UL_differences(bpy.types.UIList):
    """What differs between twins; a click selects the two."""

    def draw_item(
        self, context: Any, layout: Any, data: Any, item: Any, icon: Any, active_data: Any, *_more: Any
    ) -> None:
        row = layout.split(factor=0.4)
        row.operator("knuckle.select_part", text=item.first, emboss=False, translate=False).part = item.first
        row = row.split(factor=0.5) if item.second else row
        if item.second:
            row.operator("knuckle.select_part", text=item.second, emboss=False, translate=False).part = item.second
        row.label(text=told(item.what), translate=False)


class VIEW3D_PT_knuckle_twins(ModelPanel, bpy.types.Panel):
    bl_label = "Twins"
    bl_order = ORDER["twins"]
    help_page = "twins"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        rig: Any = model_in(context)
        model = settings(rig)
        layout.prop(model, "symmetric", toggle=True, icon="MOD_MIRROR")
        _draw_plane(split(layout.column()), model.mirror)
        if model.symmetric and lacks_twins(rig):
            layout.label(text="Nothing has a twin yet: Find Twins", icon="INFO")
        chosen = chosen_parts(context, rig)
        if not chosen:
            layout.label(text="Select a body or joint", icon="INFO")
        if len(chosen) == 1:
            mate = twin_of(chosen[0])
            row = layout.split(factor=0.4)
            row.label(text="Twin")
            if mate is None:
                row.label(text="none")
            else:
                row.operator("knuckle.select_part", text=mate.name, translate=False).part = mate.name
        column = layout.column(align=True)
        column.operator("knuckle.mirror_to_twin", icon="MOD_MIRROR")
        column.operator("knuckle.create_twin", icon="DUPLICATE")
        row = column.row(align=True)
        row.operator("knuckle.link_twins", text="Link", icon="LINKED")
        row.operator("knuckle.unlink_twins", text=told("Unlink"), translate=False, icon="UNLINKED")
        layout.operator("knuckle.find_twins", icon="VIEWZOOM")
        if len(model.found_twins):
            box = layout.box().column(align=True)
            for pair in model.found_twins:
                row = box.row(align=True)
                row.prop(pair, "use", text="")
                row.label(text=f"{pair.first} / {pair.second}", translate=False)
                if pair.what != "name and place":  # what is certain needs no remark, and leaves room for the names
                    row.label(text=told(pair.what), translate=False)
            box.operator("knuckle.link_found_twins", icon="LINKED")
        layout.operator("knuckle.check_symmetry", icon="CHECKMARK")
        if len(model.differences):
            layout.template_list("KNUCKLE_UL_differences", "", model, "differences", model, "difference_index", rows=4)
        elif model.symmetry_checked:
            layout.label(text="The halves are mirror images", icon="CHECKMARK")


def _draw_plane(layout: bpy.types.UILayout, mirror: Any) -> None:
    """The mirror plane: its axis and offset, and its normal where that is no axis."""
    layout.prop(mirror, "axis")
    if mirror.axis != "NONE":
        layout.prop(mirror, "offset")
    if mirror.axis == "OTHER":
        layout.prop(mirror, "normal")


CLASSES = (KNUCKLE_UL_differences, VIEW3D_PT_knuckle_twins)
