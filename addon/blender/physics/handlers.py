"""What Blender calls as frames change and files open: servo control before each frame, and what is told after it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bpy
import numpy as np
from bpy.app.handlers import persistent

from ..access import settings
from ..animation import live_loops
from ..animation.gait import settings_curves
from ..model_parts import rigs_in
from ..reporting import add_to_report
from . import progress
from .body_keys import follow_body_keys
from .plant import gather
from .servo import ServoRun
from .simulation import build_physics, is_simulated, is_whole
from .standstill import Standstill
from .starting import Beginning, evaluate_first
from .stripping import forget_simulations, note_simulated, part_with_lost
from .world import first_frame, follow_scene, reset_cache

_runs: dict[str, ServoRun] = {}
_last: dict[str, int] = {}
_holds: list[Standstill | Beginning] = []
#: How many bodies and constraints the worlds of scenes had, and whether one is being looked after now.
_sizes: dict[str, tuple[int, ...]] = {}
#: The models that physics moves at the present frame of scenes, and the scenes whose run has just taken a step.
_led: dict[str, list[bpy.types.Object]] = {}
_stepped: set[str] = set()
_busy: set[str] = set()


@persistent
def before_frame(scene: bpy.types.Scene, _depsgraph: Any = None) -> None:
    """Control the scene's models for the step to its current frame.

    Blender steps physics only when the frame goes on by one, so nothing is done after a jump, but that it shows what
    the run did there. At the first frame the cache is dropped: what changed since, in keys or controls, must be in the
    next run."""
    _release()
    _stepped.discard(scene.name)
    _led.pop(scene.name, None)
    for rig in rigs_in(scene):
        follow_body_keys(rig)
    world = scene.rigidbody_world
    if world is None or not world.enabled or scene.name in _busy:
        return
    _look_after(scene)
    frame = scene.frame_current
    last, _last[scene.name] = _last.get(scene.name), frame
    if world.point_cache.is_baked:
        return
    if frame == scene.frame_start:
        follow_scene(scene)
    start = first_frame(scene)
    if frame > start:
        note_simulated(scene)
    rigs = _led[scene.name] = _driven(scene)
    from_start = last == start and frame == start + 1
    if frame <= start:
        for rig in rigs:
            _begin(scene, rig)
        progress.rewound(scene)
    elif rigs and (from_start or not progress.replay(scene, rigs, frame)):
        _go_on(scene, rigs, last)


def _go_on(scene: bpy.types.Scene, rigs: Sequence[bpy.types.Object], last: int | None) -> None:
    """Control models for a step, if Blender takes one to the present frame."""
    frame, start, run = scene.frame_current, first_frame(scene), progress.progress_of(scene)
    if frame == start + 1:
        for rig in rigs:
            if rig.name not in _runs or last != start:  # the first frame was there without being come to
                _begin(scene, rig).stand_on_ground()
        progress.begin(scene, rigs)
        _stepped.add(scene.name)
        for rig in rigs:
            _holds.append(_runs[rig.name].start())
            _runs[rig.name].step(frame)
            still = Standstill(rig)
            _holds.append(still)
            still.hold()
        if _holds:
            evaluate_first(scene)
    elif frame - 1 in (last, None if run is None else run.now):
        if run is not None and run.now == frame - 1:
            _stepped.add(scene.name)
        for rig in rigs:
            if rig.name not in _runs:  # an undo in the middle of a run
                _runs[rig.name] = ServoRun(scene, rig)
            _runs[rig.name].step(frame)


def _look_after(scene: bpy.types.Scene) -> None:
    """See to what the user's deletions left in the scene's world, before Blender takes a step with it."""
    world = scene.rigidbody_world
    size = _size(world)
    if _sizes.get(scene.name) != size and not world.point_cache.is_baked:
        _busy.add(scene.name)
        try:
            if part_with_lost(scene):
                _runs.clear()  # they command motors that are gone
        finally:
            _busy.discard(scene.name)
    _sizes[scene.name] = _size(world)


def _size(world: bpy.types.RigidBodyWorld) -> tuple[int, ...]:
    """Of bodies, then of constraints, how many there are and which came last: what goes or comes changes it."""
    out: list[int] = []
    for held in (world.collection, world.constraints):
        objects = () if held is None else held.objects
        out += [len(objects), objects[-1].session_uid if len(objects) else 0]
    return tuple(out)


def _begin(scene: bpy.types.Scene, rig: bpy.types.Object) -> ServoRun:
    if not is_whole(scene, rig):
        add_to_report(rig, build_physics(scene, rig))
    run = _runs[rig.name] = ServoRun(scene, rig)
    run.begin(first_frame(scene))
    reset_cache(scene)
    return run


def run_at(rig: bpy.types.Object, frame: int) -> ServoRun | None:
    """The run that controlled a model for the step to a frame; None where none did."""
    run = _runs.get(rig.name)
    return run if run is not None and run.told_for == frame else None


def _driven(scene: bpy.types.Scene) -> list[bpy.types.Object]:
    """The scene's models that physics moves, now or at some keyed frame."""
    return [
        rig
        for rig in rigs_in(scene)
        if (settings(rig).drive != "KEYS" or ("knuckle.drive", 0) in settings_curves(rig)) and is_simulated(rig)
    ]


@persistent
def after_frame(scene: bpy.types.Scene, _depsgraph: Any = None) -> None:
    """At the first frame, once the pose is known: a model that begins inside the ground is put on it. At the
    second, once Blender has built its simulation: poses and joints are let go."""
    if _release():
        live_loops.before_frame(scene)  # what drives loops goes on now
    if scene.name in _busy:
        return  # what is gathered of runs may be of objects that were just deleted
    world = scene.rigidbody_world
    if world is not None and world.enabled and scene.frame_current == first_frame(scene):
        for rig in _driven(scene):
            run = _runs.get(rig.name)
            if run is not None and not world.point_cache.is_baked:
                run.stand_on_ground()
    _tell(scene, _led.get(scene.name, ()))


def _tell(scene: bpy.types.Scene, rigs: Sequence[bpy.types.Object]) -> None:
    """Say whether what is shown of models is what physics does at this frame."""
    if not rigs or scene.frame_current <= first_frame(scene):
        progress.tell(scene, "")
        return
    plants = [_runs[rig.name].plant if rig.name in _runs else gather(rig) for rig in rigs]
    places = np.concatenate([plant.poses()[:-1, :3, 3] for plant in plants])
    progress.judge_frame(scene, places, scene.name in _stepped)


def _release() -> bool:
    """Let go what was held still; whether anything was."""
    progress.release()
    held = bool(_holds)
    while _holds:
        _holds.pop().release()
    return held


def handed_over(scene: bpy.types.Scene) -> None:
    """A model's drive was switched by hand: what is shown is no longer what the last step came to."""
    _stepped.discard(scene.name)
    _tell(scene, _driven(scene))


@persistent
def forget(*_args: Any) -> None:
    """After undo or another file: what was gathered points at data that is gone."""
    live_loops.forget()
    _runs.clear()
    _last.clear()
    _holds.clear()
    _sizes.clear()
    _busy.clear()
    _led.clear()
    _stepped.clear()


@persistent
def after_load(*_args: Any) -> None:
    """A file that was saved in the middle of a run does not have the run in it: it opens at the run's beginning."""
    forget()
    progress.forget()
    forget_simulations()
    for scene in bpy.data.scenes:
        world = scene.rigidbody_world
        if world is None or world.point_cache.is_baked or scene.frame_current <= first_frame(scene):
            continue
        if _driven(scene):
            # Blender cannot evaluate yet: with frame_set it would take all bodies to be in one heap
            scene.frame_current = first_frame(scene)
