"""What goes on for a while, in a real window, ended by everything but its own end: the add-on switched off, another
file opened, its model deleted; the same while a file browser, a popup or a dragged handle is open. See README.md."""

import math
import sys
from pathlib import Path

import addon_utils
import bpy
from driving import HERE, area, drop, expect, key, log, move, open_sidebar, pause, point, shot, step, view3d, window

sys.path.append(str(Path.home()))
from finding import away_with_the_usual, rig

FILES = (
    "tests/window/finding.py",
    "sample_models/hexapod/hexapod.jm",
)
MODEL = "hexapod.jm"
NAME = "bl_ext.user_default.knuckle"
SAVED = str(HERE / "saved.blend")
WORKS = {
    "bake_physics": {},
    "render_film": {"filepath": str(HERE / "film.mp4"), "size": (320, 180)},
    "preview_film": {"size": (320, 180)},
    "sweep": {"seconds": 30.0},
}


def off():
    bpy.ops.preferences.addon_disable(module=NAME)
    expect(not addon_utils.check(NAME)[1], "it is switched off")


def on():
    bpy.ops.preferences.addon_enable(module=NAME)
    expect(addon_utils.check(NAME) == (True, True), "and on again")


def modal():
    """The operators that wait for events."""
    names = map(called, getattr(window(), "modal_operators", ()))
    return [name for name in names if "KNUCKLE" in name]


def called(operator):
    """Its name; nothing where its class has gone, which one Blender tells by None and another by an error."""
    try:
        return getattr(operator, "bl_idname", "")
    except ValueError:
        return ""


def begin(name):
    bpy.context.scene.frame_set(1)
    rig().data.knuckle.drive = "SERVO" if name == "bake_physics" else "KEYS"
    joint = next(obj for obj in bpy.data.objects if obj.knuckle.role == "JOINT" and obj.name == "Left Rear Knee")
    bpy.context.view_layer.objects.active = joint
    with view3d():
        log(name, getattr(bpy.ops.knuckle, name)("INVOKE_DEFAULT", **WORKS[name]))


def state():
    return {
        "actions": len(bpy.data.actions), "scenes": len(bpy.data.scenes), "frame": bpy.context.scene.frame_current,
        "images": len(bpy.data.images), "pose": [round(v, 5) for bone in rig().pose.bones for v in bone.rotation_euler],
    }  # fmt: skip


@step()
def dropped():
    away_with_the_usual()
    open_sidebar("Knuckle")
    drop(MODEL)
    key("RET")
    yield
    bpy.context.scene.frame_end = 2000
    bpy.ops.wm.save_as_mainfile(filepath=SAVED, copy=True)


def dialogs():
    """The operators that ask for a file."""
    rooms = next(module for name, module in sys.modules.items() if name.endswith("knuckle.blender.ui"))
    asking = [cls for cls in rooms._CLASSES if issubclass(cls, bpy.types.Operator)]
    return [
        cls.bl_idname
        for cls in asking
        if {"filepath", "directory"} & {n for c in cls.__mro__ for n in getattr(c, "__annotations__", ())}
        and cls.bl_idname not in ("knuckle.render_film", "knuckle.preview_film")
    ]


@step()
def browsers():
    names = dialogs()
    log(names)
    expect(len(names) >= 5, f"there are files to be asked for: {names}")
    bpy.context.scene.knuckle_overlay.axes = True
    for name in names:
        bpy.context.view_layer.objects.active = rig()
        module, _, short = name.partition(".")
        for end in ("Esc", "off"):
            with view3d():
                if not getattr(getattr(bpy.ops, module), short).poll():
                    log("refuses", name)
                    continue
                getattr(getattr(bpy.ops, module), short)("INVOKE_DEFAULT")
            pause(0.8)
            yield
            asked = any(each.type == "FILE_BROWSER" for each in window().screen.areas)
            expect(asked, f"{name} shows the file browser")
            if end == "off":
                off()
                pause(0.5)
                yield
            browser = next((each for each in window().screen.areas if each.type == "FILE_BROWSER"), None)
            if browser is not None:
                move(*point(browser, browser.width // 2, browser.height // 2))
                key("ESC")
                pause(0.5)
                yield
            left = [each.type for each in window().screen.areas if each.type == "FILE_BROWSER"]
            if left:  # the browser has nobody to ask for any more, and stays until it is closed
                with view3d("FILE_BROWSER"):
                    bpy.ops.screen.back_to_previous()
                pause(0.5)
                yield
            if end == "off":
                on()
                pause(0.3)
                yield
            expect(any(each.type == "VIEW_3D" for each in window().screen.areas), f"{name}, {end}: the view is back")


@step()
def popups():
    if bpy.app.version < (4, 4, 0):
        log("Blender 4.3 crashes when any operator's class goes while its popup is open, one of a single number too")
        return
    bpy.context.view_layer.objects.active = rig()
    for name in ("store_pose", "loop_motion", "edit_joints"):
        if not hasattr(bpy.types, f"KNUCKLE_OT_{name}"):
            continue
        with view3d():
            if not getattr(bpy.ops.knuckle, name).poll():
                log("refuses", name)
                continue
            log(name, getattr(bpy.ops.knuckle, name)("INVOKE_DEFAULT"))
        pause(0.7)
        shot(f"popup_{name}")
        yield
        off()
        pause(0.7)
        yield
        key("ESC")
        move(*point(area(), 40, area().height - 40))
        yield
        on()
        pause(0.3)
        yield
        expect(rig() is not None, f"the popup of {name} went with its operator")


@step()
def dragged():
    """As in overlays.py, but for the end of it."""
    from importlib import import_module

    from bpy_extras.view3d_utils import location_3d_to_region_2d
    from driving import region

    with view3d():
        bpy.ops.view3d.view_all()
    for kind in ("axes", "stops"):
        setattr(bpy.context.scene.knuckle_overlay, kind, False)
    joint = next(obj for obj in bpy.data.objects if obj.knuckle.role == "JOINT" and obj.name == "Left Rear Knee")
    bpy.ops.object.select_all(action="DESELECT")
    joint.select_set(True)
    bpy.context.view_layer.objects.active = joint
    pause(0.5)
    yield
    degrees, _ = import_module(f"{NAME}.blender.overlay").joint_dials(joint)
    dof = joint.knuckle.joint.dofs[0]

    def place(value):
        view = region("WINDOW")
        at = location_3d_to_region_2d(view, area().spaces.active.region_3d, degrees.at([value], 1.12)[0])
        return round(view.x + at.x), round(view.y + at.y)

    before = dof.upper
    move(*place(before))
    yield
    window().event_simulate(type="LEFTMOUSE", value="PRESS", x=place(before)[0], y=place(before)[1])
    pause(0.2)
    yield
    for share in (0.5, 1.0):
        move(*place(before + share * math.radians(30.0)))
        yield
    expect(dof.upper > before + 0.2, f"the stop is dragged: {before:.3f} to {dof.upper:.3f}")
    shown = import_module(f"{NAME}.blender.ui.joints.stop_gizmos").GizmoState
    expect(shown.drawn is not None, "its value is drawn")
    shot("dragged")
    at = place(before)
    key("ESC")
    pause(0.3)
    yield
    expect(shown.drawn is None and abs(dof.upper - before) < 1e-6, "Esc gives the stop back, and draws no value")
    window().event_simulate(type="LEFTMOUSE", value="RELEASE", x=at[0], y=at[1])
    pause(0.3)
    yield
    # not in the middle of the drag: there Blender crashes with any gizmo whose class goes
    off()
    pause(0.5)
    yield
    on()
    pause(0.5)
    yield
    expect(shown.drawn is None, "nothing is drawn")


@step()
def switched_off():
    for name in WORKS:
        bpy.context.scene.frame_set(1)
        before = state()
        begin(name)
        pause(1.0)
        yield
        expect(len(modal()) == 1, f"{name} goes on: {modal()}")
        off()
        # with the next event Blender forgets the operator; 4.3 crashes if another one is begun before
        move(*point(area(), 60, 60))
        pause(0.5)
        yield
        expect(modal() == [], f"{name} has ended")
        on()
        pause(0.5)
        yield
        expect(state() == before, f"all is as it was: {name}")
        begin(name)
        pause(0.5)
        yield
        key("ESC")
        yield
        expect(modal() == [] and state() == before, f"{name} runs again, and ends by Esc")


@step()
def another_file():
    for name in WORKS:
        begin(name)
        pause(0.7)
        yield
        bpy.ops.wm.open_mainfile(filepath=SAVED)
        pause(0.7)
        yield
        expect(modal() == [], f"{name} has ended")
        expect(len(bpy.data.scenes) == 1 and bpy.context.scene.frame_current == 1, f"the file is the file: {name}")


@step()
def model_deleted():
    for name in WORKS:
        begin(name)
        pause(0.7)
        yield
        bpy.data.objects.remove(rig())
        pause(1.0)
        yield
        if modal():  # a film that is being shot needs no model
            key("ESC")
            yield
        expect(modal() == [], f"{name} has ended")
        bpy.ops.wm.open_mainfile(filepath=SAVED)
        pause(0.5)
        yield
