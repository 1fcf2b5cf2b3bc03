"""Names and paths that Shift can follow, made in one place: of parts whose own names it could not tell apart."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from ...core.model import Assembly, Mechanism
from ...core.naming import Unique
from .table import FIXED, ORIGIN, SEPARATOR

_RESERVED = {FIXED, ORIGIN, ""}


def safe(name: str) -> str:
    """A name without what parts a path."""
    return name.replace(SEPARATOR, "_")


class Names(Unique):
    """Safe names that are neither taken nor reserved, given once each."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        super().__init__(lambda name, number: f"{name}_{number}", 2, {*taken, *_RESERVED})

    def of(self, name: str, otherwise: str) -> str:
        """A name made safe, or with a number behind it; ``otherwise`` is taken for an empty one."""
        return self(safe(name) or otherwise)


class Tree:
    """The assemblies of a mechanism: their paths here, and those by which a document names them.

    ``top`` is the name of the assembly that takes what is in none; empty where the document's top takes it."""

    def __init__(self, mechanism: Mechanism, top: str = "") -> None:
        used = [*(body.assembly for body in mechanism.bodies), *(joint.assembly for joint in mechanism.joints)]
        used += [restraint.assembly for restraint in mechanism.restraints]
        self.assemblies: dict[str, Assembly] = {item.path: item for item in mechanism.assemblies}
        for path in used:
            parts = path.split(SEPARATOR) if path else []
            for count in range(1, len(parts) + 1):
                own = SEPARATOR.join(parts[:count])
                self.assemblies.setdefault(own, Assembly(own, parts[count - 1]))
        self.top = ""
        if top and (not self.assemblies or "" in used):
            self.top = Names(self.assemblies).of(top, "model")
            self.assemblies[self.top] = Assembly(self.top, self.top)
        self._written: dict[str, str] = {}

    def home(self, assembly: str) -> str:
        """Return where what is in an assembly goes: there, or to the top one where it is in none."""
        return assembly or self.top

    def outer(self, path: str) -> str:
        """The assembly that another is in, empty for the top of the document."""
        head = path.rpartition(SEPARATOR)[0]
        return head if head in self.assemblies else ""

    def written(self, path: str) -> str:
        """The path by which a document leads to an assembly: the names on the way to it."""
        if not path:
            return ""
        if path not in self._written:
            outer = self.written(self.outer(path))
            name = safe(self.assemblies[path].name) or "assembly"
            self._written[path] = f"{outer}{SEPARATOR}{name}" if outer else name
        return self._written[path]

    def inner(self, path: str) -> list[str]:
        """The assemblies right inside of one, in order."""
        return self._inner.get(path, [])

    @cached_property
    def _inner(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for own in self.assemblies:
            if (outer := self.outer(own)) != own:
                found.setdefault(outer, []).append(own)
        return found
