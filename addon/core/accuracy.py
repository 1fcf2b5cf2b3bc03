"""Simulation accuracy in words: each figure with a rating, good or needing attention, by one table of thresholds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .report import Message, format_number
from .run_metrics import GROUND_INDEX, JointAccuracy, SimulationAccuracy

#: Largest value at which each figure is good; beyond it needs attention. Angles in radians, lengths and joint
#: separation as shares of a link's length, energy as a share of the largest kinetic energy. All ratings in the
#: interface are from here.
ACCURACY_THRESHOLDS: dict[str, float] = {
    "Joint separation": 0.05,
    "Tracking error": math.radians(5.0),
    "Tracking error (linear)": 0.05,
    "Stop overrun": math.radians(2.0),
    "Stop overrun (linear)": 0.02,
    "Energy gained": 0.05,
    "Penetration": 0.02,
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
    return (
        Message("Good up to {}", format_percent(limit))
        if what == "Energy gained"
        else Message("Good up to {} of a link's length", format_percent(limit))
    )


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
    return f"< {least} %" if 0.0 < 100.0 * share < 0.999 * least else f"{_format_two_digits(100.0 * share)} %"


def _format_amount(value: float, turns: bool) -> str:
    return f"{_format_two_digits(math.degrees(value))}°" if turns else f"{_format_two_digits(value)} m"


def _format_two_digits(value: float) -> str:
    """Format with two digits, without powers of ten for large values."""
    return format_number(value) if value >= 9.95 else f"{value:.2g}"
