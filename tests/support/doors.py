"""Helpers for tests of the repository's scripts: loading them as modules."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]


@cache
def load_script(path: str) -> ModuleType:
    """The module of a script, by its path from the tree's root."""
    name = "knuckle_" + path.removesuffix(".py").replace("/", "_")
    spec = importlib.util.spec_from_file_location(name, ROOT / path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def load_build() -> ModuleType:
    """``build.py``."""
    return load_script("build.py")
