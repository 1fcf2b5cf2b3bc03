"""Stops that are hit fast, and stops beyond half a turn."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from addon.blender.physics.constraints import hinge_window
from addon.model.records import Array
from tests.blender.build.test_degrees import Z, put, rotations, slides
from tests.blender.mechanisms import key, play
from tests.blender.physics.test_springs import angle, hung, moved


def hit(scene: Any, mechanism: Any, speed: float, look: Any, frames: int, rate: int = 600) -> Array:
    """The coordinate in every step of Blender's own while the joint is driven to half way to 1 with a speed and let
    go there."""
    rig = put(mechanism, physics=True)
    scene.render.fps, scene.rigidbody_world.substeps_per_frame = rate, 1
    key(rig, "j", [(1, 0.0), (1 + 0.5 / speed * rate, 0.5)])
    for frame, drive in ((1, "SERVO"), (1 + math.ceil(0.5 / speed * rate), "LIMP")):
        rig.data.knuckle.drive = drive
        rig.data.keyframe_insert("knuckle.drive", frame=frame)
    scene.frame_end = frames
    return np.array(play(scene, frames, lambda: look(moved(rig))))


@pytest.mark.parametrize("speed", [10.0, 30.0])
@pytest.mark.parametrize("kind", ["hinge", "slide"])
def test_a_stop_that_is_hit_is_not_passed_and_does_not_throw_back(blank: Any, speed: float, kind: str) -> None:
    """Looked at in every step of the solver, of which there are 600 a second."""
    dofs = rotations(Z) if kind == "hinge" else slides(Z)
    dofs[0].lower, dofs[0].upper = -1.0, 1.0
    look = angle(2) if kind == "hinge" else lambda pose: float(pose[2, 3])
    values = hit(blank.scene, hung(*dofs), speed, look, int(600 * (1.0 / speed + 0.15)))
    assert values.max() < 1.0 + 1e-3
    assert values[-1] == pytest.approx(1.0, abs=5e-3)
    assert np.diff(values).min() * 600 > -0.01 * speed


@pytest.mark.parametrize(("lower", "upper", "way"), [(-4.0, 1.0, -1), (-4.0, 1.0, 1), (0.5, 5.5, 1), (-0.2, None, 1)])
def test_stops_less_than_a_turn_apart_hold_beyond_half_a_turn(
    blank: Any, lower: float, upper: float | None, way: int
) -> None:
    (dof,) = dofs = rotations(Z)
    dof.lower, dof.upper, dof.max_force = lower, upper, 20.0
    start = 1.0 if lower > 0 else 0.0
    rig = put(hung(*dofs), physics=True)
    key(rig, "j", [(1, start), (120, start + way * 6.0)])
    rig.data.knuckle.drive = "SERVO"
    values = np.unwrap(play(blank.scene, 121, lambda: angle(2)(moved(rig))))
    if upper is None:
        assert values.max() > 5.5, "nothing in the way for nearly a turn"
    else:
        assert (values.max() if way > 0 else values.min()) == pytest.approx(upper if way > 0 else lower, abs=0.01)


def test_stops_a_turn_apart_are_told_and_stop_nothing(blank: Any) -> None:
    (dof,) = dofs = rotations(Z)
    dof.lower, dof.upper = math.radians(-400), math.radians(400)
    mechanism = hung(*dofs)
    rig = put(mechanism, physics=True)
    assert {entry.code for entry in mechanism.report.entries if entry.severity == "warning"} == {"stops-beyond-a-turn"}
    key(rig, "j", [(1, 0.0), (120, 6.5)])
    rig.data.knuckle.drive = "SERVO"
    values = np.unwrap(play(blank.scene, 120, lambda: angle(2)(moved(rig))))
    assert values[-1] == pytest.approx(6.5, abs=0.01)
    assert np.abs(values - 6.5 * np.arange(120) / 119).max() < 0.1


def test_windows() -> None:
    assert hinge_window(None, None) is None
    assert hinge_window(-1.0, 2.0) == (-1.0, 2.0)
    assert hinge_window(-4.0, 1.0) == (-4.0, 1.0)
    assert hinge_window(-4.0, 4.0) is None
    low, high = hinge_window(None, 0.5) or (0.0, 0.0)
    assert high == 0.5 and -2 * math.pi < low < -5.5
