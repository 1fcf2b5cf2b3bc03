"""A joint's coordinates counted the other way, so that all stands and moves as it did."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core.model import DOF_SIZE, Array, Dof
from ...core.transforms import rotation_matrix
from .present import JointEdit


def reversing(dofs: Sequence[Dof], pose: Array | None) -> JointEdit:
    """Return the edit of a joint of degrees of freedom ``dofs``, whose channels say ``pose`` (size,), whose ends are
    exchanged: its motion is the inverse, with the degrees of freedom in reverse order."""
    sizes = [DOF_SIZE[dof.kind] for dof in dofs]
    firsts, ends = np.cumsum([0, *sizes]).tolist(), np.cumsum([0, *sizes[::-1]]).tolist()
    numbers: dict[int, tuple[int, float]] = {}
    values = [np.zeros(0)]
    for place, (dof, size) in enumerate(zip(dofs[::-1], sizes[::-1], strict=True)):
        first = firsts[len(dofs) - 1 - place]
        numbers |= {first + k: (ends[place] + k, -1.0) for k in range(size)}
        if pose is not None:
            values.append(_reversed(pose[first : first + size], dof.kind))
    return JointEdit(None, None if pose is None else np.concatenate(values), numbers)


def _reversed(values: Array, kind: str) -> Array:
    """The coordinates of one degree of freedom of the inverse motion."""
    out = -values + 0.0
    if kind == "free":
        out[3:] = -rotation_matrix(values[:3]).T @ values[3:] + 0.0
    return out
