"""What the context menus of objects and of poses offer for parts of a mechanism."""

from __future__ import annotations

import bpy

from ...data.access import record_of
from ...data.queries import rig_of
from ..base.operators import model_in
from ..base.selection import active_joint
from ..twins.operators import chosen_parts


class KNUCKLE_MT_context(bpy.types.Menu):
    bl_idname = "KNUCKLE_MT_context"
    bl_label = "Mechanism"

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        rig = model_in(context)
        selected = context.view_layer.objects.selected
        if rig is not None and any(obj.type == "MESH" and rig_of(obj) is None for obj in selected):
            layout.operator("knuckle.make_body", icon="MESH_CUBE")
        chosen = chosen_parts(context, rig) if rig is not None else []
        bodies = [obj for obj in chosen if record_of(obj).role == "BODY"]
        if bodies and context.mode == "OBJECT":
            layout.operator("knuckle.add_joint", icon="EMPTY_ARROWS")
        if chosen:
            layout.operator("knuckle.duplicate_limb", icon="DUPLICATE")
            layout.operator("knuckle.create_twin", icon="MOD_MIRROR")
            layout.operator("knuckle.mirror_to_twin", icon="MOD_MIRROR")
        if rig is not None and active_joint(context, rig) is not None:
            layout.separator()
            layout.operator_menu_enum("knuckle.set_joint_type", "type", icon="CON_ROTLIKE")
            layout.operator_menu_enum("knuckle.move_joint", "where", icon="OBJECT_ORIGIN")
            layout.operator("knuckle.swap_joint", icon="ARROW_LEFTRIGHT")
        if context.mode != "OBJECT":
            return
        layout.separator()
        if bodies:
            layout.operator("knuckle.split_model", icon="UNLINKED")
        if len({rig_of(obj) for obj in selected} - {None}) > 1:
            layout.operator("knuckle.merge_models", icon="LINKED")
        if chosen:
            layout.operator("knuckle.delete_parts", icon="X")


def menu(self: bpy.types.Menu, context: bpy.types.Context) -> None:
    """The entry of Blender's context menus, where something of a mechanism is selected."""
    if any(rig_of(obj) is not None for obj in context.view_layer.objects.selected):
        self.layout.separator()
        self.layout.menu(KNUCKLE_MT_context.bl_idname, icon="CON_ARMATURE")


CLASSES = (KNUCKLE_MT_context,)
