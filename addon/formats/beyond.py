"""What a model has that only the format it came from can say: another one writes it nowhere, and the report tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..model.records import Mechanism
from ..model.report import Report
from .losses import Losses

#: By format and by the name in a record's ``extra``: what is lost, and the words for it.
_WORDS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "skel": {
        "soft": ("dropped-soft", "what makes a shape soft is not written"),
        **{
            f"{what}/@{end}": ("dropped-limit", f"limits of a coordinate's {what} are not written")
            for what in ("velocity", "acceleration", "force")
            for end in ("lower", "upper")
        },
    },
    "x_xy": {
        **dict.fromkeys(
            ("pos_min", "pos_max"),
            ("dropped-range", "pos_min and pos_max, between which a body's place is drawn by lot, are not written"),
        ),
        "edge_color": ("dropped-color", "colours of edges are not written"),
    },
}


def tell_beyond(mechanism: Mechanism, format: str, report: Report) -> None:
    """Tell what of a mechanism is not written, as its own format alone has it. Nothing for that format."""
    source = mechanism.source.format
    words = _WORDS.get(source, {})
    if source == format or not words:
        return
    losses = Losses()
    for name, extra in _extras(mechanism):
        for code, message in dict.fromkeys(words[key] for key in extra if key in words):
            losses.add(code, message, name)
    losses.tell(report)


def _extras(mechanism: Mechanism) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Whose it is, and what is there."""
    for body in mechanism.bodies:
        yield body.name, body.extra
        for shape in body.shapes:
            yield body.name, shape.extra
    for joint in mechanism.joints:
        for dof in joint.dofs:
            yield joint.name, dof.extra
