"""What a mechanism becomes in Shift's vocabulary before it is written: its parts, each where it goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from .document import Key
from .names import Tree
from .table import FIXED, SEPARATOR, Row

Made = TypeVar("Made")


def made_in(made: dict[Any, Made], key: Any, make: Callable[[], Made]) -> Made:
    """Return what is made for a key, the first time that it is asked for."""
    if key not in made:
        made[key] = make()
    return made[key]


@dataclass
class Part:
    """An element to be written: what it makes, the assembly it is in, its row, and the ends it joins, each the body
    (None for the ground) and the name of a frame."""

    key: Key
    assembly: str
    row: Row
    ends: list[tuple[str | None, str]] = field(default_factory=list)


@dataclass
class Held:
    """What an assembly holds, but for other assemblies."""

    bodies: list[Part] = field(default_factory=list)
    joints: list[Part] = field(default_factory=list)
    restraints: list[Part] = field(default_factory=list)


@dataclass
class Lowered:
    """All that is to be written. ``frames`` are rows by owner (None for the ground) and name."""

    tree: Tree
    settings: Row
    assemblies: dict[str, Row]
    bodies: dict[Key, Part]
    joints: dict[Key, Part]
    lights: list[Part]
    restraints: list[Part]
    frames: dict[str | None, dict[str, Row]]
    names: dict[str, tuple[str, str]]  # of bodies: assembly and name

    @cached_property
    def held(self) -> dict[str, Held]:
        """The parts in each assembly, once all are there."""
        found: dict[str, Held] = {}
        for kind, parts in (("bodies", self.bodies.values()), ("joints", self.joints.values())):
            for part in parts:
                getattr(made_in(found, part.assembly, Held), kind).append(part)
        for part in self.restraints:
            made_in(found, part.assembly, Held).restraints.append(part)
        return found

    def reference(self, body: str | None, assembly: str) -> str:
        """Return how something in an assembly calls a body."""
        if body is None or body not in self.names:
            return FIXED
        home, name = self.names[body]
        return name if home == assembly else SEPARATOR.join(filter(None, (self.tree.written(home), name)))
