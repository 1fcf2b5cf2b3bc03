"""What is drawn over models, in a real window: each overlay, the popover with its switches, and stops that are dragged
by their handles: of a hinge, of a slide, with snapping, given back, undone. See README.md. It leaves
pictures to look at."""

import math
import sys
from pathlib import Path

import bpy
from bpy_extras.view3d_utils import location_3d_to_region_2d
from driving import HERE, OUT, area, done, drag, drop, expect, key, open_sidebar, pause, region, shot, step, view3d
from mathutils import Euler

sys.path.append(str(Path.home()))
from finding import away_with_the_usual, rig

FILES = (
    "tests/window/finding.py",
    "sample_models/hexapod/hexapod.jm",
)

MODEL = "hexapod.jm"
KNEE = "Left Rear Knee"
AT = [0, 0]  # where the pointer is
KINDS = ("axes", "stops", "twins", "centres", "inertia")


def overlay():
    return bpy.context.scene.knuckle_overlay


def joint(name):
    return next(obj for obj in bpy.data.objects if obj.knuckle.role == "JOINT" and obj.name == name)


def stop_of(name):
    return joint(name).knuckle.joint.dofs[0]


def on_screen(place):
    """Where a place in the world is in the window."""
    view = region("WINDOW")
    at = location_3d_to_region_2d(view, area().spaces.active.region_3d, place)
    return round(view.x + at.x), round(view.y + at.y)


def handle(name, value, out=1.12):
    """Where the handle of a joint's stop is, or where it would be at another value."""
    from importlib import import_module

    package = next(name for name in __import__("sys").modules if name.endswith(".knuckle"))
    degrees, _ = import_module(f"{package}.blender.overlay").joint_dials(joint(name))
    return on_screen(degrees.at([value], out)[0])


def select(name):
    for obj in list(bpy.context.selected_objects):
        obj.select_set(False)
    joint(name).select_set(True)
    bpy.context.view_layer.objects.active = joint(name)


def look(turn=(1.1, 0.0, 0.6)):
    area().spaces.active.region_3d.view_rotation = Euler(turn).to_quaternion()


@step()
def dropped():
    away_with_the_usual()
    open_sidebar("Knuckle")
    area().spaces.active.show_region_ui = True
    drop(MODEL)
    key("RET")


@step()
def each():
    with view3d():
        bpy.ops.view3d.view_all()
    look()
    bpy.context.scene.frame_set(20)
    for number, kind in enumerate(KINDS):
        for other in KINDS:
            setattr(overlay(), other, other == kind)
        yield
        shot(f"0{number + 1}_{kind}")
        yield
    for kind in KINDS:
        setattr(overlay(), kind, True)
    yield
    shot("06_all")
    yield
    overlay().in_front = False
    yield
    shot("07_behind")
    yield
    overlay().in_front = True


@step()
def popover():
    with view3d():
        bpy.ops.wm.call_panel(name="VIEW3D_PT_knuckle_overlay")
    shot("08_popover")
    key("ESC")
    yield
    for kind in KINDS:
        setattr(overlay(), kind, False)


@step()
def dragged():
    select(KNEE)
    bpy.context.scene.frame_set(1)
    bpy.ops.ed.undo_push(message="Selected")
    yield
    before = stop_of(KNEE).upper
    expect(stop_of(KNEE).use_upper, "the knee has an upper stop")
    shot("09_handles")
    yield
    wanted = before - math.radians(25.0)
    drag(handle(KNEE, before), handle(KNEE, wanted))
    yield
    now = stop_of(KNEE).upper
    expect(abs(now - wanted) < math.radians(3.0), f"dragged from {before:.3f} to {now:.3f}: {wanted:.3f}")
    limit = next(iter(rig().pose.bones[KNEE].constraints))
    expect(abs(limit.max_z - now) < 1e-6, "the bone's limit followed")
    shot("10_dragged")
    key("Z", ctrl=True)
    yield
    now = stop_of(KNEE).upper
    expect(abs(now - before) < 1e-6, f"one step of undo takes it back: {now:.3f}, it was {before:.3f}")
    key("Z", ctrl=True, shift=True)
    yield
    again = stop_of(KNEE).upper
    expect(abs(again - wanted) < math.radians(3.0), f"and redo brings it again: {again:.3f}")


def button(value):
    """The left mouse button, where the pointer is, pressed or let go."""
    bpy.context.window_manager.windows[0].event_simulate(type="LEFTMOUSE", value=value, x=AT[0], y=AT[1])
    pause(0.2)


def go(place, **modifiers):
    AT[:] = place
    bpy.context.window_manager.windows[0].event_simulate(
        type="MOUSEMOVE", value="NOTHING", x=AT[0], y=AT[1], **modifiers
    )
    pause(0.2)


@step()
def held():
    """Held, so that the value beside the handle can be looked at; then given back."""
    before = stop_of(KNEE).upper
    go(handle(KNEE, before))
    yield
    button("PRESS")
    yield
    for share in (0.25, 0.5, 0.75, 1.0):
        go(handle(KNEE, before + share * math.radians(40.0)))
        yield
    shot("11_held")
    yield
    expect(stop_of(KNEE).upper > before + 0.5, f"the record follows live: {stop_of(KNEE).upper:.3f}")
    key("ESC")
    yield
    expect(abs(stop_of(KNEE).upper - before) < 1e-6, f"Esc gives the stop back: {stop_of(KNEE).upper:.3f}")
    button("RELEASE")
    yield


@step()
def snapped():
    before = stop_of(KNEE).upper
    wanted = before + math.radians(18.0)
    drag(handle(KNEE, before), handle(KNEE, wanted), ctrl=True)
    yield
    now = math.degrees(stop_of(KNEE).upper)
    expect(abs(now / 5.0 - round(now / 5.0)) < 1e-4, f"with Ctrl the stop is at a multiple of 5 degrees: {now:.3f}")


@step()
def slid():
    """A slide with stops, its value beyond one of them."""
    select("Neck")
    with view3d():
        bpy.ops.knuckle.set_joint_type(type="prismatic")
    stop = stop_of("Neck")
    stop.use_lower, stop.lower, stop.use_upper, stop.upper = True, -0.2, True, 0.3
    look()
    overlay().stops = True
    bpy.ops.ed.undo_push(message="A slide")
    yield
    shot("12_slide")
    drag(handle("Neck", 0.3), handle("Neck", 0.5))
    yield
    now = stop_of("Neck").upper
    expect(abs(now - 0.5) < 0.03, f"the slide's stop was dragged from 0.3 to {now:.3f}: 0.5")
    dof = stop_of("Neck")
    bone = rig().pose.bones["Neck"]
    values = list(getattr(bone, dof.channel))
    values[dof.channel_index] = 0.8
    setattr(bone, dof.channel, values)
    yield
    shot("13_beyond")
    yield


@step()
def rendered():
    """Renders of the view do not show them."""
    scene = bpy.context.scene
    scene.render.resolution_x, scene.render.resolution_y = 640, 400
    pictures = []
    for on in (True, False):
        for kind in KINDS:
            setattr(overlay(), kind, on)
        yield
        with view3d():
            bpy.ops.render.opengl()
        pictures.append(list(pixels_of("Render Result")))
    # the edges of a grid are never quite the same, so the colour of stops is counted; a selected empty has it too
    with_them, without = map(amber, pictures)
    expect(abs(with_them - without) < 10, f"a render of the view does not show them: {with_them}, {without} pixels")
    overlay().stops = overlay().axes = True
    with view3d():
        bpy.ops.knuckle.overlay_picture(filepath=str(HERE / "picture.png"))
    yield
    image = bpy.data.images.load(str(HERE / "picture.png"))
    count = amber([round(255 * x) for x in image.pixels])
    expect(count > 100, f"Save Picture has the stops in it: {count} pixels")
    done()


def pixels_of(name):
    """What was rendered, by way of a file: Blender does not show the pixels of a result."""
    path = str(OUT / f"14_render_{len(bpy.data.images)}.png")
    bpy.data.images[name].save_render(path)
    image = bpy.data.images.load(path)
    return [round(255 * x) for x in image.pixels]


def amber(numbers):
    """How many pixels have the colour of stops."""
    red, green, blue = (numbers[k::4] for k in range(3))
    return sum(r > 200 and 130 < g < 230 and b < 100 for r, g, b in zip(red, green, blue, strict=True))
