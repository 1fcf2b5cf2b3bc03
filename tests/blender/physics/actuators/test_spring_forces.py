"""Springs and dampers of joints under physics, at rest at any joint value, against the formulas of the harmonic
oscillator; and reports of those that Blender does not support."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from addon.core.model import Array, Dof, Mechanism
from addon.core.transforms import rotation_matrix, rotation_vector
from tests.support.degrees_helpers import X, Y, Z, pose_of, put, rotations, slides
from tests.support.mechanisms import key, objects_of, play
from tests.support.spring_rest_helpers import coordinates, off, sprung
from tests.support.springs_helpers import FRAME, INERTIA, MASS, angle, cube_on_joint, moved, period, warnings


def run(mechanism: Mechanism, look: Callable[[Array], float], frames: int = 240) -> Array:
    """Let the cube go and look at its motion in every frame."""
    import bpy

    rig = put(mechanism, physics=True)
    rig.data.knuckle.drive = "LIMP"
    return np.array(play(bpy.context.scene, frames, lambda: look(moved(rig))))


def decay(values: Array) -> float:
    """By how much the logarithm of the peaks falls per second."""
    size = np.abs(values)
    peaks = np.flatnonzero((size[1:-1] > size[:-2]) & (size[1:-1] > size[2:])) + 1
    return -float(np.polyfit(peaks / 60, np.log(size[peaks]), 1)[0])


@pytest.mark.parametrize("world", [True, False], ids=["at the world", "at a body"])
@pytest.mark.parametrize("stiffness", [20.0, 150.0])
def test_a_mass_on_a_spring_swings_in_its_time(blank: Any, stiffness: float, world: bool) -> None:
    """A slide along an axis of its own, with the weight of the mass along it: it swings about where it would hang."""
    axis = np.array([0.6, 0.0, 0.8])
    (dof,) = dofs = slides(axis)
    dof.stiffness = stiffness
    pull = 1.5
    values = run(
        cube_on_joint(*dofs, gravity=FRAME[:3, :3] @ axis * pull, world=world), lambda pose: float(pose[:3, 3] @ axis)
    )
    sag = MASS * pull / stiffness
    assert period(values - sag) == pytest.approx(2 * math.pi * math.sqrt(MASS / stiffness), rel=2e-3)
    assert values.max() == pytest.approx(2 * sag, rel=0.01)
    assert values[-60:].max() == pytest.approx(2 * sag, rel=0.02), "and does not die down"


@pytest.mark.parametrize("damping", [0.5, 2.0])
def test_a_damper_takes_its_share(blank: Any, damping: float) -> None:
    (dof,) = dofs = slides(Y)
    dof.stiffness, dof.damping = 150.0, damping
    values = run(cube_on_joint(*dofs, gravity=FRAME[:3, 1] * 3), lambda pose: float(pose[1, 3]))
    assert decay(values - MASS * 3 / 150) == pytest.approx(damping / (2 * MASS), rel=0.02)


def test_a_damper_alone_brings_to_a_steady_speed(blank: Any) -> None:
    (dof,) = dofs = slides(Z)
    dof.damping = 8.0
    values = run(cube_on_joint(*dofs, gravity=FRAME[:3, 2] * 3), lambda pose: float(pose[2, 3]))
    assert (values[-1] - values[-2]) * 60 == pytest.approx(MASS * 3 / 8.0, rel=0.005)


@pytest.mark.parametrize("damping", [0.0, 0.3])
@pytest.mark.parametrize("world", [True, False], ids=["at the world", "at a body"])
def test_a_hinge_with_a_spring_swings_in_its_time(blank: Any, damping: float, world: bool) -> None:
    """The weight acts a little beside the axis and turns it out of its rest."""
    (dof,) = dofs = rotations(X)
    dof.stiffness, dof.damping = 10.0, damping
    mechanism = cube_on_joint(*dofs, gravity=FRAME[:3, 2] * -2.0, world=world)
    beside = 0.1
    mechanism.joints[0].frame_child[:3, 3] = (0, -beside, 0)  # the pivot, seen from the cube
    mechanism.bodies[-1].pose = FRAME @ pose_of((0, 0, 0), (0, beside, 0))
    values = run(mechanism, angle(0))
    inertia = INERTIA + MASS * beside**2
    sag = -MASS * 2 * beside / 10
    if damping == 0.0:
        assert period(values - sag) == pytest.approx(2 * math.pi * math.sqrt(inertia / 10), rel=5e-3)
        assert values.min() == pytest.approx(2 * sag, rel=0.02)
    else:
        assert decay(values[:150] - sag) == pytest.approx(damping / (2 * inertia), rel=0.05)
        assert values[-1] == pytest.approx(sag, rel=0.05)


def test_each_axis_has_its_own_spring_and_the_others_hold(blank: Any) -> None:
    """Three slides, of which two have springs and one a damper."""
    dofs = slides(X, Y, Z)
    dofs[0].stiffness, dofs[1].stiffness, dofs[2].damping = 40.0, 90.0, 5.0
    mechanism = cube_on_joint(*dofs, gravity=FRAME[:3, :3] @ [1.0, 1.0, 1.0])
    rig = put(mechanism, physics=True)
    rig.data.knuckle.drive = "LIMP"
    poses = np.array(play(blank.scene, 240, lambda: moved(rig)))
    for axis, stiffness in ((0, 40.0), (1, 90.0)):
        values = poses[:, axis, 3] - MASS / stiffness
        assert period(values) == pytest.approx(2 * math.pi * math.sqrt(MASS / stiffness), rel=5e-3)
    assert (poses[-1, 2, 3] - poses[-2, 2, 3]) * 60 == pytest.approx(MASS / 5, rel=0.01)
    assert np.abs(poses[:, :3, :3] - np.eye(3)).max() < 1e-3


def test_a_spring_with_a_stop_stops(blank: Any) -> None:
    for dofs, at in ((slides(Y), (1, 3)), ([*slides(Y, Z)], (1, 3))):
        dofs[0].stiffness, dofs[0].damping, dofs[0].upper = 20.0, 1.0, 0.07
        values = run(cube_on_joint(*dofs, gravity=FRAME[:3, 1]), lambda pose, at=at: float(pose[at]), 120)
        assert values[-1] == pytest.approx(0.07, abs=0.002), "without its stop it would go to 0.1"


def test_a_balls_springs_are_those_of_its_parts(blank: Any) -> None:
    ball = Dof(
        "ball", parts=[Dof("rotation", axis, damping=each) for axis, each in zip((X, Y, Z), (1, 2, 3), strict=True)]
    )
    rig = put(cube_on_joint(ball), physics=True)
    constraint = objects_of(rig, "JOINT")["j"].rigid_body_constraint
    assert constraint.type == "GENERIC_SPRING"
    assert [getattr(constraint, f"spring_damping_ang_{axis}") for axis in "xyz"] == [1, 2, 3]
    assert [getattr(constraint, f"use_spring_{axis}") for axis in "xyz"] == [False] * 3
    assert [getattr(constraint, f"use_limit_lin_{axis}") for axis in "xyz"] == [True] * 3
    assert [getattr(constraint, f"use_limit_ang_{axis}") for axis in "xyz"] == [False] * 3


def test_an_edited_spring_is_in_the_next_run(blank: Any) -> None:
    rig = put(cube_on_joint(*slides(Y)), physics=True)
    empty = objects_of(rig, "JOINT")["j"]
    assert empty.rigid_body_constraint.type == "SLIDER"
    empty.knuckle.joint.dofs[0].stiffness = 30.0
    assert empty.rigid_body_constraint.type == "GENERIC_SPRING"
    assert empty.rigid_body_constraint.spring_stiffness_x == 30.0
    empty.knuckle.joint.dofs[0].stiffness = 0.0
    assert empty.rigid_body_constraint.type == "SLIDER"


def test_springs_that_blender_does_not_support_are_reported(blank: Any) -> None:
    at_rest, away, screw, skew = slides(Y)[0], rotations(X)[0], Dof("screw", Z, pitch=0.1), rotations(X, (X + Y) / 2)
    several = [*slides(X), *rotations(Y)]
    several[1].stiffness, several[1].rest = 5.0, 0.3
    at_rest.stiffness, at_rest.rest, at_rest.position = 5.0, 0.2, 0.2
    away.stiffness, away.rest = 5.0, 0.3
    skew[1].damping = 1.0
    assert warnings(cube_on_joint(at_rest)) == set()
    assert warnings(cube_on_joint(away)) == set()
    assert warnings(cube_on_joint(*several)) == set()
    assert warnings(cube_on_joint(screw)) == set()
    assert warnings(cube_on_joint(*skew)) == set()


@pytest.mark.parametrize("start", [0.0, 0.35, -0.1])
@pytest.mark.parametrize("world", [True, False], ids=["at the world", "at a body"])
def test_a_lone_prismatic_joint_swings_about_the_rest_of_its_spring(blank: Any, start: float, world: bool) -> None:
    """Wherever the run begins, though Blender's own spring is at rest there."""
    (dof,) = dofs = slides(Y)
    dof.stiffness, dof.rest = 50.0, 0.2
    rig = put(cube_on_joint(*dofs, world=world), physics=True)
    key(rig, "j", [(1, start)])
    rig.data.knuckle.drive = "LIMP"
    for _ in range(2):
        values = np.array(play(blank.scene, 240, lambda: moved(rig)[1, 3]))
        assert (values.max() + values.min()) / 2 == pytest.approx(0.2, abs=2e-3)
        assert np.ptp(values) / 2 == pytest.approx(abs(start - 0.2), abs=2e-3)
        assert period(values - 0.2) == pytest.approx(2 * math.pi * math.sqrt(MASS / 50), rel=2e-3)


@pytest.mark.parametrize("start", [0.0, 0.8])
def test_a_lone_hinge_comes_to_the_rest_of_its_spring(blank: Any, start: float) -> None:
    (dof,) = dofs = rotations(X)
    dof.stiffness, dof.rest, dof.damping, dof.lower, dof.upper = 10.0, 0.3, 1.0, -1.0, 1.0
    rig = put(cube_on_joint(*dofs), physics=True)
    key(rig, "j", [(1, start)])
    rig.data.knuckle.drive = "LIMP"
    assert play(blank.scene, 200, lambda: angle(0)(moved(rig)))[-1] == pytest.approx(0.3, abs=2e-3)


def test_clearing_physics_removes_the_preload_of_a_spring(blank: Any) -> None:
    from addon.blender.physics.simulation.setup import build_physics, clear_physics
    from tests.support.clear_helpers import differences, everything

    (dof,) = dofs = slides(Y)
    dof.stiffness, dof.rest = 50.0, 0.2
    rig = put(cube_on_joint(*dofs))
    before = everything(blank.scene)
    build_physics(blank.scene, rig)
    rig.data.knuckle.drive = "LIMP"
    play(blank.scene, 10, lambda: None)
    assert objects_of(rig, "JOINT")["j"].knuckle.joint.spring_preload is not None
    clear_physics(blank.scene, rig)
    blank.scene.frame_set(1)
    assert differences(before, everything(blank.scene)) == {}


def test_a_spring_that_is_at_rest_where_the_run_begins_stays_there(blank: Any) -> None:
    (dof,) = dofs = slides(Y)
    dof.stiffness, dof.rest = 50.0, 0.2
    rig = put(cube_on_joint(*dofs), physics=True)
    key(rig, "j", [(1, 0.2)])
    rig.data.knuckle.drive = "LIMP"
    assert play(blank.scene, 60, lambda: moved(rig)[1, 3])[-1] == pytest.approx(0.2, abs=1e-4)


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
    values = coordinates(blank.scene, cube_on_joint(*dofs), 120)
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


def test_clearing_physics_removes_motors_of_springs(blank: Any) -> None:
    from addon.blender.physics.simulation.setup import build_physics, clear_physics
    from tests.support.clear_helpers import differences, everything

    dofs = [*slides(X, Y)]
    dofs[0].stiffness, dofs[0].rest = 50.0, 0.2
    rig = put(cube_on_joint(*dofs))
    before = everything(blank.scene)
    build_physics(blank.scene, rig)
    rig.data.knuckle.drive = "LIMP"
    play(blank.scene, 5, lambda: None)
    assert len(objects_of(rig, "JOINT")["j"].knuckle.joint.spring_motors) == 2
    clear_physics(blank.scene, rig)
    blank.scene.frame_set(1)
    objects_of(rig, "JOINT")["j"].knuckle.joint.spring_motors.clear()
    assert differences(before, everything(blank.scene)) == {}


def test_translations_keep_their_springs_beside_a_ball_with_a_damper(blank: Any) -> None:
    (slide,), ball = slides(Y), Dof("ball")
    slide.stiffness, slide.rest, ball.damping = 50.0, 0.3, 0.5
    values = coordinates(blank.scene, cube_on_joint(slide, ball), 61)
    true = 0.3 * (1.0 - np.cos(5.0 * np.arange(61) / 60))
    assert np.abs(values[:, 0] - true).max() < 0.005


def test_a_rotation_beside_a_translation_rests_after_whole_revolutions(blank: Any) -> None:
    turn, slide = *rotations(X), *slides(X)
    turn.position, turn.stiffness, turn.rest = 4.0, 5.0, 4.2
    values = np.unwrap(coordinates(blank.scene, cube_on_joint(turn, slide), 61)[:, 0])
    assert np.ptp(values) == pytest.approx(0.4, rel=0.02)


def test_springs_of_a_rotated_ball_act_along_the_axes_of_its_rotations(blank: Any) -> None:
    """One of them alone, about X as the body has it, and the body turned about Z by a right angle: it goes about the
    joint's Y."""
    ball = Dof("ball")
    ball.parts = [Dof("rotation", axis) for axis in np.eye(3)]
    ball.start = (0.0, 0.0, math.pi / 2)
    ball.parts[0].stiffness, ball.parts[0].rest = INERTIA * 4.0, 0.5
    values = coordinates(blank.scene, cube_on_joint(ball), 10)
    first, last = (rotation_matrix(values[k]) for k in (0, -1))
    turned = rotation_vector(last @ first.T)
    expected = INERTIA * 4.0 * 0.5 / INERTIA * (9 / 60) ** 2 / 2
    assert turned == pytest.approx([0.0, expected, 0.0], abs=0.05 * expected)
