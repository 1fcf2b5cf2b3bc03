"""Behaviors of a Juice model: its engine, clockworks and networks, which turn the engine's phase into servo commands.

Numbers are as in the file: degrees for hinges, length units for sliders, phases in degrees, with the file's own sign
for each joint. ``gait.engine`` evaluates them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ..model import Array, Dof, Joint

#: Motion sources by their number in the file. Inputs are named as a user types them.
ENGINE_SOURCE = 1
BODY_YAW, BODY_PITCH, BODY_ROLL = 6, 7, 8
INPUT_BY_SOURCE: dict[int, str] = {
    2: "joystick 1 x", 3: "joystick 1 y", 4: "joystick 1 z", 5: "joystick 1 r",
    10: "joystick 2 x", 11: "joystick 2 y", 12: "joystick 2 z", 13: "joystick 2 r",
    14: "key up/down", 15: "key left/right",
}  # fmt: skip
#: Amplitude modulation sources; any other number means none (real files hold uninitialized integers).
INPUT_BY_AMP_MOD: dict[int, str] = {1: "joystick 1 x", 2: "joystick 1 y", 3: "joystick 1 z", 4: "joystick 1 r"}


@dataclass
class Engine:
    """Clock of a gait: ``standard_speed`` cycles per minute times ``speed_factor``.

    It holds ``pose_phase`` (degrees) for the first ``pose_delay`` seconds.
    """

    standard_speed: float = 15.0
    speed_factor: float = 1.0
    pose_delay: float = 1.0
    pose_phase: float = 0.0


@dataclass
class ClockworkMotor:
    """Motor of a clockwork: the signal for one joint.

    ``motion``: 0 none, 1 sine, 2 double sine, 3 step, 4 continuous; None where the file, older than these types,
    specifies no type.
    """

    joint: str | None
    enabled: bool = True
    offset: float = 0.0
    motion: int | None = 0
    phase: float = 0.0
    amplitude: float = 0.0


@dataclass
class Clockwork:
    """Behavior that drives all its motors from one source."""

    name: str = ""
    enabled: bool = True
    gain: float = 100.0
    motors: list[ClockworkMotor] = field(default_factory=list)
    source: int = ENGINE_SOURCE
    amp_mod: int = 0
    feedback_body: str | None = None


@dataclass
class NetworkNode:
    """Node of a network. ``kind`` selects the fields that apply.

    ``source`` (source, body), ``constant`` (value), ``multiply``, ``limit`` (minimum, maximum), ``arithmetic`` (add,
    multiply, add_first), ``wave`` (duty_cycle, output_range, output_offset), ``absolute``, ``motor`` (joint, velocity).
    """

    id: str
    kind: Literal["source", "constant", "multiply", "limit", "arithmetic", "wave", "absolute", "motor"]
    name: str = ""
    source: int = 0
    body: str | None = None
    value: float = 0.0
    minimum: float = -1.0
    maximum: float = 1.0
    add: float = 0.0
    multiply: float = 1.0
    add_first: bool = False
    duty_cycle: float = 100.0
    output_range: float = 45.0
    output_offset: float = 0.0
    joint: str | None = None
    velocity: bool = False


@dataclass
class NetworkEdge:
    """Connection of nodes (ids, None: dangling): adds ``source``'s value times ``factor`` to ``destination``."""

    source: str | None
    destination: str | None
    factor: float = 1.0


@dataclass
class Network:
    """Behavior that is a graph of nodes. Its gain is stored by the Juice program but has no effect there."""

    name: str = ""
    enabled: bool = True
    gain: float = 100.0
    nodes: list[NetworkNode] = field(default_factory=list)
    edges: list[NetworkEdge] = field(default_factory=list)


@dataclass
class GaitBehaviors:
    """Engine of a gait and its behaviors in file order.

    ``sine_without_type``: motors whose file specifies no motion type play a sine, else they do not move.
    """

    engine: Engine = field(default_factory=Engine)
    items: list[Clockwork | Network] = field(default_factory=list)
    sine_without_type: bool = True

    @property
    def motors_without_type(self) -> list[ClockworkMotor]:
        """Return the enabled motors on the engine that would move if a motion type were specified."""
        return [
            motor
            for item in self.items
            if isinstance(item, Clockwork) and item.enabled and item.source == ENGINE_SOURCE
            for motor in item.motors
            if motor.enabled and motor.motion is None and motor.amplitude
        ]


def motor_dof(joint: Joint) -> Dof | None:
    """Return the single rotation or translation that a motor can move; None for any other joint."""
    if joint.active and len(joint.dofs) == 1 and joint.dofs[0].kind in ("rotation", "translation"):
        return joint.dofs[0]
    return None


@dataclass(frozen=True)
class GaitServos:
    """Conversion from the file's joint values to those of the mechanism's dofs; columns (joints, 1)."""

    sign: Array
    unit: Array
    low: Array
    high: Array

    @staticmethod
    def of(dofs: Sequence[Dof | None]) -> GaitServos:
        """Create the conversion for single-coordinate dofs; entries that are None are left out."""
        rows = [GaitServos._row(dof) for dof in dofs if dof is not None]
        return GaitServos(*np.array(rows, dtype=np.float64).reshape(-1, 4).T[..., None])

    @staticmethod
    def _row(dof: Dof) -> tuple[float, float, float, float]:
        low = -math.inf if dof.lower is None else dof.lower
        high = math.inf if dof.upper is None else dof.upper
        if dof.file_sign < 0.0:
            low, high = -high, -low
        return math.copysign(1.0, dof.file_sign), math.pi / 180.0 if dof.kind == "rotation" else 1.0, low, high

    def position(self, values: Array) -> Array:
        """Convert values (joints, n), clamped as by the Juice program in the file's sense.

        It applies the low stop first, then the high one.
        """
        return self.sign * np.minimum(np.maximum(self.unit * values, self.low), self.high)
