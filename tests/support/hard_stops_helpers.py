"""Helpers for tests of hard stops: the coordinate of a joint that is driven towards a stop and released."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from addon.core.model import Array
from tests.support.degrees_helpers import put
from tests.support.mechanisms import key, play
from tests.support.springs_helpers import moved


def hit(scene: Any, mechanism: Any, speed: float, look: Any, frames: int, rate: int = 600) -> Array:
    """The coordinate in every step of Blender's own while the joint is driven to half way to 1 with a speed and let
    go there."""
    rig = put(mechanism, physics=True)
    scene.render.fps, scene.rigidbody_world.substeps_per_frame = rate, 1
    key(rig, "j", [(1, 0.0), (1 + 0.5 / speed * rate, 0.5)])
    for frame, drive in ((1, "SERVO"), (1 + math.ceil(0.5 / speed * rate), "LIMP")):
        rig.data.knuckle.drive = drive
        rig.data.keyframe_insert("knuckle.drive", frame=frame)
    scene.frame_end = frames
    return np.array(play(scene, frames, lambda: look(moved(rig))))
