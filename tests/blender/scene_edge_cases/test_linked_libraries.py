"""Models in other .blend files: appended they are whole, linked they play and are left alone, overridden they are posed
and keyed, and made local they are whole again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import pytest

from addon.blender.data.access import settings
from addon.blender.data.queries import parts
from addon.blender.editing.repair.missing_parts import missing_messages
from tests.support.exam import DUO, assert_alike, assert_works, bring, clean, exported, places, played, rigs
from tests.support.libraries import load, put, put_by_operator, saved
from tests.support.scenes import pick
from tests.support.small import MOTION
from tests.support.snapshot import changed, snapshot

#: Operators that need no model, and those that make one.
_OTHERS = {"add_mechanism", "copy_check", "copy_install_command", "new_model", "self_check"}


@pytest.mark.parametrize(("kind", "name"), [("Collection", "duo"), ("Object", "Left Leg"), ("Scene", "Scene")])
def test_an_appended_mechanism_is_complete(blank: Any, tmp_path: Path, kind: str, name: str) -> None:
    """Also where a part alone was asked for: it brings the model along."""
    clean()
    path = saved(tmp_path)
    if kind == "Scene":
        bpy.context.window.scene = load(path, "scenes", name, link=False)
        (rig,) = rigs()
    else:
        rig = put_by_operator(path, kind, name)
    assert settings(rig).document is not None and settings(rig).document.library is None
    assert_works(rig, tmp_path)
    pick(rig)
    assert bpy.ops.knuckle.build_physics() == {"FINISHED"}
    assert_works(rig, tmp_path)


def test_appended_by_a_script_it_gets_its_physics_when_built(blank: Any, tmp_path: Path) -> None:
    clean()
    rig = put(saved(tmp_path), link=False)
    assert bpy.context.scene.rigidbody_world is None
    assert_works(rig, tmp_path)
    pick(rig)
    assert bpy.ops.knuckle.build_physics() == {"FINISHED"}
    assert_works(rig, tmp_path)


def test_appended_twice_they_are_two(blank: Any, tmp_path: Path) -> None:
    clean()
    path = saved(tmp_path)
    first, second = put_by_operator(path), put_by_operator(path)
    second.location.y += 50.0
    bpy.context.view_layer.update()
    assert settings(first).document != settings(second).document
    assert_works(first, tmp_path)
    assert_works(second, tmp_path, moved=second.matrix_world @ first.matrix_world.inverted())


def test_appended_among_others_of_its_names(blank: Any, tmp_path: Path) -> None:
    """Blender numbers its parts' names; its servos and its file keep theirs."""
    clean()
    path = saved(tmp_path)
    for name in ("Trunk", "Left Hip"):
        blank.scene.collection.objects.link(bpy.data.objects.new(name, None))
    rig = put_by_operator(path)
    assert rig.name == "duo" and "Left Hip" not in [obj.name for obj in parts(rig, "JOINT")]
    assert_works(rig, tmp_path)
    motion = tmp_path / "nod.xmdi"
    motion.write_text(MOTION.replace("Left Joint", "Left Hip"))
    pick(rig)
    assert bpy.ops.import_anim.servo_motion(filepath=str(motion)) == {"FINISHED"}


def test_a_linked_mechanism_plays_and_is_not_changed(blank: Any, tmp_path: Path) -> None:
    wanted = clean()
    rig = put(saved(tmp_path))
    for found, there in zip(played(rig), wanted["played"], strict=True):
        assert_alike(found, there)
    bpy.context.view_layer.objects.active = rig
    assert exported(rig, tmp_path) == DUO
    before = snapshot()
    refused = 0
    for name in sorted(set(dir(bpy.ops.knuckle)) - _OTHERS):
        if not name.startswith("_") and not getattr(bpy.ops.knuckle, name).poll():
            refused += 1
        elif not name.startswith("_"):
            assert "folder" in name or "film" in name, f"{name} would run"
    assert refused > 50
    for run in (
        lambda: bpy.ops.knuckle.set_drive(drive="LIMP"),
        lambda: bpy.ops.import_anim.servo_motion(filepath=str(tmp_path / "duo.jm")),
    ):
        with pytest.raises(RuntimeError, match="is linked from another file: make it local first"):
            run()
    assert changed(before, snapshot()) == []
    drive, rig.data.knuckle.drive = rig.data.knuckle.drive, "SERVO"  # by a script
    rig.data.knuckle.drive = drive
    assert changed(before, snapshot()) == []
    own = bring(tmp_path, "own.jm")
    own.location.y += 50.0
    assert_works(own, tmp_path, moved=moved_by(50.0))


def moved_by(y: float) -> Any:
    from mathutils import Matrix

    return Matrix.Translation((0.0, y, 0.0))


def select_all() -> None:
    for obj in bpy.context.scene.objects:
        obj.hide_select = False
        obj.select_set(True)


def test_linked_and_made_local_it_is_whole(blank: Any, tmp_path: Path) -> None:
    clean()
    put(saved(tmp_path))
    select_all()
    assert bpy.ops.object.make_local(type="ALL") == {"FINISHED"}
    (rig,) = rigs()
    assert_works(rig, tmp_path)
    pick(rig)
    assert bpy.ops.knuckle.build_physics() == {"FINISHED"}
    assert_works(rig, tmp_path)


def test_an_overridden_mechanism_is_posed_and_keyed_and_complete_once_local(blank: Any, tmp_path: Path) -> None:
    wanted = clean()
    linked = load(saved(tmp_path), "collections", "duo")
    bpy.context.scene.render.fps = 60
    linked.override_hierarchy_create(bpy.context.scene, bpy.context.view_layer, do_fully_editable=True)
    rig = next(each for each in rigs() if each.override_library is not None)
    for found, there in zip(played(rig), wanted["played"], strict=True):
        assert_alike(found, there)
    bpy.context.view_layer.objects.active = rig
    assert exported(rig, tmp_path) == DUO
    gait = rig.animation_data.action.name
    rig.animation_data.action = bpy.data.actions.new("Mine")
    bone = rig.pose.bones["Left Hip"]
    for frame, value in ((1, 0.0), (5, 0.3)):
        bone.rotation_euler.z = value
        assert bone.keyframe_insert("rotation_euler", index=2, frame=frame)
    seen = played(rig, 5)
    assert abs(seen[4]["BODY", "2"] - seen[0]["BODY", "2"]).max() > 0.05
    with pytest.raises(RuntimeError, match="make it local first"):
        bpy.ops.knuckle.set_drive(drive="LIMP")
    path = str(tmp_path / "mine.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    rig = next(each for each in rigs() if each.override_library is not None)
    assert_alike(played(rig, 5)[4], seen[4])
    rig.animation_data.action = bpy.data.actions[gait]
    select_all()
    assert bpy.ops.object.make_local(type="ALL") == {"FINISHED"}
    rig = next(each for each in rigs() if each.users_scene)
    assert rig.library is None and rig.override_library is None
    assert_works(rig, tmp_path)


def test_where_the_library_is_gone_all_else_works(blank: Any, tmp_path: Path) -> None:
    clean()
    path = saved(tmp_path)
    put(path)
    own = str(tmp_path / "own.blend")
    bpy.ops.wm.save_as_mainfile(filepath=own)
    Path(path).unlink()
    bpy.ops.wm.open_mainfile(filepath=own)
    bpy.context.scene.frame_set(4)
    assert rigs() == []
    rig = bring(tmp_path, "own.jm")
    assert_works(rig, tmp_path)
    assert places(rig)


@pytest.mark.parametrize("by_operator", [True, False])
def test_appended_into_a_world_of_the_users_it_leaves_that_alone(blank: Any, tmp_path: Path, by_operator: bool) -> None:
    """What it remembers of the world in its own file is nothing to this one."""
    path = saved(tmp_path)
    scene = bpy.context.scene
    assert bpy.ops.rigidbody.world_add() == {"FINISHED"}
    scene.gravity = (0.0, 0.0, -1.625)
    scene.rigidbody_world.point_cache.frame_end = 77
    rig = put_by_operator(path) if by_operator else put(path, link=False)
    pick(rig)
    assert bpy.ops.knuckle.build_physics() == {"FINISHED"}
    rig.data.knuckle.gravity = (0.0, 0.0, -5.0)  # the model's own, and not the world's
    assert tuple(scene.gravity) == (0.0, 0.0, -1.625)
    assert bpy.ops.knuckle.clear_physics() == {"FINISHED"}
    assert scene.rigidbody_world is not None and scene.rigidbody_world.point_cache.frame_end == 77
    assert tuple(scene.gravity) == (0.0, 0.0, -1.625)


def test_appended_into_another_world_of_ours_the_last_takes_it_along(blank: Any, tmp_path: Path) -> None:
    path = saved(tmp_path)
    scene = bpy.context.scene
    scene.gravity = (0.0, 0.0, -1.625)
    first = bring(tmp_path)
    second = put_by_operator(path)
    pick(second)
    assert bpy.ops.knuckle.build_physics() == {"FINISHED"}
    for rig in (first, second):
        assert scene.rigidbody_world is not None
        pick(rig)
        assert bpy.ops.knuckle.clear_physics() == {"FINISHED"}
    assert scene.rigidbody_world is None and tuple(scene.gravity) == (0.0, 0.0, -1.625)


def test_the_collection_of_blenders_own_override_of_an_instance_is_not_missing(blank: Any, tmp_path: Path) -> None:
    path = saved(tmp_path)
    bpy.ops.wm.link(directory=f"{path}/Collection/", filename="duo", instance_collections=True)
    assert bpy.ops.object.make_override_library() == {"FINISHED"}
    rig = next(each for each in rigs() if each.override_library is not None)
    assert not [each for each in missing_messages(rig) if "in no scene" in each]
    bpy.context.view_layer.objects.active = rig
    assert exported(rig, tmp_path) == DUO
