"""Bodies that bones move (kinematic) or that physics moves, and the height at which a mechanism is simulated."""

from __future__ import annotations

from collections.abc import Iterable

import bpy

from ...data.access import settings
from ...data.queries import parts
from ..world.anchor import stands
from .inertia import flywheels


def moving_bodies(rig: bpy.types.Object) -> list[bpy.types.RigidBodyObject]:
    """Return the rigid bodies of a mechanism that either bones or physics moves, with their inertia proxies."""
    bodies = [obj.rigid_body for obj in parts(rig, "BODY") if obj.rigid_body is not None and not stands(obj)]
    return bodies + [wheel.rigid_body for wheel in flywheels(rig) if wheel.rigid_body is not None]


def follow_bones(bodies: Iterable[bpy.types.RigidBodyObject], follow: bool) -> None:
    """Make bodies follow their bones, or physics."""
    for body in bodies:
        if body.kinematic != follow:
            body.kinematic = follow


def lift(rig: bpy.types.Object, height: float) -> None:
    """Raise a mechanism by ``height`` above its position, by its delta location; 0 restores it."""
    record = settings(rig)
    if record.lift != height:
        rig.delta_location[2] += height - record.lift
        record.lift = height
