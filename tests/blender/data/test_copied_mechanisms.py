"""Whole models copied in every way that Blender has: each copy is a model of its own, and the first is as it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import pytest
from mathutils import Matrix

import addon
from addon.blender.data.access import record_of, settings
from addon.blender.data.channels import servo_channels
from addon.blender.data.queries import parts
from addon.blender.scene.read.mechanism import extract
from tests.support.emptied import empty_file
from tests.support.exam import DUO, assert_works, bring, clean, exported, rigs
from tests.support.scenes import body, found, pick
from tests.support.small import MOTION


def select_all() -> None:
    for obj in bpy.context.view_layer.objects:
        obj.select_set(True)


def in_view() -> Any:
    """As if the mouse were in a 3D view."""
    area = next(each for each in bpy.context.window.screen.areas if each.type == "VIEW_3D")
    region = next(each for each in area.regions if each.type == "WINDOW")
    return bpy.context.temp_override(area=area, region=region)


def shift_d() -> None:
    select_all()
    assert bpy.ops.object.duplicate() == {"FINISHED"}


def alt_d_and_single_user() -> None:
    before = set(bpy.data.objects)
    select_all()
    bpy.ops.object.duplicate(linked=True)
    for obj in bpy.context.scene.objects:
        obj.select_set(obj not in before)
    options = {"object": True, "obdata": True, "animation": True}
    assert bpy.ops.object.make_single_user(type="SELECTED_OBJECTS", **options) == {"FINISHED"}


def copy_and_paste() -> None:
    select_all()
    with in_view():
        assert bpy.ops.view3d.copybuffer() == {"FINISHED"}
        assert bpy.ops.view3d.pastebuffer() == {"FINISHED"}


@pytest.mark.parametrize("copy", [shift_d, alt_d_and_single_user, copy_and_paste])
def test_a_copy_is_a_model_of_its_own(blank: Any, tmp_path: Path, copy: Callable[[], None]) -> None:
    clean()
    first = bring(tmp_path)
    copy()
    bpy.context.view_layer.update()
    (second,) = set(rigs()) - {first}
    second.location.y += 50.0
    bpy.context.view_layer.update()
    moved = Matrix.Translation((0.0, 50.0, 0.0))
    assert_works(first, tmp_path)
    assert_works(second, tmp_path, moved=moved)
    names = [[channel.name for own in servo_channels(rig).values() for channel in own] for rig in (first, second)]
    assert names[0] == names[1] == ["Left Hip", "Right Hip"]
    motion = tmp_path / "nod.xmdi"
    motion.write_text(MOTION.replace("Left Joint", "Left Hip"))
    gait = first.animation_data.action
    pick(second)
    assert bpy.ops.import_anim.servo_motion(filepath=str(motion)) == {"FINISHED"}
    assert first.animation_data.action == gait and second.animation_data.action.name.startswith("nod")
    record_of(body(second, "Tool")).mass = 7.5
    assert "<Mass>7.5</Mass>" in exported(second, tmp_path).replace("7.50", "7.5")
    assert exported(first, tmp_path) == DUO
    for obj in [each for each in bpy.data.objects if record_of(each).model == first]:
        bpy.data.objects.remove(obj)
    assert len(parts(second, "BODY")) == 4


def collision_children(rig: Any) -> list[tuple[str, Any]]:
    """The collision shapes of a model, with the bodies that they hang on."""
    children = [child for child in parts(rig, "SHAPE") if record_of(child).shape >= 0]
    assert all(record_of(child.parent).model == rig for child in children)
    places = [[round(x, 6) for row in child.matrix_local for x in row] for child in children]
    return sorted(zip((record_of(child).source_id for child in children), places, strict=True))


def to_file(rig: Any, path: Path) -> bytes:
    pick(rig)
    assert bpy.ops.export_scene.mechanism(filepath=str(path)) == {"FINISHED"}
    return path.read_bytes()


@pytest.mark.parametrize("copy", [shift_d, alt_d_and_single_user, copy_and_paste])
def test_a_copy_has_the_collision_shapes_that_are_hidden(blank: Any, tmp_path: Path, copy: Callable[[], None]) -> None:
    clean()
    source = found("humanoid.skel")
    bpy.ops.import_scene.mechanism(filepath=str(source))
    (first,) = rigs()
    gone = next(child for child in parts(first, "SHAPE") if record_of(child).shape >= 0)
    lost = record_of(gone).source_id
    bpy.data.objects.remove(gone)
    rest = collision_children(first)
    assert rest and lost not in dict(rest)
    copy()
    bpy.context.view_layer.update()
    (second,) = set(rigs()) - {first}
    assert collision_children(second) == rest, "but what was deleted stays so"
    assert collision_children(first) == rest
    wanted = to_file(first, tmp_path / "first.skel")
    assert wanted != source.read_bytes()
    assert to_file(second, tmp_path / "second.skel") == wanted


def test_of_two_models_of_one_file_a_copy_has_the_shapes_of_its_own_original(blank: Any, tmp_path: Path) -> None:
    clean()
    for _ in range(2):
        bpy.ops.import_scene.mechanism(filepath=str(found("humanoid.skel")))
    first, _other = models = rigs()
    wanted = [collision_children(rig) for rig in models]
    top = settings(first).collection
    for obj in bpy.context.view_layer.objects:
        obj.select_set(top.all_objects.get(obj.name) == obj)
    assert bpy.ops.object.duplicate() == {"FINISHED"}
    bpy.context.view_layer.update()
    (copy,) = set(rigs()) - set(models)
    assert collision_children(copy) == wanted[0]
    assert [collision_children(rig) for rig in models] == wanted, "nothing came to either of the first"
    pick(copy)
    assert bpy.ops.knuckle.check_model() == {"FINISHED"}
    assert "part-elsewhere" not in [row.code for row in settings(copy).findings]


def test_a_model_pasted_into_another_file_keeps_the_collisions_of_its_file(blank: Any, tmp_path: Path) -> None:
    clean()
    source = found("humanoid.skel")
    bpy.ops.import_scene.mechanism(filepath=str(source))
    select_all()
    with in_view():
        assert bpy.ops.view3d.copybuffer() == {"FINISHED"}
    empty_file()
    with in_view():
        assert bpy.ops.view3d.pastebuffer() == {"FINISHED"}
    bpy.context.view_layer.update()
    (rig,) = rigs()
    assert to_file(rig, tmp_path / "pasted.skel") == source.read_bytes()


def test_appended_to_another_file_a_model_lacks_what_was_deleted_of_it(blank: Any, tmp_path: Path) -> None:
    clean()
    bpy.ops.import_scene.mechanism(filepath=str(found("humanoid.skel")))
    (rig,) = rigs()
    children = [child for child in parts(rig, "SHAPE") if record_of(child).shape >= 0]
    bpy.data.batch_remove([child for child in children if child.parent == children[0].parent])
    wanted = to_file(rig, tmp_path / "less.skel")
    name = settings(rig).collection.name
    saved = tmp_path / "less.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(saved))
    empty_file()
    with bpy.data.libraries.load(str(saved)) as (_there, here):
        here.collections = [name]
    bpy.context.scene.collection.children.link(here.collections[0])
    bpy.context.view_layer.update()
    (rig,) = rigs()
    assert to_file(rig, tmp_path / "appended.skel") == wanted


def test_the_motion_of_a_copy_goes_out_under_the_name_that_its_file_has(blank: Any, tmp_path: Path) -> None:
    clean()
    first = bring(tmp_path)
    motion = tmp_path / "nod.xmdi"
    motion.write_text(MOTION.replace("Left Joint", "Left Hip"))
    pick(first)
    assert bpy.ops.import_anim.servo_motion(filepath=str(motion)) == {"FINISHED"}
    shift_d()
    bpy.context.view_layer.update()
    (second,) = set(rigs()) - {first}
    assert second.animation_data.action.name == "nod.001"
    texts = []
    for rig in (first, second):
        pick(rig)
        assert bpy.ops.export_anim.servo_motion(filepath=str(tmp_path / "out.xmdi")) == {"FINISHED"}
        texts.append((tmp_path / "out.xmdi").read_text())
    assert texts[0] == texts[1] and 'name="nod"' in texts[0]


def test_a_linked_copy_takes_over_when_its_original_is_gone(blank: Any, tmp_path: Path) -> None:
    clean()
    first = bring(tmp_path)
    select_all()
    bpy.ops.object.duplicate(linked=True)
    (second,) = set(rigs()) - {first}
    pick(second)
    with pytest.raises(RuntimeError, match=r"is a linked copy \(Alt\+D\)"):
        bpy.ops.knuckle.set_drive(drive="LIMP")
    bpy.data.batch_remove([each for each in bpy.data.objects if record_of(each).model == first])
    second.location.y += 50.0
    bpy.context.view_layer.update()
    assert settings(second).rig == second
    assert_works(second, tmp_path, moved=Matrix.Translation((0.0, 50.0, 0.0)))


# ---------------------------------------------------------------- whose number it is


def names(rig: Any) -> list[str]:
    """What a file calls a model's bodies and joints."""
    mechanism = extract(rig)
    return sorted(part.name for part in (*mechanism.bodies, *mechanism.joints))


def step() -> None:
    """Anything that the user does, as a step that can be undone; Blender looks at the scene after it."""
    bpy.context.scene.frame_end += 1
    bpy.ops.ed.undo_push(message="step")
    bpy.context.view_layer.update()


def undone() -> None:
    """The same, done and undone."""
    bpy.ops.ed.undo_push(message="before")
    step()
    bpy.ops.ed.undo()
    for rig in rigs():
        rig.update_tag()
    bpy.context.view_layer.update()


def switched_off_and_on() -> None:
    addon.unregister()
    addon.register()
    step()


def of_a_file() -> None:
    """The file reopened, and all that is done in it undone."""
    path = bpy.app.tempdir + "names.blend"
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    bpy.context.view_layer.update()
    undone()


@pytest.mark.parametrize("act", [undone, switched_off_and_on, of_a_file])
def test_a_number_that_the_user_gave_stays(blank: Any, tmp_path: Path, act: Callable[[], None]) -> None:
    bring(tmp_path, physics=False)
    bpy.data.objects["Left Leg"].name = "Left Leg.001"
    bpy.data.objects["Left Hip"].name = "Left Hip.002"
    act()
    (rig,) = rigs()
    assert {"Left Leg.001", "Left Hip.002"} <= {*names(rig)}
    assert "Left Leg.001" in exported(rig, tmp_path)


@pytest.mark.parametrize("act", [undone, switched_off_and_on, of_a_file])
def test_a_copied_part_is_not_called_like_its_original(blank: Any, tmp_path: Path, act: Callable[[], None]) -> None:
    """Once a check gave it an id of its own it is the only one of that."""
    rig = bring(tmp_path, physics=False)
    pick(bpy.data.objects["Left Leg"], bpy.data.objects["Left Hip"])
    assert bpy.ops.object.duplicate() == {"FINISHED"}
    pick(rig)
    assert bpy.ops.knuckle.check_model() == {"FINISHED"}
    before = names(rig)
    assert {"Left Leg", "Left Leg.001", "Left Hip", "Left Hip.001"} <= {*before}
    act()
    (rig,) = rigs()
    assert names(rig) == before
    bpy.data.objects["Left Leg.001"].name = "Third Leg"
    assert "Third Leg" in names(rig)


def test_a_copy_of_the_whole_keeps_the_names_of_copied_and_renamed_parts(blank: Any, tmp_path: Path) -> None:
    first = bring(tmp_path, physics=False)
    pick(bpy.data.objects["Left Leg"])
    assert bpy.ops.object.duplicate() == {"FINISHED"}
    pick(first)
    assert bpy.ops.knuckle.check_model() == {"FINISHED"}
    bpy.data.objects["Tool"].name = "Spade"
    before = names(first)
    bpy.ops.ed.undo_push(message="renamed")
    shift_d()
    bpy.ops.ed.undo_push(message="copied")
    bpy.context.view_layer.update()
    (second,) = set(rigs()) - {first}
    wanted = sorted("Spade.001" if name == "Spade" else name for name in before)  # a new name is the object's
    assert names(second) == wanted
    step()
    bpy.ops.ed.undo()  # to where Blender had numbered the copy, and nobody had seen to it
    bpy.context.view_layer.update()
    assert [names(rig) for rig in sorted(rigs(), key=lambda rig: rig.name)] == [before, wanted]


def test_what_was_split_off_keeps_the_names_that_the_user_gave(blank: Any, tmp_path: Path) -> None:
    rig = bring(tmp_path, physics=False)
    bpy.data.objects["Tool"].name = "Tool.001"
    pick(bpy.data.objects["Tool.001"])
    assert bpy.ops.knuckle.split_model("EXEC_DEFAULT", True) == {"FINISHED"}
    step()
    (made,) = set(rigs()) - {rig}
    assert names(made) == ["Tool.001"]
    undone()
    assert ["Tool.001"] in [names(each) for each in rigs()]


@pytest.mark.parametrize("kind", ["FULL_COPY", "LINK_COPY", "EMPTY"])
def test_scenes_that_are_copied(blank: Any, tmp_path: Path, kind: str) -> None:
    clean()
    first, scene = bring(tmp_path), bpy.context.scene
    if kind == "LINK_COPY":  # two scenes that simulate the same bodies crash plain Blender, 14 times of 14
        pick(first)
        assert bpy.ops.knuckle.clear_physics() == {"FINISHED"}
        assert scene.rigidbody_world is None
    assert bpy.ops.scene.new(type=kind) == {"FINISHED"}
    bpy.context.view_layer.update()
    assert bpy.context.scene != scene
    if kind == "EMPTY":
        bring(tmp_path, "second.jm")
    here = [rig for rig in rigs() if bpy.context.scene in rig.users_scene]
    assert (here == [first]) == (kind == "LINK_COPY") and len(here) == 1
    assert_works(here[0], tmp_path)
    bpy.context.window.scene = scene
    assert_works(first, tmp_path)


@pytest.mark.parametrize("what", ["whole", "one leg"])
def test_pasted_into_another_file_it_is_whole(blank: Any, tmp_path: Path, what: str) -> None:
    clean()
    rig = bring(tmp_path)
    if what == "whole":
        select_all()
    else:
        pick(body(rig, "Left Leg"))
    with in_view():
        assert bpy.ops.view3d.copybuffer() == {"FINISHED"}
    empty_file()
    bpy.context.scene.render.fps = 60
    with in_view():
        assert bpy.ops.view3d.pastebuffer() == {"FINISHED"}
    bpy.context.view_layer.update()
    (rig,) = rigs()
    assert_works(rig, tmp_path)
    pick(rig)
    assert bpy.ops.knuckle.build_physics() == {"FINISHED"}
    assert_works(rig, tmp_path)


@pytest.mark.parametrize("act", ["single user", "local", "deleted and undone", "collection copied"])
def test_what_leaves_it_one_model_leaves_it_whole(blank: Any, tmp_path: Path, act: str) -> None:
    clean()
    rig = bring(tmp_path)
    select_all()
    if act == "single user":
        bpy.ops.object.make_single_user(type="ALL", object=True, obdata=True, material=True, animation=True)
    elif act == "local":
        bpy.ops.object.make_local(type="ALL")
    elif act == "deleted and undone":
        bpy.ops.ed.undo_push(message="before")
        bpy.ops.object.delete("EXEC_DEFAULT", True)
        bpy.ops.ed.undo()
    else:
        bpy.context.scene.collection.children.link(settings(rig).collection.copy())
    bpy.context.view_layer.update()
    (rig,) = rigs()
    assert_works(rig, tmp_path)
