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
    the ``share`` (0 to 1) of the whole; for other work all of it follows from ``done`` and ``total``.
    """

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

    @property
    def counted(self) -> tuple[int, int]:
        """Return what is counted now: of the phase where there are several, else of all."""
        return (self.done, self.total) if self.part is None else (self.part, self.parts)


class Pace:
    """Estimate of the time that is left, from how fast the last steps went."""

    def __init__(self) -> None:
        self._begin: float | None = None
        self._seen: deque[tuple[float, float]] = deque(maxlen=_RECENT)

    def left(self, portion: float, now: float) -> float | None:
        """Seconds until all is done, or None before two steps are: the first has preparations in it.

        Args:
            portion: share of the whole work that is done, 0 to 1.
            now: a clock (s).
        """
        if self._begin is None:
            self._begin = portion
        if portion > self._begin and (not self._seen or portion > self._seen[-1][0]):
            self._seen.append((portion, now))
        if len(self._seen) < 2:
            return None
        (first, began), (last, ended) = self._seen[0], self._seen[-1]
        return (1.0 - last) * (ended - began) / (last - first)


def duration(seconds: float) -> str:
    """A time in words: seconds up to a minute and a half, then minutes."""
    if seconds < 1.5 * _MINUTE:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / _MINUTE)} min"
