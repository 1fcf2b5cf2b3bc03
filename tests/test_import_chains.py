"""Chains of imports and first words of docstrings: what makes a package hard to load and to read."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
#: Most modules in a chain of imports at top level: of all, and within one package.
LONGEST, LONGEST_WITHIN = 24, 10
PACKAGES = ["addon.core", "addon.formats", "addon.cli", *(f"addon.blender.{name}" for name in (
    "animation", "data", "editing", "physics", "reconcile", "rendering", "rig", "scene", "ui",
))]  # fmt: skip
_CLAUSE = re.compile(r"(What|Which|How|Who|Where|Whether|The same)\b")


@cache
def modules() -> Mapping[str, Path]:
    found = {}
    for path in (ROOT / "addon").rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imports(name: str) -> frozenset[str]:
    """The modules of ours that a module imports at its top level, without those for types alone."""
    path = modules()[name]
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    out = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.level:
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*above, node.module] if node.module else above)
            out |= {each if (each := f"{base}.{item.name}") in modules() else base for item in node.names}
    return frozenset(out & modules().keys()) - {name}


def longest(within: str) -> tuple[str, ...]:
    """The longest chain of imports among the modules of a package."""

    @cache
    def chain(name: str) -> tuple[str, ...]:
        inside = (each for each in imports(name) if f"{each}.".startswith(f"{within}."))
        return (name, *max(map(chain, inside), key=len, default=()))

    return max((chain(name) for name in modules() if f"{name}.".startswith(f"{within}.")), key=len)


def test_no_chain_of_imports_is_too_long() -> None:
    found = longest("addon")
    assert 10 < len(found) <= LONGEST, "\n".join(found)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_chain_within_a_package_is_too_long(package: str) -> None:
    found = longest(package)
    assert 1 < len(found) <= LONGEST_WITHIN, "\n".join(found)


def docstrings(source: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            yield getattr(node, "lineno", 1), ast.get_docstring(node) or ""


def test_no_docstring_begins_with_a_clause() -> None:
    found = [
        f"{path.relative_to(ROOT).as_posix()}:{line}"
        for path in modules().values()
        for line, text in docstrings(path.read_text(encoding="utf-8"))
        if _CLAUSE.match(text)
    ]
    assert found == []


def test_a_docstring_that_begins_with_a_clause_is_found() -> None:
    source = 'class A:\n    """Whether it is."""\n    def f(self):\n        """Return whether it is."""\n'
    assert [line for line, text in docstrings(source) if _CLAUSE.match(text)] == [1]
