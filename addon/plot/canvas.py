"""What all pictures share: their paper, ink and axes. They are drawn by matplotlib, which is loaded only for this."""

from __future__ import annotations

import io
import os
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

from ..core.report import FormatError

ENDINGS = (".png", ".svg", ".pdf")
COLOURS = ("#3264a8", "#d1602d", "#2f8f5b", "#9d3f7c", "#8a6d1f", "#4a4f57")
INK, GRID = "#30343b", "#dfe2e6"


def drawn(title: str, draw: Callable[[], Any], ending: str) -> bytes:
    """The figure that ``draw`` makes, as the bytes of a .png, .svg or .pdf; FormatError where matplotlib is missing."""
    agg = _matplotlib()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of letters that its font lacks
        figure = draw()
        agg.FigureCanvasAgg(figure)
        figure.suptitle(title, parse_math=False, color=INK, fontsize=12, fontweight="bold")
        target = io.BytesIO()
        metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(ending, {})
        figure.savefig(target, format=ending.removeprefix("."), metadata=metadata, facecolor="white")
    return target.getvalue()


def new_figure(width: float, height: float) -> Any:
    """An empty figure of so many inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=120, layout="constrained")


def plain_axes(axes: Any) -> None:
    """A light grid, and no box."""
    axes.grid(True, color=GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK, length=3)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color("#a9afb7")


def _matplotlib() -> Any:
    """matplotlib, its fonts' list kept among the temporary files: nothing is written into the user's settings."""
    if not os.environ.get("MPLCONFIGDIR"):
        os.environ["MPLCONFIGDIR"] = _own_folder()
    try:
        import matplotlib
        from matplotlib.backends import backend_agg
    except ImportError as error:
        raise FormatError(
            f"a plot needs matplotlib, which cannot be loaded ({error})",
            remedy="Install it into this Python (pip install matplotlib), or use `blender --command knuckle`.",
        ) from error
    matplotlib.rcParams["svg.hashsalt"] = "knuckle"  # the same motion makes the same file
    matplotlib.rcParams["axes.unicode_minus"] = True
    return backend_agg


def _own_folder() -> str:
    """A folder for temporary files that is nobody else's, the same the next time where that can be had."""
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
