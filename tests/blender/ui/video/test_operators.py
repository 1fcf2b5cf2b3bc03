"""The video in the sidebar: what it makes, what it shows while it renders, and what it points out before."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.panels_helpers import Layout


def ops() -> Any:
    import bpy

    return bpy.ops.knuckle


class Watching(Layout):
    """A layout that also keeps bars of progress."""

    def progress(self, text: str = "", factor: float = 0.0, **_: Any) -> None:
        self.drawn.append(("progress", (text, factor)))


def drawn() -> list[tuple[str, Any]]:
    import bpy

    from addon.blender.ui.video.panel import VIEW3D_PT_knuckle_film

    seen: list[tuple[str, Any]] = []
    VIEW3D_PT_knuckle_film.draw(SimpleNamespace(layout=Watching(seen)), bpy.context)
    return seen


def said() -> str:
    return " ".join(text for kind, text in drawn() if kind == "label")


def swing(rig: Any, degrees: float) -> Any:
    """Key the left joint from 0 to an angle: the Action."""
    rig.animation_data.action = None
    bone = rig.pose.bones["Left Joint"]
    for frame, angle in ((1, 0.0), (6, math.radians(degrees))):
        bone.rotation_euler.z = angle
        bone.keyframe_insert("rotation_euler", frame=frame)
    return rig.animation_data.action


@pytest.fixture
def rendering(rig: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A video of three frames that is under way, a step per call: the operator."""
    import bpy

    from addon.blender.ui.base import modal_tasks

    monkeypatch.setattr(modal_tasks, "is_interactive", lambda _context: True)
    monkeypatch.setattr(modal_tasks, "_TIME_SLICE", 0.0)
    scene = bpy.context.scene
    scene.render.fps, scene.frame_start, scene.frame_end = 60, 1, 6
    options = scene.knuckle_film
    options.filepath, options.format, options.size = str(tmp_path / "flap.mp4"), "OWN", (64, 48)
    held: list[Any] = []
    cls = getattr(bpy.types, bpy.ops.knuckle.render_film.idname())

    def execute(self: Any, context: Any) -> Any:
        held.append(self)
        return cls.invoke(self, context, None)

    monkeypatch.setattr(cls, "execute", execute)
    words = {name: getattr(options, name) for name in ("filepath", "format", "size")}
    assert bpy.ops.knuckle.render_film(samples=1, **words) == {"RUNNING_MODAL"}
    yield held[0]
    held[0]._leave()


def step(operator: Any) -> Any:
    import bpy

    return operator.modal(bpy.context, SimpleNamespace(type="TIMER", value="NOTHING"))


def test_the_panel_shows_one_progress_while_a_video_renders(rendering: Any, tmp_path: Path) -> None:
    import bpy

    told, shares = [], []
    while step(rendering) == {"RUNNING_MODAL"}:
        seen = drawn()
        assert not [word for kind, word in seen if kind == "operator"], "no button to press"
        ((text, share),) = [word for kind, word in seen if kind == "progress"]
        told.append(text)
        shares.append(share)
        assert "interrupted" not in said()
        assert not bpy.ops.knuckle.render_film.poll(), "nor does another begin"
    assert told[0] == "2 of 5 (0 %)" and shares[0] == 0.0, "nothing is rendered by looking at the motion"
    rendered = [text for text in told if " of 3 " in text]
    assert rendered[0].startswith("1 of 3 (25 %"), "the fourth part is the file"
    assert rendered[1].startswith("2 of 3 (50 %, ") and rendered[1].endswith(" s left)")
    assert shares == sorted(shares)
    assert (tmp_path / "flap.mp4").is_file()
    assert {word for kind, word in drawn() if kind == "operator"} == {"knuckle.preview_film", "knuckle.render_film"}


def test_frames_of_an_interrupted_render_are_reported_when_it_has_stopped(rendering: Any) -> None:
    import bpy

    for _ in range(6):
        assert step(rendering) == {"RUNNING_MODAL"}
    assert rendering.modal(bpy.context, SimpleNamespace(type="ESC", value="PRESS")) == {"CANCELLED"}
    assert "An interrupted render left 2 frames, which the next one uses" in said()


def test_a_mechanism_that_does_not_move_is_pointed_out(rig: Any) -> None:
    still = "The mechanism does not move"
    action = swing(rig, 30.0)
    assert still not in said()
    rig.animation_data.action = None
    assert still in said()
    rows = drawn()
    words = [text for _, text in rows]
    size = next(at for at, text in enumerate(words) if "per second" in str(text))
    assert size < words.index("knuckle.render_film") < next(at for at, text in enumerate(words) if still in str(text))
    rig.data.knuckle.drive = "SERVO"
    assert still not in said(), "physics may move it"
    rig.data.knuckle.drive = "KEYS"
    swing(rig, 0.0)
    assert still in said(), "keyframes of one value"
    rig.animation_data.action = action
    assert still not in said()


def test_a_video_without_motion_is_reported(rig: Any, tmp_path: Path) -> None:
    import bpy

    from addon.blender.data.queries import parts
    from addon.blender.render import FilmOptions, film

    bpy.context.scene.frame_end = 4
    options = FilmOptions(size=(32, 32), samples=1)
    swing(rig, 30.0)
    moving = film(bpy.context, parts(rig, "BODY"), str(tmp_path / "a.mp4"), options)
    rig.animation_data.action = None
    still = film(bpy.context, parts(rig, "BODY"), str(tmp_path / "b.mp4"), options)
    told = [[entry.code for entry in report.entries] for report in (moving, still)]
    assert "film-still" not in told[0] and "film-still" in told[1]


def test_a_preview_takes_no_image_editor_of_the_users(rig: Any) -> None:
    import bpy

    from addon.blender.ui.video.operators import is_editor_free

    mine = bpy.data.images.new("Mine", 4, 4)
    preview = bpy.data.images.new("Video Preview", 4, 4)
    render = SimpleNamespace(type="RENDER_RESULT", name="Render Result")
    assert [is_editor_free(SimpleNamespace(image=image)) for image in (mine, preview, render, None)] == [
        False, True, True, True,
    ]  # fmt: skip


def test_the_scenes_resolution_is_put_back_after_a_preview(rig: Any) -> None:
    import bpy

    from addon.blender.ui.video.operators import render_resolution

    render = bpy.context.scene.render
    render.resolution_x, render.resolution_y, render.resolution_percentage = 2048, 858, 50
    with render_resolution(bpy.context.scene, (320, 180)):
        assert (render.resolution_x, render.resolution_y, render.resolution_percentage) == (320, 180, 100)
    assert (render.resolution_x, render.resolution_y, render.resolution_percentage) == (2048, 858, 50)


def test_the_disabled_render_button_shows_what_is_missing() -> None:
    from types import SimpleNamespace

    import bpy

    from addon.blender.ui.video.operators import KNUCKLE_OT_render_film as Render

    bpy.ops.wm.read_factory_settings(use_empty=True)
    assert "Choose a file" in Render.description(bpy.context, SimpleNamespace(filepath=""))
    assert Render.description(bpy.context, SimpleNamespace(filepath="/tmp/a.mp4")) == Render.bl_description


def test_a_poster_is_rendered_with_its_size(rig: Any, tmp_path: Path, capfd: Any) -> None:
    import bpy

    bpy.context.scene.frame_end = 3
    target = tmp_path / "poster.png"
    assert ops().render_film(filepath=str(target), size=(64, 48)) == {"FINISHED"}
    assert f"Picture rendered: {target}" in capfd.readouterr().out
    picture = bpy.data.images.load(str(target))
    assert tuple(picture.size) == (64, 48)


def test_a_video_that_cannot_be_rendered_is_rejected_with_the_reason(rig: Any, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"\.mp4, \.webm, \.webp or \.gif for a video"):
        ops().render_film(filepath=str(tmp_path / "film.avi"))
    with pytest.raises(RuntimeError, match=r"save the \.blend first"):
        ops().render_film()
    assert list(tmp_path.glob("film*")) == []


def test_a_video_is_rendered_with_sheet_poster_and_frames(rig: Any, tmp_path: Path) -> None:
    import bpy

    bpy.context.scene.frame_end = 6
    words = {"size": (64, 48), "samples": 1, "stage": "SCIENTIFIC", "camera": "TURNTABLE", "burn": {"NAME", "SERVOS"}}
    target = str(tmp_path / "round.webm")
    assert ops().render_film(filepath=target, sheet=True, poster=True, keep_frames=True, **words) == {"FINISHED"}
    assert {path.name for path in tmp_path.iterdir()} >= {
        "round.webm", "round_sheet.png", "round_poster.png", "round_frames",
    }  # fmt: skip
    assert bpy.context.scene.name == "Scene" and len(bpy.data.scenes) == 1


def test_preview_shows_the_present_frame_in_an_image(rig: Any) -> None:
    import bpy

    from addon.blender.ui.video.operators import PREVIEW_NAME

    bpy.context.scene.frame_end = 6
    for frame in (3, 5):
        bpy.context.scene.frame_set(frame)
        assert ops().preview_film(size=(64, 48), samples=1) == {"FINISHED"}
        assert [image.name for image in bpy.data.images if image.name.startswith(PREVIEW_NAME)] == [PREVIEW_NAME]
        assert (
            tuple(bpy.data.images[PREVIEW_NAME].size) == (64, 48)
            and bpy.data.images[PREVIEW_NAME].packed_file is not None
        )
        assert bpy.context.scene.frame_current == frame and len(bpy.data.scenes) == 1


def test_the_video_summary_has_size_duration_and_frames(rig: Any, tmp_path: Path) -> None:
    import bpy

    from addon.blender.ui.video.panel import video_summary
    from addon.blender.ui.video.properties import video_ending, video_render_options, video_settings

    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base, scene.frame_start, scene.frame_end = 60, 1.0, 1, 240
    options = video_settings(scene)
    assert (
        video_summary(scene, "a.mp4", video_render_options(options)) == "1280 x 720, 4.0 s, 120 frames at 30 per second"
    )
    assert video_summary(scene, "a.png", video_render_options(options)) == "1280 x 720, one picture"
    options.format, options.length = "LOOP", "8"
    assert video_ending(options) == ".gif"
    assert (
        video_summary(scene, "a.gif", video_render_options(options)) == "480 x 480, 8.0 s, 120 frames at 15 per second"
    )


def test_the_video_panel_shows_the_summary_before_a_file_is_chosen(rig: Any) -> None:
    import bpy

    from addon.blender.ui.video.panel import VIEW3D_PT_knuckle_film

    bpy.context.scene.render.fps, bpy.context.scene.frame_start, bpy.context.scene.frame_end = 60, 1, 240
    drawn: list[tuple[str, Any]] = []
    VIEW3D_PT_knuckle_film.draw(type("Panel", (), {"layout": Layout(drawn)})(), bpy.context)
    said = " ".join(text for kind, text in drawn if kind == "label")
    assert said.startswith("1280 x 720, 4.0 s, 120 frames at 30 per second ") and " Choose a file" in said


def test_a_video_goes_beside_the_blend_by_default(rig: Any, tmp_path: Path) -> None:
    import bpy

    from addon.blender.ui.video.operators import video_path

    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "scene.blend"))
    assert Path(video_path(rig, "")) == tmp_path / "flapper.mp4"
    assert Path(video_path(rig, "//walk")) == tmp_path / "walk.mp4"
    assert Path(video_path(rig, str(tmp_path))) == tmp_path / "flapper.mp4"
    assert Path(video_path(rig, str(tmp_path / "a.png"))) == tmp_path / "a.png"
