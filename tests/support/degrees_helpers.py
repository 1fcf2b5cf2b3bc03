"""Helpers for tests of joints with any degrees of freedom: mechanisms to build, pose and compare with kinematics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from addon.core.kinematics import spanning_tree
from addon.core.model import DOF_SIZE, Array, Body, Dof, Joint, Mechanism, Shape
from addon.core.transforms import inverse, rotation_matrix
from tests.support.mechanisms import objects_of, world_of

X, Y, Z = np.eye(3)


def pose_of(vector: Iterable[float], place: Iterable[float]) -> Array:
    """A pose from a rotation vector and a place."""
    out = np.eye(4)
    out[:3, :3] = rotation_matrix(np.array(tuple(vector)))
    out[:3, 3] = tuple(place)
    return out


def linked(*dofs: Dof, frame: Array | None = None, body: Array | None = None, is_reversed: bool = False) -> Mechanism:
    """Post, arm and hand: a joint with these degrees of freedom (id ``j``) between the first two, a hinge to the third.

    ``frame`` is the joint's in the post, ``body`` the arm's pose. The post is fixed to the world; ``against`` makes the
    joint point towards it."""
    frame = pose_of((0.4, -0.9, 0.3), (1, 2, 3)) if frame is None else frame
    body = pose_of((-0.2, 0.5, 1.1), (1.5, 2.5, 3.2)) if body is None else body
    box = [Shape("box", {"x": 0.4, "y": 0.3, "z": 0.5})]
    post = Body("post", "Post", shapes=box)
    arm = Body("arm", "Arm", body, com=np.array([0.1, 0.0, 0.2]), shapes=box)
    hand = Body("hand", "Hand", body @ pose_of((0, 0, 0), (1, 0, 0)), shapes=box)
    in_arm = inverse(body) @ frame
    joint = Joint("j", "Hip", "any", "post", "arm", frame, in_arm, list(dofs))
    hinge = Joint("h", "Wrist", "revolute", "arm", "hand", pose_of((0, 0, 0), (0.5, 0, 0)), dofs=[Dof("rotation", Y)])
    hinge.frame_child = pose_of((0, 0, 0), (-0.5, 0, 0))
    fixed = Joint("g", "Ground", "weld", None, "post")
    mechanism = Mechanism("linked", bodies=[post, arm, hand], joints=[fixed, joint, hinge])
    return turned(mechanism, "j") if is_reversed else mechanism


def turned(mechanism: Mechanism, *ids: str) -> Mechanism:
    """The same with the ends of joints (all, if none is named) exchanged, so that their coordinates move the other."""
    mechanism.joints = [
        replace(
            joint,
            parent=joint.child,
            child=joint.parent,
            frame_parent=joint.frame_child,
            frame_child=joint.frame_parent,
        )
        if not ids or joint.id in ids
        else joint
        for joint in mechanism.joints
    ]
    return mechanism


def axis(xyz: str, number: str = "", extra: str = "") -> str:
    return f"<axis{number}><xyz>{xyz}</xyz>{extra}</axis{number}>"


def rotations(*axes: Array) -> list[Dof]:
    return [Dof("rotation", np.asarray(axis, dtype=float)) for axis in axes]


def slides(*axes: Array) -> list[Dof]:
    return [Dof("translation", np.asarray(axis, dtype=float)) for axis in axes]


#: Degrees of freedom, and how many bones they need along the tree and against it.
CHAINS: dict[str, tuple[list[Dof], int, int]] = {
    "nothing": ([], 1, 1),
    "a turn": (rotations(X), 1, 1),
    "a slide": (slides(-Y), 1, 1),
    "slides, then turns": ([*slides(Y, X, Z), *rotations(Z, X, Y)], 1, 2),
    "left-handed slides, left-handed turns": ([*slides(Y, X, -Z), *rotations(-Z, X, Y)], 1, 2),
    "a slide against a turn's axis": ([*slides(-Z), *rotations(Z)], 2, 2),
    "a turn, then slides": ([*rotations(Z), *slides(X, Y)], 2, 1),
    "cylinder": ([*slides(X), *rotations(X)], 1, 1),
    "cylinder, turn first": ([*rotations(X), *slides(X)], 1, 1),
    "skew turns": (rotations(X, (X + Y) / math.sqrt(2), Z), 2, 2),
    "first axis again": (rotations(Z, X, Z), 2, 2),
    "four turns": (rotations(X, Y, Z, X), 2, 2),
    "a ball after slides": ([*slides(X, Z), Dof("ball")], 1, 2),
    "a ball after a turn": ([*rotations(X), Dof("ball")], 2, 2),
    "a turn after a ball": ([Dof("ball"), *rotations(X)], 2, 2),
    "two balls": ([Dof("ball"), Dof("ball")], 2, 2),
    "slides after a free block": ([Dof("free"), *slides(X, Y, Z)], 2, 2),
    "screw": ([Dof("screw", X, pitch=-0.3)], 2, 2),
    "screw, then a turn": ([Dof("screw", X, pitch=0.3), *rotations(Y)], 2, 3),
    "a turn, then a screw": ([*rotations(Y), Dof("screw", X, pitch=0.3)], 3, 2),
    "slides, screw, turn": ([*slides(Z, Y), Dof("screw", X, pitch=0.3), *rotations(Z)], 2, 4),
}


def put(mechanism: Mechanism, physics: bool = False, **options: Any) -> Any:
    """Build a mechanism: its armature."""
    import bpy

    from addon.blender.data.queries import rig_in
    from addon.blender.reconcile.build import BuildOptions, build

    return rig_in(build(mechanism, bpy.context, BuildOptions(physics=physics, gait=False, **options)))


def release_stops(rig: Any) -> None:
    for bone in rig.pose.bones:
        for limit in bone.constraints:
            limit.influence = 0.0


def pose(rig: Any, values: Mapping[str, Array]) -> None:
    """Set every coordinate's own channel to its value; of balls and free blocks the quaternion and the location that
    the bone's record asks for."""
    import bpy

    from addon.blender.data.channels import servo_channels

    turn_of = {bone.name: np.array(bone.knuckle.joint_rotation).reshape(3, 3) for bone in rig.data.bones}
    for joint, channels in servo_channels(rig).items():
        told = np.asarray(values.get(joint, np.zeros(len(channels)))).ravel()
        for channel, value in zip(channels, told, strict=True):
            bone = rig.pose.bones[channel.bone]
            if channel.is_single:
                getattr(bone, channel.prop)[channel.index] = value
                continue
            assert bone.rotation_mode == "QUATERNION"
            if channel.index:
                continue
            own = told[channel.dof_index : channel.dof_index + DOF_SIZE[channel.kind]]
            motion = pose_of(own[:3], own[3:] if len(own) > 3 else (0, 0, 0))
            motion = inverse(motion) if channel.is_reversed else motion
            vector, turn = own[:3] * (-1 if channel.is_reversed else 1), turn_of[bone.name]
            angle = float(np.linalg.norm(vector))
            direction = turn.T @ vector / (angle or 1.0)
            bone.rotation_quaternion = (math.cos(angle / 2), *(math.sin(angle / 2) * direction))
            if channel.kind == "free":
                bone.location = turn.T @ motion[:3, 3]
    bpy.context.view_layer.update()


def zero(rig: Any) -> dict[str, Array]:
    """Where the bodies stand when every channel of every joint is zero."""
    pose(rig, {})
    return {key: world_of(obj) for key, obj in objects_of(rig, "BODY").items()}


def size_of(mechanism: Mechanism) -> float:
    """The largest coordinate of a body, at least 1: what a model's error is measured against."""
    return max([1.0, *(float(np.abs(body.pose[:3, 3]).max()) for body in mechanism.bodies)])


def worst(rig: Any, mechanism: Mechanism, rest: Mapping[str, Array], values: Mapping[str, Array]) -> float:
    """How far the worst body is from where the model's kinematics has it: as share of the model's size, and radians."""
    tree = spanning_tree(mechanism)
    design, moved = tree.forward({})[0], tree.forward(values)[0]
    upright = np.array(rig.matrix_world)
    bodies = objects_of(rig, "BODY")
    reach = max(size_of(mechanism), float(np.abs(moved[:, :3, 3]).max(initial=0.0)))
    error = 0.0
    for body, before, after in zip(mechanism.bodies, design, moved, strict=True):
        expected = upright @ after @ inverse(before) @ inverse(upright) @ rest[body.id]
        apart = np.abs(world_of(bodies[body.id]) - expected)
        error = max(error, float(apart[:3, :3].max()), float(apart[:3, 3].max()) / reach)
    return error


both_ways = pytest.mark.parametrize("is_reversed", [False, True], ids=["along the tree", "against the tree"])


def chain(rig: Any, joint: str = "j") -> list[Any]:
    """The pose bones of a joint from the carrier outwards."""
    found = [bone for bone in rig.data.bones if bone.knuckle.joint == joint]
    return [rig.pose.bones[bone.name] for bone in sorted(found, key=lambda bone: bone.knuckle.step)]
