"""Helpers for tests of simulation accuracy: a soft servo arm, and the figures of its baked simulation."""

from __future__ import annotations

from typing import Any

from tests.support.mechanisms import (
    body,
    joint,
    model,
)

G = 9.81
#: A servo arm of two links and a ball, far too soft and weak for its load: pivots give, servos lag.
SOFT = model(
    body(1, (0, 0, 4), (2, 2, 8), mass=1e5, name="Tower"),
    body(2, (3, 0, 6), (2, 0.2, 0.3), mass=1.5, name="Upper"),
    body(3, (4.5, 0, 6), (1, 0.2, 0.3), mass=6, name="Lower"),
    body(4, (5.5, 0, 6), shape=3, size=0.5, mass=3, name="Hand"),
    joint(11, 1, 2, (2, 0, 6), (0, 90, 0), force=120),
    joint(12, 2, 3, (4, 0, 6), (0, 90, 0), force=20),
    joint(13, 3, 4, (5, 0, 6), tag="SphericalJoint"),
    gravity=G,
    cfm=0.02,
    erp=0.3,
)


def baked(rig: Any, last: int) -> Any:
    """Bake a run and return what is kept of it."""
    import bpy

    from addon.blender.physics.recording.accuracy import stored_accuracy
    from addon.blender.physics.recording.bake import bake

    bake(bpy.context.scene, rig, last)
    return stored_accuracy(rig)
