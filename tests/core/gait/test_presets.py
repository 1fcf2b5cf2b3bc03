"""Input presets: which way mechanisms go at which inputs, against independent simulations of the same files in ODE."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from addon import formats
from addon.core.gait.engine import find_gait
from addon.core.gait.presets import INPUT_PRESETS, GaitTrial, GroundVelocity, InputValues, find_input_presets
from addon.core.model import Mechanism
from addon.core.up_axis import rotate_mechanism
from tests.support.references import CORPUS
from tests.support.scenes import OWN

HEXAPOD, ROVER = OWN / "hexapod/hexapod.jm", OWN / "rover/rover.jm"
Y, X, R = "joystick 1 y", "joystick 1 x", "joystick 1 r"

#: Speeds to the right and forward (length units/s) and turning rates (rad/s) that ODE 0.16 came to in 20 s, and how
#: many times as fast a mechanism may go here: what rolls does not slip, what walks does.
ODE: list[tuple[str, InputValues, tuple[float, float, float], float]] = [
    ("SimpleHex", {Y: -1.0}, (0.0, 3.34, 0.0), 2.0),
    ("SimpleHex", {X: 1.0}, (3.06, 0.0, 0.0), 3.0),
    ("SimpleHex", {R: 1.0}, (-0.8, 1.32, math.radians(-27.2)), 3.0),
    ("simpleant2", {}, (0.0, 4.31, 0.0), 2.0),
    ("Quadrapod3_bak", {}, (0.0, -3.0, 0.0), 2.0),
    ("Dihno2", {}, (0.0, 3.82, 0.0), 2.0),
    ("bigsixpack", {Y: -1.0}, (0.0, 50.1, 0.0), 1.05),
    ("sixpack_notoys", {Y: -1.0}, (0.0, 9.86, 0.0), 1.05),
    ("Segwack1", {}, (0.0, 0.0, 0.0), 1.0),
]


def loaded(path: Any) -> Mechanism:
    if not path.exists():
        pytest.skip(f"{path.name} is not here")
    return formats.load(path)


@pytest.mark.parametrize(("name", "inputs", "expected", "ratio"), ODE)
def test_travel_has_the_direction_and_about_the_speed_of_ode(
    name: str, inputs: InputValues, expected: tuple[float, float, float], ratio: float
) -> None:
    mechanism = loaded(CORPUS / f"juice/models/{name}.jm")
    gait = find_gait(mechanism)
    assert gait is not None
    trial = GaitTrial(gait)
    found = trial.travel(inputs)
    right, forward, turn = found.right * trial.size, found.forward * trial.size, found.turn
    if expected == (0.0, 0.0, 0.0):
        assert found.speed < 0.01
        return
    if expected[2]:  # turning in place counts by its rate
        assert 1.0 / ratio < turn / expected[2] < ratio
        return
    speed = math.hypot(right, forward)
    assert (right * expected[0] + forward * expected[1]) / speed > math.hypot(*expected) * math.cos(math.radians(20))
    assert 1.0 / ratio < speed / math.hypot(*expected) < ratio


def test_presets_of_the_samples() -> None:
    assert find_input_presets(loaded(HEXAPOD)) == {
        "STAND": {},
        "FORWARD": {Y: -1.0},
        "BACKWARD": {Y: 1.0},
        "TURN_LEFT": {X: -1.0},
        "TURN_RIGHT": {X: 1.0},
    }
    rover = find_input_presets(loaded(ROVER))
    assert list(rover) == list(INPUT_PRESETS)
    assert rover["FORWARD"] == {Y: -1.0}
    # it steers, so it has to go to turn
    assert rover["TURN_LEFT"] == {X: -1.0, Y: -1.0}
    assert rover["TURN_RIGHT"] == {X: 1.0, Y: -1.0}


def test_what_does_not_go_has_no_preset_to_go() -> None:
    assert find_input_presets(loaded(CORPUS / "juice/models/Backhoe.jm")) == {"STAND": {}}
    assert find_input_presets(Mechanism()) == {}
    assert find_input_presets(loaded(OWN / "desk_lamp/desk_lamp.skel")) == {}


def test_a_mechanism_that_walks_by_itself_does_so_with_all_inputs_at_rest() -> None:
    found = find_input_presets(loaded(CORPUS / "juice/models/Dihno2.jm"))
    assert found["FORWARD"] == {}
    assert "STAND" not in found


def test_input_presets_do_not_depend_on_names() -> None:
    mechanism = loaded(HEXAPOD)
    expected = find_input_presets(mechanism)
    mechanism.name = mechanism.source.path = ""
    for part in (*mechanism.bodies, *mechanism.joints):
        part.name = part.id
    assert find_input_presets(mechanism) == expected


def test_the_file_may_lie_on_its_side() -> None:
    mechanism = loaded(CORPUS / "juice/models/sixpack_notoys.jm")
    gait = find_gait(mechanism)
    assert gait is not None and not gait.feedback_bodies, "what it feels would turn as well"
    on_its_side = np.eye(4)
    on_its_side[:3, :3] = [[1, 0, 0], [0, 0, 1], [0, -1, 0]]  # up is Y
    assert find_input_presets(rotate_mechanism(mechanism, on_its_side)) == find_input_presets(mechanism) != {}


def test_a_gait_wired_the_other_way_round_has_the_presets_exchanged() -> None:
    mechanism = loaded(HEXAPOD)
    gait = find_gait(mechanism)
    assert gait is not None
    forward = GaitTrial(gait).travel({Y: -1.0})
    gait.engine.standard_speed *= -1.0
    back = GaitTrial(gait).travel({Y: -1.0})
    assert back.forward == pytest.approx(-forward.forward, rel=0.1)
    found = find_input_presets(mechanism)
    assert found["FORWARD"] == {Y: 1.0}
    assert found["TURN_LEFT"] == {X: 1.0}


def test_speed_counts_all_of_the_motion() -> None:
    assert GroundVelocity(3.0, 4.0, 0.0).speed == pytest.approx(5.0)
    assert GroundVelocity(0.0, 0.0, -2.0).speed == pytest.approx(1.0)
