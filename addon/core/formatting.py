"""Formatting of numbers and lists of names for messages."""

from __future__ import annotations

#: From here on digits tell nobody anything.
_LONG = 1e9


def plain(value: float, digits: int = 0) -> str:
    """A number with so many digits behind the point, without a power of ten. What is too large for that, as a strange
    file may have it, has two digits and that power: 2.5e300."""
    return f"{value:.{digits}f}" if abs(value) < _LONG else f"{value:.2g}".replace("e+", "e")


def some(names: list[str]) -> str:
    """The first of some names, and how many more there are."""
    return ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
