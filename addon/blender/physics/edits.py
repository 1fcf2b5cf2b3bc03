"""What follows an edit of a record under physics: of a joint, a body, the model's world, or the drive."""

from __future__ import annotations

import bpy

from ...model.report import Report
from ..access import armature_settings, settings
from ..animation import live_loops
from ..bone_limits import limit_bone_of
from ..model_parts import parts, rig_of
from .apart import keep_apart
from .body_keys import follow_body_keys
from .constraints import put_constraint
from .flywheel import put_masses
from .handlers import handed_over
from .servo import ServoRun
from .simulation import build_physics, is_simulated, is_whole, put_friction
from .world import reset_cache, world_gravity


def drive_changed(armature: bpy.types.Armature) -> None:
    """The user threw the switch: build physics if need be and hand the bodies over."""
    rig = armature_settings(armature).rig
    if rig is None:
        return
    follow_body_keys(rig)
    for scene in rig.users_scene:
        if armature_settings(armature).drive != "KEYS" and not (is_simulated(rig) and is_whole(scene, rig)):
            build_physics(scene, rig)
        if scene.rigidbody_world is None:
            continue
        ServoRun(scene, rig).set_drive(armature_settings(armature).drive)
        reset_cache(scene)
        handed_over(scene)


def joint_changed(empty: bpy.types.Object) -> None:
    """A joint's record was edited: derive its bone's limits and its constraint anew."""
    limit_bone_of(empty)
    rig = rig_of(empty)
    if rig is None:
        return
    live_loops.forget(rig)
    if empty.rigid_body_constraint is not None:
        put_constraint(empty, settings(rig))
    elif is_simulated(rig):
        for scene in rig.users_scene:
            if scene.rigidbody_world is not None and not is_whole(scene, rig):  # it floated, and has a spring now
                build_physics(scene, rig)


def world_changed(armature: bpy.types.Armature) -> None:
    """The model's gravity, friction or softness was edited."""
    rig = armature_settings(armature).rig
    if rig is None or not is_simulated(rig):
        return
    for empty in parts(rig, "JOINT"):
        if empty.rigid_body_constraint is not None:
            put_constraint(empty, armature_settings(armature))
    for scene in rig.users_scene:
        if armature_settings(armature).before.made_world:
            scene.gravity = world_gravity(rig)
        put_friction(rig)
        if scene.rigidbody_world is not None:
            keep_apart(rig, scene.rigidbody_world, Report())
        reset_cache(scene)


def body_changed(obj: bpy.types.Object) -> None:
    """A body's mass was edited in its record."""
    if obj.rigid_body is not None:
        put_masses(obj)
