"""A user's first minutes, in a real window: drop a model, look at every panel, switch the drive while it plays,
bake, film, export, undo. See README.md. It leaves pictures to look at."""

import subprocess
import sys
from pathlib import Path

import bpy
from driving import (
    HERE,
    area,
    done,
    drop,
    expect,
    key,
    log,
    menu_entries,
    move,
    open_sidebar,
    pause,
    play,
    point,
    reports,
    shot,
    step,
    view3d,
)

sys.path.append(str(Path.home()))
from finding import away_with_the_usual, rig

FILES = (
    "tests/window/finding.py",
    "sample_models/hexapod/hexapod.jm",
    "tests/window/motion.xml",
)

MODEL = "hexapod.jm"


def settings():
    return rig().data.knuckle


@step()
def before():
    away_with_the_usual()
    open_sidebar("Knuckle")
    shot("01_nothing_yet")


@step()
def dropped():
    drop(MODEL)
    shot("02_popup")
    key("RET")


@step()
def imported():
    shot("03_imported")
    yield
    expect(bpy.context.view_layer.objects.active == rig(), "the armature is active")
    expect(rig().select_get(), "and selected")
    lines = reports()
    expect(any("Imported" in line for line in lines), f"the user is told: {lines[-1:]}")
    with view3d():
        bpy.ops.view3d.view_all()
    shot("04_framed")


@step()
def menus():
    expect("import_scene.mechanism" in menu_entries(), "File > Import offers mechanisms")
    expect("import_anim.servo_motion" in menu_entries(), "and motions")
    exports = menu_entries("TOPBAR_MT_file_export")
    expect("export_scene.mechanism" in exports, f"File > Export offers models: {exports}")


@step()
def bad_files():
    drop("motion.xml")
    key("RET")
    shot("05_motion_dropped_as_model")
    yield
    key("ESC")
    yield
    expect(any("servo motion" in line for line in reports()), f"the user is told what it is: {reports()[-1:]}")


@step()
def redone():
    """F9 offers the options of the last import again."""
    bpy.context.window_manager.clipboard = ""
    move(*point(area(), 300, 300))
    key("F9")
    shot("06_redo")
    move(*point(area(), 20, 700))
    key("ESC")


@step()
def panels():
    rig().data.knuckle_row = 1
    shot("07_panels")
    yield
    bpy.context.view_layer.objects.active = rig()


@step()
def plays():
    bpy.context.scene.frame_set(1)
    settings().controls.joystick_1_y = -1.0
    play(3)
    shot("08_played_on_keys")
    yield
    expect(bpy.context.scene.frame_current > 1, "it played")


@step()
def served():
    bpy.context.scene.frame_set(1)
    settings().drive = "SERVO"
    play(6)
    shot("09_played_on_servos")
    yield
    expect(settings().drive == "SERVO", "the servos drive it")


@step()
def pose_mode():
    settings().drive = "KEYS"
    bpy.context.scene.frame_set(1)
    with view3d():
        bpy.ops.object.mode_set(mode="POSE")
    rig().data.knuckle_row = 1
    shot("10_pose_mode")
    yield
    expect(bpy.context.active_pose_bone is not None, "a click on the list made a bone active")
    with view3d():
        bpy.ops.object.mode_set(mode="OBJECT")


@step()
def baked_and_stopped():
    bpy.context.scene.frame_set(1)
    bpy.context.scene.frame_end = 2000
    settings().drive = "SERVO"
    actions = len(bpy.data.actions)
    with view3d():
        log(bpy.ops.knuckle.bake_physics("INVOKE_DEFAULT"))
    pause(1.5)
    shot("11_baking")
    key("ESC")
    yield
    expect(len(bpy.data.actions) == actions, "Esc left no Action behind")
    expect(bpy.context.scene.frame_current == 1, "and the frame where it was")
    with view3d():
        log(bpy.ops.knuckle.bake_physics("INVOKE_DEFAULT", frame_end=40))
    for _ in range(60):
        yield 1
        if len(bpy.data.actions) > actions:
            break
    yield 1
    expect(len(bpy.data.actions) == actions + 1, "left alone, it bakes")
    expect(settings().drive == "KEYS", "and the bodies follow the keys")
    shot("12_baked")


@step()
def rendered():
    bpy.context.scene.frame_end = 20
    with view3d():
        log(bpy.ops.knuckle.render_film("INVOKE_DEFAULT", filepath=str(HERE / "film.mp4"), size=(320, 180)))
    pause(1.5)
    shot("12_filming")
    key("ESC")
    yield
    expect(not list(HERE.glob("film.*")), "Esc leaves no film, and the frames to go on with")
    expect(len(bpy.data.scenes) == 1, "and no stage")
    with view3d():
        log(bpy.ops.knuckle.render_film("INVOKE_DEFAULT", filepath=str(HERE / "film.mp4"), size=(320, 180)))
    pause(20)
    yield
    expect((HERE / "film.mp4").is_file(), "the film is there")


@step()
def exported():
    target = HERE / "again.jm"
    with view3d():
        bpy.ops.export_scene.mechanism("INVOKE_DEFAULT", format="juice")
    pause(1)
    shot("13_export_browser")
    yield
    params = area("FILE_BROWSER").spaces.active.params
    expect(params.filename.endswith(".jm"), f"a name is proposed: {params.filename}")
    params.filename = target.name
    params.directory = f"{HERE}/".encode()
    pause(0.5)
    yield
    with view3d("FILE_BROWSER"):
        bpy.ops.file.execute()
    pause(2)
    yield
    expect(target.is_file() and target.read_bytes() == (HERE / MODEL).read_bytes(), "it came out as it went in")


@step()
def cleared():
    with view3d():
        bpy.ops.knuckle.clear_physics()
    expect(bpy.context.scene.rigidbody_world is None, "physics is cleared")
    settings().drive = "SERVO"
    expect(bpy.context.scene.rigidbody_world is not None, "and comes back with the servos")
    settings().drive = "KEYS"


@step()
def command_line():
    """What `blender --command knuckle` says, by the Blender that runs here."""
    words = [bpy.app.binary_path, "--command", "knuckle", "info", str(HERE / MODEL)]
    said = subprocess.run(words, capture_output=True, text=True, check=False)
    expect(said.returncode == 0 and "bodies" in said.stdout, f"info says {said.stdout[:200]} {said.stderr[-200:]}")


@step()
def undone():
    with view3d():
        bpy.ops.ed.undo_push(message="Before the second model")  # what a driver does is no step of its own
    yield
    count = len(bpy.data.objects)
    drop(MODEL)
    key("RET")
    yield
    expect(len(bpy.data.objects) > count, "a second model stands beside the first")
    shot("14_two_models")
    key("Z", ctrl=True)
    yield
    expect(len(bpy.data.objects) == count, "ctrl Z takes all of it back")
    done()
