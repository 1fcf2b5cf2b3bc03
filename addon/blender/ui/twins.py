"""Twins: operators that create, link, find and compare them and mirror parts to them, and their panel."""

from __future__ import annotations

import math
from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty

from ...core.editing.symmetry import TwinCandidate, TwinDifference
from ...core.model import Plane
from ...core.report import Message, count_with_noun
from ..animation.mirror import mirror_keys
from ..data.access import record_of, settings
from ..data.conversion import store_message, stored_message
from ..data.queries import parts_by_id, servo_bones, twin_of, twins_among
from ..editing.symmetry.appearance import all_differences
from ..editing.symmetry.live_mirror import lacks_twins
from ..editing.symmetry.twins import (
    adopt_linked_plane,
    axis_plane,
    choose_plane,
    create_twins,
    ensure_plane,
    link_twins,
    mirror_to_twins,
    twin_candidates,
    unlink_twins,
)
from ..locale import translated
from .base.operators import ERRORS, ModelOperator, Result, active_model, report_message, report_result
from .base.panels import PANEL_ORDER, ModelPanel, property_layout
from .base.selection import select_only, selected_parts

_PLANE_ITEMS = [
    ("AUTO", "Automatic", "The mechanism's own mirror plane"),
    ("X", "X", "The plane X = 0 of the mechanism"),
    ("Y", "Y", "The plane Y = 0 of the mechanism"),
    ("Z", "Z", "The plane Z = 0 of the mechanism"),
]


def _chosen_plane(choice: str) -> Plane | None:
    """Return the mirror plane of an operator's option; None for the mechanism's own."""
    return None if choice == "AUTO" else axis_plane("XYZ".index(choice))


class _PlaneOption:
    """Option of operators that ask for a mirror plane if the mechanism has none."""

    plane: EnumProperty(
        name="Plane",
        description="Mirror plane between the sides",
        items=_PLANE_ITEMS,
        default="AUTO",
        options={"SKIP_SAVE"},  # mechanisms have different planes
    )

    def invoke(self: Any, context: bpy.types.Context, _event: bpy.types.Event) -> Result:
        """Run at once if there is a mirror plane, else open the options in a popup."""
        rig = active_model(context)
        if rig is None or self.plane != "AUTO" or ensure_plane(rig) is not None:
            return self.execute(context)
        self.plane = "X"
        answer: Result = context.window_manager.invoke_props_dialog(self)
        return answer


class _PartsOperator(ModelOperator):
    """Base of operators on selected bodies and joints. Not registered itself."""

    bl_idname = "knuckle.needs_parts"
    bl_label = "Needs Parts"

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        return "" if selected_parts(context, rig) else "Select bodies or joints of the mechanism"


class KNUCKLE_OT_mirror_to_twin(_PlaneOption, _PartsOperator):
    """Operator: make the twins of the selected parts their mirror images."""

    bl_idname = "knuckle.mirror_to_twin"
    bl_label = "Mirror to Twin"
    bl_description = "Mirror the position, shape and values of the selected parts to their twins"
    bl_options = {"REGISTER", "UNDO"}

    materials: BoolProperty(name="Materials", description="Copy the materials to the twins too", default=True)
    keys: BoolProperty(name="Keys", description="Copy mirrored keyframes to the twins' servos too", default=False)

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        reason = super().poll_message(context, rig)
        if reason or twins_among(selected_parts(context, rig)):
            return reason
        return "No selected part has a twin: use Find Twins or Create Twin"

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Mirror the parts, and the keyframes of their servos if wanted."""
        plane = _chosen_plane(self.plane)
        leading, report = mirror_to_twins(selected_parts(context, rig), plane, self.materials)
        choose_plane(rig, plane)
        if self.keys:
            bones = servo_bones(rig)
            ids = [record_of(obj).source_id for obj in leading if record_of(obj).role == "JOINT"]
            try:
                report.extend(mirror_keys(rig, bones={bones[key] for key in ids if key in bones}, plane=plane))
            except ERRORS as error:  # the parts are mirrored already
                report.warn("keys-not-mirrored", Message("Keyframes of {}: not mirrored. {}", repr(rig.name), error))
        report_result(self, Message("{} mirrored", count_with_noun(len(leading), "twin")), report)
        return {"FINISHED"}


class KNUCKLE_OT_create_twin(_PlaneOption, _PartsOperator):
    """Operator: create mirror images of the selected parts as their twins."""

    bl_idname = "knuckle.create_twin"
    bl_label = "Create Twin"
    bl_description = "Create mirror images of the selected parts, with the joints that carry them, as twins"
    bl_options = {"REGISTER", "UNDO"}

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Create the twins, and select them in object mode."""
        plane = _chosen_plane(self.plane)
        made, report = create_twins(selected_parts(context, rig), plane)
        choose_plane(rig, plane)
        if rig.mode == "OBJECT":
            select_only(context, made)  # the next operator is meant for the twins, not for their originals
        bodies = sum(record_of(obj).role == "BODY" for obj in made)
        made_of = Message(
            "{} and {}", count_with_noun(bodies, "body", "bodies"), count_with_noun(len(made) - bodies, "joint")
        )
        report_result(self, Message("Twins made: {}", made_of), report)
        return {"FINISHED"}


class KNUCKLE_OT_link_twins(ModelOperator):
    """Operator: link the two selected parts as twins."""

    bl_idname = "knuckle.link_twins"
    bl_label = "Link Twins"
    bl_description = "Link the two selected bodies or joints as twins"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        return "" if len(selected_parts(context, rig)) == 2 else "Select two bodies, or two joints"

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Link the two parts."""
        first, second = selected_parts(context, rig)
        link_twins((first, second))
        adopt_linked_plane(rig)
        report_message(self, {"INFO"}, Message("{} and {} are twins", repr(first.name), repr(second.name)))
        return {"FINISHED"}


class KNUCKLE_OT_unlink_twins(_PartsOperator):
    """Operator: unlink the selected parts from their twins."""

    bl_idname = "knuckle.unlink_twins"
    bl_label = "Unlink Twins"
    bl_description = "Unlink the selected parts from their twins"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        reason = super().poll_message(context, rig)
        linked = any(record_of(obj).twin for obj in selected_parts(context, rig))
        return reason or ("" if linked else "None of the selected parts has a twin")

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Unlink the parts."""
        linked = [obj for obj in selected_parts(context, rig) if record_of(obj).twin]
        unlink_twins(linked)
        report_message(self, {"INFO"}, Message("{} unlinked", count_with_noun(len(linked), "part")))
        return {"FINISHED"}


class KNUCKLE_OT_find_twins(_PlaneOption, ModelOperator):
    """Operator: find parts that could be twins."""

    bl_idname = "knuckle.find_twins"
    bl_label = "Find Twins"
    bl_description = "Find parts that could be twins, by name and position. Nothing is linked yet"
    bl_options = {"REGISTER", "UNDO"}

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Store the pairs found, without linking them."""
        found = twin_candidates(rig, _chosen_plane(self.plane))
        kept = settings(rig).found_twins
        kept.clear()
        parts = {"body": parts_by_id(rig, "BODY"), "joint": parts_by_id(rig, "JOINT")}
        for pair in found:
            row = kept.add()
            row.first, row.second = parts[pair.kind][pair.first].name, parts[pair.kind][pair.second].name
            store_message(row, "what", _match_message(pair))
            row.use = True
        if not found:
            report_message(self, {"INFO"}, "No further pairs of twins found")
            return {"FINISHED"}
        report_message(
            self,
            {"INFO"},
            Message("{} found: mark pairs and use Link Found Pairs", count_with_noun(len(found), "pair")),
        )
        return {"FINISHED"}


def _match_message(pair: TwinCandidate) -> str:
    return pair.by if pair.by != "name" else Message("name, {} off", f"{pair.gap:.3g}")


class KNUCKLE_OT_link_found_twins(ModelOperator):
    """Operator: link the ticked pairs as twins."""

    bl_idname = "knuckle.link_found_twins"
    bl_label = "Link Found Pairs"
    bl_description = "Link the marked pairs as twins"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        return "" if any(pair.use for pair in settings(rig).found_twins) else "Find Twins first, and mark pairs"

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Link the ticked pairs that still exist, and clear the list."""
        objects, found = bpy.data.objects, settings(rig).found_twins
        pairs = [(row.first, row.second) for row in found if row.use and {row.first, row.second} <= {*objects.keys()}]
        link_twins(*((objects[first], objects[second]) for first, second in pairs))
        found.clear()
        adopt_linked_plane(rig)
        report_message(self, {"INFO"}, Message("{} linked", count_with_noun(len(pairs), "pair")))
        return {"FINISHED"}


class KNUCKLE_OT_check_symmetry(ModelOperator):
    """Operator: list the differences between the sides of the mechanism."""

    bl_idname = "knuckle.check_symmetry"
    bl_label = "Check Symmetry"
    bl_description = "List differences between the sides: unequal twins, edited meshes, limbs that are missing"
    bl_options = {"REGISTER", "UNDO"}

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Store the differences and report their number."""
        found, model = all_differences(rig), settings(rig)
        parts = {"body": parts_by_id(rig, "BODY"), "joint": parts_by_id(rig, "JOINT")}
        model.differences.clear()
        model.symmetry_checked = True
        for each in found:
            row = model.differences.add()
            row.first = parts[each.kind][each.first].name
            row.second = parts[each.kind][each.second].name if each.second else ""
            store_message(row, "what", _difference_message(each))
        message = (
            Message("{} between the sides", count_with_noun(len(found), "difference"))
            if found
            else "The sides are mirror images"
        )
        report_message(self, {"INFO"}, message)
        return {"FINISHED"}


def _difference_message(each: TwinDifference) -> str:
    if not each.amount:
        return each.what
    amount = f"{math.degrees(each.amount):.3g}°" if each.unit == "rad" else f"{each.amount:.3g}"
    return Message("{} by {}", each.what, amount)


class KNUCKLE_UL_differences(bpy.types.UIList):
    """List of the differences between twins. A click on a name selects the part."""

    def draw_item(
        self, context: Any, layout: Any, data: Any, item: Any, icon: Any, active_data: Any, *_more: Any
    ) -> None:
        """Draw a row of the list."""
        row = layout.split(factor=0.4)
        row.operator("knuckle.select_part", text=item.first, emboss=False, translate=False).part = item.first
        row = row.split(factor=0.5) if item.second else row
        if item.second:
            row.operator("knuckle.select_part", text=item.second, emboss=False, translate=False).part = item.second
        row.label(text=translated(stored_message(item, "what")), translate=False)


class VIEW3D_PT_knuckle_twins(ModelPanel, bpy.types.Panel):
    """Panel: symmetric editing, mirror plane, and twins."""

    bl_label = "Twins"
    bl_order = PANEL_ORDER["twins"]
    help_page = "twins"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the panel."""
        layout = self.layout
        rig: Any = active_model(context)
        model = settings(rig)
        layout.prop(model, "symmetric", toggle=True, icon="MOD_MIRROR")
        _draw_plane(property_layout(layout.column()), model.mirror)
        if model.symmetric and lacks_twins(rig):
            layout.label(text="No part has a twin: use Find Twins", icon="INFO")
        chosen = selected_parts(context, rig)
        if not chosen:
            layout.label(text="Select a body or joint", icon="INFO")
        if len(chosen) == 1:
            twin = twin_of(chosen[0])
            row = layout.split(factor=0.4)
            row.label(text="Twin")
            if twin is None:
                row.label(text="none")
            else:
                row.operator("knuckle.select_part", text=twin.name, translate=False).part = twin.name
        column = layout.column(align=True)
        column.operator("knuckle.mirror_to_twin", icon="MOD_MIRROR")
        column.operator("knuckle.create_twin", icon="DUPLICATE")
        row = column.row(align=True)
        row.operator("knuckle.link_twins", text="Link", icon="LINKED")
        row.operator("knuckle.unlink_twins", text=translated("Unlink"), translate=False, icon="UNLINKED")
        layout.operator("knuckle.find_twins", icon="VIEWZOOM")
        if len(model.found_twins):
            box = layout.box().column(align=True)
            for pair in model.found_twins:
                row = box.row(align=True)
                row.prop(pair, "use", text="")
                row.label(text=f"{pair.first} / {pair.second}", translate=False)
                if pair.what != "name and place":  # a certain pair needs no remark, which leaves space for the names
                    row.label(text=translated(stored_message(pair, "what")), translate=False)
            box.operator("knuckle.link_found_twins", icon="LINKED")
        layout.operator("knuckle.check_symmetry", icon="CHECKMARK")
        if len(model.differences):
            layout.template_list("KNUCKLE_UL_differences", "", model, "differences", model, "difference_index", rows=4)
        elif model.symmetry_checked:
            layout.label(text="The sides are mirror images", icon="CHECKMARK")


def _draw_plane(layout: bpy.types.UILayout, mirror: Any) -> None:
    """Draw the mirror plane: its axis and offset, and its normal unless it is an axis."""
    layout.prop(mirror, "axis")
    if mirror.axis != "NONE":
        layout.prop(mirror, "offset")
    if mirror.axis == "OTHER":
        layout.prop(mirror, "normal")


CLASSES = (
    KNUCKLE_OT_mirror_to_twin,
    KNUCKLE_OT_create_twin,
    KNUCKLE_OT_link_twins,
    KNUCKLE_OT_unlink_twins,
    KNUCKLE_OT_find_twins,
    KNUCKLE_OT_link_found_twins,
    KNUCKLE_OT_check_symmetry,
    KNUCKLE_UL_differences,
    VIEW3D_PT_knuckle_twins,
)
