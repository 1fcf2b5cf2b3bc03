"""Simulation accuracy: figures in words with a rating by one table of thresholds, and the steps that an accuracy needs.

Substeps and iterations are selected by trial simulations, from coarse to fine settings, until the joints hold. Joint
separation falls with the square of the time step, so a trial tells how far up to go on. Substeps come before
iterations: twice the substeps reduce separation to a quarter, twice the iterations to a half at best, at the same cost.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .report import Message, format_number
from .run_metrics import GROUND_INDEX, JointAccuracy, PathShift, SimulationAccuracy

#: Largest value at which each figure is good; beyond it needs attention. Angles in radians, lengths and joint
#: separation as shares of a link's length, energy as a share of the largest kinetic energy, the path shift as one of
#: the mechanism's size. All ratings in the interface are from here.
ACCURACY_THRESHOLDS: dict[str, float] = {
    "Joint separation": 0.05,
    "Tracking error": math.radians(5.0),
    "Tracking error (linear)": 0.05,
    "Stop overrun": math.radians(2.0),
    "Stop overrun (linear)": 0.02,
    "Energy gained": 0.05,
    "Penetration": 0.02,
    "Path shift": 0.01,
}
#: Figures that are angles.
_ANGLE_FIGURES = {"Tracking error", "Stop overrun"}
#: Penetration below this (length units) is contact.
MIN_PENETRATION = 0.0001


class AccuracyRow(NamedTuple):
    """Figure in words: its name, worst and mean value (empty where meaningless), a remark and a rating.

    ``good`` is the rating by ``ACCURACY_THRESHOLDS``, None where there is none; ``limit`` is the threshold in words
    where it is not good.
    """

    what: str
    worst: str
    mean: str = ""
    remark: str = ""
    good: bool | None = None
    limit: str = ""

    def __str__(self) -> str:
        amount = f"{self.worst} at worst, {self.mean} on average" if self.mean else self.worst
        text = f"{self.what}: {amount}" + (f" ({self.remark})" if self.remark else "")
        if self.good is None:
            return text
        return f"{text}. Good" if self.good else f"{text}. Needs attention: {self.limit[:1].lower()}{self.limit[1:]}"


def accuracy_rows(accuracy: SimulationAccuracy, names: Mapping[int, str]) -> list[AccuracyRow]:
    """Describe the simulation accuracy, one line per figure.

    Args:
        accuracy: The figures of a simulation.
        names: Names of bodies by their indices.
    """
    out: list[AccuracyRow] = []
    if accuracy.joints:
        mean = sum(joint.mean_relative_separation for joint in accuracy.joints) / len(accuracy.joints)
        worst = accuracy.worst(1)[0].share
        line = AccuracyRow("Joint separation", format_percent(worst), format_percent(mean), "of a link's length")
        out.append(_rate_row(line, {line.what: worst}))
    for turns in (True, False):
        driven = [
            joint for joint in accuracy.joints if joint.is_revolute == turns and not math.isnan(joint.tracking_error)
        ]
        if driven:
            mean = sum(joint.mean_tracking_error for joint in driven) / len(driven)
            what = "Tracking error" if turns else "Tracking error (linear)"
            line = AccuracyRow(
                what, _format_amount(max(joint.tracking_error for joint in driven), turns), _format_amount(mean, turns)
            )
            out.append(
                _rate_row(
                    line,
                    {
                        what: max(
                            joint.tracking_error if turns else _relative_to_link(joint, joint.tracking_error)
                            for joint in driven
                        )
                    },
                )
            )
    out.append(_stop_row(accuracy))
    if not math.isnan(accuracy.energy_gained):
        line = AccuracyRow(
            "Energy gained", format_percent(accuracy.energy_gained), remark="of the largest kinetic energy"
        )
        out.append(_rate_row(line, {line.what: accuracy.energy_gained}))
    lengths = [joint.length for joint in accuracy.joints if joint.length > 0.0]
    depth = {"Penetration": accuracy.penetration * len(lengths) / sum(lengths)} if lengths else {}
    out.append(_rate_row(_penetration_row(accuracy, names), depth))
    if accuracy.path_shift is not None:
        out.append(_path_row(accuracy.path_shift))
    return out


def accuracy_verdict(lines: Sequence[AccuracyRow]) -> str:
    """Summarize the number of figures that need attention."""
    bad = sum(line.good is False for line in lines)
    if bad < 2:
        return "1 figure needs attention" if bad else "All figures are good"
    return Message("{} figures need attention", bad)


def _relative_to_link(joint: JointAccuracy, length: float) -> float:
    """Return a length as a share of the length of the joint's link."""
    return length / joint.length if joint.length > 0.0 else 0.0


def _rate_row(line: AccuracyRow, values: Mapping[str, float]) -> AccuracyRow:
    """Rate a line by the values of its figures; ``limit`` is that of the first figure beyond its threshold."""
    bad = [what for what, value in values.items() if value > ACCURACY_THRESHOLDS[what]]
    if bad:
        return line._replace(good=False, limit=_threshold_text(bad[0]))
    return line._replace(good=True) if values else line


def _threshold_text(what: str) -> str:
    """Format the threshold of a figure."""
    limit = ACCURACY_THRESHOLDS[what]
    if what in _ANGLE_FIGURES:
        return Message("Good up to {}", _format_amount(limit, True))
    if what == "Path shift":
        return Message("Good up to {} of the mechanism's size", format_percent(limit))
    return (
        Message("Good up to {}", format_percent(limit))
        if what == "Energy gained"
        else Message("Good up to {} of a link's length", format_percent(limit))
    )


def _path_row(shift: PathShift) -> AccuracyRow:
    """Describe the path shift; with contacts it has no threshold."""
    seconds = format_number(shift.seconds, 2)
    line = AccuracyRow(
        "Path shift",
        format_percent(shift.share),
        remark=Message("of the mechanism's size in {} s, with contacts, if substeps are doubled", seconds)
        if shift.contacts
        else Message("of the mechanism's size in {} s, if substeps are doubled", seconds),
    )
    return line if shift.contacts else _rate_row(line, {line.what: shift.share})


def _stop_row(accuracy: SimulationAccuracy) -> AccuracyRow:
    over = [joint for joint in accuracy.joints if joint.stop_overrun > 0.0]
    most = [
        _format_amount(max(joint.stop_overrun for joint in over if joint.is_revolute == turns), turns)
        for turns in (True, False)
        if any(joint.is_revolute == turns for joint in over)
    ]
    many = "1 joint" if len(over) == 1 else Message("{} joints", len(over))
    values = {
        "Stop overrun" if turns else "Stop overrun (linear)": max(
            joint.stop_overrun if turns else _relative_to_link(joint, joint.stop_overrun)
            for joint in over
            if joint.is_revolute == turns
        )
        for turns in {joint.is_revolute for joint in over}
    }
    if not over:
        return AccuracyRow("Stop overrun", "none", good=True)
    return _rate_row(AccuracyRow("Stop overrun", " and ".join(most), remark=many), values)


def _penetration_row(accuracy: SimulationAccuracy, names: Mapping[int, str]) -> AccuracyRow:
    if accuracy.penetration <= 0.0:
        return AccuracyRow("Penetration", "none", good=True)
    if accuracy.penetration < MIN_PENETRATION:
        tiny = f"< {MIN_PENETRATION} m"
        return AccuracyRow("Penetration", tiny)
    first, second = (names.get(place, f"body {place + 1}") for place in accuracy.deepest_pair)
    depth = f"{accuracy.penetration:.1g} m"
    if GROUND_INDEX in accuracy.deepest_pair:
        body = second if accuracy.deepest_pair[0] == GROUND_INDEX else first
        return AccuracyRow("Penetration", depth, remark=Message("{} in the ground", repr(body)))
    return AccuracyRow("Penetration", depth, remark=Message("{} in {}", repr(first), repr(second)))


def joint_separation_row(joint: JointAccuracy) -> AccuracyRow:
    """Describe the joint separation of one joint."""
    return _rate_row(
        AccuracyRow(joint.name, format_percent(joint.share), format_percent(joint.mean_relative_separation)),
        {"Joint separation": joint.share},
    )


def format_percent(share: float) -> str:
    """Format a share in percent, without powers of ten for tiny values."""
    least = 0.001
    return f"< {least} %" if 0.0 < 100.0 * share < 0.999 * least else f"{format_two_digits(100.0 * share)} %"


def _format_amount(value: float, turns: bool) -> str:
    return f"{format_two_digits(math.degrees(value))}°" if turns else f"{format_two_digits(value)} m"


def format_two_digits(value: float) -> str:
    """Format with two digits, without powers of ten for large values."""
    return format_number(value) if value >= 9.95 else f"{value:.2g}"


# ---------------------------------------------------------------- selection of substeps and iterations

#: Steps per radian of a spring's oscillation.
STEPS_PER_RADIAN = 4.0

#: Steps per second and iterations of the candidate settings, from the fewest to the most.
_LADDER = (
    (600, 10), (900, 10), (1200, 10), (1800, 10), (2400, 10), (3000, 10), (3600, 10), (4200, 10), (4800, 10),
    (6000, 10), (8400, 10), (12000, 10), (12000, 20), (12000, 50),
)  # fmt: skip
#: Share of the allowed joint separation that a trial may reach: a longer simulation meets worse.
_MARGIN = 0.6
#: A setting is taken as sufficient for a wanted number of steps down to this share of it.
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
class StepSetting:
    """Settings of the rigid-body world.

    Attributes:
        steps: Steps per second.
        iterations: Solver iterations per step.
    """

    steps: int
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


def next_setting(
    candidates: Sequence[StepSetting], setting: StepSetting, excess: float, near: float = _NEAR
) -> StepSetting | None:
    """Return the setting for a simulation whose errors were ``excess`` times too large; None above the last.

    ``near`` is the share of the wanted cost from which on a setting is taken: less than 1 where it will be tried.
    """
    wanted = setting.cost * math.sqrt(excess) * near if math.isfinite(excess) else math.inf
    return next((each for each in candidates if each.cost > setting.cost and each.cost >= wanted), None)


@dataclass(frozen=True)
class StepSelection:
    """Selected settings, with the trial that they passed; None where none was made with them."""

    setting: StepSetting
    trial: StepTrial | None


def candidate_settings(least: int, most: StepSetting) -> list[StepSetting]:
    """Return the settings with at least so many steps per second that cost less than ``most``."""
    candidates = [StepSetting(max(steps, least), iterations) for steps, iterations in _LADDER]
    return [setting for setting in dict.fromkeys(candidates) if setting.cost < most.cost]


def climb(
    candidates: Sequence[StepSetting], most: StepSetting, quality: Quality, budget: float
) -> Generator[StepSetting, StepTrial, StepSelection]:
    """Try candidate settings until a trial simulation has the wanted quality.

    Args:
        candidates: The settings, from the cheapest.
        most: Settings that are sufficient whatever the trials say.
        quality: The quality.
        budget: CPU time (s) of all trials. When it is spent, the setting that the last trial points to is selected
            without a trial.

    Yields:
        Settings to try; the trial is sent back.

    Returns:
        The selection.
    """
    setting, spent, before = candidates[0] if candidates else None, 0.0, None
    while setting is not None:
        trial = yield setting
        excess = trial.excess(quality, before)
        if excess <= 1.0:
            return StepSelection(setting, trial)
        before, spent = trial, spent + trial.spent
        if spent >= budget:
            setting = next_setting(candidates, setting, excess, near=1.0)
            break
        setting = next_setting(candidates, setting, excess)
    return StepSelection(most if setting is None else setting, None)
