"""Curves read off at places of an Action: what they say there, and how far lines between stray from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import bpy
import numpy as np

from ...core.model import Array
from ...core.report import Report
from ..data.channels import Channel, bone_path
from ..rig.bone_limits import is_stop
from .curve_keys import CurveKeys, is_plain
from .fcurves import Place, coordinates, plays_cycles
from .keying import blocks_of

#: A root that goes less far (m, rad) stands still.
STANDS = 1e-5
_LOOKS = 4  # between two samples of a curve, where its distance from the line is looked at


def evaluated(curve: bpy.types.FCurve, places: Array) -> Array:
    """The values (n,) of a curve at places (n,)."""
    return np.array([curve.evaluate(place) for place in places.tolist()], dtype=np.float64)


def is_bent(curve: bpy.types.FCurve, value: float) -> bool:
    """Return whether a curve is anywhere else than at a value."""
    values = CurveKeys.of(curve).values
    return not is_plain(curve) or bool((np.abs(values - value) > STANDS).any())


def rest_of(place: Place) -> float:
    """Return the value of a bone at rest at the place of a curve that moves or turns it."""
    return float(place[1] == 0 and place[0].endswith("rotation_quaternion"))


def sampled_blocks(
    rig: bpy.types.Object,
    channels: Sequence[Channel],
    curves: Mapping[Place, bpy.types.FCurve],
    places: Array,
) -> dict[Channel, Array]:
    """The coordinates (n,) of balls, free blocks and roots at places (n,), from their curves, which alone pose them.
    Those whose bones have stops are left out: the pose tells where these hold them."""
    bones = rig.pose.bones
    found: dict[Channel, Array] = {}
    for block in blocks_of(rig, dict.fromkeys(channels)):
        bone = block[0].bone
        if any(is_stop(each) for each in bones[bone].constraints):
            continue
        columns = np.empty((len(places), 7))
        for number in range(7):
            prop, index = ("location", number) if number < 3 else ("rotation_quaternion", number - 3)
            curve = curves.get((bone_path(bone, prop), index))
            still = getattr(bones[bone], prop)[index]
            columns[:, number] = still if curve is None or curve.is_empty else evaluated(curve, places)
        values = coordinates(rig, block, columns[:, :3], columns[:, 3:])
        found |= {channel: column.copy() for channel, column in zip(block, values.T, strict=True)}
    return {channel: found[channel] for channel in channels if channel in found}


def tell_of_error(
    channel: Channel, curve: bpy.types.FCurve, places: Array, values: Array, step: float, report: Report
) -> None:
    """Report how far lines between samples stray from a curve, which was sampled every ``step`` (s)."""
    if len(places) < 2 or (is_plain(curve) and CurveKeys.of(curve).is_straight and not plays_cycles(curve)):
        return
    shares = (np.arange(_LOOKS) + 0.5) / _LOOKS
    between = (places[:-1, None] + np.diff(places)[:, None] * shares).ravel()
    worst = float(np.abs(evaluated(curve, between) - np.interp(between, places, values)).max())
    unit = "rad" if channel.is_angle else "length units"
    report.info(
        "curve-sampled",
        f"The curve of {channel.name!r} was sampled every {1000 * step:g} ms: lines between samples "
        f"stray from it by {worst:.2g} {unit} at most",
        where=channel.name,
    )
