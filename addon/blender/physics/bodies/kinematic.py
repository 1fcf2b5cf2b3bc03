"""Kinematic bodies, which bones move, and dynamic ones; the height at which a mechanism is simulated."""

from __future__ import annotations

from collections.abc import Iterable

import bpy

from ...data.access import settings
from ...data.queries import inertia_proxies, parts
from ..world.anchor import is_static


def moving_bodies(rig: bpy.types.Object) -> list[bpy.types.RigidBodyObject]:
    """Return the rigid bodies of a mechanism that either bones or physics moves, with their inertia proxies."""
    bodies = [obj.rigid_body for obj in parts(rig, "BODY") if obj.rigid_body is not None and not is_static(obj)]
    return bodies + [wheel.rigid_body for wheel in inertia_proxies(rig) if wheel.rigid_body is not None]


def set_kinematic(bodies: Iterable[bpy.types.RigidBodyObject], follow: bool) -> None:
    """Make bodies follow their bones, or physics."""
    for body in bodies:
        if body.kinematic != follow:
            body.kinematic = follow


def raise_model(rig: bpy.types.Object, height: float) -> None:
    """Raise a mechanism by ``height`` above its position, by its delta location; 0 restores it."""
    record = settings(rig)
    if record.ground_offset != height:
        rig.delta_location[2] += height - record.ground_offset
        record.ground_offset = height
