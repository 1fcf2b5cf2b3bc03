"""Physics in a real window: the World, Drive and Truth panels, a lamp that falls, a bake of all bodies stopped with Esc
and then done, frames jumped to, a copy, a loop that follows. See README.md. It leaves pictures."""

import sys
from pathlib import Path

import bpy
from driving import done, drop, expect, key, log, open_sidebar, pause, play, shot, step, view3d

sys.path.append(str(Path.home()))
from finding import away_with_the_usual, pick, rigs

FILES = (
    "tests/window/finding.py",
    "sample_models/desk_lamp/desk_lamp.skel",
    "sample_models/pumpjack/pumpjack.json",
    "sample_models/pumpjack/beam.obj",
    "sample_models/pumpjack/crank.obj",
    "sample_models/pumpjack/pitman.obj",
    "sample_models/pumpjack/post.obj",
    "sample_models/pumpjack/pumpjack.mtl",
)

LAMP, PUMP = "desk_lamp.skel", "pumpjack.json"


@step()
def before():
    away_with_the_usual()
    open_sidebar("Knuckle")


@step()
def dropped():
    drop(LAMP)
    key("RET")


@step()
def limp():
    with view3d():
        bpy.ops.view3d.view_all()
    bpy.context.scene.frame_end = 120
    pick(rigs()[0])
    rigs()[0].data.knuckle.drive = "LIMP"
    play(4)
    shot("01_limp")
    yield
    expect(bpy.context.scene.frame_current > 1, "it played")


@step()
def jumped():
    bpy.context.scene.frame_set(100)
    shot("02_jumped_ahead")
    yield
    bpy.context.scene.frame_set(1)
    shot("03_back_at_the_first")


@step()
def stopped():
    scene = bpy.context.scene
    scene.frame_end = 3000
    rigs()[0].data.knuckle.key_bodies = True
    before = len(bpy.data.actions), len(bpy.data.objects)
    with view3d():
        log(bpy.ops.knuckle.bake_physics("INVOKE_DEFAULT", all_bodies=True))
    pause(2)
    shot("04_baking_all_bodies")
    key("ESC")
    yield
    expect((len(bpy.data.actions), len(bpy.data.objects)) == before, "Esc leaves the scene as it was")
    expect(scene.frame_current == 1, "at the frame that it was at")
    expect(rigs()[0].data.knuckle.drive == "LIMP", "and the drive")


@step()
def baked():
    with view3d():
        log(bpy.ops.knuckle.bake_physics("INVOKE_DEFAULT", all_bodies=True, frame_end=90))
    for _ in range(120):  # seconds: 25 are enough where nothing else runs
        if rigs()[0].data.knuckle.drive == "KEYS":
            break
        pause(1)
        yield
    expect(rigs()[0].data.knuckle.drive == "KEYS", "the bake plays on keys")
    expect(rigs()[0].data.knuckle.accuracy.run != "", "and how true it was is known")
    bpy.context.scene.frame_end = 90
    bpy.context.scene.frame_set(60)
    shot("05_baked")


@step()
def worst():
    with view3d():
        log(bpy.ops.knuckle.select_worst())
    shot("06_worst_joints")


@step()
def copied():
    with view3d():
        bpy.ops.knuckle.remove_body_keys()
        for obj in rigs()[0].data.knuckle.collection.all_objects:
            obj.select_set(obj.visible_get())
        bpy.ops.object.duplicate()
    yield
    copy = rigs()[-1]
    expect(len(rigs()) == 2, "Shift+D makes a second model")
    copy.location.x += 0.6
    for rig in rigs():
        rig.data.knuckle.drive = "LIMP"
    bpy.context.scene.frame_set(1)
    play(4)
    shot("07_original_and_copy")


@step()
def loop():
    with view3d():
        for rig in rigs():
            pick(rig)
            bpy.ops.knuckle.clear_physics()
    for obj in list(bpy.data.objects):
        bpy.data.objects.remove(obj)
    drop(PUMP)
    key("RET")
    pause(3)


@step()
def followed():
    with view3d():
        bpy.ops.view3d.view_all()
    rig = rigs()[0]
    pick(rig)
    driver = next(bone for bone in rig.pose.bones if not all(bone.lock_rotation) and not bone.bone.knuckle.root)
    before = [tuple(obj.matrix_world.translation) for obj in bpy.data.objects if obj.knuckle.role == "BODY"]
    driver.rotation_euler.z += 0.6
    yield
    after = [tuple(obj.matrix_world.translation) for obj in bpy.data.objects if obj.knuckle.role == "BODY"]
    moved = sum(sum((a - b) ** 2 for a, b in zip(x, y)) > 1e-6 for x, y in zip(before, after))  # noqa: B905
    expect(moved > 1, f"posing one bone moves the loop: {moved} bodies moved")
    shot("08_loop_followed")
    yield
    done()
