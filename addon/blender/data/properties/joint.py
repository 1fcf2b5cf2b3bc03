"""Property groups of joints, degrees of freedom, motors, shapes and restraints: the records all else derives from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    FloatProperty,
    FloatVectorProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from ...events.signals import joint_changed, on_ticked_value, value_changed


class KnuckleRestraint(bpy.types.PropertyGroup):
    """Spring, damper or friction by formula, along a joint or between two points on bodies."""

    kind: StringProperty(description="spring, damper or friction")
    joint: PointerProperty(type=bpy.types.Object, description="The joint whose coordinate it is of")
    law: StringProperty(description="Knots, and a row of coefficients in descending powers for each piece, as JSON")
    one: PointerProperty(type=bpy.types.Object, description="The body of its first place")
    other: PointerProperty(type=bpy.types.Object, description="The body of its second place")
    one_stays: BoolProperty(description="Its first place is in the world, and on no body that was deleted")
    other_stays: BoolProperty(description="Its second place is")
    at_one: FloatVectorProperty(size=16, description="Its first place as its body's object has it, or the model")
    at_other: FloatVectorProperty(size=16, description="Its second place")
    distance: StringProperty(description="Along which axis of the first place it counts; none: as the crow flies")
    motors: CollectionProperty(type=KnuckleMotor, description="What pushes its bodies: three motors for each")


#: Names of the sizes of each type of shape, in the order of the three stored numbers.
SIZE_KEYS: dict[str, tuple[str, ...]] = {
    "box": ("x", "y", "z"),
    "sphere": ("radius",),
    "ellipsoid": ("x", "y", "z"),
    "capsule": ("length", "radius"),
    "cylinder": ("length", "radius"),
    "cone": ("length", "radius"),
    "hemisphere": ("radius",),
    "pyramid": ("x", "y", "length"),
    "mesh": ("x", "y", "z"),
    "axes": ("length",),
}


#: Option of a pointer: in a library override it points at the override of the library's object, also after reopening.
OVERRIDABLE: Any = {"LIBRARY_OVERRIDABLE"}


class KnuckleShape(bpy.types.PropertyGroup):
    """Shape of a body, as the file describes it."""

    type: StringProperty(name="Shape", description="What kind of shape it is")
    size: FloatVectorProperty(name="Size", description="Its size, by the kind of shape (length units)", size=3)
    pose: FloatVectorProperty(name="Pose", description="Where it stands in its body, by rows", size=16)
    visual: BoolProperty(name="Visual", description="The shape is seen", default=True)
    collision: BoolProperty(name="Collision", description="The shape is collided with", default=True)
    collidable: BoolProperty(
        description="False: it would collide, but its file switches it off, or its mesh is missing", default=True
    )
    has_child: BoolProperty(description="A child of the body stands for it: what tells that the child was deleted")
    has_color: BoolProperty()
    color: FloatVectorProperty(
        name="Colour", description="The colour of the shape", size=4, subtype="COLOR", min=0.0, max=1.0
    )
    mesh: StringProperty(name="Mesh File", description="The file of the shape's mesh")
    spheres: StringProperty(description="The radius and center of each of its balls, as JSON")


def _angle_accessors(name: str) -> tuple[Callable[..., float], Callable[..., None]]:
    """Return getter and setter that present a number of a degree of freedom as an angle, shown in degrees."""

    def get(self: bpy.types.PropertyGroup) -> float:
        return getattr(self, name)

    def put(self: bpy.types.PropertyGroup, value: float) -> None:
        setattr(self, name, value)

    return get, put


def _angle_property(name: str, description: str, field: str) -> FloatProperty:
    """Return an angle property, in degrees in the interface, for a number stored in radians in another property."""
    get, put = _angle_accessors(field)
    return FloatProperty(name=name, description=description, subtype="ANGLE", precision=2, get=get, set=put)


_LOWER, _UPPER = _angle_accessors("lower"), _angle_accessors("upper")


def _ticked_property(field: str, name: str, description: str, **more: Any) -> FloatProperty:
    """Return a property that edits a field of one degree of freedom, or of all that are ticked with it."""

    def get(self: Any) -> Any:
        return getattr(self, field)

    def put(self: Any, value: float) -> None:
        if not self.ticked:
            setattr(self, field, value)
            return
        for spread in on_ticked_value:
            spread(self, field, value)

    kind = BoolProperty if field.startswith("use_") else FloatProperty
    return kind(name=name, description=f"{description}. Of all ticked joints, if this one is", get=get, set=put, **more)


class KnuckleDof(bpy.types.PropertyGroup):
    """Degree of freedom of a joint: rad for rotations, length units for translations."""

    kind: StringProperty(name="Kind", description="Whether it turns or slides, or does more")
    axis: FloatVectorProperty(name="Axis", description="The axis in the joint's frame", size=3, default=(0.0, 0.0, 1.0))
    use_lower: BoolProperty(name="Lower Stop", description="Stop the joint at its lower limit", update=joint_changed)
    lower: FloatProperty(name="Lower", description="Smallest servo value", update=joint_changed)
    use_upper: BoolProperty(name="Upper Stop", description="Stop the joint at its upper limit", update=joint_changed)
    upper: FloatProperty(name="Upper", description="Largest servo value", update=joint_changed)
    lower_angle: FloatProperty(
        name="Lower", description="Smallest servo angle", subtype="ANGLE", get=_LOWER[0], set=_LOWER[1]
    )
    upper_angle: FloatProperty(
        name="Upper", description="Largest servo angle", subtype="ANGLE", get=_UPPER[0], set=_UPPER[1]
    )
    ticked: BoolProperty(
        name="Edit Together", description="What is set on one of the ticked joints is set on all of them"
    )
    each_use_lower: _ticked_property("use_lower", "Lower Stop", "Stop the joint at its lower limit")
    each_use_upper: _ticked_property("use_upper", "Upper Stop", "Stop the joint at its upper limit")
    each_lower: _ticked_property("lower", "Lower", "Smallest servo value")
    each_upper: _ticked_property("upper", "Upper", "Largest servo value")
    each_lower_angle: _ticked_property("lower", "Lower", "Smallest servo angle", subtype="ANGLE")
    each_upper_angle: _ticked_property("upper", "Upper", "Largest servo angle", subtype="ANGLE")
    each_gain: _ticked_property("gain", "Gain", "How hard the servo corrects its error (Juice's law)")
    each_max_force: _ticked_property(
        "max_force", "Max Force", "Largest torque or force that the servo may use", min=0.0
    )
    each_servo_stiffness: _ticked_property("servo_stiffness", "PD Stiffness", "Push per rad or m of the error", min=0.0)
    each_servo_damping: _ticked_property("servo_damping", "PD Damping", "Push per rad/s or m/s of the error", min=0.0)
    each_damping: _ticked_property("damping", "Damping", "What brakes the joint in proportion to its speed")
    each_friction: _ticked_property("friction", "Friction", "What brakes the joint at any speed")
    each_stiffness: _ticked_property("stiffness", "Stiffness", "The joint's own spring")
    position: FloatProperty(
        name="Initial Value",
        description="Joint value (rad or m) with which the mechanism begins",
        update=value_changed,
    )
    position_angle: _angle_property("Initial Value", "Joint angle with which the mechanism begins", "position")
    velocity: FloatProperty(
        name="Initial Velocity",
        description="Joint velocity (rad/s or m/s) with which a simulation begins",
        update=value_changed,
    )
    velocity_angle: _angle_property(
        "Initial Velocity", "Joint velocity with which a simulation begins, per second", "velocity"
    )
    damping: FloatProperty(
        name="Damping",
        description="Torque or force against the velocity, in proportion to it (N m s/rad or N s/m)",
        update=joint_changed,
    )
    friction: FloatProperty(
        name="Friction",
        description="Dry friction of the joint: torque or force against motion at any speed (N m or N)",
        update=value_changed,
    )
    stiffness: FloatProperty(
        name="Stiffness",
        description="Stiffness of the joint's spring, towards its rest value (N m/rad or N/m)",
        update=joint_changed,
    )
    rest: FloatProperty(
        name="Spring Rest",
        description="Joint value (rad or m) at which the joint's spring exerts nothing",
        update=value_changed,
    )
    rest_angle: _angle_property("Spring Rest", "Joint angle at which the joint's spring exerts nothing", "rest")
    armature: FloatProperty(
        name="Rotor Inertia",
        description="Inertia of the motor's rotor, at the joint (kg m² or kg)",
        update=value_changed,
    )
    gain: FloatProperty(
        name="Gain", description="How hard the servo corrects its error (Juice's law)", update=value_changed
    )
    max_force: FloatProperty(
        name="Max Force",
        description="Largest torque or force that the servo may use; 0 is none in a Juice model, no limit in others "
        "(N m or N)",
        min=0.0,
        update=value_changed,
    )
    servo_stiffness: FloatProperty(
        name="Stiffness",
        description="What the servo pushes with per rad or m of its error under PD. With the damping 0 as well, both "
        "are chosen for what the servo moves",
        min=0.0,
        update=value_changed,
    )
    servo_damping: FloatProperty(
        name="Damping",
        description="What the servo pushes with per rad/s or m/s of its error under PD (N m s/rad, or N s/m)",
        min=0.0,
        update=value_changed,
    )
    actuator: StringProperty(name="Actuator", description="What kind of motor the file has for it", default="servo")
    file_sign: FloatProperty(name="File Sign", description="-1 where the file counts the other way", default=1.0)
    pitch: FloatProperty(name="Pitch", description="How far a screw slides along its axis for every radian")
    start: FloatVectorProperty(name="Start", description="Coordinates of a ball or free block at the start", size=6)
    assembled: BoolProperty(description="It begins where its loops close, at 'begins', and not where the file says")
    begins: FloatVectorProperty(description="Coordinates at which it begins where it was assembled", size=6)
    start_rates: FloatVectorProperty(description="Their velocities", size=6)
    parts: IntProperty(description="How many of the joint's parts are this block's")
    step: IntProperty(description="Which bone of the joint's chain it poses", default=-1)
    channel: StringProperty(description="Which property of that bone")
    channel_index: IntProperty(description="Which number of it; -1 is all of a ball or free block", default=-1)


class KnuckleMotor(bpy.types.PropertyGroup):
    """Motor of a joint with several degrees of freedom, on an empty of its own."""

    empty: PointerProperty(type=bpy.types.Object)
    number: IntProperty(description="Which of the joint's coordinates it moves")
    x: FloatVectorProperty(description="Its axis when the run began, on the body that carries it", size=3)
    z: FloatVectorProperty(description="What its axis is kept at right angles to, on the other body", size=3)


class KnuckleJoint(bpy.types.PropertyGroup):
    """Record of a joint."""

    type: StringProperty(name="Type", description="What kind of joint it is")
    parent: PointerProperty(
        name="Parent", description="The body that stays", type=bpy.types.Object, override=OVERRIDABLE
    )
    child: PointerProperty(
        name="Child",
        description="The body that a positive value moves",
        type=bpy.types.Object,
        override=OVERRIDABLE,
    )
    at_world: BoolProperty(description="One of its ends is the world, and no body that was deleted")
    active: BoolProperty(name="Active", description="The joint holds its bodies", default=True)
    loop: BoolProperty(name="Closes a Loop", description="The joint closes a loop and has no bone")
    is_open: BoolProperty(description="At design its two sides are not one: the loop that it closes is open there")
    opening: FloatVectorProperty(description="Where its child's side is at design, from its empty", size=16)
    follows: BoolProperty(
        name="Follows",
        description="It lies on a loop that other joints drive: its bone goes where the loop closes",
    )
    against: BoolProperty(description="The bone moves the parent: the joint points towards the root")
    dofs: CollectionProperty(type=KnuckleDof)
    boned: StringProperty(description="The kinds of its degrees of freedom for which bones were made")
    parts: CollectionProperty(type=KnuckleDof, description="Single coordinates of its balls and free blocks, in order")
    motor: PointerProperty(name="Motor", description="The object that holds the joint's motor", type=bpy.types.Object)
    preload: PointerProperty(type=bpy.types.Object, description="A motor that pushes a spring to where it is at rest")
    motors: CollectionProperty(type=KnuckleMotor, description="The motors of a joint of several degrees")
    losses: CollectionProperty(type=KnuckleMotor, description="The motors that brake for its friction and dampers")
    far_stops: CollectionProperty(
        type=KnuckleMotor, description="Stops (0 lower, 1 upper) with constraints of their own"
    )
    pushes: CollectionProperty(type=KnuckleMotor, description="The motors that push for its springs")


CLASSES = (KnuckleMotor, KnuckleRestraint, KnuckleShape, KnuckleDof, KnuckleJoint)
