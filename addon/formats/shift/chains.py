"""Joints of several degrees of freedom, which Shift has not: a chain of elementary joints with massless bodies between.

The author's own vehicle is built so. A chain that we wrote is marked, and becomes one joint again when it is read.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ...core.model import Array, Joint
from ...core.transforms import inverse
from .document import Elements, mark_of
from .read import Placed
from .table import TYPES


@dataclass
class Chain:
    """The elements that make one joint, usually one, and the bodies between them."""

    name: str
    pieces: list[Placed]
    helpers: list[Placed] = field(default_factory=list)


def chained(elements: Elements) -> list[Chain]:
    """The joints of a document in order, those that are marked as one chain together."""
    bodies: dict[tuple[str, str], Placed] = {}
    for body in elements.bodies:
        bodies.setdefault((body.assembly, body.name), body)
    bent = {
        id(owner.node) for owner, frame in elements.frames if owner is not None and any(frame.row["T"])
    }  # bodies with a frame that is not at their origin
    chains: list[Chain] = []
    at = 0
    while at < len(elements.joints):
        first = elements.joints[at]
        count = mark_of(first).get("parts")
        pieces = elements.joints[at : at + count] if isinstance(count, int) and 1 < count < 7 else []
        chain = _chain(pieces, bodies, bent)
        chains.append(chain or Chain(first.name, [first]))
        at += len(chains[-1].pieces)
    return chains


def _chain(pieces: list[Placed], bodies: dict[tuple[str, str], Placed], bent: set[int]) -> Chain | None:
    if not pieces:
        return None
    name, assembly = mark_of(pieces[0]).get("joint"), pieces[0].assembly
    if not isinstance(name, str) or len(pieces) != mark_of(pieces[0])["parts"]:
        return None
    for number, piece in enumerate(pieces):
        mark = mark_of(piece)
        if (mark.get("joint"), mark.get("part"), piece.assembly) != (name, number + 1, assembly):
            return None
        if TYPES.get(str(piece.row["type"])) not in ("revolute", "prismatic"):
            return None
    helpers = []
    for one, other in zip(pieces, pieces[1:], strict=False):
        path = one.ends[1].path
        helper = bodies.get((assembly, path[0])) if len(path) == 1 and path == other.ends[0].path else None
        if helper is None or mark_of(helper).get("part_of") != name or id(helper.node) in bent:
            return None
        helpers.append(helper)
    return Chain(name, pieces, helpers)


def merged(pieces: list[Joint]) -> Joint:
    """One joint of the pieces of a chain, which all turn and slide through one point."""
    joint = replace(pieces[0], type="", child=pieces[-1].child, dofs=[])
    turned: Array = np.eye(4)
    for number, piece in enumerate(pieces):
        if number:
            turned = turned @ inverse(pieces[number - 1].frame_child) @ piece.frame_parent
        joint.dofs += [replace(dof, axis=_exact(turned[:3, :3] @ dof.axis)) for dof in piece.dofs]
    joint.frame_child = pieces[-1].frame_child @ inverse(turned)
    joint.active = all(piece.active for piece in pieces)
    joint.extra = {"frames": [pieces[0].extra["frames"][0], pieces[-1].extra["frames"][1]]}
    joint.type = _type_of([dof.kind for dof in joint.dofs])
    return joint


def _exact(axis: Array) -> Array:
    """A unit vector without the rounding of the turns that it went through."""
    whole = np.round(axis)
    return whole if np.abs(axis - whole).max() < 1e-14 else axis


def _type_of(kinds: list[str]) -> str:
    if set(kinds) == {"rotation"}:
        return "universal" if len(kinds) == 2 else "euler"
    return "translational" if set(kinds) == {"translation"} else "planar"
