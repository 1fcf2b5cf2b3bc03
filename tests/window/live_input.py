"""Live Input in a real window: the hexapod is steered through a figure of eight by keys for 20 s, recorded, saved,
opened again and replayed: the same path. Then every way in which it ends. See README.md. It leaves pictures, one every
few frames of the eight."""

import json
import math
import os
import sys
from pathlib import Path

import addon_utils
import bpy
import numpy as np
from bpy.app.handlers import persistent
from driving import (
    HERE,
    OUT,
    area,
    done,
    drop,
    expect,
    key,
    log,
    move,
    open_sidebar,
    pause,
    point,
    region,
    shot,
    step,
    view3d,
    window,
)

sys.path.append(str(Path.home()))
from finding import away_with_the_usual, bodies, pick, rig

FILES = (
    "tests/window/finding.py",
    "sample_models/hexapod/hexapod.jm",
)
NAME, SAVED = "bl_ext.user_default.knuckle", str(HERE / "eight.blend")
#: Frames of the eight: 20 s.
FRAMES = int(os.environ.get("EIGHT_FRAMES", "1200"))
#: Frames between two pictures.
EVERY = 20
PATH: dict = {}
STEERING = {"turned": 0.0, "heading": None, "held": set(), "leg": 0}


def root():
    return next(body for body in bodies() if body.knuckle.source_id == "1001")


def is_live():
    return any(getattr(each, "bl_idname", "") == "KNUCKLE_OT_live_input" for each in window().modal_operators)


def hold(*keys):
    """Press and release keys, so that these are held."""
    x, y = point(region("WINDOW"), 300, 300)
    for name in STEERING["held"] - set(keys):
        window().event_simulate(type=name, value="RELEASE", x=x, y=y)
    for name in set(keys) - STEERING["held"]:
        window().event_simulate(type=name, value="PRESS", x=x, y=y)
    STEERING["held"] = set(keys)


@persistent
def watch(scene, *_):
    """Where the mechanism is at each frame, and what it has turned by."""
    matrix = root().matrix_world
    if scene.frame_current == 1 and len(PATH) < FRAMES:
        PATH.clear()
    if len(PATH) < FRAMES or scene.frame_current == FRAMES:
        PATH[scene.frame_current] = tuple(matrix.translation)
    heading, last = math.atan2(matrix[1][0], matrix[0][0]), STEERING["heading"]
    if last is not None and scene.frame_current > 1:
        STEERING["turned"] += (heading - last + math.pi) % math.tau - math.pi
    STEERING["heading"] = heading


def steer():
    """A player: ahead, once round to the left, once round to the right, ahead."""
    if not is_live():
        return None
    frame, turned = bpy.context.scene.frame_current, STEERING["turned"]
    if STEERING["leg"] == 0 and frame >= 60:
        STEERING["leg"] = 1
    elif STEERING["leg"] == 1 and turned >= math.tau:
        STEERING["leg"] = 2
    elif STEERING["leg"] == 2 and turned <= 0.0:
        STEERING["leg"] = 3
    hold(*(("W",), ("W", "A"), ("UP_ARROW", "D"), ("UP_ARROW",))[STEERING["leg"]])
    return 0.02


def over(name):
    area().spaces.active.shading.type = "SOLID"
    move(*point(region("WINDOW"), 400, 300))
    log(name)


@step()
def before():
    away_with_the_usual()
    open_sidebar("Knuckle")


@step()
def dropped():
    drop("hexapod.jm")
    shot("01_import")
    key("RET")


@step()
def walks():
    expect(rig().data.knuckle.controls.joystick_1_y == -1.0, "the sample goes forward")
    for preset in ("STAND", "TURN_LEFT"):
        with view3d():
            bpy.ops.knuckle.set_inputs(preset=preset)
    expect(rig().data.knuckle.controls.joystick_1_x == -1.0, "and turns")
    with view3d():
        bpy.ops.knuckle.set_inputs(preset="STAND")
    shot("02_presets")


@step()
def shortcut():
    """Keyframes: the gait is evaluated live, and Esc shows the Action again."""
    over("keyframes")
    yield
    bpy.context.scene.frame_set(20)
    STEERING["before"] = [tuple(bone.rotation_euler) for bone in rig().pose.bones]
    key("SPACE", shift=True, alt=True)
    pause(1)
    yield
    expect(is_live(), "the shortcut starts Live Input while the pointer is over the view")
    hold("W")
    pause(3)
    shot("03_keyframes")
    yield
    moved = [tuple(bone.rotation_euler) for bone in rig().pose.bones]
    expect(moved != STEERING["before"], "the legs walk")
    key("SPACE")
    pause(0.5)
    yield
    expect(not window().screen.is_animation_playing, "Space pauses")
    expect(is_live(), "and the mode goes on")
    shot("04_paused")
    key("R")
    pause(0.5)
    yield
    expect(bpy.context.scene.frame_current == 1, "R restarts")
    key("Z", ctrl=True)
    yield
    expect(is_live() and rig() is not None, "Ctrl Z does nothing meanwhile")
    key("ESC")
    pause(0.5)
    yield
    hold()
    expect(not is_live(), "Esc ends it")
    bpy.context.scene.frame_set(20)
    after = [tuple(bone.rotation_euler) for bone in rig().pose.bones]
    expect(after == STEERING["before"], "and the Action plays as before")
    expect(not rig().data.animation_data, "nothing was recorded")


@step()
def eight():
    scene = bpy.context.scene
    rig().data.knuckle.drive = "SERVO"
    rig().data.knuckle_live.record = True
    scene.frame_end = FRAMES
    pick(root())
    rotation = area().spaces.active.region_3d
    rotation.view_distance *= 1.6
    area().spaces.active.show_region_ui = area().spaces.active.show_region_toolbar = False
    area().spaces.active.overlay.show_relationship_lines = False
    over("eight")
    yield
    STEERING.update(turned=0.0, heading=None, held=set(), leg=0)
    bpy.app.handlers.frame_change_post.append(watch)
    key("SPACE", shift=True, alt=True)
    pause(0.5)
    yield
    expect(is_live(), "recording")
    bpy.app.timers.register(steer)
    last = -EVERY
    while is_live():
        if scene.frame_current >= last + EVERY:
            last = scene.frame_current
            shot(f"eight_{last:04}", settle=0.0)
        pause(0.1)
        yield
    hold()
    bpy.app.handlers.frame_change_post.remove(watch)
    expect(list(PATH) == list(range(1, FRAMES + 1)), "each frame was played once")
    STEERING["live"] = np.array([PATH[frame] for frame in range(1, FRAMES + 1)])
    curves = {curve.data_path.rpartition(".")[2]: len(curve.keyframe_points) for curve in curves_of_inputs()}
    expect(set(curves.values()) == {FRAMES}, f"one keyframe per frame: {curves}")
    log("turned", math.degrees(STEERING["turned"]), "leg", STEERING["leg"])
    if FRAMES >= 1200:
        expect(STEERING["leg"] == 3, "once round to the left and once round to the right")
    shot("05_recorded")


def curves_of_inputs():
    from finding import curves_of

    return curves_of(rig().data.animation_data.action)


def length(path):
    return float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())


@step()
def replayed():
    bpy.ops.wm.save_as_mainfile(filepath=SAVED)
    bpy.ops.wm.open_mainfile(filepath=SAVED, load_ui=False)


@step(after=1)
def same_path():
    scene, live, found = bpy.context.scene, STEERING["live"], []
    for frame in range(1, FRAMES + 1):
        scene.frame_set(frame)
        found.append(tuple(root().matrix_world.translation))
        if frame % 100 == 0:
            yield
    apart = np.linalg.norm(np.array(found) - live, axis=1)
    expect(apart.max() < 1e-3, f"replayed after saving and opening: {apart.max():.2g} apart at most")
    shot("06_replayed")
    yield
    with view3d():
        bpy.ops.knuckle.bake_physics("EXEC_DEFAULT", frame_end=FRAMES)
    baked = []
    for frame in range(1, FRAMES + 1):
        scene.frame_set(frame)
        baked.append(tuple(root().matrix_world.translation))
    baked = np.array(baked)
    off = np.linalg.norm(baked - live, axis=1).max()
    log(f"length live {length(live):.4f}, baked {length(baked):.4f}, apart at most {off:.4g}")
    expect(abs(length(baked) / length(live) - 1.0) < 0.02, "the baked path is as long as the live one")
    (OUT / "paths.json").write_text(json.dumps({"live": live.tolist(), "baked": baked.tolist()}))
    bpy.ops.wm.save_as_mainfile(filepath=str(OUT / "eight_baked.blend"), copy=True)


# Every end


def begin(drive="SERVO"):
    """Start Live Input with a key held, as a user does."""
    rig().data.knuckle_live.record = False
    rig().data.knuckle.drive = drive
    bpy.context.scene.frame_end = 2000
    pick(rig())
    with view3d():
        log(bpy.ops.knuckle.live_input("INVOKE_DEFAULT"))
    hold("W")


@step()
def undone():
    bpy.ops.ed.undo_push(message="before")
    begin()
    pause(2)
    yield
    expect(is_live(), "on")
    with view3d():
        bpy.ops.ed.undo()
    pause(1)
    yield
    hold()
    expect(not is_live(), "undo ends it")
    shot("07_undone")


@step()
def deleted():
    begin("KEYS")
    pause(2)
    yield
    for obj in list(rig().data.knuckle.collection.all_objects):
        bpy.data.objects.remove(obj)
    pause(1)
    yield
    hold()
    expect(not is_live(), "deleting the mechanism ends it")
    shot("08_deleted")


@step()
def opened():
    bpy.ops.wm.open_mainfile(filepath=SAVED, load_ui=False)
    yield
    begin()
    pause(2)
    yield
    expect(is_live(), "on")
    bpy.ops.wm.open_mainfile(filepath=SAVED, load_ui=False)
    pause(1)
    yield
    hold()
    expect(not is_live(), "another file ends it")
    expect(bpy.context.scene.frame_current >= 1 and rig() is not None, "and is whole")


@step()
def switched_off():
    begin()
    pause(2)
    yield
    expect(is_live(), "on")
    bpy.ops.preferences.addon_disable(module=NAME)
    pause(1)
    yield
    hold()
    expect(not addon_utils.check(NAME)[1], "switching the add-on off ends it")
    shot("09_switched_off")
    yield
    bpy.ops.preferences.addon_enable(module=NAME)
    pause(1)
    yield
    begin()
    pause(1)
    yield
    expect(is_live(), "and on again it starts as before")
    key("ESC")
    yield
    hold()


@step()
def closed():
    begin("KEYS")
    pause(1)
    yield
    other = bpy.ops.wm.window_new() and bpy.context.window_manager.windows[-1]
    key("ESC")
    pause(1)
    yield
    hold()
    expect(not is_live(), "ended in the first window")
    place = next(each for each in other.screen.areas if each.type == "VIEW_3D")
    inner = next(each for each in place.regions if each.type == "WINDOW")
    with bpy.context.temp_override(window=other, area=place, region=inner):
        log(bpy.ops.knuckle.live_input("INVOKE_DEFAULT"))
    pause(1)
    yield
    with bpy.context.temp_override(window=other):
        bpy.ops.wm.window_close()
    pause(1)
    yield
    expect(len(bpy.context.window_manager.windows) == 1, "the window is closed")
    begin("KEYS")
    pause(1)
    yield
    expect(is_live(), "closing its window ended it, so it starts again")
    key("ESC")
    yield
    done()
