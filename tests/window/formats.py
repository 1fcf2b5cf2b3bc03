"""The other formats in a real window: dropped, seen with what they collide with, posed, under physics, undone, written
again. See README.md. It leaves pictures to look at."""

import sys
from pathlib import Path

import bpy
from driving import HERE, area, done, drop, expect, key, open_sidebar, play, shot, step, view3d

sys.path.append(str(Path.home()))
from finding import away_with_the_usual, bodies, rig

FILES = (
    "tests/window/finding.py",
    "sample_models/desk_lamp/desk_lamp.skel",
    "sample_models/sensor_leg/sensor_leg.xml",
    "sample_models/pumpjack/pumpjack.json",
    "sample_models/pumpjack/beam.obj",
    "sample_models/pumpjack/crank.obj",
    "sample_models/pumpjack/pitman.obj",
    "sample_models/pumpjack/post.obj",
    "sample_models/pumpjack/pumpjack.mtl",
)

MODELS = ("desk_lamp.skel", "sensor_leg.xml", "pumpjack.json")


def look():
    with view3d():
        bpy.ops.object.select_all(action="DESELECT")
        for obj in bodies():
            obj.select_set(True)
        bpy.ops.view3d.view_selected()
        bpy.ops.object.select_all(action="DESELECT")
    view = area("VIEW_3D").spaces.active
    view.shading.type = "SOLID"
    view.shading.color_type = "MATERIAL"


@step()
def before():
    away_with_the_usual()
    open_sidebar("Knuckle")


@step()
def lamp():
    drop(MODELS[0])
    shot("01_popup")
    key("RET")


@step(after=1)
def lamp_in():
    expect(len(bodies()) == 4, "the lamp has four bodies")
    look()
    yield
    shot("02_lamp")
    yield 1
    rig().data.knuckle.show_collision = True
    yield 1
    shot("03_lamp_collision")
    yield 1
    rig().data.knuckle.show_collision = False


@step(after=1)
def undone():
    with view3d():
        bpy.ops.ed.undo_push(message="Before the second model")  # what a driver does is no step of its own
    yield
    drop(MODELS[0])
    key("RET")
    yield 1
    expect(len(bodies()) == 8, "a second import is a second model")
    key("Z", ctrl=True)
    yield 1
    expect(len(bodies()) == 4, "one undo takes it back")
    shot("04_undone")


@step(after=1)
def all_three():
    for obj in list(bpy.data.objects):
        bpy.data.objects.remove(obj)
    bpy.ops.outliner.orphans_purge(do_recursive=True)
    with view3d():
        bpy.ops.import_scene.mechanism(directory=f"{HERE}/", files=[{"name": name} for name in MODELS], frame_view=True)
    yield
    shot("05_three")
    rigs = [obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL"]
    expect(len(rigs) == 3, "several files at once")


@step(after=1)
def pump():
    with view3d():
        bpy.ops.object.select_all(action="DESELECT")
    for obj in bpy.context.view_layer.objects:
        if obj.knuckle.model is None or obj.knuckle.model.knuckle.source_name != "pumpjack":
            obj.hide_set(True)
    rigs = (obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")
    pumpjack = next(obj for obj in rigs if obj.knuckle.source_name == "pumpjack")
    bpy.context.view_layer.objects.active = pumpjack
    pumpjack.select_set(True)
    with view3d():
        bpy.ops.view3d.view_selected()
    yield
    shot("06_pumpjack")
    pumpjack.data.knuckle.drive = "LIMP"
    play(3)
    yield
    shot("07_pumpjack_limp")
    done()
