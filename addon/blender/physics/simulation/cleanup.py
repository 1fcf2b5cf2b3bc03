"""What models that the user deleted by hand left in a scene's physics."""

from __future__ import annotations

from collections.abc import Collection

import bpy

from ...data.access import armature_settings, record_of
from ...data.datablocks import linked_objects
from ..bodies.ground import hand_down, heir_of_ground
from ..world.anchor import is_anchor
from ..world.membership import simulated_in
from ..world.rigidbody_world import clear_world, refit_world
from .removal import is_orphan, strip_physics


def leftovers(scene: bpy.types.Scene) -> list[bpy.types.Object]:
    """Return what models that the user deleted left in the scene's physics: the ground, motors, the world's settings.

    Their armatures, which are no longer in the scene."""
    if scene.rigidbody_world is None:
        return []
    rigs = (armature_settings(data).rig for data in bpy.data.armatures)
    return [rig for rig in rigs if rig is not None and not rig.users_scene and rig.data is not None]


def remove_leftovers(scene: bpy.types.Scene) -> int:
    """Remove them; returns how many objects went. Bodies that the user kept lose their physics and stay."""
    world = scene.rigidbody_world
    lost = leftovers(scene)
    mine = [obj for obj in scene.objects if record_of(obj).model in lost] if lost else []
    held = {obj for c in (world.collection, world.constraints) if c is not None for obj in c.objects} if lost else set()
    heir = heir_of_ground(scene, lost)
    for ground in [obj for obj in mine if record_of(obj).is_ground and heir is not None]:
        mine.remove(ground)
        hand_down(scene, ground, heir)
    bodies = [obj for obj in mine if obj in held and obj.rigid_body is not None]
    empties = [obj for obj in mine if obj in held and obj.rigid_body_constraint is not None]
    if bodies or empties:
        strip_physics(scene, bodies, empties)
    linked = linked_objects()
    gone = [obj for obj in mine if _is_helper(obj, linked)]
    shapes = {obj.data for obj in gone if obj.data is not None}
    bpy.data.batch_remove(gone)
    bpy.data.batch_remove([mesh for mesh in shapes if not mesh.users])  # bodies that look alike share theirs
    for rig in lost:
        clear_world(scene, rig, next(simulated_in(scene), None))
    refit_world(scene, list(simulated_in(scene)))
    return len(gone)


def _is_helper(obj: bpy.types.Object, linked: Collection[bpy.types.Object]) -> bool:
    """Return whether an object of a model is nothing without it: hidden, or not to be selected, and so not deleted with
    it."""
    record = record_of(obj)
    return record.is_ground or is_anchor(obj) or record.role == "NONE" or is_orphan(obj, linked)
