"""Whole tasks for the command line: each begins with an empty scene of its own and ends with a file.

Knuckle has to be registered."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import bpy
import numpy as np

from .. import formats
from ..formats.xmdi import FRAME_SECONDS
from ..model.gait_motion import tell_controls
from ..model.records import Mechanism, Motion
from ..model.report import FormatError, Report
from . import preferences
from .access import record_of, settings
from .animation import Units, apply
from .animation.gait import bake_gait, live_gait, plays_own_gait
from .build import BuildOptions, build
from .extract import extract
from .model_parts import parts, rig_in, rigs_in
from .physics.bake import Recording, bake, record, recorded_motion, write_keys
from .physics.body_keys import write_body_keys
from .physics.simulation import build_physics, clear_physics
from .physics.truth import keep_truth, tell_truth, truth_of
from .physics.world import frame_rate
from .properties import control_property
from .render import FilmOptions, film

Inputs = Mapping[str, float]
Say = Callable[[str], None]


def fresh_scene() -> bpy.types.Scene:
    """An empty file."""
    bpy.ops.wm.read_homefile(use_factory_startup=True, use_empty=True)  # keeps the add-ons, us among them
    return bpy.context.scene


def all_mesh_folders(given: Sequence[str]) -> tuple[str, ...]:
    """Where meshes may lie: in the folders of the preferences, where there are some, and in those given."""
    return (*preferences.mesh_folders(), *given)


def load_into(
    scene: bpy.types.Scene, path: Path, gait_seconds: float = 10.0, mesh_folders: Sequence[str] = ()
) -> tuple[bpy.types.Object, Report]:
    """Import a model file: its armature and its report. ``mesh_folders``: more of them than the preferences have."""
    mechanism = formats.load(path)
    options = BuildOptions(gait_seconds=gait_seconds, mesh_folders=all_mesh_folders(mesh_folders))
    collection = build(mechanism, bpy.context, options)
    rig = rig_in(collection)
    assert rig is not None
    return rig, mechanism.report


def set_inputs(rig: bpy.types.Object, inputs: Inputs, report: Report) -> None:
    """Hold controls of a model at values; the report warns of those that it does not listen to."""
    for name, value in inputs.items():
        setattr(settings(rig).controls, control_property(name), value)
    tell_controls(live_gait(rig), inputs, report)


def key_motion(rig: bpy.types.Object, path: Path, scene: bpy.types.Scene) -> Report:
    """Load a motion file and key it on a model: each of its motions as an Action, of which the first plays."""
    motions, report = formats.read_motions(path)
    key_motions(rig, motions, scene, report)
    return report


def key_motions(
    rig: bpy.types.Object,
    motions: Sequence[Motion],
    scene: bpy.types.Scene,
    report: Report,
    units: Units | None = None,
    mapping: Mapping[str, str] | None = None,
) -> None:
    """Key motions on a model, each as an Action, of which the first plays."""
    collection = settings(rig).collection
    for motion in reversed(motions):
        report.extend(apply(motion, collection, scene, units=units, mapping=mapping)[1])


def save_blend(path: Path) -> None:
    """Save the present file as a .blend."""
    path = path.resolve()
    if not path.parent.is_dir():
        raise FormatError("there is no such folder", path=str(path.parent), remedy="Make it, or name another one.")
    try:
        bpy.ops.wm.save_as_mainfile(filepath=str(path), check_existing=False)
    except RuntimeError as error:
        raise FormatError(f"Blender could not save it: {error}".strip(), path=str(path)) from error


def import_to_blend(
    files: Sequence[Path], blend: Path, motion: Path | None, mesh_folders: Sequence[str] = ()
) -> list[Report]:
    """Import model files into one new .blend."""
    mechanisms = [formats.load(path) for path in files]  # a bad file stops us before anything is made
    scene = fresh_scene()
    options = BuildOptions(mesh_folders=all_mesh_folders(mesh_folders))
    collections = [build(mechanism, bpy.context, options) for mechanism in mechanisms]
    reports = [mechanism.report for mechanism in mechanisms]
    if motion is not None:
        rig = rig_in(collections[0])
        assert rig is not None
        reports.append(key_motion(rig, motion, scene))
    save_blend(blend)
    return reports


def animate_to_blend(
    mechanism: Mechanism,
    blend: Path,
    motions: Sequence[Motion],
    seconds: float,
    inputs: Inputs,
    mesh_folders: Sequence[str] = (),
    units: Units | None = None,
    mapping: Mapping[str, str] | None = None,
) -> Report:
    """Build a model in a new .blend that plays motions, the first of several, or without any its own gait. ``units``
    and ``mapping`` of the motions are as ``animation.apply`` has them.

    The report tells what building and keying add to that of the reading."""
    scene = fresh_scene()
    told = len(mechanism.report.entries)
    options = BuildOptions(gait_seconds=seconds, mesh_folders=all_mesh_folders(mesh_folders))
    rig = rig_in(build(mechanism, bpy.context, options))
    assert rig is not None
    report = Report(mechanism.report.entries[told:])
    key_motions(rig, motions, scene, report, units, mapping)
    if not motions:
        scene.frame_end = scene.frame_start + math.ceil(seconds * frame_rate(scene) - 1e-6)
        for name, value in inputs.items():
            setattr(settings(rig).controls, control_property(name), value)
        if inputs:
            bpy.data.actions.remove(rig.animation_data.action)  # the gait with all controls at rest
            bake_gait(scene, rig, scene.frame_start, scene.frame_end)
    settings(rig).drive = "KEYS"
    save_blend(blend)
    return report


def run_physics(
    scene: bpy.types.Scene, rig: bpy.types.Object, seconds: float, drive: str, progress: bool = True
) -> Recording:
    """Run a model under physics for so many seconds from the scene's start."""
    build_physics(scene, rig)
    settings(rig).drive = drive
    last = scene.frame_start + round(seconds * frame_rate(scene))
    scene.frame_end = last
    return record(scene, rig, last, _Ticker("simulating") if progress else None)


def describe_run(scene: bpy.types.Scene, rig: bpy.types.Object, recording: Recording, report: Report) -> None:
    """Say in the report where the model went and how well it held together."""
    bodies = parts(rig, "BODY")
    if not bodies:
        return
    heaviest = int(np.argmax([record_of(obj).mass for obj in bodies]))
    path = recording.poses[:, heaviest, :3, 3]
    travel = path[-1] - path[0]
    seconds = (len(path) - 1) / frame_rate(scene)
    report.info(
        "run",
        f"{bodies[heaviest].name} travelled ({travel[0]:.2f}, {travel[1]:.2f}, {travel[2]:.2f}) in {seconds:g} s; "
        f"the worst pivot gap was {recording.worst_gap():.3g}",
    )
    tell_truth(rig, report)


def simulate_to_file(
    model: Path,
    out: Path,
    seconds: float,
    drive: str,
    motion: Path | None,
    inputs: Inputs,
    mesh_folders: Sequence[str] = (),
    all_bodies: bool = False,
) -> Report:
    """Run a model under physics; write its servo motion, or a .blend that plays it without physics; ``all_bodies``:
    with keys for every body."""
    scene = fresh_scene()
    rig, report = load_into(scene, model, seconds, mesh_folders)
    if motion is not None:
        report.extend(key_motion(rig, motion, scene))
    set_inputs(rig, inputs, report)
    recording = run_physics(scene, rig, seconds, drive)
    keep_truth(rig, recording, truth_of(scene, recording))
    describe_run(scene, rig, recording, report)
    name = f"{record_of(rig).source_name} {drive.title()}"
    if out.suffix.lower() == ".blend":
        action = write_keys(rig, recording, name)
        if all_bodies:
            write_body_keys(rig, recording, action)
        clear_physics(scene, rig)
        scene.frame_set(scene.frame_start)
        save_blend(out)
    else:
        report.extend(formats.save_motion(recorded_motion(scene, recording, name, FRAME_SECONDS), out))
    return report


@dataclass
class RenderJob:
    """What ``render`` was asked for; None leaves the choice to us."""

    engine: str | None = None
    size: tuple[int, int] | None = None
    seconds: float | None = None
    drive: str | None = None
    motion: Path | None = None
    inputs: Inputs = field(default_factory=dict)
    mesh_folders: Sequence[str] = ()

    def options(self) -> FilmOptions:
        """The film's options."""
        options = FilmOptions(progress=_Ticker("filming"))
        options.engine = self.engine or options.engine  # type: ignore[assignment]
        options.size = self.size or options.size
        return options


def render_to_file(model: Path, out: Path, job: RenderJob) -> Report:
    """Film a model file, or the models of a .blend, to a video or a picture."""
    if model.suffix.lower() == ".blend":
        return _render_blend(model, out, job)
    seconds = job.seconds or 8.0
    scene = fresh_scene()
    rig, report = load_into(scene, model, seconds, job.mesh_folders)
    drive = job.drive or ("KEYS" if job.motion is not None or live_gait(rig) is None else "SERVO")
    scene.frame_end = scene.frame_start + round(seconds * frame_rate(scene))
    _direct(scene, rig, job, drive, report)
    options = job.options()
    options.heading = facing(rig) if out.suffix.lower() == ".png" else None
    report.extend(film(bpy.context, parts(rig, "BODY"), str(out), options))
    return report


def _direct(scene: bpy.types.Scene, rig: bpy.types.Object, job: RenderJob, drive: str | None, report: Report) -> None:
    """Have a model do what the job says, over the scene's range; its own drive where ``drive`` is None."""
    if job.motion is not None:
        report.extend(key_motion(rig, job.motion, scene))
    set_inputs(rig, job.inputs, report)
    if drive is not None:
        settings(rig).drive = drive
    if settings(rig).drive == "KEYS" and job.inputs and plays_own_gait(rig):
        bake_gait(scene, rig, scene.frame_start, scene.frame_end)


def facing(rig: bpy.types.Object) -> float | None:
    """Where a model that does not travel looks (rad about Z); None where its format does not say."""
    return math.pi / 2 if settings(rig).format == "juice" else None


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
        _direct(scene, rig, job, job.drive, report)
    bodies = [obj for rig in rigs for obj in parts(rig, "BODY")]
    report.extend(film(bpy.context, bodies, str(out), job.options()))
    return report


def demo(
    model: Path,
    folder: Path,
    seconds: float,
    inputs: Inputs,
    motion: Path | None,
    say: Say,
    mesh_folders: Sequence[str] = (),
) -> Report:
    """Take a model the whole way: import, run under physics, film, and write everything out again."""
    started = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    stem = model.stem

    def step(text: str) -> None:
        say(f"[{time.perf_counter() - started:5.1f} s] {text}")

    step(f"importing {model.name}")
    scene = fresh_scene()
    rig, report = load_into(scene, model, seconds, mesh_folders)
    if motion is not None:
        report.extend(key_motion(rig, motion, scene))
    set_inputs(rig, inputs, report)
    step(f"running {seconds:g} s under physics")
    build_physics(scene, rig)
    settings(rig).drive = "SERVO"
    last = scene.frame_end = scene.frame_start + round(seconds * frame_rate(scene))
    _action, recording = bake(scene, rig, last, progress=_Ticker("simulating"))
    describe_run(scene, rig, recording, report)
    step("writing the servo motion and the model")
    report.extend(
        formats.save_motion(
            recorded_motion(scene, recording, f"{stem} under physics", FRAME_SECONDS), folder / f"{stem}.xmdi"
        )
    )
    exported = extract(settings(rig).collection)
    report.extend(exported.report)
    report.extend(formats.save(exported, folder / model.name))
    scene.frame_set(scene.frame_start)
    save_blend(folder / f"{stem}.blend")
    bodies = parts(rig, "BODY")
    step("filming the poster")
    report.extend(
        film(
            bpy.context,
            bodies,
            str(folder / f"{stem}.png"),
            FilmOptions(engine="EEVEE", size=(1280, 720), heading=facing(rig), progress=_Ticker("filming")),
        )
    )
    step("filming the video")
    report.extend(film(bpy.context, bodies, str(folder / f"{stem}.mp4"), FilmOptions(progress=_Ticker("filming"))))
    step("done")
    return report


class _Ticker:
    """Progress on standard error: a line that counts on a terminal, a line per tenth in a log."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._last = -1

    def __call__(self, done: int, total: int) -> None:
        tenth = 10 * done // max(total, 1)
        if sys.stderr.isatty():
            print(f"\r{self._what} {done}/{total}", end="\n" if done == total else "", file=sys.stderr, flush=True)
        elif tenth != self._last:
            self._last = tenth
            print(f"{self._what} {done}/{total}", file=sys.stderr, flush=True)
