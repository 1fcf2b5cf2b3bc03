"""Simulation tasks: models under physics, written as motion files or .blend files."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import bpy
import numpy as np

from ... import formats
from ...core.report import FormatError, Message, Report, format_number
from ...core.run_metrics import BodyDifference, PathShift, SimulationFigures, measure_accuracy, simulation_figures
from ...formats.text.file_io import write_atomically
from ...formats.xmdi import FRAME_SECONDS
from ..animation.gait import current_gait
from ..data.access import record_of, settings
from ..data.queries import parts
from ..physics.actuators.servo_targets import control_law
from ..physics.recording.accuracy import recorded_run, report_accuracy, store_accuracy
from ..physics.recording.bake import Recording, record, record_steps, recorded_motion, write_recording_keys
from ..physics.recording.reference_engine import mujoco_steps, recording_differences
from ..physics.recording.step_trials import path_shift_steps
from ..physics.simulation.recording import write_body_keys
from ..physics.simulation.setup import build_physics, clear_physics
from ..physics.world.rigidbody_world import frame_rate
from .scenes import (
    ConsoleProgress,
    InputMapping,
    apply_gait_inputs,
    import_model_file,
    key_motion,
    open_empty_scene,
    save_blend,
)

T = TypeVar("T")


def simulate_model(
    scene: bpy.types.Scene,
    rig: bpy.types.Object,
    seconds: float,
    drive: str,
    friction: float | None = None,
    engine: str = "blender",
) -> Recording:
    """Simulate a model for some seconds from the scene's start.

    Args:
        scene: The scene; its end frame is set.
        rig: The model's armature.
        seconds: Duration (s).
        drive: ``SERVO`` or ``LIMP``.
        friction: Friction coefficient of its bodies; None: the model's.
        engine: ``blender`` or ``mujoco``.
    """
    build_physics(scene, rig)
    if friction is not None:
        for obj in parts(rig, "BODY"):
            if obj.rigid_body is not None:
                obj.rigid_body.friction = friction
    settings(rig).drive = drive
    last = scene.frame_start + round(seconds * frame_rate(scene))
    scene.frame_end = last
    return _record(scene, rig, engine, last)


def _record(scene: bpy.types.Scene, rig: bpy.types.Object, engine: str, last: int) -> Recording:
    """Simulate in one of the engines."""
    if engine == "blender":
        return record(scene, rig, last, ConsoleProgress("simulating"))
    try:
        return _run(mujoco_steps(scene, rig, last), "simulating in MuJoCo")
    except FormatError:
        raise
    except ValueError as error:
        raise FormatError(str(error), remedy="Omit --engine and --compare to simulate in Blender.") from error


def _run(steps: Generator[tuple[int, int], None, T], what: str) -> T:
    progress = ConsoleProgress(what)
    while True:
        try:
            progress(*next(steps))
        except StopIteration as end:
            return end.value


def report_simulation(scene: bpy.types.Scene, rig: bpy.types.Object, recording: Recording, report: Report) -> None:
    """Report the travel of the heaviest body and the simulation accuracy."""
    bodies = parts(rig, "BODY")
    if not bodies:
        return
    heaviest = int(np.argmax([record_of(obj).mass for obj in bodies]))
    path = recording.poses[:, heaviest, :3, 3]
    travel = path[-1] - path[0]
    seconds = (len(path) - 1) / frame_rate(scene)
    report.info(
        "run",
        Message(
            "Simulation: {} moved ({}) m in {} s; the largest joint separation was {} m",
            bodies[heaviest].name,
            ", ".join(format_number(each, 2) for each in travel),
            f"{seconds:g}",
            f"{recording.max_joint_separation():.3g}",
        ),
    )
    report_accuracy(rig, report)


@dataclass
class SimulateJob:
    """Arguments of ``simulate``.

    ``gain`` multiplies the gains of all servos, ``friction`` is the coefficient between the bodies and the ground;
    None: the model's. ``all_bodies``: a .blend has keyframes for every body. ``check_convergence``: simulate a second
    with twice the substeps too, and report the path shift. ``engine``: ``blender`` or ``mujoco``. ``compare``: path of
    a table of the differences from the other engine.
    """

    seconds: float
    drive: str = "SERVO"
    motion: Path | None = None
    inputs: InputMapping = field(default_factory=dict)
    mesh_folders: Sequence[str] = ()
    all_bodies: bool = False
    gain: float | None = None
    friction: float | None = None
    check_convergence: bool = False
    engine: str = "blender"
    compare: Path | None = None


def simulate_to_file(model: Path, out: Path | None, job: SimulateJob) -> tuple[Report, SimulationFigures]:
    """Simulate a model; write its servo motion, or a .blend that plays it without physics, or nothing.

    Returns:
        The report, and the figures of the simulation.
    """
    scene = open_empty_scene()
    rig, report = import_model_file(scene, model, job.seconds, job.mesh_folders)
    if job.motion is not None:
        report.extend(key_motion(rig, job.motion, scene))
    apply_gait_inputs(rig, job.inputs, report)
    if job.gain is not None:
        scale_gains(rig, job.gain, report)
    recording = simulate_model(scene, rig, job.seconds, job.drive, job.friction, job.engine)
    if job.engine == "mujoco" or job.compare is not None:
        report.info(
            "mujoco", "MuJoCo: contacts are soft there, and joints are rigid, also where the file has soft ones"
        )
    if job.compare is not None:
        other = _record(scene, rig, "mujoco" if job.engine == "blender" else "blender", scene.frame_end)
        _write_differences(recording_differences(recording, other), job.compare, report)
    run = recorded_run(scene, recording)
    accuracy = measure_accuracy(run)
    if job.check_convergence:
        accuracy = replace(accuracy, path_shift=_path_shift(scene, rig, recording))
    store_accuracy(rig, recording, accuracy)
    report_simulation(scene, rig, recording, report)
    name = f"{record_of(rig).source_name} {job.drive.title()}"
    if out is not None and out.suffix.lower() == ".blend":
        action = write_recording_keys(rig, recording, name)
        if job.all_bodies:
            write_body_keys(rig, recording, action)
        clear_physics(scene, rig)
        scene.frame_set(scene.frame_start)
        save_blend(out)
    elif out is not None:
        report.extend(formats.save_motion(recorded_motion(scene, recording, name, FRAME_SECONDS, whole=True), out))
    figures = simulation_figures(run, accuracy)
    if job.drive == "SERVO" and math.isnan(figures.tracking_error):
        report.info(
            "no-tracking-error",
            "Tracking error: none, no rotating servo has a target position (wheels have a target velocity)",
        )
    return report, figures


def _path_shift(scene: bpy.types.Scene, rig: bpy.types.Object, recording: Recording) -> PathShift:
    return _run(path_shift_steps(scene, rig, record_steps, recording), "checking convergence")


def _write_differences(differences: Sequence[BodyDifference], path: Path, report: Report) -> None:
    """Write a table of the differences between two engines, a row for each body and time; report the largest."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["body", "time (s)", "distance", "angle (rad)"])
    for each in differences:
        rows = zip(each.times, each.distances, each.angles, strict=True)
        writer.writerows([each.name, f"{time:.6g}", f"{far:.6g}", f"{angle:.6g}"] for time, far, angle in rows)
    write_atomically(path, text.getvalue().encode())
    for each in differences[:3]:
        text_of = Message(
            "Blender and MuJoCo: the positions of {} differ by {} m at most", repr(each.name), f"{each.largest:.3g}"
        )
        report.info("mujoco-difference", text_of)


def scale_gains(rig: bpy.types.Object, factor: float, report: Report) -> None:
    """Multiply the gains of all servos of a model; the report warns where they have no effect."""
    if control_law(rig, current_gait(rig) is not None) == "TRACK":
        report.warn(
            "gain-unused", "Gain: no effect, the servos of this model use the control law Track, which has no gain"
        )
    for empty in parts(rig, "JOINT"):
        joint = record_of(empty).joint
        for dof in (*joint.dofs, *joint.parts):
            for name in ("gain", "servo_stiffness", "servo_damping"):
                setattr(dof, name, factor * getattr(dof, name))
