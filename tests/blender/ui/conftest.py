"""A small model, imported through its operator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.small import models, put


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    """The small model as a file."""
    return put(tmp_path / "flapper.jm")


@pytest.fixture
def rig(blank: Any, model_file: Path) -> Any:
    """Its armature, after File > Import > Mechanism."""
    import bpy

    assert bpy.ops.import_scene.mechanism(filepath=str(model_file), gait_seconds=1.0) == {"FINISHED"}
    return models()[0]
