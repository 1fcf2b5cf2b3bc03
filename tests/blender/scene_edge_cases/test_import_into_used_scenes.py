"""Importing into scenes in whatever state: the model stands, plays, falls and goes out again as in an empty one, what
was there is as it was, and undo and redo take the import back and bring it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bpy
import pytest

from addon.blender.data.access import settings
from tests.support.exam import assert_works, bring, clean, rigs
from tests.support.snapshot import changed, snapshot

#: What an import changes of the scene that it comes into, and what leaving a mode does to what was edited.
_SCENE = (
    r"active|selected|scenes/[^/]*/(objects/#|render/fps|frame_end|rigidbody_world|knuckle_world|knuckle_idle|collection/all_objects/#"
    r"|collection/children/#|keying_sets/.*)"
)
_WORLD = r"|scenes/[^/]*/(gravity|use_gravity)|collections/RigidBody\w*/.*|scenes/[^/]*/rigidbody_world/.*"
_MODE = (
    r"|objects/[^/]*/(mode|data/.*)|meshes/.*/(is_editmode|total_\w+_sel|uv_layer_.*)"
    r"|armatures/.*(bones/.*|is_editmode)"
)


@dataclass(frozen=True)
class Odd:
    """A scene that is made by ``ready``. ``changes``: what of it the import may change besides. ``plays`` and ``falls``
    are off where the scene's own settings make frames another time, or the physics another. ``says`` is in what the
    model's report tells."""

    ready: Callable[[], Any]
    changes: str = ""
    plays: bool = True
    falls: bool = True
    still: bool = False
    says: str = ""


def cube(name: str = "Block", location: tuple[float, float, float] = (0, 30, 0)) -> Any:
    bpy.ops.mesh.primitive_cube_add(location=location)
    bpy.context.object.name = name
    return bpy.context.object


def in_mode(name: str, add: Callable[[], Any] = cube) -> Callable[[], None]:
    """A scene with an object in a mode."""

    def ready() -> None:
        add()
        bpy.ops.object.mode_set(mode=name)

    return ready


def two_edited() -> None:
    first = cube()
    cube("Other")
    first.select_set(True)
    bpy.ops.object.mode_set(mode="EDIT")


def edited_and_hidden() -> None:
    block = cube()
    bpy.ops.object.mode_set(mode="EDIT")
    block.hide_viewport = True


def edited_and_excluded() -> None:
    collection()
    cube()
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.context.view_layer.active_layer_collection.exclude = True


def tweaked() -> None:
    """An object whose strip is being tweaked."""
    block = cube()
    for frame in (1, 20):
        block.keyframe_insert("location", frame=frame)
    data = block.animation_data
    track = data.nla_tracks.new()
    strip = track.strips.new("moves", 1, data.action)
    data.action = None
    data.nla_tracks.active = track
    track.select = strip.select = data.use_tweak_mode = True
    assert data.use_tweak_mode


def collection(**switches: bool) -> Any:
    """A collection that is the active one, with switches of it or of its place in the view layer."""
    made = bpy.data.collections.new("Set")
    bpy.context.scene.collection.children.link(made)
    layer = bpy.context.view_layer.layer_collection.children[made.name]
    bpy.context.view_layer.active_layer_collection = layer
    for name, value in switches.items():
        setattr(layer if name in {"exclude", "holdout", "indirect_only"} else made, name, value)
    return made


def hidden_by_eye() -> None:
    collection()
    bpy.context.view_layer.active_layer_collection.hide_viewport = True


def of_scene(**values: Any) -> Callable[[], None]:
    """A scene with settings: ``frame_start``, ``unit_settings.system`` with two underscores for the dot."""

    def ready() -> None:
        for name, value in values.items():
            *way, last = name.split("__")
            owner: Any = bpy.context.scene
            for part in way:
                owner = getattr(owner, part)
            setattr(owner, last, value)

    return ready


def late() -> None:
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = -20, 1000
    scene.frame_set(500, subframe=0.25)


def world(**values: Any) -> Callable[[], None]:
    """A scene with a rigid-body world of the user's, in which two of his bodies hang on a hinge of his."""

    def ready() -> None:
        low, high = cube("Low"), cube("High", (0, 30, 3))
        for obj in (low, high):
            bpy.context.view_layer.objects.active = obj
            bpy.ops.rigidbody.object_add()
        bpy.ops.object.empty_add(location=(0, 30, 1.5))
        bpy.ops.rigidbody.constraint_add(type="HINGE")
        hinge = bpy.context.object.rigid_body_constraint
        hinge.object1, hinge.object2 = low, high
        for name, value in values.items():
            setattr(bpy.context.scene.rigidbody_world, name, value)

    return ready


def baked() -> None:
    world()()
    scene = bpy.context.scene
    cache = scene.rigidbody_world.point_cache
    scene.frame_end = cache.frame_end = 6
    with bpy.context.temp_override(point_cache=cache):
        bpy.ops.ptcache.bake(bake=True)
    assert cache.is_baked


def same_names() -> None:
    """All that the model would call its own belongs to others, and one name is as long as Blender takes any."""
    names = ["duo", "Trunk", "Left Leg", "Left Hip", "Bodies", "Joints", "Collision", "Knuckle Ground", "duo Gait"]
    for name in [*names, "é" * 31]:
        obj = bpy.data.objects.new(name, bpy.data.meshes.new(name))
        bpy.context.scene.collection.objects.link(obj)
        bpy.context.scene.collection.children.link(bpy.data.collections.new(name))
        for kind in ("armatures", "actions", "materials"):
            getattr(bpy.data, kind).new(name).use_fake_user = True
    bpy.data.texts.new("duo.jm")


def nothing_active() -> None:
    cube().select_set(False)
    bpy.context.view_layer.objects.active = None


def another_layer() -> None:
    cube()
    collection(exclude=True)
    bpy.context.window.view_layer = bpy.context.scene.view_layers.new("Second")


def animated() -> None:
    cube().keyframe_insert("location", frame=1)


_KEPT_RATE = "Frame rate: unchanged at 24 fps"
ODD = {
    "nothing active": Odd(nothing_active),
    "active collection hidden": Odd(lambda: collection(hide_viewport=True, hide_select=True, hide_render=True)),
    "active collection hidden by its eye": Odd(hidden_by_eye),
    "active collection excluded": Odd(lambda: collection(exclude=True)),
    "active collection a holdout": Odd(lambda: collection(holdout=True, indirect_only=True)),
    "another view layer": Odd(another_layer),
    "edit mode": Odd(two_edited, _MODE),
    "edit mode, hidden": Odd(edited_and_hidden, _MODE),
    "edit mode, excluded": Odd(edited_and_excluded, _MODE),
    "edit mode of an armature": Odd(in_mode("EDIT", bpy.ops.object.armature_add), _MODE),
    "edit mode of a text": Odd(in_mode("EDIT", bpy.ops.object.text_add), _MODE),
    "pose mode": Odd(in_mode("POSE", bpy.ops.object.armature_add), _MODE),
    "sculpt mode": Odd(in_mode("SCULPT"), _MODE),
    "weight paint": Odd(in_mode("WEIGHT_PAINT"), _MODE),
    "texture paint": Odd(in_mode("TEXTURE_PAINT"), _MODE),
    "a strip in tweak mode": Odd(tweaked, plays=False, falls=False, says=_KEPT_RATE),
    "centimetres": Odd(of_scene(unit_settings__system="METRIC", unit_settings__scale_length=0.01)),
    "hectometres": Odd(of_scene(unit_settings__system="METRIC", unit_settings__scale_length=100.0)),
    "feet": Odd(of_scene(unit_settings__system="IMPERIAL")),
    "no units": Odd(of_scene(unit_settings__system="NONE")),
    "a world of the user's": Odd(world(), says="Rigid-body world: 10 substeps"),
    "a world with a pace of its own": Odd(
        world(substeps_per_frame=3, time_scale=0.5, solver_iterations=7),
        falls=False,
        says="Rigid-body world: 3 substeps",
    ),
    "a world that is switched off": Odd(world(enabled=False), still=True, says="Rigid-body world: disabled. Enable it"),
    "a world that is baked": Odd(baked, still=True, says="its cache is baked. Delete the bake first"),
    "the same names": Odd(same_names),
    "frame 500": Odd(late),
    "frames below zero": Odd(of_scene(frame_start=-20)),
    "no gravity": Odd(of_scene(use_gravity=False)),
    "a preview range": Odd(of_scene(use_preview_range=True, frame_preview_start=40, frame_preview_end=60)),
    "frames stretched": Odd(of_scene(render__frame_map_new=200), plays=False, falls=False),
    "automatic keys": Odd(of_scene(tool_settings__use_keyframe_insert_auto=True, cursor__location=(3, 4, 5))),
    "animated": Odd(animated, plays=False, falls=False, says=_KEPT_RATE),
}


def _is_block(path: str) -> bool:
    """Whether the path of a snapshot is that of a whole datablock."""
    return path.count("/") == 1


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD.keys())
def test_into_an_odd_scene(blank: Any, tmp_path: Path, odd: Odd) -> None:
    clean()
    odd.ready()
    bpy.context.view_layer.update()
    bpy.ops.ed.undo_push(message="before")
    before, frame = snapshot(), blank.scene.frame_current_final
    rig = bring(tmp_path)
    assert bpy.context.mode == "OBJECT" and blank.scene.frame_current_final == frame
    assert bpy.context.view_layer.objects.active == rig and bpy.context.selected_objects == [rig]
    assert rig.visible_get() and all(obj.visible_get() for obj in settings(rig).collection.children[1].all_objects)
    told = " ".join(line.message for line in settings(rig).report if line.severity == "warning")
    assert (odd.says in told) if odd.says else not told
    after = snapshot()
    allowed = re.compile(_SCENE + _WORLD + odd.changes)
    assert [path for path in changed(before, after) if path in before and not allowed.fullmatch(path)] == []
    bpy.ops.ed.undo()
    now = snapshot()
    if odd.changes:  # Blender's own undo of what was edited does not bring all of it back
        assert set(filter(_is_block, now)) == set(filter(_is_block, before))
    else:
        assert {path: value for path, value in now.items() if path in before} == before
    bpy.ops.ed.redo()
    assert list(filter(_is_block, changed(after, snapshot()))) == []
    (rig,) = rigs()
    assert_works(rig, tmp_path, plays=odd.plays, falls=odd.falls, still=odd.still)
