"""Screws under physics: turn and slide keep together, and what pushes the one moves the other, as in mechanics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from addon.core.model import Dof
from tests.support.degrees_helpers import Z
from tests.support.screws_helpers import fall, raised, screwed, slip
from tests.support.springs_helpers import MASS, cube_on_joint, warnings


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


@pytest.mark.parametrize(("share", "holds"), [(0.95, True), (1.05, False)])
def test_a_servos_torque_holds_the_weight_that_it_can(blank: Any, share: float, holds: bool) -> None:
    dof = Dof("screw", Z, pitch=0.2, max_force=0.2 * MASS * 9.81 / share)
    values = screwed(blank.scene, dof, 61, -9.81, [(1, 0.0)])
    assert (abs(values[-1, 1]) < 0.01) == holds


def test_a_screw_may_begin_after_several_revolutions(blank: Any) -> None:
    values = screwed(blank.scene, Dof("screw", Z, pitch=0.1, position=20.0), 31, 0.0)
    assert np.abs(values[:, 1] - 2.0).max() < 1e-3
    assert math.isclose(values[-1, 0], values[0, 0], abs_tol=1e-3)


def test_only_a_screw_among_other_degrees_is_reported(blank: Any) -> None:
    assert warnings(cube_on_joint(Dof("screw", Z, pitch=0.1))) == set()
    assert warnings(cube_on_joint(Dof("screw", Z, pitch=0.1), Dof("rotation", np.eye(3)[0]))) == {"screw-not-simulated"}
