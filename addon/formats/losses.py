"""What a format cannot hold, gathered while a mechanism is written."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..core.report import Report

ORGANIZATION = "motion, simulation and looks stay the same"
LOOKS = "only looks differ"
CONTACTS = "looks and contacts differ"
SIMULATION = "poses stay the same, a simulation differs"
MOTION = "the mechanism moves differently"
START = "the mechanism begins in another pose"
STILL = "the mechanism of the file does not move by itself"
KEPT = "an import here has it again, other programs pass over it"

#: What a loss changes, by its code. Every code that is added has its effect here.
EFFECTS = {
    "approximated-gravity": SIMULATION,
    "approximated-joint": MOTION,
    "approximated-servo": SIMULATION,
    "approximated-shape": CONTACTS,
    "dangling-reference": ORGANIZATION,
    "dropped-actuator": SIMULATION,
    "dropped-assembly": ORGANIZATION,
    "dropped-behaviours": STILL,
    "dropped-color": LOOKS,
    "dropped-flag": SIMULATION,
    "dropped-frame": ORGANIZATION,
    "dropped-inactive": ORGANIZATION,
    "dropped-inertia": SIMULATION,
    "dropped-joint": MOTION,
    "dropped-joint-property": SIMULATION,
    "dropped-light": LOOKS,
    "dropped-limit": SIMULATION,
    "dropped-motion": STILL,
    "dropped-range": ORGANIZATION,
    "dropped-restraint": SIMULATION,
    "dropped-rotation": ORGANIZATION,
    "dropped-shape": CONTACTS,
    "dropped-shape-use": CONTACTS,
    "dropped-soft": SIMULATION,
    "dropped-softness": SIMULATION,
    "dropped-start": SIMULATION,
    "dropped-twin": ORGANIZATION,
    "dropped-world": SIMULATION,
    "invented-inertia": SIMULATION,
    "joint-to-world": SIMULATION,
    "kept-aside": KEPT,
    "mended-size": CONTACTS,
    "moved-body": "bodies stand elsewhere",
    "moved-com": SIMULATION,
    "moved-frame": ORGANIZATION,
    "no-force": SIMULATION,
    "renamed": ORGANIZATION,
    "reversed-joint": ORGANIZATION,
    "split-joint": SIMULATION,
}


class Losses:
    """Counts what is lost, so that it is said once per kind and not once per joint."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.first: dict[tuple[str, str], tuple[str, str]] = {}

    def add(self, code: str, message: str, subject: Any, effect: str = "") -> None:
        """Something of a record (body, joint, frame, light, ...) is lost. What that changes is the ``effect``, by
        default the one of the code in ``EFFECTS``."""
        self.counts[code, message] += 1
        name = f"{type(subject).__name__.lower()} '{subject.name}'"
        self.first.setdefault((code, message), (name, effect or EFFECTS[code]))

    def take(self, other: Losses) -> None:
        """Add what others have lost."""
        self.counts.update(other.counts)
        for what, first in other.first.items():
            self.first.setdefault(what, first)

    def tell(self, report: Report) -> None:
        """Report every kind of loss: what, of which part first, of how many more, and what it changes."""
        for (code, message), count in self.counts.items():
            name, effect = self.first[code, message]
            more = f" and {count - 1} more" if count > 1 else ""
            report.warn(code, f"{message} ({name}{more}): {effect}")
