"""What is drawn over a model to tell how it moves: axes, stops, centres of mass, inertia, twins, as plain numbers.

All is for many parts at once and nothing knows who draws it: lines are pairs of points, faces are triples, each point
with its colour.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .model import Array
from .report import plain
from .transforms import inverse, rotation_matrix

Points = NDArray[np.float32]
Colour = tuple[float, float, float, float]

#: Colours (sRGB, alpha) that read on a grey ground as well as on coloured bodies.
TURN: Colour = (0.25, 0.78, 1.0, 1.0)
SLIDE: Colour = (0.55, 1.0, 0.35, 1.0)
RANGE: Colour = (1.0, 0.72, 0.12, 1.0)
VALUE: Colour = (1.0, 1.0, 1.0, 1.0)
BEYOND: Colour = (1.0, 0.12, 0.1, 1.0)
TWIN: Colour = (0.86, 0.5, 1.0, 0.9)
INERTIA: Colour = (0.35, 0.95, 0.8, 0.9)
CENTRE: tuple[Colour, Colour] = ((1.0, 0.85, 0.1, 1.0), (0.05, 0.05, 0.05, 1.0))

_STEPS = 32  # straight pieces of an arc
_RING = 24  # and of a ball's ring
_DASHES = 9
_FILL = 0.22  # how much of a range's colour its face has
#: What lies beyond a stop by less than this (rad, or the share of a slide's range) is at it.
_TOLERANCE = 1e-4


@dataclass
class Strokes:
    """Pieces of a drawing and their colours, gathered before they are put together."""

    points: list[Points] = field(default_factory=list)
    colours: list[Points] = field(default_factory=list)

    def add(self, points: Array, colour: Colour | Array) -> None:
        """Points (..., 3) in one colour, or in one each (..., 4)."""
        flat = np.asarray(points, dtype=np.float32).reshape(-1, 3)
        shape = (*np.shape(points)[:-1], 4)
        self.points.append(flat)
        self.colours.append(np.broadcast_to(np.asarray(colour, dtype=np.float32), shape).reshape(-1, 4))

    def arrays(self) -> tuple[Points, Points]:
        """All points (n, 3) and their colours (n, 4)."""
        empty = np.zeros((0, 3), np.float32), np.zeros((0, 4), np.float32)
        return np.concatenate([empty[0], *self.points]), np.concatenate([empty[1], *self.colours])


@dataclass
class Drawing:
    """A drawing: fine and bold lines (two points each), faces (three), and the faces of solids, which are seen from
    outside alone: there they go round against the clock."""

    fine: Strokes = field(default_factory=Strokes)
    bold: Strokes = field(default_factory=Strokes)
    faces: Strokes = field(default_factory=Strokes)
    solids: Strokes = field(default_factory=Strokes)


@dataclass
class Degrees:
    """Degrees of freedom of one coordinate, n of them, where they stand in the world.

    ``origin`` (n, 3); ``axis`` (n, 3) and ``zero`` (n, 3), which is where the hand of its dial points at 0, unit
    vectors at right angles; ``radius`` (n,) of its dial; ``turns`` (n,) tells dials from slides; ``scale`` (n,) is
    how long one unit of a slide is. ``value``, ``lower`` and ``upper`` (n,) are in rad or units, NaN where there is
    none.
    """

    origin: Array
    axis: Array
    zero: Array
    radius: Array
    turns: NDArray[np.bool_]
    scale: Array
    value: Array
    lower: Array
    upper: Array

    def __len__(self) -> int:
        return len(self.origin)

    def some(self, chosen: NDArray[np.bool_]) -> Degrees:
        """Only those that are chosen (n,)."""
        return Degrees(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))

    @property
    def stopped(self) -> NDArray[np.bool_]:
        """Return which have a stop, (n,)."""
        return ~(np.isnan(self.lower) & np.isnan(self.upper))

    @property
    def beyond(self) -> Array:
        """By how much each is beyond a stop, (n,): negative below the lower one, 0 within or where there is none."""
        with np.errstate(invalid="ignore"):
            below, above = np.minimum(self.value - self.lower, 0.0), np.maximum(self.value - self.upper, 0.0)
            out = np.nan_to_num(below) + np.nan_to_num(above)
            span = np.where(self.turns, 1.0, np.nan_to_num(np.abs(self.upper - self.lower), nan=1.0))
        return np.where(np.abs(out) > _TOLERANCE * span, out, 0.0)

    def at(self, value: Array, out: Array | float = 1.0, side: Array | float = 0.0) -> Array:
        """Return where a value (n,) or (n, k) is shown, (n, 3) or (n, k, 3): on a dial ``out`` radii from its middle,
        along a slide ``side`` radii beside it."""
        value = np.asarray(value, dtype=np.float64)
        origin, axis, zero, radius, turns, scale = (
            part.reshape(len(self), *(1,) * (value.ndim - 1), *part.shape[1:])
            for part in (self.origin, self.axis, self.zero, self.radius, self.turns, self.scale)
        )
        rim = zero * np.cos(value)[..., None] + np.cross(axis, zero) * np.sin(value)[..., None]
        dial = rim * (radius * out)[..., None]
        line = axis * (value * scale)[..., None] + zero * (radius * side)[..., None]
        return origin + np.where(turns[..., None], dial, line)


# ---------------------------------------------------------------- where degrees of freedom stand


def side_frames(world: Array, basis: Array, design: Array, scale: float) -> Array:
    """Return where frames (n, 4, 4) of the design are now that bodies carry: ``world`` and ``basis`` (n, 4, 4) are
    those of the body, now and at design, ``design`` the frame's; a model that is scaled is ``scale`` times as large."""
    here, there = without_scale(world), without_scale(basis)
    local = inverse(there) @ without_scale(design)
    local[:, :3, 3] *= scale
    return here @ local


def without_scale(poses: Array) -> Array:
    """Poses (n, 4, 4) with columns of length 1."""
    out = np.array(poses, dtype=np.float64)
    length = np.linalg.norm(out[:, :3, :3], axis=1, keepdims=True)
    out[:, :3, :3] /= np.where(length > 0.0, length, 1.0)
    return out


def measured(motion: Array, axis: Array, turns: NDArray[np.bool_]) -> Array:
    """The coordinates (n,) that motions (n, 4, 4) of joints with one axis (n, 3) are at, angles in (-pi, pi]."""
    first = across(axis)
    second = np.cross(axis, first)
    turned = np.einsum("nij,nj->ni", motion[:, :3, :3], first)
    angle = np.arctan2(np.einsum("ni,ni->n", turned, second), np.einsum("ni,ni->n", turned, first))
    return np.where(turns, angle, np.einsum("ni,ni->n", motion[:, :3, 3], axis))


def moved(frames: Array, turn: Array, slide: Array) -> Array:
    """Frames (n, 4, 4) moved on, in their own axes, by slides (n, 3) and then by rotation vectors (n, 3)."""
    step = np.zeros_like(frames)
    step[:, :3, :3], step[:, :3, 3], step[:, 3, 3] = rotation_matrix(turn), slide, 1.0
    return frames @ step


def across(axis: Array, hint: Array | None = None) -> Array:
    """Unit vectors (n, 3) at right angles to axes (n, 3), where that can be towards hints (n, 3)."""
    out = _square_to(axis, np.eye(3)[np.argmin(np.abs(axis), axis=1)])
    if hint is None:
        return out
    told = hint - np.einsum("ni,ni->n", hint, axis)[:, None] * axis
    clear = np.linalg.norm(told, axis=1) > 1e-3 * np.linalg.norm(hint, axis=1)
    out[clear] = _square_to(axis[clear], told[clear])
    return out


def _square_to(axis: Array, other: Array) -> Array:
    out = other - np.einsum("ni,ni->n", other, axis)[:, None] * axis
    return out / np.linalg.norm(out, axis=1, keepdims=True)


# ---------------------------------------------------------------- what is drawn


def draw_axes(drawing: Drawing, degrees: Degrees) -> None:
    """An arrow along each axis, the way that a growing value turns (right-handed) or slides."""
    reach = (0.9 * degrees.radius)[:, None] * degrees.axis
    tip, tail = degrees.origin + reach, degrees.origin - reach
    side = (0.12 * degrees.radius)[:, None] * degrees.zero
    neck = tip - 0.25 * reach
    lines = np.stack([tail, tip, tip, neck + side, tip, neck - side], axis=1)
    drawing.fine.add(lines, np.where(degrees.turns[:, None, None], TURN, SLIDE) * np.ones((1, 6, 1)))


def draw_balls(drawing: Drawing, frames: Array, radius: Array) -> None:
    """Three rings about each joint (n, 4, 4) that turns every way, of radii (n,)."""
    angle = np.linspace(0.0, 2.0 * np.pi, _RING + 1)
    ring = np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], axis=1)
    rings = np.stack([np.roll(ring, shift, axis=1) for shift in range(3)])
    points = np.einsum("nij,rkj->nrki", frames[:, :3, :3] * radius[:, None, None], rings)
    drawing.fine.add(_joined(points + frames[:, None, None, :3, 3]), TURN)


def draw_stops(drawing: Drawing, degrees: Degrees) -> None:
    """A dial from stop to stop of what turns, a bar of what slides, and a hand at the present value.

    What is beyond a stop, or between stops that are the wrong way round, is red.
    """
    stopped = degrees.some(degrees.stopped)
    _draw_ranges(drawing, stopped)
    known = stopped.some(~np.isnan(stopped.value))
    beyond = known.beyond
    over = beyond != 0.0
    _draw_hands(drawing, known, over)
    far = known.some(over)
    stop = far.value - beyond[over]
    _draw_span(drawing, far, stop, far.value, np.broadcast_to(BEYOND, (len(far), 4)), 2.0 * _FILL)


def _draw_ranges(drawing: Drawing, stopped: Degrees) -> None:
    lower, upper = stopped.lower.copy(), stopped.upper.copy()
    half = np.where(stopped.turns, np.pi, 2.0 * stopped.radius / stopped.scale)  # where there is no other stop
    lower, upper = (
        np.where(np.isnan(lower), upper - half, lower),
        np.where(np.isnan(upper), lower + half, upper),
    )
    colour = np.where((lower > upper)[:, None], BEYOND, RANGE)
    # more than a whole turn is drawn as one
    end = np.where(stopped.turns, np.minimum(upper, lower + 2.0 * np.pi), upper)
    _draw_span(drawing, stopped, lower, end, colour, _FILL)
    for stop in (stopped.lower, stopped.upper):
        there = ~np.isnan(stop)
        some = stopped.some(there)
        tick = np.stack([some.at(stop[there], 0.0, -0.35), some.at(stop[there], 1.12, 0.35)], axis=1)
        drawing.bold.add(tick, np.repeat(colour[there][:, None], 2, axis=1))


def _draw_span(drawing: Drawing, degrees: Degrees, start: Array, end: Array, colour: Array, fill: float) -> None:
    """The rim, or the bar, from ``start`` to ``end`` (n,) in colours (n, 4); dials are filled."""
    share = np.linspace(0.0, 1.0, _STEPS + 1)
    turning = degrees.some(degrees.turns)
    mine = degrees.turns
    rim = turning.at(start[mine, None] + (end - start)[mine, None] * share)
    pieces = _joined(rim)
    drawing.bold.add(pieces, np.repeat(colour[mine][:, None], pieces.shape[1], axis=1))
    fan = np.empty((len(turning), _STEPS, 3, 3))
    fan[:, :, 0], fan[:, :, 1], fan[:, :, 2] = turning.origin[:, None], rim[:, :-1], rim[:, 1:]
    pale = colour[mine] * (1.0, 1.0, 1.0, fill)
    drawing.faces.add(fan, np.broadcast_to(pale[:, None, None], (*fan.shape[:-1], 4)))
    sliding = degrees.some(~mine)
    bar = np.stack([sliding.at(start[~mine]), sliding.at(end[~mine])], axis=1)
    drawing.bold.add(bar, np.repeat(colour[~mine][:, None], 2, axis=1))


def _draw_hands(drawing: Drawing, known: Degrees, over: NDArray[np.bool_]) -> None:
    colour = np.where(over[:, None], BEYOND, VALUE)
    turning = known.turns
    dials = known.some(turning)
    hand = np.stack([dials.origin, dials.at(dials.value, 1.25)], axis=1)
    drawing.bold.add(hand, np.repeat(colour[turning][:, None], 2, axis=1))
    slides = known.some(~turning)
    _add_octahedra(drawing, slides.at(slides.value), 0.22 * slides.radius, (colour[~turning],) * 2)


def draw_centres(drawing: Drawing, places: Array, radius: Array) -> None:
    """The sign of a centre of mass at each place (n, 3): eight faces, by turns yellow and black."""
    light, dark = (np.broadcast_to(colour, (len(places), 4)) for colour in CENTRE)
    _add_octahedra(drawing, places, radius, (light, dark))


def _add_octahedra(drawing: Drawing, places: Array, radius: Array, colours: Sequence[Array]) -> None:
    signs = [(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)]
    corners = np.array([np.diag(sign)[:: int(np.prod(sign))] for sign in signs])  # where one is mirrored, the other way
    points = places[:, None, None] + radius[:, None, None, None] * corners
    shown = np.stack([colours[0] if x * y * z > 0.0 else colours[1] for x, y, z in signs], axis=1)
    drawing.solids.add(points, np.repeat(shown[:, :, None], 3, axis=2))


def inertia_box(tensor: Array) -> tuple[Array, Array]:
    """The axes (3, 3), as columns, and edges (3,) of the box of mass 1 that turns as a tensor (3, 3) of mass 1."""
    moments, axes = np.linalg.eigh(tensor)
    squares = 6.0 * (moments.sum() - 2.0 * moments)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] *= -1.0
    return axes, np.sqrt(np.maximum(squares, 0.0))


def draw_boxes(drawing: Drawing, poses: Array, edges: Array) -> None:
    """The edges of boxes (n, 3) about poses (n, 4, 4)."""
    signs = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    pairs = [(a, b) for a in range(8) for b in range(a + 1, 8) if (signs[a] != signs[b]).sum() == 1]
    corners = np.einsum("nij,nkj->nki", poses[:, :3, :3], signs * edges[:, None]) + poses[:, None, :3, 3]
    drawing.fine.add(corners[:, np.array(pairs)], INERTIA)


def draw_twins(drawing: Drawing, first: Array, second: Array) -> None:
    """A broken line between the places (n, 3) of each pair of twins."""
    share = np.arange(_DASHES)[:, None] / (_DASHES - 0.5) + np.array([0.0, 0.5 / (_DASHES - 0.5)])
    share = share.reshape(1, -1, 1)
    drawing.fine.add(first[:, None] * (1.0 - share) + second[:, None] * share, TWIN)


def _joined(points: Array) -> Array:
    """A chain of points (..., k, 3) as lines, (..., 2 (k - 1), 3)."""
    pairs = np.stack([points[..., :-1, :], points[..., 1:, :]], axis=-2)
    return pairs.reshape(*points.shape[:-2], 2 * points.shape[-2] - 2, 3)


_EDGE_ON = 0.15  # a dial that is seen at less than this (a sine) is dragged along its rim


def value_under(degree: Degrees, start: Array, ray: Array, value: float) -> float:
    """The coordinate that a ray, from ``start`` (3,) along ``ray`` (3,), points at on the dial or slide of one degree
    of freedom, which is at ``value`` now: of all turns the nearest. Where it points at none, ``value``."""
    origin, axis, ray = degree.origin[0], degree.axis[0], ray / np.linalg.norm(ray)
    if not degree.turns[0]:
        along = _along(start, ray, origin, axis)
        return value if along is None else along / float(degree.scale[0])
    slope = float(ray @ axis)
    if abs(slope) < _EDGE_ON:
        rim = degree.at(np.array([value]))[0]
        along = _along(start, ray, rim, np.cross(axis, rim - origin) / degree.radius[0])
        return value if along is None else value + along / float(degree.radius[0])
    hit = start + ray * float((origin - start) @ axis) / slope - origin
    zero = degree.zero[0]
    angle = math.atan2(float(hit @ np.cross(axis, zero)), float(hit @ zero))
    return value + math.remainder(angle - value, 2.0 * math.pi)


def _along(start: Array, ray: Array, origin: Array, line: Array) -> float | None:
    """Return how far along a line from its origin a ray comes nearest; None where the two are parallel."""
    lean = float(ray @ line)
    rest = 1.0 - lean * lean
    if rest < 1e-6:
        return None
    gap = origin - start
    return float((lean * (gap @ ray)) - gap @ line) / rest


def snap_step(degree: Degrees, fine: bool = False) -> float:
    """Return what values of a degree of freedom are snapped to: 5 degrees, or 1; of a slide a round length that is
    about a tenth of its mark's radius, or a hundredth."""
    if degree.turns[0]:
        return math.radians(1.0 if fine else 5.0)
    step: float = 10.0 ** math.floor(math.log10(float(degree.radius[0] / degree.scale[0]) * 0.25))
    return step / 10.0 if fine else step


def kept_apart(value: float, other: float | None, is_upper: bool) -> float:
    """A stop that does not pass the other one."""
    if other is None:
        return value
    return max(value, other) if is_upper else min(value, other)


def value_text(value: float, turns: bool) -> str:
    """A value as people read it: degrees, or units of length."""
    return f"{plain(math.degrees(value), 1)}°" if turns else f"{value:.4g}"
