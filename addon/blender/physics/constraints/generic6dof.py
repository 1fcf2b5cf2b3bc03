"""Joints with several degrees of freedom, their motors, stops and springs, as Blender's generic constraint.

The constraint translates along the axes of its first body's side, here the parent's, and rotates about Z of the first
body's side, then Y, then X of the second's: the axis order of a joint's empty. All values count from the pose in which
a simulation begins, translations as in the mechanism and rotations the other way round, as measured.

Note:
    Blender's motor (Bullet's ``btGeneric6DofConstraint``) turns about X of the empty on its second body, made
    perpendicular to Z of the empty on its first: that axis moves with both bodies, as measured. With X on the first
    axis of a joint, carried by the parent, and Z on its last, carried by the child, the motor is perpendicular to all
    axes but its own, and moves only its own joint value, like a motor between two rings of a gimbal; the other way
    round for the last axis. X and Z of an empty are perpendicular: where those axes are not when a simulation begins,
    X is adjusted. The middle axis of three has no such motor: its motor gets the component of the wanted rotation
    about its axis. So do those of a ball, which has two about each axis of its frame, of which three are used at a
    time: those farthest from one plane and from becoming undefined. A motor translates along X of the empty on its
    first body.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import combinations
from typing import Any, NamedTuple, cast

import bpy
import numpy as np
from numpy.typing import NDArray

from ....core.model import DOF_SIZE, Array, Dof, DofKind
from ....core.transforms import rotation_matrix, rotation_with_z
from ...data.access import record_of
from ...data.conversion import has_spring_or_damper, initial_dof_coordinates, read_dofs, read_stops
from ...data.properties.joint import KnuckleJoint
from ...rig.joint_frames import constraint_rotation
from ..world.scale import model_scale

#: Sine below which a motor's axis counts as undefined, near a singular pose: it gets no command there.
_MIN_SINE = 0.05


@dataclass(frozen=True)
class MotorAxis:
    """Motor of a joint, in the joint's frame on its parent when a simulation begins.

    ``number`` is the index of its joint value; ``by_child``: X moves with the child (and Z with the parent), else the
    other way round.
    """

    number: int
    turns: bool
    by_child: bool
    x: Array
    z: Array

    @property
    def child_first(self) -> bool:
        """True if the child is the constraint's first body."""
        return self.by_child != self.turns

    def frame(self) -> Array:
        """Return the axes (3, 3) of its empty as columns.

        For rotations, Z is exact and X as near as that allows, so that it is perpendicular to the other axis in every
        pose; for translations X is exact.
        """
        kept, other = (self.z, self.x) if self.turns else (self.x, self.z)
        kept = kept / np.linalg.norm(kept)
        across = other - (other @ kept) * kept
        long = float(np.linalg.norm(across))
        across = rotation_with_z(kept)[:, 0] if long < 1e-3 else across / long
        x, z = (across, kept) if self.turns else (kept, across)
        return np.stack([x, np.cross(z, x), z], axis=1)


def has_motor_axes(dofs: Sequence[Dof]) -> bool:
    """Return whether motors can drive a joint with several degrees of freedom.

    It may have translations with up to three rotations, or translations and then a ball. A lone hinge or slider has a
    motor of its own already.
    """
    kinds = [dof.kind for dof in dofs]
    if kinds in ([], ["rotation"], ["translation"]) or not set(kinds) <= {"rotation", "translation", "ball"}:
        return False
    if "ball" in kinds:
        return kinds.count("ball") == 1 and "rotation" not in kinds and kinds[-1] == "ball"
    return kinds.count("rotation") <= 3


def has_fixed_axes(dofs: Sequence[Dof]) -> bool:
    """Return whether a joint has only translations and up to three rotations: no balls, no screws."""
    kinds = [dof.kind for dof in dofs]
    return bool(kinds) and set(kinds) <= {"rotation", "translation"} and kinds.count("rotation") <= 3


def dof_directions(dofs: Sequence[Dof], values: Array) -> Array:
    """Return the directions (..., size, 3) of the motions of joint values, in the joint's frame on the parent.

    Args:
        dofs: The degrees of freedom.
        values: Joint values (..., size).

    Returns:
        Direction of each translation, axis of each rotation; for a ball the three axes of its frame.
    """
    return motion_directions([dof.kind for dof in dofs], dof_axes(dofs), values)


def dof_axes(dofs: Sequence[Dof]) -> Array:
    """Return the unit axes (dofs, 3) of degrees of freedom in the joint's frame; any for a ball."""
    axes = np.array([dof.axis for dof in dofs], dtype=np.float64).reshape(-1, 3)
    return axes / np.maximum(np.sqrt((axes**2).sum(axis=1)), 1e-30)[:, None]


def motion_directions(kinds: Sequence[DofKind], axes: Array, values: Array) -> Array:
    """Return the directions (..., size, 3) as ``dof_directions`` does, of joints with axes of their own.

    Args:
        kinds: Kinds (dofs) of the degrees of freedom.
        axes: Unit axes (..., dofs, 3).
        values: Joint values (..., size).
    """
    out, turned, at = np.zeros((*values.shape, 3)), None, 0
    for number, kind in enumerate(kinds):
        size, axis = DOF_SIZE[kind], axes[..., number, :]
        if kind == "ball":
            out[..., at : at + size, :] = np.eye(3) if turned is None else turned
        else:
            out[..., at, :] = axis if turned is None else np.einsum("...ij,...j->...i", turned, axis)
        if kind == "rotation" and number + 1 < len(kinds):
            own = rotation_matrix(axis * values[..., at, None])
            turned = own if turned is None else turned @ own
        at += size
    return out


def motor_axes(dofs: Sequence[Dof], values: Array) -> list[MotorAxis]:
    """Return the motors of a joint in the order of its joint values; two for each of a ball's.

    Args:
        dofs: The degrees of freedom.
        values: Initial joint values (size,).
    """
    axes = dof_directions(dofs, values)
    if dofs[-1].kind == "ball":
        slides = [MotorAxis(k, False, False, axes[k], rotation_with_z(axes[k])[:, 0]) for k in range(len(axes) - 3)]
        ball = axes[len(slides) :]
        pairs = [(k, (k + way) % 3) for k in range(3) for way in (1, 2)]
        return slides + [MotorAxis(len(slides) + k, True, False, ball[k], ball[other]) for k, other in pairs]
    turns = [k for k, dof in enumerate(dofs) if dof.kind == "rotation"]
    out = []
    for number, dof in enumerate(dofs):
        across = rotation_with_z(axes[number])[:, 0]
        if dof.kind == "translation":
            carried = any(turn < number for turn in turns)
            out.append(MotorAxis(number, False, carried, axes[number], across))
        elif len(turns) == 1:
            out.append(MotorAxis(number, True, False, axes[number], across))
        else:
            last = number == turns[-1]
            other = turns[0] if last else turns[-1]
            out.append(MotorAxis(number, True, last, axes[number], axes[other]))
    return out


def most_independent(directions: Array) -> NDArray[np.intp]:
    """Return the indices (..., 3) of the three directions, of (..., m, 3), that span the largest volume."""
    threes = _index_triples(directions.shape[-2])
    first, second, third = (directions[..., threes[:, k], :] for k in range(3))
    across = second[..., [1, 2, 0]] * third[..., [2, 0, 1]] - second[..., [2, 0, 1]] * third[..., [1, 2, 0]]
    return threes[np.abs((first * across).sum(axis=-1)).argmax(axis=-1)]


@cache
def _index_triples(count: int) -> NDArray[np.intp]:
    return np.array(list(combinations(range(count), 3)), dtype=np.intp)


def motor_torque_axis(x: Array, z: Array) -> Array:
    """Return the axes (..., 3) of motors with these X and Z, times the sine of their angle; zero if parallel."""
    across = x - (x * z).sum(axis=-1, keepdims=True) * z
    return np.where((across**2).sum(axis=-1, keepdims=True) < _MIN_SINE**2, 0.0, across)


#: Component (sine) of an axis along one of the constraint's from which that one has to be free.
_ALIGNMENT_TOLERANCE = 1e-3
#: Limits (rad, m) that mean none: Blender measures angles within half a turn.
HALF_TURN = math.pi - 1e-3
UNLIMITED_DISTANCE = 1e6
#: Joint values (rad or m) that count as zero.
_ZERO_TOLERANCE = 1e-4
_LETTERS = "xyz"


@dataclass(frozen=True)
class AlignedDof:
    """Degree of freedom with one of the empty's axes for itself.

    ``sign`` converts its joint value to Blender's, the parent being the first body.
    """

    number: int
    kind: str  # "lin" or "ang"
    letter: str
    sign: float

    @property
    def name(self) -> str:
        """Name of the axis in Blender's limit properties."""
        return f"{self.kind}_{self.letter}"

    @property
    def spring(self) -> str:
        """Name of the axis in Blender's spring properties."""
        return self.letter if self.kind == "lin" else self.name


class _DofKey(NamedTuple):
    """Kind and axis of a degree of freedom, as a hashable key."""

    kind: DofKind
    axis: tuple[float, float, float]


class _JointKey(NamedTuple):
    """Degrees of freedom of a joint as a hashable key: many joints of a mechanism have the same."""

    dofs: tuple[_DofKey, ...]


def _joint_key(joint: KnuckleJoint) -> _JointKey:
    return _JointKey(tuple(_DofKey(dof.kind, tuple(dof.axis)) for dof in joint.dofs))  # type: ignore[arg-type]


def aligned_dofs(joint: KnuckleJoint) -> Sequence[AlignedDof]:
    """Return the degrees of freedom of a joint that are alone on an axis of its empty."""
    return _aligned_dofs(_joint_key(joint))


@lru_cache(maxsize=256)
def _aligned_dofs(joint: _JointKey) -> tuple[AlignedDof, ...]:
    turn = constraint_rotation(joint)
    found: dict[str, list[AlignedDof]] = {}
    for number, dof in enumerate(joint.dofs):
        if dof.kind not in {"rotation", "translation"}:
            continue
        axis = np.array(dof.axis, dtype=np.float64)
        axis = (axis if turn is None else axis @ turn[:3, :3]) / np.linalg.norm(axis)
        along = int(np.argmax(np.abs(axis)))
        if 1.0 - abs(axis[along]) < _ALIGNMENT_TOLERANCE**2:
            kind = "ang" if dof.kind == "rotation" else "lin"
            line = AlignedDof(
                number, kind, _LETTERS[along], math.copysign(1.0, axis[along] * (-1 if kind == "ang" else 1))
            )
            found.setdefault(line.name, []).append(line)
    return tuple(lines[0] for lines in found.values() if len(lines) == 1)


def axis_lock_settings(joint: KnuckleJoint) -> Mapping[str, Any]:
    """Return the properties of a constraint that lock every axis along or about which a joint does not move."""
    return _axis_lock_settings(_joint_key(joint))


@lru_cache(maxsize=256)
def _axis_lock_settings(joint: _JointKey) -> Mapping[str, Any]:
    turn = constraint_rotation(joint)
    free: dict[str, Array] = {"lin": np.zeros(3, dtype=bool), "ang": np.zeros(3, dtype=bool)}
    for dof in joint.dofs:
        if dof.kind in {"ball", "free"}:
            free["ang"][:] = True
            free["lin"] |= dof.kind == "free"
            continue
        axis = np.array(dof.axis, dtype=np.float64)
        along = np.abs(axis if turn is None else axis @ turn[:3, :3]) > _ALIGNMENT_TOLERANCE * np.linalg.norm(axis)
        if dof.kind in {"rotation", "screw"}:
            free["ang"] |= along
        if dof.kind in {"translation", "screw"}:
            free["lin"] |= along
    return {
        name: value
        for kind, open_axes in free.items()
        for letter, is_open in zip(_LETTERS, open_axes, strict=True)
        for name, value in axis_limit_settings(f"{kind}_{letter}", None if is_open else (0.0, 0.0)).items()
    }


def axis_limit_settings(name: str, limit: tuple[float, float] | None) -> dict[str, Any]:
    """Return the properties of a constraint that limit an axis, or free it (None)."""
    if limit is None:
        return {f"use_limit_{name}": False}
    return {f"use_limit_{name}": True, f"limit_{name}_lower": limit[0], f"limit_{name}_upper": limit[1]}


def write_axis_limit(constraint: Any, name: str, limit: tuple[float, float] | None) -> None:
    """Limit an axis, or free it (None). Writes only differences: a write makes Blender discard its simulation."""
    for key, value in axis_limit_settings(name, limit).items():
        now = getattr(constraint, key)
        if now != value and abs(now - value) > 1e-6:
            setattr(constraint, key, value)


# ---------------------------------------------------------------- stops


def has_measurable_coordinates(joint: KnuckleJoint) -> bool:
    """Return whether Blender measures a joint's values as the mechanism does.

    That is so for translations, then up to three rotations or a ball, each on an axis of its own.
    """
    kinds = [dof.kind for dof in joint.dofs]
    if any(dof.use_lower or dof.use_upper for dof in joint.parts):
        return False
    blocks = [kind for kind in kinds if DOF_SIZE[kind] > 1]
    if blocks and (blocks != ["ball"] or kinds[-1] != "ball" or "rotation" in kinds):
        return False
    lines = {line.number: line for line in aligned_dofs(joint)}
    if len(lines) + len(blocks) < len(kinds):
        return False
    turned: set[str] = set()
    for _number, line in sorted(lines.items()):
        if line.kind == "ang":
            turned.add(line.letter)
        elif turned - {line.letter}:
            return False
    return True


def are_stops_exact(joint: KnuckleJoint, values: Sequence[float]) -> bool:
    """Return whether the stops of a countable joint are exact in a simulation that begins at these joint values.

    Three rotations can be measured from a pose in which the middle one is zero; rotations after translations where the
    first one is.
    """
    turns = [number for number, dof in enumerate(joint.dofs) if dof.kind == "rotation"]
    if len(turns) == 3 and abs(values[turns[1]]) > _ZERO_TOLERANCE:
        return False
    return len(turns) < 2 or len(turns) == len(joint.dofs) or abs(values[turns[0]]) < _ZERO_TOLERANCE


def initial_motion(joint: KnuckleJoint, values: Sequence[float]) -> Array:
    """Return the initial pose (4, 4) of a joint's empty relative to its design pose, in the joint's frame.

    It is displaced by the translations; with several rotations and no translations it is rotated by the first of them,
    which carries the axes of the others along.
    """
    out = np.eye(4)
    axes = [np.array(dof.axis, dtype=np.float64) for dof in joint.dofs]
    turns = [number for number, dof in enumerate(joint.dofs) if dof.kind == "rotation"]
    for number, dof in enumerate(joint.dofs):
        if dof.kind == "translation":
            out[:3, 3] += axes[number] * values[number]
    if len(turns) > 1 and len(turns) == len(joint.dofs):
        out[:3, :3] = rotation_matrix(axes[turns[0]] * values[turns[0]])
    return out


def write_multi_dof_stops(
    constraint: bpy.types.RigidBodyConstraint, joint: KnuckleJoint, values: Sequence[float]
) -> None:
    """Set the stops of a countable joint with several degrees of freedom, relative to its initial joint values."""
    for line in aligned_dofs(joint):
        lower, upper = read_stops(joint.dofs[line.number])
        if lower is None and upper is None:
            write_axis_limit(constraint, line.name, None)
            continue
        far, start = HALF_TURN if line.kind == "ang" else UNLIMITED_DISTANCE, values[line.number]
        size = 1.0 if line.kind == "ang" else model_scale(record_of(cast(bpy.types.Object, constraint.id_data)).model)
        low = -far if lower is None else max(size * (lower - start), -far)
        high = far if upper is None else min(size * (upper - start), far)
        write_axis_limit(constraint, line.name, (low, high) if line.sign > 0.0 else (-high, -low))


# ---------------------------------------------------------------- springs


def spring_settings(joint: KnuckleJoint, keep: bool = False) -> dict[str, Any]:
    """Return the properties of a constraint for a joint's own springs and dampers (per m or rad).

    Args:
        joint: The joint's record.
        keep: Leave the springs of other axes as they are.
    """
    stiffness_by_axis = dict(axis_springs(joint)) if has_spring_or_damper(joint) else {}
    values: dict[str, Any] = {}
    for name in (*_LETTERS, *(f"ang_{letter}" for letter in _LETTERS)):
        if name in stiffness_by_axis:
            values[f"use_spring_{name}"] = True
            values[f"spring_stiffness_{name}"], values[f"spring_damping_{name}"] = stiffness_by_axis[name]
        elif not keep:
            values[f"use_spring_{name}"] = False
    return values


def write_scaled_springs(constraint: Any, joint: KnuckleJoint, size: float) -> None:
    """Convert translational springs and dampers from the mechanism's own lengths to those of the world.

    Writes only differences.
    """
    for name, springs in axis_springs(joint) if constraint.type == "GENERIC_SPRING" else ():
        for kind, value in zip(("stiffness", "damping"), springs, strict=True):
            now = getattr(constraint, f"spring_{kind}_{name}")
            if name in _LETTERS and abs(now - value / size) > 1e-6 * value:
                setattr(constraint, f"spring_{kind}_{name}", value / size)


def has_unsupported_springs(joint: KnuckleJoint) -> bool:
    """Return whether a joint has springs on axes for which Blender's constraint has none."""
    put = {line.number for line in aligned_dofs(joint)} if has_spring_or_damper(joint) else set()
    return any(
        DOF_SIZE[dof.kind] == 1 and number not in put and (dof.stiffness > 0.0 or dof.damping > 0.0)
        for number, dof in enumerate(joint.dofs)
    )


def axis_springs(joint: KnuckleJoint) -> Iterator[tuple[str, tuple[float, float]]]:
    """Yield Blender's name of an axis with stiffness and damping (per m or rad)."""
    for line in aligned_dofs(joint):
        dof = joint.dofs[line.number]
        if dof.stiffness > 0.0 or dof.damping > 0.0:
            yield line.spring, (max(dof.stiffness, 0.0), max(dof.damping, 0.0))
    turn = constraint_rotation(joint)
    for dof in read_dofs(joint):
        yield from _block_springs(dof, np.eye(3) if turn is None else turn[:3, :3])


def _block_springs(dof: Dof, turn: Array) -> Iterator[tuple[str, tuple[float, float]]]:
    """Yield the springs of a ball or free joint along the empty's axes, the columns of ``turn`` (3, 3)."""
    for first in range(0, DOF_SIZE[dof.kind] if DOF_SIZE[dof.kind] > 1 else 0, 3):
        parts = dof.parts[first : first + 3] or [dof] * 3
        stiffness, damping = (
            np.einsum("kl,k->l", turn**2, np.maximum([getattr(part, name) for part in parts], 0.0))
            for name in ("stiffness", "damping")
        )
        for letter, pair in zip(_LETTERS, zip(stiffness, damping, strict=True), strict=True):
            if max(pair) > 0.0:
                yield f"ang_{letter}" if first == 0 else letter, (float(pair[0]), float(pair[1]))


def has_preloaded_springs(joint: KnuckleJoint) -> bool:
    """Return whether any spring of a joint is not at rest at its initial value."""
    pairs = (
        pair
        for dof, record in zip(read_dofs(joint), joint.dofs, strict=True)
        for pair in zip(dof.parts or [dof] * DOF_SIZE[dof.kind], initial_dof_coordinates(record), strict=True)
    )
    return any(part.stiffness > 0.0 and abs(part.rest - start) > _ZERO_TOLERANCE for part, start in pairs)


def needs_spring_motors(joint: KnuckleJoint) -> bool:
    """Return whether a joint with several degrees of freedom has springs that need motors."""
    kinds = [dof.kind for dof in joint.dofs]
    if kinds in (["rotation"], ["translation"]) or "free" in kinds or "screw" in kinds:
        return False
    if "ball" in kinds or has_unsupported_springs(joint):
        return has_spring_or_damper(joint)
    return any(dof.stiffness > 0.0 for dof in joint.dofs)
