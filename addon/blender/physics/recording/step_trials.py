"""Trial simulations that select substeps and iterations: half a second of falling, and of tracking the servos' targets.

Where the formula of ``world.solver_settings`` asks for no more than the least, nothing is measured. Otherwise it is the
upper bound, for a worst case that most mechanisms never meet: trials go from the least steps up, until joint
separation, tilt and tracking errors are small enough. The selection is stored with the mechanism, with a checksum of
what it depends on.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager

import bpy
import numpy as np

from ....core.accuracy import (
    QUALITIES,
    StepSelection,
    StepSetting,
    StepTrial,
    candidate_settings,
    climb,
    format_two_digits,
    next_setting,
)
from ....core.report import Message
from ....core.run_metrics import PathShift
from ...compat import action_curves, action_slot, restore_action, use_action
from ...data.access import armature_of, settings
from ...data.properties.model import KnuckleSteps
from ..simulation.recording import Recording, SimulationError, update_body_key_constraints
from ..world.membership import simulated_rigs
from ..world.rigidbody_world import (
    first_frame,
    frame_rate,
    has_own_settings,
    solver_applied,
    solver_of,
    steps_applied,
)
from ..world.solver_settings import (
    required_solver_settings,
    selected_steps,
    simulated_drives,
    simulation_key,
    softness_message,
    store_selection,
)
from .accuracy import accuracy_of_recording, measure_path_shift, store_path_shift

#: Duration of a trial (s), and the CPU time (s) of all mechanisms' trials after which no more are made.
TRIAL_SECONDS, _BUDGET = 0.5, 2.0
#: Duration (s) over which a path shift is measured.
PATH_SECONDS = 1.0

#: Records a mechanism up to a frame (``recording.bake.record_steps``).
Recorder = Callable[[bpy.types.Scene, bpy.types.Object, int], Generator[tuple[int, int], None, Recording]]
TrialSteps = Generator[tuple[int, int], None, None]


def select_steps(
    scene: bpy.types.Scene, rigs: Sequence[bpy.types.Object], quality: str, record: Recorder, again: bool = False
) -> TrialSteps:
    """Select the substeps and iterations of mechanisms for a quality, where that is not done yet.

    The world's settings, the drives and the frame are as before at the end, also when it is closed before.

    Args:
        scene: The scene that simulates them.
        rigs: The mechanisms.
        quality: Identifier of the quality.
        record: Records a simulation.
        again: Whether to measure even what is known.

    Yields:
        Counts of done and all frames of the present trial.
    """
    tried = [
        rig for rig in rigs if lacks_selection(rig, quality) or (again and required_solver_settings(rig).is_worst_case)
    ]
    for rig in tried:
        most = required_solver_settings(rig)
        candidates = candidate_settings(most.least, StepSetting(most.steps, most.iterations))
        if not candidates:
            continue
        drives, key = simulated_drives(rig), simulation_key(rig)
        for drive in drives:
            bound, budget = StepSetting(most.steps, most.iterations), _BUDGET / (len(drives) * len(tried))
            climbing = climb(candidates, bound, QUALITIES[quality], budget)
            setting = next(climbing)
            while True:
                trial = yield from _trial(scene, rig, setting, record, drive)
                try:
                    setting = climbing.send(trial)
                except StopIteration as end:
                    store_selection(rig, quality, drive, end.value, key)
                    break


def lacks_selection(rig: bpy.types.Object, quality: str) -> bool:
    """Return whether trials would be made for a quality of a mechanism: none were, and the least is not enough."""
    return required_solver_settings(rig).is_worst_case and selected_steps(rig, quality) is None


def _trial(
    scene: bpy.types.Scene, rig: bpy.types.Object, setting: StepSetting, record: Recorder, drive: str
) -> Generator[tuple[int, int], None, StepTrial]:
    """Simulate half a second in a drive with a number of steps and iterations, and return the largest errors.

    A simulation that diverges has infinite ones.
    """
    count = max(math.ceil(TRIAL_SECONDS * frame_rate(scene)), 2)
    with _temporary_settings(scene, rig, setting, drive):
        start = time.process_time()
        try:
            recording, running = yield from _timed(record(scene, rig, first_frame(scene) + count))
            found = _errors(scene, recording, setting)
        except SimulationError:
            if scene.rigidbody_world is None:
                raise
            found, running = (math.inf, 0.0, 0.0, 0.0, 0.0), 0.0  # it diverged
        spent = time.process_time() - start
    return StepTrial(*found, running / TRIAL_SECONDS, spent)


def _timed(
    steps: Generator[tuple[int, int], None, Recording],
) -> Generator[tuple[int, int], None, tuple[Recording, float]]:
    """Run the steps of a recording; return it with the CPU time (s) from the first frame on."""
    with closing(steps):
        start = None
        while True:
            try:
                done = next(steps)
            except StopIteration as end:
                return end.value, time.process_time() - (start or 0.0)
            start = time.process_time() if start is None else start
            yield done


def _errors(
    scene: bpy.types.Scene, recording: Recording, setting: StepSetting
) -> tuple[float, float, float, float, float]:
    """Return the largest separation, tilt, tracking error, rotation within a step and energy, as in ``StepTrial``."""
    accuracy = accuracy_of_recording(scene, recording)
    joints = accuracy.joints
    errors = [joint.tracking_error for joint in joints if joint.is_revolute and not math.isnan(joint.tracking_error)]
    turns = recording.poses[:, :-1, :3, :3]
    between = np.einsum("tnij,tnij->tn", turns[1:], turns[:-1])  # the trace: 1 + 2 cos of the angle
    angles = np.arccos(np.clip((between - 1.0) / 2.0, -1.0, 1.0))
    return (
        max((joint.share for joint in joints), default=0.0),
        max((joint.tilt for joint in joints), default=0.0),
        max(errors, default=0.0),
        float(angles.max(initial=0.0)) * frame_rate(scene) / setting.steps,
        0.0 if math.isnan(accuracy.energy_gained) else max(accuracy.energy_gained, 0.0),
    )


@contextmanager
def _temporary_settings(
    scene: bpy.types.Scene, rig: bpy.types.Object, setting: StepSetting, drive: str
) -> Iterator[None]:
    kept = settings(rig).drive
    with solver_applied(scene, max(math.ceil(setting.steps / frame_rate(scene) - 1e-6), 1), setting.iterations):
        _set_drive(rig, drive)
        try:
            yield
        finally:
            if scene.rigidbody_world is not None:
                _set_drive(rig, kept)


def _set_drive(rig: bpy.types.Object, drive: str) -> None:
    if settings(rig).drive != drive:
        settings(rig).drive = drive


def raise_steps(rig: bpy.types.Object, quality: str, share: float) -> bool:
    """Select more steps where a simulation with the selected ones was not good enough; return whether that is so.

    Args:
        rig: The armature object.
        quality: Identifier of the quality that the simulation had.
        share: Its largest joint separation, as a share of the link's length.
    """
    found, limit = selected_steps(rig, quality), QUALITIES[quality].separation
    if found is None or not share > limit:
        return False
    required = required_solver_settings(rig)
    most, now = StepSetting(required.steps, required.iterations), StepSetting(round(found.steps), found.iterations)
    if now.cost >= most.cost:
        return False
    setting = next_setting(candidate_settings(required.least, most), now, share / limit) or most
    store_selection(rig, quality, found.drive, StepSelection(setting, None), found.key)
    return True


# ------------------------------------------------------------------ path shift


def path_shift_steps(
    scene: bpy.types.Scene, rig: bpy.types.Object, record: Recorder, recording: Recording | None = None
) -> Generator[tuple[int, int], None, PathShift]:
    """Simulate a second with the world's substeps, and with twice as many, and measure how far paths move.

    Args:
        scene: The scene that simulates it.
        rig: The mechanism.
        record: Records a simulation.
        recording: A simulation with the world's substeps, if there is one; it may be longer or shorter.

    Yields:
        Counts of done and all frames.
    """
    count = math.ceil(PATH_SECONDS * frame_rate(scene))
    if recording is not None:
        count = min(count, len(recording.frames) - 1)
    last, runs = first_frame(scene) + count, 1 if recording is not None else 2
    if recording is None:
        recording = yield from counted_steps(record(scene, rig, last), runs)
    substeps, iterations = solver_of(scene, list(simulated_rigs(scene)))
    with solver_applied(scene, 2 * substeps, iterations):
        finer = yield from counted_steps(record(scene, rig, last), runs, runs - 1)
    return measure_path_shift(scene, recording, finer)


def counted_steps(
    steps: Generator[tuple[int, int], None, Recording], runs: int, number: int = 0
) -> Generator[tuple[int, int], None, Recording]:
    """Run the steps of a recording as number ``number`` of several, with counts of the frames of all."""
    with closing(steps):
        while True:
            try:
                done, total = next(steps)
            except StopIteration as end:
                return end.value
            yield number * total + done, runs * total


def convergence_steps(scene: bpy.types.Scene, rig: bpy.types.Object, record: Recorder) -> TrialSteps:
    """Measure the path shift of the simulation that was baked last, and store it with its other figures.

    It is simulated from the Action and with the drive from which it was baked. The drive, the Action and the frame are
    as before at the end, also when it is closed before.

    Args:
        scene: The scene that simulates it.
        rig: The mechanism.
        record: Records a simulation.

    Yields:
        Counts of done and all frames.
    """
    rigs = list(simulated_rigs(scene))
    with as_before_bake(scene, rig):
        if has_own_settings(scene) and settings(rig).drive != "KEYS":
            for _ in select_steps(scene, rigs, "BAKE", record):
                yield 0, 1
        with steps_applied(scene, rigs, "BAKE"):
            shift = yield from path_shift_steps(scene, rig, record)
    store_path_shift(rig, shift)


@contextmanager
def as_before_bake(scene: bpy.types.Scene, rig: bpy.types.Object) -> Iterator[None]:
    """Context manager in which a mechanism has the Action and the drive from which it was baked last.

    Where no Action was assigned, it begins with the pose of the baked one.
    """
    kept, drive, frame = settings(rig).accuracy, settings(rig).drive, (scene.frame_current, scene.frame_subframe)
    is_keyed = not kept.drive
    data = rig.animation_data_create()  # that which it has, if any
    action, slot = data.action, action_slot(data)
    if is_keyed:
        _mute_drive_keys(rig, False)
    scene.frame_set(first_frame(scene))
    use_action(rig, kept.source)
    if not is_keyed:
        _set_drive(rig, kept.drive)
    update_body_key_constraints(rig)
    try:
        yield
    finally:  # an undo meanwhile leaves no valid reference: that to the armature is used first
        if is_keyed:
            _mute_drive_keys(rig, True)
        _set_drive(rig, drive)
        restore_action(rig.animation_data_create(), action, slot)
        update_body_key_constraints(rig)
        scene.frame_set(frame[0], subframe=frame[1])


def _mute_drive_keys(rig: bpy.types.Object, mute: bool) -> None:
    """Mute the keyframes of a mechanism's drive, as a bake does, or let them have effect."""
    armature = armature_of(rig)
    action = armature.animation_data.action if armature.animation_data is not None else None
    for curve in () if action is None else action_curves(armature, action, create=False) or ():
        if curve.data_path == "knuckle.drive":
            curve.mute = mute


# ------------------------------------------------------------------ text


def selection_lines(rig: bpy.types.Object) -> list[str]:
    """Return lines on a mechanism's settings: for each quality that was measured, and where joints are too soft."""
    playing, baking = selected_steps(rig, "PREVIEW"), selected_steps(rig, "BAKE")
    lines: list[str] = []
    for label, quality in (("Playing: {}", "PREVIEW"), ("Baking: {}", "BAKE")):
        softer = softness_message(rig, required_solver_settings(rig, quality).steps)
        if softer:
            lines.append(Message(label, softer))
    if playing is not None:
        lines.append(Message("Playing: {}", _selection_text(playing)))
    if baking is not None:
        lines.append(Message("Baking: {}", _selection_text(baking)))
    return lines


def _selection_text(found: KnuckleSteps) -> str:
    if found.separation < 0.0:
        return Message("{} steps per second, {} iterations", f"{found.steps:.0f}", found.iterations)
    return Message(
        "{} steps per second, {} iterations, joint separation {} %, {} times real time",
        f"{found.steps:.0f}",
        found.iterations,
        f"{100.0 * found.separation:.2g}",
        format_two_digits(found.speed),
    )
