"""Copies, immutable values and comparison of records.

Copying a mechanism takes a fraction of the time of ``copy.deepcopy`` and does without the ``dumps`` of ``pickle``:
bodies and joints are thousands of records that hold little but numbers and strings. Objects that two records share, as
some readers' frames share poses, are copied for each.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from copy import copy, deepcopy
from functools import cache
from operator import attrgetter
from typing import Any, NoReturn

import numpy as np

from .model import Array, Mechanism
from .transforms import bitwise_equal

#: Immutable types, which need no copy.
_IMMUTABLE_TYPES = frozenset({str, float, int, bool, bytes, type(None)})


def copy_mechanism(mechanism: Mechanism) -> Mechanism:
    """Return an independent copy of a mechanism: changes to one, or to anything in it, do not show in the other.

    >>> one = Mechanism("rover")
    >>> two = copy_mechanism(one)
    >>> two.world.gravity[2] = -1.62
    >>> float(one.world.gravity[2])
    -9.81
    """
    out = copy(mechanism)
    for field in dataclasses.fields(Mechanism):
        value = getattr(mechanism, field.name)
        setattr(out, field.name, _copy_value(value) if field.name in _RECORD_FIELDS else deepcopy(value))
    return out


#: Fields with thousands of records. Not motions: the identity of trajectories tells which are as they were read.
_RECORD_FIELDS = frozenset({"bodies", "joints", "frames", "behaviours"})


def _copy_record(record: Any) -> Any:
    kind: Any = type(record)
    values = _field_getter(kind)(record)
    return kind(*[value if type(value) in _IMMUTABLE_TYPES else _copy_value(value) for value in values])


@cache
def _field_getter(kind: type) -> Callable[[Any], Sequence[Any]]:
    """Return a function that reads all fields of records of a kind."""
    names = [field.name for field in dataclasses.fields(kind)]
    return attrgetter(*names) if len(names) > 1 else lambda it: [getattr(it, *names)]


def _copy_value(value: Any) -> Any:
    kind = type(value)
    if kind is np.ndarray:
        return value.copy() if value.flags.writeable else value  # read-only arrays can be shared
    if kind is list:
        return [item if type(item) in _IMMUTABLE_TYPES else _copy_value(item) for item in value]
    if kind is dict:
        return {key: item if type(item) in _IMMUTABLE_TYPES else _copy_value(item) for key, item in value.items()}
    if kind is tuple:
        return value if all(type(item) in _IMMUTABLE_TYPES for item in value) else deepcopy(value)
    if kind is FrozenDict:
        return value
    return _copy_record(value) if dataclasses.is_dataclass(kind) else deepcopy(value)


def freeze_array(array: Array) -> Array:
    """Make an array read-only and return it."""
    array.flags.writeable = False
    return array


#: Read-only constants: origin, unit tensor and zero tensor.
ZERO_VECTOR, UNIT_TENSOR, ZERO_TENSOR = (
    freeze_array(np.zeros(3)),
    freeze_array(np.eye(3)),
    freeze_array(np.zeros((3, 3))),
)


class FrozenDict(dict[str, Any]):
    """Immutable dictionary, shared by many records: changing it raises TypeError. Its copies are plain dictionaries."""

    __slots__ = ()

    def _refuse(self, *_given: Any, **_more: Any) -> NoReturn:
        raise TypeError("this is shared by many records; give the record one of its own")

    __setitem__ = __delitem__ = __ior__ = _refuse  # type: ignore[assignment]
    update = setdefault = pop = popitem = clear = _refuse  # type: ignore[assignment]

    def copy(self) -> dict[str, Any]:
        """Return a plain dictionary, which can be changed."""
        return dict(self)

    __copy__ = copy

    def __deepcopy__(self, _memo: dict[int, Any]) -> dict[str, Any]:
        return dict(self)  # its values are immutable

    def __reduce__(self) -> tuple[type, tuple[dict[str, Any]]]:
        return FrozenDict, (dict(self),)  # pickled records share it as well


#: Fields that comparison ignores: the position in the file, and what no file format has.
_UNCOMPARED_FIELDS = frozenset({"line", "mirror_plane", "servo_stiffness", "servo_damping"})
_SCALAR_TYPES = frozenset({str, float, int, bool})


def records_equal(one: Any, other: Any) -> bool:
    """Return whether two records, or values of records, are equal.

    Arrays are compared bit by bit. Numbers that are NaN differ unless they are the same object.
    """
    if one is other:
        return True
    kind: Any = type(one)
    if kind is not type(other):
        return False
    if kind is np.ndarray:
        return bitwise_equal(one, other)
    if kind is list or kind is tuple:
        return len(one) == len(other) and all(map(records_equal, one, other))
    if kind is dict:
        return one.keys() == other.keys() and all(records_equal(value, other[key]) for key, value in one.items())
    values = _compared_getter(kind)  # type: ignore[arg-type]
    if values is None:
        return bool(one == other)
    for mine, theirs in zip(values(one), values(other), strict=True):
        if mine is theirs or (type(mine) in _SCALAR_TYPES and type(theirs) is type(mine) and mine == theirs):
            continue  # the common case
        if not records_equal(mine, theirs):
            return False
    return True


@cache
def _compared_getter(kind: type) -> Callable[[Any], tuple[Any, ...]] | None:
    """Return a function that gets the compared values of a record; None for types that are no records."""
    names = (
        [item.name for item in dataclasses.fields(kind) if item.name not in _UNCOMPARED_FIELDS]
        if _is_record(kind)
        else []
    )
    return attrgetter(*names) if len(names) > 1 else None


def _is_record(kind: type) -> bool:
    return dataclasses.is_dataclass(kind)
