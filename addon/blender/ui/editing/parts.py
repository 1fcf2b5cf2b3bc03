"""Operators on joints, parts, limbs and whole mechanisms, and the Edit panel."""

from __future__ import annotations

from math import degrees

import bpy
import numpy as np
from bpy.props import BoolProperty, EnumProperty, FloatVectorProperty, StringProperty

from ....core.editing.edits import switch_assembly
from ....core.report import Message, abbreviate_names, count_with_noun, join_messages
from ....core.transforms import rotation_vector
from ...data.access import record_of, settings
from ...data.channels import servo_channels
from ...data.queries import is_foreign, is_part, parts, rig_of
from ...data.rigid_bodies import displayed_mass
from ...editing.joints import (
    copy_limb,
    delete_objects,
    free_offset,
    joint_placement,
    limb_objects,
    limb_of,
    place_joint,
    set_joint_type,
    swap_joint_ends,
)
from ...editing.repair.fixes import armature_updated_message, fit_armature
from ...editing.repair.rebuild import RebuildResult, rebuild_physics
from ...editing.split_merge import merge_models, split_model
from ...editing.symmetry.live_mirror import parts_with_twins
from ...reconcile.rig_update import begin_edit
from ...reconcile.update import update
from ...rig.joint_frames import joint_frame_matrix
from ...rig.pose_channels import reset_unused_channels
from ...scene.read.mechanism import extract_design
from ..base.operators import ModelOperator, Result, TwinsOption, active_model, model_summary, report_result
from ..base.panels import PANEL_ORDER, ModelPanel, draw_fact, property_layout
from ..base.selection import active_joint, select_only, selected_parts
from .create import AXIS_ROTATIONS, JOINT_AXIS_ITEMS, TYPE_ITEMS, WHERE_ITEMS

#: Placements that give the joint a new axis.
_WITH_AXIS = {"FACE", "RING"}
MOVED_AXIS_ITEMS = [
    ("AUTO", "Automatic", "Keep the joint's axis; at a face or a ring, use its normal"),
    *JOINT_AXIS_ITEMS,
]
#: Rotation of a moved joint (degrees) up to which nothing is reported.
_TURN_TOLERANCE = 0.01


class _JointOperator(TwinsOption, ModelOperator):
    """Base of operators that change the active joint and, during symmetric editing, its twin.

    Not registered itself.
    """

    bl_idname = "knuckle.needs_joint"
    bl_label = "Needs a Joint"

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        return "" if active_joint(context, rig) is not None else "Select a joint, its bone, or the body that it moves"

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Change the active joint, and its twin during symmetric editing."""
        empty = active_joint(context, rig)
        assert empty is not None
        twin = next(iter(parts_with_twins([empty], self.twins)[1:]), None)
        return self.change(context, empty, twin)

    def change(self, context: bpy.types.Context, empty: bpy.types.Object, twin: bpy.types.Object | None) -> Result:
        """Change the joint, and its twin if there is one to edit."""
        raise NotImplementedError


class KNUCKLE_OT_set_joint_type(_JointOperator):
    """Operator: set the type of the active joint."""

    bl_idname = "knuckle.set_joint_type"
    bl_label = "Set Joint Type"
    bl_description = "Change the type of the joint. Degrees of freedom that stay keep stops, motors and springs"
    bl_options = {"REGISTER", "UNDO"}

    type: EnumProperty(
        name="Type",
        description="Type of the joint, which sets its degrees of freedom",
        items=TYPE_ITEMS,
        default="revolute",
    )

    def change(self, context: bpy.types.Context, empty: bpy.types.Object, twin: bpy.types.Object | None) -> Result:
        """Set the type of the joint and of its twin."""
        report = set_joint_type(empty, self.type, twin)
        message = Message("{} is {} now", repr(empty.name), self.type)
        if twin is not None:
            message = Message("{} is {} now, and so is its twin {}", repr(empty.name), self.type, repr(twin.name))
        report_result(self, message, report)
        return {"FINISHED"}


class KNUCKLE_OT_swap_joint(_JointOperator):
    """Operator: swap parent and child of the active joint."""

    bl_idname = "knuckle.swap_joint"
    bl_label = "Swap Parent and Child"
    bl_description = "Exchange parent and child: the body that stayed moves, and the other one stays"
    bl_options = {"REGISTER", "UNDO"}

    def change(self, context: bpy.types.Context, empty: bpy.types.Object, twin: bpy.types.Object | None) -> Result:
        """Swap parent and child of the joint and of its twin."""
        report = swap_joint_ends(empty, twin)
        own = record_of(empty).joint
        message = Message("{} carries {} now", repr(own.parent.name), repr(own.child.name))
        if twin is not None:
            its = record_of(twin).joint
            message = Message(
                "{} carries {} now, and {} {}",
                repr(own.parent.name),
                repr(own.child.name),
                repr(its.parent.name),
                repr(its.child.name),
            )
        report_result(self, message, report)
        return {"FINISHED"}


class KNUCKLE_OT_move_joint(_JointOperator):
    """Operator: move the active joint, but not its bodies."""

    bl_idname = "knuckle.move_joint"
    bl_label = "Move Joint"
    bl_description = "Move the joint without its bodies. A face or a ring also sets its axis"
    bl_options = {"REGISTER", "UNDO"}

    where: EnumProperty(name="Placement", description="New position of the joint", items=WHERE_ITEMS, default="CURSOR")
    axis: EnumProperty(
        name="Axis",
        description="Axis of the placement that becomes the joint's axis",
        items=MOVED_AXIS_ITEMS,
        default="AUTO",
    )

    def change(self, context: bpy.types.Context, empty: bpy.types.Object, twin: bpy.types.Object | None) -> Result:
        """Move the joint and its twin; report a rotation of its axes."""
        joint = record_of(empty).joint
        child = joint.child or joint.parent
        if child is None:
            raise ValueError(Message("{} has no body", repr(empty.name)))
        place = joint_placement(context, self.where, joint.parent if joint.child is not None else None, child)
        keeps = self.axis == "AUTO" and self.where not in _WITH_AXIS
        before = joint_frame_matrix(empty)[:3, :3]
        report = place_joint(empty, place @ AXIS_ROTATIONS.get(self.axis, AXIS_ROTATIONS["Z"]), keeps, twin)
        angle = degrees(float(np.linalg.norm(rotation_vector(joint_frame_matrix(empty)[:3, :3] @ before.T))))
        message = Message("{} moved", repr(empty.name))
        if twin is not None:
            message = Message("{} moved, and so did its twin {}", repr(empty.name), repr(twin.name))
        report_result(
            self,
            join_messages(
                "", (message, Message("; rotated by {}°", f"{angle:.3g}") if angle > _TURN_TOLERANCE else "")
            ),
            report,
        )
        return {"FINISHED"}


class KNUCKLE_OT_delete_parts(TwinsOption, ModelOperator):
    """Operator: delete the selected bodies and joints."""

    bl_idname = "knuckle.delete_parts"
    bl_label = "Delete Parts"
    bl_description = "Delete the selected bodies and joints, and joints that lose a body"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        chosen = (record_of(obj) for obj in context.view_layer.objects.selected)
        found = any(record.role in {"BODY", "JOINT"} and record.model == rig for record in chosen)
        return "" if found else "Select bodies or joints of the mechanism"

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Delete the selected parts, and their twins during symmetric editing."""
        chosen = [obj for obj in context.view_layer.objects.selected if record_of(obj).model == rig]
        every = parts_with_twins(chosen, self.twins)
        bodies, joints, report = delete_objects(rig, every)
        gone = count_with_noun(bodies, "body", "bodies"), count_with_noun(joints, "joint")
        message = Message("{} and {} deleted", gone[0], gone[1])
        if len(every) > len(chosen):
            twins = count_with_noun(len(every) - len(chosen), "twin")
            message = Message("{} and {} deleted, including {} by symmetric editing", gone[0], gone[1], twins)
        report_result(self, message, report)
        return {"FINISHED"}


class KNUCKLE_OT_refit(ModelOperator):
    """Operator: update the armature to joints that were moved by hand."""

    bl_idname = "knuckle.refit"
    bl_label = "Update Armature"
    bl_description = "Fit the bones to the bodies and joints after joints were moved by hand"
    bl_options = {"REGISTER", "UNDO"}

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Update the armature and reset pose channels that belong to no degree of freedom."""
        report = fit_armature(rig)
        reset = reset_unused_channels(rig, servo_channels(rig))
        if reset:
            report.info(
                "residue-reset",
                Message(
                    "Bones {}: channels that are no degree of freedom of their joints were reset",
                    abbreviate_names(reset, 4),
                ),
            )
        report_result(self, armature_updated_message(report), report)
        return {"FINISHED"}


def draw_whole_mass(panel: bpy.types.Panel, context: bpy.types.Context) -> None:
    """Draw a body's whole mass atop Blender's Rigid Body panel, which shows it without that of its inertia proxy."""
    obj = context.object
    if obj is None or record_of(obj).role != "BODY" or displayed_mass(obj) is None:
        return
    column = property_layout(panel.layout.column())
    column.prop(record_of(obj), "mass", text="Whole Mass")
    draw_fact(column, "In Inertia Proxy", f"{record_of(obj).inertia_proxy_share:.0%}")


class VIEW3D_PT_knuckle_parts(ModelPanel, bpy.types.Panel):
    """Panel: edit the selected bodies and joints."""

    bl_label = "Edit"
    bl_order = PANEL_ORDER["edit"]
    help_page = "authoring"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the panel."""
        layout = self.layout
        rig, active = active_model(context), context.view_layer.objects.active
        if active is not None and rig is not None and is_part(active, rig, "BODY"):
            column = property_layout(layout.column())
            column.prop(record_of(active), "mass")
            column.prop(record_of(active), "immobile")
        if rig is not None and not selected_parts(context, rig):
            layout.label(text="Select a body or joint", icon="INFO")
        column = layout.column(align=True)
        column.operator("knuckle.make_body", icon="MESH_CUBE")
        column.operator("knuckle.add_joint", icon="EMPTY_ARROWS")
        column = layout.column(align=True)  # menus do not poll, and would open where no entry can run
        column.enabled = rig is not None and active_joint(context, rig) is not None
        column.operator_menu_enum("knuckle.set_joint_type", "type", text="Joint Type", icon="CON_ROTLIKE")
        column.operator_menu_enum("knuckle.move_joint", "where", text="Move Joint", icon="OBJECT_ORIGIN")
        column = layout.column(align=True)
        column.operator("knuckle.swap_joint", icon="ARROW_LEFTRIGHT")
        column = layout.column(align=True)
        column.operator("knuckle.duplicate_limb", icon="DUPLICATE")
        column.operator("knuckle.delete_parts", icon="X")
        column = layout.column(align=True)
        column.operator("knuckle.split_model", icon="UNLINKED")
        column.operator("knuckle.merge_models", icon="LINKED")


# ---------------------------------------------------------------- limbs and mechanisms


class KNUCKLE_OT_duplicate_limb(TwinsOption, ModelOperator):
    """Operator: duplicate the selected bodies with the joints that carry them."""

    bl_idname = "knuckle.duplicate_limb"
    bl_label = "Duplicate Limb"
    bl_description = "Duplicate the selected bodies with joints and keyframes, on both sides during symmetric editing"
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
        every = parts_with_twins(chosen, self.twins)
        made, across, report = split_model(rig, every, self.name, self.across == "WORLD")
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
        was_off = not any(record_of(obj).active for obj in parts(rig, "BODY"))
        present = begin_edit(rig)
        report = update(rig, switch_assembly(extract_design(rig), self.path, on), present)
        if was_off:  # nothing was simulated, so that no physics was suspended
            rebuilt = RebuildResult()
            rebuild_physics(rig, rebuilt)
            report.extend(rebuilt.report)
        report_result(self, Message("{} is {}", repr(self.path), "on" if on else "off"), report)
        return {"FINISHED"}


CLASSES = (
    KNUCKLE_OT_set_joint_type,
    KNUCKLE_OT_swap_joint,
    KNUCKLE_OT_move_joint,
    KNUCKLE_OT_delete_parts,
    KNUCKLE_OT_refit,
    VIEW3D_PT_knuckle_parts,
    KNUCKLE_OT_duplicate_limb,
    KNUCKLE_OT_split_model,
    KNUCKLE_OT_merge_models,
    KNUCKLE_OT_switch_assembly,
)
