"""The pictures of the manual that only a window shows: every panel with something in it, stops with their handles, the
whole window. `docs/pictures.py --window DIR` cuts them out; see README.md."""

import json
import sys
from pathlib import Path

import bpy
from driving import OUT, area, done, drop, expect, key, open_sidebar, play, region, shot, step, view3d
from mathutils import Euler

sys.path.append(str(Path.home()))
from finding import away_with_the_usual, rig

FILES = (
    "tests/window/finding.py",
    "sample_models/hexapod/hexapod.jm",
)
SIZE = "1280x1000"

MODEL = "hexapod.jm"
KNEE = "Left Front Knee"
KINDS = ("axes", "stops", "twins", "centres", "inertia")
#: The panels that are in no other, and those in each.
TOPS, FAMILIES = [], {}
cuts = {}


def named(name, role):
    return next(obj for obj in bpy.data.objects if obj.knuckle.role == role and obj.name == name)


def take(name, what=None):
    """A picture, of which a region is cut out, or all of it where there is none."""
    shot(name)
    window = bpy.context.window_manager.windows[0]
    high = what.y + what.height if what is not None else 0
    cuts[name] = [what.x, window.height - high, what.width, what.height] if what is not None else None
    Path(OUT, "cuts.json").write_text(json.dumps(cuts))


def choose(obj):
    for other in list(bpy.context.selected_objects):
        other.select_set(False)
    obj.select_set(True)
    bpy.context.view_layer.objects.active = obj


def ours():
    """The sidebar's panels, in the order in which Blender shows them."""
    found = [cls for cls in bpy.types.Panel.__subclasses__() if getattr(cls, "bl_category", "") == "Knuckle"]
    return sorted(
        (cls for base in (*found, *bpy.types.Panel.__subclasses__()) for cls in (base, *base.__subclasses__())
         if cls.__name__.startswith("VIEW3D_PT_knuckle_") and getattr(cls, "bl_category", "") == "Knuckle"),
        key=lambda cls: getattr(cls, "bl_order", 0),
    )  # fmt: skip


def top_panels():
    names = dict.fromkeys(cls.__name__ for cls in ours() if not getattr(cls, "bl_parent_id", ""))
    return [next(cls for cls in ours() if cls.__name__ == name) for name in names]


def family(cls):
    """A panel and those inside of it."""
    names = dict.fromkeys(each.__name__ for each in ours() if getattr(each, "bl_parent_id", "") == cls.__name__)
    return [cls, *(next(each for each in ours() if each.__name__ == name) for name in names)]


def alone(chosen):
    """Of our panels only this one stays; None: all are there again. All are open: Blender asks that of a panel when it
    draws it first."""
    for cls in reversed([each for top in TOPS for each in FAMILIES[top.__name__]]):
        if cls.is_registered:
            bpy.utils.unregister_class(cls)
    for top in TOPS:
        if chosen is None or top is chosen:
            for cls in FAMILIES[top.__name__]:
                cls.bl_options = set()
                bpy.utils.register_class(cls)


@step()
def dropped():
    away_with_the_usual()
    bpy.context.preferences.system.use_region_overlap = False
    TOPS.extend(top_panels())
    FAMILIES.update({top.__name__: family(top) for top in TOPS})
    alone(None)
    open_sidebar("Knuckle")
    yield
    drop(MODEL)
    yield
    take("import")
    key("RET")


@step()
def framed():
    with view3d():
        bpy.ops.view3d.view_all()
    area().spaces.active.region_3d.view_rotation = Euler((1.15, 0.0, 0.65)).to_quaternion()
    bpy.context.scene.frame_set(20)
    yield
    with view3d():
        bpy.ops.knuckle.store_pose(name="Crouch")
        bpy.ops.knuckle.check_model()
        bpy.ops.knuckle.check_symmetry()


@step()
def panels():
    choose(named(KNEE, "JOINT"))
    yield
    for top in TOPS:
        alone(top)
        yield
        take("panel_" + top.__name__.removeprefix("VIEW3D_PT_knuckle_"), region("UI"))
        yield


@step()
def handles():
    alone(next(top for top in TOPS if top.__name__ == "VIEW3D_PT_knuckle_servos"))
    overlay = bpy.context.scene.knuckle_overlay
    for kind in KINDS:
        setattr(overlay, kind, kind == "stops")
    knee = named(KNEE, "JOINT")
    choose(knee)
    with view3d():
        bpy.ops.view3d.view_selected()
    view = area().spaces.active.region_3d
    view.view_rotation = Euler((1.35, 0.0, 2.9)).to_quaternion()
    view.view_distance *= 4.5
    yield
    take("stops", region("WINDOW"))
    yield


@step()
def walked():
    alone(None)
    for kind in KINDS:
        setattr(bpy.context.scene.knuckle_overlay, kind, False)
    choose(rig())
    with view3d():
        bpy.ops.view3d.view_all()
    area().spaces.active.region_3d.view_rotation = Euler((1.15, 0.0, 0.65)).to_quaternion()
    rig().data.knuckle.controls.joystick_1_y = -1.0
    rig().data.knuckle.drive = "SERVO"
    bpy.context.scene.frame_set(1)
    play(5)
    yield
    expect(bpy.context.scene.frame_current > 1, "it walked")
    take("window")


@step()
def told():
    bpy.context.scene.frame_set(1)
    bpy.context.scene.frame_end = 120
    with view3d():
        bpy.ops.knuckle.bake_physics()
    yield
    alone(next(top for top in TOPS if top.__name__ == "VIEW3D_PT_knuckle_drive"))
    for cls in FAMILIES["VIEW3D_PT_knuckle_drive"][1:]:
        if cls.__name__ != "VIEW3D_PT_knuckle_truth":  # they leave it no room
            bpy.utils.unregister_class(cls)
    yield
    take("panel_truth", region("UI"))
    yield
    alone(None)
    done()
