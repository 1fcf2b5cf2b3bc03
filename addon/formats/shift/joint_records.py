"""Joint elements to joints: ends, freedom, and what pulls on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.model import Array, Dof, Joint
from . import values
from .read import Placed, Reader
from .resolve import Resolver, tell_loose
from .table import ELEMENTARY, SEPARATOR, TYPES

_RAW = ("axis", "initial_displacement", "initial_velocity", "stiffness", "damping")


class JointMaker:
    """Makes joints, without ids. ``turn`` is the file's unit of angle in radians."""

    def __init__(self, resolver: Resolver, reader: Reader, turn: float) -> None:
        self.resolver, self.reader, self.turn = resolver, reader, turn

    def joint(self, placed: Placed, off: set[str], assembly_is_on: bool) -> Joint:
        """The joint of an element; ``off`` are bodies that are switched off."""
        row = placed.row
        kind = TYPES.get(str(row["type"]))
        ends = [self.resolver.place(end, placed.assembly, placed) for end in placed.ends]
        (parent, at_parent), (child, at_child) = (end or (None, np.eye(4)) for end in ends)
        joint = Joint("", placed.name, kind or str(row["type"]), parent, child, at_parent, at_child, line=placed.line)
        joint.assembly = placed.assembly
        joint.extra = {
            "type": row["type"],
            "frames": [end.frame for end in placed.ends],
            **{name: row[name] for name in _RAW if name in placed.places},
        }
        if not row["active"]:
            joint.extra["active"] = False
        self._freedom(joint, placed, kind)
        joint.active = bool(row["active"]) and assembly_is_on and not {parent, child} & off
        problem = self._problem(placed, kind, ends)
        if problem:
            joint.active = False
            joint.extra["broken"] = True
            self.reader.warn("inactive-joint", f"{placed.label} {problem}; it is kept and does nothing", placed.node)
        return joint

    def _problem(self, placed: Placed, kind: str | None, ends: list[Any]) -> str:
        if kind is None:
            return f"has the type '{placed.row['type']}', which is not known"
        if None in ends:
            lost = placed.ends[ends.index(None)]
            return f"joins the body '{SEPARATOR.join(lost.path)}', which is not there"
        return "joins a body to itself" if ends[0][0] == ends[1][0] else ""

    def _freedom(self, joint: Joint, placed: Placed, kind: str | None) -> None:
        """Degrees of freedom, with where they are and what pulls on them."""
        row = placed.row
        displacement, velocity = row["initial_displacement"], row["initial_velocity"]
        if isinstance(displacement, dict):
            tell_loose(self.reader, displacement.get("R"), placed.at("initial_displacement"), placed.label)
        if kind == "weld":
            joint.frame_parent = joint.frame_parent @ values.displaced(displacement)
        elif kind == "ball":
            joint.dofs = [Dof("ball", start=_told(values.ball_start(displacement)))]
        elif kind == "free":
            rates = values.free_rates(velocity)
            start = values.free_start(displacement)
            joint.dofs = [Dof("free", start=_told(start), start_rates=_told(rates))]
        elif kind is not None:
            motion, axis = ELEMENTARY.get(str(row["type"]), ("rotation" if kind == "revolute" else "translation", None))
            unit = self.turn if motion == "rotation" else 1.0
            dof = Dof(motion, np.array(axis) if axis else self._axis(placed))  # type: ignore[arg-type]
            dof.position = float(displacement) * unit if isinstance(displacement, (int, float)) else 0.0
            dof.velocity = float(velocity) * unit if isinstance(velocity, (int, float)) else 0.0
            joint.dofs = [dof]
            self._forces(dof, placed, unit)

    def _axis(self, placed: Placed) -> Array:
        written = placed.row["axis"]
        axis = None if written is None else values.axis_of(written)
        if axis is None:
            message = f"{placed.label} has no axis; z is taken"
            self.reader.warn("repaired-axis", message, placed.at("axis") or placed.node)
            return np.array([0.0, 0.0, 1.0])
        return axis

    def _forces(self, dof: Dof, placed: Placed, unit: float) -> None:
        stiffness, damping = placed.row["stiffness"], placed.row["damping"]
        spring, rest = values.spring_of(stiffness)
        dof.stiffness, dof.rest, dof.damping = spring / unit, rest * unit, values.damper_of(damping) / unit
        beyond = any(stiffness[2:]) or (stiffness[:1] not in ([], [0]) and not spring)
        for name, lost in (("stiffness", beyond), ("damping", any(damping[2:]) or damping[:1] not in ([], [0]))):
            if lost:
                message = f"of the {name} of {placed.label} only the linear part acts here; the rest is kept"
                self.reader.warn("partial-force", message, placed.at(name))


def _told(numbers: Array) -> tuple[float, ...]:
    """Numbers as a record has them: none where they are all zero."""
    return tuple(float(x) for x in numbers) if np.any(numbers) else ()
