"""Names as SKEL can hold them, and ids that no two objects share."""

from __future__ import annotations

from collections.abc import Iterable

from ...core import naming


class Unique(naming.Unique):
    """Gives every name once: a name that is taken gets a number in brackets, as DART does."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        super().__init__(lambda name, number: f"{name}({number})", 1, taken)


def plain(name: str, otherwise: str) -> str:
    """A name as DART finds it again: without white space around it or breaks in it, and not empty."""
    return " ".join(name.split()) or otherwise
