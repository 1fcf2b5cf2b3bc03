"""Progress of long work: its steps, the share that is done, and the remaining time."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from ..core.report import Message

#: Number of last steps from which the pace is estimated.
_WINDOW = 12
_MINUTE = 60.0


class WorkStep(NamedTuple):
    """Step of long work: ``done`` of ``total`` in all.

    Work whose steps take very different times also has its ``phase`` with the progress within it, ``part`` of
    ``parts``, and the ``share`` (0 to 1) of the whole; for other work the share follows from ``done`` and ``total``.
    """

    done: int
    total: int
    phase: str = ""
    part: int | None = None
    parts: int = 0
    share: float | None = None

    @property
    def portion(self) -> float:
        """Return the share of the whole work that is done, 0 to 1."""
        return min(1.0, self.done / max(self.total, 1)) if self.share is None else self.share

    @property
    def counted(self) -> tuple[int, int]:
        """Return the current count and total: those of the phase where there are several, else of all."""
        return (self.done, self.total) if self.part is None else (self.part, self.parts)


class TimeEstimate:
    """Estimator of the remaining time, from the pace of the last steps."""

    def __init__(self) -> None:
        self._begin: float | None = None
        self._seen: deque[tuple[float, float]] = deque(maxlen=_WINDOW)

    def left(self, portion: float, now: float) -> float | None:
        """Estimate the remaining time (s); None before two steps after the first, which includes preparations.

        Args:
            portion: Share of the whole work that is done, 0 to 1.
            now: Time of a clock (s).
        """
        if self._begin is None:
            self._begin = portion
        if portion > self._begin and (not self._seen or portion > self._seen[-1][0]):
            self._seen.append((portion, now))
        if len(self._seen) < 2:
            return None
        (first, began), (last, ended) = self._seen[0], self._seen[-1]
        return (1.0 - last) * (ended - began) / (last - first)


def format_duration(seconds: float) -> str:
    """Format a duration: in seconds up to a minute and a half, then in minutes."""
    if seconds < 1.5 * _MINUTE:
        return Message("{} s", max(1, round(seconds)))
    return f"{round(seconds / _MINUTE)} min"
