"""Making models and changing how they hang together: empty models, bodies, joints, and what becomes of them."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, StringProperty
from mathutils import Matrix

from ..access import record_of
from ..edit.authoring import DENSITY, add_joint, make_body, new_model
from ..edit.both_halves import move_both, set_types, swap_both
from ..edit.joint_places import place_for
from ..edit.joints import delete_parts
from ..edit.refit import refit
from ..edit.symmetric import by_itself, together
from ..model_parts import rig_of
from ..translations import told
from .common import ERRORS, NeedsModel, Result, WithTwins, counted, model_in, refuse, say, tell
from .selection import active_joint
from .sidebar import ModelPanel

_TYPE_ITEMS = [
    ("revolute", "Revolute", "A hinge: it turns about Z"),
    ("prismatic", "Prismatic", "A slider: it goes along Z"),
    ("cylindrical", "Cylindrical", "It slides along Z and turns about it"),
    ("screw", "Screw", "It turns about Z, and slides along it as it turns"),
    ("universal", "Universal", "Two turns at right angles"),
    ("euler", "Euler", "Three turns, one after the other"),
    ("ball", "Ball", "It turns every way"),
    ("planar", "Planar", "It slides in a plane, and turns in it"),
    ("translational", "Translational", "It slides every way"),
    ("weld", "Weld", "It holds its bodies together"),
    ("free", "Free", "It holds nothing"),
]

_WHERE_ITEMS = [
    ("CURSOR", "3D Cursor", "At the cursor, about its Z"),
    ("FACE", "Active Face", "In the middle of the face that is active on either body, about its normal"),
    ("RING", "Selected Ring", "In the middle of the points that are selected on either body, about their axis"),
    ("NEAREST", "Nearest Points", "Where the two bodies are nearest"),
    ("CHILD", "Child's Origin", "Where the child's centre of mass is, about its Z"),
]
_AXIS_ITEMS = [
    ("X", "X", "The X axis of the place"),
    ("Y", "Y", "The Y axis of the place"),
    ("Z", "Z", "The Z axis of the place"),
]
_AXES = {
    "Z": Matrix(),
    "X": Matrix(((0, 0, 1, 0), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 0, 1))),
    "Y": Matrix(((0, 1, 0, 0), (0, 0, 1, 0), (1, 0, 0, 0), (0, 0, 0, 1))),
}


class KNUCKLE_OT_new_model(bpy.types.Operator):
    bl_idname = "knuckle.new_model"
    bl_label = "Empty Mechanism"
    bl_description = "Add a mechanism without bodies. Make Body fills it from the meshes of the scene"
    bl_options = {"REGISTER", "UNDO"}

    name: StringProperty(name="Name", description="Of the new mechanism", default="Mechanism")
    ground: BoolProperty(name="Ground", description="A ground plane at height 0 under physics", default=True)

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if context.mode == "OBJECT":
            return True
        cls.poll_message_set(told("Go to object mode to add a mechanism"))
        return False

    def execute(self, context: bpy.types.Context) -> Result:
        try:
            rig = new_model(context, self.name or "Mechanism", self.ground)
        except ERRORS as error:
            return refuse(self, error)
        _activate(context, rig)
        say(self, {"INFO"}, f"{record_of(rig).source_name!r} added: select meshes and Make Body")
        return {"FINISHED"}


def _activate(context: bpy.types.Context, obj: bpy.types.Object) -> None:
    for other in list(context.view_layer.objects.selected):
        other.select_set(False)
    obj.select_set(True)
    context.view_layer.objects.active = obj


def _plain_meshes(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The selected meshes that belong to no model."""
    return [obj for obj in context.view_layer.objects.selected if obj.type == "MESH" and rig_of(obj) is None]


class KNUCKLE_OT_make_body(NeedsModel):
    bl_idname = "knuckle.make_body"
    bl_label = "Make Body"
    bl_description = (
        "Make the selected meshes bodies of the mechanism, where they stand. Boxes, cylinders, balls and their like "
        "are recognised"
    )
    bl_options = {"REGISTER", "UNDO"}

    use_density: BoolProperty(name="From Density", description="Weigh each by its volume", default=True)
    density: FloatProperty(name="Density", description="Mass per volume (water: 1000)", default=DENSITY, min=1e-6)
    mass: FloatProperty(name="Mass", description="Mass of each", default=1.0, min=1e-6)
    as_mesh: BoolProperty(name="Keep as Mesh", description="Recognise no primitives", default=False)

    @classmethod
    def why_not(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        if context.mode != "OBJECT":
            return "Go to object mode to make bodies"
        return "" if _plain_meshes(context) else "Select meshes that are no bodies yet, and a part of the mechanism"

    def draw(self, _context: bpy.types.Context) -> None:
        layout: Any = self.layout
        layout.use_property_split = True
        layout.prop(self, "use_density")
        layout.prop(self, "density" if self.use_density else "mass")
        layout.prop(self, "as_mesh")

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        chosen = _plain_meshes(context)
        report = make_body(rig, chosen, None if self.use_density else self.mass, self.density, self.as_mesh)
        tell(self, f"{counted(len(chosen), 'body', 'bodies')} made", report)
        return {"FINISHED"}


def _two_bodies(context: bpy.types.Context, rig: bpy.types.Object) -> tuple[bpy.types.Object | None, bpy.types.Object]:
    """The active body as the parent and the other selected one as the child, as Blender's parenting has it; with one
    body alone, the world and that body."""
    chosen = [obj for obj in context.view_layer.objects.selected if obj.type == "MESH"]
    plain = next((obj for obj in chosen if rig_of(obj) is None), None)
    if plain is not None:
        raise ValueError(f"{plain.name!r} is no body yet: Make Body first")
    foreign = next((obj for obj in chosen if record_of(obj).role == "BODY" and record_of(obj).model != rig), None)
    if foreign is not None:
        raise ValueError(f"{foreign.name!r} is of another mechanism: Merge the two first")
    bodies = [obj for obj in chosen if record_of(obj).role == "BODY"]
    active = context.view_layer.objects.active
    if len(bodies) == 1:
        return None, bodies[0]
    if len(bodies) == 2 and active in bodies:
        return active, next(obj for obj in bodies if obj != active)
    raise ValueError("Select the child and then the parent: two bodies of the mechanism, the parent active")


class KNUCKLE_OT_add_joint(NeedsModel):
    bl_idname = "knuckle.add_joint"
    bl_label = "Add Joint"
    bl_description = "Join the selected body to the active one, its parent; one body alone is joined to the world"
    bl_options = {"REGISTER", "UNDO"}

    type: EnumProperty(
        name="Type", description="How the joint lets its bodies move", items=_TYPE_ITEMS, default="revolute"
    )
    where: EnumProperty(name="At", description="Where the joint is put", items=_WHERE_ITEMS, default="CURSOR")
    axis: EnumProperty(
        name="Axis",
        description="Which axis of the place is the joint's",
        items=_AXIS_ITEMS,
        default="Z",
    )
    name: StringProperty(name="Name", description="That of its bodies if empty")

    @classmethod
    def why_not(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        try:
            _two_bodies(context, rig)
        except ValueError as error:
            return str(error)
        return ""

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        parent, child = _two_bodies(context, rig)
        place = place_for(context, self.where, parent, child) @ _AXES[self.axis]
        if context.mode != "OBJECT":
            bpy.ops.object.mode_set(mode="OBJECT")
        empty, report = add_joint(rig, parent, child, place, self.type, self.name)
        ends = f"{child.name!r} to {parent.name!r}" if parent is not None else f"{child.name!r} to the world"
        tell(self, f"{empty.name!r} joins {ends}", report)
        return {"FINISHED"}


class _NeedsJoint(WithTwins, NeedsModel):
    bl_idname = "knuckle.needs_joint"
    bl_label = "Needs a Joint"

    @classmethod
    def why_not(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        return "" if active_joint(context, rig) is not None else "Select a joint, its bone, or the body that it moves"

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        empty = active_joint(context, rig)
        assert empty is not None
        mate = next(iter(together([empty], self.twins)[1:]), None)
        with by_itself(rig):
            return self.change(context, empty, mate)

    def change(self, context: bpy.types.Context, empty: bpy.types.Object, mate: bpy.types.Object | None) -> Result:
        """The operator's own work on the joint, and on its twin where that is to be edited as well."""
        raise NotImplementedError


class KNUCKLE_OT_set_joint_type(_NeedsJoint):
    bl_idname = "knuckle.set_joint_type"
    bl_label = "Set Joint Type"
    bl_description = "Make the joint one of another type. Stops, motors and springs stay with what stays in it"
    bl_options = {"REGISTER", "UNDO"}

    type: EnumProperty(
        name="Type", description="How the joint lets its bodies move", items=_TYPE_ITEMS, default="revolute"
    )

    def change(self, context: bpy.types.Context, empty: bpy.types.Object, mate: bpy.types.Object | None) -> Result:
        report = set_types(empty, mate, self.type)
        told = f"{empty.name!r} is {self.type} now"
        if mate is not None:
            told = f"{empty.name!r} is {self.type} now, and so is its twin {mate.name!r}"
        tell(self, told, report)
        return {"FINISHED"}


class KNUCKLE_OT_swap_joint(_NeedsJoint):
    bl_idname = "knuckle.swap_joint"
    bl_label = "Swap Parent and Child"
    bl_description = "Have the joint count the other way: what stayed moves, and what moved stays"
    bl_options = {"REGISTER", "UNDO"}

    def change(self, context: bpy.types.Context, empty: bpy.types.Object, mate: bpy.types.Object | None) -> Result:
        report = swap_both(empty, mate)
        own = record_of(empty).joint
        told = f"{own.parent.name!r} carries {own.child.name!r} now"
        if mate is not None:
            its = record_of(mate).joint
            told = f"{own.parent.name!r} carries {own.child.name!r} now, and {its.parent.name!r} {its.child.name!r}"
        tell(self, told, report)
        return {"FINISHED"}


class KNUCKLE_OT_move_joint(_NeedsJoint):
    bl_idname = "knuckle.move_joint"
    bl_label = "Move Joint"
    bl_description = "Put the joint elsewhere and leave its bodies where they are"
    bl_options = {"REGISTER", "UNDO"}

    where: EnumProperty(name="To", description="Where the joint goes", items=_WHERE_ITEMS, default="CURSOR")
    axis: EnumProperty(
        name="Axis",
        description="Which axis of the place is the joint's",
        items=_AXIS_ITEMS,
        default="Z",
    )

    def change(self, context: bpy.types.Context, empty: bpy.types.Object, mate: bpy.types.Object | None) -> Result:
        joint = record_of(empty).joint
        child = joint.child or joint.parent
        if child is None:
            raise ValueError(f"{empty.name!r} has no body")
        place = place_for(context, self.where, joint.parent if joint.child is not None else None, child)
        report = move_both(empty, mate, place @ _AXES[self.axis])
        told = f"{empty.name!r} moved"
        if mate is not None:
            told = f"{empty.name!r} moved, and so did its twin {mate.name!r}"
        tell(self, told, report)
        return {"FINISHED"}


class KNUCKLE_OT_delete_parts(WithTwins, NeedsModel):
    bl_idname = "knuckle.delete_parts"
    bl_label = "Delete Parts"
    bl_description = (
        "Delete the selected bodies and joints; joints that lose a body go as well, and the rest stays valid. While "
        "Symmetrical Editing is on, their twins go with them"
    )
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def why_not(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        chosen = (record_of(obj) for obj in context.view_layer.objects.selected)
        found = any(record.role in {"BODY", "JOINT"} and record.model == rig for record in chosen)
        return "" if found else "Select bodies or joints of the mechanism"

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        chosen = [obj for obj in context.view_layer.objects.selected if record_of(obj).model == rig]
        every = together(chosen, self.twins)
        with by_itself(rig):
            bodies, joints, report = delete_parts(rig, every)
        gone = counted(bodies, "body", "bodies"), counted(joints, "joint")
        told = f"{gone[0]} and {gone[1]} deleted"
        if len(every) > len(chosen):
            twins = counted(len(every) - len(chosen), "twin")
            told = f"{gone[0]} and {gone[1]} deleted, {twins} among them: the halves are edited together"
        tell(self, told, report)
        return {"FINISHED"}


class KNUCKLE_OT_refit(NeedsModel):
    bl_idname = "knuckle.refit"
    bl_label = "Update Armature"
    bl_description = "Make the bones fit the bodies and joints as they stand now, after joints were moved by hand"
    bl_options = {"REGISTER", "UNDO"}

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        tell(self, "The armature fits its joints", refit(rig))
        return {"FINISHED"}


class VIEW3D_PT_knuckle_parts(ModelPanel, bpy.types.Panel):
    bl_label = "Parts"
    bl_parent_id = "VIEW3D_PT_knuckle_model"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        column = layout.column(align=True)
        column.operator("knuckle.make_body", icon="MESH_CUBE")
        column.operator("knuckle.add_joint", icon="EMPTY_ARROWS")
        column = layout.column(align=True)
        rig = model_in(context)  # menus ask no poll, and would open where nothing in them can run
        column.enabled = rig is not None and active_joint(context, rig) is not None
        column.operator_menu_enum("knuckle.set_joint_type", "type", text="Joint Type", icon="CON_ROTLIKE")
        column.operator_menu_enum("knuckle.move_joint", "where", text="Move Joint", icon="OBJECT_ORIGIN")
        column = layout.column(align=True)
        column.operator("knuckle.swap_joint", icon="ARROW_LEFTRIGHT")
        column = layout.column(align=True)
        column.operator("knuckle.duplicate_limb", icon="DUPLICATE")
        column.operator("knuckle.delete_parts", icon="X")
        row = layout.row(align=True)
        row.operator("knuckle.split_model", icon="UNLINKED")
        row.operator("knuckle.merge_models", icon="LINKED")


CLASSES = (
    KNUCKLE_OT_new_model,
    KNUCKLE_OT_make_body,
    KNUCKLE_OT_add_joint,
    KNUCKLE_OT_set_joint_type,
    KNUCKLE_OT_swap_joint,
    KNUCKLE_OT_move_joint,
    KNUCKLE_OT_delete_parts,
    KNUCKLE_OT_refit,
    VIEW3D_PT_knuckle_parts,
)
