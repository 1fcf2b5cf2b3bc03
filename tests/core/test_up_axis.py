"""Turning a model as a whole: everything in it keeps its place to everything else."""

from __future__ import annotations

import numpy as np
import pytest

from addon.core.kinematics import spanning_tree
from addon.core.model import Body, Dof, Frame, Joint, Light, Mechanism, Restraint
from addon.core.transforms import rotation_matrix
from addon.core.up_axis import rotate_mechanism, upright_transform

UP = {"X": (1, 0, 0), "Y": (0, 1, 0), "Z": (0, 0, 1), "-X": (-1, 0, 0), "-Y": (0, -1, 0), "-Z": (0, 0, -1)}


@pytest.mark.parametrize("up", UP)
def test_gravity_points_down_after_the_up_axis_changed(up: str) -> None:
    mechanism = Mechanism()
    mechanism.world.gravity = -9.81 * np.array(UP[up])
    turn = upright_transform(mechanism)
    assert np.allclose(rotate_mechanism(mechanism, turn).world.gravity, (0, 0, -9.81), atol=1e-12)
    assert np.array_equal(turn, upright_transform(Mechanism(), up)), "as where the axis is chosen"
    assert np.allclose(turn @ turn.T, np.eye(4)) and np.linalg.det(turn) == pytest.approx(1.0), "a rotation"


@pytest.mark.parametrize(
    ("gravity", "up"),
    [((0.0, 0.0, 0.0), "Z"), ((0.3, 9.7, -0.2), "-Y"), ((-9.0, 2.0, -3.0), "X"), ((3.0, 0.0, -3.0), "Z")],
    ids=["none", "nearly -Y", "oblique", "as much along Z"],
)
def test_the_largest_component_of_gravity_counts(gravity: tuple[float, float, float], up: str) -> None:
    mechanism = Mechanism()
    mechanism.world.gravity = np.array(gravity)
    assert np.array_equal(upright_transform(mechanism), upright_transform(Mechanism(), up))


def test_poses_rotate_together_at_any_joint_values() -> None:
    rng = np.random.default_rng(4)

    def pose() -> np.ndarray:
        out = np.eye(4)
        out[:3, :3], out[:3, 3] = rotation_matrix(rng.normal(size=3)), rng.normal(size=3)
        return out

    bodies = [Body(name, name, pose()) for name in "abc"]
    joints = [
        Joint("1", "1", "revolute", None, "a", frame_child=pose(), dofs=[Dof("rotation")]),
        Joint("2", "2", "prismatic", "b", None, frame_parent=pose(), dofs=[Dof("translation")]),
        Joint("3", "3", "ball", "b", "c", pose(), pose(), [Dof("ball")]),
    ]
    joints[0].frame_parent = bodies[0].pose @ joints[0].frame_child
    joints[1].frame_child = bodies[1].pose @ joints[1].frame_parent
    joints[2].frame_child = np.linalg.inv(bodies[2].pose) @ bodies[1].pose @ joints[2].frame_parent
    mechanism = Mechanism("m", bodies=bodies, joints=joints)
    mechanism.frames = [Frame("w", None, pose()), Frame("on a", "a", pose())]
    mechanism.lights = [Light("l", body=None, pose=pose())]
    mechanism.restraints = [Restraint("r", bodies=(None, "a"), frames=(pose(), pose()))]
    turn = pose()
    after = rotate_mechanism(mechanism, turn)
    values = {"1": np.array([0.4]), "2": np.array([0.7]), "3": rng.normal(size=(1, 3))}
    before, now = (spanning_tree(each).forward(values)[0] for each in (mechanism, after))
    assert np.allclose(now, turn @ before)
    assert np.allclose(after.frames[0].pose, turn @ mechanism.frames[0].pose)
    assert np.array_equal(after.frames[1].pose, mechanism.frames[1].pose)
    assert np.allclose(after.lights[0].pose, turn @ mechanism.lights[0].pose)
    assert np.allclose(after.restraints[0].frames[0], turn @ mechanism.restraints[0].frames[0])
    assert np.array_equal(after.restraints[0].frames[1], mechanism.restraints[0].frames[1])
    assert np.array_equal(mechanism.bodies[0].pose, bodies[0].pose), "the original is left alone"
