"""Joint types that users choose from, the degrees of freedom of each, and joint values in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .model import DOF_SIZE, Array, Dof
from .transforms import rotation_vector, rotation_with_z

_X, _Y, _Z = np.eye(3)


def _rotation_dof(axis: np.ndarray) -> Dof:
    return Dof("rotation", axis.copy())


def _translation_dof(axis: np.ndarray) -> Dof:
    return Dof("translation", axis.copy())


_DOFS_BY_TYPE: dict[str, Callable[[], list[Dof]]] = {
    "revolute": lambda: [_rotation_dof(_Z)],
    "prismatic": lambda: [_translation_dof(_Z)],
    "cylindrical": lambda: [_translation_dof(_Z), _rotation_dof(_Z)],
    "screw": lambda: [Dof("screw", _Z.copy(), pitch=0.01)],
    "universal": lambda: [_rotation_dof(_Z), _rotation_dof(_X)],
    "euler": lambda: [_rotation_dof(_Z), _rotation_dof(_Y), _rotation_dof(_X)],
    "ball": lambda: [Dof("ball", _Z.copy())],
    "planar": lambda: [_translation_dof(_X), _translation_dof(_Y), _rotation_dof(_Z)],
    "translational": lambda: [_translation_dof(_X), _translation_dof(_Y), _translation_dof(_Z)],
    "weld": list,
    "free": lambda: [Dof("free", _Z.copy())],
}
JOINT_TYPES = tuple(_DOFS_BY_TYPE)


def make_dofs(type_: str) -> list[Dof]:
    """Create the degrees of freedom of a joint type.

    Z of the joint frame is the main axis: hinges rotate about it, sliders move along it, planes are perpendicular to
    it.

    Raises:
        ValueError: The name is none of ``JOINT_TYPES``.
    """
    if type_ not in _DOFS_BY_TYPE:
        raise ValueError(f"Joint type {type_!r} does not exist. Choose one of {', '.join(JOINT_TYPES)}")
    return _DOFS_BY_TYPE[type_]()


def convert_dofs(dofs: list[Dof], type_: str) -> list[Dof]:
    """Return the degrees of freedom of a joint that is changed to another type.

    Its main axis stays where it is: a hinge about X becomes a cylindrical joint along X. New dofs take over motor,
    stops, springs and initial position from old ones of the same kind: first from those with the same axis, then in
    their order.
    """
    out = make_dofs(type_)
    if [dof.kind for dof in out] == [dof.kind for dof in dofs] and len(out) < 2:
        return list(dofs)
    turn = rotation_with_z(_main_axis(dofs))
    for dof in out:
        if DOF_SIZE[dof.kind] == 1:
            dof.axis = turn @ dof.axis
    left, places = list(dofs), list(range(len(out)))
    for is_like in (_share_axis, lambda old, dof: True):
        for number in list(places):
            dof = out[number]
            like = next((old for old in left if old.kind == dof.kind and is_like(old, dof)), None)
            if like is not None:
                left = [old for old in left if old is not like]
                places.remove(number)
                out[number], like.axis = like, dof.axis
    return out


def _share_axis(one: Dof, other: Dof) -> bool:
    return DOF_SIZE[one.kind] > 1 or float(one.axis @ other.axis) > 1.0 - 1e-6


def _main_axis(dofs: list[Dof]) -> Array:
    """Return the main axis of a joint, (3,) in its frame, which becomes Z of ``make_dofs``.

    It is the axis of the first rotation; of a single translation that one, of two the perpendicular to both, else Z.
    """
    turns = [dof.axis for dof in dofs if dof.kind in {"rotation", "screw"}]
    slides = [dof.axis for dof in dofs if dof.kind == "translation"]
    if turns:
        return turns[0]
    if len(slides) == 1:
        return slides[0]
    across = np.cross(slides[0], slides[1]) if len(slides) == 2 else _Z
    return across if np.linalg.norm(across) > 1e-9 else _Z


# ---------------------------------------------------------------- joint values in closed form

#: Axes that deviate from a right angle by this cosine have no closed form here.
_ORTHOGONAL_TOLERANCE = 1e-7


@dataclass(frozen=True)
class ClosedForm:
    """Joint values in closed form, of a joint or of several (n) whose degrees of freedom have the same kinds.

    Attributes:
        kinds: The kinds.
        basis: Axes (3, 3) or (n, 3, 3), as columns, about which the first, second and third rotation are.
        sense: Sign of the third rotation, one or (n,).
        along: Pseudoinverse (slides, 3) or (n, slides, 3) of the translations' axes.
    """

    kinds: tuple[str, ...]
    basis: Array
    sense: Array
    along: Array

    def __call__(self, motion: Array) -> Array:
        """Return the joint values (..., size) of motions (..., 4, 4) of the joint, or of motions (..., n, 4, 4)."""
        turn = motion[..., :3, :3]
        if self.kinds == ("ball",):
            return rotation_vector(turn)
        turns = [kind == "rotation" for kind in self.kinds]
        slides = [not turning for turning in turns]
        out = np.empty((*motion.shape[:-2], len(turns)))
        out[..., slides] = np.einsum("...ij,...j->...i", self.along, motion[..., :3, 3])
        angles = _euler_angles(np.swapaxes(self.basis, -1, -2) @ turn @ self.basis, sum(turns))
        if len(angles) == 3:
            angles[2] = self.sense * angles[2]
        for place, angle in zip(np.flatnonzero(turns).tolist(), angles, strict=True):
            out[..., place] = angle
        return out

    @classmethod
    def joined(cls, forms: Sequence[ClosedForm]) -> ClosedForm:
        """Return those of several joints, whose degrees of freedom have the same kinds, as one."""
        basis, sense, along = (
            np.array([getattr(form, name) for form in forms]) for name in ("basis", "sense", "along")
        )
        return cls(forms[0].kinds, basis, sense, along)


def closed_form_coordinates(dofs: Sequence[Dof]) -> ClosedForm | None:
    """Return the closed form of a joint's values; None if there is none.

    There is one for perpendicular rotations, and translations that no rotation before them turns, and for a ball. The
    middle angle of three rotations is within a quarter turn.
    """
    return _closed_form(tuple(dof.kind for dof in dofs), tuple(tuple(map(float, dof.axis)) for dof in dofs))


@lru_cache(maxsize=512)  # joints are collected several times for a simulation, and many have the same axes
def _closed_form(kinds: tuple[str, ...], directions: tuple[tuple[float, ...], ...]) -> ClosedForm | None:
    if kinds == ("ball",):
        return ClosedForm(kinds, np.eye(3), np.array(1.0), np.zeros((0, 3)))
    if not kinds or not set(kinds) <= {"rotation", "translation"}:
        return None
    axes = np.array(directions, dtype=np.float64)
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    turns = [k for k, kind in enumerate(kinds) if kind == "rotation"]
    slides = [k for k, kind in enumerate(kinds) if kind == "translation"]
    if any(
        turn < slide and abs(axes[turn] @ axes[slide]) < 1.0 - _ORTHOGONAL_TOLERANCE
        for turn in turns
        for slide in slides
    ):
        return None
    lines = axes[turns]
    if len(turns) > 3 or any(
        abs(a @ b) > _ORTHOGONAL_TOLERANCE for number, a in enumerate(lines) for b in lines[number + 1 :]
    ):
        return None
    basis, sense = _rotation_basis(lines)
    along = np.linalg.pinv(axes[slides].T) if slides else np.zeros((0, 3))
    return ClosedForm(kinds, basis, np.array(sense), along)


def _rotation_basis(lines: Array) -> tuple[Array, float]:
    """Return axes (3, 3) as columns in which the rotations are about X, Y and Z, and the sign of the one about Z."""
    if not len(lines):
        return np.eye(3), 1.0
    first = lines[0]
    helper = lines[1] if len(lines) > 1 else np.eye(3)[int(np.argmin(np.abs(first)))]
    second = helper - (helper @ first) * first
    second /= np.linalg.norm(second)
    third = np.cross(first, second)
    return np.stack([first, second, third], axis=1), math.copysign(1.0, third @ lines[2]) if len(lines) > 2 else 1.0


def _euler_angles(turn: Array, count: int) -> list[Array]:
    """Return the first ``count`` angles (...) in rad of rotations (..., 3, 3) about X, then Y, then Z."""
    x, y, z = np.moveaxis(turn, (-2, -1), (0, 1))
    if count < 2:
        return [np.arctan2(z[1] - y[2], y[1] + z[2])][:count]
    if count == 2:
        return [np.arctan2(z[1], y[1]), np.arctan2(x[2], x[0])]
    return [np.arctan2(-y[2], z[2]), np.arcsin(np.clip(x[2], -1.0, 1.0)), np.arctan2(-x[1], x[0])]
