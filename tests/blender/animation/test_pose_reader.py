"""Poses that are read many at a time are what they are one at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

LAMP = Path(__file__).resolve().parents[3] / "sample_models/desk_lamp/desk_lamp.skel"
FRAMES = list(range(1, 25))


def lamp() -> Any:
    """A lamp whose shoulder, without its stops, a driver turns four times round, and whose arm reaches by IK for what
    moves."""
    import bpy

    from addon import formats
    from addon.blender.data.queries import rig_in
    from addon.blender.reconcile.build import BuildOptions, build

    model = formats.load(LAMP)
    (shoulder,) = (joint for joint in model.joints if joint.name == "shoulder")
    shoulder.dofs[0].lower = shoulder.dofs[0].upper = None
    rig = rig_in(build(model, bpy.context, BuildOptions(physics=False)))
    bones = rig.pose.bones
    bones["shoulder"].driver_add("rotation_euler", 2).driver.expression = "frame"
    goal = bpy.data.objects.new("goal", None)
    bpy.context.scene.collection.objects.link(goal)
    goal.driver_add("location", 0).driver.expression = "0.3*sin(frame)"
    reach = next(bone for bone in bones if bone.name.startswith("neck")).constraints.new("IK")
    reach.target, reach.chain_count = goal, 2
    bpy.context.view_layer.update()
    return rig


def test_many_poses_are_read_as_one_after_the_other(blank: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import bpy

    from addon.blender.animation.pose_reader import PoseReader, sample_channels
    from addon.blender.data.channels import servo_channels

    rig = lamp()
    channels = [channel for own in servo_channels(rig).values() for channel in own]
    together = sample_channels(rig, bpy.context.scene, channels, FRAMES)
    reader = PoseReader(rig, channels)
    single = []
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
        single.append(reader.read())
    assert np.abs(together - single).max() < 1e-12
    assert np.ptp(together, axis=0).max() > 4.0 * np.pi, "it counts whole turns"
    monkeypatch.setattr("addon.blender.animation.pose_reader._MAX_MATRICES", 7 * len(rig.pose.bones))
    assert np.abs(sample_channels(rig, bpy.context.scene, channels, FRAMES) - together).max() < 1e-12, "in parts"
