"""Control laws: target velocity and force limit of a servo's motor for the next frame.

Blender's motors have a velocity and a force limit but no position: the position loop is closed here, once a frame.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....core.model import Array
from ...data.properties.joint import KnuckleDof

#: Force limit (N or N m) that counts as unlimited.
UNLIMITED_FORCE = 1e9
#: Largest share of an error that a servo corrects within one frame under Juice's law. Real walkers walked with 0.5 to
#: 0.95; at 1 and above a motor overshoots.
JUICE_GAIN_SHARE = 0.5
#: Share of an error that is corrected within one frame under Track, on top of the keyframes' own velocity.
TRACK_ERROR_SHARE = 0.8
#: Natural frequency (rad/s) of a PD servo without gains of its own, critically damped.
PD_FREQUENCY = 2.0 * math.pi * 4.0
_DEGREES_PER_RADIAN = 180.0 / math.pi


@dataclass
class Servos:
    """Parameters of servos, as arrays (n,).

    ``free``: never driven; ``locked``: held at the initial value; ``prescribed``: moved to the target with unlimited
    force. These are DART's types of actuators.
    """

    turns: NDArray[np.bool_]
    gain: Array
    stiffness: Array
    damping: Array
    limit: Array
    free: NDArray[np.bool_]
    locked: NDArray[np.bool_]
    prescribed: NDArray[np.bool_]
    inertia: Array | None = None  # kg m2 (or kg) that the servos move, from which missing gains are chosen

    @classmethod
    def of(cls, dofs: Sequence[KnuckleDof], turns: Sequence[bool], format_: str) -> Servos:
        """Return the parameters of degrees of freedom; a ball's record counts for each of its three values."""
        prescribed = np.array([dof.actuator in {"velocity", "acceleration", "locked"} for dof in dofs], dtype=bool)
        limit = np.array([force_limit(dof, format_) for dof in dofs], dtype=np.float64)
        return cls(
            np.array(turns, dtype=bool),
            np.array([dof.gain for dof in dofs], dtype=np.float64),
            np.array([dof.servo_stiffness for dof in dofs], dtype=np.float64),
            np.array([dof.servo_damping for dof in dofs], dtype=np.float64),
            np.where(prescribed, UNLIMITED_FORCE, limit),
            np.array([dof.actuator == "passive" for dof in dofs], dtype=bool),
            np.array([dof.actuator == "locked" for dof in dofs], dtype=bool),
            prescribed,
        )

    def pd_gains(self) -> tuple[Array, Array]:
        """Return stiffness and damping (n,): as given, or chosen for the inertia moved where neither is."""
        inertia = np.ones(len(self.gain)) if self.inertia is None else self.inertia
        chosen = (self.stiffness <= 0.0) & (self.damping <= 0.0)
        return (
            np.where(chosen, inertia * PD_FREQUENCY**2, self.stiffness),
            np.where(chosen, 2.0 * inertia * PD_FREQUENCY, self.damping),
        )


def force_limit(dof: KnuckleDof, format_: str) -> float:
    """Return the largest torque (N m) or force (N) of a servo.

    In Juice 0 means none. The other formats have no such value, so that 0 means no limit.
    """
    return dof.max_force if dof.max_force > 0.0 or format_ == "juice" else UNLIMITED_FORCE


def motor_commands(
    law: str,
    servos: Servos,
    ahead: Array,
    error: Array,
    course: VelocityHistory,
    rate: float,
    steady: Array | None = None,
) -> tuple[Array, Array]:
    """Compute the motors' commands for the next frame.

    Args:
        law: JUICE, TRACK or PD.
        servos: Parameters of the n servos.
        ahead: Change (n,) of the targets within the frame; nan where there is no target.
        error: Target minus value (n,) now.
        course: Motion so far.
        rate: Frames per second.
        steady: ``ahead`` without jumps, which a damper must not feel (PD).

    Returns:
        Target velocities and force limits (n,); both 0 for servos without target. Under PD the limit is the force
        itself, with its sign.
    """
    velocity = rate * (ahead + TRACK_ERROR_SHARE * error)
    force = servos.limit
    if law == "JUICE":
        gain = np.where(servos.turns, servos.gain / 10.0 * _DEGREES_PER_RADIAN, servos.gain / 10.0)
        commanded = (ahead + error) * np.minimum(gain, JUICE_GAIN_SHARE * rate)
        velocity = np.where(servos.prescribed, velocity, commanded)
    elif law == "PD":
        commanded, push = _pd_commands(servos, ahead if steady is None else steady, error, course, rate)
        velocity = np.where(servos.prescribed, velocity, commanded)
        force = np.where(servos.prescribed, force, np.clip(push, -force, force))
    idle = np.isnan(velocity) | servos.free
    return np.where(idle, 0.0, velocity), np.where(idle, 0.0, force)


def steady_increment(before: Array, within: Array, after: Array) -> Array:
    """Return the changes of targets (n,) within a frame, without jumps: the median of those in three frames.

    Keyframes that take two frames or more are no jump.
    """
    low, high = np.minimum(before, within), np.maximum(before, within)
    return np.maximum(low, np.minimum(high, after))


def _pd_commands(
    servos: Servos, ahead: Array, error: Array, course: VelocityHistory, rate: float
) -> tuple[Array, Array]:
    """Return PD velocities and torques (n,).

    The torque is k (q* - q) + d (dq* - dq) in the middle of the frame. The velocity is that at which it would be zero
    at the end of the frame, beyond which no torque drives, so that stiff gains do not oscillate. Where the target
    jumps, dq* is that before and after: the spring feels the jump, from the keyframe on, and the damper none of it.
    """
    stiffness, damping = servos.pd_gains()
    gone = (0.5 * course.speed + 7.0 / 24.0 * course.change) / rate  # in half a frame, on the last three's parabola
    push = stiffness * (error + 0.5 * ahead - gone) + damping * (ahead * rate - course.speed - course.change)
    whole = np.maximum(damping + stiffness / rate, 1e-30)
    return (stiffness * (error + ahead) + damping * ahead * rate) / whole, push


@dataclass
class VelocityHistory:
    """Motion of joint values (n,) so far: ``speed`` within the last frame and its ``change`` since the one before.

    From poses alone, since Blender does not expose the velocities of bodies.
    """

    speed: Array
    change: Array
    _has_moved: bool = False

    @classmethod
    def at_rest(cls, count: int) -> VelocityHistory:
        """Return the course of joint values that begin at rest."""
        return cls(np.zeros(count), np.zeros(count))

    @classmethod
    def from_initial_velocity(cls, speeds: Array) -> VelocityHistory:
        """Return the course of joint values with initial velocities (n,)."""
        return cls(speeds.copy(), np.zeros_like(speeds), True)

    def go_on(self, moved: Array, rate: float) -> None:
        """Add the change of the joint values (n,) within a frame."""
        speed = moved * rate
        self.change = speed - self.speed if self._has_moved else np.zeros_like(speed)
        self.speed = speed
        self._has_moved = True
