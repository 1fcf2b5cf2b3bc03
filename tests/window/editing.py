"""Mechanisms made and changed in a real window: a walker from Add > Mechanism, a leg duplicated, a joint moved, a
limb split off, and the same interface in German. See README.md. It leaves pictures to look at."""

import sys
from pathlib import Path

import bpy
from driving import done, expect, key, open_sidebar, shot, step, view3d

sys.path.append(str(Path.home()))
from finding import away_with_the_usual, bodies, pick, rigs

FILES = ("tests/window/finding.py",)
SIZE = "1280x1200"


@step()
def before():
    away_with_the_usual()
    open_sidebar("Knuckle")


@step(after=1)
def add_menu():
    with view3d():
        bpy.ops.wm.call_menu(name="KNUCKLE_MT_add")
    shot("01_add_menu")
    key("ESC")


@step(after=1)
def walker():
    with view3d():
        bpy.ops.knuckle.add_mechanism(kind="walker")
    yield  # until it is where it belongs
    with view3d():
        bpy.ops.view3d.view_all()
    view = next(area for area in bpy.context.screen.areas if area.type == "VIEW_3D").spaces.active
    view.shading.color_type = "MATERIAL"
    yield 1
    shot("02_walker")


@step(after=1)
def leg():
    with view3d():
        pick(next(obj for obj in bodies() if obj.name == "Left Front Thigh"))
        bpy.ops.knuckle.duplicate_limb(place="OFFSET", offset=(-0.8, 0.0, 0.0))
    expect(len(bodies()) == 11, "a leg of two bodies was duplicated")
    yield 1
    shot("03_leg")


@step(after=1)
def context_menu():
    with view3d():
        bpy.ops.wm.call_menu(name="VIEW3D_MT_object_context_menu")
    shot("04_context_menu")
    key("ESC")


@step(after=1)
def moved():
    with view3d():
        knee = next(obj for obj in bpy.data.objects if obj.name == "Left Rear Knee")
        pick(knee)
        knee.matrix_basis.translation.z += 0.1
    yield 1
    shot("05_joint_moved")
    yield 1
    with view3d():
        bpy.ops.knuckle.refit()


@step(after=1)
def split():
    with view3d():
        pick(*[obj for obj in bodies() if obj.name.startswith("Right Rear")])
        bpy.ops.knuckle.split_model(name="Leg", across="WORLD")
    expect(len(rigs()) == 2, "the leg is a mechanism of its own")
    yield 1
    shot("06_split")


@step(after=1)
def in_german():
    view = bpy.context.preferences.view
    names = [item.identifier for item in type(view).bl_rna.properties["language"].enum_items]
    german = next((name for name in ("de_DE", "de") if name in names), "")
    try:
        view.language = german or "de_DE"
        view.use_translate_interface = view.use_translate_tooltips = True
    except TypeError as error:
        expect(False, f"this Blender knows no German: {error}")
    with view3d():
        pick(rigs()[0])
        bpy.ops.knuckle.check_model()
    yield 2
    shot("07_german")
    title = bpy.app.translations.pgettext_iface("Four-Bar Linkage")
    expect(title == "Viergelenk", f"the menu says {title!r}")
    with view3d():
        bpy.ops.wm.call_menu(name="KNUCKLE_MT_add")
    shot("08_german_menu")
    key("ESC")
    yield 1
    with view3d():
        bpy.ops.screen.userpref_show(section="ADDONS")
        bpy.context.window_manager.addon_search = "Knuckle"
        bpy.ops.preferences.addon_expand(module="bl_ext.user_default.knuckle")
    yield 2
    shot("09_preferences")
    done()
