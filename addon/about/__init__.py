"""What Knuckle says of itself. Its manifest is the one place of the version; the standard library is all that is needed
here, so that this also works where a module that we need is missing."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).resolve().parents[1]


def home() -> Path:
    """The folder with manifest, samples and licences: the package's own where it is installed in Blender, the tree's
    root in the source."""
    return _PACKAGE if (_PACKAGE / "blender_manifest.toml").is_file() else _PACKAGE.parent


@cache
def manifest() -> dict[str, Any]:
    """Return what Blender reads about us. In an installed package it also names platform and wheels."""
    return tomllib.loads((home() / "blender_manifest.toml").read_text(encoding="utf-8"))


def version() -> str:
    """The semantic version, such as 1.0.0."""
    return str(manifest()["version"])


def sample(name: str) -> Path:
    """One of our own models, such as ``rover/rover.jm``."""
    return home() / "sample_models" / name
