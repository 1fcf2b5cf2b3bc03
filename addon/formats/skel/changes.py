"""Changes to the text of a SKEL document, gathered object by object and then made at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from lxml import etree

from ..xml import escape, escape_attribute
from ..xmledits import Edits
from .markup import INDENT, Node
from .read import Placed


class Changes:
    """What is to be done to a document. Elements that are replaced or deleted are not to be changed as well."""

    def __init__(self) -> None:
        self._todo: list[Callable[[Edits], None]] = []
        self._missing: dict[etree._Element, dict[str, str]] = {}
        self._added: list[tuple[etree._Element, etree._Element | None, Node]] = []

    def __bool__(self) -> bool:
        return bool(self._todo or self._missing or self._added)

    def set(self, item: Placed, path: str, text: str | None) -> None:
        """Give a field of an object another text (not yet escaped); None takes it out of the document. What stands
        there in an older spelling is written in DART's."""
        there = item.places().get(path)
        name = path.rpartition("/")[2]
        if there is None:
            if text is not None:
                self._missing.setdefault(item.element, {})[path] = text
        elif name.startswith("@"):
            value = None if text is None else escape_attribute(text)
            self._todo.append(lambda edits: edits.set_attribute(there, name[1:], value))
        elif text is None:
            self.delete(there)
        elif there is not _found(item.element, path):
            self.delete(there)
            self._missing.setdefault(item.element, {})[path] = text
        else:
            self._todo.append(lambda edits: edits.set_text(there, escape(text)))

    def delete(self, element: etree._Element) -> None:
        """Take an element out of the document."""
        self._todo.append(lambda edits: edits.delete(element))

    def replace(self, element: etree._Element, node: Node) -> None:
        """Put a new element in the place of one."""
        self._todo.append(
            lambda edits: edits.replace(
                element, node.markup(edits.indent(element), edits.newline, _step(edits, element))
            )
        )

    def add(self, parent: etree._Element, node: Node, after: etree._Element | None = None) -> None:
        """Put a new element behind one of its siblings, or behind the last."""
        self._added.append((parent, after, node))

    def made(self, edits: Edits) -> str:
        """The text with everything done."""
        for change in self._todo:
            change(edits)
        for element, values in self._missing.items():
            for parent, node in _grown(element, values):
                if isinstance(node, tuple):
                    edits.set_attribute(parent, node[0], escape_attribute(node[1]))
                else:
                    self._added.append((parent, None, node))
        for parent, after, node in self._added:
            _insert(edits, parent, after, node)
        return edits.result()


def _found(element: etree._Element, path: str) -> etree._Element | None:
    return element.find(path)


def _grown(element: etree._Element, values: dict[str, str]) -> Iterable[tuple[etree._Element, Node | tuple[str, str]]]:
    """New elements and attributes for paths below an element, each with what it has to be put into, so that elements on
    the way that are there already are used."""
    roots: dict[etree._Element, Node] = {}
    for path, text in values.items():
        steps = path.split("/")
        here = element
        while len(steps) > 1 and (below := here.find(steps[0])) is not None:
            here = below
            steps = steps[1:]
        if len(steps) == 1 and steps[0].startswith("@"):
            yield here, (steps[0][1:], text)
        else:
            roots.setdefault(here, Node("")).put("/".join(steps), text)
    for parent, root in roots.items():
        for child in root.children:
            yield parent, child


def _insert(edits: Edits, parent: etree._Element, after: etree._Element | None, node: Node) -> None:
    step = _step(edits, parent)
    siblings = list(parent)
    indent = edits.indent(siblings[0]) if siblings else edits.indent(parent) + step
    markup = f"{edits.newline}{indent}{node.markup(indent, edits.newline, step)}"
    if after is not None:
        edits.insert_after(after, markup)
    else:
        edits.insert_last(parent, markup)


def _step(edits: Edits, element: etree._Element) -> str:
    """By how much the document indents what is inside."""
    own = edits.indent(element)
    parent = element.getparent()
    outer = edits.indent(parent) if parent is not None else ""
    return own.removeprefix(outer) if own != outer and own.startswith(outer) else INDENT
