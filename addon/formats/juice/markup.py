"""Rows of a Juice file to its text, indented with tabs as the program does."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from ..text.xml_reader import escape
from .schema import INTEGER, NUMBER, Field, Row, Table

#: An element as its tag and its text or its children.
Node = tuple[str, "str | list[Node]"]

_JPM_COMPONENT = frozenset({"ID", "Name", "Position", "Rotation", "Twin"})
_JPM_BARE = frozenset({"Length", "Diameter"})


def spelt(item: Field, value: object) -> str:
    """A value as the file's text."""
    return escape(item.kind.spell(value))


def fields(table: Table, row: Row, paths: Iterable[str] | None = None) -> list[Node]:
    """The elements of a row (of some of its fields), grouped; fields that the row lacks are left out, and numbers
    that nobody knows."""
    chosen = None if paths is None else set(paths)
    items = [item for item in table if item.path in row and (chosen is None or item.path in chosen)]
    items = [item for item in items if item.kind not in (NUMBER, INTEGER) or row[item.path] is not None]
    nodes: list[Node] = []
    for group, members in groupby(items, key=lambda item: item.path.rpartition("/")[0]):
        leaves: list[Node] = [(item.path.rpartition("/")[2], spelt(item, row[item.path])) for item in members]
        if group:
            nodes.append((group, leaves))
        else:
            nodes += leaves
    return nodes


def object_node(table: Table, row: Row, dialect: str = "jm") -> Node:
    """A body or joint as an element of a dialect."""
    nodes = fields(table, row)
    if dialect != "jpm":
        return table.tag, nodes
    component: Node = ("Component", [_older(node) for node in nodes if node[0] in _JPM_COMPONENT])
    rest = [_older(node) for node in nodes if node[0] not in _JPM_COMPONENT]
    if "Body1" not in table:
        return table.tag, [component, *rest]
    joint: Node = ("Joint", [component, *(node for node in rest if node[0] not in _JPM_BARE)])
    return table.tag, [joint, *(node for node in rest if node[0] in _JPM_BARE)]


def text_of(node: Node, indent: str = "", newline: str = "\n") -> str:
    """An element as text, without white space before and after."""
    tag, content = node
    if isinstance(content, str):
        return f"<{tag}>{content.replace(chr(10), newline)}</{tag}>"
    inside = "".join(f"{newline}{indent}\t{text_of(child, indent + chr(9), newline)}" for child in content)
    return f"<{tag}>{inside}{newline}{indent}</{tag}>"


def _older(node: Node) -> Node:
    tag, content = node
    if tag == "Rotation" and not isinstance(content, str):
        return tag, [("H" if name == "Y" else name, value) for name, value in content]
    return ("Dimensions" if tag == "BoxDimensions" else tag), content
