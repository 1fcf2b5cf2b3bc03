"""Helpers for tests of the solver: pendulums and chains, with known periods and amplitudes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from addon.core.model import Array, Body, Dof, Joint, Mechanism, Shape, World

GRAVITY = 9.81
_THICK = 0.1  # of a link's length


def put_world(mechanism: Mechanism, drive: str, seconds: float, rate: int = 60) -> Any:
    """Build a mechanism with physics, as a user's import does, to be run for some seconds. Returns its rig."""
    import bpy

    from addon.blender.data.queries import rig_in
    from addon.blender.reconcile.build import BuildOptions, build

    scene = bpy.context.scene
    rig = rig_in(build(mechanism, bpy.context, BuildOptions(gait=False)))
    scene.render.fps = rate
    scene.frame_end = round(seconds * rate) + 1
    scene.rigidbody_world.point_cache.frame_end = scene.frame_end + 1
    rig.data.knuckle.drive = drive
    return rig


def chain(long: float = 1.0, ratio: float = 1.0, links: int = 5, lean: float = math.pi / 2) -> Mechanism:
    """Links hinged to the world and to each other, straight, ``lean`` (rad) away from hanging down. The last is so many
    times as heavy as the others."""
    turn = np.eye(4)
    turn[:3, :3] = [
        [math.sin(lean), 0.0, math.cos(lean)],
        [0.0, 1.0, 0.0],
        [-math.cos(lean), 0.0, math.sin(lean)],
    ]
    axis = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    bodies, joints = [], []
    for number in range(links):
        name, before = f"link {number}", f"link {number - 1}" if number else None
        place = np.eye(4)
        place[0, 3] = (number + 0.5) * long
        box = Shape("box", {"x": long, "y": _THICK * long, "z": _THICK * long})
        mass = ratio if number == links - 1 else 1.0
        bodies.append(Body(name, name, turn @ place, mass=mass, shapes=[box], collidable=False))
        one, other = np.eye(4), np.eye(4)
        one[:3, :3], other[:3, :3] = turn[:3, :3] @ axis if before is None else axis, axis
        one[0, 3], other[0, 3] = 0.0 if before is None else 0.5 * long, -0.5 * long
        joints.append(
            Joint(f"hinge {number}", f"hinge {number}", "revolute", before, name, one, other, dofs=[Dof("rotation")])
        )
    return Mechanism("chain", World(gravity=np.array([0.0, 0.0, -GRAVITY])), bodies=bodies, joints=joints)


def period(long: float, amplitude: float) -> float:
    """The period (s) of one such link, by the arithmetic-geometric mean that gives the complete elliptic integral."""
    inertia = (long**2 + (_THICK * long) ** 2) / 12.0 + long**2 / 4.0
    one, other = 1.0, math.cos(amplitude / 2.0)
    while abs(one - other) > 1e-15:
        one, other = (one + other) / 2.0, math.sqrt(one * other)
    return 2.0 * math.pi / math.sqrt(GRAVITY * long / 2.0 / inertia) / one


def lean_of(pose: Array) -> float:
    """The angle (rad) of a pendulum's link from hanging down, of its world pose."""
    return math.atan2(pose[0, 3], -pose[2, 3])


def swings(angles: Array, rate: float) -> tuple[float, float]:
    """Of a pendulum's angles frame by frame: its period (s), and its last amplitude (rad)."""
    times, crossings, peaks = np.arange(len(angles)) / rate, [], []
    for k in range(1, len(angles) - 2):
        if angles[k] > 0.0 >= angles[k + 1]:
            near = slice(k - 1, k + 3)
            roots = np.roots(np.polyfit(times[near] - times[k], angles[near], 3))
            real = roots[np.abs(roots.imag) < 1e-9].real
            crossings.append(times[k] + real[np.argmin(np.abs(real - 0.5 / rate))])
        if angles[k] > angles[k - 1] and angles[k] >= angles[k + 1]:
            low, middle, high = angles[k - 1 : k + 2]
            peaks.append(middle - (low - high) ** 2 / (8.0 * (low - 2.0 * middle + high)))
    return float((crossings[-1] - crossings[0]) / (len(crossings) - 1)), float(peaks[-1])
