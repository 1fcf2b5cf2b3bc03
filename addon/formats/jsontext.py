"""JSON read leniently and changed gently.

Reading passes over comments (``//`` and ``/* */``) and commas behind the last element, and keeps where everything
stands in the text. Changing works on that text: what no edit names keeps its very characters. What is written new is
strict JSON.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from ..model.report import FormatError, Report

#: Levels beyond which a file is no mechanism but a mistake or an attack.
DEEPEST = 100

_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"((?:[^"\\\x00-\x1f]|\\.)*)"')
_LAX_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![0-9A-Za-z_.+-])")
_WORD = re.compile(r"[^\s,:{}\[\]\"/]+")
_WORDS = {"true": True, "false": False, "null": None}


class Node:
    """A value and where it stands: ``text[start:end]``. ``value`` is a dict of nodes by key, a list of nodes, a
    string, a number, a truth value or None; ``before`` is where its key starts (its own start in a list), ``after``
    where the comma behind it ends (its own end, where there is none)."""

    __slots__ = ("after", "before", "end", "label", "parent", "start", "value")

    def __init__(self, parent: Node | None, label: str | int, start: int) -> None:
        self.parent, self.label, self.start = parent, label, start
        self.before, self.end, self.after = start, start, start
        self.value: Any = None

    def __getitem__(self, key: str) -> Node:
        return self.value[key]  # type: ignore[no-any-return]

    def get(self, *keys: str) -> Node | None:
        """What stands at a path of keys, None where nothing does."""
        node: Node | None = self
        for key in keys:
            if node is None or not isinstance(node.value, dict):
                return None
            node = node.value.get(key)
        return node

    @property
    def children(self) -> list[Node]:
        """The values of an object or a list, in order."""
        if isinstance(self.value, dict):
            return sorted(self.value.values(), key=lambda node: node.before)
        return self.value if isinstance(self.value, list) else []

    @property
    def where(self) -> str:
        """The path from the top, ``assemblies[0].bodies[3].mass``."""
        parts: list[str] = []
        node: Node | None = self
        while node is not None and node.parent is not None:
            parts.append(f"[{node.label}]" if isinstance(node.label, int) else f".{node.label}")
            node = node.parent
        return "".join(reversed(parts)).lstrip(".")

    def plain(self) -> Any:
        """The value with no nodes in it, as ``json.loads`` would have it."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items() if "\0" not in key}
        return [node.plain() for node in self.value] if isinstance(self.value, list) else self.value


def parse(text: str, path: str, report: Report) -> Node:
    """The top value of a text. FormatError, with line and path, where it is no JSON; comments, commas at the end of
    lists and repeated keys (the last counts) are read and reported."""
    return _Parser(text, path, report).document()


def line_at(text: str, position: int) -> int:
    """The line, from 1, on which a place of the text is."""
    return text.count("\n", 0, position) + 1


class _Parser:
    def __init__(self, text: str, path: str, report: Report) -> None:
        self.text, self.path, self.report = text, path, report
        self.at = 0
        self.comments = self.trailing = 0

    def document(self) -> Node:
        self._skip()
        root = self._value(None, "", 0)
        self._skip()
        if self.at != len(self.text):
            raise self._error("something stands behind the end of the document", None)
        if self.comments:
            self.report.info("comments", "the file has comments, which JSON does not know; they are kept")
        if self.trailing:
            self.report.info("trailing-commas", "the file has commas behind the last element of a list; they are kept")
        return root

    def _skip(self) -> None:
        match = _SPACE.match(self.text, self.at)
        assert match is not None
        if "/" in match[0]:
            self.comments += 1
        self.at = match.end()
        if self.text.startswith("/*", self.at):
            raise self._error("a comment has no end", None)

    def _value(self, parent: Node | None, label: str | int, depth: int) -> Node:
        node = Node(parent, label, self.at)
        first = self.text[self.at : self.at + 1]
        if first in ("{", "["):
            if depth >= DEEPEST:
                raise self._error(f"values are nested deeper than {DEEPEST} levels", None, where="")
            node.value = self._object(node, depth) if first == "{" else self._list(node, depth)
        elif first == '"':
            node.value = self._string(node)
        else:
            node.value = self._scalar(node)
        node.end = node.after = self.at
        return node

    def _object(self, node: Node, depth: int) -> dict[str, Node]:
        found: dict[str, Node] = {}
        for start in self._elements(node, "}"):
            if self.text[start : start + 1] != '"':
                raise self._error("a name in quotation marks is expected here", node)
            key = self._string(node)
            self._skip()
            if self.text[self.at : self.at + 1] != ":":
                raise self._error(f'a colon is missing behind "{key}"', node)
            self.at += 1
            self._skip()
            child = self._value(node, key, depth + 1)
            child.before = start
            if key in found:
                where = f"{node.where}.{key}".lstrip(".")
                message = f'"{key}" is there twice; the last one counts'
                self.report.warn("repeated-key", message, line_at(self.text, start), where)
                found[f"{key} \0{start}"] = found.pop(key)  # the earlier one stays in the text under no name
            found[key] = child
            self._comma(child)
        return found

    def _list(self, node: Node, depth: int) -> list[Node]:
        found: list[Node] = []
        for _ in self._elements(node, "]"):
            child = self._value(node, len(found), depth + 1)
            found.append(child)
            self._comma(child)
        return found

    def _elements(self, node: Node, closer: str) -> Iterator[int]:
        """The starts of the elements of a container; what it yields must be read, comma included, before the next."""
        self.at += 1
        ready = True
        while True:
            self._skip()
            if self.text[self.at : self.at + 1] == closer:
                self.at += 1
                return
            if self.at >= len(self.text):
                raise self._error(f"the file ends before the {closer} of this; it is truncated", node)
            if not ready:
                raise self._error(f"a comma or a {closer} is expected here", node)
            yield self.at
            ready = self.text[self.at - 1] == ","
            if ready:
                following = _SPACE.match(self.text, self.at)
                if following is not None and self.text[following.end() : following.end() + 1] == closer:
                    self.trailing += 1

    def _comma(self, child: Node) -> None:
        """Step over the comma behind an element, if there is one."""
        here = self.at
        self._skip()
        if self.text[self.at : self.at + 1] == ",":
            self.at += 1
            child.after = self.at
        else:
            self.at = here

    def _string(self, node: Node) -> str:
        match = _STRING.match(self.text, self.at) or _LAX_STRING.match(self.text, self.at)
        if match is None:
            raise self._error("a text in quotation marks has no end on its line", node)
        self.at = match.end()
        if "\\" not in match[1]:
            return match[1]
        try:
            return str(json.loads(match[0], strict=False))
        except ValueError:
            self.at = match.start()
            raise self._error(f"a backslash in {_shortened(match[0])} begins nothing that JSON knows", node) from None

    def _scalar(self, node: Node) -> Any:
        match = _NUMBER.match(self.text, self.at)
        if match is not None:
            value = float(match[0])
            if not math.isfinite(value):
                raise self._error(f"{_shortened(match[0])} is too large a number", node)
            self.at = match.end()
            return int(match[0]) if match[0].lstrip("-").isdigit() and len(match[0]) < 19 else value
        word = _WORD.match(self.text, self.at)
        if word is None:
            here = self.text[self.at : self.at + 1]
            raise self._error(f"a value is expected here, not {here}" if here else "a value is missing", node)
        if word[0] not in _WORDS:
            raise self._error(f"{_shortened(word[0])} is no number, text, list or object", node)
        self.at = word.end()
        return _WORDS[word[0]]

    def _error(self, message: str, node: Node | None, where: str | None = None) -> FormatError:
        return FormatError(
            f"the JSON is broken: {message}" if where is None else message,
            path=self.path,
            line=line_at(self.text, min(self.at, len(self.text.rstrip()))),
            where=(node.where if node is not None else "") if where is None else where,
            remedy="Mend this line in a text editor, or save the file again.",
        )


def spelt(value: Any, indent: str = "", newline: str = "\n", step: str = "  ", ascii_only: bool = False) -> str:
    """Strict JSON for a plain value: lists of plain values on one line, all else an element a line. ``indent`` is that
    of the line on which it begins."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return json.dumps(value, ensure_ascii=ascii_only)
    if isinstance(value, (int, float)):
        return spell_number(value)
    brackets = "{}" if isinstance(value, dict) else "[]"
    if not value:
        return brackets
    inner = indent + step
    parts = (value.items()) if isinstance(value, dict) else ((None, item) for item in value)
    items = [
        (f"{json.dumps(key, ensure_ascii=ascii_only)}: " if key is not None else "")
        + spelt(item, inner, newline, step, ascii_only)
        for key, item in parts
    ]
    if isinstance(value, list) and _is_flat(value):
        return f"[{', '.join(items)}]"
    return f"{brackets[0]}{newline}{inner}{f',{newline}{inner}'.join(items)}{newline}{indent}{brackets[1]}"


def spell_number(value: float) -> str:
    """The shortest spelling that reads back as the same number."""
    if isinstance(value, int):
        return str(value)
    value = float(value)
    if not math.isfinite(value):
        raise FormatError(f"{value} cannot be written: JSON has finite numbers only", remedy="Correct the value.")
    return repr(value + 0.0)


class Edits:
    """Changes to a document, collected and then made in one pass."""

    def __init__(self, text: str, ascii_only: bool = False) -> None:
        self.text, self.ascii_only = text, ascii_only
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self.step = _step_of(text)
        self._changes: list[tuple[int, int, str]] = []
        self._deleted: dict[int, tuple[Node, set[int]]] = {}
        self._added: dict[int, tuple[Node, list[tuple[str | None, Any]]]] = {}
        self._replaced: set[int] = set()

    @property
    def empty(self) -> bool:
        """Whether nothing is to be changed."""
        return not (self._changes or self._deleted or self._added)

    def set(self, node: Node, value: Any) -> None:
        """Put a plain value in the place of a node's."""
        self._replaced.add(id(node))
        self._changes.append((node.start, node.end, self._spelt(value, self._indent(node.before))))

    def merge(self, node: Node, value: Any) -> None:
        """Make a node hold a plain value, touching only what differs: numbers that agree to twelve digits stay."""
        if isinstance(value, dict) and isinstance(node.value, dict):
            for key, item in value.items():
                if key in node.value:
                    self.merge(node.value[key], item)
                else:
                    self.add(node, item, key)
        elif isinstance(value, list) and isinstance(node.value, list) and len(value) == len(node.value):
            for child, item in zip(node.value, value, strict=True):
                self.merge(child, item)
        elif not same(node.plain(), value):
            self.set(node, value)

    def update(self, node: Node, before: Any, now: Any) -> None:
        """Make a node that means ``before`` mean ``now``, touching only where those two differ."""
        if same(before, now):
            return
        if isinstance(now, dict) and isinstance(before, dict) and isinstance(node.value, dict):
            for key, item in now.items():
                if key in node.value and key in before:
                    self.update(node.value[key], before[key], item)
                elif key not in before or not same(before[key], item):
                    self.merge(node, {key: item})
            for key in before.keys() - now.keys():
                if key in node.value:
                    self.delete(node.value[key])
        elif isinstance(now, list) and isinstance(before, list) and isinstance(node.value, list):
            if len(now) == len(before) == len(node.value):
                for child, old, new in zip(node.value, before, now, strict=True):
                    self.update(child, old, new)
            else:
                self.set(node, now)
        else:
            self.merge(node, now)

    def delete(self, node: Node) -> None:
        """Remove an element from its object or list."""
        assert node.parent is not None
        self._deleted.setdefault(id(node.parent), (node.parent, set()))[1].add(id(node))

    def add(self, container: Node, value: Any, key: str | None = None) -> None:
        """Put a plain value at the end of a list, or under a key at the end of an object."""
        self._added.setdefault(id(container), (container, []))[1].append((key, value))

    def result(self) -> str:
        """The text with all changes made."""
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
        self, container: Node, deleted: set[int], added: list[tuple[str | None, Any]]
    ) -> list[tuple[int, int, str]]:
        children = container.children
        kept = [child for child in children if id(child) not in deleted]
        items = [self._item(container, key, value) for key, value in added]
        if not kept:
            return [self._refilled(container, items)]
        changes: list[tuple[int, int, str]] = []
        for first, following in _runs(children, deleted):
            if following is not None:
                changes.append((first.before, following.before, ""))
        tail_from = children.index(kept[-1]) + 1
        if tail_from < len(children):
            return changes + self._tail_replaced(kept[-1], children[tail_from], children[-1], items)
        return changes + self._appended(container, kept[-1], items)

    def _tail_replaced(self, last: Node, first: Node, end: Node, items: list[str]) -> list[tuple[int, int, str]]:
        """Elements at the end removed and others put there, which take over the comma before them."""
        gap = self.text[last.after : first.before]
        stripped = last.after + len(gap.rstrip())
        ends_line = self.text[end.after :].lstrip(" \t\r").startswith("\n")
        start = first.before if "//" in gap and not ends_line else stripped
        changes = [(start, end.after, "")]
        if items:
            space = self.newline + self._indent(last.before) if "\n" in gap else " "
            return [*changes, (end.after, end.after, "".join(f"{',' if at else ''}{space}{item}" for at, item in enumerate(items)))]
        if end.after == end.end:
            changes.append((last.after - 1, last.after, ""))
        return changes

    def _appended(self, container: Node, last: Node, items: list[str]) -> list[tuple[int, int, str]]:
        if not items:
            return []
        tail = self.text[last.after : container.end - 1]
        space = self.newline + self._indent(last.before) if "\n" in tail else " "
        place = last.after + len(tail.rstrip())
        added = (place, place, space + ("," + space).join(items))
        return [added] if last.after > last.end else [(last.end, last.end, ","), added]

    def _refilled(self, container: Node, items: list[str]) -> tuple[int, int, str]:
        start, end = container.start + 1, container.end - 1
        if not items:
            return start, end, ""
        outer = self._indent(container.before)
        inner = outer + self.step
        return start, end, f"{self.newline}{inner}{f',{self.newline}{inner}'.join(items)}{self.newline}{outer}"

    def _item(self, container: Node, key: str | None, value: Any) -> str:
        children = container.children
        indent = self._indent(children[0].before) if children else self._indent(container.before) + self.step
        name = "" if key is None else f"{json.dumps(key, ensure_ascii=self.ascii_only)}: "
        return name + self._spelt(value, indent)

    def _spelt(self, value: Any, indent: str) -> str:
        return spelt(value, indent, self.newline, self.step, self.ascii_only)

    def _indent(self, position: int) -> str:
        """The white space at the start of the line on which a place is."""
        start = self.text.rfind("\n", 0, position) + 1
        line = self.text[start:position]
        return line[: len(line) - len(line.lstrip())]


def same(one: Any, other: Any) -> bool:
    """Whether two plain values are the same, numbers to twelve digits."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return one == other or math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-15)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return bool(one == other)


def _outermost(changes: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """The changes without those inside of what another one takes away."""
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


def _runs(children: list[Node], deleted: set[int]) -> Iterator[tuple[Node, Node | None]]:
    """The first of each run of deleted elements, and what follows the run."""
    first: Node | None = None
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


def _step_of(text: str) -> str:
    """How far a document indents its first line that is indented."""
    match = re.search(r"\n([ \t]+)\S", text)
    return match[1] if match else "  "


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else text[:40] + "..."
