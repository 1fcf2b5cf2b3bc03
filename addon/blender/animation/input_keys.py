"""Keyframes on the inputs of a gait."""

from __future__ import annotations

from collections.abc import Mapping

import bpy
import numpy as np

from ...core.model import Array
from ..compat import action_curves, new_curve, played_action, use_action
from ..data.access import armature_of, record_of
from ..data.properties.model import control_property
from .keys import LINEAR, put_keys

_GROUP = "Inputs"


def key_inputs(rig: bpy.types.Object, frames: Array, values: Mapping[str, Array]) -> bpy.types.Action:
    """Key inputs at frames (n,), ascending, by their names: (n,) each. Keyframes before and after these stay.

    They are in the Action of the armature's data, which is made where it has none.
    """
    armature = armature_of(rig)
    data = armature.animation_data_create()
    action = played_action(data)
    if action is None:
        action = bpy.data.actions.new(f"{record_of(rig).source_name} Inputs")
        use_action(armature, action)
    curves = action_curves(armature, action)
    for name, own in values.items():
        path = f"knuckle.controls.{control_property(name)}"
        before = curves.find(path)
        keys = _keys(before)
        if before is not None:
            curves.remove(before)
        keys = keys[(keys[:, 0] < frames[0]) | (keys[:, 0] > frames[-1])]
        keys = np.concatenate([keys, np.stack([frames, own], axis=1)])
        keys = keys[np.argsort(keys[:, 0], kind="stable")]
        put_keys(new_curve(curves, path, 0, _GROUP), keys[:, 0], keys[:, 1], LINEAR)
    armature.update_tag()
    return action


def _keys(curve: bpy.types.FCurve | None) -> Array:
    """Frames and values (n, 2) of a curve."""
    points = [] if curve is None else [point.co[:] for point in curve.keyframe_points]
    return np.array(points, dtype=np.float64).reshape(-1, 2)
