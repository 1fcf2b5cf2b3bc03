"""The servos' sliders, stops, their sweep, the table of joints and named poses, in a real window. See README.md.
It leaves pictures to look at."""

import sys
from pathlib import Path

import bpy
from driving import (
    area,
    click,
    done,
    drag,
    drop,
    expect,
    key,
    move,
    open_sidebar,
    pause,
    point,
    shot,
    step,
    text,
    view3d,
)

sys.path.append(str(Path.home()))
from finding import alone, away_with_the_usual, every, find, rig

FILES = ("tests/window/finding.py", "sample_models/hexapod/hexapod.jm")
SIZE = "1280x1400"

MODEL = "hexapod.jm"
KNEE = "Left Front Knee"


def gains():
    own = (obj.knuckle for obj in bpy.data.objects if obj.knuckle.role == "JOINT")
    return {dof.gain for each in own for dof in each.joint.dofs}


def knee():
    return rig().pose.bones[KNEE]


@step()
def dropped():
    away_with_the_usual()
    alone("servos")
    drop(MODEL)
    key("RET")
    open_sidebar("Knuckle")  # its panels show with a model


@step()
def panels():
    rig().data.bones.active = rig().data.bones[KNEE]
    with view3d():
        bpy.ops.view3d.view_all()
        bpy.ops.knuckle.store_pose(name="Stand")
        bpy.ops.knuckle.store_pose(name="Crouch")
        bpy.ops.ed.undo_push(message="Before the sliders")  # what a driver does is no step of its own
    yield
    shot("01_servos")
    yield
    before = knee().rotation_euler.z
    slider = yield from find(rf'bones\["{KNEE}"\]\.knuckle_servo', 0.65)
    drag(slider, (slider[0] + 30, slider[1]))
    yield
    expect(knee().rotation_euler.z > before + 0.1, f"the slider is dragged: {knee().rotation_euler.z:.3f}")
    shot("01_dragged")
    yield
    key("Z", ctrl=True)
    yield
    expect(abs(knee().rotation_euler.z - before) < 1e-6, "one step of undo takes it back")


@step()
def swept():
    before = tuple(knee().rotation_euler), bpy.context.scene.frame_current
    seen = set()
    with view3d():
        bpy.ops.knuckle.sweep("INVOKE_DEFAULT", seconds=8.0)
    for _ in range(4):
        pause(0.2)
        yield
        seen.add(round(knee().rotation_euler.z, 3))
    shot("02_sweep")
    yield
    expect(len(seen) > 1, f"the knee moves: {sorted(seen)}")
    key("ESC")
    yield
    expect((tuple(knee().rotation_euler), bpy.context.scene.frame_current) == before, "and is where it was")
    with view3d():
        bpy.ops.knuckle.sweep("INVOKE_DEFAULT", seconds=8.0)
    pause(0.5)
    yield
    click(*point(area(), 400, 300))
    yield
    expect(tuple(knee().rotation_euler) == before[0], "a click ends it, too")


@step()
def table():
    with view3d():
        bpy.ops.knuckle.tick_joints(to="ALL")
        bpy.ops.ed.undo_push(message="Before the table")
        bpy.ops.knuckle.joint_table("INVOKE_DEFAULT")
    shot("03_table")
    yield
    before = gains()
    gain, fine = (627, 1006), (830, 638)  # read off the picture
    click(*gain, ctrl=True)
    text("7")
    key("RET")
    yield
    expect(gains() == {7.0}, f"a value set on one is set on all that are ticked: {gains()}")
    click(*fine)
    pause(1.0)
    yield
    move(*point(area(), 400, 300))
    yield
    key("Z", ctrl=True)
    yield
    if bpy.app.version < (5, 0) and gains() != before:  # there each value that is typed makes a step of its own
        key("Z", ctrl=True)
        yield
    expect(gains() == before, f"undone: {gains()}")
    move(*point(area(), 400, 300))  # the popup opens where it did
    yield
    with view3d():
        bpy.ops.knuckle.joint_table("INVOKE_DEFAULT")
    pause(0.5)
    click(*gain, ctrl=True)
    text("8")
    key("RET")
    yield
    expect(gains() == {8.0}, f"set again: {gains()}")
    key("ESC")
    yield
    expect(gains() == before, f"and cancelled: {gains()}")
    move(*point(area(), 400, 300))
    every()
    done()
