"""Where things of the scene are in a model's design: from where bodies carry them now to where all joints are at 0."""

from __future__ import annotations

import bpy
import numpy as np
from mathutils import Matrix

from ...core.model import Array
from ..data.access import record_of, settings
from ..data.conversion import unflat
from ..scene.read.design_poses import on_parent

#: Places that differ by no more than this share of their size are the same.
_SAME = 2e-6


def to_design(rig: bpy.types.Object, body: bpy.types.Object | None, place: Matrix) -> Array:
    """Return where a place in the world is in the model's design, (4, 4), carried by a body as it stands now; None: by
    the world."""
    return _designed(rig, body, body.matrix_world if body is not None else None, place)


def joint_in_design(rig: bpy.types.Object, body: bpy.types.Object | None, place: Matrix) -> Array:
    """Return where the place of a joint on a body is in the model's design, (4, 4). Joints stand where the pose has
    them, and so does the body, unless physics moves it away from there: what is put on it then is meant for it."""
    run = settings(rig).drive != "KEYS"
    return _designed(rig, body, None if body is None else body.matrix_world if run else as_posed(body), place)


def posed_in_design(rig: bpy.types.Object, body: bpy.types.Object | None, other: bpy.types.Object) -> Array:
    """Return where another body is in the model's design, (4, 4), carried by a body as both are posed; None: by the
    world."""
    return _designed(rig, body, as_posed(body) if body is not None else None, as_posed(other))


def _designed(rig: bpy.types.Object, body: bpy.types.Object | None, here: Matrix | None, place: Matrix) -> Array:
    if body is None or here is None:
        return rigid(rig.matrix_world.inverted_safe() @ place)
    return rigid(body.matrix_basis.normalized() @ here.normalized().inverted_safe() @ place)


def as_posed(body: bpy.types.Object) -> Matrix:
    """Return where the pose of its model has a body in the world, whatever physics or keys of its own do to it."""
    on_bone = body.parent == record_of(body).model and body.parent_type == "BONE"
    return on_parent(body, _in_world) if on_bone else body.matrix_world


def _in_world(obj: bpy.types.Object) -> Matrix:
    return obj.matrix_world


def rigid(matrix: Matrix) -> Array:
    """A matrix without its scale, (4, 4)."""
    place, turn, _scale = matrix.decompose()
    return np.array(Matrix.Translation(place) @ turn.to_matrix().to_4x4(), dtype=np.float64)


def rigid_pose(obj: bpy.types.Object | None) -> Array:
    """Return where an object stands in its model's design, (4, 4), right-handed also where it is mirrored; None is the
    world."""
    return np.eye(4) if obj is None else rigid(obj.matrix_basis)


def put_design(obj: bpy.types.Object, place: Array) -> None:
    """Have a part be designed at a place (4, 4). Where it is there already, or was built there, as far as 32 bits can
    tell, its own numbers stay: what is put where it is does not creep."""
    if _is_at(np.array(obj.matrix_basis), place):
        return
    built = unflat(record_of(obj).built)
    obj.matrix_basis = Matrix((built if _is_at(built, place) else place).tolist())


def _is_at(one: Array, other: Array) -> bool:
    sizes = np.abs(other[:3, :3]).max(), np.abs(other[:3, 3]).max()
    apart = np.abs(one - other)
    return bool(apart[:3, :3].max() <= _SAME * sizes[0] and apart[:3, 3].max() <= _SAME * sizes[1])
