"""What the joints of the filmed models are at in every frame, for what is burnt into the pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.model import Array
from ...core.overlay_geometry import Degrees
from ..edit.marks import stand_of

_STEADY = ("turns", "scale", "lower", "upper")
_MOVING = ("origin", "axis", "zero", "radius", "value")


@dataclass
class Readings:
    """The degrees of freedom of one coordinate, m of them by their servos' ``names``, in n frames. ``steady`` holds
    what never changes, (m,), and ``moving`` the rest, (n, m) or (n, m, 3), by the names of ``Degrees``; ``balls``
    (n, k, 4, 4) are the frames of joints that turn every way, ``reach`` (n, k) how large those are drawn."""

    names: list[str]
    steady: dict[str, Array]
    moving: dict[str, Array]
    balls: Array
    reach: Array

    def at(self, index: int) -> Degrees:
        """The degrees in one frame, counted from 0."""
        now: dict[str, Any] = {name: part[index].astype(np.float64) for name, part in self.moving.items()}
        steady: dict[str, Any] = self.steady  # among it truth values
        return Degrees(**now, **steady)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """All as arrays, to be saved."""
        parts: dict[str, NDArray[np.generic]] = {"names": np.array(self.names, dtype=np.str_)}
        return parts | self.steady | self.moving | {"balls": self.balls, "reach": self.reach}

    @classmethod
    def read(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Readings:
        """From what ``arrays`` gave."""
        return cls(
            [str(name) for name in arrays["names"]],
            {name: np.asarray(arrays[name]) for name in _STEADY},
            {name: np.asarray(arrays[name], dtype=np.float32) for name in _MOVING},
            np.asarray(arrays["balls"], dtype=np.float32),
            np.asarray(arrays["reach"], dtype=np.float32),
        )


class Reader:
    """Notes frame by frame what the joints of models are at."""

    def __init__(self, rigs: Sequence[bpy.types.Object]) -> None:
        self._rigs = rigs
        self._seen: list[tuple[Degrees, Array, Array]] = []
        self._names: list[str] = []

    def note(self) -> None:
        """Note the frame that the scene is at."""
        if not self._rigs:
            return
        stands = [stand_of(rig) for rig in self._rigs]
        if not self._seen:
            self._names = [name for stand in stands for name in stand.servo_names()]
        each = [stand.degrees(hidden=True) for stand in stands]
        joined = Degrees(
            *(np.concatenate([getattr(row, name) for row, *_ in each]) for name in Degrees.__dataclass_fields__)
        )
        balls, reach = (np.concatenate([row[part] for row in each]) for part in (1, 2))
        self._seen.append((joined, balls, reach))

    def readings(self) -> Readings | None:
        """All that was noted; None where there is nothing."""
        if not self._seen:
            return None
        first = self._seen[0][0]
        return Readings(
            self._names,
            {name: getattr(first, name) for name in _STEADY},
            {name: np.array([getattr(row, name) for row, *_ in self._seen], dtype=np.float32) for name in _MOVING},
            np.array([balls for _, balls, _ in self._seen], dtype=np.float32),
            np.array([reach for *_, reach in self._seen], dtype=np.float32),
        )
