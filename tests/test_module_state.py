"""Module-level state: none of the package is mutable but for the store, the handler table and caches of contents."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ADDON = Path(__file__).resolve().parents[1] / "addon"
#: Calls whose results nobody changes.
FROZEN = {"frozenset", "tuple", "FrozenDict", "MappingProxyType"}
MUTABLE_TYPES = {
    "dict",
    "list",
    "set",
    "defaultdict",
    "deque",
    "OrderedDict",
    "Counter",
    "WeakSet",
    "WeakKeyDictionary",
}
#: Methods that change their object.
CHANGES = {
    "add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem", "popleft", "remove",
    "setdefault", "update", "difference_update", "intersection_update", "sort", "reverse",
}  # fmt: skip
#: Names at module level that may change, with the reason.
ALLOWED = {
    "blender/events/runtime_state.py:_store": "the one store of state outside the .blend",
    "formats/document/cache.py:_instances": "finds the caches of parsed contents to empty them",
    "formats/document/cache.py:_attached": "document of a Source, dropped with it",
    "formats/text/file_io.py:_transactions": "files of an open transaction; formats know no Blender",
}


def module_level_names(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """Names that a module assigns at its top level to something that can be changed, and whether it is empty."""
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if targets and is_mutable(getattr(node, "value", None)):
            yield from ((target.id, is_empty(node.value)) for target in targets if isinstance(target, ast.Name))


def is_mutable(value: ast.AST | None) -> bool:
    if isinstance(value, ast.Call):
        return ast.unparse(value.func).split("[")[0].rpartition(".")[2] in MUTABLE_TYPES
    return isinstance(value, (ast.Dict, ast.List, ast.Set, ast.DictComp, ast.ListComp, ast.SetComp))


def is_empty(value: ast.AST | None) -> bool:
    """Return whether a collection is empty: but for a constant, it is there to be filled, be it by another module."""
    if isinstance(value, ast.Call):
        return not value.args and not value.keywords
    return not (getattr(value, "elts", None) or getattr(value, "keys", None) or getattr(value, "generators", None))


def changed_names(tree: ast.Module) -> Iterator[str]:
    """Names that functions of a module rebind or change in place."""
    for function in (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.Lambda))):
        for node in ast.walk(function):
            if isinstance(node, ast.Global):
                yield from node.names
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGES:
                yield from base_name(node.func.value)
            elif isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete)):
                targets = node.targets if isinstance(node, (ast.Assign, ast.Delete)) else [node.target]
                for target in targets:
                    if isinstance(target, ast.Subscript):
                        yield from base_name(target.value)


def base_name(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id


def state_in(text: str) -> set[str]:
    tree = ast.parse(text)
    changed = set(changed_names(tree))
    rebound = {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}
    return {
        name for name, empty in module_level_names(tree) if (empty and not name.isupper()) or name in changed
    } | rebound


def test_no_module_keeps_state_of_its_own() -> None:
    found = {
        f"{path.relative_to(ADDON).as_posix()}:{name}"
        for path in sorted(ADDON.rglob("*.py"))
        for name in state_in(path.read_text(encoding="utf-8"))
    }
    assert found == ALLOWED.keys()


@pytest.mark.parametrize(
    "text",
    [
        "listeners: list[int] = []\n",
        "cache = {}\ndef f():\n    cache[1] = 2\n",
        "cache: dict[int, int] = dict()\ndef f():\n    cache.clear()\n",
        "seen = set[int]()\ndef f():\n    seen.add(1)\n",
        "state = {'on': False}\ndef f():\n    state['on'] = True\n",
        "rows = []\ndef f():\n    rows[:] = [1]\n",
        "count = 0\ndef f():\n    global count\n    count += 1\n",
    ],
)
def test_state_is_found_however_it_is_written(text: str) -> None:
    assert state_in(text)


@pytest.mark.parametrize(
    "text", ["TABLE = {1: 2}\ndef f():\n    return TABLE[1]\n", "def f():\n    own = []\n    own.append(1)\n"]
)
def test_constants_and_local_values_are_no_state(text: str) -> None:
    assert not state_in(text)
