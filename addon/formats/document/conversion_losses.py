"""Losses of conversions: content that other formats cannot hold, with its report entries."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from ...core.model import Body, Dof, Joint, Mechanism
from ...core.report import Message, Report


class _LossKind(NamedTuple):
    """Report entry for a key in a record's ``extra``, and the formats that write it (x_xy in its comments)."""

    code: str
    message: str
    written: tuple[str, ...]


_SKEL, _X_XY = ("skel", "x_xy"), ("x_xy",)
_LOSS_KINDS = {
    "soft": _LossKind("dropped-soft", "Softness of a shape: not written", _SKEL),
    **{
        f"{what}/@{end}": _LossKind("dropped-limit", f"Limits of a joint's {what}: not written", _SKEL)
        for what in ("velocity", "acceleration", "force")
        for end in ("lower", "upper")
    },
    **{
        f"{what}/@initial": _LossKind("dropped-start", f"Initial {what} of a joint: not written", _SKEL)
        for what in ("acceleration", "force")
    },
    **{
        name: _LossKind("dropped-range", "Range of a random body position (pos_min, pos_max): not written", _X_XY)
        for name in ("pos_min", "pos_max")
    },
    "edge_color": _LossKind("dropped-color", "Edge colors: not written", _X_XY),
    **{
        f"@actuator {kind}": _LossKind(
            "dropped-actuator", f"Actuator type '{kind}' of a joint: not written", ("skel", "x_xy", "shift")
        )
        for kind in ("acceleration", "velocity", "locked", "mimic")
    },
}


def report_unsupported_fields(mechanism: Mechanism, format: str, report: Report) -> None:
    """Report the format-specific content of a mechanism that a format does not write, once for each body and joint."""
    losses = ConversionLosses()
    for subject, said in _extra_names(mechanism):
        for lost in dict.fromkeys(_LOSS_KINDS[key] for key in said if key in _LOSS_KINDS):
            if format not in lost.written:
                losses.add(lost.code, lost.message, subject)
    losses.report_all(report)


def _extra_names(mechanism: Mechanism) -> Iterator[tuple[Body | Joint, list[str]]]:
    """Yield each body and joint with the keys of its extra data."""
    for body in mechanism.bodies:
        yield body, [*body.extra, *(key for shape in body.shapes for key in shape.extra)]
    for joint in mechanism.joints:
        dofs = [dof for block in joint.dofs for dof in (block, *block.parts)]
        said = [key for dof in dofs for key, value in dof.extra.items() if _is_limit(dof, key, value)]
        yield joint, [*said, *(f"@actuator {dof.actuator}" for dof in dofs)]


def _is_limit(dof: Dof, key: str, value: Any) -> bool:
    """Return whether an entry of a dof's ``extra`` is a loss.

    Infinite bounds limit nothing, and a force limit symmetric at ``max_force`` is the servo's.
    """
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return not (key.startswith("force/@") and isinstance(value, float) and abs(value) == dof.max_force)


ORGANIZATION_ONLY = "Motion, simulation and appearance stay the same"
APPEARANCE_ONLY = "Only the appearance differs"
CONTACTS_DIFFER = "Appearance and contacts differ"
SIMULATION_DIFFERS = "Poses stay the same, a simulation differs"
MOTION_DIFFERS = "The mechanism moves differently"
INITIAL_POSE_DIFFERS = "The initial pose differs"
NO_MOTION = "The file contains no motion"
RESTORED_ON_IMPORT = "Knuckle restores it on import, other programs ignore it"

#: Effect of a loss on the mechanism, by its code. Every new code needs its effect here.
EFFECTS = {
    "approximated-gravity": SIMULATION_DIFFERS,
    "approximated-joint": MOTION_DIFFERS,
    "approximated-servo": SIMULATION_DIFFERS,
    "approximated-shape": CONTACTS_DIFFER,
    "dangling-reference": ORGANIZATION_ONLY,
    "dropped-actuator": SIMULATION_DIFFERS,
    "dropped-assembly": ORGANIZATION_ONLY,
    "dropped-behaviours": NO_MOTION,
    "dropped-color": APPEARANCE_ONLY,
    "dropped-flag": SIMULATION_DIFFERS,
    "dropped-frame": ORGANIZATION_ONLY,
    "dropped-inactive": ORGANIZATION_ONLY,
    "dropped-inertia": SIMULATION_DIFFERS,
    "dropped-joint": MOTION_DIFFERS,
    "dropped-joint-property": SIMULATION_DIFFERS,
    "dropped-light": APPEARANCE_ONLY,
    "dropped-limit": SIMULATION_DIFFERS,
    "dropped-motion": NO_MOTION,
    "dropped-range": ORGANIZATION_ONLY,
    "dropped-restraint": SIMULATION_DIFFERS,
    "dropped-rotation": ORGANIZATION_ONLY,
    "dropped-shape": CONTACTS_DIFFER,
    "dropped-shape-use": CONTACTS_DIFFER,
    "dropped-soft": SIMULATION_DIFFERS,
    "dropped-softness": SIMULATION_DIFFERS,
    "dropped-start": SIMULATION_DIFFERS,
    "dropped-twin": ORGANIZATION_ONLY,
    "dropped-world": SIMULATION_DIFFERS,
    "invented-inertia": SIMULATION_DIFFERS,
    "joint-to-world": SIMULATION_DIFFERS,
    "kept-aside": RESTORED_ON_IMPORT,
    "mended-size": CONTACTS_DIFFER,
    "moved-body": "Positions of bodies differ",
    "moved-com": SIMULATION_DIFFERS,
    "moved-frame": ORGANIZATION_ONLY,
    "no-force": SIMULATION_DIFFERS,
    "renamed": ORGANIZATION_ONLY,
    "reversed-joint": ORGANIZATION_ONLY,
    "split-joint": SIMULATION_DIFFERS,
}


class ConversionLosses:
    """Counter of losses, so that they are reported once per kind and not once per joint."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.first: dict[tuple[str, str], tuple[str, str]] = {}

    def add(self, code: str, message: str, subject: Any, effect: str = "") -> None:
        """Record the loss of something of a record (body, joint, frame, light, ...).

        Args:
            code: code of the report entry.
            message: what is lost.
            subject: the record, with a ``name``.
            effect: what the loss changes; by default that of the code in ``EFFECTS``.
        """
        self.counts[code, message] += 1
        name = f"{type(subject).__name__.lower()} '{subject.name}'"
        self.first.setdefault((code, message), (name, effect or EFFECTS[code]))

    def take(self, other: ConversionLosses) -> None:
        """Add the losses of another counter."""
        self.counts.update(other.counts)
        for what, first in other.first.items():
            self.first.setdefault(what, first)

    def report_all(self, report: Report) -> None:
        """Report every kind of loss: the content, the first subject, the number of further ones, and the effect."""
        for (code, message), count in self.counts.items():
            name, effect = self.first[code, message]
            more = f" and {count - 1} more" if count > 1 else ""
            report.warn(code, Message("{} ({}{}). {}", message, name, more, effect))
