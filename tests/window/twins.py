"""A user's work on the two halves of a mechanism, in a real window: imported by File > Import, a limb deleted and made
anew from the other side by the button of its panel, its options changed with F9, a body resized and mirrored, both
halves moved at once while the animation plays, saved and opened again. See README.md. It leaves pictures to look at."""

import sys
from pathlib import Path

import bpy
from driving import (
    HERE,
    area,
    click,
    done,
    expect,
    key,
    menu_import,
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
from finding import alone, away_with_the_usual, bodies, every, find, pick, rig

FILES = ("tests/window/finding.py", "sample_models/hexapod/hexapod.jm")
SIZE = "1280x1000"

MODEL = "hexapod.jm"
LEFT, RIGHT = "Left Front", "Right Front"
BLEND = str(HERE / "walker.blend")


def body(name):
    return next(obj for obj in bodies() if obj.name == name)


def mark(message):
    """What a driver does is no step of undo by itself."""
    with view3d():
        bpy.ops.ed.undo_push(message=message)


def unlike(first, second):
    """How far two bodies are from being mirror images across X = 0: places and sizes, in meters."""
    one, other = (rig().matrix_world.inverted() @ obj.matrix_world for obj in (first, second))
    (x, y, z), (u, v, w) = one.translation, other.translation
    sizes = (abs(a - b) for a, b in zip(first.dimensions, second.dimensions, strict=True))
    return max(abs(x + u), abs(y - v), abs(z - w), *sizes)


@step()
def imported():
    away_with_the_usual()
    alone("twins")
    menu_import("import_scene.mechanism", MODEL)
    open_sidebar("Knuckle")  # its panels show with a model


@step(after=1)
def arrived():
    expect(len(bodies()) == 23, f"File > Import brought the model: {reports()[-1:]}")
    with view3d():
        bpy.ops.view3d.view_all()
    bpy.context.scene.frame_set(1)
    yield
    shot("01_imported_by_menu")


@step()
def limb_made():
    with view3d():
        pick(*bodies(RIGHT))
        bpy.ops.knuckle.delete_parts()
        expect(not bodies(RIGHT), "the right front leg is gone")
        pick(*bodies(LEFT))
    mark("A leg is gone")
    yield
    shot("02_leg_gone")
    click(*(yield from find("knuckle.create_twin")))
    yield 1
    expect(len(bodies(RIGHT)) == 3, f"Create Twin made the leg anew: {reports()[-1:]}")
    shot("03_leg_again")
    yield
    move(*point(area(), 300, 500))
    key("F9")
    shot("04_redo")
    move(*point(area(), 20, 900))
    key("ESC")
    yield
    for _ in range(3):
        key("Z", ctrl=True)
        yield 0.5
        expect(not bodies(RIGHT), "one undo takes the leg back")
        key("Z", ctrl=True, shift=True)
        yield 0.5
        expect(len(bodies(RIGHT)) == 3, "redo brings it again")
    pairs = zip(sorted(bodies(LEFT), key=str), sorted(bodies(RIGHT), key=str), strict=True)
    for one, other in pairs:
        expect(unlike(one, other) < 1e-4, f"{other.name} mirrors {one.name}, {unlike(one, other):.2g} m off")


@step()
def mirrored():
    thigh = body(f"{LEFT} Femur")
    pick(thigh)
    with view3d():
        bpy.ops.transform.resize(value=(1.4, 1.4, 1.0), orient_type="LOCAL")
    mark("Resized")
    yield
    before = unlike(thigh, body(f"{RIGHT} Femur"))
    expect(before > 1e-3, f"the thighs differ by {before:.3f} m")
    click(*(yield from find("knuckle.mirror_to_twin")))
    yield 1
    after = unlike(body(f"{LEFT} Femur"), body(f"{RIGHT} Femur"))
    expect(after < 1e-4, f"Mirror to Twin makes the other thigh as wide: {after:.2g} m off")
    shot("05_mirrored")


@step()
def symmetrical():
    """Moved by G while the animation plays, with the switch of the panel on."""
    click(*(yield from find(r"\.symmetric$")))
    yield
    expect(rig().data.knuckle.symmetric, "the switch is on")
    pick(body(f"{LEFT} Tibia"))
    mark("Symmetrical")
    place = body(f"{LEFT} Tibia").matrix_world.translation.copy()
    start = point(area(), 300, 500)
    move(*start)
    key("G")
    for i in range(1, 6):
        move(start[0] - 8 * i, start[1])
    shot("06_both_at_once")
    key("RET")
    yield 1
    moved = (body(f"{LEFT} Tibia").matrix_world.translation - place).length
    expect(moved > 1e-3, f"G moved the shin by {moved:.3f} m")
    gap = unlike(body(f"{LEFT} Tibia"), body(f"{RIGHT} Tibia"))
    expect(gap < 1e-4, f"and its twin with it: {gap:.2g} m off")
    key("Z", ctrl=True)
    yield 1
    back = (body(f"{LEFT} Tibia").matrix_world.translation - place).length
    expect(back < 1e-5, f"one undo takes both back: {back:.2g} m")
    expect(unlike(body(f"{LEFT} Tibia"), body(f"{RIGHT} Tibia")) < 1e-4, "the twin, too")
    play(3)
    yield
    expect(bpy.context.scene.frame_current > 1, "it plays with the switch on")
    frame = bpy.context.scene.frame_current
    with view3d():
        bpy.ops.screen.animation_play()
    pause(1)
    key("Z", ctrl=True)
    pause(1)
    yield
    with view3d():
        bpy.ops.screen.animation_cancel(restore_frame=False)
    expect(len(bodies()) == 23, f"an undo while it plays breaks nothing, frame {frame}")
    shot("07_played")


@step()
def saved():
    bpy.context.scene.frame_set(1)
    yield
    bpy.ops.wm.save_as_mainfile(filepath=BLEND)
    names = sorted(obj.name for obj in bpy.data.objects)
    bpy.ops.wm.open_mainfile(filepath=BLEND)
    yield 2
    expect(sorted(obj.name for obj in bpy.data.objects) == names, "the file opens with all that was saved")
    shot("08_opened_again")
    with view3d():
        bpy.ops.knuckle.check_symmetry()
    yield
    shot("09_symmetry")
    yield
    every()
    done()
