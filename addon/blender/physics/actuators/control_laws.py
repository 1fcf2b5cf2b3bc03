"""What a servo's motor is told: the speed that it goes for within a frame, and with how much force at most.

A motor of Blender's has a speed and a force limit and no idea of a position: the position loop is here, once a frame.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....core.model import Array
from ...data.properties.joint import KnuckleDof

#: A force that no mechanism resists.
UNLIMITED = 1e9
#: The largest share of an error that a servo corrects within one frame under Juice's law. Real walkers
#: walked with 0.5 to 0.95; at 1 and above a motor overshoots.
JUICE_SHARE = 0.5
#: The same when tracking keys, on top of the keys' own speed.
TRACK_SHARE = 0.8
#: The natural frequency (rad/s) that a PD servo without gains of its own is given, critically damped.
PD_FREQUENCY = 2.0 * math.pi * 4.0
_DEGREES = 180.0 / math.pi


@dataclass
class Servos:
    """What is known of servos, as arrays (n,).

    ``free``: never driven; ``locked``: held where the run begins; ``prescribed``: moved as told with whatever it takes.
    These are DART's kinds of actuators.
    """

    turns: NDArray[np.bool_]
    gain: Array
    stiffness: Array
    damping: Array
    limit: Array
    free: NDArray[np.bool_]
    locked: NDArray[np.bool_]
    prescribed: NDArray[np.bool_]
    inertia: Array | None = None  # kg m2 (or kg) that the servos move: what gains that are not given are chosen for

    @classmethod
    def of(
        cls, dofs: Sequence[KnuckleDof], turns: Sequence[bool], format_: str, inertia: Array | None = None
    ) -> Servos:
        """Those of records; a ball's record counts for each of its three coordinates."""
        prescribed = np.array([dof.actuator in {"velocity", "acceleration", "locked"} for dof in dofs], dtype=bool)
        limit = np.array([force_limit(dof, format_) for dof in dofs], dtype=np.float64)
        return cls(
            np.array(turns, dtype=bool),
            np.array([dof.gain for dof in dofs], dtype=np.float64),
            np.array([dof.servo_stiffness for dof in dofs], dtype=np.float64),
            np.array([dof.servo_damping for dof in dofs], dtype=np.float64),
            np.where(prescribed, UNLIMITED, limit),
            np.array([dof.actuator == "passive" for dof in dofs], dtype=bool),
            np.array([dof.actuator == "locked" for dof in dofs], dtype=bool),
            prescribed,
        )

    def pd_gains(self) -> tuple[Array, Array]:
        """Stiffness and damping (n,): given, or chosen for what the servo moves where neither is."""
        inertia = np.ones(len(self.gain)) if self.inertia is None else self.inertia
        chosen = (self.stiffness <= 0.0) & (self.damping <= 0.0)
        return (
            np.where(chosen, inertia * PD_FREQUENCY**2, self.stiffness),
            np.where(chosen, 2.0 * inertia * PD_FREQUENCY, self.damping),
        )


def force_limit(dof: KnuckleDof, format_: str) -> float:
    """The largest torque or force of a servo.

    Only Juice has 0 for none; the other formats have no such number, and what they do not limit is not limited.
    """
    return dof.max_force if dof.max_force > 0.0 or format_ == "juice" else UNLIMITED


def commands(
    law: str, servos: Servos, ahead: Array, error: Array, course: Course, rate: float, steady: Array | None = None
) -> tuple[Array, Array]:
    """Speeds and force limits (n,) for the frame to come, under JUICE, TRACK or PD.

    Under PD the limit is the force itself, with its sign.

    ``error`` is by how much each coordinate is behind its target now, ``ahead`` by how much the target goes on within
    the frame (``steady``: without jumps, which a damper is not to feel), ``course`` how it moved, ``rate`` frames per
    second. nan where nothing is wanted: free.
    """
    velocity = rate * (ahead + TRACK_SHARE * error)
    force = servos.limit
    if law == "JUICE":
        gain = np.where(servos.turns, servos.gain / 10.0 * _DEGREES, servos.gain / 10.0)
        told = (ahead + error) * np.minimum(gain, JUICE_SHARE * rate)
        velocity = np.where(servos.prescribed, velocity, told)
    elif law == "PD":
        told, push = _pd(servos, ahead if steady is None else steady, error, course, rate)
        velocity = np.where(servos.prescribed, velocity, told)
        force = np.where(servos.prescribed, force, np.clip(push, -force, force))
    idle = np.isnan(velocity) | servos.free
    return np.where(idle, 0.0, velocity), np.where(idle, 0.0, force)


def steady(before: Array, within: Array, after: Array) -> Array:
    """By how much targets (n,) go on within a frame, of which one that jumps in it goes on as in the frames before and
    after: the middle one of the three. Keys that take two frames or more are no jump."""
    low, high = np.minimum(before, within), np.maximum(before, within)
    return np.maximum(low, np.minimum(high, after))


def _pd(servos: Servos, ahead: Array, error: Array, course: Course, rate: float) -> tuple[Array, Array]:
    """The torque k (q* - q) + d (dq* - dq) in the middle of the frame, after the speed at which it would be nothing at
    the frame's end, beyond which no torque drives: stiff gains arrive, and never shake. Where the target jumps, dq* is
    what it is before and after: the spring feels the jump, from the key on, and the damper none of it."""
    stiffness, damping = servos.pd_gains()
    gone = (0.5 * course.speed + 7.0 / 24.0 * course.change) / rate  # in half a frame, on the last three's parabola
    push = stiffness * (error + 0.5 * ahead - gone) + damping * (ahead * rate - course.speed - course.change)
    whole = np.maximum(damping + stiffness / rate, 1e-30)
    return (stiffness * (error + ahead) + damping * ahead * rate) / whole, push


#: How fast on average what is thrown goes in each of its first frames, as shares of its speed.
_THROWN = 0.75, 1.25, 1.0, 1.0


@dataclass
class Course:
    """How coordinates (n,) moved so far: ``speed`` within the last frame and its ``change`` since the one before.

    From poses alone: Blender does not tell the speeds of bodies.
    """

    speed: Array
    change: Array
    _frames: int = 0
    thrown: Array | None = None  # the speeds (n,) that it is given in the first two frames

    @classmethod
    def at_rest(cls, count: int) -> Course:
        return cls(np.zeros(count), np.zeros(count))

    @classmethod
    def of_thrown(cls, speeds: Array) -> Course:
        """Of what begins with speeds (n,): it is pushed in the first two frames, and is as far after them as if it had
        had its speed from the start."""
        return cls(_THROWN[0] * speeds, np.zeros_like(speeds), thrown=speeds)

    def go_on(self, moved: Array, rate: float) -> None:
        """Note by how much the coordinates moved within a frame. Of a model that begins at rest."""
        speed = moved * rate
        self.change = speed - self.speed if self._frames else np.zeros_like(speed)
        if self.thrown is not None and self._frames < len(_THROWN) - 1:
            self.change = (_THROWN[self._frames + 1] - _THROWN[self._frames]) * self.thrown
        self.speed = speed
        self._frames += 1
