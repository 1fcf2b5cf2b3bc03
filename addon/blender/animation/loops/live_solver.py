"""Closed loops that move while posing, scrubbing and rendering: what drives a loop poses the rest of it.

A joint whose record says that it ``follows`` has a bone whose channels are written here, and never by hand. Before a
frame, the curves tell where the drivers will be, so that one evaluation poses all. After it, and after every other
change, the evaluated pose is looked at: what moves drivers in other ways (strips, drivers, a drag of the hand) is
followed then. Nothing is computed while the drivers are where they were, nor at frames that were come to since the last
change (``ticks``): what the loops were there is known (``loop_frames``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import bpy
import numpy as np
from bpy.app.handlers import persistent

from ....core.kinematics import CLOSES_LOOP
from ....core.loops.closure import JointPositions, initial_joint_position
from ....core.loops.dependents import Linkage, find_linkages
from ....core.loops.newton import CLOSURE_TOLERANCE
from ....core.model import Body, Mechanism
from ....core.transforms import orthonormalized
from ...data.access import record_of
from ...data.change_counter import SceneModels, models_between_changes
from ...data.channels import Channel, servo_channels
from ...data.conversion import initial_dof_coordinates
from ...data.queries import is_foreign, parts
from ...rig.joint_frames import read_joint
from ...rig.pose_channels import read_pose
from .bone_loops import LiveLoop, RigidLoop
from .frame_cache import CachedFrame, FrameCache, PoseValues

#: Loops of rigs by the ``session_uid`` that they keep until another file is opened.
_loops: dict[int, list[LiveLoop | RigidLoop]] = {}
#: The frame at which a rig was last, and how far that was from the one before.
_frame_steps: dict[int, tuple[float, float]] = {}
#: What was known of a rig before the present frame, with the scene's ``session_uid``: for after it.
_present_frames: dict[int, tuple[int, FrameCache, CachedFrame | None]] = {}
#: How many frames are worked out at once where they are come to one after another.
_LOOKAHEAD = 32


# ---------------------------------------------------------------- from Blender's objects


def loops_mechanism(rig: bpy.types.Object) -> Mechanism:
    """The joints of a model as they stand in Blender, with the bodies (by their objects' names) that they hold
    together. Joints that close loops are the rig's."""
    bodies, joints = parts(rig, "BODY"), {}
    for empty in parts(rig, "JOINT"):
        record = record_of(empty)
        joint = record.joint
        lost = (joint.parent is None) + (joint.child is None)
        if not joint.active or lost > int(joint.at_world) or record.source_id in joints:
            continue
        parent, child = (end.name if end is not None else None for end in (joint.parent, joint.child))
        made = replace(read_joint(empty), parent=parent, child=child)
        for frame in (made.frame_parent, made.frame_child):
            frame[:3, :3] = orthonormalized(frame[:3, :3])  # slopes are those of rotations, which 32 bits round
        made.dofs = [
            _with_initial_position(dof, initial_dof_coordinates(kept))
            for dof, kept in zip(made.dofs, joint.dofs, strict=True)
        ]
        made.extra[CLOSES_LOOP] = joint.loop
        joints[record.source_id] = made
    return Mechanism(rig.name, bodies=[Body(obj.name, obj.name) for obj in bodies], joints=list(joints.values()))


def _with_initial_position(dof: Any, start: list[float]) -> Any:
    return replace(dof, position=start[0]) if len(start) == 1 else replace(dof, start=tuple(start))


def live_loops(rig: bpy.types.Object) -> list[LiveLoop | RigidLoop]:
    """The loops of a rig that have followers, gathered once."""
    if rig.session_uid not in _loops:
        _loops[rig.session_uid] = list(_find_loops(rig))
    return _loops[rig.session_uid]


def loop_joints(loop: LiveLoop | RigidLoop) -> set[str]:
    """Return the ids of all joints of a loop."""
    return {*loop.linkage.joints, *loop.linkage.chords}


def rigid_loop_joints(rig: bpy.types.Object) -> set[str]:
    """The ids of the joints of loops without a degree of freedom."""
    return {joint for loop in live_loops(rig) if not loop.drivers for joint in loop.channels}


def mark_without_loops(rig: bpy.types.Object) -> None:
    """Know of a rig that was made just now that nothing in it follows."""
    _loops[rig.session_uid] = []


def _find_loops(rig: bpy.types.Object) -> Iterator[LiveLoop | RigidLoop]:
    follows = {record_of(empty).source_id for empty in parts(rig, "JOINT") if record_of(empty).joint.follows}
    if not follows:
        return
    mechanism, channels = loops_mechanism(rig), servo_channels(rig)
    start = {joint.id: initial_joint_position(joint) for joint in mechanism.joints}
    for linkage in find_linkages(mechanism):
        if any(joint not in channels for joint in linkage.joints if joint not in linkage.chords):
            continue  # a bone is gone: nothing can be followed until it is made again
        drivers = [joint for joint in linkage.joints if joint not in follows and joint not in linkage.chords]
        if drivers and follows.intersection(linkage.joints):
            yield LiveLoop(rig, linkage, start, drivers, channels)
        elif not drivers and linkage.joints:
            yield RigidLoop(rig, linkage, _closed_positions(rig, linkage, start, channels), channels)


def _closed_positions(
    rig: bpy.types.Object, linkage: Linkage, start: JointPositions, every: Mapping[str, list[Channel]]
) -> JointPositions:
    """Where a loop without a degree of freedom is closed: at the file's positions, or where it stands, as one does that
    an edit closed there."""
    if np.abs(linkage.system.residual(linkage.system.vector(start))).max(initial=0.0) <= CLOSURE_TOLERANCE:
        return start
    return {**start, **{joint: read_pose(rig, every[joint]) for joint in linkage.joints if joint in every}}


# ---------------------------------------------------------------- what Blender calls


_suspension = {"depth": 0}


@contextmanager
def solver_suspended() -> Iterator[None]:
    """Within it nothing is followed: while an armature is made anew, bones and records do not fit each other."""
    _suspension["depth"] += 1
    try:
        yield
    finally:
        _suspension["depth"] -= 1


def is_solver_suspended() -> bool:
    """Whether an armature is being made anew."""
    return _suspension["depth"] > 0


def before_frame(scene: bpy.types.Scene, models: SceneModels) -> None:
    """Pose the followers for the frame that is about to be evaluated."""
    for rig in _rigs_with_loops(models):
        known, at = _cached_frame(scene, rig, models)
        for number, loop in enumerate(known.loops):
            loop.take(None if at is None else at.states[number])
        if at is not None:
            known.put(scene, rig, at)
        _present_frames[rig.session_uid] = scene.session_uid, known, at


def after_frame(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph, models: SceneModels) -> None:
    """Follow what the curves alone did not tell. Blender then evaluates the frame once more."""
    for rig in _rigs_with_loops(models):
        evaluated = rig.evaluated_get(depsgraph)
        uid, known, at = _present_frames.get(rig.session_uid) or (0, _frame_cache(rig, models), None)
        if uid != scene.session_uid:
            known, at = _frame_cache(rig, models), None
        if at is None or not _matches_cache(evaluated, known, at):
            _solve_frame(scene, rig, evaluated, known, models)
        elif at.is_held:
            for loop in live_loops(rig):
                if isinstance(loop, LiveLoop):
                    loop.hold()


def _matches_cache(evaluated: bpy.types.Object, known: FrameCache, at: CachedFrame) -> bool:
    """Return whether a rig was evaluated to be where it is known to be at a frame."""
    whole = known.numbers.read_whole(evaluated)
    if whole and whole == at.whole:
        return True
    if not whole or not (known.numbers.last_read() == at.numbers).all():
        return False
    at.whole = whole
    return True


def _solve_frame(
    scene: bpy.types.Scene,
    rig: bpy.types.Object,
    evaluated: bpy.types.Object,
    known: FrameCache,
    models: SceneModels,
) -> None:
    """Follow where drivers were evaluated to be at a frame, and know that from now on."""
    loops = _intact_loops(rig)
    for loop in loops:
        loop.follow(evaluated)
    now, told = known.numbers.read(evaluated), known.numbers.read(rig)
    if known is not _frame_cache(rig, models) or now is None or told is None:
        return
    posed = np.zeros(known.numbers.size, dtype=bool)
    for loop in loops:
        if isinstance(loop, RigidLoop):
            if loop.is_moved:
                return
        elif loop.state is not None and loop.state.found is not None:
            for joint in loop.channels.keys() - loop.state.given.keys():
                posed[known.numbers.rows[joint]] = True
    if (now[posed] != told[posed]).any():
        rig.update_tag()  # a render's graph, or an exporter's, which was not come to before the frame
    states = tuple(loop.state if isinstance(loop, LiveLoop) else None for loop in loops)
    if is_foreign(rig):
        return  # ``foreach_set`` passes over what other files have: they are followed after each frame
    (given,) = known.numbers.chosen(told[None], posed)
    known.keep(scene.frame_current_final, CachedFrame(np.where(posed, told, now), given, states))


def _cached_frame(
    scene: bpy.types.Scene, rig: bpy.types.Object, models: SceneModels
) -> tuple[FrameCache, CachedFrame | None]:
    """What is known of a rig's loops at the present frame.

    Where nothing is, and curves tell, they are worked out: for the frames to come too where these are come to one after
    another.
    """
    frame = scene.frame_current_final
    last, step = _frame_steps.get(rig.session_uid, (frame, 0.0))
    steady = frame != last and frame - last == step
    _frame_steps[rig.session_uid] = frame, frame - last
    known = _frame_cache(rig, models)
    at = known.get(frame)
    if at is None and not is_foreign(rig):
        _intact_loops(rig)
        known = _frame_cache(rig, models)
        frames = [frame + number * step for number in range(_LOOKAHEAD if steady else 1)]
        for each, found in zip(frames, _predict_from_curves(rig, known, frames), strict=False):
            known.keep(each, found)
        at = known.get(frame)
    return known, at


def _predict_from_curves(rig: bpy.types.Object, known: FrameCache, frames: Sequence[float]) -> list[CachedFrame]:
    """Return what a rig's loops will be at frames; nothing where curves do not tell."""
    loops, base = known.loops, known.numbers.read(rig)
    told = [loop.states_at(frames) for loop in loops]
    if base is None or any(states is None for states in told):
        return []
    numbers, posed = np.tile(base, (len(frames), 1)), np.zeros(known.numbers.size, dtype=bool)
    for loop, states in zip(loops, told, strict=True):
        if not isinstance(loop, LiveLoop) or states is None:
            continue
        for joint in states[0].given:
            numbers[:, known.numbers.rows[joint]] = [state.given[joint] for state in states]
        found = [state.found for state in states if state.found is not None]
        if not found:
            continue
        if len(found) < len(states):
            return []  # keys say all at some frames, which is not for curves to tell
        values = np.array([each.values for each in found])
        for joint in loop.channels.keys() - states[0].given.keys():
            place = known.numbers.rows[joint]
            numbers[:, place] = loop.numbers(joint, values[:, found[0].columns[joint]])
            posed[place] = True
    every = zip(numbers, known.numbers.chosen(numbers, posed), zip(*told, strict=True), strict=True)
    return [CachedFrame(*each) for each in every]


def before_update(models: SceneModels) -> None:
    """Follow drivers that are posed by hand, before Blender evaluates that: it need not do so twice then."""
    for rig in _rigs_with_loops(models):
        for loop in _intact_loops(rig):
            loop.follow(rig)


def after_update(depsgraph: bpy.types.Depsgraph, models: SceneModels) -> None:
    """Follow what a change of poses did.

    The loops tell themselves whether their drivers moved: what Blender tells of is everything that a pose carries, one
    by one.
    """
    for rig in _rigs_with_loops(models):
        evaluated = rig.evaluated_get(depsgraph)
        for loop in live_loops(rig):  # they are whole, see above
            loop.follow(evaluated)


@persistent
def after_load(*_args: Any) -> None:
    """Have loops of a file that was opened looked at, once all others who are told of it did what they do: drivers may
    call what an add-on gives them only then, and those that fail once stay off."""
    calls = bpy.app.handlers.load_post
    if _evaluate_opened not in calls:
        calls.append(_evaluate_opened)  # Blender calls this one too


@persistent
def _evaluate_opened(*_args: Any) -> None:
    """Have Blender tell of the first evaluation of the frame that a file opens with.

    Note:
        Blender evaluates animation after ``load_post``, and calls no ``depsgraph_update_post`` for graphs that it makes
        then (4.2 to 5.2): keys that a loop is held short of would be shown. It does call it for graphs that are there
        and tagged, and evaluates again what that sets. ``frame_set`` in place of the update does not do: the first
        evaluation of a graph is not written to the file's objects, so that nothing is tagged where loops are held.
    """
    bpy.app.handlers.load_post.remove(_evaluate_opened)
    for window in (window for manager in bpy.data.window_managers for window in manager.windows):
        scene = window.scene
        rigs = [rig for rig in _rigs_with_loops(models_between_changes(scene)) if rig.animation_data is not None]
        if rigs:
            window.view_layer.update()
            scene.frame_current = scene.frame_current  # evaluates animation; calls no handlers of frames
        for rig in rigs:
            rig.update_tag()


def _rigs_with_loops(models: SceneModels) -> Iterator[bpy.types.Object]:
    for rig in models.every if not _suspension["depth"] else ():
        if live_loops(rig) and rig.mode != "EDIT":
            yield rig


def _frame_cache(rig: bpy.types.Object, models: SceneModels) -> FrameCache:
    """Return what is known of a rig's loops at frames since the last change."""
    loops, every = live_loops(rig), models.kept
    known: FrameCache | None = every.get(rig.session_uid)
    if known is None or known.loops is not loops:
        joints = [each for loop in loops for each in loop.channels.items()]
        known = every[rig.session_uid] = FrameCache(loops, PoseValues(rig, joints))
    return known


def _intact_loops(rig: bpy.types.Object) -> list[LiveLoop | RigidLoop]:
    """The loops of a rig of which no bone was renamed or deleted since they were gathered."""
    loops = live_loops(rig)
    bones = rig.pose.bones
    if any(channel.bone not in bones for loop in loops for each in loop.channels.values() for channel in each):
        invalidate_loops(rig)
        loops = live_loops(rig)
    return loops


def invalidate_loops(rig: bpy.types.Object | None = None) -> None:
    """What was gathered, of a rig or of all, is gathered anew when it is needed."""
    if rig is None:
        _loops.clear()
        _frame_steps.clear()
        _present_frames.clear()
    else:
        _loops.pop(rig.session_uid, None)
        _present_frames.pop(rig.session_uid, None)
