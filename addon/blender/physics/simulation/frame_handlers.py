"""Handlers of frame changes, updates, undo and loading: servo control before each frame, notes after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import bpy
import numpy as np
from bpy.app.handlers import persistent

from ....core.report import Report
from ...animation.loops import live_solver
from ...data.access import settings, world_of
from ...data.change_counter import SceneModels, models_between_changes
from ...data.conversion import add_to_report
from ...data.copied_mechanisms import remove_simulated_copies
from ...data.queries import is_simulation_scene, rigs_in, simulates_here
from ..actuators.initial_velocity import INITIAL_ITERATIONS, INITIAL_STEP
from ..actuators.joint_state import gather_joint_state
from ..actuators.motors import stop_all_motors
from ..workarounds.constraint_removal import (
    is_emptying_simulation,
    note_step,
    remove_dangling_constraints,
)
from ..workarounds.initial_state import AnimationPause, InitialStep, evaluate_frame, evaluate_previous_frame
from ..world import anchor
from ..world.anchor import restore_rest_poses
from ..world.membership import (
    moved_by_physics,
    release_switched_on_world,
    resume_simulation,
    simulated_rigs,
    switch_world_off,
    switch_world_on,
)
from ..world.rigidbody_world import first_frame, match_scene_timing, refit_world, reset_cache
from . import cached_frames
from .controller import ModelController
from .recording import rigs_with_body_keys, update_body_key_constraints
from .session import all_sessions, drop_controller, hold_on_bones, session_of
from .setup import build_physics, is_physics_complete, remove_unlisted_motors
from .simulation_scene import advance_simulation, remove_simulation, remove_unused_simulation, switch_copies


def control_before_frame(scene: bpy.types.Scene, models: SceneModels) -> None:
    """Control the scene's mechanisms before a frame; errors go to their reports, since no caller can show them."""
    try:
        _before_frame(scene, models)
    except ValueError as error:
        _report_error(scene, error)


def _report_error(scene: bpy.types.Scene, error: ValueError) -> None:
    """Add an error to the reports of the scene's mechanisms that physics is to move, once."""
    for rig in moved_by_physics(rigs_in(scene)):
        if all(line.message != str(error) for line in settings(rig).report):
            report = Report()
            report.add("error", "not-simulated", str(error), where=rig.name)
            add_to_report(rig, report)


def _before_frame(scene: bpy.types.Scene, models: SceneModels) -> None:
    """Control the scene's mechanisms for the step to its current frame.

    After a jump only the simulated frame is shown. At the first frame the cache is discarded: later changes of
    keyframes or inputs must take effect in the next simulation.

    Note:
        Blender steps physics only when the frame advances by one.
    """
    _release_pins(scene)
    session = session_of(scene)
    session.has_stepped, session.moved = False, ()
    for rig in models.of(rigs_with_body_keys):
        update_body_key_constraints(rig)
    if not simulates_here(scene):
        _check_own_world(scene)
        advance_simulation(scene)
        return
    world = scene.rigidbody_world
    if world is None or session.is_internal or is_emptying_simulation(scene):
        return
    frame, start = scene.frame_current, first_frame(scene)
    last, session.last_frame = session.last_frame, frame
    if world.enabled:
        release_switched_on_world(scene)
    elif not (frame == start and switch_world_on(scene)):
        session.advance_to(models.of(simulated_rigs), frame, start)
        return
    simulated = list(simulated_rigs(scene))
    _handle_deletions(scene)
    if world.point_cache.is_baked:
        return
    if frame == scene.frame_start:
        match_scene_timing(scene)
    start = first_frame(scene)
    if frame > start:
        note_step(scene)
    session.advance_to(simulated, frame, start)
    rigs = session.moved = moved_by_physics(simulated)
    if frame <= start:
        for rig in rigs:
            _pin_initial_pose(scene, rig)
        if _run_internally(scene, lambda: remove_unlisted_motors(scene, rigs)):
            session.moved = rigs
        cached_frames.note_rewind(scene)
    elif rigs and frame == start + 1 and last in (None, start):
        _start_run(scene, rigs, frame)
    elif rigs:
        _continue_run(scene, rigs, frame, again=last == frame)


def _start_run(scene: bpy.types.Scene, rigs: Sequence[bpy.types.Object], frame: int) -> None:
    """Control mechanisms for the first step.

    Their joint state is collected again, since at the first frame anything may have been edited.
    """
    session = session_of(scene)
    standing = [rig for rig in rigs if session.controller_of(rig) is not None and session.is_simulated_at(rig, frame)]
    begun = [_create_controller(scene, rig) for rig in rigs]
    evaluate_previous_frame(scene)  # objects created since the first frame are still at the origin
    for run in begun:
        if run.rig not in standing and run.stand_on_ground():
            evaluate_previous_frame(scene)
    if scene.rigidbody_world is None:
        return  # a script removed it meanwhile
    session.advance_to(rigs, first_frame(scene), first_frame(scene))
    session.advance_to(rigs, frame, first_frame(scene))
    cached_frames.begin_cached_run(scene, rigs)
    session.has_stepped = True
    quick = [run for run in begun if run.begins_with_velocity]
    for run in begun:
        session.pins.append(run.start())
        if run in quick:
            run.apply_initial_velocities()
        else:
            run.step(frame)
        still = AnimationPause(run.rig)
        session.pins.append(still)
        still.hold()
    evaluate_previous_frame(scene)
    if quick:
        step = InitialStep(scene)
        session.pins.append(step)
        step.take(INITIAL_STEP, INITIAL_ITERATIONS)
    for run in quick:
        run.step(frame)
    if sum(layer.depsgraph is not None for layer in scene.view_layers) > 1:
        # Each view layer builds the simulation and takes the step; poses are released after the first of them.
        evaluate_frame(scene, frame)


def _continue_run(scene: bpy.types.Scene, rigs: Sequence[bpy.types.Object], frame: int, again: bool) -> None:
    """Control mechanisms for a step, if Blender takes one to the present frame; else show the simulation's result.

    Mechanisms that were not simulated to this frame are shown where their bones have them.
    """
    session = session_of(scene)
    is_simulated = all(session.is_simulated_at(rig, frame) for rig in rigs)
    cached_frames.drop_outdated_run(scene, rigs, frame, is_simulated)
    if cached_frames.replay_frame(scene, frame) or again:
        return  # a subframe of the same frame takes no step either
    cached_frames.invalidate_interrupted_run(scene)
    run = cached_frames.cached_run_of(scene)
    if is_simulated or (run is not None and run.now == frame - 1):
        if run is not None and run.now == frame - 1:
            session.has_stepped = True
        for rig in rigs:
            going = session.controller_of(rig)
            if going is None:  # it was collected again, or its motors were deleted
                going = _add_controller(scene, rig)
            going.step(frame)
    elif run is None or not run.has_frames:
        for rig in rigs:
            hold_on_bones(rig)


def _check_own_world(scene: bpy.types.Scene) -> None:
    """Clean up after deletions in a world of the user's, which has the mechanisms' bodies and constraints too."""
    world = scene.rigidbody_world
    if world is None or not world.enabled or session_of(scene).is_internal or is_emptying_simulation(scene):
        return
    _handle_deletions(scene)
    if scene.frame_current > first_frame(scene):
        note_step(scene)


def _handle_deletions(scene: bpy.types.Scene) -> None:
    """Clean up after the user's deletions in the scene's world, before Blender takes a step with it."""
    world, session = world_of(scene), session_of(scene)
    if session.world_size == _world_size(world):
        return
    if not world.point_cache.is_baked and _run_internally(scene, lambda: remove_dangling_constraints(scene)):
        session.controllers.clear()  # they refer to deleted motors
    session.world_size = _world_size(world)


def _run_internally(scene: bpy.types.Scene, work: Callable[[], bool]) -> bool:
    """Do work that visits other frames of a scene with its frame handlers inactive, and return its result."""
    session = session_of(scene)
    session.is_internal = True
    try:
        return work()
    finally:
        session.is_internal = False


def _world_size(world: bpy.types.RigidBodyWorld) -> tuple[int, ...]:
    """Return count and last ``session_uid`` of bodies, then of constraints: a key that differs after changes."""
    out: list[int] = []
    for held in (world.collection, world.constraints):
        objects = () if held is None else held.objects
        count = len(objects)  # Blender counts them one by one, also for a negative index
        out += [count, objects[count - 1].session_uid if count else 0]
    return tuple(out)


def _pin_initial_pose(scene: bpy.types.Scene, rig: bpy.types.Object) -> None:
    """Prepare a mechanism at the first frame: not raised, with its joint state collected."""
    _create_controller(scene, rig)
    anchor.raise_model(rig, 0.0)


def _create_controller(scene: bpy.types.Scene, rig: bpy.types.Object) -> ModelController:
    if not is_physics_complete(scene, rig):
        add_to_report(rig, build_physics(scene, rig))
    run = _add_controller(scene, rig)
    run.set_drive(run.drive_at(first_frame(scene)))
    reset_cache(scene)
    return run


def _add_controller(scene: bpy.types.Scene, rig: bpy.types.Object) -> ModelController:
    """Create the controller of a mechanism from its present state."""
    session = session_of(scene)
    run = session.controllers[rig.session_uid] = ModelController(scene, rig, session.stretch)
    return run


def update_world_rest(scene: bpy.types.Scene) -> None:
    """Decide again whether the scene's world is idle, after bodies were added or removed."""
    if not simulates_here(scene):
        remove_unused_simulation(scene)
    known = {each.session_uid for each in bpy.data.scenes}
    for each in [each for each in bpy.data.scenes if is_simulation_scene(each)]:
        if each.knuckle_shown_uid not in known:  # type: ignore[attr-defined]
            remove_simulation(each)
    world, session = scene.rigidbody_world, session_of(scene)
    if world is None or session.is_internal or is_emptying_simulation(scene):
        return
    size = _world_size(world)
    if session.rested_world_size != size:
        session.rested_world_size = size
        if not switch_world_on(scene):
            switch_world_off(scene)


def finish_frame(scene: bpy.types.Scene) -> None:
    """Raise mechanisms that begin inside the ground, at the first frame, when the pose is known; update notes.

    At the second frame, when Blender has built its simulation, poses and joints are released.
    """
    session = session_of(scene)
    if not simulates_here(scene):
        return
    if _release_pins(scene):
        live_solver.before_frame(scene, models_between_changes(scene))  # input joints move again
    if session.is_internal or is_emptying_simulation(scene):
        return  # controllers may refer to objects that were just deleted
    world = scene.rigidbody_world
    if world is not None and world.enabled and scene.frame_current == first_frame(scene):
        for rig in moved_by_physics(simulated_rigs(scene)):
            run = session.controller_of(rig)
            if run is not None and not world.point_cache.is_baked:
                run.stand_on_ground()
    _update_frame_notes(scene, session.moved)


def _update_frame_notes(scene: bpy.types.Scene, rigs: Sequence[bpy.types.Object]) -> None:
    """Update the note on whether the poses shown are the simulation's at this frame."""
    session = session_of(scene)
    run = session.run
    if not rigs or scene.rigidbody_world is None or scene.frame_current <= first_frame(scene):
        cached_frames.set_frame_note(scene, "")
    elif session.has_stepped or (run is not None and run.has_frames):
        going = [session.controller_of(rig) for rig in rigs]
        joint_states = [
            gather_joint_state(rig) if run is None else run.joint_state for rig, run in zip(rigs, going, strict=True)
        ]
        places = np.concatenate([joint_state.poses()[:-1, :3, 3] for joint_state in joint_states])
        cached_frames.check_frame(scene, places, session.has_stepped)
    else:
        cached_frames.note_missing_frame(scene)


def _release_pins(scene: bpy.types.Scene) -> bool:
    """Release all held objects of a scene.

    Returns:
        Whether there were any.
    """
    cached_frames.unprotect_cache(scene)
    pins = session_of(scene).pins
    held = bool(pins)
    while pins:
        pins.pop().release()
    return held


def note_drive_switched(scene: bpy.types.Scene) -> None:
    """Update the note after the user switched a mechanism's drive: its pose is no longer that of the last step."""
    session_of(scene).has_stepped = False
    _update_frame_notes(scene, moved_by_physics(simulated_rigs(scene)))


def switch_drive(scene: bpy.types.Scene, rig: bpy.types.Object, drive: str) -> None:
    """Switch a mechanism's bodies to a drive: KEYS, SERVO or LIMP.

    At frames that are not simulated they stay with their bones until a simulation begins.
    """
    session = session_of(scene)
    refit_world(scene, list(simulated_rigs(scene)))
    if not simulates_here(scene):
        switch_copies(scene, rig, drive)
        return
    if switch_world_on(scene) and session.is_simulated_at(rig, scene.frame_current):
        _run_internally(scene, lambda: resume_simulation(scene))
    drop_controller(rig)
    frame, begun = scene.frame_current, scene.frame_current > first_frame(scene)
    if drive == "KEYS":
        hold_on_bones(rig)
        stop_all_motors(rig)
        anchor.raise_model(rig, 0.0)
    elif begun and not session.is_simulated_at(rig, frame):
        hold_on_bones(rig)
    else:
        ModelController(scene, rig).set_drive(drive)
    reset_cache(scene)
    note_drive_switched(scene)
    switch_world_off(scene)


@persistent
def clear_controllers(*_args: Any) -> None:
    """Clear the state after undo or loading a file, when its references are invalid."""
    live_solver.invalidate_loops()
    for session in all_sessions():
        session.interrupt()
    for scene in getattr(bpy.data, "scenes", ()):
        session_of(scene).last_frame = scene.frame_current


@persistent
def reset_after_undo(*_args: Any) -> None:
    """Clear the state and outdated notes after undo and redo."""
    clear_controllers()
    for scene in bpy.data.scenes:
        if (
            scene.rigidbody_world is None
            or scene.frame_current <= first_frame(scene)
            or not moved_by_physics(simulated_rigs(scene))
        ):
            cached_frames.set_frame_note(scene, "")


@persistent
def reset_after_load(*_args: Any) -> None:
    """Reset a loaded file to the first frame of its simulation, which it does not contain."""
    for scene in [each for each in bpy.data.scenes if is_simulation_scene(each)]:
        remove_simulated_copies(scene)
    for scene in bpy.data.scenes:
        restore_rest_poses(scene)  # after a recovery: no handler is called before an automatic save
        switch_world_off(scene)
        world = scene.rigidbody_world
        if world is None or world.point_cache.is_baked or scene.frame_current <= first_frame(scene):
            continue
        if moved_by_physics(simulated_rigs(scene)):
            # Blender cannot evaluate yet: frame_set would put all bodies at one point
            scene.frame_current = first_frame(scene)
    clear_controllers()
