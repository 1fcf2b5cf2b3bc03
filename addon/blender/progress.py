"""Progress of long work: its steps, how much of it is done, and the time that is left."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

#: So many of the last steps tell how fast the work goes.
_RECENT = 12
_MINUTE = 60.0


class Step(NamedTuple):
    """A step of long work: ``done`` of ``total`` in all.

    Work whose steps take very different times names its ``phase`` with what is done of that, ``part`` of ``parts``, and
    the ``share`` (0 to 1) of the whole; for other work all of it follows from ``done`` and ``total``."""

    done: int
    total: int
    phase: str = ""
    part: int | None = None
    parts: int = 0
    share: float | None = None

    @property
    def portion(self) -> float:
        """Share of the whole work that is done, 0 to 1."""
        return min(1.0, self.done / max(self.total, 1)) if self.share is None else self.share

    def text(self, seconds_left: float | None) -> str:
        """Progress in words: ``12 of 76 (15 %, 80 s left)``."""
        part, parts = (self.done, self.total) if self.part is None else (self.part, self.parts)
        left = "" if seconds_left is None else f", {duration(seconds_left)} left"
        return f"{part} of {parts} ({int(100 * self.portion)} %{left})"


class Pace:
    """Estimate of the time that is left, from how fast the last steps went."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, float]] = deque(maxlen=_RECENT)

    def left(self, portion: float, now: float) -> float | None:
        """Seconds until all is done, or None before anything is.

        Args:
            portion: share of the whole work that is done, 0 to 1.
            now: a clock (s).
        """
        if self._seen and portion <= self._seen[-1][0]:
            if len(self._seen) == 1:  # still preparing: what counts has not begun
                self._seen[0] = (portion, now)
            return None if len(self._seen) < 2 else self._estimate()
        self._seen.append((portion, now))
        return None if len(self._seen) < 2 else self._estimate()

    def _estimate(self) -> float:
        (first, began), (last, now) = self._seen[0], self._seen[-1]
        return (1.0 - last) * (now - began) / (last - first)


def duration(seconds: float) -> str:
    """A time in words: seconds up to a minute and a half, then minutes."""
    if seconds < 1.5 * _MINUTE:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / _MINUTE)} min"
