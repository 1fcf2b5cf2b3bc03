"""Apply (Ctrl+A) on armatures, bodies and empties: the file has everything where it is seen, or the report tells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon import formats
from addon.core.kinematics import initial_joint_values, spanning_tree
from tests.support.scenes import OWN, imported, pick, the_rig

_MODELS = sorted(path.name for ending in ("jm", "skel", "json", "xml") for path in OWN.rglob(f"*.{ending}"))
_FAST = ("desk_lamp.skel", "pumpjack.json")
models = pytest.mark.parametrize(
    "name", [name if name in _FAST else pytest.param(name, marks=pytest.mark.slow) for name in _MODELS]
)
_KINDS = ("location", "rotation", "scale")
kinds = pytest.mark.parametrize("kind", [*(pytest.param(kind, marks=pytest.mark.slow) for kind in _KINDS), "all"])


def apply(kind: str, *objects: Any) -> None:
    import bpy

    for obj in objects:
        if obj.type == "MESH" and obj.data.users > 1:
            obj.data = obj.data.copy()  # Blender applies to no mesh that is shared
    pick(*objects)
    wanted = {name: kind in {name, "all"} for name in _KINDS}
    assert bpy.ops.object.transform_apply(**wanted) == {"FINISHED"}
    bpy.context.view_layer.update()


def read(folder: Path, name: str) -> tuple[str, dict[tuple[str, ...], np.ndarray]]:
    """The text of what is exported, and where shapes, centers of mass and joints are in it as it begins."""
    import bpy

    path = folder / name
    pick(the_rig())
    assert bpy.ops.export_scene.mechanism(filepath=str(path), meshes="REFER") == {"FINISHED"}
    mechanism = formats.load(path)
    poses = spanning_tree(mechanism).forward(initial_joint_values(mechanism))[0]
    pose_of = {body.id: pose for body, pose in zip(mechanism.bodies, poses, strict=True)} | {None: np.eye(4)}
    out: dict[tuple[str, ...], np.ndarray] = {}
    for body in mechanism.bodies:
        out["com", body.id] = (pose_of[body.id] @ [*body.com, 1.0])[:3]
        for number, shape in enumerate(body.shapes):
            size = np.array([*shape.size.values()])
            out["shape", body.id, str(number)] = np.append(pose_of[body.id] @ shape.pose, size)
    for joint in mechanism.joints:
        out["joint", joint.id] = pose_of[joint.parent] @ joint.frame_parent
    return path.read_text(), out


def assert_same(before: dict[tuple[str, ...], np.ndarray], after: dict[tuple[str, ...], np.ndarray]) -> None:
    assert before.keys() == after.keys()
    for key, there in before.items():
        assert after[key] == pytest.approx(there, abs=2e-5 * max(1.0, np.abs(there).max())), key


@models
@kinds
def test_an_untouched_armature_is_written_as_it_was_read(blank: Any, tmp_path: Path, name: str, kind: str) -> None:
    """Also through a saved .blend, and after Update Armature, which moves nothing."""
    import bpy

    rig = imported(name)
    text, _ = read(tmp_path, name)
    apply(kind, rig)
    assert read(tmp_path, name)[0] == text
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "applied.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "applied.blend"))
    assert read(tmp_path, name)[0] == text
    bpy.context.view_layer.update()
    places = {obj.name: np.array(obj.matrix_world) for obj in bpy.context.view_layer.objects if obj.type == "EMPTY"}
    pick(the_rig())
    assert bpy.ops.knuckle.refit() == {"FINISHED"}
    bpy.context.view_layer.update()
    for own, place in places.items() if name != "pumpjack.json" else ():  # the loop closes a little otherwise
        if own in bpy.data.objects and bpy.data.objects[own].knuckle.role in {"JOINT", "FRAME"}:
            now, near = np.array(bpy.data.objects[own].matrix_world), 2e-5 * float(np.abs(place).max())
            assert now == pytest.approx(place, abs=near), own
    assert read(tmp_path, name)[0] == text


@pytest.mark.parametrize("name", ["desk_lamp.skel", "pumpjack.json"])
def test_a_rotated_armature_gives_the_file_the_users_rotation_alone(blank: Any, tmp_path: Path, name: str) -> None:
    """The import's own turn, which stands the model upright, is no part of the design."""
    from mathutils import Matrix

    rig = imported(name)
    _, before = read(tmp_path, name)
    turn = Matrix.Translation((0.3, -0.2, 0.1)) @ Matrix.Rotation(0.7, 4, "Z")
    upright = np.array(rig.matrix_basis)
    rig.matrix_basis = turn @ rig.matrix_basis
    apply("all", rig)
    moved = np.linalg.inv(upright) @ np.array(turn) @ upright
    _, after = read(tmp_path, name)
    for key, there in before.items():
        if key[0] == "com":
            assert after[key] == pytest.approx((moved @ [*there, 1.0])[:3], abs=1e-5), key


@models
@kinds
@pytest.mark.parametrize("edited", [False, True])
def test_bodies_stay_where_they_are_seen(blank: Any, tmp_path: Path, name: str, kind: str, edited: bool) -> None:
    import bpy

    from addon.blender.data.queries import parts

    rig = imported(name)
    bodies = [obj for obj in parts(rig, "BODY") if obj.visible_get()]
    for number, obj in enumerate(bodies if edited else []):
        obj.rotation_mode = "XYZ"
        obj.location[1] += 0.07
        obj.rotation_euler[0] += 0.3
        obj.scale = [1.0 + 0.2 * (number % 3)] * 3
    bpy.context.view_layer.update()
    text, before = read(tmp_path, name)
    corner = {obj.name: np.array(obj.matrix_world @ obj.data.vertices[0].co) for obj in bodies if obj.data.vertices}
    apply(kind, *bodies)
    after_text, after = read(tmp_path, name)
    assert_same(before, after)
    assert edited or after_text == text
    pick(rig)
    assert bpy.ops.knuckle.refit() == {"FINISHED"}
    bpy.context.view_layer.update()
    assert_same(before, read(tmp_path, name)[1])
    for obj in parts(rig, "BODY"):
        if obj.name in corner:
            there = np.array(obj.matrix_world @ obj.data.vertices[0].co)
            assert there == pytest.approx(corner[obj.name], abs=1e-5), obj.name


@models
@pytest.mark.parametrize("kind", ["location", "rotation"])
@pytest.mark.parametrize("role", ["JOINT", "FRAME"])
def test_each_empty_moved_by_an_applied_transform_is_reported(blank: Any, name: str, kind: str, role: str) -> None:
    """Empties have no data that takes their transform over: Blender moves them."""
    import bpy

    from addon.blender.data.queries import parts
    from addon.blender.scene.read.mechanism import extract

    rig = imported(name)
    empties = [obj for obj in parts(rig, role) if obj.visible_get()]
    if not empties:
        pytest.skip(f"{name} has none")
    before = {obj.name: np.array(obj.matrix_world) for obj in empties}
    apply(kind, *empties)
    moved = {
        own
        for own, there in before.items()
        if np.abs(np.array(bpy.data.objects[own].matrix_world) - there).max() > 1e-4
    }
    told = {entry.where for entry in extract(rig).report.entries if entry.code == "transform-cleared"}
    assert told == moved


def test_a_joint_put_at_an_origin_on_purpose_has_lost_nothing(blank: Any) -> None:
    """The warning says where the joint is and how far that is from before, which is true of it too."""
    from addon.blender.data.queries import parts
    from addon.blender.scene.read.mechanism import extract

    rig = imported("pumpjack.json")
    empty = next(obj for obj in parts(rig, "JOINT") if obj.matrix_basis.translation.length > 0.1)
    before = empty.matrix_basis.translation.length
    empty.location = (0.0, 0.0, 0.0)
    (entry,) = (entry for entry in extract(rig).report.entries if entry.code == "transform-cleared")
    assert "lost" not in entry.message and f"moved by {before:.3g} m to the origin" in entry.message


def test_to_look_at_a_model_before_an_edit_changes_nothing(blank: Any) -> None:
    from addon.blender.data.queries import parts
    from addon.blender.reconcile.rig_state import RigState

    def state() -> list[Any]:
        meshes = [[corner.co[:] for corner in obj.data.vertices] for obj in parts(rig, "BODY")]
        bones = [bone.matrix_local.copy() for bone in rig.data.bones]
        objects = [obj.matrix_basis.copy() for obj in (rig, *parts(rig, "BODY"), *parts(rig, "JOINT"))]
        return [meshes, bones, objects]

    rig = imported("desk_lamp.skel")
    bodies = parts(rig, "BODY")
    for obj in bodies:
        obj.location[1] += 0.07
    apply("all", rig, *bodies)
    before = state()
    RigState(rig)
    assert state() == before


@pytest.mark.parametrize("how", ["linked duplicate", "other object", "fake user"])
def test_origins_go_back_where_a_mesh_has_other_users(blank: Any, how: str) -> None:
    """Nothing is seen to move, of the body and of what else has its mesh; copies of a body go on sharing theirs."""
    import bpy

    from addon.blender.data.access import record_of
    from addon.blender.data.queries import parts
    from addon.blender.scene.read.mechanism import extract

    rig = imported("desk_lamp.skel")
    obj = next(each for each in parts(rig, "BODY") if record_of(each).source_name == "shade")
    obj.shape_key_add(name="Basis")
    obj.shape_key_add(name="Wide").data[0].co.x += 0.5
    obj.location[1] += 0.07
    bpy.context.view_layer.update()
    place = obj.matrix_world.translation.copy()
    apply("all", obj)
    pick(obj)
    if how == "linked duplicate":
        bpy.ops.object.duplicate(linked=True)
    elif how == "other object":
        bpy.context.scene.collection.objects.link(bpy.data.objects.new("Other", obj.data))
    else:
        obj.data.use_fake_user = True
    assert obj.data.users > 1
    bpy.context.view_layer.update()
    users = [each for each in bpy.data.objects if each.data == obj.data]
    seen = {each.name: [each.matrix_world @ corner.co for corner in each.data.vertices] for each in users}
    wide = [obj.matrix_world @ point.co for point in obj.data.shape_keys.key_blocks["Wide"].data]
    codes = [entry.code for entry in extract(rig).report.entries]
    assert codes.count("transform-applied") == len(seen) - (how == "other object")
    pick(rig)
    assert bpy.ops.knuckle.refit() == {"FINISHED"}
    bpy.context.view_layer.update()
    for own, corners in seen.items():
        there = bpy.data.objects[own]
        now = [there.matrix_world @ corner.co for corner in there.data.vertices]
        assert np.abs(np.array(now) - np.array(corners)).max() < 1e-5, own
    now = [obj.matrix_world @ point.co for point in obj.data.shape_keys.key_blocks["Wide"].data]
    assert np.abs(np.array(now) - np.array(wide)).max() < 1e-5
    assert "transform-applied" not in {entry.code for entry in extract(rig).report.entries}
    bodies = [each for each in users if record_of(each).role == "BODY"]
    assert len({each.data for each in bodies}) == 1
    for each in bodies:
        assert each.matrix_world.translation[:] == pytest.approx(place[:], abs=1e-5)


@pytest.mark.parametrize("name", ["desk_lamp.skel", "humanoid.skel"])
def test_bones_that_an_edit_turned_know_their_rests(blank: Any, tmp_path: Path, name: str) -> None:
    """An armature that is applied after them gives the file nothing."""
    import bpy

    from addon.blender.data.queries import mechanism_bones, parts

    rig = imported(name)
    for number, empty in enumerate(parts(rig, "JOINT")):
        empty.rotation_mode = "XYZ"
        empty.rotation_euler[number % 3] += 0.4 + 0.1 * number
    bpy.context.view_layer.update()
    before = {bone.name: np.array(bone.matrix_local.to_3x3()) for bone in rig.data.bones}
    pick(rig)
    assert bpy.ops.knuckle.refit() == {"FINISHED"}
    own = mechanism_bones(rig)
    turned = [bone for bone in rig.data.bones if np.abs(np.array(bone.matrix_local.to_3x3()) - before[bone.name]).max()]
    assert turned
    for bone in rig.data.bones:
        if bone.name in own:
            rest = np.array(bone.knuckle.rest[:]).reshape(3, 3)
            assert rest == pytest.approx(np.array(bone.matrix_local.to_3x3()), abs=1e-5), bone.name
    text, there = read(tmp_path, name)
    apply("rotation", rig)
    assert_same(there, read(tmp_path, name)[1])
