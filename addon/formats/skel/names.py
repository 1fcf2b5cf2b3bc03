"""Names as SKEL can hold them, and ids that no two objects share."""

from __future__ import annotations


class Unique:
    """Gives every name once: a name that is taken gets a number in brackets, as DART does."""

    def __init__(self, taken: tuple[str, ...] = ()) -> None:
        self._taken = set(taken)

    def __call__(self, name: str) -> str:
        found, number = name, 0
        while found in self._taken:
            number += 1
            found = f"{name}({number})"
        self._taken.add(found)
        return found


def plain(name: str, otherwise: str) -> str:
    """A name as DART finds it again: without white space around it or breaks in it, and not empty."""
    return " ".join(name.split()) or otherwise
