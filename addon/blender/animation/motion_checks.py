"""Checks of a motion that is taken off a model: its joints, its rate, its stops, its numbers."""

from __future__ import annotations

from typing import Literal

import bpy
import numpy as np

from ...core.formatting import some
from ...core.model import Trajectory
from ...core.report import FormatError, Report
from ...core.stops import beyond as beyond_stops
from ...core.stops import put_within
from ..data.access import record_of
from ..data.channels import Channel
from ..data.queries import RigParts
from .frame_time import Clock
from .source_motion import keyed_rate
from .stop_checks import stops_of


def see_to_joints(found: RigParts, report: Report) -> None:
    """Tell which bones have lost their joints' objects. FormatError where all have: there are no servos."""
    there = {record_of(empty).source_id for empty in found.joints}
    lost = [chain[-1] for joint, chain in found.chains.items() if joint not in there]
    if lost and not there:
        raise FormatError(
            f"{found.rig.name!r} has lost the objects of its joints ({some(lost)}), without which it has no servos",
            remedy="Copy the whole mechanism, its collection, or press Rebuild Missing Parts.",
        )
    if lost:
        report.warn(
            "joints-missing",
            f"Bones {some(lost)} have lost the objects of their joints and are not in the motion: Rebuild Missing "
            "Parts makes them anew",
        )


def tell_of_rate(action: bpy.types.Action | None, clock: Clock, report: Report) -> None:
    """Tell where a motion plays at another speed than its file has, since the scene shows more or fewer frames."""
    own, now = keyed_rate(action), clock.rate
    if own is not None and not is_rate(own, now):
        report.warn(
            "rate-changed",
            f"The motion was keyed at {own:g} frames per second and the scene shows {now:g}: unless its keys were "
            f"moved, it plays at {now / own:.3g} times the speed of its file, and is written so. Set the scene to "
            f"{own:g}, or give Speed the factor {own / now:.4g}",
        )


def is_rate(one: float, other: float) -> bool:
    """Return whether two frame rates are the same."""
    return abs(one / other - 1.0) < 1e-6


def see_to_stops(
    found: RigParts,
    tracks: dict[Channel, Trajectory],
    stops: Literal["KEEP", "CLAMP", "REFUSE"],
    report: Report,
) -> None:
    """Count values beyond stops, and put them within where that is wanted. FormatError where they are refused."""
    beyond: list[str] = []
    ends = stops_of(found.joints)
    for channel, track in tracks.items():
        limits = ends.get((channel.joint, channel.number), (None, None))
        out = beyond_stops(track.values, limits) != 0.0
        if not out.any():
            continue
        count, first = int(out.sum()), float(track.times[np.argmax(out)])
        beyond.append(f"{channel.name!r} {count} of {len(out)} keys, first at {first:g} s")
        if stops == "CLAMP":
            track.values = put_within(track.values, limits)
    if not beyond:
        return
    listed = "; ".join(beyond[:5]) + (f"; and {len(beyond) - 5} servos more" if len(beyond) > 5 else "")
    if stops == "REFUSE":
        raise FormatError(
            f"values are beyond the stops: {listed}",
            remedy="Keep them within, or choose to clamp them or to write them as they are.",
        )
    done = "were put at them" if stops == "CLAMP" else "are written as they are"
    report.warn("beyond-stops", f"Values beyond the stops {done}: {listed}")


def refuse_no_number(track: Trajectory) -> None:
    """FormatError where a servo is at no number."""
    wrong = ~np.isfinite(track.values)
    if wrong.any():
        raise FormatError(
            f"servo {track.name!r} is at no number, first at {track.times[np.argmax(wrong)]:g} s",
            remedy="Look at its drivers and constraints.",
        )
