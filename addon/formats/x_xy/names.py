"""Names of x_xy. The program takes a name that reads as numbers for numbers and makes ``7`` of ``007``."""

from __future__ import annotations

from collections.abc import Container

from ...model.naming import free_number

_MARK = "_"


def is_numeric(name: str) -> bool:
    """Whether the program takes a name for numbers."""
    try:
        return bool([float(piece) for piece in name.split(" ")])
    except ValueError:
        return False


def safe_name(name: str) -> str:
    """The name as it can stand in a file: a numeric one, and one that looks like such a one made safe, gets a mark."""
    return _MARK + name if is_numeric(name.lstrip(_MARK)) else name


def read_name(name: str) -> str:
    """What ``safe_name`` was given; other names as they are."""
    return name.removeprefix(_MARK) if is_numeric(name.lstrip(_MARK)) else name


def free_name(name: str, taken: Container[str]) -> str:
    """The name, with a number behind it where it is taken."""
    if name not in taken:
        return name
    return f"{name} ({free_number(lambda number: f'{name} ({number})' in taken, 2)})"
