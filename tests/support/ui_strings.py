"""Helpers for tests of interface texts: labels, tooltips, choices and messages, read from the source."""

# Sentences with numbers and names in them are templates: ``{}`` stands for each.

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ADDON = Path(__file__).resolve().parents[2] / "addon"
#: Where people read what is written: operators and panels, and the properties that they show.
FILES = [*sorted((ADDON / "blender/ui").rglob("*.py")), *sorted((ADDON / "blender/data/properties").glob("*.py"))]
_CLASS_TEXTS = {"bl_label", "bl_description"}
_PROPERTIES = {
    "BoolProperty", "CollectionProperty", "EnumProperty", "FloatProperty", "FloatVectorProperty", "IntProperty",
    "IntVectorProperty", "PointerProperty", "StringProperty", "_angle",
    "_angle_property", "_control", "_input_property", "_kind_property", "_length_property",
}  # fmt: skip
_DRAWS = {"label", "prop", "operator", "menu", "operator_menu_enum", "row", "column"}
#: Functions of ours that show a text, and which of their arguments it is.
_SHOWS = {
    "report_result": 1, "cancel_with_error": 1, "report": 1, "draw_paragraph": 2, "poll_message_set": 0,
    "draw_fact": 1, "labeled_row": 1, "ValueError": 0, "report_message": 2, "translated": 0, "count_with_noun": 1,
    "_group": 2, "MenuEntry": 1, "MenuSubject": 0,
}  # fmt: skip
#: Bases of operators, which are not registered themselves.
_HIDDEN = ("_", "ModelOperator", "JointsOperator", "ModalTask")
#: Variables that hold what is shown, or a part of it.
_SENTENCES = {
    "alone",
    "changes",
    "finer",
    "gone",
    "hint",
    "how",
    "like",
    "meant",
    "message",
    "note",
    "said",
    "side",
    "stretch",
    "why",
}
#: How the table of joints ends the tooltips of its fields.
_OF_MARKED = ", of all marked joints if marked"
#: Endings of the names of functions that return a text of the interface.
_ANSWERS = ("_message", "_reason", "_summary", "progress_text")


def strings(path: Path) -> Iterator[tuple[str, int]]:
    """The texts of a file with their lines."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    yield from messages(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for line in node.body:
                if node.name.startswith(_HIDDEN):
                    continue
                if isinstance(line, ast.Assign) and getattr(line.targets[0], "id", "") in _CLASS_TEXTS:
                    yield from texts(line.value)
        elif isinstance(node, ast.Call):
            yield from _of_call(node)
        elif isinstance(node, ast.FunctionDef) and node.name.endswith(_ANSWERS):
            for inner in ast.walk(node):
                if isinstance(inner, ast.Return) and inner.value is not None:
                    yield from texts(inner.value)
        elif isinstance(node, ast.For):
            yield from _of_loop(node)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            name = getattr(target, "id", "")
            if node.value is not None and (name.isupper() and ("ITEMS" in name or "KINDS" in name)):
                yield from _items(node.value)
            elif isinstance(node.value, ast.Tuple) and name.endswith("_COLUMNS"):
                yield from _column(node.value, 1)
            elif node.value is not None and name in _SENTENCES:
                yield from texts(node.value)


def _of_call(node: ast.Call) -> Iterator[tuple[str, int]]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    words = {word.arg: word.value for word in node.keywords}
    if name in _PROPERTIES:
        for word in ("name", "description") if "name" in words or "items" in words else ():  # else nobody sees it
            if word in words:
                yield from texts(words[word])
        if name.startswith("_"):
            for argument in node.args[:2]:
                yield from texts(argument)
        if "items" in words:
            yield from _items(words["items"])
    translated = getattr(words.get("translate"), "value", True) is not False
    if name == "_marked_property":  # it ends their tooltips
        yield from texts(node.args[1])
        yield from ((f"{text}{_OF_MARKED}", line) for text, line in texts(node.args[2]))
    if name in _DRAWS and isinstance(node.func, ast.Attribute) and translated:
        for word in ("text", "heading"):
            if word in words:
                yield from texts(words[word])
    if name in _SHOWS and len(node.args) > _SHOWS[name]:
        yield from texts(node.args[_SHOWS[name]])
        if name == "count_with_noun" and len(node.args) > 2:
            yield from texts(node.args[2])
        elif name == "count_with_noun":
            yield from ((f"{text}s", line) for text, line in texts(node.args[1]))


def _of_loop(node: ast.For) -> Iterator[tuple[str, int]]:
    """Buttons and labels that are drawn in a loop over their texts."""
    names = [getattr(each, "id", "") for each in getattr(node.target, "elts", [])]
    for at in (at for at, name in enumerate(names) if name in {"text", "label"}):
        yield from _column(node.iter, at)


def _column(node: ast.expr, at: int) -> Iterator[tuple[str, int]]:
    """What all rows of a table have in one place."""
    for row in getattr(node, "elts", []):
        if isinstance(row, ast.Tuple):
            yield from texts(row.elts[at])


def _items(node: ast.expr) -> Iterator[tuple[str, int]]:
    for row in ast.walk(node):
        if isinstance(row, ast.Tuple) and len(row.elts) >= 3:
            for text in row.elts[1:3]:
                yield from texts(text)


def texts(node: ast.expr) -> Iterator[tuple[str, int]]:
    """The texts that an expression may be."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        if any(map(str.isalpha, node.value)):
            yield node.value, node.lineno
    elif isinstance(node, ast.JoinedStr):
        told = "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        if any(map(str.isalpha, told)):
            yield told, node.lineno
        for part in node.values:
            if isinstance(part, ast.FormattedValue) and isinstance(part.value, (ast.IfExp, ast.BoolOp)):
                yield from texts(part.value)
    elif isinstance(node, ast.Call):
        yield from _of_message(node)
    elif isinstance(node, ast.IfExp):
        yield from texts(node.body)
        yield from texts(node.orelse)
    elif isinstance(node, ast.BoolOp):
        for each in node.values:
            yield from texts(each)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield from texts(node.left)
        yield from texts(node.right)


def _of_message(node: ast.Call) -> Iterator[tuple[str, int]]:
    """The template of a message, and words among its parameters."""
    if getattr(node.func, "id", "") == "Message":
        yield from texts(node.args[0])
        for part in node.args[1:]:
            if isinstance(part, (ast.IfExp, ast.BoolOp, ast.Constant)):
                yield from texts(part)


def messages(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """All templates of a file, with words among their parameters."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from _of_message(node)
        elif isinstance(node, ast.FunctionDef):
            yield from ((text, line) for text, line in _words_in_variables(node) if " " in text)


def _words_in_variables(function: ast.FunctionDef) -> Iterator[tuple[str, int]]:
    """Yield the texts of variables that are parameters of a function's messages."""
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    parameters = [part for call in calls if getattr(call.func, "id", "") == "Message" for part in call.args[1:]]
    names = {part.id for part in parameters if isinstance(part, ast.Name)}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in names:
            yield from texts(node.value)


def all_strings() -> dict[str, str]:
    """Every text with the place where it stands first."""
    out: dict[str, str] = {}
    for path in FILES:
        for text, line in strings(path):
            out.setdefault(text, f"{path.relative_to(ADDON)}:{line}")
    return out


def fix_labels() -> set[str]:
    """The labels of the buttons that fix findings of a check."""
    out = set[str]()
    for path in (ADDON / "blender/editing/repair/checks.py", ADDON / "core/validation.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Finding":
                labels = [*node.args[5:], *(word.value for word in node.keywords if word.arg in {"fix", "or_fix"})]
                out |= {text for label in labels for text, _line in texts(label)}
    return out


if __name__ == "__main__":
    for text in all_strings():
        print(repr(text))
