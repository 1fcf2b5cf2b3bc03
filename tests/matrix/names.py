"""The one module of the edit matrix that names the extension's properties and operators: a rename changes this file.

Everything is reached through Blender (``bpy.ops``, RNA) or the public functions of scripts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpy

#: Operators by what the matrix calls them.
OPERATORS = {
    "import": "import_scene.mechanism",
    "export": "export_scene.mechanism",
    "export motion": "export_anim.servo_motion",
    "link twins": "knuckle.link_twins",
    "mirror to twin": "knuckle.mirror_to_twin",
    "copy values": "knuckle.copy_joint",
    "check": "knuckle.check_model",
    "fix": "knuckle.fix_finding",
    "delete parts": "knuckle.delete_parts",
    "unlink twins": "knuckle.unlink_twins",
    "move joint": "knuckle.move_joint",
    "set type": "knuckle.set_joint_type",
    "update armature": "knuckle.refit",
    "switch assembly": "knuckle.switch_assembly",
    "tick joints": "knuckle.tick_joints",
}
#: The operators that were run: each has made a step of undo.
STEPS: list[str] = []
#: Properties of a degree of freedom: as the matrix calls them, and their identifiers.
DOF = {
    "lower": "lower",
    "upper": "upper",
    "has lower": "use_lower",
    "has upper": "use_upper",
    "position": "position",
    "velocity": "velocity",
    "damping": "damping",
    "friction": "friction",
    "stiffness": "stiffness",
    "rest": "rest",
    "armature": "armature",
    "gain": "gain",
    "max_force": "max_force",
    "servo stiffness": "servo_stiffness",
    "servo damping": "servo_damping",
}
#: The same in the table of joints, where a value goes to all ticked ones.
DOF_OF_EACH = {
    "lower": "each_lower",
    "upper": "each_upper",
    "has lower": "each_use_lower",
    "has upper": "each_use_upper",
    "damping": "each_damping",
    "friction": "each_friction",
    "stiffness": "each_stiffness",
    "gain": "each_gain",
    "max_force": "each_max_force",
    "servo stiffness": "each_servo_stiffness",
    "servo damping": "each_servo_damping",
}
#: Stops as angles, which panels show in degrees.
DOF_ANGLES = {name: f"{name}_angle" for name in ("lower", "upper", "position", "velocity", "rest")}
BODY = {"mass": "mass", "immobile": "immobile"}
MODEL = {
    "gravity": "gravity",
    "friction": "friction",
    "erp": "erp",
    "cfm": "cfm",
    "speed factor": "speed_factor",
    "standard speed": "standard_speed",
    "pose delay": "pose_delay",
    "pose phase": "pose_phase",
}


def run(operator: str, **options: Any) -> None:
    """Run an operator, with a step of undo, as a button does."""
    STEPS.append(operator)
    group, name = OPERATORS[operator].split(".")
    done = getattr(getattr(bpy.ops, group), name)("EXEC_DEFAULT", True, **options)
    assert done == {"FINISHED"}, f"{operator}: {done}"


def the_rig() -> Any:
    """The armature of the only mechanism."""
    return next(obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")


def settings() -> Any:
    """The settings of the mechanism."""
    return the_rig().data.knuckle


def parts(*roles: str) -> Iterator[Any]:
    """Objects of the mechanism by role."""
    for obj in settings().collection.all_objects:
        if obj.knuckle.role in roles and obj.knuckle.model == the_rig():
            yield obj


def part(role: str, name: str) -> Any:
    """The object of a part by the name that its file gave it."""
    return next(obj for obj in parts(role) if obj.knuckle.source_name == name)


def part_id(obj: Any) -> str:
    """The id that the file of a part has for it."""
    return obj.knuckle.source_id


def visible_parts() -> Iterator[Any]:
    """Everything of the mechanism that has a place in its file."""
    for obj in parts("BODY", "JOINT", "FRAME", "LIGHT", "SHAPE"):
        if obj.knuckle.role != "SHAPE" or obj.knuckle.shape >= 0:
            yield obj


def collision_child(body: Any) -> Any:
    """The first collision shape that is an object of its own."""
    return next(obj for obj in parts("SHAPE") if obj.parent == body and obj.knuckle.shape >= 0)


def body_record(obj: Any) -> Any:
    """What holds the properties of a body."""
    return obj.knuckle


def carrier_name(obj: Any) -> str:
    """The name of the body that a part is, or is on: of a joint that of its parent."""
    body = obj.knuckle.joint.parent if obj.knuckle.role == "JOINT" else obj
    while body is not None and body.knuckle.role in {"SHAPE", "FRAME", "LIGHT"}:
        body = body.parent
    return body.knuckle.source_name if body is not None and body.knuckle.role == "BODY" else ""


def dofs(joint: Any) -> Any:
    """The degrees of freedom of a joint's object."""
    return joint.knuckle.joint.dofs


def joint_child(joint: Any) -> Any:
    """The body that a joint moves."""
    return joint.knuckle.joint.child


def bone(joint: Any) -> Any:
    """The first bone of a joint."""
    own = joint.knuckle.source_id
    return min((b for b in the_rig().data.bones if b.knuckle.joint == own), key=lambda bone: bone.knuckle.step)


def has_servos() -> bool:
    """Whether any assembly is on, so that there are joints that move."""
    switches = settings().assemblies
    return not switches or any(assembly.active for assembly in switches)


def tick(*joints: Any) -> None:
    """Tick joints in the table, and no others."""
    for joint in parts("JOINT"):
        for dof in dofs(joint):
            dof.is_marked = joint in joints


def twin_id(obj: Any) -> tuple[str, str]:
    """The id of a part and that of its twin."""
    return obj.knuckle.source_id, obj.knuckle.twin


def twin(obj: Any) -> Any:
    """The twin of a part."""
    return next(other for other in parts(obj.knuckle.role) if other.knuckle.source_id == obj.knuckle.twin)


def call(obj: Any, name: str) -> None:
    """Give a part the name of another one, which Blender lets no two objects have."""
    obj.knuckle.source_name, obj.knuckle.baseline_name = name, obj.name


def clear_twin(obj: Any) -> None:
    """Have a part be nobody's twin, and leave the other one as it is."""
    obj.knuckle.twin = ""


def set_symmetric(on: bool) -> None:
    """Throw the switch of symmetric editing."""
    settings().symmetric = on


def findings() -> list[tuple[str, str, str]]:
    """What the check found: code, remedy and other remedy."""
    return [(row.code, row.fix, row.or_fix) for row in settings().findings]


def channels(joint: Any) -> list[tuple[Any, str, int]]:
    """Pose bone, property and index of each degree of freedom of one number."""
    rig, own = the_rig(), joint.knuckle.source_id
    chain = sorted((b for b in rig.data.bones if b.knuckle.joint == own), key=lambda bone: bone.knuckle.step)
    return [
        (rig.pose.bones[chain[dof.step].name], dof.channel, dof.channel_index)
        for dof in dofs(joint)
        if dof.step >= 0 and dof.channel_index >= 0
    ]


def exported(path: Path) -> tuple[str, list[tuple[str, str]]]:
    """The text that the mechanism is exported as, by the functions of scripts, and the codes and messages of its
    report."""
    from addon import formats
    from addon.blender.scene.read.mechanism import extract

    mechanism = extract(the_rig())
    report = formats.save(mechanism, path)
    entries = {(entry.code, entry.message) for entry in (*mechanism.report.entries, *report.entries)}
    return path.read_text(), sorted(entries)


def property_groups() -> dict[str, Any]:
    """Every property group of the extension, by its class."""
    groups = {cls.__name__: cls for cls in bpy.types.PropertyGroup.__subclasses__() if cls.is_registered}
    return {name: cls for name, cls in groups.items() if cls.__module__.startswith("addon.")}


def record_classes() -> dict[str, Any]:
    """Every record of a mechanism, by its class."""
    from dataclasses import is_dataclass

    from addon.core import model as records

    return {name: cls for name, cls in vars(records).items() if isinstance(cls, type) and is_dataclass(cls)}


# ---------------------------------------------------------------- the list that completeness is judged by

#: Which row edits a property, by its class and identifier.
EDITED: dict[str, str] = {
    "KnuckleObject.mass": "body mass",
    "KnuckleObject.immobile": "body immobile",
    "KnuckleObject.twin": "twin",
    "KnuckleShape.size": "shape size",
    "KnuckleShape.pose": "shape pose",
    "KnuckleShape.color": "shape color",
    "KnuckleJoint.type": "joint type",
    **{f"KnuckleDof.{each}": f"dof {name}" for name, each in DOF.items() if not name.startswith("has")},
    **{
        f"KnuckleDof.{DOF_OF_EACH[name]}": f"dof {name}"
        for name in DOF_OF_EACH
        if name not in {"has lower", "has upper"}
    },
    **dict.fromkeys(("KnuckleDof.servo_stiffness", "KnuckleDof.each_servo_stiffness"), "servo"),
    **dict.fromkeys(("KnuckleDof.servo_damping", "KnuckleDof.each_servo_damping"), "servo"),
    **dict.fromkeys(("KnuckleDof.use_lower", "KnuckleDof.each_use_lower"), "lower stop off"),
    **dict.fromkeys(("KnuckleDof.use_upper", "KnuckleDof.each_use_upper"), "upper stop off"),
    **{f"KnuckleDof.{angle}": f"dof {name}" for name, angle in DOF_ANGLES.items()},
    **dict.fromkeys(("KnuckleDof.lower_angle", "KnuckleDof.each_lower_angle"), "dof lower"),
    **dict.fromkeys(("KnuckleDof.upper_angle", "KnuckleDof.each_upper_angle"), "dof upper"),
    **{f"KnuckleDof.{name}_angle": f"dof {name}" for name in ("position", "velocity", "rest")},
    "KnuckleDof.is_marked": "dof gain",
    **{f"KnuckleModel.{MODEL[name]}": name for name in MODEL},
    "KnuckleModel.pose_phase_angle": "pose phase",
    "KnuckleModel.symmetric": "body pose",
    "KnuckleModel.assemblies": "assembly",
    "KnuckleModel.findings": "mesh fixed",
    "KnuckleAssembly.active": "assembly",
}
#: Properties that nobody edits as a property of a mechanism, by the reason.
NOT_EDITED: dict[str, str] = {
    "written when an object is made, and by operators alone": (
        "KnuckleObject.role KnuckleObject.source_name KnuckleObject.source_id KnuckleObject.copy_of "
        "KnuckleObject.model KnuckleObject.without_children KnuckleObject.session_tag KnuckleObject.baseline_name "
        "KnuckleObject.baseline_pose KnuckleObject.moment_of "
        "KnuckleObject.baseline_bone_pose KnuckleObject.shapes KnuckleObject.joint KnuckleObject.baseline_mesh "
        "KnuckleObject.scenery "
        "KnuckleObject.shape KnuckleObject.com KnuckleObject.has_tensor KnuckleObject.tensor KnuckleObject.active "
        "KnuckleBone.rest KnuckleBone.rest_head KnuckleObject.baseline_corners KnuckleObject.gravity "
        "KnuckleObject.collidable "
        "KnuckleShape.spheres KnuckleShape.type "
        "KnuckleShape.visual KnuckleShape.collision KnuckleShape.collidable KnuckleShape.has_child "
        "KnuckleShape.has_color KnuckleShape.mesh KnuckleMaterial.baseline_color KnuckleBone.joint "
        "KnuckleBone.step KnuckleBone.joint_rotation KnuckleBone.baseline_name KnuckleBone.followed_name "
        "KnuckleBone.root "
        "KnuckleDof.kind KnuckleDof.axis KnuckleDof.actuator KnuckleDof.file_sign KnuckleDof.pitch KnuckleDof.start "
        "KnuckleDof.assembled KnuckleDof.assembled_start KnuckleDof.start_rates KnuckleDof.parts KnuckleDof.step "
        "KnuckleDof.channel KnuckleDof.channel_index KnuckleJoint.parent KnuckleJoint.child KnuckleJoint.at_world "
        "KnuckleJoint.active KnuckleJoint.loop KnuckleJoint.is_open KnuckleJoint.opening KnuckleJoint.is_dependent "
        "KnuckleJoint.is_reversed KnuckleJoint.dofs KnuckleJoint.bone_kinds KnuckleJoint.parts KnuckleModel.version "
        "KnuckleModel.uid KnuckleModel.format KnuckleModel.dialect KnuckleModel.path KnuckleModel.encoding "
        "KnuckleModel.fold KnuckleModel.document KnuckleModel.collection KnuckleModel.rig KnuckleModel.upright "
        "KnuckleModel.has_collision KnuckleModel.forgotten_ids KnuckleAssembly.path KnuckleModel.sine_without_type"
    ),
    "where the halves are mirrored, which no file has": "KnuckleModel.mirror KnuckleMirrorPlane.*",
    "what symmetric editing compares with": (
        "KnuckleObject.mirrored_pose KnuckleObject.mirrored_name KnuckleObject.mirrored_twin_pose "
        "KnuckleObject.mirrored_twin_name KnuckleObject.mirrored_count KnuckleMirrorState.* "
        "KnuckleMaterial.mirrored KnuckleLight.mirrored"
    ),
    "helper objects and state of physics": (
        "KnuckleObject.inertia_proxy KnuckleObject.inertia_proxy_constraint KnuckleObject.is_inertia_proxy "
        "KnuckleObject.inertia_proxy_of KnuckleObject.inertia_proxy_share KnuckleObject.keeps_source "
        "KnuckleObject.is_ground KnuckleObject.is_collision_filter KnuckleJoint.motor KnuckleJoint.spring_preload "
        "KnuckleJoint.motors KnuckleJoint.loss_motors KnuckleJoint.limit_constraints KnuckleJoint.spring_motors "
        "KnuckleMotor.* KnuckleWorldBackup.* KnuckleSteps.* KnuckleModel.selected_steps "
        "KnuckleModel.anchor KnuckleModel.velocity_motors "
        "KnuckleModel.ground_offset KnuckleModel.world_backup KnuckleModel.body_keys KnuckleAccuracy.* "
        "KnuckleJointAccuracy.* KnuckleModel.accuracy KnuckleModel.contact_friction KnuckleBodyDifference.* "
        "KnuckleObject.original_uid KnuckleModel.original_uid KnuckleObject.is_at_simulated_pose "
        "KnuckleObject.rest_parent_inverse"
    ),
    "settings of simulation, display and motion that no model file has": (
        "KnuckleModel.drive KnuckleModel.target KnuckleModel.law KnuckleModel.match_inertia "
        "KnuckleModel.has_ground KnuckleModel.self_collide KnuckleModel.show_collision KnuckleModel.key_bodies "
        "KnuckleModel.controls KnuckleModel.gait_inputs KnuckleModel.servo_names KnuckleModel.servo_name_index "
        "KnuckleControls.* KnuckleModel.time_step KnuckleOrigin.* KnuckleOriginServo.* KnuckleAttribute.* "
        "KnuckleServoName.* KnuckleAction.* KnuckleJointList.* KnuckleFilm.* KnuckleOverlay.* KnuckleMeshFolder.*"
    ),
    "what lists of panels show": "KnuckleJointList.* KnuckleSeverities.*",
    "settings of Live Input": "KnuckleLiveInput.* KnuckleLiveServo.*",
    "what views show under physics": "KnucklePhysicsView.* KnuckleKeptView.*",
    "what reports and checks said": (
        "KnuckleReportLine.* KnuckleFinding.* KnuckleTwinPair.* KnuckleModel.finding_index KnuckleModel.checked "
        "KnuckleModel.found_twins KnuckleModel.differences KnuckleModel.difference_index KnuckleModel.symmetry_checked "
        "KnuckleModel.report KnuckleModel.report_index"
    ),
    "only mirroring sets restraints (tests/blender/editing/symmetry/test_mirrored_restraints.py)": (
        "KnuckleRestraint.* KnuckleModel.restraints KnuckleModel.mirrored_restraints"
    ),
}
#: Which row edits a field of a record, by its class and name.
RECORDS: dict[str, str] = {
    "Body.name": "body name", "Body.pose": "body pose", "Body.mass": "body mass", "Body.inertia": "body mass",
    "Body.com": "shape size", "Body.shapes": "mesh fixed", "Body.twin": "twin", "Body.immobile": "body immobile",
    "Shape.size": "shape size", "Shape.pose": "shape pose", "Shape.color": "shape color", "Shape.type": "mesh fixed",
    "Joint.name": "joint name", "Joint.type": "joint type", "Joint.parent": "body", "Joint.child": "body",
    "Joint.frame_parent": "joint frame", "Joint.frame_child": "joint frame", "Joint.dofs": "joint type",
    "Joint.active": "body", "Joint.twin": "body", "Frame.name": "frame name", "Frame.body": "frame",
    "Frame.pose": "frame pose", "Light.name": "light name", "Light.type": "light type", "Light.pose": "light pose",
    "Light.body": "light", "Light.diffuse": "light color", "Assembly.active": "assembly",
    **{f"Dof.{name}": f"dof {name}" for name in (
        "lower", "upper", "position", "velocity", "damping", "friction", "stiffness", "rest", "armature", "gain",
        "max_force",
    )},
    "Dof.servo_stiffness": "servo", "Dof.servo_damping": "servo",
    "World.gravity": "gravity", "World.friction": "friction", "World.erp": "erp", "World.cfm": "cfm",
}  # fmt: skip
#: Fields that no tool edits, by the reason.
RECORDS_NOT_EDITED: dict[str, str] = {
    "where the halves are mirrored, which no file has": "Mechanism.mirror_plane Plane.*",
    "names and places in the source": (
        "Body.id Body.line Joint.id Joint.line Source.* Assembly.path Assembly.name Mechanism.name Mechanism.source "
        "Mechanism.report Mechanism.directed"
    ),
    "what a format has besides, kept as it is": "*.extra",
    "which assembly a part is of: only whole ones are switched": "Body.assembly Joint.assembly Frame.assembly",
    "switched with their assembly": "Body.active",
    "the file's, with no property of their own": (
        "Body.gravity Body.collidable Shape.visual Shape.collision Shape.soft Shape.name Shape.spheres Shape.mesh "
        "Light.ambient Light.specular World.time_step World.ground"
    ),
    "set by the type of the joint, and by moving and mirroring it": (
        "Dof.kind Dof.axis Dof.file_sign Dof.pitch Dof.name Dof.actuator Dof.parts Dof.start Dof.start_rates"
    ),
    "motion: tests of animation and of motion files": "Trajectory.* Motion.* Mechanism.motions Mechanism.behaviours",
    "lists of the records above": (
        "Mechanism.world Mechanism.bodies Mechanism.joints Mechanism.restraints Mechanism.assemblies Mechanism.frames "
        "Mechanism.lights"
    ),
    "restraints are kept as the file has them; nothing edits them": "Restraint.*",
}
