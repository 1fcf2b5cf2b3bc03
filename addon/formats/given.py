"""Rows of values, as formats read them from their documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Given(dict[str, Any]):
    """A row that holds what an object of a document gives. What it does not give is at its default and takes no room:
    most objects say a few of the forty things that they could."""

    __slots__ = ("_defaults",)

    def __init__(self, defaults: Mapping[str, Any]) -> None:
        self._defaults = defaults

    def __missing__(self, path: str) -> Any:
        return self._defaults[path]

    def __contains__(self, path: object) -> bool:
        return path in self._defaults or super().__contains__(path)

    def says(self, path: str) -> bool:
        """Return whether the document gives a value."""
        return super().__contains__(path)

    def get(self, path: str, default: Any = None) -> Any:
        """The value or its default; ``default`` where there is no such field."""
        found = super().get(path, self._defaults)
        return self._defaults.get(path, default) if found is self._defaults else found

    def whole(self) -> dict[str, Any]:
        """A row with everything, the defaults too, to be changed."""
        return {**self._defaults, **self}
