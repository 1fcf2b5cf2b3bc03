"""Rows of a SKEL file from the records of a mechanism: the inverse of ``to_model`` and ``to_model_shapes``.

Where a row of a document has six numbers, these rows have the pose (4, 4), which the writer converts.
"""

from __future__ import annotations

import math
import os.path
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...core.mass_properties import body_inertia
from ...core.model import DOF_SIZE, Array, Body, Dof, Frame, Joint, Mechanism, Shape
from ...core.report import Message
from ...core.transforms import rotation_matrix
from ..document.conversion_losses import ORGANIZATION_ONLY, ConversionLosses
from .schema import (
    ACTUATORS,
    COLLISION,
    EXTENSION_NUMBERS,
    EXTENSION_TAG,
    MOMENT,
    PLANES,
    SOFT,
    VISUAL,
    DartNames,
    Row,
    dart_name,
)
from .to_model_shapes import DERIVED_MOMENT, HEMISPHERE_IN_FILE

#: Attributes of one coordinate of a dof, with the defaults of the records.
COORDINATE_DEFAULTS: dict[str, float | None] = {
    "lower": None,
    "upper": None,
    "damping": 0.0,
    "friction": 0.0,
    "rest": 0.0,
    "stiffness": 0.0,
    "position": 0.0,
    "velocity": 0.0,
}
_SOFT_TYPES = frozenset({"box", "sphere", "ellipsoid", "cylinder"})
_SOFT_DEFAULTS: Row = {"total_mass": 1.0, "kv": 100.0, "ke": 10.0, "damp": 0.1}
_FACETS = {"sphere": ("slices", "stacks"), "ellipsoid": ("slices", "stacks"), "cylinder": ("slices", "stacks", "rings")}
#: DART rejects lengths that are not positive.
_MIN_SIZE = 1e-6


def mass_row(body: Body, losses: ConversionLosses) -> Row:
    """Return mass, center of mass and the complete inertia tensor; ``stated`` is the record's own tensor, or None."""
    tensor = body_inertia(body)
    if body.inertia is None and body.mass > 0.0 and not np.linalg.eigvalsh(tensor).min() > 0.0:
        losses.add("invented-inertia", "Moments of inertia: unknown, those of a ball of radius 0.1 are written", body)
        tensor = np.eye(3) * 0.4 * body.mass * 0.01
    row: Row = {"inertia/mass": body.mass, "inertia/offset": tuple(float(x) for x in body.com)}
    for i, names in enumerate((("ixx", "ixy", "ixz"), ("iyy", "iyz"), ("izz",))):
        row |= {MOMENT + name: float(tensor[i, i + k]) for k, name in enumerate(names)}
    derived = body.extra.get(DERIVED_MOMENT)
    known = body.inertia is not None and not (
        isinstance(derived, list) and [*map(len, derived)] == [3, 3, 3] and np.allclose(derived, body.inertia, 1e-12, 0)
    )
    row["stated"] = tuple(np.asarray(body.inertia, dtype=float).ravel().tolist()) if known else None
    return row


def shape_rows(shape: Shape, body: Body, losses: ConversionLosses) -> list[tuple[str, Row]]:
    """Return the elements of a shape, each a tag and a row: one for display, one for collision."""
    if shape.type == "none":
        return [(VISUAL.tag if shape.visual else COLLISION.tag, {"type": None})]
    if shape.type == "axes":
        losses.add("dropped-shape", "Shape of type axes: not written, SKEL has none", body)
        return []
    row = _geometry(shape, body, losses)
    if shape.soft and row["type"] not in _SOFT_TYPES:
        losses.add("dropped-softness", Message("Soft shape of type {}: written as a rigid one", shape.type), body)
    elif shape.soft:
        return [(SOFT.tag, row | _softness(shape, body, row))]
    collidable = bool(shape.extra.get("collidable", body.collidable))
    rows = [(VISUAL.tag, row | {"color": shape.color})] if shape.visual else []
    if shape.collision:
        rows.append((COLLISION.tag, row | {"collidable": collidable}))
    if not rows:
        losses.add("dropped-shape", "Shape that is neither visual nor collision: not written", body, ORGANIZATION_ONLY)
    return rows


def coordinate_rows(dofs: list[Dof]) -> list[dict[str, Any]]:
    """Return one dict per coordinate of the dofs.

    Each has the attributes of ``COORDINATE_DEFAULTS``, its ``name`` and, in ``extra``, what only <dof> can hold.
    """
    found: list[dict[str, Any]] = []
    for dof in dofs:
        size = DOF_SIZE[dof.kind]
        # values of a block without parts apply to each of its coordinates, except for its name
        singles = dof.parts or ([dof] if size == 1 else [replace(dof, name="", extra={})] * size)
        for i, single in enumerate(singles):
            one = {name: getattr(single, name) for name in COORDINATE_DEFAULTS} | {"extra": dict(single.extra)}
            one["name"] = single.name
            if size > 1:
                one["position"] = dof.start[i] if dof.start else 0.0
                one["velocity"] = dof.start_rates[i] if dof.start_rates else 0.0
            found.append(one)
    return found


def extension_numbers(dofs: list[Dof]) -> Row:
    """Return the numbers of each coordinate block that SKEL cannot hold; None for those that are all zero."""
    values = {
        name: tuple(float(getattr(dof, attribute)) for dof in dofs) for name, attribute in EXTENSION_NUMBERS.items()
    }
    return {f"{EXTENSION_TAG}/@{name}": each if any(each) else None for name, each in values.items()}


def actuator_name(dofs: list[Dof], own: str | None) -> str:
    """Return the actuator of a joint.

    ``servo`` is the records' name for any driven joint; DART's servo, which would hold the joint still, is written only
    if the document has it.
    """
    name = dofs[0].actuator if dofs else own or "force"
    if name == "servo" and own != "servo":
        return "force"
    return name if name in ACTUATORS else "force"


def _geometry(shape: Shape, body: Body, losses: ConversionLosses) -> Row:
    size, type_ = shape.size, shape.type
    row: Row = {"transformation": shape.pose, "type": type_}
    if type_ == "hemisphere" and not shape.extra.get(HEMISPHERE_IN_FILE):
        losses.add("approximated-shape", "Hemisphere: written as a sphere", body)
        row |= {"type": "sphere", f"{EXTENSION_TAG}/@type": "hemisphere"}
        type_ = "sphere"
    here = f"geometry/{type_}/"
    if type_ in ("box", "ellipsoid"):
        row[here + "size"] = tuple(_at_least(size[axis], body, losses) for axis in "xyz")
    elif type_ == "mesh":
        row[here + "file_name"] = shape.mesh or ""
        row[here + "scale"] = tuple(float(size.get(axis, 1.0)) for axis in "xyz")
    elif type_ == "pyramid":
        for name, key in (("base_width", "x"), ("base_depth", "y"), ("height", "length")):
            row[here + name] = _at_least(size[key], body, losses)
    elif type_ == "plane":
        row |= {here + "normal": (0.0, 0.0, 1.0), here + "offset": 0.0}
    elif type_ == "multi_sphere":
        row["spheres"] = tuple(tuple(float(x) for x in ball) for ball in shape.spheres)
    else:
        row[here + "radius"] = _at_least(size["radius"], body, losses)
        if type_ not in ("sphere", "hemisphere"):
            row[here + "height"] = _at_least(size["length"], body, losses)
    return row


def _softness(shape: Shape, body: Body, row: Row) -> Row:
    """Return the parameters of a deformable shape: those of its document, or defaults."""
    own = shape.extra.get("soft") or {}
    soft = _SOFT_DEFAULTS | {path: value for path, value in own.items() if path in SOFT and SOFT[path].kind.has(value)}
    type_ = row["type"]
    if type_ == "box":
        soft.setdefault("geometry/box/frags", (3.0, 3.0, 3.0))
    for facet in _FACETS.get(type_, ()):
        soft.setdefault(f"geometry/{type_}/num_{facet}", 8.0)
    return soft


def _at_least(value: float, body: Body, losses: ConversionLosses) -> float:
    if value >= _MIN_SIZE:
        return float(value)
    losses.add("mended-size", Message("Size of 0 or less: written as {}", f"{_MIN_SIZE:g}"), body)
    return _MIN_SIZE


def reverse_dofs(joint: Joint, losses: ConversionLosses) -> list[Dof]:
    """Return the degrees of freedom of a joint from its child to its parent.

    Values stay the same, except that those of a ball change sign and those of a free block are recomputed.
    """
    out, dofs = [], joint.dofs
    for dof in reversed(dofs):
        if dof.kind == "ball":
            parts = [_mirror_part(part) for part in dof.parts]
            start, rates = (tuple(-x for x in each) for each in (dof.start, dof.start_rates))
            out.append(replace(dof, start=start, start_rates=rates, parts=parts))
            losses.add(
                "reversed-joint", "Ball joint: written from child to parent, its joint values change sign", joint
            )
        elif dof.kind == "free":
            out.append(replace(dof, start=_inverse_initial_pose(dof.initial), start_rates=(), parts=[]))
            losses.add("reversed-joint", "Free joint: written from child to parent, its joint values change", joint)
        else:
            out.append(replace(dof, axis=-np.asarray(dof.axis)))
    if all(DOF_SIZE[dof.kind] == 1 for dof in dofs):
        losses.add("reversed-joint", "Joint: written from child to parent, its joint values stay the same", joint)
    return out


def _mirror_part(part: Dof) -> Dof:
    lower, upper = (None if end is None else -end for end in (part.upper, part.lower))
    return replace(part, lower=lower, upper=upper, rest=-part.rest)


def _inverse_initial_pose(start: Array) -> tuple[float, ...]:
    turn = rotation_matrix(-start[:3])
    values = (*(-start[:3]), *(-(turn @ start[3:])))
    return tuple(float(x) for x in values) if any(values) else ()


_SCALARS = frozenset({str, float, int, bool})


def same_value(old: Any, new: Any) -> bool:
    """Return whether two values of a row are equal, numbers up to rounding."""
    if old is new or (type(old) in _SCALARS and type(new) is type(old) and old == new):
        return True
    if isinstance(old, np.ndarray) and isinstance(new, np.ndarray):
        return bool(np.array_equal(old, new)) or bool(np.abs(old - new).max() <= 1e-12 * (1.0 + np.abs(old).max()))
    if isinstance(old, tuple) and isinstance(new, tuple):
        return len(old) == len(new) and all(same_value(a, b) for a, b in zip(old, new, strict=True))
    if isinstance(old, float | int) and isinstance(new, float | int) and not isinstance(old, bool):
        return old == new or math.isclose(old, new, rel_tol=1e-12, abs_tol=1e-300)
    return bool(old == new)


_EXACT_TOLERANCE = 1e-9


@dataclass
class JointMatch:
    """Joint of one of SKEL's types.

    In frames rotated by ``turn`` (4, 4) its coordinates are those of ``dofs``; ``row`` has the type's axes and order.
    """

    type: str
    dofs: list[Dof]
    turn: Array = field(default_factory=lambda: np.eye(4))
    row: Row = field(default_factory=dict)


def match_joint_types(dofs: Sequence[Dof]) -> list[JointMatch]:
    """Return the fewest joints of SKEL's types that have these degrees of freedom in series."""
    found: list[JointMatch] = []
    rest = list(dofs)
    while rest:
        piece = next(
            match
            for count in (3, 2, 1)
            if len(rest) >= count and (match := _match_joint_type(rest[:count])) is not None
        )
        found.append(piece)
        rest = rest[len(piece.dofs) :]
    return found or [JointMatch("weld", [])]


def _match_joint_type(dofs: list[Dof]) -> JointMatch | None:
    kinds = [dof.kind for dof in dofs]
    axes = [np.asarray(dof.axis, dtype=np.float64) for dof in dofs]
    if len(dofs) == 1:
        if kinds[0] in ("ball", "free"):
            return JointMatch(kinds[0], dofs)
        type_ = "prismatic" if kinds[0] == "translation" else "revolute"
        return JointMatch(type_, dofs, row={"axis/xyz": _tuple(axes[0] / np.linalg.norm(axes[0]))})
    if len(dofs) == 2:
        if kinds != ["rotation", "rotation"]:
            return None
        return JointMatch("universal", dofs, row={"axis/xyz": _tuple(axes[0]), "axis2/xyz": _tuple(axes[1])})
    frame = np.column_stack(axes)
    hand = float(np.linalg.det(frame))
    if np.abs(frame.T @ frame - np.eye(3)).max() > _EXACT_TOLERANCE:
        return None
    if kinds == ["rotation"] * 3:
        order = "xyz" if hand > 0 else "zyx"
        return JointMatch(
            "euler", dofs, _pose_from_rotation(frame if hand > 0 else frame[:, ::-1]), {"axis_order": order}
        )
    if kinds == ["translation"] * 3 and hand > 0:
        return JointMatch("translational", dofs, _pose_from_rotation(frame))
    if kinds == ["translation", "translation", "rotation"] and hand > 0:
        return JointMatch("planar", dofs, row=_plane_row(axes))
    return None


def _plane_row(axes: list[Array]) -> Row:
    for name, (first, second) in PLANES.items():
        if np.abs(axes[0] - first).max() < _EXACT_TOLERANCE and np.abs(axes[1] - second).max() < _EXACT_TOLERANCE:
            return {"plane/@type": name}
    return {
        "plane/@type": "arbitrary",
        "plane/translation_axis1/xyz": _tuple(axes[0]),
        "plane/translation_axis2/xyz": _tuple(axes[1]),
    }


def _pose_from_rotation(frame: Array) -> Array:
    turn = np.eye(4)
    if np.abs(frame - np.eye(3)).max() > 1e-12:
        turn[:3, :3] = frame
    return turn


def _tuple(axis: Array) -> tuple[float, ...]:
    return tuple(float(x) for x in axis)


@dataclass(frozen=True)
class ExistingElement:
    """Body or joint in the document that it was read from: its name (None if renamed since), and joint type."""

    name: str | None
    type: str = ""


@dataclass
class ExistingElements:
    """Bodies and joints of a document, by id."""

    bodies: dict[str, ExistingElement] = field(default_factory=dict)
    joints: dict[str, ExistingElement] = field(default_factory=dict)


@dataclass
class PlannedBody:
    """Body of a skeleton: its row, its shapes as tags with rows, its markers."""

    skeleton: str
    row: Row
    shapes: list[tuple[str, Row]] = field(default_factory=list)
    markers: list[Row] = field(default_factory=list)


@dataclass
class PlannedJoint:
    """Joint of a skeleton: its tag, its row, and its coordinates (see ``coordinate_rows``)."""

    skeleton: str
    tag: str
    row: Row
    coordinates: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class CachedBody:
    """Planned body and its inputs; ``row`` are those that depend on other objects."""

    body: Body
    frames: list[Frame]
    row: Row
    planned: PlannedBody
    losses: ConversionLosses


def group_by_skeleton(
    mechanism: Mechanism, bodies: list[Body], joints: Iterable[Joint]
) -> tuple[dict[str, str], dict[str, str]]:
    """Group bodies by skeleton: assemblies connected by joints share one.

    Returns:
        The key of the skeleton of every body (by id), and the name of every skeleton by key, in the order of the
        mechanism. A skeleton of one assembly has that assembly's path as its key.
    """
    assembly = {body.id: body.assembly for body in bodies}
    leader: dict[str, str] = {}

    def find(path: str) -> str:
        while leader.get(path, path) != path:
            path = leader[path]
        return path

    for joint in joints:
        ends = [assembly[end] for end in joint.ends if end in assembly]
        if len(ends) == 2 and find(ends[0]) != find(ends[1]):
            leader[find(ends[1])] = find(ends[0])
    paths = dict.fromkeys([*(each.path for each in mechanism.assemblies), *assembly.values()])
    members: dict[str, list[str]] = {}
    for path in paths:
        members.setdefault(find(path), []).append(path)
    used = set(assembly.values())
    unique = DartNames()
    names: dict[str, str] = {}
    key_of: dict[str, str] = {}
    for group in members.values():
        filled = [path for path in group if path in used]
        if not filled and mechanism.source.format != "skel":
            continue  # an assembly that only contains others
        key = (filled or group)[0]
        name = key if len(filled) < 2 else os.path.commonprefix(filled).rstrip(":")
        names[key] = unique(dart_name(name, dart_name(mechanism.name, "skeleton")))
        key_of |= dict.fromkeys(group, key)
    return {body.id: key_of[body.assembly] for body in bodies}, names
