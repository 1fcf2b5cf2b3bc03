"""A joint in the vocabulary of x_xy: the bodies of the file that it takes, one where the file has such a joint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...core.model import DOF_SIZE, Array, Dof, Joint, identity
from ...core.transforms import frame_with_z, inverse
from .geometry import SAME, same
from .joints import rest_of
from .table import DOF_ATTRIBUTES, JOINTS, JointKind, Vector, joint_kind

_NEW_KINDS = tuple(kind for kind in JOINTS.values() if not kind.chosen and not kind.refused)


@dataclass
class Step:
    """A body of the file: where it stands in the one before, and the joint that it hangs by."""

    pose: Array
    joint: str
    numbers: dict[str, tuple[float, ...]] = field(default_factory=dict)


def steps_of(joint: Joint, kept: bool = False) -> list[Step]:
    """The bodies that a joint takes, from its parent to its child. ``kept`` allows what a document may hold although
    the loader refuses it. A screw goes without its pitch."""
    wanted = joint.extra.get("joint", "")
    kind = joint_kind(wanted) if wanted else None
    if wanted and kind is None and not joint.dofs:  # registered at run time
        numbers = {name: tuple(values) for name, values in joint.extra.get("numbers", {}).items()}
        return [Step(joint.frame_parent @ inverse(joint.frame_child), wanted, numbers)]
    if kind is not None and kind.refused and not kept:
        kind = None
    dofs = [_unit(dof) for dof in joint.dofs]
    return _steps(joint.frame_parent, dofs, joint.frame_child, kind, wanted)


def _steps(start: Array, dofs: list[Dof], leave: Array, wanted: JointKind | None, name: str = "") -> list[Step]:
    """Bodies for ``start``, then the degrees of freedom, then the way from the joint's frame to the body."""
    seen = _in_body(dofs, leave)
    if seen is not None:
        kind = _kind_of(seen, wanted)
        if kind is not None:
            return [Step(start @ inverse(leave), name if kind is wanted else kind.name, _numbers(kind, seen))]
    for count in range(len(dofs), 0, -1):
        kind = _kind_of(dofs[:count], wanted)
        if kind is not None:
            here = Step(start, name if kind is wanted else kind.name, _numbers(kind, dofs[:count]))
            return [here, *_steps(identity(), dofs[count:], leave, None)]
    turn = identity()
    turn[:3, :3] = frame_with_z(dofs[0].axis)
    kind = JOINTS["pz" if dofs[0].kind == "translation" else "rz"]
    return [Step(start @ turn, kind.name, _numbers(kind, dofs[:1])), *_steps(inverse(turn), dofs[1:], leave, None)]


def _unit(dof: Dof) -> Dof:
    copy = replace(dof)
    if DOF_SIZE[dof.kind] == 1:
        copy.axis = dof.axis / (np.linalg.norm(dof.axis) or 1.0)
    if dof.kind == "screw":
        copy.kind = "rotation"
    return copy


def _in_body(dofs: Sequence[Dof], leave: Array) -> list[Dof] | None:
    """The degrees of freedom as they are in the body's own frame, which has the joint's at ``leave``; None where they
    do not act through the body's origin."""
    out = []
    for dof in dofs:
        if DOF_SIZE[dof.kind] > 1:
            if not same(leave, identity()):
                return None
            out.append(dof)
            continue
        copy = replace(dof)
        copy.axis = leave[:3, :3] @ dof.axis
        (x, y, z), (a, b, c) = leave[:3, 3].tolist(), copy.axis.tolist()
        beside = max(abs(y * c - z * b), abs(z * a - x * c), abs(x * b - y * a))
        if dof.kind == "rotation" and beside > SAME:
            return None
        out.append(copy)
    return out


def _kind_of(dofs: Sequence[Dof], wanted: JointKind | None) -> JointKind | None:
    """The joint of the file that moves so, the wanted one first. Axes that are not the file's need not fit."""
    kinds = (wanted, *_NEW_KINDS) if wanted is not None else _NEW_KINDS
    return next((kind for kind in kinds if _fits(kind, dofs)), None)


def _fits(kind: JointKind, dofs: Sequence[Dof]) -> bool:
    return len(kind.blocks) == len(dofs) and all(
        block.kind == dof.kind and (kind.chosen or DOF_SIZE[dof.kind] > 1 or _along(dof.axis, block.axis))
        for block, dof in zip(kind.blocks, dofs, strict=True)
    )


def _along(axis: Array, wanted: Vector) -> bool:
    """Return whether an axis is the one wanted but for rounding."""
    return all(abs(a - b) <= SAME * (1.0 + abs(b)) for a, b in zip(axis.tolist(), wanted, strict=True))


def _numbers(kind: JointKind, dofs: Sequence[Dof]) -> dict[str, tuple[float, ...]]:
    """The four lists of a joint; one that says nothing is left out."""
    out: dict[str, tuple[float, ...]] = {}
    for name, attribute in DOF_ATTRIBUTES.items():
        spring_zero = name == "spring_zero"
        values = [0.0] * (kind.coordinates if spring_zero else kind.velocities)
        says = False
        for block, dof in zip(kind.blocks, dofs, strict=True):
            own = _values(dof, attribute)
            says = says or any(own)
            values[block.places if spring_zero else block.rates] = rest_of(block, own) if spring_zero else own
        if says:
            out[name] = tuple(float(x) for x in values)
    return out


def _values(dof: Dof, attribute: str) -> tuple[float, ...]:
    """One number of a degree of freedom for each of its single coordinates."""
    if dof.parts:
        return tuple(float(getattr(part, attribute)) for part in dof.parts)
    return (float(getattr(dof, attribute)),) * DOF_SIZE[dof.kind]
