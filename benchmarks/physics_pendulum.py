"""``build.py bench physics_pendulum``: the double pendulum of Blender's world against DART, and against its equations.

Two bars hinged to each other and to the world are let go from level and swing for two seconds, in which they go through
all that a double pendulum does. What is compared is by how much each bar turned (rad).
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bpy
import numpy as np

from addon import formats
from addon.blender.physics.actuators.joint_state import gather_joint_state
from addon.core.model import Array
from benchmarks import physics
from benchmarks.physics_servos import Row, fresh
from tests.support.references import DARTPY, NO_DARTPY
from tests.support.swings import GRAVITY, chain, put_world

_RATE, _SECONDS = 60, 2.0
_STEPS = 40  # of the integration, per frame
_THERE = Path(__file__).parent / "pendulum_dart.py"


def turned(turns: Array) -> Array:
    """By how much bodies (n, bodies, 3, 3) have turned about Y since the first (rad)."""
    since = turns @ np.swapaxes(turns[:1], -1, -2)
    return np.unwrap(np.arctan2(since[..., 0, 2], since[..., 0, 0]), axis=0)


def ours(long: float, ratio: float) -> Array:
    """Angles (frames, 2) in Blender's world, as the formula sets it."""
    fresh()
    joint_state = gather_joint_state(put_world(chain(long, ratio, links=2), "LIMP", _SECONDS, _RATE))
    poses = []
    for frame in range(1, round(_SECONDS * _RATE) + 2):
        bpy.context.scene.frame_set(frame)
        poses.append(joint_state.poses()[:2, :3, :3])
    return turned(np.array(poses))


def integrated(long: float, ratio: float) -> Array:
    """The same by Lagrange's equations of two bars and the method of Runge and Kutta."""
    masses, half = np.array([1.0, ratio]), 0.5 * long
    own = masses * (long**2 + (0.1 * long) ** 2) / 12.0  # of a box that is a tenth as thick as it is long

    def change(state: Array) -> Array:
        lean, speed = state[:2], state[2:]
        couple, apart = masses[1] * long * half, lean[0] - lean[1]
        matrix = np.array(
            [
                [own[0] + masses[0] * half**2 + masses[1] * long**2, couple * np.cos(apart)],
                [couple * np.cos(apart), own[1] + masses[1] * half**2],
            ]
        )
        swing = couple * np.sin(apart) * np.array([-(speed[1] ** 2), speed[0] ** 2])
        weight = GRAVITY * np.array([masses[0] * half + masses[1] * long, masses[1] * half]) * np.sin(lean)
        return np.concatenate([speed, np.linalg.solve(matrix, swing - weight)])

    state, step = np.array([0.5 * np.pi, 0.5 * np.pi, 0.0, 0.0]), 1.0 / _RATE / _STEPS
    found = [state]
    for _ in range(round(_SECONDS * _RATE)):
        for _ in range(_STEPS):
            one = change(state)
            two = change(state + 0.5 * step * one)
            three = change(state + 0.5 * step * two)
            state = state + step / 6.0 * (one + 2.0 * two + 2.0 * three + change(state + step * three))
        found.append(state)
    return 0.5 * np.pi - np.array(found)[:, :2]  # a bar that falls turns about Y the other way than its lean grows


def in_dart(long: float, ratio: float) -> Array:
    """The same by DART, from our SKEL file of it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "double.skel"
        formats.save(chain(long, ratio, links=2), path, "skel")
        words = [DARTPY, str(_THERE), str(path), str(_SECONDS), str(_RATE)]
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=300.0)
    return turned(np.array(json.loads(done.stdout)))


def double() -> Iterator[Row | tuple[str, float, None]]:
    """The largest angle between ours and theirs within two seconds."""
    others: dict[str, Callable[[float, float], Array]] = {"its equations": integrated}
    if DARTPY:
        others["DART"] = in_dart
    else:
        yield f"double pendulum against DART ({NO_DARTPY})", math.nan, None
    for long, ratio in ((1.0, 1.0), (1.0, 10.0), (0.1, 1.0)):
        found = ours(long, ratio)
        for name, other in others.items():
            off = float(np.abs(found - other(long, ratio)).max())
            what = f"double pendulum, links {long:g} m, tip {ratio:g}, 2 s, against {name}: worst angle"
            yield what, off, 0.02, off < 0.02


PARTS: dict[str, Callable[[], Iterator[Any]]] = {"double": double}


def main(arguments: list[str]) -> int:
    """Print the table; 1 where a bar is missed."""
    return physics.main(["--only", "physics_pendulum", *arguments])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
