"""Video tasks: models rendered to videos and pictures, at once or in parts, and the demo."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import bpy

from ... import formats
from ...core.report import FormatError, Report
from ...formats.text.file_io import make_folder
from ...formats.xmdi import FRAME_SECONDS
from ..animation.gait import bake_gait, current_gait, plays_baked_gait
from ..compat import is_software_rendering
from ..data.access import settings
from ..data.queries import parts, rigs_in
from ..physics.recording.bake import bake, recorded_motion
from ..physics.simulation.setup import build_physics
from ..physics.world.rigidbody_world import frame_rate
from ..rendering.farm_jobs import open_stage, prepare
from ..rendering.frames import render_frames, resumable_frames
from ..rendering.options import FilmOptions
from ..rendering.playback import make_schedule
from ..rendering.temporary_studio import stdout_silenced
from ..rendering.video import encode, film
from ..rendering.video_state import read_video_state
from ..scene.read.mechanism import extract
from .runs import report_simulation
from .scenes import (
    ConsoleProgress,
    InputMapping,
    apply_gait_inputs,
    import_model_file,
    key_motion,
    open_empty_scene,
    save_blend,
)


@dataclass
class RenderJob:
    """Arguments of ``render``; None: chosen by default. ``film`` are keyword arguments of ``FilmOptions``."""

    film: Mapping[str, Any] = field(default_factory=dict)
    seconds: float | None = None
    drive: str | None = None
    motion: Path | None = None
    inputs: InputMapping = field(default_factory=dict)
    mesh_folders: Sequence[str] = ()

    def options(self) -> FilmOptions:
        """Return the options of the video."""
        return FilmOptions(progress=ConsoleProgress("filming"), **self.film)


def render_to_file(model: Path, out: Path, job: RenderJob) -> Report:
    """Render a model file, or the mechanisms of a .blend, to a video or a picture."""
    _scene, rigs, report = _set_up_models(model, job)
    bodies = [obj for rig in rigs for obj in parts(rig, "BODY")]
    report.extend(film(bpy.context, bodies, str(out), job.options()))
    return report


def count_video_frames(model: Path, job: RenderJob) -> int:
    """Return the number of frames of a model's video, without playing it."""
    scene, _rigs, _report = _set_up_models(model, job)
    return len(make_schedule(scene, job.options(), poster=False).rendered)


def prepare_video(model: Path, stage: Path, job: RenderJob) -> tuple[Report, dict[str, Any]]:
    """Write the stage of a video, whose frames can then be rendered anywhere.

    Returns:
        The report, and the video's number of frames, frame rate and size.
    """
    _scene, rigs, report = _set_up_models(model, job)
    if len(rigs) > 1:
        raise FormatError(
            "the scene has several mechanisms", path=str(model), remedy="Keep one: a video in parts shows one."
        )
    collection = settings(rigs[0]).collection
    video = prepare(collection, bpy.context, job.options(), str(stage), report)
    return report, {"frames": video.frames, "fps": video.fps, "size": list(video.size)}


def render_stage(stage: Path, folder: Path, first: int, last: int) -> list[str]:
    """Render frames of a stage into a folder; frames after its last are left out.

    Returns:
        The paths of the pictures.
    """
    open_empty_scene()
    scene = open_stage(str(stage))
    last = min(last, read_video_state(scene).frames)
    if first > last:
        return []
    return render_frames(scene, first, last, str(folder), ConsoleProgress("rendering"))


def encode_frames(folder: Path, out: Path, fps: float | None, stage: Path | None) -> int:
    """Make a video of the pictures in a folder, at the given frame rate or that of a stage.

    Returns:
        The number of frames.
    """
    open_empty_scene()
    if fps is not None:
        return encode(str(folder), str(out), fps)
    video = read_video_state(open_stage(str(stage)))
    return encode(str(folder), str(out), video.fps, video.frames)


def _set_up_models(model: Path, job: RenderJob) -> tuple[bpy.types.Scene, list[bpy.types.Object], Report]:
    """Set up a scene in which the mechanisms of a file move as the job demands.

    Returns:
        The scene, the armatures and the report.
    """
    if model.suffix.lower() == ".blend":
        return _open_and_set_up(model, job)
    seconds = job.seconds or 8.0
    scene = open_empty_scene()
    rig, report = import_model_file(scene, model, seconds, job.mesh_folders)
    drive = job.drive or ("KEYS" if job.motion is not None or current_gait(rig) is None else "SERVO")
    scene.frame_end = scene.frame_start + round(seconds * frame_rate(scene))
    apply_job(scene, rig, job, drive, report)
    return scene, [rig], report


def apply_job(scene: bpy.types.Scene, rig: bpy.types.Object, job: RenderJob, drive: str | None, report: Report) -> None:
    """Make a mechanism move as the job demands, over the scene's range; with its own drive where ``drive`` is None."""
    if job.motion is not None:
        end = scene.frame_end
        report.extend(key_motion(rig, job.motion, scene))
        if job.seconds is not None:
            scene.frame_end = end  # the duration asked for, not that of the motion
    apply_gait_inputs(rig, job.inputs, report)
    if drive is not None:
        settings(rig).drive = drive
    if settings(rig).drive == "KEYS" and job.inputs and plays_baked_gait(rig):
        bake_gait(scene, rig, scene.frame_start, scene.frame_end)


def _open_and_set_up(model: Path, job: RenderJob) -> tuple[bpy.types.Scene, list[bpy.types.Object], Report]:
    if not model.is_file():
        raise FormatError("the file does not exist", path=str(model), remedy="Check the name.")
    try:
        with stdout_silenced():
            bpy.ops.wm.open_mainfile(filepath=str(model.resolve()))
    except RuntimeError as error:
        raise FormatError(f"Blender could not open it: {error}".strip(), path=str(model)) from error
    scene = bpy.context.scene
    rigs = list(rigs_in(scene))
    if not rigs:
        raise FormatError(
            "the scene has no mechanism", path=str(model), remedy="Import one with `knuckle import` first."
        )
    report = Report()
    if job.seconds is not None:
        scene.frame_end = scene.frame_start + round(job.seconds * frame_rate(scene))
    for rig in rigs:
        apply_job(scene, rig, job, job.drive, report)
    return scene, rigs, report


__all__ = [
    "RenderJob", "encode_frames", "count_video_frames", "resumable_frames", "prepare_video", "render_stage",
    "render_to_file",
]  # fmt: skip


PrintLine = Callable[[str], None]


def demo(
    model: Path,
    folder: Path,
    seconds: float,
    inputs: InputMapping,
    motion: Path | None,
    say: PrintLine,
    mesh_folders: Sequence[str] = (),
) -> Report:
    """Take a model through the whole workflow: import, simulate, render, and export everything."""
    started = time.perf_counter()
    make_folder(folder)
    stem = model.stem

    def step(text: str) -> None:
        say(f"[{time.perf_counter() - started:5.1f} s] {text}")

    step(f"importing {model.name}")
    scene = open_empty_scene()
    rig, report = import_model_file(scene, model, seconds, mesh_folders)
    if motion is not None:
        report.extend(key_motion(rig, motion, scene))
    apply_gait_inputs(rig, inputs, report)
    step(f"running {seconds:g} s under physics")
    build_physics(scene, rig)
    settings(rig).drive = "SERVO"
    last = scene.frame_end = scene.frame_start + round(seconds * frame_rate(scene))
    _action, recording = bake(scene, rig, last, progress=ConsoleProgress("simulating"))
    report_simulation(scene, rig, recording, report)
    step("writing the servo motion and the model")
    report.extend(
        formats.save_motion(
            recorded_motion(scene, recording, f"{stem} under physics", FRAME_SECONDS, whole=True),
            folder / f"{stem}.xmdi",
        )
    )
    exported = extract(rig)
    report.extend(exported.report)
    report.extend(formats.save(exported, folder / model.name))
    scene.frame_set(scene.frame_start)
    save_blend(folder / f"{stem}.blend")
    bodies = parts(rig, "BODY")
    slow = is_software_rendering()
    if slow:
        say("no graphics card draws here: poster and video are smaller and have fewer samples")
    step("rendering the poster")
    report.extend(
        film(
            bpy.context,
            bodies,
            str(folder / f"{stem}.png"),
            FilmOptions(
                engine="EEVEE",
                size=(960, 540) if slow else (1280, 720),
                samples=8 if slow else None,
                progress=ConsoleProgress("rendering"),
            ),
        )
    )
    step("rendering the video")
    options = FilmOptions(progress=ConsoleProgress("rendering"))
    if slow:
        options.size, options.fps, options.samples = (640, 360), 20.0, 1
    report.extend(film(bpy.context, bodies, str(folder / f"{stem}.mp4"), options))
    step("done")
    return report
