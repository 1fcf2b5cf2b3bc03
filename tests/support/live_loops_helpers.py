"""Helpers for tests of closed loops in Blender: their joint separation, and posing and keying of input joints."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from addon.core.model import Joint, Mechanism
from tests.support import loops
from tests.support.mechanisms import objects_of, world_of

WITHIN = 1e-5  # of the model's size


def put(mechanism: Mechanism, **options: Any) -> Any:
    import bpy

    from addon.blender.data.queries import rig_in
    from addon.blender.reconcile.build import BuildOptions, build

    return rig_in(build(mechanism, bpy.context, BuildOptions(**{"physics": False, "gait": False, **options})))


class Pivots:
    """The two sides of every joint of a mechanism, carried by the evaluated bodies."""

    def __init__(self, mechanism: Mechanism, rig: Any) -> None:
        self.joints = [joint for joint in mechanism.joints if joint.active]
        self.rig, self.bodies = rig, objects_of(rig, "BODY")
        self.com = {body.id: body.com for body in mechanism.bodies}
        spread = [body.pose[:3, 3] for body in mechanism.bodies]
        self.size = float(np.ptp(np.array(spread), axis=0).max())

    def body(self, name: str | None) -> np.ndarray:
        """Pose of a body's own frame: its object stands at the centre of mass."""
        if name is None:
            return np.array(self.rig.matrix_world)
        pose = world_of(self.bodies[name]).copy()
        pose[:3, 3] -= pose[:3, :3] @ self.com[name]
        return pose

    def gap(self) -> float:
        """The largest distance between two sides, and lean (rad) between two axes, in sizes."""
        return max(self._gap(joint) for joint in self.joints)

    def _gap(self, joint: Joint) -> float:
        one = self.body(joint.parent) @ joint.frame_parent
        other = self.body(joint.child) @ joint.frame_child
        axis = joint.dofs[0].axis if joint.dofs else np.zeros(3)
        apart = one[:3, :3].T @ (other[:3, 3] - one[:3, 3])
        if joint.dofs and joint.dofs[0].kind == "translation":
            apart = apart - axis * (apart @ axis)
        lean = np.linalg.norm((one[:3, :3] - other[:3, :3]) @ axis)
        return float(max(np.linalg.norm(apart) / self.size, lean))


def live(rig: Any) -> list[Any]:
    from addon.blender.animation.loops.live_solver import live_loops

    return live_loops(rig)


def driver(rig: Any) -> Any:
    """The channel of the first driver of the model's first loop."""
    loop = live(rig)[0]
    return loop.channels[loop.drivers[0]][0]


def pose_driver(rig: Any, value: float) -> None:
    import bpy

    channel = driver(rig)
    getattr(rig.pose.bones[channel.bone], channel.prop)[channel.index] = value
    bpy.context.view_layer.update()


def key_driver(rig: Any, keys: dict[float, float]) -> None:
    from addon.blender.animation.keying import LINEAR, key_servos

    frames, values = np.array([*keys]), np.array([*keys.values()])
    key_servos(rig, "turn", {driver(rig).joint: (frames, values, LINEAR)})


def rocker(rig: Any) -> float:
    """The rocker's angle: from its foot on the ground through the middle of its bar."""
    middle = world_of(objects_of(rig, "BODY")["rocker"])[:3, 3]
    return math.atan2(middle[2], middle[0] - loops.GROUND)


def off(one: float, other: float) -> float:
    return abs((one - other + math.pi) % (2.0 * math.pi) - math.pi)


def codes(rig: Any) -> set[str]:
    """What the model's report says of loops."""
    return {line.code for line in rig.data.knuckle.report if line.code.startswith("loop-")}


def triangle(height: float = 1.5, tilt: float = 0.0) -> Mechanism:
    """Two bars and the ground, hinged in the plane at the corners of a triangle, one axis tilted (rad): no freedom."""
    ends = {"A": (None, "one"), "B": ("one", "two"), "C": ("two", None)}
    mechanism = loops.planar("triangle", ends, {"A": (0, 0), "B": (1, height), "C": (3, 0)})
    lean = np.eye(4)
    lean[:2, :2] = [[math.cos(tilt), -math.sin(tilt)], [math.sin(tilt), math.cos(tilt)]]
    for joint in mechanism.joints[1:2]:
        joint.frame_parent, joint.frame_child = joint.frame_parent @ lean, joint.frame_child @ lean
    return mechanism
