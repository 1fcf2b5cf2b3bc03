"""The motions in the sidebar, in a real window: their list, what they ask of the servos, and the tools that retime
them, by their popups and the redo panel. See README.md. It leaves pictures to look at."""

import sys
from pathlib import Path

import bpy
from driving import area, click, done, drop, expect, key, move, open_sidebar, point, region, reports, shot, step, view3d

sys.path.append(str(Path.home()))
from finding import alone, away_with_the_usual, curves_of, every, find, rig

FILES = ("tests/window/finding.py", "sample_models/hexapod/hexapod.jm")
SIZE = "1280x1400"

MODEL = "hexapod.jm"
KNEE = "Left Front Knee"


def action():
    return rig().animation_data.action


def curves():
    return [
        curve for curve in curves_of(action()) if curve.data_path.startswith("pose") and len(curve.keyframe_points) > 1
    ]


def last_key():
    return max(curve.keyframe_points[-1].co[0] for curve in curves())


@step()
def dropped():
    away_with_the_usual()
    alone("motion", "servos")  # so that all of it fits in the window
    drop(MODEL)
    key("RET")
    open_sidebar("Knuckle")  # its panels show with a model


@step()
def panels():
    rig().data.knuckle.controls.joystick_1_y = -1.0
    with view3d():
        bpy.ops.view3d.view_all()
        bpy.ops.knuckle.bake_gait(frame_start=1, frame_end=240)
    for empty in rig().data.knuckle.collection.all_objects:
        if empty.knuckle.role == "JOINT" and "Left" in empty.name and len(empty.knuckle.joint.dofs) == 1:
            # a stop that the gait does not keep
            dof = empty.knuckle.joint.dofs[0]
            dof.use_upper, dof.upper = True, 0.1
    yield
    shot("01_motions")
    yield
    for columns in ("RANGE", "SPEED"):
        bpy.context.window_manager.knuckle_joint_list.columns = columns
        region("UI").tag_redraw()
        yield
        shot(f"01_{columns.lower()}")
        yield
    bpy.context.window_manager.knuckle_joint_list.columns = "RANGE"


@step()
def clicked():
    own, frame = action().name, bpy.context.scene.frame_current
    first = yield from find("knuckle_motion_row", 0.3)
    click(*first)
    yield
    expect(action().name == "hexapod Gait" != own, f"a click lets another motion play: {action().name}")
    click(first[0], first[1] - 21)  # the row below
    yield
    expect(action().name == own, f"and another click the first: {action().name}")
    stretch = rf'show_servo\(servo="{KNEE}", frame=(5[3-9]|6[0-7])'  # the second in which the knee is beyond
    click(*(yield from find(stretch)))
    yield
    here = bpy.context.scene.frame_current
    expect(53 <= here <= 67 and here != frame, f"a click on a stretch goes there: {here}")
    expect(bpy.context.view_layer.objects.active.name == KNEE, "and selects the servo")
    shot("01_clicked")
    yield
    bpy.context.view_layer.objects.active = rig()
    bpy.context.scene.frame_set(1)


@step()
def looped():
    before = last_key()
    with view3d():
        bpy.ops.ed.undo_push(message="Before the loop")  # what a driver does is no step of its own
        bpy.ops.knuckle.loop_motion("INVOKE_DEFAULT")
    shot("02_loop_popup")
    key("RET")
    yield
    expect(last_key() > 1.9 * before, f"the motion plays twice: {before:g} became {last_key():g}")
    expect(any("Plays 2 times" in line for line in reports()), f"the user is told: {reports()[-1:]}")
    move(*point(area(), 300, 300))
    key("F9")
    shot("03_redo")
    move(*point(area(), 20, 700))
    key("ESC")
    yield
    key("Z", ctrl=True)
    yield
    expect(last_key() == before, "ctrl Z takes it back")


@step()
def mirrored():
    with view3d():
        bpy.ops.knuckle.mirror_motion("INVOKE_DEFAULT")
    shot("04_mirror_popup")
    key("RET")
    yield
    expect(any("mirrored" in line for line in reports()), f"the user is told: {reports()[-1:]}")
    with view3d():
        bpy.ops.knuckle.offset_motion("INVOKE_DEFAULT", wrap=True)
    shot("05_offset_popup")
    key("ESC")
    yield
    with view3d():
        bpy.ops.knuckle.scale_motion("INVOKE_DEFAULT")
    shot("06_speed_popup")
    key("ESC")
    yield


@step()
def shown():
    frame = bpy.context.scene.frame_current
    with view3d():
        bpy.ops.object.mode_set(mode="POSE")
        bpy.ops.knuckle.loop_motion(way="CYCLES")
        bpy.ops.knuckle.show_servo(servo="Left Front Lift", frame=33.0)
    shot("07_shown")
    yield
    expect(bpy.context.scene.frame_current == 33 != frame, "it went to the frame")
    every()
    done()
