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

from ...events.signals import Signal, emit, is_writing, value_callback


class KnuckleRestraint(bpy.types.PropertyGroup):
    """Spring, damper or friction by formula, along a joint or between two points on bodies."""

    kind: StringProperty(description="Kind of element: spring, damper or friction")
    joint: PointerProperty(type=bpy.types.Object, description="Joint whose degree of freedom it acts on")
    law: StringProperty(description="Knots, and a row of coefficients in descending powers for each piece, as JSON")
    body_a: PointerProperty(type=bpy.types.Object, description="Body of its first point")
    body_b: PointerProperty(type=bpy.types.Object, description="Body of its second point")
    a_at_world: BoolProperty(description="Its first point is in the world, not on a deleted body")
    b_at_world: BoolProperty(description="Its second point is in the world, not on a deleted body")
    frame_a: FloatVectorProperty(
        size=16, description="Pose of its first point, relative to its body's object or to the mechanism"
    )
    frame_b: FloatVectorProperty(
        size=16, description="Pose of its second point, relative to its body's object or to the mechanism"
    )
    distance: StringProperty(description="Axis of the first point along which it is measured; empty for the distance")
    motors: CollectionProperty(type=KnuckleMotor, description="Motors that exert its force: three for each body")


#: Option of a pointer: in a library override it points at the override of the library's object, also after reopening.
OVERRIDABLE: Any = {"LIBRARY_OVERRIDABLE"}


class KnuckleShape(bpy.types.PropertyGroup):
    """Shape of a body, as the file describes it."""

    type: StringProperty(name="Shape", description="Type of the shape")
    size: FloatVectorProperty(name="Size", description="Dimensions of the shape, by its type (length units)", size=3)
    pose: FloatVectorProperty(name="Pose", description="Pose in its body, a 4×4 matrix by rows", size=16)
    visual: BoolProperty(name="Visual", description="The shape is visible", default=True)
    collision: BoolProperty(name="Collision", description="The shape collides", default=True)
    collidable: BoolProperty(
        description="False: it would collide, but its file switches it off, or its mesh is missing", default=True
    )
    has_child: BoolProperty(description="A child of the body represents it, to detect that the child was deleted")
    has_color: BoolProperty()
    color: FloatVectorProperty(
        name="Color", description="Color of the shape", size=4, subtype="COLOR", min=0.0, max=1.0
    )
    mesh: StringProperty(name="Mesh File", description="File of the shape's mesh")
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


def _marked_property(field: str, name: str, description: str, **more: Any) -> FloatProperty:
    """Return a property that edits a field of one degree of freedom, or of all that are marked with it."""

    def get(self: Any) -> Any:
        return getattr(self, field)

    def put(self: Any, value: float) -> None:
        if not self.is_marked:
            setattr(self, field, value)
            return
        emit(Signal.MARKED_VALUE, self, field, value)

    kind = BoolProperty if field.startswith("use_") else FloatProperty
    return kind(name=name, description=f"{description}, of all marked joints if marked", get=get, set=put, **more)


def _initial_value_changed(self: KnuckleDof, context: bpy.types.Context) -> None:
    """Begin at an initial value that the user typed, not where the loops were assembled."""
    if not is_writing():
        self.assembled = False
    value_callback("position")(self, context)


class KnuckleDof(bpy.types.PropertyGroup):
    """Degree of freedom of a joint: rad for rotations, length units for translations."""

    kind: StringProperty(name="Kind", description="Kind of motion: rotation, translation or several")
    axis: FloatVectorProperty(
        name="Axis", description="Direction of the axis, relative to the joint", size=3, default=(0.0, 0.0, 1.0)
    )
    use_lower: BoolProperty(
        name="Lower Stop",
        description="Stop the joint at its lower stop (joint limit)",
        update=value_callback("use_lower", derived=True),
    )
    lower: FloatProperty(
        name="Lower", description="Smallest joint value (rad or m)", update=value_callback("lower", derived=True)
    )
    use_upper: BoolProperty(
        name="Upper Stop",
        description="Stop the joint at its upper stop (joint limit)",
        update=value_callback("use_upper", derived=True),
    )
    upper: FloatProperty(
        name="Upper", description="Largest joint value (rad or m)", update=value_callback("upper", derived=True)
    )
    lower_angle: FloatProperty(
        name="Lower", description="Smallest joint angle", subtype="ANGLE", get=_LOWER[0], set=_LOWER[1]
    )
    upper_angle: FloatProperty(
        name="Upper", description="Largest joint angle", subtype="ANGLE", get=_UPPER[0], set=_UPPER[1]
    )
    is_marked: BoolProperty(
        name="Edit Together", description="Mark the joint: a value set on one marked joint applies to all"
    )
    each_use_lower: _marked_property("use_lower", "Lower Stop", "Stop the joint at its lower stop (joint limit)")
    each_use_upper: _marked_property("use_upper", "Upper Stop", "Stop the joint at its upper stop (joint limit)")
    each_lower: _marked_property("lower", "Lower", "Smallest joint value (rad or m)")
    each_upper: _marked_property("upper", "Upper", "Largest joint value (rad or m)")
    each_lower_angle: _marked_property("lower", "Lower", "Smallest joint angle", subtype="ANGLE")
    each_upper_angle: _marked_property("upper", "Upper", "Largest joint angle", subtype="ANGLE")
    each_gain: _marked_property("gain", "Gain", "Motor command per tracking error (Juice's control law)")
    each_max_force: _marked_property(
        "max_force", "Max Force", "Largest torque or force of the servo (N m or N)", min=0.0
    )
    each_servo_stiffness: _marked_property(
        "servo_stiffness", "PD Stiffness", "Torque or force per error under PD (N m/rad or N/m)", min=0.0
    )
    each_servo_damping: _marked_property(
        "servo_damping", "PD Damping", "Torque or force per error rate under PD (N m s/rad or N s/m)", min=0.0
    )
    each_damping: _marked_property(
        "damping", "Damping", "Torque or force in proportion to velocity (N m s/rad or N s/m)"
    )
    each_friction: _marked_property("friction", "Friction", "Torque or force against motion at any speed (N m or N)")
    each_stiffness: _marked_property("stiffness", "Stiffness", "Stiffness of the joint's spring (N m/rad or N/m)")
    position: FloatProperty(
        name="Initial Value",
        description="Joint value (rad or m) with which the mechanism begins",
        update=_initial_value_changed,
    )
    position_angle: _angle_property("Initial Value", "Joint angle with which the mechanism begins", "position")
    velocity: FloatProperty(
        name="Initial Velocity",
        description="Joint velocity (rad/s or m/s) with which a simulation begins",
        update=value_callback("velocity"),
    )
    velocity_angle: _angle_property(
        "Initial Velocity", "Joint velocity with which a simulation begins, per second", "velocity"
    )
    damping: FloatProperty(
        name="Damping",
        description="Torque or force against the velocity, in proportion to it (N m s/rad or N s/m)",
        update=value_callback("damping", derived=True),
    )
    friction: FloatProperty(
        name="Friction",
        description="Dry friction of the joint: torque or force against motion at any speed (N m or N)",
        update=value_callback("friction"),
    )
    stiffness: FloatProperty(
        name="Stiffness",
        description="Stiffness of the joint's spring, toward its rest value (N m/rad or N/m)",
        update=value_callback("stiffness", derived=True),
    )
    rest: FloatProperty(
        name="Spring Rest",
        description="Joint value (rad or m) at which the joint's spring exerts nothing",
        update=value_callback("rest"),
    )
    rest_angle: _angle_property("Spring Rest", "Joint angle at which the joint's spring exerts nothing", "rest")
    armature: FloatProperty(
        name="Rotor Inertia",
        description="Inertia of the motor's rotor, at the joint (kg m² or kg)",
        update=value_callback("armature"),
    )
    gain: FloatProperty(
        name="Gain", description="Motor command per tracking error (Juice's control law)", update=value_callback("gain")
    )
    max_force: FloatProperty(
        name="Max Force",
        description="Largest torque or force of the servo (N m or N); 0 is none in Juice, no limit elsewhere",
        min=0.0,
        update=value_callback("max_force"),
    )
    servo_stiffness: FloatProperty(
        name="Stiffness",
        description="Torque or force per error under PD (N m/rad or N/m); automatic if damping is 0 too",
        min=0.0,
        update=value_callback("servo_stiffness"),
    )
    servo_damping: FloatProperty(
        name="Damping",
        description="Torque or force per error rate under PD (N m s/rad or N s/m)",
        min=0.0,
        update=value_callback("servo_damping"),
    )
    actuator: StringProperty(name="Actuator", description="Kind of motor in the file", default="servo")
    file_sign: FloatProperty(
        name="File Sign", description="-1 if the file counts in the opposite direction", default=1.0
    )
    pitch: FloatProperty(name="Pitch", description="Translation of a screw per radian of rotation")
    start: FloatVectorProperty(name="Start", description="Initial joint values of a ball or free joint", size=6)
    assembled: BoolProperty(
        description="It begins where its loops close, at 'assembled_start', not at the file's joint value"
    )
    assembled_start: FloatVectorProperty(description="Joint values at which it begins, if it was assembled", size=6)
    start_rates: FloatVectorProperty(description="Joint velocities at the start", size=6)
    parts: IntProperty(description="Number of the joint's degrees of freedom in this block")
    step: IntProperty(description="Index of the bone that it poses, in the joint's chain", default=-1)
    channel: StringProperty(description="Property of that bone")
    channel_index: IntProperty(
        description="Index in that property; -1 for all values of a ball or free block", default=-1
    )


class KnuckleMotor(bpy.types.PropertyGroup):
    """Motor of a joint with several degrees of freedom, on an empty of its own."""

    empty: PointerProperty(type=bpy.types.Object)
    dof_index: IntProperty(description="Index of the joint's degree of freedom that it moves")
    x: FloatVectorProperty(description="Its axis at the start of the simulation, on the body that carries it", size=3)
    z: FloatVectorProperty(description="Direction on the other body that its axis is kept perpendicular to", size=3)


class KnuckleJoint(bpy.types.PropertyGroup):
    """Record of a joint."""

    type: StringProperty(name="Type", description="Type of the joint")
    parent: PointerProperty(name="Parent", description="Body that stays", type=bpy.types.Object, override=OVERRIDABLE)
    child: PointerProperty(
        name="Child",
        description="Body that a positive joint value moves",
        type=bpy.types.Object,
        override=OVERRIDABLE,
    )
    at_world: BoolProperty(description="One of its ends is the world, not a deleted body")
    active: BoolProperty(name="Active", description="The joint holds its bodies", default=True)
    loop: BoolProperty(name="Closes Loop", description="The joint closes a loop and has no bone")
    is_open: BoolProperty(description="The loop that it closes is open in the design pose")
    opening: FloatVectorProperty(
        description="Pose of its child's side in the design pose, relative to its empty", size=16
    )
    is_dependent: BoolProperty(
        name="Dependent",
        description="Dependent joint of a closed loop: the input joints of its loop move it",
    )
    is_reversed: BoolProperty(description="The bone moves the parent: the joint points toward the root")
    dofs: CollectionProperty(type=KnuckleDof)
    bone_kinds: StringProperty(description="Kinds of its degrees of freedom for which bones were created")
    parts: CollectionProperty(
        type=KnuckleDof, description="Single degrees of freedom of its ball and free blocks, in order"
    )
    motor: PointerProperty(name="Motor", description="Object with the joint's motor", type=bpy.types.Object)
    spring_preload: PointerProperty(
        type=bpy.types.Object, description="Motor that exerts the spring's force at joint value 0"
    )
    motors: CollectionProperty(type=KnuckleMotor, description="Motors of a joint with several degrees of freedom")
    loss_motors: CollectionProperty(type=KnuckleMotor, description="Motors of its joint friction and joint damping")
    limit_constraints: CollectionProperty(
        type=KnuckleMotor, description="Stops (0 lower, 1 upper) with constraints of their own"
    )
    spring_motors: CollectionProperty(type=KnuckleMotor, description="Motors of its spring torque or spring force")


CLASSES = (KnuckleMotor, KnuckleRestraint, KnuckleShape, KnuckleDof, KnuckleJoint)
