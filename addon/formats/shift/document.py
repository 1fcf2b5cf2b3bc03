"""A Shift document read: its elements where they stand, by what they make in the mechanism."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ...core.model import Mechanism
from ...core.naming import Unique
from ..text.json_reader import Node
from .reader import Placed, Reader
from .schema import (
    ASSEMBLY,
    BODY,
    END_KEYS,
    ENDS,
    FIXED,
    FRAME,
    JOINT,
    KEPT,
    LIGHT,
    MARK,
    PAIRS,
    RESTRAINT,
    SEPARATOR,
    SETTINGS,
)

#: What an element makes: the id of a record, and which of its pieces it is.
Key = tuple[str, int]
#: The piece of a body that is a joint which does no more than place it.
PLACEMENT = -1

_BODY_LISTS = ("frames",)
_LISTS = ("bodies", "joints", "assemblies", "restraints", "restraint")
_TOP = ("model_parameters", FIXED, "frames", "lights", *_LISTS)


def own_paths() -> Unique:
    """Gives every path once: one that is taken gets a number behind it."""
    return Unique(lambda path, number: f"{path}#{number}", 2)


@dataclass
class Elements:
    """All elements of a document in order, not yet understood. Frames are by the body that has them, None for the
    ground."""

    settings: Placed
    assemblies: dict[str, Placed] = field(default_factory=dict)
    bodies: list[Placed] = field(default_factory=list)
    frames: list[tuple[Placed | None, Placed]] = field(default_factory=list)
    joints: list[Placed] = field(default_factory=list)
    lights: list[Placed] = field(default_factory=list)
    restraints: list[Placed] = field(default_factory=list)
    dialect: str = PAIRS
    paths: Unique = field(default_factory=own_paths)  # of the assemblies


@dataclass
class Document:
    """What a text holds. Bodies, joints, lights and restraints are by what they make, frames by owner and name."""

    text: str
    root: Node
    dialect: str
    elements: Elements
    bodies: dict[Key, Placed]
    joints: dict[Key, Placed]
    frames: dict[tuple[str | None, str], Placed]
    mechanism: Mechanism
    prepared: dict[str, Any] = field(default_factory=dict, repr=False)


def is_shift(root: Node) -> bool:
    """Return whether the top value of a JSON document is a Shift model: assemblies, or bodies and joints, of its
    kind."""
    if root.kind is not dict:
        return False
    assemblies, bodies, joints = (_listed(root, key) for key in ("assemblies", "bodies", "joints"))
    if root.get("model_parameters") is not None or root.get(FIXED) is not None:
        return assemblies is not None or bodies is not None
    if assemblies is not None:
        inside = ("bodies", "joints", "assemblies")
        return any(child.get(key) is not None for child in assemblies for key in inside)
    if bodies is None or joints is None:
        return False
    if joints:
        return any(child.get(key) is not None for child in joints for key in END_KEYS[:2])
    return all(child.kind is dict and child.plain().keys() <= BODY.keys | {"frames"} for child in bodies)


def _listed(root: Node, key: str) -> list[Node] | None:
    found = root.get(key)
    return found.value if found is not None and found.kind is list else None


def gather(root: Node, reader: Reader) -> Elements:
    """The elements of a document. FormatError for one that is not what it has to be."""
    settings = reader.place(root, SETTINGS, more=(*_TOP, *KEPT[""]))
    found = Elements(settings)
    ground = root.get(FIXED)
    if ground is not None and ground.kind is not dict:
        raise reader.error(ground, "the ground is not an object", 'Write "fixed": {"frames": [...]}.')
    for holder in (ground, root):
        if holder is not None:
            found.frames += [(None, reader.place(node, FRAME)) for node in reader.elements(holder.get("frames"))]
            found.lights += [reader.place(node, LIGHT) for node in reader.elements(holder.get("lights"))]
    dialects: list[str] = []
    _gather_parts(root, "", reader, found, dialects)
    for node in reader.elements(root.get("assemblies")):
        _gather_assembly(node, "", reader, found, dialects)
    later = ENDS in dialects or any(placed.node.get("geometry") is not None for placed in found.bodies)
    found.dialect = PAIRS if PAIRS in dialects or not later else ENDS
    _tell_kept(root, reader)
    return found


def _gather_assembly(node: Node, outer: str, reader: Reader, found: Elements, dialects: list[str]) -> None:
    placed = reader.place(node, ASSEMBLY, outer, more=(*_LISTS, *KEPT["assembly"]))
    name = placed.name or f"assembly {len(found.assemblies) + 1}"
    if not placed.name:
        reader.warn("repaired-name", f"the assembly has no name; it is called '{name}'", node)
        placed.row["name"] = name
    path = found.paths(f"{outer}{SEPARATOR}{name}" if outer else name)
    found.assemblies[path] = placed
    _gather_parts(node, path, reader, found, dialects)
    for child in reader.elements(node.get("assemblies")):
        _gather_assembly(child, path, reader, found, dialects)


def _gather_parts(node: Node, path: str, reader: Reader, found: Elements, dialects: list[str]) -> None:
    for child in reader.elements(node.get("bodies")):
        body = reader.place(child, BODY, path, more=_BODY_LISTS)
        found.bodies.append(body)
        found.frames += [(body, reader.place(item, FRAME, path)) for item in reader.elements(child.get("frames"))]
    for child in reader.elements(node.get("joints")):
        joint = reader.place(child, JOINT, path, more=END_KEYS)
        joint.ends, dialect = reader.ends(child)
        if not joint.ends:
            raise reader.error(child, "the joint names no bodies", 'Give it "body_frame_pairs".')
        dialects.append(dialect)
        found.joints.append(joint)
    for key in ("restraints", "restraint"):
        for child in reader.elements(node.get(key)):
            restraint = reader.place(child, RESTRAINT, path, more=END_KEYS)
            restraint.ends, _ = reader.ends(child)
            found.restraints.append(restraint)


def _tell_kept(root: Node, reader: Reader) -> None:
    """Say what the program acts on that has no counterpart here."""
    for node in _holders(root):
        for key in ("terrain", "force_modules"):
            items = node.get(key)
            if items is not None and items.plain():
                count = len(reader.elements(items)) if items.kind in (dict, list) else 1
                message = f"{key} ({count}): stays in the file, and nothing stands for it here"
                reader.report.info("kept", message, reader.line(items), items.where)


def _holders(node: Node) -> Iterator[Node]:
    yield node
    ground = node.get(FIXED)
    if ground is not None:
        yield ground
    assemblies = node.get("assemblies")
    for child in assemblies.children if assemblies is not None else ():
        yield from _holders(child)


def between_id(joint: str, part: int) -> str:
    """Return what stands for the body behind a piece of a joint, which is no body of the mechanism."""
    return f"{joint}\0{part}"


def mark_of(placed: Placed) -> dict:
    """Return what we kept in an element for ourselves."""
    mark = placed.row.get(MARK)
    return mark if isinstance(mark, dict) else {}
