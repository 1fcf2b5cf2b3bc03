"""``build.py bench films``: films of models of every format, in every engine, stage and camera. Each frame is measured
(black, empty, cut off), each film leaves a contact sheet to look at, and what filming costs over Blender's own
rendering of the same frames is told as a ratio."""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bpy
import numpy as np

import addon
from addon import formats
from addon.blender.animation import apply
from addon.blender.animation.gait import current_gait
from addon.blender.data.access import settings
from addon.blender.data.channels import servo_channels
from addon.blender.data.queries import parts, rig_in
from addon.blender.physics.world.rigidbody_world import frame_rate
from addon.blender.reconcile.build import BuildOptions, build
from addon.blender.render import FilmOptions, film, open_stage, prepare, render_frames
from addon.blender.rendering import frames
from addon.blender.rendering.temporary_studio import stdout_silenced
from addon.core.model import Motion, Trajectory
from benchmarks.film_measures import faults, without_model

CORPUS = Path(os.environ.get("KNUCKLE_CORPUS", "corpus"))
#: Models with how they are filmed: two of each format, every engine, stage and camera at least once.
FILMS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("juice/models/SimpleHex.jm", {"drive": "SERVO", "camera": "FOLLOW"}),
    ("juice/models/Trebuchet.jm", {"drive": "SERVO", "stage": "OUTDOOR", "camera": "FIXED"}),
    ("skel/dart-6.13.1/data/skel/biped.skel", {"drive": "WAVE", "stage": "SCIENTIFIC", "camera": "SIDE"}),
    (
        "skel/dart-6.13.1/data/skel/fullbody1.skel",
        {"drive": "LIMP", "stage": "OUTDOOR", "camera": "FRONT", "engine": "CYCLES"},
    ),
    ("shift/kuka_lbr_iiwa_14_r820/kuka_iiwa.json", {"drive": "WAVE", "stage": "BLUEPRINT", "camera": "TURNTABLE"}),
    ("shift/slider_crank", {"drive": "LIMP", "stage": "SCIENTIFIC", "camera": "THREE_QUARTER", "engine": "EEVEE"}),
    (
        "x_xy/imt_diodem-1.0.1/diodem/benchmark/xmls/gait.xml",
        {"drive": "LIMP", "camera": "THREE_QUARTER", "side_by_side": True},
    ),
    (
        "x_xy/imt-ring-1.7.1/ring/io/examples/test_morph_system/four_seg_seg3.xml",
        {"drive": "WAVE", "stage": "BLUEPRINT", "camera": "SIDE"},
    ),
)
BURN = ("NAME", "TIME", "SERVOS", "AXES", "STOPS")


def model_at(place: str) -> Path:
    """A file of the corpus; in a folder the model with the most bodies."""
    path = CORPUS / place
    if path.is_file():
        return path
    best: tuple[int, Path] | None = None
    for each in sorted(path.rglob("*")):
        if each.suffix not in {".json", ".xml", ".skel"}:
            continue
        try:
            count = len(formats.load(each).bodies)
        except Exception:  # noqa: BLE001, S112 - what is no model is passed over
            continue
        if best is None or count > best[0]:
            best = count, each
    if best is None:
        raise SystemExit(f"there is no model in {path}")
    return best[1]


def load(path: Path, drive: str, seconds: float) -> bpy.types.Object:
    """A model alone in a scene, driven; what has no gait is let go."""
    bpy.ops.wm.read_homefile(use_factory_startup=True, use_empty=True)
    rig = rig_in(build(formats.load(path), bpy.context, BuildOptions(gait_seconds=seconds)))
    assert rig is not None
    scene = bpy.context.scene
    scene.frame_end = scene.frame_start + round(seconds * frame_rate(scene)) - 1
    if drive == "WAVE":
        wave(rig, seconds)
    else:
        settings(rig).drive = "SERVO" if drive == "SERVO" and current_gait(rig) is not None else "LIMP"
    return rig


def wave(rig: bpy.types.Object, seconds: float) -> None:
    """Key every servo to and fro, each a little later than the one before."""
    times = np.linspace(0.0, seconds, 41)
    names = [channel.name for channels in servo_channels(rig).values() for channel in channels if channel.is_single]
    tracks = [Trajectory(name, times, 0.35 * np.sin(5.0 * times - 0.6 * k)) for k, name in enumerate(names)]
    apply(Motion("wave", trajectories=tracks), settings(rig).collection, bpy.context.scene)


def shoot(path: Path, out: Path, size: tuple[int, int], seconds: float, choices: dict[str, Any]) -> list[str]:
    """Film one model with its contact sheet: what is wrong with its frames."""
    more = dict(choices)
    rig = load(path, more.pop("drive"), seconds)
    plain, found = frames.render_still, []
    with tempfile.TemporaryDirectory() as room:

        def render_still(scene: bpy.types.Scene, picture: str) -> None:
            plain(scene, picture)
            image: Any = bpy.data.images.load(picture, check_existing=False)
            pixels = np.empty(image.size[0] * image.size[1] * 4, dtype=np.float32)
            image.pixels.foreach_get(pixels)
            shape = image.size[1], image.size[0], 4
            bpy.data.images.remove(image)
            bare = without_model(scene, plain, Path(room) / "bare.png")
            wrong = faults(scene, pixels.reshape(shape)[::-1, :, :3], bare)
            found.extend(f"frame {scene.frame_current}: {fault}" for fault in wrong)

        frames.render_still = render_still
        options = FilmOptions(size=size, fps=10.0, burn=BURN, sheet=str(out.with_suffix(".png")), **more)
        try:
            film(bpy.context, parts(rig, "BODY"), str(out), options)
        finally:
            frames.render_still = plain
    return found


def overhead(path: Path, engine: Any, size: tuple[int, int], folder: Path) -> list[tuple[str, float, float]]:
    """Seconds per frame of ours with all overlays, and of Blender's own animation render of the same stage."""
    rig = load(path, "SERVO", 1.0)
    rows = []
    for name, burn in (("nothing burnt in", ()), ("all overlays", BURN)):
        options = FilmOptions(engine=engine, size=size, fps=10.0, burn=burn)
        reel = prepare(settings(rig).collection, bpy.context, options, str(folder / "stage.blend"))
        scene = open_stage(str(folder / "stage.blend"))
        ours, blenders = [], []
        for _ in range(3):
            began = time.perf_counter()
            render_frames(scene, 1, reel.frames, str(folder / "ours"))
            ours.append((time.perf_counter() - began) / reel.frames)
            scene.render.filepath = str(folder / "blender") + "/"
            scene.render.use_file_extension = True
            began = time.perf_counter()
            with bpy.context.temp_override(scene=scene, view_layer=scene.view_layers[0]), stdout_silenced():
                bpy.ops.render.render(animation=True)
            blenders.append((time.perf_counter() - began) / reel.frames)
            scene.render.use_file_extension = False
        rows.append((name, statistics.median(ours), statistics.median(blenders)))
    return rows


def main(words: Sequence[str]) -> int:
    """Make the films, say what is wrong with them and what they cost; 1 where a frame is at fault."""
    parser = argparse.ArgumentParser(prog="build.py bench films", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/films"))
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--width", type=int, default=480)
    parser.add_argument("--only", type=int, nargs="*", metavar="N", help="these films, counted from 1")
    options = parser.parse_args(words)
    addon.register()
    options.out.mkdir(parents=True, exist_ok=True)
    size, bad = (options.width, options.width * 9 // 32 * 2), 0
    for number, (place, choices) in enumerate(FILMS, 1):
        if options.only is not None and number not in options.only:
            continue
        path, began = model_at(place), time.perf_counter()
        out = options.out / f"{number}_{path.stem}.mp4"
        wrong = shoot(path, out, size, options.seconds, choices)
        bad += len(wrong)
        print(
            f"{path.parent.name}/{path.name}: {choices}, {time.perf_counter() - began:.0f} s, {len(wrong)} faults",
            flush=True,
        )
        for line in wrong[:5]:
            print(f"    {line}", flush=True)
    if options.only is None or 0 in options.only:
        with tempfile.TemporaryDirectory() as room:
            for name, ours, blenders in overhead(model_at(FILMS[0][0]), "WORKBENCH", (1280, 720), Path(room)):
                print(
                    f"Workbench 1280x720, {name}: {ours:.3f} s per frame, Blender {blenders:.3f}: {ours / blenders:.2f}"
                )
    return int(bad > 0)
