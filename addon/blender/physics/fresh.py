"""Setting up rigid bodies and constraints that Blender made just now: what they are anyway is not written, since every
value that is set has Blender look what hangs on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Fresh:
    """Rigid bodies, or constraints, of which some are new: not set up by anybody. Every new one is alike."""

    def __init__(self) -> None:
        self._new: set[int] = set()
        self._usual: dict[str, Any] = {}

    def add(self, made: Any) -> None:
        """Know something for new."""
        self._new.add(made.as_pointer())

    def put(self, owner: Any, values: Mapping[str, Any]) -> None:
        """Set properties, of a new one those that are something else than usual."""
        if owner.as_pointer() not in self._new:
            for name, value in values.items():
                setattr(owner, name, value)
            return
        usual = self._usual
        for name, value in values.items():
            if name not in usual:
                usual[name] = _plain(getattr(owner, name))  # the first that it is set on
            if usual[name] != value:
                setattr(owner, name, value)


def _plain(value: Any) -> Any:
    return value if isinstance(value, (str, float, int)) or value is None else list(value)
