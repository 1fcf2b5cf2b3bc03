"""What follows an edit of a record under physics: of a joint, a body, the model's world, or the drive."""

from __future__ import annotations

import atexit
from typing import Any

import bpy
from bpy.app.handlers import persistent

from ....core.report import Report
from ...animation import rotation_stops
from ...animation.loops import live_solver
from ...data import datablocks
from ...data.access import armature_settings, settings
from ...data.batch_edits import spread
from ...data.change_counter import SceneModels, models_at_frames
from ...data.channels import keep_chosen_servo, servo_names
from ...data.queries import parts, rig_of
from ...data.rigid_bodies import put_masses
from ...events import signals as listeners
from ...events.signals import Handlers, Listeners, hang, take_down
from ...rig.bone_limits import limit_bone_of
from ..bodies.collision import keep_apart
from ..constraints.constraints import put_constraint
from ..world import undo_guard as undoing
from ..world.membership import home_of, is_simulated, scene_for, simulated_in, wake_world
from ..world.rigidbody_world import has_made_world, reset_cache, tell_of_gravity, world_gravity
from . import cached_frames as progress
from . import live_input
from .frame_handlers import after_frame, after_load, after_undo, after_update, before_frame, forget, switch
from .recording import follow_body_keys
from .removal import follow_switch
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


#: The models of scenes whose frame is being evaluated, by the scene's ``session_uid``.
_looked_up: dict[int, SceneModels] = {}


@persistent
def _before_frame(scene: bpy.types.Scene, _depsgraph: Any = None) -> None:
    """Do what every frame needs before it, on models that are looked up once."""
    live_input.before_frame(scene)  # what is controlled at the frame reads these values
    models = _looked_up[scene.session_uid] = models_at_frames(scene)
    before_frame(scene, models)
    live_solver.before_frame(scene, models)  # what drives a loop may be held still: so is what follows


@persistent
def _after_frame(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """Do what every frame needs after it."""
    live_input.after_frame(scene)
    models = _looked_up.pop(scene.session_uid, None) or models_at_frames(scene)
    live_solver.after_frame(scene, depsgraph, models)
    rotation_stops.after_evaluation(depsgraph, models)  # what follows loops is posed by then
    after_frame(scene)


@persistent
def _before_update(scene: bpy.types.Scene, _depsgraph: Any = None) -> None:
    """Do what spares a change a second evaluation."""
    live_solver.before_update(models_at_frames(scene))


@persistent
def _after_update(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """Do what every change needs after it."""
    if depsgraph.id_type_updated("OBJECT"):
        models = models_at_frames(depsgraph.scene)
        live_solver.after_update(depsgraph, models)
        rotation_stops.after_evaluation(depsgraph, models)
    after_update(scene)


_HANDLERS: Handlers = (
    ("frame_change_pre", _before_frame),
    ("frame_change_post", _after_frame),
    ("depsgraph_update_pre", _before_update),
    ("depsgraph_update_post", _after_update),
    ("save_pre", live_input.before_save),
    ("undo_pre", live_input.end_all),
    ("redo_pre", live_input.end_all),
    ("load_pre", live_input.end_all),
    ("save_pre", rotation_stops.before_save),
    ("load_post", rotation_stops.after_load),
    ("load_post", after_load),
    ("load_post", live_solver.after_load),
    ("load_factory_startup_post", after_load),
    ("load_post", undoing.after_load),
    ("undo_pre", undoing.before_step),
    ("redo_pre", undoing.before_step),
    ("undo_post", undoing.after_step),
    ("redo_post", undoing.after_step),
    ("undo_post", datablocks.refresh),  # before anybody looks
    ("redo_post", datablocks.refresh),
    ("undo_post", rotation_stops.forget),
    ("redo_post", rotation_stops.forget),
    ("undo_post", after_undo),
    ("redo_post", after_undo),
)
_LISTENERS: Listeners = (
    (listeners.on_joint_change, joint_changed),
    (listeners.on_drive_change, drive_changed),
    (listeners.on_world_change, world_changed),
    (listeners.on_ground_change, ground_changed),
    (listeners.on_body_change, body_changed),
    (listeners.on_ticked_value, spread),
    (listeners.on_servo_chosen, keep_chosen_servo),
    (listeners.servo_name_sources, servo_names),
)


def register() -> None:
    """Hang the handlers in; does nothing the second time.

    As a Python module, Blender 4.2 crashes at exit when one of them is still there.
    """
    atexit.unregister(_take_down)
    atexit.register(_take_down)
    hang(_HANDLERS, _LISTENERS)


def unregister() -> None:
    """Take them out again. No bone stays held, and worlds that rest are left as users have them without Knuckle."""
    rotation_stops.let_go()
    for scene in getattr(bpy.data, "scenes", ()):  # Blender hides all data while extensions are switched
        wake_world(scene, anyway=True)
    _take_down()


def _take_down() -> None:
    atexit.unregister(_take_down)  # else Python keeps all of this, also after a newer version took its place
    take_down(_HANDLERS, _LISTENERS)
    live_input.end_all()
    progress.hush()
    undoing.after_step()
    undoing.after_load()
    forget()
    rotation_stops.forget()
