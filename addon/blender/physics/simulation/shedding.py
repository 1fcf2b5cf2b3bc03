"""Motors that a run made, taken away again: a model that was only tried out is as it was."""

from __future__ import annotations

from collections.abc import Collection

import bpy

from ..actuators.motors import listed, motor_lists, unlisted
from . import session as runs
from .removal import strip_physics


def motors_in(scene: bpy.types.Scene, rig: bpy.types.Object) -> list[bpy.types.Object]:
    """The empties of all motors that a model has in a scene."""
    return [] if scene.rigidbody_world is None else [*listed(rig), *unlisted(scene, rig)]


def shed_motors(scene: bpy.types.Scene, rig: bpy.types.Object, kept: Collection[bpy.types.Object]) -> None:
    """Remove a model's motors but those that are ``kept``."""
    spare = [motor for motor in motors_in(scene, rig) if motor not in kept]
    if not spare:
        return
    runs.drop(rig)
    runs.lose(rig)
    strip_physics(scene, [], spare)
    for rows in motor_lists(rig):
        for number in reversed(range(len(rows))):
            if rows[number].empty in spare:
                rows.remove(number)
    bpy.data.batch_remove(spare)
