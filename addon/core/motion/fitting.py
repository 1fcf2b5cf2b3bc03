"""Fitting of a motion from a file to a mechanism: names of servos, units, time grid and stops."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from ..kinematics import spanning_tree
from ..model import Mechanism, Motion, Trajectory
from ..report import FormatError, Message, Report, count_with_noun
from ..stops import clamp_values_to_stops, stop_excess
from .root_motion import is_root_rotation, map_root_trajectories, report_unmatched_roots, root_trajectory_names
from .servo_matching import Servo, ServoMatch, match_servos, mechanism_servos

StopPolicy = Literal["keep", "clamp", "refuse"]


@dataclass(frozen=True)
class FitOptions:
    """Options for fitting a motion to a mechanism.

    Attributes:
        mapping: From the file's servos to the mechanism's; "" leaves one out.
        degrees: Angles without a unit are in degrees.
        millimetres: Lengths without a unit are in millimeters.
        stops: Treatment of keys beyond stops.
        step: Interval (s) of the grid on which values are sampled, None for the motion's own keys.
    """

    mapping: Mapping[str, str] = field(default_factory=dict)
    degrees: bool = False
    millimetres: bool = False
    stops: StopPolicy = "keep"
    step: float | None = None


def fit_motion(motion: Motion, mechanism: Mechanism, fitting: FitOptions, report: Report) -> Motion:
    """Convert a motion to one that a mechanism can play, its servos under the mechanism's names.

    Servos that the mechanism lacks are left unchanged, except those that the mapping leaves out or whose names another
    servo now has. Root motion is assigned to the mechanism's roots as on import. The report lists servos and roots that
    were not matched, or loosely, and the number of keys beyond a servo's stops.

    Raises:
        FormatError: No servo is matched or, with ``stops`` at "refuse", a key is beyond a stop.
    """
    known = mechanism_servos(mechanism)
    match = match_servos([each.name for each in motion.trajectories if not each.root], list(known), fitting.mapping)
    _report_match(match, motion, mechanism, report)
    roots = _map_roots(motion, mechanism, fitting, report)
    tracks: list[Trajectory] = []
    for each in motion.trajectories:
        if each.root and each.name in roots:
            tracks.append(_convert_units(replace(each, name=roots[each.name]), None, fitting))
            continue
        servo = known.get(match.pairs.get(each.name, ""))
        if servo is None and (fitting.mapping.get(each.name) == "" or each.name in match.pairs.values()):
            continue
        track = replace(each, name=servo.name) if servo is not None else each
        tracks.append(_convert_units(track, servo, fitting))
    if fitting.step is not None:
        tracks = _resample_all(tracks, fitting.step)
    tracks = [_apply_stop_policy(each, known[each.name], fitting.stops, report) if each.name in known else each
              for each in tracks]  # fmt: skip
    if fitting.stops == "refuse":
        _reject_beyond_stops(tracks, known, motion)
    return replace(motion, trajectories=tracks)


def _map_roots(motion: Motion, mechanism: Mechanism, fitting: FitOptions, report: Report) -> dict[str, str]:
    """Map the motion's trajectories of root motion to the mechanism's, by name."""
    theirs = [each.name for each in motion.trajectories if each.root]
    if not theirs:
        return {}
    known = root_trajectory_names((body.id, body.name) for body in spanning_tree(mechanism).roots)
    out = map_root_trajectories(motion, known.values(), fitting.mapping, report)
    report_unmatched_roots((name for name in theirs if name not in out and name not in fitting.mapping), report)
    return out


def _report_match(match: ServoMatch, motion: Motion, mechanism: Mechanism, report: Report) -> None:
    servos = [each for each in motion.trajectories if not each.root]
    if servos and not match.pairs:
        examples = ", ".join(repr(each.name) for each in servos[:3])
        raise FormatError(
            f"no servo of motion {motion.name!r} ({examples}) is in {mechanism.name!r}",
            path=motion.source.path if motion.source is not None else "",
            remedy="Choose the mechanism of this motion, or assign servos with --map FILE=SERVO.",
        )
    report.info(
        "servos-matched",
        Message("Servos matched by name: {} of {}", len(match.pairs), len(match.pairs) + len(match.unmatched)),
    )
    idle, inactive = mechanism_servos(mechanism, active=False), "its joint is inactive in the mechanism"
    match.report({name: inactive if name in idle else why for name, why in match.unmatched.items()}, report)


def _convert_units(track: Trajectory, servo: Servo | None, fitting: FitOptions) -> Trajectory:
    """Convert to rad and m.

    Trajectories whose unit the file specifies are converted already; a servo that the mechanism lacks is assumed to
    rotate.
    """
    slides = servo.slides if servo is not None else track.root and not is_root_rotation(track.name)
    factor = 0.001 if slides and fitting.millimetres else math.pi / 180.0 if fitting.degrees and not slides else 1.0
    if track.unit or factor == 1.0:
        return track
    return replace(track, values=np.asarray(track.values) * factor)


def _resample_all(tracks: list[Trajectory], step: float) -> list[Trajectory]:
    """Sample each trajectory at multiples of the step that cover its range of keys."""
    return [_resample(each, step) if len(each.times) else each for each in tracks]


def _resample(track: Trajectory, step: float) -> Trajectory:
    first, last = math.floor(track.times[0] / step + 1e-6), math.ceil(track.times[-1] / step - 1e-6)
    times = np.arange(first, last + 1) * step
    inside = np.clip(times + 1e-9, track.times[0], track.times[-1])  # at a jump on the grid the new value counts
    before = np.clip(np.searchsorted(track.times, inside, side="right") - 1, 0, len(track.times) - 1)
    values = np.where(track.holds()[before], track.values[before], track.at(times))
    return replace(track, times=times, values=values, held=None if track.held is None else track.held[before])


def _apply_stop_policy(track: Trajectory, servo: Servo, stops: StopPolicy, report: Report) -> Trajectory:
    over = stop_excess(track.values, servo.stops)
    count = int(np.count_nonzero(over))
    if not count:
        return track
    done = {"keep": "Kept", "clamp": "Clamped", "refuse": "Rejected"}[stops]
    report.warn(
        "beyond-stops",
        Message(
            "Servo {}: {} of {} outside its stops ({}), by up to {}. {}",
            repr(track.name),
            count,
            count_with_noun(len(track.values), "keyframe"),
            _format_stops(servo),
            _format_value(float(np.abs(over).max()), servo),
            done,
        ),
        where=track.name,
    )
    return replace(track, values=clamp_values_to_stops(track.values, servo.stops)) if stops == "clamp" else track


def _reject_beyond_stops(tracks: list[Trajectory], known: Mapping[str, Servo], motion: Motion) -> None:
    exceeding = [
        each for each in tracks if each.name in known and stop_excess(each.values, known[each.name].stops).any()
    ]
    if exceeding:
        beyond = "; ".join(
            f"{each.name!r} ({_format_stops(known[each.name])}) at "
            f"{np.count_nonzero(stop_excess(each.values, known[each.name].stops))} of "
            f"{count_with_noun(len(each.values), 'keyframe')}"
            for each in exceeding
        )
        raise FormatError(
            f"motion {motion.name!r} exceeds the stops of {count_with_noun(len(exceeding), 'servo')}: {beyond}",
            path=motion.source.path if motion.source is not None else "",
            remedy="Use --stops clamp or --stops keep.",
        )


def _format_stops(servo: Servo) -> str:
    ends = ["none" if end is None else _format_value(end, servo) for end in (servo.lower, servo.upper)]
    return " to ".join(ends)


def _format_value(value: float, servo: Servo) -> str:
    return f"{value:.4g} m" if servo.slides else f"{math.degrees(value):.4g}°"
