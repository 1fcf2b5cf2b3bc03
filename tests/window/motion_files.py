"""Motion files in a real window: dropped on a model, with the options of their import; servos that nothing answers to,
named by hand; the export in the file browser. See README.md. It leaves pictures to look at."""

import sys
from pathlib import Path

import bpy
from driving import area, done, drop, expect, key, open_sidebar, region, reports, shot, step, view3d

sys.path.append(str(Path.home()))
from finding import alone, away_with_the_usual, curves_of, every, rig

FILES = (
    "tests/window/finding.py",
    "sample_models/humanoid/humanoid.skel",
    "sample_models/humanoid/wave.motion",
)

MODEL, MOTION = "humanoid.skel", "wave.motion"


def curves():
    return curves_of(rig().animation_data.action)


@step()
def dropped():
    away_with_the_usual()
    alone("motion")
    drop(MODEL)
    key("RET")
    open_sidebar("Knuckle")  # its panels show with a model
    yield
    with view3d():
        bpy.ops.view3d.view_all()
    expect(rig() is not None, "the humanoid is there")


@step()
def motion_dropped():
    text = Path.home().joinpath(MOTION).read_text().replace("RElbowRoll", "right_elbow_roll").replace("HeadYaw", "Kopf")
    renamed = Path.home() / "renamed.motion"
    renamed.write_text(text)
    drop(renamed.name)
    yield
    shot("01_import_popup")
    key("RET")
    yield
    yield
    expect(rig().animation_data.action is not None, f"a motion plays: {reports()[-2:]}")
    shot("02_imported")
    yield


@step()
def posed():
    for frame in (20, 60, 100):
        bpy.context.scene.frame_set(frame)
        yield
        shot(f"03_frame_{frame}")
        yield


@step()
def names():
    with view3d():
        bpy.ops.knuckle.list_left_over()
    rows = rig().data.knuckle.servo_names
    expect([row.name for row in rows] == ["Kopf", "right_elbow_roll"], f"{[r.name for r in rows]} are left over")
    rows["Kopf"].servo = "HeadYaw"
    region("UI").tag_redraw()
    yield
    shot("04_servo_names")
    yield
    before = len(curves())
    with view3d():
        bpy.ops.knuckle.key_left_over()
    yield
    expect(len(curves()) == before + 1, "the head turns now")


@step()
def exported():
    target = Path.home() / "out.motion"
    target.unlink(missing_ok=True)
    with view3d():
        bpy.ops.export_anim.servo_motion("INVOKE_DEFAULT", filepath=str(target))
    yield 2  # until the file browser is drawn
    shot("05_export")
    yield
    params = area("FILE_BROWSER").spaces.active.params
    expect(params.filename == target.name, f"the name that was given is proposed: {params.filename}")
    with view3d("FILE_BROWSER"):
        bpy.ops.file.execute()  # what Enter does there
    yield
    yield
    expect(target.is_file(), f"the motion is written: {reports()[-2:]}")
    first, given = (path.read_text().splitlines()[0] for path in (target, Path.home() / "renamed.motion"))
    expect(first == given, f"its servos have the file's names again: {first}")
    every()
    done()
