"""What servo control costs of a simulated frame, and how fast frames go."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import bpy

from benchmarks.physics_pace import idle, model, stepped
from benchmarks.table import Row

SIZES, QUICK = (10, 100, 300), (3, 5)
PAIRS = 5
#: From so many servos on; with fewer there is next to nothing to compare with.
JUDGED = 100


def rows(sizes: Sequence[int], folder: Path) -> Iterator[Row]:
    """Seconds per frame with servos on all hinges, over one with all motors and nobody who commands them, and over one
    without motors; and at many substeps, by the clock."""
    for count in sizes:
        for keyed, target in ((False, "a gait"), (True, "keyframes")):
            limp, still, ours = [], [], []
            for _ in range(PAIRS if count <= 100 else 3):
                limp.append(stepped(model(count, keyed), "LIMP")[0])
                still.append(idle(model(count, keyed)))
                ours.append(stepped(model(count, keyed), "SERVO")[0])
            control, whole = (
                statistics.median(a / b for a, b in zip(ours, other, strict=True)) for other in (still, limp)
            )
            seconds = statistics.median(ours)
            bar = 1.3 if count >= JUDGED else None
            what = f"a frame of servos with {target} as target"
            yield Row(what, count, "servos", seconds, seconds / control, "no command", bar)
            yield Row(f"{what}, to none", count, "servos", seconds, seconds / whole, "no motors")
    for count in sizes:
        yield from _fine(count)


def _fine(count: int, substeps: int = 50) -> Iterator[Row]:
    """By the clock; and how much of it is Blender's own."""
    bar = 1.0 / 24.0 if count == JUDGED else None
    seconds, clock = stepped(_finely(count, substeps), "SERVO", 20)
    still = idle(_finely(count, substeps))
    yield Row(f"a frame of servos at {substeps} substeps, by the clock", count, "servos", clock, bar=bar)
    yield Row(f"a frame of servos at {substeps} substeps", count, "servos", seconds, still, "no command")


def _finely(count: int, substeps: int) -> Any:
    rig = model(count)
    bpy.context.scene.rigidbody_world.substeps_per_frame = substeps
    return rig
