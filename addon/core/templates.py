"""Template mechanisms generated from a few lengths: pendulum, four-bar linkage, slider-crank and walker."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .joint_types import make_dofs
from .mass_properties import shape_volume
from .model import Array, Body, Joint, Mechanism, Shape, World
from .transforms import inverse, make_pose, rotation_with_z

#: Density of links (kg/m3): about that of hard wood.
_DENSITY = 700.0
#: Width of links as a share of their length.
_WIDTH_RATIO = 0.12
_BLUE, _ORANGE, _GREEN, _GREY = (
    (0.25, 0.45, 0.75, 1.0), (0.9, 0.55, 0.2, 1.0), (0.35, 0.65, 0.35, 1.0), (0.75, 0.75, 0.72, 1.0),
)  # fmt: skip
_Color = tuple[float, float, float, float]


def pendulum(length: float = 1.0, links: int = 1) -> Mechanism:
    """Create a pendulum of one or several links, each of a length (m), that hangs from the world and swings about Y."""
    made = Mechanism("Pendulum", World())
    width, top = _WIDTH_RATIO * length, (links + 0.5) * length
    before = None
    for number in range(links):
        high, low = top - number * length, top - (number + 1) * length
        body = _make_bar(f"Link {number + 1}", (0.0, high), (0.0, low), width, 0.0, (_BLUE, _ORANGE)[number % 2])
        made.bodies.append(body)
        made.joints.append(_make_hinge(f"Hinge {number + 1}", before, body, (0.0, high)))
        before = body
    made.joints[0].dofs[0].position = 0.6  # so that it swings when released
    return made


def four_bar(crank: float = 0.4, coupler: float = 1.0, rocker: float = 0.8, ground: float = 1.0) -> Mechanism:
    """Create a four-bar linkage in the XZ plane, with hinges about Y.

    Lengths in m; ``ground`` is the distance of the two hinges on the world.

    Raises:
        ValueError: Bars of these lengths cannot form a closed loop.
    """
    base, far = np.array([-0.5 * ground, 0.0]), np.array([0.5 * ground, 0.0])
    for angle in np.linspace(0.5 * math.pi, 2.5 * math.pi, 72, endpoint=False):
        pin = base + crank * np.array([math.cos(angle), math.sin(angle)])
        knee = _circle_intersection(pin, coupler, far, rocker)
        if knee is not None:
            break
    else:
        raise ValueError("Bar lengths: the longest bar is longer than the others together. Shorten it")
    made = Mechanism("Four-Bar", World())
    width = _WIDTH_RATIO * max(crank, coupler, rocker)
    lift = np.array([0.0, crank + rocker])
    base, far, pin, knee = base + lift, far + lift, pin + lift, knee + lift
    bars = [
        _make_bar("Crank", base, pin, width, 0.0, _ORANGE),
        _make_bar("Coupler", pin, knee, width, 0.6 * width, _BLUE),
        _make_bar("Rocker", far, knee, width, 0.0, _GREEN),
    ]
    made.bodies += bars
    made.joints += [
        _make_hinge("Crank Hinge", None, bars[0], base),
        _make_hinge("Crank Pin", bars[0], bars[1], pin),
        _make_hinge("Rocker Hinge", None, bars[2], far),
        _make_hinge("Knee", bars[1], bars[2], knee),
    ]
    return made


def slider_crank(crank: float = 0.4, rod: float = 1.2) -> Mechanism:
    """Create a slider-crank: a crank about Y and a rod that moves a slider along X. Lengths in m.

    Raises:
        ValueError: The rod is not longer than the crank.
    """
    if rod <= crank:
        raise ValueError("Rod: it is not longer than the crank. Enter a greater length")
    made = Mechanism("Slider-Crank", World())
    width, height = _WIDTH_RATIO * rod, 1.5 * crank
    base = np.array([0.0, height])
    pin = base + crank * np.array([math.cos(1.0), math.sin(1.0)])
    end = np.array([pin[0] + math.sqrt(rod**2 - (pin[1] - height) ** 2), height])
    bars = [_make_bar("Crank", base, pin, width, 0.0, _ORANGE), _make_bar("Rod", pin, end, width, 0.6 * width, _BLUE)]
    block = Shape("box", {"x": 3.0 * width, "y": 2.0 * width, "z": 2.0 * width}, color=_GREEN)
    slider = _make_body("Slider", block, _pose_in_plane(end, 0.0))
    made.bodies += [*bars, slider]
    along = make_pose(rotation_with_z(np.array([1.0, 0.0, 0.0])), (end[0], 0.0, end[1]))
    made.joints += [
        _make_hinge("Crank Hinge", None, bars[0], base),
        _make_hinge("Crank Pin", bars[0], bars[1], pin),
        _make_hinge("Wrist Pin", bars[1], slider, end),
        _make_joint("Slide", "prismatic", None, slider, along),
    ]
    return made


def walker(legs: int = 4, height: float = 1.0) -> Mechanism:
    """Create a walker: a trunk with pairs of twin legs of two hinges each, which walks along Y.

    Args:
        legs: Number of legs.
        height: Height (m) of the hips above the ground.

    Raises:
        ValueError: The number of legs is odd or less than 2.
    """
    if legs < 2 or legs % 2:
        raise ValueError("Walker: the number of legs is odd. Enter an even number")
    made = Mechanism("Walker", World(ground=0.0))
    rows, thigh, shin = legs // 2, 0.45 * height, 0.55 * height
    length = 0.9 * height * max(rows, 2) * 0.8
    across = 0.3 * height
    hull = Shape("box", {"x": 1.4 * across, "y": length, "z": 0.2 * height}, color=_GREY)
    trunk = _make_body("Trunk", hull, _pose_in_plane((0.0, height), 0.0))
    made.bodies.append(trunk)
    names = {2: ("Front", "Rear"), 3: ("Front", "Middle", "Rear")}.get(rows)
    for row in range(rows):
        name = names[row] if names else (f"{row + 1}" if rows > 1 else "")
        y = 0.0 if rows == 1 else length * (0.42 - 0.84 * row / (rows - 1))
        for side, x in (("Left", -across), ("Right", across)):
            limb = " ".join(filter(None, (side, name)))
            other = " ".join(filter(None, ("Right" if side == "Left" else "Left", name)))
            before, top = trunk, height
            for part, joint, size, radius, color in (
                ("Thigh", "Hip", thigh, 0.07, _ORANGE), ("Shin", "Knee", shin, 0.05, _BLUE),
            ):  # fmt: skip
                rod = Shape("cylinder", {"length": size, "radius": radius * height}, color=color)
                body = _make_body(f"{limb} {part}", rod, make_pose(position=(x, y, top - 0.5 * size)))
                body.twin = f"{other} {part}"
                frame = make_pose(position=(x, y, top))
                frame[:3, :3] = rotation_with_z(np.array([1.0, 0.0, 0.0]))
                hinge = _make_joint(f"{limb} {joint}", "revolute", before, body, frame)
                hinge.twin = f"{other} {joint}"
                dof = hinge.dofs[0]
                dof.lower, dof.upper = (-1.0, 1.0) if joint == "Hip" else (-2.0, 0.2)
                made.bodies.append(body)
                made.joints.append(hinge)
                before, top = body, top - size
    return made


#: Functions that create the templates, by name.
TEMPLATES: dict[str, Callable[..., Mechanism]] = {
    "pendulum": pendulum,
    "four_bar": four_bar,
    "slider_crank": slider_crank,
    "walker": walker,
}


def _pose_in_plane(place: Array | tuple[float, float], y: float) -> Array:
    """Return the pose (4, 4) at a point in the XZ plane, at ``y`` along Y."""
    return make_pose(position=(float(place[0]), y, float(place[1])))


def _make_body(name: str, shape: Shape, pose: Array) -> Body:
    return Body(name, name, pose, mass=_DENSITY * shape_volume(shape), shapes=[shape])


def _make_bar(
    name: str,
    one: Array | tuple[float, float],
    other: Array | tuple[float, float],
    width: float,
    y: float,
    color: _Color,
) -> Body:
    """Create a bar between two points in the XZ plane, with Z along it."""
    one, other = np.array(one), np.array(other)
    along = other - one
    length = float(np.linalg.norm(along))
    pose = _pose_in_plane(0.5 * (one + other), y)
    z = np.array([along[0], 0.0, along[1]]) / length
    pose[:3, :3] = np.stack([np.cross([0.0, 1.0, 0.0], z), [0.0, 1.0, 0.0], z], axis=1)
    shape = Shape("box", {"x": width, "y": 0.5 * width, "z": length + 0.8 * width}, color=color)
    return _make_body(name, shape, pose)


def _make_hinge(name: str, parent: Body | None, child: Body, place: Array | tuple[float, float]) -> Joint:
    """Create a hinge about Y at a point in the XZ plane."""
    frame = _pose_in_plane(place, 0.0)
    frame[:3, :3] = rotation_with_z(np.array([0.0, 1.0, 0.0]))
    return _make_joint(name, "revolute", parent, child, frame)


def _make_joint(name: str, type_: str, parent: Body | None, child: Body, frame: Array) -> Joint:
    """Create a joint at a frame (4, 4) in the world; its values are 0 at the design pose."""
    there = frame if parent is None else inverse(parent.pose) @ frame
    made = Joint(name, name, type_, None if parent is None else parent.id, child.id, there, inverse(child.pose) @ frame)
    made.dofs = make_dofs(type_)
    return made


def _circle_intersection(one: Array, reach: float, other: Array, far: float) -> Array | None:
    """Intersect two circles: the upper point (2,) at the given distances from two points; None where there is none."""
    way = other - one
    distance = float(np.linalg.norm(way))
    if not abs(reach - far) < distance < reach + far:
        return None
    along = (reach**2 - far**2 + distance**2) / (2.0 * distance)
    up = np.array([-way[1], way[0]]) / distance
    return one + way / distance * along + up * math.sqrt(reach**2 - along**2)
