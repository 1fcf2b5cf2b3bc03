"""Live solver of closed loops while posing, scrubbing and rendering: dependent joints follow the input joints.

A joint whose record has ``is_dependent`` set has a bone whose channels are written here, never by the user. Before a
frame the curves predict the input joints, so that one evaluation poses all. After it, and after every other change, the
evaluated pose is inspected: input joints that are moved otherwise (NLA strips, drivers, dragging) are followed then.
Nothing is computed while the input joints stay, nor at frames that were visited since the last change
(``change_counter``): of those the channel values of all bones of a rig's loops are cached as one array.

Note:
    Writing a property of a bone tags the geometry of its rig: before a frame that costs 0.15 ms (a rig of 5 bones, 0.03
    ms a frame without) to 0.6 ms (41 bones, 0.25 ms), and after it as much again (4.2 to 5.2). ``foreach_set`` tags
    nothing in 4.2, where the evaluated rigs have to be written too; depsgraphs of renders and exporters cannot be
    reached before the frame: that they lack the values is detected after it, and the rig is tagged for them. From 4.5
    on it tags the rig as one whose parameters changed, the evaluated ones are updated by that, and it costs 0.02 ms.
    Poses are then bitwise right, since all bones of an animated rig are evaluated.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import bpy
import numpy as np
from bpy.app.handlers import persistent
from numpy.typing import NDArray

from ....core.kinematics import CLOSES_LOOP
from ....core.loops.closure import JointPositions
from ....core.loops.linkage_solver import Linkage, find_linkages
from ....core.loops.newton import CLOSURE_TOLERANCE
from ....core.model import Body, Mechanism
from ....core.transforms import orthonormalized
from ...compat import POSE_SETTING_TAGS
from ...data.access import record_of, settings
from ...data.change_counter import SceneModels, models_between_changes
from ...data.channels import Channel, servo_channels
from ...data.conversion import initial_dof_coordinates
from ...data.queries import is_foreign, parts
from ...events.runtime_state import Lifetime, RuntimeState, end_state, state_of
from ...rig.joint_frames import read_joint
from ...rig.pose_channels import read_pose
from .bone_loops import LiveLoop, RigidLoop

PoseArray = NDArray[np.float32]
#: Property, indices of some of its values among those of all bones, and the values.
ChosenValues = tuple[tuple[str, NDArray[np.intp], PoseArray], ...]
_PROPERTY_SIZES = {"rotation_euler": 3, "location": 3, "rotation_quaternion": 4}
#: Maximum number of cached frames per rig.
MAX_CACHED_FRAMES = 10_000


class PoseValues:
    """Channel values of some joints' bones as one array (n,), in the order of the joints and their channels."""

    def __init__(self, rig: bpy.types.Object, joints: Iterable[tuple[str, Sequence[Channel]]]) -> None:
        place = {name: number for number, name in enumerate(rig.pose.bones.keys())}
        self.rows: dict[str, slice] = {}
        props: list[str] = []
        places: list[int] = []
        for joint, channels in joints:
            first = len(props)
            for prop, index, bone in pose_value_paths(channels):
                props.append(prop)
                places.append(place[bone] * _PROPERTY_SIZES[prop] + index)
            self.rows[joint] = slice(first, len(props))
        self.size, self._bones = len(props), len(place)
        prop_names, every = np.array(props), np.array(places, dtype=np.intp)
        of_props = {prop: np.flatnonzero(prop_names == prop) for prop in dict.fromkeys(props)}
        self._props = [(prop, rows, every[rows]) for prop, rows in of_props.items()]
        self._buffers = {prop: np.empty(_PROPERTY_SIZES[prop] * len(place), dtype=np.float32) for prop in of_props}

    def read(self, rig: bpy.types.Object) -> PoseArray | None:
        """Return the values of a rig, which may be an evaluated copy; None if its bones changed."""
        return self.last_read() if self.read_whole(rig) else None

    def read_whole(self, rig: bpy.types.Object) -> bytes:
        """Return the raw bytes of all bone properties that contain some of the values; empty if the bones changed.

        Comparing bytes is faster than comparing values.
        """
        bones = self._bones_of(rig)
        if bones is None:
            return b""
        for prop, buffer in self._buffers.items():
            bones.foreach_get(prop, buffer)
        return b"".join([buffer.tobytes() for buffer in self._buffers.values()])

    def last_read(self) -> PoseArray:
        """Return the values of the rig that was read last."""
        out = np.empty(self.size, dtype=np.float32)
        for prop, rows, places in self._props:
            out[rows] = self._buffers[prop][places]
        return out

    def chosen(self, numbers: PoseArray, which: NDArray[np.bool_]) -> list[ChosenValues]:
        """Return the values selected by a mask, in the form that ``write`` takes.

        Args:
            numbers: All values at frames (frames, n).
            which: Mask (n,).

        Returns:
            The selected values of each frame.
        """
        every = [(prop, places[which[rows]], numbers[:, rows[which[rows]]]) for prop, rows, places in self._props]
        every = [each for each in every if len(each[1])]
        return [tuple((prop, places, own[row]) for prop, places, own in every) for row in range(len(numbers))]

    def write(self, rig: bpy.types.Object, evaluated: Sequence[bpy.types.Object], chosen: ChosenValues) -> None:
        """Write selected values to a rig and its ``evaluated`` copies by ``foreach_set``.

        The other values of the evaluated copies become the rig's until it is evaluated again.
        """
        own = self._bones_of(rig)
        every = [own, *map(self._bones_of, evaluated)]
        for prop, places, numbers in chosen if own is not None else ():
            buffer = self._buffers[prop]
            own.foreach_get(prop, buffer)
            buffer[places] = numbers
            for bones in every:
                if bones is not None:
                    bones.foreach_set(prop, buffer)

    def _bones_of(self, rig: bpy.types.Object) -> Any:
        """Return the pose bones of a rig; None if they changed."""
        pose = rig.pose
        bones = None if pose is None else pose.bones
        return bones if bones is not None and len(bones) == self._bones else None


def pose_value_paths(channels: Sequence[Channel]) -> list[tuple[str, int, str]]:
    """Return (property, index, bone) of every channel value of a joint, in the order of its channels."""
    out = []
    for channel in channels:
        if channel.is_single:
            out.append((channel.prop, channel.index, channel.bone))
        elif channel.index == 0:
            out += [(prop, index, channel.bone) for prop, index in channel.numbers()]
    return out


@dataclass
class CachedFrame:
    """Solution of a rig's loops at a frame: evaluated values, the part given by the loops, and the loops' states."""

    numbers: PoseArray
    given: ChosenValues
    states: tuple[Any, ...]
    #: Raw bytes of the bones when they last matched the values.
    whole: bytes = b""

    @cached_property
    def is_held(self) -> bool:
        """Return whether input joints are held short of their values."""
        return any(state is not None and state.is_held for state in self.states)


class FrameCache:
    """Cached frames of a rig in a scene, for one state of the .blend; ``loops`` are those that the values belong to."""

    def __init__(self, loops: Sequence[Any], numbers: PoseValues) -> None:
        self.loops, self.numbers = loops, numbers
        self._frames: dict[float, CachedFrame] = {}

    def get(self, frame: float) -> CachedFrame | None:
        """Return the cached solution of a frame, or None."""
        return self._frames.get(frame)

    def keep(self, frame: float, known: CachedFrame) -> None:
        """Cache a frame; the oldest is dropped beyond ``MAX_CACHED_FRAMES``."""
        if len(self._frames) >= MAX_CACHED_FRAMES:
            del self._frames[next(iter(self._frames))]
        self._frames[frame] = known

    def put(self, scene: bpy.types.Scene, rig: bpy.types.Object, known: CachedFrame) -> None:
        """Write the values that the loops determine at a frame to a rig and its evaluated copies in a scene."""
        evaluated: list[bpy.types.Object] = []
        if not POSE_SETTING_TAGS and not bpy.app.is_job_running("RENDER"):  # else the viewport draws them meanwhile
            graphs = (layer.depsgraph for layer in scene.view_layers)
            copies = [rig.evaluated_get(graph) for graph in graphs if graph is not None]
            evaluated = [copy for copy in copies if isinstance(copy, bpy.types.Object)]  # others wait for evaluation
        self.numbers.write(rig, evaluated, known.given)


@dataclass
class _RigLoops(RuntimeState):
    """Closed loops of a rig.

    Attributes:
        loops: The loops that have dependent joints; None before they are gathered.
        frame_step: Last frame, and its distance from the one before.
        present: Cache and solution as found before the present frame, with the scene's ``session_uid``, for use after
            it.
        size: Number of objects of the mechanism when the loops were gathered.
    """

    loops: list[LiveLoop | RigidLoop] | None = None
    size: int = 0
    frame_step: tuple[float, float] | None = None
    present: tuple[int, FrameCache, CachedFrame | None] | None = None


#: Number of frames that are solved at once during playback.
_LOOKAHEAD = 32


# ---------------------------------------------------------------- from Blender's objects


def loops_mechanism(rig: bpy.types.Object, switched_off: bool = False) -> Mechanism:
    """Return the joints of a mechanism as they stand in Blender, with the bodies that they connect, by object name.

    Which joints close loops is taken from the rig.

    Args:
        rig: The armature.
        switched_off: Include joints that are switched off, as if they were on.
    """
    bodies, joints = parts(rig, "BODY"), {}
    for empty in parts(rig, "JOINT"):
        record = record_of(empty)
        joint = record.joint
        lost = (joint.parent is None) + (joint.child is None)
        if not (joint.active or switched_off) or lost > int(joint.at_world) or record.source_id in joints:
            continue
        parent, child = (end.name if end is not None else None for end in (joint.parent, joint.child))
        made = replace(read_joint(empty), parent=parent, child=child, active=True)
        for frame in (made.frame_parent, made.frame_child):
            frame[:3, :3] = orthonormalized(frame[:3, :3])  # derivatives assume rotations, which float32 rounds
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
    """Return the closed loops of a rig that have dependent joints; gathered once."""
    state = state_of(_RigLoops, rig)
    if state.loops is None:
        state.loops, state.size = list(_find_loops(rig)), _part_count(rig)
    return state.loops


def _part_count(rig: bpy.types.Object) -> int:
    """Return the number of a mechanism's objects, which changes with every part that is deleted or added."""
    top = settings(rig).collection
    return 0 if top is None else len(top.all_objects)


def followers_without_loop(rig: bpy.types.Object) -> set[str]:
    """Return the ids of the dependent joints whose closed loop lost a joint or body: nothing poses them any more."""
    records = [record_of(empty) for empty in parts(rig, "JOINT")]
    follows = {record.source_id for record in records if record.joint.is_dependent and record.joint.active}
    follows -= {joint for loop in _intact_loops(rig) for joint in loop.channels} if follows else set()
    if not follows:
        return follows
    every = find_linkages(loops_mechanism(rig, switched_off=True))  # those with an assembly that is off, or a bone less
    return follows.difference(*(linkage.joints for linkage in every))


def loop_joints(loop: LiveLoop | RigidLoop) -> set[str]:
    """Return the ids of all joints of a loop."""
    return {*loop.linkage.joints, *loop.linkage.chords}


def joints_sharing_loops(rig: bpy.types.Object, joints: Collection[str]) -> set[str]:
    """Return the ids of all joints of the live loops on which some of ``joints`` (ids) lie."""
    found = set[str]()
    for loop in live_loops(rig):
        names = loop_joints(loop)
        found |= names if names.intersection(joints) else set()
    return found


def following_joints(rig: bpy.types.Object, action: bpy.types.Action | None) -> set[str]:
    """Return the ids of the joints that follow closed loops while an Action plays, and are not posed by keyframes."""
    out = set[str]()
    for loop in live_loops(rig):
        out |= loop.channels.keys() - set(() if isinstance(loop, RigidLoop) else loop.given_joints(action))
    return out


def rigid_loop_joints(rig: bpy.types.Object) -> set[str]:
    """Return the ids of the joints of loops without a degree of freedom."""
    return {joint for loop in live_loops(rig) if not loop.drivers for joint in loop.channels}


def mark_without_loops(rig: bpy.types.Object) -> None:
    """Record that a newly built rig has no dependent joints."""
    state = state_of(_RigLoops, rig)
    state.loops, state.size = [], _part_count(rig)


def _find_loops(rig: bpy.types.Object) -> Iterator[LiveLoop | RigidLoop]:
    follows = {record_of(empty).source_id for empty in parts(rig, "JOINT") if record_of(empty).joint.is_dependent}
    if not follows:
        return
    mechanism, channels = loops_mechanism(rig), servo_channels(rig)
    start = {joint.id: joint.initial for joint in mechanism.joints}
    for linkage in find_linkages(mechanism):
        if any(joint not in channels for joint in linkage.joints if joint not in linkage.chords):
            continue  # a bone is missing: nothing can be followed until it is rebuilt
        drivers = [joint for joint in linkage.joints if joint not in follows and joint not in linkage.chords]
        if drivers and follows.intersection(linkage.joints):
            yield LiveLoop(rig, linkage, start, drivers, channels)
        elif not drivers and linkage.joints:
            yield RigidLoop(rig, linkage, _closed_positions(rig, linkage, start, channels), channels)


def _closed_positions(
    rig: bpy.types.Object, linkage: Linkage, start: JointPositions, every: Mapping[str, list[Channel]]
) -> JointPositions:
    """Return the joint values at which a loop without a degree of freedom is closed.

    These are the initial values or, if the loop is open there, the present ones: an edit closed it there.
    """
    if np.abs(linkage.system.residual(linkage.system.vector(start))).max(initial=0.0) <= CLOSURE_TOLERANCE:
        return start
    return {**start, **{joint: read_pose(rig, every[joint]) for joint in linkage.joints if joint in every}}


# ---------------------------------------------------------------- handlers


@dataclass
class _Suspension(RuntimeState):
    """Number of contexts in which no loop is followed."""

    lifetime: ClassVar = Lifetime.PROGRAM
    depth: int = 0


@contextmanager
def solver_suspended() -> Iterator[None]:
    """Context manager in which no loop is followed: while an armature is rebuilt, bones and records do not match."""
    suspension = state_of(_Suspension)
    suspension.depth += 1
    try:
        yield
    finally:
        suspension.depth -= 1


def is_solver_suspended() -> bool:
    """Return whether the solver is suspended because an armature is being rebuilt."""
    return state_of(_Suspension).depth > 0


def before_frame(scene: bpy.types.Scene, models: SceneModels) -> None:
    """Pose the dependent joints for the frame that is about to be evaluated."""
    for rig in _rigs_with_loops(models):
        known, at = _cached_frame(scene, rig, models)
        for number, loop in enumerate(known.loops):
            loop.take(None if at is None else at.states[number])
        if at is not None:
            known.put(scene, rig, at)
        state_of(_RigLoops, rig).present = scene.session_uid, known, at


def after_frame(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph, models: SceneModels) -> None:
    """Follow input joints that the curves alone did not determine. Blender then evaluates the frame again."""
    for rig in _rigs_with_loops(models):
        evaluated = rig.evaluated_get(depsgraph)
        uid, known, at = state_of(_RigLoops, rig).present or (0, _frame_cache(rig, models), None)
        if uid != scene.session_uid:
            known, at = _frame_cache(rig, models), None
        if at is None or not _matches_cache(evaluated, known, at):
            _solve_frame(scene, rig, evaluated, known, models)
        elif at.is_held:
            for loop in live_loops(rig):
                if isinstance(loop, LiveLoop):
                    loop.hold()


def _matches_cache(evaluated: bpy.types.Object, known: FrameCache, at: CachedFrame) -> bool:
    """Return whether a rig was evaluated to the cached solution of a frame."""
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
    """Solve the loops for the evaluated input joints at a frame, and cache the solution."""
    loops = _intact_loops(rig)
    for loop in loops:
        loop.follow(evaluated)
    now, written = known.numbers.read(evaluated), known.numbers.read(rig)
    if known is not _frame_cache(rig, models) or now is None or written is None:
        return
    posed = np.zeros(known.numbers.size, dtype=bool)
    for loop in loops:
        if isinstance(loop, RigidLoop):
            if loop.is_moved:
                return
        elif loop.state is not None and loop.state.found is not None:
            for joint in loop.channels.keys() - loop.state.given.keys():
                posed[known.numbers.rows[joint]] = True
    if (now[posed] != written[posed]).any():
        rig.update_tag()  # the depsgraph of a render or exporter, which cannot be reached before the frame
    states = tuple(loop.state if isinstance(loop, LiveLoop) else None for loop in loops)
    if is_foreign(rig):
        return  # ``foreach_set`` skips linked rigs: they are followed after each frame
    (given,) = known.numbers.chosen(written[None], posed)
    known.keep(scene.frame_current_final, CachedFrame(np.where(posed, written, now), given, states))


def _cached_frame(
    scene: bpy.types.Scene, rig: bpy.types.Object, models: SceneModels
) -> tuple[FrameCache, CachedFrame | None]:
    """Return the cache of a rig and its solution at the present frame, or None.

    A missing solution is computed if curves determine it, during playback for the following frames too.
    """
    frame, state = scene.frame_current_final, state_of(_RigLoops, rig)
    last, step = state.frame_step or (frame, 0.0)
    steady = frame != last and frame - last == step
    state.frame_step = frame, frame - last
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
    """Return the solutions of a rig's loops at frames, as determined by curves; empty if they do not."""
    loops, base = known.loops, known.numbers.read(rig)
    predicted = [loop.states_at(frames) for loop in loops]
    if base is None or any(states is None for states in predicted):
        return []
    numbers, posed = np.tile(base, (len(frames), 1)), np.zeros(known.numbers.size, dtype=bool)
    for loop, states in zip(loops, predicted, strict=True):
        if not isinstance(loop, LiveLoop) or states is None:
            continue
        for joint in states[0].given:
            numbers[:, known.numbers.rows[joint]] = [state.given[joint] for state in states]
        found = [state.found for state in states if state.found is not None]
        if not found:
            continue
        if len(found) < len(states):
            return []  # at some frames keyframes pose all joints, which cannot be predicted
        values = np.array([each.values for each in found])
        for joint in loop.channels.keys() - states[0].given.keys():
            place = known.numbers.rows[joint]
            numbers[:, place] = loop.numbers(joint, values[:, found[0].columns[joint]])
            posed[place] = True
    every = zip(numbers, known.numbers.chosen(numbers, posed), zip(*predicted, strict=True), strict=True)
    return [CachedFrame(*each) for each in every]


def before_update(models: SceneModels) -> None:
    """Follow input joints that are posed by hand, before Blender evaluates that: it need not do so twice."""
    for rig in _rigs_with_loops(models):
        for loop in _intact_loops(rig):
            loop.follow(rig)


def after_update(depsgraph: bpy.types.Depsgraph, models: SceneModels) -> None:
    """Follow input joints after a change of poses.

    The loops detect themselves whether their inputs moved: Blender's updates list everything that a pose carries, one
    by one.
    """
    for rig in _rigs_with_loops(models):
        evaluated = rig.evaluated_get(depsgraph)
        for loop in live_loops(rig):  # intact, see ``before_update``
            loop.follow(evaluated)


@persistent
def after_load(*_args: Any) -> None:
    """Evaluate loops of an opened .blend once all other ``load_post`` handlers have run.

    Drivers may call functions that an add-on registers only then, and drivers that fail once stay off.
    """
    calls = bpy.app.handlers.load_post
    if _evaluate_opened not in calls:
        calls.append(_evaluate_opened)  # Blender also calls a handler that is added meanwhile


@persistent
def _evaluate_opened(*_args: Any) -> None:
    """Trigger handlers for the first evaluation of the frame with which a .blend opens.

    Note:
        Blender evaluates animation after ``load_post``, and calls no ``depsgraph_update_post`` for depsgraphs that it
        creates then (4.2 to 5.2): keyframes short of which a loop is held would be shown. It does call it for
        depsgraphs that exist and are tagged, and evaluates again what that sets. ``frame_set`` in place of the update
        does not do: the first evaluation of a depsgraph is not written to the .blend's objects, so that nothing is
        tagged where loops are held.
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
    for rig in () if is_solver_suspended() else models.every:
        if live_loops(rig) and rig.mode != "EDIT":
            yield rig


def _frame_cache(rig: bpy.types.Object, models: SceneModels) -> FrameCache:
    """Return the cache of a rig's loop solutions since the last change."""
    loops, every = live_loops(rig), models.kept
    known: FrameCache | None = every.get(rig.session_uid)
    if known is None or known.loops is not loops:
        joints = [each for loop in loops for each in loop.channels.items()]
        known = every[rig.session_uid] = FrameCache(loops, PoseValues(rig, joints))
    return known


def _intact_loops(rig: bpy.types.Object) -> list[LiveLoop | RigidLoop]:
    """Return the loops of a rig, gathered again if one of their bones was renamed or deleted, or a part deleted."""
    loops = live_loops(rig)
    bones = rig.pose.bones
    if state_of(_RigLoops, rig).size != _part_count(rig) or any(
        channel.bone not in bones for loop in loops for each in loop.channels.values() for channel in each
    ):
        invalidate_loops(rig)
        loops = live_loops(rig)
    return loops


def invalidate_loops(rig: bpy.types.Object | None = None) -> None:
    """Invalidate the gathered loops of a rig, or (None) of all rigs."""
    if rig is None:
        end_state(_RigLoops)
    else:
        state = state_of(_RigLoops, rig)
        state.loops = state.present = None
