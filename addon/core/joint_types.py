"""Joint types that users choose from, and the degrees of freedom of each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .model import DOF_SIZE, Array, Dof
from .transforms import rotation_with_z

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
