"""``build.py bench physics_quality``: speed and joint separation at the two qualities, and what a bake costs.

A simulated second is divided by the CPU time that it takes, the median of several runs. The first second counts: a
mechanism falls, or its servos track their targets.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import bpy
import numpy as np

from addon import formats
from addon.blender.build import build
from addon.blender.physics.recording.accuracy import accuracy_of_recording
from addon.blender.physics.recording.bake import bake, record, record_steps
from addon.blender.physics.recording.reference_engine import (
    MujocoRun,
    mujoco_steps,
    recording_differences,
)
from addon.blender.physics.recording.step_trials import path_shift_steps, select_steps
from addon.blender.physics.world.anchor import SOFT_CFM
from addon.blender.physics.world.rigidbody_world import solver_applied, steps_applied
from addon.blender.physics.world.solver_settings import required_solver_settings, selected_steps
from addon.core.accuracy import ACCURACY_THRESHOLDS, QUALITIES, StepSetting, candidate_settings
from addon.core.run_metrics import PathShift
from benchmarks import physics
from benchmarks.physics_servos import fresh
from tests.support.mechanisms import objects_of
from tests.support.references import CORPUS, mujoco_missing
from tests.support.scenes import OWN

_SAMPLES = (
    "humanoid/humanoid.skel", "sensor_leg/sensor_leg.xml", "hexapod/hexapod.jm", "rover/rover.jm",
    "desk_lamp/desk_lamp.skel", "pumpjack/pumpjack.json",
)  # fmt: skip
_DRIVES = {"LIMP": "Ragdoll", "SERVO": "Servos"}
_RUNS, _FRAMES = 3, 60
#: Endings of the model files of the corpus.
_ENDINGS = {".jm", ".skel", ".xml", ".json"}
Rows = Iterator[tuple[Any, ...]]
T = TypeVar("T")


def model(path: Path, collides: bool = True) -> Any:
    """The armature of a model in an empty scene; its bodies touch nothing where it does not collide."""
    scene, mechanism = simulated_apart(60), formats.load(path)
    for body in mechanism.bodies:
        body.collidable = body.collidable and collides
    build(mechanism)
    return next(obj for obj in scene.objects if obj.knuckle.role == "MODEL")


def simulated_apart(rate: int) -> Any:
    """An empty scene at a frame rate, whose mechanisms are simulated in a hidden one."""
    scene = fresh()
    scene.knuckle_simulate_here, scene.render.fps = False, rate
    return scene


def run(rig: Any, drive: str, quality: str, runs: int = _RUNS) -> tuple[float, float]:
    """Simulated seconds per second of CPU time from the second frame on, and the largest joint separation as a share
    of a link."""
    scene = bpy.context.scene
    rig.data.knuckle.drive = drive
    speeds = []
    _ended(select_steps(scene, [rig], quality, record_steps))
    with steps_applied(scene, [rig], quality):
        for _ in range(runs):
            steps = record_steps(scene, rig, scene.frame_start + _FRAMES)
            next(steps), next(steps)  # what precedes the simulation
            start = time.process_time()
            recording = _ended(steps)
            speeds.append((_FRAMES - 1) / 60.0 / (time.process_time() - start))
        joints = accuracy_of_recording(scene, recording).joints
    return statistics.median(speeds), max((joint.share for joint in joints), default=0.0)


def samples() -> Rows:
    """The sample models in both drives. Juice's joints are soft by their file, so their separation is only stated."""
    speeds: dict[tuple[str, str], float] = {}
    for path in _SAMPLES:
        name, rig = Path(path).stem, model(OWN / path)
        for drive, label in _DRIVES.items():
            for quality in QUALITIES:
                speed, apart = run(rig, drive, quality)
                if quality == "PREVIEW":
                    speeds[name, drive] = speed
                    yield f"{name}, {label}, playing: CPU time (s) per simulated second", 1.0 / speed, 1.0
                limit = None if path.endswith(".jm") else 100.0 * QUALITIES[quality].separation
                what = f"{name}, {label}, {'playing' if quality == 'PREVIEW' else 'baking'}: joint separation (%)"
                yield what, 100.0 * apart, limit, limit is None or 100.0 * apart <= limit
    for drive, label in _DRIVES.items():
        ratio = speeds["hexapod", drive] / speeds["humanoid", drive]
        yield f"humanoid over hexapod, {label}, playing: CPU time", ratio, 5.0, ratio <= 5.0


def paths() -> Rows:
    """Path shift of the samples within a second of a bake, on twice the substeps: with what they touch, and
    without contacts."""
    for path in _SAMPLES:
        for collides in (False, True):
            name, rig = Path(path).stem, model(OWN / path, collides)
            for drive, label in _DRIVES.items():
                rig.data.knuckle.drive = drive
                shift = _path_shift(rig)
                if collides and not shift.contacts:
                    continue
                what = f"{name}, {label}, baking: path shift{' with contacts' if shift.contacts else ''} (%)"
                limit = None if shift.contacts else 100.0 * ACCURACY_THRESHOLDS["Path shift"]
                yield what, 100.0 * shift.share, limit, limit is None or 100.0 * shift.share <= limit


def _path_shift(rig: Any) -> PathShift:
    scene = bpy.context.scene
    _ended(select_steps(scene, [rig], "BAKE", record_steps))
    with steps_applied(scene, [rig], "BAKE"):
        return _ended(path_shift_steps(scene, rig, record_steps))


def mujoco() -> Rows:
    """The humanoid as it is played, and MuJoCo with steps of 2 ms and contacts, in the same second and run; and how far
    apart both are, with the steps of a bake, where nothing touches."""
    if why := mujoco_missing():
        yield f"humanoid over MuJoCo: CPU time ({why})", math.nan, None, True
        return
    for drive, label in _DRIVES.items():
        rig = model(OWN / _SAMPLES[0])
        speed, _ = run(rig, drive, "PREVIEW", runs=5)
        spent = [_mujoco_seconds(rig) for _ in range(5)]
        ratio = 1.0 / speed / statistics.median(spent)
        yield f"humanoid, {label}, playing, over MuJoCo with steps of 2 ms: CPU time", ratio, 40.0, ratio <= 40.0
    for path in _SAMPLES:
        for drive, label in _DRIVES.items():
            rig = model(OWN / path, collides=False)
            rig.data.knuckle.drive = drive
            scene = bpy.context.scene
            last, name = scene.frame_start + _FRAMES, Path(path).stem
            try:
                theirs = _ended(mujoco_steps(scene, rig, last))
            except ValueError as error:
                print(f"  {name}, {label}: {error}")
                continue
            _ended(select_steps(scene, [rig], "BAKE", record_steps))
            with steps_applied(scene, [rig], "BAKE"):
                ours = record(scene, rig, last)
            far = max((each.largest for each in recording_differences(ours, theirs)), default=0.0)
            limit = 2e-2 if rig.data.knuckle.cfm > SOFT_CFM else 4e-3  # MuJoCo's joints are rigid
            what = f"{name}, {label}, baking: largest distance from MuJoCo after a second without contact (m)"
            yield what, far, limit, far <= limit


def _mujoco_seconds(rig: Any) -> float:
    """CPU time of MuJoCo for the frames of a recording, without the servos' control."""
    reference, spent = MujocoRun(bpy.context.scene, rig, 62.5, 1), 0.0  # eight steps of 2 ms per step of the control
    for _ in range(round(_FRAMES * 62.5 / 60.0)):
        reference.command()
        start = time.process_time()
        reference.advance()
        spent += time.process_time() - start
    return spent * 60.0 / _FRAMES


def _ended(steps: Generator[Any, None, T]) -> T:
    """Result of a generator."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def rates() -> Rows:
    """CPU time of a bake of the same two seconds at 24 and 30 frames per second, over that at 60."""
    spent: dict[int, float] = {}
    for rate in (60, 30, 24):
        times = []
        for _ in range(_RUNS):
            rig = model(OWN / "hexapod/hexapod.jm")
            scene = bpy.context.scene
            scene.render.fps = rate
            rig.data.knuckle.drive = "SERVO"
            start = time.process_time()
            bake(scene, rig, scene.frame_start + 2 * rate)
            times.append(time.process_time() - start)
        spent[rate] = statistics.median(times)
        if rate != 60:
            ratio = spent[rate] / spent[60]
            yield f"bake at {rate} over 60 frames per second: CPU time per simulated second", ratio, 1.1, ratio <= 1.1


def handlers() -> Rows:
    """CPU time of the humanoid's servos and 22 damped joints per frame: the median of five simulations."""
    from addon.blender.physics.simulation.controller import ModelController

    rig = model(OWN / "humanoid/humanoid.skel")
    scene = bpy.context.scene
    rig.data.knuckle.drive = "SERVO"
    scene.rigidbody_world.substeps_per_frame = scene.rigidbody_world.solver_iterations = 1

    spent, kept = [0.0], ModelController.step

    def timed(self: ModelController, *arguments: Any) -> None:
        start = time.process_time()
        kept(self, *arguments)
        spent[-1] += time.process_time() - start

    ModelController.step = timed  # type: ignore[method-assign]
    try:
        for _ in range(5):
            for number in range(63):
                if number in {0, 3}:  # the first frames prepare the simulation: they are apart
                    spent.append(0.0)
                scene.frame_set(scene.frame_start + number)
    finally:
        ModelController.step = kept  # type: ignore[method-assign]
    cost = 1000.0 * statistics.median(spent[2::2]) / 60.0
    yield "servos, friction and damping of 22 joints: CPU time (ms) per frame", cost, 1.5, cost <= 1.5


def keyframes() -> Rows:
    """CPU time of a frame with baked keyframes in the Keyframes drive, over the same with the world switched off."""
    for path in _SAMPLES:
        rig = model(OWN / path)
        scene = bpy.context.scene
        rig.data.knuckle.drive = "LIMP"
        bake(scene, rig, scene.frame_start + _FRAMES)
        spent: dict[bool, list[float]] = {True: [], False: []}
        for enabled in [True, False] * 5:
            scene.rigidbody_world.enabled = enabled
            scene.frame_set(scene.frame_start)
            start = time.process_time()
            for frame in range(scene.frame_start + 1, scene.frame_start + _FRAMES + 1):
                scene.frame_set(frame)
            spent[enabled].append(time.process_time() - start)
        ratio = statistics.median(spent[True]) / statistics.median(spent[False])
        yield f"{Path(path).stem}, baked keyframes, over the world switched off: CPU time", ratio, 2.5, ratio <= 2.5


def corpus(seconds: float) -> Rows:
    """The models of the real files: how many play below real time, and with how large a joint separation.

    They come in the order of a checksum of their paths, so that those of the first ``seconds`` are a sample of all.
    Beside each model that misses a threshold stands what it costs without the solver, and the steps it was given.
    """
    count = slow = loose = last = 0
    paths = _real_files()
    for tried, path, rig in _simulated(paths, seconds):
        last = tried
        found = [run(rig, drive, "PREVIEW", runs=1) for drive in _DRIVES]
        speed, apart = min(speed for speed, _ in found), max(apart for _, apart in found)
        is_soft = rig.data.knuckle.cfm > 0.0
        count += 1
        slow += speed < 1.0
        loose += apart > QUALITIES["PREVIEW"].separation and not is_soft
        if speed < 1.0 or (apart > QUALITIES["PREVIEW"].separation and not is_soft):
            print(f"  {path.name}: {speed:.2g} times real time, joint separation {100.0 * apart:.2g} %; {_load(rig)}")
    if not count:
        return
    share = 100.0 * slow / count
    yield "real files: share of the models below real time, playing (%)", share, 5.0, slow <= 0.05 * count
    share = 100.0 * loose / count
    what = "real files: share of the rigid models with more than 0.5 % joint separation, playing (%)"
    yield what, share, 4.0, loose <= 0.04 * count
    yield f"real files: models with physics among {last} of {len(paths)} files", float(count), None, True


def _real_files() -> list[Path]:
    """The model files of the corpus, in the order of a checksum of their paths."""
    paths = [path for path in CORPUS.rglob("*") if path.suffix in _ENDINGS] if CORPUS.is_dir() else []
    return sorted(paths, key=lambda path: zlib.crc32(path.relative_to(CORPUS).as_posix().encode()))


def _simulated(paths: Iterable[Path], seconds: float) -> Iterator[tuple[int, Path, Any]]:
    """The mechanisms with physics among files, with the count of files until then, for some seconds."""
    end = time.monotonic() + seconds
    for tried, path in enumerate(paths, 1):
        if time.monotonic() > end:
            return
        try:
            rig = model(path)
        except (formats.FormatError, ValueError):
            continue
        if objects_of(rig, "BODY") and bpy.context.scene.rigidbody_world is not None:
            yield tried, path, rig


def needed(seconds: float) -> Rows:
    """CPU time of playing over that with the cheapest steps whose second has the allowed joint separation.

    The samples and real files with rigid joints; ``seconds`` limit the real files.
    """
    largest, over, count = 0.0, 0, 0
    for _, path, rig in _simulated([OWN / path for path in _SAMPLES] + _real_files(), seconds):
        if rig.data.knuckle.cfm > 0.0:
            continue
        for drive, label in _DRIVES.items():
            speed, apart = run(rig, drive, "PREVIEW")
            if apart > QUALITIES["PREVIEW"].separation:
                continue
            found = _cheapest(rig)
            if found is None:
                print(f"  {path.name}, {label}: no rung has 0.5 % joint separation again")
                continue
            rung, least = found
            ratio = 1.0 / speed / least
            count += 1
            largest, over = max(largest, ratio), over + (ratio > 3.0)
            if ratio > 2.0:
                print(f"  {path.name}, {label}: {ratio:.2g} times {rung.steps} steps, {rung.iterations} iterations")
    what = "samples and real files: CPU time of playing over the least that 0.5 % joint separation needs"
    yield f"{what}, the largest of {count}", largest, 3.0, not over


def _cheapest(rig: Any) -> tuple[StepSetting, float] | None:
    """The first rung whose second has the allowed joint separation, and its CPU time per simulated second; if any."""
    scene = bpy.context.scene
    for rung in candidate_settings(1, StepSetting(10**6, 1000)):
        with solver_applied(scene, max(math.ceil(rung.steps / 60.0), 1), rung.iterations):
            spent = []
            for _ in range(_RUNS):
                steps = record_steps(scene, rig, scene.frame_start + _FRAMES)
                next(steps), next(steps)
                start = time.process_time()
                recording = _ended(steps)
                spent.append((time.process_time() - start) * 60.0 / (_FRAMES - 1))
                shares = [joint.share for joint in accuracy_of_recording(scene, recording).joints]
                if max(shares, default=0.0) > QUALITIES["PREVIEW"].separation:
                    break
            else:
                return rung, statistics.median(spent)
    return None


def _load(rig: Any) -> str:
    """Load of a mechanism in words: its constraints, its steps, and a second of it at one step per frame."""
    scene = bpy.context.scene
    world, chosen = scene.rigidbody_world, selected_steps(rig, "PREVIEW")
    needed = required_solver_settings(rig)
    steps, iterations = (chosen.steps, chosen.iterations) if chosen else (needed.steps, needed.iterations)
    world.substeps_per_frame = world.solver_iterations = 1
    start = time.process_time()
    for frame in range(scene.frame_start, scene.frame_start + _FRAMES):
        scene.frame_set(frame)
    rest = time.process_time() - start
    count = len(world.constraints.objects) if world.constraints else 0
    return (
        f"{count} constraints, {steps:.0f} steps per second with {iterations} iterations"
        f" ({needed.steps:.0f} and {needed.iterations} at most), {rest:.2g} s per second without the solver"
    )


def live(seconds: float = 5.0) -> Rows:
    """Playback against the bake at several frame rates, and what an import, playback and a bake change in the scene."""
    for name in ("hexapod/hexapod.jm", "rover/rover.jm"):
        for rate in (24, 25, 30, 60):
            scene = simulated_apart(rate)
            before = _scene_facts(scene)
            rig = next(obj for obj in build(formats.load(OWN / name)).all_objects if obj.knuckle.role == "MODEL")
            parts_of_file = len(scene.objects)
            rig.data.knuckle.drive = "SERVO"
            last = scene.frame_start + round(seconds * rate)
            bodies = [obj for obj in scene.objects if obj.knuckle.role == "BODY"]
            played = []
            for frame in range(scene.frame_start, last + 1):
                scene.frame_set(frame)
                played.append([obj.matrix_world.translation[:] for obj in bodies])
            baked = record(scene, rig, last).poses[:, :-1, :3, 3]
            apart = 1000.0 * float(np.abs(np.array(played) - baked).max())
            yield (
                f"{name.split('/')[0]}, {rate} frames/s: playback from the bake in {seconds:g} s (mm)",
                apart,
                1.0,
                apart < 1.0,
            )
            changed = sum(one != two for one, two in zip(before, _scene_facts(scene), strict=True))
            added = len(scene.objects) - parts_of_file
            yield (
                f"{name.split('/')[0]}, {rate} frames/s: settings changed, helper objects",
                changed + added,
                0.0,
                not (changed or added),
            )


def _scene_facts(scene: Any) -> tuple[Any, ...]:
    """Settings of a scene that a simulation might change."""
    world = scene.rigidbody_world
    return (
        (scene.render.fps, scene.render.fps_base),
        scene.frame_start,
        (*scene.gravity, scene.use_gravity),
        world is not None and world.enabled,
    )


#: Seconds that the part of the real files may take.
SECONDS = {"corpus": 1500.0, "needed": 600.0}
PARTS: dict[str, Callable[..., Iterator[Any]]] = {
    "samples": samples,
    "paths": paths,
    "mujoco": mujoco,
    "rates": rates,
    "handlers": handlers,
    "live": live,
    "keyframes": keyframes,
    "needed": needed,
    "corpus": corpus,
}


def main(arguments: list[str]) -> int:
    """Print the table; 1 where a bar is missed."""
    return physics.main(["--only", "physics_quality", *arguments])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
