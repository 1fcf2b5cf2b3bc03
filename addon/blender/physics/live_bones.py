"""Where bones are going that strips or drivers move: their curves alone do not tell, and a step is commanded before its
frame is evaluated. What they did last is taken to go on."""

from __future__ import annotations

from collections.abc import Iterable

import bpy

from ..channels import is_of_screw
from .others import has_strips

_Key = tuple[str, int]


class LiveBones:
    """Those channels of a rig (data path, index) that more than the curves of its Action moves."""

    def __init__(self, rig: bpy.types.Object, channels: Iterable[_Key]) -> None:
        data = rig.animation_data
        drivers = [] if data is None else [curve for curve in data.drivers if not is_of_screw(curve)]
        driven = {(curve.data_path, curve.array_index) for curve in drivers if not curve.mute}
        everything = data is not None and has_strips(data)
        self.keys = {key for key in channels if everything or key in driven}
        self._rig, self._frame = rig, 0.0
        self._now: dict[_Key, float] = {}
        self._before: dict[_Key, float] = {}

    def look(self, frame: float) -> None:
        """Bones are where ``frame`` has them, the last that was evaluated. Called once for each."""
        self._frame, self._before = frame, self._now
        self._now = {key: self._read(key) for key in self.keys}

    def at(self, key: _Key, frame: float) -> float:
        """Return where a channel is at a frame, as far as its last two values tell."""
        if key not in self._now:  # the run has not begun
            return self._read(key)
        now = self._now[key]
        return now + (frame - self._frame) * (now - self._before.get(key, now))

    def _read(self, key: _Key) -> float:
        path, index = key
        return float(self._rig.path_resolve(path)[index])
