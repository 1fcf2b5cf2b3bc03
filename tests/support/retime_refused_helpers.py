"""Helpers for tests of curves that cannot be retimed: muted F-curves."""

from __future__ import annotations

from typing import Any

import pytest


def mute(curve: Any, how: str) -> None:
    """A curve muted by itself, or with its group."""
    if how == "curve":
        curve.mute = True
        return
    import bpy

    if bpy.app.version >= (4, 4):
        pytest.skip("Blender plays the curves of muted groups since Actions have layers")
    if curve.group is None:  # keys put in by scripts have none in some versions
        curve.group = curve.id_data.groups.new("together")
    curve.group.mute = True
