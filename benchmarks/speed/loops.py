"""What closed loops cost while they are played and posed: a frame with our handlers beside one without them, at which
the loops come apart. The sizes are loops, of a vehicle's suspension; a leg of Klann's, our pumpjack and mechanisms
without loops stand beside the first."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import bpy
import numpy as np

from addon import formats
from addon.blender.animation.keying import LINEAR, key_channels
from addon.blender.animation.loops.live_solver import live_loops
from addon.blender.compat import action_curves
from addon.blender.data.channels import Channel, servo_channels
from addon.blender.data.queries import rig_in
from addon.blender.reconcile.build import BuildOptions, build
from addon.core.model import Mechanism
from benchmarks.at_work import unhandled
from benchmarks.measuring import fresh, in_turn, nothing
from benchmarks.table import Row
from tests.support.loops import klann
from tests.support.suspension import suspension

SIZES, FULL, QUICK = (3, 6, 12), (3, 12, 48), (3, 6)
#: The most that a pass may take after a change, later, and a pose; and a frame of a mechanism without loops.
FIRST, LATER, POSED, TREE = 10.0, 3.0, 5.0, 2.0
FRAMES = 60
SAMPLES = Path(__file__).resolve().parents[2] / "sample_models"
TREES = ("hexapod/hexapod.jm", "rover/rover.jm", "desk_lamp/desk_lamp.skel", "sensor_leg/sensor_leg.xml")


def rows(sizes: Sequence[int], folder: Path) -> Iterator[Row]:
    """Of each mechanism: the first pass after a key was moved, a later pass, and a pose."""
    for size in sizes:
        yield from _looped("suspension", suspension(max(size // 3, 1)), size)
        if size == sizes[0]:
            yield from _looped("Klann's leg", klann(), 2)
            yield from _looped("pumpjack", formats.load(SAMPLES / "pumpjack" / "pumpjack.json"), 1)
            for name in TREES:
                rig = _model(formats.load(SAMPLES / name))
                channels = [channel for own in servo_channels(rig).values() for channel in own]
                _key(rig, channels)
                ours, plain = _beside(_played)
                yield Row(f"{Path(name).stem}: a frame of keys, no loops", len(channels), "servos", ours / FRAMES,
                          plain / FRAMES, "without Knuckle's handlers", TREE)  # fmt: skip


def _looped(name: str, mechanism: Mechanism, size: int) -> Iterator[Row]:
    rig = _model(mechanism)
    every = servo_channels(rig)
    drivers = [channel for loop in live_loops(rig) for joint in loop.drivers for channel in every[joint]]
    drivers = [channel for channel in drivers if channel.is_single]
    _key(rig, drivers)

    def row(what: str, took: tuple[float, float], bar: float) -> Row:
        ours, plain = (seconds / FRAMES for seconds in took)
        return Row(f"{name}: {what}", size, "loops", ours, plain, "without Knuckle's handlers", bar)

    (curve, *_) = action_curves(rig, rig.animation_data.action, create=False) or ()

    def change() -> None:
        curve.keyframe_points[3].co.y += 1e-5
        curve.update()
        bpy.context.view_layer.update()

    yield row("a frame of the first pass after a change", _beside(_played, change), FIRST)
    yield row("a frame of a later pass", _beside(_played), LATER)
    rig.animation_data_clear()
    bone, steps = rig.pose.bones[drivers[0].bone], iter(range(1_000_000))
    values = getattr(bone, drivers[0].prop)

    def posed() -> None:
        for _ in range(FRAMES):
            far = 0.1 if drivers[0].is_angle else 0.02
            values[drivers[0].index] = drivers[0].start + far * math.sin(0.05 * next(steps))
            bpy.context.view_layer.update()

    yield row("a pose", _beside(posed), POSED)


def _model(mechanism: Mechanism) -> bpy.types.Object:
    fresh()
    rig = rig_in(build(mechanism, bpy.context, BuildOptions(gait=False)))
    assert rig is not None
    bpy.context.view_layer.update()
    return rig


def _key(rig: bpy.types.Object, channels: Sequence[Channel]) -> None:
    frames = np.arange(1.0, 2.0 + FRAMES)
    swing = 0.1 * np.sin((frames - 1.0) / FRAMES * 2.0 * math.pi)
    single = (channel for channel in channels if channel.is_single)
    tracks = {each: (frames, each.start + (swing if each.is_angle else 0.2 * swing), LINEAR) for each in single}
    key_channels(rig, "swing", tracks)
    bpy.context.view_layer.update()


def _played() -> None:
    for frame in range(2, 2 + FRAMES):
        bpy.context.scene.frame_set(frame)


def _beside(act: Callable[[], None], before: Callable[[], None] = nothing) -> tuple[float, float]:
    """Median seconds of an act with our handlers and without them, in turn; ``before`` each."""

    def plain() -> None:
        with unhandled():
            act()

    act()

    def ready() -> None:
        bpy.context.scene.frame_set(1)
        before()

    ours, without = in_turn(act, plain, before=ready, times=5)
    return ours, without
