"""Force laws of springs and dampers: piecewise polynomials, and their mean effect over an animation frame.

Where a force can be set only once a frame, the force at the beginning of the frame is half a frame old on average, and
adds energy where it should remove it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

#: Integration steps per frame.
_INTEGRATION_STEPS = 24
#: Force of a spring as a function of position, or of a damper as a function of velocity; of a number or of an array.
ForceLaw = Callable[[Any], Any]


@dataclass
class PiecewisePolynomial:
    """Piecewise polynomial over ascending ``knots``.

    ``coefficients`` has one row more than there are knots, each in descending powers. At a knot the piece above it
    counts.
    """

    knots: Sequence[float]
    coefficients: Sequence[Sequence[float]]

    def __call__(self, x: float) -> float:
        """Evaluate at ``x`` by Horner's method."""
        total = 0.0
        for number in self.coefficients[bisect_right(self.knots, x)]:
            total = total * x + number
        return total

    def slope(self, x: float) -> float:
        """Compute its derivative at ``x``."""
        piece = self.coefficients[bisect_right(self.knots, x)]
        return float(np.polyval(np.polyder(np.array(piece, dtype=np.float64)), x)) if len(piece) > 1 else 0.0


def _unchanged(difference: Any) -> Any:
    return difference


@dataclass
class SpringDamperIntegrator:
    """Spring and damper whose forces are constant during each frame, on one coordinate or, as arrays, on several.

    ``spring`` is the force as a function of position, ``damper`` as a function of velocity, ``inertia`` the mass or
    moment of inertia that is moved. ``substeps`` is the number of solver steps per frame, each of which updates
    velocities first and then positions (semi-implicit Euler). The spring's force is taken at the middle of the frame,
    averaged over its motion in a frame from there: like the kick of a leapfrog integrator, it neither gains nor loses
    energy, and the period is exact where the spring is linear, however stiff it is.
    """

    spring: ForceLaw | None
    damper: ForceLaw | None
    inertia: Any
    substeps: int = 1
    initial_speed: Any = 0.0
    _places: list[Any] = field(default_factory=list)
    _forces: list[Any] = field(default_factory=list)

    def force(self, place: Any, time: float, change: Callable[[Any], Any] = _unchanged) -> Any:
        """Compute the force to apply for the next ``time`` seconds.

        Args:
            place: Current position, reached in ``time`` seconds since the last call; at the first call it has the
                initial speed.
            time: Duration of a frame (s).
            change: Function that maps a difference of two positions to the shortest one.
        """
        step = time / self.substeps
        speed, other = self.initial_speed, 0.0
        if self._places:
            gone = change(place - self._places[-1])
            own = self._forces[-1] / self.inertia
            if len(self._places) > 1:  # acceleration in the last two frames that is not from this spring and damper
                late = 0.5 * (1.0 + step / time)
                before = change(self._places[-1] - self._places[-2])
                recent_force = late * self._forces[-1] + (1.0 - late) * self._forces[-2]
                other = (gone - before) / time**2 - recent_force / self.inertia
            speed = gone / time + 0.5 * (time - step) * (own + other)
        pull = self._spring_force(place + 0.5 * (time - step) * speed, other, time) if self.spring is not None else 0.0
        total = pull + (
            self._damper_force(speed, pull / self.inertia + other, time) if self.damper is not None else 0.0
        )
        self._places, self._forces = [*self._places[-1:], place], [*self._forces[-1:], total]
        return total

    def _spring_force(self, place: Any, other: Any, time: float) -> Any:
        """Compute the spring's force about a position: averaged over the motion from rest there, with falling weights.

        ``other`` is the acceleration by other forces.
        """
        assert self.spring is not None
        step, speed, total = time / _INTEGRATION_STEPS, 0.0, 0.0
        for number in range(_INTEGRATION_STEPS):
            push = self.spring(place + 0.5 * step * speed)
            total += push * (_INTEGRATION_STEPS - number - 0.5)
            faster = speed + step * (push / self.inertia + other)
            place, speed = place + 0.5 * step * (speed + faster), faster
        return 2.0 * total / _INTEGRATION_STEPS**2

    def _damper_force(self, speed: Any, other: Any, time: float) -> Any:
        """Compute the damper's mean force, from a speed that other forces change by ``other`` per second."""
        assert self.damper is not None
        step, total = time / _INTEGRATION_STEPS, 0.0
        for _ in range(_INTEGRATION_STEPS):
            push = self.damper(speed + 0.5 * step * other)
            total += push
            speed = speed + step * (push / self.inertia + other)
        return total / _INTEGRATION_STEPS


def is_dissipative(law: PiecewisePolynomial, reach: float) -> bool:
    """Return whether a law of velocity only dissipates energy for velocities from ``-reach`` to ``reach``."""
    speeds = np.linspace(-reach, reach, 201)
    return all(law(float(speed)) * speed >= 0.0 for speed in speeds)
