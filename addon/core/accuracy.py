"""Simulation accuracy in words: each figure with a rating, good or needing attention, by one table of thresholds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .report import plain
from .run_metrics import GROUND, JointTruth, Truth

#: Largest value at which each figure is good; beyond it needs attention. Angles in radians, lengths and joint
#: separation as shares of a link's length, energy as a share of the largest kinetic energy. All ratings in the
#: interface are from here.
THRESHOLDS: dict[str, float] = {
    "Joint separation": 0.05,
    "Tracking error": math.radians(5.0),
    "Tracking error (linear)": 0.05,
    "Beyond stops": math.radians(2.0),
    "Beyond stops (linear)": 0.02,
    "Energy gained": 0.05,
    "Penetration": 0.02,
}
#: Figures that are angles.
_ANGLES = {"Tracking error", "Beyond stops"}
#: Penetration below this (length units) is contact.
SHALLOW = 0.0001


class Line(NamedTuple):
    """Figure in words: its name, worst and mean value (empty where meaningless), a remark and a rating.

    ``good`` is the rating by ``THRESHOLDS``, None where there is none; ``limit`` is the threshold in words where it is
    not good.
    """

    what: str
    worst: str
    mean: str = ""
    remark: str = ""
    good: bool | None = None
    limit: str = ""

    def __str__(self) -> str:
        amount = f"{self.worst} at worst, {self.mean} in the mean" if self.mean else self.worst
        return f"{self.what}: {amount}" + (f" ({self.remark})" if self.remark else "")


def told(truth: Truth, names: Mapping[int, str]) -> list[Line]:
    """Describe the simulation accuracy, one line per figure.

    Args:
        truth: The figures of a simulation.
        names: Names of bodies by their indices.
    """
    out: list[Line] = []
    if truth.joints:
        mean = sum(joint.mean_share for joint in truth.joints) / len(truth.joints)
        worst = truth.worst(1)[0].share
        line = Line("Joint separation", percent(worst), percent(mean), "of a link's length")
        out.append(_marked(line, {line.what: worst}))
    for turns in (True, False):
        driven = [joint for joint in truth.joints if joint.turns == turns and not math.isnan(joint.error)]
        if driven:
            mean = sum(joint.mean_error for joint in driven) / len(driven)
            what = "Tracking error" if turns else "Tracking error (linear)"
            line = Line(what, _amount(max(joint.error for joint in driven), turns), _amount(mean, turns))
            out.append(
                _marked(line, {what: max(joint.error if turns else _of_link(joint, joint.error) for joint in driven)})
            )
    out.append(_stops_told(truth))
    if not math.isnan(truth.energy_gained):
        line = Line("Energy gained", percent(truth.energy_gained), remark="of the largest kinetic energy")
        out.append(_marked(line, {line.what: truth.energy_gained}))
    lengths = [joint.length for joint in truth.joints if joint.length > 0.0]
    depth = {"Penetration": truth.depth * len(lengths) / sum(lengths)} if lengths else {}
    out.append(_marked(_depth_told(truth, names), depth))
    return out


def verdict(lines: Sequence[Line]) -> str:
    """Summarize the number of figures that need attention."""
    bad = sum(line.good is False for line in lines)
    if bad < 2:
        return "1 figure needs attention" if bad else "All figures are good"
    return f"{bad} figures need attention"


def _of_link(joint: JointTruth, length: float) -> float:
    """Return a length as a share of the length of the joint's link."""
    return length / joint.length if joint.length > 0.0 else 0.0


def _marked(line: Line, values: Mapping[str, float]) -> Line:
    """Rate a line by the values of its figures; ``limit`` is that of the first figure beyond its threshold."""
    bad = [what for what, value in values.items() if value > THRESHOLDS[what]]
    if bad:
        return line._replace(good=False, limit=_why_attention(bad[0]))
    return line._replace(good=True) if values else line


def _why_attention(what: str) -> str:
    """Format the threshold of a figure."""
    limit = THRESHOLDS[what]
    if what in _ANGLES:
        return f"Good up to {_amount(limit, True)}"
    return (
        f"Good up to {percent(limit)}" if what == "Energy gained" else f"Good up to {percent(limit)} of a link's length"
    )


def _stops_told(truth: Truth) -> Line:
    over = [joint for joint in truth.joints if joint.beyond > 0.0]
    most = [
        _amount(max(joint.beyond for joint in over if joint.turns == turns), turns)
        for turns in (True, False)
        if any(joint.turns == turns for joint in over)
    ]
    many = "1 joint" if len(over) == 1 else f"{len(over)} joints"
    values = {
        "Beyond stops" if turns else "Beyond stops (linear)": max(
            joint.beyond if turns else _of_link(joint, joint.beyond) for joint in over if joint.turns == turns
        )
        for turns in {joint.turns for joint in over}
    }
    if not over:
        return Line("Beyond stops", "none", good=True)
    return _marked(Line("Beyond stops", " and ".join(most), remark=many), values)


def _depth_told(truth: Truth, names: Mapping[int, str]) -> Line:
    if truth.depth <= 0.0:
        return Line("Penetration", "none")
    if truth.depth < SHALLOW:
        return Line("Penetration", f"< {SHALLOW}")
    first, second = (names.get(place, f"body {place + 1}") for place in truth.deep)
    if GROUND in truth.deep:
        body = second if truth.deep[0] == GROUND else first
        return Line("Penetration", f"{truth.depth:.1g}", remark=f"{body!r} in the ground")
    return Line("Penetration", f"{truth.depth:.1g}", remark=f"{first!r} in {second!r}")


def joint_told(joint: JointTruth) -> Line:
    """Describe the joint separation of one joint."""
    return _marked(Line(joint.name, percent(joint.share), percent(joint.mean_share)), {"Joint separation": joint.share})


def percent(share: float) -> str:
    """Format a share in percent, without powers of ten for tiny values."""
    least = 0.001
    return f"< {least} %" if 0.0 < 100.0 * share < 0.999 * least else f"{_short(100.0 * share)} %"


def _amount(value: float, turns: bool) -> str:
    return f"{_short(math.degrees(value))}°" if turns else _short(value)


def _short(value: float) -> str:
    """Format with two digits, without powers of ten for large values."""
    return plain(value) if value >= 9.95 else f"{value:.2g}"
