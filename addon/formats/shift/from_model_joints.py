"""Rows of joints, safe names, and the assembly tree for Shift files.

A joint's row has its type, axis, displacement, velocity and forces, near to those of its document.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np

from ...core.model import Array, Assembly, Dof, Joint, Mechanism, identity
from ...core.naming import UniqueNamer
from ...core.transforms import rotation_with_z
from . import conventions
from .schema import ELEMENTARY, ENDS, FIXED, ORIGIN, SEPARATOR, TYPES, Row

_ELEMENTARY_NAMES = {(kind, axis): name for name, (kind, axis) in ELEMENTARY.items()}


def joint_row(joint: Joint, raw: dict[str, Any], dialect: str, degrees: bool = False) -> Row:
    """Return the row, without name, switch and extension data, of a joint with at most one degree of freedom.

    Args:
        joint: the joint.
        raw: values of its document; those whose meaning is unchanged are kept.
        dialect: ``pairs`` or ``ends``.
        degrees: True if the document's angles are in degrees.
    """
    displacement, velocity = raw.get("initial_displacement"), raw.get("initial_velocity")
    row: Row = {"axis": None, "stiffness": [], "damping": []}
    if not joint.dofs:
        known = joint.type == "weld" or "type" not in raw
        row["type"] = "rigid" if known and raw.get("type") in (None, *TYPES) else raw["type"]
        return {**row, "initial_displacement": displacement or 0.0, "initial_velocity": velocity or 0.0}
    dof = joint.dofs[0]
    if dof.kind not in ("ball", "free"):
        return row | _simple_row(dof, raw, dialect, np.radians(1.0) if degrees and dof.kind != "translation" else 1.0)
    fresh = conventions.format_displacement(conventions.pose_from_coordinates(dof.initial))
    if dof.kind == "ball":
        row |= {"type": "spherical", "initial_velocity": 0.0 if velocity is None else velocity}
        row["initial_displacement"] = conventions.keep_if_equal(
            displacement, conventions.ball_displacement, dof.initial, {"R": fresh["R"]}
        )
        return row
    rates = np.array(dof.start_rates or [0.0] * 6)
    shown = conventions.to_nested_lists(np.concatenate([rates[3:], rates[:3]]))
    row |= {
        "type": "float",
        "initial_velocity": conventions.keep_if_equal(velocity, conventions.free_velocity, rates, shown),
    }
    row["initial_displacement"] = conventions.keep_if_equal(
        displacement, conventions.free_displacement, dof.initial, fresh
    )
    return row


def _simple_row(dof: Dof, raw: dict[str, Any], dialect: str, unit: float) -> Row:
    row: Row = {"axis": None}
    elementary = _elementary(dof)
    if _has_axis(raw) or (dialect == ENDS and not (elementary and raw.get("type") == elementary)):
        row["type"] = "prismatic" if dof.kind == "translation" else "revolute"
        row["axis"] = conventions.keep_if_equal(
            raw.get("axis"), _axis_or_z, dof.axis, conventions.to_nested_lists(dof.axis)
        )
    else:
        row["type"] = elementary or ("Tz" if dof.kind == "translation" else "Rz")
        row["axis"] = raw.get("axis")
    row["initial_displacement"] = float(dof.position / unit)
    row["initial_velocity"] = float(dof.velocity / unit)
    row["stiffness"] = _spring_terms(dof, raw.get("stiffness"), unit)
    row["damping"] = _damper_terms(dof, raw.get("damping"), unit)
    return row


def axis_rotation(joint: Joint, raw: dict[str, Any], dialect: str) -> Array:
    """Return the rotation (4, 4) of a joint's frames by which an elementary joint moves along its one dof's axis.

    The identity if the axis is one of the frames' own, or the element has an axis itself.
    """
    turn = identity()
    if dialect != ENDS and not _has_axis(raw) and joint.dofs:
        dof = joint.dofs[0]
        if dof.kind in ("rotation", "translation", "screw") and not _elementary(dof):
            turn[:3, :3] = rotation_with_z(dof.axis)
    return turn


def default_joint_type(joint: Joint) -> str:
    """Return the type as which a joint with these degrees of freedom is read."""
    if not joint.dofs:
        return "weld"
    kinds = {"rotation": "revolute", "screw": "revolute", "translation": "prismatic", "ball": "ball", "free": "free"}
    return kinds[joint.dofs[0].kind]


def _has_axis(raw: dict[str, Any]) -> bool:
    return raw.get("type") in ("revolute", "prismatic")


def _elementary(dof: Dof) -> str | None:
    kind = "rotation" if dof.kind == "screw" else dof.kind
    return _ELEMENTARY_NAMES.get((kind, tuple((np.asarray(dof.axis) + 0.0).tolist())))  # type: ignore[arg-type]


def _axis_or_z(written: Any) -> Array:
    axis = conventions.read_axis(written)
    return np.array([0.0, 0.0, 1.0]) if axis is None else axis


def _spring_terms(dof: Dof, raw: list[float] | None, unit: float) -> list[float]:
    """Return the terms of a spring; nonlinear terms of the document are kept."""
    stiffness, rest = dof.stiffness * unit, dof.rest / unit
    if raw is not None and np.allclose(conventions.spring_from_terms(raw), (stiffness, rest), rtol=1e-12, atol=0.0):
        return raw
    if not stiffness:
        return [] if raw is None else [*raw[:1], *([0.0] if len(raw) > 1 else []), *raw[2:]]
    return [-stiffness * rest + 0.0, stiffness, *(raw or [])[2:]]


def _damper_terms(dof: Dof, raw: list[float] | None, unit: float) -> list[float]:
    damping = dof.damping * unit
    if raw is not None and np.isclose(conventions.damping_from_terms(raw), damping, rtol=1e-12, atol=0.0):
        return raw
    if not damping and raw is None:
        return []
    return [*((raw or [])[:1] or [0.0]), damping, *(raw or [])[2:]]


_RESERVED = {FIXED, ORIGIN, ""}


def path_safe_name(name: str) -> str:
    """Return a name without path separators."""
    return name.replace(SEPARATOR, "_")


class SafeNames(UniqueNamer):
    """Namer of unique names without path separators that are neither taken nor reserved."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        super().__init__(lambda name, number: f"{name}_{number}", 2, {*taken, *_RESERVED})

    def of(self, name: str, otherwise: str) -> str:
        """Return a safe and unique name, numbered if needed; ``otherwise`` replaces an empty one."""
        return self(path_safe_name(name) or otherwise)


class AssemblyTree:
    """Assemblies of a mechanism: our paths, and those by which a document refers to them.

    Args:
        mechanism: the mechanism.
        top: name of an assembly for the parts that are in none; empty to leave them at the document's top.
    """

    def __init__(self, mechanism: Mechanism, top: str = "") -> None:
        used = [*(body.assembly for body in mechanism.bodies), *(joint.assembly for joint in mechanism.joints)]
        used += [restraint.assembly for restraint in mechanism.restraints]
        self.assemblies: dict[str, Assembly] = {item.path: item for item in mechanism.assemblies}
        for path in used:
            parts = path.split(SEPARATOR) if path else []
            for count in range(1, len(parts) + 1):
                own = SEPARATOR.join(parts[:count])
                self.assemblies.setdefault(own, Assembly(own, parts[count - 1]))
        self.top = ""
        if top and (not self.assemblies or "" in used):
            self.top = SafeNames(self.assemblies).of(top, "model")
            self.assemblies[self.top] = Assembly(self.top, self.top)
        self._written: dict[str, str] = {}

    def assembly_of(self, assembly: str) -> str:
        """Return the assembly of a part in the document: its own, or the top one if it is in none."""
        return assembly or self.top

    def outer(self, path: str) -> str:
        """Return the assembly that contains another; empty for the top of the document."""
        head = path.rpartition(SEPARATOR)[0]
        return head if head in self.assemblies else ""

    def written(self, path: str) -> str:
        """Return the path by which a document refers to an assembly: the names along the way."""
        if not path:
            return ""
        if path not in self._written:
            outer = self.written(self.outer(path))
            name = path_safe_name(self.assemblies[path].name) or "assembly"
            self._written[path] = f"{outer}{SEPARATOR}{name}" if outer else name
        return self._written[path]

    def inner(self, path: str) -> list[str]:
        """Return the assemblies directly inside of one, in order."""
        return self._inner.get(path, [])

    @cached_property
    def _inner(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for own in self.assemblies:
            if (outer := self.outer(own)) != own:
                found.setdefault(outer, []).append(own)
        return found
