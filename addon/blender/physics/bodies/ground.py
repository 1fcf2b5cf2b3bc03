"""The ground of a scene: one for all of its models that stand on it. One of them owns it, and leaves it to another."""

from __future__ import annotations

from collections.abc import Collection

import bpy

from ...data.access import record_of, settings
from ...data.queries import child_collection
from ...scene.boxes import box
from ..simulation.removal import strip_physics
from ..world.membership import simulated_in

_GROUND = "Knuckle Ground"


def grounds_in(world: bpy.types.RigidBodyWorld) -> list[bpy.types.Object]:
    """The grounds in a world."""
    return [obj for obj in world.collection.objects if record_of(obj).is_ground]


def ensure_ground(scene: bpy.types.Scene, rig: bpy.types.Object, world: bpy.types.RigidBodyWorld) -> None:
    """A large passive box whose top is at height 0, one for all models of the scene."""
    if grounds_in(world):
        return
    wide, deep = 2e5, 10.0  # Blender's box stands about the object's origin, wherever the mesh is
    corners, faces = box(wide, wide, deep)
    mesh = bpy.data.meshes.new(_GROUND)
    mesh.from_pydata(corners.tolist(), [], faces)
    ground = bpy.data.objects.new(_GROUND, mesh)
    ground.location = (0.0, 0.0, -deep / 2)
    record_of(ground).role = "SHAPE"
    record_of(ground).is_ground = True
    record_of(ground).model = rig
    ground.display_type = "WIRE"
    ground.hide_render = True
    ground.hide_select = True
    child_collection(rig, "Collision").objects.link(ground)
    ground.hide_viewport = True
    world.collection.objects.link(ground)
    body = ground.rigid_body
    body.type = "PASSIVE"
    body.collision_shape = "BOX"
    body.friction = 1.0  # Blender multiplies the two coefficients of a contact
    body.restitution = 0.0
    body.use_margin, body.collision_margin = True, 0.0


def heir_of_ground(scene: bpy.types.Scene, but: Collection[bpy.types.Object]) -> bpy.types.Object | None:
    """Another model than some that stands on the scene's ground."""
    return next((rig for rig in simulated_in(scene) if rig not in but and settings(rig).has_ground), None)


def hand_down(scene: bpy.types.Scene, ground: bpy.types.Object, heir: bpy.types.Object) -> None:
    """Have a ground belong to another model."""
    for folder in ground.users_collection:
        if folder != scene.rigidbody_world.collection:
            folder.objects.unlink(ground)
    child_collection(heir, "Collision").objects.link(ground)
    record_of(ground).model = heir


def follow_switch(scene: bpy.types.Scene, rig: bpy.types.Object) -> None:
    """Put the ground under a model that is simulated in a scene, or take it away where nobody stands on it."""
    world = scene.rigidbody_world
    if settings(rig).has_ground:
        ensure_ground(scene, rig, world)
    elif heir_of_ground(scene, ()) is None:
        remove(scene, grounds_in(world))


def remove(scene: bpy.types.Scene, grounds: list[bpy.types.Object]) -> None:
    """Remove grounds from a scene."""
    if grounds:
        strip_physics(scene, grounds, [])
        bpy.data.batch_remove([*grounds, *(ground.data for ground in grounds)])
