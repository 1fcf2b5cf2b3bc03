"""The floor: squares on a fixed grid of the world wherever the model goes, fading before they end."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("bpy", reason="Blender is not here")


def test_tiles_lie_on_the_grid_and_alternate() -> None:
    from addon.blender.render.stage import tiles_along

    points, faces, fade, light = tiles_along(np.array([[3.3, -1.2], [9.1, 4.0]]), 2.0, 0.5)
    assert np.allclose(points / 0.5, np.round(points / 0.5))
    squares = points[faces]
    sides = squares - np.roll(squares, 1, axis=1)
    assert np.allclose(np.abs(sides).sum(axis=2), 0.5), "every side is one tile long"
    (ax, ay), (bx, by) = (squares[:, 1] - squares[:, 0]).T, (squares[:, 2] - squares[:, 0]).T
    area = ax * by - ay * bx
    assert (area > 0.0).all(), "all face up"
    column, row = np.round(squares.min(axis=1) / 0.5).astype(int).T
    assert (light == ((column + row) % 2 == 0)).all()
    assert len(np.unique(np.column_stack([column, row]), axis=0)) == len(faces), "no tile lies twice"


def test_the_floor_is_strong_under_the_model_and_gone_at_its_edge() -> None:
    from addon.blender.render.stage import FADE_FROM, FADE_TO, tiles_along

    path = np.linspace([0.0, 0.0], [30.0, 10.0], 200)
    points, faces, fade, _ = tiles_along(path, 4.0, 0.5)
    away = np.sqrt(((points[:, None] - path[None]) ** 2).sum(axis=2)).min(axis=1)
    assert (fade[away < 0.9 * FADE_FROM * 4.0] == 0.0).all()
    assert (fade[away > 1.1 * FADE_TO * 4.0] == 1.0).all()
    expected = np.clip((away / 4.0 - FADE_FROM) / (FADE_TO - FADE_FROM), 0.0, 1.0)
    assert np.abs(fade - expected).max() < 0.02


def test_a_very_long_way_gets_larger_tiles_instead_of_endless_ones() -> None:
    from addon.blender.render.stage import tiles_along

    points, faces, _, _ = tiles_along(np.linspace([0.0, 0.0], [5000.0, 5000.0], 500), 4.0, 0.5)
    assert len(faces) < 300_000
    assert points.max() > 5000.0


@pytest.mark.parametrize(("value", "expected"), [(0.9, 1.0), (1.3, 1.0), (0.017, 0.02), (430.0, 500.0), (8.0, 10.0)])
def test_tile_sizes_are_round_numbers(value: float, expected: float) -> None:
    from addon.blender.render.stage import nice

    assert np.isclose(nice(value), expected)


@pytest.mark.parametrize(("lowest", "height"), [(0.1, 0.0), (-0.1, 0.0), (5.0, 5.0), (-3.0, -3.0)])
def test_the_floor_is_at_zero_unless_the_model_is_elsewhere(lowest: float, height: float) -> None:
    from addon.blender.render.stage import floor_height

    assert floor_height(lowest, 2.0) == height
