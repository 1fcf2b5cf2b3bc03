"""The PD law, against the oscillator that it is; and gains that are chosen."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.support.degrees_helpers import Z, put, rotations, slides
from tests.support.emptied import empty_file
from tests.support.mechanisms import key, play
from tests.support.pd_helpers import PULL, answer, deviation, response, stepped
from tests.support.several_servos_helpers import beside, motion
from tests.support.springs_helpers import FRAME, INERTIA, MASS, angle, cube_on_joint, moved


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


def test_gains_that_are_not_given_are_chosen_for_a_hinge_too(blank: Any) -> None:
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
    rig = put(cube_on_joint(*rotations(Z)), physics=True)
    key(rig, "j", [(1, 0.0), (121, 2.0)])
    rig.data.knuckle.drive, rig.data.knuckle.law = "SERVO", "PD"
    values = np.array(play(blank.scene, 121, lambda: angle(2)(moved(rig))))
    assert values[-1] == pytest.approx(2.0, abs=0.005)


def _pd(stiffness: float, damping: float, heavier: float = 1.0, load: float = 0.3, frames: int = 200) -> Any:
    """Positions and forces of a unit mass under ``ImplicitPd`` with target 0 from 1 on, in 60 frames of 10 steps per
    second; it is as heavy as told besides, which the law does not know, and loaded."""
    from addon.blender.physics.actuators.control_laws import ImplicitPd, ServoErrors, Servos

    no = np.zeros(1, dtype=bool)
    servos = Servos(no, *(np.array([each]) for each in (0.0, stiffness, damping, 1e9)), no, no, no)
    law, (place, speed, mean), step = ImplicitPd(), (1.0, 0.0, 0.0), 1.0 / 600.0
    places, forces = [], []
    for _ in range(frames):
        errors = ServoErrors(np.zeros(1), np.array([-place]), np.zeros(1), np.array([mean]))
        velocity, force = (
            float(each[0]) for each in law.commands(servos, servos.pd_gains(), errors, np.eye(1), 60.0, 10)
        )
        before = place
        for _ in range(10):  # as Blender's motor: towards the velocity, with no more than the force
            needed = heavier * (velocity - speed) / step - load
            speed += step * (load + min(max(needed, -abs(force)), abs(force))) / heavier
            place += step * speed
        mean = 60.0 * (place - before)
        places.append(place)
        forces.append(force)
    return np.array(places), np.array(forces)


@pytest.mark.parametrize("damping", [20.0, 60.0, 200.0, 600.0, 6e3, 6e5])
@pytest.mark.parametrize("heavier", [1.0, 3.0, 10.0])
def test_dampers_of_any_strength_settle(damping: float, heavier: float) -> None:
    """From a third to ten thousand times what stops the mass within a frame: it creeps to where the spring carries the
    load and does not ring, also where it is as heavy as told, and held, by what the law does not know."""
    stiffness = 2.0 * damping
    places, forces = _pd(stiffness, damping, heavier, frames=400)
    assert places[-1] == pytest.approx(0.3 / stiffness, abs=2e-3)
    assert np.abs(np.diff(places[-50:])).max() < 2e-3
    assert np.abs(np.diff(forces[-50:])).max() < 0.02 * stiffness


@pytest.mark.parametrize(("stiffness", "damping"), [(20.0, 1.0), (200.0, 3.0), (900.0, 12.0)])
def test_weak_gains_oscillate_as_the_law_does(stiffness: float, damping: float) -> None:
    places, _ = _pd(stiffness, damping, frames=60)
    time = np.arange(1, 61) / 60.0
    decay, mean = damping / 2.0, 0.3 / stiffness
    free = math.sqrt(stiffness - decay**2)
    wanted = mean + (1.0 - mean) * np.exp(-decay * time) * (np.cos(free * time) + decay / free * np.sin(free * time))
    assert np.abs(places - wanted).max() < 0.03


@pytest.mark.parametrize(("cfm", "gain"), [(0.01, 100.0), (0.002, 100.0), (0.01, 400.0)])
def test_a_servo_of_juice_gives_by_its_softness(blank: Any, cfm: float, gain: float) -> None:
    """ODE's motor under a load u has the velocity that it is told less CFM u: the two are equal where it is at rest."""
    (dof,) = dofs = slides(Z)
    dof.gain, dof.max_force = gain, 1e4
    rig = put(cube_on_joint(*dofs, gravity=FRAME[:3, 2] * PULL), physics=True)
    rig.data.knuckle.cfm = cfm
    rig.data.knuckle.drive, rig.data.knuckle.law = "SERVO", "JUICE"
    values = play(blank.scene, 121, lambda: float(moved(rig)[2, 3]))
    assert values[-1] == pytest.approx(MASS * PULL * cfm / (gain / 10.0), rel=0.02)


@pytest.mark.parametrize("rate", [24, 60])
def test_a_light_tip_carries_its_weight_where_the_law_says(blank: Any, rate: int) -> None:
    """A step of all targets of an arm whose tip turns by its damper's force within a frame: it comes to rest."""
    from addon.blender.physics.recording.bake import record
    from benchmarks import physics_starts as arms
    from tests.support.mechanisms import objects_of
    from tests.support.swings import put_world

    rig = put_world(arms.arm(), "KEYS", 4.0, rate)
    joints = objects_of(rig, "JOINT")
    for number, target in enumerate(arms._TARGETS):
        dof = joints[f"j{number}"].knuckle.joint.dofs[0]
        dof.servo_stiffness, dof.servo_damping = arms._STIFFNESS[number], arms._DAMPING[number]
        key(rig, f"j{number}", [(1, 0.0), (2, target)], "CONSTANT")
    rig.data.knuckle.drive, rig.data.knuckle.law = "SERVO", "PD"
    values = record(blank.scene, rig, 4 * rate + 1).values
    there = arms.balance(np.array(arms._TARGETS))
    assert values[-1] == pytest.approx(there, abs=2e-3)
    assert np.ptp(values[-rate // 2 :], axis=0).max() < 2e-3
