"""Polygons with holes as polygons without: each hole is joined to what is around it by a cut.

The cut runs from the hole's point farthest along one axis to a point of the outline that is seen from there
(D. Eberly, Triangulation by Ear Clipping, section 5)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core.model import Array

#: More holes of one polygon, and more corners of it, than are joined: each is looked for among all corners.
_MOST_HOLES, _MOST_CORNERS = 100, 10_000
#: An area that is none, as a share of the square of a polygon's extent.
_NO_AREA = 1e-12


def is_flat(outline: Array) -> bool:
    """Return whether a polygon (n, 3) has no area: less than three corners, or all of them on a line."""
    extent = float(np.ptp(outline, axis=0).max()) if len(outline) >= 3 else 0.0
    return extent == 0.0 or float(np.linalg.norm(_normal((outline - outline[0]) / extent))) <= _NO_AREA


def bridged(loops: Sequence[tuple[np.ndarray, Array]]) -> np.ndarray:
    """The corners of the first loop with those of the others, its holes, cut into it: rows of one or more numbers.
    ``loops``: the corners (n, k) of each, and where they are (n, 3)."""
    (corners, outline), *holes = loops
    if len(holes) > _MOST_HOLES or sum(len(rows) for rows, _ in loops) > _MOST_CORNERS:
        return corners
    normal = _normal(outline)
    flat = np.delete(np.arange(3), int(np.argmax(np.abs(normal))))
    outside = outline[:, flat]
    clockwise = _area(outside) < 0.0
    inner = []
    for rows, points in holes:
        place = points[:, flat]
        same_way = (_area(place) < 0.0) == clockwise  # a hole runs the other way round than its outline
        inner.append((rows[::-1], place[::-1]) if same_way else (rows, place))
    for rows, place in sorted(inner, key=lambda hole: -float(hole[1][:, 0].max())):
        first = int(np.argmax(place[:, 0]))
        seen = _seen_from(place[first], outside)
        order = [*range(first, len(rows)), *range(first + 1)]
        corners = np.concatenate([corners[: seen + 1], rows[order], corners[seen:]])
        outside = np.concatenate([outside[: seen + 1], place[order], outside[seen:]])
    return corners


def _normal(points: Array) -> Array:
    """The normal of a polygon, as long as twice its area (Newell)."""
    return np.asarray(np.cross(points, np.roll(points, -1, axis=0)).sum(axis=0))


def _area(points: Array) -> float:
    (x, y), (u, v) = points.T, np.roll(points, -1, axis=0).T
    return float((x * v - u * y).sum())


def _seen_from(point: Array, outline: Array) -> int:
    """The corner (its index) of an outline that a point inside, to the left of it, sees."""
    start, end = outline, np.roll(outline, -1, axis=0)
    below, above = np.minimum(start[:, 1], end[:, 1]), np.maximum(start[:, 1], end[:, 1])
    crosses = np.flatnonzero((below <= point[1]) & (above >= point[1]) & (above > below))
    share = (point[1] - start[crosses, 1]) / (end[crosses, 1] - start[crosses, 1])
    at = start[crosses, 0] + share * (end[crosses, 0] - start[crosses, 0])
    right = np.flatnonzero(at >= point[0])
    if not len(right):  # the hole is not inside
        return int(np.argmin(((outline - point) ** 2).sum(axis=1)))
    nearest = right[int(np.argmin(at[right]))]
    edge, hit = int(crosses[nearest]), np.array([at[nearest], point[1]])
    ends = edge, (edge + 1) % len(outline)
    chosen = max(ends, key=lambda each: float(outline[each, 0]))
    # of the corners between, that which is seen under the smallest angle stands in the way of all others
    sides = [_side(a, b, outline) for a, b in ((point, hit), (hit, outline[chosen]), (outline[chosen], point))]
    inside = np.flatnonzero(np.all([side > 0 for side in sides], axis=0) | np.all([side < 0 for side in sides], axis=0))
    if not len(inside):
        return chosen
    away = outline[inside] - point
    return int(inside[np.lexsort(((away**2).sum(axis=1), np.abs(away[:, 1]) / np.maximum(away[:, 0], 1e-300)))[0]])


def _side(start: Array, end: Array, points: Array) -> Array:
    """On which side of a line points are."""
    along, away = end - start, points - start
    return np.asarray(along[0] * away[:, 1] - along[1] * away[:, 0])
