"""What a value is dragged to: from the ray under the pointer to the coordinate of a degree of freedom."""

from __future__ import annotations

import math

import numpy as np

from .marks import Degrees
from .records import Array
from .spelling import plain

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
