"""Live Input: keys held down become values of inputs and servos."""

from __future__ import annotations

import math

import numpy as np
import pytest

from addon.core.gait.live_input import AXIS_KEYS, KEY_AXES, InputBinding, LiveInput, ServoBinding, bind_inputs

RATE = 1.0 / 60.0
Y, X, Z, R = (f"joystick 1 {letter}" for letter in "yxzr")
HEXAPOD = {"STAND": {}, "FORWARD": {Y: -1.0}, "BACKWARD": {Y: 1.0}, "TURN_LEFT": {X: -1.0}, "TURN_RIGHT": {X: 1.0}}


def forward(**options: float) -> LiveInput:
    return LiveInput([InputBinding(Y, "UP_DOWN", -1.0, 1.0)], **options)  # type: ignore[arg-type]


def test_keys_of_axes_are_each_of_one_axis() -> None:
    keys = [key for axis in KEY_AXES.values() for key in (*axis.positive, *axis.negative)]
    assert len(keys) == len(set(keys)) == len(AXIS_KEYS)
    assert not AXIS_KEYS & {"R", "SPACE", "ESC"}, "they have a meaning of their own"


@pytest.mark.parametrize("key", ["W", "UP_ARROW"])
def test_a_held_key_brings_its_input_to_the_end_and_lets_it_go_back(key: str) -> None:
    live = forward()
    assert live.input_values == {Y: 0.0}
    assert live.press(key)
    live.step(RATE)
    assert -1.0 < live.input_values[Y] < 0.0, "not at once"
    for _ in range(120):
        live.step(RATE)
    assert live.input_values == {Y: -1.0}
    assert live.release(key)
    for _ in range(120):
        live.step(RATE)
    assert live.input_values == {Y: 0.0}


@pytest.mark.parametrize("rate", [24.0, 60.0])
def test_smoothing_is_a_time_and_not_a_number_of_frames(rate: float) -> None:
    live = forward(smoothing=0.25)
    live.press("W")
    for _ in range(round(rate / 4.0)):
        live.step(1.0 / rate)
    assert live.input_values[Y] == pytest.approx(math.exp(-1.0) - 1.0, abs=1e-6)
    assert live.axes["UP_DOWN"] == pytest.approx(1.0 - math.exp(-1.0), abs=1e-6)


def test_without_smoothing_a_key_acts_at_once_and_opposite_keys_cancel() -> None:
    live = forward(smoothing=0.0)
    live.press("W")
    live.press("UP_ARROW")
    live.step(RATE)
    assert live.input_values == {Y: -1.0}
    live.release("W")
    live.step(RATE)
    assert live.input_values == {Y: -1.0}, "its other key is held"
    live.press("S")
    live.step(RATE)
    assert live.input_values == {Y: 0.0}
    live.release_all()
    live.press("DOWN_ARROW")
    live.step(RATE)
    assert live.input_values == {Y: 1.0}


def test_other_keys_are_not_taken() -> None:
    live = forward(smoothing=0.0)
    assert not live.press("F") and not live.release("F")
    live.step(RATE)
    assert live.input_values == {Y: 0.0}


def test_an_input_rests_where_its_mechanism_stands() -> None:
    live = forward(smoothing=0.0)
    live.rest = {Y: 0.5}
    assert live.input_values == {Y: 0.5}
    live.press("W")
    live.step(RATE)
    assert live.input_values == {Y: -1.0}


def test_a_servo_stays_where_the_keys_left_it_within_its_stops() -> None:
    live = LiveInput(servos=[ServoBinding("Neck", "E_Q", 2.0, 0.25, -1.0, 0.5)], smoothing=0.0)
    assert live.servo_values == {"Neck": 0.25}
    live.press("E")
    live.step(0.1)
    assert live.servo_values["Neck"] == pytest.approx(0.45)
    live.release("E")
    live.step(0.1)
    assert live.servo_values["Neck"] == pytest.approx(0.45)
    live.press("E")
    live.step(0.1)
    assert live.servo_values == {"Neck": 0.5}
    live.release_all()
    live.press("Q")
    live.step(5.0)
    assert live.servo_values == {"Neck": -1.0}
    live.restart()
    assert live.servo_values == {"Neck": 0.25} and live.held == {"Q"}


def test_values_are_what_keyframes_can_hold() -> None:
    live = LiveInput([InputBinding(X, "E_Q")], [ServoBinding("Neck", "E_Q", 1.1, 0.1)])
    live.press("E")
    for _ in range(9):
        live.step(RATE)
        for value in (*live.input_values.values(), *live.servo_values.values()):
            assert value == float(np.float32(value))


def test_the_same_keys_at_the_same_frames_give_the_same_values() -> None:
    def run() -> list[dict[str, float]]:
        live, out = forward(), []
        for frame in range(40):
            {3: live.press, 20: live.release}.get(frame, lambda _key: None)("W")
            live.step(RATE)
            out.append(live.input_values)
        return out

    assert run() == run() != [{Y: 0.0}] * 40


def test_presets_choose_the_axes() -> None:
    assert bind_inputs([X, Y, R], HEXAPOD) == [
        InputBinding(Y, "UP_DOWN", -1.0, 1.0),
        InputBinding(X, "RIGHT_LEFT", 1.0, -1.0),
        InputBinding(R, "E_Q", 1.0, -1.0),
    ]


def test_steering_does_not_drive() -> None:
    presets = HEXAPOD | {"TURN_LEFT": {X: -1.0, Y: -1.0}, "TURN_RIGHT": {X: 1.0, Y: -1.0}}
    assert bind_inputs([X, Y], presets) == [
        InputBinding(Y, "UP_DOWN", -1.0, 1.0),
        InputBinding(X, "RIGHT_LEFT", 1.0, -1.0),
    ]


def test_what_walks_by_itself_is_let_go_by_the_key_for_it() -> None:
    bindings = bind_inputs([Y], {"STAND": {Y: -1.0}, "FORWARD": {}})
    assert bindings == [InputBinding(Y, "UP_DOWN", 0.0, -1.0)]
    live = LiveInput(bindings, rest={Y: -1.0}, smoothing=0.0)
    assert live.input_values == {Y: -1.0}
    live.press("W")
    live.step(RATE)
    assert live.input_values == {Y: 0.0}


def test_inputs_that_no_preset_distinguishes_get_axes_of_their_kind() -> None:
    found = {binding.input: binding for binding in bind_inputs([X, Y, Z, R, "joystick 2 y", "key left/right"], {})}
    assert {name: binding.axis for name, binding in found.items()} == {
        X: "RIGHT_LEFT",
        Y: "UP_DOWN",
        Z: "E_Q",
        R: "O_U",
        "joystick 2 y": "I_K",
        "key left/right": "L_J",
    }
    assert (found[Y].positive, found[X].positive) == (-1.0, 1.0), "up is -1, right is 1"


def test_more_inputs_than_axes_leave_the_last_without() -> None:
    controls = [f"joystick {number} {letter}" for number in (1, 2) for letter in "xyzr"]
    bindings = bind_inputs(controls, {})
    assert [binding.input for binding in bindings] == controls[:6]
    assert len({binding.axis for binding in bindings}) == 6
