"""Reference integrator of rigid multibody systems with closed loops, independent of Knuckle's kinematics and Bullet.

Maximal coordinates: position and quaternion of every body, velocity of its center of mass and angular velocity. Joints
are holonomic constraints of two kinds (Haug, *Computer Aided Kinematics and Dynamics of Mechanical Systems*, 1989,
chapter 9): ``a . b = 0`` for directions ``a`` on the parent and ``b`` on the child, and ``a . d = 0`` for the offset
``d`` between points of both. Accelerations are those of index 1 (``M a + C^T l = f``, ``C a = g``), integrated by
Runge and Kutta's fourth order; after every step positions and velocities are projected onto the constraints (Hairer
and Wanner, *Solving Ordinary Differential Equations II*, VII.2), which keeps the order and stops the drift.
Redundant constraints, as in Bricard's mechanism, are regularized.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from addon.core.model import Array, Joint, Mechanism, Restraint

#: Regularization of redundant constraints, as a share of the largest diagonal entry of ``C W C^T``.
_REGULARIZATION = 1e-11
_PROJECTIONS = 3


def cross(one: Array, other: Array) -> Array:
    """Cross products of (..., 3), several times faster than numpy's."""
    x, y, z = one[..., 0], one[..., 1], one[..., 2]
    u, v, w = other[..., 0], other[..., 1], other[..., 2]
    return np.stack([y * w - z * v, z * u - x * w, x * v - y * u], axis=-1)


def rotations(quaternions: Array) -> Array:
    """Rotation matrices (n, 3, 3) of unit quaternions (n, 4), scalar first."""
    w, x, y, z = quaternions.T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), -1, 0)


def quaternion(turn: Array) -> Array:
    """Unit quaternion (4,) of a rotation matrix: the eigenvector of the largest eigenvalue of Bar-Itzhack's matrix."""
    (a, b, c), (d, e, f), (g, h, i) = turn
    matrix = np.array(
        [
            [a + e + i, h - f, c - g, d - b],
            [h - f, a - e - i, b + d, c + g],
            [c - g, b + d, e - a - i, f + h],
            [d - b, c + g, f + h, i - a - e],
        ]
    )
    return np.asarray(np.linalg.eigh(matrix)[1][:, -1])


@dataclass
class PointForce:
    """Spring or damper between two points: a piecewise polynomial of their distance, or of its rate, that pulls."""

    one: int
    other: int
    on_one: Array
    on_other: Array
    law: Callable[[float], float]
    damps: bool


@dataclass
class Rows:
    """Constraints ``a . b = 0`` or ``a . d = 0`` (n of a kind): bodies, and vectors in their axes."""

    one: list[int] = field(default_factory=list)
    other: list[int] = field(default_factory=list)
    a: list[Array] = field(default_factory=list)
    b: list[Array] = field(default_factory=list)  # the direction, or the point on the child
    point: list[Array] = field(default_factory=list)  # on the parent

    def add(self, one: int, other: int, a: Array, b: Array, point: Array) -> None:
        for held, value in zip(
            (self.one, self.other, self.a, self.b, self.point), (one, other, a, b, point), strict=True
        ):
            held.append(value)  # type: ignore[arg-type]


class Multibody:
    """A mechanism in its design pose as a system of bodies and constraints; the last body is the world.

    ``state``: positions of the centers of mass (n, 3), quaternions (n, 4), velocities and angular velocities (n, 3) in
    the world's axes, side by side in (n, 13).
    """

    def __init__(self, mechanism: Mechanism) -> None:
        assert not any(dof.position or dof.start for joint in mechanism.joints for dof in joint.dofs)
        bodies = [body for body in mechanism.bodies if not body.immobile]
        self.index: dict[str | None, int] = {body.id: number for number, body in enumerate(bodies)}
        self.names = {body.name: number for number, body in enumerate(bodies)}
        self.world = len(bodies)
        self.poses = [body.pose for body in bodies] + [np.eye(4)]
        self.centers = [body.com for body in bodies] + [np.zeros(3)]
        self.masses = np.array([body.mass for body in bodies])
        self.tensors = np.array([body.inertia for body in bodies], dtype=np.float64)
        self.gravity = mechanism.world.gravity
        self._back = np.linalg.inv(self.tensors)
        self._turning, self._sliding = Rows(), Rows()
        self._joints = {joint.id: joint for joint in mechanism.joints if joint.active}
        for joint in self._joints.values():
            self._constrain(joint)
        self._sets = self._packed(self._turning), self._packed(self._sliding)
        self.forces: list[PointForce] = []
        self.torques: list[tuple[int, int, Array, float]] = []
        for restraint in mechanism.restraints:
            self._restrain(restraint)
        self.state = np.zeros((self.world, 13))
        for number, (pose, center) in enumerate(zip(self.poses[:-1], self.centers, strict=False)):
            self.state[number, :3] = pose[:3, :3] @ center + pose[:3, 3]
            self.state[number, 3:7] = quaternion(pose[:3, :3])
        self._start()

    # ---------------------------------------------------------------- the model

    def _ends(self, joint: Joint) -> tuple[int, int, Array, Array]:
        one, other = self.index.get(joint.parent, self.world), self.index.get(joint.child, self.world)
        before, after = joint.frame_parent.copy(), joint.frame_child.copy()
        before[:3, 3] -= self.centers[one]
        after[:3, 3] -= self.centers[other]
        return one, other, before, after

    def _constrain(self, joint: Joint) -> None:
        one, other, before, after = self._ends(joint)
        kinds = [dof.kind for dof in joint.dofs]
        if kinds == ["free"]:
            return
        axis = np.array([0.0, 0.0, 1.0]) if kinds in ([], ["ball"]) else joint.dofs[0].axis
        first = np.cross(axis, [1.0, 0.0, 0.0] if abs(axis[0]) < 0.9 else [0.0, 1.0, 0.0])
        first /= np.linalg.norm(first)
        frame = np.stack([first, np.cross(axis, first), axis], axis=1)
        here, there = before[:3, :3] @ frame, after[:3, :3] @ frame
        slides = {("translation",): (0, 1)}.get(tuple(kinds), (0, 1, 2))
        turns = {(): ((0, 1), (1, 2), (2, 0)), ("translation",): ((0, 1), (1, 2), (2, 0)), ("ball",): ()}
        turns |= {("rotation",): ((0, 2), (1, 2))}
        for way in slides:
            self._sliding.add(one, other, here[:, way], after[:3, 3], before[:3, 3])
        for way, across in turns[tuple(kinds)]:
            self._turning.add(one, other, here[:, way], there[:, across], np.zeros(3))

    def _restrain(self, restraint: Restraint) -> None:
        law = polynomial(restraint.knots, restraint.coefficients)
        if restraint.joint is not None:
            joint = self._joints[restraint.joint]
            assert restraint.coefficients == [[restraint.coefficients[0][-1]]], "only constant torques"
            one, other, before, _ = self._ends(joint)
            self.torques.append((one, other, before[:3, :3] @ joint.dofs[0].axis, -law(0.0)))
            return
        assert restraint.bodies is not None and restraint.frames is not None
        ends = [self.index.get(body, self.world) for body in restraint.bodies]
        points = [frame[:3, 3] - self.centers[end] for end, frame in zip(ends, restraint.frames, strict=True)]
        self.forces.append(PointForce(ends[0], ends[1], points[0], points[1], law, restraint.type == "damper"))

    def _packed(self, rows: Rows) -> tuple[Array, ...]:
        three = [np.array(each, dtype=np.float64).reshape(-1, 3) for each in (rows.a, rows.b, rows.point)]
        return np.array(rows.one, dtype=np.intp), np.array(rows.other, dtype=np.intp), *three

    def _start(self) -> None:
        """The least velocities, by kinetic energy, that the constraints allow with the joint rates of the file.

        In a system with closed loops rates of zero are not given: the loops decide. Rates of balls and free joints are
        along the axes of the child's side, as in DART.
        """
        loops, rows, wanted = len(self._joints) > self.world, [], []
        turn = rotations(self._all(self.state[:, 3:7], np.array([1.0, 0.0, 0.0, 0.0])))
        for joint in self._joints.values():
            for dof in joint.dofs:
                block = dof.kind in {"ball", "free"}
                rates = list(dof.start_rates or [0.0] * (3 if dof.kind == "ball" else 6)) if block else [dof.velocity]
                for number, rate in enumerate(rates):
                    if rate or not loops:
                        rows.append(self._rate_row(joint, turn, number))
                        wanted.append(rate)
        if not any(wanted):
            return
        matrix = np.vstack([self._constraints(self.state)[1], *rows])
        target = np.concatenate([np.zeros(len(matrix) - len(rows)), wanted])
        weight = self._inverse_mass(turn)
        speeds = weight @ matrix.T @ (np.linalg.pinv(matrix @ weight @ matrix.T, rcond=1e-10, hermitian=True) @ target)
        self.state[:, 7:10], self.state[:, 10:] = np.split(speeds.reshape(self.world, 6), 2, axis=1)

    def _rate_row(self, joint: Joint, turn: Array, number: int) -> Array:
        """The row (6 n,) that gives a rate of a joint's only degree of freedom from the velocities."""
        one, other, before, after = self._ends(joint)
        (dof,) = joint.dofs
        row = np.zeros((self.world + 1, 6))
        if dof.kind in {"ball", "free"}:
            way = turn[other] @ after[:3, number % 3]
        else:
            way = turn[one] @ before[:3, :3] @ dof.axis
        if dof.kind == "translation" or number > 2:
            for body, frame, sign in ((one, before, -1.0), (other, after, 1.0)):
                row[body, :3], row[body, 3:] = sign * way, sign * np.cross(turn[body] @ frame[:3, 3], way)
        else:
            row[one, 3:], row[other, 3:] = -way, way
        return np.asarray(row[:-1].ravel())

    # ---------------------------------------------------------------- equations

    def _all(self, values: Array, last: Array) -> Array:
        return np.concatenate([values, last[None]])

    def _constraints(self, state: Array) -> tuple[Array, Array, Array]:
        """Residuals (m,), Jacobian (m, 6 n) and right sides (m,) of the constraints at the level of accelerations."""
        place, speed, spin = (self._all(part, np.zeros(3)) for part in (state[:, :3], state[:, 7:10], state[:, 10:]))
        turn = rotations(self._all(state[:, 3:7], np.array([1.0, 0.0, 0.0, 0.0])))
        parts = []
        for number, (one, other, a, b, point) in enumerate(self._sets):
            count = len(one)
            way, to = np.einsum("nij,nj->ni", turn[one], a), np.einsum("nij,nj->ni", turn[other], b)
            turns_one, turns_other = spin[one], spin[other]
            way_rate = cross(turns_one, way)
            rows = np.zeros((count, self.world + 1, 6))
            index = np.arange(count)
            if number == 0:
                value, to_rate = (way * to).sum(1), cross(turns_other, to)
                rows[index, one, 3:] += cross(way, to)
                rows[index, other, 3:] += cross(to, way)
                bias = (
                    cross(turns_one, way_rate) * to + 2 * way_rate * to_rate + way * cross(turns_other, to_rate)
                ).sum(1)
            else:
                arm = np.einsum("nij,nj->ni", turn[one], point)
                apart = place[other] + to - place[one] - arm
                arm_rate, to_rate = cross(turns_one, arm), cross(turns_other, to)
                apart_rate = speed[other] + to_rate - speed[one] - arm_rate
                value = (way * apart).sum(1)
                rows[index, one, :3] -= way
                rows[index, other, :3] += way
                rows[index, one, 3:] += cross(way, apart) - cross(arm, way)
                rows[index, other, 3:] += cross(to, way)
                turning = cross(turns_other, to_rate) - cross(turns_one, arm_rate)
                bias = (cross(turns_one, way_rate) * apart + 2 * way_rate * apart_rate + way * turning).sum(1)
            parts.append((value, rows[:, :-1].reshape(count, 6 * self.world), -bias))
        value, matrix, right = (np.concatenate(each) for each in zip(*parts, strict=True))
        return value, matrix, right

    def _inverse_mass(self, turn: Array) -> Array:
        out = np.zeros((self.world, 6, self.world, 6))
        index = np.arange(self.world)
        out[index, :3, index, :3] = np.eye(3) / self.masses[:, None, None]
        out[index, 3:, index, 3:] = turn[:-1] @ self._back @ np.swapaxes(turn[:-1], 1, 2)
        return out.reshape(6 * self.world, 6 * self.world)

    def _applied(self, state: Array, turn: Array) -> Array:
        """Forces and torques (n, 6) about the centers of mass, gyroscopic torques included."""
        place, speed, spin = (self._all(part, np.zeros(3)) for part in (state[:, :3], state[:, 7:10], state[:, 10:]))
        out = np.zeros((self.world + 1, 6))
        out[:-1, :3] = self.masses[:, None] * self.gravity
        momentum = np.einsum("nij,njk,nlk,nl->ni", turn[:-1], self.tensors, turn[:-1], spin[:-1])
        out[:-1, 3:] = -cross(spin[:-1], momentum)
        for each in self.forces:
            here, there = turn[each.one] @ each.on_one, turn[each.other] @ each.on_other
            apart = place[each.other] + there - place[each.one] - here
            far = float(np.linalg.norm(apart))
            way = apart / far
            rate = way @ (
                speed[each.other] + cross(spin[each.other], there) - speed[each.one] - cross(spin[each.one], here)
            )
            pull = each.law(float(rate) if each.damps else far) * way
            out[each.one] += np.concatenate([pull, cross(here, pull)])
            out[each.other] -= np.concatenate([pull, cross(there, pull)])
        for one, other, axis, torque in self.torques:
            out[one, 3:] -= torque * (turn[one] @ axis)
            out[other, 3:] += torque * (turn[one] @ axis)
        return out[:-1]

    def _multipliers(self, matrix: Array, weight: Array, right: Array) -> Array:
        together = matrix @ weight @ matrix.T
        together[np.diag_indices(len(together))] += _REGULARIZATION * max(together.diagonal().max(initial=0.0), 1e-300)
        return np.asarray(np.linalg.solve(together, right))

    def rate(self, state: Array) -> Array:
        """Derivative (n, 13) of the state."""
        turn = rotations(self._all(state[:, 3:7], np.array([1.0, 0.0, 0.0, 0.0])))
        _, matrix, right = self._constraints(state)
        weight = self._inverse_mass(turn)
        free = weight @ self._applied(state, turn).ravel()
        change = free - weight @ matrix.T @ self._multipliers(matrix, weight, matrix @ free - right)
        out = np.empty_like(state)
        out[:, :3] = state[:, 7:10]
        w, axis, spin = state[:, 3], state[:, 4:7], state[:, 10:]
        out[:, 3] = -0.5 * (axis * spin).sum(1)
        out[:, 4:7] = 0.5 * (w[:, None] * spin + cross(spin, axis))
        out[:, 7:10], out[:, 10:] = np.split(change.reshape(self.world, 6), 2, axis=1)
        return out

    def _projected(self, state: Array) -> Array:
        """The state with positions, then velocities, moved onto the constraints by as little as their mass allows."""
        for _ in range(_PROJECTIONS):
            state[:, 3:7] /= np.linalg.norm(state[:, 3:7], axis=1)[:, None]
            turn = rotations(self._all(state[:, 3:7], np.array([1.0, 0.0, 0.0, 0.0])))
            value, matrix, _ = self._constraints(state)
            weight = self._inverse_mass(turn)
            if np.abs(value).max(initial=0.0) < 1e-13:
                break
            shift = -(weight @ matrix.T @ self._multipliers(matrix, weight, value)).reshape(self.world, 6)
            state[:, :3] += shift[:, :3]
            w, axis = state[:, 3].copy(), state[:, 4:7].copy()
            state[:, 3] -= 0.5 * (axis * shift[:, 3:]).sum(1)
            state[:, 4:7] += 0.5 * (w[:, None] * shift[:, 3:] + cross(shift[:, 3:], axis))
        speeds = np.hstack([state[:, 7:10], state[:, 10:]]).ravel()
        speeds = speeds - weight @ matrix.T @ self._multipliers(matrix, weight, matrix @ speeds)
        state[:, 7:10], state[:, 10:] = np.split(speeds.reshape(self.world, 6), 2, axis=1)
        return state

    # ---------------------------------------------------------------- results

    def run(self, seconds: float, rate: float, steps: int) -> Array:
        """States (frames + 1, n, 13) at ``rate`` frames per second, with so many integration steps per frame."""
        state, out, h = self.state.copy(), [self.state.copy()], 1.0 / rate / steps
        for _ in range(round(seconds * rate)):
            for _ in range(steps):
                one = self.rate(state)
                two = self.rate(state + 0.5 * h * one)
                three = self.rate(state + 0.5 * h * two)
                four = self.rate(state + h * three)
                state = self._projected(state + h / 6.0 * (one + 2.0 * two + 2.0 * three + four))
            out.append(state.copy())
        return np.array(out)

    def energy(self, state: Array) -> float:
        """Kinetic energy, and potential energy of gravity and springs (J)."""
        turn = rotations(self._all(state[:, 3:7], np.array([1.0, 0.0, 0.0, 0.0])))
        spin = np.einsum("nji,nj->ni", turn[:-1], state[:, 10:])
        kinetic = 0.5 * float(
            self.masses @ (state[:, 7:10] ** 2).sum(1) + np.einsum("ni,nij,nj->", spin, self.tensors, spin)
        )
        return kinetic - float(self.masses @ (state[:, :3] @ self.gravity)) + self._spring_energy(state, turn)

    def _spring_energy(self, state: Array, turn: Array) -> float:
        place, total = self._all(state[:, :3], np.zeros(3)), 0.0
        for each in self.forces:
            apart = (
                place[each.other] + turn[each.other] @ each.on_other - place[each.one] - turn[each.one] @ each.on_one
            )
            far, ends = float(np.linalg.norm(apart)), np.polynomial.legendre.leggauss(4)
            if not each.damps:
                total += 0.5 * far * sum(w * each.law(0.5 * far * (1.0 + x)) for x, w in zip(*ends, strict=True))
        return total

    def point(self, states: Array, body: str, place: Array) -> Array:
        """Positions (frames, 3) of a point (3,) of a body, given in the world at the start."""
        number = self.names[body]
        pose = self.poses[number]
        own = pose[:3, :3].T @ (np.asarray(place) - pose[:3, 3]) - self.centers[number]
        return states[:, number, :3] + rotations(states[:, number, 3:7]) @ own


def polynomial(knots: list[float], coefficients: list[list[float]]) -> Callable[[float], float]:
    """A piecewise polynomial in descending powers."""
    return lambda x: float(np.polyval(coefficients[bisect_right(knots, x)], x))
