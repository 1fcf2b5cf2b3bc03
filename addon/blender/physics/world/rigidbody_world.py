"""Rigid-body world of a scene: set up for our mechanisms, fitted to them, and restored when they leave it."""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

import bpy
import numpy as np
from mathutils import Quaternion, Vector

from ....core.report import Message, Report
from ...data.access import record_of, settings, world_of
from ...data.conversion import add_to_report, store_message
from ...data.properties.model import KnuckleWorldBackup
from ...data.queries import is_simulation_scene, rigs_in, simulates_here
from ...events.runtime_state import Lifetime, RuntimeState, state_of
from .membership import SIMULATED_FRAMES, simulated_rigs, simulating_scene, stopped_world_message, switch_world_on
from .solver_settings import (
    SolverSettings,
    apply_solver_settings,
    chosen_solver_settings,
    has_applied_settings,
    merge_solver_settings,
)

#: Frames per second at which real walkers walked: control is once per frame, so this matters more than substeps.
FRAME_RATE = 60
#: Speed of a world below which it counts as stopped.
_MIN_TIME_SCALE = 1e-6
#: Substeps, iterations, speed and frame range of a new world in Blender, and the gravity of a new scene.
_DEFAULT_WORLD, _DEFAULT_GRAVITY = (10, 10, 1.0, 1, 250), (0.0, 0.0, -9.81)


def ensure_world(
    scene: bpy.types.Scene, rig: bpy.types.Object, report: Report, others: Sequence[bpy.types.Object] = ()
) -> bpy.types.RigidBodyWorld:
    """Return the scene's rigid-body world with its two collections, fitted to the mechanisms; create what is missing.

    An existing world keeps its settings. Changed settings are stored with the first mechanism that joins it.

    Args:
        scene: The scene.
        rig: The mechanism that joins the world.
        report: Receives what was changed or does not fit.
        others: Mechanisms in the world already.

    Raises:
        ValueError: It accepts no bodies, since its collections are linked. Nothing is changed then.
    """
    _require_editable(scene)
    model = settings(rig)
    before = model.world_backup
    if before.world != _scene_tag(scene):  # the mechanism was appended: its stored settings are another file's
        _clear_backup(before)
    world = scene.rigidbody_world
    came = _is_appended_world(scene)
    if world is None or came:
        _inherit_backup(scene, rig, others)
        if world is None:
            with bpy.context.temp_override(scene=scene, view_layer=scene.view_layers[0]):
                bpy.ops.rigidbody.world_add()
            world = world_of(scene)
        if not before.made_world:  # else the user deleted ours, whose gravity is still set
            before.made_world = True
            before.made_collection = before.made_constraints = came
            _tag_backup(scene, before)
            before.gravity, before.use_gravity = scene.gravity, scene.use_gravity
        if simulates_here(scene):
            scene.use_gravity = True
            scene.gravity = world_gravity(rig)
    elif simulates_here(scene):
        if has_other_gravity(scene, rig):
            report.warn("gravity-kept", _gravity_message(scene, rig))
        if stopped := stopped_world_message(scene):
            report.warn("world-stopped", stopped)
    _fit_new_world(scene, rig, others, report)
    cache = world.point_cache
    if not before.made_world and not before.joined_world and _backup_rig(scene) is None:
        before.joined_world = True
        _tag_backup(scene, before)
        before.frame_range = cache.frame_start, cache.frame_end
    if world.collection is None:
        world.collection = bpy.data.collections.new("RigidBodyWorld")
        before.made_collection = True
    if world.constraints is None:
        world.constraints = bpy.data.collections.new("RigidBodyConstraints")
        before.made_constraints = True
    if before.made_world or simulates_here(scene):
        cache.frame_start = min(cache.frame_start, scene.frame_start)
        cache.frame_end = max(cache.frame_end, scene.frame_end)
    if scene.frame_start < cache.frame_start:
        report.warn(
            "negative-frames",
            Message(
                "Frame range: Blender's physics has no frames below 0, so it begins at {}, the scene at {}",
                cache.frame_start,
                scene.frame_start,
            ),
        )
    return world


def _is_appended_world(scene: bpy.types.Scene) -> bool:
    """Return whether a scene's world exists only because mechanisms of another file were appended.

    Blender then creates one with default settings and puts their bodies into it. A world with other settings, gravity
    or objects is the user's.
    """
    world = scene.rigidbody_world
    if world is None or not (world.enabled or scene.knuckle_idle):  # type: ignore[attr-defined]
        return False
    if not scene.use_gravity or world.point_cache.is_baked:
        return False
    span = world.point_cache.frame_start, world.point_cache.frame_end
    if (world.substeps_per_frame, world.solver_iterations, world.time_scale, *span) != _DEFAULT_WORLD:
        return False
    if any(abs(a - b) > 1e-5 for a, b in zip(scene.gravity[:], _DEFAULT_GRAVITY, strict=True)):
        return False
    held = {obj for folder in (world.collection, world.constraints) if folder is not None for obj in folder.objects}
    owners = {record_of(obj).model for obj in held}
    return bool(owners) and all(owner is not None and is_from_other_file(scene, owner) for owner in owners)


def _inherit_backup(scene: bpy.types.Scene, rig: bpy.types.Object, others: Sequence[bpy.types.Object]) -> None:
    """Move the stored settings of a deleted world of ours to the mechanism that creates the next one.

    How the world was fitted, or the settings of a user's own world, no longer apply.
    """
    own = settings(rig).world_backup
    for other in dict.fromkeys([rig, *rigs_in(scene), *others]):
        before = settings(other).world_backup
        if not _has_backup(other, scene):
            continue
        if before.joined_world:
            _clear_backup(before)
            continue
        for name in _FITTED_FIELDS:
            before.property_unset(name)
        if other != rig:
            _transfer_backup(before, own)
            _clear_backup(before)


def _require_editable(scene: bpy.types.Scene) -> None:
    world = scene.rigidbody_world
    for held in (world.collection, world.constraints) if world is not None else ():
        if held is not None and (held.library is not None or held.override_library is not None):
            raise ValueError(
                Message(
                    "Rigid-body world: its collection {} is linked from another file, so nothing can be added. "
                    "Choose another (Scene properties, Rigid Body World)",
                    repr(held.name),
                )
            )


def has_other_gravity(scene: bpy.types.Scene, rig: bpy.types.Object) -> bool:
    """Return whether a scene's gravity differs from a mechanism's."""
    return any(abs(a - b) > 1e-6 for a, b in zip(scene.gravity[:], world_gravity(rig), strict=True))


def _gravity_message(scene: bpy.types.Scene, rig: bpy.types.Object) -> str:
    stays, wanted = (", ".join(f"{part:g}" for part in each) for each in (scene.gravity[:], world_gravity(rig)))
    if is_simulation_scene(scene):
        return Message(
            "Gravity: ({}) is simulated, that of the scene's first mechanism; this one has ({})", stays, wanted
        )
    return Message(
        "Gravity of the scene: {}",
        f"unchanged ({stays}), the mechanism has ({wanted}). Set it in Scene properties, Gravity",
    )


def report_gravity(scene: bpy.types.Scene, rig: bpy.types.Object) -> None:
    """Report after an edit of a mechanism's gravity whether the scene keeps another one."""
    lines = settings(rig).report
    for number, line in reversed(list(enumerate(lines))):
        if line.code == "gravity-kept":
            lines.remove(number)
    if has_other_gravity(scene, rig):
        report = Report()
        report.warn("gravity-kept", _gravity_message(scene, rig))
        add_to_report(rig, report)


def _fit_new_world(
    scene: bpy.types.Scene, rig: bpy.types.Object, others: Sequence[bpy.types.Object], report: Report
) -> None:
    """Fit a world of ours to its mechanisms, unless the user changed it; report what the user's own world lacks."""
    world, keeper, own = world_of(scene), _backup_rig(scene, [rig, *others]), chosen_solver_settings(rig)
    store_message(settings(rig).world_backup, "requirements", own.why)
    if keeper is not None and settings(keeper).world_backup.made_world:
        before = settings(keeper).world_backup
        if not before.fitted_substeps or has_applied_settings(scene, before):
            fit = merge_solver_settings([own, *(chosen_solver_settings(other) for other in others)])
            apply_solver_settings(scene, fit, before)
            report.info("world-fitted", Message("Rigid-body world: fitted to the mechanism. {}", fit.why))
            return
    if not _uses_world_settings(scene):
        return
    if world.substeps_per_frame < own.substeps(frame_rate(scene)) or world.solver_iterations < own.iterations:
        report.warn(
            "world-kept",
            Message(
                "Rigid-body world: {} substeps per frame and {} iterations, {} and {} reduce joint separation. "
                "Press Measure Again. {}",
                world.substeps_per_frame,
                world.solver_iterations,
                own.substeps(frame_rate(scene)),
                own.iterations,
                own.why,
            ),
        )


def fit_world(scene: bpy.types.Scene, rigs: Sequence[bpy.types.Object]) -> SolverSettings:
    """Fit a scene's world to its mechanisms, whoever set it before. Clearing physics restores a user's own world."""
    world, keeper = world_of(scene), _backup_rig(scene)
    fit = merge_solver_settings([chosen_solver_settings(rig) for rig in rigs])
    for rig in rigs:
        store_message(settings(rig).world_backup, "requirements", chosen_solver_settings(rig).why)
    before = settings(keeper or rigs[0]).world_backup
    if before.joined_world and not before.substeps:
        before.substeps, before.iterations = world.substeps_per_frame, world.solver_iterations
    apply_solver_settings(scene, fit, before)
    reset_cache(scene)
    return fit


def refit_world(scene: bpy.types.Scene, rigs: Sequence[bpy.types.Object]) -> None:
    """Fit a world of ours to the remaining mechanisms, unless the user changed it."""
    keeper = _backup_rig(scene)
    ours = keeper is not None and settings(keeper).world_backup.made_world
    if rigs and keeper is not None and ours and has_applied_settings(scene, settings(keeper).world_backup):
        apply_solver_settings(
            scene, merge_solver_settings([chosen_solver_settings(rig) for rig in rigs]), settings(keeper).world_backup
        )


def match_simulation_world(
    scene: bpy.types.Scene, simulation: bpy.types.Scene, rigs: Sequence[bpy.types.Object], steps: int, start: int
) -> None:
    """Let a simulation scene have the rate, substeps and iterations that the scene it belongs to asks for.

    Where the scene's world is the user's, substeps and iterations are those of the mechanisms.

    Args:
        scene: The scene that shows the mechanisms.
        simulation: Its simulation scene.
        rigs: The mechanisms.
        steps: The count of frames of the simulation scene for each frame of the scene.
        start: Frame of both at which the simulation begins.
    """
    world, own = world_of(scene), world_of(simulation)
    if _uses_world_settings(scene):
        match_scene_timing(scene)
    substeps, iterations = solver_of(scene, rigs)
    speed = world.time_scale / steps
    if (simulation.render.fps, simulation.render.fps_base) != (scene.render.fps, scene.render.fps_base):
        simulation.render.fps, simulation.render.fps_base = scene.render.fps, scene.render.fps_base
    wanted = {"substeps_per_frame": math.ceil(substeps / steps), "solver_iterations": iterations, "time_scale": speed}
    for name, value in wanted.items():
        if getattr(own, name) != np.float32(value):
            setattr(own, name, value)
    if simulation.frame_start != start:
        simulation.frame_start, simulation.frame_end = start, start + SIMULATED_FRAMES
    if (own.point_cache.frame_start, own.point_cache.frame_end) != (simulation.frame_start, simulation.frame_end):
        own.point_cache.frame_start, own.point_cache.frame_end = simulation.frame_start, simulation.frame_end


@dataclass
class _Solver(RuntimeState):
    """Substeps and iterations for a scene whose world's are the user's, while they are not those selected to play."""

    lifetime: ClassVar = Lifetime.FILE
    chosen: tuple[int, int] | None = None


def _uses_world_settings(scene: bpy.types.Scene) -> bool:
    """Return whether mechanisms are simulated with the settings of the scene's world.

    They are not where another scene simulates them, and the world is the user's.
    """
    keeper = _backup_rig(scene)
    return simulates_here(scene) or (keeper is not None and settings(keeper).world_backup.made_world)


def has_own_settings(scene: bpy.types.Scene) -> bool:
    """Return whether the substeps and iterations of a scene's simulation are those that we set, and not the user's."""
    keeper = _backup_rig(scene)
    if not _uses_world_settings(scene):
        return True
    return keeper is not None and has_applied_settings(scene, settings(keeper).world_backup)


def solver_of(scene: bpy.types.Scene, rigs: Sequence[bpy.types.Object]) -> tuple[int, int]:
    """Return the substeps per frame and the iterations with which the mechanisms of a scene are simulated."""
    if _uses_world_settings(scene):
        return world_of(scene).substeps_per_frame, world_of(scene).solver_iterations
    return state_of(_Solver, scene).chosen or _selected_solver(scene, rigs, "PREVIEW")


def _selected_solver(scene: bpy.types.Scene, rigs: Sequence[bpy.types.Object], quality: str) -> tuple[int, int]:
    fit = merge_solver_settings([chosen_solver_settings(rig, quality) for rig in rigs])
    return fit.substeps(frame_rate(scene)), fit.iterations


@contextmanager
def solver_applied(scene: bpy.types.Scene, substeps: int, iterations: int) -> Iterator[None]:
    """Context manager in which the mechanisms of a scene are simulated with some substeps and iterations."""
    world, state = world_of(scene), state_of(_Solver, scene)
    uses_world, kept = _uses_world_settings(scene), state.chosen
    before = world.substeps_per_frame, world.solver_iterations
    if uses_world:
        world.substeps_per_frame, world.solver_iterations = substeps, iterations
    else:
        state.chosen = substeps, iterations
    try:
        yield
    finally:
        state.chosen = kept
        if uses_world and scene.rigidbody_world is not None:
            world.substeps_per_frame, world.solver_iterations = before


@contextmanager
def steps_applied(scene: bpy.types.Scene, rigs: Sequence[bpy.types.Object], quality: str) -> Iterator[None]:
    """Context manager in which a scene is simulated with what was selected for a quality, the largest of each.

    Settings that the user chose stay.
    """
    if scene.rigidbody_world is None or not has_own_settings(scene):
        yield
        return
    with solver_applied(scene, *_selected_solver(scene, rigs, quality)):
        yield


def frame_rate(scene: bpy.types.Scene) -> float:
    """Return the frames per second of a scene."""
    return scene.render.fps / scene.render.fps_base


def step_rate(scene: bpy.types.Scene) -> float:
    """Return the frames per second of the physics' own time, which the world's Speed scales."""
    return frame_rate(scene) / max(world_of(scene).time_scale, _MIN_TIME_SCALE)


def solver_rate(scene: bpy.types.Scene) -> float:
    """Return the solver steps per second of the physics' own time."""
    return step_rate(scene) * world_of(scene).substeps_per_frame


def first_frame(scene: bpy.types.Scene) -> int:
    """Return the frame at which the scene's physics starts; without a world the first frame of the scene."""
    world = scene.rigidbody_world
    if not simulates_here(scene):
        return max(scene.frame_start, 0)  # Blender's physics has no frames below 0
    return scene.frame_start if world is None else world.point_cache.frame_start


def last_frame(scene: bpy.types.Scene) -> int:
    """Return the frame at which the scene's physics ends."""
    return world_of(scene).point_cache.frame_end


def world_gravity(rig: bpy.types.Object) -> tuple[float, float, float]:
    """Return the mechanism's gravity (m/s²) in the scene's axes: the file's, rotated as the mechanism was at import.

    Later rotations by the user do not change it. Mechanisms of earlier releases have no stored rotation and use the
    present one.
    """
    upright = Quaternion(settings(rig).upright)
    turn = upright if upright.magnitude > 0.5 else rig.matrix_basis.to_quaternion()
    turned = turn @ Vector(settings(rig).gravity)
    return (turned[0], turned[1], turned[2])


def match_scene_timing(scene: bpy.types.Scene) -> None:
    """Adapt the frame range of a world of ours, and its substeps, to changes of the scene's range or frame rate."""
    keeper = _backup_rig(scene)
    if keeper is None:
        return
    before = settings(keeper).world_backup
    if (
        before.fitted_substeps
        and before.fitted_rate != np.float32(frame_rate(scene))
        and has_applied_settings(scene, before)
    ):
        apply_solver_settings(
            scene,
            merge_solver_settings(
                [chosen_solver_settings(rig) for rig in simulated_rigs(scene)] or [chosen_solver_settings(keeper)]
            ),
            before,
        )
    if not before.made_world:
        return
    cache = world_of(scene).point_cache
    if cache.frame_start != scene.frame_start:
        cache.frame_start = scene.frame_start
    cache.frame_end = max(cache.frame_end, scene.frame_end)


def reset_cache(scene: bpy.types.Scene) -> None:
    """Make Blender discard its cache: the next simulation from the start is computed again."""
    world = scene.rigidbody_world
    if world is not None and not world.point_cache.is_baked:
        world.time_scale = world.time_scale  # writing any setting marks the cache as outdated


def rebuild_simulation(scene: bpy.types.Scene) -> bool:
    """Make Blender rebuild its simulation from the world's present members, which it does at the second frame.

    Returns:
        Whether it does: not if the world is disabled or baked.
    """
    world = world_of(scene)
    if not world.enabled or world.point_cache.is_baked:
        return False
    before = scene.frame_current, scene.frame_subframe
    reset_cache(scene)
    for frame in (first_frame(scene), first_frame(scene) + 1):
        scene.frame_set(frame)
    reset_cache(scene)
    scene.frame_set(before[0], subframe=before[1])
    return True


def rewind_simulation(scene: bpy.types.Scene) -> None:
    """Move Blender's simulation back to the first frame before another simulation begins.

    Note:
        Blender continues from the frame at which it was last, and only by one frame.
    """
    before = scene.frame_current, scene.frame_subframe
    scene.frame_set(first_frame(scene))
    reset_cache(scene)
    scene.frame_set(before[0], subframe=before[1])


def _backup_rig(scene: bpy.types.Scene, more: Sequence[bpy.types.Object] = ()) -> bpy.types.Object | None:
    """Return the mechanism that stores the settings that the scene's world had before any of ours joined it.

    ``more`` are mechanisms that may not be in the scene yet.
    """
    return next((rig for rig in [*rigs_in(scene), *more] if _has_backup(rig, scene)), None)


def _has_backup(rig: bpy.types.Object, scene: bpy.types.Scene) -> bool:
    before = settings(rig).world_backup
    here = before.world == _scene_tag(scene) and simulating_scene(rig) in {None, scene}
    return (before.made_world or before.joined_world) and here


def is_from_other_file(scene: bpy.types.Scene, rig: bpy.types.Object) -> bool:
    """Return whether a mechanism was appended: its stored physics, or that of its bodies, is not this scene's."""
    before = settings(rig).world_backup
    if before.world:
        return before.world != _scene_tag(scene)
    return not (_scene_tag(scene) or before.made_world or before.joined_world)  # only one mechanism stores settings


def owns_world(rig: bpy.types.Object, scene: bpy.types.Scene) -> bool:
    """Return whether a scene's world was created for this mechanism."""
    return settings(rig).world_backup.made_world and _has_backup(rig, scene)


def clear_world(scene: bpy.types.Scene, rig: bpy.types.Object, successor: bpy.types.Object | None = None) -> None:
    """Revert ``ensure_world`` for one mechanism: a world of ours that is no longer used is removed.

    Args:
        scene: The scene.
        rig: The mechanism that leaves the world.
        successor: Another mechanism that still uses the world and takes over the stored settings.
    """
    world = scene.rigidbody_world
    before = settings(rig).world_backup
    if world is None or not _has_backup(rig, scene):
        return
    if successor is not None:
        _transfer_backup(before, settings(successor).world_backup)
    elif before.joined_world:
        if before.substeps and has_applied_settings(scene, before):
            world.substeps_per_frame, world.solver_iterations = before.substeps, before.iterations
        world.point_cache.frame_start, world.point_cache.frame_end = before.frame_range
        _drop_collections(world, before)
    elif not any(c is not None and len(c.objects) for c in (world.collection, world.constraints)):
        _drop_collections(world, before)
        with bpy.context.temp_override(scene=scene, view_layer=scene.view_layers[0]):
            bpy.ops.rigidbody.world_remove()
        scene.gravity, scene.use_gravity = before.gravity, before.use_gravity
    else:
        return  # the user has added objects to it
    if successor is None:
        switch_world_on(scene, anyway=True)
        scene.property_unset("knuckle_world")
    _clear_backup(before)


_BACKUP_FLAGS = ("made_world", "joined_world", "made_collection", "made_constraints")
_FITTED_FIELDS = ("fitted_substeps", "fitted_iterations", "fitted_rate", "substeps", "iterations")
_BACKUP_FIELDS = (*_BACKUP_FLAGS, *_FITTED_FIELDS, "world", "frame_range", "gravity", "use_gravity")


def _scene_tag(scene: bpy.types.Scene) -> str:
    return scene.knuckle_world  # type: ignore[attr-defined, no-any-return]


def _tag_backup(scene: bpy.types.Scene, before: KnuckleWorldBackup) -> None:
    """Mark a mechanism's stored settings and a scene with a common id."""
    before.world = uuid.uuid4().hex
    scene.knuckle_world = before.world  # type: ignore[attr-defined]


def _clear_backup(before: KnuckleWorldBackup) -> None:
    for name in _BACKUP_FIELDS:
        before.property_unset(name)


def _transfer_backup(before: KnuckleWorldBackup, successor: KnuckleWorldBackup) -> None:
    for name in _BACKUP_FIELDS:
        setattr(successor, name, getattr(before, name))


def _drop_collections(world: bpy.types.RigidBodyWorld, before: KnuckleWorldBackup) -> None:
    """Remove the world's collections that were created for it, if they are empty."""
    for name, made in (("collection", before.made_collection), ("constraints", before.made_constraints)):
        held = getattr(world, name)
        if made and held is not None and not len(held.objects):
            setattr(world, name, None)
            bpy.data.collections.remove(held)
