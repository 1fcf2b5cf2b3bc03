"""Where the camera stands: nothing of the model ever leaves the picture, and the camera moves calmly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.framing_helpers import projected

pytest.importorskip("bpy", reason="Blender is not here")

RNG = np.random.default_rng(7)
SIZES = [(960, 540), (320, 320), (270, 480)]


def walk(frames: int = 120, speed: float = 0.03) -> np.ndarray:
    """Corners (n, 8, 3) of a 2 x 1 x 1 box that walks along a bend, bobbing and swaying."""
    box = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-0.5, 0.5) for z in (0.0, 1.0)])
    t = np.arange(frames)
    path = np.column_stack([speed * t, 0.3 * np.sin(0.02 * t), 0.1 * np.abs(np.sin(0.3 * t))])
    return box + path[:, None] + 0.02 * RNG.standard_normal((frames, 1, 3))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("follow", [True, False])
def test_the_model_is_inside_in_every_frame_and_fills_the_picture(size: tuple[int, int], follow: bool) -> None:
    from addon.blender.rendering.camera import plan_shot

    corners = walk()
    shot = plan_shot(
        corners.min(axis=1), corners.max(axis=1), corners, size, 30.0, None, "FOLLOW" if follow else "FIXED"
    )
    seen = np.array(
        [
            projected(points, turn, at, size)
            for points, turn, at in zip(corners, shot.rotations, shot.positions, strict=True)
        ]
    )
    assert np.abs(seen).max() < 0.8
    reach = np.abs(seen).max(axis=(0, 2))
    assert reach[0] > 0.6 or reach[1] > 0.5, "the model is small in a large picture"


def seen_from(shot: Any, corners: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Where points (n, m, 3) are in the pictures of a shot, (n, 2, m)."""
    views = zip(corners, shot.rotations, shot.positions, strict=True)
    return np.array([projected(points, turn, at, size) for points, turn, at in views])


@pytest.mark.parametrize("scale", [(1.0, 1.0, 1.0), (0.2, 0.2, 3.0), (1.0, 1.0, 0.6)], ids=["walker", "tower", "flat"])
def test_the_model_takes_a_third_to_half_of_the_height(scale: tuple[float, ...]) -> None:
    from addon.blender.rendering.camera import plan_shot

    corners = walk() * np.array(scale)
    shot = plan_shot(corners.min(axis=1), corners.max(axis=1), corners, (960, 540), 30.0, None, "FOLLOW")
    heights = 0.5 * np.ptp(seen_from(shot, corners, (960, 540))[:, 1], axis=1)
    assert heights.min() > 0.33 and heights.max() < 0.505


@pytest.mark.parametrize("fps", [6.0, 30.0])
def test_what_falls_freely_is_not_left_behind(fps: float) -> None:
    """A box of 0.4 m that falls 20 m: it stays as large as one that walks."""
    from addon.blender.rendering.camera import plan_shot

    box = np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (0.0, 0.4)])
    time = np.arange(round(2 * fps)) / fps
    corners = box + np.outer(-4.9 * time**2, [0.0, 0.0, 1.0])[:, None]
    shot = plan_shot(corners.min(axis=1), corners.max(axis=1), corners, (960, 540), fps, None, "FOLLOW")
    seen = seen_from(shot, corners, (960, 540))
    assert np.abs(seen).max() < 0.8
    assert 0.5 * np.ptp(seen[:, 1], axis=1).min() > 0.2


def test_the_camera_does_not_sway_with_the_steps() -> None:
    from addon.blender.rendering.camera import plan_shot

    time = np.arange(240) / 30.0
    box = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-0.5, 0.5) for z in (0.0, 1.0)])
    gait = np.column_stack([1.5 * time + 0.1 * np.sin(9.0 * time), 0.1 * np.sin(4.5 * time), 0.1 * np.cos(9.0 * time)])
    corners = box + gait[:, None]
    shot = plan_shot(corners.min(axis=1), corners.max(axis=1), corners, (960, 540), 30.0, None, "FOLLOW")
    steady = shot.positions[0] + np.outer(time, (shot.positions[-1] - shot.positions[0]) / time[-1])
    middle = slice(60, 180)
    off = (shot.positions - steady)[middle]
    assert np.ptp(off - np.linspace(off[0], off[-1], len(off)), axis=0).max() < 0.02, "a tenth of the walker's own sway"


def test_the_camera_looks_down_at_the_front_from_three_quarters() -> None:
    from addon.blender.rendering.camera import view_rotation

    rotation = view_rotation(0.0)  # a model that heads for +X
    assert np.allclose(rotation.T @ rotation, np.eye(3)) and np.isclose(np.linalg.det(rotation), 1.0)
    back = rotation[:, 2]  # from the model to the camera
    assert back[0] > 0.4 and abs(back[1]) > 0.4 and 0.2 < back[2] < 0.5
    assert np.isclose(rotation[2, 0], 0.0) and rotation[2, 1] > 0.9, "the horizon is level"


def test_the_model_is_seen_from_where_it_walks_to() -> None:
    from addon.blender.rendering.camera import travel_heading

    line = np.linspace([0.0, 0.0, 0.0], [-3.0, 3.0, 0.0], 20)
    assert np.isclose(travel_heading(line, 1.0), np.radians(135.0))
    assert np.isclose(travel_heading(0.01 * line, 1.0), np.radians(-90.0)), "a model that stays is seen from -Y"


def test_smoothing_leaves_a_steady_walk_alone_and_calms_a_shaky_one() -> None:
    from addon.blender.rendering.camera import smooth_track

    steady = np.linspace([0.0, 1.0, 2.0], [9.0, 1.0, 3.0], 60)
    assert np.allclose(smooth_track(steady, 8.0), steady, atol=1e-9)
    shaky = steady + 0.1 * RNG.standard_normal(steady.shape)
    roughness = np.abs(np.diff(shaky, 2, axis=0)).max()
    assert np.abs(np.diff(smooth_track(shaky, 8.0), 2, axis=0)).max() < 0.05 * roughness


@pytest.mark.parametrize("count", [1, 2, 5])
def test_short_takes_are_framed_too(count: int) -> None:
    from addon.blender.rendering.camera import plan_shot

    corners = walk(count)
    shot = plan_shot(corners.min(axis=1), corners.max(axis=1), corners, (160, 90), 30.0, None, "FOLLOW")
    assert shot.positions.shape == (count, 3) and np.isfinite(shot.positions).all()
