"""The PD law, against the oscillator that it is; and gains that are chosen."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from addon.core.model import Array
from tests.blender.build.test_degrees import Z, put, rotations, slides
from tests.blender.emptied import empty_file
from tests.blender.mechanisms import key, objects_of, play
from tests.blender.physics.test_several_servos import beside, motion
from tests.blender.physics.test_springs import FRAME, INERTIA, MASS, angle, hung, moved

PULL = 4.0


def response(scene: Any, stiffness: float, damping: float, limit: float = 0.0, frames: int = 121) -> Array:
    """Where a mass on a slide is that a PD servo holds at 0 and a pull takes away."""
    (dof,) = dofs = slides(Z)
    dof.max_force = limit
    rig = put(hung(*dofs, gravity=FRAME[:3, 2] * PULL), physics=True)
    record = objects_of(rig, "JOINT")["j"].knuckle.joint.dofs[0]
    record.servo_stiffness, record.servo_damping = stiffness, damping
    rig.data.knuckle.drive, rig.data.knuckle.law = "SERVO", "PD"
    return np.array(play(scene, frames, lambda: float(moved(rig)[2, 3])))


def stepped(scene: Any, stiffness: float, damping: float, interpolation: str = "CONSTANT", rate: int = 60) -> Array:
    """Where that mass is, without a pull, from the frame on in which its keys jump to 1, for a second."""
    scene.render.fps = rate
    rig = put(hung(*slides(Z)), physics=True, adapt_scene=False)
    record = objects_of(rig, "JOINT")["j"].knuckle.joint.dofs[0]
    record.servo_stiffness, record.servo_damping = stiffness, damping
    key(rig, "j", [(1, 0.0), (10, 0.0), (11, 1.0)], interpolation)
    rig.data.knuckle.drive, rig.data.knuckle.law = "SERVO", "PD"
    return np.array(play(scene, rate + 11, lambda: float(moved(rig)[2, 3])))[10:]


def answer(stiffness: float, damping: float, time: Array) -> Array:
    """What a damped oscillator does to a step: 1 - exp(-zwt) (cos wd t + zw / wd sin wd t)."""
    decay = damping / (2 * MASS)
    free = np.sqrt(complex(stiffness / MASS - decay**2))
    return np.real(1 - np.exp(-decay * time) * (np.cos(free * time) + decay / free * np.sin(free * time)))


def deviation(values: Array, stiffness: float, damping: float) -> float:
    """How far a response to the pull is, as a share of the sag."""
    sag, time = MASS * PULL / stiffness, np.arange(len(values)) / 60
    return float(np.abs(values - sag * answer(stiffness, damping, time)).max() / sag)


@pytest.mark.parametrize(
    ("stiffness", "damping", "within"), [(50, 2, 0.015), (200, 4, 0.03), (200, 16, 0.02), (800, 16, 0.06)]
)
def test_a_servo_is_a_spring_and_damper(blank: Any, stiffness: float, damping: float, within: float) -> None:
    assert deviation(response(blank.scene, stiffness, damping), stiffness, damping) < within


@pytest.mark.parametrize("interpolation", ["CONSTANT", "LINEAR"])
@pytest.mark.parametrize(
    ("stiffness", "damping", "rate", "within"),
    [(50, 2, 60, 0.015), (200, 16, 60, 0.02), (200, 44, 60, 0.02), (2000, 126, 60, 0.06), (200, 44, 24, 0.08)],
)
def test_keys_that_jump_do_not_kick(
    blank: Any, stiffness: float, damping: float, rate: int, within: float, interpolation: str
) -> None:
    """The damper is against the speed of the mass; a jump of the keys has none. Over a frame or within none."""
    values = stepped(blank.scene, stiffness, damping, interpolation, rate)
    expected = answer(stiffness, damping, np.arange(len(values)) / rate)
    assert np.abs(values - expected).max() < within
    assert values.max() < expected.max() + 0.005


def test_a_jump_does_not_kick_joints_of_several_degrees(blank: Any) -> None:
    """Chosen gains are damped critically: without a kick, nothing goes past the target."""
    from addon.blender.animation.keying import LINEAR, key_servos

    arm = np.zeros(3)
    rig = put(beside(rotations(Z, np.eye(3)[0]), arm, np.zeros(3)), physics=True)
    values = np.outer(np.arange(61) > 10, [0.5, -0.4])
    key_servos(rig, "Motion", {"j": (np.arange(1.0, 62.0), values, LINEAR)})
    rig.data.knuckle.drive, rig.data.knuckle.law = "SERVO", "PD"
    found = np.array([m[0, 2] for m in play(blank.scene, 61, lambda: motion(rig, arm))])
    wanted = math.sin(0.5) * math.sin(-0.4)  # J = Rz(a) Rx(b), of which this is sin a sin b
    assert found[-1] == pytest.approx(wanted, abs=2e-3)
    assert np.abs(found).max() < abs(wanted) * 1.01
    assert abs(found[13]) < 0.1 * abs(wanted), "not there within three frames"


@pytest.mark.parametrize(("stiffness", "damping"), [(1e4, 250), (1e6, 0), (1e6, 1e3), (1e9, 1e6)])
def test_stiff_gains_do_not_shake(blank: Any, stiffness: float, damping: float) -> None:
    values = response(blank.scene, stiffness, damping, frames=60)
    assert np.abs(values).max() < 1.5 * PULL / 60**2 + MASS * PULL / stiffness


def test_a_limit_is_a_limit_under_pd(blank: Any) -> None:
    """What is over it accelerates, but for the first moments in which the spring is not that far."""
    weight = MASS * PULL
    values = response(blank.scene, 1e5, 0.0, limit=0.9 * weight, frames=61)
    assert np.diff(values[-30:], 2).mean() * 3600 == pytest.approx(0.1 * PULL, rel=0.02)


def test_gains_that_are_not_given_are_chosen_for_what_the_servo_moves(blank: Any) -> None:
    """Four hertz whatever the load: the sag is that of (8 pi)^2 per unit of inertia."""
    values = response(blank.scene, 0.0, 0.0)
    assert values[-1] == pytest.approx(PULL / (8 * math.pi) ** 2, rel=0.01)
    assert values.max() < 1.1 * values[-1]


def test_and_so_for_a_hinge(blank: Any) -> None:
    import bpy

    for dofs in (rotations(Z), rotations(Z, np.eye(3)[0])):
        empty_file()
        arm = np.array([0.5, 0.0, 0.0])
        rig = put(beside(dofs, arm, np.array([0.0, PULL, 0.0])), physics=True)
        rig.data.knuckle.drive, rig.data.knuckle.law = "SERVO", "PD"
        last = play(bpy.context.scene, 91, lambda rig=rig, arm=arm: motion(rig, arm))[-1]
        sag = MASS * PULL * 0.5 / ((INERTIA + MASS * 0.25) * (8 * math.pi) ** 2)
        assert angle(2)(last) == pytest.approx(sag, rel=0.01)


def test_keys_lead_a_pd_servo_with_their_speed(blank: Any) -> None:
    """No error of speed: on a straight ramp it comes to lag by nothing."""
    rig = put(hung(*rotations(Z)), physics=True)
    key(rig, "j", [(1, 0.0), (121, 2.0)])
    rig.data.knuckle.drive, rig.data.knuckle.law = "SERVO", "PD"
    values = np.array(play(blank.scene, 121, lambda: angle(2)(moved(rig))))
    assert values[-1] == pytest.approx(2.0, abs=0.005)
