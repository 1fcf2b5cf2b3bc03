"""Where things of the scene are in a model's design: from where bodies carry them now to where all joints are at 0."""

from __future__ import annotations

import bpy
import numpy as np
from mathutils import Matrix

from ...model.records import Array


def to_design(rig: bpy.types.Object, body: bpy.types.Object | None, place: Matrix) -> Array:
    """Where a place in the world is in the model's design, (4, 4), carried by a body as it stands now; None: by the
    world."""
    if body is None:
        return rigid(rig.matrix_world.inverted() @ place)
    return rigid(body.matrix_basis.normalized() @ body.matrix_world.normalized().inverted() @ place)


def rigid(matrix: Matrix) -> Array:
    """A matrix without its scale, (4, 4)."""
    place, turn, _scale = matrix.decompose()
    return np.array(Matrix.Translation(place) @ turn.to_matrix().to_4x4(), dtype=np.float64)
