"""Links of an x_xy document to joints: their degrees of freedom, and several links that are steps of one joint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from ...core.model import DOF_SIZE, Array, Dof, Joint, identity
from ...core.record_utils import HERE, frozen
from ...core.transforms import inverse, rotation_matrix, rotation_vector
from . import geometry
from .rows import LinkRow
from .table import DOF_ATTRIBUTES, Block, JointKind, Vector, joint_kind

#: How far a step may be from one that can be taken back into its joint.
STEP_TOLERANCE = 1e-9
#: In the note of a body: where in it the frame of its joint is.
JOINT_FRAME = "joint_frame"


def dofs_of(kind: JointKind, numbers: dict[str, tuple[float, ...]]) -> list[Dof]:
    """The degrees of freedom of a joint with its four lists of numbers."""
    return [_dof(block, numbers) for block in kind.blocks]


def turned_round(joint: Joint) -> Joint:
    """Exchange the ends of a joint. The coordinate of an axis stays, that of a ball or free block changes its sense."""
    dofs = [_against(dof) for dof in reversed(joint.dofs)]
    copy = replace(joint)
    copy.parent, copy.child, copy.dofs = joint.child, joint.parent, dofs
    copy.frame_parent, copy.frame_child = joint.frame_child, joint.frame_parent
    return copy


def _against(dof: Dof) -> Dof:
    copy = replace(dof)
    if DOF_SIZE[dof.kind] == 1:
        copy.axis = -dof.axis + 0.0
    return copy


def chain_of(links: Sequence[LinkRow], number: int, steps: set[int]) -> list[int]:
    """A link with the steps before it, in their order."""
    chain = [number]
    while (parent := links[chain[0]].parent) is not None and parent in steps:
        chain.insert(0, parent)
    return chain


def merged(
    links: Sequence[LinkRow], chain: Sequence[int], stretch: Sequence[float]
) -> tuple[Array, Array, list[Dof]] | None:
    """The frames and degrees of freedom of the joint that several links make; None where no one joint does. The joint's
    frame is that of the first link, unless the note of the last tells where it is in the body."""
    first, last = links[chain[0]], links[chain[-1]]
    start = first.pose
    if stretch[chain[0]] != 1.0:
        start = geometry.pose_of(start[:3, 3] * stretch[chain[0]], start[:3, :3])
    if len(chain) == 1 and JOINT_FRAME not in last.note:
        kind = joint_kind(first.joint)
        return start, HERE, dofs_of(kind, first.numbers) if kind else []
    places = [start]  # of each link at rest, where the first hangs
    for number in chain[1:]:
        if links[number].stretch != 1.0 or stretch[number] != 1.0:
            return None
        places.append(places[-1] @ links[number].pose)
    noted = frame_of_note(last.note.get(JOINT_FRAME))
    entry = start if noted is None else places[-1] @ noted
    dofs = []
    for number, place in zip(chain, places, strict=True):
        kind = joint_kind(links[number].joint)
        if kind is None:
            return None
        for dof in dofs_of(kind, links[number].numbers):
            if not _seen_from(inverse(entry) @ place, dof):
                return None
            dofs.append(dof)
    return entry, (inverse(places[-1]) @ entry if noted is None else noted), dofs


def _seen_from(place: Array, dof: Dof) -> bool:
    """Turn the axis of a degree of freedom, which acts at a place, into the frame where this is told from. False where
    it does not act through that frame's origin."""
    if DOF_SIZE[dof.kind] > 1:
        return geometry.same(place, identity(), STEP_TOLERANCE)
    axis = place[:3, :3] @ dof.axis
    whole = np.rint(axis)
    dof.axis = np.where(np.abs(axis - whole) < geometry.SAME, whole, axis) + 0.0
    (x, y, z), (a, b, c) = place[:3, 3].tolist(), axis.tolist()
    beside = max(abs(y * c - z * b), abs(z * a - x * c), abs(x * b - y * a))
    return dof.kind == "translation" or beside <= STEP_TOLERANCE


def frame_of_note(noted: Any) -> Array | None:
    """A pose from the six numbers that a note has for it: its place and the vector of its turn."""
    try:
        numbers = np.array(noted, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    if numbers.shape != (6,) or not np.isfinite(numbers).all():
        return None
    return geometry.pose_of(numbers[:3], rotation_matrix(numbers[3:]) if numbers[3:].any() else np.eye(3))


def note_of_frame(pose: Array) -> list[float]:
    """The inverse."""
    return [float(x) + 0.0 for x in (*pose[:3, 3], *rotation_vector(pose[:3, :3]))]


def _dof(block: Block, numbers: dict[str, tuple[float, ...]]) -> Dof:
    dof = Dof(block.kind, _axis(block.axis))  # type: ignore[arg-type]
    lists = {
        attribute: _rest(block, numbers[name][block.places]) if name == "spring_zero" else numbers[name][block.rates]
        for name, attribute in DOF_ATTRIBUTES.items()
        if name in numbers
    }
    in_space = DOF_SIZE[block.kind] > 1 and "rest" in lists
    if not in_space and all(len(set(values)) <= 1 for values in lists.values()):
        for attribute, values in lists.items():
            setattr(dof, attribute, values[0])
        return dof
    dof.parts = [Dof("rotation" if i < 3 else "translation", np.eye(3)[i % 3]) for i in range(DOF_SIZE[block.kind])]
    for attribute, values in lists.items():
        for part, value in zip(dof.parts, values, strict=True):
            setattr(part, attribute, value)
    return dof


@cache
def _axis(axis: Vector) -> Array:
    """An axis, for all joints that turn about it."""
    return frozen(np.array(axis))


def _rest(block: Block, values: Sequence[float]) -> tuple[float, ...]:
    """Return where a spring is at rest, with a quaternion as the vector of its turn."""
    if DOF_SIZE[block.kind] == 1:
        return tuple(values)
    return (*(float(x) for x in rotation_vector(geometry.turn_of_quat(values[:4]))), *values[4:])


def rest_of(block: Block, values: Sequence[float]) -> tuple[float, ...]:
    """The inverse: the file's numbers of where a spring is at rest."""
    if DOF_SIZE[block.kind] == 1:
        return tuple(values)
    return (*geometry.quat_of(rotation_matrix(np.array(values[:3]))), *values[3:])
