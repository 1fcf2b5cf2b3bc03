"""Baking physics a frame at a time, so that a window stays alive meanwhile."""

from __future__ import annotations

import bpy
import numpy as np

from ..physics.bake import Recording, _cache_range, _steps_per_frame, write_keys
from ..physics.plant import gather
from ..physics.simulation import build_physics
from ..physics.world import first_frame, follow_scene, reset_cache, stretched
from .long_work import Steps


def bake_steps(scene: bpy.types.Scene, rig: bpy.types.Object, last: int, name: str) -> Steps:
    """What ``physics.bake.bake`` does, with a pause after every frame; returns its Action and Recording.

    Closed before the end, it leaves the scene as it was."""
    if scene.rigidbody_world is None:
        build_physics(scene, rig)
    follow_scene(scene)
    first = first_frame(scene)
    before = scene.frame_current, scene.frame_subframe
    steps = _steps_per_frame(scene, rig)
    poses = []
    with _cache_range(scene, first, first + (last - first) * steps), stretched(scene, steps):
        try:
            reset_cache(scene)
            for number in range((last - first) * steps + 1):
                scene.frame_set(first + number)
                if number == 0:
                    plant = gather(rig)
                if number % steps == 0:
                    poses.append(plant.poses())
                    yield len(poses), last - first + 1
        finally:
            reset_cache(scene)
            scene.frame_set(before[0], subframe=before[1])
    values = np.array([plant.coordinates(pose) for pose in poses]).reshape(len(poses), len(plant.joints))
    values[:, plant.turns] = np.unwrap(values[:, plant.turns], axis=0)
    recording = Recording(plant, np.arange(first, last + 1, dtype=np.float64), np.array(poses), values)
    action = write_keys(rig, recording, name)
    rig.data.knuckle.drive = "KEYS"
    return action, recording
