"""A gait read off on a grid of times."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from addon.core.gait.behaviors import (
    Clockwork,
    ClockworkMotor,
    Engine,
    GaitBehaviors,
    Network,
    NetworkEdge,
    NetworkNode,
)
from addon.core.gait.engine import find_gait, report_inputs, sample_gait
from addon.core.model import Body, Dof, Joint, Mechanism, Source
from addon.core.report import FormatError, Report

TURN = 2 * math.pi


def model(*does: object, sign: float = 1.0) -> Mechanism:
    """A leg that turns against its trunk, and an engine of a turn a second."""
    hinge = Joint("knee", "Knee", "revolute", "trunk", "leg", dofs=[Dof("rotation", file_sign=sign)])
    bodies = [Body("trunk", "Trunk"), Body("leg", "Leg")]
    return Mechanism(
        "walker", bodies=bodies, joints=[hinge], behaviours=GaitBehaviors(Engine(60, 1.0, 0.0, 0.0), [*does])
    )


def swinging(amplitude: float = 30.0, control: int = 0) -> Clockwork:
    return Clockwork(motors=[ClockworkMotor("knee", motion=1, amplitude=amplitude)], source=1, amp_mod=control)


def wheel() -> Network:
    """A speed that is a sine of two turns per turn of the engine."""
    nodes = [
        NetworkNode("e", "source", source=1),
        NetworkNode("w", "wave", duty_cycle=100, output_range=3.0, output_offset=1.0),
        NetworkNode("m", "motor", joint="knee", velocity=True),
    ]
    return Network(nodes=nodes, edges=[NetworkEdge("e", "w", 2.0), NetworkEdge("w", "m", 1.0)])


@pytest.mark.parametrize(
    ("seconds", "step", "count"), [(1.0, 0.032, 32), (0.96, 0.032, 31), (0.1, 0.03, 4), (0.01, 1, 1)]
)
def test_the_grid_goes_from_zero_to_the_end_or_just_before(seconds: float, step: float, count: int) -> None:
    (track,) = sample_gait(model(swinging()), {}, seconds, step).trajectories
    assert track.times == pytest.approx(np.arange(count) * step, abs=1e-12)
    assert track.values == pytest.approx(np.radians(30) * np.sin(TURN * np.arange(count) * step), abs=1e-12)


def test_controls_are_held() -> None:
    (track,) = sample_gait(model(swinging(control=2)), {"joystick 1 y": -0.5}, 1.0, 0.1).trajectories
    assert track.values == pytest.approx(-np.radians(15) * np.sin(TURN * track.times), abs=1e-12)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("step", [0.001, 0.032, 0.25, 1.0])
def test_a_wheel_has_turned_by_the_integral_of_its_speed_however_coarse_the_grid(step: float, sign: float) -> None:
    """The integral of 1 + 3 sin(4 pi t). Between steps of a quarter of a second the speed is not what it is at them."""
    (track,) = sample_gait(model(wheel(), sign=sign), {}, 3.0, step).trajectories
    wanted = track.times + 3 * (1 - np.cos(2 * TURN * track.times)) / (2 * TURN)
    assert track.values == pytest.approx(sign * wanted, abs=2e-4)
    assert track.times == pytest.approx(np.arange(len(track.times)) * step)


def test_a_model_without_a_gait_is_refused() -> None:
    mechanism = model()
    mechanism.source = Source(path="walker.jm")
    with pytest.raises(FormatError, match=r"^walker.jm: 'walker' has no gait\. Choose a motion"):
        sample_gait(mechanism, {}, 1.0, 0.032)


def test_controls_that_are_not_heard_or_go_too_far_are_told() -> None:
    report = Report()
    report_inputs(find_gait(model(swinging(control=2))), {"joystick 1 y": 0.5, "joystick 2 x": 0.5}, report)
    assert [entry.code for entry in report.entries] == ["input-unheard"]
    assert "it reads joystick 1 y" in report.entries[0].message
    report = Report()
    report_inputs(None, {"joystick 1 y": -2.0}, report)
    assert [entry.code for entry in report.entries] == ["input-far", "input-unheard"]
    assert "it reads none" in report.entries[1].message


def test_the_hexapod_steps_once_in_a_turn_of_its_engine(sample_models: Path) -> None:
    from addon import formats

    mechanism = formats.load(sample_models / "hexapod" / "hexapod.jm")
    engine = mechanism.behaviours.engine
    period = 60 / (engine.standard_speed * engine.speed_factor)
    motion = sample_gait(mechanism, {"joystick 1 y": -1.0}, engine.pose_delay + 3 * period, period / 50)
    legs = [each for each in motion.trajectories if each.name.endswith(("Swing", "Lift", "Knee"))]
    assert len(legs) == 18
    for each in legs:
        running = each.values[each.times >= engine.pose_delay + period / 50]
        assert np.ptp(running) > np.radians(5), each.name
        assert running[:50] == pytest.approx(running[50:100], abs=1e-9), each.name
