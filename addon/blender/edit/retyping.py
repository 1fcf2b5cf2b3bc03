"""Joints that become another type where they begin, or are posed, away from zero: their bodies stay where they stand.

What the new type can say of that it says: a hinge at 0.5 rad becomes a ball turned by as much. The rest goes into the
design: a hinge that is welded is welded as it is seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ...core.kinematics import joint_coordinates, joint_motion
from ...core.model import DOF_SIZE, Array, Dof, Joint
from .present import JointEdit

#: Motions that differ by no more are the same.
_SAME = 1e-9


def retyping(old: Sequence[Dof], seen: Array, new: Sequence[Dof], kept: Sequence[Dof] = ()) -> JointEdit:
    """What it does to a joint that it gets other degrees of freedom. The new ones begin where the old ones had the
    bodies, as far as they can.

    Args:
        old: the degrees of freedom as they were.
        seen: their coordinates (size,) as they are seen.
        new: those to come.
        kept: the old ones once more, of which those that go on are among the new ones themselves.
    """
    start = _together(dof.initial for dof in old)
    now = _as_new(old, kept, new, seen)
    if start.any() or any(dof.initial.any() for dof in new):
        for dof, begins in zip(new, _apart(new, _as_new(old, kept, new, start)), strict=True):
            if DOF_SIZE[dof.kind] == 1:
                dof.position = float(begins[0])
            else:
                dof.start = tuple(begins.tolist()) if begins.any() else ()
    return JointEdit(now, now, _going_on(old, kept, new))


def _going_on(old: Sequence[Dof], kept: Sequence[Dof], new: Sequence[Dof]) -> dict[int, tuple[int, float]]:
    """Which coordinate is which of the new ones: of degrees of freedom that go on about the same axis."""
    first, second = _firsts(old), _firsts(new)
    out: dict[int, tuple[int, float]] = {}
    for number, (dof, was) in enumerate(zip(kept, old, strict=False)):
        at = next((place for place, each in enumerate(new) if each is dof), None)
        if at is None or (DOF_SIZE[was.kind] == 1 and not np.allclose(was.axis, dof.axis, atol=1e-6)):
            continue
        out |= {first[number] + k: (second[at] + k, 1.0) for k in range(DOF_SIZE[was.kind])}
    return out


def _as_new(old: Sequence[Dof], kept: Sequence[Dof], new: Sequence[Dof], value: Array) -> Array:
    """The new coordinates that come nearest to old ones. Those that go on stay what they are: their keyframes say
    so."""
    numbers = dict(zip(map(id, kept), _apart(old, value), strict=False))
    same = _together(numbers.get(id(dof), np.zeros(DOF_SIZE[dof.kind])) for dof in new)
    motion = _motion(old, value)
    if _going_on(old, kept, new) or np.abs(_motion(new, same) - motion).max() < _SAME:
        return same
    near = joint_coordinates(_joint(new), motion[None])[0]
    return np.where(np.abs(near) < _SAME, 0.0, near)


def _firsts(dofs: Sequence[Dof]) -> list[int]:
    return np.cumsum([0, *(DOF_SIZE[dof.kind] for dof in dofs)]).tolist()


def _together(coordinates: Iterable[Array]) -> Array:
    return np.concatenate([np.zeros(0), *coordinates])


def _apart(dofs: Sequence[Dof], coordinates: Array) -> list[Array]:
    """The coordinates of each degree of freedom."""
    return np.split(coordinates, np.cumsum([DOF_SIZE[dof.kind] for dof in dofs])[:-1]) if dofs else []


def _joint(dofs: Sequence[Dof]) -> Joint:
    return Joint("", "", "", None, None, dofs=list(dofs))


def _motion(dofs: Sequence[Dof], coordinates: Array) -> Array:
    return joint_motion(_joint(dofs), coordinates[None])[0]
