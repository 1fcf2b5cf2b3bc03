"""Export of models whose parts were deleted, moved to other collections, renamed, hidden, or whose meshes were edited:
what is left is written, and what is not is told. Never an exception, never half a file."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import pytest

from addon import formats
from addon.blender.data.access import record_of, settings
from addon.blender.data.queries import all_parts, parts
from tests.support.exporting import MODELS, brought, crossed, export, is_whole, last, reopened, told
from tests.support.scenes import pick

each_format = pytest.mark.parametrize("format_", list(MODELS))
Act = Callable[[Any], None]


def fix(code: str) -> None:
    """What a user does who believes the check."""
    from tests.support.scenes import the_rig

    assert bpy.ops.knuckle.check_model() == {"FINISHED"}
    row = [each.code for each in settings(the_rig()).findings].index(code)
    assert bpy.ops.knuckle.fix_finding(index=row) == {"FINISHED"}


# ---------------------------------------------------------------- hidden, in other collections


def hidden(rig: Any) -> None:
    for obj in list(settings(rig).collection.all_objects):
        obj.hide_set(True)
        obj.hide_viewport = obj.hide_render = obj.hide_select = True
    for bones in rig.data.collections:
        bones.is_visible = False
    for bone in rig.data.bones:
        bone.hide = True


def excluded(rig: Any) -> None:
    bpy.context.view_layer.layer_collection.children[settings(rig).collection.name].exclude = True


def hidden_collections(rig: Any) -> None:
    for each in (settings(rig).collection, *settings(rig).collection.children_recursive):
        each.hide_viewport = each.hide_render = True


def in_other_collections(rig: Any) -> None:
    """The M key, on all parts."""
    folder = bpy.data.collections.new("Mine")
    bpy.context.scene.collection.children.link(folder)
    for obj in list(settings(rig).collection.all_objects):
        for each in list(obj.users_collection):
            if each.name in {c.name for c in settings(rig).collection.children_recursive} | {rig.name}:
                each.objects.unlink(obj)
        folder.objects.link(obj)


@crossed([hidden, excluded, hidden_collections, in_other_collections])
def test_what_is_hidden_or_elsewhere_is_exported_whole(blank: Any, tmp_path: Path, format_: str, act: Act) -> None:
    act(brought(format_))
    reopened(tmp_path)
    assert is_whole(export(tmp_path, format_), format_)


def test_a_body_in_another_collection_is_reported_and_taken_back(blank: Any, tmp_path: Path) -> None:
    rig = brought("skel")
    obj = last(rig)
    own = set(settings(rig).collection.children_recursive)
    for folder in own.intersection(obj.users_collection):
        folder.objects.unlink(obj)
    bpy.context.scene.collection.objects.link(obj)
    assert "part-elsewhere" in told(rig) and "deleted" not in told(rig)
    assert is_whole(export(tmp_path, "skel"), "skel")
    fix("part-elsewhere")
    assert "part-elsewhere" not in told(rig) and obj in parts(rig, "BODY")
    assert is_whole(export(tmp_path, "skel"), "skel")


@each_format
def test_a_collection_that_was_deleted_is_made_again(blank: Any, tmp_path: Path, format_: str) -> None:
    """As the Outliner deletes it: what it held moves up."""
    rig = brought(format_)
    top, scene = settings(rig).collection, bpy.context.scene.collection
    for child in list(top.children):
        scene.children.link(child)
    scene.objects.link(rig)
    bpy.data.collections.remove(top)
    pick(rig)
    with pytest.raises(RuntimeError, match="its collection is missing. Press Rebuild Missing Parts"):
        export(tmp_path, format_)
    assert not (tmp_path / MODELS[format_].name).exists()
    fix("collection-gone")
    assert is_whole(export(tmp_path, format_), format_)


# ---------------------------------------------------------------- names


@each_format
def test_names_of_what_is_no_part_are_nobodys_business(blank: Any, tmp_path: Path, format_: str) -> None:
    rig = brought(format_)
    rig.name, rig.data.name = "My Rig", "My Armature"
    for kind in (bpy.data.meshes, bpy.data.materials, bpy.data.texts, bpy.data.actions, bpy.data.scenes):
        for each in list(kind):
            each.name = "Mine"
    for each in (settings(rig).collection, *settings(rig).collection.children_recursive):
        each.name = "My Folder"
    reopened(tmp_path)
    assert is_whole(export(tmp_path, format_), format_)


LONG = "Ünïcödé 漢字 " + "x" * 60


@each_format
def test_bodies_that_exchange_their_names_do_in_the_file(blank: Any, tmp_path: Path, format_: str) -> None:
    rig = brought(format_)
    one, other = parts(rig, "BODY")[1], last(rig)  # the first of x_xy is the world
    first, second = record_of(one).source_name, record_of(other).source_name
    one.name = "Aside"
    other.name, one.name = first, second
    reopened(tmp_path)
    names = {body.name for body in formats.load(export(tmp_path, format_)).bodies}
    assert names == {body.name for body in formats.load(MODELS[format_]).bodies}
    assert not is_whole(tmp_path / MODELS[format_].name, format_)


@each_format
def test_any_name_can_be_written_and_read(blank: Any, tmp_path: Path, format_: str) -> None:
    rig = brought(format_)
    for name in (LONG, "a/b<c>&\"d\" 'e'", " ", "a\tb\nc", "\x01\x02", "world", "fixed"):
        last(rig).name = name
        path = export(tmp_path, format_)
        assert len(formats.load(path).bodies) == len(formats.load(MODELS[format_]).bodies), name
        assert is_sound(rig, path), name


def is_sound(rig: Any, path: Path) -> bool:
    """Whether all bodies of a file have the masses and hang on the joints that they did."""
    kept = formats.load(MODELS[settings(rig).format])
    now = formats.load(path)
    return sorted(body.mass for body in now.bodies) == sorted(body.mass for body in kept.bodies) and len(
        now.joints
    ) == len(kept.joints)


# ---------------------------------------------------------------- deleted


def _one_of(rig: Any, role: str, dice: random.Random) -> Any:
    found = all_parts(rig, role)
    return dice.choice(found) if found else None


def _delete(obj: Any) -> None:
    if obj is not None:
        bpy.data.objects.remove(obj)


def _bones(rig: Any, dice: random.Random) -> None:
    if rig.name not in bpy.context.view_layer.objects or not len(rig.data.bones):
        return
    pick(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in dice.sample(list(rig.data.edit_bones), dice.randint(1, len(rig.data.edit_bones))):
        rig.data.edit_bones.remove(bone)
    bpy.ops.object.mode_set(mode="OBJECT")


def _folder(rig: Any, dice: random.Random) -> None:
    folders = settings(rig).collection.children_recursive if settings(rig).collection is not None else []
    if folders:
        bpy.data.collections.remove(dice.choice(folders))


def _text(rig: Any) -> None:
    if settings(rig).document is not None:
        bpy.data.texts.remove(settings(rig).document)


def _mesh(rig: Any, dice: random.Random) -> None:
    obj = _one_of(rig, "BODY", dice)
    if obj is not None:
        bpy.data.meshes.remove(obj.data)


DELETIONS: dict[str, Callable[[Any, random.Random], None]] = {
    "body": lambda rig, dice: _delete(_one_of(rig, "BODY", dice)),
    "joint": lambda rig, dice: _delete(_one_of(rig, "JOINT", dice)),
    "collision": lambda rig, dice: _delete(_one_of(rig, "SHAPE", dice)),
    "frame": lambda rig, dice: _delete(_one_of(rig, "FRAME", dice)),
    "light": lambda rig, dice: _delete(_one_of(rig, "LIGHT", dice)),
    "bones": _bones,
    "folder": _folder,
    "text": lambda rig, _dice: _text(rig),
    "mesh": _mesh,
    "world": lambda _rig, _dice: bpy.ops.rigidbody.world_remove() if bpy.context.scene.rigidbody_world else None,
    "unlinked": lambda rig, _dice: (
        settings(rig).collection.objects.unlink(rig) if rig.name in settings(rig).collection.objects else None
    ),
}


@pytest.mark.parametrize("seed", range(12))
def test_whatever_is_deleted_the_rest_goes_out_or_it_is_said_why_not(
    blank: Any, tmp_path: Path, seed: int, capfd: Any
) -> None:
    dice = random.Random(seed)
    format_ = list(MODELS)[seed % 4]
    rig = brought(format_)
    done = dice.choices(list(DELETIONS), k=dice.randint(1, 5))
    for each in done:
        DELETIONS[each](rig, dice)
        bpy.context.view_layer.update()
    left = {role: len(all_parts(rig, role)) for role in ("BODY", "JOINT")} if settings(rig).collection else {}
    path = tmp_path / MODELS[format_].name
    layer = bpy.context.view_layer
    layer.objects.active = next((obj for obj in layer.objects if record_of(obj).model), None)
    capfd.readouterr()
    try:
        result = bpy.ops.export_scene.mechanism(filepath=str(path))
    except RuntimeError as error:
        assert "Traceback" not in str(error), (done, str(error))
        assert "armature" in str(error) or "no mechanism" in str(error), (done, str(error))
        assert not path.exists()
        return
    assert "Traceback" not in "".join(capfd.readouterr()), done
    assert result == {"FINISHED"}
    assert len(formats.load(path).bodies) == left["BODY"], done
    assert len(formats.load(path).joints) <= left["JOINT"], done


def test_without_its_armature_it_is_said_how_to_get_it_back(blank: Any, tmp_path: Path) -> None:
    rig = brought("skel")
    obj = last(rig)
    pick(rig)
    bpy.ops.object.delete()
    with pytest.raises(RuntimeError, match="armature .* was deleted"):
        export(tmp_path, "skel")
    pick(obj)
    with pytest.raises(RuntimeError, match="restore it with Rebuild Missing Parts"):
        export(tmp_path, "skel")
    fix("armature-gone")
    assert is_whole(export(tmp_path, "skel"), "skel")


# ---------------------------------------------------------------- meshes


def modified(rig: Any) -> None:
    last(rig).modifiers.new("Round", "SUBSURF")


def only_in_renders(rig: Any) -> None:
    made = last(rig).modifiers.new("Round", "SOLIDIFY")
    made.show_viewport = False


def instancing(rig: Any) -> None:
    last(rig).instance_type = "VERTS"


@pytest.mark.parametrize(
    ("act", "code"), [(modified, "mesh-modified"), (only_in_renders, "mesh-modified"), (instancing, "body-instancer")]
)
@pytest.mark.parametrize("format_", ["skel", "shift"])
def test_mesh_data_that_no_format_has_is_reported(
    blank: Any, tmp_path: Path, format_: str, act: Act, code: str
) -> None:
    rig = brought(format_)
    act(rig)
    assert code in told(rig)
    assert is_whole(export(tmp_path, format_), format_)


def half_as_large_again(rig: Any) -> None:
    """And left in edit mode."""
    import bmesh

    obj = last(rig)
    pick(obj)
    bpy.ops.object.mode_set(mode="EDIT")
    work = bmesh.from_edit_mesh(obj.data)
    for vertex in work.verts:
        vertex.co *= 1.5
    bmesh.update_edit_mesh(obj.data)


def emptied(rig: Any) -> None:
    last(rig).data = bpy.data.meshes.new("None")


def loose(rig: Any) -> None:
    mesh = bpy.data.meshes.new("Points")
    mesh.from_pydata([(0, 0, 0), (1, 1, 1)], [], [])
    last(rig).data = mesh


def applied(rig: Any) -> None:
    obj = last(rig)
    obj.data = obj.data.copy()
    obj.scale.z *= 1.5
    bpy.context.view_layer.update()
    pick(obj)
    bpy.ops.object.transform_apply(location=False, rotation=False, scale=True)


def joined(rig: Any) -> None:
    pick(last(rig), parts(rig, "BODY")[0])
    bpy.ops.object.join()


@pytest.mark.parametrize("act", [half_as_large_again, applied])
@pytest.mark.parametrize("format_", ["juice", "skel", "shift"])
def test_a_mesh_that_was_sized_as_a_whole_is_reported_and_written(
    blank: Any, tmp_path: Path, format_: str, act: Act
) -> None:
    rig = brought(format_)
    assert "transform-applied" not in told(rig)
    act(rig)
    assert {"transform-applied", "mesh-edited"} & told(rig).keys()
    assert len(formats.load(export(tmp_path, format_)).bodies) == len(all_parts(rig, "BODY"))


@pytest.mark.parametrize("act", [emptied, loose, joined])
@pytest.mark.parametrize("format_", ["juice", "skel", "shift"])
def test_an_edited_mesh_is_reported(blank: Any, tmp_path: Path, format_: str, act: Act) -> None:
    rig = brought(format_)
    act(rig)
    assert "mesh-edited" in told(rig)
    assert len(formats.load(export(tmp_path, format_)).bodies) == len(all_parts(rig, "BODY"))


def test_a_mesh_of_the_users_goes_out_as_it_is_edited(blank: Any, tmp_path: Path) -> None:
    """One that came from no file, in edit mode, and with what modifiers make of it."""
    bpy.ops.knuckle.new_model(name="Zoo")
    rig = bpy.context.object
    bpy.ops.mesh.primitive_monkey_add(location=(0, 0, 1))
    ape = bpy.context.object
    pick(ape, rig)
    bpy.ops.knuckle.make_body(as_mesh=True)
    row = ape.modifiers.new("Two", "ARRAY")
    row.show_in_editmode = True
    half_as_large_again(rig)
    bpy.context.view_layer.update()
    path = tmp_path / "zoo.skel"
    assert bpy.ops.export_scene.mechanism(filepath=str(path), format="skel") == {"FINISHED"}
    text = (tmp_path / "zoo_meshes" / f"{ape.name}.obj").read_text().splitlines()
    points = [tuple(map(float, line.split()[1:4])) for line in text if line.startswith("v ")]
    bpy.ops.object.mode_set(mode="OBJECT")
    shown = ape.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    assert len(points) == len(shown.vertices) == 2 * len(ape.data.vertices)
    assert max(p[0] for p in points) == pytest.approx(max(v.co.x for v in shown.vertices), abs=1e-5)


@each_format
def test_a_position_that_is_no_number_is_rejected_by_name(blank: Any, tmp_path: Path, format_: str) -> None:
    rig = brought(format_)
    obj = last(rig)
    before = obj.location.x
    for number in ("nan", "inf", "-inf", "1e30"):
        obj.location.x = float(number)
        with pytest.raises(RuntimeError, match=f"'{obj.name}': its transform is not finite"):
            export(tmp_path, format_)
        assert not (tmp_path / MODELS[format_].name).exists()
    obj.location.x = before
    assert is_whole(export(tmp_path, format_), format_)
