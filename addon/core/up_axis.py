"""Up axis of a model file, and rotation of a whole mechanism."""

from __future__ import annotations

from typing import Literal

import numpy as np

from .model import Array, Mechanism
from .record_utils import copy_mechanism
from .transforms import make_pose

UpAxis = Literal["AUTO", "Z", "Y", "-Z", "-Y", "X", "-X"]

#: The rotation (3, 3) that brings each up axis to Z: about X, or about Y where the axis is X.
_ROTATION_TO_Z: dict[str, list[list[int]]] = {
    "Z": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "-Z": [[1, 0, 0], [0, -1, 0], [0, 0, -1]],
    "Y": [[1, 0, 0], [0, 0, -1], [0, 1, 0]],
    "-Y": [[1, 0, 0], [0, 0, 1], [0, -1, 0]],
    "X": [[0, 0, -1], [0, 1, 0], [1, 0, 0]],
    "-X": [[0, 0, 1], [0, 1, 0], [-1, 0, 0]],
}


def upright_transform(mechanism: Mechanism, up_axis: UpAxis = "AUTO") -> Array:
    """Compute the transform (4, 4) that rotates the mechanism's up axis to Z.

    Args:
        mechanism: Its gravity decides when ``up_axis`` is ``AUTO``.
        up_axis: The axis of the file that points up; ``AUTO`` is the one against the largest component of gravity.
    """
    return make_pose(_ROTATION_TO_Z[detect_up_axis(mechanism) if up_axis == "AUTO" else up_axis])


def detect_up_axis(mechanism: Mechanism) -> UpAxis:
    """Find the up axis of a file: against the largest component of gravity, Z where there is none."""
    gravity = np.asarray(mechanism.world.gravity)
    largest = np.abs(gravity).max()
    axis = 2 if np.abs(gravity[2]) == largest else int(np.argmax(np.abs(gravity)))
    sign = "-" if gravity[axis] > 0.0 else ""
    axes: dict[str, UpAxis] = {"X": "X", "Y": "Y", "Z": "Z", "-X": "-X", "-Y": "-Y", "-Z": "-Z"}
    return axes[sign + "XYZ"[axis]]


def rotate_mechanism(mechanism: Mechanism, turn: Array) -> Mechanism:
    """Return a copy of a mechanism rotated as a whole, including its gravity.

    Every pose in the world is multiplied by ``turn`` (4, 4) from the left; poses relative to bodies stay as they are.
    """
    out = copy_mechanism(mechanism)
    out.world.gravity = turn[:3, :3] @ out.world.gravity
    for body in out.bodies:
        body.pose = turn @ body.pose
    for joint in out.joints:
        if joint.parent is None:
            joint.frame_parent = turn @ joint.frame_parent
        if joint.child is None:
            joint.frame_child = turn @ joint.frame_child
    for frame in out.frames:
        frame.pose = turn @ frame.pose if frame.body is None else frame.pose
    for light in out.lights:
        light.pose = turn @ light.pose if light.body is None else light.pose
    for item in out.restraints:
        if item.bodies is not None and item.frames is not None:
            one, other = (
                turn @ frame if body is None else frame for body, frame in zip(item.bodies, item.frames, strict=True)
            )
            item.frames = one, other
    return out
