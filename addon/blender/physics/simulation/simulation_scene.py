"""Simulation scenes: copies of mechanisms that are stepped beside a scene, and shown in it. See ``docs/developers``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import bpy
from bpy.app.handlers import persistent
from mathutils import Matrix

from ....core.report import Report
from ...data.access import record_of, settings
from ...data.change_counter import edit_number
from ...data.conversion import add_to_report
from ...data.copied_mechanisms import copy_for_simulation, copy_obstacles, remove_simulated_copies
from ...data.queries import parts, simulated_copies, simulation_scene_of
from ...data.rigid_bodies import store_typed_mass
from ..actuators.joint_state import evaluated_depsgraph
from ..actuators.servo_targets import steps_per_frame
from ..workarounds.constraint_removal import empty_simulation, is_emptying_simulation
from ..world.anchor import place_simulated, restore_rest_poses
from ..world.membership import create_simulation_scene, is_moved_by_physics, moved_by_physics, simulated_rigs
from ..world.rigidbody_world import first_frame, match_simulation_world
from . import cached_frames
from .session import session_of
from .setup import add_obstacles, build_physics


def advance_simulation(scene: bpy.types.Scene) -> None:
    """Advance the simulation scene of a scene to its present frame, before that is evaluated.

    It is stepped where frames advance by one, and shows what it has of other frames. Where the drive was switched at a
    later frame, the simulation begins there.
    """
    session, frame, start = session_of(scene), scene.frame_current, first_frame(scene)
    if session.is_internal or is_emptying_simulation(scene):
        return
    last, session.last_frame = session.last_frame, frame
    if not moved_by_physics(simulated_rigs(scene)):
        remove_unused_simulation(scene)
        return
    found = simulation_scene_of(scene)
    if found is not None and frame > start:
        start = found.frame_start
    begins = frame == start + 1 and last in (None, start)
    if frame <= first_frame(scene) or begins:  # at the first frame anything may have been edited
        found = prepare_simulation_scene(scene, start, rewind=not begins)
    if found is None or frame <= start:
        return
    steps = session_of(found).stretch
    goal, share = start + (frame - start) * steps, scene.frame_subframe * steps
    before = start if last is None else last
    came = found.frame_current == start + (before - start) * steps
    if begins or (came and before < frame <= before + _MOST_SKIPPED):
        for step in range(found.frame_current + 1, goal + 1):
            found.frame_set(step)
    elif share:
        found.frame_set(goal + int(share), subframe=share % 1.0)
    elif found.frame_current != goal or found.frame_subframe or last != frame:  # each view layer calls the handlers
        run = cached_frames.cached_run_of(found)
        if run is not None and run.has_frames and session.mark != _fingerprint(scene):
            cached_frames.invalidate_run(found)
        found.frame_set(goal)


#: Frames that playback may drop without an end of the simulation.
_MOST_SKIPPED = 5


def _fingerprint(scene: bpy.types.Scene, with_steps: bool = True) -> bytes:
    return cached_frames.fingerprint(scene, simulated_rigs(scene), with_steps)


def _copy_key(scene: bpy.types.Scene) -> tuple[object, ...]:
    """Return a key that differs after a change of anything that the copies in a simulation scene have."""
    return edit_number(), len(scene.objects), _fingerprint(scene, with_steps=False)


def prepare_simulation_scene(scene: bpy.types.Scene, begin: int | None = None, rewind: bool = False) -> bpy.types.Scene:
    """Return the simulation scene of a scene, with copies of the mechanisms as they are now, at its first frame.

    The settings of its world are those of the scene's. They are copied again after any change.

    Args:
        scene: The scene.
        begin: Frame at which the simulation begins; None: the scene's first.
        rewind: Begin again even where nothing has changed.
    """
    session, found = session_of(scene), simulation_scene_of(scene)
    begin = first_frame(scene) if begin is None else begin
    rigs = [rig for rig in simulated_rigs(scene) if settings(rig).collection is not None]
    restore_rest_poses(scene)
    if found is None or session.prepared != _copy_key(scene):
        if found is not None:
            remove_simulation(found)
        found = create_simulation_scene(scene)
        for rig in rigs:
            for obj in parts(rig, "BODY"):
                store_typed_mass(obj)
            copy = copy_for_simulation(rig, found)
            entries = build_physics(found, copy, is_new=True).entries
            _copy_physics_settings(rig, copy)
            report = Report([replace(each, where=each.where.removeprefix(".")) for each in entries])
            add_to_report(rig, report)
        if found.rigidbody_world is not None:
            add_obstacles(found, copy_obstacles(scene, found))
        evaluated_depsgraph(found).update()
        rewind = True
    moved = [copy for rig, copy in simulated_copies(found).items() if is_moved_by_physics(rig)]
    steps = min((steps_per_frame(found, copy) for copy in moved), default=1)
    session_of(found).stretch = steps
    match_simulation_world(scene, found, rigs, steps, begin)
    if rewind or found.frame_current != begin:
        found.frame_set(begin)
    session.mark, session.prepared = _fingerprint(scene), _copy_key(scene)
    return found


#: Properties of a rigid body that the simulation sets itself, from the records and the drive.
_SIMULATED = {"type", "kinematic", "mass", "collision_collections"}


def _copy_physics_settings(rig: bpy.types.Object, copy: bpy.types.Object) -> None:
    """Copy the settings of rigid bodies and constraints, which the user may have changed in Blender's panels."""
    originals = {obj.session_uid: obj for role in ("BODY", "JOINT", "SHAPE") for obj in parts(rig, role)}
    for role in ("BODY", "JOINT", "SHAPE"):
        for made in parts(copy, role):
            obj = originals.get(record_of(made).original_uid)
            if obj is not None:
                _copy_writable(obj.rigid_body, made.rigid_body, _SIMULATED)
                _copy_writable(obj.rigid_body_constraint, made.rigid_body_constraint, {"object1", "object2"})


def _copy_writable(source: bpy.types.bpy_struct | None, target: bpy.types.bpy_struct | None, but: set[str]) -> None:
    """Copy the values of all properties that can be written and differ, other than some."""
    if source is None or target is None:
        return
    for prop in source.bl_rna.properties:
        name = prop.identifier
        if not prop.is_readonly and name not in but and getattr(source, name) != getattr(target, name):
            setattr(target, name, getattr(source, name))


def remove_simulation(simulation: bpy.types.Scene) -> None:
    """Remove a simulation scene, after its simulation has released all constraints: see ``constraint_removal``."""
    world = simulation.rigidbody_world
    if world is not None and world.collection is not None:
        empty_simulation(simulation)
    remove_simulated_copies(simulation)


def remove_unused_simulation(scene: bpy.types.Scene) -> None:
    """Remove the simulation scene of a scene in which physics moves no mechanism any more."""
    if session_of(scene).is_internal:
        return
    simulation = simulation_scene_of(scene)
    if simulation is not None and not moved_by_physics(simulated_rigs(scene)):
        remove_simulation(simulation)
        cached_frames.set_frame_note(scene, "")
        restore_rest_poses(scene)


def show_simulation(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """Show the bodies of a scene where its simulation scene has them, after the evaluation of a frame.

    Args:
        scene: The scene that shows them.
        depsgraph: Its evaluated depsgraph, which may be that of a render.
    """
    simulation = simulation_scene_of(scene)
    if simulation is None or session_of(scene).is_internal:
        return
    cached_frames.set_frame_note(scene, cached_frames.frame_note(simulation))
    run, is_begun = session_of(simulation).run, scene.frame_current > simulation.frame_start
    for rig, copy in simulated_copies(simulation).items():
        going = session_of(simulation).controller_of(copy)
        drive = settings(rig).drive if going is None else going.drive
        if is_begun and drive != "KEYS" and run is not None and run.has_frames:
            _show_bodies(rig, copy, simulation, depsgraph)
        else:
            restore_rest_poses(scene, rig)


def _show_bodies(
    rig: bpy.types.Object, copy: bpy.types.Object, simulation: bpy.types.Scene, depsgraph: bpy.types.Depsgraph
) -> None:
    simulated = evaluated_depsgraph(simulation)
    copies = {record_of(made).original_uid: made for made in parts(copy, "BODY")}
    for obj in parts(rig, "BODY"):
        made = copies.get(obj.session_uid)
        if made is None or obj.parent is None:
            continue
        parent = obj.parent.evaluated_get(depsgraph)
        above = parent.matrix_world
        if obj.parent_type == "BONE" and parent.pose is not None and obj.parent_bone in parent.pose.bones:
            bone = parent.pose.bones[obj.parent_bone]
            above = above @ bone.matrix @ Matrix.Translation((0.0, bone.bone.length, 0.0))
        place_simulated(obj, made.evaluated_get(simulated).matrix_world, above)


def switch_copies(scene: bpy.types.Scene, rig: bpy.types.Object, drive: str) -> None:
    """Update the simulation scene after a mechanism was switched to a drive: it exists while physics moves any.

    A simulation begins at the present frame where there was none, or none that reaches this frame.
    """
    remove_unused_simulation(scene)
    found, frame = simulation_scene_of(scene), max(scene.frame_current, first_frame(scene))
    run = None if found is None else cached_frames.cached_run_of(found)
    is_new = found is None or run is None or not run.has_frames or bool(cached_frames.frame_note(found))
    if is_new and moved_by_physics(simulated_rigs(scene)):
        found = prepare_simulation_scene(scene, frame, rewind=True)
        session_of(scene).last_frame = frame
        cached_frames.set_frame_note(scene, cached_frames.frame_note(found))
    if drive == "KEYS":
        restore_rest_poses(scene, rig)


@persistent
def restore_before_save(*_args: Any) -> None:
    """Show bodies on their bones before the file is saved: simulated poses are no part of it."""
    for scene in bpy.data.scenes[:]:
        remove_unused_simulation(scene)
        restore_rest_poses(scene)


@persistent
def show_after_save(*_args: Any) -> None:
    """Show bodies where the simulation has them again."""
    for scene in bpy.data.scenes:
        if simulation_scene_of(scene) is not None:
            show_simulation(scene, evaluated_depsgraph(scene))
