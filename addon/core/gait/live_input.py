"""Live Input: from the keys that are held down to smoothed values of inputs and servos, frame by frame.

A pair of keys makes an axis from -1 to 1. It moves inputs of a gait, which spring back to where they rest, and servos,
which stay where the keys left them. Values are 32-bit numbers, as keyframes are: what is recorded plays the same again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from .presets import BACKWARD, FORWARD, STAND, TURN_LEFT, TURN_RIGHT, Inputs


@dataclass(frozen=True)
class Axis:
    """A pair of keys, by Blender's names of them; each end has a second one that does the same."""

    id: str
    positive: tuple[str, ...]
    negative: tuple[str, ...]


UP_DOWN = Axis("UP_DOWN", ("UP_ARROW", "W"), ("DOWN_ARROW", "S"))
RIGHT_LEFT = Axis("RIGHT_LEFT", ("RIGHT_ARROW", "D"), ("LEFT_ARROW", "A"))
E_Q = Axis("E_Q", ("E",), ("Q",))
I_K = Axis("I_K", ("I",), ("K",))
L_J = Axis("L_J", ("L",), ("J",))
O_U = Axis("O_U", ("O",), ("U",))
AXES: dict[str, Axis] = {axis.id: axis for axis in (UP_DOWN, RIGHT_LEFT, E_Q, I_K, L_J, O_U)}
KEYS: frozenset[str] = frozenset(key for axis in AXES.values() for key in (*axis.positive, *axis.negative))

#: Time (s) in which an axis comes 63 % of its way, and how near it has to be to be there.
SMOOTHING, _THERE = 0.12, 1e-3


@dataclass(frozen=True)
class InputBinding:
    """An input of a gait that an axis moves: its values at the axis's positive and negative end."""

    input: str
    axis: str
    positive: float = 1.0
    negative: float = -1.0


@dataclass(frozen=True)
class ServoBinding:
    """A servo that an axis moves: its speed (rad/s or length units/s) at the axis's end, its value at the beginning,
    and its stops."""

    servo: str
    axis: str
    speed: float
    start: float = 0.0
    lower: float = -math.inf
    upper: float = math.inf


def bind_inputs(controls: Sequence[str], presets: Mapping[str, Inputs]) -> list[InputBinding]:
    """Choose axes for the inputs that a gait reads: up and down go forward and backward, right and left turn.

    An input that no preset tells apart gets the axis of its kind, if that is free, else the first free one. Where
    there are more inputs than axes, the last ones get none.
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
        free = [axis for axis in (*_axes_like(control), *AXES) if axis not in used]
        if free:
            sign = -1.0 if free[0] == UP_DOWN.id else 1.0  # of a joystick, and of keys, up is -1
            out.append(InputBinding(control, free[0], sign, -sign))
    return out


def _axes_like(control: str) -> list[str]:
    """The axis that is like an input, by where that is on a joystick."""
    if control.endswith((" y", "up/down")):
        return [UP_DOWN.id, I_K.id]
    if control.endswith((" x", "left/right")):
        return [RIGHT_LEFT.id, L_J.id]
    return [E_Q.id, O_U.id]


@dataclass
class LiveInput:
    """Keys and the values that they lead to.

    Args:
        inputs: What moves inputs.
        servos: What moves servos.
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
        """Take note that a key went down; return whether it is one of ours."""
        if key not in KEYS:
            return False
        self.held.add(key)
        return True

    def release(self, key: str) -> bool:
        """Take note that a key came up; return whether it is one of ours."""
        self.held.discard(key)
        return key in KEYS

    def release_all(self) -> None:
        """All keys are up: where nobody tells of those that come up, as in a window that lost the keyboard."""
        self.held.clear()

    def restart(self) -> None:
        """Bring all axes and servos back to where they began. Keys that are held stay held."""
        self.axes = dict.fromkeys(AXES, 0.0)
        self.servo_values = {binding.servo: _rounded(binding.start) for binding in self.servos}

    def step(self, seconds: float) -> None:
        """Go on by some time: axes approach their keys, and servos move on."""
        near = 1.0 - math.exp(-seconds / self.smoothing) if self.smoothing > 0.0 else 1.0
        for name, axis in AXES.items():
            wanted = float(self._is_held(axis.positive)) - float(self._is_held(axis.negative))
            value = self.axes[name] + near * (wanted - self.axes[name])
            self.axes[name] = wanted if abs(wanted - value) < _THERE else value
        for binding in self.servos:
            value = self.servo_values[binding.servo] + self.axes[binding.axis] * binding.speed * seconds
            self.servo_values[binding.servo] = _rounded(min(max(value, binding.lower), binding.upper))

    def _is_held(self, keys: Iterable[str]) -> bool:
        return any(key in self.held for key in keys)

    @property
    def input_values(self) -> dict[str, float]:
        """The inputs that are moved, by name."""
        return {binding.input: self._value(binding) for binding in self.inputs}

    def _value(self, binding: InputBinding) -> float:
        rest, axis = self.rest.get(binding.input, 0.0), self.axes[binding.axis]
        end = binding.positive if axis > 0.0 else binding.negative
        return _rounded(rest + abs(axis) * (end - rest))


def _rounded(value: float) -> float:
    """The nearest 32-bit number."""
    return float(np.float32(value))
