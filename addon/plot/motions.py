"""Pictures of motions: servos over time, with their stops."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.model import Array, Motion, Trajectory
from ..core.motion.servo_matching import Servo
from ..core.report import FormatError
from ..core.stops import beyond
from .canvas import COLOURS, INK, drawn, new_figure, plain_axes

TOGETHER = 6  # servos that share one set of axes; more get small ones, each its own
POINTS = 4000  # of a curve: more than a picture has columns
LONGEST_NAME = 32
BEYOND = "#c81e2b"


@dataclass(frozen=True)
class Curve:
    """What is drawn of a servo: corners of its line (n,), its stops and its unit, in degrees or length units."""

    name: str
    times: Array
    values: Array
    lower: float | None
    upper: float | None
    beyond: Array  # whether a corner lies beyond a stop
    unit: str


def motion_picture(motion: Motion, servos: Mapping[str, Servo], ending: str = ".png") -> bytes:
    """A picture of a motion's servos over time as the bytes of a .png, .svg or .pdf.

    ``servos``: those of the mechanism, for stops and units; others are drawn as angles without stops. FormatError
    where matplotlib is missing and where no servo has a key."""
    curves = [_curve(each, servos.get(each.name)) for each in motion.trajectories if len(each.times)]
    if not curves:
        raise FormatError(f"motion {motion.name!r} has no keys to draw")
    return drawn(
        motion.name, lambda: _together(curves) if len(curves) <= TOGETHER else _small_multiples(curves), ending
    )


# ------------------------------------------------------------------ what is drawn


def _curve(track: Trajectory, servo: Servo | None) -> Curve:
    slides = servo.slides if servo is not None else track.unit == "m"
    scale = 1.0 if slides else math.degrees(1.0)
    times, values = _corners(track)
    servo = servo or Servo(track.name, "", slides, None, None)
    lower, upper = (None if end is None else end * scale for end in (servo.lower, servo.upper))
    outside = beyond(values, servo.stops) != 0.0
    return Curve(_short(track.name), times, values * scale, lower, upper, outside, "m" if slides else "°")


def _short(name: str) -> str:
    """A name that leaves room for the curve. Ends tell names apart better than their middles."""
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME // 2]}…{name[-LONGEST_NAME // 2 + 1 :]}"


def _corners(track: Trajectory) -> tuple[Array, Array]:
    """The corners of a trajectory's line: a key that holds has one more where the next begins."""
    times, values = np.asarray(track.times, dtype=np.float64), np.asarray(track.values, dtype=np.float64)
    again = np.where(track.holds()[:-1], 2, 1)
    at = np.repeat(np.arange(len(times) - 1), again)
    second = np.zeros(len(at), dtype=bool)
    second[1:] = at[1:] == at[:-1]
    corners = np.append(times[at + second], times[-1]), np.append(values[at], values[-1])
    return _thinned(*corners) if len(corners[0]) > POINTS else corners


def _thinned(times: Array, values: Array) -> tuple[Array, Array]:
    """Fewer points that look the same: of each stretch its lowest and highest."""
    stretches = np.array_split(np.arange(len(times)), POINTS // 2)
    ends = [sorted({int(own[values[own].argmin()]), int(own[values[own].argmax()])}) for own in stretches]
    kept = np.unique([0, *(place for pair in ends for place in pair), len(times) - 1])
    return times[kept], values[kept]


# ------------------------------------------------------------------ how it is drawn


def _together(curves: Sequence[Curve]) -> Any:
    """One set of axes for what turns and one for what slides, with a legend beside each."""
    units = [unit for unit in ("°", "m") if any(curve.unit == unit for curve in curves)]
    figure = new_figure(10.0, 1.0 + 3.6 * len(units))
    rows = figure.subplots(len(units), 1, sharex=True, squeeze=False)[:, 0]
    for axes, unit in zip(rows, units, strict=True):
        own = [curve for curve in curves if curve.unit == unit]
        lines = [_draw(axes, curve, colour) for curve, colour in zip(own, COLOURS, strict=False)]
        _take_turns([line for line in axes.lines if line.get_linestyle() == "--"])
        _finish(axes, own)
        _legend(axes, [*lines, *_stop_marks(own)], [*(curve.name for curve in own), *_stop_words(own)])
        axes.set_ylabel("angle (°)" if unit == "°" else "position (m)", color=INK)
    rows[-1].set_xlabel("time (s)", color=INK)
    return figure


def _small_multiples(curves: Sequence[Curve]) -> Any:
    """Small axes for each servo, all over the same time, with one legend for the line styles."""
    columns = 3 if len(curves) <= 15 else 4 if len(curves) <= 24 else 5
    rows = math.ceil(len(curves) / columns)
    figure = new_figure(3.1 * columns, 1.1 + 1.65 * rows)
    grid = figure.subplots(rows, columns, sharex=True, squeeze=False)
    for place, axes in enumerate(grid.ravel()):
        if place >= len(curves):
            axes.remove()
            continue
        curve = curves[place]
        _draw(axes, curve, COLOURS[0])
        _finish(axes, [curve])
        axes.set_title(f"{curve.name}  ({curve.unit})", parse_math=False, fontsize=9, color=INK, loc="left")
        lowest = place + columns >= len(curves)
        axes.tick_params(labelsize=7.5, labelbottom=lowest)
        axes.set_xlabel("time (s)" if lowest else "", fontsize=8.5, color=INK)
        axes.yaxis.get_major_locator().set_params(nbins=4)
    from matplotlib.lines import Line2D

    marks = [Line2D([], [], color=COLOURS[0], linewidth=1.6), *_stop_marks(curves)]
    words = ["servo: angle (°)" if all(c.unit == "°" for c in curves) else "servo: angle (°) or position (m)"]
    legend = figure.legend(marks, [*words, *_stop_words(curves)], loc="outside lower center", ncols=3, frameon=False)
    for text in legend.get_texts():
        text.set_color(INK)
    return figure


def _draw(axes: Any, curve: Curve, colour: str) -> Any:
    """A servo's line, its stops as dashed lines, and what lies beyond them in red; returns the line."""
    for stop in (curve.lower, curve.upper):
        if stop is not None:
            axes.axhline(stop, color=colour, linewidth=1.0, linestyle="--", dashes=(5, 3), alpha=0.75, zorder=1.5,
                         gid=f"stop of {curve.name}")  # fmt: skip
    lonely = "o" if len(curve.times) == 1 else ""
    (line,) = axes.plot(curve.times, curve.values, color=colour, linewidth=1.6, marker=lonely, zorder=3,
                        gid=f"servo {curve.name}")  # fmt: skip
    if curve.beyond.any():
        axes.plot(curve.times[curve.beyond], curve.values[curve.beyond], "o", color=BEYOND, markersize=2.6, zorder=4)
    return line


def _take_turns(stops: Sequence[Any]) -> None:
    """Where servos have the same stop, one dash is in the colour of the first, the next in that of the second."""
    same: dict[float, list[Any]] = {}
    for line in stops:
        same.setdefault(round(float(line.get_ydata()[0]), 6), []).append(line)
    for lines in same.values():
        for place, line in enumerate(lines):
            line.set_linestyle((8 * (len(lines) - place), (5, 8 * len(lines) - 5)))


def _finish(axes: Any, curves: Sequence[Curve]) -> None:
    """Limits that show every line and stop with some air, a light grid, and no box."""
    ends = [end for c in curves for end in (c.values.min(), c.values.max(), c.lower, c.upper) if end is not None]
    low, high = float(min(ends)), float(max(ends))
    air = 0.07 * (high - low) or 0.1 * abs(high) or 1.0
    axes.set_ylim(low - air, high + air)
    first, last = min(float(c.times[0]) for c in curves), max(float(c.times[-1]) for c in curves)
    if last > first:
        axes.set_xlim(first, last)
    plain_axes(axes)


def _stop_marks(curves: Sequence[Curve]) -> list[Any]:
    from matplotlib.lines import Line2D

    marks = []
    if any(stop is not None for curve in curves for stop in (curve.lower, curve.upper)):
        marks.append(Line2D([], [], color=INK, linewidth=1.0, linestyle=(0, (5, 3))))
    if any(curve.beyond.any() for curve in curves):
        marks.append(Line2D([], [], color=BEYOND, linestyle="", marker="o", markersize=3.5))
    return marks


def _stop_words(curves: Sequence[Curve]) -> list[str]:
    stops = any(stop is not None for curve in curves for stop in (curve.lower, curve.upper))
    return ["stop"] * stops + ["beyond its stops"] * any(curve.beyond.any() for curve in curves)


def _legend(axes: Any, marks: Sequence[Any], words: Sequence[str]) -> None:
    """A legend beside the axes. Its words are put in afterwards: matplotlib leaves out those that begin with _."""
    legend = axes.legend(marks, ["."] * len(marks), loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)
    for text, word in zip(legend.get_texts(), words, strict=True):
        text.set_parse_math(False)
        text.set_text(word)
        text.set_color(INK)
