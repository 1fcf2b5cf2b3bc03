"""Helpers for tests of harmed mechanisms: the harms after which Blender itself may crash."""

from __future__ import annotations

import pytest

pytest.importorskip("bpy", reason="Blender is not here")

#: After which Blender crashes now and then, as it frees constraints whose bodies are gone: see ``stripping.py``. So it
#: does without a line of ours: ``plain.py`` counts how often.
FATAL = {
    "root body", "body", "body for good", "bodies", "collection of bodies and all", "meshes", "world",
}  # fmt: skip
