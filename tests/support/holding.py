"""Helpers for tests of structural edits: mechanisms in any state, edits, and measures of what must not change."""

# Measures are computed on Blender's evaluated objects and on the exported text, read as a file is.

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import bpy
import numpy as np
from mathutils import Euler, Matrix, Vector

from addon import formats
from addon.blender.data.access import record_of, settings
from addon.blender.data.channels import servo_channels
from addon.blender.data.conversion import read_stops
from addon.blender.data.queries import file_name, parts, root_bones
from addon.blender.rig.pose_channels import write_pose
from addon.blender.scene.read.mechanism import extract
from addon.core.joint_types import JOINT_TYPES
from addon.core.kinematics import (
    joint_motion,
    joint_transform,
    joint_values_from_poses,
    joint_values_from_transform,
    spanning_tree,
)

#: Bodies that are off by less, as a share of the mechanism's size, stand where they stood: rests of bones are kept no
#: better (see ``build/bone_frames``).
SAME = 1e-4
#: Between two keyframes.
FRAME = 8

# ---------------------------------------------------------------- states


def _posable(rig: Any) -> dict[str, Any]:
    follows = {record_of(each).source_id for each in parts(rig, "JOINT") if record_of(each).joint.is_dependent}
    return {joint: own for joint, own in servo_channels(rig).items() if joint not in follows}


def _dofs(rig: Any) -> dict[str, Any]:
    return {record_of(each).source_id: record_of(each).joint.dofs for each in parts(rig, "JOINT")}


def _within(rig: Any, joint: str, number: int, value: float) -> float:
    """A value between stops, halfway from where the joint is."""
    dofs = _dofs(rig)[joint]
    if any(dof.kind in {"ball", "free"} for dof in dofs):
        return value
    low, high = read_stops(dofs[number])
    return float(np.clip(value, -np.inf if low is None else low, np.inf if high is None else high))


def posed(rig: Any, seed: int = 1) -> None:
    """Every joint that is not led by a loop somewhere between its stops, and the roots away from home."""
    random = np.random.default_rng(seed)
    for joint, own in _posable(rig).items():
        values = [_within(rig, joint, channel.dof_index, random.uniform(-0.4, 0.4)) for channel in own]
        write_pose(rig, own, np.array(values))
    for name in root_bones(rig).values():
        rig.pose.bones[name].location = random.uniform(-0.2, 0.2, 3)
        rig.pose.bones[name].rotation_quaternion = Euler(random.uniform(-0.4, 0.4, 3)).to_quaternion()


def beyond(rig: Any) -> None:
    """Every joint with stops is told to be 0.7 beyond one, and stands at it."""
    dofs = _dofs(rig)
    for joint, own in _posable(rig).items():
        for channel in own:
            if channel.is_single and channel.prop == "rotation_euler":
                _low, high = read_stops(dofs[joint][channel.dof_index])
                if high is not None and -2.0 < high < 2.0:
                    setattr_at(rig.pose.bones[channel.bone], channel.prop, channel.index, high + 0.7)


def setattr_at(pose: Any, prop: str, index: int, value: float) -> None:
    getattr(pose, prop)[index] = value


def keyed(rig: Any) -> None:
    """Joints and roots keyed at two frames, seen between them."""
    for frame, seed in ((1, 2), (21, 3)):
        posed(rig, seed)
        for own in _posable(rig).values():
            for path in {channel.path for channel in own}:
                rig.keyframe_insert(path, frame=frame)
        for name in root_bones(rig).values():
            for prop in ("location", "rotation_quaternion"):
                rig.pose.bones[name].keyframe_insert(prop, frame=frame)
    bpy.context.scene.frame_set(FRAME)


STATES: dict[str, Callable[[Any], None]] = {
    "initial": lambda rig: None,
    "posed": posed,
    "beyond": beyond,
    "keyed": keyed,
}

# ---------------------------------------------------------------- what is seen


@dataclass
class Seen:
    """Bodies' places in the world by id, the roots' ids, and the mechanism's size."""

    bodies: dict[str, np.ndarray]
    roots: set[str]
    size: float

    @classmethod
    def of(cls, rig: Any) -> Seen:
        """As it is evaluated now."""
        bpy.context.view_layer.update()
        bodies = {record_of(obj).source_id: np.array(obj.matrix_world.normalized()) for obj in parts(rig, "BODY")}
        places = np.array([pose[:3, 3] for pose in bodies.values()])
        return cls(bodies, set(root_bones(rig)), max(float(np.linalg.norm(np.ptp(places, axis=0))), 0.1))

    def apart(self, other: Seen) -> tuple[float, str]:
        """The farthest that a body of both is from where the other has it, as a share of the size, and its id."""
        both = self.bodies.keys() & other.bodies.keys()
        return max(((off(self.bodies[own], other.bodies[own], self.size), own) for own in both), default=(0.0, ""))


def exported(rig: Any) -> Any:
    """The mechanism as a reader of its exported text has it, without joints of which the export tells that its format
    has one place for both sides (Juice, of loops that are open at design)."""
    text, report = formats.dumps(extract(rig), settings(rig).format or "shift")
    mechanism = formats.loads(text.encode(), settings(rig).path)
    apart = " ".join(entry.message for entry in report.entries if entry.code == "joint-apart")
    mechanism.joints = [joint for joint in mechanism.joints if repr(joint.name) not in apart]
    return mechanism


def loose_joints(rig: Any) -> dict[str, float]:
    """By how much the two sides of joints of the exported text are apart where the bodies are seen, beyond what their
    degrees of freedom allow, as shares of the size, by name. Bodies whose names are not theirs alone are left out. (The
    axes of a body may be others in a file: x_xy has them where its joint is.)"""
    seen, mechanism = Seen.of(rig), exported(rig)
    back = np.linalg.inv(np.array(rig.matrix_world))
    objects = parts(rig, "BODY")
    names = Counter([*map(file_name, objects), *(body.name for body in mechanism.bodies)])
    by_name = {file_name(obj): obj for obj in objects}
    poses, index = [], {}
    for body in mechanism.bodies:
        if names[body.name] == 2 and body.name in by_name:
            index[body.id] = len(poses)
            poses.append(back @ _seen_frame(by_name[body.name], body, seen))
    stack = np.array(poses).reshape(1, -1, 4, 4)
    out = {}
    for joint in mechanism.joints:
        ends = [end for end in (joint.parent, joint.child) if end is not None]
        if joint.active and ends and all(end in index for end in ends):
            there = joint_transform(joint, stack, index)
            near = joint_motion(joint, joint_values_from_transform(joint, there))
            out[joint.name] = max(out.get(joint.name, 0.0), off(there[0], near[0], seen.size))
    return out


def apart_in_file(rig: Any) -> float:
    """The farthest that the exported text, with the coordinates at which its joints are seen, has a body from where it
    is seen, as a share of the size."""
    seen, mechanism = Seen.of(rig), exported(rig)
    back, objects = np.linalg.inv(np.array(rig.matrix_world)), {file_name(obj): obj for obj in parts(rig, "BODY")}
    poses = np.array([back @ _seen_frame(objects[body.name], body, seen) for body in mechanism.bodies])
    there = spanning_tree(mechanism).forward(joint_values_from_poses(mechanism, poses[None]))[0]
    return max(off(one, other, seen.size) for one, other in zip(poses, there, strict=True))


def _seen_frame(obj: Any, body: Any, seen: Seen) -> np.ndarray:
    """Where a body's frame, as a file has it, is seen."""
    there = seen.bodies[record_of(obj).source_id]
    if settings(record_of(obj).model).format == "x_xy":
        return there @ np.linalg.inv(obj.matrix_basis.normalized()) @ body.pose
    pose = there.copy()
    pose[:3, 3] -= pose[:3, :3] @ body.com
    return pose


def off(one: np.ndarray, other: np.ndarray, size: float) -> float:
    """How far two poses are apart, as a share of a size or in radians."""
    return max(
        float(np.linalg.norm(one[:3, 3] - other[:3, 3])) / size, float(np.abs(one[:3, :3] - other[:3, :3]).max())
    )


def empties_beside(rig: Any) -> dict[str, float]:
    """By how much joints' empties are not where the exported text has the joints on the bodies that carry them."""
    seen, mechanism = Seen.of(rig), exported(rig)
    back = np.linalg.inv(np.array(rig.matrix_world))
    names = Counter(joint.name for joint in mechanism.joints)
    joints = {joint.name: joint for joint in mechanism.joints if names[joint.name] == 1}
    bodies = {body.id: body for body in mechanism.bodies}
    out = {}
    for empty in parts(rig, "JOINT"):
        record, joint = record_of(empty).joint, joints.get(file_name(empty))
        if joint is None or record.parent is None or record.child is None:
            continue
        if joint.parent not in bodies or file_name(record.parent) != bodies[joint.parent].name:
            continue
        there = back @ np.array(empty.matrix_world)
        frame = back @ _seen_frame(record.parent, bodies[joint.parent], seen) @ joint.frame_parent
        out[empty.name] = float(np.linalg.norm(frame[:3, 3] - there[:3, 3])) / seen.size
    return out


# ---------------------------------------------------------------- edits

#: An edit as it is called, what does it, and whether it is to leave the motion of what it does not take away.
Edit = tuple[str, Callable[[], Any], bool]


def chosen_joints(rig: Any) -> list[Any]:
    """A joint in the middle of the mechanism, one to the world, one that closes a loop and one of several degrees."""
    empties = [each for each in parts(rig, "JOINT") if record_of(each).joint.active]
    kinds = [
        lambda j: j.parent is not None and j.child is not None and not j.loop,
        lambda j: j.at_world,
        lambda j: j.loop,
        lambda j: len(j.dofs) > 1,
        lambda j: j.is_reversed,
    ]
    out = []
    for kind in kinds:
        found = [each for each in empties if kind(record_of(each).joint)]
        if found:
            out.append(found[len(found) // 2])
    return list(dict.fromkeys(out))


def edits_of(rig: Any) -> Iterator[Edit]:
    """The structural edits that a mechanism allows."""
    from addon.blender.editing import authoring, joints, split_merge
    from addon.blender.editing.symmetry import twins
    from addon.blender.reconcile import rig_update

    for number, empty in enumerate(chosen_joints(rig)):
        for type_ in JOINT_TYPES:
            yield f"{type_} {number}", partial(joints.set_joint_type, empty, type_), False
        yield f"swap {number}", partial(joints.swap_joint_ends, empty), True
        yield f"move {number}", partial(_move, joints, empty), False
        yield f"delete joint {number}", partial(joints.delete_objects, rig, [empty]), False
        body = record_of(empty).joint.child or record_of(empty).joint.parent
        yield f"delete body {number}", partial(joints.delete_objects, rig, [body]), False
        yield f"split {number}", partial(split_merge.split_model, rig, [body]), False
        yield f"split to world {number}", partial(split_merge.split_model, rig, [body], to_world=True), False
        yield f"duplicate {number}", partial(_duplicate, joints, rig, body), True
        yield f"twin {number}", partial(twins.create_twins, [body]), True
        yield f"payload {number}", partial(_payload, authoring, rig, body), True
    yield "refit", partial(rig_update.update_armature, rig), True


def _move(joints: Any, empty: Any) -> None:
    bpy.context.view_layer.update()
    turn = Euler((0.2, -0.3, 0.1)).to_matrix().to_4x4()
    joints.place_joint(empty, Matrix.Translation((0.02, -0.03, 0.05)) @ empty.matrix_world.normalized() @ turn)


def _duplicate(joints: Any, rig: Any, body: Any) -> None:
    limb = joints.limb_of(rig, [body])
    joints.copy_limb(rig, limb, np.array([0.1, 0.2, 0.3]))


def _payload(authoring: Any, rig: Any, body: Any) -> None:
    """A body heavier than all others, welded to one."""
    bpy.ops.mesh.primitive_cube_add(size=0.1, location=body.matrix_world @ Vector((0.1, 0.1, 0.4)))
    cube = bpy.context.object
    authoring.make_body(rig, [cube], mass=1e3)
    bpy.context.view_layer.update()
    authoring.join_bodies(rig, body, cube, cube.matrix_world.copy(), "weld")
