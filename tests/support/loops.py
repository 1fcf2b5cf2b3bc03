"""Helpers for tests of closed loops: mechanisms from their geometry, with known closed-form answers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from addon.core.model import Array, Body, Dof, Joint, Mechanism, Shape, World

X, Y, Z = np.eye(3)
#: Bars of the crank-rocker: ground, crank, coupler, rocker.
GROUND, CRANK, COUPLER, ROCKER = 4.0, 1.0, 3.0, 3.5


def at(point: Any, z: float = 0.0) -> Array:
    """A pose that is only moved, to a point in the plane."""
    pose = np.eye(4)
    pose[:3, 3] = point[0], point[1], z
    return pose


def upright() -> Array:
    """From the plane in which planar loops are drawn (x, y) to one that stands: y becomes the height."""
    pose = np.eye(4)
    pose[:3, :3] = [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]
    return pose


def planar(
    name: str, pivots: dict[str, tuple[str | None, str | None]], points: dict[str, Array], scale: float = 1.0
) -> Mechanism:
    """Bars hinged in the plane: pivot -> its two bodies (None is the ground), and where it is drawn. All hinges are at
    zero as drawn. Each bar is a beam between its outer pivots, its frame at its middle."""
    of_body: dict[str, list[Array]] = {}
    for pivot, ends in pivots.items():
        for end in ends:
            if end is not None:
                of_body.setdefault(end, []).append(np.asarray(points[pivot], dtype=np.float64) * scale)
    poses, bodies = {None: np.eye(4)}, []
    for body, ends in of_body.items():
        far = max(((a, b) for a in ends for b in ends), key=lambda pair: float(np.linalg.norm(pair[0] - pair[1])))
        long, middle = float(np.linalg.norm(far[0] - far[1])), (far[0] + far[1]) / 2.0
        angle = math.atan2(*(far[1] - far[0])[::-1])
        pose = at(middle)
        pose[:2, :2] = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
        poses[body] = upright() @ pose
        size = {"x": long, "y": 0.05 * scale, "z": 0.05 * scale}
        bodies.append(Body(body, body, poses[body], mass=long / scale, shapes=[Shape("box", size)]))
        bodies[-1].collidable = False
    joints = []
    for pivot, (one, other) in pivots.items():
        frame = upright() @ at(np.asarray(points[pivot]) * scale)
        sides = (np.linalg.inv(poses[end]) @ frame for end in (one, other))
        joints.append(Joint(pivot, pivot, "revolute", one, other, *sides, dofs=[Dof("rotation")]))
    return Mechanism(name, World(gravity=np.array([0.0, 0.0, -9.81 * scale])), bodies=bodies, joints=joints)


Bars = tuple[float, float, float, float]


def crank_rocker(crank: float = 0.8, scale: float = 1.0, bars: Bars = (GROUND, CRANK, COUPLER, ROCKER)) -> Mechanism:
    """Grashof's crank-rocker, or a four-bar of other bars, drawn at a crank angle (rad)."""
    tip, knee = crank_rocker_points(crank, bars)
    points = {"A": np.zeros(2), "B": tip, "C": knee, "D": np.array([bars[0], 0.0])}
    ends = {"A": (None, "crank"), "B": ("crank", "coupler"), "C": ("coupler", "rocker"), "D": (None, "rocker")}
    return planar("crank-rocker", ends, points, scale)


def crank_rocker_points(crank: float, bars: Bars = (GROUND, CRANK, COUPLER, ROCKER)) -> tuple[Array, Array]:
    """Where the crank's tip and the rocker's are for a crank angle, from the law of cosines (elbow up)."""
    ground, first, second, third = bars
    tip = first * np.array([math.cos(crank), math.sin(crank)])
    away = np.array([ground, 0.0]) - tip
    distance = float(np.hypot(*away))
    inner = math.acos((second**2 + distance**2 - third**2) / (2 * second * distance))
    coupler = math.atan2(away[1], away[0]) + inner
    return tip, tip + second * np.array([math.cos(coupler), math.sin(coupler)])


def rocker_angle(crank: float) -> float:
    """The rocker's angle (rad) at the ground for a crank angle."""
    _, knee = crank_rocker_points(crank)
    return math.atan2(knee[1], knee[0] - GROUND)


def meet(one: Array, first: float, other: Array, second: float, left: bool) -> Array:
    """The point at distances ``first`` from one point and ``second`` from another, on the left of the way from the one
    to the other or on its right."""
    way = other - one
    distance = float(np.hypot(*way))
    along = (first**2 - second**2 + distance**2) / (2.0 * distance)
    height = math.sqrt(first**2 - along**2) * (1.0 if left else -1.0)
    return one + way / distance * along + np.array([-way[1], way[0]]) / distance * height


def klann(crank: float = 0.6, scale: float = 1.0) -> Mechanism:
    """A leg in the manner of Klann's: a crank, a bent arm, an upper and a lower rocker and the leg, six bars and two
    loops, with proportions at which the crank goes round."""
    axle, lower, upper = np.zeros(2), np.array([-24.0, -13.0]), np.array([-24.5, 12.0])
    pin = 11.0 * np.array([math.cos(crank), math.sin(crank)])
    elbow = meet(pin, 28.8, lower, 13.0, left=False)
    # the arm goes on beyond the elbow, bent by a little
    way = elbow - pin
    bend = math.radians(10.0)
    turned = np.array([[math.cos(bend), -math.sin(bend)], [math.sin(bend), math.cos(bend)]]) @ way
    end = elbow + turned / np.hypot(*turned) * 22.2
    knee = meet(end, 36.0, upper, 18.0, left=True)
    points = {"axle": axle, "pin": pin, "elbow": elbow, "lower": lower, "end": end, "knee": knee, "upper": upper}
    ends: dict[str, tuple[str | None, str | None]] = {
        "axle": (None, "crank"),
        "pin": ("crank", "arm"),
        "elbow": ("arm", "lower rocker"),
        "lower": (None, "lower rocker"),
        "end": ("arm", "leg"),
        "knee": ("leg", "upper rocker"),
        "upper": (None, "upper rocker"),
    }
    return planar("klann", ends, {name: 0.02 * point for name, point in points.items()}, scale)


def sarrus(bend: float = 0.5, scale: float = 1.0) -> Mechanism:
    """Sarrus' linkage: a plate that rises straight on two legs of two bars each, at a right angle to each other, by
    hinges alone: six of them, in one loop. ``bend`` is how far the bars lean (rad)."""
    long = 1.0
    height = 2.0 * long * math.cos(bend)
    plate = np.eye(4)
    plate[2, 3] = height
    bodies = [Body("plate", "plate", plate, mass=1.0, shapes=[Shape("box", {"x": 1.0, "y": 1.0, "z": 0.05})])]
    joints = []
    for leg, angle in enumerate((0.0, math.pi / 2)):
        out = np.array([math.cos(angle), math.sin(angle), 0.0])
        axis = np.array([-math.sin(angle), math.cos(angle), 0.0])
        foot, knee = 0.6 * out, (0.6 + long * math.sin(bend)) * out + [0.0, 0.0, height / 2.0]
        head = foot + [0.0, 0.0, height]
        before: str | None = None
        for name, one, other in ((f"shin {leg}", foot, knee), (f"thigh {leg}", knee, head)):
            pose = np.eye(4)
            along = (other - one) / np.linalg.norm(other - one)
            pose[:3, :3] = np.stack([along, axis, np.cross(along, axis)], axis=1)
            pose[:3, 3] = (one + other) / 2.0
            bodies.append(Body(name, name, pose, mass=0.5, shapes=[Shape("box", {"x": long, "y": 0.3, "z": 0.05})]))
            joints.append(_hinge(f"{name} below", before, name, one, axis, bodies))
            before = name
        joints.append(_hinge(f"head {leg}", before, "plate", head, axis, bodies))
    return _sized(Mechanism("sarrus", bodies=bodies, joints=joints), scale)


def bricard(scale: float = 1.0, a: float = 0.776) -> Mechanism:
    """Bricard's plane-symmetric six-hinge linkage with a right angle from hinge to hinge: it moves, though counting its
    equations says that it does not. Closed where cos a + cos b + cos a cos b = 0 for its alternating angles."""
    b = math.acos(-math.cos(a) / (1 + math.cos(a)))
    long, pose, bodies, joints = 1.0, np.eye(4), [], []
    links = [None, *(f"link {number}" for number in range(1, 6)), None]
    poses: dict[str | None, Array] = {None: np.eye(4)}
    frames = []
    for number in range(6):
        side = np.eye(4)
        side[:3, 3] = long, 0.0, 0.0
        quarter = 1.0 if number % 2 == 0 else -1.0
        side[:3, :3] = [[1, 0, 0], [0, 0, -quarter], [0, quarter, 0]]
        angle = a if number % 2 == 0 else -b
        spin = np.eye(4)
        spin[:2, :2] = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
        frame = pose @ side
        frames.append(frame)
        pose = frame @ spin
        if number < 5:
            middle = pose.copy()
            middle[:3, 3] += 0.5 * long * pose[:3, 0]
            name = f"link {number + 1}"
            poses[name] = middle
            box = Shape("box", {"x": long, "y": 0.1, "z": 0.1})
            bodies.append(Body(name, name, middle, mass=1.0, shapes=[box], collidable=False))
    for number, frame in enumerate(frames):
        one, other = links[number], links[number + 1]
        sides = (np.linalg.inv(poses[end]) @ frame for end in (one, other))
        joints.append(Joint("ABCDEF"[number], "", "revolute", one, other, *sides, dofs=[Dof("rotation")]))
    return _sized(Mechanism("bricard", bodies=bodies, joints=joints), scale)


def _hinge(name: str, one: str | None, other: str, point: Array, axis: Array, bodies: list[Body]) -> Joint:
    poses = {body.id: body.pose for body in bodies}
    frame = np.eye(4)
    frame[:3, :3] = np.stack([np.cross(axis, Z), Z, axis], axis=1)
    frame[:3, :3] = frame[:3, :3] * np.linalg.det(frame[:3, :3])
    frame[:3, 2] = axis
    frame[:3, 3] = point
    sides = (np.linalg.inv(poses[end]) @ frame if end is not None else frame for end in (one, other))
    return Joint(name, name, "revolute", one, other, *sides, dofs=[Dof("rotation")])


def _sized(mechanism: Mechanism, scale: float) -> Mechanism:
    for body in mechanism.bodies:
        body.pose[:3, 3] *= scale
        body.collidable = False
        for shape in body.shapes:
            shape.size = {name: size * scale for name, size in shape.size.items()}
    for joint in mechanism.joints:
        joint.frame_parent[:3, 3] *= scale
        joint.frame_child[:3, 3] *= scale
    mechanism.world.gravity = mechanism.world.gravity * scale
    return mechanism
