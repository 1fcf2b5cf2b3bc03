"""Unique names, and names of servos: those by which motions refer to the dofs of a mechanism's joints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol

from .model import DofKind

_ROTATION_NAMES, _TRANSLATION_NAMES = ("rx", "ry", "rz"), ("x", "y", "z")


class UniqueNamer:
    """Generator of unique names: a name that is taken gets the first free number from ``start`` on.

    The next number to try is stored per name: to try them from ``start`` each time would take a time that grows with
    the square of how many things have the same name.

    Args:
        numbered: Function that spells a name with a number.
        start: The first number.
        taken: Names that are reserved from the beginning.
    """

    def __init__(self, numbered: Callable[[str, int], str], start: int, taken: Iterable[str] = ()) -> None:
        self._numbered, self._start = numbered, start
        self._taken: set[str] = set()
        self._reserved = frozenset(taken)  # a frozenset that is passed in is not copied: many may share it
        self._next: dict[str, int] = {}

    def __call__(self, name: str) -> str:
        """Return a unique name for this one and take it."""
        found = self.free(name)
        self._taken.add(found)
        return found

    def __contains__(self, name: str) -> bool:
        return name in self._taken or name in self._reserved

    def add(self, name: str) -> None:
        """Mark a name as taken, whether or not it was free."""
        self._taken.add(name)

    def free(self, name: str) -> str:
        """Return the name that a call would give, without taking it."""
        if name not in self:
            return name
        number = self._next.get(name, self._start)
        while (found := self._numbered(name, number)) in self:
            number += 1
        self._next[name] = number
        return found


class NamedDof(Protocol):
    """Protocol of a degree of freedom as far as names need it: a record of the core or a Blender property group."""

    @property
    def kind(self) -> DofKind:
        """Return the kind."""
        ...

    @property
    def name(self) -> str:
        """Return the name, empty where there is none."""
        ...


def unique_name(name: str, taken: Collection[str]) -> str:
    """Return a name that is not taken yet: the name itself, or with the first free number from 2 behind it."""
    number, out = 1, name
    while out in taken:
        number += 1
        out = f"{name} {number}"
    return out


def unique_names(named: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Make names unique from (id, name) pairs (real files repeat names).

    Returns:
        Names by id: the name itself where no other has it, else the name followed by the id.
    """
    pairs = list(named)
    uses = Counter(name for _, name in pairs)
    return {key: name if name and uses[name] == 1 else f"{name} #{key}".strip() for key, name in pairs}


def dof_value_names(dofs: Sequence[NamedDof]) -> list[str]:
    """Return the names of a joint's coordinates within the joint, in their order.

    A single coordinate's name is empty. Of several, each has the name of its degree of freedom where no other of the
    joint has the same (and it is not a number), else its number from 1. A ball's are ``rx ry rz`` (its rotation
    vector), a free block's these and ``x y z``.
    """
    names: list[str] = []
    for dof in dofs:
        if dof.kind in {"ball", "free"}:
            names += _ROTATION_NAMES + (_TRANSLATION_NAMES if dof.kind == "free" else ())
        else:
            names.append(dof.name)
    if len(names) == 1:
        return [""]
    uses = Counter(names)
    own = [name and uses[name] == 1 and not name.isdigit() for name in names]
    return [name if keeps else str(number) for number, (name, keeps) in enumerate(zip(names, own, strict=True), 1)]


def servo_names(joints: Iterable[tuple[str, str, Sequence[NamedDof]]]) -> dict[str, tuple[str, ...]]:
    """Return the servo names of all joints' coordinates, by joint id.

    A joint with one coordinate gives its servo its own name, others append the coordinate's: ``hip/x``. No two servos
    of a mechanism have the same name.

    Args:
        joints: Tuples (id, name, degrees of freedom). Of joints with the same id the first with any dof counts.
    """
    first: dict[str, tuple[str, str, Sequence[NamedDof]]] = {}
    for joint in joints:
        if joint[0] not in first or not first[joint[0]][2]:
            first[joint[0]] = joint
    unique = list(first.values())
    stems = unique_names((key, name) for key, name, _ in unique)
    full = {
        key: [f"{stems[key]}/{own}" if own else stems[key] for own in dof_value_names(dofs)] for key, _, dofs in unique
    }
    uses = Counter(name for names in full.values() for name in names)
    return {
        key: tuple(name if uses[name] == 1 else f"{name} #{key} {number}" for number, name in enumerate(names, 1))
        for key, names in full.items()
    }
