"""Plots of motions (servos over time with their stops) and of parameter sweeps, as image files.

They are drawn by matplotlib, which is imported only when a plot is drawn.
"""

from __future__ import annotations

import io
import math
import os
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .core.model import Array, Motion, Trajectory
from .core.motion.servo_matching import Servo
from .core.report import FormatError
from .core.run_metrics import FIGURE_LABELS
from .core.stops import stop_excess

__all__ = ["PLOT_EXTENSIONS", "plot_motion", "plot_sweep"]


PLOT_EXTENSIONS = (".png", ".svg", ".pdf")
LINE_COLORS = ("#3264a8", "#d1602d", "#2f8f5b", "#9d3f7c", "#8a6d1f", "#4a4f57")
AXIS_COLOR, GRID = "#30343b", "#dfe2e6"


def render_figure(title: str, draw: Callable[[], Any], ending: str) -> bytes:
    """Render a figure with matplotlib.

    Args:
        title: Title above the figure.
        draw: Function that creates the figure.
        ending: ``.png``, ``.svg`` or ``.pdf``.

    Returns:
        The bytes of the image file.

    Raises:
        FormatError: matplotlib is missing.
    """
    agg = _matplotlib()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of glyphs missing in its font
        figure = draw()
        agg.FigureCanvasAgg(figure)
        figure.suptitle(title, parse_math=False, color=AXIS_COLOR, fontsize=12, fontweight="bold")
        target = io.BytesIO()
        metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(ending, {})
        figure.savefig(target, format=ending.removeprefix("."), metadata=metadata, facecolor="white")
    return target.getvalue()


def new_figure(width: float, height: float) -> Any:
    """Create an empty figure; width and height in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=120, layout="constrained")


def style_axes(axes: Any) -> None:
    """Style axes with a light grid and without a box."""
    axes.grid(True, color=GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(colors=AXIS_COLOR, length=3)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color("#a9afb7")


def _matplotlib() -> Any:
    """Import matplotlib and return its Agg backend.

    Its font cache is kept among the temporary files, so that nothing is written into the user's settings.

    Raises:
        FormatError: matplotlib cannot be imported.
    """
    if not os.environ.get("MPLCONFIGDIR"):
        os.environ["MPLCONFIGDIR"] = _private_temp_folder()
    try:
        import matplotlib
        from matplotlib.backends import backend_agg
    except ImportError as error:
        raise FormatError(
            f"a plot needs matplotlib, which cannot be loaded ({error})",
            remedy="Install it into this Python (pip install matplotlib), or use `blender --command knuckle`.",
        ) from error
    matplotlib.rcParams["svg.hashsalt"] = "knuckle"  # deterministic files
    matplotlib.rcParams["axes.unicode_minus"] = True
    return backend_agg


def _private_temp_folder() -> str:
    """Return a folder for temporary files owned by this user, the same one on every call where possible."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    folder = os.path.join(tempfile.gettempdir(), f"knuckle-plots-{user}")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        status = os.lstat(folder)
        owned = not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & 0o022)
        if owned and not os.path.islink(folder) and os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass
    return tempfile.mkdtemp(prefix="knuckle-plots-")


#: Figures drawn side by side: distance, energy and tracking error.
PLOTTED_FIGURES = ("distance", "energy", "tracking_error")
MAX_LINES = 12  # most lines that a legend names


def plot_sweep(settings: Sequence[str], table: Sequence[Mapping[str, float]], ending: str = ".png") -> bytes:
    """Plot a parameter sweep: each figure over the first setting that varies, one line per combination of the others.

    Args:
        settings: Names of the settings.
        table: Settings and figures of each run by name; nan where there is none.
        ending: ``.png``, ``.svg`` or ``.pdf``.

    Returns:
        The bytes of the image file.

    Raises:
        FormatError: The table is empty, or matplotlib is missing.
    """
    if not table:
        raise FormatError("there are no simulations to plot")
    varied = [name for name in settings if len({row[name] for row in table}) > 1]
    fixed = [
        f"{name} {table[0][name]:g}" for name in settings if name not in varied and table[0][name] == table[0][name]
    ]
    title = f"{len(table)} runs" + (f" ({', '.join(fixed)})" if fixed else "")
    return render_figure(title, lambda: _sweep_figure(varied, table), ending)


def _sweep_figure(varied: Sequence[str], table: Sequence[Mapping[str, float]]) -> Any:
    figure = new_figure(4.2 * len(PLOTTED_FIGURES) + 1.6, 4.0)
    along, others = (varied[0], varied[1:]) if varied else ("", ())
    lines: dict[tuple[float, ...], list[Mapping[str, float]]] = {}
    for row in table:
        lines.setdefault(tuple(row[name] for name in others), []).append(row)
    for axes, name in zip(figure.subplots(1, len(PLOTTED_FIGURES), squeeze=False)[0], PLOTTED_FIGURES, strict=True):
        drawn_lines = [_draw_line(axes, along, name, rows, _line_color(at, len(lines)))
                       for at, rows in enumerate(lines.values())]  # fmt: skip
        if not any(math.isfinite(row[name]) for row in table):
            axes.text(0.5, 0.5, "unknown", transform=axes.transAxes, ha="center", color=AXIS_COLOR)
        axes.set_xlabel(along or "run", parse_math=False, color=AXIS_COLOR)
        axes.set_title(FIGURE_LABELS[name], loc="left", fontsize=10, color=AXIS_COLOR)
        style_axes(axes)
    if others:
        words = [", ".join(f"{name} {value:g}" for name, value in zip(others, key, strict=True)) for key in lines]
        legend = figure.legend(drawn_lines[:MAX_LINES], ["."] * min(len(words), MAX_LINES), loc="outside right center",
                               frameon=False)  # fmt: skip
        for text, word in zip(legend.get_texts(), words, strict=False):
            text.set_parse_math(False)
            text.set_text(word)
            text.set_color(AXIS_COLOR)
        if len(words) > MAX_LINES:
            legend.set_title(f"{MAX_LINES} of {len(words)} lines")
    return figure


def _line_color(at: int, count: int) -> Any:
    """Return the color of a line: one of ``LINE_COLORS``, or of more lines a shade from a continuous color map."""
    if count <= len(LINE_COLORS):
        return LINE_COLORS[at]
    from matplotlib import colormaps

    return colormaps["viridis"](0.9 * at / (count - 1))


def _draw_line(axes: Any, along: str, name: str, rows: Sequence[Mapping[str, float]], colour: Any) -> Any:
    places = np.array([row[along] for row in rows]) if along else np.arange(len(rows)) + 1.0
    order = np.argsort(places, kind="stable")
    values = np.array([row[name] for row in rows])
    (line,) = axes.plot(places[order], values[order], color=colour, linewidth=1.6, marker="o", markersize=4, gid=name)
    return line


MAX_SHARED_CURVES = 6  # most servos that share one set of axes; of more, each gets small axes of its own
MAX_POINTS = 4000  # most points of a curve: more than a picture has columns
MAX_NAME_LENGTH = 32
VIOLATION_LINE_COLOR = "#c81e2b"


@dataclass(frozen=True)
class ServoCurve:
    """Curve of one servo: vertices of its line (n,), its stops and its unit, in degrees or meters."""

    name: str
    times: Array
    values: Array
    lower: float | None
    upper: float | None
    beyond: Array  # (n,) True where a vertex lies beyond a stop
    unit: str


def plot_motion(motion: Motion, servos: Mapping[str, Servo], ending: str = ".png") -> bytes:
    """Plot the servos of a motion over time.

    Args:
        motion: The motion; trajectories without keys are left out.
        servos: Servos of the mechanism by name, for stops and units; others are drawn without stops, as angles unless
            the trajectory is in meters.
        ending: ``.png``, ``.svg`` or ``.pdf``.

    Returns:
        The bytes of the image file.

    Raises:
        FormatError: matplotlib is missing, or no servo has a key.
    """
    curves = [_servo_curve(each, servos.get(each.name)) for each in motion.trajectories if len(each.times)]
    if not curves:
        raise FormatError(f"motion {motion.name!r} has no keyframes to plot")
    return render_figure(
        motion.name,
        lambda: _plot_shared_axes(curves) if len(curves) <= MAX_SHARED_CURVES else _plot_small_multiples(curves),
        ending,
    )


# ------------------------------------------------------------------ data


def _servo_curve(track: Trajectory, servo: Servo | None) -> ServoCurve:
    slides = servo.slides if servo is not None else track.unit == "m"
    scale = 1.0 if slides else math.degrees(1.0)
    times, values = _polyline(track)
    servo = servo or Servo(track.name, "", slides, None, None)
    lower, upper = (None if end is None else end * scale for end in (servo.lower, servo.upper))
    outside = stop_excess(values, servo.stops) != 0.0
    return ServoCurve(_shorten_name(track.name), times, values * scale, lower, upper, outside, "m" if slides else "°")


def _shorten_name(name: str) -> str:
    """Shorten a long name in the middle: the ends of names differ more than their middles."""
    return (
        name if len(name) <= MAX_NAME_LENGTH else f"{name[: MAX_NAME_LENGTH // 2]}…{name[-MAX_NAME_LENGTH // 2 + 1 :]}"
    )


def _polyline(track: Trajectory) -> tuple[Array, Array]:
    """Return the vertices of a trajectory's line; a key that holds has a second vertex where the next key begins."""
    times, values = np.asarray(track.times, dtype=np.float64), np.asarray(track.values, dtype=np.float64)
    again = np.where(track.holds()[:-1], 2, 1)
    at = np.repeat(np.arange(len(times) - 1), again)
    second = np.zeros(len(at), dtype=bool)
    second[1:] = at[1:] == at[:-1]
    corners = np.append(times[at + second], times[-1]), np.append(values[at], values[-1])
    return _decimate(*corners) if len(corners[0]) > MAX_POINTS else corners


def _decimate(times: Array, values: Array) -> tuple[Array, Array]:
    """Reduce a curve to at most ``MAX_POINTS`` points that look the same: minimum and maximum of each interval."""
    stretches = np.array_split(np.arange(len(times)), MAX_POINTS // 2)
    ends = [sorted({int(own[values[own].argmin()]), int(own[values[own].argmax()])}) for own in stretches]
    kept = np.unique([0, *(place for pair in ends for place in pair), len(times) - 1])
    return times[kept], values[kept]


# ------------------------------------------------------------------ drawing


def _plot_shared_axes(curves: Sequence[ServoCurve]) -> Any:
    """Draw one set of axes for angles and one for positions, with a legend beside each."""
    units = [unit for unit in ("°", "m") if any(curve.unit == unit for curve in curves)]
    figure = new_figure(10.0, 1.0 + 3.6 * len(units))
    rows = figure.subplots(len(units), 1, sharex=True, squeeze=False)[:, 0]
    for axes, unit in zip(rows, units, strict=True):
        own = [curve for curve in curves if curve.unit == unit]
        lines = [_draw_curve(axes, curve, colour) for curve, colour in zip(own, LINE_COLORS, strict=False)]
        _alternate_dashes([line for line in axes.lines if line.get_linestyle() == "--"])
        _finish_axes(axes, own)
        _add_legend(
            axes, [*lines, *_stop_legend_handles(own)], [*(curve.name for curve in own), *_stop_legend_labels(own)]
        )
        axes.set_ylabel("angle (°)" if unit == "°" else "position (m)", color=AXIS_COLOR)
    rows[-1].set_xlabel("time (s)", color=AXIS_COLOR)
    return figure


def _plot_small_multiples(curves: Sequence[ServoCurve]) -> Any:
    """Draw small axes for each servo over a common time axis, with one legend for the line styles."""
    columns = 3 if len(curves) <= 15 else 4 if len(curves) <= 24 else 5
    rows = math.ceil(len(curves) / columns)
    figure = new_figure(3.1 * columns, 1.1 + 1.65 * rows)
    grid = figure.subplots(rows, columns, sharex=True, squeeze=False)
    for place, axes in enumerate(grid.ravel()):
        if place >= len(curves):
            axes.remove()
            continue
        curve = curves[place]
        _draw_curve(axes, curve, LINE_COLORS[0])
        _finish_axes(axes, [curve])
        axes.set_title(f"{curve.name}  ({curve.unit})", parse_math=False, fontsize=9, color=AXIS_COLOR, loc="left")
        lowest = place + columns >= len(curves)
        axes.tick_params(labelsize=7.5, labelbottom=lowest)
        axes.set_xlabel("time (s)" if lowest else "", fontsize=8.5, color=AXIS_COLOR)
        axes.yaxis.get_major_locator().set_params(nbins=4)
    from matplotlib.lines import Line2D

    marks = [Line2D([], [], color=LINE_COLORS[0], linewidth=1.6), *_stop_legend_handles(curves)]
    words = ["servo: angle (°)" if all(c.unit == "°" for c in curves) else "servo: angle (°) or position (m)"]
    legend = figure.legend(
        marks, [*words, *_stop_legend_labels(curves)], loc="outside lower center", ncols=3, frameon=False
    )
    for text in legend.get_texts():
        text.set_color(AXIS_COLOR)
    return figure


def _draw_curve(axes: Any, curve: ServoCurve, colour: str) -> Any:
    """Draw a servo's line, its stops as dashed lines, and vertices beyond them in red; return the line."""
    for stop in (curve.lower, curve.upper):
        if stop is not None:
            axes.axhline(stop, color=colour, linewidth=1.0, linestyle="--", dashes=(5, 3), alpha=0.75, zorder=1.5,
                         gid=f"stop of {curve.name}")  # fmt: skip
    lonely = "o" if len(curve.times) == 1 else ""
    (line,) = axes.plot(curve.times, curve.values, color=colour, linewidth=1.6, marker=lonely, zorder=3,
                        gid=f"servo {curve.name}")  # fmt: skip
    if curve.beyond.any():
        axes.plot(
            curve.times[curve.beyond],
            curve.values[curve.beyond],
            "o",
            color=VIOLATION_LINE_COLOR,
            markersize=2.6,
            zorder=4,
        )
    return line


def _alternate_dashes(stops: Sequence[Any]) -> None:
    """Interleave the dashes of servos that have the same stop, so that each one's color is visible."""
    same: dict[float, list[Any]] = {}
    for line in stops:
        same.setdefault(round(float(line.get_ydata()[0]), 6), []).append(line)
    for lines in same.values():
        for place, line in enumerate(lines):
            line.set_linestyle((8 * (len(lines) - place), (5, 8 * len(lines) - 5)))


def _finish_axes(axes: Any, curves: Sequence[ServoCurve]) -> None:
    """Set limits that show every line and stop with a margin, and style the axes."""
    ends = [end for c in curves for end in (c.values.min(), c.values.max(), c.lower, c.upper) if end is not None]
    low, high = float(min(ends)), float(max(ends))
    air = 0.07 * (high - low) or 0.1 * abs(high) or 1.0
    axes.set_ylim(low - air, high + air)
    first, last = min(float(c.times[0]) for c in curves), max(float(c.times[-1]) for c in curves)
    if last > first:
        axes.set_xlim(first, last)
    style_axes(axes)


def _stop_legend_handles(curves: Sequence[ServoCurve]) -> list[Any]:
    from matplotlib.lines import Line2D

    marks = []
    if any(stop is not None for curve in curves for stop in (curve.lower, curve.upper)):
        marks.append(Line2D([], [], color=AXIS_COLOR, linewidth=1.0, linestyle=(0, (5, 3))))
    if any(curve.beyond.any() for curve in curves):
        marks.append(Line2D([], [], color=VIOLATION_LINE_COLOR, linestyle="", marker="o", markersize=3.5))
    return marks


def _stop_legend_labels(curves: Sequence[ServoCurve]) -> list[str]:
    stops = any(stop is not None for curve in curves for stop in (curve.lower, curve.upper))
    return ["stop"] * stops + ["outside its stops"] * any(curve.beyond.any() for curve in curves)


def _add_legend(axes: Any, marks: Sequence[Any], words: Sequence[str]) -> None:
    """Place a legend beside the axes.

    Its words are set afterwards: matplotlib leaves out labels that begin with ``_``.
    """
    legend = axes.legend(marks, ["."] * len(marks), loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)
    for text, word in zip(legend.get_texts(), words, strict=True):
        text.set_parse_math(False)
        text.set_text(word)
        text.set_color(AXIS_COLOR)
