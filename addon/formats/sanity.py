"""Numbers that no body can have. Each number of a file is finite, but what is made of them need not be: sizes near
1e308 have no volume. And a mass may be below nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..core.mass_properties import body_inertia
from ..core.model import Body, Mechanism
from ..core.report import FormatError

#: So many bodies are looked at together.
_BLOCK = 1000


def refuse_overflows(mechanism: Mechanism, path: str) -> None:
    """FormatError where a body that was read has a pose, centre of mass or tensor beyond all numbers."""
    for first in range(0, len(mechanism.bodies), _BLOCK):
        block = mechanism.bodies[first : first + _BLOCK]
        if not _are_finite(block):
            _refuse(block, path)


def _are_finite(bodies: Sequence[Body]) -> bool:
    """Return whether all is finite that is made of the numbers of bodies: of many at once, for each by itself takes
    long."""
    tensors = [body.inertia for body in bodies if body.inertia is not None]
    made = np.array([body.pose for body in bodies]), np.array([body.com for body in bodies]), np.array(tensors)
    return all(bool(np.isfinite(each).all()) for each in made)


def _refuse(bodies: Sequence[Body], path: str) -> None:
    for body in bodies:
        made = {"pose": body.pose, "centre of mass": body.com, "moment of inertia": body.inertia}
        what = next((name for name, each in made.items() if each is not None and not np.isfinite(each).all()), None)
        if what is not None:
            raise _beyond(what, body, path)


def tell_negative_masses(mechanism: Mechanism) -> None:
    """Warn of bodies with a mass that no body has."""
    for body in mechanism.bodies:
        if body.mass < 0.0:
            told = f"body '{body.name}' has a negative mass, {body.mass:g}"
            mechanism.report.warn("negative-mass", told, body.line)


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
