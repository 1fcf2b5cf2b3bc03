"""3D views under physics: bones and relationship lines go, the view follows, and all comes back."""

import bpy
from driving import area, done, drop, expect, key, move, play, point, region, shot, step, view3d

FILES = ("sample_models/hexapod/hexapod.jm",)
SIZE = "1920x1080"


def the_rig():
    return next(obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")


def space():
    return area().spaces.active


def bones_are_shown():
    return space().overlay.show_bones


def choose(drive):
    with view3d():
        bpy.ops.knuckle.set_drive("INVOKE_DEFAULT", True, drive=drive)


@step()
def dropped():
    drop("hexapod.jm")
    key("RET")


@step(after=2)
def imported():
    shot("keyframes")
    expect(bones_are_shown() and not the_rig().show_in_front, "bones are shown, and not in front of bodies")
    yield
    choose("SERVO")


@step(after=1)
def under_servos():
    expect(not bones_are_shown(), "bones are hidden under Servos")
    expect(not space().overlay.show_relationship_lines, "no relationship lines are drawn")
    with view3d():
        bpy.ops.knuckle.follow_in_view("INVOKE_DEFAULT")
    expect(space().lock_object is not None, "the view is locked to the root body")
    shot("servos_first_frame")
    yield
    play(4)
    yield
    shot("servos_walking")
    yield
    bpy.context.window.screen.knuckle_view.bones = "SHOW"
    yield
    expect(bones_are_shown(), "the target pose is shown")
    shot("target_pose")
    yield
    bpy.context.window.screen.knuckle_view.bones = "HIDE"


@step(after=1)
def taken_back():
    bpy.context.scene.frame_set(bpy.context.scene.frame_start)
    choose("KEYS")
    yield
    expect(bones_are_shown(), "bones are shown again in Keyframes")
    expect(space().overlay.show_relationship_lines and space().lock_object is None, "views are as before")
    shot("keyframes_again")
    yield
    choose("SERVO")
    yield
    expect(not bones_are_shown(), "bones are hidden once more")
    move(*point(region("WINDOW"), 900, 500))
    key("Z", ctrl=True)


@step(after=1)
def undone():
    expect(the_rig().data.knuckle.drive == "KEYS", "the drive is taken back")
    expect(bones_are_shown() and space().overlay.show_relationship_lines, "undo brings back bones and lines")
    choose("SERVO")
    yield
    bpy.ops.wm.save_as_mainfile(filepath="/tmp/physics_view.blend")
    bpy.ops.wm.open_mainfile(filepath="/tmp/physics_view.blend")


@step(after=2)
def reopened():
    expect(not bones_are_shown(), "bones are hidden in the saved file too")
    choose("KEYS")
    yield
    expect(bones_are_shown(), "bones come back after it was opened")
    expect(space().overlay.show_relationship_lines, "so do relationship lines")
    shot("reopened")
    done()
