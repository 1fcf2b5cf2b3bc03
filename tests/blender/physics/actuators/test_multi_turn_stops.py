"""Stops that are hit fast, and stops beyond half a turn."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from addon.blender.physics.constraints.constraints import hinge_limits
from addon.core.model import Array
from tests.support.degrees_helpers import Z, put, rotations, slides
from tests.support.hard_stops_helpers import hit
from tests.support.mechanisms import key, play
from tests.support.springs_helpers import angle, cube_on_joint, moved


@pytest.mark.parametrize("speed", [10.0, 30.0])
@pytest.mark.parametrize(
    ("kind", "lower"), [("hinge", -1.0), ("slide", -1.0), ("hinge", None), ("slide", None), ("hinge", -4.0)]
)
def test_a_stop_that_is_hit_is_not_passed_and_does_not_throw_back(
    blank: Any, speed: float, kind: str, lower: float | None
) -> None:
    """Looked at in every step of the solver, of which there are 600 a second. Whatever the other stop is."""
    dofs = rotations(Z) if kind == "hinge" else slides(Z)
    dofs[0].lower, dofs[0].upper = lower, 1.0
    look = angle(2) if kind == "hinge" else lambda pose: float(pose[2, 3])
    values = hit(blank.scene, cube_on_joint(*dofs), speed, look, int(600 * (1.0 / speed + 0.15)))
    assert values.max() < 1.0 + 1e-3
    assert values[-1] == pytest.approx(1.0, abs=5e-3)
    assert np.diff(values).min() * 600 > -0.01 * speed


@pytest.mark.parametrize("lower", [None, -1.0])
def test_a_stop_that_is_hit_between_frames_is_not_passed(blank: Any, lower: float | None) -> None:
    """30 rad/s are half a radian in a frame of 60 a second."""
    (dof,) = dofs = rotations(Z)
    dof.lower, dof.upper = lower, 2.3
    rig = put(cube_on_joint(*dofs), physics=True)
    key(rig, "j", [(1, 0.0), (4, 1.5)])
    for frame, drive in ((1, "SERVO"), (4, "LIMP")):
        rig.data.knuckle.drive = drive
        rig.data.keyframe_insert("knuckle.drive", frame=frame)
    values = play(blank.scene, 20, lambda: angle(2)(moved(rig)))
    assert max(values) < 2.31
    assert values[-1] == pytest.approx(2.3, abs=0.01)


@pytest.mark.parametrize(("lower", "upper", "way"), [(-4.0, 1.0, -1), (-4.0, 1.0, 1), (0.5, 5.5, 1), (-0.2, None, 1)])
def test_stops_less_than_360_degrees_from_each_other_hold_past_180_degrees(
    blank: Any, lower: float, upper: float | None, way: int
) -> None:
    (dof,) = dofs = rotations(Z)
    dof.lower, dof.upper, dof.max_force = lower, upper, 20.0
    start = 1.0 if lower > 0 else 0.0
    rig = put(cube_on_joint(*dofs), physics=True)
    key(rig, "j", [(1, start), (120, start + way * 6.0)])
    rig.data.knuckle.drive = "SERVO"
    values = np.unwrap(play(blank.scene, 121, lambda: angle(2)(moved(rig))))
    if upper is None:
        assert values.max() > 5.5, "nothing in the way for nearly a turn"
    else:
        assert (values.max() if way > 0 else values.min()) == pytest.approx(upper if way > 0 else lower, abs=0.01)


def driven(scene: Any, lower: float | None, upper: float | None, *keys: tuple[int, float]) -> Array:
    """Where a hinge with a weak servo goes that is told to go through keys; whole turns are counted."""
    (dof,) = dofs = rotations(Z)
    dof.lower, dof.upper, dof.max_force = lower, upper, 20.0
    mechanism = cube_on_joint(*dofs)
    rig = put(mechanism, physics=True)
    assert "stops-beyond-a-turn" not in {entry.code for entry in mechanism.report.entries}
    key(rig, "j", keys)
    rig.data.knuckle.drive = "SERVO"
    values = np.unwrap(play(scene, keys[-1][0], lambda: angle(2)(moved(rig))))
    return values + 2.0 * math.pi * round((keys[0][1] - values[0]) / (2.0 * math.pi))


def test_stops_more_than_360_degrees_from_each_other_hold(blank: Any) -> None:
    """At 400 degrees either way, and not at 40."""
    far = math.radians(400)
    values = driven(blank.scene, -far, far, (1, 0.0), (60, 8.0), (140, -8.0), (150, -8.0))
    assert values.max() == pytest.approx(far, abs=0.01)
    assert values.min() == pytest.approx(-far, abs=0.01)


def test_a_single_stop_holds_after_revolutions_the_other_way(blank: Any) -> None:
    values = driven(blank.scene, None, 1.0, (1, 0.0), (60, -9.0), (130, 3.0), (140, 3.0))
    assert values.min() < -8.9
    assert values.max() == pytest.approx(1.0, abs=0.01)
    assert values[-1] == pytest.approx(1.0, abs=0.01)


def test_stops_count_the_whole_revolutions_of_the_initial_pose(blank: Any) -> None:
    values = driven(blank.scene, 5.0, 8.0, (1, 6.0), (40, 9.0), (90, 4.0), (100, 4.0))
    assert values.max() == pytest.approx(8.0, abs=0.01)
    assert values.min() == pytest.approx(5.0, abs=0.01)


def test_what_counts_stops_goes_with_the_physics(blank: Any) -> None:
    import bpy

    from addon.blender.physics.simulation.setup import clear_physics

    (dof,) = dofs = rotations(Z)
    dof.upper = 1.0
    rig = put(cube_on_joint(*dofs))
    before = set(bpy.data.objects.keys())
    rig.data.knuckle.drive = "LIMP"
    play(blank.scene, 3, lambda: None)
    assert len(set(bpy.data.objects.keys()) - before) > 1
    clear_physics(blank.scene, rig)
    assert set(bpy.data.objects.keys()) == before


@pytest.mark.parametrize(("upper", "told"), [(3.4, True), (3.4 + 2.0 * math.pi, True), (4.2, False), (2.0, False)])
def test_a_single_stop_just_past_180_degrees_is_reported(blank: Any, upper: float, told: bool) -> None:
    """Its constraint would take the hinge to be beyond it, from the other side."""
    (dof,) = dofs = rotations(Z)
    dof.upper = upper
    mechanism = cube_on_joint(*dofs)
    put(mechanism, physics=True)
    assert ("stops-beyond-a-turn" in {entry.code for entry in mechanism.report.entries}) == told


def test_hinge_limits_are_none_from_one_revolution_on() -> None:
    assert hinge_limits(None, None) is None
    assert hinge_limits(-1.0, 2.0) == (-1.0, 2.0)
    assert hinge_limits(-4.0, 1.0) == (-4.0, 1.0)
    assert hinge_limits(-4.0, 4.0) is None
    low, high = hinge_limits(None, 0.5) or (0.0, 0.0)
    assert high == 0.5 and -2 * math.pi < low < -5.5
