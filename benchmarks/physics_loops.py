"""``build.py bench physics_loops``: how well chains, pendulums, loops and spins keep in Blender's world, as we set it.

Every row is a run in the rigid-body world with the settings that the formula chose when the physics was built, beside
the bar that it has to keep: pivot gaps in per cent of the shortest link, periods and amplitudes in per cent of the
analytic ones, angles in radians.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bpy
import numpy as np

import addon
from addon import formats
from addon.blender.animation.keying import LINEAR, key_servos
from addon.blender.animation.loops.live_solver import live_loops
from addon.blender.data.queries import parts
from addon.blender.physics.actuators.joint_state import gather_joint_state
from addon.core.model import Array, Mechanism
from tests.support import loops
from tests.support.references import CORPUS
from tests.support.swings import chain, lean_of, period, put_world, swings
from tests.support.tops import leaning_tensor, strays

SAMPLES = Path(__file__).resolve().parents[1] / "sample_models"
RATE = 60


@dataclass
class Row:
    """A figure and its bar (None: there is none), and what the world was set to."""

    what: str
    value: float
    unit: str
    bar: float | None
    world: str

    @property
    def holds(self) -> bool:
        return self.bar is None or abs(self.value) < self.bar


def fresh() -> None:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    if not addon.is_registered():
        addon.register()
    bpy.context.scene.knuckle_simulate_here = True  # rows step the scene's own world


def stepped(seconds: float, look: Callable[[], Any]) -> list[Any]:
    out = []
    for frame in range(1, round(seconds * RATE) + 2):
        bpy.context.scene.frame_set(frame)
        out.append(look())
    return out


def settings_told() -> str:
    world = bpy.context.scene.rigidbody_world
    return f"{world.substeps_per_frame} x {world.solver_iterations}"


def chains(seconds: float) -> Iterator[Row]:
    """Five links let go from level."""
    for long in (1.0, 0.1, 0.02):
        for ratio in (1.0, 10.0, 100.0, 1000.0):
            fresh()
            joint_state = gather_joint_state(put_world(chain(long, ratio), "LIMP", seconds))
            gap = max(
                stepped(
                    seconds, lambda joint_state=joint_state: float(joint_state.separations(joint_state.poses()).max())
                )
            )
            bar = 0.1 if ratio <= 100.0 else 1.0
            yield Row(f"chain, links {long:g} m, tip {ratio:g}: gap", 100 * gap / long, "%", bar, settings_told())


def stopped_chains(seconds: float) -> Iterator[Row]:
    """The same with stops at 0.3 rad either way, into which all of them fall."""
    for long, ratio in ((1.0, 1.0), (1.0, 10.0), (1.0, 100.0), (1.0, 1000.0), (0.02, 100.0), (0.02, 1000.0)):
        fresh()
        mechanism = chain(long, ratio)
        for joint in mechanism.joints:
            joint.dofs[0].lower, joint.dofs[0].upper = -0.3, 0.3
        joint_state = gather_joint_state(put_world(mechanism, "LIMP", min(seconds, 1.5)))
        gap = max(
            stepped(
                min(seconds, 1.5),
                lambda joint_state=joint_state: float(joint_state.separations(joint_state.poses()).max()),
            )
        )
        bar = 0.1 if ratio <= 100.0 else 1.0
        yield Row(
            f"chain with stops, links {long:g} m, tip {ratio:g}: gap", 100 * gap / long, "%", bar, settings_told()
        )


def pendulums(seconds: float) -> Iterator[Row]:
    for long in (1.0, 0.1, 0.02):
        for amplitude in (0.5, 2.0):
            fresh()
            joint_state = gather_joint_state(put_world(chain(long, links=1, lean=amplitude), "LIMP", seconds))
            angles = np.array(stepped(seconds, lambda joint_state=joint_state: lean_of(joint_state.poses()[0])))
            found, last = swings(angles, RATE)
            name = f"pendulum {long:g} m, {amplitude:g} rad"
            off = 100 * (found / period(long, amplitude) - 1.0)
            yield Row(f"{name}: period", off, "%", 0.2, settings_told())
            yield Row(f"{name}: amplitude after {seconds:g} s", 100 * (last / amplitude - 1.0), "%", 0.5, "")


#: Loops, and how far their driver swings to and fro (rad); None: it goes round.
LOOPS: dict[str, tuple[Callable[[], Mechanism], float | None]] = {
    "four-bar": (loops.crank_rocker, None),
    "four-bar of 5 cm": (lambda: loops.crank_rocker(scale=0.0125), None),
    "Klann": (loops.klann, None),
    "slider-crank": (lambda: formats.load(CORPUS / "shift" / "slider_crank" / "slider_crank.json"), None),
    "pumpjack": (lambda: formats.load(SAMPLES / "pumpjack" / "pumpjack.json"), None),
    "Sarrus": (loops.sarrus, 0.4),
    "Bricard": (loops.bricard, 1.0),
}
CLOSINGS = ("HINGE", "POINT")


def driven_loops(seconds: float) -> Iterator[Row]:
    """Loops through full cycles, one of a second and a half each, by the keys of one servo. Each is closed by what
    other joints are too; then, to compare, by a ball."""
    for name, (make, swing) in LOOPS.items():
        for closing in CLOSINGS:
            fresh()
            mechanism = make()
            rig = put_world(mechanism, "SERVO", seconds)
            values = _drive(rig, swing, seconds)
            chords = [empty.rigid_body_constraint for empty in parts(rig, "JOINT") if empty.knuckle.joint.loop]  # type: ignore[attr-defined]
            if closing != "HINGE":
                for constraint in chords:
                    constraint.type = closing
            joint_state = gather_joint_state(rig)
            number = joint_state.joints.index(live_loops(rig)[0].drivers[0])

            def look(joint_state: Any = joint_state, number: int = number) -> tuple[float, float]:
                poses = joint_state.poses()
                return float(joint_state.separations(poses).max()), float(joint_state.coordinates(poses)[number])

            gaps, found = np.array(stepped(seconds, look)).T
            found = np.unwrap(found)
            found += 2.0 * math.pi * np.round((values[0] - found[0]) / (2.0 * math.pi))
            shown = f"{name}, closed by a {'ball' if closing == 'POINT' else 'hinge'}"
            short = shortest(rig)
            bar = 0.1 if closing == "HINGE" else None
            yield Row(f"{shown}: gap", 100 * gaps.max() / short, "%", bar, settings_told())
            yield Row(f"{shown}: worst error", np.abs(found - values).max(), "rad", None, "")
            phase = (found - values)[len(found) // 2 :]
            drift = float(np.polyfit(np.arange(len(phase)) / RATE, phase, 1)[0] * seconds)
            yield Row(f"{shown}: drift of phase", drift, "rad", 1e-3 if closing == "HINGE" else None, "")


def turning(seconds: float) -> Iterator[Row]:
    """A body let go with a spin, of a tensor with products that its shape does not have; and chains of such bodies."""
    for matched in (False, True):
        name = "with a flywheel" if matched else "as its shape has it"
        fresh()
        off = strays(leaning_tensor(), matched, seconds)
        yield Row(f"free rotation of the file's tensor, {name}", off, "rad", 0.02 if matched else None, settings_told())
    for ratio in (1.0, 100.0, 1000.0):
        for factor in (0.5, 2.0):
            fresh()
            mechanism = chain(1.0, ratio)
            for body in mechanism.bodies:
                body.inertia = factor * body.mass * np.diag([0.01, 0.09, 0.09])
            joint_state = gather_joint_state(put_world(mechanism, "LIMP", seconds))
            gap = max(
                stepped(
                    seconds, lambda joint_state=joint_state: float(joint_state.separations(joint_state.poses()).max())
                )
            )
            bar = 0.1 if ratio <= 100.0 else 1.0
            yield Row(
                f"chain with flywheels, tip {ratio:g}, moments x {factor:g}: gap", 100 * gap, "%", bar, settings_told()
            )


def _drive(rig: Any, swing: float | None, seconds: float) -> Array:
    loop = live_loops(rig)[0]
    driver = loop.drivers[0]
    frames = np.arange(1.0, seconds * RATE + 2.0)
    cycles = 2.0 * math.pi * (frames - 1.0) / RATE / 1.5
    values = loop.channels[driver][0].start + (cycles if swing is None else swing * np.sin(cycles))
    key_servos(rig, "drive", {driver: (frames, values, LINEAR)})
    return values


def shortest(rig: Any) -> float:
    """The shortest link of a model: the least distance between two pivots of a body that are not one."""
    places: dict[Any, list[Array]] = {}
    for empty in parts(rig, "JOINT"):
        for end in (empty.knuckle.joint.parent, empty.knuckle.joint.child):  # type: ignore[attr-defined]
            if end is not None:
                places.setdefault(end, []).append(np.array(empty.location))
    ways = [float(np.linalg.norm(a - b)) for each in places.values() for a in each for b in each]
    return min(way for way in ways if way > 1e-6)


def posed_loops(seconds: float) -> Iterator[Row]:
    """The same loops in Keys drive: the driver's keys alone pose them."""
    for name, (make, swing) in LOOPS.items():
        fresh()
        rig = put_world(make(), "KEYS", seconds)
        _drive(rig, swing, seconds)
        joint_state, worst = gather_joint_state(rig), 0.0
        for frame in range(1, round(seconds * RATE) + 1):
            for rest in (0.0, 0.37):
                bpy.context.scene.frame_set(frame, subframe=rest)
                worst = max(worst, float(joint_state.separations(joint_state.poses()).max()))
        yield Row(f"{name}, posed by keys: gap", worst / shortest(rig), "", 1e-5, "")


PARTS: dict[str, Callable[[float], Iterator[Row]]] = {
    "chains": chains,
    "stopped": stopped_chains,
    "pendulums": pendulums,
    "posed": posed_loops,
    "loops": driven_loops,
    "inertia": turning,
}
SECONDS = {"chains": 4.0, "stopped": 1.5, "pendulums": 10.0, "posed": 1.5, "loops": 6.0, "inertia": 2.0}


def main(arguments: list[str]) -> int:
    """Print the table; 1 where a bar is not kept."""
    parser = argparse.ArgumentParser(prog="build.py bench physics_loops", description=__doc__.split("\n")[0])
    parser.add_argument("--only", choices=PARTS, nargs="+", default=list(PARTS), help="default: everything")
    options = parser.parse_args(arguments)
    print(f"Blender {bpy.app.version_string}, {RATE} frames per second")
    print(f"{'what':58} {'value':>12} {'bar':>8}   substeps x iterations")
    failed = 0
    for part in options.only:
        for row in PARTS[part](SECONDS[part]):
            bar = "" if row.bar is None else f"{row.bar:g}"
            mark = "" if row.holds else "  NOT HELD"
            print(f"{row.what:58} {row.value:10.2g} {row.unit:3} {bar:>6}   {row.world}{mark}", flush=True)
            failed += not row.holds
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
