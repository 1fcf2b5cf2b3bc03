"""How well a run under physics kept to its mechanism: gaps, servo errors, stops, energy, penetration.

Everything is measured on the recorded poses of the bodies, as anybody could measure it; nothing is asked of the solver.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np

from .kinematics import joint_coordinates, joint_motion
from .model import DOF_SIZE, Array, Dof, Joint
from .stops import beyond, stops_of
from .transforms import inverse, rotation_matrix, rotation_vector

#: How many joints are named as the worst.
NAMED = 3
#: The farthest (rad) that bodies may turn from pose to pose for their speed to be told.
FASTEST = 0.5
#: Stands for the ground where bodies are numbered.
GROUND = -1


@dataclass
class HeldJoint:
    """A joint that physics had to hold: its record, the places of its two sides among the poses, and its frame (4, 4)
    on each; how long the link is that it moves; what its servos were told for each frame (n, size), nan where nothing;
    the coordinates (size,) that it had at first, where those tell whole turns."""

    joint: Joint
    parent: int
    child: int
    on_parent: Array
    on_child: Array
    length: float
    told: Array | None = None
    begun: Array | None = None


@dataclass
class Overlap:
    """How deep (n,) two bodies were in one another, by their places; ``GROUND`` is the ground."""

    first: int
    second: int
    depth: Array


@dataclass
class Run:
    """What was recorded of a run: rigid poses (n, bodies + 1, 4, 4), the last the world's; masses (bodies,), 0 of what
    did not move by physics, and inertia (bodies, 3, 3) in the bodies' axes; gravity (3,). ``free``: no motor worked and
    nothing was led by keys. ``steps`` are poses at more instants than the frames, where there are any, and ``rate`` how
    many of these there are per second. All lengths are those of the model, which is ``size`` times as large in the
    world: what springs store, which know nothing of that, is less by its square."""

    poses: Array
    rate: float
    joints: list[HeldJoint]
    masses: Array
    tensors: Array
    gravity: Array
    free: bool
    overlaps: list[Overlap] = field(default_factory=list)
    steps: Array | None = None
    size: float = 1.0

    @property
    def course(self) -> Array:
        """The poses at all instants that there are."""
        return self.poses if self.steps is None else self.steps


@dataclass(frozen=True)
class JointTruth:
    """How a joint fared.

    ``gap`` is how far its sides came apart, ``tilt`` by what angle its axes did, ``error`` how far its servos were from
    what they were told (nan where they were told nothing), of several those that turn, or the slides where none does;
    ``beyond`` how far it went beyond its stops. Lengths in the model's unit, angles in radians; ``turns``: errors and
    stops are angles.
    """

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
    """How a run fared.

    ``energy_gained`` is a share of the largest kinetic energy, nan where motors worked, nothing moved, or all went too
    fast to be told from poses; ``depth`` how deep a body was in another, or in the ground, ``deep`` the two and
    ``deep_at`` the frame, counted from the first.
    """

    joints: tuple[JointTruth, ...]
    energy_gained: float = math.nan
    depth: float = 0.0
    deep: tuple[int, int] = (GROUND, GROUND)
    deep_at: int = 0

    def worst(self, count: int = NAMED) -> list[JointTruth]:
        """The joints that came apart most, of their links' length, the worst first."""
        return sorted(self.joints, key=lambda joint: -joint.share)[:count]


def judge(run: Run) -> Truth:
    """The truth about a run. Raises ValueError where poses are not finite: of such there is none."""
    if not np.isfinite(run.poses).all():
        raise ValueError("The simulation diverged: its accuracy cannot be measured")
    deepest = max(run.overlaps, key=lambda pair: float(pair.depth.max(initial=0.0)), default=None)
    truth = Truth(tuple(_judged(held, run.poses) for held in run.joints), energy_gained(run))
    if deepest is None or not float(deepest.depth.max(initial=0.0)) > 0.0:
        return truth
    at = int(deepest.depth.argmax())
    where = deepest.first, deepest.second
    return Truth(truth.joints, truth.energy_gained, float(deepest.depth[at]), where, at)


def _judged(held: HeldJoint, poses: Array) -> JointTruth:
    joint = held.joint
    apart = _apart(held, poses)
    values = joint_coordinates(joint, apart)
    fit = joint_motion(joint, values)
    gap = np.linalg.norm(apart[:, :3, 3] - fit[:, :3, 3], axis=1)
    tilt = np.linalg.norm(rotation_vector(inverse(fit)[:, :3, :3] @ apart[:, :3, :3]), axis=1)
    angles = _are_angles(joint.dofs)
    error, turns = _servo_error(held, values, angles)
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
        _beyond_stops(joint, _counted(held, values)),
    )


def _apart(held: HeldJoint, poses: Array) -> Array:
    """The motion (n, 4, 4) of a joint's child side from its parent's."""
    return inverse(poses[:, held.parent] @ held.on_parent) @ (poses[:, held.child] @ held.on_child)


def _counted(held: HeldJoint, values: Array) -> Array:
    """Coordinates (n, size) with whole turns: of a lone hinge all, of others those that it began with."""
    out, at = values.copy(), 0
    for dof in held.joint.dofs:
        if dof.kind == "rotation":
            if values.shape[1] == 1:
                out[:, at] = np.unwrap(values[:, at])
            if held.begun is not None and len(out):
                out[:, at] += 2.0 * math.pi * np.round((held.begun[at] - out[0, at]) / (2.0 * math.pi))
        at += DOF_SIZE[dof.kind]
    return out


def _are_angles(dofs: Sequence[Dof]) -> list[bool]:
    """Of every coordinate, whether it is an angle."""
    out: list[bool] = []
    for dof in dofs:
        out += [dof.kind != "translation" and number < 3 for number in range(DOF_SIZE[dof.kind])]
    return out


def _servo_error(held: HeldJoint, values: Array, angles: Sequence[bool]) -> tuple[Array, bool]:
    """|told - actual| (n,) of the worst of a joint's coordinates, angles the short way, balls by the angle between the
    two; nan where they were told nothing. And whether it is of angles: of those wherever any was told."""
    told = np.full_like(values, math.nan) if held.told is None else held.told[:, : values.shape[1]]
    error = np.abs(told - values)
    at = 0
    for dof in held.joint.dofs:
        if dof.kind == "rotation":
            error[:, at] = np.abs((told[:, at] - values[:, at] + math.pi) % (2.0 * math.pi) - math.pi)
        elif DOF_SIZE[dof.kind] > 1:  # its turn is in three numbers
            turn = slice(at, at + 3)
            both = np.swapaxes(rotation_matrix(values[:, turn]), 1, 2) @ rotation_matrix(told[:, turn])
            error[:, turn] = np.linalg.norm(rotation_vector(both), axis=1)[:, None]
        at += DOF_SIZE[dof.kind]
    is_angle = np.array(angles, dtype=bool)
    turns = bool(is_angle.any()) if np.isnan(error).all() else bool((~np.isnan(error[:, is_angle])).any())
    ours = error[:, is_angle == turns]
    worst = np.where(np.isnan(ours), -1.0, ours).max(axis=1, initial=-1.0)
    return np.where(worst < 0.0, math.nan, worst), turns


def _beyond_stops(joint: Joint, values: Array) -> float:
    """Return how far the worst of a joint's coordinates went beyond its stops."""
    return max(
        (
            float(np.abs(beyond(values[:, number], limits)).max(initial=0.0))
            for number, limits in enumerate(stops_of(joint.dofs))
        ),
        default=0.0,
    )


def energy_gained(run: Run) -> float:
    """Return how far the run's energy rose above what it began with, as a share of its largest kinetic energy: what a
    mechanism without motors never does. Nan where there were motors, nothing moved, or bodies turned so far from pose
    to pose that their speed cannot be told.

    The last two instants do not count: speeds are not known well where nothing follows."""
    if not run.free or len(run.course) < 7 or not run.masses.any():
        return math.nan
    if turns_fastest(run) > FASTEST:
        return math.nan
    kinetic, stored = kinetic_energy(run)[:-2], _stored_energy(run)[:-2]
    largest, swing = float(kinetic.max()), float(np.ptp(stored))
    if largest <= 1e-6 * max(float(np.abs(stored).max()), swing):
        return math.nan
    total = kinetic + stored
    return max(float(total.max() - total[0]), 0.0) / largest


def turns_fastest(run: Run) -> float:
    """The farthest (rad) that a body turned from one instant to the next."""
    return float(np.linalg.norm(_turns(run.course[:, :-1][:, run.masses > 0.0]), axis=-1).max())


def mechanical_energy(run: Run) -> Array:
    """(n - 2,): of motion, height and springs, at all instants but the last two, whose speeds are not known well."""
    return (kinetic_energy(run) + _stored_energy(run))[:-2]


def _stored_energy(run: Run) -> Array:
    """(n,): of height and of springs."""
    return _height_energy(run) + _spring_energy(run)


def _height_energy(run: Run) -> Array:
    """(n,): relative to where the run begins."""
    risen = run.course[:, :-1, :3, 3] - run.course[0, :-1, :3, 3]
    return -np.einsum("nbi,i,b->n", risen, run.gravity, run.masses)


def _spring_energy(run: Run) -> Array:
    """(n,): of the springs of turns and slides."""
    stored = np.zeros(len(run.course))
    for held in run.joints:
        if not any(dof.stiffness > 0.0 for dof in held.joint.dofs):
            continue
        values, at = _counted(held, joint_coordinates(held.joint, _apart(held, run.course))), 0
        for dof in held.joint.dofs:
            if dof.stiffness > 0.0 and dof.kind in {"rotation", "translation"}:
                less = run.size**2 if dof.kind == "rotation" else 1.0
                stored += 0.5 * dof.stiffness / less * (values[:, at] - dof.rest) ** 2
            at += DOF_SIZE[dof.kind]
    return stored


def kinetic_energy(run: Run) -> Array:
    """(n,), from poses alone: of fourth order where all is smooth.

    Of each body, no more than what leads to the frame and what follows it both have, so that a blow does not ring.
    """
    moves, turns = _steps(run.course[:, :-1]) * run.rate, _turns(run.course[:, :-1]) * run.rate

    def energy(rule: Callable[[Array], Array]) -> Array:
        """Of each body (.., bodies), from speeds between frames."""
        speed, spin = rule(moves), rule(turns)
        straight = np.einsum("nbi,nbi,b->nb", speed, speed, run.masses)
        return 0.5 * (straight + np.einsum("nbi,nbj,bij->nb", spin, spin, run.tensors))

    leads, follows = energy(lambda v: 1.5 * v[1:] - 0.5 * v[:-1]), energy(lambda v: 1.5 * v[:-1] - 0.5 * v[1:])
    out = np.empty((len(run.course), len(run.masses)))
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


#: What each figure is, for the heads of tables and plots; lengths and energies are in the model's units.
LABELS = {
    "distance": "distance",
    "energy": "energy put in",
    "tracking_error": "tracking error (rad)",
    "worst_error": "worst error (rad)",
    "pivot_gap": "pivot gap (of a link)",
}


@dataclass(frozen=True)
class Figures:
    """``distance`` is how far the heaviest body came, level where there is gravity.

    ``energy`` is by how much the energy of motion, height and springs rose, all rises together: the least that motors
    put in, since what they held back or what was lost in between is not in it; nan where bodies turned too fast for
    their speed to be told. ``tracking_error`` is that of the servos that turn, in the mean of servos and frames, and
    ``worst_error`` of the worst in any frame (rad); nan where none was told anything. ``pivot_gap`` is the worst, as a
    share of a link.
    """

    distance: float
    energy: float
    tracking_error: float
    worst_error: float
    pivot_gap: float

    def plain(self) -> dict[str, float | None]:
        """By name, None for nan, as JSON has it."""
        return {name: value if math.isfinite(value) else None for name, value in asdict(self).items()}


def figures_of(run: Run, truth: Truth) -> Figures:
    """The figures of a run that is judged."""
    turning = [joint for joint in truth.joints if joint.turns and not math.isnan(joint.error)]
    return Figures(
        _distance(run),
        _energy(run),
        float(np.mean([joint.mean_error for joint in turning])) if turning else math.nan,
        max((joint.error for joint in turning), default=math.nan),
        max((joint.share for joint in truth.joints), default=0.0),
    )


def _distance(run: Run) -> float:
    if not run.masses.any():
        return 0.0
    path = run.poses[:, int(run.masses.argmax()), :3, 3]
    way = path[-1] - path[0]
    pull = float(np.linalg.norm(run.gravity))
    if pull > 0.0:
        down = run.gravity / pull
        way = way - down * (way @ down)
    return float(np.linalg.norm(way))


def _energy(run: Run) -> float:
    if len(run.course) < 7 or not run.masses.any() or turns_fastest(run) > FASTEST:
        return math.nan
    return float(np.maximum(np.diff(mechanical_energy(run)), 0.0).sum())
