"""Films in parts: interrupted and gone on with, prepared here and rendered there, with words over them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

bpy = pytest.importorskip("bpy", reason="Blender is not here")

from tests.support.emptied import empty_file  # noqa: E402
from tests.support.filming_helpers import SMALL, pixels_of, set_up_oddly, snapshot, video_facts, walker  # noqa: E402


class Escape(Exception):
    """The user's Esc."""


@pytest.fixture
def empty() -> Any:
    empty_file()
    return bpy.context


@pytest.fixture
def pendulum() -> Any:
    """A hinge that is keyed from -45 to 45 degrees in 24 frames, its stops at 60 degrees: its armature."""
    import addon
    from addon import formats
    from addon.blender.data.queries import rig_in
    from addon.blender.reconcile.build import BuildOptions, build

    empty_file()
    if not addon.is_registered():
        addon.register()
    rig = rig_in(build(formats.loads(PENDULUM.encode(), "pendulum.skel"), bpy.context, BuildOptions()))
    bone = rig.pose.bones["arm joint"]
    for frame, angle in ((1, -45.0), (24, 45.0)):
        bone.rotation_euler.z = np.radians(angle)
        bone.keyframe_insert("rotation_euler", index=2, frame=frame)
    bpy.context.scene.frame_end = 24
    return rig


PENDULUM = """<skel version="1.0"><world name="w"><physics><gravity>0 0 -9.81</gravity></physics>
<skeleton name="pendulum">
<body name="base"><transformation>0 0 1 0 0 0</transformation><inertia><mass>1</mass></inertia>
<visualization_shape><geometry><box><size>0.3 0.3 0.2</size></box></geometry></visualization_shape></body>
<body name="arm"><transformation>0 0 0.6 0 0 0</transformation><inertia><mass>1</mass></inertia>
<visualization_shape><geometry><box><size>0.1 0.1 0.7</size></box></geometry></visualization_shape></body>
<joint type="weld" name="base joint"><parent>world</parent><child>base</child></joint>
<joint type="revolute" name="arm joint"><transformation>0 0 0.35 0 0 0</transformation>
<parent>base</parent><child>arm</child>
<axis><xyz>1 0 0</xyz><limit><lower>-1.0471976</lower><upper>1.0471976</upper></limit></axis></joint>
</skeleton></world></skel>"""


def frames_in(folder: Path) -> dict[str, bytes]:
    """The pictures of a folder."""
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.png"))}


def film_until(context: Any, model: Any, path: Path, at: int, **options: Any) -> None:
    """Film, and press Esc after so many steps."""
    from addon.blender.render import FilmOptions, film

    def progress(done: int, _total: int) -> None:
        if done == at:
            raise Escape

    with pytest.raises(Escape):
        film(context, model, str(path), FilmOptions(progress=progress, **SMALL, **options))


def test_a_video_interrupted_at_a_third_is_the_same_as_an_uninterrupted_one(empty: Any, tmp_path: Path) -> None:
    from addon.blender.render import FilmOptions, film, resumable_frames

    model = walker(empty.scene)
    whole, parts = tmp_path / "whole.mp4", tmp_path / "parts.mp4"
    film(empty, model, str(whole), FilmOptions(keep_frames=True, **SMALL))
    film_until(empty, model, parts, 23 + 4)
    left = frames_in(tmp_path / "parts_frames")
    assert list(left) == [f"{frame:06d}.png" for frame in (1, 2, 3, 4)] and resumable_frames(str(parts)) == 4
    stamps = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "parts_frames").glob("*.png")}
    report = film(empty, model, str(parts), FilmOptions(keep_frames=True, resume=True, **SMALL))
    assert "Frames: 4 of 12 were rendered before" in str(report.entries[0])
    again = {name: (tmp_path / "parts_frames" / name).stat().st_mtime_ns for name in stamps}
    assert again == stamps, "what is there is not rendered again"
    assert frames_in(tmp_path / "parts_frames") == frames_in(tmp_path / "whole_frames")
    assert video_facts(parts) == video_facts(whole)


@pytest.mark.parametrize("change", ["motion", "model", "colour", "stage", "words", "not resumed", "cut off", "half"])
def test_frames_of_another_video_are_not_used(empty: Any, tmp_path: Path, change: str) -> None:
    from addon.blender.render import FilmOptions, film

    model, path = walker(empty.scene), tmp_path / "walk.mp4"
    (tmp_path / "walk_frames").mkdir()
    (tmp_path / "walk_frames" / "notes.txt").write_text("mine")
    film_until(empty, model, path, 23 + 3)
    options: dict[str, Any] = {"resume": True}
    if change == "motion":
        model[1].location.x += 0.01
    elif change == "model":
        model[0].data.vertices[0].co.x += 0.01
    elif change == "colour":
        model[0].data.materials[0].diffuse_color[1] += 0.1
    elif change == "stage":
        options["stage"] = "BLUEPRINT"
    elif change == "words":
        options["title"] = "Another"
    elif change == "not resumed":
        options["resume"] = False
    else:
        picture = tmp_path / "walk_frames" / "000002.png"
        data = picture.read_bytes()
        picture.write_bytes(data[:10] if change == "cut off" else data[: len(data) // 2])
    told = film(empty, model, str(path), FilmOptions(**SMALL, **options))
    resumed = [str(entry) for entry in told.entries if entry.code == "film-resumed"]
    assert [re.search(r"\d+ of \d+", line)[0] for line in resumed] == (
        ["2 of 12"] if change in ("cut off", "half") else []
    )
    assert video_facts(path)[1] == 12
    assert [thing.name for thing in (tmp_path / "walk_frames").iterdir()] == ["notes.txt"], "only ours go"


def test_a_prepared_stage_gives_the_same_frames_as_filming_at_once(empty: Any, tmp_path: Path) -> None:
    from addon.blender.render import FilmOptions, encode, film, open_stage, read_video_state, render_frames

    film(empty, walker(empty.scene), str(tmp_path / "once.mp4"), FilmOptions(keep_frames=True, **SMALL))
    # render in a fresh file, the last frames first
    blend = tmp_path / "farm" / "stage.blend"
    reel = prepared(empty, blend)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = open_stage(str(blend))
    assert read_video_state(scene) == reel and (reel.frames, reel.fps, reel.size) == (12, 30.0, (160, 90))
    for first, last in ((7, 12), (1, 6)):
        render_frames(scene, first, last, str(tmp_path / "chunks"))
    assert frames_in(tmp_path / "chunks") == frames_in(tmp_path / "once_frames")
    assert encode(str(tmp_path / "chunks"), str(tmp_path / "farm.mp4"), reel.fps) == 12
    assert video_facts(tmp_path / "farm.mp4") == video_facts(tmp_path / "once.mp4") == ((160, 90), 12, 30.0)
    with pytest.raises(ValueError, match="frames 12 to 13 do not exist, the video has 1 to 12"):
        render_frames(scene, 12, 13, str(tmp_path / "chunks"))


def prepared(context: Any, blend: Path) -> Any:
    """The stage of the scene's walker in a file. (It is no mechanism: ``prepare`` takes only those.)"""
    from contextlib import ExitStack

    from addon.blender.render import FilmOptions
    from addon.blender.rendering.farm_jobs import save_stage
    from addon.blender.rendering.playback import make_schedule, play_takes, run_to_completion
    from addon.blender.rendering.stage import build_stages
    from addon.blender.rendering.video import make_video_state
    from addon.core.report import Report

    options, model = FilmOptions(**SMALL), [obj for obj in context.scene.objects if obj.type == "MESH"]
    plan = make_schedule(context.scene, options, poster=False)
    takes = run_to_completion(play_takes(context, model, plan, options, Report()))
    with ExitStack() as stack:
        reel = make_video_state(context, model, plan, options.size, options)
        save_stage(build_stages(stack, context, takes, reel, options, poster=False), str(blend), Report())
    return reel


def test_preparing_leaves_the_file_as_it_was(pendulum: Any, tmp_path: Path) -> None:
    from addon.blender.data.access import settings
    from addon.blender.render import FilmOptions, open_stage, prepare
    from addon.blender.rendering.video_state import linked_stages, read_recording

    pendulum.data.knuckle.drive = "LIMP"
    set_up_oddly(bpy.context.scene)
    bpy.context.scene.frame_set(1)
    before = snapshot(bpy.context)
    options = FilmOptions(burn=("SERVOS",), side_by_side=True, **{**SMALL, "frame_end": 8})
    reel = prepare(settings(pendulum).collection, bpy.context, options, str(tmp_path / "stage.blend"))
    assert snapshot(bpy.context) == before
    scenes = linked_stages(open_stage(str(tmp_path / "stage.blend")))
    assert len(scenes) == 2 and reel.frames == 4
    keys, physics = (read_recording(scene) for scene in scenes)
    assert keys.names == physics.names == ["arm joint"]
    assert not np.allclose(keys.moving["value"][-1], physics.moving["value"][-1], atol=0.01), "physics is no keys"


@pytest.mark.parametrize("drive", ["KEYS", "SERVO"])
def test_side_by_side_leaves_the_scene_and_its_drive_as_they_were(pendulum: Any, tmp_path: Path, drive: str) -> None:
    from addon.blender.data.queries import parts
    from addon.blender.render import FilmOptions, film

    pendulum.data.knuckle.drive = drive
    bpy.context.scene.frame_set(1)
    set_up_oddly(bpy.context.scene)
    bpy.context.scene.frame_set(1)
    before = snapshot(bpy.context)
    options = FilmOptions(side_by_side=True, **{**SMALL, "frame_end": 8})
    film(bpy.context, parts(pendulum, "BODY"), str(tmp_path / "both.mp4"), options)
    assert snapshot(bpy.context) == before and pendulum.data.knuckle.drive == drive
    film_until(bpy.context, parts(pendulum, "BODY"), tmp_path / "both.mp4", 11, side_by_side=True)
    assert snapshot(bpy.context) == before and pendulum.data.knuckle.drive == drive


def test_words_and_marks_are_where_they_belong(pendulum: Any, tmp_path: Path) -> None:
    from addon.blender.data.queries import parts
    from addon.blender.render import FilmOptions, film

    def frame(*burn: Any, **more: Any) -> np.ndarray:
        options = FilmOptions(size=(640, 360), samples=1, burn=burn, poster_frame=3, **more)
        film(bpy.context, parts(pendulum, "BODY"), str(tmp_path / "a.png"), options)
        return pixels_of(tmp_path / "a.png")

    plain = frame()
    for where, changed in {
        "top left": np.abs(frame("NAME") - plain),
        "bottom left": np.abs(frame("TIME") - plain),
        "title": np.abs(frame(title="A pendulum") - plain),
    }.items():
        rows, columns = np.nonzero(changed.max(axis=2) > 0.05)
        assert len(rows) > 200 and columns.max() < 320
        assert rows.min() > 240 if "bottom" in where else rows.max() < 120
    table = frame("SERVOS")
    assert (np.abs(table - plain)[120:240, 480:].max(axis=2) > 0.05).any(), "a table at the right"


def test_stops_are_drawn_where_the_joint_is_seen(
    pendulum: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bpy_extras.object_utils import world_to_camera_view
    from mathutils import Vector

    from addon.blender.data.queries import parts
    from addon.blender.render import FilmOptions, film
    from addon.blender.rendering import burn_in

    kept: list[tuple[Any, Any]] = []
    plain = burn_in.project_strokes

    def seen_by(scene: Any, strokes: Any, corners: int, size: tuple[int, int]) -> Any:
        places, colours = plain(scene, strokes, corners, size)
        points = strokes.arrays()[0]
        known = [world_to_camera_view(scene, scene.camera, Vector(point.tolist())) for point in points]
        pixels = [(seen.x * size[0], (1.0 - seen.y) * size[1]) for seen in known]
        kept.append((np.sort(np.reshape(places, (-1, 2)), axis=0), np.sort(np.reshape(pixels, (-1, 2)), axis=0)))
        return places, colours

    monkeypatch.setattr(burn_in, "project_strokes", seen_by)
    options = FilmOptions(size=(320, 180), samples=1, burn=("AXES", "STOPS", "SERVOS"), camera="SIDE", frame_end=5)
    film(bpy.context, parts(pendulum, "BODY"), str(tmp_path / "a.mp4"), options)
    assert sum(len(ours) for ours, _ in kept) > 100
    assert all(np.allclose(ours, theirs, atol=0.1) for ours, theirs in kept), "Blender's own projection agrees"


@pytest.mark.parametrize(("ending", "times"), [("gif", {60, 70}), ("webp", {66, 67})])
def test_a_loop_repeats_at_its_rate(empty: Any, tmp_path: Path, ending: str, times: set[int]) -> None:
    from PIL import Image

    from addon.blender.render import FilmOptions, film

    path = tmp_path / f"walk.{ending}"
    options = FilmOptions(fps=15.0, keep_frames=True, **SMALL)
    film(empty, walker(empty.scene), str(path), options)
    shown = []
    with Image.open(path) as loop:
        assert (loop.size, loop.n_frames, loop.info["loop"]) == ((160, 90), 6, 0)
        for frame in range(loop.n_frames):
            loop.seek(frame)
            seen = np.asarray(loop.convert("RGB"), dtype=np.float64)
            with Image.open(tmp_path / "walk_frames" / f"{frame + 1:06d}.png") as rendered:
                difference = np.abs(seen - np.asarray(rendered.convert("RGB"), dtype=np.float64)).mean()
            assert difference < 4.0, f"frame {frame} is another picture"
            shown.append(loop.info["duration"])
    assert sum(shown) == 400 and set(shown) <= times, "6 frames at 15 per second, in the format's units"


def test_a_loop_faster_than_browsers_play_is_rejected(empty: Any, tmp_path: Path) -> None:
    from addon.blender.render import FilmOptions, film
    from addon.core.report import FormatError

    model = walker(empty.scene)
    empty.scene.render.fps = 100
    for ending, most in (("gif", 50), ("webp", 90)):
        with pytest.raises(FormatError, match=f"Choose {most} or fewer"):
            film(empty, model, str(tmp_path / f"walk.{ending}"), FilmOptions(**SMALL | {"fps": 100.0}))


def test_webm_is_made_too_with_its_sheet_and_poster(empty: Any, tmp_path: Path) -> None:
    from addon.blender.render import FilmOptions, film

    extras = {"sheet": str(tmp_path / "sheet.png"), "poster": str(tmp_path / "poster.png")}
    film(empty, walker(empty.scene), str(tmp_path / "walk.webm"), FilmOptions(**SMALL, **extras))
    assert (tmp_path / "walk.webm").read_bytes()[:4] == b"\x1aE\xdf\xa3"
    assert video_facts(tmp_path / "walk.webm") == ((160, 90), 12, 30.0)
    assert pixels_of(tmp_path / "poster.png").shape == (90, 160, 3)
    sheet = pixels_of(tmp_path / "sheet.png")
    assert sheet.shape == (3 * 274 + 4, 4 * 484 + 4, 3), "twelve frames in rows of four"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["poster.png", "sheet.png", "walk.webm"]


def test_frames_that_lack_some_are_not_put_together(tmp_path: Path) -> None:
    from addon.blender.render import encode
    from addon.core.report import FormatError

    with pytest.raises(FormatError, match="no frames"):
        encode(str(tmp_path), str(tmp_path / "a.mp4"), 30.0)
    for frame in (1, 2, 4):
        (tmp_path / f"{frame:06d}.png").write_bytes(b"")
    with pytest.raises(FormatError, match="frame 3 is missing"):
        encode(str(tmp_path), str(tmp_path / "a.mp4"), 30.0)


@pytest.mark.parametrize(
    ("stage", "camera"),
    [("STUDIO", "THREE_QUARTER"), ("OUTDOOR", "SIDE"), ("BLUEPRINT", "FRONT"), ("SCIENTIFIC", "TURNTABLE")],
)
def test_no_frame_is_black_or_empty_and_none_cuts_the_model_off(
    empty: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: Any, camera: Any
) -> None:
    """Each frame is rendered again without the model: what differs is the model and its shadow."""
    from addon.blender.render import FilmOptions, film
    from addon.blender.rendering import frames
    from benchmarks.film_measures import faults, without_model

    plain, found = frames.render_still, []

    def render_still(scene: Any, path: str) -> None:
        plain(scene, path)
        found.append(faults(scene, pixels_of(Path(path)), without_model(scene, plain, tmp_path / "bare.png")))

    monkeypatch.setattr(frames, "render_still", render_still)
    options = FilmOptions(stage=stage, camera=camera, **{**SMALL, "fps": 3.0, "frame_end": 120})
    film(empty, walker(empty.scene), str(tmp_path / "walk.mp4"), options)
    assert found == [[]] * 6


def test_the_record_of_frames_names_their_video(empty: Any, tmp_path: Path) -> None:
    film_until(empty, walker(empty.scene), tmp_path / "walk.mp4", 24)
    record = json.loads((tmp_path / "walk_frames" / "film.json").read_text())
    assert (record["frames"], record["size"], record["fps"]) == (12, [160, 90], 30.0) and len(record["film"]) == 64


def test_braces_and_other_signs_in_a_path_are_no_more_than_that(empty: Any, tmp_path: Path) -> None:
    from addon.blender.render import FilmOptions, film

    out = tmp_path / "ü {blend_name} #1 %d" / "{x} film.mp4"
    film(empty, walker(empty.scene), str(out), FilmOptions(**SMALL))
    assert [path.name for path in out.parent.iterdir()] == [out.name]
    assert video_facts(out)[1] == 12


def test_pictures_that_are_no_video_are_left_alone(empty: Any, tmp_path: Path) -> None:
    from addon.blender.render import FilmOptions, film
    from addon.core.report import FormatError

    mine = tmp_path / "walk_frames" / "000001.png"
    mine.parent.mkdir()
    mine.write_bytes(b"mine")
    with pytest.raises(FormatError, match="the folder of the frames has images of another video"):
        film(empty, walker(empty.scene), str(tmp_path / "walk.mp4"), FilmOptions(**SMALL))
    assert mine.read_bytes() == b"mine" and not (tmp_path / "walk.mp4").exists()


def test_what_blender_cannot_render_is_reported_as_a_bad_file(
    empty: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from addon.blender.render import FilmOptions, film
    from addon.blender.rendering import temporary_studio
    from addon.core.report import FormatError

    monkeypatch.setattr(temporary_studio, "render_path", lambda _path: str(tmp_path / "file" / "picture.png"))
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(FormatError):
        film(empty, walker(empty.scene), str(tmp_path / "walk.mp4"), FilmOptions(**SMALL))
    assert [scene.name for scene in bpy.data.scenes] == ["Scene"]


def textured(model: list[Any], path: Path, colour: tuple[float, float, float]) -> Any:
    """Have the first body of a model show a picture that is one colour: that image."""
    made = bpy.data.images.new("made", 4, 4)
    made.pixels = [*colour, 1.0] * 16
    made.file_format, made.filepath_raw = "PNG", str(path)
    made.save()
    bpy.data.images.remove(made)
    material = model[0].data.materials[0]
    if bpy.app.version < (5, 0, 0):
        material.use_nodes = True
    tree = material.node_tree
    picture = tree.nodes.new("ShaderNodeTexImage")
    picture.image = bpy.data.images.load(str(path))
    shader = next(node for node in tree.nodes if node.type == "BSDF_PRINCIPLED")
    tree.links.new(picture.outputs[0], shader.inputs["Base Color"])
    return picture.image


def test_a_prepared_stage_has_its_textures_in_it(pendulum: Any, tmp_path: Path) -> None:
    from addon.blender.data.access import settings
    from addon.blender.data.queries import parts
    from addon.blender.render import FilmOptions, open_stage, prepare

    body = next(obj for obj in parts(pendulum, "BODY") if obj.data is not None and len(obj.data.vertices))
    body.data.materials.clear()
    body.data.materials.append(bpy.data.materials.new("papered"))
    texture = textured([body], tmp_path / "paper.png", (1.0, 0.0, 0.0))
    prepare(settings(pendulum).collection, bpy.context, FilmOptions(**SMALL), str(tmp_path / "stage.blend"))
    assert texture.packed_file is None and texture.filepath == str(tmp_path / "paper.png"), "the open file is as it was"
    (tmp_path / "paper.png").unlink()
    bpy.ops.wm.read_factory_settings(use_empty=True)
    open_stage(str(tmp_path / "stage.blend"))
    packed = [image for image in bpy.data.images if image.name.startswith("paper")]
    assert packed and packed[0].packed_file is not None and packed[0].pixels[0] == pytest.approx(1.0)


def test_a_repainted_texture_makes_another_video(empty: Any, tmp_path: Path) -> None:
    from addon.blender.render import FilmOptions, film

    model, path = walker(empty.scene), tmp_path / "walk.mp4"
    textured(model, tmp_path / "paper.png", (1.0, 0.0, 0.0))
    film_until(empty, model, path, 23 + 3)
    textured(model, tmp_path / "other.png", (0.0, 1.0, 0.0))
    for name in ("paper.png", "other.png"):
        assert (tmp_path / name).is_file()
    model[0].data.materials[0].node_tree.nodes[-1].image.filepath = str(tmp_path / "paper.png")
    (tmp_path / "other.png").replace(tmp_path / "paper.png")
    told = film(empty, model, str(path), FilmOptions(resume=True, **SMALL))
    assert not [entry for entry in told.entries if entry.code == "film-resumed"]


def test_a_body_that_bends_is_reported(empty: Any, tmp_path: Path) -> None:
    from addon.blender.render import FilmOptions, film

    model = walker(empty.scene)
    model[0].shape_key_add(name="Basis")
    key = model[0].shape_key_add(name="longer")
    key.data[0].co.x -= 1.0
    for frame, value in ((1, 0.0), (20, 1.0)):
        key.value = value
        key.keyframe_insert("value", frame=frame)
    told = film(empty, model, str(tmp_path / "walk.mp4"), FilmOptions(**SMALL))
    (entry,) = [entry for entry in told.entries if entry.code == "film-rigid"]
    assert model[0].name in entry.message and entry.severity == "warning"


def test_objects_in_collections_hidden_from_renders_are_not_rendered(empty: Any) -> None:
    from addon.blender.rendering.playback import visible_surfaces

    model = walker(empty.scene)
    hidden = bpy.data.collections.new("hidden")
    within = bpy.data.collections.new("within")
    empty.scene.collection.children.link(hidden)
    hidden.children.link(within)
    within.objects.link(model[0])
    for other in [each for each in model[0].users_collection if each != within]:
        other.objects.unlink(model[0])
    assert model[0] in visible_surfaces(model, empty.scene)
    hidden.hide_render = True
    assert model[0] not in visible_surfaces(model, empty.scene) and model[1] in visible_surfaces(model, empty.scene)
