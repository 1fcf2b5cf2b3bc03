"""How large a model is in the world: scaled as an object, evenly or in a way that physics does not take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix, Vector

from ....core.model import Array
from ....core.report import Report
from ...data.access import armature_of
from ...data.queries import parts

#: Difference of the scale from 1 below which a mechanism counts as unscaled.
_UNSCALED = 1e-5
#: Tolerance of the relative lengths and the angles of a mechanism's axes, and of the distance of bones from bodies.
_EVEN = 1e-3
_AXES = [Vector(row) for row in np.eye(3).tolist()]


def size_of(rig: bpy.types.Object) -> float:
    """Return the factor from a mechanism's own lengths to those of the world."""
    return size_in(np.array(rig.matrix_world, dtype=np.float64))


def size_in(pose: Array) -> float:
    """Return the factor from own lengths to those of the world, from an armature's world matrix (4, 4)."""
    size = float(np.cbrt(np.linalg.norm(pose[:3, :3], axis=0).prod()))
    return 1.0 if abs(size - 1.0) < _UNSCALED or not size > 0.0 else size


def own_lengths(poses: Array) -> tuple[Array, float]:
    """Return world poses (bodies + 1, 4, 4) as rigid ones in the mechanism's own lengths, and its scale in the world.

    The last pose is the armature's.
    """
    size, out = size_in(poses[-1]), poses.copy()
    long = np.sqrt((out[:, :3, :3] ** 2).sum(axis=1))
    out[:, :3, :3] /= np.where(long > 0.0, long, 1.0)[:, None, :]
    out[:, :3, 3] /= size
    return out, size


def in_world(place: Matrix, size: float) -> Matrix:
    """Return a pose in a mechanism's own lengths in those of the world."""
    out = place.copy()
    out.translation *= size
    return out


def distortion(rig: bpy.types.Object) -> str:
    """Return what was done to a model's armature that its bodies and joints do not bear, and what to do about it; empty
    where it is as large in all directions and its bones are where its joints are."""
    axes = np.array(rig.matrix_world, dtype=np.float64)[:3, :3]
    long = np.maximum(np.linalg.norm(axes, axis=0), 1e-30)
    if np.abs((axes / long).T @ (axes / long) - np.eye(3)).max() > _EVEN:
        return (
            "The model is sheared by what it is parented to: physics takes its bodies otherwise than they are drawn. "
            "Scale the parent evenly, or clear the model's parent (Alt+P)"
        )
    if long.max() > (1.0 + _EVEN) * long.min():
        scale = ", ".join(f"{part:.3g}" for part in long)
        return (
            f"The model is scaled unevenly ({scale} along its axes): bodies would be bent as they turn, and physics "
            "takes them otherwise than they are drawn. Give it one scale in all directions (Alt+S clears it)"
        )
    moved = _moved_bone(rig)
    if moved:
        return (
            f"The armature's scale was applied, or its bones edited: bone {moved!r} is no longer where its body was "
            "built, and what plays is not what physics does. Undo that and keep the scale on the armature as an object "
            "(Apply Scale is not for models), or import the file again. Update Armature makes bones fit again, but "
            "leaves the bodies where that moved them"
        )
    return ""


def _moved_bone(rig: bpy.types.Object) -> str:
    """Return the name of the first bone that is away from its body at rest; empty where there is none."""
    bones, bodies = armature_of(rig).bones, parts(rig, "BODY")
    size = max((obj.matrix_basis.translation.length for obj in bodies), default=0.0)
    for obj in bodies:
        bone = bones.get(obj.parent_bone) if obj.parent_type == "BONE" else None
        if bone is not None:
            there = bone.matrix_local @ Matrix.Translation((0.0, bone.length, 0.0)) @ obj.matrix_parent_inverse
            if all((row.xyz - axis).length < _EVEN for row, axis in zip(there, _AXES, strict=False)) and (
                there.translation.length < _EVEN * bone.length
            ):
                continue  # a fast test that nearly all pass
            if max(there.translation.length / max(size, bone.length), _turned(there)) > _EVEN:
                return bone.name
    return ""


def _turned(place: Matrix) -> float:
    return float(np.abs(np.array(place.to_3x3()) - np.eye(3)).max())


def tell_of_distortion(rig: bpy.types.Object, report: Report) -> None:
    """Report an armature whose scale the physics cannot represent."""
    told = distortion(rig)
    if told:
        report.warn("scaled-unevenly", told, where=rig.name)


class Fresh:
    """Defaults of new rigid bodies, or of new constraints, read from the first one."""

    def __init__(self) -> None:
        self._usual: dict[str, Any] = {}

    def put(self, owner: Any, values: Mapping[str, Any], is_new: bool) -> None:
        """Set properties; of a new owner only those that differ from the defaults.

        Note:
            Every property that is set runs Blender's update.
        """
        if not is_new:
            for name, value in values.items():
                setattr(owner, name, value)
            return
        usual = self._usual
        for name, value in values.items():
            if name not in usual:
                usual[name] = _plain(getattr(owner, name))  # the first that it is set on
            if usual[name] != value:
                setattr(owner, name, value)


def _plain(value: Any) -> Any:
    return value if isinstance(value, (str, float, int)) or value is None else list(value)
