"""Table of the handlers of simulation, closed loops, stops and Live Input, and listeners to edits of records."""

from __future__ import annotations

import atexit
from collections.abc import Collection, Sequence
from typing import Any, cast

import bpy
from bpy.app.handlers import persistent

from ....core.report import Report
from ...animation import rotation_stops
from ...animation.loops import live_solver
from ...data import datablocks
from ...data.access import armature_of, armature_settings, record_of, settings
from ...data.caching import joint_record
from ...data.change_counter import models_between_changes
from ...data.channels import servo_names_by_joint, store_chosen_servo
from ...data.conversion import add_to_report, dof_records, is_angle, set_dof_fields
from ...data.facts import DOF_PROPERTIES, WORLD_PROPERTIES, copy_fields
from ...data.properties.joint import KnuckleDof
from ...data.queries import (
    copy_of,
    is_simulation_scene,
    parts,
    rig_of,
    simulated_copies,
    simulates_here,
    simulation_scene_of,
)
from ...data.rigid_bodies import apply_masses
from ...events.handlers import Handlers, connect, disconnect, register_states, unregister_states
from ...events.runtime_state import Lifetime
from ...events.signals import Signal, writing_records
from ...rig.bone_limits import update_joint_bone_limits
from ..bodies.collision import apply_collision_filter
from ..constraints.constraints import gets_other_type, write_constraint
from ..workarounds import undo_guard
from ..workarounds.constraint_removal import holds_constraints
from ..world.anchor import restore_rest_poses, welded_to_world
from ..world.membership import is_simulated, scene_to_simulate_in, simulated_rigs, simulating_scene, switch_world_on
from ..world.rigidbody_world import owns_world, report_gravity, reset_cache, world_gravity
from . import cached_frames, live_input
from .frame_handlers import (
    clear_controllers,
    control_before_frame,
    finish_frame,
    reset_after_load,
    reset_after_undo,
    switch_drive,
    update_world_rest,
)
from .recording import update_body_key_constraints
from .session import session_of
from .setup import (
    apply_friction,
    build_physics,
    clear_physics,
    is_physics_complete,
    remove_from_world,
    restore_typed_frictions,
    typed_frictions,
    update_ground,
)
from .simulation_scene import remove_simulation, restore_before_save, show_after_save, show_simulation

#: Fields in the unit of the joint value: copied between rotations, or between translations, only.
_FIELDS_WITH_UNIT = {"lower", "upper", "rest"}


def set_on_marked_dofs(dof: KnuckleDof, field: str, value: float) -> None:
    """Set a field of all ticked degrees of freedom of a mechanism.

    Args:
        dof: A ticked degree of freedom of the mechanism.
        field: Name of the property. Values with a unit (stops, rest value) go from rotations to rotations and from
            translations to translations only; all others go to both.
        value: Value to set (rad or length units where the field has a unit).
    """
    empty = cast(bpy.types.Object, dof.id_data)
    set_dof_fields(
        (obj, each, {field: value})
        for obj in parts(record_of(empty).model, "JOINT")
        for each in dof_records(obj)
        if each.is_marked and (field not in _FIELDS_WITH_UNIT or is_angle(each) == is_angle(dof))
    )


def apply_drive(armature: bpy.types.Armature) -> None:
    """Update after a change of the drive: build physics if needed and switch the bodies."""
    rig = armature_settings(armature).rig
    if rig is None or rig.library is not None:  # a script may write to linked data, of which Blender keeps nothing
        return
    update_body_key_constraints(rig)
    scene, drive = scene_to_simulate_in(rig), armature_settings(armature).drive
    if scene is None:
        return
    if drive != "KEYS" and not (is_simulated(rig, scene) and is_physics_complete(scene, rig)):
        build_physics(scene, rig)
    if is_simulated(rig, scene):
        switch_drive(scene, rig, drive)


def apply_joint_edit(empty: bpy.types.Object) -> None:
    """Update a bone's limits and its constraint after an edit of a joint's record."""
    update_joint_bone_limits(empty)
    rig = rig_of(empty)
    if rig is None:
        return
    live_solver.invalidate_loops(rig)
    copy = _simulated_copy(rig)
    made = copy_of(empty, copy, "JOINT")
    if made is not None:
        with writing_records():
            for dof, other in zip(dof_records(empty), dof_records(made), strict=False):
                copy_fields(DOF_PROPERTIES, dof, other)
        apply_joint_edit(made)
    if empty.rigid_body_constraint is not None:
        _rewrite_constraints(rig, [empty])
        return
    scene = simulating_scene(rig)
    if scene is not None and not is_physics_complete(scene, rig):  # a floating joint that has a spring now
        build_physics(scene, rig)


def _rewrite_constraints(rig: bpy.types.Object, empties: Sequence[bpy.types.Object]) -> None:
    """Set constraints again from the records.

    Note:
        Where springs are set on a constraint whose type was changed during a simulation, Blender calls functions of the
        new type for Bullet's constraint, which still has the old one: its memory is corrupted, and it crashes later
        (8 of 8 runs, 4.2 to 5.2). So a simulated copy keeps its type until it is made again, and the simulation of the
        scene itself releases its constraints first.
    """
    other = [empty for empty in empties if gets_other_type(empty, settings(rig))]
    scene = simulating_scene(rig)
    if other and settings(rig).original_uid:
        empties = [empty for empty in empties if empty not in other]
    elif other and scene is not None and simulates_here(scene) and holds_constraints(scene):
        remove_from_world(scene, [], [])
    for empty in empties:
        write_constraint(empty, settings(rig))


def apply_world_edit(armature: bpy.types.Armature) -> None:
    """Update after an edit of the mechanism's gravity, friction or softness."""
    rig = armature_settings(armature).rig
    scene = None if rig is None else simulating_scene(rig)
    if rig is None or scene is None:
        return
    copy = _simulated_copy(rig)
    if copy is not None:
        with writing_records():
            copy_fields(WORLD_PROPERTIES, settings(rig), settings(copy))
            for name in ("self_collide", "time_step"):  # no properties of the mechanism in its file
                setattr(settings(copy), name, getattr(settings(rig), name))
        apply_world_edit(armature_of(copy))
    _rewrite_constraints(rig, [empty for empty in parts(rig, "JOINT") if empty.rigid_body_constraint is not None])
    apply_friction(rig)
    if not simulates_here(scene):
        return
    if owns_world(rig, scene):
        scene.gravity = world_gravity(rig)
    report_gravity(scene, rig)
    apply_collision_filter(scene, rig, Report())
    reset_cache(scene)


def apply_ground_edit(armature: bpy.types.Armature) -> None:
    """Create or remove the ground after an edit of its setting."""
    rig = armature_settings(armature).rig
    scene = None if rig is None else simulating_scene(rig)
    if rig is not None and scene is not None and simulates_here(scene):
        update_ground(scene, rig)
        cached_frames.invalidate_run(scene)
        for each in simulated_rigs(scene):
            switch_drive(scene, each, settings(each).drive)


def apply_world_choice(scene: bpy.types.Scene) -> None:
    """Rebuild the physics of a scene's mechanisms after it chose another scene to simulate in."""
    rigs = list(simulated_rigs(scene))
    drives, frictions = [settings(rig).drive for rig in rigs], [typed_frictions(rig) for rig in rigs]
    simulation = simulation_scene_of(scene)
    if simulation is not None:
        remove_simulation(simulation)
    restore_rest_poses(scene)
    for rig in rigs:
        clear_physics(scene, rig)
    for rig, drive, typed in zip(rigs, drives, frictions, strict=True):
        add_to_report(rig, build_physics(scene, rig))
        restore_typed_frictions(typed)
        settings(rig).drive = drive


def apply_body_edit(obj: bpy.types.Object, _values: Collection[str] = ()) -> None:
    """Update after an edit of a body's record: its mass, and whether it is immobile, from the next simulation on."""
    rig = record_of(obj).model
    if obj.rigid_body is not None:
        apply_masses(obj)
        scene = None if rig is None else simulating_scene(rig)
        is_passive = obj.rigid_body.type == "PASSIVE"
        is_edited = record_of(obj).immobile != is_passive
        if rig is not None and is_edited and is_passive:  # as bodies are that are welded to the world
            is_edited = obj not in welded_to_world(map(joint_record, parts(rig, "JOINT")))
        if rig is not None and is_edited and scene is not None:
            build_physics(scene, rig)
    copy = None if rig is None else _simulated_copy(rig)
    made = copy_of(obj, copy, "BODY")
    if made is not None:
        record_of(made).mass = record_of(obj).mass
        apply_masses(made)


def _simulated_copy(rig: bpy.types.Object) -> bpy.types.Object | None:
    """Return the copy of a mechanism in a simulation scene, which gets edits during a run; None without one."""
    scene = simulating_scene(rig)
    simulation = None if scene is None else simulation_scene_of(scene)
    return None if simulation is None else simulated_copies(simulation).get(rig)


@persistent
def _before_frame(scene: bpy.types.Scene, _depsgraph: Any = None) -> None:
    """Run what every frame needs before it, with the mechanisms looked up once."""
    live_input.advance_live_sessions(scene)  # control at the frame reads these values
    models = session_of(scene).models = models_between_changes(scene)
    control_before_frame(scene, models)
    live_solver.before_frame(scene, models)  # input joints may be held: so are dependent ones


@persistent
def _after_frame(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """Run what every frame needs after it."""
    live_input.record_live_sessions(scene)
    session = session_of(scene)
    models = session.models or models_between_changes(scene)
    session.models = None
    live_solver.after_frame(scene, depsgraph, models)
    rotation_stops.after_evaluation(depsgraph, models)  # dependent joints are posed by then
    finish_frame(scene)
    show_simulation(scene, depsgraph)


@persistent
def _before_update(scene: bpy.types.Scene, _depsgraph: Any = None) -> None:
    """Run what saves a second evaluation of an update."""
    live_solver.before_update(models_between_changes(scene))


@persistent
def _after_update(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """Run what every update needs after it."""
    if depsgraph.id_type_updated("OBJECT"):
        models = models_between_changes(depsgraph.scene)
        live_solver.after_update(depsgraph, models)
        rotation_stops.after_evaluation(depsgraph, models)
    update_world_rest(scene)


_HANDLERS: Handlers = (
    ("frame_change_pre", _before_frame),
    ("frame_change_post", _after_frame),
    ("depsgraph_update_pre", _before_update),
    ("depsgraph_update_post", _after_update),
    ("save_pre", live_input.unpose_before_save),
    ("undo_pre", live_input.end_live_sessions),
    ("redo_pre", live_input.end_live_sessions),
    ("load_pre", live_input.end_live_sessions),
    ("save_pre", rotation_stops.before_save),
    ("save_pre", restore_before_save),
    ("save_post", show_after_save),
    ("load_post", rotation_stops.after_load),
    ("load_post", reset_after_load),
    ("load_post", live_solver.after_load),
    ("load_factory_startup_post", reset_after_load),
    ("undo_pre", undo_guard.before_history_step),
    ("redo_pre", undo_guard.before_history_step),
    ("undo_post", undo_guard.after_history_step),
    ("redo_post", undo_guard.after_history_step),
    ("undo_post", datablocks.rebuild_object_lists),  # before other handlers read the lists
    ("redo_post", datablocks.rebuild_object_lists),
    ("undo_post", reset_after_undo),
    ("redo_post", reset_after_undo),
    (Signal.JOINT, apply_joint_edit),
    (Signal.DRIVE, apply_drive),
    (Signal.WORLD, apply_world_edit),
    (Signal.GROUND, apply_ground_edit),
    (Signal.BODY, apply_body_edit),
    (Signal.WORLD_CHOICE, apply_world_choice),
    (Signal.MARKED_VALUE, set_on_marked_dofs),
    (Signal.SERVO_CHOSEN, store_chosen_servo),
    (Signal.SERVO_NAMES, servo_names_by_joint),
)


def register() -> None:
    """Add the handlers; do nothing the second time.

    Note:
        As a Python module, Blender 4.2 crashes at exit if one of them is still registered.
    """
    atexit.unregister(_disconnect_all)
    atexit.register(_disconnect_all)
    register_states()  # also for scripts that use only functions of ours
    connect(_HANDLERS)


def unregister() -> None:
    """Remove the handlers, release held bones, and enable idle worlds, as users without Knuckle expect them."""
    rotation_stops.reset_limits()
    for scene in getattr(bpy.data, "scenes", ()):  # bpy.data is restricted while extensions are enabled or disabled
        if simulates_here(scene):
            switch_world_on(scene, anyway=True)
    if hasattr(bpy.data, "scenes"):
        restore_before_save()
        for scene in [each for each in bpy.data.scenes if is_simulation_scene(each)]:
            remove_simulation(scene)
    _disconnect_all()


def _disconnect_all() -> None:
    atexit.unregister(_disconnect_all)  # else Python keeps these modules after an update of the add-on
    disconnect(_HANDLERS)
    live_input.end_live_sessions()
    cached_frames.clear_status_text()
    undo_guard.after_history_step()
    clear_controllers()
    unregister_states(Lifetime.FILE)
