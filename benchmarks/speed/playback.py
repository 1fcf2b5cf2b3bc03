"""How fast a model plays whose bones all have keys: frames per second, beside a plain scene of as many bodies on bones,
and as many keys, that is no model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import bpy
import numpy as np

from addon.blender import compat
from addon.blender.animation.keying import LINEAR, key_channels
from addon.blender.data.channels import servo_channels
from benchmarks.floors import floor_import
from benchmarks.measuring import again, fresh, fresh_model
from benchmarks.mechanisms import star
from benchmarks.table import Row

SIZES, QUICK = (100, 400, 1000), (5, 10)
FRAMES = 250
PLAYED = 20
TIMES, VALUES = np.arange(1.0, 1.0 + FRAMES), np.sin(np.arange(1.0, 1.0 + FRAMES))


def rows(sizes: Sequence[int], folder: Path) -> Iterator[Row]:
    """Without physics, and with every body in a world of rigid bodies that it stands still in."""
    for bodies in sizes:
        for physics, told in ((False, "no physics"), (True, "bodies in Blender's world")):
            fresh()
            _plain(bodies, physics)
            plain = _played()
            rig = fresh_model(star(bodies), physics=physics)
            channels = [channel for own in servo_channels(rig).values() for channel in own]
            assert len(channels) == bodies - 1
            key_channels(rig, "swing", {channel: (TIMES, VALUES, LINEAR) for channel in channels})
            yield Row(f"played by keys, {told}", bodies, "bodies", 1.0 / _played(), 1.0 / plain, "a plain scene",
                      measure="/s")  # fmt: skip


def _plain(bodies: int, physics: bool) -> None:
    """The floor of an import, with the same keys on every bone but the first."""
    floor_import(bodies, 0)
    rig = bpy.context.view_layer.objects.active
    for obj in bpy.data.objects:
        if obj.rigid_body is not None:
            obj.rigid_body.kinematic = True
    if not physics:
        bpy.ops.rigidbody.world_remove()
    action = bpy.data.actions.new("floor")
    compat.use_action(rig, action)
    curves = compat.action_curves(rig, action)
    assert curves is not None
    pairs = np.stack([TIMES, VALUES], axis=1).astype(np.float32).ravel()
    for bone in rig.pose.bones[1:]:
        bone.rotation_mode = "XYZ"
        curve = curves.new(f'pose.bones["{bone.name}"].rotation_euler', index=2)
        curve.keyframe_points.add(FRAMES)
        curve.keyframe_points.foreach_set("co", pairs)
        curve.keyframe_points.foreach_set("interpolation", np.full(FRAMES, LINEAR, dtype=np.int32))
        curve.update()


def _played() -> float:
    """Seconds of a frame."""
    scene = bpy.context.scene
    scene.frame_end = FRAMES

    def frames() -> None:
        for frame in range(1, 1 + PLAYED):
            scene.frame_set(frame)

    return again(frames, 3) / PLAYED
