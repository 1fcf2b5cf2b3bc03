"""The manual's tables of conversion losses: messages of the formats' writers, read from their source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from in_markdown import rows

ROOT = Path(__file__).resolve().parent.parent

OUTCOMES = {
    "dropped": "lost",
    "dropped-shape-use": "approximated",
    "kept": "kept as extension data",
    "cut": "kept as extension data",
    "left": "kept as extension data",
    "undrawn": "kept as extension data",
    "split": "written differently",
    "reversed": "written differently",
    "moved": "written differently",
    "invented": "written differently",
    "approximated": "approximated",
    "mended": "approximated",
    "rounded": "approximated",
    "sorted": "approximated",
    "held": "written differently",
    "joint": "note",
    "no": "note",
    "dangling": "note",
    "attributes": "lost",
}
#: The modules that write new documents of each format.
WRITING = {
    "juice": ("from_model", "servo_gains", "writer"),
    "shift": ("from_model", "writer"),
    "skel": ("from_model", "from_model_rows"),
    "x_xy": ("from_model_parts", "from_model"),
    "xmdi": ("writer",),
    "webots": ("writer",),
    "motion_csv": ("writer",),
}
_CODE = re.compile(r"[a-z]+(-[a-z]+)*")
#: Codes about patched documents and mesh files, which the pages describe in words.
_NOT_LOSSES = {"document-kept", "document-patched", "document-lost", "interpolation"}


def losses(format: str) -> str:
    """Return the table of a format's losses, the worst first."""
    found: dict[str, list[str]] = {}
    writing = (path for path in (ROOT / f"addon/formats/{format}").glob("*.py") if "osses.add(" in path.read_text())
    unread = {path.stem for path in writing} - set(WRITING[format])
    if unread:
        raise ValueError(
            f"docs/losses.py does not read what these modules of {format} report as lost: {', '.join(unread)}"
        )
    for module in WRITING[format]:
        for code_, message in told(ROOT / f"addon/formats/{format}/{module}.py"):
            found.setdefault(OUTCOMES.get(code_) or OUTCOMES[code_.partition("-")[0]], []).append(message)
    order = list(dict.fromkeys(OUTCOMES.values()))
    lines = (
        [outcome, message] for outcome in sorted(found, key=order.index) for message in dict.fromkeys(found[outcome])
    )
    return rows(("", "message"), lines)


def told(path: Path) -> Iterator[tuple[str, str]]:
    """The codes and messages of a module, read from its source."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for function in functions:
        for node in ast.walk(function):
            words = node.args if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else []
            strings = [
                k for k, word in enumerate(words[:2]) if isinstance(word, ast.Constant) and isinstance(word.value, str)
            ]
            at = next((k for k in strings if _CODE.fullmatch(words[k].value) and words[k].value != "info"), None)
            if at is None or len(words) < at + 2 or node.func.attr not in {"add", "warn", "info"}:
                continue
            if words[at].value in _NOT_LOSSES or words[at].value.partition("-")[0] not in OUTCOMES:
                continue
            for message in sentences(words[at + 1], function):
                yield words[at].value, message


def sentences(node: ast.expr, function: ast.FunctionDef) -> list[str]:
    """Return the texts of an expression, ``…`` for inserted values; a variable has its last value in the function."""
    if isinstance(node, ast.Constant):
        return [str(node.value)]
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Message":
        return [re.sub(r" ?\('…'\)", "", each.replace("{}", "…")) for each in sentences(node.args[0], function)]
    if isinstance(node, ast.Name):
        assigned = [line for line in ast.walk(function) if isinstance(line, ast.Assign) and line.lineno < node.lineno]
        given = [line for line in assigned if getattr(line.targets[0], "id", "") == node.id]
        return sentences(max(given, key=lambda line: line.lineno).value, function) if given else []
    if isinstance(node, ast.IfExp):
        return [*sentences(node.body, function), *sentences(node.orelse, function)]
    return []
