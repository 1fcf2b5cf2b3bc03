"""Models filmed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import bpy

from ...model.report import FormatError, Report
from ..access import settings
from ..animation.gait import bake_gait, live_gait, plays_own_gait
from ..model_parts import parts, rigs_in
from ..physics.world import frame_rate
from ..render import FilmOptions, film, frames_left
from .scenes import Inputs, fresh_scene, key_motion, load_into, set_inputs
from .ticker import Ticker


@dataclass
class RenderJob:
    """What ``render`` was asked for; None leaves the choice to us. ``film`` is what ``FilmOptions`` is made of."""

    film: Mapping[str, Any] = field(default_factory=dict)
    seconds: float | None = None
    drive: str | None = None
    motion: Path | None = None
    inputs: Inputs = field(default_factory=dict)
    mesh_folders: Sequence[str] = ()

    def options(self) -> FilmOptions:
        """The film's options."""
        return FilmOptions(progress=Ticker("filming"), **self.film)


def render_to_file(model: Path, out: Path, job: RenderJob) -> Report:
    """Film a model file, or the models of a .blend, to a video or a picture."""
    if model.suffix.lower() == ".blend":
        return _render_blend(model, out, job)
    seconds = job.seconds or 8.0
    scene = fresh_scene()
    rig, report = load_into(scene, model, seconds, job.mesh_folders)
    drive = job.drive or ("KEYS" if job.motion is not None or live_gait(rig) is None else "SERVO")
    scene.frame_end = scene.frame_start + round(seconds * frame_rate(scene))
    direct(scene, rig, job, drive, report)
    report.extend(film(bpy.context, parts(rig, "BODY"), str(out), job.options()))
    return report


def direct(scene: bpy.types.Scene, rig: bpy.types.Object, job: RenderJob, drive: str | None, report: Report) -> None:
    """Have a model do what the job says, over the scene's range; its own drive where ``drive`` is None."""
    if job.motion is not None:
        report.extend(key_motion(rig, job.motion, scene))
    set_inputs(rig, job.inputs, report)
    if drive is not None:
        settings(rig).drive = drive
    if settings(rig).drive == "KEYS" and job.inputs and plays_own_gait(rig):
        bake_gait(scene, rig, scene.frame_start, scene.frame_end)


def _render_blend(model: Path, out: Path, job: RenderJob) -> Report:
    if not model.is_file():
        raise FormatError("there is no such file", path=str(model), remedy="Check the name.")
    try:
        bpy.ops.wm.open_mainfile(filepath=str(model.resolve()))
    except RuntimeError as error:
        raise FormatError(f"Blender could not open it: {error}".strip(), path=str(model)) from error
    scene = bpy.context.scene
    rigs = list(rigs_in(scene))
    if not rigs:
        raise FormatError(
            "its scene holds no mechanism", path=str(model), remedy="Import one with `knuckle import` first."
        )
    report = Report()
    if job.seconds is not None:
        scene.frame_end = scene.frame_start + round(job.seconds * frame_rate(scene))
    for rig in rigs:
        direct(scene, rig, job, job.drive, report)
    bodies = [obj for rig in rigs for obj in parts(rig, "BODY")]
    report.extend(film(bpy.context, bodies, str(out), job.options()))
    return report


__all__ = ["RenderJob", "frames_left", "render_to_file"]
