"""Mechanisms as MJCF: MuJoCo itself swings, falls and screws them as the laws of mechanics have it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from addon.core.mjcf import mujoco_obstacles, to_mjcf
from addon.core.model import Array, Body, Dof, Joint, Mechanism, Restraint, Shape, World
from tests.support.references import mujoco_missing
from tests.support.swings import chain, period

G = 9.81
STEP = 0.0005


def solid(mechanism: Mechanism) -> Mechanism:
    """With the moments of inertia of its boxes."""
    for body in mechanism.bodies:
        x, y, z = (body.shapes[0].size[axis] for axis in "xyz")
        body.inertia = body.mass / 12.0 * np.diag([y * y + z * z, x * x + z * z, x * x + y * y])
    return mechanism


def block(name: str, pose: Array | None = None, mass: float = 1.0, **options: Any) -> Body:
    """A box of a meter."""
    shape = Shape("box", {"x": 1.0, "y": 1.0, "z": 1.0})
    return Body(name, name, np.eye(4) if pose is None else pose, mass, inertia=np.eye(3) * mass / 6.0, shapes=[shape],
                **options)  # fmt: skip


def run(mechanism: Mechanism, seconds: float, **options: Any) -> tuple[Any, dict[str, Array]]:
    """Simulate in MuJoCo; the model, and the poses (n, 4, 4) of each body at all steps."""
    why = mujoco_missing()
    if why:
        pytest.skip(why)
    import mujoco

    made = to_mjcf(mechanism, STEP, **options)
    simulated = mujoco.MjModel.from_xml_string(made.text)
    data = mujoco.MjData(simulated)
    mujoco.mj_forward(simulated, data)
    poses: dict[str, list[Array]] = {body: [] for body in made.bodies}
    for _ in range(round(seconds / STEP) + 1):
        for body, name in made.bodies.items():
            place, pose = data.body(name), np.eye(4)
            pose[:3, :3], pose[:3, 3] = place.xmat.reshape(3, 3), place.xpos
            poses[body].append(pose)
        mujoco.mj_step(simulated, data)
    return simulated, {body: np.array(own) for body, own in poses.items()}


@pytest.mark.parametrize("is_reversed", [False, True])
def test_a_pendulum_has_its_period(is_reversed: bool) -> None:
    """By the elliptic integral, also where the joint's parent is the link and its child the world."""
    amplitude = 1.0
    mechanism = solid(chain(1.0, links=1, lean=amplitude))
    if is_reversed:
        (joint,) = mechanism.joints
        joint.parent, joint.child = joint.child, joint.parent
        joint.frame_parent, joint.frame_child = joint.frame_child, joint.frame_parent
    poses = run(mechanism, 2.5)[1]["link 0"]
    angles = np.arctan2(poses[:, 0, 3], -poses[:, 2, 3])
    falls = np.flatnonzero((angles[:-1] > 0.0) & (angles[1:] <= 0.0))
    crossings = (falls + angles[falls] / (angles[falls] - angles[falls + 1])) * STEP
    assert np.diff(crossings)[0] == pytest.approx(period(1.0, amplitude), rel=1e-3)


def test_a_nut_runs_down_its_screw() -> None:
    """With the acceleration g m / (m + I / p^2), p being the pitch per radian."""
    pitch = 0.3
    nut = Joint("screw", "screw", "screw", None, "nut", dofs=[Dof("screw", pitch=pitch)])
    poses = run(Mechanism("screw", World(), [block("nut")], [nut]), 1.0)[1]["nut"]
    assert poses[-1, 2, 3] == pytest.approx(-0.5 * G / (1.0 + 1.0 / 6.0 / pitch**2), rel=2e-3)
    turned = math.atan2(poses[100, 1, 0], poses[100, 0, 0])
    assert poses[100, 2, 3] == pytest.approx(pitch * turned, rel=3e-3)


def test_axes_of_a_universal_joint_are_taken_at_their_initial_values() -> None:
    """Held by stops at its initial values, which are not zero, it stays where it is under gravity."""
    dofs = [
        Dof("rotation", np.array([1.0, 0.0, 0.0]), lower=0.5, upper=0.5001, position=0.5),
        Dof("rotation", np.array([0.0, 1.0, 0.0]), lower=-0.7, upper=-0.6999, position=-0.7),
    ]
    from addon.core.kinematics import spanning_tree

    arm = np.eye(4)
    arm[0, 3] = -1.0
    mechanism = Mechanism(
        "arm", World(), [block("arm")], [Joint("u", "u", "universal", None, "arm", np.eye(4), arm, dofs)]
    )
    mechanism.bodies[0].pose = spanning_tree(mechanism).forward({"u": np.array([[0.5, -0.7]])})[0, 0]
    poses = run(mechanism, 0.5)[1]["arm"]
    assert np.abs(poses[-1] - poses[0]).max() < 0.02


@pytest.mark.parametrize(("slope", "slides"), [(0.4, False), (0.6, True)])
def test_friction_of_a_pair_is_the_product_of_both(slope: float, slides: bool) -> None:
    """A box on a tilted immobile one: it creeps at most where the slope is below the coefficient, and slides above."""
    turn, lifted = np.eye(4), np.eye(4)
    angle = math.atan(slope)
    turn[:3, :3] = [[math.cos(angle), 0.0, math.sin(angle)], [0.0, 1.0, 0.0], [-math.sin(angle), 0.0, math.cos(angle)]]
    lifted[2, 3] = 1.0
    bodies = [block("ramp", turn @ np.diag([1.0, 1.0, 1.0, 1.0]), immobile=True), block("box", turn @ lifted)]
    friction = {"ramp": 0.5, "box": 1.0}
    poses = run(Mechanism("ramp", World(), bodies), 0.3, pairs=[("ramp", "box")], friction=friction)[1]["box"]
    way = float(np.linalg.norm(poses[-1, :3, 3] - poses[0, :3, 3]))
    expected = 0.5 * G * (math.sin(angle) - 0.5 * math.cos(angle)) * 0.09
    assert way == pytest.approx(expected, rel=0.1) if slides else way < 0.01


def test_what_mujoco_cannot_take_is_refused_with_the_reason() -> None:
    def reasons(*joints: Joint, bodies: tuple[Body, ...] = (), **options: Any) -> list[str]:
        every = [block("a"), block("b"), *bodies]
        return mujoco_obstacles(Mechanism("m", World(), every, [*joints], **options))

    hinge = Joint("h", "hinge", "revolute", "a", "b", dofs=[Dof("rotation")])
    assert reasons(hinge) == []
    slider = Joint("s", "slider", "prismatic", "a", "b", dofs=[Dof("translation")])
    assert reasons(hinge, slider) == ["Joint 'slider' closes a loop and is neither a hinge nor a ball joint"]
    damped = Joint("d", "damped", "revolute", "a", "b", dofs=[Dof("rotation", damping=1.0)])
    assert reasons(hinge, damped) == ["Joint 'damped' closes a loop and has stops, a spring, damping or friction"]
    ball = Joint("o", "ball", "ball", "a", "b", dofs=[Dof("ball", parts=[Dof("rotation", lower=0.0)])])
    assert reasons(ball) == ["Joint 'ball' has stops, springs, damping or friction for single axes"]
    empty = Body("c", "ghost", mass=0.0, inertia=np.zeros((3, 3)))
    assert reasons(hinge, bodies=(empty,)) == ["Body 'ghost' has no mass or no moment of inertia"]
    assert reasons(hinge, restraints=[Restraint("spring")]) == [
        "The mechanism has springs, dampers or friction between two points, or with a force law"
    ]
    with pytest.raises(ValueError, match="MuJoCo cannot simulate this mechanism: Body 'ghost'"):
        to_mjcf(Mechanism("m", World(), [block("a"), empty]))
