"""Taking objects out of a rigid-body world.

Out of the world's collections alone, bodies keep what they had there. Only Blender's operator takes it away, and it
works on what is active and selected, so it has a scene of its own to do it in. (For constraints there is none that
takes many at once: an empty keeps its constraint, which without its two bodies and out of any world does nothing.)

The order matters. In Blender's simulation, constraints and bodies point at each other, and neither looks whether the
other is still there when it is freed: Blender crashes, later and elsewhere. Constraints that have lost their objects
are taken out cleanly when the simulation is built anew; after that, bodies are free to go.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import bpy

from ..workshop import Objects, at_work, workshop
from .world import rebuild_simulation


def strip_physics(scene: bpy.types.Scene, bodies: Objects, empties: Objects) -> None:
    """Take objects out of a scene's world, bodies with the rigid body that they had in it."""
    world = scene.rigidbody_world
    for empty in empties:
        if empty.rigid_body_constraint is not None:
            empty.rigid_body_constraint.object1 = empty.rigid_body_constraint.object2 = None
    clean = rebuild_simulation(scene)
    _unlink(empties, world.constraints)
    _unlink(bodies, world.collection)
    if not clean:
        return
    bodies = [obj for obj in bodies if obj.rigid_body is not None]
    if bodies:
        with _at_work(bodies):
            bpy.ops.rigidbody.objects_remove()


def _unlink(objects: Objects, collection: bpy.types.Collection | None) -> None:
    for obj in objects:
        if collection is not None and obj.name in collection.objects:
            collection.objects.unlink(obj)


@contextmanager
def _at_work(objects: Objects) -> Iterator[None]:
    """Objects selected in a scene of their own, the first active (and visible, as operators want it)."""
    first = objects[0]
    hidden, first.hide_viewport = first.hide_viewport, False
    try:
        with workshop(objects) as scene, at_work(scene, objects):
            yield
    finally:
        first.hide_viewport = hidden
