"""Operators that change joints, delete parts and update the armature, and the Edit panel."""

from __future__ import annotations

from math import degrees

import bpy
import numpy as np
from bpy.props import EnumProperty

from ....core.report import Message, abbreviate_names, count_with_noun, join_messages
from ....core.transforms import rotation_vector
from ...data.access import record_of
from ...data.channels import servo_channels
from ...data.rigid_bodies import displayed_mass
from ...editing.joints import delete_objects, joint_placement, place_joint, set_joint_type, swap_joint_ends
from ...editing.repair.rig_mismatch import applied_pose_message, joints_with_applied_pose
from ...editing.symmetry.live_mirror import parts_with_twins, without_live_mirror
from ...reconcile.rig_update import update_armature
from ...rig.joint_frames import joint_frame_matrix
from ...rig.pose_channels import reset_unused_channels
from ..base.operators import ModelOperator, Result, TwinsOption, active_model, report_result
from ..base.panels import PANEL_ORDER, ModelPanel, draw_fact, property_layout
from ..base.selection import active_joint, selected_parts
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
        """Change the active joint while live mirroring is off."""
        empty = active_joint(context, rig)
        assert empty is not None
        twin = next(iter(parts_with_twins([empty], self.twins)[1:]), None)
        with without_live_mirror(rig):
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
        with without_live_mirror(rig):
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
        applied = bool(joints_with_applied_pose(rig))  # no longer detectable after the update
        report = update_armature(rig)
        reset = reset_unused_channels(rig, servo_channels(rig))
        if reset:
            report.info(
                "residue-reset",
                Message(
                    "Bones {}: channels that are no degree of freedom of their joints were reset",
                    abbreviate_names(reset, 4),
                ),
            )
        if applied:
            report.warn("rest-applied", applied_pose_message())
        report_result(self, "Armature updated", report)
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
        if active is not None and record_of(active).role == "BODY" and record_of(active).model == rig:
            property_layout(layout.column()).prop(record_of(active), "mass")
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


CLASSES = (
    KNUCKLE_OT_set_joint_type,
    KNUCKLE_OT_swap_joint,
    KNUCKLE_OT_move_joint,
    KNUCKLE_OT_delete_parts,
    KNUCKLE_OT_refit,
    VIEW3D_PT_knuckle_parts,
)
