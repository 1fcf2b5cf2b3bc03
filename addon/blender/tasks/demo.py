"""One model taken the whole way."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import bpy

from ... import formats
from ...core.report import Report
from ...formats.text.file_io import make_folder
from ...formats.xmdi import FRAME_SECONDS
from ..compat import draws_in_software
from ..data.access import settings
from ..data.queries import parts
from ..physics.recording.bake import bake, recorded_motion
from ..physics.simulation.setup import build_physics
from ..physics.world.rigidbody_world import frame_rate
from ..rendering.options import FilmOptions
from ..rendering.video import film
from ..scene.read.mechanism import extract
from .runs import describe_run
from .scenes import Inputs, Ticker, fresh_scene, key_motion, load_into, save_blend, set_inputs

Say = Callable[[str], None]


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
    make_folder(folder)
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
    _action, recording = bake(scene, rig, last, progress=Ticker("simulating"))
    describe_run(scene, rig, recording, report)
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
    slow = draws_in_software()
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
                progress=Ticker("rendering"),
            ),
        )
    )
    step("rendering the video")
    options = FilmOptions(progress=Ticker("rendering"))
    if slow:
        options.size, options.fps, options.samples = (640, 360), 20.0, 1
    report.extend(film(bpy.context, bodies, str(folder / f"{stem}.mp4"), options))
    step("done")
    return report
