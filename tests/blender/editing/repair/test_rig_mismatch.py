"""Bones that users edit, or whose pose they apply as the rest: it is told, by the check and by the export, and a click
takes it back to the last byte."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from addon.blender.data.access import record_of, settings
from addon.blender.data.queries import parts
from addon.blender.editing.repair.checks import check_model
from addon.blender.editing.repair.rig_mismatch import edited_bones
from addon.blender.scene.read.mechanism import extract
from tests.support.scenes import found, made, pick, the_rig


def brought(name: str) -> tuple[Any, Path]:
    source = found(name)
    assert bpy.ops.import_scene.mechanism(filepath=str(source), gait=False) == {"FINISHED"}
    return the_rig(), source


def codes(rig: Any) -> list[str]:
    assert bpy.ops.knuckle.check_model() == {"FINISHED"}
    return [row.code for row in settings(rig).findings]


def prop_on(rig: Any, bone: str) -> Any:
    """A user's empty that is parented to a bone."""
    prop = bpy.data.objects.new(f"prop on {bone}", None)
    bpy.context.scene.collection.objects.link(prop)
    prop.parent, prop.parent_type, prop.parent_bone = rig, "BONE", bone
    prop.location = (0.1, 0.2, 0.3)
    bpy.context.view_layer.update()
    return prop


def on_bone(prop: Any) -> Any:
    """The pose (4, 4) of an object on the bone that it is parented to."""
    rig = prop.parent
    return np.array((rig.matrix_world @ rig.pose.bones[prop.parent_bone].matrix).inverted() @ prop.matrix_world)


def told_at_export(path: Path, capfd: Any) -> str:
    capfd.readouterr()
    assert bpy.ops.export_scene.mechanism(filepath=str(path)) == {"FINISHED"}
    return str(capfd.readouterr().out)


def in_edit_mode(change: Callable[[Any], None]) -> Callable[[Any], None]:
    def edit(rig: Any) -> None:
        pick(rig)
        bpy.ops.object.mode_set(mode="EDIT")
        change(rig.data.edit_bones["shoulder"])
        bpy.ops.object.mode_set(mode="OBJECT")

    return edit


def _roll(bone: Any) -> None:
    bone.roll += 1.0


def _tail(bone: Any) -> None:
    bone.tail.x += 0.2
    bone.tail.y += 0.1


def pose_as_rest(rig: Any) -> None:
    pick(rig)
    bone = next(pose for pose in rig.pose.bones if pose.bone.parent is not None)
    bone.rotation_euler.z += 0.5
    bpy.context.view_layer.update()
    bpy.ops.object.mode_set(mode="POSE")
    assert bpy.ops.pose.armature_apply(selected=False) == {"FINISHED"}
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.context.view_layer.update()


@pytest.mark.parametrize(
    ("name", "harm", "code"),
    [
        ("desk_lamp.skel", in_edit_mode(_roll), "bones-edited"),
        ("desk_lamp.skel", in_edit_mode(_tail), "bones-edited"),
        ("desk_lamp.skel", pose_as_rest, "rest-applied"),
        ("hexapod.jm", pose_as_rest, "rest-applied"),
        ("pumpjack.json", pose_as_rest, "rest-applied"),
        ("humanoid.skel", pose_as_rest, "rest-applied"),
    ],
)
def test_edited_bones_are_reported_and_put_back(
    blank: Any, tmp_path: Path, capfd: Any, name: str, harm: Callable[[Any], None], code: str
) -> None:
    rig, source = brought(name)
    assert not {"bones-edited", "rest-applied"} & set(codes(rig))
    props = {bone: prop_on(rig, bone) for bone, _each in rig.data.bones.items()}
    stood = {bone: on_bone(prop) for bone, prop in props.items()}
    harm(rig)
    found_now = codes(rig)
    assert code in found_now and "joint-moved" not in found_now
    message = settings(rig).findings[found_now.index(code)].message
    assert f"Warning: {message}" in told_at_export(tmp_path / f"bent{source.suffix}", capfd)
    assert bpy.ops.knuckle.fix_finding(index=codes(rig).index(code)) == {"FINISHED"}
    assert code not in codes(rig)
    for bone, prop in props.items():
        assert on_bone(prop) == pytest.approx(stood[bone], abs=1e-5), bone
        bpy.data.objects.remove(prop)
    told_at_export(tmp_path / f"again{source.suffix}", capfd)
    assert (tmp_path / f"again{source.suffix}").read_bytes() == source.read_bytes()


def test_who_updates_the_armature_after_a_pose_was_applied_is_told_that_it_is_restored(blank: Any, capfd: Any) -> None:
    rig, _source = brought("desk_lamp.skel")
    assert bpy.ops.knuckle.refit() == {"FINISHED"}
    assert "applied pose, restored" not in capfd.readouterr().out
    pose_as_rest(rig)
    assert bpy.ops.knuckle.refit() == {"FINISHED"}
    assert "applied pose, restored" in capfd.readouterr().out
    assert "rest-applied" not in codes(rig)


def test_a_place_that_is_applied_edits_no_bone(blank: Any) -> None:
    rig, _source = brought("desk_lamp.skel")
    rig.location, rig.rotation_euler = (0.3, -0.2, 0.5), (0.1, 0.2, 0.3)
    pick(rig)
    assert bpy.ops.object.transform_apply(location=True, rotation=True, scale=False) == {"FINISHED"}
    bpy.context.view_layer.update()
    assert not {"bones-edited", "rest-applied"} & set(codes(rig))


@pytest.mark.parametrize("name", ["hexapod.jm", "pumpjack.json", "sensor_leg.xml", "humanoid.skel", "rover.jm"])
def test_bones_that_nobody_edited_are_not_reported(blank: Any, name: str) -> None:
    """Also after edits of ours, posed, far from the origin, and when a body was moved by hand."""
    rig, _source = brought(name)
    rig.location = (40.0, -30.0, 5.0)
    bone = next(pose for pose in rig.pose.bones if pose.bone.parent is not None)
    bone.rotation_euler.z += 0.3
    bpy.context.view_layer.update()
    assert edited_bones(rig) == {}
    body = next(obj for obj in parts(rig, "BODY") if obj.parent_bone == bone.name)
    body.location.x += 0.1
    joint = next(obj for obj in parts(rig, "JOINT") if record_of(obj).joint.child == body)
    bpy.context.scene.cursor.location = np.array(joint.matrix_world.translation) + 0.05
    pick(joint)
    assert bpy.ops.knuckle.move_joint() == {"FINISHED"}
    assert edited_bones(rig) == {}
    assert not {"bones-edited", "rest-applied"} & set(codes(rig))


@pytest.mark.parametrize("posed", [False, True])
def test_a_bone_that_was_unparented_is_found_and_parented_again(blank: Any, posed: bool) -> None:
    rig = made("desk_lamp.skel")
    assert "bones-unparented" not in {each.code for each in check_model(rig)}
    shoulder = rig.data.bones["elbow"].parent.name
    if posed:
        rig.pose.bones[shoulder].rotation_euler.z += 0.3
    bpy.context.view_layer.update()
    before = {obj: np.array(obj.matrix_world) for obj in parts(rig, "BODY")}
    design = {body.id: body.pose for body in extract(rig).bodies}
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    rig.data.edit_bones["elbow"].parent = None
    bpy.ops.object.mode_set(mode="OBJECT")
    assert bpy.ops.knuckle.check_model() == {"FINISHED"}
    (number,) = (n for n, each in enumerate(settings(rig).findings) if each.code == "bones-unparented")
    assert bpy.ops.knuckle.fix_finding(index=number) == {"FINISHED"}
    bpy.context.view_layer.update()
    assert rig.data.bones["elbow"].parent.name == shoulder
    for obj, place in before.items():
        np.testing.assert_allclose(np.array(obj.matrix_world), place, atol=2e-6, err_msg=obj.name)
    for body in extract(rig).bodies:
        np.testing.assert_allclose(body.pose, design[body.id], atol=1e-9, err_msg=body.name)


def test_a_bone_of_the_users_between_two_of_the_mechanism_is_no_mismatch(blank: Any) -> None:
    rig = made("desk_lamp.skel")
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    elbow, own = rig.data.edit_bones["elbow"], rig.data.edit_bones.new("own")
    own.head, own.tail, own.parent = elbow.head, elbow.tail, elbow.parent
    elbow.parent = own
    bpy.ops.object.mode_set(mode="OBJECT")
    assert "bones-unparented" not in {each.code for each in check_model(rig)}


@pytest.mark.parametrize("name", ["desk_lamp.skel", "hexapod.jm", "pumpjack.json", "sensor_leg.xml"])
def test_an_applied_scale_of_the_armature_is_named_and_no_fix_makes_it_worse(blank: Any, name: str) -> None:
    rig = made(name)
    pick(rig)
    assert "scale-applied" not in {finding.code for finding in check_model(rig)}
    rig.scale = (2.0, 2.0, 2.0)
    bpy.context.view_layer.update()
    assert bpy.ops.object.transform_apply(location=False, rotation=False, scale=True) == {"FINISHED"}
    bpy.context.view_layer.update()
    (told,) = check_model(rig)
    assert told.code == "scale-applied" and not told.fix
    assert "2" in str(told.message)
    before = [tuple(bone.head_local) for bone in rig.data.bones]
    with pytest.raises(RuntimeError, match="scale"):
        bpy.ops.knuckle.refit()
    assert [tuple(bone.head_local) for bone in rig.data.bones] == before
