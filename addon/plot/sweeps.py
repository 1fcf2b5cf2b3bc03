"""Pictures of sweeps: what runs came to over the settings that were tried."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core.report import FormatError
from ..core.run_metrics import LABELS
from .canvas import COLOURS, INK, drawn, new_figure, plain_axes

#: Side by side: how far, at what cost, how truly.
SHOWN = ("distance", "energy", "tracking_error")
LINES = 12  # that a legend names


def sweep_picture(settings: Sequence[str], table: Sequence[Mapping[str, float]], ending: str = ".png") -> bytes:
    """A picture of runs as the bytes of a .png, .svg or .pdf: each figure over the first setting that varies, a line
    for every combination of the others.

    ``table``: of each run its settings and figures by name, nan where there is none. FormatError where it is empty."""
    if not table:
        raise FormatError("there are no runs to draw")
    varied = [name for name in settings if len({row[name] for row in table}) > 1]
    fixed = [
        f"{name} {table[0][name]:g}" for name in settings if name not in varied and table[0][name] == table[0][name]
    ]
    title = f"{len(table)} runs" + (f" ({', '.join(fixed)})" if fixed else "")
    return drawn(title, lambda: _figure(varied, table), ending)


def _figure(varied: Sequence[str], table: Sequence[Mapping[str, float]]) -> Any:
    figure = new_figure(4.2 * len(SHOWN) + 1.6, 4.0)
    along, others = (varied[0], varied[1:]) if varied else ("", ())
    lines: dict[tuple[float, ...], list[Mapping[str, float]]] = {}
    for row in table:
        lines.setdefault(tuple(row[name] for name in others), []).append(row)
    for axes, name in zip(figure.subplots(1, len(SHOWN), squeeze=False)[0], SHOWN, strict=True):
        drawn_lines = [_line(axes, along, name, rows, _colour(at, len(lines)))
                       for at, rows in enumerate(lines.values())]  # fmt: skip
        if not any(math.isfinite(row[name]) for row in table):
            axes.text(0.5, 0.5, "cannot be told", transform=axes.transAxes, ha="center", color=INK)
        axes.set_xlabel(along or "run", parse_math=False, color=INK)
        axes.set_title(LABELS[name], loc="left", fontsize=10, color=INK)
        plain_axes(axes)
    if others:
        words = [", ".join(f"{name} {value:g}" for name, value in zip(others, key, strict=True)) for key in lines]
        legend = figure.legend(drawn_lines[:LINES], ["."] * min(len(words), LINES), loc="outside right center",
                               frameon=False)  # fmt: skip
        for text, word in zip(legend.get_texts(), words, strict=False):
            text.set_parse_math(False)
            text.set_text(word)
            text.set_color(INK)
        if len(words) > LINES:
            legend.set_title(f"{LINES} of {len(words)} lines")
    return figure


def _colour(at: int, count: int) -> Any:
    """One of the six; of more lines, a shade that goes from the first to the last."""
    if count <= len(COLOURS):
        return COLOURS[at]
    from matplotlib import colormaps

    return colormaps["viridis"](0.9 * at / (count - 1))


def _line(axes: Any, along: str, name: str, rows: Sequence[Mapping[str, float]], colour: Any) -> Any:
    places = np.array([row[along] for row in rows]) if along else np.arange(len(rows)) + 1.0
    order = np.argsort(places, kind="stable")
    values = np.array([row[name] for row in rows])
    (line,) = axes.plot(places[order], values[order], color=colour, linewidth=1.6, marker="o", markersize=4, gid=name)
    return line
