"""The frames on one body while a document is written, and which of them is where another is wanted."""

from __future__ import annotations

from itertools import islice

import numpy as np

from ...model.records import Array
from .names import Names
from .values import SAME_POSE


class Frames:
    """Frames by name. A body that a thousand joints hang on has as many: where one is wanted, it is looked for among
    all of them at once."""

    def __init__(self) -> None:
        self.poses: dict[str, Array] = {}
        self.names = Names()
        self._stack = np.empty((4, 4, 4))
        self._place: dict[str, int] = {}  # of each frame in the stack, in order

    def put(self, name: str, pose: Array) -> None:
        """Give a name a pose, be it a new one or not."""
        self.names.add(name)
        self.poses[name] = pose
        place = self._place.setdefault(name, len(self._place))
        if place == len(self._stack):
            self._stack = np.concatenate([self._stack, np.empty_like(self._stack)])
        self._stack[place] = pose

    def at(self, pose: Array) -> str | None:
        """The first frame that is at a pose but for rounding, None where there is none."""
        stack = self._stack[: len(self._place)]
        apart = np.abs(stack - pose).max(axis=(1, 2))
        found = np.flatnonzero(apart <= SAME_POSE * (1.0 + np.abs(stack[:, :3, 3]).max(axis=1)))
        return next(islice(self._place, int(found[0]), None)) if len(found) else None
