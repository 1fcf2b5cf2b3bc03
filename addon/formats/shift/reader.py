"""Reader of Shift documents: elements to rows of validated values in either dialect, and resolution of joint ends."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...core.model import Array, Body, Mechanism
from ...core.naming import UniqueNamer
from ...core.report import FormatError, Message, Report
from ..document.schema import SparseRow
from ..text.json_reader import JsonNode
from . import conventions
from .schema import (
    ASSEMBLY,
    BODY,
    END_KEYS,
    ENDS,
    EXTENSION_KEY,
    FIXED,
    FRAME,
    JOINT,
    LIGHT,
    ORIGIN,
    PAIRS,
    PRESERVED_KEYS,
    RESTRAINT,
    SEPARATOR,
    SETTINGS,
    TYPES,
    Path,
    Table,
)


@dataclass(slots=True)
class JointEnd:
    """End of a joint as written: a path to a body, and a frame on it.

    ``whole`` is the node of both, which is a ``pair`` of nodes or a single text.
    """

    path: tuple[str, ...]
    frame: str
    whole: JsonNode
    pair: bool

    @property
    def body_node(self) -> JsonNode | None:
        """Node of the body's name or path; None if it is in one text with the frame's."""
        return self.whole.value[0] if self.pair else None

    @property
    def frame_node(self) -> JsonNode | None:
        """Node of the frame's name; None if it is in one text with the body's."""
        return self.whole.value[1] if self.pair else None


@dataclass(slots=True)
class SourceElement:
    """Element of a document: its row, and the paths in it of the values that it has."""

    table: Table
    node: JsonNode
    row: SparseRow
    places: dict[str, Path]
    assembly: str
    reader: Reader
    ends: Sequence[JointEnd] = ()

    def at(self, name: str) -> JsonNode | None:
        """Return the node of a value; None if the element has none."""
        path = self.places.get(name)
        return None if path is None else self.node.get(*path)

    def node_of(self, *names: str) -> JsonNode:
        """Return the node of the first of these values that the element has; its own node if it has none."""
        return next((node for name in names if (node := self.at(name)) is not None), self.node)

    @property
    def line(self) -> int:
        """Line on which it begins."""
        return self.reader.line(self.node)

    @property
    def where(self) -> str:
        """Path in the document."""
        return self.node.where

    @property
    def name(self) -> str:
        """Name of the element, empty if it has none."""
        return str(self.row.get("name") or "")

    @property
    def label(self) -> str:
        """Description of the element for messages."""
        return f"{self.table.what} '{self.name}'"


class Reader:
    """Reader of rows, which collects the entries of the report."""

    def __init__(self, text: str, path: str, report: Report) -> None:
        self.path, self.report = path, report
        self._breaks = _line_breaks(text)
        self.unknown: dict[str, list[JsonNode]] = {}

    def line(self, node: JsonNode) -> int:
        """Return the line, from 1, on which a node begins."""
        return bisect_left(self._breaks, node.before) + 1

    def error(self, node: JsonNode, message: str, remedy: str = "") -> FormatError:
        """Build the error for a node."""
        return FormatError(message, path=self.path, line=self.line(node), where=node.where, remedy=remedy)

    def warn(self, code: str, message: str, node: JsonNode) -> None:
        """Warn of a repair or of something left out."""
        self.report.warn(code, message, self.line(node), node.where)

    def elements(self, node: JsonNode | None) -> list[JsonNode]:
        """Return the objects of a list; a single object counts as a list of one, null and None as an empty one.

        Raises:
            FormatError: it is something else.
        """
        if node is None or node.plain() is None:
            return []
        if node.kind is dict:
            return [node]
        if node.kind is not list:
            raise self.error(node, "a list is expected here", "Write it as [ ... ].")
        for child in node.value:
            if child.kind is not dict:
                raise self.error(child, "an object is expected here", "Write it as { ... }.")
        return list(node.value)

    def place(self, node: JsonNode, table: Table, assembly: str = "", more: tuple[str, ...] = ()) -> SourceElement:
        """Read the row of an element.

        Args:
            node: the element.
            table: its table.
            assembly: path of its assembly.
            more: keys beside the table's that have a meaning.

        Raises:
            FormatError: a value is not of its kind.
        """
        row = SparseRow(table.defaults)
        places: dict[str, Path] = {}
        plain = node.plain()
        known = table.keys.intersection(plain)
        for spec, paths in table.among(known):
            for path in paths:
                value = plain[path[0]]
                for key in path[1:]:
                    value = value.get(key, _ABSENT) if type(value) is dict else _ABSENT
                if value is not _ABSENT:
                    break
            else:
                continue
            places[spec.name] = path
            if value is None:
                continue
            if not spec.kind.takes(value):
                place = node.get(*path)
                assert place is not None
                raise self.error(place, f"{_value_text(value)} is not {spec.kind.wanted}", f"Correct {spec.name} here.")
            row[spec.name] = value
        if len(known) < len(plain):
            for key in plain:
                if key not in known and key not in more:
                    self.unknown.setdefault(key, []).append(node)
        return SourceElement(table, node, row, places, assembly, self)

    def ends(self, node: JsonNode) -> tuple[list[JointEnd], str]:
        """Return the two ends of an element, parent first, and their dialect; no ends if it has none.

        Raises:
            FormatError: they are invalid.
        """
        pairs = node.get("body_frame_pairs") or node.get("body_frame_pair")
        if pairs is not None:
            if pairs.kind is not list or len(pairs.plain()) != 2:
                raise self.error(pairs, "these are not two pairs of a body and a frame", _PAIRS_REMEDY)
            return [self.end(child) for child in pairs.value], PAIRS
        parent, child = node.get("parent"), node.get("child")
        if parent is None and child is None:
            return [], ""
        if parent is None or child is None:
            raise self.error(node, f"the joint has no {'child' if child is None else 'parent'}", _ENDS_REMEDY)
        return [self.end(parent), self.end(child)], ENDS

    def end(self, node: JsonNode) -> JointEnd:
        """Read one end: a body and a frame, or one text with both.

        Raises:
            FormatError: it is neither.
        """
        value = node.plain()
        if node.kind is str:
            parts = tuple(value.split(SEPARATOR))
            if len(parts) > 1:
                return JointEnd(parts[:-1], parts[-1], node, False)
            return JointEnd(parts, ORIGIN, node, False)
        if node.kind is list and len(value) == 2:
            body, frame = value
            if type(frame) is str and (path := _read_path(body)) is not None:
                return JointEnd(path, frame, node, True)
        raise self.error(node, f"{_value_text(value)} is not a body and a frame", _PAIRS_REMEDY)

    def report_unknown_keys(self) -> None:
        """Report the keys that have no meaning here."""
        for key, nodes in self.unknown.items():
            if key != "comment":
                times = f" ({len(nodes)} times, here first)" if len(nodes) > 1 else ""
                first = nodes[0].get(key) or nodes[0]
                message = Message('"{}"{} is unknown; it stays in the file unchanged', key, times)
                self.report.info("kept", message, self.line(first), first.where)


_ABSENT = object()
#: Characters per batch of the search for line breaks.
_CHUNK_SIZE = 1 << 20


def _line_breaks(text: str) -> array[int]:
    """Return the positions of the line breaks of a text."""
    found = array("q")
    for start in range(0, len(text), _CHUNK_SIZE):
        letters = np.frombuffer(text[start : start + _CHUNK_SIZE].encode("utf-32-le", "surrogatepass"), dtype="<u4")
        found.frombytes((np.flatnonzero(letters == ord("\n")) + start).astype(np.int64).tobytes())
    return found


def _read_path(value: Any) -> tuple[str, ...] | None:
    """Return the path to a body, given as one name or several; None if a value is neither."""
    if isinstance(value, str):
        return tuple(value.split(SEPARATOR))
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return tuple(part for item in value for part in item.split(SEPARATOR))
    return None


def is_ground(path: tuple[str, ...]) -> bool:
    """Return whether a path refers to the ground."""
    return path == (FIXED,)


def _value_text(value: Any) -> str:
    text = repr(value) if not isinstance(value, str) else f'"{value}"'
    return text if len(text) <= 60 else text[:60] + "..."


_PAIRS_REMEDY = 'Write [["body", "frame"], ["body", "frame"]].'
_ENDS_REMEDY = 'Write "parent": [["body"], "frame"] and "child": [["body"], "frame"].'


#: Body (None for the ground) and the pose of a frame on it.
FrameOnBody = tuple[str | None, Array]


class EndResolver:
    """Resolver of the names of bodies and frames.

    ``bodies`` are ids by assembly and name, ``poses`` those of frames by body and name, ``records`` the bodies of the
    mechanism.
    """

    def __init__(self, reader: Reader, records: list[Body]) -> None:
        self.reader, self.records = reader, records
        self.bodies: dict[str, dict[str, str]] = {}
        self.poses: dict[tuple[str | None, str], Array] = {}

    def place(self, end: JointEnd, assembly: str, placed: SourceElement) -> FrameOnBody | None:
        """Return the body (None for the ground) and frame pose of an end; None if there is no such body."""
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
            message = Message(
                "{} refers to the frame '{}', which '{}' does not have",
                placed.label,
                end.frame,
                SEPARATOR.join(end.path),
            )
            self.reader.warn(
                "missing-frame", Message("{}; the body's origin is used", message), end.frame_node or end.whole
            )
            return body, np.eye(4)
        return body, pose

    def _body(self, path: tuple[str, ...], assembly: str, placed: SourceElement) -> str | None:
        """Find a body: a single name in its own assembly, a longer path from the top."""
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
        message = Message(
            "{} refers to '{}', which is in another assembly; '{}' is used", placed.label, ending, found[0]
        )
        self.reader.warn("repaired-path", message, placed.node)
        return found[0]


def report_rotation_error(reader: Reader, turn: Any, node: JsonNode | None, label: str) -> None:
    """Warn of a matrix that is no rotation."""
    if turn is None or node is None:
        return
    if np.linalg.det(np.array(turn, dtype=np.float64)) < 0:
        reader.warn("mirrored-rotation", Message("R of {} is a reflection; the nearest rotation is used", label), node)
    elif (loose := conventions.rotation_error(turn)) > conventions.ROTATION_TOLERANCE:
        message = Message("R of {} is not a rotation (error {}); the nearest one is used", label, f"{loose:.2g}")
        reader.warn("repaired-rotation", message, node)


#: Key of an element: the id of the record that it makes, and the index of its piece.
Key = tuple[str, int]
#: Index of the piece of a body that is a joint that only places it.
PLACEMENT = -1

_BODY_LISTS = ("frames",)
_LISTS = ("bodies", "joints", "assemblies", "restraints", "restraint")
_TOP = ("model_parameters", FIXED, "frames", "lights", *_LISTS)


def unique_paths() -> UniqueNamer:
    """Return a namer of unique paths: a repeated one gets a number."""
    return UniqueNamer(lambda path, number: f"{path}#{number}", 2)


@dataclass
class Elements:
    """All elements of a document in order, before they are interpreted.

    Frames are with the body that has them, None for the ground.
    """

    settings: SourceElement
    assemblies: dict[str, SourceElement] = field(default_factory=dict)
    bodies: list[SourceElement] = field(default_factory=list)
    frames: list[tuple[SourceElement | None, SourceElement]] = field(default_factory=list)
    joints: list[SourceElement] = field(default_factory=list)
    lights: list[SourceElement] = field(default_factory=list)
    restraints: list[SourceElement] = field(default_factory=list)
    dialect: str = PAIRS
    paths: UniqueNamer = field(default_factory=unique_paths)  # paths of the assemblies


@dataclass
class Document:
    """Parsed document. Bodies and joints are by key, frames by owner and name."""

    text: str
    root: JsonNode
    dialect: str
    elements: Elements
    bodies: dict[Key, SourceElement]
    joints: dict[Key, SourceElement]
    frames: dict[tuple[str | None, str], SourceElement]
    mechanism: Mechanism
    prepared: dict[str, Any] = field(default_factory=dict, repr=False)


def is_shift(root: JsonNode) -> bool:
    """Return whether the top value of a JSON document is a Shift model: assemblies, or bodies and joints."""
    if root.kind is not dict:
        return False
    assemblies, bodies, joints = (_list_value(root, key) for key in ("assemblies", "bodies", "joints"))
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


def _list_value(root: JsonNode, key: str) -> list[JsonNode] | None:
    found = root.get(key)
    return found.value if found is not None and found.kind is list else None


def collect_elements(root: JsonNode, reader: Reader) -> Elements:
    """Read the elements of a document.

    Raises:
        FormatError: one of them is invalid.
    """
    settings = reader.place(root, SETTINGS, more=(*_TOP, *PRESERVED_KEYS[""]))
    found = Elements(settings)
    ground = root.get(FIXED)
    if ground is not None and ground.kind is not dict:
        raise reader.error(ground, "the ground is not an object", 'Write "fixed": {"frames": [...]}.')
    for holder in (ground, root):
        if holder is not None:
            found.frames += [(None, reader.place(node, FRAME)) for node in reader.elements(holder.get("frames"))]
            found.lights += [reader.place(node, LIGHT) for node in reader.elements(holder.get("lights"))]
    dialects: list[str] = []
    _collect_parts(root, "", reader, found, dialects)
    for node in reader.elements(root.get("assemblies")):
        _collect_assembly(node, "", reader, found, dialects)
    later = ENDS in dialects or any(placed.node.get("geometry") is not None for placed in found.bodies)
    found.dialect = PAIRS if PAIRS in dialects or not later else ENDS
    _report_preserved(root, reader)
    return found


def _collect_assembly(node: JsonNode, outer: str, reader: Reader, found: Elements, dialects: list[str]) -> None:
    placed = reader.place(node, ASSEMBLY, outer, more=(*_LISTS, *PRESERVED_KEYS["assembly"]))
    name = placed.name or f"assembly {len(found.assemblies) + 1}"
    if not placed.name:
        reader.warn("repaired-name", Message("the assembly has no name; '{}' is used", name), node)
        placed.row["name"] = name
    path = found.paths(f"{outer}{SEPARATOR}{name}" if outer else name)
    found.assemblies[path] = placed
    _collect_parts(node, path, reader, found, dialects)
    for child in reader.elements(node.get("assemblies")):
        _collect_assembly(child, path, reader, found, dialects)


def _collect_parts(node: JsonNode, path: str, reader: Reader, found: Elements, dialects: list[str]) -> None:
    for child in reader.elements(node.get("bodies")):
        body = reader.place(child, BODY, path, more=_BODY_LISTS)
        found.bodies.append(body)
        found.frames += [(body, reader.place(item, FRAME, path)) for item in reader.elements(child.get("frames"))]
    for child in reader.elements(node.get("joints")):
        joint = reader.place(child, JOINT, path, more=END_KEYS)
        joint.ends, dialect = reader.ends(child)
        if not joint.ends:
            raise reader.error(child, "the joint has no bodies", 'Add "body_frame_pairs".')
        dialects.append(dialect)
        found.joints.append(joint)
    for key in ("restraints", "restraint"):
        for child in reader.elements(node.get(key)):
            restraint = reader.place(child, RESTRAINT, path, more=END_KEYS)
            restraint.ends, _ = reader.ends(child)
            found.restraints.append(restraint)


def _report_preserved(root: JsonNode, reader: Reader) -> None:
    """Report content that the program uses but that has no counterpart here."""
    for node in _walk_assemblies(root):
        for key in ("terrain", "force_modules"):
            items = node.get(key)
            if items is not None and items.plain():
                count = len(reader.elements(items)) if items.kind in (dict, list) else 1
                message = Message("{} ({}): not supported, stays in the file unchanged", key, count)
                reader.report.info("kept", message, reader.line(items), items.where)


def _walk_assemblies(node: JsonNode) -> Iterator[JsonNode]:
    yield node
    ground = node.get(FIXED)
    if ground is not None:
        yield ground
    assemblies = node.get("assemblies")
    for child in assemblies.children if assemblies is not None else ():
        yield from _walk_assemblies(child)


def intermediate_body_id(joint: str, part: int) -> str:
    """Return the id of the body behind a piece of a joint, which is no body of the mechanism."""
    return f"{joint}\0{part}"


def read_extension(placed: SourceElement) -> dict:
    """Return the extension data of an element."""
    mark = placed.row.get(EXTENSION_KEY)
    return mark if isinstance(mark, dict) else {}


@dataclass
class Chain:
    """Elements that make one joint, usually one, and the bodies between them."""

    name: str
    pieces: list[SourceElement]
    helpers: list[SourceElement] = field(default_factory=list)


def group_chains(elements: Elements) -> list[Chain]:
    """Return the joints of a document in the order of their first elements, those marked as one chain grouped.

    The elements of a chain may be anywhere in the document: a joint that gets more degrees of freedom keeps its
    element where it is, and its other elements are appended.
    """
    bodies: dict[tuple[str, str], SourceElement] = {}
    for body in elements.bodies:
        bodies.setdefault((body.assembly, body.name), body)
    bent = {
        id(owner.node) for owner, frame in elements.frames if owner is not None and any(frame.row["T"])
    }  # bodies with a frame that is not at their origin
    marked: dict[_ChainMark, SourceElement] = {}
    for joint in elements.joints:
        marked.setdefault(_chain_mark(joint), joint)
    chains: list[Chain] = []
    for joint in elements.joints:
        pieces = _marked_pieces(joint, marked)
        chains.append(_make_chain(pieces, bodies, bent) or Chain(joint.name, [joint]))
    merged = {id(piece.node) for chain in chains for piece in chain.pieces[1:]}
    return [chain for chain in chains if id(chain.pieces[0].node) not in merged]


#: Assembly, name of the joint, number of the piece, and path of the body at which the piece begins.
_ChainMark = tuple[str, Any, Any, tuple[str, ...]]


def _chain_mark(piece: SourceElement) -> _ChainMark:
    mark = read_extension(piece)
    name, part = mark.get("joint"), mark.get("part")
    known = isinstance(name, str) and isinstance(part, int)
    return piece.assembly, name if known else None, part if known else None, tuple(piece.ends[0].path)


def _marked_pieces(first: SourceElement, marked: dict[_ChainMark, SourceElement]) -> list[SourceElement]:
    """Return the elements of the chain that an element begins; empty where it begins none, or elements are missing.

    They are taken out of ``marked``, so that no two chains share one.
    """
    mark = read_extension(first)
    name, count = mark.get("joint"), mark.get("parts")
    if not isinstance(name, str) or mark.get("part") != 1 or not isinstance(count, int) or not 1 < count < 7:
        return []
    pieces = [first]
    for part in range(2, count + 1):
        piece = marked.pop((first.assembly, name, part, tuple(pieces[-1].ends[1].path)), None)
        if piece is None:
            return []
        pieces.append(piece)
    return pieces


def _make_chain(
    pieces: list[SourceElement], bodies: dict[tuple[str, str], SourceElement], bent: set[int]
) -> Chain | None:
    """Return the chain of marked elements; None where they no longer make one joint."""
    if not pieces or any(TYPES.get(str(piece.row["type"])) not in ("revolute", "prismatic") for piece in pieces):
        return None
    name, assembly = read_extension(pieces[0])["joint"], pieces[0].assembly
    helpers = []
    for piece in pieces[1:]:
        path = piece.ends[0].path
        helper = bodies.get((assembly, path[0])) if len(path) == 1 else None
        if helper is None or read_extension(helper).get("part_of") != name or id(helper.node) in bent:
            return None
        helpers.append(helper)
    return Chain(name, pieces, helpers)
