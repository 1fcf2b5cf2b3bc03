"""Stored poses: operators that store, recall (also mirrored or in part) and delete them, and their panel."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import BoolProperty, FloatProperty, IntProperty, StringProperty

from ....core.report import Message, count_with_noun
from ...animation.actions import stored_poses
from ...animation.pose_library import recall_pose, store_pose
from ...locale import translated
from ..base.operators import ModelOperator, Result, active_model, polled_model, report_message
from ..base.panels import ModelPanel
from ..base.selection import target_bones
from .operators import only_selected


class KNUCKLE_UL_poses(bpy.types.UIList):
    """List of the mechanism's poses, with buttons that recall, recall mirrored, and delete each."""

    def draw_item(
        self, context: Any, layout: Any, data: Any, item: Any, icon: Any, active_data: Any, *_more: Any
    ) -> None:
        """Draw a row of the list."""
        row = layout.row(align=True)
        row.prop(item, "name", text="", emboss=False, icon="POSE_HLT", translate=False)
        for mirrored, picture in ((False, "CHECKMARK"), (True, "MOD_MIRROR")):
            button = row.operator("knuckle.recall_pose", text="", icon=picture, emboss=False)
            button.pose, button.mirrored = item.name, mirrored
        row.operator("knuckle.delete_pose", text="", icon="X", emboss=False).pose = item.name

    def filter_items(self, context: Any, data: Any, propname: str) -> Any:
        """Return the filter flags of the rows and their order."""
        rig = active_model(context)
        own = set(stored_poses(rig)) if rig is not None else set()
        wanted = self.filter_name.lower()
        every = getattr(data, propname)
        return [self.bitflag_filter_item if each in own and wanted in each.name.lower() else 0 for each in every], []


class VIEW3D_PT_knuckle_poses(ModelPanel, bpy.types.Panel):
    """Panel: stored poses."""

    bl_label = "Poses"
    help_page = "pose#store-a-pose"
    bl_parent_id = "VIEW3D_PT_knuckle_servos"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the panel."""
        layout: Any = self.layout
        rig = polled_model(context)
        if stored_poses(rig):
            layout.template_list("KNUCKLE_UL_poses", "", bpy.data, "actions", rig.data, "knuckle_pose_row", rows=3)
        layout.operator("knuckle.store_pose", icon="ADD")


class KNUCKLE_OT_store_pose(ModelOperator):
    """Operator: store the pose of the servos by name."""

    bl_idname = "knuckle.store_pose"
    bl_label = "Store Pose"
    bl_description = "Store the present pose of the servos by name, also for Blender's pose library"
    bl_options = {"REGISTER", "UNDO"}

    name: StringProperty(
        name="Name", description="Name of the pose; replaces a pose with the same name", default="Pose"
    )
    only_selected: only_selected()

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> Result:
        """Open the options in a popup."""
        return context.window_manager.invoke_props_dialog(self)

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Store the pose; replace one of the same name."""
        context.view_layer.update()
        known = {action.name for action in stored_poses(rig)}
        action = store_pose(rig, self.name, target_bones(context, rig, self.only_selected))
        name = action.name
        report_message(
            self,
            {"INFO"},
            Message("Pose {} replaced", repr(name)) if name in known else Message("Pose {} stored", repr(name)),
        )
        return {"FINISHED"}


class _PoseOperator(ModelOperator):
    """Base of operators on a stored pose. Not registered itself."""

    bl_idname = "knuckle.of_pose"
    bl_label = "Of a Pose"

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        return "" if stored_poses(rig) else "The mechanism has no poses: use Store Pose first"

    def action(self, rig: bpy.types.Object) -> bpy.types.Action:
        """Return the Action of the pose named by ``pose``.

        Raises:
            ValueError: If the mechanism has no such pose.
        """
        options: Any = self
        found = next((action for action in stored_poses(rig) if action.name == options.pose), None)
        if found is None:
            raise ValueError(Message("{} has no pose called {}", repr(rig.name), repr(options.pose)))
        return found


class KNUCKLE_OT_recall_pose(_PoseOperator):
    """Operator: pose the servos as in a stored pose."""

    bl_idname = "knuckle.recall_pose"
    bl_label = "Recall Pose"
    bl_description = "Apply a stored pose to the servos, wholly or in part"
    bl_options = {"REGISTER", "UNDO"}

    pose: StringProperty(name="Pose", description="Name of the pose")
    weight: FloatProperty(
        name="Weight",
        description="Share of the way from the present pose to the stored one",
        default=1.0,
        soft_min=0.0,
        soft_max=1.0,
        subtype="FACTOR",
        options={"SKIP_SAVE"},
    )
    mirrored: BoolProperty(
        name="Mirrored", description="Apply the pose of each side to the other", options={"SKIP_SAVE"}
    )
    only_selected: only_selected()

    @classmethod
    def description(cls, context: bpy.types.Context, properties: Any) -> str:
        """Return the tooltip with the name of the pose."""
        how = ", as in a mirror" if properties.mirrored else ""
        return translated(Message("Pose the servos as {} has them{}", repr(properties.pose), how))

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Blend the present pose toward the stored one, mirrored if wanted."""
        bones = target_bones(context, rig, self.only_selected)
        count = recall_pose(rig, self.action(rig), context.scene, self.weight, self.mirrored, bones)
        report_message(self, {"INFO"}, Message("{} posed as in {}", count_with_noun(count, "joint"), repr(self.pose)))
        return {"FINISHED"}


class KNUCKLE_OT_delete_pose(_PoseOperator):
    """Operator: delete a stored pose."""

    bl_idname = "knuckle.delete_pose"
    bl_label = "Delete Pose"
    bl_description = "Delete a stored pose"
    bl_options = {"REGISTER", "UNDO"}

    pose: StringProperty(name="Pose", description="Name of the pose")

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Delete the Action of the pose."""
        bpy.data.actions.remove(self.action(rig))
        report_message(self, {"INFO"}, Message("Pose {} deleted", repr(self.pose)))
        return {"FINISHED"}


CLASSES = (
    KNUCKLE_UL_poses,
    KNUCKLE_OT_store_pose,
    KNUCKLE_OT_recall_pose,
    KNUCKLE_OT_delete_pose,
    VIEW3D_PT_knuckle_poses,
)


def register() -> None:
    """Register the list's active row, after the classes."""
    bpy.types.Armature.knuckle_pose_row = IntProperty(  # type: ignore[attr-defined]
        name="Pose", description="Active pose in the list", options={"SKIP_SAVE"}
    )


def unregister() -> None:
    """Unregister the list's active row."""
    del bpy.types.Armature.knuckle_pose_row  # type: ignore[attr-defined]
