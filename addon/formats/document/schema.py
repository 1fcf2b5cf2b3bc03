"""Field tables: the fields of one kind of object of a format, by their paths, and rows of values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar


class HasPath(Protocol):
    """Protocol of a field that has a path in its object."""

    @property
    def path(self) -> str:
        """Path of the field in its object."""
        ...


#: Bound by name: ``typing`` caches the arguments of ``Generic``, and with the class it would keep this module alive.
F = TypeVar("F", bound="HasPath")


class FieldTable(Generic[F]):
    """Base of the formats' field tables: iterable over the fields, and a mapping of paths to fields."""

    fields: tuple[F, ...]

    def __class_getitem__(cls, _field: object) -> type:
        """Return the class itself, not a generic alias.

        ``typing`` would cache each field's class forever, and with it a reloaded version of the extension.
        """
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
    """Row of the values that an object of a document gives.

    Other values are at their defaults and take no memory: most objects give a few of some forty fields.
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
        """Return the value or the field's default; ``default`` where there is no such field."""
        found = super().get(path, self._defaults)
        return self._defaults.get(path, default) if found is self._defaults else found

    def whole(self) -> dict[str, Any]:
        """Return a plain, mutable row with all values, the defaults included."""
        return {**self._defaults, **self}
