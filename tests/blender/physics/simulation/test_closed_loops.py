"""Loops under physics, driven by the keys of one servo: hinges close them, as they do everything else, and at what Fit
to Model chooses they hold through full turns while the crank keeps its phase."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.support import loops
from tests.support.mechanisms import objects_of, play, world_of
from tests.support.swings import put_world

BAR = 1e-3  # of the shortest link


def drive(mechanism: Any, way: Any, seconds: float) -> tuple[Any, Any, np.ndarray]:
    """A mechanism whose first driver is keyed at every frame, ``way`` (rad) of the share of the run that is over, and
    its plant and those values."""
    from addon.blender.animation.keying import LINEAR, key_servos
    from addon.blender.animation.loops.live_solver import live_loops
    from addon.blender.physics.actuators.joint_state import gather_joint_state

    rig = put_world(mechanism, "SERVO", seconds)
    frames = np.arange(1.0, 60.0 * seconds + 2.0)
    values = way((frames - 1.0) / (60.0 * seconds))
    driver = live_loops(rig)[0].drivers[0]
    key_servos(rig, "drive", {driver: (frames, values, LINEAR)})
    joint_state = gather_joint_state(rig)
    assert np.count_nonzero([empty.knuckle.joint.is_dependent for empty in joint_state.empties]) >= 2
    return joint_state, joint_state.joints.index(driver), values


def run(scene: Any, joint_state: Any, number: int, frames: int) -> tuple[np.ndarray, np.ndarray]:
    """The largest gap at every frame, and the driver's values."""

    def look() -> tuple[float, float]:
        poses = joint_state.poses()
        return float(joint_state.separations(poses).max()), float(joint_state.coordinates(poses)[number])

    gaps, values = np.array(play(scene, frames, look)).T
    return gaps, np.unwrap(values)


def shortest(mechanism: Any) -> float:
    """The length of the shortest bar."""
    return min(max(body.shapes[0].size.values()) for body in mechanism.bodies)


@pytest.mark.parametrize(
    ("mechanism", "reach"),
    [
        pytest.param(loops.crank_rocker(), None, id="four-bar"),
        pytest.param(loops.crank_rocker(scale=0.05), None, id="small four-bar"),
        pytest.param(loops.klann(), None, id="Klann"),
        pytest.param(loops.sarrus(), 0.3, id="Sarrus"),
        pytest.param(loops.bricard(), 0.6, id="Bricard"),
    ],
)
def test_a_loop_holds_through_full_cycles(blank: Any, mechanism: Any, reach: float | None) -> None:
    """Cranks go round, other drivers swing to and fro."""
    way = (lambda s: 2.0 * math.pi * s) if reach is None else (lambda s: reach * np.sin(2.0 * math.pi * s))
    joint_state, number, values = drive(mechanism, way, 1.5)
    gaps, found = run(blank.scene, joint_state, number, len(values))
    assert gaps.max() < BAR * shortest(mechanism)
    assert np.ptp(found) > 0.9 * np.ptp(values)
    assert abs(found[-1] - values[-1]) < 2e-3


def test_the_rocker_is_where_its_crank_has_it(blank: Any) -> None:
    joint_state, number, values = drive(loops.crank_rocker(0.8), lambda s: 2.0 * math.pi * s, 1.5)
    bodies = objects_of(joint_state.rig, "BODY")

    def look() -> tuple[float, float]:
        tip, middle = world_of(bodies["crank"])[:3, 3], world_of(bodies["rocker"])[:3, 3]
        return math.atan2(tip[2], tip[0]), math.atan2(middle[2], middle[0] - loops.GROUND)

    for crank, rocker in play(blank.scene, len(values), look):
        assert rocker == pytest.approx(loops.rocker_angle(crank), abs=1e-4)
