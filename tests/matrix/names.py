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
    "link twins": "knuckle.link_twins",
    "mirror to twin": "knuckle.mirror_to_twin",
    "copy values": "knuckle.copy_joint",
    "check": "knuckle.check_model",
    "fix": "knuckle.fix_finding",
    "delete parts": "knuckle.delete_parts",
    "move joint": "knuckle.move_joint",
    "set type": "knuckle.set_joint_type",
    "update armature": "knuckle.refit",
    "switch assembly": "knuckle.switch_assembly",
    "tick joints": "knuckle.tick_joints",
}
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
DOF_ANGLES = {"lower": "lower_angle", "upper": "upper_angle"}
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


def tick(*joints: Any) -> None:
    """Tick joints in the table, and no others."""
    for joint in parts("JOINT"):
        for dof in dofs(joint):
            dof.ticked = joint in joints


def twin_id(obj: Any) -> tuple[str, str]:
    """The id of a part and that of its twin."""
    return obj.knuckle.source_id, obj.knuckle.twin


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
    from addon.blender.extract import extract

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

    from addon.model import records

    return {name: cls for name, cls in vars(records).items() if isinstance(cls, type) and is_dataclass(cls)}
