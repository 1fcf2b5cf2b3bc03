"""What is done with one long motion, up to a million keys: every step a user takes with it, from the file and back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import bpy
import numpy as np

from addon.blender.animation import motion_checks
from addon.blender.animation.actions import active_action
from addon.blender.data.access import record_of
from addon.blender.data.queries import parts
from addon.blender.editing.symmetry.twins import link_twins
from addon.core.model import Motion, Trajectory
from addon.plot import plot_motion
from benchmarks.measuring import fresh_model
from benchmarks.mechanisms import star
from benchmarks.motion_files import FRAME
from benchmarks.table import Row

#: A million keys at the largest.
SIZES, QUICK = (1000, 10_000, 33_333), (20, 40)
SERVOS = 30
#: Seconds, for a million keys.
PATIENCE = 30.0


def rows(sizes: Sequence[int], folder: Path) -> Iterator[Row]:
    """Seconds per step; the first plot, which loads what draws it, is not counted."""
    plot_motion(Motion("short", [Trajectory("Hinge 1", np.arange(2.0), np.zeros(2))]), {})
    for keys in sizes:
        yield from _of(keys, folder)


def _of(keys: int, folder: Path) -> Iterator[Row]:
    source, target = folder / "long.csv", folder / "again.csv"
    values = 0.5 * np.sin(np.arange(keys)[:, None] * FRAME + np.arange(SERVOS)) + np.random.default_rng(0).uniform(
        -0.05, 0.05, (keys, SERVOS)
    )
    names = ",".join(f"Hinge {number}" for number in range(1, SERVOS + 1))
    table = np.column_stack([np.arange(keys) * FRAME, values])
    np.savetxt(source, table, fmt="%.6g", delimiter=",", header=f"time,{names}", comments="")
    rig = fresh_model(star(SERVOS + 1))
    scene = bpy.context.scene
    _pair(rig)
    steps: dict[str, Callable[[], Any]] = {
        "imported from CSV": lambda: bpy.ops.import_anim.servo_motion(filepath=str(source)),
        "exported as CSV, unedited": lambda: bpy.ops.export_anim.servo_motion(filepath=str(target)),
        "scaled": lambda: bpy.ops.knuckle.scale_motion(to="SPEED", speed=1.25),
        "offset": lambda: bpy.ops.knuckle.offset_motion(unit="FRAMES", frames=5.0),
        "offset, wrapped": lambda: bpy.ops.knuckle.offset_motion(unit="FRAMES", frames=100.0, wrap=True),
        "mirrored": bpy.ops.knuckle.mirror_motion,
        "looped twice": lambda: bpy.ops.knuckle.loop_motion(way="KEYS", rounds=2),
        "checked against stops": lambda: (
            motion_checks.invalidate_motion_checks(),
            motion_checks.cached_rows(rig, scene),
        ),
        "plotted": lambda: plot_motion(motion_checks.action_motion(rig, active_action(rig), scene), {}),
        "exported as CSV, edited": lambda: bpy.ops.export_anim.servo_motion(filepath=str(target)),
        "exported as CSV, thinned": lambda: bpy.ops.export_anim.servo_motion(filepath=str(target), tolerance=0.01),
        "a frame shown": lambda: scene.frame_set(scene.frame_current + 7),
        "saved as .blend": lambda: bpy.ops.wm.save_as_mainfile(filepath=str(folder / "long.blend"), copy=True),
    }
    for what, step in steps.items():
        begin = time.process_time()
        step()
        took = time.process_time() - begin
        if what == "exported as CSV, unedited":
            assert target.read_bytes() == source.read_bytes(), "what is not edited is written as it was"
        bar = 2.0 / 24.0 if what == "a frame shown" else PATIENCE if keys == SIZES[-1] else None
        yield Row(f"long motion {what}, {SERVOS} servos", keys, "keys", took, bar=bar, growth_bar=1.25)


def _pair(rig: bpy.types.Object) -> None:
    """Have every second body and joint be the twin of the one before: something to mirror."""
    for role in ("BODY", "JOINT"):
        found = [obj for obj in parts(rig, role) if record_of(obj).source_name.split()[-1] != "0"]
        for first, second in zip(found[::2], found[1::2], strict=False):
            link_twins((first, second))
