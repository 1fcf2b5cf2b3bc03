"""Setting up rigid bodies and constraints that Blender made just now: what they are anyway is not written, since every
value that is set has Blender look what hangs on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Fresh:
    """What Blender's rigid bodies, or its constraints, are when they are new: every one is alike."""

    def __init__(self) -> None:
        self._usual: dict[str, Any] = {}

    def put(self, owner: Any, values: Mapping[str, Any], is_new: bool) -> None:
        """Set properties; of what is new, and was not set up by anybody, those that are something else than usual."""
        if not is_new:
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
