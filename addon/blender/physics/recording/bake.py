"""Bake Simulation: record a simulation and write keyframes of servo values and root motion."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import TypeVar

import bpy
import numpy as np

from ....core.model import DOF_SIZE, Array, Joint, Motion, MotionUnit, Trajectory, dof_slices
from ....core.report import Message, Report
from ....core.transforms import affine_inverse
from ...animation.fcurves import STILL_TOLERANCE
from ...animation.gait import seconds_since_start
from ...animation.keying import LINEAR, key_bone_paths, key_servos
from ...data.access import action_record, armature_of, bone_record, record_of, settings, world_of
from ...data.channels import (
    block_rotation,
    motion_channels,
    root_channels,
    servo_channels,
    servo_names_by_joint,
    settings_curves,
)
from ...data.conversion import add_to_report
from ...data.queries import (
    deleted_armature_message,
    is_in_scene,
    parts,
    simulated_copies,
    simulates_here,
    simulation_scene_of,
)
from ...rig.ball_channels import coordinates_from_keys, nearest_rotation_vectors
from ...rig.joint_frames import design_pose
from ..actuators.joint_state import (
    JointStateArrays,
    bone_coordinates,
    gather_joint_state,
    multi_dof_bone_coordinates,
    unwrap_to,
)
from ..actuators.servo_targets import steps_per_frame
from ..simulation import cached_frames
from ..simulation.recording import (
    Recording,
    SimulationError,
    continuous_quaternions,
    to_recording_units,
    update_body_key_constraints,
    write_body_keys,
)
from ..simulation.session import controller_at, session_of, time_stretched
from ..simulation.setup import build_physics
from ..simulation.simulation_scene import prepare_simulation_scene
from ..world.membership import is_simulated, simulated_elsewhere_message, simulated_rigs, stopped_world_message
from ..world.rigidbody_world import (
    first_frame,
    has_own_settings,
    match_scene_timing,
    reset_cache,
    step_rate,
    steps_applied,
)
from ..world.scale import report_distortion
from .accuracy import accuracy_of_recording, store_accuracy
from .step_trials import raise_steps, select_steps

ProgressCallback = Callable[[int, int], None]
T = TypeVar("T")
StepGenerator = Generator[tuple[int, int], None, T]


def record(
    scene: bpy.types.Scene, rig: bpy.types.Object, last: int | None = None, progress: ProgressCallback | None = None
) -> Recording:
    """Simulate from the first frame to ``last`` and record the mechanism's bodies.

    The scene's frame is restored. ``progress(done, total)`` may raise to stop, which leaves nothing behind.
    """
    return _run_steps(record_steps(scene, rig, last), progress)


def record_steps(scene: bpy.types.Scene, rig: bpy.types.Object, last: int | None = None) -> StepGenerator[Recording]:
    """Simulate and record as ``record`` does, pausing after every frame.

    Closed before the end, it leaves the scene as it was.

    Yields:
        Counts of done and all frames, for callers that update the interface meanwhile.

    Raises:
        ValueError: The mechanism's physics is in another scene, the world takes no steps, or there are no frames.
        RunError: The world was removed during the simulation, or a pose is not finite.
    """
    _prepare_simulation(scene, rig)
    match_scene_timing(scene)
    scaled = Report()
    report_distortion(rig, scaled)
    add_to_report(rig, scaled, {"scaled-unevenly"})
    first = first_frame(scene)
    last = scene.frame_end if last is None else last
    if last < first:
        raise ValueError(
            Message("Frame range: physics begins at frame {}, after the last frame {}. Choose a later end", first, last)
        )
    frames = np.arange(first, last + 1, dtype=np.float64)
    poses, values, lifts, targets, several, drives = [], [], [], [], [], []
    with (
        _stepped_scene(scene, rig) as (stepped, moved, steps),
        _cache_range(stepped, first, first + (last - first) * steps),
    ):
        before = stepped.frame_current, stepped.frame_subframe
        try:
            reset_cache(stepped)
            rate = step_rate(stepped)
            for number in range((last - first) * steps + 1):
                stepped.frame_set(first + number)
                if stepped.rigidbody_world is None:
                    raise SimulationError(
                        "The rigid-body world was removed during the simulation", remedy="Simulate again."
                    )
                if number == 0:
                    joint_state = gather_joint_state(moved)
                    begun, others = bone_coordinates(joint_state), multi_dof_bone_coordinates(joint_state)
                pose = joint_state.poses()
                _require_finite(joint_state, pose, first + number // steps)
                poses.append(pose)
                values.append(joint_state.coordinates(pose))
                if number % steps == 0:
                    lifts.append(settings(moved).ground_offset)
                    run = controller_at(stepped, moved, first + number)
                    targets.append(np.full(len(joint_state.joints), np.nan) if run is None else run.servo_targets)
                    several.append({} if run is None else run.multi_dof_targets)
                    drives.append(settings(rig).drive if run is None else run.drive)
                    yield len(drives), len(frames)
        finally:
            reset_cache(stepped)
            cached_frames.invalidate_run(stepped)
            stepped.frame_set(before[0], subframe=before[1])
    track = np.array(values).reshape(len(values), len(joint_state.joints))
    track[0] = unwrap_to(track[0], begun, joint_state.turns)
    track[:, joint_state.turns] = np.unwrap(track[:, joint_state.turns], axis=0)  # whole turns are counted step by step
    servo_targets = np.array(targets).reshape(len(targets), len(joint_state.joints))
    every, size, scales = to_recording_units(np.array(poses))
    return Recording(
        joint_state if moved == rig else gather_joint_state(rig),
        frames,
        every[::steps],
        track[::steps],
        np.array(lifts) / size,
        servo_targets,
        drives,
        size,
        scales,
        _stack_commands(several),
        others,
        every if steps > 1 else None,
        rate,
    )


def _prepare_simulation(scene: bpy.types.Scene, rig: bpy.types.Object) -> None:
    """Build the physics of a mechanism if it has none; raise ValueError where the scene cannot simulate it."""
    why = "" if is_in_scene(scene, rig) else deleted_armature_message(rig)
    why = why or simulated_elsewhere_message(scene, rig) or stopped_world_message(scene)
    if not why and not parts(rig, "BODY"):
        why = "The mechanism has no bodies"
    if why:
        raise ValueError(why)
    if not is_simulated(rig, scene):
        build_physics(scene, rig)


@contextmanager
def _stepped_scene(
    scene: bpy.types.Scene, rig: bpy.types.Object
) -> Iterator[tuple[bpy.types.Scene, bpy.types.Object, int]]:
    """Context manager with the scene that is stepped, the mechanism in it, and the count of its steps for each frame.

    A simulation that began at a later frame than the first is begun there again at the end.
    """
    if simulates_here(scene):
        steps = steps_per_frame(scene, rig)
        with time_stretched(scene, steps):
            yield scene, rig, steps
        return
    session, before = session_of(scene), simulation_scene_of(scene)
    begin = 0 if before is None else before.frame_start
    simulation = prepare_simulation_scene(scene)
    session.is_internal = True
    try:
        yield simulation, simulated_copies(simulation)[rig], session_of(simulation).stretch
    finally:
        session.is_internal = False
        if begin > first_frame(scene):
            prepare_simulation_scene(scene, begin)


def _require_finite(joint_state: JointStateArrays, poses: Array, frame: int) -> None:
    """Raise ``SimulationError`` where poses (bodies + 1, 4, 4) are not finite."""
    lost = np.flatnonzero(~np.isfinite(poses).all(axis=(1, 2)))
    if not len(lost):
        return
    name = repr(joint_state.bodies[lost[0]].name) if lost[0] < len(joint_state.bodies) else "the mechanism"
    more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
    raise SimulationError(
        f"The simulation diverged at frame {frame}: no finite position of {name}{more}",
        remedy="Look for overlapping bodies, very unequal masses, or too few substeps (Measure Again)",
    )


def _stack_commands(commands: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
    """Return the targets (n, size) of servos with several degrees of freedom by joint, from those at each frame."""
    sizes = {joint: len(values) for each in commands for joint, values in each.items()}
    return {
        joint: np.array([each.get(joint, np.full(size, np.nan)) for each in commands]) for joint, size in sizes.items()
    }


def _run_steps(steps: StepGenerator[T], progress: ProgressCallback | None) -> T:
    with closing(steps):
        while True:
            try:
                done, total = next(steps)
            except StopIteration as end:
                return end.value
            if progress is not None:
                progress(done, total)


@contextmanager
def _cache_range(scene: bpy.types.Scene, first: int, last: int) -> Iterator[None]:
    cache = world_of(scene).point_cache
    kept = cache.frame_start, cache.frame_end
    cache.frame_start, cache.frame_end = min(first, kept[0]), max(last, kept[1])
    try:
        yield
    finally:
        world = scene.rigidbody_world  # it may have been removed meanwhile
        if world is not None and (world.point_cache.frame_start, world.point_cache.frame_end) != kept:
            world.point_cache.frame_start, world.point_cache.frame_end = kept


def bake(
    scene: bpy.types.Scene,
    rig: bpy.types.Object,
    last: int | None = None,
    name: str | None = None,
    progress: ProgressCallback | None = None,
    all_bodies: bool = False,
) -> tuple[bpy.types.Action, Recording]:
    """Simulate and write keyframes into a new Action; the mechanism's drive is then Keyframes.

    The previous Action is not changed and stays in the file. Where the drive is keyed, its F-curve is muted. The
    accuracy of the simulation is stored with the mechanism.

    Args:
        scene: The scene.
        rig: The armature object.
        last: Last frame; None for the scene's.
        name: Name of the Action.
        progress: Called with counts of done and all frames; may raise to stop.
        all_bodies: Write a second Action with keyframes for every body, which then plays exactly as simulated, joint
            separation included.
    """
    return _run_steps(bake_steps(scene, rig, last, name, all_bodies), progress)


def bake_steps(
    scene: bpy.types.Scene,
    rig: bpy.types.Object,
    last: int | None = None,
    name: str | None = None,
    all_bodies: bool = False,
) -> StepGenerator[tuple[bpy.types.Action, Recording]]:
    """Bake as ``bake`` does, pausing after every frame like ``record_steps``."""
    _prepare_simulation(scene, rig)
    rigs = list(simulated_rigs(scene))
    if has_own_settings(scene) and settings(rig).drive != "KEYS":
        for _ in select_steps(scene, rigs, "BAKE", record_steps):
            yield 0, 1
    while True:
        with steps_applied(scene, rigs, "BAKE"):
            recording = yield from record_steps(scene, rig, last)
        accuracy = accuracy_of_recording(scene, recording)
        if not raise_steps(rig, "BAKE", max((joint.share for joint in accuracy.joints), default=0.0)):
            break
    store_accuracy(rig, recording, accuracy)
    action = write_recording_keys(rig, recording, name or f"{record_of(rig).source_name} Bake")
    if all_bodies:
        write_body_keys(rig, recording, action)
    switch = settings_curves(rig).get(("knuckle.drive", 0))
    if switch is not None:
        switch.mute = True  # its keyframes stay, for another simulation
    settings(rig).drive = "KEYS"
    update_body_key_constraints(rig)
    return action, recording


def write_recording_keys(rig: bpy.types.Object, recording: Recording, name: str) -> bpy.types.Action:
    """Create an Action with a recording's joint values and root motion and assign it to the armature."""
    joint_state = recording.joint_state
    tracks = {joint: (recording.frames, recording.values[:, k], LINEAR) for k, joint in enumerate(joint_state.joints)}
    action = key_servos(rig, name, tracks | multi_dof_tracks(rig, recording), between=False)
    key_bone_paths(rig, action, recording.frames, root_paths(rig, recording))
    action_record(action).kind = "BAKE"
    return action


def multi_dof_tracks(rig: bpy.types.Object, recording: Recording) -> dict[str, tuple[Array, Array, int]]:
    """Return frames, joint values (n, size) and interpolation of joints with bones and several degrees of freedom."""
    boned = servo_channels(rig)
    poses = recording.without_ground_offset()
    return {
        item.joint.id: (
            recording.frames,
            _unwrap_coordinates(item.joint, item.coordinates(poses), recording.begun.get(item.joint.id)),
            LINEAR,
        )
        for item in recording.joint_state.multi_dof_joints
        if item.joint.id in boned
    }


def _unwrap_coordinates(joint: Joint, values: Array, begun: Array | None) -> Array:
    """Return joint values (n, size) with angles and rotation vectors unwrapped beyond half a turn.

    Angles have the whole turns of the initial values ``begun`` (size,).
    """
    for dof, own in dof_slices(joint.dofs):
        if dof.kind in {"rotation", "screw"}:
            if begun is not None and dof.kind == "rotation":
                values[:1, own] = unwrap_to(values[:1, own], begun[own], np.ones(1, dtype=bool))
            values[:, own] = np.unwrap(values[:, own], axis=0)
        turn = values[:, own][:, :3]  # a view
        for k in range(1, len(values) if DOF_SIZE[dof.kind] > 1 else 0):
            turn[k : k + 1] = nearest_rotation_vectors(turn[k : k + 1], turn[k - 1 : k])
    return values


def recorded_coordinates(rig: bpy.types.Object, recording: Recording) -> dict[tuple[str, int], tuple[Array, Array]]:
    """Return recorded frames (n,) and values (n,) of each joint value, by joint id and index."""
    driven = {
        (joint, 0): (recording.frames, recording.values[:, k]) for k, joint in enumerate(recording.joint_state.joints)
    }
    for joint, (frames, values, _how) in multi_dof_tracks(rig, recording).items():
        driven |= {(joint, number): (frames, column) for number, column in enumerate(values.T)}
    for root, values in root_tracks(rig, recording).items():
        driven |= {(root, number): (recording.frames, column) for number, column in enumerate(values.T)}
    return driven


def root_tracks(rig: bpy.types.Object, recording: Recording) -> dict[str, Array]:
    """Return recorded values (n, 6) of the root motion, by the keys of ``root_channels``."""
    paths = root_paths(rig, recording)
    return {
        root: coordinates_from_keys(*paths[own[0].bone], block_rotation(rig, own[0].bone), is_reversed=False, free=True)
        for root, own in root_channels(rig).items()
        if own[0].bone in paths
    }


def root_paths(rig: bpy.types.Object, recording: Recording) -> dict[str, tuple[Array | None, Array]]:
    """Return locations (n, 3) and quaternions (n, 4) of the bones that carry root bodies, by bone name."""
    bodies = recording.joint_state.bodies
    place = {obj.parent_bone: number for number, obj in enumerate(bodies) if obj.parent_type == "BONE"}
    to_model = affine_inverse(recording.without_ground_offset()[:, -1])
    paths: dict[str, tuple[Array | None, Array]] = {}
    for bone in armature_of(rig).bones:
        if not bone_record(bone).root or bone.name not in place:
            continue
        rest, number = np.array(bone.matrix_local, dtype=np.float64), place[bone.name]
        moved = to_model @ recording.poses[:, number] @ affine_inverse(design_pose(bodies[number]))
        channels = affine_inverse(rest) @ moved @ rest
        paths[bone.name] = channels[:, :3, 3], continuous_quaternions(channels[:, :3, :3])
    return paths


def recorded_motion(
    scene: bpy.types.Scene,
    recording: Recording,
    name: str,
    step: float | None = None,
    whole: bool = False,
) -> Motion:
    """Convert a recording to a Motion of its servos, time 0 at the scene's first frame.

    Args:
        scene: The scene of the simulation.
        recording: The recording.
        name: The motion's name.
        step: Time step (s) at which values are sampled, linearly between the simulated frames; None for these frames.
        whole: Add the joints that no servo drives (balls, free joints) and the root motion of roots that move.
    """
    rig, joint_state = recording.joint_state.rig, recording.joint_state
    names = servo_names_by_joint(rig)
    at = seconds_since_start(scene, recording.frames)
    times = at if step is None else np.arange(np.floor(at[-1] / step + 1e-9) + 1.0) * step
    turning = np.asarray(joint_state.turns, dtype=bool)
    tracks: list[Trajectory] = []

    def add(called: str, values: Array, turns: bool, root: bool = False) -> None:
        unit: MotionUnit = "rad" if turns else "m"
        tracks.append(Trajectory(called, times.copy(), np.interp(times, at, values), unit=unit, root=root))

    for number, joint in enumerate(joint_state.joints):
        add(names[joint][0], recording.values[:, number], bool(turning[number]))
    if whole:
        did = recorded_coordinates(rig, recording)
        for joint, own in motion_channels(rig).items():
            runs = [did[joint, channel.dof_index][1] for channel in own if (joint, channel.dof_index) in did]
            stands = own[0].is_root and np.abs(runs).max(initial=0.0) <= STILL_TOLERANCE
            if joint not in joint_state.joints and len(runs) == len(own) and not stands:
                for channel, values in zip(own, runs, strict=True):
                    add(channel.name, values, channel.is_angle, channel.is_root)
    return Motion(name, tracks)
