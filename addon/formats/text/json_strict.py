"""Strict JSON, decoded by Python's own reader. What is out of the ordinary is left to ``jsontext``."""

from __future__ import annotations

import json
import math
import re
from typing import Any

#: Escapes of nuls and halves of letters, which no other program's text can hold: of those is told, word by word. (Two
#: halves that make one letter are read so as well, and come to the same.)
_UNHEARD_OF = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
#: Whole numbers of so many letters are read as any other number: 64 bits do not hold them.
LONG = 19
_CONTAINERS = frozenset({dict, list})


def decoded(text: str, start: int, deepest: int) -> tuple[Any, int] | None:
    """The value that begins at a place of the text, and where it ends; None where it is not JSON to the letter, repeats
    a key, has a number beyond all numbers or halves of letters, or is nested deeper than so many levels."""
    if _UNHEARD_OF.search(text):
        return None
    try:
        plain, end = _STRICT(text, start)
    except (ValueError, RecursionError):
        return None
    return None if _is_deeper(plain, deepest) else (plain, end)


def end_of(text: str, start: int) -> int:
    """Return where a value ends that ``decoded`` has taken before. Little is kept of what is passed over."""
    return _PASSED(text, start)[1]


def _is_deeper(plain: Any, deepest: int) -> bool:
    level = [plain] if type(plain) in _CONTAINERS else []
    for _ in range(deepest):
        if not level:
            return False
        level = [
            child
            for each in level
            for child in (each.values() if type(each) is dict else each)
            if type(child) in _CONTAINERS
        ]
    return bool(level)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is repeated")
    return found


def _whole(word: str) -> int | float:
    return int(word) if len(word) < LONG else _finite(word)


def _finite(word: str) -> float:
    value = float(word)
    if not math.isfinite(value):
        raise ValueError(word)
    return value


def _constant(word: str) -> None:
    raise ValueError(word)


_STRICT = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_whole, parse_float=_finite, parse_constant=_constant
).raw_decode
_PASSED = json.JSONDecoder(object_pairs_hook=len, parse_int=float).raw_decode
