"""Operators that create mechanisms: empty ones, bodies from meshes, and joints between bodies."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, StringProperty
from mathutils import Matrix

from ....core.report import Message, count_with_noun
from ...data.access import record_of, settings
from ...data.queries import rig_of
from ...editing.authoring import DEFAULT_DENSITY, join_bodies, make_body, new_model
from ...editing.joints import joint_placement
from ...editing.symmetry.twins import create_body_twins, create_joint_twin
from ..base.operators import (
    ERRORS,
    AddModelOperator,
    ModelOperator,
    Result,
    TwinsOption,
    cancel_with_error,
    report_message,
    report_result,
    shown_in_local_views,
)
from ..base.selection import deselect_all

TYPE_ITEMS = [
    ("revolute", "Revolute", "Hinge: rotation about Z"),
    ("prismatic", "Prismatic", "Slider: translation along Z"),
    ("cylindrical", "Cylindrical", "Translation along Z and rotation about Z"),
    ("screw", "Screw", "Rotation about Z, coupled to a translation along Z"),
    ("universal", "Universal", "Two rotations about perpendicular axes"),
    ("euler", "Euler", "Three rotations, one after the other"),
    ("ball", "Ball", "All three rotations"),
    ("planar", "Planar", "Two translations in a plane and the rotation in it"),
    ("translational", "Translational", "All three translations"),
    ("weld", "Weld", "No degree of freedom"),
    ("free", "Free", "All six degrees of freedom"),
]

WHERE_ITEMS = [
    ("CURSOR", "3D Cursor", "At the 3D cursor, about its Z axis"),
    ("FACE", "Active Face", "At the center of the active face of either body, about its normal"),
    ("RING", "Selected Ring", "At the center of the selected vertices of either body, about their axis"),
    ("NEAREST", "Nearest Points", "Between the nearest points of the two bodies"),
    ("CHILD", "Child Origin", "At the child's center of mass, about its Z axis"),
]
JOINT_AXIS_ITEMS = [
    ("X", "X", "X axis of the placement"),
    ("Y", "Y", "Y axis of the placement"),
    ("Z", "Z", "Z axis of the placement"),
]
AXIS_ROTATIONS = {
    "Z": Matrix(),
    "X": Matrix(((0, 0, 1, 0), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 0, 1))),
    "Y": Matrix(((0, 1, 0, 0), (0, 0, 1, 0), (1, 0, 0, 0), (0, 0, 0, 1))),
}


class KNUCKLE_OT_new_model(AddModelOperator):
    """Operator: add an empty mechanism."""

    bl_idname = "knuckle.new_model"
    bl_label = "Empty Mechanism"
    bl_description = "Add a mechanism without bodies, to fill with Make Body"
    bl_options = {"REGISTER", "UNDO"}

    name: StringProperty(name="Name", description="Name of the new mechanism", default="Mechanism")
    ground: BoolProperty(name="Ground", description="Ground at height 0 in a simulation", default=True)

    def execute(self, context: bpy.types.Context) -> Result:
        """Add an empty mechanism and make it active."""
        try:
            with shown_in_local_views(context):
                rig = new_model(context, self.name or "Mechanism", self.ground)
        except ERRORS as error:
            return cancel_with_error(self, error)
        _activate(context, rig)
        report_message(
            self, {"INFO"}, Message("{} added: select meshes and Make Body", repr(record_of(rig).source_name))
        )
        return {"FINISHED"}


def _activate(context: bpy.types.Context, obj: bpy.types.Object) -> None:
    deselect_all(context)
    obj.select_set(True)
    context.view_layer.objects.active = obj


def _plain_meshes(context: bpy.types.Context) -> list[bpy.types.Object]:
    """Return the selected meshes that belong to no mechanism."""
    return [obj for obj in context.view_layer.objects.selected if obj.type == "MESH" and rig_of(obj) is None]


class KNUCKLE_OT_make_body(TwinsOption, ModelOperator):
    """Operator: make the selected meshes bodies of the mechanism."""

    bl_idname = "knuckle.make_body"
    bl_label = "Make Body"
    bl_description = "Make the selected meshes bodies of the mechanism, with twins during symmetric editing"
    bl_options = {"REGISTER", "UNDO"}

    use_density: BoolProperty(
        name="Use Density", description="Compute the mass of each body from its volume and the density", default=True
    )
    density: FloatProperty(
        name="Density", description="Mass per volume (kg/m³), 1000 for water", default=DEFAULT_DENSITY, min=1e-6
    )
    mass: FloatProperty(name="Mass", description="Mass of each body (kg)", default=1.0, min=1e-6)
    as_mesh: BoolProperty(name="Keep as Mesh", description="Keep boxes, cylinders and balls as meshes", default=False)

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        if context.mode != "OBJECT":
            return "Go to object mode to make bodies"
        return "" if _plain_meshes(context) else "Select meshes that are no bodies yet, and a part of the mechanism"

    def draw(self, _context: bpy.types.Context) -> None:
        """Draw the options."""
        layout: Any = self.layout
        layout.use_property_split = True
        layout.prop(self, "use_density")
        layout.prop(self, "density" if self.use_density else "mass")
        layout.prop(self, "as_mesh")
        layout.prop(self, "twins")

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Make the selected meshes bodies; during symmetric editing, link or create their twins."""
        chosen = _plain_meshes(context)
        report = make_body(rig, chosen, None if self.use_density else self.mass, self.density, self.as_mesh)
        message = Message("{} made", count_with_noun(len(chosen), "body", "bodies"))
        if self.twins and settings(rig).symmetric:
            linked, made, more = create_body_twins(rig, chosen)
            report.extend(more)
            if linked or made:
                pairs, twins = count_with_noun(linked, "pair"), count_with_noun(made, "twin")
                message = Message(
                    "{} made, and {}; {} linked", count_with_noun(len(chosen), "body", "bodies"), twins, pairs
                )
        report_result(self, message, report)
        return {"FINISHED"}


def _two_bodies(context: bpy.types.Context, rig: bpy.types.Object) -> tuple[bpy.types.Object | None, bpy.types.Object]:
    """Return the active body as the parent and the other selected one as the child, as in Blender's parenting.

    One body alone is joined to the world: its parent is None.

    Raises:
        ValueError: If a selected mesh is no body of the mechanism, or if the selection is not one body or two.
    """
    chosen = [obj for obj in context.view_layer.objects.selected if obj.type == "MESH"]
    plain = next((obj for obj in chosen if rig_of(obj) is None), None)
    if plain is not None:
        raise ValueError(Message("{} is no body yet: Make Body first", repr(plain.name)))
    foreign = next((obj for obj in chosen if record_of(obj).role == "BODY" and record_of(obj).model != rig), None)
    if foreign is not None:
        raise ValueError(Message("{} is of another mechanism: Merge the two first", repr(foreign.name)))
    bodies = [obj for obj in chosen if record_of(obj).role == "BODY"]
    active = context.view_layer.objects.active
    if len(bodies) == 1:
        return None, bodies[0]
    if len(bodies) == 2 and active in bodies:
        return active, next(obj for obj in bodies if obj != active)
    raise ValueError("Select the child and then the parent: two bodies of the mechanism, the parent active")


class KNUCKLE_OT_add_joint(TwinsOption, ModelOperator):
    """Operator: join the selected bodies."""

    bl_idname = "knuckle.add_joint"
    bl_label = "Add Joint"
    bl_description = "Connect the selected body to the active one, its parent, or a single body to the world"
    bl_options = {"REGISTER", "UNDO"}

    type: EnumProperty(
        name="Type",
        description="Type of the joint, which sets its degrees of freedom",
        items=TYPE_ITEMS,
        default="revolute",
    )
    where: EnumProperty(
        name="Placement", description="Position and axis of the new joint", items=WHERE_ITEMS, default="CURSOR"
    )
    axis: EnumProperty(
        name="Axis",
        description="Axis of the placement that becomes the joint's axis",
        items=JOINT_AXIS_ITEMS,
        default="Z",
    )
    name: StringProperty(name="Name", description="Name of the joint; from its bodies if empty")

    @classmethod
    def poll_message(cls, context: bpy.types.Context, rig: bpy.types.Object) -> str:
        """Return the reason why the operator cannot run; empty if it can."""
        try:
            _two_bodies(context, rig)
        except ValueError as error:
            return str(error)
        return ""

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Add the joint; during symmetric editing, also the one of the bodies' twins."""
        parent, child = _two_bodies(context, rig)
        place = joint_placement(context, self.where, parent, child) @ AXIS_ROTATIONS[self.axis]
        if context.mode != "OBJECT":
            bpy.ops.object.mode_set(mode="OBJECT")
        empty, report = join_bodies(rig, parent, child, place, self.type, self.name)
        ends = Message("{} to {}", repr(child.name), "the world" if parent is None else repr(parent.name))
        message = Message("{} joins {}", repr(empty.name), ends)
        if self.twins and settings(rig).symmetric:
            context.view_layer.update()  # evaluate moved objects first
            twin, more = create_joint_twin(rig, empty)
            report.extend(more)
            if twin is not None:
                message = Message("{} joins {}, and its twin {} their twins", repr(empty.name), ends, repr(twin.name))
        report_result(self, message, report)
        return {"FINISHED"}


CLASSES = (KNUCKLE_OT_new_model, KNUCKLE_OT_make_body, KNUCKLE_OT_add_joint)
