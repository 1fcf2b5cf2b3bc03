"""``build.py bench physics_starts``: initial velocities, contact friction, free chains and PD control.

References are conservation of momentum and energy, Coulomb's law of friction, static equilibrium, and
``multibody.Multibody``, whose convergence a test checks.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

import bpy
import numpy as np

from addon.core.model import Array, Body, Dof, Joint, Mechanism, Shape, Source, World
from benchmarks import physics
from benchmarks.multibody import Multibody
from benchmarks.physics_iftomm import RATE, Row
from benchmarks.physics_servos import fresh
from tests.support.mechanisms import key
from tests.support.swings import GRAVITY, put_world
from tests.support.tops import turn

X, Y, Z = np.eye(3)
_TILT, _ARM, _RADIUS, _THICK = 0.4, 0.5, 0.5, 0.05


def bodies_of(mechanism: Mechanism, seconds: float, rate: int = RATE, drive: str = "LIMP") -> tuple[Any, Array]:
    """A mechanism under physics: its rig, and the poses (frames, bodies, 4, 4) of its bodies."""
    from addon.blender.physics.recording.bake import record

    fresh()
    rig = put_world(mechanism, drive, seconds, rate)
    return rig, record(bpy.context.scene, rig, round(seconds * rate) + 1).poses[:, :-1]


def top(spin: float) -> Mechanism:
    """A disc of 1 kg on a massless arm, on a ball joint, leaning by 0.4 rad, with a spin about its axis (rad/s)."""
    pose = np.eye(4)
    pose[:3, :3] = turn(_TILT * Y)
    pose[:3, 3] = pose[:3, :3] @ (_ARM * Z)
    across = 0.25 * _RADIUS**2 + _THICK**2 / 12.0
    disc = Shape("cylinder", {"length": _THICK, "radius": _RADIUS}, collision=False)
    body = Body(
        "disc", "disc", pose, inertia=np.diag([across, across, 0.5 * _RADIUS**2]), shapes=[disc], collidable=False
    )
    before, after = np.eye(4), np.eye(4)
    before[:3, :3], after[2, 3] = pose[:3, :3], -_ARM
    dofs = [Dof("ball", start_rates=(0.0, 0.0, spin))]
    joint = Joint("tip", "tip", "ball", None, "disc", before, after, dofs)
    return Mechanism("top", World(gravity=np.array([0.0, 0.0, -GRAVITY])), bodies=[body], joints=[joint])


def tops() -> Iterator[Row]:
    """A disc's axis after two seconds, and between which angles it nods, for several spins."""
    seconds = 2.0
    for spin in (30.0, 50.0, 100.0, 400.0):
        system = Multibody(top(spin))
        states = system.run(seconds, RATE, max(10, math.ceil(spin / 10.0)))
        there = system.point(states, "disc", system.state[0, :3]) / _ARM
        rig, poses = bodies_of(top(spin), seconds)
        here = poses[:, 0, :3, 3] / _ARM
        off = math.degrees(math.acos(min(float(here[-1] @ there[-1]), 1.0)))
        yield Row(f"top, {spin:g} rad/s: axis after {seconds:g} s", off, "deg", 3.0)
        nods = [np.degrees(np.arccos(np.clip(path[:, 2], -1.0, 1.0))) for path in (here, there)]
        wide = max(abs(nods[0].max() - nods[1].max()), abs(nods[0].min() - nods[1].min()))
        yield Row(f"top, {spin:g} rad/s: by how much it nods further than it should", float(wide), "deg", 3.0)
        told = float(any(line.code == "starts-fast" for line in rig.data.knuckle.report))
        yield Row(f"top, {spin:g} rad/s: its speed is reported as too high for the frames (1: yes)", told, "", None)


def free_chain() -> Mechanism:
    """Five unlike bodies in zero gravity, hinged about skew axes, each hinge with a velocity of its own."""
    generator = np.random.default_rng(3)
    bodies: list[Body] = []
    joints = [Joint("root", "root", "free", None, "b0", dofs=[Dof("free")])]
    joints[0].dofs[0].start_rates = (0.4, -0.3, 0.5, 0.6, -0.2, 0.3)
    for number in range(5):
        size = dict(zip("xyz", generator.uniform(0.2, 0.5, 3).tolist(), strict=True))
        mass = float(generator.uniform(0.5, 3.0))
        moments = [mass / 12.0 * (sum(v**2 for v in size.values()) - size[way] ** 2) for way in "xyz"]
        pose = np.eye(4)
        pose[:3, :3], pose[0, 3] = turn(generator.uniform(-1.0, 1.0, 3)), 0.8 * number
        shape = Shape("box", size, collision=False)
        bodies.append(
            Body(f"b{number}", f"b{number}", pose, mass, inertia=np.diag(moments), shapes=[shape], collidable=False)
        )
        if number:
            frame = np.eye(4)
            frame[:3, :3], frame[0, 3] = turn(generator.uniform(-1.5, 1.5, 3)), 0.8 * number - 0.4
            sides = [np.linalg.inv(bodies[k].pose) @ frame for k in (number - 1, number)]
            rate = float(generator.uniform(-3.0, 3.0))
            name, ends = f"j{number}", (f"b{number - 1}", f"b{number}")
            joints.append(Joint(name, name, "revolute", *ends, *sides, [Dof("rotation", velocity=rate)]))
    joints[0].frame_parent = bodies[0].pose.copy()
    return Mechanism("free chain", World(gravity=np.zeros(3)), bodies=bodies, joints=joints)


def momentum(system: Multibody, state: Array) -> tuple[Array, Array]:
    """Linear momentum (3,) of a system, and its angular momentum (3,) about the origin."""
    from benchmarks.multibody import rotations

    turns = rotations(state[:, 3:7])
    linear = system.masses[:, None] * state[:, 7:10]
    spin = np.einsum("nij,njk,nlk,nl->ni", turns, system.tensors, turns, state[:, 10:])
    return linear.sum(axis=0), (np.cross(state[:, :3], linear) + spin).sum(axis=0)


def states_of(system: Multibody, poses: Array, rate: float) -> Array:
    """States of simulated bodies whose frames are those of the mechanism, by differences of poses."""
    from benchmarks.physics_iftomm import Simulated

    motions = poses @ np.linalg.inv(np.array(system.poses[:-1]))
    return Simulated(motions, list(system.names), "", []).states(system, rate)


def chains() -> Iterator[Row]:
    """A free chain with initial velocities: its momentum and energy after the start, and how well they keep."""
    seconds = 2.0
    mechanism = free_chain()
    system = Multibody(mechanism)
    (linear, angular), energy = momentum(system, system.state), system.energy(system.state)
    for rate in (24, RATE):
        _, poses = bodies_of(mechanism, seconds, rate)
        poses = np.linalg.inv(poses[0, 0] @ np.linalg.inv(mechanism.bodies[0].pose)) @ poses
        states = states_of(system, poses, rate)
        for when, state in (("4 frames", states[1]), (f"{seconds:g} s", states[-1])):
            now, about = momentum(system, state)
            what = f"thrown chain, {rate} frames/s, after {when}"
            off = 100.0 * float(np.linalg.norm(now - linear) / np.linalg.norm(linear))
            yield Row(f"{what}: linear momentum off", off, "%", 0.5)
            off = 100.0 * float(np.linalg.norm(about - angular) / np.linalg.norm(angular))
            yield Row(f"{what}: angular momentum off", off, "%", 0.5)
            yield Row(f"{what}: energy off", 100.0 * (system.energy(state) / energy - 1.0), "%", 1.0)
        there = system.run(seconds, rate, 600 // rate)
        off = float(np.linalg.norm(poses[:, :, :3, 3] - there[..., :3], axis=-1).max())
        yield Row(f"thrown chain, {rate} frames/s, {seconds:g} s: worst place of its bodies", off, "m", 0.02)


def friction() -> Iterator[Row]:
    """A box on a plane under tilted gravity, 1 s: it sticks below Coulomb's threshold and slides as it should above."""
    for mu in (0.2, 0.5, 0.8):
        for share in (0.98, 1.02, 1.2):
            slope = math.atan(share * mu)
            pull = np.array([math.sin(slope), 0.0, -math.cos(slope)]) * GRAVITY
            pose = np.eye(4)
            pose[2, 3] = 0.1
            box = Body("box", "box", pose, 1.0, shapes=[Shape("box", {"x": 1.0, "y": 1.0, "z": 0.2})])
            free = Joint("free", "free", "free", None, "box", pose, dofs=[Dof("free")])
            world = World(gravity=pull, friction=mu, ground=0.0)
            mechanism = Mechanism("slope", world, bodies=[box], joints=[free], source=Source("skel"))
            _, poses = bodies_of(mechanism, 1.0)
            gone = float(poses[-1, 0, 0, 3] - poses[0, 0, 0, 3])
            faster = max(pull[0] + mu * pull[2], 0.0)
            what = f"box on a slope at {share:g} of the friction threshold, mu {mu:g}, 1 s: way off"
            yield Row(what, 1000.0 * (gone - 0.5 * faster), "mm", 2.0)


#: PD arm: lengths (m), masses (kg), targets (rad) and gains. Its tip is light.
_LINKS, _MASSES, _TARGETS = (0.5, 0.4, 0.3), (2.0, 1.0, 0.3), (0.6, -0.8, 0.5)
_STIFFNESS, _DAMPING = (60.0, 20.0, 2.0), (6.0, 2.0, 0.15)


def arm() -> Mechanism:
    """Three links in the vertical plane, level at zero, hinged about -Y so that positive angles rise."""
    bodies, joints, far = [], [], 0.0
    axis = np.eye(4)
    axis[:3, :3] = [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]
    for number, (long, mass) in enumerate(zip(_LINKS, _MASSES, strict=True)):
        pose = np.eye(4)
        pose[0, 3] = far + 0.5 * long
        moments = mass / 12.0 * np.array([0.0032, long**2 + 0.0016, long**2 + 0.0016])
        shape = Shape("box", {"x": long, "y": 0.04, "z": 0.04}, collision=False)
        name, before = f"l{number}", f"l{number - 1}" if number else None
        bodies.append(Body(name, name, pose, mass, inertia=np.diag(moments), shapes=[shape], collidable=False))
        one, other = axis.copy(), axis.copy()
        one[0, 3], other[0, 3] = 0.5 * _LINKS[number - 1] if number else 0.0, -0.5 * long
        joints.append(Joint(f"j{number}", f"j{number}", "revolute", before, name, one, other, [Dof("rotation")]))
        far += long
    return Mechanism("arm", World(gravity=np.array([0.0, 0.0, -GRAVITY])), bodies=bodies, joints=joints)


def balance(targets: Array) -> Array:
    """Joint angles (3,) at which PD torques carry the arm's weight: Newton's method on static equilibrium."""

    def torques(angles: Array) -> Array:
        leans = np.cumsum(angles)
        out = np.zeros(3)
        for number in range(3):
            for body in range(number, 3):
                reach = sum(_LINKS[k] * math.cos(leans[k]) for k in range(number, body))
                out[number] += _MASSES[body] * GRAVITY * (reach + 0.5 * _LINKS[body] * math.cos(leans[body]))
        return np.array(_STIFFNESS) * (targets - angles) - out

    angles = np.array(targets, dtype=np.float64)
    for _ in range(50):
        slope = np.array([(torques(angles + 1e-6 * way) - torques(angles)) / 1e-6 for way in np.eye(3)]).T
        angles = angles - np.linalg.solve(slope, torques(angles))
    return angles


def pd_arm() -> Iterator[Row]:
    """A step of all three targets: where the joints are at rest after it, as a share of the sag under the weight."""
    from addon.blender.physics.recording.bake import record
    from tests.support.mechanisms import objects_of

    for rate in (24, 60):
        fresh()
        rig = put_world(arm(), "KEYS", 6.0, rate)
        joints = objects_of(rig, "JOINT")
        for number, target in enumerate(_TARGETS):
            dof = joints[f"j{number}"].knuckle.joint.dofs[0]
            dof.servo_stiffness, dof.servo_damping = _STIFFNESS[number], _DAMPING[number]
            key(rig, f"j{number}", [(1, 0.0), (2, target)], "CONSTANT")
        rig.data.knuckle.drive, rig.data.knuckle.law = "SERVO", "PD"
        values = record(bpy.context.scene, rig, 6 * rate + 1).values
        there = balance(np.array(_TARGETS))
        sag = np.abs(there - _TARGETS)
        for number in range(3):
            off = 100.0 * abs(float(values[-1, number] - there[number])) / float(sag[number])
            what = f"PD step of an arm with a light tip, {rate} frames/s, joint {number}"
            yield Row(f"{what}: steady error / sag", off, "%", 5.0)
            ring = float(np.ptp(values[-rate:, number]))
            yield Row(f"{what}: ringing in the last second", ring, "rad", None)


PARTS: dict[str, Callable[[], Iterator[Any]]] = {
    "tops": tops, "thrown_chain": chains, "contact_friction": friction, "pd_arm": pd_arm,
}  # fmt: skip


def main(arguments: list[str]) -> int:
    """Print the table; 1 where a threshold is missed."""
    return physics.main(["--only", "physics_starts", *arguments])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
