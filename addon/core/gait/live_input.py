"""Live Input: smoothed values of inputs and servos from the keys that are held down, frame by frame.

A pair of keys makes an axis from -1 to 1. It moves inputs of a gait, which return to their rest value, and servos,
which stay where the keys left them. Values are 32-bit numbers, as keyframes are, so that a recording plays back
exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from .presets import BACKWARD, FORWARD, STAND, TURN_LEFT, TURN_RIGHT, InputValues


@dataclass(frozen=True)
class KeyAxis:
    """Axis made of two keys, by Blender's key names; each end may have alternative keys."""

    id: str
    positive: tuple[str, ...]
    negative: tuple[str, ...]


UP_DOWN = KeyAxis("UP_DOWN", ("UP_ARROW", "W"), ("DOWN_ARROW", "S"))
RIGHT_LEFT = KeyAxis("RIGHT_LEFT", ("RIGHT_ARROW", "D"), ("LEFT_ARROW", "A"))
E_Q = KeyAxis("E_Q", ("E",), ("Q",))
I_K = KeyAxis("I_K", ("I",), ("K",))
L_J = KeyAxis("L_J", ("L",), ("J",))
O_U = KeyAxis("O_U", ("O",), ("U",))
KEY_AXES: dict[str, KeyAxis] = {axis.id: axis for axis in (UP_DOWN, RIGHT_LEFT, E_Q, I_K, L_J, O_U)}
AXIS_KEYS: frozenset[str] = frozenset(key for axis in KEY_AXES.values() for key in (*axis.positive, *axis.negative))

#: Time constant (s) in which an axis covers 63 % of its way, and the distance at which it has arrived.
SMOOTHING, _SNAP_DISTANCE = 0.12, 1e-3


@dataclass(frozen=True)
class InputBinding:
    """Binding of a gait's input to an axis: its values at the axis's positive and negative end."""

    input: str
    axis: str
    positive: float = 1.0
    negative: float = -1.0


@dataclass(frozen=True)
class ServoBinding:
    """Binding of a servo to an axis: velocity (rad/s or length units/s) at the axis's end, initial value and stops."""

    servo: str
    axis: str
    speed: float
    start: float = 0.0
    lower: float = -math.inf
    upper: float = math.inf


def bind_inputs(controls: Sequence[str], presets: Mapping[str, InputValues]) -> list[InputBinding]:
    """Choose axes for the inputs that a gait reads: up and down for forward and backward, right and left to turn.

    An input that has no effect in the presets gets the axis of its kind, if that is free, else the first free one.
    Where there are more inputs than axes, the last ones get none.
    """
    out: list[InputBinding] = []
    stand = presets.get(STAND, {})
    for axis, positive, negative in ((UP_DOWN, FORWARD, BACKWARD), (RIGHT_LEFT, TURN_RIGHT, TURN_LEFT)):
        ends = [presets.get(name, stand) for name in (positive, negative)]
        for control in controls:
            one, other = (end.get(control, 0.0) for end in ends)
            if one != other and all(binding.input != control for binding in out):
                out.append(InputBinding(control, axis.id, one, other))
    for control in controls:
        if any(binding.input == control for binding in out):
            continue
        used = {binding.axis for binding in out}
        free = [axis for axis in (*_preferred_axes(control), *KEY_AXES) if axis not in used]
        if free:
            sign = -1.0 if free[0] == UP_DOWN.id else 1.0  # for joysticks and keys, up is -1
            out.append(InputBinding(control, free[0], sign, -sign))
    return out


def _preferred_axes(control: str) -> list[str]:
    """Return the axes that suit an input by its axis on a joystick."""
    if control.endswith((" y", "up/down")):
        return [UP_DOWN.id, I_K.id]
    if control.endswith((" x", "left/right")):
        return [RIGHT_LEFT.id, L_J.id]
    return [E_Q.id, O_U.id]


@dataclass
class LiveInput:
    """State of the keys and the values that they control.

    Args:
        inputs: Bindings of inputs.
        servos: Bindings of servos.
        rest: Values of the inputs while no key is held; 0 where not given.
        smoothing: Time constant of the axes (s); 0 for none.
    """

    inputs: Sequence[InputBinding] = ()
    servos: Sequence[ServoBinding] = ()
    rest: Mapping[str, float] = field(default_factory=dict)
    smoothing: float = SMOOTHING
    held: set[str] = field(default_factory=set)
    axes: dict[str, float] = field(default_factory=dict)
    servo_values: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.restart()

    def press(self, key: str) -> bool:
        """Handle a key press; return whether the key is bound to an axis."""
        if key not in AXIS_KEYS:
            return False
        self.held.add(key)
        return True

    def release(self, key: str) -> bool:
        """Handle a key release; return whether the key is bound to an axis."""
        self.held.discard(key)
        return key in AXIS_KEYS

    def release_all(self) -> None:
        """Release all keys: where no release events arrive, as in a window that lost the keyboard focus."""
        self.held.clear()

    def restart(self) -> None:
        """Reset all axes and servos to their initial values. Keys that are held stay held."""
        self.axes = dict.fromkeys(KEY_AXES, 0.0)
        self.servo_values = {binding.servo: _round_to_float32(binding.start) for binding in self.servos}

    def step(self, seconds: float) -> None:
        """Advance by a time (s): axes approach their keys, and servos move."""
        near = 1.0 - math.exp(-seconds / self.smoothing) if self.smoothing > 0.0 else 1.0
        for name, axis in KEY_AXES.items():
            wanted = float(self._is_held(axis.positive)) - float(self._is_held(axis.negative))
            value = self.axes[name] + near * (wanted - self.axes[name])
            self.axes[name] = wanted if abs(wanted - value) < _SNAP_DISTANCE else value
        for binding in self.servos:
            value = self.servo_values[binding.servo] + self.axes[binding.axis] * binding.speed * seconds
            self.servo_values[binding.servo] = _round_to_float32(min(max(value, binding.lower), binding.upper))

    def _is_held(self, keys: Iterable[str]) -> bool:
        return any(key in self.held for key in keys)

    @property
    def input_values(self) -> dict[str, float]:
        """Return the inputs that are moved, by name."""
        return {binding.input: self._value(binding) for binding in self.inputs}

    def _value(self, binding: InputBinding) -> float:
        rest, axis = self.rest.get(binding.input, 0.0), self.axes[binding.axis]
        end = binding.positive if axis > 0.0 else binding.negative
        return _round_to_float32(rest + abs(axis) * (end - rest))


def _round_to_float32(value: float) -> float:
    """Round to the nearest 32-bit float."""
    return float(np.float32(value))
