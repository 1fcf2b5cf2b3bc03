"""Operators on limbs and whole mechanisms: duplicate, split, merge, and switch assemblies."""

from __future__ import annotations

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatVectorProperty, StringProperty

from ...data.access import record_of, settings
from ...data.queries import is_foreign, rig_of
from ...editing.assemblies import switch_assembly
from ...editing.limbs import duplicate_limb, find_limb, free_offset, mirrored_offsets
from ...editing.split_merge import merge_models, split_model
from ...editing.symmetry.live_mirror import parts_with_twins, start_live_mirror, without_live_mirror
from ..base.operators import ModelOperator, Result, TwinsOption, count_with_noun, model_summary, report_result
from ..base.selection import select_only, selected_parts


class KNUCKLE_OT_duplicate_limb(TwinsOption, ModelOperator):
    """Operator: duplicate the selected bodies with the joints that carry them."""

    bl_idname = "knuckle.duplicate_limb"
    bl_label = "Duplicate Limb"
    bl_description = (
        "Make the selected bodies once more, with the joints that carry them, hung where the originals hang. The "
        "copies are nobody's twins; but while Symmetrical Editing is on the other side is duplicated as well, and the "
        "copies are each other's"
    )
    bl_options = {"REGISTER", "UNDO"}

    whole: BoolProperty(name="Whole Limb", description="And all that hangs on them", default=True)
    place: EnumProperty(
        name="Place",
        description="Where the copy goes",
        items=[
            ("BESIDE", "Beside", "Along the model's Y axis, so far that the two do not overlap"),
            ("OFFSET", "Offset", "As far off as you say"),
        ],
    )
    offset: FloatVectorProperty(
        name="Offset", description="How far off, in the model's axes", size=3, subtype="TRANSLATION"
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
        meant = find_limb(rig, selected_parts(context, rig), self.whole)
        offset = free_offset(meant) if self.place == "BESIDE" else self.offset
        every = parts_with_twins([*meant.bodies, *meant.joints], self.twins)
        limb = find_limb(rig, every, whole=False)
        with without_live_mirror(rig):
            both = settings(rig).symmetric and self.twins
            made, report = duplicate_limb(
                rig, limb, mirrored_offsets(limb, selected_parts(context, rig), offset) if both else offset
            )
        if context.mode == "OBJECT":
            select_only(context, made)
        told = f"{count_with_noun(len(limb.bodies), 'body', 'bodies')} and {count_with_noun(len(limb.joints), 'joint')}"
        report_result(self, f"Duplicated: {told}", report)
        return {"FINISHED"}


class KNUCKLE_OT_split_model(TwinsOption, ModelOperator):
    """Operator: split the selected bodies off as a mechanism of their own."""

    bl_idname = "knuckle.split_model"
    bl_label = "Split"
    bl_description = (
        "Make the selected bodies, and the joints between them, a mechanism of their own. While Symmetrical Editing is "
        "on, their twins go with them"
    )
    bl_options = {"REGISTER", "UNDO"}

    name: StringProperty(name="Name", description="Of the new mechanism; that of a body if empty")
    whole: BoolProperty(name="Whole Limb", description="And all that hangs on them", default=False)
    across: EnumProperty(
        name="Joints Across",
        description="What becomes of the joints between the selected bodies and the others",
        items=[
            ("DROP", "Delete", "They are deleted"),
            ("WORLD", "To the World", "They hold the new mechanism to the world, where it is"),
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
            chosen = find_limb(rig, chosen).bodies
        with without_live_mirror(rig):
            made, across, report = split_model(
                rig, parts_with_twins(chosen, self.twins), self.name, self.across == "WORLD"
            )
        if settings(made).symmetric:
            start_live_mirror(made)
        select_only(context, [made])
        told = f"{record_of(made).source_name!r} is a mechanism of its own: {model_summary(made)}"
        if across:
            names = ", ".join(map(repr, across))
            held = self.across == "WORLD"
            told = f"{told}; held to the world by {names}" if held else f"{told}; deleted: {names}"
        report_result(self, told, report)
        return {"FINISHED"}


def _selected_models(context: bpy.types.Context) -> list[bpy.types.Object]:
    rigs = (rig_of(obj) for obj in context.view_layer.objects.selected)
    return list(dict.fromkeys(rig for rig in rigs if rig is not None))


class KNUCKLE_OT_merge_models(ModelOperator):
    """Operator: merge the selected mechanisms into the active one."""

    bl_idname = "knuckle.merge_models"
    bl_label = "Merge"
    bl_description = (
        "Make the selected mechanisms one: the active one takes the others in, where they stand. Names that are taken "
        "get a number"
    )
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
        return "" if others else "Select parts of two mechanisms: the active one takes the other in"

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Merge the selected mechanisms into the active one, and select it."""
        others = [other for other in _selected_models(context) if other != rig]
        with without_live_mirror(rig):
            renamed, report = merge_models(rig, others)
        select_only(context, [rig])
        told = (
            f"{record_of(rig).source_name!r} took in {count_with_noun(len(others), 'mechanism')}: {model_summary(rig)}"
        )
        report_result(self, told + (f"; {count_with_noun(renamed, 'name')} numbered" if renamed else ""), report)
        return {"FINISHED"}


class KNUCKLE_OT_switch_assembly(ModelOperator):
    """Operator: switch an assembly on or off."""

    bl_idname = "knuckle.switch_assembly"
    bl_label = "Switch Assembly"
    bl_description = (
        "Switch a group of parts on or off, as the flag in its file does: what is off is kept, and neither poses nor "
        "simulates"
    )
    bl_options = {"REGISTER", "UNDO"}

    path: StringProperty(name="Assembly", description="Its name, after those of the assemblies around it")

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        return "" if len(settings(rig).assemblies) else "The mechanism has no assemblies"

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Switch the assembly off if it is on, else on."""
        on = not any(row.active for row in settings(rig).assemblies if row.path == self.path)
        report = switch_assembly(rig, self.path, on)
        report_result(self, f"{self.path!r} is {'on' if on else 'off'}", report)
        return {"FINISHED"}


CLASSES = (
    KNUCKLE_OT_duplicate_limb,
    KNUCKLE_OT_split_model,
    KNUCKLE_OT_merge_models,
    KNUCKLE_OT_switch_assembly,
)
