"""Property groups of objects, bones and materials, and the settings of mechanisms.

``Object.knuckle`` holds the role of an object and its origin in the file; a joint's record is on its empty, and
everything that shows or enforces it is derived from it. The mechanism's settings are on the armature *data*, so that
keyframes on its inputs and its drive are apart from the Action that poses the bones.
"""

from __future__ import annotations

import math
from typing import Any

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    FloatVectorProperty,
    IntProperty,
    IntVectorProperty,
    PointerProperty,
    StringProperty,
)

from ...events.signals import Signal, body_callback, update_callback
from ...locale import CONTEXT
from .action import CLASSES as MOTION_CLASSES
from .action import KnuckleAction, KnuckleServoName
from .joint import CLASSES as JOINT_CLASSES
from .joint import OVERRIDABLE, KnuckleJoint, KnuckleMotor, KnuckleRestraint, KnuckleShape
from .report import CLASSES as REPORT_CLASSES
from .report import KnuckleAccuracy, KnuckleFinding, KnuckleReportLine, KnuckleTwinPair

#: Axis of the normal of a mirror plane.
MIRROR_AXIS_ITEMS = [
    ("NONE", "None", "No mirror plane: twins cannot be made or mirrored"),
    ("X", "X", "Plane perpendicular to the X axis of the mechanism"),
    ("Y", "Y", "Plane perpendicular to the Y axis of the mechanism"),
    ("Z", "Z", "Plane perpendicular to the Z axis of the mechanism"),
    ("OTHER", "Other", "A plane with any normal"),
]


def _axis_index(self: Any) -> int:
    """Return the index of the item of ``MIRROR_AXIS_ITEMS`` for the present normal."""
    normal = [abs(part) for part in self.normal]
    length = max(normal)
    if not length:
        return 0
    return normal.index(length) + 1 if sum(normal) - length <= 1e-6 * length else 4


def _set_axis_index(self: Any, value: int) -> None:
    if value != _axis_index(self):
        self.normal = [float(value == axis) for axis in (1, 2, 3)] if value < 4 else (1.0, 1.0, 0.0)
    if not value:
        self.offset = 0.0


class KnuckleMirrorPlane(bpy.types.PropertyGroup):
    """Mirror plane of a mechanism in the axes of its design: points whose product with the normal is the offset.

    A normal of zeros means that there is none.
    """

    axis: EnumProperty(
        name="Mirror Plane",
        description="Axis perpendicular to the mirror plane of the mechanism",
        items=MIRROR_AXIS_ITEMS,
        get=_axis_index,
        set=_set_axis_index,
    )
    normal: FloatVectorProperty(
        name="Normal",
        description="Direction perpendicular to the mirror plane, in the mechanism's axes",
        size=3,
        subtype="XYZ",
        update=update_callback(Signal.TWIN),
    )
    offset: FloatProperty(
        name="Offset",
        description="Distance of the mirror plane from the mechanism's origin, along its normal",
        unit="LENGTH",
        update=update_callback(Signal.TWIN),
    )


#: Drives, in the order of their values in F-curves.
DRIVES = ("KEYS", "SERVO", "LIMP")
#: Enum items of the drives.
DRIVE_ITEMS = [
    ("KEYS", "Keyframes", "Bodies follow the bones exactly"),
    ("SERVO", "Servos", "Physics moves the bodies; each servo tracks its target within its force"),
    ("LIMP", "Ragdoll", "Physics moves the bodies, with the servos off"),
]

ROLES = ("NONE", "MODEL", "BODY", "JOINT", "FRAME", "SHAPE", "LIGHT", "LABEL")

#: Version of the stored form of a mechanism in a .blend; ``editing.migration`` upgrades older ones. 2: reference
#: frames, lights and collision shapes are objects. 3: materials store the color that they were created with. 4: joints
#: store the channels of their bones and the pose for which these were made, bones store their names as built. 5: limits
#: of bones clamp angles with the legacy behavior, mechanisms store their mirror plane, bodies their flags, shapes the
#: balls that they consist of; properties have standard names (``editing.migration``). 6: what edits are compared with
#: has names with ``baseline_`` and ``mirrored_``.
DATA_VERSION = 6


class KnuckleObject(bpy.types.PropertyGroup):
    """Role of an object in its mechanism, and its record."""

    role: EnumProperty(
        name="Role",
        description="Role of the object in its mechanism",
        items=[(role, role.title(), "") for role in ROLES],
    )
    source_name: StringProperty(name="Name", description="Name in model files and motion files")
    source_id: StringProperty(name="ID", description="ID in the file")
    copy_of: StringProperty(description="ID of the original, for a copy that has an ID of its own")
    without_children: BoolProperty(description="A copy without its original's collision children: none was deleted")
    session_tag: StringProperty(description="Armature, of which session, for which an added mechanism was processed")
    twin: StringProperty(
        name="Twin", description="ID of the part that mirrors this one", update=update_callback(Signal.TWIN)
    )
    model: PointerProperty(type=bpy.types.Object, override=OVERRIDABLE)
    baseline_name: StringProperty(description="Name last written to the object, to detect that it was renamed")
    baseline_pose: FloatVectorProperty(size=16, description="Local matrix last written to the object, by rows")
    baseline_bone_pose: FloatVectorProperty(
        size=16, description="Local matrix of a joint for which its bone was created; all zero for 'baseline_pose'"
    )
    baseline_mesh: FloatVectorProperty(size=4, description="Measures of the file's mesh when it was read")
    baseline_corners: FloatVectorProperty(size=16, description="Indices and positions of four vertices of that mesh")
    mirrored_name: StringProperty(description="Name that was last mirrored to its twin")
    mirrored_pose: FloatVectorProperty(size=(4, 4), subtype="MATRIX", description="Local matrix at that time")
    mirrored_twin_name: StringProperty(description="Name of the twin at that time")
    mirrored_twin_pose: FloatVectorProperty(size=(4, 4), subtype="MATRIX", description="Local matrix of the twin then")
    mirrored_count: IntProperty(description="Number of times that the two were mirrored")
    shapes: CollectionProperty(type=KnuckleShape)
    joint: PointerProperty(type=KnuckleJoint, override=OVERRIDABLE)
    com: FloatVectorProperty(size=3, description="Center of mass, which is the object's origin, in the body's own axes")
    gravity: BoolProperty(description="Gravity pulls on the body", default=True)
    collidable: BoolProperty(description="The body collides with others", default=True)
    immobile: BoolProperty(name="Immobile", description="The body never moves", update=body_callback("immobile"))
    active: BoolProperty(description="False: switched off in its file, itself or with its assembly", default=True)
    scenery: BoolProperty(description="A floor or a wall: large and fixed. It is rendered, but the camera ignores it")
    shape: IntProperty(description="Index of a collision shape among its body's shapes", default=-1)
    mass: FloatProperty(
        name="Mass", description="Mass of the body (kg)", min=0.0, precision=4, update=body_callback("mass")
    )
    has_tensor: BoolProperty(description="The file has physically possible moments of inertia for the body")
    tensor: FloatVectorProperty(
        description="Moments of inertia about the center of mass, in the body's axes, for mass 1", size=9
    )
    moment_of: StringProperty(description="ID of the document's body whose mirrored moments of inertia these are")
    inertia_proxy: PointerProperty(description="Inertia proxy of the body", type=bpy.types.Object)
    inertia_proxy_constraint: PointerProperty(
        description="Constraint that fixes the inertia proxy to the body", type=bpy.types.Object
    )
    is_inertia_proxy: BoolProperty(description="The object is the inertia proxy of the body 'inertia_proxy_of'")
    inertia_proxy_of: PointerProperty(type=bpy.types.Object)
    inertia_proxy_share: FloatProperty(description="Share of the body's mass that its inertia proxy has")
    keeps_source: BoolProperty(description="It had modifiers when physics was added, and the user chooses its source")
    is_ground: BoolProperty(description="Ground of the scene's mechanisms")
    is_collision_filter: BoolProperty(description="Its constraint is a collision filter of two bodies")
    original_uid: IntProperty(description="Number of the object that this simulated copy was made of; 0 if none")
    is_at_simulated_pose: BoolProperty(description="A simulation placed the body by its parent inverse matrix")
    rest_parent_inverse: FloatVectorProperty(size=16, description="Parent inverse matrix without the simulation")


class KnuckleMirrorState(bpy.types.PropertyGroup):
    """Values of a light or material that twins have in common, as they were last mirrored."""

    values: StringProperty(description="Values by name, as JSON")
    twin_values: StringProperty(description="Those of the twin's datablock at that time")
    twin_uid: IntProperty(description="Number of the twin's datablock in the session")
    count: IntProperty(description="Number of times that the two were mirrored")


class KnuckleMaterial(bpy.types.PropertyGroup):
    """Color with which we created a material, to detect that the user changed it, and what twins have of it."""

    baseline_color: FloatVectorProperty(size=4, default=(-1.0,) * 4, description="Linear RGBA; negative for none")
    mirrored: PointerProperty(type=KnuckleMirrorState)


class KnuckleLight(bpy.types.PropertyGroup):
    """State of a light that belongs to a part with a twin."""

    mirrored: PointerProperty(type=KnuckleMirrorState)


class KnuckleBone(bpy.types.PropertyGroup):
    """Joint that a bone moves, or root body that it carries."""

    joint: StringProperty(name="Joint ID", description="ID of the joint that the bone moves")
    step: IntProperty(description="Index of the bone in the joint's chain; 0 is attached to the carrier")
    joint_rotation: FloatVectorProperty(description="Rotation from the bone's axes to the joint's, by rows", size=9)
    baseline_name: StringProperty(description="Name last written to the bone, to detect that it was renamed")
    followed_name: StringProperty(
        description="Bone name that motions, poses and drivers last used; empty for 'baseline_name'"
    )
    root: StringProperty(name="Root Body ID", description="ID of the root body that the bone carries")
    rest: FloatVectorProperty(
        description="Rest rotation last written to the bone, by rows, to detect an applied transform or pose",
        size=9,
    )
    rest_head: FloatVectorProperty(description="Head last written to the bone, with 'rest'", size=3)


def _input_property(name: str, description: str) -> FloatProperty:
    return FloatProperty(name=name, description=description, soft_min=-1.0, soft_max=1.0, step=10, precision=3)


class KnuckleControls(bpy.types.PropertyGroup):
    """Inputs that a gait reads. Set or key them like any property."""

    joystick_1_x: _input_property("Joystick 1 X", "Left and right")
    joystick_1_y: _input_property("Joystick 1 Y", "-1 is forward")
    joystick_1_z: _input_property("Joystick 1 Z", "Throttle")
    joystick_1_r: _input_property("Joystick 1 R", "Twist")
    joystick_2_x: _input_property("Joystick 2 X", "Left and right")
    joystick_2_y: _input_property("Joystick 2 Y", "-1 is forward")
    joystick_2_z: _input_property("Joystick 2 Z", "Throttle")
    joystick_2_r: _input_property("Joystick 2 R", "Twist")
    key_up_down: _input_property("Keys Up and Down", "-1 is the up key, 1 the down key")
    key_left_right: _input_property("Keys Left and Right", "-1 is the left key, 1 the right key")


def input_property_name(control: str) -> str:
    """Return the name of the property for an input: ``joystick 1 y`` -> ``joystick_1_y``."""
    return control.replace(" ", "_").replace("/", "_")


class KnuckleAssembly(bpy.types.PropertyGroup):
    """Assembly: a group of parts that can be switched off."""

    path: StringProperty(description="Path of its name, from the top")
    active: BoolProperty(name="On", description="The assembly's parts pose and simulate", default=True)


class KnuckleSteps(bpy.types.PropertyGroup):
    """Substeps and iterations that trial simulations selected for a quality and a drive."""

    quality: StringProperty(description="Identifier of the quality: PREVIEW or BAKE")
    drive: StringProperty(description="Identifier of the drive: SERVO or LIMP")
    steps: FloatProperty(description="Steps per second")
    iterations: IntProperty(description="Solver iterations per step")
    separation: FloatProperty(description="Joint separation in the trial, as a share of the link's length; -1 without")
    speed: FloatProperty(description="Simulated seconds per second of CPU time in the trial")
    key: StringProperty(description="Checksum of what the selection depends on")


class KnuckleWorldBackup(bpy.types.PropertyGroup):
    """Scene settings that building physics changed, so that clearing it can restore them."""

    world: StringProperty(description="Mark of the scene whose world it was; another file's scene has another mark")
    made_world: BoolProperty()
    joined_world: BoolProperty(description="The world was the user's; its range and collections were changed")
    made_collection: BoolProperty()
    made_constraints: BoolProperty()
    frame_range: IntVectorProperty(size=2)
    gravity: FloatVectorProperty(size=3)
    use_gravity: BoolProperty()
    fitted_substeps: IntProperty(description="Substeps that were fitted to the mechanisms last")
    fitted_iterations: IntProperty()
    fitted_rate: FloatProperty(description="Frames per second for which they were fitted")
    substeps: IntProperty(description="Substeps of the user's own world before the fit; 0 without one")
    iterations: IntProperty()
    requirements: StringProperty(description="Requirements of the mechanism on the world, with reasons")
    requirements_parts: StringProperty(
        description="Template and parameters of 'requirements', as JSON, for translation"
    )


def _on_show_collision(self: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    model: Any = self
    # a list: Blender frees the collection's objects, over which the loop would go, when one is shown or hidden
    for obj in [*model.collection.all_objects] if model.collection is not None else ():
        if obj.knuckle.shape >= 0 and obj.knuckle.model == model.rig:
            obj.hide_viewport = not model.show_collision


def _pose_phase_angle(self: Any) -> float:
    """Return the pose phase (rad), which is stored in degrees as files have it."""
    return math.radians(self.pose_phase)


def _set_pose_phase_angle(self: Any, value: float) -> None:
    self.pose_phase = math.degrees(value)


class KnuckleModel(bpy.types.PropertyGroup):
    """Settings of a mechanism, on the armature's data."""

    version: IntProperty(description="Version of the stored form; see DATA_VERSION", default=1)
    uid: StringProperty(description="UID of the mechanism in the .blend")
    format: StringProperty(name="Format", description="Format of the file that the mechanism came from")
    dialect: StringProperty()
    path: StringProperty(name="File", description="File that the mechanism came from", subtype="FILE_PATH")
    encoding: StringProperty(description="Encoding of the file's text", default="utf-8")
    fold: StringProperty(description="The character at which overlong lines of the document are folded")
    document: PointerProperty(name="Document", description="The imported text", type=bpy.types.Text)
    collection: PointerProperty(type=bpy.types.Collection)
    rig: PointerProperty(type=bpy.types.Object)
    #: Not a pointer: Blender would evaluate the original's animation with that of the copy.
    original_uid: IntProperty(description="Number of the mechanism that this simulated copy was made of; 0 if none")
    controls: PointerProperty(type=KnuckleControls)
    gait_inputs: StringProperty(description="Inputs that the gait reads, separated by commas")
    drive: EnumProperty(
        name="Drive",
        description="Source of the bodies' motion",
        items=DRIVE_ITEMS,
        default="KEYS",
        translation_context=CONTEXT,
        update=update_callback(Signal.DRIVE),
    )
    target: EnumProperty(
        name="Target",
        description="Value that each servo tries to reach",
        items=[
            ("AUTO", "Automatic", "The gait while its own Action plays, else the keyframes of the bones"),
            ("GAIT", "Gait", "The mechanism's gait, live, with its inputs and the feedback of its bodies"),
            ("KEYS", "Keyframes", "Values of the bones"),
        ],
        translation_context=CONTEXT,
    )
    law: EnumProperty(
        name="Control Law",
        description="Rule from a servo's error to its motor command",
        items=[
            ("AUTO", "Automatic", "Juice for a gait, Track for keyframes"),
            ("JUICE", "Juice", "Velocity in proportion to the error times the servo's Gain, as in Juice"),
            ("TRACK", "Track", "As tight as the solver allows, with the velocity of the keyframes fed forward"),
            (
                "PD",
                "PD",
                "Torque k (q* - q) + d (dq* - dq); a jump of the keyframes has no velocity",
            ),
        ],
    )
    speed_factor: FloatProperty(
        name="Gait Speed", description="Speed of the gait, 1 is the file's standard", default=1.0
    )
    standard_speed: FloatProperty(name="Standard Speed", description="Cycles per minute of the engine")
    pose_delay: FloatProperty(name="Pose Delay", description="Time before the engine starts (s)", unit="TIME_ABSOLUTE")
    sine_without_type: BoolProperty(description="Motors whose file states no motion type play a sine", default=True)
    pose_phase: FloatProperty(name="Pose Phase", description="Engine phase during the delay, in degrees")
    pose_phase_angle: FloatProperty(
        name="Pose Phase",
        description="Engine phase during the delay",
        subtype="ANGLE",
        get=_pose_phase_angle,
        set=_set_pose_phase_angle,
    )
    gravity: FloatVectorProperty(
        name="Gravity",
        description="Gravity of the file, for simulation and export. With Simulate in This Scene, the scene's counts",
        size=3,
        default=(0.0, 0.0, -9.81),
        subtype="ACCELERATION",
        update=update_callback(Signal.WORLD),
    )
    upright: FloatVectorProperty(description="Rotation (a quaternion) that put the mechanism upright at import", size=4)
    friction: FloatProperty(
        name="Friction",
        description="Friction of the bodies: Coulomb's coefficient, 0 for the default (Juice: largest contact force)",
        min=0.0,
        update=update_callback(Signal.WORLD),
    )
    erp: FloatProperty(
        name="ERP",
        description="Share of a joint's error that is corrected in each step of the file's program",
        min=0.0,
        max=1.0,
        precision=3,
        update=update_callback(Signal.WORLD),
    )
    cfm: FloatProperty(
        name="CFM",
        description="Softness of the joints; 0 is rigid",
        min=0.0,
        precision=6,
        step=0.01,
        update=update_callback(Signal.WORLD),
    )
    time_step: FloatProperty(
        name="Time Step",
        description="Time step of the file's own program, which the softness is given for",
        min=0.0,
        precision=4,
        unit="TIME_ABSOLUTE",
        update=update_callback(Signal.WORLD),
    )
    match_inertia: BoolProperty(
        name="File's Inertia",
        description="Simulate with the file's moments of inertia, by hidden inertia proxies where needed",
        default=True,
    )
    has_ground: BoolProperty(
        name="Ground",
        description="Ground at height 0 in a simulation. The scene has one for all its mechanisms",
        update=update_callback(Signal.GROUND),
    )
    self_collide: BoolProperty(
        name="Self-Collision",
        description="Collision between bodies of one assembly that no joint connects",
        default=True,
        update=update_callback(Signal.WORLD),
    )
    has_collision: BoolProperty(description="Some bodies have children that they collide with")
    assemblies: CollectionProperty(type=KnuckleAssembly, description="Assemblies, with their state")
    findings: CollectionProperty(type=KnuckleFinding, description="Findings of Check Mechanism")
    finding_index: IntProperty()
    checked: BoolProperty(description="Check Mechanism has run")
    found_twins: CollectionProperty(type=KnuckleTwinPair, description="Parts that Find Twins found")
    differences: CollectionProperty(type=KnuckleTwinPair, description="Differences that Check Symmetry found")
    difference_index: IntProperty()
    symmetry_checked: BoolProperty(description="Check Symmetry has run since the file was opened")
    symmetric: BoolProperty(
        name="Symmetric Editing",
        description="Apply each edit of a part to its twin: transform, size, name and values",
        update=update_callback(Signal.SYMMETRY),
    )
    mirror: PointerProperty(type=KnuckleMirrorPlane)
    contact_friction: FloatProperty(
        description="Friction last written to the bodies, to detect that the user changed it", default=-1.0
    )
    show_collision: BoolProperty(
        name="Collision Shapes",
        description="Show collision shapes that differ from the visible ones, as wires",
        update=_on_show_collision,
    )
    report: CollectionProperty(type=KnuckleReportLine)
    report_index: IntProperty()
    anchor: PointerProperty(type=bpy.types.Object, description="Object to which physics attaches joints at the world")
    forgotten_ids: StringProperty(description="IDs of the document's parts that were deleted on purpose, one per line")
    restraints: CollectionProperty(
        type=KnuckleRestraint, description="Springs, dampers and friction elements besides the joints"
    )
    mirrored_restraints: StringProperty(
        description="Indices of the restraints that mirroring created or changed, as JSON"
    )
    velocity_motors: CollectionProperty(
        type=KnuckleMotor, description="Motors that give the bodies their initial velocity"
    )
    ground_offset: FloatProperty(
        description="Height by which the mechanism is raised for the simulation, to stand on the ground"
    )
    world_backup: PointerProperty(type=KnuckleWorldBackup)
    selected_steps: CollectionProperty(type=KnuckleSteps)
    key_bodies: BoolProperty(
        name="Bake All Bodies",
        description="Write keyframes for every body besides the servos, which then play exactly as simulated",
    )
    body_keys: PointerProperty(
        type=bpy.types.Object, description="Armature with a bone for the keyframes of every body"
    )
    accuracy: PointerProperty(type=KnuckleAccuracy, description="Simulation accuracy of the last baked simulation")
    servo_names: CollectionProperty(
        name="Servo Names", description="Names of the mechanism's servos in motion files", type=KnuckleServoName
    )
    servo_name_index: IntProperty()


CLASSES = (
    *MOTION_CLASSES,
    *REPORT_CLASSES,
    *JOINT_CLASSES,
    KnuckleMirrorPlane,
    KnuckleObject,
    KnuckleMirrorState,
    KnuckleMaterial,
    KnuckleLight,
    KnuckleBone,
    KnuckleControls,
    KnuckleAssembly,
    KnuckleSteps,
    KnuckleWorldBackup,
    KnuckleModel,
)
POINTERS: tuple[tuple[Any, type], ...] = (
    (bpy.types.Object, KnuckleObject),
    (bpy.types.Bone, KnuckleBone),
    (bpy.types.Material, KnuckleMaterial),
    (bpy.types.Light, KnuckleLight),
    (bpy.types.Armature, KnuckleModel),
    (bpy.types.Action, KnuckleAction),
)


def are_properties_registered() -> bool:
    """Return whether our property groups are registered."""
    return hasattr(bpy.types.Object, "knuckle")


def register() -> None:
    """Register the property groups; do nothing the second time."""
    if are_properties_registered():
        return
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    for owner, group in POINTERS:
        owner.knuckle = PointerProperty(type=group, override=OVERRIDABLE)
    bpy.types.Scene.knuckle_world = StringProperty(  # type: ignore[attr-defined]
        description="Mark that distinguishes the scene's rigid-body world from another file's", options={"HIDDEN"}
    )
    bpy.types.Scene.knuckle_idle = BoolProperty(  # type: ignore[attr-defined]
        description="The rigid-body world is switched off while nothing in it is simulated", options={"HIDDEN"}
    )
    bpy.types.Scene.knuckle_shown_uid = IntProperty(  # type: ignore[attr-defined]
        description="Number of the scene whose mechanisms this one simulates; 0 for other scenes",
        options={"HIDDEN"},
    )
    bpy.types.Scene.knuckle_simulate_here = BoolProperty(  # type: ignore[attr-defined]
        name="Simulate in This Scene",
        description="Use this scene's own rigid-body world, with its frame rate, gravity and bodies",
        default=True,
        update=update_callback(Signal.WORLD_CHOICE),
    )
    bpy.types.Scene.knuckle_obstacles = PointerProperty(  # type: ignore[attr-defined]
        name="Collide With",
        description="Collection of objects of yours with which simulated mechanisms collide",
        type=bpy.types.Collection,
        poll=_is_in_scene,
        update=update_callback(Signal.WORLD_CHOICE),
    )
    bpy.types.Scene.knuckle_control_rate = IntProperty(  # type: ignore[attr-defined]
        name="Control Rate",
        description="Least control steps of servos per second, not with Simulate in This Scene. More are more accurate",
        default=100,
        min=10,
        max=1000,
        soft_max=240,
    )


def _is_in_scene(scene: bpy.types.Scene, collection: bpy.types.Collection) -> bool:
    """Return whether a scene has a collection: one of a hidden scene is no choice."""
    return collection in scene.collection.children_recursive


def unregister() -> None:
    """Unregister the property groups; their data in a file remain."""
    if not are_properties_registered():
        return
    del bpy.types.Scene.knuckle_control_rate  # type: ignore[attr-defined]
    del bpy.types.Scene.knuckle_obstacles  # type: ignore[attr-defined]
    del bpy.types.Scene.knuckle_simulate_here  # type: ignore[attr-defined]
    del bpy.types.Scene.knuckle_shown_uid  # type: ignore[attr-defined]
    del bpy.types.Scene.knuckle_idle  # type: ignore[attr-defined]
    del bpy.types.Scene.knuckle_world  # type: ignore[attr-defined]
    for owner, _cls in POINTERS:
        del owner.knuckle
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
