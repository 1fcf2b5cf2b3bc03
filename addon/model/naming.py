"""Names of servos: what motions call the coordinates of a mechanism's joints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from .records import DofKind

_TURNS, _SLIDES = ("rx", "ry", "rz"), ("x", "y", "z")


#: So many numbers are tried one by one; of more that are taken, the next free one is found in great steps.
_NEAR = 100


def free_number(is_taken: Callable[[int], bool], start: int) -> int:
    """A number from ``start`` on that is not taken: the first, or after many one whose neighbour before it is taken.

    Trying one by one would take a time that grows with the square of how many things have the same name."""
    number = start
    while number < start + _NEAR:
        if not is_taken(number):
            return number
        number += 1
    step = 1
    while is_taken(number + step):
        step *= 2
    low, high = number - 1, number + step  # taken, free
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_taken(middle) else (low, middle)
    return high


class Named(Protocol):
    """What is asked of a degree of freedom here: a record of the model's or Blender's."""

    @property
    def kind(self) -> DofKind: ...
    @property
    def name(self) -> str: ...


def unique_names(named: Iterable[tuple[str, str]]) -> dict[str, str]:
    """From (id, name) pairs: the name where it is the only one, else the name followed by the id (real files
    repeat names)."""
    pairs = list(named)
    uses = Counter(name for _, name in pairs)
    return {key: name if name and uses[name] == 1 else f"{name} #{key}".strip() for key, name in pairs}


def coordinate_names(dofs: Sequence[Named]) -> list[str]:
    """What a joint's coordinates are called within it, in their order.

    Nothing where there is one. Of several, each has its degree of freedom's name where no other of the joint has the
    same (and it is no number), else its number from 1. A ball's are ``rx ry rz`` (its rotation vector), a free
    block's these and ``x y z``."""
    names: list[str] = []
    for dof in dofs:
        if dof.kind in {"ball", "free"}:
            names += _TURNS + (_SLIDES if dof.kind == "free" else ())
        else:
            names.append(dof.name)
    if len(names) == 1:
        return [""]
    uses = Counter(names)
    own = [name and uses[name] == 1 and not name.isdigit() for name in names]
    return [name if keeps else str(number) for number, (name, keeps) in enumerate(zip(names, own, strict=True), 1)]


def servo_names(joints: Iterable[tuple[str, str, Sequence[Named]]]) -> dict[str, tuple[str, ...]]:
    """From joints as (id, name, degrees of freedom): the servo names of their coordinates, by joint id.

    A joint of one coordinate gives its servo its own name, others put the coordinate's behind it: ``hip/x``. No two
    servos of a mechanism have the same name. Of joints with one id the first that moves counts."""
    first: dict[str, tuple[str, str, Sequence[Named]]] = {}
    for joint in joints:
        if joint[0] not in first or not first[joint[0]][2]:
            first[joint[0]] = joint
    told = list(first.values())
    stems = unique_names((key, name) for key, name, _ in told)
    full = {
        key: [f"{stems[key]}/{own}" if own else stems[key] for own in coordinate_names(dofs)] for key, _, dofs in told
    }
    uses = Counter(name for names in full.values() for name in names)
    return {
        key: tuple(name if uses[name] == 1 else f"{name} #{key} {number}" for number, name in enumerate(names, 1))
        for key, names in full.items()
    }
