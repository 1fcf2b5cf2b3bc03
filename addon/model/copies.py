"""Copies of mechanisms, in a fraction of the time that ``copy.deepcopy`` takes and without the ``dumps`` of
``pickle``: bodies and joints are thousands of records that hold little but numbers and words. What two records hold
together, as some readers' frames do with poses, each copy has for itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from copy import copy, deepcopy
from operator import attrgetter
from typing import Any

import numpy as np

from .records import Mechanism
from .shared import Shared

_values: dict[type, Callable[[Any], Sequence[Any]]] = {}
#: What is as good as its copy.
_UNCHANGING = frozenset({str, float, int, bool, bytes, type(None)})


def copied(mechanism: Mechanism) -> Mechanism:
    """A mechanism of one's own: nothing that is done to it, or to what is in it, shows in the other.

    >>> one = Mechanism("rover")
    >>> two = copied(one)
    >>> two.world.gravity[2] = -1.62
    >>> float(one.world.gravity[2])
    -9.81
    """
    out = copy(mechanism)
    for field in dataclasses.fields(Mechanism):
        value = getattr(mechanism, field.name)
        setattr(out, field.name, _of_value(value) if field.name in _RECORDS else deepcopy(value))
    return out


#: What there are thousands of. Of motions it counts which trajectories are the very ones that were read.
_RECORDS = frozenset({"bodies", "joints", "frames", "behaviours"})


def _of_record(record: Any) -> Any:
    kind = type(record)
    values = _values.get(kind)
    if values is None:
        names = [field.name for field in dataclasses.fields(kind)]
        values = _values[kind] = attrgetter(*names) if len(names) > 1 else lambda it: [getattr(it, *names)]
    return kind(*[value if type(value) in _UNCHANGING else _of_value(value) for value in values(record)])


def _of_value(value: Any) -> Any:
    kind = type(value)
    if kind is np.ndarray:
        return value.copy() if value.flags.writeable else value  # what nobody can write to is shared already
    if kind is list:
        return [item if type(item) in _UNCHANGING else _of_value(item) for item in value]
    if kind is dict:
        return {key: item if type(item) in _UNCHANGING else _of_value(item) for key, item in value.items()}
    if kind is tuple:
        return value if all(type(item) in _UNCHANGING for item in value) else deepcopy(value)
    if kind is Shared:
        return value
    return _of_record(value) if dataclasses.is_dataclass(kind) else deepcopy(value)
