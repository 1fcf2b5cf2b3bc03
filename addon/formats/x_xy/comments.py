"""Extension data of x_xy files: what the format cannot hold, in comments that its program ignores.

A comment ``<!--knuckle {...}-->`` is first inside the body that it is about; one about the whole model is first in the
root. It holds JSON in ASCII. A comment that cannot be read is reported and left out; the document is read all the same.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import sys
from collections.abc import Callable
from functools import cache
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from ...core.model import DOF_SIZE, Assembly, Dof, Frame, Joint, Light, Restraint, Shape
from ...core.transforms import bitwise_equal
from ..text.json_reader import replace_invalid_characters
from ..text.xml_reader import ElementSpans

_COMMENT = re.compile(r"<!--knuckle (\{.*?)\s*-->", re.DOTALL)  # up to the end of the comment, valid or not

ExtensionData = dict[str, Any]
R = TypeVar("R")
#: Fields with nested records, with arrays, and with tuples.
_NESTED_RECORDS: dict[str, type] = {"shapes": Shape, "dofs": Dof, "parts": Dof}
_ARRAYS = frozenset({"pose", "com", "inertia", "frame_parent", "frame_child", "axis"})
_TUPLES = frozenset({"color", "start", "start_rates", "ambient", "diffuse", "specular", "bodies"})
WHOLE_RECORDS: dict[str, type] = {
    "joints": Joint,
    "assemblies": Assembly,
    "restraints": Restraint,
    "lights": Light,
    "frames": Frame,
}


def format_comment(note: ExtensionData) -> str:
    """Format extension data as a comment."""
    text = json.dumps(note, separators=(",", ":"), ensure_ascii=True, default=str)
    return f"<!--knuckle {text.replace('--', '-' + chr(92) + 'u002d')}-->"


def find_comments(text: str, spans: ElementSpans) -> dict[int, tuple[ExtensionData | None, int, int]]:
    """Find our comments in a document, by index of the element that each is in; of several in one the first.

    Returns:
        The extension data (None where they cannot be read) and the span of each comment.
    """
    found: dict[int, tuple[ExtensionData | None, int, int]] = {}
    for match in _COMMENT.finditer(text):
        number = spans.enclosing_element(match.start())
        if number < 0:
            continue
        try:
            note = json.loads(match[1])
            note = _valid_text(note) if "\\u" in match[1] else note
            note = note if is_valid_comment(note) else None
        except (ValueError, RecursionError):
            note = None
        found.setdefault(number, (note, match.start(), match.end()))
    return found


#: Fields of records that are in no file: the line it was read from, and the gains of Blender's own control law.
_INTERNAL_KEYS = frozenset({"line", "servo_stiffness", "servo_damping"})


@cache
def _record_fields(kind: Any) -> tuple[dataclasses.Field, ...]:
    """Return the fields of records of a kind, cached as every record needs them."""
    return dataclasses.fields(kind)


def _valid_text(value: Any) -> Any:
    """Replace characters in the strings of a JSON value that other programs' texts cannot hold."""
    if isinstance(value, dict):
        return {replace_invalid_characters(key): _valid_text(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_valid_text(item) for item in value]
    return replace_invalid_characters(value) if isinstance(value, str) else value


def non_default_fields(record: Any, leave: frozenset[str] = frozenset()) -> ExtensionData:
    """Return the fields of a record that differ from their defaults, as JSON values."""
    out: ExtensionData = {}
    for item in _record_fields(type(record)):  # type: ignore[arg-type]
        value = getattr(record, item.name)
        if item.name in leave or item.name in _INTERNAL_KEYS or _is_default(item, value):
            continue
        out[item.name] = _plain_value(value)
    return out


def changed_fields(record: Any, other: Any, leave: frozenset[str] = frozenset()) -> ExtensionData:
    """Return the fields of a record that differ from those of another record of its kind."""
    out: ExtensionData = {}
    for item in _record_fields(type(record)):  # type: ignore[arg-type]
        if item.name in leave or item.name in _INTERNAL_KEYS:
            continue
        mine, theirs = getattr(record, item.name), getattr(other, item.name)
        if mine is theirs or (type(mine) in _SCALARS and mine == theirs):
            continue
        if type(mine) is np.ndarray and type(theirs) is np.ndarray and bitwise_equal(mine, theirs):
            continue
        if type(mine) in _CONTAINERS and not mine and not theirs:
            continue
        mine, theirs = _plain_value(mine), _plain_value(theirs)
        if item.name == "extra":
            mine = {key: value for key, value in mine.items() if theirs.get(key) != value}
            theirs = {}
        if mine != theirs and not (_is_close(mine, theirs)):
            out[item.name] = mine
    return out


def apply_fields(note: Any, record: Any) -> None:
    """Set the fields of a record to those of its extension data.

    Raises:
        ValueError, TypeError, KeyError: the data do not fit.
    """
    kind: Any = type(record)
    for name, value in dict(note).items():
        if name not in kind.__dataclass_fields__:
            raise KeyError(name)
        if name == "extra":
            record.extra = record.extra | _checked_value(kind, name, value)
        elif value is not None or _value_check(kind, name)(None):  # numbers that are not finite are written as null
            setattr(record, name, _checked_value(kind, name, _restore_value(name, value)))


def restore_record(kind: type, note: Any) -> Any:
    """Create a record from its fields that differ from their defaults. Raises what ``apply_fields`` raises."""
    required = {item.name for item in dataclasses.fields(kind) if _has_no_default(item)}
    values = {name: _checked_value(kind, name, _restore_value(name, value)) for name, value in dict(note).items()}
    missing = {name: _checked_value(kind, name, None) for name in required - values.keys()}
    return validate_record(kind(**missing, **values))


def validate_record(record: R) -> R:
    """Return a record that was made or changed by extension data.

    Raises:
        ValueError: its sizes or numbers of coordinates are invalid.
    """
    if isinstance(record, Shape):
        if not {*_SIZES.get(record.type, ())} <= record.size.keys():
            raise ValueError("size")
    elif isinstance(record, Dof):
        size = DOF_SIZE[record.kind]
        lengths = {len(each) for each in (record.start, record.start_rates, record.parts)}
        if size > 1 and not lengths <= {0, size}:
            raise ValueError("start")
    return record


_Check = Callable[[Any], bool]


@cache
def _value_check(kind: Any, name: str) -> _Check:
    """Return the test of whether a field of a kind of record may have a value."""
    return _type_check(get_type_hints(kind)[name])


def _checked_value(kind: type, name: str, value: Any) -> Any:
    """Return a value that a field may have.

    Raises:
        ValueError: it may not, as a file can contain anything.
    """
    if not _value_check(kind, name)(value):
        raise ValueError(name)
    if name == "extra" and not all(_type_check(_EXTRAS[key])(part) for key, part in value.items() if key in _EXTRAS):
        raise ValueError(name)
    return value


#: Sizes of each type of shape.
_SIZES = {
    **dict.fromkeys(("box", "ellipsoid"), ("x", "y", "z")),
    **dict.fromkeys(("sphere", "hemisphere"), ("radius",)),
    **dict.fromkeys(("cylinder", "capsule", "cone"), ("length", "radius")),
    "pyramid": ("x", "y", "length"),
}
#: Types of the values that writers and builders use in ``extra`` (``_EXTRAS``) and in extension data.
_NUMBERS = list[float] | tuple[float, ...] | None
_TEXTS = list[str] | None
_EXTRAS: dict[str, Any] = {
    "pos_min": _NUMBERS,
    "pos_max": _NUMBERS,
    "numbers": dict[str, list[float]] | None,
    "joint": str | None,
    "mass": float | None,
    "actuator": str | None,
    "derived_moment": bool | list[list[float]] | None,
    "soft": dict[str, Any] | None,
    "chosen": dict[str, list[float]] | None,
    **dict.fromkeys(("files", "include", "frames"), _TEXTS),
    **dict.fromkeys(("stiffness", "damping"), _NUMBERS),
}
_COMMENT_TYPES: dict[str, Any] = {
    "id": str,
    "name": str,
    "mass_geoms": list[int],
    "joint_frame": list[float],
    "shapes": list[dict],
    "dofs": list[dict],
    **dict.fromkeys(("body", "joint", "world", "frame"), dict),
    **dict.fromkeys(WHOLE_RECORDS, list[dict]),
}


def is_valid_comment(note: ExtensionData) -> bool:
    """Return whether the entries of extension data have the right types."""
    return all(_type_check(_COMMENT_TYPES[name])(value) for name, value in note.items() if name in _COMMENT_TYPES)


@cache
def _type_check(hint: Any) -> _Check:
    """Return the test of whether a value matches a type hint; cached, so that each hint is analyzed once."""
    origin, inside = get_origin(hint) or hint, get_args(hint)
    if hasattr(origin, "__value__"):  # a named type: from numpy 2.5 on, ``NDArray`` is one
        return _type_check(origin.__value__)
    if origin in (Union, UnionType):
        either = [_type_check(each) for each in inside]
        return lambda value: any([check(value) for check in either])
    if origin is Literal:
        return inside.__contains__
    if origin is float:
        return lambda value: type(value) in (int, float) and abs(value) <= sys.float_info.max
    if origin is np.ndarray:
        return lambda value: isinstance(value, np.ndarray) and bool(np.isfinite(value).all())
    if origin is Any:
        return lambda value: True
    if not inside:
        kind = origin if isinstance(origin, type) else type(origin)
        return lambda value: type(value) is kind
    if origin is dict:
        held = _type_check(inside[1])
        return lambda value: isinstance(value, dict) and all(map(held, value.values()))
    if origin is list or inside[-1] is Ellipsis:
        held = _type_check(inside[0])
        return lambda value: isinstance(value, origin) and all(map(held, value))
    each = [_type_check(part) for part in inside]
    return lambda value: (
        isinstance(value, tuple)
        and len(value) == len(each)
        and all(check(part) for check, part in zip(each, value, strict=True))
    )


def _restore_value(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name in _NESTED_RECORDS:
        return [restore_record(_NESTED_RECORDS[name], item) for item in value]
    if name in _ARRAYS:
        array = np.array(value, dtype=np.float64)
        if array.shape != {"com": (3,), "axis": (3,), "inertia": (3, 3)}.get(name, (4, 4)):
            raise ValueError(name)
        return array
    if name == "spheres":
        return [tuple(float(x) for x in ball) for ball in value]
    if name == "frames":
        return tuple(np.array(frame, dtype=np.float64) for frame in value)
    return tuple(value) if name in _TUPLES else value


_CONTAINERS = frozenset({dict, list, tuple})
#: Types that JSON has as well.
_SCALARS = frozenset({str, int, bool, float})


def _plain_value(value: Any) -> Any:
    if type(value) is float:  # most values are; numpy's functions are slow for a single number
        return value if math.isfinite(value) else None
    if value is None or type(value) in _SCALARS:
        return value
    if dataclasses.is_dataclass(value):
        return non_default_fields(value)
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple):
        return [_plain_value(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain_value(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _is_close(mine: Any, theirs: Any) -> bool:
    """Return whether two plain values are equal up to the rounding of their text."""
    if isinstance(mine, list) and isinstance(theirs, list):
        return len(mine) == len(theirs) and all(_is_close(a, b) for a, b in zip(mine, theirs, strict=True))
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in (mine, theirs))
    return bool(abs(mine - theirs) <= 1e-13 * (1.0 + abs(theirs))) if numbers else bool(mine == theirs)


def _is_default(item: dataclasses.Field, value: Any) -> bool:
    if _has_no_default(item):
        return value is None
    default: Any = item.default
    if default is dataclasses.MISSING:
        default = item.default_factory()  # type: ignore[operator, misc]
    if isinstance(value, np.ndarray) or isinstance(default, np.ndarray):
        return value is not None and default is not None and np.array_equal(value, default)
    return bool(value == default)


def _has_no_default(item: dataclasses.Field) -> bool:
    return item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING


def field_label(item: str) -> str:
    """Return the name of a record's field in reports."""
    return _FIELD_LABELS.get(item, item)


#: Names in reports of fields whose own names are unclear.
_FIELD_LABELS = {
    "lower": "lower stop",
    "upper": "upper stop",
    "max_force": "maximum force",
    "file_sign": "sign in the file",
    "erp": "ERP",
    "cfm": "CFM",
    "time_step": "time step",
    "com": "center of mass",
}
