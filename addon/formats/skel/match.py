"""Which of SKEL's joint types a joint's degrees of freedom are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...core.model import Array, Dof
from .joints import PLANES
from .table import Row

_EXACT = 1e-9


@dataclass
class Match:
    """A joint type of SKEL's. In frames turned by ``turn`` (4, 4) the coordinates are those of ``dofs``; ``row`` has
    the type's axes and order."""

    type: str
    dofs: list[Dof]
    turn: Array = field(default_factory=lambda: np.eye(4))
    row: Row = field(default_factory=dict)


def matches(dofs: Sequence[Dof]) -> list[Match]:
    """The joints, one behind the other, that have these degrees of freedom: as few as SKEL's types allow."""
    found: list[Match] = []
    rest = list(dofs)
    while rest:
        piece = next(match for count in (3, 2, 1) if len(rest) >= count and (match := _match(rest[:count])) is not None)
        found.append(piece)
        rest = rest[len(piece.dofs) :]
    return found or [Match("weld", [])]


def _match(dofs: list[Dof]) -> Match | None:
    kinds = [dof.kind for dof in dofs]
    axes = [np.asarray(dof.axis, dtype=np.float64) for dof in dofs]
    if len(dofs) == 1:
        if kinds[0] in ("ball", "free"):
            return Match(kinds[0], dofs)
        type_ = "prismatic" if kinds[0] == "translation" else "revolute"
        return Match(type_, dofs, row={"axis/xyz": _tuple(axes[0] / np.linalg.norm(axes[0]))})
    if len(dofs) == 2:
        if kinds != ["rotation", "rotation"]:
            return None
        return Match("universal", dofs, row={"axis/xyz": _tuple(axes[0]), "axis2/xyz": _tuple(axes[1])})
    frame = np.column_stack(axes)
    hand = float(np.linalg.det(frame))
    if np.abs(frame.T @ frame - np.eye(3)).max() > _EXACT:
        return None
    if kinds == ["rotation"] * 3:
        order = "xyz" if hand > 0 else "zyx"
        return Match("euler", dofs, _turned(frame if hand > 0 else frame[:, ::-1]), {"axis_order": order})
    if kinds == ["translation"] * 3 and hand > 0:
        return Match("translational", dofs, _turned(frame))
    if kinds == ["translation", "translation", "rotation"] and hand > 0:
        return Match("planar", dofs, row=_plane(axes))
    return None


def _plane(axes: list[Array]) -> Row:
    for name, (first, second) in PLANES.items():
        if np.abs(axes[0] - first).max() < _EXACT and np.abs(axes[1] - second).max() < _EXACT:
            return {"plane/@type": name}
    return {
        "plane/@type": "arbitrary",
        "plane/translation_axis1/xyz": _tuple(axes[0]),
        "plane/translation_axis2/xyz": _tuple(axes[1]),
    }


def _turned(frame: Array) -> Array:
    turn = np.eye(4)
    if np.abs(frame - np.eye(3)).max() > 1e-12:
        turn[:3, :3] = frame
    return turn


def _tuple(axis: Array) -> tuple[float, ...]:
    return tuple(float(x) for x in axis)
