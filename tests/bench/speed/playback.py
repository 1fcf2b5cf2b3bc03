"""How fast a model plays whose bones all have keys: frames per second, beside a plain scene of as many bodies on bones,
and as many keys, that is no model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import bpy
import numpy as np

from addon.blender.animation.keys import LINEAR, key_channels
from addon.blender.channels import servo_channels
from tests.bench.floors import floor_import, key_bones
from tests.bench.measuring import again, fresh, fresh_model
from tests.bench.mechanisms import star
from tests.bench.table import Row

SIZES, QUICK = (100, 400, 1000), (5, 10)
FRAMES = 250
PLAYED = 20


def rows(sizes: Sequence[int], folder: Path) -> Iterator[Row]:
    """Without physics, and with every body in a world of rigid bodies that it stands still in."""
    for bodies in sizes:
        for physics, told in ((False, "no physics"), (True, "bodies in Blender's world")):
            fresh()
            rig = floor_import(bodies, 0, physics=physics)
            for obj in bpy.data.objects:
                if obj.rigid_body is not None:
                    obj.rigid_body.kinematic = True
            key_bones(rig, bodies, np.arange(1.0, 1.0 + FRAMES), np.sin(np.arange(FRAMES)))
            plain = _played()
            rig = fresh_model(star(bodies), physics=physics)
            times = np.arange(1.0, 1.0 + FRAMES)
            channels = [channel for own in servo_channels(rig).values() for channel in own]
            assert len(channels) == bodies - 1
            key_channels(rig, "swing", {channel: (times, np.sin(times), LINEAR) for channel in channels})
            yield Row(f"played by keys, {told}", bodies, "bodies", 1.0 / _played(), 1.0 / plain, "a plain scene",
                      measure="/s")  # fmt: skip


def _played() -> float:
    """Seconds of a frame."""
    scene = bpy.context.scene
    scene.frame_end = FRAMES

    def frames() -> None:
        for frame in range(1, 1 + PLAYED):
            scene.frame_set(frame)

    return again(frames, 3) / PLAYED
