"""The sidebar after an import into the default scene with the default preferences, at 1920x1080: two panels are open.
Then each panel by itself in the states that it has, in English and German. It leaves pictures to look at."""

import sys
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import bpy
from driving import click, done, drop, expect, key, open_sidebar, point, region, shot, step, view3d

sys.path.append(str(Path.home()))
from finding import PANELS, alone, every, pick, rig

FILES = ("tests/window/finding.py", "sample_models/hexapod/hexapod.jm")
SIZE = "1920x1080"

KNEE = "Left Front Knee"
OPEN = ("model", "drive")  # at first


def panel_names():
    return [cls.__name__.removeprefix("VIEW3D_PT_knuckle_") for cls in PANELS if not hasattr(cls, "bl_parent_id")]


seen = set()


def show(name):
    """This panel alone. What was drawn closed before stays so: it is opened by a click on its header."""
    alone(name)
    yield
    if name not in seen and name not in OPEN:
        click(*point(region("UI"), 90, 20))
        yield
    seen.add(name)


def tour(prefix, *names):
    for name in names or panel_names():
        yield from show(name)
        shot(f"{prefix}_{name}")
        yield


@step()
def dropped():
    drop("hexapod.jm")
    key("RET")


@step(after=2)
def imported():
    open_sidebar("Knuckle")
    yield
    yield 1
    shot("first")
    yield


@step()
def helped():
    """The manual came with the zip."""
    for name, page in (("knuckle.bake_physics", "walk.html"), ("import_scene.mechanism", "import.html")):
        address = bpy.types.WM_OT_doc_view_manual._lookup_rna_url(f"bpy.ops.{name}", verbose=False)
        path = Path(url2pathname(urlsplit(address.partition("#")[0]).path))
        expect(path.name == page and path.is_file(), f"{name} has its page in the zip (here: {address})")


@step()
def one_by_one():
    yield from tour("panel")


@step()
def joints():
    listed = bpy.context.window_manager.knuckle_joint_list
    pick(next(obj for obj in bpy.data.objects if obj.knuckle.source_name == KNEE and obj.knuckle.role == "JOINT"))
    yield from show("servos")
    for columns in ("VALUES", "STOPS", "RANGE", "SPEED"):
        listed.columns = columns
        yield
        shot(f"joints_{columns.lower()}")
        yield
    listed.columns = "RANGE"
    listed.order = "CRITICAL"
    dof = bpy.context.object.knuckle.joint.dofs[0]
    dof.use_upper, dof.upper = True, 0.1
    rig().data.knuckle.controls.joystick_1_y = -1.0
    with view3d():
        bpy.ops.knuckle.bake_gait(frame_start=1, frame_end=60)
    yield
    shot("joints_beyond")
    yield
    listed.columns, listed.order = "VALUES", "FILE"


@step()
def simulated():
    rig().data.knuckle.drive = "SERVO"
    with view3d():
        bpy.ops.knuckle.bake_physics(frame_end=30)
        bpy.ops.knuckle.check_model()
    rig().data.knuckle.drive = "SERVO"
    rig().data.knuckle.report_index = 0
    yield from tour("servos", "drive", "motion", "report")
    every()
    yield
    shot("all")
    yield


@step()
def in_german():
    view = bpy.context.preferences.view
    view.language = "de_DE"
    view.use_translate_interface = view.use_translate_tooltips = True
    yield 1
    yield from tour("german")
    expect(len(panel_names()) == 8, "there are eight panels")
    every()
    yield
    done()
