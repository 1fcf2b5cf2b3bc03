"""Elements of a document to rows: values checked and taken from wherever their dialect has them."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from ...model.report import FormatError, Report
from ..jsontext import Node
from .table import ENDS, FIXED, ORIGIN, PAIRS, SEPARATOR, Row, Table

#: The node of a body's name, or path, and that of its frame's; one of a pair written as a single text is None.


@dataclass
class End:
    """One end of a joint as it is written: a path to a body, and a frame on it. ``whole`` is the node of both."""

    path: tuple[str, ...]
    frame: str
    whole: Node
    body_node: Node | None
    frame_node: Node | None


@dataclass
class Placed:
    """An element's row, and where each of its values stands."""

    table: Table
    node: Node
    row: Row
    places: dict[str, Node]
    assembly: str
    line: int
    ends: list[End] = field(default_factory=list)

    @property
    def where(self) -> str:
        """Its path in the document."""
        return self.node.where

    @property
    def name(self) -> str:
        """The name that it has."""
        return str(self.row.get("name") or "")

    @property
    def label(self) -> str:
        """What it is, for messages."""
        return f"{self.table.what} '{self.name}'"


class Reader:
    """Takes rows from nodes, and keeps what there is to say about the file."""

    def __init__(self, text: str, path: str, report: Report) -> None:
        self.path, self.report = path, report
        self._starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
        self.unknown: Counter[str] = Counter()

    def line(self, node: Node) -> int:
        """The line on which a node begins, 1 is the first."""
        return bisect_right(self._starts, node.before)

    def error(self, node: Node, message: str, remedy: str = "") -> FormatError:
        """What is wrong with a node."""
        return FormatError(message, path=self.path, line=self.line(node), where=node.where, remedy=remedy)

    def warn(self, code: str, message: str, node: Node) -> None:
        """Something repaired or left out."""
        self.report.warn(code, message, self.line(node), node.where)

    def elements(self, node: Node | None) -> list[Node]:
        """The objects of a list; a single object counts as a list of one, null and nothing as an empty one."""
        if node is None or node.value is None:
            return []
        if isinstance(node.value, dict):
            return [node]
        if not isinstance(node.value, list):
            raise self.error(node, "a list is expected here", "Write it as [ ... ].")
        for child in node.value:
            if not isinstance(child.value, dict):
                raise self.error(child, "an object is expected here", "Write it as { ... }.")
        return list(node.value)

    def place(self, node: Node, table: Table, assembly: str = "", more: tuple[str, ...] = ()) -> Placed:
        """The row of an element. ``more`` are keys beside the table's that mean something. FormatError for a value
        that is not of its kind."""
        row: Row = {}
        places: dict[str, Node] = {}
        written = node.value.keys()
        for item in table:
            row[item.name] = item.default
            found = None
            for path in item.places:
                if found is None and path[0] in written:
                    found = node.get(*path)
            if found is None or found.value is None:
                if found is not None:
                    places[item.name] = found
                continue
            value = found.plain()
            if not item.kind.takes(value):
                raise self.error(found, f"{_shown(value)} is not {item.kind.wanted}", f"Correct {item.name} here.")
            row[item.name], places[item.name] = value, found
        if not written <= table.keys:
            self.unknown.update(key for key in written if key not in table.keys and key not in more)
        return Placed(table, node, row, places, assembly, self.line(node))

    def ends(self, node: Node) -> tuple[list[End], str]:
        """The two ends of an element, parent first, and the dialect they are in; no ends where it has none."""
        pairs = node.get("body_frame_pairs") or node.get("body_frame_pair")
        if pairs is not None:
            if not isinstance(pairs.value, list) or len(pairs.value) != 2:
                raise self.error(pairs, "this is not two pairs of a body and a frame", _PAIRS_REMEDY)
            return [self.end(child) for child in pairs.value], PAIRS
        parent, child = node.get("parent"), node.get("child")
        if parent is None and child is None:
            return [], ""
        if parent is None or child is None:
            raise self.error(node, f"there is no {'child' if child is None else 'parent'}", _ENDS_REMEDY)
        return [self.end(parent), self.end(child)], ENDS

    def end(self, node: Node) -> End:
        """One end: a body and a frame, or one text with both."""
        value = node.value
        if isinstance(value, str):
            parts = tuple(value.split(SEPARATOR))
            if len(parts) > 1:
                return End(parts[:-1], parts[-1], node, None, None)
            return End(parts, ORIGIN, node, None, None)
        if isinstance(value, list) and len(value) == 2:
            body, frame = value
            if isinstance(frame.value, str) and (path := _path_of(body)) is not None:
                return End(path, frame.value, node, body, frame)
        raise self.error(node, f"{_shown(node.plain())} is not a body and a frame", _PAIRS_REMEDY)

    def tell_unknown(self) -> None:
        """Say which keys mean nothing here."""
        for key, count in self.unknown.items():
            if key != "comment":
                times = f" ({count} times)" if count > 1 else ""
                self.report.info("kept", f'"{key}"{times} means nothing here; it stays in the file as it is')


def _path_of(node: Node) -> tuple[str, ...] | None:
    value = node.plain()
    if isinstance(value, str):
        return tuple(value.split(SEPARATOR))
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return tuple(part for item in value for part in item.split(SEPARATOR))
    return None


def is_ground(path: tuple[str, ...]) -> bool:
    """Whether a path leads to the ground."""
    return path == (FIXED,)


def _shown(value: Any) -> str:
    text = repr(value) if not isinstance(value, str) else f'"{value}"'
    return text if len(text) <= 60 else text[:60] + "..."


_PAIRS_REMEDY = 'Write [["body", "frame"], ["body", "frame"]].'
_ENDS_REMEDY = 'Write "parent": [["body"], "frame"] and "child": [["body"], "frame"].'
