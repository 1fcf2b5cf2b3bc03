"""Helpers for tests of servos on joints with several degrees of freedom: tracking errors and compliance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from addon.blender.animation.keying import LINEAR, key_servos
from addon.core.kinematics import joint_motion, joint_values_from_transform
from addon.core.model import DOF_SIZE, Array, Dof, Mechanism
from addon.core.transforms import inverse, rotation_matrix, rotation_vector
from tests.support.degrees_helpers import X, Y, Z, pose_of, put, rotations, slides
from tests.support.mechanisms import objects_of, play, world_of
from tests.support.springs_helpers import FRAME, cube_on_joint

MASS = 2.0


def kinds() -> dict[str, list[Dof]]:
    """Joints of several degrees, anew each time."""
    return {
        "hinge": rotations(Z),
        "slide": slides(Z),
        "universal": rotations(Z, X),
        "euler xyz": rotations(X, Y, Z),
        "euler zyx": rotations(Z, Y, X),
        "planar": [*slides(X, Y), *rotations(Z)],
        "translational": slides(X, Y, Z),
        "cylindrical": [*rotations(Z), *slides(Z)],
        "ball": [Dof("ball")],
    }


def beside(dofs: list[Dof], arm: Array, gravity: Array, world: bool = True) -> Mechanism:
    """A cube whose middle is ``arm`` from its joint, with gravity in the joint's frame."""
    mechanism = cube_on_joint(*dofs, gravity=FRAME[:3, :3] @ gravity, world=world)
    mechanism.joints[0].frame_child[:3, 3] = -arm
    mechanism.bodies[-1].pose = FRAME @ pose_of((0, 0, 0), arm)
    return mechanism


def motion(rig: Any, arm: Array) -> Array:
    """The joint's motion ``J`` as the cube shows it."""
    return (
        inverse(FRAME) @ inverse(world_of(rig)) @ world_of(objects_of(rig, "BODY")["cube"]) @ pose_of((0, 0, 0), -arm)
    )


def size_of(dofs: list[Dof]) -> int:
    return sum(DOF_SIZE[dof.kind] for dof in dofs)


def tracked(scene: Any, dofs: list[Dof], values: Array, world: bool = True, rate: int = 60) -> tuple[float, float]:
    """The worst errors (rad, m) of a cube that hangs beside its joint and is told to follow coordinates (n, size), one
    every frame."""
    arm = np.array([0.3, 0.2, 0.1])
    mechanism = beside(dofs, arm, np.array([3.0, -4.0, -8.0]), world)
    scene.render.fps = rate
    rig = put(mechanism, physics=True, adapt_scene=False)
    key_servos(rig, "Motion", {"j": (np.arange(1.0, len(values) + 1), values, LINEAR)})
    rig.data.knuckle.drive = "SERVO"
    found = np.array(play(scene, len(values), lambda: motion(rig, arm)))
    off = inverse(joint_motion(mechanism.joints[0], values)) @ found
    return float(np.linalg.norm(rotation_vector(off[:, :3, :3]), axis=1).max()), float(
        np.linalg.norm(off[:, :3, 3], axis=1).max()
    )


#: Kind, coordinate, load as a share of the limit.
HELD = [
    ("hinge", 0), ("slide", 0),
    ("universal", 0), ("universal", 1), ("euler xyz", 0), ("euler xyz", 1), ("euler xyz", 2), ("planar", 0),
    ("planar", 2), ("cylindrical", 1), ("ball", 0), ("ball", 2),
]  # fmt: skip


def yielded(scene: Any, name: str, number: int, share: float, frames: int = 31) -> float:
    """By how much a coordinate gives way to a load of a share of its servo's limit; the others have no limit."""
    dofs, limit = kinds()[name], 5.0
    dof = dofs[min(number, len(dofs) - 1)]
    dof.max_force = limit
    axis = np.eye(3)[number] if dof.kind == "ball" else dof.axis
    if dof.kind == "translation":
        arm, gravity = np.zeros(3), axis * share * limit / MASS
    else:
        arm = 0.5 * np.roll(np.abs(axis), 1)
        gravity = np.cross(axis, arm) * share * limit / (MASS * 0.25)
    rig = put(beside(dofs, arm, gravity), physics=True)
    rig.data.knuckle.drive = "SERVO"
    last = play(scene, frames, lambda: motion(rig, arm))[-1]
    return float(last[:3, 3] @ axis if dof.kind == "translation" else rotation_vector(last[:3, :3]) @ axis)


def given_way(scene: Any, number: int, start: Sequence[float], pose: Sequence[float], share: float) -> Array:
    """By how much the turns about X, Y and Z give way that were at ``start`` when the run began, went to ``pose`` and
    are loaded there, in one coordinate alone, with a share of its servo's limit. The others have no limit."""

    from addon.blender.physics.simulation import session

    dofs, limit, there = kinds()["euler xyz"], 5.0, np.array(pose)
    directions = rotation_matrix(X * there[0]), rotation_matrix(X * there[0]) @ rotation_matrix(Y * there[1])
    axes = np.array([X, directions[0] @ Y, directions[1] @ Z])
    torque = np.linalg.solve(axes, share * limit * np.eye(3)[number])  # its work is on that coordinate alone
    lever = np.cross(torque, X + Y)
    lever *= 0.5 / np.linalg.norm(lever)
    turned = directions[1] @ rotation_matrix(Z * there[2])
    mechanism = beside(dofs, turned.T @ lever, np.cross(torque, lever) / (lever @ lever) / MASS)
    rig = put(mechanism, physics=True)
    values = np.array(start) + np.clip(np.arange(46) / 20, 0, 1)[:, None] * (there - start)
    key_servos(rig, "Motion", {"j": (np.arange(1.0, 47.0), values, LINEAR)})
    rig.data.knuckle.drive = "SERVO"
    play(scene, 26, lambda: None)
    session.controller_at(scene, rig, 26).several[0].servos.limit[number] = limit  # type: ignore[union-attr]
    last = play(scene, 20, lambda: motion(rig, turned.T @ lever), 27)[-1]
    return joint_values_from_transform(mechanism.joints[0], last[None])[0] - there
