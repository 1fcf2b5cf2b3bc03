"""One twin made alike to the other after that was edited: moved, turned and resized as its mirror image."""

from __future__ import annotations

import bpy
import numpy as np
from mathutils import Matrix

from ...core.editing.twins import flip_between, image_of
from ...core.model import Array, Plane
from ..data.access import record_of
from .places import rigid


def was_edited(obj: bpy.types.Object) -> bool:
    """Return whether a part was moved, turned, resized or renamed since its twin was made alike."""
    record = record_of(obj)
    return record.seen != obj.matrix_basis or obj.name != record.seen_name


def make_alike(obj: bpy.types.Object, mate: bpy.types.Object, plane: Plane) -> None:
    """Have a twin stand and grow as its mate did since the two were made alike. Their names are another matter."""
    before, twin = record_of(obj).seen.copy(), mate.matrix_basis
    if obj.matrix_basis == before:
        return
    flip = flip_between(rigid(before), rigid(twin), plane)
    size = _size_of_twin(before, obj.matrix_basis, twin, np.abs(flip).T)
    image = Matrix(image_of(rigid(obj.matrix_basis), plane, flip).tolist())
    mate.matrix_basis = image @ Matrix.Diagonal((*size.tolist(), 1.0))


def _size_of_twin(before: Matrix, now: Matrix, twin: Matrix, axes: Array) -> Array:
    """The scale (3,) of a twin that grows as its mate does; of one that was flat, its mate's own."""
    scales = [np.array(matrix.to_scale()) for matrix in (before, now, twin)]
    was, own, its = axes @ scales[0], axes @ scales[1], scales[2]
    flat = (was == 0.0) | (its == 0.0)
    return np.where(flat, own, its * own / np.where(flat, 1.0, was))
