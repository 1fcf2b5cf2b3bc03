"""The servos of a mechanism without Blender: their names, what they move, and where they stop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from . import naming
from .records import DOF_SIZE, Dof, Mechanism


@dataclass(frozen=True)
class Servo:
    """One coordinate of a joint as motions know it. ``slides``: it is a length, not an angle (rad). ``lower`` and
    ``upper`` are None where there is no stop."""

    name: str
    joint: str
    slides: bool
    lower: float | None
    upper: float | None


def servos_of(mechanism: Mechanism, active: bool = True) -> dict[str, Servo]:
    """The servos of the joints that move, or else of those that are switched off, by name."""
    names = naming.servo_names((joint.id, joint.name, joint.dofs) for joint in mechanism.joints)
    out: dict[str, Servo] = {}
    for joint in mechanism.joints:
        if joint.active == active:
            for name, (slides, dof) in zip(names[joint.id], _coordinates(joint.dofs), strict=True):
                out.setdefault(name, Servo(name, joint.id, slides, dof.lower, dof.upper))
    return out


def _coordinates(dofs: list[Dof]) -> Iterator[tuple[bool, Dof]]:
    """Of each coordinate whether it slides, and the record with its stops. A ball's and a free block's are in their
    parts; without such they have none."""
    for dof in dofs:
        if DOF_SIZE[dof.kind] == 1:
            yield dof.kind == "translation", dof
        else:
            parts = dof.parts or [Dof("rotation")] * DOF_SIZE[dof.kind]
            yield from ((number >= 3, part) for number, part in enumerate(parts))
