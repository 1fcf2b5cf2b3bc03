"""Names of x_xy. The program takes a name that reads as numbers for numbers and makes ``7`` of ``007``."""

from __future__ import annotations

from ...core.naming import Unique

_MARK = "_"


def is_numeric(name: str) -> bool:
    """Return whether the program takes a name for numbers."""
    if name[:1].isalpha() and name[0] not in "iInN":  # as in "inf" and "nan"
        return False
    try:
        return bool([float(piece) for piece in name.split(" ")])
    except ValueError:
        return False


def safe_name(name: str) -> str:
    """The name as it can stand in a file: a numeric one, and one that looks like such a one made safe, gets a mark."""
    return _MARK + name if is_numeric(name.lstrip(_MARK)) else name


def read_name(name: str) -> str:
    """Return what ``safe_name`` was given; other names as they are."""
    return name.removeprefix(_MARK) if is_numeric(name.lstrip(_MARK)) else name


def unique_names() -> Unique:
    """Gives every name once: one that is taken gets a number in brackets behind it."""
    return Unique(lambda name, number: f"{name} ({number})", 2)
