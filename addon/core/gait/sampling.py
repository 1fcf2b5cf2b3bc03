"""A model's own gait as a motion on a grid of times, and the controls that it is given."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ..model import Mechanism, Motion, Trajectory
from ..motion.servo_matching import servos_of
from ..report import FormatError, Report
from .engine import Controls, Gait, gait_of

#: A wheel's turn is the integral of its speed: it is summed up in steps of at most this (s), however coarse the grid.
LONGEST_STEP = 0.004


def gait_motion(mechanism: Mechanism, controls: Controls, seconds: float, step: float) -> Motion:
    """Return what a mechanism's gait commands from 0 to ``seconds``, every ``step`` (s), the last one at or before the
    end.

    ``controls``: name -> number, 0 where not given. FormatError where the mechanism has no gait."""
    gait = gait_of(mechanism)
    if gait is None:
        raise FormatError(
            f"{mechanism.name!r} has no gait of its own",
            path=mechanism.source.path,
            remedy="Give it a motion, or a Juice model with behaviours that command its joints.",
        )
    count = math.floor(seconds / step + 1e-9) + 1
    finer = max(1, math.ceil(step / LONGEST_STEP - 1e-9)) if _has_speeds(gait) else 1
    times = np.arange((count - 1) * finer + 1) * (step / finer)
    fine = gait.motion(times, controls, f"{mechanism.name} Gait")
    times = np.arange(count) * step
    servos = servos_of(mechanism)
    return Motion(
        fine.name,
        [
            Trajectory(
                each.name, times.copy(), each.values[::finer].copy(), unit="m" if servos[each.name].slides else "rad"
            )
            for each in fine.trajectories
        ],
    )


def tell_controls(gait: Gait | None, controls: Mapping[str, float], report: Report) -> None:
    """Warn of controls that go too far and of those that a gait does not listen to."""
    heard = gait.controls if gait is not None else []
    for name, value in controls.items():
        if abs(value) > 1.0:
            report.warn("input-far", f"{name}={value:g} is more than a control gives: they go from -1 to 1")
        if name not in heard:
            listens = f"it listens to {', '.join(heard)}" if heard else "it listens to none"
            report.warn("input-unheard", f"The model does not listen to {name!r}: {listens}")


def _has_speeds(gait: Gait) -> bool:
    return bool(gait.evaluate(0.0).velocity)
