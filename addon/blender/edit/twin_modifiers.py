"""Modifiers of twins: mirror images of those on their mates, as far as a modifier has one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import bpy
import numpy as np

from ...core.model import Array

#: What a modifier is beside its settings.
_NOT_SETTINGS = {"rna_type", "name", "type", "is_active", "is_override_data", "execution_time", "persistent_uid"}


def put_modifiers(obj: bpy.types.Object, mate: bpy.types.Object, flip: Array) -> list[str]:
    """Make the modifiers of a twin, whose axes are reflected by ``flip`` (3, 3), the mirror images of its mate's.

    Returns:
        The names of those that are not mirrored: of a type that is not known here, or that depend on other objects. The
        twin keeps what it has of these.
    """
    if not (len(obj.modifiers) or len(mate.modifiers)):
        return []
    wanted = {modifier.name: modifier for modifier in obj.modifiers}
    for its in list(mate.modifiers):
        if its.name not in wanted or its.type != wanted[its.name].type:
            mate.modifiers.remove(its)
    left_out = []
    for number, (name, own) in enumerate(wanted.items()):
        if not _is_known(own):
            left_out.append(name)
        elif name not in mate.modifiers:
            mate.modifiers.new(name, own.type)
        at = mate.modifiers.find(name)
        if _is_known(own):
            _copy(own, mate.modifiers[at])
            _IMAGES[own.type](own, mate.modifiers[at], flip)
        if at >= 0:
            mate.modifiers.move(at, min(number, len(mate.modifiers) - 1))
    return left_out


def _is_known(modifier: bpy.types.Modifier) -> bool:
    """Return whether the mirror image of a modifier is known: it is of a known type, and nothing beside its object's
    mesh and its own numbers tells what it does."""
    settings = (getattr(modifier, name) for name in _settings(modifier))
    return modifier.type in _IMAGES and not any(isinstance(value, bpy.types.ID) for value in settings)


def _settings(modifier: bpy.types.Modifier) -> list[str]:
    return [each.identifier for each in modifier.bl_rna.properties if each.identifier not in _NOT_SETTINGS]


def _copy(own: bpy.types.Modifier, its: bpy.types.Modifier) -> None:
    """Give a modifier the settings of another; what hides behind a setting, as a curve, stays."""
    for name in _settings(own):
        value, rna = getattr(own, name), own.bl_rna.properties[name]
        if rna.is_readonly or rna.type in {"POINTER", "COLLECTION"}:
            continue
        value = value[:] if getattr(rna, "is_array", False) else value
        now = getattr(its, name)
        if (now[:] if getattr(rna, "is_array", False) else now) != value:
            setattr(its, name, value)


# ---------------------------------------------------------------- what a reflection makes of settings


def _same(_own: Any, _its: Any, _flip: Array) -> None:
    """It does the same to both hands."""


def _axes(flip: Array) -> list[tuple[int, float]]:
    """Return which axis of the twin is the image of each axis, and with which sign."""
    return [(at := int(np.abs(row).argmax()), float(np.sign(row[at]))) for row in flip]


def _mirror(own: Any, its: Any, flip: Array) -> None:
    """Planes go with their axes; of an axis that is turned round the other side is cut off."""
    for axis, (image, sign) in enumerate(_axes(flip)):
        its.use_axis[image], its.use_bisect_axis[image] = own.use_axis[axis], own.use_bisect_axis[axis]
        its.use_bisect_flip_axis[image] = own.use_bisect_flip_axis[axis] != (sign < 0.0)


def _array(own: Any, its: Any, flip: Array) -> None:
    for name in ("relative_offset_displace", "constant_offset_displace"):
        setattr(its, name, (flip.T @ np.array(getattr(own, name)) + 0.0).tolist())


def _smooth(own: Any, its: Any, flip: Array) -> None:
    for axis, (image, _sign) in enumerate(_axes(flip)):
        setattr(its, f"use_{'xyz'[image]}", getattr(own, f"use_{'xyz'[axis]}"))


def _decimate(own: Any, its: Any, flip: Array) -> None:
    its.symmetry_axis = "XYZ"[_axes(flip)["XYZ".index(own.symmetry_axis)][0]]


_IMAGES: Mapping[str, Callable[[Any, Any, Array], None]] = {
    **dict.fromkeys(
        ("BEVEL", "EDGE_SPLIT", "REMESH", "SOLIDIFY", "SUBSURF", "TRIANGULATE", "WEIGHTED_NORMAL", "WELD", "WIREFRAME"),
        _same,
    ),
    "ARRAY": _array,
    "DECIMATE": _decimate,
    "MIRROR": _mirror,
    "LAPLACIANSMOOTH": _smooth,
    "SMOOTH": _smooth,
}
