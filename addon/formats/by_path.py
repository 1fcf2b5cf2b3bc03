"""The fields of one kind of object, found by their paths."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Generic, Protocol, TypeVar


class HasPath(Protocol):
    """What a field is called in its object."""

    @property
    def path(self) -> str: ...


#: Bound by name: ``typing`` remembers what ``Generic`` was asked for, and with the class it would keep this module.
F = TypeVar("F", bound="HasPath")


class ByPath(Generic[F]):
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
