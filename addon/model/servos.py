"""The servos of a mechanism without Blender: their names, what they move, and where they stop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from . import naming
from .records import DOF_SIZE, Dof, Mechanism
from .stops import Limits, stops_of


@dataclass(frozen=True)
class Servo:
    """One coordinate of a joint as motions know it. ``slides``: it is a length, not an angle (rad). ``lower`` and
    ``upper`` are None where there is no stop."""

    name: str
    joint: str
    slides: bool
    lower: float | None
    upper: float | None

    @property
    def stops(self) -> Limits:
        """Both stops."""
        return self.lower, self.upper


def servos_of(mechanism: Mechanism, active: bool = True) -> dict[str, Servo]:
    """The servos of the joints that move, or else of those that are switched off, by name. Of joints with one id the
    first that moves counts."""
    names = naming.servo_names((joint.id, joint.name, joint.dofs) for joint in mechanism.joints)
    firsts = {joint.id: joint for joint in reversed(mechanism.joints) if joint.dofs}
    return {
        name: Servo(name, joint.id, slides, *stops)
        for joint in mechanism.joints
        if firsts.get(joint.id) is joint and joint.active == active
        for name, slides, stops in zip(names[joint.id], _slides(joint.dofs), stops_of(joint.dofs), strict=True)
    }


def _slides(dofs: Iterable[Dof]) -> Iterator[bool]:
    """Of each coordinate whether it is a length."""
    for dof in dofs:
        size = DOF_SIZE[dof.kind]
        yield from ([dof.kind == "translation"] if size == 1 else [number >= 3 for number in range(size)])
