"""Input presets of a gait: values of its inputs that make a mechanism stand, walk forward, backward or turn.

They are found by trial: for each setting of the inputs the bodies are posed over one engine cycle with the root body
held, and a motion of the ground below is fitted to the points that touch it. There is no slip and no weight here, so
the results are directions rather than speeds.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..bounds import half_extent
from ..kinematics import initial_joint_values, spanning_tree
from ..model import Array, Mechanism, Shape
from ..transforms import inverse
from ..up_axis import upright_transform
from .engine import Gait, find_gait

#: The presets in the order in which they are offered.
INPUT_PRESETS = STAND, FORWARD, BACKWARD, TURN_LEFT, TURN_RIGHT = (
    "STAND",
    "FORWARD",
    "BACKWARD",
    "TURN_LEFT",
    "TURN_RIGHT",
)

#: Values of inputs by name; all others are 0.
InputValues = dict[str, float]

#: Samples per engine cycle, and limits of its assumed duration (s).
_SAMPLES, _MIN_SECONDS, _MAX_SECONDS = 48, 0.25, 20.0
#: Height above the lowest point, as a share of the mechanism's size, at which a point's weight falls to 1/e.
_CONTACT_DECAY = 0.004
#: Height, as a multiple of that, above which points have no weight.
_CONTACT_CUTOFF = 12.0
#: Points on each rim of a cylinder, and the time step (s) for the velocity of wheels.
_RIM_POINTS, _WHEEL_STEP = 24, 1e-3
#: Speed (sizes per second, or half the rad per second) below which a mechanism stands.
_STANDING_SPEED = 0.02
#: Share of the fastest setting's speed at which one with fewer inputs is preferred.
_SUFFICIENT_SHARE = 0.5


@dataclass(frozen=True)
class GroundVelocity:
    """Mean motion of a mechanism over the ground.

    ``right`` and ``forward`` (the file's +Y) are in sizes per second, ``turn`` (to the left) in rad/s.
    """

    right: float
    forward: float
    turn: float

    @property
    def speed(self) -> float:
        """Return the whole motion as one number, in which a turn by 1 rad counts as half of the size."""
        return float(np.hypot(np.hypot(self.right, self.forward), 0.5 * self.turn))


#: For each preset the component of the travel that it needs, and its least share of the whole: when turning, a
#: mechanism may go forward too, as a car does.
_PRESET_RATINGS: dict[str, tuple[Callable[[GroundVelocity], float], float]] = {
    FORWARD: (lambda travel: travel.forward, 0.7),
    BACKWARD: (lambda travel: -travel.forward, 0.7),
    TURN_LEFT: (lambda travel: 0.5 * travel.turn, 0.4),
    TURN_RIGHT: (lambda travel: -0.5 * travel.turn, 0.4),
}


def find_input_presets(mechanism: Mechanism) -> dict[str, InputValues]:
    """Find the presets of a mechanism's gait, in the order of ``INPUT_PRESETS``, with the inputs of each.

    A mechanism whose gait reads no input has none. A preset that no setting of one or two inputs achieves is left out.
    """
    gait = find_gait(mechanism)
    if gait is None or not gait.controls:
        return {}
    trial = GaitTrial(gait)
    tried: list[tuple[InputValues, GroundVelocity]] = []
    found: dict[str, InputValues] = {}
    for count in range(min(len(gait.controls), 2) + 1):
        tried += [(inputs, trial.travel(inputs)) for inputs in _input_combinations(gait.controls, count)]
        standing = [inputs for inputs, travel in tried if travel.speed < _STANDING_SPEED]
        found = {STAND: standing[0]} if standing else {}
        found |= {
            name: inputs
            for name, way in _PRESET_RATINGS.items()
            if (inputs := _fastest_inputs(tried, *way)) is not None
        }
        if len(found) == len(INPUT_PRESETS):
            break
    return found


def _input_combinations(controls: Sequence[str], count: int) -> Iterator[InputValues]:
    """Yield all settings with ``count`` inputs at either end."""
    for names in itertools.combinations(controls, count):
        for values in itertools.product((-1.0, 1.0), repeat=count):
            yield dict(zip(names, values, strict=True))


def _fastest_inputs(
    tried: Sequence[tuple[InputValues, GroundVelocity]], share: Callable[[GroundVelocity], float], least: float
) -> InputValues | None:
    """Return the fastest setting with the least share of a component, or one with fewer inputs that is fast enough."""
    fit = [
        (share(travel), each) for each, travel in tried if share(travel) >= max(_STANDING_SPEED, least * travel.speed)
    ]
    if not fit:
        return None
    enough = _SUFFICIENT_SHARE * max(speed for speed, _inputs in fit)
    return min(fit, key=lambda entry: (entry[0] < enough, len(entry[1]), -entry[0]))[1]


class GaitTrial:
    """Trial of a gait: computes the travel of its mechanism for given inputs."""

    def __init__(self, gait: Gait) -> None:
        self.gait = gait
        self._tree = spanning_tree(gait.mechanism)
        self._rest = initial_joint_values(gait.mechanism)
        self._up = upright_transform(gait.mechanism)
        self._bodies, self._points, self._radii = _contact_points(gait.mechanism)
        rest = self._tree.forward(self._rest)[0, self._bodies] @ self._points[..., None]
        self.size = float(np.linalg.norm(np.ptp(rest[:, :3, 0], axis=0))) if len(rest) else 0.0
        rate = abs(gait.engine.standard_speed * gait.engine.speed_factor) / 60.0
        self._seconds = float(np.clip(1.0 / rate, _MIN_SECONDS, _MAX_SECONDS)) if rate > 0.0 else 1.0

    def travel(self, inputs: InputValues) -> GroundVelocity:
        """Compute the mean travel of the mechanism over one engine cycle at some inputs."""
        if self.size <= 0.0 or not self._tree.roots:
            return GroundVelocity(0.0, 0.0, 0.0)
        times = self.gait.engine.pose_delay + np.linspace(0.0, self._seconds, _SAMPLES + 1)
        commands = self.gait.evaluate(self.gait.phase(times), inputs)
        held = self._rest | commands.position
        poses = self._up @ self._tree.forward(held, len(times))
        heights = np.einsum("npk,pk->np", poses[:-1, self._bodies, 2], self._points) - self._radii
        heights -= heights.min(axis=1, keepdims=True)
        near = heights.min(axis=0) < _CONTACT_CUTOFF * _CONTACT_DECAY * self.size
        bodies, weights = self._bodies[near], np.exp(-heights[:, near] / (_CONTACT_DECAY * self.size))
        places = np.einsum("npij,pj->npi", poses[:-1, bodies], self._points[near])
        places[..., 2] -= self._radii[near]
        # wheels rotate too far between two samples for finite differences: they get a shorter time step
        spun = {joint: self._rest[joint][:, 0] + _WHEEL_STEP * speed for joint, speed in commands.velocity.items()}
        ends = [(poses[1:], self._seconds / _SAMPLES)]
        if spun:
            ends.append((self._up @ self._tree.forward(held | spun, len(times))[:-1], _WHEEL_STEP))
        back = inverse(poses[:-1])
        velocity = np.zeros_like(places)
        for after, time in ends:
            moves = (after @ back)[:, bodies]
            velocity += (np.einsum("npij,npj->npi", moves, places) - places) / time
        twists = _ground_twists(places[..., :2], velocity[..., :2], weights)
        return _mean_velocity(twists, self.size, self._seconds)


def _contact_points(mechanism: Mechanism) -> tuple[NDArray[np.intp], Array, Array]:
    """Collect points that may touch the ground.

    Returns:
        Indices of their bodies (n,), homogeneous positions on the bodies (n, 4), and radii of the balls around them
        (n,).
    """
    bodies: list[int] = []
    points: list[Array] = []
    radii: list[float] = []
    for number, body in enumerate(mechanism.bodies):
        for shape in body.shapes if body.active and body.collidable else ():
            if shape.collision and shape.type != "plane":
                own, radius = _shape_contact_points(shape)
                bodies += [number] * len(own)
                points += [shape.pose @ point for point in _homogeneous(own)]
                radii += radius
    return np.array(bodies, dtype=np.intp), np.array(points).reshape(-1, 4), np.array(radii)


def _shape_contact_points(shape: Shape) -> tuple[Array, list[float]]:
    """Return points (n, 3) of a shape and radii of balls around them, whose hull extends as far as the shape."""
    size = shape.size
    if shape.type in {"sphere", "hemisphere"}:
        return np.zeros((1, 3)), [size["radius"]]
    if shape.type == "capsule":
        return np.array([[0.0, 0.0, end * size["length"] / 2.0] for end in (-1, 1)]), [size["radius"]] * 2
    if shape.type == "multi_sphere" and shape.spheres:
        balls = np.array(shape.spheres)
        return balls[:, 1:], balls[:, 0].tolist()
    if shape.type == "cylinder":
        angles = np.linspace(0.0, 2.0 * np.pi, _RIM_POINTS, endpoint=False)
        ring = np.stack([np.cos(angles), np.sin(angles), np.zeros(_RIM_POINTS)], axis=1) * size["radius"]
        return np.concatenate([ring + [0.0, 0.0, end * size["length"] / 2.0] for end in (-1, 1)]), [
            0.0
        ] * 2 * _RIM_POINTS
    return half_extent(shape, np.eye(3)) * list(itertools.product((-1.0, 1.0), repeat=3)), [0.0] * 8


def _homogeneous(points: Array) -> Array:
    return np.concatenate([points, np.ones((*points.shape[:-1], 1))], axis=-1)


def _ground_twists(places: Array, velocity: Array, weights: Array) -> Array:
    """Fit the motion of the body over the ground, (n, 3): velocity in x and y, and angular velocity.

    Points at places (n, points, 2) with velocities (n, points, 2) in the body stand on the ground as well as possible
    (weighted least squares, of equal solutions that with the least norm).
    """
    rows = np.zeros((*places.shape, 3))
    rows[..., 0, 0] = rows[..., 1, 1] = 1.0
    rows[..., 0, 2], rows[..., 1, 2] = -places[..., 1], places[..., 0]
    normal = np.einsum("np,npik,npil->nkl", weights, rows, rows, optimize=True)
    right = -np.einsum("np,npik,npi->nk", weights, rows, velocity, optimize=True)
    return np.einsum("nkl,nl->nk", np.linalg.pinv(normal, rcond=1e-9, hermitian=True), right)


def _mean_velocity(twists: Array, size: float, seconds: float) -> GroundVelocity:
    """Compute the mean travel over consecutive twists (n, 3), in the axes at the middle of the time."""
    step = seconds / len(twists)
    heading = (np.cumsum(twists[:, 2]) - 0.5 * twists[:, 2]) * step
    turn = float(twists[:, 2].mean())
    heading -= 0.5 * turn * seconds
    cos, sin = np.cos(heading), np.sin(heading)
    right = float((cos * twists[:, 0] - sin * twists[:, 1]).mean())
    forward = float((sin * twists[:, 0] + cos * twists[:, 1]).mean())
    return GroundVelocity(right / size, forward / size, turn)
