"""Helpers for tests of baked simulations: a mechanism that tumbles on the ground, its placement and its state."""

from __future__ import annotations

from typing import Any

from tests.support.mechanisms import (
    body,
    clockwork,
    clockwork_motor,
    curves_of,
    joint,
    model,
    objects_of,
)

G = 9.81
#: A trunk that drops on two swinging legs and carries a slide and a loose head: it tumbles about on the ground.
CRAWLER = model(
    body(1, (0, 0, 2.2), (2, 1, 0.5), mass=4),
    body(2, (-1.2, 0, 1.7), (0.3, 0.3, 1.6)),
    body(3, (1.2, 0, 1.7), (0.3, 0.3, 1.6)),
    body(4, (0, 0.9, 2.2), (0.5, 0.5, 0.2)),
    body(5, (0, -0.9, 2.2), shape=3, size=0.5, mass=0.5),
    joint(21, 1, 2, (-1.2, 0, 2.2), (0, 90, 0), force=80, stops=(-80, 80)),
    joint(22, 1, 3, (1.2, 0, 2.2), (90, 90, 0), force=80),
    joint(23, 1, 4, (0, 0.6, 2.2), force=40, tag="PrismaticJoint"),
    joint(24, 1, 5, (0, -0.6, 2.2), tag="SphericalJoint"),
    gravity=G,
    behaviours=clockwork(
        clockwork_motor(21, amplitude=50),
        clockwork_motor(22, amplitude=35, phase=120),
        clockwork_motor(23, amplitude=0.2, phase=30),
    ),
    speed=100,
)  # fmt: skip


def by_hand(rig: Any) -> None:
    """Have the substeps count as the user's own, so that a bake simulates with those that are played."""
    rig.data.knuckle.world_backup.fitted_substeps = 0


def stand(rig: Any, how: str) -> None:
    if how == "elsewhere":
        rig.location, rig.rotation_euler = (3, -2, 0), (0, 0, 1.1)
    elif how == "in the ground":
        rig.location.z = -1.5


def state(rig: Any) -> dict[str, Any]:
    import bpy

    scene = bpy.context.scene
    world = scene.rigidbody_world
    return {
        "frame": (scene.frame_current, scene.frame_subframe),
        "range": (scene.frame_start, scene.frame_end),
        "rate": (scene.render.fps, scene.render.fps_base),
        "cache": (world.point_cache.frame_start, world.point_cache.frame_end),
        "time": world.time_scale,
        "drive": rig.data.knuckle.drive,
        "action": rig.animation_data.action.name,
        "actions": sorted(action.name for action in bpy.data.actions),
        "objects": sorted(obj.name for obj in bpy.data.objects),
        "muted": [curve.mute for curve in curves_of(rig)],
        "kinematic": {obj.rigid_body.kinematic for obj in objects_of(rig, "BODY").values()},
    }
