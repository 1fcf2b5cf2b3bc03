"""What Blender calls as frames change and files open: servo control before each frame, and what is told after it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import bpy
import numpy as np
from bpy.app.handlers import persistent

from ....core.report import Report
from ...animation.loops import live_solver
from ...data.access import settings
from ...data.change_counter import SceneModels, models_at_frames
from ...data.conversion import add_to_report
from ...data.queries import rigs_in
from ..actuators.joint_state import gather
from ..bodies import kinematic
from ..world.membership import is_driven, note_switched_on, rest_world, resume, simulated_in, wake_world
from ..world.rigidbody_world import first_frame, follow_scene, reset_cache
from . import cached_frames as progress
from . import session as runs
from .controller import ServoRun
from .initial_state import Beginning, Standstill, evaluate_at, evaluate_first
from .recording import body_keyed, follow_body_keys
from .removal import dismiss_unlisted, forget_simulations, is_resting, note_simulated, part_with_lost
from .setup import build_physics, is_whole

#: All by the scene's ``session_uid``, which a new name does not change.
_last: dict[int, int] = {}
_holds: list[Standstill | Beginning] = []
#: How many bodies and constraints the worlds of scenes had, and whether one is being looked after now.
_sizes: dict[int, tuple[int, ...]] = {}
#: The same of worlds as they were when it was last decided whether they rest.
_rested: dict[int, tuple[int, ...]] = {}
#: The models that physics moves at the present frame of scenes, and the scenes whose run has just taken a step.
_led: dict[int, list[bpy.types.Object]] = {}
_stepped: set[int] = set()
_busy: set[int] = set()


def before_frame(scene: bpy.types.Scene, models: SceneModels) -> None:
    """See ``_before_frame``.

    What cannot be done stands in the report of the models: nobody called this who could be told.
    """
    try:
        _before_frame(scene, models)
    except ValueError as error:
        _report_error(scene, error)


def _report_error(scene: bpy.types.Scene, error: ValueError) -> None:
    """Add an error for users to the reports of the scene's models that physics is to move, once."""
    for rig in _driven(rigs_in(scene)):
        if all(line.message != str(error) for line in settings(rig).report):
            report = Report()
            report.add("error", "not-simulated", str(error), where=rig.name)
            add_to_report(rig, report)


def _before_frame(scene: bpy.types.Scene, models: SceneModels) -> None:
    """Control the scene's models for the step to its current frame.

    Blender steps physics only when the frame goes on by one, so nothing is done after a jump, but that it shows what
    the run did there. At the first frame the cache is dropped: what changed since, in keys or controls, must be in the
    next run.
    """
    _release()
    uid = scene.session_uid
    _stepped.discard(uid)
    _led.pop(uid, None)
    for rig in models.of(body_keyed):
        follow_body_keys(rig)
    world = scene.rigidbody_world
    if world is None or _is_internal(scene):
        return
    frame, start = scene.frame_current, first_frame(scene)
    last, _last[uid] = _last.get(uid), frame
    if world.enabled:
        note_switched_on(scene)
    elif not (frame == start and wake_world(scene)):
        runs.come_to(models.of(simulated_in), frame, start)
        return
    simulated = list(simulated_in(scene))
    _look_after(scene)
    if world.point_cache.is_baked:
        return
    if frame == scene.frame_start:
        follow_scene(scene)
    start = first_frame(scene)
    if frame > start:
        note_simulated(scene)
    runs.come_to(simulated, frame, start)
    rigs = _led[uid] = _driven(simulated)
    if frame <= start:
        for rig in rigs:
            _begin(scene, rig)
        if _at_peace(scene, lambda: dismiss_unlisted(scene, rigs)):
            _led[uid] = rigs
        progress.rewound(scene)
    elif rigs and frame == start + 1 and last in (None, start):
        _start(scene, rigs, frame)
    elif rigs:
        _go_on(scene, rigs, frame, again=last == frame)


def _start(scene: bpy.types.Scene, rigs: Sequence[bpy.types.Object], frame: int) -> None:
    """Control models for the first step.

    They are gathered anew: at the first frame anything may have been done to them since that was come to.
    """
    standing = [rig for rig in rigs if runs.run_of(rig) is not None and runs.is_led(rig, frame)]
    begun = [_gather(scene, rig) for rig in rigs]
    evaluate_first(scene)  # what was made since the first frame stands at the origin yet
    for run in begun:
        if run.rig not in standing and run.stand_on_ground():
            evaluate_first(scene)
    if scene.rigidbody_world is None:
        return  # a script removed it meanwhile
    runs.come_to(rigs, first_frame(scene), first_frame(scene))
    runs.come_to(rigs, frame, first_frame(scene))
    progress.begin(scene, rigs)
    _stepped.add(scene.session_uid)
    for run in begun:
        _holds.append(run.start())
        run.step(frame)
        still = Standstill(run.rig)
        _holds.append(still)
        still.hold()
    evaluate_first(scene)
    if sum(layer.depsgraph is not None for layer in scene.view_layers) > 1:
        # Each view layer builds the simulation and takes the step; poses are let go when the first of them has.
        evaluate_at(scene, frame)


def _go_on(scene: bpy.types.Scene, rigs: Sequence[bpy.types.Object], frame: int, again: bool) -> None:
    """Control models for a step, if Blender takes one to the present frame; else have it show what the run did there,
    and of models that no run has brought there, where their bones have them."""
    led = all(runs.is_led(rig, frame) for rig in rigs)
    progress.part_with_old(scene, rigs, frame, led)
    if progress.replay(scene, frame) or again:
        return  # a part of the same frame takes no step either
    progress.end_broken(scene)
    run = progress.progress_of(scene)
    if led or (run is not None and run.now == frame - 1):
        if run is not None and run.now == frame - 1:
            _stepped.add(scene.session_uid)
        for rig in rigs:
            going = runs.run_of(rig)
            if going is None:  # it was gathered anew, or its motors went with what was deleted
                going = ServoRun(scene, rig)
                runs.keep(going)
            going.step(frame)
    elif run is None or not run.has_frames:
        for rig in rigs:
            runs.hold(rig)


def _look_after(scene: bpy.types.Scene) -> None:
    """See to what the user's deletions left in the scene's world, before Blender takes a step with it."""
    world = scene.rigidbody_world
    size = _size(world)
    if _sizes.get(scene.session_uid) == size:
        return
    if not world.point_cache.is_baked and _at_peace(scene, lambda: part_with_lost(scene)):
        runs.forget(frames=False)  # they command motors that are gone
    _sizes[scene.session_uid] = _size(world)


def _is_internal(scene: bpy.types.Scene) -> bool:
    """Return whether the present frame is one that something here goes to for its own ends."""
    return scene.session_uid in _busy or is_resting(scene)


def _at_peace(scene: bpy.types.Scene, work: Callable[[], bool]) -> bool:
    """Do what goes to other frames of a scene, with nothing else being done at these; returns what it does."""
    _busy.add(scene.session_uid)
    try:
        return work()
    finally:
        _busy.discard(scene.session_uid)


def _size(world: bpy.types.RigidBodyWorld) -> tuple[int, ...]:
    """Of bodies, then of constraints, how many there are and which came last: what goes or comes changes it."""
    out: list[int] = []
    for held in (world.collection, world.constraints):
        objects = () if held is None else held.objects
        count = len(objects)  # Blender counts them one by one, for a place from the end too
        out += [count, objects[count - 1].session_uid if count else 0]
    return tuple(out)


def _begin(scene: bpy.types.Scene, rig: bpy.types.Object) -> None:
    """At the first frame: have a model stand there as it is."""
    _gather(scene, rig)
    kinematic.lift(rig, 0.0)


def _gather(scene: bpy.types.Scene, rig: bpy.types.Object) -> ServoRun:
    if not is_whole(scene, rig):
        add_to_report(rig, build_physics(scene, rig))
    run = ServoRun(scene, rig)
    runs.keep(run)
    run.set_drive(run.drive_at(first_frame(scene)))
    reset_cache(scene)
    return run


def after_update(scene: bpy.types.Scene) -> None:
    """Decide anew whether the scene's world rests once bodies came into it or went, by whoever's hand."""
    world = scene.rigidbody_world
    if world is None or _is_internal(scene):
        return
    size = _size(world)
    if _rested.get(scene.session_uid) != size:
        _rested[scene.session_uid] = size
        if not wake_world(scene):
            rest_world(scene)


def run_at(rig: bpy.types.Object, frame: int) -> ServoRun | None:
    """The run that controlled a model for the step to a frame; None where none did."""
    run = runs.run_of(rig)
    return run if run is not None and run.told_for == frame else None


def _driven(simulated: Iterable[bpy.types.Object]) -> list[bpy.types.Object]:
    """Those of a scene's simulated models that physics moves, now or at some keyed frame."""
    return [rig for rig in simulated if is_driven(rig)]


def after_frame(scene: bpy.types.Scene) -> None:
    """At the first frame, once the pose is known: a model that begins inside the ground is put on it.

    At the second, once Blender has built its simulation: poses and joints are let go.
    """
    if _release():
        live_solver.before_frame(scene, models_at_frames(scene))  # what drives loops goes on now
    if _is_internal(scene):
        return  # what is gathered of runs may be of objects that were just deleted
    world = scene.rigidbody_world
    if world is not None and world.enabled and scene.frame_current == first_frame(scene):
        for rig in _driven(simulated_in(scene)):
            run = runs.run_of(rig)
            if run is not None and not world.point_cache.is_baked:
                run.stand_on_ground()
    _tell(scene, _led.get(scene.session_uid, ()))


def _tell(scene: bpy.types.Scene, rigs: Sequence[bpy.types.Object]) -> None:
    """Say whether what is shown of models is what physics does at this frame."""
    uid, run = scene.session_uid, progress.progress_of(scene)
    if not rigs or scene.rigidbody_world is None or scene.frame_current <= first_frame(scene):
        progress.tell(scene, "")
    elif uid in _stepped or (run is not None and run.has_frames):
        going = [runs.run_of(rig) for rig in rigs]
        plants = [gather(rig) if run is None else run.plant for rig, run in zip(rigs, going, strict=True)]
        places = np.concatenate([plant.poses()[:-1, :3, 3] for plant in plants])
        progress.judge_frame(scene, places, uid in _stepped)
    else:
        progress.tell_why(scene)


def _release() -> bool:
    """Let go what was held still; whether anything was."""
    progress.release()
    held = bool(_holds)
    while _holds:
        _holds.pop().release()
    return held


def handed_over(scene: bpy.types.Scene) -> None:
    """A model's drive was switched by hand: what is shown is no longer what the last step came to."""
    _stepped.discard(scene.session_uid)
    _tell(scene, _driven(simulated_in(scene)))


def switch(scene: bpy.types.Scene, rig: bpy.types.Object, drive: str) -> None:
    """Hand a model's bodies over to ``drive``: KEYS, SERVO or LIMP.

    Where physics has not come to, they stay with their bones until a run begins.
    """
    if wake_world(scene) and runs.is_led(rig, scene.frame_current):
        _at_peace(scene, lambda: resume(scene))
    runs.drop(rig)
    frame, begun = scene.frame_current, scene.frame_current > first_frame(scene)
    if drive != "KEYS" and begun and not runs.is_led(rig, frame):
        runs.hold(rig)
    else:
        ServoRun(scene, rig).set_drive(drive)
    reset_cache(scene)
    handed_over(scene)
    rest_world(scene)


@persistent
def forget(*_args: Any) -> None:
    """After undo or another file: what was gathered points at data that is gone."""
    live_solver.forget()
    runs.forget()
    progress.break_off()
    _last.update({scene.session_uid: scene.frame_current for scene in getattr(bpy.data, "scenes", ())})
    _holds.clear()
    _sizes.clear()
    _rested.clear()
    _busy.clear()
    _led.clear()
    _stepped.clear()


@persistent
def after_undo(*_args: Any) -> None:
    """After undo and redo: what was said of frames that are no longer shown is taken back."""
    forget()
    for scene in bpy.data.scenes:
        if (
            scene.rigidbody_world is None
            or scene.frame_current <= first_frame(scene)
            or not _driven(simulated_in(scene))
        ):
            progress.tell(scene, "")


@persistent
def after_load(*_args: Any) -> None:
    """A file that was saved in the middle of a run does not have the run in it: it opens at the run's beginning."""
    _last.clear()
    progress.forget()
    forget_simulations()
    for scene in bpy.data.scenes:
        rest_world(scene)
        world = scene.rigidbody_world
        if world is None or world.point_cache.is_baked or scene.frame_current <= first_frame(scene):
            continue
        if _driven(simulated_in(scene)):
            # Blender cannot evaluate yet: with frame_set it would take all bodies to be in one heap
            scene.frame_current = first_frame(scene)
    forget()
