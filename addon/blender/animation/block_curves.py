"""What the curves of a ball's or free block's bone say of its coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import bpy
import numpy as np

from ...core.model import Array
from ..data.channels import Channel, block_turn, bone_path
from ..rig.ball_channels import coordinates_of
from .curve_keys import CurveKeys


def block_curves(
    block: Sequence[Channel], curves: Mapping[tuple[str, int], bpy.types.FCurve]
) -> tuple[list[bpy.types.FCurve], list[bpy.types.FCurve]] | None:
    """The three curves of location (none of a ball) and the four of rotation; None where one is missing."""
    bone, free = block[0].bone, block[0].kind == "free"
    places = [curves.get((bone_path(bone, "location"), index)) for index in range(3 if free else 0)]
    turns = [curves.get((bone_path(bone, "rotation_quaternion"), index)) for index in range(4)]
    return None if None in places or None in turns else (places, turns)


def coordinates(rig: bpy.types.Object, block: Sequence[Channel], places: Array, turns: Array) -> Array:
    """The coordinates (n, size), without jumps, that locations (n, 3) and quaternions (n, 4) say."""
    free = block[0].kind == "free"
    return coordinates_of(places, turns, block_turn(rig, block[0].bone), block[0].against, free)


def told_block(
    rig: bpy.types.Object, block: Sequence[Channel], curves: Mapping[tuple[str, int], bpy.types.FCurve]
) -> tuple[Array, Array] | None:
    """Places of keys (n,) and the coordinates (n, size) there; None where the block has no curves or their keys are not
    at the same places."""
    found = block_curves(block, curves)
    if found is None:
        return None
    keys = [CurveKeys.of(curve) for part in found for curve in part]
    at = keys[0].places
    if not len(at) or not all(len(k.places) == len(at) and (k.places == at).all() for k in keys):
        return None
    columns = np.stack([k.values for k in keys], axis=1).astype(np.float64)
    places = columns[:, :3] if len(found[0]) else np.zeros((len(at), 3))
    return at.astype(np.float64), coordinates(rig, block, places, columns[:, -4:])
