"""Springs of joints of several degrees, at rest elsewhere than where a run begins: against the oscillator's formula."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from addon.core.model import Dof
from addon.core.transforms import rotation_matrix, rotation_vector
from tests.support.degrees_helpers import X, Y, put, rotations, slides
from tests.support.mechanisms import objects_of, play
from tests.support.spring_rest_helpers import coordinates, off, sprung
from tests.support.springs_helpers import INERTIA, MASS, hung


@pytest.mark.parametrize(
    ("name", "number", "start"),
    [("universal", 1, 0.1), ("planar", 1, 0.0), ("planar", 2, 0.0), ("cylindrical", 1, -0.1), ("ball", 2, 0.1)],
)
def test_a_spring_swings_about_its_rest(blank: Any, name: str, number: int, start: float) -> None:
    values = coordinates(blank.scene, sprung(name, number, 9.0, 0.3, start), 130)
    late, wide = off(values, number, 9.0, 0.3, start)
    assert abs(late) < 0.002
    assert abs(wide) < 0.01
    assert np.abs(np.delete(values, number, axis=1)).max() < 2e-3


def test_springs_on_axes_that_lean_swing_together(blank: Any) -> None:
    """Two turns whose axes are 45 degrees apart, a spring on each: the two swings of the pair, for small angles."""
    lean, stiff, rest = math.sqrt(0.5), np.array([8.0, 20.0]) * INERTIA, np.array([0.04, -0.03])
    dofs = rotations(X, (X + Y) / math.sqrt(2))
    for dof, stiffness, at in zip(dofs, stiff, rest, strict=True):
        dof.stiffness, dof.rest = float(stiffness), float(at)
    values = coordinates(blank.scene, hung(*dofs), 120)
    mass = INERTIA * np.array([[1.0, lean], [lean, 1.0]])
    squares, modes = np.linalg.eig(np.linalg.solve(mass, np.diag(stiff)))
    seconds = np.arange(120)[:, None] / 60
    swings = np.linalg.solve(modes, -rest) * np.cos(np.sqrt(squares) * seconds)
    assert np.abs(values - rest - swings @ modes.T).max() < 0.002


def test_a_balls_damper_brakes_although_its_weight_pulls(blank: Any) -> None:
    """Hanging beside its pivot, it sinks at the speed at which the damper carries the weight."""
    from tests.support.several_servos_helpers import beside

    ball = Dof("ball", damping=30.0)
    arm = np.array([0.5, 0.0, 0.0])
    mechanism = beside([ball], arm, np.array([0.0, -9.81, 0.0]))
    values = coordinates(blank.scene, mechanism, 31)
    assert (values[30] - values[20])[2] * 6 == pytest.approx(-MASS * 9.81 * 0.5 / 30.0, rel=0.05)


def test_clearing_takes_what_pushes_away(blank: Any) -> None:
    from addon.blender.physics.simulation.setup import build_physics, clear_physics
    from tests.support.clear_helpers import differences, everything

    dofs = [*slides(X, Y)]
    dofs[0].stiffness, dofs[0].rest = 50.0, 0.2
    rig = put(hung(*dofs))
    before = everything(blank.scene)
    build_physics(blank.scene, rig)
    rig.data.knuckle.drive = "LIMP"
    play(blank.scene, 5, lambda: None)
    assert len(objects_of(rig, "JOINT")["j"].knuckle.joint.spring_motors) == 2
    clear_physics(blank.scene, rig)
    blank.scene.frame_set(1)
    objects_of(rig, "JOINT")["j"].knuckle.joint.spring_motors.clear()
    assert differences(before, everything(blank.scene)) == {}


def test_slides_keep_their_springs_beside_a_ball_with_a_damper(blank: Any) -> None:
    (slide,), ball = slides(Y), Dof("ball")
    slide.stiffness, slide.rest, ball.damping = 50.0, 0.3, 0.5
    values = coordinates(blank.scene, hung(slide, ball), 61)
    true = 0.3 * (1.0 - np.cos(5.0 * np.arange(61) / 60))
    assert np.abs(values[:, 0] - true).max() < 0.005


def test_a_turn_beside_a_slide_that_begins_turns_in_is_at_rest_there(blank: Any) -> None:
    turn, slide = *rotations(X), *slides(X)
    turn.position, turn.stiffness, turn.rest = 4.0, 5.0, 4.2
    values = np.unwrap(coordinates(blank.scene, hung(turn, slide), 61)[:, 0])
    assert np.ptp(values) == pytest.approx(0.4, rel=0.02)


def test_a_balls_springs_that_begin_turned_push_along_the_axes_of_what_they_turn(blank: Any) -> None:
    """One of them alone, about X as the body has it, and the body turned about Z by a right angle: it goes about the
    joint's Y."""
    ball = Dof("ball")
    ball.parts = [Dof("rotation", axis) for axis in np.eye(3)]
    ball.start = (0.0, 0.0, math.pi / 2)
    ball.parts[0].stiffness, ball.parts[0].rest = INERTIA * 4.0, 0.5
    values = coordinates(blank.scene, hung(ball), 10)
    first, last = (rotation_matrix(values[k]) for k in (0, -1))
    turned = rotation_vector(last @ first.T)
    expected = INERTIA * 4.0 * 0.5 / INERTIA * (9 / 60) ** 2 / 2
    assert turned == pytest.approx([0.0, expected, 0.0], abs=0.05 * expected)
