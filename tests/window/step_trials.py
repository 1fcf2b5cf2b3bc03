"""Substeps are measured before a mechanism is first played: in the window, with progress, and with Esc to stop it."""

import bpy
from driving import done, drop, expect, key, move, play, point, region, shot, step, view3d

FILES = ("sample_models/humanoid/humanoid.skel",)
SIZE = "1920x1080"


def the_rig():
    return next(obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")


def selected():
    return [kept.quality for kept in the_rig().data.knuckle.selected_steps]


def choose(drive):
    with view3d():
        bpy.ops.knuckle.set_drive("INVOKE_DEFAULT", True, drive=drive)


@step()
def dropped():
    drop("humanoid.skel")
    key("RET")


@step(after=3)
def imported():
    expect(bpy.context.scene.rigidbody_world.substeps_per_frame == 1000, "an import has the formula's substeps")
    choose("LIMP")
    yield
    move(*point(region("WINDOW"), 900, 500))
    key("ESC")


@step(after=2)
def stopped():
    shot("stopped")
    expect(selected() == [], "Esc stops the measurement, and nothing is stored")
    expect(the_rig().data.knuckle.drive == "LIMP", "the drive stays")
    expect(bpy.context.scene.rigidbody_world.substeps_per_frame == 1000, "the substeps stay")
    choose("KEYS")
    yield
    choose("SERVO")


@step(after=5)
def measured():
    shot("measuring")
    for _ in range(100):
        if selected():
            break
        yield
    expect(selected() == ["PREVIEW"], "Servos are measured before they play")
    substeps = bpy.context.scene.rigidbody_world.substeps_per_frame
    expect(10 <= substeps <= 150, f"fewer substeps are set: {substeps}")
    expect(bpy.context.scene.frame_current == bpy.context.scene.frame_start, "the frame stays")
    yield
    play(4)
    yield
    shot("playing")
    expect(bpy.context.scene.frame_current > 5, "it plays")


@step(after=1)
def end():
    done()
