"""An x_xy document as rows of values, between its text on one side and the records of a mechanism on the other."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...core.model import Array, identity
from .comments import Note

#: Who a link is: the id of the body (or the name of the frame) that it carries, what of it, and the number of the step.
Key = tuple[str, str, int]


@dataclass(slots=True)
class GeomRow:
    """A geom: type, ``dim`` in the file's order, mass, pose in its body, and its colours as the file spells them."""

    kind: str
    dim: tuple[float, ...]
    mass: float = 0.0
    pose: Array = field(default_factory=identity)
    color: str = ""
    edge_color: str = ""


@dataclass(slots=True)
class OmcRow:
    """A marker of an optical motion capture: its segment, its number there, and its place in the body."""

    name: str
    pos_marker: str
    pos: tuple[float, ...] = (0.0, 0.0, 0.0)


@dataclass(slots=True)
class LinkRow:
    """A body of the file. ``parent`` is its parent's number, None in the world; ``pose`` where it stands there at rest,
    ``stretch`` by how much the program multiplies the places of what hangs on it. ``numbers`` holds the lists of its
    joint and the range of its place, those that say something."""

    name: str
    joint: str
    parent: int | None = None
    pose: Array = field(default_factory=identity)
    stretch: float = 1.0
    numbers: dict[str, tuple[float, ...]] = field(default_factory=dict)
    geoms: list[GeomRow] = field(default_factory=list)
    omcs: list[OmcRow] = field(default_factory=list)
    note: Note = field(default_factory=dict)
    key: Key = ("", "", 0)
    line: int | None = None


@dataclass
class ModelRow:
    """A whole document: parents come before their children."""

    model: str | None = None
    gravity: tuple[float, ...] = (0.0, 0.0, 9.81)
    dt: float | None = None
    links: list[LinkRow] = field(default_factory=list)
    geoms: list[GeomRow] = field(default_factory=list)  # those of the world
    note: Note = field(default_factory=dict)
