"""Export of models whose parts the user hung elsewhere: what can be followed is where it was seen, byte for byte the
same where nothing moved, and what cannot is told with what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Quaternion

from addon.blender.data.access import record_of, settings
from addon.blender.data.queries import parts
from tests.support.exporting import (
    MODELS,
    brought,
    crossed,
    empty,
    export,
    in_file,
    is_whole,
    last,
    reopened,
    rest,
    seen,
    stray,
    told,
)
from tests.support.scenes import pick

each_format = pytest.mark.parametrize("format_", list(MODELS))
Act = Callable[[Any], None]


# ---------------------------------------------------------------- the whole


def under_an_empty(rig: Any) -> None:
    rig.parent = empty((1, 2, 3), (0.3, 0.4, 0.5))


def moved(rig: Any) -> None:
    rig.location, rig.rotation_mode = (1, 2, 3), "XYZ"
    rig.rotation_euler.z += 0.7


def instanced(rig: Any) -> None:
    made = empty((5, 0, 0))
    made.instance_type, made.instance_collection = "COLLECTION", rig.data.knuckle.collection
    rig.data.knuckle.collection.instance_offset = (1, 2, 3)


@crossed([under_an_empty, moved, instanced])
def test_where_the_whole_stands_is_no_edit(blank: Any, tmp_path: Path, format_: str, act: Act) -> None:
    act(brought(format_))
    reopened(tmp_path)
    assert is_whole(export(tmp_path, format_), format_)


def doubled(rig: Any) -> None:
    rig.scale = (2, 2, 2)


def mirrored(rig: Any) -> None:
    rig.scale.x = -1


def uneven(rig: Any) -> None:
    rig.scale.z = 3


def under_a_shear(rig: Any) -> None:
    rig.parent = empty(scale=(1, 1, 2))
    rig.rotation_mode = "XYZ"
    rig.rotation_euler.x += 0.5


@pytest.mark.parametrize("act", [doubled, mirrored, uneven, under_a_shear])
def test_a_scale_of_the_whole_mechanism_is_reported_with_the_remedy(blank: Any, tmp_path: Path, act: Act) -> None:
    rig = brought("skel")
    act(rig)
    bpy.context.view_layer.update()
    assert "Clear the scale (Alt+S)" in told(rig)["scaled-model"]
    assert is_whole(export(tmp_path, "skel"), "skel")


@each_format
def test_an_applied_place_of_the_whole_is_followed(blank: Any, tmp_path: Path, format_: str) -> None:
    """In whatever pose it is applied: bodies then have the world's place as their own."""
    rig = brought(format_)
    before = in_file(MODELS[format_])
    rig.location = (1, 2, 3)
    bpy.context.view_layer.update()
    upright = np.eye(4)
    upright[:3, :3] = np.array(Quaternion(settings(rig).upright).to_matrix())
    turned = np.linalg.inv(upright) @ seen(rig)
    places = {obj.name: np.array(obj.matrix_world) for obj in parts(rig, "BODY")}
    pick(rig)
    assert bpy.ops.object.transform_apply(location=True, rotation=True, scale=True) == {"FINISHED"}
    bpy.context.view_layer.update()
    for obj in parts(rig, "BODY"):
        assert np.array(obj.matrix_world) == pytest.approx(places[obj.name], abs=2e-5), "applying it moves nothing"
    rig = reopened(tmp_path)
    path = export(tmp_path, format_)
    for own, pose in in_file(path).items():
        assert pose == pytest.approx(turned @ before[own], abs=2e-5), own
    rest(rig)
    pick(rig)
    assert bpy.ops.knuckle.refit() == {"FINISHED"}
    assert stray(rig, path) < 2e-5, "the armature made anew changes nothing"


def test_an_applied_scale_of_the_whole_is_followed(blank: Any, tmp_path: Path) -> None:
    rig = brought("skel")
    rig.scale = (2, 2, 2)
    bpy.context.view_layer.update()
    pick(rig)
    bpy.ops.object.transform_apply(location=False, rotation=False, scale=True)
    path = export(tmp_path, "skel")
    assert not is_whole(path, "skel")
    rest(rig)
    assert stray(rig, path) < 1e-5


# ---------------------------------------------------------------- bodies hung elsewhere


def hang(obj: Any, parent: Any) -> None:
    pick(obj, parent)
    assert bpy.ops.object.parent_set(type="OBJECT", keep_transform=True) == {"FINISHED"}


def on_an_empty(rig: Any) -> None:
    hang(last(rig), empty((1, 2, 3), (0.3, 0.4, 0.5)))


def on_a_body(rig: Any) -> None:
    hang(last(rig), parts(rig, "BODY")[0])


def on_nothing(rig: Any) -> None:
    pick(last(rig))
    bpy.ops.object.parent_clear(type="CLEAR_KEEP_TRANSFORM")


def dropped(rig: Any) -> None:
    pick(last(rig))
    bpy.ops.object.parent_clear(type="CLEAR")


HUNG = [on_an_empty, on_a_body, on_nothing, dropped]


@crossed(HUNG)
def test_a_part_reparented_at_its_position_is_no_edit(blank: Any, tmp_path: Path, format_: str, act: Act) -> None:
    """Also in the pose in which the model begins."""
    act(brought(format_))
    rig = reopened(tmp_path)
    assert "off-bone" in told(rig)
    assert is_whole(export(tmp_path, format_), format_)


@pytest.mark.parametrize("format_", ["juice", "skel", "shift"])  # links of x_xy are where their joints are
@pytest.mark.parametrize("act", HUNG[:2])
def test_a_part_reparented_and_moved_is_exported_where_it_is_seen(
    blank: Any, tmp_path: Path, format_: str, act: Act
) -> None:
    rig = brought(format_)
    rest(rig)
    act(rig)
    obj = last(rig)
    obj.rotation_mode = "XYZ"
    obj.location.z += 0.25
    obj.rotation_euler.x += 0.3
    rig = reopened(tmp_path)
    path = export(tmp_path, format_)
    assert not is_whole(path, format_)
    assert stray(rig, path) < 1e-5
    bpy.ops.knuckle.check_model()
    row = [each.code for each in rig.data.knuckle.findings].index("off-bone")
    assert bpy.ops.knuckle.fix_finding(index=row) == {"FINISHED"}
    assert stray(rig, path) < 1e-5, "mended, it stands where the file has it"
    assert last(rig).parent == rig


def test_a_body_on_corners_of_a_mesh_is_where_it_is_seen(blank: Any, tmp_path: Path) -> None:
    rig = brought("juice")
    rest(rig)
    obj, mesh = last(rig), bpy.data.meshes.new("Mine")
    mesh.from_pydata([(0, 0, 0), (1, 0, 0.2), (0, 1, 0)], [], [(0, 1, 2)])
    holder = bpy.data.objects.new("Mine", mesh)
    bpy.context.scene.collection.objects.link(holder)
    holder.location = (1, 2, 3)
    obj.parent, obj.parent_type, obj.parent_vertices = holder, "VERTEX_3", (0, 1, 2)
    obj.matrix_parent_inverse.identity()
    obj.location = (0, 0, 0.5)
    bpy.context.view_layer.update()
    assert stray(rig, export(tmp_path, "juice")) < 1e-5


def test_a_body_on_another_bone_is_where_it_is_seen_at_rest(blank: Any, tmp_path: Path) -> None:
    rig = brought("juice")
    obj, other = last(rig), parts(rig, "BODY")[3].parent_bone
    assert other != obj.parent_bone
    obj.parent_bone = other  # in the properties: it jumps
    rest(rig)
    path = export(tmp_path, "juice")
    assert not is_whole(path, "juice") and stray(rig, path) < 1e-5


def test_a_reparented_joint_empty_is_followed(blank: Any, tmp_path: Path) -> None:
    rig = brought("juice")
    joint = parts(rig, "JOINT")[0]
    hang(joint, empty((1, 2, 3), (0.3, 0.4, 0.5)))
    assert is_whole(export(tmp_path, "juice"), "juice")
    joint.parent.location.z += 0.25
    rest(rig)
    bpy.context.view_layer.update()
    text = export(tmp_path, "juice").read_text().splitlines()
    changed = set(text) - set(MODELS["juice"].read_text().splitlines())
    assert len(changed) == 1 and "<Z>" in changed.pop(), "one number"


def test_a_shear_is_reported_with_the_remedy(blank: Any, tmp_path: Path) -> None:
    rig = brought("skel")
    obj, outer, inner = last(rig), empty(scale=(1, 1, 2)), empty(turn=(0.5, 0.2, 0))
    inner.parent = outer
    hang(obj, inner)
    outer.scale = (1, 1, 3)
    bpy.context.view_layer.update()
    assert "Apply the scale of its parent" in told(rig)["body-sheared"]
    export(tmp_path, "skel")


def test_a_scale_of_the_parent_of_a_body_is_followed(blank: Any, tmp_path: Path) -> None:
    rig = brought("skel")
    obj, holder = last(rig), empty()
    rest(rig)
    hang(obj, holder)
    size, name = np.array(obj.dimensions) * 2.0, record_of(obj).source_name
    holder.scale = (2, 2, 2)
    bpy.context.view_layer.update()
    path = export(tmp_path, "skel")
    assert stray(rig, path) < 1e-5
    bpy.ops.wm.read_homefile(use_empty=True)
    bpy.ops.import_scene.mechanism(filepath=str(path))
    again = next(each for each in bpy.data.objects if record_of(each).source_name == name)
    assert np.array(again.dimensions) == pytest.approx(size, rel=1e-4)


# ---------------------------------------------------------------- what else moves bodies


def test_a_delta_and_a_driver_are_followed(blank: Any, tmp_path: Path) -> None:
    rig = brought("juice")
    rest(rig)
    last(rig).delta_location = (0, 0, 0.5)
    parts(rig, "BODY")[0].driver_add("location", 2).driver.expression = "5.25"
    rig = reopened(tmp_path)
    path = export(tmp_path, "juice")
    assert not is_whole(path, "juice") and stray(rig, path) < 1e-5


@pytest.mark.parametrize("type_", ["COPY_LOCATION", "CHILD_OF", "TRACK_TO"])
def test_constraints_on_bodies_are_reported_and_can_be_applied(blank: Any, tmp_path: Path, type_: str) -> None:
    rig = brought("juice")
    rest(rig)
    held = last(rig).constraints.new(type_)
    held.target = empty((3, 2, 5), (0.2, 0.3, 0.4))
    bpy.context.view_layer.update()
    held.target.location.x += 1.0
    bpy.context.view_layer.update()
    assert "Visual Transform" in told(rig)["body-constrained"]
    assert is_whole(export(tmp_path, "juice"), "juice")
    pick(last(rig))
    assert bpy.ops.object.visual_transform_apply() == {"FINISHED"}
    held.mute = True
    assert "body-constrained" not in told(rig)
    assert stray(rig, export(tmp_path, "juice")) < 1e-5
    held.mute = False
    held.influence = 0.0
    assert "body-constrained" not in told(rig)
