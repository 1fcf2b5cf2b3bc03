"""Undo and redo in a real window, many times in a row, after import, twins, physics and bakes; several files dropped at
once; the menus and options that come up on the way. See README.md. It leaves pictures to look at."""

import sys
from pathlib import Path

import bpy
from driving import area, click, done, drop, expect, key, move, open_sidebar, pause, point, reports, shot, step, view3d

sys.path.append(str(Path.home()))
from finding import alone, away_with_the_usual, bodies, every, find, pick, rig, rigs

FILES = (
    "tests/window/finding.py",
    "sample_models/desk_lamp/desk_lamp.skel",
    "sample_models/sensor_leg/sensor_leg.xml",
    "sample_models/hexapod/hexapod.jm",
)
SIZE = "1280x1000"

WALKER, SEVERAL = "hexapod.jm", ("desk_lamp.skel", "sensor_leg.xml")


def state():
    """All that an undo has to give back: what there is, where it is, and who drives it."""
    places = ((obj, [[round(x, 4) for x in row] for row in obj.matrix_world]) for obj in bpy.data.objects)
    objects = sorted((obj.name, obj.parent_bone, place) for obj, place in places)
    curves = sorted((action.name, round(action.frame_range[1], 3)) for action in bpy.data.actions)
    drives = sorted((each.name, each.data.knuckle.drive) for each in rigs())
    world = bpy.context.scene.rigidbody_world
    physics = (len(world.collection.objects) if world and world.collection else 0) if world is not None else None
    return objects, curves, drives, physics


def mark(message):
    """What a driver does is no step of undo by itself."""
    with view3d():
        bpy.ops.ed.undo_push(message=message)


def storm(what, before, after, times=4):
    """Undone and redone, over and over."""
    expect(before != after, f"{what}: something was done")
    for _ in range(times):
        key("Z", ctrl=True)
        yield 0.4
        expect(state() == before, f"{what}: undone{difference(before)}")
        key("Z", ctrl=True, shift=True)
        yield 0.4
        expect(state() == after, f"{what}: redone{difference(after)}")


def difference(wanted):
    """What is not as wanted, in a few words."""
    rows = [
        (a, b)
        for part, own in zip(wanted, state(), strict=True)
        if part != own
        for a, b in (zip(part, own, strict=False) if isinstance(part, list) else [(part, own)])
        if a != b
    ]
    return f", {len(rows)} differ: {rows[0]}"[:300] if rows else ""


@step()
def several():
    away_with_the_usual()
    mark("Nothing")
    drop(*SEVERAL)
    shot("01_several_popup")
    key("RET")
    yield 1
    expect(len(rigs()) == 2, f"two files dropped at once are two models: {reports()[-2:]}")
    with view3d():
        bpy.ops.view3d.view_all()
    shot("02_several")
    yield
    key("Z", ctrl=True)
    yield 0.5
    expect(not rigs(), "one undo takes both back")


@step()
def imported():
    move(*point(area(), 300, 500))
    before = state()
    drop(WALKER)
    key("RET")
    yield 1
    yield from storm("import", before, state())
    with view3d():
        bpy.ops.view3d.view_all()


@step()
def twins():
    with view3d():
        pick(*bodies("Right Front"))
        bpy.ops.knuckle.delete_parts()
        pick(*bodies("Left Front"))
    mark("A leg is gone")
    yield
    before = state()
    alone("twins")
    open_sidebar("Knuckle")
    yield 0.5
    click(*(yield from find("knuckle.create_twin")))
    yield 1
    move(*point(area(), 300, 500))
    yield
    yield from storm("twin", before, state())


@step()
def physics():
    alone("drive")
    pick(rig())
    with view3d():
        bpy.ops.knuckle.clear_physics()
    mark("Without physics")
    yield
    before = state()
    click(*(yield from find("knuckle.build_physics")))
    yield 1
    move(*point(area(), 300, 500))
    yield
    yield from storm("physics", before, state())
    bpy.context.scene.frame_set(1)
    rig().data.knuckle.drive = "LIMP"
    mark("Limp")
    yield
    with view3d():
        bpy.ops.screen.animation_play()
    pause(1.5)
    for _ in range(3):
        key("Z", ctrl=True)
        pause(0.4)
        key("Z", ctrl=True, shift=True)
        pause(0.4)
    yield
    with view3d():
        bpy.ops.screen.animation_cancel(restore_frame=False)
    expect(len(rigs()) == 1, "undone and redone while physics plays")
    shot("03_limp")


@step()
def baked():
    bpy.context.scene.frame_set(1)
    bpy.context.scene.frame_end = 20
    rig().data.knuckle.drive = "SERVO"
    mark("Servo")
    yield 0.5
    before = state()
    alone("motion")
    yield
    click(*(yield from find("knuckle.bake_physics", 0.3)))
    pause(12)
    yield
    move(*point(area(), 300, 500))
    bpy.context.scene.frame_set(1)
    yield 0.5
    expect(rig().data.knuckle.drive == "KEYS", f"it was baked: {reports()[-1:]}")
    after = state()
    for _ in range(2):
        key("Z", ctrl=True)
        yield 0.5
        bpy.context.scene.frame_set(1)
        expect(state()[1:3] == before[1:3], f"bake: undone{difference(before)}")
        key("Z", ctrl=True, shift=True)
        yield 0.5
        bpy.context.scene.frame_set(1)
        expect(state()[1:3] == after[1:3], f"bake: redone{difference(after)}")
    shot("04_baked")


@step()
def joined():
    """A joint by its button, its options changed with F9."""
    alone("model")
    with view3d():
        bpy.ops.mesh.primitive_cube_add(size=0.3, location=(0.0, 0.0, 1.5))
        cube = bpy.context.view_layer.objects.active
        pick(rig(), cube)
        bpy.ops.knuckle.make_body()
        pick(cube, bodies("Chassis")[0])
    mark("A body")
    yield
    joints = sum(obj.knuckle.role == "JOINT" for obj in bpy.data.objects)
    click(*(yield from find("knuckle.add_joint")))
    yield 1
    expect(sum(obj.knuckle.role == "JOINT" for obj in bpy.data.objects) == joints + 1, f"joined: {reports()[-1:]}")
    move(*point(area(), 300, 500))
    key("F9")
    shot("05_joint_redo")
    move(*point(area(), 20, 900))
    key("ESC")
    yield
    move(*point(area(), 300, 500))
    yield
    with view3d():
        bpy.ops.wm.call_menu(name="KNUCKLE_MT_context")
    shot("06_object_menu")
    move(*point(area(), 20, 900))
    key("ESC")
    yield
    pick(rig())
    with view3d():
        bpy.ops.object.mode_set(mode="POSE")
        rig().data.bones.active = rig().data.bones["Left Front Knee"]
    move(*point(area(), 300, 500))
    yield
    with view3d():
        bpy.ops.wm.call_menu(name="KNUCKLE_MT_context")
    shot("07_pose_menu")
    key("ESC")
    yield
    with view3d():
        bpy.ops.object.mode_set(mode="OBJECT")
    for _ in range(12):
        key("Z", ctrl=True)
        yield 0.2
    shot("08_undone")
    for _ in range(12):
        key("Z", ctrl=True, shift=True)
        yield 0.2
    expect(len(rigs()) == 1, "twelve undos and redos later the model is there")
    shot("09_redone")
    yield
    every()
    done()
