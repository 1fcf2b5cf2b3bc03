"""Each number of a file is finite, but what is made of them need not be: sizes near 1e308 have no volume."""

from __future__ import annotations

import numpy as np

from ..model.inertia import body_inertia
from ..model.records import Body, Mechanism
from ..model.report import FormatError


def refuse_overflows(mechanism: Mechanism, path: str) -> None:
    """FormatError where a body that was read has a pose, centre of mass or tensor beyond all numbers."""
    for body in mechanism.bodies:
        made = {"pose": body.pose, "centre of mass": body.com, "moment of inertia": body.inertia}
        what = next((name for name, each in made.items() if each is not None and not np.isfinite(each).all()), None)
        if what is not None:
            raise _beyond(what, body, path)


def refuse_wild_inertia(mechanism: Mechanism) -> None:
    """FormatError where a moment of inertia that would have to be written is none."""
    with np.errstate(all="ignore"):
        wild = next((body for body in mechanism.bodies if not np.isfinite(body_inertia(body)).all()), None)
    if wild is not None:
        raise _beyond("moment of inertia", wild, mechanism.source.path)


def _beyond(what: str, body: Body, path: str) -> FormatError:
    return FormatError(
        f"the {what} of body '{body.name}' is beyond all numbers",
        path=path,
        line=body.line,
        remedy="Make its sizes, distances or its mass smaller.",
    )
