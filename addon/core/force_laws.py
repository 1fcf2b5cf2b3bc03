"""Forces of springs and dampers by formula: piecewise polynomials, and what they come to within a frame.

Where a force can be set only once a frame, the one of the frame's begin is half a frame old on average, and drives what
it should hold.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

#: Steps in which a force is followed through a frame.
_STEPS = 24
#: What a spring does at a place, or a damper at a speed.
Force = Callable[[float], float]


@dataclass
class Piecewise:
    """A polynomial between each two of some ascending ``knots``; one row of ``coefficients`` more than there are knots,
    each in descending powers. At a knot the piece above it counts."""

    knots: Sequence[float]
    coefficients: Sequence[Sequence[float]]

    def __call__(self, x: float) -> float:
        total = 0.0
        for number in self.coefficients[bisect_right(self.knots, x)]:
            total = total * x + number
        return total

    def slope(self, x: float) -> float:
        """Its derivative."""
        piece = self.coefficients[bisect_right(self.knots, x)]
        return float(np.polyval(np.polyder(np.array(piece, dtype=np.float64)), x)) if len(piece) > 1 else 0.0


@dataclass
class Held:
    """A spring and a damper on one coordinate, of which each can be set only once a frame: what to hold it at.

    ``spring`` tells the force of a place, ``damper`` that of a speed, ``inertia`` what is moved, ``substeps`` into how
    many steps a frame is cut, each of which changes speeds first and then moves at them. The spring's is its force in
    the middle of the frame, smoothed over what it would do in a frame from there: as the kick of a leapfrog, which
    neither gains nor loses, and swings in its very time where the spring is linear, however stiff it is.
    """

    spring: Force | None
    damper: Force | None
    inertia: float
    substeps: int = 1
    _places: list[float] = field(default_factory=list)
    _forces: list[float] = field(default_factory=list)

    def force(self, place: float, time: float, change: Force = float) -> float:
        """The force for the ``time`` to come, from a place to which it came in as much time since the last call; at the
        first it stands. ``change`` makes the difference of two places the shortest."""
        step = time / self.substeps
        speed = other = 0.0
        if self._places:
            gone = change(place - self._places[-1])
            own = self._forces[-1] / self.inertia
            if len(self._places) > 1:  # what accelerated it in the last two frames, and is not from here
                late = 0.5 * (1.0 + step / time)
                before = change(self._places[-1] - self._places[-2])
                lately = late * self._forces[-1] + (1.0 - late) * self._forces[-2]
                other = (gone - before) / time**2 - lately / self.inertia
            speed = gone / time + 0.5 * (time - step) * (own + other)
        pull = self._pull(place + 0.5 * (time - step) * speed, other, time) if self.spring is not None else 0.0
        total = pull + (self._brake(speed, pull / self.inertia + other, time) if self.damper is not None else 0.0)
        self._places, self._forces = [*self._places[-1:], place], [*self._forces[-1:], total]
        return total

    def _pull(self, place: float, other: float, time: float) -> float:
        """The spring's force about a place: along the way that is taken from rest there, the later the less."""
        assert self.spring is not None
        step, speed, total = time / _STEPS, 0.0, 0.0
        for number in range(_STEPS):
            push = self.spring(place + 0.5 * step * speed)
            total += push * (_STEPS - number - 0.5)
            faster = speed + step * (push / self.inertia + other)
            place, speed = place + 0.5 * step * (speed + faster), faster
        return 2.0 * total / _STEPS**2

    def _brake(self, speed: float, other: float, time: float) -> float:
        """The damper's mean force, from a speed that other forces change by ``other`` per second."""
        assert self.damper is not None
        step, total = time / _STEPS, 0.0
        for _ in range(_STEPS):
            push = self.damper(speed + 0.5 * step * other)
            total += push
            speed += step * (push / self.inertia + other)
        return total / _STEPS


def restraining(law: Piecewise, reach: float) -> bool:
    """Return whether a law of speed takes energy away and gives none, as far as ``reach`` both ways."""
    speeds = np.linspace(-reach, reach, 201)
    return all(law(float(speed)) * speed >= 0.0 for speed in speeds)
