"""Scale and distortion of a mechanism in the world, and setup of new rigid bodies and constraints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix, Vector

from ....core.model import Array
from ....core.report import Message, Report
from ....core.transforms import rotation_and_scale
from ...data.access import armature_of, rest_parent_inverse
from ...data.queries import parts

#: Difference of the scale from 1 below which a mechanism counts as unscaled.
_SCALE_TOLERANCE = 1e-5
#: Tolerance of the relative lengths and the angles of a mechanism's axes, and of the distance of bones from bodies.
_EVENNESS_TOLERANCE = 1e-3
_AXES = [Vector(row) for row in np.eye(3).tolist()]


def model_scale(rig: bpy.types.Object) -> float:
    """Return the factor from a mechanism's own lengths to those of the world."""
    return scale_of_pose(np.array(rig.matrix_world, dtype=np.float64))


def scale_of_pose(pose: Array) -> float:
    """Return the factor from own lengths to those of the world, from an armature's world matrix (4, 4)."""
    size = float(np.cbrt(np.linalg.norm(pose[:3, :3], axis=0).prod()))
    return 1.0 if abs(size - 1.0) < _SCALE_TOLERANCE or not size > 0.0 else size


def to_own_lengths(poses: Array) -> tuple[Array, float]:
    """Return world poses (bodies + 1, 4, 4) as rigid ones in the mechanism's own lengths, and its scale in the world.

    The last pose is the armature's.
    """
    size, out = scale_of_pose(poses[-1]), poses.copy()
    out[:, :3, :3], _scale = rotation_and_scale(poses)
    out[:, :3, 3] /= size
    return out, size


def to_world_pose(place: Matrix, size: float) -> Matrix:
    """Return a pose in a mechanism's own lengths in those of the world."""
    out = place.copy()
    out.translation *= size
    return out


def distortion_message(rig: bpy.types.Object) -> str:
    """Return a message about a scale or edit of the armature that physics cannot represent; empty if none.

    That is: shear, uneven scale, or bones that are no longer where their bodies were built.
    """
    axes = np.array(rig.matrix_world, dtype=np.float64)[:3, :3]
    long = np.maximum(np.linalg.norm(axes, axis=0), 1e-30)
    if np.abs((axes / long).T @ (axes / long) - np.eye(3)).max() > _EVENNESS_TOLERANCE:
        return (
            "Mechanism: sheared by its parent, so physics differs from what is shown. "
            "Scale the parent evenly, or clear the parent (Alt+P)"
        )
    if long.max() > (1.0 + _EVENNESS_TOLERANCE) * long.min():
        scale = ", ".join(f"{part:.3g}" for part in long)
        return Message(
            "Mechanism: scaled unevenly ({} along its axes), so physics differs from what is shown. Clear "
            "the scale (Alt+S), or use one scale for all axes",
            scale,
        )
    moved = _moved_bone(rig)
    if moved:
        return Message(
            "Armature: its scale was applied or bones were edited, bone {} is away from its body, so physics "
            "differs from what is shown. Undo that, and scale the armature as an object instead, or import "
            "the file again. Update Armature restores edited bones",
            repr(moved),
        )
    return ""


def _moved_bone(rig: bpy.types.Object) -> str:
    """Return the name of the first bone that is away from its body at rest; empty where there is none."""
    bones, bodies = armature_of(rig).bones, parts(rig, "BODY")
    size = max((obj.matrix_basis.translation.length for obj in bodies), default=0.0)
    for obj in bodies:
        bone = bones.get(obj.parent_bone) if obj.parent_type == "BONE" else None
        if bone is not None:
            there = bone.matrix_local @ Matrix.Translation((0.0, bone.length, 0.0)) @ rest_parent_inverse(obj)
            if all((row.xyz - axis).length < _EVENNESS_TOLERANCE for row, axis in zip(there, _AXES, strict=False)) and (
                there.translation.length < _EVENNESS_TOLERANCE * bone.length
            ):
                continue  # a fast test that nearly all pass
            if max(there.translation.length / max(size, bone.length), _rotation_angle(there)) > _EVENNESS_TOLERANCE:
                return bone.name
    return ""


def _rotation_angle(place: Matrix) -> float:
    return float(np.abs(np.array(place.to_3x3()) - np.eye(3)).max())


def report_distortion(rig: bpy.types.Object, report: Report) -> None:
    """Report an armature whose scale the physics cannot represent."""
    message = distortion_message(rig)
    if message:
        report.warn("scaled-unevenly", message, where=rig.name)


class NewObjectDefaults:
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
                usual[name] = _plain_value(getattr(owner, name))  # the first that it is set on
            if usual[name] != value:
                setattr(owner, name, value)


def _plain_value(value: Any) -> Any:
    return value if isinstance(value, (str, float, int)) or value is None else list(value)
