"""Selection of the cells of the matrix by ``KNUCKLE_MATRIX``: ``all``, ``tenth`` (a fixed share), or the fast rows."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest

from .expected import why_expected

_CHOICES = ("", "tenth", "all")
if os.environ.get("KNUCKLE_MATRIX", "") not in _CHOICES:
    raise pytest.UsageError(f"KNUCKLE_MATRIX is one of {_CHOICES}")
if importlib.util.find_spec("bpy") is None:
    collect_ignore_glob = ["test_*.py"]  # the cells are made of Blender's own types
elif not os.environ.get("KNUCKLE_MATRIX"):
    collect_ignore_glob = ["test_all_*.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:  # of the whole run
        name = item.callspec.params.get("name") if hasattr(item, "callspec") else None
        if item.path.parent == Path(__file__).parent and isinstance(name, str) and (reason := why_expected(name)):
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


@pytest.fixture
def folder(tmp_path: Path, blank: Any) -> Path:
    """A folder for the files of a cell; the extension is registered."""
    del blank
    return tmp_path


@pytest.fixture(scope="session", autouse=True)
def ready(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A folder for the .blend files that cells begin with."""
    from . import cells

    cells.READY.clear()
    cells.READY.append(tmp_path_factory.mktemp("ready"))
