"""Balls' coordinates from the keys of their bones: held against the coordinates that the keys were made of."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from addon.blender.rig.ball_channels import (
    block_bone_channels,
    coordinates_from_keys,
    nearest_rotation_vectors,
    unwrap_rotation_vectors,
)
from addon.core.transforms import rotation_matrix


def some_turn(seed: int) -> np.ndarray:
    return rotation_matrix(np.random.default_rng(seed).normal(size=(1, 3)))[0]


def as_kept(numbers: np.ndarray) -> np.ndarray:
    """As Blender keeps keys: in 32 bits."""
    return numbers.astype(np.float32).astype(np.float64)


@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("turns", [0.3, 1.0, 4.5, -3.0])
def test_keys_are_read_as_the_coordinates_they_were_made_of(is_reversed: bool, free: bool, turns: float) -> None:
    """Also past several whole turns, about an axis that changes on the way."""
    share = np.linspace(0.0, 1.0, 2001)[:, None]
    values = 2.0 * np.pi * turns * share * np.array([1.0, 0.0, 0.0]) + 0.4 * np.sin(3.0 * share * [1.0, 2.0, 4.0])
    values = np.concatenate([values, np.cos(share * [5.0, 7.0, 1.0])], axis=1)[:, : 6 if free else 3]
    turn = some_turn(1)
    places, quaternions = block_bone_channels(values, turn, is_reversed)
    found = coordinates_from_keys(as_kept(places) if free else None, as_kept(quaternions), turn, is_reversed, free)
    assert found.shape == values.shape
    assert found == pytest.approx(values, abs=2e-4)  # near whole turns seven digits tell the axis so well


def test_whole_revolutions_have_the_axis_of_the_keys_around_them() -> None:
    """A quaternion of a whole turn tells no axis; what 32 bits leave of it points anywhere."""
    axis = np.array([0.6, 0.0, 0.8])
    angle = np.radians([300.0, 360.0, 420.0, 560.0, 720.0, 690.0, 520.0, 360.0])
    values = angle[:, None] * axis
    _, quaternions = block_bone_channels(values, np.eye(3), False)
    quaternions[[1, 4, 7], 1:] = [[0.0, 3e-8, 0.0], [0.0, 0.0, 0.0], [-1e-8, 0.0, 2e-8]]
    assert coordinates_from_keys(None, quaternions, np.eye(3), False, False) == pytest.approx(values, abs=1e-6)
    assert coordinates_from_keys(None, quaternions[[1, 0]], np.eye(3), False, False) == pytest.approx(
        values[[1, 0]], abs=1e-6
    )


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 40), st.sampled_from([0.5, 3.0, 30.0]))
def test_each_vector_is_the_nearest_to_the_one_before(seed: int, count: int, size: float) -> None:
    given = np.random.default_rng(seed).normal(size=(count, 3)) * size
    found = unwrap_rotation_vectors(given)
    assert rotation_matrix(found) == pytest.approx(rotation_matrix(given), abs=1e-9)
    assert found[0] == pytest.approx(given[0])
    again = nearest_rotation_vectors(found[1:], found[:-1])
    gone, least = (np.linalg.norm(each - found[:-1], axis=1) for each in (found[1:], again))
    assert gone == pytest.approx(least, abs=1e-9)


@pytest.mark.parametrize("wild", [False, True])
def test_a_hundred_thousand_keys_take_a_moment(wild: bool) -> None:
    rng = np.random.default_rng(3)
    values = np.arange(100_000.0)[:, None] * [0.03, 0.01, 0.0] + 0.1 * rng.normal(size=(100_000, 3))
    values = rng.normal(size=(100_000, 3)) * 3.0 if wild else values
    _, quaternions = block_bone_channels(values, np.eye(3), False)
    begun = time.process_time()
    coordinates_from_keys(None, quaternions, np.eye(3), False, False)
    assert time.process_time() - begun < 0.7  # about 0.1 where nothing else runs
