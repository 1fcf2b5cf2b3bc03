"""The fields of one kind of object, found by their paths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar


class HasPath(Protocol):
    """What a field is called in its object."""

    @property
    def path(self) -> str: ...


#: Bound by name: ``typing`` remembers what ``Generic`` was asked for, and with the class it would keep this module.
F = TypeVar("F", bound="HasPath")


class FieldTable(Generic[F]):
    """Base of the formats' tables: iterates over the fields, and has each by its path."""

    fields: tuple[F, ...]

    def __class_getitem__(cls, _field: object) -> type:
        """The class itself: ``typing`` would remember each field's class for ever, and with it a version of the
        extension that another has taken the place of."""
        return cls

    def __iter__(self) -> Iterator[F]:
        return iter(self.fields)

    def __getitem__(self, path: str) -> F:
        return self._by_path[path]

    def __contains__(self, path: str) -> bool:
        return path in self._by_path

    @cached_property
    def _by_path(self) -> dict[str, F]:
        return {field.path: field for field in self.fields}


class SparseRow(dict[str, Any]):
    """A row that holds what an object of a document gives.

    What it does not give is at its default and takes no room: most objects say a few of the forty things that they
    could.
    """

    __slots__ = ("_defaults",)

    def __init__(self, defaults: Mapping[str, Any]) -> None:
        self._defaults = defaults

    def __missing__(self, path: str) -> Any:
        return self._defaults[path]

    def __contains__(self, path: object) -> bool:
        return path in self._defaults or super().__contains__(path)

    def is_set(self, path: str) -> bool:
        """Return whether the document gives a value."""
        return super().__contains__(path)

    def get(self, path: str, default: Any = None) -> Any:
        """The value or its default; ``default`` where there is no such field."""
        found = super().get(path, self._defaults)
        return self._defaults.get(path, default) if found is self._defaults else found

    def whole(self) -> dict[str, Any]:
        """A row with everything, the defaults too, to be changed."""
        return {**self._defaults, **self}
