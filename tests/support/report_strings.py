"""Helpers for tests of translations: the sentences of reports, findings and refusals, read from the source."""

# The sources are the packages below the interface. Sentences with numbers and names in them are templates, as those of
# the interface: ``{}`` stands for each.

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.support.ui_strings import ADDON, messages, texts

#: The rooms whose sentences people read in Blender. What is not here stays English, for a reason:
#: ``formats`` speak of elements and attributes of files in the files' own English words, and name line and place;
#: ``cli``, ``plot``, ``tasks`` and ``rendering`` speak on the command line, which is English;
#: ``surfaces`` is asked for what it knows by those who look first;
#: ``gait`` and ``joint_types`` are asked for names by the command line and by scripts.
ROOMS = ("installation.py", "core", "blender")
STAY_ENGLISH = ("blender/tasks", "blender/rendering", "core/gait/engine.py", "core/gait/engine.py",
                "core/joint_types.py", "core/model.py", "core/motion/fitting.py", "core/motion/keyframes.py",
                "blender/locale")  # fmt: skip
#: Calls that say something, and which of their arguments it is.
_SAYS = {"info": 1, "warn": 1, "add": 2, "Entry": 2, "Finding": 2, "ValueError": 0, "FormatError": 0,
         "AccuracyRow": 0, "TwinDifference": 3, "CheckRow": 0, "_attempt_row": 0}  # fmt: skip
#: Functions whose answer panels and reports show.
_ANSWERS = ("_message", "_reason", "_problem", "_verdict", "_source", "_threshold_text")


def files() -> list[Path]:
    """The sources that are looked through."""
    every = [
        path
        for room in ROOMS
        for path in ([ADDON / room] if room.endswith(".py") else sorted((ADDON / room).rglob("*.py")))
    ]
    return [path for path in every if not str(path.relative_to(ADDON)).startswith(STAY_ENGLISH)]


def strings(path: Path) -> Iterator[tuple[str, int]]:
    """The sentences of a file with their lines."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    yield from messages(tree)
    if path.name in {"solver_settings.py", "missing_parts.py", "installation.py", "diagnostics.py"}:
        yield from _reasons(tree)
    if path.name in {"twins.py", "symmetry.py"} and path.parent.name == "editing":
        yield from _fields(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "attr", "") == "run":  # what a run is called
            yield from _sentences(texts(node.value))
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Call):
                    yield from _of_call(function, node)
        fixes = path.parts[-2:] in {("repair", "checks.py"), ("repair", "fixes.py")}
        if isinstance(function, ast.FunctionDef) and (fixes or function.name.endswith(_ANSWERS)):
            for node in ast.walk(function):
                if isinstance(node, ast.Return) and node.value is not None:
                    yield from _sentences(texts(node.value))


def _reasons(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """All sentences of a file that has nothing but these, besides its docstrings."""
    told = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    inner = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Constant, ast.JoinedStr)) and node not in told | inner:
            yield from ((text, line) for text, line in texts(node) if " " in text.strip())


def _fields(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """What twins may differ in, by the names of fields, and the words for their stops."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in {"UNSIGNED_FIELDS", "SIGNED_FIELDS"}:
            yield from ((each.value.replace("_", " "), node.lineno) for each in node.value.elts)  # type: ignore
        elif isinstance(node, ast.For) and isinstance(node.iter, ast.Tuple):
            for row in node.iter.elts:
                yield from texts(row.elts[1]) if isinstance(row, ast.Tuple) else ()


def _of_call(function: ast.FunctionDef, node: ast.Call) -> Iterator[tuple[str, int]]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name == "count_with_noun":
        one = list(texts(node.args[1]))
        yield from one
        yield from texts(node.args[2]) if len(node.args) > 2 else ((f"{text}s", line) for text, line in one)
        return
    at = _SAYS.get(name)
    if at is None or len(node.args) <= at:
        return
    told = node.args[at]
    if name == "add" and not isinstance(node.args[0], (ast.Constant, ast.Name, ast.IfExp)):
        return
    yield from _sentences(texts(told))
    for part in ast.walk(told):
        if isinstance(part, ast.Name):
            yield from _sentences(_assigned(function, part.id))
    if name == "Finding":
        fixes = [*node.args[5:7], *(word.value for word in node.keywords if word.arg in {"fix", "or_fix"})]
        yield from (part for fix in fixes for part in texts(fix) if part[0])
        for part in (each for fix in fixes for each in ast.walk(fix) if isinstance(each, ast.Name)):
            yield from _sentences(_assigned(function, part.id))
    for remark in (word.value for word in node.keywords if word.arg == "remark"):
        yield from _sentences(texts(remark))
    if name == "AccuracyRow":
        yield from (part for more in node.args[1:] for part in _sentences(texts(more)))


def _assigned(function: ast.FunctionDef, name: str) -> Iterator[tuple[str, int]]:
    """What a variable of a function may hold."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == name:
            yield from texts(node.value)
            for part in ast.walk(node.value):
                if isinstance(part, ast.Name) and part.id != name and isinstance(node.value, ast.JoinedStr):
                    yield from _assigned(function, part.id)


def _sentences(found: Iterator[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    """Those that are words, and no code, no unit and no name of a field."""
    for text, line in found:
        if " " in text.strip() or text[:1].isupper() or text.isalpha() and len(text) > 3:
            yield text, line


def all_reports() -> dict[str, str]:
    """Every sentence with the place where it stands first."""
    out: dict[str, str] = {}
    for path in files():
        for text, line in strings(path):
            out.setdefault(text, f"{path.relative_to(ADDON)}:{line}")
    return out


def _templates(told: ast.expr) -> Iterator[str]:
    """The templates that the text of an entry may have, without words among its parameters."""
    if isinstance(told, ast.IfExp):
        yield from (*_templates(told.body), *_templates(told.orelse))
    elif isinstance(told, ast.Call) and getattr(told.func, "id", "") == "Message":
        yield from (text for text, _line in texts(told.args[0]))
    elif isinstance(told, ast.Constant):
        yield told.value


def report_templates() -> dict[str, set[str]]:
    """The templates that each code of a report entry is added with, in all of the add-on."""
    out: dict[str, set[str]] = {}
    for path in sorted(ADDON.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                at = {"info": 0, "warn": 0, "add": 1}.get(node.func.attr)
                if at is not None and len(node.args) > at + 1 and isinstance(node.args[at], ast.Constant):
                    code, told = node.args[at].value, node.args[at + 1]
                    if isinstance(code, str):
                        out.setdefault(code, set()).update(_templates(told))
    return {code: found for code, found in out.items() if found}


if __name__ == "__main__":
    from tests.support.ui_strings import all_strings

    known = all_strings()
    for text, place in all_reports().items():
        if text not in known:
            print(place, repr(text))
