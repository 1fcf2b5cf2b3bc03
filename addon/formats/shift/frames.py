"""The frames on one body while a document is written, and which of them is where another is wanted."""

from __future__ import annotations

from bisect import bisect_left, insort

import numpy as np

from ...core.model import Array
from .names import Names
from .values import SAME_POSE, same_pose

#: What a pose's twelve numbers are multiplied by to make one of them, so that few poses share it.
_WEIGHTS = np.sqrt([[2.0, 3.0, 5.0, 7.0], [11.0, 13.0, 17.0, 19.0], [23.0, 29.0, 31.0, 37.0]])
_ALL_WEIGHTS = float(_WEIGHTS.sum())


class Frames:
    """Frames by name. A body that a thousand joints hang on has as many: where one is wanted, only those are looked at
    whose numbers have nearly the same weighted sum."""

    def __init__(self) -> None:
        self.poses: dict[str, Array] = {}
        self.names = Names()
        self._order: dict[str, int] = {}
        self._sums: list[tuple[float, int, str]] = []  # ascending, each with the place in the order and the name

    def put(self, name: str, pose: Array) -> None:
        """Give a name a pose, be it a new one or not."""
        order = self._order.setdefault(name, len(self._order))
        if name in self.poses:
            del self._sums[bisect_left(self._sums, (_sum(self.poses[name]), order))]
        self.names.add(name)
        self.poses[name] = pose
        insort(self._sums, (_sum(pose), order, name))

    def at(self, pose: Array) -> str | None:
        """The first frame that is at a pose but for rounding, None where there is none."""
        middle = _sum(pose)
        reach = 2.0 * SAME_POSE * (1.0 + float(np.abs(pose[:3, 3]).max())) * _ALL_WEIGHTS
        near: list[tuple[int, str]] = []
        for number in range(bisect_left(self._sums, (middle - reach,)), len(self._sums)):
            found, order, name = self._sums[number]
            if found > middle + reach:
                break
            if same_pose(self.poses[name], pose):
                near.append((order, name))
        return min(near)[1] if near else None


def _sum(pose: Array) -> float:
    with np.errstate(over="ignore"):  # of numbers near the end of all numbers it is infinite
        return float((pose[:3] * _WEIGHTS).sum())
