"""What is missing of a mechanism, told in the sidebar, and the one button that makes it anew."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
from bpy.props import BoolProperty

from ...data.queries import is_orphan_part
from ...editing.repair.missing_parts import lost_models, missing, orphans
from ...editing.repair.rebuild import adopt, rebuild
from ...editing.rollback import as_before
from ...translations import told
from ..base.operators import ERRORS, Result, model_in, refuse, tell, why_foreign, why_linked_copy, why_no_model
from ..base.panels import paragraph


def _meant(context: bpy.types.Context) -> bpy.types.Object | None:
    """The model that the user means; where none is whole enough to be meant, the first that lost its armature. None
    where what is active is of a model that is gone for good."""
    rig = model_in(context)
    if rig is None and not is_orphan_part(context.view_layer.objects.active):
        return next(iter(lost_models(context.scene)), None)
    return rig


class KNUCKLE_OT_rebuild(bpy.types.Operator):
    bl_idname = "knuckle.rebuild"
    bl_label = "Rebuild Missing Parts"
    bl_description = (
        "Make anew what was deleted of the mechanism by hand: its armature and bones, joints, bodies, collections, "
        "text and physics. What remains keeps its keys, poses and edits, and what Delete Parts took away stays away"
    )
    bl_options = {"REGISTER", "UNDO"}

    everything: BoolProperty(
        name="Deleted Parts Too",
        description="Also take back what was deleted with all that held it, which is how a mechanism is made smaller: "
        "bodies with their joints, frames. What Delete Parts took away stays away",
        options={"SKIP_SAVE"},
    )

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        rig = _meant(context)
        if rig is None and orphans(context.scene):
            return True
        reason = why_no_model(context) if rig is None else why_foreign(rig) or why_linked_copy(rig)
        if reason:
            cls.poll_message_set(told(reason))
        return not reason

    def execute(self, context: bpy.types.Context) -> Result:
        if context.mode != "OBJECT" and context.object is not None:
            bpy.ops.object.mode_set(mode="OBJECT")
        try:
            with as_before():
                rig = _meant(context)
                is_new = rig is None
                if rig is None:
                    rig = adopt(context.scene, context.view_layer.objects.active)
                out = rebuild(rig, context.scene, self.everything)
                if is_new:
                    out.done.insert(0, "its armature")
        except ERRORS as error:
            return refuse(self, error)
        done = "; ".join(out.done)
        if done:
            tell(self, f"Made anew or taken back: {done}", out.report)
        else:
            tell(self, "Nothing is missing", out.report)
        return {"FINISHED"}


def draw_missing(context: bpy.types.Context, layout: bpy.types.UILayout, known: Sequence[str] | None = None) -> None:
    """What the model that is meant lacks, with the button; nothing where it is whole. ``known``: what it lacks, where
    that was worked out already."""
    rig = _meant(context)
    lacks = () if rig is None else missing(rig) if known is None else known
    gone = rig is None and bool(orphans(context.scene))
    if not (lacks or gone):
        return
    box = layout.box()
    for line in lacks:
        paragraph(context, box, line, "ERROR")
    if gone:
        paragraph(context, box, "Its armature is gone from the file", "ERROR")
    box.operator("knuckle.rebuild", icon="FILE_REFRESH")


CLASSES = (KNUCKLE_OT_rebuild,)
