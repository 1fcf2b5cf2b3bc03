"""Mechanisms are simulated in a hidden scene: played, scrubbed, undone, saved, and with deleted parts."""

import bpy
from driving import done, drop, expect, key, play, shot, step, view3d

FILES = ("sample_models/hexapod/hexapod.jm",)
SIZE = "1920x1080"
PATH = "/tmp/simulated.blend"
seen = {}


def the_rig():
    return next(obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")


def bodies():
    return [obj for obj in bpy.context.scene.objects if obj.knuckle.role == "BODY"]


def height():
    places = [obj.matrix_world.translation.z for obj in bodies()]
    return sum(places) / len(places)


def until(frame):
    """Play until a frame is reached, however slow the machine is."""
    for _ in range(20):
        play(2)
        yield
        if bpy.context.scene.frame_current >= frame:
            break


def hidden_scenes():
    return [scene for scene in bpy.data.scenes if scene.name.startswith(".")]


def settings():
    scene = bpy.context.scene
    return scene.render.fps, scene.frame_start, tuple(scene.gravity), len(bpy.data.scenes) - len(hidden_scenes())


def choose(drive):
    with view3d():
        bpy.ops.knuckle.set_drive("INVOKE_DEFAULT", True, drive=drive)


@step()
def dropped():
    seen["before"] = settings()
    drop("hexapod.jm")
    key("RET")


@step(after=3)
def imported():
    expect(settings() == seen["before"], f"the scene's settings stay: {settings()}, {seen['before']}")
    expect(hidden_scenes() == [], "nothing is simulated with keyframes")
    seen["height"] = height()
    choose("LIMP")
    yield
    expect(len(hidden_scenes()) == 1, "a scene for the simulation")
    yield from until(14)
    shot("fallen")
    expect(height() < 0.9 * seen["height"], f"it falls: {height():.3f} from {seen['height']:.3f}")
    expect(bpy.context.scene.frame_current >= 14, "it plays")


@step(after=1)
def scrubbed():
    scene = bpy.context.scene
    scene.frame_set(4)
    yield
    seen["early"] = height()
    scene.frame_set(8)
    yield
    seen["later"] = height()
    expect(seen["later"] < seen["early"] < seen["height"], "earlier frames are shown again")
    scene.frame_set(4)
    yield
    expect(abs(height() - seen["early"]) < 1e-4, "each as it was simulated")
    shot("scrubbed")


@step(after=1)
def undone():
    with view3d():
        bpy.ops.mesh.primitive_cube_add(location=(9.0, 9.0, 9.0))
        bpy.ops.ed.undo_push(message="cube")
    yield
    with view3d():
        bpy.ops.ed.undo()
    yield
    bpy.context.scene.frame_set(1)
    yield
    yield from until(14)
    expect(height() < 0.9 * seen["height"], "it falls again after an undo")


@step(after=1)
def saved():
    bpy.ops.wm.save_as_mainfile(filepath=PATH)
    yield
    expect(height() < 0.9 * seen["height"], "it is still shown where it fell")
    body = bodies()[3]
    with view3d():
        for obj in bpy.context.view_layer.objects:
            obj.select_set(obj == body)
        bpy.context.view_layer.objects.active = body
        bpy.ops.object.delete()
    yield
    yield from until(16)
    bpy.context.scene.frame_set(1)
    yield
    yield from until(14)
    shot("without a body")
    expect(height() < 0.9 * seen["height"], "the rest falls without a deleted body")


@step(after=1)
def removed():
    for scene in hidden_scenes():
        bpy.data.scenes.remove(scene)
    yield
    bpy.context.scene.frame_set(1)
    yield
    yield from until(14)
    expect(height() < 0.9 * seen["height"], "a deleted simulation scene is made again")
    choose("KEYS")
    yield
    expect(hidden_scenes() == [], "it is gone with the last simulated mechanism")
    expect(settings() == seen["before"], "the scene's settings stay")
    shot("keyframes")


@step(after=1)
def end():
    done()
