"""How well a run under physics kept to its mechanism: gaps, servo errors, stops, energy, penetration.

Everything is measured on the recorded poses of the bodies, as anybody could measure it; nothing is asked of the solver.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .kinematics import joint_coordinates, joint_motion
from .records import DOF_SIZE, Array, Dof, Joint
from .rotations import inverse, rotation_vector
from .stops import beyond, stops_of

#: How many joints are named as the worst.
NAMED = 3
#: Stands for the ground where bodies are numbered.
GROUND = -1


@dataclass
class HeldJoint:
    """A joint that physics had to hold: its record, the places of its two sides among the poses, and its frame (4, 4)
    on each; how long the link is that it moves; what its servo was told for each frame (n,), nan where nothing."""

    joint: Joint
    parent: int
    child: int
    on_parent: Array
    on_child: Array
    length: float
    told: Array | None = None


@dataclass
class Overlap:
    """How deep (n,) two bodies were in one another, by their places; ``GROUND`` is the ground."""

    first: int
    second: int
    depth: Array


@dataclass
class Run:
    """What was recorded of a run: world poses (n, bodies + 1, 4, 4), the last the world's; frames per second; masses
    (bodies,), 0 of what did not move by physics, and moments of inertia (bodies, 3) along the bodies' axes; gravity
    (3,). ``free``: no motor worked and nothing was led by keys."""

    poses: Array
    rate: float
    joints: list[HeldJoint]
    masses: Array
    moments: Array
    gravity: Array
    free: bool
    overlaps: list[Overlap] = field(default_factory=list)


@dataclass(frozen=True)
class JointTruth:
    """How a joint fared. ``gap`` is how far its sides came apart, ``tilt`` by what angle its axes did, ``error`` how
    far its servo was from what it was told (nan where it was told nothing), ``beyond`` how far it went beyond its
    stops. Lengths in the model's unit, angles in radians; ``turns``: errors and stops are angles."""

    id: str
    name: str
    length: float
    gap: float
    mean_gap: float
    tilt: float
    turns: bool
    error: float = math.nan
    mean_error: float = math.nan
    beyond: float = 0.0

    @property
    def share(self) -> float:
        """The worst gap as a share of the link's length."""
        return self.gap / self.length if self.length > 0.0 else 0.0

    @property
    def mean_share(self) -> float:
        """The mean gap as a share of the link's length."""
        return self.mean_gap / self.length if self.length > 0.0 else 0.0


@dataclass(frozen=True)
class Truth:
    """How a run fared. ``energy_gained`` is a share of the largest kinetic energy, nan where motors worked or nothing
    moved; ``depth`` how deep a body was in another, or in the ground, ``deep`` the two and ``deep_at`` the frame,
    counted from the first."""

    joints: tuple[JointTruth, ...]
    energy_gained: float = math.nan
    depth: float = 0.0
    deep: tuple[int, int] = (GROUND, GROUND)
    deep_at: int = 0

    def worst(self, count: int = NAMED) -> list[JointTruth]:
        """The joints that came apart most, of their links' length, the worst first."""
        return sorted(self.joints, key=lambda joint: -joint.share)[:count]


def judge(run: Run) -> Truth:
    """The truth about a run."""
    deepest = max(run.overlaps, key=lambda pair: float(pair.depth.max(initial=0.0)), default=None)
    truth = Truth(tuple(_judged(held, run.poses) for held in run.joints), energy_gained(run))
    if deepest is None or not float(deepest.depth.max(initial=0.0)) > 0.0:
        return truth
    at = int(deepest.depth.argmax())
    where = deepest.first, deepest.second
    return Truth(truth.joints, truth.energy_gained, float(deepest.depth[at]), where, at)


def _judged(held: HeldJoint, poses: Array) -> JointTruth:
    joint = held.joint
    apart = inverse(poses[:, held.parent] @ held.on_parent) @ (poses[:, held.child] @ held.on_child)
    values = joint_coordinates(joint, apart)
    fit = joint_motion(joint, values)
    gap = np.linalg.norm(apart[:, :3, 3] - fit[:, :3, 3], axis=1)
    tilt = np.linalg.norm(rotation_vector(inverse(fit)[:, :3, :3] @ apart[:, :3, :3]), axis=1)
    angles = _are_angles(joint.dofs)
    turns = bool(angles and angles[0])
    error = _servo_error(held, values, turns)
    told = error[~np.isnan(error)]
    return JointTruth(
        joint.id,
        joint.name or joint.id,
        held.length,
        float(gap.max()),
        float(gap.mean()),
        float(tilt.max()),
        turns,
        float(told.max()) if len(told) else math.nan,
        float(told.mean()) if len(told) else math.nan,
        _beyond_stops(joint, values, angles),
    )


def _are_angles(dofs: Sequence[Dof]) -> list[bool]:
    """Of every coordinate, whether it is an angle."""
    out: list[bool] = []
    for dof in dofs:
        out += [dof.kind != "translation" and number < 3 for number in range(DOF_SIZE[dof.kind])]
    return out


def _servo_error(held: HeldJoint, values: Array, turns: bool) -> Array:
    """|told - actual| (n,), angles the short way; nan where the servo was told nothing."""
    if held.told is None or values.shape[1] != 1:
        return np.full(len(values), math.nan)
    error = held.told - values[:, 0]
    return np.abs((error + math.pi) % (2.0 * math.pi) - math.pi if turns else error)


def _beyond_stops(joint: Joint, values: Array, angles: Sequence[bool]) -> float:
    """How far the worst of a joint's coordinates went beyond its stops."""
    worst = 0.0
    for number, limits in enumerate(stops_of(joint.dofs)):
        lone = len(angles) == 1 and angles[number]
        track = np.unwrap(values[:, number]) if lone else values[:, number]
        worst = max(worst, float(np.abs(beyond(track, limits)).max(initial=0.0)))
    return worst


def energy_gained(run: Run) -> float:
    """How far the run's energy rose above what it began with, as a share of its largest kinetic energy: what a
    mechanism without motors never does. Nan where there were motors, or nothing moved."""
    if not run.free or len(run.poses) < 5 or not run.masses.any():
        return math.nan
    kinetic, stored = kinetic_energy(run), _height_energy(run) + _spring_energy(run)
    largest, swing = float(kinetic.max()), float(np.ptp(stored))
    if largest <= 1e-6 * max(float(np.abs(stored).max()), swing):
        return math.nan
    total = kinetic + stored
    return max(float(total.max() - total[0]), 0.0) / largest


def _height_energy(run: Run) -> Array:
    """(n,): relative to where the run begins."""
    risen = run.poses[:, :-1, :3, 3] - run.poses[0, :-1, :3, 3]
    return -np.einsum("nbi,i,b->n", risen, run.gravity, run.masses)


def _spring_energy(run: Run) -> Array:
    """(n,): of the springs of hinges and slides."""
    stored = np.zeros(len(run.poses))
    for held in run.joints:
        dofs = held.joint.dofs
        if len(dofs) != 1 or not dofs[0].stiffness > 0.0 or dofs[0].kind not in {"rotation", "translation"}:
            continue
        apart = inverse(run.poses[:, held.parent] @ held.on_parent) @ (run.poses[:, held.child] @ held.on_child)
        value = joint_coordinates(held.joint, apart)[:, 0]
        value = np.unwrap(value) if dofs[0].kind == "rotation" else value
        stored += 0.5 * dofs[0].stiffness * (value - dofs[0].rest) ** 2
    return stored


def kinetic_energy(run: Run) -> Array:
    """(n,), from poses alone: of fourth order where all is smooth. Of each body, no more than what leads to the frame
    and what follows it both have, so that a blow does not ring."""
    moves, turns = _steps(run.poses[:, :-1]) * run.rate, _turns(run.poses[:, :-1]) * run.rate

    def energy(rule: Callable[[Array], Array]) -> Array:
        """Of each body (.., bodies), from speeds between frames."""
        speed, spin = rule(moves), rule(turns)
        straight = np.einsum("nbi,nbi,b->nb", speed, speed, run.masses)
        return 0.5 * (straight + np.einsum("nbi,nbi,bi->nb", spin, spin, run.moments))

    leads, follows = energy(lambda v: 1.5 * v[1:] - 0.5 * v[:-1]), energy(lambda v: 1.5 * v[:-1] - 0.5 * v[1:])
    out = np.empty((len(run.poses), len(run.masses)))
    out[:2], out[-2:] = follows[:2], leads[-2:]
    smooth = energy(lambda v: (-v[:-3] + 7.0 * v[1:-2] + 7.0 * v[2:-1] - v[3:]) / 12.0)  # the five-point rule
    out[2:-2] = np.minimum(smooth, np.minimum(leads[:-2], follows[2:]))
    return out.sum(axis=1)


def _steps(poses: Array) -> Array:
    return np.diff(poses[:, :, :3, 3], axis=0)


def _turns(poses: Array) -> Array:
    """Rotation vectors from frame to frame (n - 1, bodies, 3), in the bodies' own axes."""
    turn = poses[:, :, :3, :3]
    return rotation_vector(np.swapaxes(turn[:-1], -1, -2) @ turn[1:])


# ------------------------------------------------------------------------------------ in words


class Line(NamedTuple):
    """A figure in words: what it is, at worst, in the mean (empty where that says nothing), and a remark."""

    what: str
    worst: str
    mean: str = ""
    remark: str = ""

    def __str__(self) -> str:
        amount = f"{self.worst} at worst, {self.mean} in the mean" if self.mean else self.worst
        return f"{self.what}: {amount}" + (f" ({self.remark})" if self.remark else "")


def told(truth: Truth, names: Mapping[int, str]) -> list[Line]:
    """The truth in words. ``names`` are those of bodies by their places."""
    out: list[Line] = []
    if truth.joints:
        mean = sum(joint.mean_share for joint in truth.joints) / len(truth.joints)
        out.append(Line("Pivot gap", percent(truth.worst(1)[0].share), percent(mean), "of a link's length"))
    for turns, what in ((True, "Servo error"), (False, "Slide error")):
        driven = [joint for joint in truth.joints if joint.turns == turns and not math.isnan(joint.error)]
        if driven:
            mean = sum(joint.mean_error for joint in driven) / len(driven)
            out.append(Line(what, _amount(max(joint.error for joint in driven), turns), _amount(mean, turns)))
    out.append(_stops_told(truth))
    if not math.isnan(truth.energy_gained):
        out.append(Line("Energy gained", percent(truth.energy_gained), remark="of the largest kinetic energy"))
    out.append(_depth_told(truth, names))
    return out


def _stops_told(truth: Truth) -> Line:
    over = [joint for joint in truth.joints if joint.beyond > 0.0]
    most = [
        _amount(max(joint.beyond for joint in over if joint.turns == turns), turns)
        for turns in (True, False)
        if any(joint.turns == turns for joint in over)
    ]
    many = "1 joint" if len(over) == 1 else f"{len(over)} joints"
    return Line("Beyond stops", " and ".join(most), remark=many) if over else Line("Beyond stops", "none")


def _depth_told(truth: Truth, names: Mapping[int, str]) -> Line:
    if truth.depth <= 0.0:
        return Line("Penetration", "none")
    first, second = ("the ground" if place == GROUND else names.get(place, f"body {place + 1}") for place in truth.deep)
    return Line("Penetration", f"{truth.depth:.1g}", remark=f"{first} in {second}")


def joint_told(joint: JointTruth) -> Line:
    """How far one joint came apart, in words."""
    return Line(joint.name, percent(joint.share), percent(joint.mean_share))


def percent(share: float) -> str:
    """A share in percent."""
    return f"{_short(100.0 * share)} %"


def _amount(value: float, turns: bool) -> str:
    return f"{_short(math.degrees(value))}°" if turns else _short(value)


def _short(value: float) -> str:
    """Two digits, and no powers of ten for what is large."""
    return f"{value:.0f}" if value >= 9.95 else f"{value:.2g}"
