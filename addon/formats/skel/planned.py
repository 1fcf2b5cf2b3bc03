"""The pieces of a plan: bodies and joints in SKEL's words, and how those stand that a document has already."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...core.model import Body, Frame
from ..losses import Losses
from .table import Row


@dataclass(frozen=True)
class Standing:
    """How a body or joint stands in the document that it was read from: by which name (None if it got another since),
    as which joint type."""

    name: str | None
    type: str = ""


@dataclass
class Standings:
    """The bodies and joints (by id) that stand in a document."""

    bodies: dict[str, Standing] = field(default_factory=dict)
    joints: dict[str, Standing] = field(default_factory=dict)


@dataclass
class PlannedBody:
    """A body of a skeleton: its row, its shapes as tags with rows, its markers."""

    skeleton: str
    row: Row
    shapes: list[tuple[str, Row]] = field(default_factory=list)
    markers: list[Row] = field(default_factory=list)


@dataclass
class PlannedJoint:
    """A joint of a skeleton: its tag, its row, and its coordinates (see ``rows.coordinates``)."""

    skeleton: str
    tag: str
    row: Row
    coordinates: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class MadeBody:
    """A planned body and what it was made of: ``told`` is what others have a say in."""

    body: Body
    frames: list[Frame]
    told: Row
    planned: PlannedBody
    losses: Losses
