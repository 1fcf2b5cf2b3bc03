"""A run under physics in a handful of numbers, to compare many runs by."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy as np

from .truth import FASTEST, Run, Truth, mechanical_energy, turns_fastest

#: What each figure is, for the heads of tables and plots; lengths and energies are in the model's units.
LABELS = {
    "distance": "distance",
    "energy": "energy put in",
    "tracking_error": "tracking error (rad)",
    "worst_error": "worst error (rad)",
    "pivot_gap": "pivot gap (of a link)",
}


@dataclass(frozen=True)
class Figures:
    """``distance`` is how far the heaviest body came, level where there is gravity. ``energy`` is by how much the
    energy of motion, height and springs rose, all rises together: the least that motors put in, since what they held
    back or what was lost in between is not in it; nan where bodies turned too fast for their speed to be told.
    ``tracking_error`` is that of the servos that turn, in the mean of servos and frames, and ``worst_error`` of the
    worst in any frame (rad); nan where none was told anything. ``pivot_gap`` is the worst, as a share of a link."""

    distance: float
    energy: float
    tracking_error: float
    worst_error: float
    pivot_gap: float

    def plain(self) -> dict[str, float | None]:
        """By name, None for nan, as JSON has it."""
        return {name: value if math.isfinite(value) else None for name, value in asdict(self).items()}


def figures_of(run: Run, truth: Truth) -> Figures:
    """The figures of a run that is judged."""
    turning = [joint for joint in truth.joints if joint.turns and not math.isnan(joint.error)]
    return Figures(
        _distance(run),
        _energy(run),
        float(np.mean([joint.mean_error for joint in turning])) if turning else math.nan,
        max((joint.error for joint in turning), default=math.nan),
        max((joint.share for joint in truth.joints), default=0.0),
    )


def _distance(run: Run) -> float:
    if not run.masses.any():
        return 0.0
    path = run.poses[:, int(run.masses.argmax()), :3, 3]
    way = path[-1] - path[0]
    pull = float(np.linalg.norm(run.gravity))
    if pull > 0.0:
        down = run.gravity / pull
        way = way - down * (way @ down)
    return float(np.linalg.norm(way))


def _energy(run: Run) -> float:
    if len(run.course) < 7 or not run.masses.any() or turns_fastest(run) > FASTEST:
        return math.nan
    return float(np.maximum(np.diff(mechanical_energy(run)), 0.0).sum())
