"""The servos' sliders, stops, their sweep, the table of joints and named poses, in a real window. See README.md. It
leaves pictures to look at."""

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
    region,
    shot,
    step,
    text,
    view3d,
)

FILES = ("sample_models/hexapod/hexapod.jm",)
SIZE = "1280x1400"

MODEL = "hexapod.jm"
KNEE = "Left Front Knee"
#: Panels that are folded, so that what is looked at fits in the window.
OTHERS = ("model", "drive", "controls", "motion", "film", "report", "checks", "twins")
folded = []


def rig():
    return next(obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")


def gains():
    own = (obj.knuckle for obj in bpy.data.objects if obj.knuckle.role == "JOINT")
    return {dof.gain for each in own for dof in each.joint.dofs}


def knee():
    return rig().pose.bones[KNEE]


@step()
def dropped():
    for name in ("Cube", "Light", "Camera"):
        bpy.data.objects.remove(bpy.data.objects[name])
    open_sidebar("Knuckle")
    area().spaces.active.show_region_ui = True
    drop(MODEL)
    key("RET")


@step()
def panels():
    """Of the other panels nothing but the joint's stays."""
    for name in OTHERS:
        cls = getattr(bpy.types, f"VIEW3D_PT_knuckle_{name}", None)
        children = [c for c in bpy.types.Panel.__subclasses__() if getattr(c, "bl_parent_id", "") == cls.__name__]
        for each in (*children, cls):
            bpy.utils.unregister_class(each)
            folded.insert(0, each)
    rig().data.bones.active = rig().data.bones[KNEE]
    with view3d():
        bpy.ops.view3d.view_all()
        bpy.ops.knuckle.store_pose(name="Stand")
        bpy.ops.knuckle.store_pose(name="Crouch")
        bpy.ops.ed.undo_push(message="Before the sliders")  # what a driver does is no step of its own
    yield
    click(*point(region("UI"), 40, 756))  # the header of the poses
    yield
    shot("01_servos")
    yield
    before = knee().rotation_euler.z
    slider = point(region("UI"), 160, 612)  # pixels read off the picture
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
    for each in folded:
        bpy.utils.register_class(each)  # Blender unregisters the extension when it closes
    done()
