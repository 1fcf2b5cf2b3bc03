"""Geometry of the overlay: joint axes, stops, centers of mass, inertia and twins, as plain arrays.

All functions work on many parts at once, independent of what draws them: lines are pairs of points, faces are triples,
each point with its color.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .model import Array
from .report import format_number
from .transforms import inverse, nearest_angle, rotation_matrix

PointArray = NDArray[np.float32]
ColorRgba = tuple[float, float, float, float]

#: Colors (sRGB, alpha) that are legible on a gray background as well as on colored bodies.
ROTATION_COLOR: ColorRgba = (0.25, 0.78, 1.0, 1.0)
TRANSLATION_COLOR: ColorRgba = (0.55, 1.0, 0.35, 1.0)
RANGE_COLOR: ColorRgba = (1.0, 0.72, 0.12, 1.0)
VALUE_COLOR: ColorRgba = (1.0, 1.0, 1.0, 1.0)
VIOLATION_COLOR: ColorRgba = (1.0, 0.12, 0.1, 1.0)
TWIN_COLOR: ColorRgba = (0.86, 0.5, 1.0, 0.9)
INERTIA_COLOR: ColorRgba = (0.35, 0.95, 0.8, 0.9)
CENTER_OF_MASS_COLORS: tuple[ColorRgba, ColorRgba] = ((1.0, 0.85, 0.1, 1.0), (0.05, 0.05, 0.05, 1.0))

_ARC_SEGMENTS = 32  # segments of an arc
_RING_SEGMENTS = 24  # segments of a ball's ring
_DASHES = 9
_FILL_ALPHA = 0.22  # opacity of a range's face
#: Values beyond a stop by less than this (rad, or the share of a slider's range) are at the stop.
_TOLERANCE = 1e-4


@dataclass
class VertexBuffer:
    """Point and color arrays of a drawing, collected before they are concatenated."""

    points: list[PointArray] = field(default_factory=list)
    colours: list[PointArray] = field(default_factory=list)

    def add(self, points: Array, colour: ColorRgba | Array) -> None:
        """Add points (..., 3) in one color, or in one color (..., 4) each."""
        flat = np.asarray(points, dtype=np.float32).reshape(-1, 3)
        shape = (*np.shape(points)[:-1], 4)
        self.points.append(flat)
        self.colours.append(np.broadcast_to(np.asarray(colour, dtype=np.float32), shape).reshape(-1, 4))

    def arrays(self) -> tuple[PointArray, PointArray]:
        """Return all points (n, 3) and their colors (n, 4)."""
        empty = np.zeros((0, 3), np.float32), np.zeros((0, 4), np.float32)
        return np.concatenate([empty[0], *self.points]), np.concatenate([empty[1], *self.colours])


@dataclass
class OverlayDrawing:
    """Drawing: fine and bold lines (two points each), faces (three points) and faces of solids.

    Solids are visible from outside only: their faces are counterclockwise seen from there.
    """

    fine: VertexBuffer = field(default_factory=VertexBuffer)
    bold: VertexBuffer = field(default_factory=VertexBuffer)
    faces: VertexBuffer = field(default_factory=VertexBuffer)
    solids: VertexBuffer = field(default_factory=VertexBuffer)


@dataclass
class DofGlyphs:
    """Single-coordinate degrees of freedom, n of them, placed in the world.

    ``origin`` (n, 3); ``axis`` (n, 3) and ``zero`` (n, 3), the direction of a dial's hand at 0, perpendicular unit
    vectors; ``radius`` (n,) of the dial; ``turns`` (n,) is True for dials and False for sliders; ``scale`` (n,) is the
    length of one unit of a slider. ``value``, ``lower`` and ``upper`` (n,) are in rad or length units, NaN where there
    is none.
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

    def some(self, chosen: NDArray[np.bool_]) -> DofGlyphs:
        """Select a subset by a mask (n,)."""
        return DofGlyphs(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))

    @property
    def stopped(self) -> NDArray[np.bool_]:
        """Return a mask (n,) of those that have a stop."""
        return ~(np.isnan(self.lower) & np.isnan(self.upper))

    @property
    def outside(self) -> Array:
        """Return the distance (n,) beyond a stop: negative below the lower one, 0 within or where there is none."""
        with np.errstate(invalid="ignore"):
            below, above = np.minimum(self.value - self.lower, 0.0), np.maximum(self.value - self.upper, 0.0)
            out = np.nan_to_num(below) + np.nan_to_num(above)
            span = np.where(self.turns, 1.0, np.nan_to_num(np.abs(self.upper - self.lower), nan=1.0))
        return np.where(np.abs(out) > _TOLERANCE * span, out, 0.0)

    def at(self, value: Array, out: Array | float = 1.0, side: Array | float = 0.0) -> Array:
        """Compute the point where a value (n,) or (n, k) is shown, (n, 3) or (n, k, 3).

        Args:
            value: Values in rad or length units.
            out: Distance from the center of a dial, in radii.
            side: Distance beside a slider's axis, in radii.
        """
        value = np.asarray(value, dtype=np.float64)
        origin, axis, zero, radius, turns, scale = (
            part.reshape(len(self), *(1,) * (value.ndim - 1), *part.shape[1:])
            for part in (self.origin, self.axis, self.zero, self.radius, self.turns, self.scale)
        )
        rim = zero * np.cos(value)[..., None] + np.cross(axis, zero) * np.sin(value)[..., None]
        dial = rim * (radius * out)[..., None]
        line = axis * (value * scale)[..., None] + zero * (radius * side)[..., None]
        return origin + np.where(turns[..., None], dial, line)


# ---------------------------------------------------------------- placement


def frames_in_world(world: Array, basis: Array, design: Array, scale: float) -> Array:
    """Compute the current poses (n, 4, 4) of frames that are carried by bodies.

    Args:
        world: Current poses (n, 4, 4) of the bodies.
        basis: Their design poses (n, 4, 4).
        design: Design poses (n, 4, 4) of the frames.
        scale: Scale of the mechanism in the world.
    """
    here, there = remove_scale(world), remove_scale(basis)
    local = inverse(there) @ remove_scale(design)
    local[:, :3, 3] *= scale
    return here @ local


def remove_scale(poses: Array) -> Array:
    """Normalize the columns of poses (n, 4, 4) to length 1."""
    out = np.array(poses, dtype=np.float64)
    length = np.linalg.norm(out[:, :3, :3], axis=1, keepdims=True)
    out[:, :3, :3] /= np.where(length > 0.0, length, 1.0)
    return out


def measure_axis_values(motion: Array, axis: Array, turns: NDArray[np.bool_]) -> Array:
    """Compute the values (n,) of joints with one axis (n, 3) from their motions (n, 4, 4), angles in (-pi, pi]."""
    first = perpendicular(axis)
    second = np.cross(axis, first)
    turned = np.einsum("nij,nj->ni", motion[:, :3, :3], first)
    angle = np.arctan2(np.einsum("ni,ni->n", turned, second), np.einsum("ni,ni->n", turned, first))
    return np.where(turns, angle, np.einsum("ni,ni->n", motion[:, :3, 3], axis))


def move_frames(frames: Array, turn: Array, slide: Array) -> Array:
    """Move frames (n, 4, 4) in their own axes by translations (n, 3) and then by rotation vectors (n, 3)."""
    step = np.zeros_like(frames)
    step[:, :3, :3], step[:, :3, 3], step[:, 3, 3] = rotation_matrix(turn), slide, 1.0
    return frames @ step


def perpendicular(axis: Array, hint: Array | None = None) -> Array:
    """Compute unit vectors (n, 3) perpendicular to axes (n, 3), towards hints (n, 3) where possible."""
    out = _orthogonal_unit(axis, np.eye(3)[np.argmin(np.abs(axis), axis=1)])
    if hint is None:
        return out
    across = hint - np.einsum("ni,ni->n", hint, axis)[:, None] * axis
    clear = np.linalg.norm(across, axis=1) > 1e-3 * np.linalg.norm(hint, axis=1)
    out[clear] = _orthogonal_unit(axis[clear], across[clear])
    return out


def _orthogonal_unit(axis: Array, other: Array) -> Array:
    out = other - np.einsum("ni,ni->n", other, axis)[:, None] * axis
    return out / np.linalg.norm(out, axis=1, keepdims=True)


# ---------------------------------------------------------------- drawing


def draw_axes(drawing: OverlayDrawing, degrees: DofGlyphs) -> None:
    """Draw an arrow along each axis, in the direction in which a growing value moves or rotates (right-handed)."""
    reach = (0.9 * degrees.radius)[:, None] * degrees.axis
    tip, tail = degrees.origin + reach, degrees.origin - reach
    side = (0.12 * degrees.radius)[:, None] * degrees.zero
    neck = tip - 0.25 * reach
    lines = np.stack([tail, tip, tip, neck + side, tip, neck - side], axis=1)
    drawing.fine.add(
        lines, np.where(degrees.turns[:, None, None], ROTATION_COLOR, TRANSLATION_COLOR) * np.ones((1, 6, 1))
    )


def draw_ball_joints(drawing: OverlayDrawing, frames: Array, radius: Array) -> None:
    """Draw three rings about each ball joint (n, 4, 4), of radii (n,)."""
    angle = np.linspace(0.0, 2.0 * np.pi, _RING_SEGMENTS + 1)
    ring = np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], axis=1)
    rings = np.stack([np.roll(ring, shift, axis=1) for shift in range(3)])
    points = np.einsum("nij,rkj->nrki", frames[:, :3, :3] * radius[:, None, None], rings)
    drawing.fine.add(_polyline_segments(points + frames[:, None, None, :3, 3]), ROTATION_COLOR)


def draw_stops(drawing: OverlayDrawing, degrees: DofGlyphs) -> None:
    """Draw the range between stops, a dial for hinges and a bar for sliders, and a hand at the current value.

    Values beyond a stop, and ranges between inverted stops, are red.
    """
    stopped = degrees.some(degrees.stopped)
    _draw_ranges(drawing, stopped)
    known = stopped.some(~np.isnan(stopped.value))
    beyond = known.outside
    over = beyond != 0.0
    _draw_value_pointers(drawing, known, over)
    far = known.some(over)
    stop = far.value - beyond[over]
    _draw_span(drawing, far, stop, far.value, np.broadcast_to(VIOLATION_COLOR, (len(far), 4)), 2.0 * _FILL_ALPHA)


def _draw_ranges(drawing: OverlayDrawing, stopped: DofGlyphs) -> None:
    lower, upper = stopped.lower.copy(), stopped.upper.copy()
    half = np.where(stopped.turns, np.pi, 2.0 * stopped.radius / stopped.scale)  # for a missing second stop
    lower, upper = (
        np.where(np.isnan(lower), upper - half, lower),
        np.where(np.isnan(upper), lower + half, upper),
    )
    colour = np.where((lower > upper)[:, None], VIOLATION_COLOR, RANGE_COLOR)
    # more than one revolution is drawn as one
    end = np.where(stopped.turns, np.minimum(upper, lower + 2.0 * np.pi), upper)
    _draw_span(drawing, stopped, lower, end, colour, _FILL_ALPHA)
    for stop in (stopped.lower, stopped.upper):
        there = ~np.isnan(stop)
        some = stopped.some(there)
        tick = np.stack([some.at(stop[there], 0.0, -0.35), some.at(stop[there], 1.12, 0.35)], axis=1)
        drawing.bold.add(tick, np.repeat(colour[there][:, None], 2, axis=1))


def _draw_span(
    drawing: OverlayDrawing, degrees: DofGlyphs, start: Array, end: Array, colour: Array, fill: float
) -> None:
    """Draw the rim, or the bar, from ``start`` to ``end`` (n,) in colors (n, 4); dials are filled."""
    share = np.linspace(0.0, 1.0, _ARC_SEGMENTS + 1)
    turning = degrees.some(degrees.turns)
    mine = degrees.turns
    rim = turning.at(start[mine, None] + (end - start)[mine, None] * share)
    pieces = _polyline_segments(rim)
    drawing.bold.add(pieces, np.repeat(colour[mine][:, None], pieces.shape[1], axis=1))
    fan = np.empty((len(turning), _ARC_SEGMENTS, 3, 3))
    fan[:, :, 0], fan[:, :, 1], fan[:, :, 2] = turning.origin[:, None], rim[:, :-1], rim[:, 1:]
    pale = colour[mine] * (1.0, 1.0, 1.0, fill)
    drawing.faces.add(fan, np.broadcast_to(pale[:, None, None], (*fan.shape[:-1], 4)))
    sliding = degrees.some(~mine)
    bar = np.stack([sliding.at(start[~mine]), sliding.at(end[~mine])], axis=1)
    drawing.bold.add(bar, np.repeat(colour[~mine][:, None], 2, axis=1))


def _draw_value_pointers(drawing: OverlayDrawing, known: DofGlyphs, over: NDArray[np.bool_]) -> None:
    colour = np.where(over[:, None], VIOLATION_COLOR, VALUE_COLOR)
    turning = known.turns
    dials = known.some(turning)
    hand = np.stack([dials.origin, dials.at(dials.value, 1.25)], axis=1)
    drawing.bold.add(hand, np.repeat(colour[turning][:, None], 2, axis=1))
    slides = known.some(~turning)
    _add_octahedra(drawing, slides.at(slides.value), 0.22 * slides.radius, (colour[~turning],) * 2)


def draw_centers_of_mass(drawing: OverlayDrawing, places: Array, radius: Array) -> None:
    """Draw the symbol of a center of mass at each point (n, 3).

    It is an octahedron with alternating yellow and black faces.
    """
    light, dark = (np.broadcast_to(colour, (len(places), 4)) for colour in CENTER_OF_MASS_COLORS)
    _add_octahedra(drawing, places, radius, (light, dark))


def _add_octahedra(drawing: OverlayDrawing, places: Array, radius: Array, colours: Sequence[Array]) -> None:
    signs = [(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)]
    corners = np.array([np.diag(sign)[:: int(np.prod(sign))] for sign in signs])  # reversed where mirrored
    points = places[:, None, None] + radius[:, None, None, None] * corners
    shown = np.stack([colours[0] if x * y * z > 0.0 else colours[1] for x, y, z in signs], axis=1)
    drawing.solids.add(points, np.repeat(shown[:, :, None], 3, axis=2))


def inertia_box(tensor: Array) -> tuple[Array, Array]:
    """Compute the box of mass 1 with the same inertia as a tensor (3, 3) of mass 1.

    Returns:
        Its axes (3, 3), as columns, and its edge lengths (3,).
    """
    moments, axes = np.linalg.eigh(tensor)
    squares = 6.0 * (moments.sum() - 2.0 * moments)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] *= -1.0
    return axes, np.sqrt(np.maximum(squares, 0.0))


def draw_inertia_boxes(drawing: OverlayDrawing, poses: Array, edges: Array) -> None:
    """Draw the edges of boxes of sizes (n, 3) at poses (n, 4, 4)."""
    signs = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    pairs = [(a, b) for a in range(8) for b in range(a + 1, 8) if (signs[a] != signs[b]).sum() == 1]
    corners = np.einsum("nij,nkj->nki", poses[:, :3, :3], signs * edges[:, None]) + poses[:, None, :3, 3]
    drawing.fine.add(corners[:, np.array(pairs)], INERTIA_COLOR)


def draw_twins(drawing: OverlayDrawing, first: Array, second: Array) -> None:
    """Draw a dashed line between the positions (n, 3) of each pair of twins."""
    share = np.arange(_DASHES)[:, None] / (_DASHES - 0.5) + np.array([0.0, 0.5 / (_DASHES - 0.5)])
    share = share.reshape(1, -1, 1)
    drawing.fine.add(first[:, None] * (1.0 - share) + second[:, None] * share, TWIN_COLOR)


def _polyline_segments(points: Array) -> Array:
    """Convert polylines (..., k, 3) to line segments (..., 2 (k - 1), 3)."""
    pairs = np.stack([points[..., :-1, :], points[..., 1:, :]], axis=-2)
    return pairs.reshape(*points.shape[:-2], 2 * points.shape[-2] - 2, 3)


_MIN_VIEW_SINE = 0.15  # sine of the view angle below which a dial is dragged along its rim


def value_at_ray(degree: DofGlyphs, start: Array, ray: Array, value: float) -> float:
    """Compute the value that a ray points at on the dial or slider of one degree of freedom.

    Args:
        degree: The degree of freedom, n = 1.
        start: Origin (3,) of the ray.
        ray: Its direction (3,).
        value: The current value.

    Returns:
        The value, for a dial the equivalent one nearest to ``value``; ``value`` where the ray points at none.
    """
    origin, axis, ray = degree.origin[0], degree.axis[0], ray / np.linalg.norm(ray)
    if not degree.turns[0]:
        along = _closest_on_line(start, ray, origin, axis)
        return value if along is None else along / float(degree.scale[0])
    slope = float(ray @ axis)
    if abs(slope) < _MIN_VIEW_SINE:
        rim = degree.at(np.array([value]))[0]
        along = _closest_on_line(start, ray, rim, np.cross(axis, rim - origin) / degree.radius[0])
        return value if along is None else value + along / float(degree.radius[0])
    hit = start + ray * float((origin - start) @ axis) / slope - origin
    zero = degree.zero[0]
    angle = math.atan2(float(hit @ np.cross(axis, zero)), float(hit @ zero))
    return nearest_angle(angle, value)


def _closest_on_line(start: Array, ray: Array, origin: Array, line: Array) -> float | None:
    """Return the distance along a line at which a ray is nearest to it; None where the two are parallel."""
    lean = float(ray @ line)
    rest = 1.0 - lean * lean
    if rest < 1e-6:
        return None
    gap = origin - start
    return float((lean * (gap @ ray)) - gap @ line) / rest


def snap_increment(degree: DofGlyphs, fine: bool = False) -> float:
    """Return the snapping increment of a value, in its unit.

    It is 5 degrees, or 1 if ``fine``; for a slider the largest power of ten up to a quarter of its mark's radius, or a
    tenth of that if ``fine``.
    """
    if degree.turns[0]:
        return math.radians(1.0 if fine else 5.0)
    step: float = 10.0 ** math.floor(math.log10(float(degree.radius[0] / degree.scale[0]) * 0.25))
    return step / 10.0 if fine else step


def clamp_to_other_stop(value: float, other: float | None, is_upper: bool) -> float:
    """Clamp a stop so that it does not pass the other one."""
    if other is None:
        return value
    return max(value, other) if is_upper else min(value, other)


def format_dof_value(value: float, turns: bool) -> str:
    """Format a value in degrees or length units."""
    return f"{format_number(math.degrees(value), 1)}°" if turns else f"{value:.4g}"
