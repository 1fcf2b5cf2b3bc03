"""Several models in one scene: none knows of the others, whichever of them goes, and by whatever way."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from addon.blender.data.access import record_of, settings
from addon.blender.data.queries import parts
from tests.support.exam import (
    DUO,
    FALLEN,
    assert_alike,
    assert_works,
    bring,
    clean,
    exported,
    places,
    played,
    rigs,
)
from tests.support.scenes import pick

_APART = 50.0


def moved(number: int) -> Any:
    return Matrix.Translation((0.0, _APART * number, 0.0))


def several(folder: Path, count: int, name: str = "") -> list[Any]:
    """Models side by side: the same file again and again, or one file each."""
    made = []
    for number in range(count):
        made.append(bring(folder, name or f"model {number}.jm"))
        made[-1].location.y += _APART * number
    bpy.context.view_layer.update()
    return made


def stands(rig: Any, number: int) -> None:
    bpy.context.scene.frame_set(bpy.context.scene.frame_start)
    assert_alike(places(rig), clean()["stood"], moved=moved(number))


def test_three_times_the_same(blank: Any, tmp_path: Path) -> None:
    clean()
    made = several(tmp_path, 3, "duo.jm")
    assert len({rig.name for rig in made}) == len({settings(rig).document for rig in made}) == 3
    assert_works(made[1], tmp_path, moved=moved(1))
    first, second, third = made
    pick(second)
    assert bpy.ops.knuckle.set_drive(drive="LIMP") == {"FINISHED"}
    assert [settings(rig).drive for rig in made] == ["KEYS", "LIMP", "KEYS"]
    seen = [played(rig, FALLEN) for rig in (first, third)]
    for number, frames in zip((0, 2), seen, strict=True):
        for found, there in zip(frames, clean()["played"], strict=False):
            assert_alike(found, there, moved=moved(number))
    assert bpy.ops.knuckle.set_drive(drive="KEYS") == {"FINISHED"}
    bone = first.pose.bones["Left Hip"]
    first.animation_data.action = bpy.data.actions.new("Mine")
    bone.rotation_euler.z = 0.4
    bone.keyframe_insert("rotation_euler", index=2, frame=1)
    stands(second, 1)
    stands(third, 2)


def test_ten_fall_at_once_and_go_out_each(blank: Any, tmp_path: Path) -> None:
    wanted = clean()["fell"]
    made = several(tmp_path, 10)
    for rig in made:
        settings(rig).drive = "LIMP"
    scene = blank.scene
    for frame in range(FALLEN):
        scene.frame_set(scene.frame_start + frame)
        for number, rig in enumerate(made):
            assert_alike(places(rig, ("BODY",)), wanted[frame], 2e-3, moved(number))
    assert len([obj for obj in bpy.data.objects if record_of(obj).is_ground]) == 1
    assert all(exported(rig, tmp_path) == DUO for rig in made)


def by_objects(rig: Any) -> None:
    """One after the other, in no order."""
    own = [obj for obj in bpy.data.objects if record_of(obj).model == rig]
    random.Random(7).shuffle(own)
    for obj in own:
        bpy.data.objects.remove(obj)


def by_collection(rig: Any) -> None:
    collection = settings(rig).collection
    for each in [*collection.children_recursive, collection]:
        bpy.data.collections.remove(each)


def by_hierarchy(rig: Any) -> None:
    collection = settings(rig).collection
    bpy.data.batch_remove([*collection.all_objects, *collection.children_recursive, collection])


def by_hand(rig: Any) -> None:
    pick(rig, *[obj for obj in settings(rig).collection.all_objects if obj.visible_get() and not obj.hide_select])
    assert bpy.ops.object.delete() == {"FINISHED"}


@pytest.mark.parametrize("delete", [by_objects, by_collection, by_hierarchy, by_hand])
def test_the_others_go_on_where_one_is_deleted(blank: Any, tmp_path: Path, delete: Any) -> None:
    """Not after a run: Blender does not always survive that bodies of one are deleted."""
    clean()
    first, gone, third = several(tmp_path, 3)
    delete(gone)
    bpy.data.orphans_purge(do_recursive=True)
    bpy.context.view_layer.update()
    assert {rig for rig in rigs() if rig.users_scene} == {first, third}
    assert_works(first, tmp_path)
    pick(first)
    if bpy.ops.knuckle.clean_up.poll():
        bpy.ops.knuckle.clean_up()
    assert_works(third, tmp_path, moved=moved(2))


def test_a_model_that_was_deleted_comes_back_with_undo(blank: Any, tmp_path: Path) -> None:
    clean()
    several(tmp_path, 2)
    bpy.ops.ed.undo_push(message="before")
    by_objects(rigs()[0])
    bpy.ops.ed.undo_push(message="deleted")
    bpy.ops.ed.undo()
    for number, rig in enumerate(rigs()):
        assert_works(rig, tmp_path, moved=moved(number))
    assert np.isfinite(sum(np.abs(place).sum() for rig in rigs() for place in places(rig).values()))
    assert all(len(parts(rig, "BODY")) == 4 for rig in rigs())
