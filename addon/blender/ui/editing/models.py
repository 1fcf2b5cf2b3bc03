"""Operators on limbs and whole mechanisms: duplicate, split, merge, and switch assemblies."""

from __future__ import annotations

import bpy
import numpy as np
from bpy.props import BoolProperty, EnumProperty, FloatVectorProperty, StringProperty

from ....core.editing.edits import switch_assembly
from ....core.report import Message, count_with_noun, join_messages
from ...data.access import record_of, settings
from ...data.queries import is_foreign, rig_of
from ...editing.joints import copy_limb, free_offset, limb_objects, limb_of
from ...editing.split_merge import merge_models, split_model
from ...editing.symmetry.live_mirror import parts_with_twins, start_live_mirror, without_live_mirror
from ...reconcile.rig_update import begin_edit
from ...reconcile.update import update
from ...scene.read.mechanism import extract_design
from ..base.operators import ModelOperator, Result, TwinsOption, model_summary, report_result
from ..base.selection import select_only, selected_parts


class KNUCKLE_OT_duplicate_limb(TwinsOption, ModelOperator):
    """Operator: duplicate the selected bodies with the joints that carry them."""

    bl_idname = "knuckle.duplicate_limb"
    bl_label = "Duplicate Limb"
    bl_description = "Duplicate the selected bodies with their joints, on both sides during symmetric editing"
    bl_options = {"REGISTER", "UNDO"}

    whole: BoolProperty(name="Whole Limb", description="Include the bodies and joints on their far side", default=True)
    place: EnumProperty(
        name="Placement",
        description="Position of the copy",
        items=[
            ("BESIDE", "Beside", "Along the mechanism's Y axis, so far that the two do not overlap"),
            ("OFFSET", "Offset", "At the offset given below"),
        ],
    )
    offset: FloatVectorProperty(
        name="Offset", description="Offset of the copy, in the mechanism's axes", size=3, subtype="TRANSLATION"
    )

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        return "" if selected_parts(context, rig) else "Select bodies of the mechanism, or joints that move some"

    def draw(self, _context: bpy.types.Context) -> None:
        """Draw the options."""
        layout = self.layout
        layout.use_property_split = True
        layout.prop(self, "whole")
        layout.prop(self, "twins")
        layout.prop(self, "place")
        if self.place == "OFFSET":
            layout.prop(self, "offset")

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Duplicate the selected limb; during symmetric editing, also that of the other side."""
        meant = limb_of(rig, selected_parts(context, rig), self.whole)
        objects = limb_objects(rig, meant)
        offset = free_offset(objects[: len(meant.bodies)]) if self.place == "BESIDE" else np.array(self.offset)
        every = parts_with_twins(objects, self.twins)
        limb = limb_of(rig, every, whole=False)
        with without_live_mirror(rig):
            both = settings(rig).symmetric and self.twins
            made, report = copy_limb(rig, limb, offset, selected_parts(context, rig) if both else None)
        if context.mode == "OBJECT":
            select_only(context, made)
        message = Message(
            "{} and {}", count_with_noun(len(limb.bodies), "body", "bodies"), count_with_noun(len(limb.joints), "joint")
        )
        report_result(self, Message("Duplicated: {}", message), report)
        return {"FINISHED"}


class KNUCKLE_OT_split_model(TwinsOption, ModelOperator):
    """Operator: split the selected bodies off as a mechanism of their own."""

    bl_idname = "knuckle.split_model"
    bl_label = "Split Mechanism"
    bl_description = "Make the selected bodies and the joints between them a separate mechanism"
    bl_options = {"REGISTER", "UNDO"}

    name: StringProperty(name="Name", description="Name of the new mechanism; from a body if empty")
    whole: BoolProperty(name="Whole Limb", description="Include the bodies and joints on their far side", default=False)
    across: EnumProperty(
        name="Connecting Joints",
        description="Treatment of joints between the selected bodies and the others",
        items=[
            ("DROP", "Delete", "Delete these joints"),
            ("WORLD", "To the World", "Attach the new mechanism to the world by these joints"),
        ],
    )

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        if context.mode != "OBJECT":
            return "Go to object mode to split a mechanism"
        chosen = [obj for obj in selected_parts(context, rig) if record_of(obj).role == "BODY"]
        return "" if chosen else "Select bodies of the mechanism to split them off"

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Split the selected bodies off, and select the new mechanism."""
        chosen = selected_parts(context, rig)
        if self.whole:
            limb = limb_of(rig, chosen)
            chosen = limb_objects(rig, limb)[: len(limb.bodies)]
        with without_live_mirror(rig):
            made, across, report = split_model(
                rig, parts_with_twins(chosen, self.twins), self.name, self.across == "WORLD"
            )
        if settings(made).symmetric:
            start_live_mirror(made)
        select_only(context, [made])
        message = Message("{} is a mechanism of its own: {}", repr(record_of(made).source_name), model_summary(made))
        if across:
            names = ", ".join(map(repr, across))
            held = self.across == "WORLD"
            message = (
                Message("{}; attached to the world by {}", message, names)
                if held
                else Message("{}; deleted: {}", message, names)
            )
        report_result(self, message, report)
        return {"FINISHED"}


def _selected_models(context: bpy.types.Context) -> list[bpy.types.Object]:
    rigs = (rig_of(obj) for obj in context.view_layer.objects.selected)
    return list(dict.fromkeys(rig for rig in rigs if rig is not None))


class KNUCKLE_OT_merge_models(ModelOperator):
    """Operator: merge the selected mechanisms into the active one."""

    bl_idname = "knuckle.merge_models"
    bl_label = "Merge Mechanisms"
    bl_description = "Merge the selected mechanisms into the active one. Names in use get a number"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        if context.mode != "OBJECT":
            return "Go to object mode to merge mechanisms"
        others = [other for other in _selected_models(context) if other != rig]
        if any(map(is_foreign, others)):
            return (
                "One of them is linked from another file: make it local first (Object > Relations > Make Local > All)"
            )
        return "" if others else "Select parts of two mechanisms: the other is merged into the active one"

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Merge the selected mechanisms into the active one, and select it."""
        others = [other for other in _selected_models(context) if other != rig]
        with without_live_mirror(rig):
            renamed, report = merge_models(rig, others)
        select_only(context, [rig])
        message = Message(
            "{} merged with {}: {}",
            repr(record_of(rig).source_name),
            count_with_noun(len(others), "mechanism"),
            model_summary(rig),
        )
        report_result(
            self,
            join_messages("", (message, Message("; {} numbered", count_with_noun(renamed, "name")) if renamed else "")),
            report,
        )
        return {"FINISHED"}


class KNUCKLE_OT_switch_assembly(ModelOperator):
    """Operator: switch an assembly on or off."""

    bl_idname = "knuckle.switch_assembly"
    bl_label = "Switch Assembly"
    bl_description = "Switch a group of parts on or off. Parts that are off are kept, but not posed or simulated"
    bl_options = {"REGISTER", "UNDO"}

    path: StringProperty(name="Assembly", description="Path of the assembly: the names of its parents and its own")

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        return "" if len(settings(rig).assemblies) else "The mechanism has no assemblies"

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Switch the assembly off if it is on, else on."""
        on = not any(row.active for row in settings(rig).assemblies if row.path == self.path)
        present = begin_edit(rig)
        report = update(rig, switch_assembly(extract_design(rig), self.path, on), present)
        report_result(self, Message("{} is {}", repr(self.path), "on" if on else "off"), report)
        return {"FINISHED"}


CLASSES = (
    KNUCKLE_OT_duplicate_limb,
    KNUCKLE_OT_split_model,
    KNUCKLE_OT_merge_models,
    KNUCKLE_OT_switch_assembly,
)
