"""The floor: squares on a fixed grid of the world wherever the model goes, fading before they end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

bpy = pytest.importorskip("bpy", reason="Blender is not here")

from tests.support.framing_helpers import projected  # noqa: E402


def test_tiles_lie_on_the_grid() -> None:
    from addon.blender.rendering.floor import tile_grid

    grid = tile_grid(np.array([[3.3, -1.2], [9.1, 4.0]]), 2.0, 0.5)
    points, faces = grid.points, grid.faces
    assert np.allclose(points / 0.5, np.round(points / 0.5))
    squares = points[faces]
    sides = squares - np.roll(squares, 1, axis=1)
    assert np.allclose(np.abs(sides).sum(axis=2), 0.5), "every side is one tile long"
    (ax, ay), (bx, by) = (squares[:, 1] - squares[:, 0]).T, (squares[:, 2] - squares[:, 0]).T
    area = ax * by - ay * bx
    assert (area > 0.0).all(), "all face up"
    column, row = np.round(squares.min(axis=1) / 0.5).astype(int).T
    assert (grid.cells == np.column_stack([column, row])).all() and grid.tile == 0.5
    assert len(np.unique(np.column_stack([column, row]), axis=0)) == len(faces), "no tile lies twice"


def test_the_floor_is_strong_under_the_model_and_gone_at_its_edge() -> None:
    from addon.blender.rendering.floor import FADE_FROM, FADE_TO, tile_grid

    path = np.linspace([0.0, 0.0], [30.0, 10.0], 200)
    grid = tile_grid(path, 4.0, 0.5)
    points, fade = grid.points, grid.fade
    away = np.sqrt(((points[:, None] - path[None]) ** 2).sum(axis=2)).min(axis=1)
    assert (fade[away < 0.9 * FADE_FROM * 4.0] == 0.0).all()
    assert (fade[away > 1.1 * FADE_TO * 4.0] == 1.0).all()
    expected = np.clip((away / 4.0 - FADE_FROM) / (FADE_TO - FADE_FROM), 0.0, 1.0)
    assert np.abs(fade - expected).max() < 0.02


def test_a_very_long_way_gets_larger_tiles_instead_of_endless_ones() -> None:
    from addon.blender.rendering.floor import tile_grid

    grid = tile_grid(np.linspace([0.0, 0.0], [5000.0, 5000.0], 500), 4.0, 0.5)
    assert len(grid.faces) < 300_000
    assert grid.points.max() > 5000.0 and grid.tile > 0.5


@pytest.mark.parametrize(("value", "expected"), [(0.9, 1.0), (1.3, 1.0), (0.017, 0.02), (430.0, 500.0), (8.0, 10.0)])
def test_tile_sizes_are_round_numbers(value: float, expected: float) -> None:
    from addon.blender.rendering.floor import nice_number

    assert np.isclose(nice_number(value), expected)


@pytest.mark.parametrize(("lowest", "height"), [(0.1, 0.0), (-0.1, 0.0), (5.0, 5.0), (-3.0, -3.0)])
def test_the_floor_is_at_zero_unless_the_model_is_elsewhere(lowest: float, height: float) -> None:
    from addon.blender.rendering.stage import floor_height

    assert floor_height(lowest, 2.0) == height


@pytest.mark.parametrize("tile", [0.5, 20.0])
def test_a_ruled_floor_is_whole_and_has_its_lines_on_the_grid(tile: float) -> None:
    from addon.blender.rendering.floor import (
        THICK_LINE,
        THICK_LINE_INTERVAL,
        THIN_LINE,
        grid_tiles,
        palette_row,
        tile_grid,
    )
    from addon.blender.rendering.options import STAGE_STYLES

    look = STAGE_STYLES["SCIENTIFIC"]
    grid = tile_grid(np.array([[0.3, 0.2]]) * tile, 4.0 * tile, tile)
    quads = grid_tiles(look, grid, 0.25)
    corners = quads.points[quads.faces]
    assert (corners[..., 2] == 0.25).all()
    low, high = corners.min(axis=1)[:, :2], corners.max(axis=1)[:, :2]
    assert (high > low).all()
    area = np.prod(high - low, axis=1)
    assert np.isclose(area.sum(), len(grid.faces) * tile * tile), "no holes, nothing twice"
    middle = 0.5 * (low + high) / tile
    away = np.abs(middle - np.round(middle))  # from the nearest line, in tiles
    bold = np.round(middle).astype(int) % THICK_LINE_INTERVAL == 0
    on_line = away < np.where(bold, THICK_LINE, THIN_LINE)
    shade = np.where(on_line & bold, 2, np.where(on_line, 1, 0)).max(axis=1)
    assert np.allclose(quads.coordinates.reshape(-1, 4, 2)[:, 0, 1], palette_row(look, shade))
    assert {0, 1, 2} == set(shade.tolist())


def test_numbers_of_a_scale_say_where_their_lines_are() -> None:
    from addon.blender.rendering.stage import label_text, labeled_lines

    assert [label_text(step * 0.2, 0.2) for step in (-1, 0, 3)] == ["-0.2 m", "0.0 m", "0.6 m"]
    assert label_text(40.0, 20.0) == "40 m" and label_text(0.015, 0.005) == "0.015 m"
    assert list(labeled_lines(-3, 4)) == [*range(-3, 5)]
    assert list(labeled_lines(-97, 203)) == [*range(-95, 201, 5)], "of many lines every fifth"
    assert list(labeled_lines(-3, 4, 1.7)) == [-2, 0, 2, 4], "numbers that are wider than a tile skip lines"


def lamp() -> Any:
    """The desk lamp in an empty file: its collection."""
    import addon
    from addon import formats
    from addon.blender.reconcile.build import build
    from tests.support.emptied import empty_file

    empty_file()
    if not addon.is_registered():
        addon.register()
    return build(formats.load("sample_models/desk_lamp/desk_lamp.skel"))


def letters_seen(tmp_path: Path, size: tuple[int, int]) -> list[float]:
    """How high the letters of the numbers are that stand where the camera aims, in shares of the picture's height."""
    from addon.blender.render import FilmOptions, open_stage, prepare

    options = FilmOptions(size=size, stage="SCIENTIFIC", seconds=0.1)
    prepare(lamp(), bpy.context, options, str(tmp_path / "stage.blend"))
    scene = open_stage(str(tmp_path / "stage.blend"))
    view = np.array(scene.camera.matrix_basis)
    seen = []
    for label in (thing for thing in scene.objects if thing.name.startswith("Film label")):
        ends = np.array([[0.0, 0.0, 0.0, 1.0], [0.0, 0.7 * label.data.size, 0.0, 1.0]]) @ np.array(label.matrix_basis).T
        low, high = projected(ends[:, :3], view[:3, :3], view[:3, 3], size)[1]
        seen.append(0.5 * (high - low))
    return seen


def test_open_ground_has_no_edges_and_continues_past_its_tiles() -> None:
    from addon.blender.rendering.camera import make_shot, view_rotation
    from addon.blender.rendering.floor import FADE_TO, ground_tiles, haze_share, horizon_ground, palette_row, tile_grid
    from addon.blender.rendering.options import STAGE_STYLES

    look = STAGE_STYLES["OUTDOOR"]
    grid = tile_grid(np.array([[0.0, 0.0], [3.0, 0.0]]), 5.0, 0.25)
    quads = ground_tiles(look, grid, 0.0)
    assert np.array_equal(quads.coordinates, ground_tiles(look, grid, 0.0).coordinates), "the same in every video"
    low, high = palette_row(look, 0), palette_row(look, len(look.shades) - 1)
    height = quads.coordinates.reshape(-1, 4, 2)[..., 1]
    assert np.ptp(height) > 0.6 * (high - low), "there is something to see move"
    assert np.ptp(height, axis=1).max() < 0.35 * (high - low), "no face stands out from its neighbours"
    edge = grid.fade[grid.faces].ravel() == 1.0
    assert np.allclose(quads.coordinates[edge], [haze_share(np.array(FADE_TO)), 0.5 * (low + high)]), (
        "as the ground beyond"
    )
    aims = np.zeros((2, 3))
    beyond = horizon_ground(look, make_shot(np.repeat(view_rotation(0.0)[None], 2, axis=0), aims, 5.0), 0.0)
    assert np.allclose(beyond.coordinates[:, 1], 0.5 * (low + high)) and beyond.coordinates[:, 0].max() == 1.0


@pytest.mark.parametrize("stage", ["STUDIO", "OUTDOOR", "BLUEPRINT", "SCIENTIFIC"])
@pytest.mark.parametrize("engine", ["WORKBENCH", "EEVEE", "CYCLES"])
def test_every_stage_can_be_set_for_every_engine(tmp_path: Path, stage: Any, engine: Any) -> None:
    from addon.blender.render import FilmOptions, open_stage, prepare

    options = FilmOptions(size=(64, 36), stage=stage, engine=engine, seconds=0.1)
    prepare(lamp(), bpy.context, options, str(tmp_path / "stage.blend"))
    scene = open_stage(str(tmp_path / "stage.blend"))
    lights = [thing for thing in scene.objects if thing.type == "LIGHT"]
    kinds = {node.bl_idname for node in scene.world.node_tree.nodes} if scene.world.node_tree is not None else set()
    assert bool(lights) == (engine != "WORKBENCH")
    assert ("ShaderNodeTexNoise" in kinds) == (engine != "WORKBENCH" and stage == "OUTDOOR"), "its clouds"


def test_clouds_close_round_the_sky() -> None:
    from addon.blender.rendering.floor import MAX_CLOUD_COVER, cloud_cover

    rise, turn = np.meshgrid(np.linspace(0.0, 1.5, 40), np.linspace(0.0, 2.0 * np.pi, 90), indexing="ij")
    cover = cloud_cover(rise, turn)
    assert np.allclose(cover[:, 0], cover[:, -1], atol=1e-6)
    assert cover.min() == 0.0 and 0.2 < cover.max() <= MAX_CLOUD_COVER


@pytest.mark.parametrize("size", [(320, 180), (1920, 1080), (540, 960)])
def test_numbers_of_a_scale_are_read_in_pictures_of_every_size(tmp_path: Path, size: tuple[int, int]) -> None:
    seen = letters_seen(tmp_path, size)
    assert len(seen) >= 4
    assert 0.02 < np.median(seen) < 0.06, "of the picture's height"
