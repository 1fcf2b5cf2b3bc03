"""Screws under physics: turn and slide keep together, and what pushes the one moves the other, as in mechanics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from addon.blender.animation.keying import LINEAR, key_servos
from addon.core.model import Array, Dof
from tests.blender.build.test_degrees import Z, put
from tests.blender.mechanisms import play
from tests.blender.physics.test_springs import FRAME, INERTIA, MASS, angle, hung, moved, warnings

PULL = 5.0


def screwed(
    scene: Any, dof: Dof, frames: int, pull: float = PULL, keys: list[tuple[float, float]] | None = None
) -> Array:
    """Turn and slide (frames, 2) of a cube on a screw with a weight along its axis; with keys, its servo drives it."""
    rig = put(hung(dof, gravity=FRAME[:3, 2] * pull), physics=True)
    if keys is not None:
        times, angles = np.array(keys).T
        key_servos(rig, "Motion", {"j": (times, angles[:, None], LINEAR)})
    rig.data.knuckle.drive = "LIMP" if keys is None else "SERVO"
    found = np.array(play(scene, frames, lambda: (angle(2)(moved(rig)), moved(rig)[2, 3])))
    return np.column_stack([np.unwrap(found[:, 0]), found[:, 1]])


def slip(values: Array, pitch: float) -> float:
    """How far the slide is from where the turn has it, at most."""
    return float(np.abs(values[:, 1] - pitch * values[:, 0]).max())


def fall(pitch: float) -> float:
    """How a weight on a screw without friction accelerates."""
    return PULL * MASS / (MASS + INERTIA / pitch**2)


@pytest.mark.parametrize("pitch", [0.05, 0.25, -0.6])
def test_a_screw_runs_down_under_a_weight(blank: Any, pitch: float) -> None:
    """Its turn is what the weight has to get going too: a = g m / (m + I / p^2)."""
    values = screwed(blank.scene, Dof("screw", Z, pitch=pitch), 61)
    assert values[-1, 1] == pytest.approx(fall(pitch) / 2, rel=0.02)
    assert slip(values, pitch) < 0.001


def test_a_servo_raises_a_weight_by_turning(blank: Any) -> None:
    values, off = raised(blank.scene, smooth=True)
    assert values[-1, 1] == pytest.approx(0.9, abs=0.002)
    assert off < 0.01
    assert slip(values, 0.1) < 0.005


def raised(scene: Any, smooth: bool) -> tuple[Array, float]:
    """Turn and slide of a servo that raises a weight by 0.9 m in a second, in one sweep or at one speed, and the worst
    error of its turn."""
    share = np.clip(np.arange(91) / 60, 0.0, 1.0)
    wanted = 9.0 * (0.5 - 0.5 * np.cos(math.pi * share) if smooth else share)
    values = screwed(scene, Dof("screw", Z, pitch=0.1), 91, -9.81, list(zip(range(1, 92), wanted, strict=True)))
    return values, float(np.abs(values[:, 0] - wanted).max())


@pytest.mark.parametrize(("share", "holds"), [(0.95, True), (1.05, False)])
def test_a_servos_torque_holds_the_weight_that_it_can(blank: Any, share: float, holds: bool) -> None:
    dof = Dof("screw", Z, pitch=0.2, max_force=0.2 * MASS * 9.81 / share)
    values = screwed(blank.scene, dof, 61, -9.81, [(1, 0.0)])
    assert (abs(values[-1, 1]) < 0.01) == holds


def test_a_screw_may_begin_several_turns_in(blank: Any) -> None:
    values = screwed(blank.scene, Dof("screw", Z, pitch=0.1, position=20.0), 31, 0.0)
    assert np.abs(values[:, 1] - 2.0).max() < 1e-3
    assert math.isclose(values[-1, 0], values[0, 0], abs_tol=1e-3)


def test_only_a_screw_among_other_degrees_is_told(blank: Any) -> None:
    assert warnings(hung(Dof("screw", Z, pitch=0.1))) == set()
    assert warnings(hung(Dof("screw", Z, pitch=0.1), Dof("rotation", np.eye(3)[0]))) == {"screw-not-simulated"}
