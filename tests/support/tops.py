"""Helpers for tests of inertia proxies: a spinning body against the integrated free rotation of a tensor."""

from __future__ import annotations

import math

import numpy as np

from addon.core.model import Array, Body, Dof, Joint, Mechanism, Shape, World
from tests.support.emptied import empty_file
from tests.support.mechanisms import objects_of, play, world_of
from tests.support.swings import put_world

MASS, RATE = 2.0, 60
SIZE = {"x": 1.0, "y": 0.6, "z": 0.3}
#: The frame at which a body is let go, and from which on it turns freely.
LET_GO, FREE = 10, 12


def turn(vector: Array) -> Array:
    """The rotation (3, 3) of a rotation vector."""
    angle = float(np.linalg.norm(vector))
    if angle < 1e-14:
        return np.eye(3)
    x, y, z = vector / angle
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross


def freely(tensor: Array, start: Array, spin: Array, frames: int, steps: int = 40) -> Array:
    """Poses (frames + 1, 3, 3) of a body without torque: its angular momentum stays; midpoint rule."""
    back, pose, out = np.linalg.inv(tensor), start.copy(), [start]
    momentum, step = start @ tensor @ start.T @ spin, 1.0 / RATE / steps
    for _ in range(frames):
        for _ in range(steps):
            middle = turn(pose @ back @ pose.T @ momentum * step / 2.0) @ pose
            pose = turn(middle @ back @ middle.T @ momentum * step) @ pose
        out.append(pose)
    return np.array(out)


def apart(one: Array, other: Array) -> float:
    return float(np.linalg.norm(one - other) / math.sqrt(2.0))


def leaning_tensor() -> Array:
    """Moments unlike the shape's, about axes that lean away from the body's."""
    axes = turn(np.array([0.3, 0.5, 0.2]))
    return MASS / 2.0 * axes @ np.diag([0.10, 0.25, 0.28]) @ axes.T


def strays(tensor: Array, matched: bool, seconds: float) -> float:
    """How far a body that was spun and let go has strayed from the free rotation of a tensor, which begins with the
    spin that fits its first frames best."""
    import bpy
    from mathutils import Quaternion, Vector

    empty_file()
    body = Body("b", "b", mass=MASS, inertia=tensor, shapes=[Shape("box", SIZE)])
    joint = Joint("f", "f", "free", None, "b", dofs=[Dof("free")])
    mechanism = Mechanism("top", World(gravity=np.zeros(3)), bodies=[body], joints=[joint])
    rig = put_world(mechanism, "KEYS", seconds + 0.3)
    scene, model = bpy.context.scene, rig.data.knuckle
    if not matched:
        from addon.blender.physics.simulation.setup import build_physics

        model.match_inertia = False
        build_physics(scene, rig)
    scene.rigidbody_world.substeps_per_frame = 30
    bone, spin = rig.pose.bones[0], Vector((0.3, 5.0, 0.2))
    bone.rotation_mode = "QUATERNION"
    for frame in range(1, LET_GO + 2):
        bone.rotation_quaternion = Quaternion(spin.normalized(), spin.length * (frame - 1) / RATE)
        bone.keyframe_insert("rotation_quaternion", frame=frame)
    for drive, frame in (("KEYS", 1), ("LIMP", LET_GO)):
        model.drive = drive
        rig.data.keyframe_insert("knuckle.drive", frame=frame)
    (obj,) = objects_of(rig, "BODY").values()
    frames = FREE + round(seconds * RATE)
    poses = np.array(play(scene, frames, lambda: world_of(obj)[:3, :3].astype(np.float64)))[FREE - 1 :]
    rate = np.array(spin)

    def off(rate: Array) -> Array:
        return (freely(tensor, poses[0], rate, 6) - poses[:7]).ravel()

    for _ in range(5):
        slope = np.array([(off(rate + 1e-5 * axis) - off(rate)) / 1e-5 for axis in np.eye(3)]).T
        rate = rate - np.linalg.lstsq(slope, off(rate), rcond=None)[0]
    return apart(freely(tensor, poses[0], rate, len(poses) - 1)[-1], poses[-1])
