"""Filming: what comes out is a video or a poster of the model, and the scene is as it was before."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.emptied import empty_file  # noqa: E402
from tests.support.filming_helpers import (
    SMALL,
    box,
    bpy,
    decoded,
    pixels_of,
    position,
    set_up_oddly,
    snapshot,
    video_facts,
    walker,
)


@pytest.fixture
def empty() -> Any:
    empty_file()
    return bpy.context


def reddish(picture: np.ndarray) -> np.ndarray:
    """Where the picture shows the red body."""
    return (picture[..., 0] > 0.25) & (picture[..., 0] > 2.0 * picture[..., 2])


@pytest.fixture
def rushes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[dict[str, Any]]:
    """Every frame as it is rendered: the picture and the camera's projection of any points."""
    from bpy_extras.object_utils import world_to_camera_view

    from addon.blender.rendering import temporary_studio as studio

    kept: list[dict[str, Any]] = []
    plain = studio.render_still

    def render(scene: Any, path: str) -> None:
        plain(scene, path)
        copy = tmp_path / f"rush{len(kept)}.png"
        shutil.copyfile(path, copy)
        camera = scene.camera
        scene.view_layers[0].update()
        frame = 1 + 2 * len(kept)
        middle = np.array(position(frame))
        corners = middle + np.array([(i * 0.8, j * 0.4, z) for i in (-1, 1) for j in (-1, 1) for z in (-1.0, 0.2)])
        seen = np.array([tuple(world_to_camera_view(scene, camera, _vector(corner))) for corner in corners])
        kept.append({"picture": copy, "corners": seen})

    monkeypatch.setattr("addon.blender.rendering.frames.render_still", render)
    return kept


def _vector(point: np.ndarray) -> Any:
    from mathutils import Vector

    return Vector(point)


def test_a_video_has_the_right_frames_size_and_rate(empty: Any, tmp_path: Path) -> None:
    from addon.blender.render import FilmOptions, film

    path = tmp_path / "new folder" / "walk.mp4"
    report = film(empty, walker(empty.scene), str(path), FilmOptions(**SMALL))
    assert video_facts(path) == ((160, 90), 12, 30.0)
    assert report.count("error") == report.count("warning") == 0
    assert b"avc1" in path.read_bytes(), "H.264, which browsers play"
    pictures = decoded(path, 12, (160, 90), tmp_path)
    for picture in pictures:
        assert picture.mean() > 0.4, "black"
        body = reddish(picture)
        assert body.sum() > 100, "no model"
        assert not (body[0].any() or body[-1].any() or body[:, 0].any() or body[:, -1].any()), "the model is cut off"
    assert all(np.abs(a - b).max() > 0.05 for a, b in zip(pictures, pictures[1:], strict=False)), "a frame is repeated"


@pytest.mark.parametrize("camera", ["FOLLOW", "FIXED"])
def test_every_frame_shows_the_whole_model_where_it_was(
    empty: Any, tmp_path: Path, rushes: list[dict[str, Any]], camera: Any
) -> None:
    from addon.blender.render import FilmOptions, film

    film(empty, walker(empty.scene), str(tmp_path / "walk.mp4"), FilmOptions(camera=camera, **SMALL))
    assert len(rushes) == 12
    for rush in rushes:
        across, up, depth = rush["corners"].T
        assert (depth > 0.0).all() and across.min() > 0.0 and across.max() < 1.0 and up.min() > 0.0 and up.max() < 1.0
        # the red pixels lie where the camera projects the body, so the stand-in is where the model was
        rows, columns = np.nonzero(reddish(pixels_of(rush["picture"])))
        assert across.min() * 160 - 2 < columns.min() and columns.max() < across.max() * 160 + 2
        assert (1.0 - up.max()) * 90 - 2 < rows.min() and rows.max() < (1.0 - up.min()) * 90 + 2
    heights = [rush["corners"][:, 1].max() - rush["corners"][:, 1].min() for rush in rushes]
    assert 0.4 < max(heights) < 0.7, "the model's share of the picture's height"


def test_a_following_camera_keeps_the_model_in_place_while_the_floor_passes(
    empty: Any, tmp_path: Path, rushes: list[dict[str, Any]]
) -> None:
    from addon.blender.render import FilmOptions, film

    film(empty, walker(empty.scene), str(tmp_path / "walk.mp4"), FilmOptions(**SMALL))
    centres = np.array([rush["corners"].mean(axis=0)[:2] for rush in rushes])
    assert np.abs(centres - centres.mean(axis=0)).max() < 0.05
    bottoms = np.array([pixels_of(rush["picture"])[-12:] for rush in rushes])
    assert bottoms.std(axis=0).max() > 0.02, "the checkers in front do not move"


def test_a_poster_is_one_picture_of_the_frame_asked_for(
    empty: Any, tmp_path: Path, rushes: list[dict[str, Any]]
) -> None:
    from addon.blender.render import FilmOptions, film

    model = walker(empty.scene)
    seen: list[float] = []
    options = FilmOptions(size=(161, 91), samples=1, poster_frame=17)
    options.progress = lambda done, total: seen.append(model[0].matrix_world.translation.x)
    film(empty, model, str(tmp_path / "poster.png"), options)
    picture = pixels_of(tmp_path / "poster.png")
    assert picture.shape == (91, 161, 3), "a poster may have odd sides"
    assert len(rushes) == 1 and reddish(picture).sum() > 100
    assert np.isclose(max(seen), position(17)[0], atol=1e-5)


def test_rates_that_do_not_divide_keep_the_scenes_own_frames(empty: Any, tmp_path: Path) -> None:
    from addon.blender.render import FilmOptions, film

    model = walker(empty.scene)
    empty.scene.render.fps = 24
    film(empty, model, str(tmp_path / "slow.mp4"), FilmOptions(size=(64, 36), samples=1, frame_end=5))
    assert video_facts(tmp_path / "slow.mp4")[1:] == (5, 24.0)
    empty.scene.render.fps, empty.scene.render.fps_base = 60, 1.001
    film(empty, model, str(tmp_path / "ntsc.mp4"), FilmOptions(size=(64, 36), samples=1, frame_end=5))
    size, frames, fps = video_facts(tmp_path / "ntsc.mp4")
    assert frames == 3 and math.isclose(fps, 29.97, abs_tol=0.01)


def falling(scene: Any) -> list[Any]:
    """A box that physics lets fall, with a cache shorter than the film."""
    scene.render.fps = 60
    scene.frame_end = 30
    bpy.ops.rigidbody.world_add()
    world = scene.rigidbody_world
    world.collection = bpy.data.collections.new("bodies")
    world.point_cache.frame_end = 10
    thing = box("drop", (0.5, 0.5, 0.5))
    thing.location.z = 10.0
    world.collection.objects.link(thing)
    thing.rigid_body.linear_damping = 0.0
    return [thing]


def test_physics_is_played_frame_by_frame_from_the_scenes_start(
    empty: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from addon.blender.render import FilmOptions, film
    from addon.blender.rendering import stage

    heights: list[float] = []
    plain = stage.key_poses

    def key_poses(studio: Any, actors: list[Any], poses: np.ndarray) -> None:
        plain(studio, actors, poses)
        for frame in range(1, len(poses) + 1):
            studio.scene.frame_set(frame)
            heights.append(actors[0].location.z)

    monkeypatch.setattr("addon.blender.rendering.stage.key_poses", key_poses)
    model = falling(empty.scene)
    film(empty, model, str(tmp_path / "drop.mp4"), FilmOptions(size=(64, 36), samples=1, frame_start=11))
    times = (np.arange(11, 31, 2) - 1) / 60.0
    assert len(heights) == 10
    assert np.allclose(heights, 10.0 - 0.5 * 9.81 * times**2, atol=0.03), "free fall, past the end of the cache too"
    assert empty.scene.rigidbody_world.point_cache.frame_end == 10


@pytest.mark.parametrize("model_of", [walker, falling])
def test_the_scene_is_untouched(empty: Any, tmp_path: Path, model_of: Any) -> None:
    from addon.blender.render import FilmOptions, film

    model = model_of(empty.scene)
    set_up_oddly(empty.scene)
    if model_of is falling:
        empty.scene.frame_set(1)
    before = snapshot(empty)
    film(empty, model, str(tmp_path / "walk.mp4"), FilmOptions(**SMALL))
    film(empty, model, str(tmp_path / "walk.png"), FilmOptions(**SMALL))
    assert snapshot(empty) == before


@pytest.mark.parametrize("at", [1, 13, 23, 30, 36])
def test_cancelling_leaves_everything_as_it_was(empty: Any, tmp_path: Path, at: int) -> None:
    from addon.blender.render import FilmOptions, film

    class Escape(Exception):
        """The user's Esc."""

    def progress(done: int, total: int) -> None:
        assert total == 23 + 12 + 1  # played, rendered, put together
        if done == at:
            raise Escape

    model = walker(empty.scene)
    set_up_oddly(empty.scene)
    before = snapshot(empty)
    with pytest.raises(Escape):
        film(empty, model, str(tmp_path / "walk.mp4"), FilmOptions(progress=progress, **SMALL))
    assert snapshot(empty) == before
    done = [f"{frame:06d}.png" for frame in range(1, max(0, at - 23) + 1)]
    left = sorted(path.name for path in tmp_path.glob("*_frames/*"))
    assert left == ([] if at == 36 or not done else [*done, "film.json"]), "only the frames that are done are left"
    assert (at == 36) == (tmp_path / "walk.mp4").exists(), "half a film was left"


def test_progress_counts_every_step_to_the_end(empty: Any, tmp_path: Path) -> None:
    from addon.blender.render import FilmOptions, film

    calls: list[tuple[int, int]] = []
    options = FilmOptions(progress=lambda done, total: calls.append((done, total)), **SMALL)
    film(empty, walker(empty.scene), str(tmp_path / "walk.mp4"), options)
    assert calls == [(done, 36) for done in range(1, 37)]


def test_frame_handlers_of_the_users_scene_run_once_per_frame_in_order(empty: Any, tmp_path: Path) -> None:
    from addon.blender.render import FilmOptions, film

    calls: list[int] = []
    name = empty.scene.name

    def handler(scene: Any, *_: Any) -> None:
        if scene.name == name:
            calls.append(scene.frame_current)

    model = walker(empty.scene)
    bpy.app.handlers.frame_change_pre.append(handler)
    try:
        film(empty, model, str(tmp_path / "walk.mp4"), FilmOptions(**SMALL))
    finally:
        bpy.app.handlers.frame_change_pre.remove(handler)
    assert calls == [*range(1, 24), 1]


def test_hidden_things_and_wires_are_not_rendered_but_parented_visuals_are(empty: Any) -> None:
    from addon.blender.rendering.playback import visible_surfaces

    body, hidden, wire, visual, bare = (box(name, (1, 1, 1)) for name in ("body", "hidden", "wire", "visual", "bare"))
    hidden.hide_render = True
    wire.display_type = "WIRE"
    for child in (hidden, wire, visual):
        child.parent = body
    empties = bpy.data.objects.new("joint", None)
    assert visible_surfaces([body, empties, visual], empty.scene) == [body, visual]
    assert bare not in visible_surfaces([body], empty.scene)


def test_scaled_and_mirrored_objects_keep_their_shape(empty: Any, tmp_path: Path) -> None:
    from addon.blender.render import FilmOptions, film

    thing = box("stretched", (1.0, 1.0, 1.0))
    thing.scale = (-3.0, 1.0, 0.5)
    film(empty, [thing], str(tmp_path / "stretched.png"), FilmOptions(size=(160, 90), samples=1))
    rows, columns = np.nonzero(reddish(pixels_of(tmp_path / "stretched.png")))
    assert (np.ptp(columns) + 1) / (np.ptp(rows) + 1) > 1.8, "as wide as it was made"


@pytest.mark.parametrize("engine", ["WORKBENCH", pytest.param("EEVEE", marks=pytest.mark.slow), "CYCLES"])
def test_every_engine_shows_the_models_colours_on_a_bright_floor(empty: Any, tmp_path: Path, engine: Any) -> None:
    from addon.blender.render import FilmOptions, film

    path = tmp_path / f"{engine}.png"
    film(empty, walker(empty.scene), str(path), FilmOptions(engine=engine, size=(160, 90), samples=2))
    picture = pixels_of(path)
    assert reddish(picture).sum() > 300
    blue = (picture[..., 2] > 0.2) & (picture[..., 2] > 2.0 * picture[..., 0])
    assert blue.sum() > 40
    floor = picture[-6:].reshape(-1, 3)
    assert 0.5 < floor.mean() < 0.97 and floor.std() > 0.01, "a bright floor with marks on it"
    assert (picture.min(axis=2) > 0.995).mean() < 0.01, "burnt out"


@pytest.mark.parametrize(
    ("path", "changes", "words"),
    [
        ("film.avi", {}, "mp4"),
        ("film.mp4", {"stage": "MOON"}, "MOON"),
        ("film.mp4", {"burn": ["SUBTITLES"]}, "SUBTITLES"),
        ("film.mp4", {"seconds": 0.0}, "duration 0.0 s is not above 0"),
        ("film.mp4", {"sheet": "sheet.jpg"}, "png"),
        ("film", {}, "mp4"),
        ("film.mp4", {"frame_start": 9, "frame_end": 3}, "9 to 3"),
        ("film.mp4", {"size": (3, 3)}, "3x3"),
        ("film.mp4", {"fps": 0.0}, "frame rate 0.0 fps is not above 0"),
        ("film.mp4", {"samples": 0}, "samples"),
        ("film.mp4", {"engine": "LUXCORE"}, "LUXCORE"),
        ("film.mp4", {"camera": "SHAKY"}, "SHAKY"),
    ],
)
def test_unsupported_video_options_are_rejected_before_any_work(
    empty: Any, tmp_path: Path, path: str, changes: dict[str, Any], words: str
) -> None:
    from addon.blender.render import FilmOptions, film
    from addon.core.report import FormatError

    model = walker(empty.scene)
    before = snapshot(empty)
    with pytest.raises(FormatError, match=words):
        film(empty, model, str(tmp_path / path), FilmOptions(**{**SMALL, **changes}))
    assert snapshot(empty) == before and not list(tmp_path.iterdir())


def test_a_scene_without_anything_to_render_is_reported(empty: Any, tmp_path: Path) -> None:
    from addon.blender.render import FilmOptions, film
    from addon.core.report import FormatError

    with pytest.raises(FormatError, match="nothing to render"):
        film(empty, [], str(tmp_path / "film.mp4"), FilmOptions(**SMALL))
