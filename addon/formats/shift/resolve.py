"""Who is meant: bodies and frames by the names under which a document joins them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.model import Array, Body
from ..jsontext import Node
from . import values
from .read import End, Placed, Reader, is_ground
from .table import ORIGIN, SEPARATOR

#: A body (None for the ground) and the pose of a frame on it.
Place = tuple[str | None, Array]


class Resolver:
    """Finds what names lead to. ``bodies`` are ids by assembly and name, ``poses`` those of frames by body and name,
    ``records`` the bodies of the mechanism."""

    def __init__(self, reader: Reader, records: list[Body]) -> None:
        self.reader, self.records = reader, records
        self.bodies: dict[str, dict[str, str]] = {}
        self.poses: dict[tuple[str | None, str], Array] = {}

    def place(self, end: End, assembly: str, placed: Placed) -> Place | None:
        """The body (None for the ground) and frame of an end; None where there is no such body."""
        if is_ground(end.path):
            body: str | None = None
        else:
            found = self._body(end.path, assembly, placed)
            if found is None:
                return None
            body = found
        if end.frame == ORIGIN:
            return body, np.eye(4)
        pose = self.poses.get((body, end.frame))
        if pose is None:
            message = f"{placed.label} names the frame '{end.frame}', which '{SEPARATOR.join(end.path)}' does not have"
            self.reader.warn("missing-frame", f"{message}; its origin is taken", end.frame_node or end.whole)
            return body, np.eye(4)
        return body, pose

    def _body(self, path: tuple[str, ...], assembly: str, placed: Placed) -> str | None:
        """A name is looked for in its own assembly, a longer path from the top."""
        if len(path) == 1:
            own = self.bodies.get(assembly, {}).get(path[0])
        else:
            own = self.bodies.get(SEPARATOR.join(path[:-1]), {}).get(path[-1])
        if own is not None:
            return own
        ending = SEPARATOR.join(path)
        found = [body.id for body in self.records if body.id.endswith(SEPARATOR + ending) or body.id == ending]
        if len(found) != 1:
            return None
        message = f"{placed.label} names '{ending}', which is in another assembly; '{found[0]}' is taken"
        self.reader.warn("repaired-path", message, placed.node)
        return found[0]


def tell_loose(reader: Reader, turn: Any, node: Node | None, label: str) -> None:
    """Say by how much a rotation is none."""
    if turn is None or node is None:
        return
    if np.linalg.det(np.array(turn, dtype=np.float64)) < 0:
        reader.warn("mirrored-rotation", f"R of {label} mirrors; the nearest rotation is taken", node)
    elif (loose := values.looseness(turn)) > values.LOOSE:
        message = f"R of {label} is no rotation, by {loose:.2g}; the nearest one is taken"
        reader.warn("repaired-rotation", message, node)
