"""``build.py bench physics_iftomm``: the multibody benchmarks A01 to A05 of IFToMM in Blender's rigid-body world.

The models are the Shift files in ``iftomm`` (M. González et al., *A benchmarking system for MBS simulation software*,
Multibody System Dynamics 16, 2006; A03 with the parameters of the Test Set for Initial Value Problem Solvers). Each is
imported, left to Drive Ragdoll and baked, at the substeps and iterations that an import chooses. It is compared with
``multibody.Multibody``, an integrator of the file's own equations, or with the equation of motion where the system
has a short one. Energy drift is the largest change of the mechanical energy, less the work of motors.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import bpy
import numpy as np

from addon import formats
from addon.blender.data.queries import rigs_in
from addon.blender.physics.simulation.recording import SimulationError
from addon.core.model import Array, Mechanism
from addon.core.transforms import rotation_vector
from benchmarks import physics
from benchmarks.multibody import Multibody, quaternion
from benchmarks.physics_servos import fresh
from tests.support.swings import put_world

MODELS = Path(__file__).parent / "iftomm"
RATE = 60
#: Frames per second of A03, whose crank turns up to ten times in 0.05 s.
FAST_RATE = 2000
#: Coefficients of a central difference of the sixth order, for one to three frames ahead.
_DIFFERENCE = np.array([45.0, -9.0, 1.0]) / 60.0


class Row(NamedTuple):
    """A figure, its threshold (None: stated only), and its unit."""

    what: str
    value: float
    unit: str
    bar: float | None

    @property
    def holds(self) -> bool:
        """Return whether the figure is within its threshold."""
        return self.bar is None or abs(self.value) <= self.bar


def model(name: str) -> Mechanism:
    """Load the model of a benchmark, by the beginning of its file's name."""
    return formats.load(next(MODELS.glob(f"{name}*.json")))


class Simulated(NamedTuple):
    """A baked simulation: motions (frames, bodies, 4, 4) from the design pose in the file's axes, and its settings."""

    motions: Array
    names: list[str]
    settings: str
    warnings: list[str]

    def point(self, body: str, place: Array | list[float]) -> Array:
        """Positions (frames, 3) of a point of a body, given in the file's axes at the design pose."""
        return (self.motions[:, self.names.index(body)] @ np.append(place, 1.0))[:, :3]

    def states(self, system: Multibody, rate: float) -> Array:
        """States (frames - 6, bodies, 13) of the bodies as the integrator has them, by differences of poses."""
        order = [self.names.index(name) for name in system.names]
        motions, out = self.motions[:, order], np.zeros((len(self.motions) - 6, len(order), 13))
        start = np.tile(np.eye(4), (len(order), 1, 1))
        for number in range(len(order)):
            start[number, :3, :3] = system.poses[number][:3, :3]
            start[number, :3, 3] = system.state[number, :3]
        poses = motions @ start
        for frame in range(3, len(poses) - 3):
            here, state = poses[frame], out[frame - 3]
            state[:, :3] = here[:, :3, 3]
            state[:, 3:7] = [quaternion(pose[:3, :3]) for pose in here]
            for k, share in enumerate(_DIFFERENCE, start=1):
                after, before = poses[frame + k], poses[frame - k]
                state[:, 7:10] += rate * share * (after[:, :3, 3] - before[:, :3, 3])
                back = np.swapaxes(here[:, :3, :3], 1, 2)
                turned = rotation_vector(after[:, :3, :3] @ back) - rotation_vector(before[:, :3, :3] @ back)
                state[:, 10:] += rate * share * turned
        return out


def simulated(name: str, seconds: float, rate: int = RATE, steps: tuple[int, int] | None = None) -> Simulated:
    """Import a benchmark's model and record its fall, with other ``steps``: substeps and iterations, where given.

    The usual ones are those of the formula: a bake takes as many as its trials ask for, and those are fewer.
    """
    from addon.blender.data.queries import parts
    from addon.blender.physics.recording.bake import record

    fresh()
    rig = put_world(model(name), "LIMP", seconds, rate)
    world = bpy.context.scene.rigidbody_world
    if steps is not None:
        world.substeps_per_frame, world.solver_iterations = steps
    told = f"{world.substeps_per_frame} x {world.solver_iterations}"
    recording = record(bpy.context.scene, rig, round(seconds * rate) + 1)
    names = [obj.knuckle.source_name for obj in parts(rig, "BODY")]  # type: ignore[attr-defined]
    upright = np.array(rig.matrix_world)
    moved = recording.poses[:, :-1] @ np.linalg.inv(recording.poses[0, :-1])
    codes = [line.code for line in rig.data.knuckle.report if line.severity == "WARNING"]
    return Simulated(np.linalg.inv(upright) @ moved @ upright, names, told, codes)


def drift(system: Multibody, found: Simulated, rate: float, work: Callable[[Array], Array] | None = None) -> float:
    """The largest change of energy (J) of a baked simulation, less work (frames,) of motors."""
    energy = np.array([system.energy(state) for state in found.states(system, rate)])
    if work is not None:
        energy = energy - work(np.arange(3, len(found.motions) - 3))
    return float(np.abs(energy - energy[0]).max())


def worst(one: Array, other: Array) -> float:
    """The largest distance of two paths (frames, 3)."""
    return float(np.linalg.norm(one - other, axis=1).max())


def pendulum() -> Iterator[Row]:
    """A01: a point mass on a massless bar of 1 m, let go from level, 10 s."""
    found, system = simulated("a01", 10.0), Multibody(model("a01"))
    there = system.point(system.run(10.0, RATE, 2), "P1", [-1.0, 0.0, 0.0])
    yield Row(f"A01 pendulum, 10 s ({found.settings}): path", worst(found.point("P1", [-1, 0, 0]), there), "m", 0.02)
    yield Row("A01 pendulum: energy drift of 9.81 J", drift(system, found, RATE), "J", 0.02)


def four_bar_angles(seconds: float, start: float, steps: int = 40) -> Array:
    """Angle of A02's cranks (rad, from vertical): ``theta'' = 7/6 g sin theta`` of three cranks and two couplers."""
    angle, rate, out, h = 0.0, start, [0.0], 1.0 / RATE / steps

    def change(state: Array) -> Array:
        return np.array([state[1], 3.5 / 3.0 * 9.81 * math.sin(state[0])])

    state = np.array([angle, rate])
    for _ in range(round(seconds * RATE)):
        for _ in range(steps):
            one = change(state)
            two = change(state + 0.5 * h * one)
            three = change(state + 0.5 * h * two)
            state = state + h / 6.0 * (one + 2.0 * two + 2.0 * three + change(state + h * three))
        out.append(float(state[0]))
    return np.array(out)


def four_bar() -> Iterator[Row]:
    """A02: two windows of a four-bar, upright, thrown at 1 m/s; all bars are in line twice in each turn. 4 s."""
    seconds = 4.0
    found, system = simulated("a02", seconds), Multibody(model("a02"))
    angles = four_bar_angles(seconds, 1.0)
    there = np.stack([np.sin(angles), np.cos(angles), np.zeros(len(angles))], axis=1)
    here = found.point("crank 0", [0, 1, 0])
    off = np.linalg.norm(here - there, axis=1)
    speeds = [float(np.linalg.norm(path[2] - path[1])) for path in (here, there)]
    yield Row("A02 four-bar: speed of B0 in the second frame off", 100.0 * (speeds[0] / speeds[1] - 1.0), "%", 0.5)
    yield Row(f"A02 four-bar, first second ({found.settings}): path", float(off[: RATE + 1].max()), "m", 0.005)
    yield Row(f"A02 four-bar, {seconds:g} s, through its singular pose: path", float(off.max()), "m", 0.02)
    yield Row("A02 four-bar: energy drift of 35.8 J", drift(system, found, RATE), "J", 0.1)


#: A03: the crank's length and initial angle.
_CRANK, _BETA = 0.007, -0.0617138900142764496
#: Substeps and iterations at which A03 is converged; the formula does not know how fast a mechanism moves.
_CONVERGED = (50, 200)


def squeezer() -> Iterator[Row]:
    """A03: Andrews' squeezing mechanism, seven bodies of a few grams on a spring of 4530 N/m and a motor, 0.03 s."""
    tip = _CRANK * np.array([math.cos(_BETA), math.sin(_BETA), 0.0])
    system = Multibody(model("a03"))
    there = crank_angle(system.point(system.run(0.03, FAST_RATE, 4), "K1", tip))
    for steps in (None, _CONVERGED):
        found = simulated("a03", 0.03, FAST_RATE, steps)
        here = crank_angle(found.point("K1", tip))
        what = f"A03 squeezer, 0.03 s, 15.9 rad ({found.settings} at {FAST_RATE} frames/s)"
        yield Row(f"{what}: crank", float(np.abs(here - there).max()), "rad", None if steps is None else 0.15)
        off = drift(system, found, FAST_RATE, lambda frames, here=here: 0.033 * here[frames])  # type: ignore[misc]
        yield Row(f"{what}: energy drift, motor's work 0.52 J", off, "J", None if steps is None else 0.05)


def crank_angle(path: Array) -> Array:
    """Angles (frames,) of A03's crank from a path (frames, 3) of its tip, whole turns counted."""
    return np.unwrap(np.arctan2(path[:, 1], path[:, 0]))


def bricard() -> Iterator[Row]:
    """A04: Bricard's mechanism, six hinges with one degree of freedom that counting does not find, 5 s from rest."""
    seconds = 5.0
    found, system = simulated("a04", seconds), Multibody(model("a04"))
    states = system.run(seconds, RATE, 4)
    point = [1.0, -1.0, 1.0]
    off = np.linalg.norm(found.point("rod 3", point) - system.point(states, "rod 3", point), axis=1)
    yield Row(f"A04 Bricard, 1 s ({found.settings}): path of P3", float(off[: RATE + 1].max()), "m", 0.005)
    yield Row(f"A04 Bricard, {seconds:g} s: path of P3", float(off.max()), "m", 0.02)
    yield Row("A04 Bricard: energy drift", drift(system, found, RATE), "J", 0.02)


def governor_heights(seconds: float, rate: int = RATE, steps: int = 250, spin: float = 2.0 * math.pi) -> Array:
    """Height (frames,) of A05's slider, by Lagrange's equations of its three coordinates.

    They are the shaft's angle, whose angular momentum is constant, the slider's height ``z`` and the angle of the two
    rods below the horizon, which stay mirror images of each other.
    """
    rod, ball, slider, hub, gravity = 0.3, 5.0, 3.0, 0.05, 9.81
    mass, along = rod + ball, 0.3 / 12.0 * 2e-4
    center = (0.5 * rod + ball) / mass
    across = rod / 12.0 * (1.0 + 1e-4) + rod * (center - 0.5) ** 2 + ball * (1.0 - center) ** 2
    fixed, hinge = along + slider * 0.02 / 12.0, across + mass * center**2

    def turning(angle: float) -> tuple[float, float]:
        """Moment of inertia about the shaft, and its derivative."""
        c, s = math.cos(angle), math.sin(angle)
        out = hub + center * c
        value = fixed + 2.0 * (mass * out**2 + across * c * c + along * s * s)
        return value, 2.0 * (-2.0 * mass * out * center * s - 2.0 * (across - along) * c * s)

    momentum = turning(math.radians(30.0))[0] * spin

    def change(z: float, angle: float, z_rate: float, rate_: float) -> tuple[float, float, float, float]:
        c, s = math.cos(angle), math.sin(angle)
        x, y = 0.5 * c, 0.5 - 0.5 * s - z
        far = math.hypot(x, y)
        closing = (x * -0.5 * s * rate_ + y * (-0.5 * c * rate_ - z_rate)) / far
        pull = 8e5 * (far - 0.5) + 4e4 * closing
        value, slope = turning(angle)
        lift = 2.0 * pull * y / far / slider - gravity
        moment = mass * gravity * center * c + 0.5 * slope * (momentum / value) ** 2 / 2.0
        return z_rate, rate_, lift, (moment - pull * (x * -0.5 * s + y * -0.5 * c) / far) / hinge

    state, out, h = (0.0, math.radians(30.0), 0.0, 0.0), [0.0], 1.0 / rate / steps
    for _ in range(round(seconds * rate)):
        for _ in range(steps):
            one = change(*state)
            two = change(*(a + 0.5 * h * b for a, b in zip(state, one, strict=True)))
            three = change(*(a + 0.5 * h * b for a, b in zip(state, two, strict=True)))
            four = change(*(a + h * b for a, b in zip(state, three, strict=True)))
            parts = zip(state, one, two, three, four, strict=True)
            state = tuple(s + h / 6.0 * (a + 2.0 * b + 2.0 * c + d) for s, a, b, c, d in parts)  # type: ignore[assignment]
        out.append(state[0])
    return np.array(out)


def governor() -> Iterator[Row]:
    """A05: a governor at 2 pi rad/s whose slider hangs on springs of 8e5 N/m with dampers of 4e4 N s/m, 2 s."""
    seconds = 2.0
    there = governor_heights(seconds)
    yield Row(f"A05 governor, {seconds:g} s: the slider's travel in the reference", float(np.ptp(there)), "m", None)
    try:
        found = simulated("a05", seconds)
        here = found.point("slider", [0.0, 0.0, 0.0])[:, 2]
        yield Row(f"A05 governor ({found.settings}): slider's height", float(np.abs(here - there).max()), "m", None)
    except SimulationError as error:  # forces that are set once a frame cannot be a damper of 4e4 N s/m
        frame = int(str(error).split("frame ")[1].split(":")[0])
        yield Row(
            "A05 governor: Blender's solver cannot, it diverges (and says so) after", (frame - 1) / RATE, "s", None
        )
        report = next(rigs_in(bpy.context.scene)).data.knuckle.report  # type: ignore[attr-defined]
        stiff = sum(line.code == "restraint-stiff" for line in report)
        yield Row("A05 governor: springs reported as too stiff for the frame rate, of 2", stiff, "", None)


PARTS: dict[str, Callable[[], Iterator[Any]]] = {
    "pendulum": pendulum, "four_bar": four_bar, "squeezer": squeezer, "bricard": bricard, "governor": governor,
}  # fmt: skip


def main(arguments: list[str]) -> int:
    """Print the table; 1 where a threshold is missed."""
    return physics.main(["--only", "physics_iftomm", *arguments])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
