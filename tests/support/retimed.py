"""Helpers for tests of retiming: a mechanism on two legs with keyframes on its servos, and samples of its curves."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.support.mechanisms import body, bone_of, curves_of, joint, key, model, objects_of, world_of

KEYS = [(1, 0.0), (9, 0.5), (21, -0.4), (31, 0.0)]
OPEN = [(1, 0.0), (9, 0.5), (21, -0.4), (31, 0.2)]


def legged(*more: str) -> str:
    """A trunk with a hinged leg on either side, and a head that turns."""
    return model(
        *more,
        body(1, (0, 0, 2)),
        body(2, (-1, 0, 1)),
        body(3, (1, 0, 1)),
        body(4, (0, 1, 3)),
        joint(11, 1, 2, (-1, 0, 2), (0, 90, 30), name="Left Hip"),
        joint(12, 1, 3, (1, 0, 2), (0, 90, -30), name="Right Hip"),
        joint(13, 1, 4, (0, 1, 2), name="Neck"),
        joint(14, 1, 4, (0, 1, 2.5), name="Spare", tag="PrismaticJoint"),
    )


def keyed(rig: Any, joint: int, keys: Any = KEYS, kind: str = "LINEAR", handles: str = "AUTO_CLAMPED") -> Any:
    """A servo with keys of one kind; the curve."""
    before = {(c.data_path, c.array_index) for c in curves_of(rig)}
    key(rig, joint, keys, kind)
    curve = next(c for c in curves_of(rig) if (c.data_path, c.array_index) not in before)
    for number, point in enumerate(curve.keyframe_points):
        point.interpolation = kind
        point.handle_left_type = point.handle_right_type = handles
        if handles == "FREE":
            point.handle_left = point.co[0] - 3, point.co[1] - 0.1 * number
            point.handle_right = point.co[0] + 4, point.co[1] + 0.2
    curve.update()
    return curve


def curve_of(rig: Any, joint: int) -> Any:
    bone = bone_of(rig, joint)
    return next((c for c in curves_of(rig) if f'"{bone.name}"' in c.data_path), None)


def course(curve: Any, frames: np.ndarray) -> np.ndarray:
    return np.array([curve.evaluate(frame) for frame in frames])


def looks(curve: Any) -> list[tuple[Any, ...]]:
    """All that can be seen of a curve's keys."""
    return [
        (
            tuple(p.co),
            tuple(p.handle_left),
            tuple(p.handle_right),
            p.interpolation,
            p.handle_left_type,
            p.easing,
            p.type,
        )
        for p in curve.keyframe_points
    ]


def displacements(rig: Any, rest: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: world_of(obj) @ np.linalg.inv(rest[name]) for name, obj in objects_of(rig, "BODY").items()}


FLIP = np.diag([-1.0, 1, 1, 1])
