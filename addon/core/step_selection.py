"""Selection of substeps and iterations by trial simulations: a ladder of settings, climbed until the joints hold.

Joint separation falls with the square of the time step, so a trial tells how far up to go on. Substeps come before
iterations: twice the substeps reduce separation to a quarter, twice the iterations to a half at best, at the same cost.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass

#: Steps per second and iterations of the ladder, from the fewest to the most.
_LADDER = (
    (600, 10), (900, 10), (1200, 10), (1800, 10), (2400, 10), (3000, 10), (4200, 10), (6000, 10), (8400, 10),
    (12000, 10), (12000, 20), (12000, 50),
)  # fmt: skip
#: Share of the allowed joint separation that a trial may reach: a longer simulation meets worse.
_MARGIN = 0.5
#: A rung is taken as sufficient for a wanted number of steps down to this share of it.
_NEAR = 0.85
#: Improvement of a tracking error from one trial to the next below which the servo is at its limits.
_TRACKING_GAIN = 0.9


@dataclass(frozen=True)
class Quality:
    """Largest errors of a simulation.

    Attributes:
        separation: Joint separation, as a share of the link's length.
        tilt: Angle between the axes of a joint's two sides (rad).
        tracking: Tracking error of servos (rad).
        spin: Rotation of a body within one step (rad).
        energy: Energy gained without a motor, as a share of the largest kinetic energy.
    """

    separation: float
    tilt: float
    tracking: float
    spin: float
    energy: float


#: Qualities by identifier: playing in real time if possible, and the accuracy of a bake.
QUALITIES = {"PREVIEW": Quality(5e-3, 0.1, 0.05, 0.3, 0.05), "BAKE": Quality(1e-3, 0.01, 0.01, 0.1, 0.005)}


@dataclass(frozen=True)
class Rung:
    """Settings of the rigid-body world.

    Attributes:
        steps: Steps per second.
        iterations: Solver iterations per step.
    """

    steps: float
    iterations: int

    @property
    def cost(self) -> float:
        """Relative cost of a simulated second: a step costs as much as some ten iterations besides its own."""
        return self.steps * (10.0 + self.iterations)


@dataclass(frozen=True)
class StepTrial:
    """Errors of a trial simulation, as in ``Quality``.

    Attributes:
        seconds: CPU time (s) per simulated second.
        spent: CPU time (s) of the trial.
    """

    separation: float
    tilt: float
    tracking: float
    spin: float
    energy: float
    seconds: float
    spent: float

    def excess(self, quality: Quality, before: StepTrial | None) -> float:
        """Return the largest error as a multiple of what a quality allows.

        A tracking error does not count that the last steps did not reduce: the servo is at the limits of its force.
        """
        ratios = [self.separation / (_MARGIN * quality.separation), self.tilt / quality.tilt]
        is_limited = before is not None and not self.tracking < _TRACKING_GAIN * before.tracking
        if self.tracking > quality.tracking and not is_limited:
            ratios.append(self.tracking / quality.tracking)
        # the rotation within a step falls with the step, the others with its square
        return max(*ratios, self.energy / quality.energy, (self.spin / quality.spin) ** 2)


def next_rung(rungs: Sequence[Rung], rung: Rung, excess: float) -> Rung | None:
    """Return the rung for a simulation whose errors were ``excess`` times too large; None above the last."""
    wanted = rung.cost * math.sqrt(excess) * _NEAR if math.isfinite(excess) else math.inf
    return next((each for each in rungs if each.cost > rung.cost and each.cost >= wanted), None)


@dataclass(frozen=True)
class StepSelection:
    """Selected settings, with the trial that they passed; None where none was made with them."""

    rung: Rung
    trial: StepTrial | None


def ladder(least: float, most: Rung) -> list[Rung]:
    """Return the rungs with at least so many steps per second that cost less than ``most``."""
    rungs = [Rung(max(steps, least), iterations) for steps, iterations in _LADDER]
    return [rung for rung in dict.fromkeys(rungs) if rung.cost < most.cost]


def climb(
    rungs: Sequence[Rung], most: Rung, quality: Quality, budget: float
) -> Generator[Rung, StepTrial, StepSelection]:
    """Climb a ladder until a trial simulation has the wanted quality.

    Args:
        rungs: The rungs, from the cheapest.
        most: Settings that are sufficient whatever the trials say.
        quality: The quality.
        budget: CPU time (s) of all trials. When it is spent, the rung that the last trial points to is selected
            without a trial.

    Yields:
        Rungs to try; the trial is sent back.

    Returns:
        The selection.
    """
    rung, spent, before = rungs[0] if rungs else None, 0.0, None
    while rung is not None:
        trial = yield rung
        excess = trial.excess(quality, before)
        if excess <= 1.0:
            return StepSelection(rung, trial)
        before, spent = trial, spent + trial.spent
        rung = next_rung(rungs, rung, excess)
        if spent >= budget:
            break
    return StepSelection(most if rung is None else rung, None)
