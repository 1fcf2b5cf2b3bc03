"""Every panel of the sidebar by itself, opened, in the states that it has: English and German, and in a narrow sidebar.
See README.md. It leaves pictures to look at."""

import sys
from pathlib import Path

import bpy
from driving import area, done, drag, drop, expect, key, open_sidebar, point, region, shot, step, view3d

sys.path.append(str(Path.home()))
from finding import alone, away_with_the_usual, every, find, pick, rig

FILES = (
    "tests/window/finding.py",
    "sample_models/hexapod/hexapod.jm",
    "sample_models/humanoid/humanoid.skel",
    "sample_models/pumpjack/pumpjack.json",
    "sample_models/pumpjack/beam.obj",
    "sample_models/pumpjack/crank.obj",
    "sample_models/pumpjack/pitman.obj",
    "sample_models/pumpjack/post.obj",
    "sample_models/pumpjack/pumpjack.mtl",
)
SIZE = "1000x1100"

WALKER, LOOP, HUMAN = "hexapod.jm", "pumpjack.json", "humanoid.skel"
#: In their order; the settings are those of the simulation, which are below the view with all of its panel.
PANELS = ("model", "drive", "motion", "servos", "twins", "parts", "film", "report", "settings")
KNEE = "Left Front Knee"


def part(name, role="JOINT"):
    return next(obj for obj in bpy.data.objects if obj.knuckle.role == role and obj.name == name)


def clear():
    for obj in list(bpy.data.objects):
        bpy.data.objects.remove(obj)
    bpy.ops.outliner.orphans_purge(do_recursive=True)


def tour(name, *panels):
    for panel in panels or PANELS:
        if panel == "settings":
            alone("drive", within=("world",))
        else:
            alone(panel)
        yield
        shot(f"{name}_{PANELS.index(panel) + 1}_{panel}")
        yield


@step()
def before():
    away_with_the_usual()
    alone("model")
    open_sidebar("Knuckle")
    shot("00_nothing_yet")


@step()
def walker():
    drop(WALKER)
    key("RET")
    yield
    yield 1
    with view3d():
        bpy.ops.view3d.view_all()
    yield from tour("01_imported")


@step()
def worked_on():
    """What the panels show when there is something to show."""
    with view3d():
        bpy.ops.knuckle.store_pose(name="Stand")
        bpy.ops.knuckle.store_pose(name="Crouch")
        rig().data.knuckle.controls.joystick_1_y = -1.0
        bpy.ops.knuckle.bake_gait(frame_start=1, frame_end=60)
        dof = part(KNEE).knuckle.joint.dofs[0]
        dof.use_upper, dof.upper = True, 0.1
        thigh = next(obj for obj in bpy.data.objects if obj.knuckle.role == "BODY" and obj.knuckle.twin)
        thigh.knuckle.mass *= 2.0
        bpy.ops.knuckle.check_symmetry()
        bpy.ops.knuckle.check_model()
        pick(*[obj for obj in bpy.data.objects if obj.knuckle.role == "BODY"])
        bpy.ops.knuckle.unlink_twins()
        bpy.ops.knuckle.find_twins()
        rig().data.knuckle.report_index = rig().data.knuckle.finding_index = 0
        pick(part(KNEE))
    yield from tour("02_worked_on", "servos", "twins", "motion", "report")
    with view3d():
        rig().data.knuckle.drive = "SERVO"
        bpy.ops.knuckle.bake_physics(frame_end=30)
        rig().data.knuckle.drive = "SERVO"
    yield from tour("03_physics", "drive", "model", "settings")
    bpy.context.scene.knuckle_simulate_here = True
    yield from tour("04_here", "settings")
    bpy.context.scene.knuckle_simulate_here = False
    rig().data.knuckle.drive = "LIMP"
    yield from tour("04_ragdoll", "drive")
    rig().data.knuckle.drive = "KEYS"


@step()
def clicked():
    """A button is found and clicked, whatever the version."""
    alone("report")
    yield
    place = yield from find("knuckle.check_model")
    expect(place is not None, "Check Mechanism is found in the panel")


@step()
def in_german():
    view = bpy.context.preferences.view
    view.language = "de_DE"
    view.use_translate_interface = view.use_translate_tooltips = True
    yield 1
    with view3d():
        bpy.ops.knuckle.check_symmetry()
        bpy.ops.knuckle.check_model()
        bpy.ops.knuckle.find_twins()
    yield from tour("05_german")
    rig().data.knuckle.drive = "SERVO"
    yield from tour("06_german_servo", "drive")
    rig().data.knuckle.drive = "KEYS"
    view.language = "en_US"
    yield 1


def edge(right):
    """The sidebar's edge, dragged so many pixels to the right. How wide the edge is differs between versions."""
    before = region("UI").width
    for inwards in (0, 4, 8, -3):
        start = point(region("UI"), inwards, 30)
        drag(start, (start[0] + right, start[1]))
        yield
        if region("UI").width != before:
            return


@step()
def narrow():
    if bpy.app.version < (5, 0):
        return  # there an edge takes no notice of the events that a driver makes
    before = region("UI").width
    yield from edge(70)
    expect(region("UI").width < before, f"the sidebar is narrower: {region('UI').width} of {before} pixels")
    yield from tour("07_narrow")
    yield from edge(-70)


@step()
def loop():
    clear()
    drop(LOOP)
    key("RET")
    yield
    yield 1
    loops = [obj for obj in bpy.data.objects if obj.knuckle.role == "JOINT"]
    pick(next(obj for obj in loops if obj.knuckle.joint.is_dependent))
    yield from tour("08_loop", "model", "servos", "report", "settings")


@step()
def human():
    clear()
    drop(HUMAN)
    key("RET")
    yield
    yield 1
    pick(next(obj for obj in bpy.data.objects if obj.knuckle.role == "JOINT" and obj.knuckle.joint.dofs))
    yield from tour("09_human", "model", "servos", "motion")
    every()
    area().tag_redraw()
    done()
