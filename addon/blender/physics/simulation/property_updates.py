"""What follows an edit of a record under physics: of a joint, a body, the model's world, or the drive."""

from __future__ import annotations

import bpy

from ....core.report import Report
from ...animation.loops import live_solver
from ...data.access import armature_settings, settings
from ...data.body_mass import put_masses
from ...data.queries import parts, rig_of
from ...rig.bone_limits import limit_bone_of
from ..bodies.collision_filter import keep_apart
from ..bodies.ground import follow_switch
from ..constraints.constraints import put_constraint
from ..recording.body_keys import follow_body_keys
from ..world.membership import home_of, is_simulated, scene_for, simulated_in
from ..world.rigidbody_world import has_made_world, reset_cache, tell_of_gravity, world_gravity
from . import cached_frames as progress
from .frame_handlers import switch
from .setup import build_physics, is_whole, put_friction


def drive_changed(armature: bpy.types.Armature) -> None:
    """The user threw the switch: build physics if need be and hand the bodies over."""
    rig = armature_settings(armature).rig
    if rig is None:
        return
    follow_body_keys(rig)
    scene, drive = scene_for(rig), armature_settings(armature).drive
    if scene is None:
        return
    if drive != "KEYS" and not (is_simulated(rig, scene) and is_whole(scene, rig)):
        build_physics(scene, rig)
    if is_simulated(rig, scene):
        switch(scene, rig, drive)


def joint_changed(empty: bpy.types.Object) -> None:
    """A joint's record was edited: derive its bone's limits and its constraint anew."""
    limit_bone_of(empty)
    rig = rig_of(empty)
    if rig is None:
        return
    live_solver.forget(rig)
    if empty.rigid_body_constraint is not None:
        put_constraint(empty, settings(rig))
        return
    scene = home_of(rig)
    if scene is not None and not is_whole(scene, rig):  # it floated, and has a spring now
        build_physics(scene, rig)


def world_changed(armature: bpy.types.Armature) -> None:
    """The model's gravity, friction or softness was edited."""
    rig = armature_settings(armature).rig
    scene = None if rig is None else home_of(rig)
    if rig is None or scene is None:
        return
    for empty in parts(rig, "JOINT"):
        if empty.rigid_body_constraint is not None:
            put_constraint(empty, armature_settings(armature))
    if has_made_world(rig, scene):
        scene.gravity = world_gravity(rig)
    tell_of_gravity(scene, rig)
    put_friction(rig)
    keep_apart(rig, scene.rigidbody_world, Report())
    reset_cache(scene)


def ground_changed(armature: bpy.types.Armature) -> None:
    """The user put the ground under a model, or took it away."""
    rig = armature_settings(armature).rig
    scene = None if rig is None else home_of(rig)
    if rig is not None and scene is not None:
        follow_switch(scene, rig)
        progress.end(scene)
        for each in simulated_in(scene):
            switch(scene, each, settings(each).drive)


def body_changed(obj: bpy.types.Object) -> None:
    """A body's mass was edited in its record."""
    if obj.rigid_body is not None:
        put_masses(obj)
