"""``build.py bench physics_truth``: whether what is said of runs is so, and how runs compare with other programs.

Walkers again with how much faster than real time they run; SKEL models left to fall, against DART; bodies baked,
against the simulation; frames gone to, against the run; what keeping account of a run costs per frame.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import bpy
import numpy as np

import addon
from addon.blender.physics.recording.accuracy import accuracy_of_recording
from addon.blender.physics.recording.bake import bake, record
from addon.blender.physics.simulation import cached_frames as progress
from addon.blender.physics.simulation import frame_handlers as handlers
from addon.blender.physics.simulation import handler_table as hooks
from tests.support.mechanisms import JUICE, objects_of, play, put, world_of
from tests.support.references import CORPUS, DARTPY, NO_DARTPY

PARTS = (
    "walkers", "walkers_baked", "walkers_doubled", "walkers_quadrupled", "falling", "baked", "scrubbed", "cost",
)  # fmt: skip
_RATE, _SECONDS = 60, 2.0
_FALLING = Path(__file__).parent / "falling_dart.py"
_PATIENCE = 60.0  # seconds that DART may take for a file


class Row(NamedTuple):
    """What was measured, how much it is, and what it may be at most (nothing where there is no bar)."""

    what: str
    value: float
    bar: float | None = None


def fresh() -> Any:
    """The context of an empty scene, with Knuckle registered."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    if not addon.is_registered():
        addon.register()
    bpy.context.scene.knuckle_simulate_here = True  # rows step the scene's own world
    return bpy.context


# ---------------------------------------------------------------- walkers


def walkers() -> Iterator[Row]:
    """Cases that do not do what they do in the reference; how many times faster than real time all ran at least."""
    from tests.support.walkers_helpers import CASES

    wrong, slowest = yield from _walked(0.0)
    yield Row(f"walkers that do otherwise than in the reference, of {len(CASES)}", wrong, 1)
    yield Row("slowest walker: seconds per second", slowest, 1.0)


def walkers_baked() -> Iterator[Row]:
    """Walkers with a bake's solver steps."""
    wrong, _ = yield from _walked(1.0)
    yield Row("walkers that do otherwise with a bake's steps, times 1", wrong, 1)


def walkers_doubled() -> Iterator[Row]:
    """Walkers with twice the solver steps of a bake."""
    wrong, _ = yield from _walked(2.0)
    yield Row("walkers that do otherwise with a bake's steps, times 2", wrong, 2)


def walkers_quadrupled() -> Iterator[Row]:
    """Walkers with four times the solver steps of a bake."""
    wrong, _ = yield from _walked(4.0)
    yield Row("walkers that do otherwise with a bake's steps, times 4", wrong, 2)


def _walked(multiple: float) -> Generator[Row, None, tuple[int, float]]:
    """Run all cases; return how many do otherwise than in the reference, and the seconds per second of the slowest."""
    from tests.support.walkers_helpers import CASES, fault, ratio, run

    wrong, slowest = 0, 0.0
    steps = f", a bake's steps times {multiple:g}" if multiple else ""
    for case in CASES:
        fresh()
        start = time.perf_counter()
        found = run(case, multiple)
        spent = (time.perf_counter() - start) / case.seconds
        slowest = max(slowest, spent)
        wrong += bool(fault(case, found) or found.upright <= 0.7)
        yield Row(f"{case}{steps}: times real time", 1.0 / spent)
        yield Row(f"{case}{steps}: worst pivot gap (units)", found.gap)
        yield Row(f"{case}{steps}: speed over the reference's", ratio(case, found))
    return wrong, slowest


# ---------------------------------------------------------------- SKEL models left to fall


def falling() -> Iterator[Row]:
    """By how much the common centre of mass strays from DART's in 2 s, as a share of how far that came there."""
    if not DARTPY:
        yield Row(f"SKEL models against DART ({NO_DARTPY})", math.nan)
        return
    shares: dict[str, list[float]] = {"free": [], "free, other inertia": [], "touching": []}
    for path in sorted((CORPUS / "skel").rglob("*.skel")):
        theirs = _dart_path(path)
        if theirs is None or theirs["speed"] > 0.0:  # under physics ours begin at rest
            continue
        try:
            ours, other = _our_path(path)
        except Exception as error:
            print(f"{path.name}: {error}")
            continue
        there = np.array(theirs["path"])
        way = float(np.linalg.norm(there - there[0], axis=1).max())
        if not way > 1e-3:
            continue
        share = float(np.linalg.norm(ours - ours[0] - there + there[0], axis=1).max()) / way
        kind = "touching" if theirs["touched"] else "free, other inertia" if other else "free"
        shares[kind].append(share)
        yield Row(f"{path.parent.parent.name}/{path.name} ({kind}, {way:.3g} there): strays, share", share)
    for kind, found in shares.items():
        if found:
            bar = 0.05 if kind == "free" else None
            yield Row(f"{len(found)} SKEL models, {kind}: median share that they stray", median(found), bar)
            yield Row(f"{len(found)} SKEL models, {kind}: that stray by 5 % or more", sum(x >= 0.05 for x in found))


def _dart_path(path: Path) -> dict[str, Any] | None:
    words = [DARTPY, str(_FALLING), str(path), str(_SECONDS), str(_RATE)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode or not done.stdout or "NaN" in done.stdout:
        return None
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def _our_path(path: Path) -> tuple[np.ndarray, bool]:
    """The path of the common centre of mass in the file's own axes; whether Blender has another inertia than it."""
    scene = fresh().scene
    rig = put(path)
    rig.data.knuckle.drive = "LIMP"
    recording = record(scene, rig, scene.frame_start + round(_SECONDS * _RATE))
    bodies = recording.joint_state.bodies
    mass = np.array([0.0 if obj.knuckle.immobile else obj.knuckle.mass for obj in bodies])
    center = np.einsum("nbi,b->ni", recording.poses[:, :-1, :3, 3], mass) / mass.sum()
    other = any(line.code == "inertia-differs" for line in rig.data.knuckle.report)
    return center @ np.array(rig.matrix_world)[:3, :3], other


# ---------------------------------------------------------------- baked, and gone to


def _stepped(rig: Any, frames: int) -> np.ndarray:
    bodies = objects_of(rig, "BODY").values()
    return np.array(play(bpy.context.scene, frames, lambda: [world_of(obj) for obj in bodies]))


def _walker(name: str = "SimpleHex") -> Any:
    fresh().scene.frame_end = 600
    rig = put(JUICE / "models" / f"{name}.jm")
    rig.data.knuckle.controls.joystick_1_y = -1.0
    rig.data.knuckle.drive = "SERVO"
    return rig


def baked() -> Iterator[Row]:
    """Baked keys of every body against the simulation that was baked, which has more steps than one that is played."""
    for name in ("SimpleHex", "Quadrapod3_bak", "SnakeSpheres"):
        rig = _walker(name)
        _, recording = bake(bpy.context.scene, rig, 300, all_bodies=True)
        seen = recording.poses[:, :-1]
        yield Row(
            f"{name}, 300 frames baked: worst of every body (m)", float(np.abs(_stepped(rig, 300) - seen).max()), 1e-4
        )
        rig.animation_data.action.knuckle.bodies = None
        apart = np.abs(_stepped(rig, 300) - seen)[..., :3, 3].max()
        yield Row(f"{name}, the same on bones alone (m)", float(apart))


def scrubbed() -> Iterator[Row]:
    """Frames of a run gone to in any order, with and without keeping account of it."""
    order = np.random.default_rng(0).permutation(np.arange(2, 301))[:60].tolist()
    for what, kept in (("kept", True), ("as Blender does", False)):
        rig = _walker()
        seen = _stepped(rig, 300)
        if not kept:
            hooks.unregister()
        bodies = objects_of(rig, "BODY").values()
        worst = []
        for frame in order:
            bpy.context.scene.frame_set(frame)
            worst.append(float(np.abs(np.array([world_of(obj) for obj in bodies]) - seen[frame - 1]).max()))
        if not kept:
            hooks.register()
        wrong = sum(each > 1e-4 for each in worst)
        yield Row(f"60 frames of a run gone to, {what}: wrong ones", wrong, 0 if kept else None)


def cost() -> Iterator[Row]:
    """What account of a run costs: per frame, and the truth after it."""
    rig = _walker()
    kept, spent = handlers._update_frame_notes, [0.0]  # noqa: SLF001

    def timed(*words: Any) -> None:
        start = time.perf_counter()
        kept(*words)
        spent[0] += time.perf_counter() - start

    handlers._update_frame_notes = timed  # noqa: SLF001
    start = time.perf_counter()
    play(bpy.context.scene, 300, lambda: None)
    whole = time.perf_counter() - start
    handlers._update_frame_notes = kept  # noqa: SLF001
    yield Row("a frame with account kept of the run, over one without", whole / (whole - spent[0]), 1.1)
    recording = record(bpy.context.scene, rig, 600)
    start = time.process_time()
    accuracy_of_recording(bpy.context.scene, recording)
    yield Row("truth about 600 frames of SimpleHex (s)", time.process_time() - start, 1.0)
    start = time.process_time()
    progress.fingerprint(bpy.context.scene, [rig])
    yield Row("looking for edits before a jump (s)", time.process_time() - start, 0.05)


# ---------------------------------------------------------------- all of it


def main(arguments: list[str]) -> int:
    """Print the table; 1 where something is beyond its bar."""
    parser = argparse.ArgumentParser(prog="build.py bench physics_truth", description="The truth about runs.")
    parser.add_argument("--only", choices=PARTS, nargs="+", default=PARTS, help="default: everything")
    options = parser.parse_args(arguments)
    print(f"Blender {bpy.app.version_string}")
    beyond = 0
    for part in options.only:
        for row in globals()[part]():
            bar = "" if row.bar is None else f"{row.bar:10.4g}"
            off = row.bar is not None and row.value > row.bar
            beyond += off
            print(f"{row.what:90} {row.value:12.5g} {bar:>10}{'  BEYOND' if off else ''}", flush=True)
    return int(beyond > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
