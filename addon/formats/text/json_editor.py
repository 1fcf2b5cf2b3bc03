"""JSON output: strict formatting, and minimal edits of a document that keep all other characters as they are."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from ...core.report import FormatError
from .json_reader import JsonNode


def format_json(value: Any, indent: str = "", newline: str = "\n", step: str = "  ", ascii_only: bool = False) -> str:
    """Return strict JSON for a plain value: flat lists on one line, everything else one element per line.

    Args:
        value: a value as of ``json.loads``.
        indent: indentation of the line on which it begins.
        newline: line end.
        step: indentation per level.
        ascii_only: escape all other characters.

    Raises:
        FormatError: a number is not finite.
    """
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return json.dumps(value, ensure_ascii=ascii_only)
    if isinstance(value, (int, float)):
        return format_json_number(value)
    brackets = "{}" if isinstance(value, dict) else "[]"
    if not value:
        return brackets
    inner = indent + step
    parts = (value.items()) if isinstance(value, dict) else ((None, item) for item in value)
    items = [
        (f"{json.dumps(key, ensure_ascii=ascii_only)}: " if key is not None else "")
        + format_json(item, inner, newline, step, ascii_only)
        for key, item in parts
    ]
    if isinstance(value, list) and _is_flat(value):
        return f"[{', '.join(items)}]"
    return f"{brackets[0]}{newline}{inner}{f',{newline}{inner}'.join(items)}{newline}{indent}{brackets[1]}"


def format_json_number(value: float) -> str:
    """Return the shortest spelling that reads back as the same number.

    Raises:
        FormatError: it is not finite.
    """
    if isinstance(value, int):
        return str(value)
    value = float(value)
    if not math.isfinite(value):
        raise FormatError(f"{value} cannot be written: JSON has only finite numbers", remedy="Correct the value.")
    return repr(value + 0.0)


class JsonEdits:
    """Edits of a JSON document, collected and then applied in one pass."""

    def __init__(self, text: str, ascii_only: bool = False) -> None:
        self.text, self.ascii_only = text, ascii_only
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self.step = _indent_step(text)
        self._changes: list[tuple[int, int, str]] = []
        self._deleted: dict[int, tuple[JsonNode, set[int]]] = {}
        self._added: dict[int, tuple[JsonNode, list[tuple[str | None, Any]]]] = {}

    @property
    def empty(self) -> bool:
        """True if there are no edits."""
        return not (self._changes or self._deleted or self._added)

    def put(self, node: JsonNode, value: Any) -> None:
        """Replace a node's value by a plain value."""
        self._changes.append((node.start, node.end, self._spelt(value, self._indent(node.before))))

    def merge(self, node: JsonNode, value: Any) -> None:
        """Change a node to a plain value where it differs; numbers that agree to twelve digits and other keys stay."""
        if isinstance(value, dict) and isinstance(node.value, dict):
            for key, item in value.items():
                if key in node.value:
                    self.merge(node.value[key], item)
                else:
                    self.add(node, item, key)
        elif isinstance(value, list) and isinstance(node.value, list) and len(value) == len(node.value):
            for child, item in zip(node.value, value, strict=True):
                self.merge(child, item)
        elif not is_same_json(node.plain(), value):
            self.put(node, value)

    def update(self, node: JsonNode, before: Any, now: Any) -> None:
        """Apply the difference between two plain values to a node whose meaning is ``before``."""
        if is_same_json(before, now):
            return
        if isinstance(now, dict) and isinstance(before, dict) and isinstance(node.value, dict):
            for key, item in now.items():
                if key in node.value and key in before:
                    self.update(node.value[key], before[key], item)
                elif key not in before or not is_same_json(before[key], item):
                    self.merge(node, {key: item})
            for key in before.keys() - now.keys():
                if key in node.value:
                    self.delete(node.value[key])
        elif isinstance(now, list) and isinstance(before, list) and isinstance(node.value, list):
            if len(now) == len(before) == len(node.value):
                for child, old, new in zip(node.value, before, now, strict=True):
                    self.update(child, old, new)
            else:
                self.put(node, now)
        else:
            self.merge(node, now)

    def delete(self, node: JsonNode) -> None:
        """Remove an element from its object or list, with repeated keys of the same name."""
        assert node.parent is not None
        gone = self._deleted.setdefault(id(node.parent), (node.parent, set()))[1]
        gone.add(id(node))
        gone.update(id(other) for other in node.parent.shadowed if other.label == node.label)

    def add(self, container: JsonNode, value: Any, key: str | None = None) -> None:
        """Append a plain value to a list, or under a key to an object."""
        self._added.setdefault(id(container), (container, []))[1].append((key, value))

    def result(self) -> str:
        """Return the text with all edits applied."""
        changes = list(self._changes)
        containers = {key: node for key, (node, _) in (*self._deleted.items(), *self._added.items())}
        for key, container in containers.items():
            deleted = self._deleted.get(key, (container, set()))[1]
            changes += self._restructured(container, deleted, self._added.get(key, (container, []))[1])
        pieces: list[str] = []
        position = 0
        for start, end, text in sorted(_outermost(changes), key=lambda change: change[:2]):
            pieces += (self.text[position:start], text)
            position = end
        return "".join((*pieces, self.text[position:]))

    def _restructured(
        self, container: JsonNode, deleted: set[int], added: list[tuple[str | None, Any]]
    ) -> list[tuple[int, int, str]]:
        children = container.children
        kept = [child for child in children if id(child) not in deleted]
        items = [self._item(container, key, value) for key, value in added]
        if not kept:
            return [self._refilled(container, items)]
        changes: list[tuple[int, int, str]] = []
        for first, following in _deleted_runs(children, deleted):
            if following is not None:
                changes.append((first.before, following.before, ""))
        tail_from = children.index(kept[-1]) + 1
        if tail_from < len(children):
            return changes + self._tail_replaced(kept[-1], children[tail_from], children[-1], items)
        return changes + self._appended(container, kept[-1], items)

    def _tail_replaced(
        self, last: JsonNode, first: JsonNode, end: JsonNode, items: list[str]
    ) -> list[tuple[int, int, str]]:
        """Replace the elements at the end by new ones, which take over the comma before them."""
        gap = self.text[last.after : first.before]
        stripped = last.after + len(gap.rstrip())
        ends_line = self.text[end.after :].lstrip(" \t\r").startswith("\n")
        start = first.before if "//" in gap and not ends_line else stripped
        changes = [(start, end.after, "")]
        if items:
            space = self.newline + self._indent(last.before) if "\n" in gap else " "
            return [*changes, (end.after, end.after, space + ("," + space).join(items))]
        if end.after == end.end:
            changes.append((last.after - 1, last.after, ""))
        return changes

    def _appended(self, container: JsonNode, last: JsonNode, items: list[str]) -> list[tuple[int, int, str]]:
        if not items:
            return []
        tail = self.text[last.after : container.end - 1]
        space = self.newline + self._indent(last.before) if "\n" in tail else " "
        place = last.after + len(tail.rstrip())
        added = (place, place, space + ("," + space).join(items))
        return [added] if last.after > last.end else [(last.end, last.end, ","), added]

    def _refilled(self, container: JsonNode, items: list[str]) -> tuple[int, int, str]:
        start, end = container.start + 1, container.end - 1
        if not items:
            return start, end, ""
        outer = self._indent(container.before)
        inner = outer + self.step
        return start, end, f"{self.newline}{inner}{f',{self.newline}{inner}'.join(items)}{self.newline}{outer}"

    def _item(self, container: JsonNode, key: str | None, value: Any) -> str:
        children = container.children
        indent = self._indent(children[0].before) if children else self._indent(container.before) + self.step
        name = "" if key is None else f"{json.dumps(key, ensure_ascii=self.ascii_only)}: "
        return name + self._spelt(value, indent)

    def _spelt(self, value: Any, indent: str) -> str:
        return format_json(value, indent, self.newline, self.step, self.ascii_only)

    def _indent(self, position: int) -> str:
        """Return the white space at the start of the line that contains a position."""
        start = self.text.rfind("\n", 0, position) + 1
        line = self.text[start:position]
        return line[: len(line) - len(line.lstrip())]


def is_same_json(one: Any, other: Any) -> bool:
    """Return whether two plain values are equal, numbers to twelve digits."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return one == other or math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-15)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same_json, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same_json(one[key], other[key]) for key in one)
    return bool(one == other)


def _outermost(changes: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Drop changes that lie inside the span of another change."""
    spans = sorted({(start, end) for start, end, _ in changes if end > start}, key=lambda span: (span[0], -span[1]))
    outer: list[tuple[int, int]] = []
    for start, end in spans:
        if not outer or start >= outer[-1][1]:
            outer.append((start, end))
    starts = {start: end for start, end in outer}
    kept = []
    for start, end, text in changes:
        if end > start and starts.get(start) != end:
            continue
        if end == start and any(a < start < b for a, b in outer):
            continue
        kept.append((start, end, text))
    return kept


def _deleted_runs(children: list[JsonNode], deleted: set[int]) -> Iterator[tuple[JsonNode, JsonNode | None]]:
    """Yield the first of each run of deleted elements, and the element after the run (None at the end)."""
    first: JsonNode | None = None
    for child in children:
        if id(child) in deleted:
            first = first or child
        elif first is not None:
            yield first, child
            first = None
    if first is not None:
        yield first, None


def _is_flat(value: list[Any]) -> bool:
    return not any(isinstance(item, (dict, list)) and item for item in value)


def _indent_step(text: str) -> str:
    """Return the indentation of a document's first indented line; two spaces if there is none."""
    match = re.search(r"\n([ \t]+)\S", text)
    return match[1] if match else "  "
