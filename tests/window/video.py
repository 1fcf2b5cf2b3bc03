"""The video: what panel, header and status bar show while it renders, how it stops, and where a preview is shown.
See README.md. It leaves pictures to look at."""

import sys
from pathlib import Path

import bpy
from driving import HERE, area, done, drop, expect, key, open_sidebar, pause, shot, step, view3d

sys.path.append(str(Path.home()))
from finding import alone, away_with_the_usual, every, rig

FILES = ("tests/window/finding.py", "sample_models/hexapod/hexapod.jm")
SIZE = "1280x800"


def options():
    return bpy.context.scene.knuckle_film


def words():
    return {name: getattr(options(), name) for name in ("filepath", "format", "size", "length")}


def windows():
    return list(bpy.context.window_manager.windows)


@step()
def dropped():
    away_with_the_usual()
    alone("model")
    open_sidebar("Knuckle")
    drop("hexapod.jm")
    key("RET")
    yield 1
    alone("film")
    scene = bpy.context.scene
    scene.frame_end = scene.frame_start + 30
    options().filepath, options().format, options().size = str(HERE / "walk.mp4"), "OWN", (480, 270)
    yield 1
    shot("01_before")


@step()
def still():
    data = rig().animation_data
    action, data.action = data.action, None
    area().tag_redraw()
    yield 1
    shot("02_does_not_move")
    yield
    data.action = action


@step()
def rendering():
    scene = bpy.context.scene
    scene.frame_end = scene.frame_start + 600  # longer than the pause on a fast machine
    with view3d():
        bpy.ops.knuckle.render_film("INVOKE_DEFAULT", samples=1, **words())
    pause(0.3)
    shot("03_playing_the_motion", settle=0)
    pause(6)
    shot("04_rendering", settle=0)
    yield
    key("ESC")
    yield 1
    shot("05_stopped")
    expect(not (HERE / "walk.mp4").exists(), "Esc leaves no video")
    scene.frame_end = scene.frame_start + 30


@step()
def to_the_end():
    with view3d():
        bpy.ops.knuckle.render_film("INVOKE_DEFAULT", samples=1, **words())
    for _ in range(90):
        yield 1
        if (HERE / "walk.mp4").is_file():
            break
    expect((HERE / "walk.mp4").is_file(), "the video is there")
    yield 2
    shot("06_rendered")


@step()
def preview():
    bpy.context.preferences.view.render_display_type = "WINDOW"  # as it is in a new Blender
    render = bpy.context.scene.render
    before = len(windows()), render.resolution_x, render.resolution_y, render.resolution_percentage
    with view3d():
        bpy.ops.knuckle.preview_film("INVOKE_DEFAULT", samples=1, **words())
    for _ in range(60):
        yield 1
        if bpy.data.images.get("Video Preview") is not None:
            break
    yield 2
    shot("07_preview")
    now = len(windows()), render.resolution_x, render.resolution_y, render.resolution_percentage
    expect(now == (before[0] + 1, *before[1:]), f"one window more, the scene as it was: {before}, {now}")
    size = windows()[-1].width, windows()[-1].height
    expect(size[0] < 800 and size[1] < 560, f"of the picture's size, not of the screen's: {size}")
    shown = [each.spaces.active.image for each in windows()[-1].screen.areas if each.type == "IMAGE_EDITOR"]
    expect(shown == [bpy.data.images["Video Preview"]], f"it shows the preview: {shown}")


@step()
def again():
    """The next preview goes where the last one is."""
    before = len(windows())
    with view3d():
        bpy.ops.knuckle.preview_film("INVOKE_DEFAULT", samples=1, **words())
    yield 12
    expect(len(windows()) == before, "no further window")
    every()
    done()
