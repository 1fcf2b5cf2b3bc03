"""Friction and dampers of joints, against a numerical integration of the pendulum that has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from addon.core.model import Dof
from tests.support.degrees_helpers import X, Z, put, rotations, slides
from tests.support.emptied import empty_file
from tests.support.friction_helpers import WEIGHT, integrated, swung
from tests.support.mechanisms import key, objects_of, play
from tests.support.springs_helpers import MASS, cube_on_joint, moved, warnings


@pytest.mark.parametrize("kind", ["hinge", "universal"])
@pytest.mark.parametrize(
    ("friction", "damping"), [(0, 0), (1.0, 0), (3.0, 0), (0, 0.2), (0, 1.0), (0, 8.0), (0, 40), (0.5, 0.3)]
)
def test_a_pendulum_loses_what_it_should(blank: Any, friction: float, damping: float, kind: str) -> None:
    dofs = rotations(Z) if kind == "hinge" else rotations(Z, X)
    dofs[0].friction, dofs[0].damping = friction, damping
    values = swung(blank.scene, dofs, 121)
    assert np.abs(values - integrated(friction, damping, 121)).max() < 0.006


def test_friction_holds_what_does_not_overcome_it(blank: Any) -> None:
    for share, holds in ((0.97, True), (1.03, False)):
        import bpy

        empty_file()
        (dof,) = dofs = rotations(Z)
        dof.friction = WEIGHT / share
        assert (abs(swung(bpy.context.scene, dofs, 61)[-1]) < 1e-3) == holds


def test_a_sliding_body_comes_to_rest_by_friction_and_stays(blank: Any) -> None:
    """Thrown along a slide by a servo that then lets go: it stops after v^2 m / 2 f."""
    (dof,) = dofs = slides(Z)
    dof.friction = 4.0
    rig = put(cube_on_joint(*dofs), physics=True)
    key(rig, "j", [(1, 0.0), (31, 1.0)])
    for frame, drive in ((1, "SERVO"), (31, "LIMP")):
        rig.data.knuckle.drive = drive
        rig.data.keyframe_insert("knuckle.drive", frame=frame)
    values = np.array(play(blank.scene, 121, lambda: float(moved(rig)[2, 3])))
    speed = (values[29] - values[28]) * 60
    assert speed == pytest.approx(2.0, rel=1e-3)
    assert values[-1] - values[29] == pytest.approx(speed**2 * MASS / 2 / 4.0, rel=0.02)
    assert np.ptp(values[-10:]) < 1e-5


def test_a_servo_works_against_friction(blank: Any) -> None:
    """What is left of its force accelerates the body."""
    (dof,) = dofs = slides(Z)
    dof.friction, dof.max_force = 3.0, 5.0
    rig = put(cube_on_joint(*dofs), physics=True)
    key(rig, "j", [(1, 0.0), (2, 9.0), (61, 9.0)])
    rig.data.knuckle.drive = "SERVO"
    values = np.array(play(blank.scene, 31, lambda: float(moved(rig)[2, 3])))
    assert np.diff(values[5:], 2).mean() * 3600 == pytest.approx((5.0 - 3.0) / MASS, rel=0.02)


def test_what_brakes_goes_when_physics_is_cleared(blank: Any) -> None:
    import bpy

    from addon.blender.physics.simulation.setup import clear_physics

    (dof,) = dofs = rotations(Z)
    dof.friction = 1.0
    rig = put(cube_on_joint(*dofs), physics=True)
    rig.data.knuckle.drive = "LIMP"
    play(blank.scene, 3, lambda: None)
    losses = objects_of(rig, "JOINT")["j"].knuckle.joint.loss_motors
    assert [each.empty.name in blank.scene.objects for each in losses] == [True]
    before = len(bpy.data.objects)
    clear_physics(blank.scene, rig)
    assert len(bpy.data.objects) < before
    assert not [obj for obj in bpy.data.objects if obj.name.endswith("Losses")]


def test_friction_and_rotor_inertia_without_a_motor_are_reported(blank: Any) -> None:
    assert warnings(cube_on_joint(Dof("ball", friction=1.0))) == {"friction-not-simulated"}
    assert warnings(cube_on_joint(Dof("rotation", X, friction=1.0, armature=0.1))) == {"armature-not-simulated"}


@pytest.mark.parametrize("drive", ["LIMP", "SERVO"])
def test_joints_computed_together_move_as_one_by_one(blank: Any, monkeypatch: pytest.MonkeyPatch, drive: str) -> None:
    """The humanoid has 22 damped hinges: all at once, and each by the general way of joints with several axes."""
    import bpy

    from addon import formats
    from addon.blender.build import build
    from addon.blender.physics.actuators.joint_friction_damping import JointLosses
    from tests.support.scenes import OWN

    def fallen() -> Any:
        empty_file()
        build(formats.load(OWN / "humanoid/humanoid.skel"))
        rig = next(obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")
        rig.data.knuckle.drive = drive
        world = bpy.context.scene.rigidbody_world
        world.substeps_per_frame, world.solver_iterations = 20, 50
        bodies = objects_of(rig, "BODY")
        return np.array(
            play(bpy.context.scene, 13, lambda: np.array([obj.matrix_world for obj in bodies.values()])), dtype=float
        )

    together, plain = fallen(), JointLosses.__init__

    def one_by_one(self: JointLosses, *args: Any) -> None:
        plain(self, *args)
        assert len(self._joints) == 22
        self._others, self._plain, self._joints = list(self._all), [], []

    monkeypatch.setattr(JointLosses, "__init__", one_by_one)
    assert np.abs(fallen() - together).max() < 1e-4
    assert drive == "SERVO" or np.ptp(together[:, :, 2, 3], axis=0).max() > 0.01
