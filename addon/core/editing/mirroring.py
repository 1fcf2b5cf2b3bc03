"""Mirroring of motions between left and right.

A pose is mirrored where the displacement of each body's twin from its design pose is the mirror image of the body's:
``D' = S D S`` with the reflection ``S`` in the mirror plane. For a joint this means ``J'(q') = K J(q) K^-1`` with ``K``
its reflected frame relative to its counterpart's: a rotation about ``a`` becomes one about ``-K a``, a translation
along ``a`` one along ``K a``; and its inverse where the counterpart's bodies are in reverse order. The mapping of the
joint values follows from the axes alone, whatever the signs in the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ..kinematics import joint_frames_world
from ..mass_properties import body_center
from ..model import DOF_SIZE, Array, Body, Dof, DofKind, Joint, Mechanism, Plane, body_by_id, dof_slices, joint_by_id
from ..report import Message, Report, abbreviate_names, count_with_noun
from ..transforms import inverse
from .sides import Sides, find_sides

#: Cosines of angles between an axis and its mirror image: up to the first they are equal, beyond the second unrelated.
_EXACT_COSINE, _MIN_COSINE = float(np.cos(np.radians(1.0))), 0.7
#: Tolerance up to which the entries of a reflection are 0 or 1, so that it maps coordinates one to one.
_UNIT_TOLERANCE = 1e-6


@dataclass(frozen=True)
class DofMap:
    """Linear map from coordinates of a joint to those of its counterpart: ``values @ matrix.T``.

    ``of`` and ``to`` are indices of coordinates in their joints: one, or the 3 of a ball, the 6 of a free block.
    """

    kind: DofKind
    of: tuple[int, ...]
    to: tuple[int, ...]
    matrix: Array


@dataclass(frozen=True)
class JointMirror:
    """Mapping of the values of the joint ``source`` to those of ``target``; a joint in the middle maps to itself."""

    source: str
    target: str
    parts: tuple[DofMap, ...]


@dataclass
class MotionMirror:
    """Mirroring of a mechanism's motions: a mapping for every joint that moves and has a counterpart, by its id."""

    sides: Sides
    joints: dict[str, JointMirror]
    heights: dict[str, float]
    report: Report = field(default_factory=Report)

    def joints_on_side(self, positive: bool) -> list[str]:
        """Return the ids of the joints on one side that have a counterpart on the other.

        ``positive`` is the side to which the plane's normal points (usually +X, right when looking along Y).
        """
        return [
            key
            for key, each in self.joints.items()
            if each.target != key and ((self.heights[key], key) > (self.heights[each.target], each.target)) == positive
        ]

    def values(self, coordinates: Mapping[str, Array]) -> dict[str, Array]:
        """Mirror joint values, joint id -> (n, size), as ``Tree.forward`` takes them."""
        out = {}
        for key, each in self.joints.items():
            if key in coordinates:
                given = np.asarray(coordinates[key], dtype=np.float64)
                found = np.zeros_like(given)
                for part in each.parts:
                    found[:, part.to] = given[:, part.of] @ part.matrix.T
                out[each.target] = found
        return out


def motion_mirror(mechanism: Mechanism, normal: Array | None = None) -> MotionMirror:
    """Compute the mirroring of a mechanism's motions.

    The report lists the pairs that were found by name, joints without a counterpart, and joints that are mirrored
    approximately because their axes are no mirror images of each other.

    Args:
        mechanism: The mechanism.
        normal: Normal (3,) of the mirror plane; None: the mechanism's own plane.
    """
    sides = find_sides(mechanism, normal)
    frames = joint_frames_world(mechanism)
    every = joint_by_id(mechanism)
    heights = {key: sides.plane.height(frame[:3, 3]) for key, frame in frames.items()}
    out = MotionMirror(sides, {}, heights)
    bodies = body_by_id(mechanism)
    rough: dict[str, float] = {}
    lone = []
    for joint in mechanism.joints:
        if not (joint.dofs and joint.active):
            continue
        other = every[sides.joints.get(joint.id, joint.id)]
        swapped = mirror_joint_ends(joint, other, sides.bodies, bodies, sides.plane)[1]
        with np.errstate(over="ignore", invalid="ignore"):  # positions may be as large as floats allow
            reflected = inverse(frames[other.id]) @ sides.plane.reflection @ frames[joint.id]
        parts, nearest = match_dofs(joint, other, reflected, swapped)
        if not parts:
            lone.append(joint.name or joint.id)
            continue
        if nearest < _EXACT_COSINE:
            rough[joint.name or joint.id] = float(np.degrees(np.arccos(nearest)))
        out.joints[joint.id] = JointMirror(joint.id, other.id, parts)
    _report_mirror(out, every, lone, rough)
    return out


def _report_mirror(
    mirror: MotionMirror, every: Mapping[str, Joint], lone: list[str], rough: Mapping[str, float]
) -> None:
    named = [key for key in mirror.joints_on_side(positive=False) if key in mirror.sides.named]
    if named:
        pairs = [f"{every[key].name} / {every[mirror.sides.joints[key]].name}" for key in named]
        mirror.report.info(
            "mirror-by-name",
            Message("Twins found by name: {} ({})", count_with_noun(len(pairs), "pair"), abbreviate_names(pairs)),
        )
    if not mirror.sides.joints:
        mirror.report.warn(
            "mirror-no-sides",
            "Sides unknown: no joint has a twin or a side in its name. All joints are mirrored onto themselves",
        )
    if lone:
        mirror.report.warn("mirror-alone", Message("Joints without a twin are unchanged: {}", abbreviate_names(lone)))
    if rough:
        worst = max(rough.values())
        mirror.report.warn(
            "mirror-rough",
            Message(
                "Mirrored approximately, axes up to {}° from mirror images: {}", f"{worst:.0f}", abbreviate_names(rough)
            ),
        )


def mirror_joint_ends(
    joint: Joint, twin: Joint | None, body_twins: Mapping[str, str], bodies: Mapping[str, Body], plane: Plane
) -> tuple[tuple[str | None, str | None], bool]:
    """Find the bodies that the mirror image of a joint connects, and whether the twin has them in reverse order.

    The image of a body with a twin is the twin. The image of one without is the body in its place at the joint's twin,
    if that has no twin either and is nearer to the mirror image than the body is itself, else itself.

    Args:
        joint: The joint.
        twin: Its twin, or None.
        body_twins: Twins of bodies, by id.
        bodies: The bodies that the two joints connect, by id.
        plane: The mirror plane.

    Returns:
        The images of the joint's parent and child, and whether the twin's parent is the image of the child.
    """
    swapped = twin is not None and _is_swapped(joint, twin, body_twins, bodies, plane)
    its = (None, None) if twin is None else (twin.child, twin.parent) if swapped else (twin.parent, twin.child)

    def image(end: str | None, there: str | None) -> str | None:
        if end is None or end in body_twins:
            return body_twins[end] if end is not None else None
        return end if there is None or there in body_twins or not is_nearer(there, end) else there

    def is_nearer(there: str, end: str) -> bool:
        if there == end or there not in bodies or end not in bodies:
            return True
        own, other = (body_center(bodies[each]) for each in (end, there))
        with np.errstate(over="ignore", invalid="ignore"):
            image = plane.mirror_points(own)
            return bool(np.linalg.norm(image - other) < np.linalg.norm(image - own))

    return (image(joint.parent, its[0]), image(joint.child, its[1])), swapped


def _is_swapped(
    joint: Joint, other: Joint, body_twins: Mapping[str, str], bodies: Mapping[str, Body], plane: Plane
) -> bool:
    """Return whether the counterpart has its bodies in reverse order: its parent is the image of the joint's child."""
    parent, child = (body_twins.get(end, end) if end is not None else None for end in joint.ends)
    if (parent, child) == (other.parent, other.child):
        return False
    if (child, parent) == (other.parent, other.child):
        return True
    if parent == other.parent or child == other.child:
        return False
    if child == other.parent or parent == other.child:
        return True
    found = [bodies.get(end or "") for end in (joint.parent, joint.child, other.parent, other.child)]
    at = [body_center(body) for body in found if body is not None]
    if len(at) < len(found):
        return False
    ends = [plane.mirror_points(position) for position in at[:2]]
    straight = np.linalg.norm(ends[0] - at[2]) + np.linalg.norm(ends[1] - at[3])
    crossed = np.linalg.norm(ends[1] - at[2]) + np.linalg.norm(ends[0] - at[3])
    return bool(crossed < straight)


@dataclass(frozen=True, eq=False)
class _DofAxis:
    """Degree of freedom with the indices of its values and its axis, mapped to the counterpart's frame."""

    dof: Dof
    indices: tuple[int, ...]
    axis: Array


def match_dofs(joint: Joint, other: Joint, reflected: Array, swapped: bool) -> tuple[tuple[DofMap, ...], float]:
    """Compute the mapping from a joint's values to its counterpart's.

    Args:
        joint: The joint.
        other: Its counterpart.
        reflected: The joint's reflected frame (4, 4) relative to the counterpart's.
        swapped: The counterpart has its bodies in reverse order.

    Returns:
        The parts, and the least cosine between an axis' mirror image and the counterpart's axis; no parts where a
        coordinate has no counterpart.
    """
    turn = reflected[:3, :3]
    sense = -1.0 if swapped else 1.0
    mine = [
        _DofAxis(s.dof, s.indices, sense * (turn if s.dof.kind == "translation" else -turn) @ s.axis)
        for s in _dof_axes(joint)
    ]
    its = _dof_axes(other)
    if swapped:
        mine.reverse()
    matched = _pair_dofs(mine, its)
    if matched is None:
        return (), 0.0
    parts, nearest = [], 1.0
    for step, its_step in matched:
        kind = step.dof.kind
        if kind in {"ball", "free"}:
            matrix = np.zeros((DOF_SIZE[kind],) * 2)
            matrix[:3, :3] = -sense * turn
            if kind == "free":
                if swapped or np.abs(reflected[:3, 3]).max() > _UNIT_TOLERANCE:
                    return (), 0.0  # the mapping would not be linear
                matrix[3:, 3:] = turn
            matrix[np.abs(matrix) < _UNIT_TOLERANCE] = 0.0
        else:
            along = float(step.axis @ its_step.axis)
            nearest = min(nearest, abs(along))
            matrix = np.array([[np.sign(along)]])
        parts.append(DofMap(kind, step.indices, its_step.indices, matrix))
    return tuple(sorted(parts, key=lambda part: part.of)), nearest


def unit_axis(axis: Array) -> Array:
    """Normalize an axis (3,); zero vectors, which occur in files, stay zero."""
    return np.asarray(axis, dtype=np.float64) / (float(np.linalg.norm(axis)) or 1.0)


def _dof_axes(joint: Joint) -> list[_DofAxis]:
    return [_DofAxis(dof, (*range(own.start, own.stop),), unit_axis(dof.axis)) for dof, own in dof_slices(joint.dofs)]


def _pair_dofs(mine: list[_DofAxis], its: list[_DofAxis]) -> list[tuple[_DofAxis, _DofAxis]] | None:
    """Match degrees of freedom: in their order where the axes allow it, else each with the one most nearly parallel."""
    if len(mine) != len(its):
        return None
    if all(_axis_similarity(a, b) >= _MIN_COSINE for a, b in zip(mine, its, strict=True)):
        return list(zip(mine, its, strict=True))
    left = list(its)
    out = []
    for step in mine:
        best = max(left, key=lambda each: _axis_similarity(step, each))
        if _axis_similarity(step, best) < _MIN_COSINE:
            return None
        left.remove(best)
        out.append((step, best))
    return out


def _axis_similarity(one: _DofAxis, other: _DofAxis) -> float:
    if one.dof.kind != other.dof.kind:
        return 0.0
    if one.dof.kind == "screw" and abs(one.dof.pitch + other.dof.pitch) > _UNIT_TOLERANCE * abs(one.dof.pitch):
        return 0.0  # the mirror image of a right-handed screw is left-handed
    return 1.0 if one.dof.kind in {"ball", "free"} else abs(float(one.axis @ other.axis))


def is_signed_permutation(matrix: Array) -> bool:
    """Return whether a part's matrix maps each coordinate to a single one, with either sign."""
    return bool((np.abs(np.abs(matrix).max(axis=1) - 1.0) < _UNIT_TOLERANCE).all())


def mirror_values(values: Array, parts: Iterable[DofMap], size: int) -> Array:
    """Return the values (size,) of a joint's twin that are the mirror image of the joint's values."""
    out = np.zeros(size)
    for part in parts:
        out[list(part.to)] = part.matrix @ values[list(part.of)]
    return out
