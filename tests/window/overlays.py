"""What is drawn over models, in a real window: each overlay, the popover with its switches, and stops that are dragged
by their handles: of a hinge, of a slide, with snapping, given back, undone. Run by hand: see README.md. It leaves
pictures to look at."""

import math

import bpy
from bpy_extras.view3d_utils import location_3d_to_region_2d
from driving import area, done, drag, drop, expect, key, open_sidebar, region, shot, step, view3d
from mathutils import Euler

MODEL = "hexapod.jm"
KINDS = ("axes", "stops", "twins", "centres", "inertia")


def rig():
    return next(obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")


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
    degrees, _ = import_module(f"{package}.blender.edit.marks").degrees_of(joint(name))
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
    for name in ("Cube", "Light", "Camera"):
        bpy.data.objects.remove(bpy.data.objects[name])
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
    select("Left Front Knee")
    bpy.context.scene.frame_set(1)
    bpy.ops.ed.undo_push(message="Selected")
    yield
    stop = stop_of("Left Front Knee")
    before = stop.upper
    expect(stop.use_upper, "the knee has an upper stop")
    shot("09_handles")
    yield
    wanted = before - math.radians(25.0)
    drag(handle("Left Front Knee", before), handle("Left Front Knee", wanted))
    yield
    stop = stop_of("Left Front Knee")
    expect(abs(stop.upper - wanted) < math.radians(3.0), f"dragged from {before:.3f} to {stop.upper:.3f}: {wanted:.3f}")
    limit = next(c for bone in rig().pose.bones for c in bone.constraints if bone.name == "Left Front Knee")
    expect(abs(limit.max_z - stop.upper) < 1e-6, "the bone's limit followed")
    shot("10_dragged")
    key("Z", ctrl=True)
    yield
    now = stop_of("Left Front Knee").upper
    expect(abs(now - before) < 1e-6, f"one step of undo takes it back: {now:.3f}, it was {before:.3f}")
    shot("11_undone")
    yield
    done()
