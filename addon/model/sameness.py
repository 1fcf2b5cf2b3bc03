"""Whether records say the same, to the last bit: what nobody touched since need not be worked out again."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np

from .rotations import identical

_VALUES: dict[type, Callable[[Any], tuple[Any, ...]] | None] = {}
#: Where in its file a record stood says nothing of it; nor does what no file has.
_UNSAID = frozenset({"line", "mirror_plane", "servo_stiffness", "servo_damping"})
_SCALARS = frozenset({str, float, int, bool})


def same_record(one: Any, other: Any) -> bool:
    """Return whether two records, or values of records, are the same. Numbers that are none are never."""
    if one is other:
        return True
    kind = type(one)
    if kind is not type(other):
        return False
    if kind is np.ndarray:
        return identical(one, other)
    if kind is list or kind is tuple:
        return len(one) == len(other) and all(map(same_record, one, other))
    if kind is dict:
        return one.keys() == other.keys() and all(same_record(value, other[key]) for key, value in one.items())
    values = _VALUES[kind] if kind in _VALUES else _values_of(kind)
    if values is None:
        return bool(one == other)
    for mine, theirs in zip(values(one), values(other), strict=True):
        if mine is theirs or (type(mine) in _SCALARS and type(theirs) is type(mine) and mine == theirs):
            continue  # as most are
        if not same_record(mine, theirs):
            return False
    return True


def _values_of(kind: type) -> Callable[[Any], tuple[Any, ...]] | None:
    """Return what gives the values of a record; None for what is none."""
    names = [item.name for item in dataclasses.fields(kind) if item.name not in _UNSAID] if _is_record(kind) else []
    _VALUES[kind] = attrgetter(*names) if len(names) > 1 else None
    return _VALUES[kind]


def _is_record(kind: type) -> bool:
    return dataclasses.is_dataclass(kind)
