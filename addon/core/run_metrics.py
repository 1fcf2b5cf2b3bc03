"""Metrics of a simulation: joint separation, tracking error, stops, energy, penetration and distance.

Everything is measured on the recorded poses of the bodies, independent of the solver.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np

from .kinematics import joint_motion, joint_values_from_transform
from .model import DOF_SIZE, Array, Joint, are_angles, dof_slices
from .stops import joint_stops, stop_excess
from .transforms import inverse, rotation_matrix, rotation_vector, wrap_angle

#: Number of worst joints that are listed by default.
WORST_JOINT_COUNT = 3
#: Largest rotation (rad) of a body between poses for which its velocity can be determined.
MAX_ROTATION_PER_STEP = 0.5
#: Index of the ground among bodies.
GROUND_INDEX = -1
#: Time (s) without contact that is long enough to measure a path shift.
_LEAST_FREE_SECONDS = 0.1


@dataclass
class MeasuredJoint:
    """Joint that was simulated.

    Attributes:
        joint: Its record.
        parent: Index of its parent side among the poses.
        child: Index of its child side among the poses.
        on_parent: Joint frame (4, 4) on the parent.
        on_child: Joint frame (4, 4) on the child.
        length: Length of the link that it moves.
        targets: Targets of its servos for each frame (n, size), nan where there is none.
        begun: Initial values (size,), where these specify whole turns.
    """

    joint: Joint
    parent: int
    child: int
    on_parent: Array
    on_child: Array
    length: float
    targets: Array | None = None
    begun: Array | None = None


@dataclass
class BodyPenetration:
    """Penetration depth (n,) of two bodies (indices); ``GROUND_INDEX`` is the ground."""

    first: int
    second: int
    depth: Array


@dataclass
class SimulationRecord:
    """Recording of a simulation.

    Lengths are in the mechanism's unit; joint springs, given in the world's, store less by the square of the scale.

    Attributes:
        poses: Rigid poses (n, bodies + 1, 4, 4), the last the world's.
        rate: Instants of ``course`` per second.
        joints: The simulated joints.
        masses: (bodies,), 0 for bodies that were not moved by physics.
        tensors: Inertia tensors (bodies, 3, 3) in the bodies' axes.
        gravity: (3,)
        free: No motor was active and no body was keyframed.
        overlaps: Penetrations of pairs of bodies.
        steps: Poses at more instants than the frames, where available.
        size: Scale of the mechanism in the world.
    """

    poses: Array
    rate: float
    joints: list[MeasuredJoint]
    masses: Array
    tensors: Array
    gravity: Array
    free: bool
    overlaps: list[BodyPenetration] = field(default_factory=list)
    steps: Array | None = None
    size: float = 1.0

    @property
    def course(self) -> Array:
        """Return the poses at all recorded instants."""
        return self.poses if self.steps is None else self.steps


@dataclass(frozen=True)
class JointAccuracy:
    """Accuracy of one joint.

    ``separation`` is its joint separation and ``tilt`` the angle between its axes; ``tracking_error`` is the error of
    its servos (nan without targets): of several those that rotate, or the sliders where none does; ``stop_overrun`` is
    how far it went beyond its stops. Lengths in the mechanism's unit, angles in radians; ``is_revolute``: errors and
    stops are angles.
    """

    id: str
    name: str
    length: float
    separation: float
    mean_separation: float
    tilt: float
    is_revolute: bool
    tracking_error: float = math.nan
    mean_tracking_error: float = math.nan
    stop_overrun: float = 0.0

    @property
    def share(self) -> float:
        """Return the largest joint separation as a share of the link's length."""
        return self.separation / self.length if self.length > 0.0 else 0.0

    @property
    def mean_relative_separation(self) -> float:
        """Return the mean joint separation as a share of the link's length."""
        return self.mean_separation / self.length if self.length > 0.0 else 0.0


@dataclass(frozen=True)
class PathShift:
    """Distance by which the paths of a mechanism's bodies move if the simulation takes twice the substeps.

    A simulation that has converged does not change. ``share`` is the largest distance between the two positions of a
    body's center of mass at one instant, as a share of the mechanism's size. It was measured over so many ``seconds``.
    With ``contacts`` no limit applies: paths with impacts and friction diverge, however short the step is.
    """

    share: float
    seconds: float
    contacts: bool = False


def path_shift(first: Array, second: Array, size: float, rate: float, contact: int | None) -> PathShift:
    """Measure the path shift up to the first contact; where it comes at once, over all instants.

    Args:
        first: Poses (n, bodies, 4, 4) of a simulation.
        second: Those of the same with twice the substeps.
        size: Size of the mechanism.
        rate: Instants per second.
        contact: Index of the first instant with a contact; None without any.
    """
    begins_in_contact = contact is not None and contact < _LEAST_FREE_SECONDS * rate
    count = len(first) if contact is None or begins_in_contact else min(contact + 1, len(first))
    apart = np.linalg.norm(first[:count, :, :3, 3] - second[:count, :, :3, 3], axis=-1)
    return PathShift(float(apart.max(initial=0.0)) / size, (count - 1) / rate, begins_in_contact)


@dataclass(frozen=True)
class BodyDifference:
    """Difference between the paths of a body in two simulations: distances (n,) of its origins, angles (n,) in rad."""

    name: str
    times: Array
    distances: Array
    angles: Array

    @property
    def largest(self) -> float:
        """Return the largest distance."""
        return float(self.distances.max(initial=0.0))

    def at_times(self, count: int) -> list[tuple[float, float]]:
        """Return ``count`` times and the distances then, evenly from the first part of the simulation to its end."""
        picks = np.linspace(0, len(self.times) - 1, count + 1)[1:].round().astype(int)
        return [(float(self.times[at]), float(self.distances[at])) for at in picks]


def body_differences(first: Array, second: Array, names: Sequence[str], rate: float) -> list[BodyDifference]:
    """Compare the paths of bodies in two simulations, as long as both last.

    Args:
        first: Poses (n, bodies, 4, 4).
        second: Poses (m, bodies, 4, 4).
        names: Names of the bodies.
        rate: Instants per second.

    Returns:
        The bodies that move in either, the one with the largest distance first.
    """
    count = min(len(first), len(second))
    first, second = first[:count], second[:count]
    distances = np.linalg.norm(first[..., :3, 3] - second[..., :3, 3], axis=-1)
    turn = np.swapaxes(first[..., :3, :3], -1, -2) @ second[..., :3, :3]
    angles = np.linalg.norm(rotation_vector(turn.reshape(-1, 3, 3)), axis=-1).reshape(distances.shape)
    moves = np.array([(poses != poses[:1]).any(axis=(0, 2, 3)) for poses in (first, second)]).any(axis=0)
    times = np.arange(count) / rate
    out = [BodyDifference(names[at], times, distances[:, at], angles[:, at]) for at in np.flatnonzero(moves)]
    return sorted(out, key=lambda each: -each.largest)


@dataclass(frozen=True)
class SimulationAccuracy:
    """Accuracy of a simulation.

    ``energy_gained`` is a share of the largest kinetic energy, nan where motors were active, nothing moved, or bodies
    were too fast for their velocities to be determined from poses. ``penetration`` is the largest one, of a body
    and another or the ground, ``deepest_pair`` the two (indices) and ``deepest_index`` the index of the frame.
    ``path_shift`` is how far twice the substeps move the bodies, None where that was not simulated.
    """

    joints: tuple[JointAccuracy, ...]
    energy_gained: float = math.nan
    penetration: float = 0.0
    deepest_pair: tuple[int, int] = (GROUND_INDEX, GROUND_INDEX)
    deepest_index: int = 0
    path_shift: PathShift | None = None

    def worst(self, count: int = WORST_JOINT_COUNT) -> list[JointAccuracy]:
        """Return the joints with the largest separation relative to their links' length, the worst first."""
        return sorted(self.joints, key=lambda joint: -joint.share)[:count]


def measure_accuracy(run: SimulationRecord) -> SimulationAccuracy:
    """Measure the accuracy of a simulation.

    Raises:
        ValueError: Poses are not finite.
    """
    if not np.isfinite(run.poses).all():
        raise ValueError(
            "Simulation accuracy: the simulation diverged and cannot be measured. Simulate with more substeps"
        )
    deepest = max(run.overlaps, key=lambda pair: float(pair.depth.max(initial=0.0)), default=None)
    accuracy = SimulationAccuracy(tuple(_measure_joint(held, run.poses) for held in run.joints), energy_gained(run))
    if deepest is None or not float(deepest.depth.max(initial=0.0)) > 0.0:
        return accuracy
    at = int(deepest.depth.argmax())
    where = deepest.first, deepest.second
    return SimulationAccuracy(accuracy.joints, accuracy.energy_gained, float(deepest.depth[at]), where, at)


def _measure_joint(held: MeasuredJoint, poses: Array) -> JointAccuracy:
    joint = held.joint
    apart = _joint_transforms(held, poses)
    values = joint_values_from_transform(joint, apart)
    fit = joint_motion(joint, values)
    gap = np.linalg.norm(apart[:, :3, 3] - fit[:, :3, 3], axis=1)
    tilt = np.linalg.norm(rotation_vector(inverse(fit)[:, :3, :3] @ apart[:, :3, :3]), axis=1)
    angles = are_angles(joint.dofs)
    error, turns = _tracking_error(held, values, angles)
    known = error[~np.isnan(error)]
    return JointAccuracy(
        joint.id,
        joint.name or joint.id,
        held.length,
        float(gap.max()),
        float(gap.mean()),
        float(tilt.max()),
        turns,
        float(known.max()) if len(known) else math.nan,
        float(known.mean()) if len(known) else math.nan,
        _max_stop_excess(joint, _unwrap_values(held, values)),
    )


def _joint_transforms(held: MeasuredJoint, poses: Array) -> Array:
    """Compute the motion (n, 4, 4) of a joint's child side relative to its parent side."""
    return inverse(poses[:, held.parent] @ held.on_parent) @ (poses[:, held.child] @ held.on_child)


def _unwrap_values(held: MeasuredJoint, values: Array) -> Array:
    """Add whole turns to values (n, size).

    Those of a single hinge are unwrapped; all rotations begin within half a turn of their initial values.
    """
    out = values.copy()
    for dof, own in dof_slices(held.joint.dofs):
        if dof.kind == "rotation":
            if values.shape[1] == 1:
                out[:, own] = np.unwrap(values[:, own], axis=0)
            if held.begun is not None and len(out):
                out[:, own] += math.tau * np.round((held.begun[own] - out[0, own]) / math.tau)
    return out


def _tracking_error(held: MeasuredJoint, values: Array, angles: Sequence[bool]) -> tuple[Array, bool]:
    """Compute the tracking error of a joint, ``abs(target - actual)``.

    Angles count the short way, balls by the angle between the two rotations.

    Returns:
        The error (n,) of the worst coordinate, nan without targets; and whether it is an angle, as it is wherever any
        angle has a target.
    """
    targets = np.full_like(values, math.nan) if held.targets is None else held.targets[:, : values.shape[1]]
    error = np.abs(targets - values)
    for dof, own in dof_slices(held.joint.dofs):
        if dof.kind == "rotation":
            error[:, own] = np.abs(wrap_angle(targets[:, own] - values[:, own]))
        elif DOF_SIZE[dof.kind] > 1:  # its rotation is a vector
            turn = slice(own.start, own.start + 3)
            both = np.swapaxes(rotation_matrix(values[:, turn]), 1, 2) @ rotation_matrix(targets[:, turn])
            error[:, turn] = np.linalg.norm(rotation_vector(both), axis=1)[:, None]
    is_angle = np.array(angles, dtype=bool)
    turns = bool(is_angle.any()) if np.isnan(error).all() else bool((~np.isnan(error[:, is_angle])).any())
    ours = error[:, is_angle == turns]
    worst = np.where(np.isnan(ours), -1.0, ours).max(axis=1, initial=-1.0)
    return np.where(worst < 0.0, math.nan, worst), turns


def _max_stop_excess(joint: Joint, values: Array) -> float:
    """Return the largest distance of a joint's values beyond their stops."""
    return max(
        (
            float(np.abs(stop_excess(values[:, number], limits)).max(initial=0.0))
            for number, limits in enumerate(joint_stops(joint.dofs))
        ),
        default=0.0,
    )


def energy_gained(run: SimulationRecord) -> float:
    """Compute by how much the energy rose above its initial value, as a share of the largest kinetic energy.

    In a mechanism without motors it never rises. The last two instants are left out: without following poses their
    velocities are inaccurate.

    Returns:
        The share; nan where there were motors, nothing moved, or bodies rotated so far between poses that their
        velocities cannot be determined.
    """
    if not run.free or len(run.course) < 7 or not run.masses.any():
        return math.nan
    if max_rotation_per_step(run) > MAX_ROTATION_PER_STEP:
        return math.nan
    kinetic, stored = kinetic_energy(run)[:-2], _stored_energy(run)[:-2]
    largest, swing = float(kinetic.max()), float(np.ptp(stored))
    if largest <= 1e-6 * max(float(np.abs(stored).max()), swing):
        return math.nan
    total = kinetic + stored
    return max(float(total.max() - total[0]), 0.0) / largest


def max_rotation_per_step(run: SimulationRecord) -> float:
    """Return the largest rotation (rad) of a body between two instants."""
    return float(np.linalg.norm(_rotation_steps(run.course[:, :-1][:, run.masses > 0.0]), axis=-1).max())


def mechanical_energy(run: SimulationRecord) -> Array:
    """Compute kinetic, potential and spring energy, (n - 2,), without the last two instants.

    Their velocities are inaccurate.
    """
    return (kinetic_energy(run) + _stored_energy(run))[:-2]


def _stored_energy(run: SimulationRecord) -> Array:
    """Compute the energy of height and springs, (n,)."""
    return _potential_energy(run) + _spring_energy(run)


def _potential_energy(run: SimulationRecord) -> Array:
    """Compute the potential energy in gravity, (n,), relative to the first instant."""
    risen = run.course[:, :-1, :3, 3] - run.course[0, :-1, :3, 3]
    return -np.einsum("nbi,i,b->n", risen, run.gravity, run.masses)


def _spring_energy(run: SimulationRecord) -> Array:
    """Compute the energy of the springs of rotations and translations, (n,)."""
    stored = np.zeros(len(run.course))
    for held in run.joints:
        if not any(dof.stiffness > 0.0 for dof in held.joint.dofs):
            continue
        values = _unwrap_values(held, joint_values_from_transform(held.joint, _joint_transforms(held, run.course)))
        for dof, own in dof_slices(held.joint.dofs):
            if dof.stiffness > 0.0 and dof.kind in {"rotation", "translation"}:
                less = run.size**2 if dof.kind == "rotation" else 1.0
                stored += 0.5 * dof.stiffness / less * (values[:, own.start] - dof.rest) ** 2
    return stored


def kinetic_energy(run: SimulationRecord) -> Array:
    """Compute the kinetic energy (n,) from poses alone, of fourth order where motion is smooth.

    For each body it is at most the energies extrapolated from before and from after the frame, so that an impact causes
    no ringing.
    """
    moves, turns = _displacements(run.course[:, :-1]) * run.rate, _rotation_steps(run.course[:, :-1]) * run.rate

    def energy(rule: Callable[[Array], Array]) -> Array:
        """Compute the energy of each body, (.., bodies), from velocities between frames."""
        speed, spin = rule(moves), rule(turns)
        straight = np.einsum("nbi,nbi,b->nb", speed, speed, run.masses)
        return 0.5 * (straight + np.einsum("nbi,nbj,bij->nb", spin, spin, run.tensors))

    leads, follows = energy(lambda v: 1.5 * v[1:] - 0.5 * v[:-1]), energy(lambda v: 1.5 * v[:-1] - 0.5 * v[1:])
    out = np.empty((len(run.course), len(run.masses)))
    out[:2], out[-2:] = follows[:2], leads[-2:]
    smooth = energy(lambda v: (-v[:-3] + 7.0 * v[1:-2] + 7.0 * v[2:-1] - v[3:]) / 12.0)  # five-point stencil
    out[2:-2] = np.minimum(smooth, np.minimum(leads[:-2], follows[2:]))
    return out.sum(axis=1)


def _displacements(poses: Array) -> Array:
    return np.diff(poses[:, :, :3, 3], axis=0)


def _rotation_steps(poses: Array) -> Array:
    """Compute rotation vectors from frame to frame, (n - 1, bodies, 3), in the bodies' own axes."""
    turn = poses[:, :, :3, :3]
    return rotation_vector(np.swapaxes(turn[:-1], -1, -2) @ turn[1:])


#: Names of figures for heads of tables and plots; lengths and energies are in the mechanism's units.
FIGURE_LABELS = {
    "distance": "distance",
    "energy": "energy put in",
    "tracking_error": "tracking error (rad)",
    "worst_error": "worst error (rad)",
    "pivot_gap": "pivot gap (of a link)",
}


@dataclass(frozen=True)
class SimulationFigures:
    """Figures of a simulation for comparison with others.

    ``distance`` is that of the heaviest body from its initial position, horizontal where there is gravity. ``energy``
    is the sum of all rises of kinetic, potential and spring energy: a lower bound for the work of the motors, since
    braking and losses in between are not in it; nan where bodies rotated too fast for their velocities to be
    determined. ``tracking_error`` is the mean over rotational servos and frames, ``worst_error`` the largest in any
    frame (rad); nan without targets. ``pivot_gap`` is the largest joint separation, as a share of a link's length.
    """

    distance: float
    energy: float
    tracking_error: float
    worst_error: float
    pivot_gap: float

    def plain(self) -> dict[str, float | None]:
        """Return the figures by name, None for nan, as JSON has it."""
        return {name: value if math.isfinite(value) else None for name, value in asdict(self).items()}


def simulation_figures(run: SimulationRecord, accuracy: SimulationAccuracy) -> SimulationFigures:
    """Compute the figures of a simulation from its recording and its accuracy."""
    turning = [joint for joint in accuracy.joints if joint.is_revolute and not math.isnan(joint.tracking_error)]
    return SimulationFigures(
        _distance_traveled(run),
        _energy_input(run),
        float(np.mean([joint.mean_tracking_error for joint in turning])) if turning else math.nan,
        max((joint.tracking_error for joint in turning), default=math.nan),
        max((joint.share for joint in accuracy.joints), default=0.0),
    )


def _distance_traveled(run: SimulationRecord) -> float:
    if not run.masses.any():
        return 0.0
    path = run.poses[:, int(run.masses.argmax()), :3, 3]
    way = path[-1] - path[0]
    pull = float(np.linalg.norm(run.gravity))
    if pull > 0.0:
        down = run.gravity / pull
        way = way - down * (way @ down)
    return float(np.linalg.norm(way))


def _energy_input(run: SimulationRecord) -> float:
    if len(run.course) < 7 or not run.masses.any() or max_rotation_per_step(run) > MAX_ROTATION_PER_STEP:
        return math.nan
    return float(np.maximum(np.diff(mechanical_energy(run)), 0.0).sum())
