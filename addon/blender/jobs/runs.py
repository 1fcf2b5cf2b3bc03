"""Models run under physics."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import bpy
import numpy as np

from ... import formats
from ...formats.xmdi import FRAME_SECONDS
from ...model.report import Report
from ..access import record_of, settings
from ..model_parts import parts
from ..physics.bake import Recording, record, recorded_motion, write_keys
from ..physics.body_keys import write_body_keys
from ..physics.simulation import build_physics, clear_physics
from ..physics.truth import keep_truth, tell_truth, truth_of
from ..physics.world import frame_rate
from .scenes import Inputs, fresh_scene, key_motion, load_into, save_blend, set_inputs
from .ticker import Ticker


def run_physics(
    scene: bpy.types.Scene, rig: bpy.types.Object, seconds: float, drive: str, progress: bool = True
) -> Recording:
    """Run a model under physics for so many seconds from the scene's start."""
    build_physics(scene, rig)
    settings(rig).drive = drive
    last = scene.frame_start + round(seconds * frame_rate(scene))
    scene.frame_end = last
    return record(scene, rig, last, Ticker("simulating") if progress else None)


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
