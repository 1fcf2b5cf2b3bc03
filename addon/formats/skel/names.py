"""Names as SKEL can hold them, and ids that no two objects share."""

from __future__ import annotations

from ...model.naming import free_number


class Unique:
    """Gives every name once: a name that is taken gets a number in brackets, as DART does."""

    def __init__(self, taken: tuple[str, ...] = ()) -> None:
        self._taken = set(taken)

    def __call__(self, name: str) -> str:
        found = name
        if name in self._taken:
            found = f"{name}({free_number(lambda number: f'{name}({number})' in self._taken, 1)})"
        self._taken.add(found)
        return found


def plain(name: str, otherwise: str) -> str:
    """A name as DART finds it again: without white space around it or breaks in it, and not empty."""
    return " ".join(name.split()) or otherwise
