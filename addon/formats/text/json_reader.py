"""Lenient JSON reader whose values know their positions in the text, so that ``json_editor`` can change only these.

Comments (``//`` and ``/* */``) and trailing commas are allowed. Strict JSON, as nearly all files are, goes through
Python's own decoder, many times faster; positions are then found on demand, level by level.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from ...core.report import FormatError, Message, Report
from . import file_io

#: Escapes of NULs and surrogates, which other programs' texts cannot hold: left to the lenient parser, which reports
#: them. (Surrogate pairs of one letter match too, and are read by it with the same result.)
_UNSAFE_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
#: Integers of this many characters are read as floats: 64 bits do not hold them.
MAX_DIGITS = 19
_CONTAINERS = frozenset({dict, list})


def decode_strict(text: str, start: int, deepest: int) -> tuple[Any, int] | None:
    """Decode the value that begins at ``start``; returns it and its end, or None where it is not strict JSON.

    None also where a key is repeated, a number overflows, a string has NUL or surrogate escapes, or values are nested
    deeper than ``deepest`` levels.
    """
    if _UNSAFE_ESCAPE.search(text):
        return None
    try:
        plain, end = _STRICT_DECODER(text, start)
    except (ValueError, RecursionError):
        return None
    return None if _is_deeper(plain, deepest) else (plain, end)


def end_of_value(text: str, start: int) -> int:
    """Return the end of a value that ``decode_strict`` has accepted; skips it with little memory."""
    return _SKIP_DECODER(text, start)[1]


def _is_deeper(plain: Any, deepest: int) -> bool:
    level = [plain] if type(plain) in _CONTAINERS else []
    for _ in range(deepest):
        if not level:
            return False
        level = [
            child
            for each in level
            for child in (each.values() if type(each) is dict else each)
            if type(child) in _CONTAINERS
        ]
    return bool(level)


def _parse_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is repeated")
    return found


def _parse_int(word: str) -> int | float:
    return int(word) if len(word) < MAX_DIGITS else _parse_float(word)


def _parse_float(word: str) -> float:
    value = float(word)
    if not math.isfinite(value):
        raise ValueError(word)
    return value


def _reject_constant(word: str) -> None:
    raise ValueError(word)


_STRICT_DECODER = json.JSONDecoder(
    object_pairs_hook=_parse_object, parse_int=_parse_int, parse_float=_parse_float, parse_constant=_reject_constant
).raw_decode
_SKIP_DECODER = json.JSONDecoder(object_pairs_hook=len, parse_int=float).raw_decode


#: Nesting limit: a deeper file is a mistake or an attack.
MAX_JSON_DEPTH = 100

_BLANK = re.compile(r"[ \t\r\n]*")
_COMMENTS = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_COMMA = re.compile(r"[ \t\r\n]*(,?)[ \t\r\n]*")
#: Key without escapes, as nearly all are, with the colon and the blanks behind it.
_KEY = re.compile(r'"([^"\\\x00-\x1f]*)"[ \t\r\n]*:[ \t\r\n]*')
#: Any key of strict JSON, with the colon and the blanks behind it.
_ANY_KEY = re.compile(r'"(?:[^"\\]|\\.)*"[ \t\r\n]*:[ \t\r\n]*')
_STRING = re.compile(r'"((?:[^"\\\x00-\x1f]|\\.)*)"')
_LAX_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![0-9A-Za-z_.+-])")
_WORD = re.compile(r"[^\s,:{}\[\]\"/]+")
_CLOSERS = ("}", "]")
#: Characters that only escapes can write and other programs' texts cannot hold: NULs and surrogates.
_INVALID_CHARACTERS = re.compile("[\0\ud800-\udfff]")
_WORDS = {"true": True, "false": False, "null": None}


class JsonNode:
    """JSON value with its position: ``text[start:end]``.

    Attributes:
        value: a dict of nodes by key, a list of nodes, a string, a number, a truth value or None.
        kind: class of ``value``.
        before: start of its key (its own start in a list).
        after: end of the comma behind it (its own end if there is none).
        shadowed: values of an object whose keys are repeated later, so that they have no effect.
    """

    __slots__ = (
        "_made", "_plain", "after", "before", "end", "kind", "label", "parent", "shadowed", "start", "text", "value",
    )  # fmt: skip

    after: int
    before: int
    end: int
    start: int
    kind: type
    value: Any
    _made: dict[str, JsonNode]
    _plain: Any

    def __init__(self, parent: JsonNode | None, label: str | int, text: str) -> None:
        self.parent, self.label, self.text = parent, label, text
        self.shadowed: list[JsonNode] | tuple[()] = ()

    @staticmethod
    def of(parent: JsonNode | None, label: str | int, text: str, plain: Any) -> JsonNode:
        """Create the node of a plain value of strict JSON; child nodes and positions are found on demand."""
        node = JsonNode(parent, label, text)
        node._plain, node.kind = plain, type(plain)
        return node

    def __getattr__(self, name: str) -> Any:
        """Compute a lazy attribute."""
        if name == "value":
            self.value = self._as_nodes()
        elif name == "_plain":
            self._plain = self._without_nodes()
        elif name == "_made":
            self._made = {}
        elif name in _POSITION_FIELDS and self.parent is not None:
            self.parent._find_places()
        else:
            raise AttributeError(name)
        return getattr(self, name)

    def __getitem__(self, key: str) -> JsonNode:
        return self.value[key]  # type: ignore[no-any-return]

    def get(self, *keys: str) -> JsonNode | None:
        """Return the node at a path of keys, or None."""
        node: JsonNode = self
        for key in keys:
            if node.kind is not dict or key not in node.plain():
                return None
            node = node._child(key)
        return node

    @property
    def children(self) -> list[JsonNode]:
        """Values of an object or a list in document order, shadowed ones included."""
        if self.kind is dict:
            return sorted([*self.value.values(), *self.shadowed], key=lambda node: node.before)
        return self.value if self.kind is list else []

    @property
    def where(self) -> str:
        """Path from the top: ``assemblies[0].bodies[3].mass``."""
        parts: list[str] = []
        node: JsonNode | None = self
        while node is not None and node.parent is not None:
            parts.append(f"[{node.label}]" if isinstance(node.label, int) else f".{node.label}")
            node = node.parent
        return "".join(reversed(parts)).lstrip(".")

    def plain(self) -> Any:
        """Return the value without nodes, as ``json.loads`` would; it must not be changed."""
        return self._plain

    def _child(self, key: str) -> JsonNode:
        """Return the node of an existing key, created alone if no other is asked for."""
        if key not in self._made:
            self._made[key] = JsonNode.of(self, key, self.text, self._plain[key])
        return self._made[key]

    def _as_nodes(self) -> Any:
        if self.kind is dict:
            return {key: self._child(key) for key in self._plain}
        if self.kind is list:
            return [JsonNode.of(self, number, self.text, item) for number, item in enumerate(self._plain)]
        return self._plain

    def _without_nodes(self) -> Any:
        if self.kind is dict:
            return {key: node.plain() for key, node in self.value.items()}
        return [node.plain() for node in self.value] if self.kind is list else self.value

    def _find_places(self) -> None:
        """Find the positions of the children of an object or list of strict JSON."""
        text, is_object = self.text, self.kind is dict
        at = _BLANK.match(text, self.start + 1).end()  # type: ignore[union-attr]
        for child in self.value.values() if is_object else self.value:
            child.before = at
            if is_object:
                at = _ANY_KEY.match(text, at).end()  # type: ignore[union-attr]
            child.start = at
            child.end = child.after = end_of_value(text, at)
            comma = _COMMA.match(text, child.end)
            assert comma is not None
            if comma[1]:
                child.after = comma.end(1)
            at = comma.end()


_POSITION_FIELDS = frozenset({"after", "before", "end", "start"})


def parse(text: str, path: str, report: Report) -> JsonNode:
    """Parse a text and return its top value.

    Comments, trailing commas and repeated keys (the last counts) are read and reported.

    Raises:
        FormatError: with line and path, where it is not JSON or exceeds the limits.
    """
    file_io.check_count(text.count("{") + text.count("["), file_io.MAX_VALUES, "objects and lists", path)
    return _parse_strict(text) or _Parser(text, path, report).document()


def _parse_strict(text: str) -> JsonNode | None:
    """Return the top value of strict JSON; None for any other text."""
    start = _BLANK.match(text).end()  # type: ignore[union-attr]
    found = decode_strict(text, start, MAX_JSON_DEPTH)
    if found is None or _BLANK.match(text, found[1]).end() < len(text):  # type: ignore[union-attr]
        return None
    root = JsonNode.of(None, "", text, found[0])
    root.start, root.before, root.end, root.after = start, start, found[1], found[1]
    return root


def replace_invalid_characters(text: str) -> str:
    """Replace NULs and surrogates by the replacement character U+FFFD."""
    return _INVALID_CHARACTERS.sub("\ufffd", text)


def line_at(text: str, position: int) -> int:
    """Return the line, from 1, that contains a position."""
    return text.count("\n", 0, position) + 1


class _Parser:
    def __init__(self, text: str, path: str, report: Report) -> None:
        self.text, self.path, self.report = text, path, report
        self.at = 0
        self.comments = self.trailing = 0
        self.counted = 0, 1  # a position, and its line
        self.ready = True  # an element may follow: behind the opening of a container, or behind a comma

    def document(self) -> JsonNode:
        self._skip()
        root = self._value(None, "", 0)
        self._skip()
        if self.at != len(self.text):
            raise self._error("something stands behind the end of the document", None)
        if self.comments:
            self.report.info("comments", "the file has comments, which are not part of JSON; they are kept")
        if self.trailing:
            self.report.info("trailing-commas", "the file has commas after the last element of a list; they are kept")
        return root

    def _skip(self) -> None:
        """Skip white space and comments."""
        self.at = _BLANK.match(self.text, self.at).end()  # type: ignore[union-attr]
        if not self.text.startswith("/", self.at):
            return
        match = _COMMENTS.match(self.text, self.at)
        assert match is not None
        self.comments += match.end() > self.at
        self.at = match.end()
        if self.text.startswith("/*", self.at):
            raise self._error("a comment has no end", None)

    def _value(self, parent: JsonNode | None, label: str | int, depth: int) -> JsonNode:
        node = JsonNode(parent, label, self.text)
        node.start = node.before = self.at
        first = self.text[self.at : self.at + 1]
        if first in ("{", "["):
            if depth >= MAX_JSON_DEPTH:
                raise self._error(f"values are nested deeper than {MAX_JSON_DEPTH} levels", None, where="")
            node.value = self._object(node, depth) if first == "{" else self._list(node, depth)
            if first == "{":
                node._made = node.value
        elif first == '"':
            node.value = self._string(node)
        else:
            node.value = self._scalar(node)
        node.kind = type(node.value)
        node.end = node.after = self.at
        return node

    def _object(self, node: JsonNode, depth: int) -> dict[str, JsonNode]:
        found: dict[str, JsonNode] = {}
        self._open()
        while self._another(node, "}"):
            start = self.at
            key = self._key(node)
            child = self._value(node, key, depth + 1)
            child.before = start
            if key in found:
                where = f"{node.where}.{key}".lstrip(".")
                message = Message('"{}" occurs twice; the last one is used', key)
                self.report.warn("repeated-key", message, self._line(start), where)
                node.shadowed = node.shadowed or []
                node.shadowed.append(found.pop(key))
            found[key] = child
            self._comma(child)
        return found

    def _list(self, node: JsonNode, depth: int) -> list[JsonNode]:
        found: list[JsonNode] = []
        self._open()
        while self._another(node, "]"):
            child = self._value(node, len(found), depth + 1)
            found.append(child)
            self._comma(child)
        return found

    def _open(self) -> None:
        """Step into a container."""
        self.at += 1
        self._skip()
        self.ready = True

    def _another(self, node: JsonNode, closer: str) -> bool:
        """Return whether a container has another element, which begins here; otherwise step out of it.

        The caller reads the element and then calls ``_comma``.
        """
        here = self.text[self.at : self.at + 1]
        if here == closer:
            self.at += 1
            return False
        if self.ready and here:
            return True
        if here:
            raise self._error(f"a comma or a {closer} is expected here", node)
        raise self._error(f"the file ends before the {closer} of this; it is truncated", node)

    def _key(self, node: JsonNode) -> str:
        """Read a key with the colon behind it."""
        match = _KEY.match(self.text, self.at)
        if match is not None:
            self.at = match.end()
            key = match[1]
            if self.text.startswith("/", self.at):
                self._skip()
            return key
        if not self.text.startswith('"', self.at):
            raise self._error("a name in quotation marks is expected here", node)
        key = self._string(node)
        self._skip()
        if not self.text.startswith(":", self.at):
            raise self._error(f'a colon is missing behind "{key}"', node)
        self.at += 1
        self._skip()
        return key

    def _comma(self, child: JsonNode) -> None:
        """Skip the comma behind an element, if there is one, and white space and comments."""
        match = _COMMA.match(self.text, self.at)
        assert match is not None
        if self.text.startswith("/", match.end()):  # comments may precede and follow the comma
            self._skip()
            match = _COMMA.match(self.text, self.at)
            assert match is not None
        self.ready = bool(match[1])
        self.at = match.end()
        if self.ready:
            child.after = match.end(1)
            if self.text.startswith("/", self.at):
                self._skip()
            self.trailing += self.text.startswith(_CLOSERS, self.at)

    def _string(self, node: JsonNode) -> str:
        match = _STRING.match(self.text, self.at) or _LAX_STRING.match(self.text, self.at)
        if match is None:
            raise self._error("a text in quotation marks has no end on its line", node)
        self.at = match.end()
        if "\\" not in match[1]:
            return match[1]
        try:
            read = str(json.loads(match[0], strict=False))
        except ValueError:
            self.at = match.start()
            raise self._error(f"a backslash in {_shorten(match[0])} begins nothing that JSON knows", node) from None
        repaired = replace_invalid_characters(read)
        if repaired != read:
            message = Message("{} has an invalid character; it is replaced", _shorten(match[0]))
            self.report.warn("letters-replaced", message, self._line(match.start()), node.where)
        return repaired

    def _scalar(self, node: JsonNode) -> Any:
        match = _NUMBER.match(self.text, self.at)
        if match is not None:
            word = match[0]
            value = float(word)
            if not math.isfinite(value):
                raise self._error(f"{_shorten(word)} is too large a number", node)
            self.at = match.end()
            return int(word) if len(word) < MAX_DIGITS and word.lstrip("-").isdigit() else value
        found = _WORD.match(self.text, self.at)
        if found is None:
            here = self.text[self.at : self.at + 1]
            raise self._error(f"a value is expected here, not {here}" if here else "a value is missing", node)
        if found[0] not in _WORDS:
            raise self._error(f"{_shorten(found[0])} is no number, text, list or object", node)
        self.at = found.end()
        return _WORDS[found[0]]

    def _line(self, position: int) -> int:
        """Return the line of a position, counted from the last one asked for, which is mostly before it."""
        before, line = self.counted
        back = position < before
        line = line_at(self.text, position) if back else line + self.text.count("\n", before, position)
        self.counted = position, line
        return line

    def _error(self, message: str, node: JsonNode | None, where: str | None = None) -> FormatError:
        return FormatError(
            f"invalid JSON: {message}" if where is None else message,
            path=self.path,
            line=line_at(self.text, min(self.at, len(self.text.rstrip()))),
            where=(node.where if node is not None else "") if where is None else where,
            remedy="Correct this line in a text editor, or save the file again.",
        )


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else text[:40] + "..."
