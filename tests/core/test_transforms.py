"""Rotations and rigid poses, held against the matrix exponential and numpy's own inverse."""

from __future__ import annotations

import math

import numpy as np
import pytest

from addon.core.transforms import (
    affine_inverse,
    inverse,
    nearest_angle,
    nearest_euler_angles,
    rotation_matrix,
    rotation_vector,
    rotation_with_z,
    wrap_angle,
)
from tests.support.kinematics_helpers import some_pose, turning


@pytest.mark.parametrize("length", [0.0, 1e-12, 1e-7, 1e-3, 1.0, 3.0, math.pi - 1e-7, math.pi - 1e-10, math.pi])
def test_rotation_vectors_there_and_back(length: float) -> None:
    rng = np.random.default_rng(4)
    for axis in [*np.eye(3), *(-np.eye(3)), *rng.normal(size=(20, 3))]:
        vector = axis / np.linalg.norm(axis) * length
        matrix = rotation_matrix(vector)
        np.testing.assert_allclose(matrix, turning(vector)[:3, :3], atol=1e-12)
        back = rotation_vector(matrix)
        assert np.linalg.norm(back) <= math.pi + 1e-12
        np.testing.assert_allclose(rotation_matrix(back), matrix, atol=1e-9)


@pytest.mark.parametrize("short", [1.5, 0.1, 1e-3, 1e-5, 1e-7, 0.0])
def test_rotations_of_32_bit_numbers_keep_their_axis_towards_180_degrees(short: float) -> None:
    rng = np.random.default_rng(5)
    for axis in rng.normal(size=(50, 3)):
        matrix = turning(axis / np.linalg.norm(axis) * (math.pi - short))[:3, :3]
        back = rotation_vector(matrix.astype(np.float32))
        np.testing.assert_allclose(rotation_matrix(back), matrix, atol=5e-7)


@pytest.mark.parametrize("axis", [[0, 0, 1], [0, 0, -1], [1, 0, 0], [0, -5, 0], [0.1, 0.2, -0.3], [0, 1e-9, 1.0]])
def test_a_frame_on_an_axis_is_a_rotation_with_the_axis_as_z(axis: list[float]) -> None:
    frame = rotation_with_z(np.array(axis))
    np.testing.assert_allclose(frame.T @ frame, np.eye(3), atol=1e-14)
    assert np.linalg.det(frame) == pytest.approx(1.0)
    np.testing.assert_allclose(frame[:, 2], np.array(axis) / np.linalg.norm(axis), atol=2e-12)


def test_inverses_of_many_poses() -> None:
    rng = np.random.default_rng(2)
    poses = np.array([some_pose(rng) for _ in range(20)])
    np.testing.assert_allclose(inverse(poses), np.linalg.inv(poses), atol=1e-13)


def test_inverses_of_what_is_scaled_and_sheared() -> None:
    random = np.random.default_rng(1)
    poses = np.zeros((5, 4, 4))
    poses[:, :3] = random.uniform(-1.0, 1.0, (5, 3, 4))
    poses[:, 3, 3] = 1.0
    np.testing.assert_allclose(affine_inverse(poses), np.linalg.inv(poses), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(affine_inverse(poses[0]), np.linalg.inv(poses[0]), rtol=1e-10, atol=1e-12)
    assert affine_inverse(poses[:0]).shape == (0, 4, 4)
    rigid = np.array([some_pose(random) for _ in range(5)])
    np.testing.assert_allclose(affine_inverse(rigid), inverse(rigid), atol=1e-14)
    assert not np.isfinite(affine_inverse(np.zeros((1, 4, 4)))).all(), "scaled to nothing"


def test_a_single_rotation_is_computed_as_among_many() -> None:
    rng = np.random.default_rng(7)
    lengths = [0.0, 1e-12, 1e-7, 0.3, 2.0, 2.2, math.pi - 1e-10, math.pi, 7.0]
    vectors = np.array(
        [axis / np.linalg.norm(axis) * n for n in lengths for axis in [*np.eye(3), *rng.normal(size=(9, 3))]]
    )
    matrices = rotation_matrix(vectors)
    np.testing.assert_allclose([rotation_matrix(vector) for vector in vectors], matrices, atol=1e-15)
    back = rotation_vector(matrices)
    alone = np.array([rotation_vector(matrix) for matrix in matrices])
    np.testing.assert_allclose(rotation_matrix(alone), rotation_matrix(back), atol=1e-9)
    short = np.linalg.norm(vectors, axis=1) < 3.0  # beyond, the axis may be told the other way round
    np.testing.assert_allclose(alone[short], back[short], atol=1e-9)
    assert np.isnan(rotation_matrix(np.full(3, np.nan))[0, 1])


def test_angles_are_wrapped_to_half_a_revolution() -> None:
    assert wrap_angle(math.pi) == -math.pi
    assert wrap_angle(-math.pi) == -math.pi
    assert np.allclose(
        wrap_angle(np.array([0.5, 4.0, -4.0, 7.0])), [0.5, 4.0 - math.tau, math.tau - 4.0, 7.0 - math.tau]
    )


def test_the_nearest_equivalent_angle_differs_by_full_revolutions() -> None:
    assert nearest_angle(0.25, 0.5) == 0.25
    assert nearest_angle(0.5, 13.0) == pytest.approx(0.5 + 2.0 * math.tau)
    assert nearest_angle(10.0, -340.0, 360.0) == -350.0


def test_of_equivalent_euler_angles_the_nearest_set_is_found() -> None:
    near, angles = (200.0, 170.0, 181.0), np.radians([19.0, 9.0, 2.0]).tolist()
    assert nearest_euler_angles(angles, near, False) == pytest.approx((199.0, 171.0, 182.0))
    assert nearest_euler_angles(angles, near, True) == pytest.approx((379.0, 9.0, 2.0))
