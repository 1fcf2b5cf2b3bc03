"""Records of what was made just now, set in one go: Blender takes a whole group at once in a fifth of the time that it
takes for one property after the other, each of which has it look what hangs on it."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import bpy
import numpy as np

from .. import compat

#: As Blender keeps it: a property's number in place of its choice, 32-bit numbers in arrays, parts of it as groups.
Group = dict[str, Any]
_LARGEST = float(np.finfo(np.float32).max)
_SIGNED = {float, list, np.float64}


def put_new(owner: Any, group: Group) -> None:
    """Set the record of something that was made just now and has nothing of a record yet. Nobody is told."""
    if group and compat.TAKES_GROUPS:
        compat.put_group(owner, "knuckle", group)
    elif group:
        _put_one_by_one(owner.knuckle, group)


def _put_one_by_one(record: Any, group: Group) -> None:
    """Set a new record value by value, where Blender takes no groups."""
    for name, value in group.items():
        each = record.bl_rna.properties[name]
        if each.type == "COLLECTION":
            for one in value:
                _put_one_by_one(getattr(record, name).add(), one)
        elif isinstance(value, dict):
            _put_one_by_one(getattr(record, name), value)
        elif each.type == "ENUM":
            setattr(record, name, next(item.identifier for item in each.enum_items if item.value == value))
        else:
            setattr(record, name, value)


def new_group(kind: Any, values: Mapping[str, Any]) -> Group:
    """A new property group of a ``kind`` that has some ``values``: reads as if each had been set by itself. What a
    property is anyway is left out: every value takes time and memory of its own."""
    known, group = _usual_and_ways(kind), Group()
    for name, value in values.items():
        own, way = known[name]
        if value != own or (value.__class__ in _SIGNED and is_other_zero(value, own)):
            group[name] = way(value)
    return group


def is_other_zero(value: Any, usual: Any) -> bool:
    """Return whether one of two values that are equal, numbers or lists of some, has -0 where the other has 0."""
    if isinstance(value, float | int):
        return not value and math.copysign(1.0, value) != math.copysign(1.0, usual)
    return array("d", value).tobytes() != array("d", usual).tobytes()


@cache
def usual_of(kind: Any) -> dict[str, Any]:
    """Return what the properties of a group are where nobody has set them, by their names."""
    return {each.identifier: _usual_value(each) for each in kind.bl_rna.properties}


def _usual_value(each: Any) -> Any:
    if each.type in {"POINTER", "COLLECTION"}:
        return None
    if each.type in {"BOOLEAN", "INT", "FLOAT"} and each.is_array:
        return list(each.default_array)
    return each.default


@cache
def _usual_and_ways(kind: Any) -> dict[str, tuple[Any, Callable[[Any], Any]]]:
    """Return what the properties of a group are anyway, and how others are to be given to Blender."""
    ways = _ways(kind)
    return {name: (value, ways[name]) for name, value in usual_of(kind).items()}


@cache
def _ways(kind: Any) -> dict[str, Callable[[Any], Any]]:
    """Return how the values of a group's properties are to be given to Blender, by their names."""
    return {each.identifier: _way(each) for each in kind.bl_rna.properties}


def _way(each: Any) -> Callable[[Any], Any]:
    if each.type == "ENUM":
        return {item.identifier: item.value for item in each.enum_items}.__getitem__
    if each.type == "FLOAT":
        return _numbers_within(each.hard_min, each.hard_max, each.is_array)
    plain: dict[str, Callable[[Any], Any]] = {"STRING": _text, "BOOLEAN": bool, "INT": int}
    return plain.get(each.type, _as_it_is)


def _numbers_within(low: float, high: float, several: bool) -> Callable[[Any], Any]:
    """For a number, or ``several``, those that are too small or too large as the nearest that the property takes."""

    def one(value: float) -> float:
        value = float(value)
        return low if value < low else high if value > high else value

    def every(values: Iterable[float]) -> array[float]:
        taken = array("f", values)
        # what is too large for 32 bits is infinite now: mostly nothing is, and a look at the sum tells
        return taken if unlimited and math.isfinite(sum(taken)) else array("f", map(one, values))

    unlimited = low <= -_LARGEST and high >= _LARGEST
    return every if several else one


def _text(value: str) -> str:
    """A text as Blender keeps it, up to a nul. UnicodeEncodeError where it is none."""
    value.encode()
    return value.partition("\0")[0]


def _as_it_is(value: Any) -> Any:
    return value


def plain_group(kind: Any, values: Mapping[str, Any]) -> Group:
    """The same of values of which none is what it is anyway."""
    kept = _ways(kind)
    return {name: kept[name](value) for name, value in values.items()}


def put_each(record: bpy.types.PropertyGroup, values: Mapping[str, Any]) -> None:
    """Set properties of a group that is part of a record."""
    kind: Any = type(record)
    usual = usual_of(kind)
    for name, value in values.items():
        own = usual[name]
        if value != own or (value.__class__ in _SIGNED and is_other_zero(value, own)):
            setattr(record, name, value)
