"""Control laws: target velocity and force limit of a servo's motor for the next frame.

Blender's motors have a velocity and a force limit but no position: the position loop is closed here, once a frame.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields

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
    def joined(cls, several: Sequence[Servos]) -> Servos:
        """Return the parameters of several groups of servos one after another."""
        names = [each.name for each in fields(cls)]
        columns = {name: [getattr(each, name) for each in several] for name in names}
        whole = all(each is not None for each in columns["inertia"])
        return cls(**{name: np.concatenate(own) for name, own in columns.items() if whole or name != "inertia"})

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

    def juice_gains(self, cfm: float) -> tuple[Array, Array]:
        """Return stiffness and damping (n,) of Juice's servos, as softness (CFM) makes them.

        Juice commands ODE's motors with the velocity ``g (q* - q)``, g being ``juice_rates``. With softness a motor has
        that velocity only without load: ODE solves ``dq = g (q* - q) - CFM u``, hence ``u = (g (q* - q) - dq) / CFM``.
        """
        return self.juice_rates() / cfm, np.full(len(self.gain), 1.0 / cfm)

    def juice_rates(self) -> Array:
        """Return velocity per error (n,) of Juice's servos in 1/s: a tenth of the gain, for hinges per degree."""
        return np.where(self.turns, self.gain / 10.0 * _DEGREES_PER_RADIAN, self.gain / 10.0)


def force_limit(dof: KnuckleDof, format_: str) -> float:
    """Return the largest torque (N m) or force (N) of a servo.

    In Juice 0 means none. The other formats have no such value, so that 0 means no limit.
    """
    return dof.max_force if dof.max_force > 0.0 or format_ == "juice" else UNLIMITED_FORCE


@dataclass
class ServoErrors:
    """Targets and errors of n servos before a frame.

    Attributes:
        ahead: Change of the targets within the frame; nan where there is no target.
        error: Target minus value now.
        steady: ``ahead`` without jumps, which a damper must not feel (PD).
        speed: Velocity of the joint values, mean over the last frame; the initial velocity before the first.
    """

    ahead: Array
    error: Array
    steady: Array
    speed: Array

    def at_end(self) -> ServoErrors:
        """Return the same with the targets at the end of the frame, as if they stood there all the time."""
        return ServoErrors(0.0 * self.ahead, self.error + self.ahead, np.zeros_like(self.steady), self.speed)

    @classmethod
    def joined(cls, several: Sequence[ServoErrors]) -> ServoErrors:
        """Return those of several groups of servos one after another."""
        return cls(*(np.concatenate([getattr(each, own.name) for each in several]) for own in fields(cls)))


def motor_commands(law: str, servos: Servos, targets: ServoErrors, rate: float) -> tuple[Array, Array]:
    """Compute the motors' commands for the next frame under the laws JUICE and TRACK.

    Args:
        law: JUICE or TRACK.
        servos: Parameters of the n servos.
        targets: Their targets.
        rate: Frames per second.

    Returns:
        Target velocities and force limits (n,); both 0 for servos without target.
    """
    velocity = rate * (targets.ahead + TRACK_ERROR_SHARE * targets.error)
    if law == "JUICE":
        commanded = (targets.ahead + targets.error) * np.minimum(servos.juice_rates(), JUICE_GAIN_SHARE * rate)
        velocity = np.where(servos.prescribed, velocity, commanded)
    idle = np.isnan(velocity) | servos.free
    return np.where(idle, 0.0, velocity), np.where(idle, 0.0, servos.limit)


def steady_increment(before: Array, within: Array, after: Array) -> Array:
    """Return the changes of targets (n,) within a frame, without jumps: the median of those in three frames.

    Keyframes that take two frames or more are no jump.
    """
    low, high = np.minimum(before, within), np.maximum(before, within)
    return np.maximum(low, np.minimum(high, after))


@dataclass
class ImplicitPd:
    """PD law of n servos for steps in which their forces are constant, solved for all of them together.

    The force of a frame is ``K (q* - q) + D (dq* - dq)`` with the values that it leads to itself: with the inverse
    joint-space inertia ``A``, ``ddq = A u + b``, where the acceleration ``b`` by all else (weight, contacts, coupling)
    is what the last frames had besides ``A u``. That is the stable PD control of Tan, Liu and Turk (2011) with a
    measured bias. Where bodies are held by more than ``A`` knows, as by the ground, the same equations are a low-pass
    filter on the forces, whose steady state is still the law's.

    With step ``T`` and one degree of freedom, the values that count are ``q + t T dq + s T^2 ddq`` and
    ``dq + t T ddq``. ``t`` is that of exponential fitting, from 1/2 for weak dampers to 1 for strong ones, where the
    mean over a step of a velocity that decays is exact. ``s`` gives a spring its exact period, from 1/12 on, up to a
    quarter of it per step; with a strong damper it goes to 1, since at ``t / 2`` and below velocities alternate.

    Note:
        The solver's own step ``h`` is semi-implicit Euler's: a constant acceleration moves by ``T (T + h) / 2``.
    """

    _forces: list[Array] = field(default_factory=list)
    _speed: Array | None = None

    def commands(
        self,
        servos: Servos,
        gains: tuple[Array, Array],
        targets: ServoErrors,
        response: Array,
        rate: float,
        substeps: int,
    ) -> tuple[Array, Array]:
        """Compute target velocities and forces (n,) of the motors for the next frame; 0 for servos without target.

        Servos with a prescribed motion follow ``TRACK``. The target velocity is that at which the law's force would be
        zero at the end of the frame, or the one to which the force leads, if that is farther. A spring that turns by
        more than a radian per frame never goes farther: where the ground holds a body, its force would else grow.

        Args:
            servos: Parameters of the n servos.
            gains: Their stiffness and damping (n,).
            targets: Their targets.
            response: Inverse joint-space inertia (n, n).
            rate: Frames per second.
            substeps: Solver steps per frame.
        """
        velocity, limit = motor_commands("TRACK", servos, targets, rate)
        ruled = ~(servos.prescribed | servos.free | np.isnan(targets.error + targets.steady) | (servos.limit <= 0.0))
        stiffness, damping = (np.where(ruled, gain, 0.0) for gain in gains)
        error, ahead = (np.where(ruled, each, 0.0) for each in (targets.error, targets.steady))
        time = 1.0 / rate
        speed, other = self._state(targets.speed, response, time, substeps)
        diagonal = np.diagonal(response)
        spring = time**2 * stiffness * diagonal
        lead, share = _implicit_shares(time * damping * diagonal, spring)
        back = time * (share * time * stiffness + lead * damping)
        law = stiffness * (error + lead * (ahead - time * speed)) + damping * (rate * ahead - speed)
        force = np.linalg.solve(np.eye(len(law)) + back[:, None] * response, law - back * other)
        force = np.clip(force, -servos.limit, servos.limit)
        self._forces, self._speed = [*self._forces[-1:], force], targets.speed
        settled = (stiffness * (error + ahead) + damping * rate * ahead) / np.maximum(damping + time * stiffness, 1e-30)
        reached = speed + time * (response @ force + other)
        farther = np.where(force > 0.0, np.maximum(settled, reached), np.minimum(settled, reached))
        aimed = np.where(spring > 1.0, settled, farther)
        return np.where(ruled, aimed, velocity), np.where(ruled, force, limit)

    def _state(self, mean: Array, response: Array, time: float, substeps: int) -> tuple[Array, Array]:
        """Return the present velocities (n,), and the accelerations (n,) in the last frames that are not ours.

        Args:
            mean: Mean velocities (n,) over the last frame.
            response: Inverse joint-space inertia (n, n).
            time: Duration of a frame (s).
            substeps: Solver steps per frame.
        """
        if self._speed is None or not self._forces:
            return mean, np.zeros_like(mean)
        late = 0.5 * (1.0 + 1.0 / substeps)
        change = (mean - self._speed) / time
        if len(self._forces) == 1:  # from the initial velocity
            change, recent = change / late, self._forces[0]
        else:
            recent = late * self._forces[1] + (1.0 - late) * self._forces[0]
        other = change - response @ recent
        last = response @ self._forces[-1] + other
        return mean + 0.5 * time * (1.0 - 1.0 / substeps) * last, other


def _implicit_shares(damper: Array, spring: Array) -> tuple[Array, Array]:
    """Return the shares (n,) of a step at which velocities and positions count in ``ImplicitPd``.

    Args:
        damper: Damping times step over inertia (n,).
        spring: Stiffness times squared step over inertia (n,).
    """
    small = np.maximum(damper, 1e-3)
    lead = np.where(damper > 1e-3, -1.0 / np.expm1(-small) - 1.0 / small, 0.5)
    turned = np.clip(np.sqrt(spring), 1e-2, 0.5 * math.pi)
    share = 0.5 / (1.0 - np.cos(turned)) - 1.0 / np.maximum(spring, 1e-4)
    return lead, share + (2.0 * lead - 1.0) ** 2 * (1.0 - share)


@dataclass
class VelocityHistory:
    """Motion of joint values so far: ``speed`` within the last frame and its ``change`` since the one before.

    They are arrays of any shape. From poses alone, since Blender does not expose the velocities of bodies.
    """

    speed: Array
    change: Array
    _has_moved: bool = False

    @classmethod
    def at_rest(cls, shape: int | tuple[int, ...]) -> VelocityHistory:
        """Return the course of joint values that begin at rest."""
        return cls(np.zeros(shape), np.zeros(shape))

    @classmethod
    def from_initial_velocity(cls, speeds: Array) -> VelocityHistory:
        """Return the course of joint values with initial velocities."""
        return cls(speeds.copy(), np.zeros_like(speeds), True)

    def go_on(self, moved: Array, rate: float) -> None:
        """Add the change of the joint values within a frame."""
        speed = moved * rate
        self.change = speed - self.speed if self._has_moved else np.zeros_like(speed)
        self.speed = speed
        self._has_moved = True
