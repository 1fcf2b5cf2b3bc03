"""Helpers for tests of motion import and export: an arm, XMDI files, both operators, and posed angles."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from addon import formats
from addon.core.model import Motion, Trajectory
from tests.support.mechanisms import body, bone_of, joint, model

ARM = model(
    body(1, (0, 0, 4), (2, 2, 2)),
    body(2, (2.5, 0, 4), (3, 0.4, 0.4)),
    body(3, (5.5, 0, 4), (3, 0.4, 0.4)),
    body(4, (0, 2.5, 4)),
    joint(21, 1, 2, (1, 0, 4), (0, 90, 0), name="Shoulder"),
    joint(22, 2, 3, (4, 0, 4), (0, 90, 0), stops=(-57.29577951308232, 57.29577951308232), name="Elbow"),
    joint(23, 1, 4, (0, 1.5, 4), (0, 90, 0), name="Slide", tag="PrismaticJoint"),
)


def ops() -> Any:
    import bpy

    return bpy.ops


def scene() -> Any:
    import bpy

    return bpy.context.scene


def put_xmdi(path: Path, *motions: Motion) -> Path:
    formats.save_motion(list(motions), path, "xmdi")
    return path


def wave(name: str = "Wave", servo: str = "Shoulder", values: Any = (0.0, 0.4, -0.2), step: float = 0.32) -> Motion:
    return Motion(name, [Trajectory(servo, np.arange(len(values)) * step, np.array(values, dtype=float))])


def imported(path: Path, **options: Any) -> None:
    assert ops().import_anim.servo_motion(filepath=str(path), **options) == {"FINISHED"}


def exported(path: Path, **options: Any) -> Motion:
    assert ops().export_anim.servo_motion(filepath=str(path), **options) == {"FINISHED"}
    return formats.load_motion(path)


def track(motion: Motion, name: str) -> Trajectory:
    (found,) = [each for each in motion.trajectories if each.name == name]
    return found


def posed(rig: Any, number: int, frame: float) -> np.ndarray:
    """The evaluated matrix of a joint's bone in its parent's, at a frame."""
    import bpy

    scene().frame_set(math.floor(frame), subframe=frame % 1)
    bone = rig.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones[bone_of(rig, number).name]
    rest = np.array(bone.bone.matrix_local, dtype=float)
    pose = np.array(bone.matrix, dtype=float)
    if bone.parent is None:
        return np.linalg.inv(rest) @ pose
    return (
        np.linalg.inv(np.linalg.inv(np.array(bone.parent.bone.matrix_local, dtype=float)) @ rest)
        @ np.linalg.inv(np.array(bone.parent.matrix, dtype=float))
        @ pose
    )


def angle_of(rig: Any, number: int, frame: float) -> float:
    turn = posed(rig, number, frame)
    return math.atan2(turn[1, 0] - turn[0, 1], turn[0, 0] + turn[1, 1])
