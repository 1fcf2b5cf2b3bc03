"""Losses of conversions: content that other formats cannot hold, with its report entries."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from ...core.model import Body, Dof, Joint, Mechanism
from ...core.report import Report


class _Lost(NamedTuple):
    """What the report says of a name in a record's ``extra``, and which formats write it (x_xy in its comments)."""

    code: str
    message: str
    written: tuple[str, ...]


_SKEL, _X_XY = ("skel", "x_xy"), ("x_xy",)
_WORDS = {
    "soft": _Lost("dropped-soft", "what makes a shape soft is not written", _SKEL),
    **{
        f"{what}/@{end}": _Lost("dropped-limit", f"limits of a coordinate's {what} are not written", _SKEL)
        for what in ("velocity", "acceleration", "force")
        for end in ("lower", "upper")
    },
    **{
        f"{what}/@initial": _Lost("dropped-start", f"the {what} that a coordinate begins with is not written", _SKEL)
        for what in ("acceleration", "force")
    },
    **{
        name: _Lost(
            "dropped-range", "pos_min and pos_max, between which a body's place is drawn by lot, are not written", _X_XY
        )
        for name in ("pos_min", "pos_max")
    },
    "edge_color": _Lost("dropped-color", "colours of edges are not written", _X_XY),
    **{
        f"@actuator {kind}": _Lost(
            "dropped-actuator", f"that a joint's actuator is '{kind}' is not written", ("skel", "x_xy", "shift")
        )
        for kind in ("acceleration", "velocity", "locked", "mimic")
    },
}


def tell_beyond(mechanism: Mechanism, format: str, report: Report) -> None:
    """Tell what of a mechanism a format does not write of what only others can say, once for each body and joint."""
    losses = Losses()
    for subject, said in _said(mechanism):
        for lost in dict.fromkeys(_WORDS[key] for key in said if key in _WORDS):
            if format not in lost.written:
                losses.add(lost.code, lost.message, subject)
    losses.tell(report)


def _said(mechanism: Mechanism) -> Iterator[tuple[Body | Joint, list[str]]]:
    """Whose it is, and the names of what is said."""
    for body in mechanism.bodies:
        yield body, [*body.extra, *(key for shape in body.shapes for key in shape.extra)]
    for joint in mechanism.joints:
        dofs = [dof for block in joint.dofs for dof in (block, *block.parts)]
        said = [key for dof in dofs for key, value in dof.extra.items() if _is_limit(dof, key, value)]
        yield joint, [*said, *(f"@actuator {dof.actuator}" for dof in dofs)]


def _is_limit(dof: Dof, key: str, value: Any) -> bool:
    """Return whether it says something: infinity bounds nothing, and a force that is the same both ways is the
    servo's."""
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return not (key.startswith("force/@") and isinstance(value, float) and abs(value) == dof.max_force)


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
        """Something of a record (body, joint, frame, light, ...) is lost.

        What that changes is the ``effect``, by default the one of the code in ``EFFECTS``.
        """
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
