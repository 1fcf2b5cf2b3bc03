"""``build.py bench physics_servos``: what servos, friction and stops do under physics, against mechanics.

Every row is a run in Blender's own world at the settings that an import chooses: what, value, bar.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import bpy
import numpy as np

import addon
from tests.support import friction_helpers, hard_stops_helpers, pd_helpers, several_servos_helpers, springs_helpers
from tests.support.degrees_helpers import Z, rotations, slides

Row = tuple[str, float, float, bool]
#: Loads as shares of a servo's limit.
LOADS = (0.1, 0.25, 0.4, 0.55, 0.7, 0.85, 0.97, 1.03, 1.1, 1.2)
#: What a coordinate that is held goes at most, in half a second; one that is 3 % over its limit goes ten times as far.
_HELD = 2e-3


def fresh() -> Any:
    """The scene of an empty file with Knuckle registered."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    if not addon.is_registered():
        addon.register()
    bpy.context.scene.knuckle_simulate_here = True  # rows step the scene's own world
    return bpy.context.scene


def tracking() -> Iterator[Row]:
    """0.8 sin over 4 s under gravity, half a hertz, each axis at another time, and a ball's full turn in 3 s: the worst
    error (rad, m) at several frame rates."""
    for rate, (name, dofs) in itertools.product((24, 25, 30, 60), several_servos_helpers.kinds().items()):
        clock = np.arange(4 * rate + 1)[:, None] / rate
        values = 0.8 * np.sin(math.pi * clock + 0.9 * np.arange(several_servos_helpers.size_of(dofs)))
        worst = max(several_servos_helpers.tracked(fresh(), dofs, values, rate=rate))
        yield f"track 0.8 sin, 4 s, gravity, {rate} frames/s: {name}, worst error", worst, 0.01, worst < 0.01
    for rate in (24, 60):
        values = np.linspace(0.0, 2.0 * math.pi, 3 * rate + 1)[:, None] * np.array([0.48, 0.6, 0.64])
        worst, _ = several_servos_helpers.tracked(fresh(), several_servos_helpers.kinds()["ball"], values, rate=rate)
        yield f"track a full turn of a ball in 3 s, {rate} frames/s: worst error", worst, 0.01, worst < 0.01


def holding() -> Iterator[Row]:
    """Ten loads on a servo: the largest share of its limit that it holds, and the smallest at which it yields."""
    for name, number in several_servos_helpers.HELD:
        gone = [abs(several_servos_helpers.yielded(fresh(), name, number, load)) for load in LOADS]
        held = max((load for load, far in zip(LOADS, gone, strict=True) if far < _HELD), default=0.0)
        loose = min((load for load, far in zip(LOADS, gone, strict=True) if far >= _HELD), default=math.inf)
        yield f"hold, {name} axis {number}: largest share of its limit held", held, 0.97, held >= 0.97
        yield f"hold, {name} axis {number}: smallest share that it yields to", loose, 1.03, loose <= 1.03


def poses() -> Iterator[Row]:
    """The force limits of three turns at poses, each loaded alone: by how much it gives way at 97 % of its limit (rad),
    and how much more than what is still held it does at 103 %. The run begins in the first pose."""
    zero = (0.0, 0.0, 0.0)
    cases = [(zero, (0.4, 0.5, -0.3)), (zero, (0.8, 1.0, 0.8)), (zero, (0.3, 1.45, 0.5)), ((0.5, 1.0, 0.4),) * 2]
    for (start, pose), number in itertools.product(cases, range(3)):
        low, high = (
            float(np.abs(several_servos_helpers.given_way(fresh(), number, start, pose, share)).max())
            for share in (0.97, 1.03)
        )
        where = ", ".join(f"{value:g}" for value in pose)
        yield f"three turns at {where}, axis {number}: gives way at 97 %", low, _HELD, low < _HELD
        yield f"three turns at {where}, axis {number}: held / given way at 103 %", _HELD / high, 0.4, high > 2.5 * _HELD


def pd() -> Iterator[Row]:
    """The PD law against the oscillator: the worst deviation as a share of the sag."""
    for stiffness, damping in ((50, 2), (200, 4), (200, 16), (800, 16), (2000, 20)):
        values = pd_helpers.response(fresh(), stiffness, damping)
        off = pd_helpers.deviation(values, stiffness, damping)
        yield f"PD, stiffness {stiffness}, damping {damping}, 2 kg: worst deviation / sag", off, 0.15, off < 0.15
    for rate, (stiffness, damping) in itertools.product((24, 60), ((50, 2), (200, 16), (200, 44), (2000, 126))):
        values = pd_helpers.stepped(fresh(), stiffness, damping, rate=rate)
        answer = pd_helpers.answer(stiffness, damping, np.arange(len(values)) / rate)
        over = max(float(values.max() - answer.max()), 0.0)
        what = f"PD, stiffness {stiffness}, damping {damping}, keys jump by 1, {rate} frames/s"
        yield f"{what}: beyond the oscillator's peak", over, 0.03, over < 0.03


def losses() -> Iterator[Row]:
    """A pendulum from level with friction and dampers, 2 s, against a numerical integration (rad)."""
    for friction, damping in ((0, 0), (1.0, 0), (3.0, 0), (0, 0.2), (0, 1.0), (0, 8.0), (0, 40), (0.5, 0.3)):
        (dof,) = dofs = rotations(Z)
        dof.friction, dof.damping = friction, damping
        found = friction_helpers.swung(fresh(), dofs, 121)
        off = float(np.abs(found - friction_helpers.integrated(friction, damping, 121)).max())
        yield f"pendulum, friction {friction:g} N m, damping {damping:g} N m s: worst error", off, 0.006, off < 0.006


def stops() -> Iterator[Row]:
    """How far a stop is passed that is hit at a speed, in every step of the solver (rad, m)."""
    cases = itertools.product(("hinge", "slide"), (-1.0, None, -4.0), (1.0, 10.0, 30.0))
    for kind, lower, speed in cases:
        dofs = rotations(Z) if kind == "hinge" else slides(Z)
        dofs[0].lower, dofs[0].upper = lower, 1.0
        look = springs_helpers.angle(2) if kind == "hinge" else lambda pose: float(pose[2, 3])
        scene, frames = fresh(), int(600 * (1.0 / speed + 0.15))
        over = (
            float(hard_stops_helpers.hit(scene, springs_helpers.cube_on_joint(*dofs), speed, look, frames).max()) - 1.0
        )
        other = "alone" if lower is None else f"the other at {lower:g}"
        yield f"stop of a {kind}, {other}, hit at {speed:g} /s: passed by", max(over, 0.0), 0.01, over < 0.01


PARTS: dict[str, Callable[[], Iterator[Row]]] = {
    "tracking": tracking, "holding": holding, "poses": poses, "pd": pd, "losses": losses, "stops": stops,
}  # fmt: skip


def table(name: str, description: str, parts: dict[str, Callable[[], Iterator[Row]]], arguments: list[str]) -> int:
    """Print the rows of the parts that are asked for; 1 where a bar is missed."""
    parser = argparse.ArgumentParser(prog=f"build.py bench {name}", description=description)
    parser.add_argument("--only", choices=parts, nargs="+", default=list(parts), help="default: everything")
    options = parser.parse_args(arguments)
    print(f"Blender {bpy.app.version_string}")
    print(f"{'what':84} {'value':>10} {'bar':>8}")
    missed = 0
    for part in options.only:
        for what, value, bar, kept in parts[part]():
            missed += not kept
            print(f"{what:84} {value:10.5f} {bar:8.3f}{'' if kept else '  MISSED'}", flush=True)
    return 1 if missed else 0


def main(arguments: list[str]) -> int:
    """Print the table; 1 where a bar is missed."""
    return table("physics_servos", "Servos under physics.", PARTS, arguments)
