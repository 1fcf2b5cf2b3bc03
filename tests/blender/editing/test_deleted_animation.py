"""Animation of deleted bones: their curves, pose values and drivers go with them, and what refers to them is reported.

The curves that have to be left are found from the bones that the armature has, and compared with those before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy
import numpy as np
import pytest

from addon.blender.animation.pose_library import store_pose
from addon.blender.compat import action_curves, all_curves, assign_strip_slot, new_curve, use_action
from addon.blender.data.access import record_of
from addon.blender.data.channels import bone_of_path, is_screw_driver_curve, servo_channels
from addon.blender.data.queries import parts
from addon.blender.editing.joints import delete_objects, limb_objects, limb_of, set_joint_type
from addon.blender.editing.split_merge import split_model
from tests.support.holding import Seen
from tests.support.scenes import body, joint_of, made

FRAME = 7


def delete_limb(rig: Any) -> Any:
    return delete_objects(rig, limb_objects(rig, limb_of(rig, [body(rig, "shank")])))[2]


def delete_joint(rig: Any) -> Any:
    return delete_objects(rig, [joint_of(rig, body(rig, "shank"))])[2]


def weld(rig: Any) -> Any:
    return set_joint_type(joint_of(rig, body(rig, "shank")), "weld")


def split(rig: Any) -> Any:
    return split_model(rig, limb_objects(rig, limb_of(rig, [body(rig, "shank")])))[2]


EDITS = [delete_limb, delete_joint, weld, split]


def keyed(rig: Any, name: str, factor: float, bones: Any = None) -> Any:
    """An Action with two keyframes of every servo, or of those on these bones."""
    action = bpy.data.actions.new(name)
    action.use_fake_user = True
    use_action(rig, action)
    curves = action_curves(rig, action)
    for number, channel in enumerate(c for own in servo_channels(rig).values() for c in own):
        if bones is None or channel.bone in bones:
            points = new_curve(curves, channel.path, channel.index, channel.bone).keyframe_points
            for frame in (1, 20):
                points.insert(frame, factor * np.sin(number + frame))
    return action


@pytest.fixture
def rig(blank: Any) -> Any:
    """A leg with an Action that plays, one on an NLA track, one that does not play and one of a deleted bone alone."""
    rig = made("sensor_leg.xml")
    unplayed, strip = keyed(rig, "unplayed", -0.2), keyed(rig, "strip", 0.1)
    keyed(rig, "of the shank", 0.1, {"shank"})
    keyed(rig, "playing", 0.3)
    track = rig.animation_data.nla_tracks.new()
    assign_strip_slot(rig, track.strips.new("strip", 40, strip), strip)
    bpy.context.scene.frame_set(FRAME)
    store_pose(rig, "pose")
    assert {unplayed.name, "pose"} < {action.name for action in bpy.data.actions}
    return rig


def curves_by_action() -> dict[str, dict[tuple[str, int], list[tuple[float, float]]]]:
    return {
        action.name: {
            (curve.data_path, curve.array_index): [tuple(point.co) for point in curve.keyframe_points]
            for curve in all_curves(action)
        }
        for action in bpy.data.actions
    }


@pytest.mark.parametrize("edit", EDITS)
def test_curves_of_deleted_bones_go_from_every_motion_and_pose(rig: Any, edit: Callable[[Any], Any]) -> None:
    seen, before = Seen.of(rig), curves_by_action()
    edit(rig)
    bones = rig.data.bones.keys()
    assert "thigh" in bones
    bones = set(bones) - {"shank"}  # a new bone may have its name
    after = curves_by_action()
    for name, curves in before.items():
        left = {place: keys for place, keys in curves.items() if bone_of_path(place[0]) in bones}
        assert after.get(name, {}) == left, name
    assert "of the shank" in after, "a fake user keeps it"
    now = Seen.of(rig)
    both = seen.bodies.keys() & now.bodies.keys()
    assert both and all(np.abs(seen.bodies[own] - now.bodies[own]).max() < 1e-4 for own in both)


@pytest.mark.parametrize("edit", EDITS)
def test_no_driver_of_a_deleted_bone_is_left(rig: Any, edit: Callable[[Any], Any]) -> None:
    bone = rig.pose.bones["shank"]
    bone["level"] = 0.0
    for owner, prop in ((bone, '["level"]'), (rig.pose.bones["thigh"], "lock_scale")):
        curves = owner.driver_add(prop)
        for curve in curves if isinstance(curves, list) else [curves]:
            curve.driver.expression = "frame"
    edit(rig)
    if edit is weld:
        assert "shank" in rig.data.bones, "its bone is left, without a channel"
        return
    drivers = [curve for curve in rig.animation_data.drivers if not is_screw_driver_curve(curve)]
    assert {bone_of_path(curve.data_path) for curve in drivers} == {"thigh"}


@pytest.mark.parametrize("edit", [delete_limb, delete_joint, split])
def test_an_action_of_deleted_bones_alone_is_removed_with_one_report(rig: Any, edit: Callable[[Any], Any]) -> None:
    bpy.data.actions["of the shank"].use_fake_user = False
    report = edit(rig)
    assert "of the shank" not in bpy.data.actions
    named = [entry.code for entry in report.entries if "'of the shank'" in str(entry.message)]
    assert named == ["empty-action-removed"]


def test_an_action_of_a_joint_that_moves_no_more_is_kept_and_reported(rig: Any) -> None:
    bpy.data.actions["of the shank"].use_fake_user = False
    report = weld(rig)
    assert "of the shank" in bpy.data.actions
    assert [entry.code for entry in report.entries if "'of the shank'" in str(entry.message)] == ["motion-changed"]


@pytest.mark.parametrize("edit", [delete_limb, delete_joint, split])
def test_a_removed_driver_on_a_deleted_bone_is_reported_once(rig: Any, edit: Callable[[Any], Any]) -> None:
    names = {}
    for own in ("shank", "thigh"):
        rig.pose.bones[own]["level"] = 0.0
        rig.pose.bones[own].driver_add('["level"]').driver.expression = "frame"
        names[own] = None
    report = edit(rig)
    everywhere = {
        bone_of_path(curve.data_path)
        for obj in bpy.data.objects
        if obj.type == "ARMATURE" and obj.animation_data is not None
        for curve in obj.animation_data.drivers
    }
    removed = [entry.where for entry in report.entries if entry.code == "bone-driver-removed"]
    if bpy.app.version >= (5, 2, 0) and edit is delete_limb:
        assert removed == [], "Blender removes the driver with the bone, before the edit can name it"
    else:
        assert removed == [own for own in names if own not in everywhere]


def refer(rig: Any) -> dict[str, Any]:
    """Objects that refer to the bones of the shank and the thigh: two empties and a bone of another armature."""
    out = {}
    for name in ("shank", "thigh"):
        lamp = out[f"lamp at {name}"] = bpy.data.objects.new(f"lamp at {name}", None)
        bpy.context.scene.collection.objects.link(lamp)
        held = lamp.constraints.new("COPY_ROTATION")
        held.target, held.subtarget = rig, name
        gauge = out[f"gauge of {name}"] = bpy.data.objects.new(f"gauge of {name}", None)
        bpy.context.scene.collection.objects.link(gauge)
        variable = gauge.driver_add("location", 0).driver.variables.new()
        variable.targets[0].id = rig
        variable.targets[0].data_path = f'pose.bones["{name}"].rotation_euler[2]'
    return out


@pytest.mark.parametrize("edit", EDITS)
def test_what_refers_to_a_deleted_bone_is_reported_by_name(rig: Any, edit: Callable[[Any], Any]) -> None:
    refer(rig)
    report = edit(rig)
    lost = {entry.where: str(entry.message) for entry in report.entries if entry.code == "bone-reference-lost"}
    if edit is weld:
        assert not lost and "shank" in rig.data.bones
        return
    assert {*lost} == {"lamp at shank", "gauge of shank"}
    assert "Copy Rotation" in lost["lamp at shank"] and "'shank'" in lost["lamp at shank"]
    assert "location" in lost["gauge of shank"]


@pytest.mark.parametrize("edit", EDITS)
def test_an_action_that_another_armature_shares_keeps_the_curves_of_bones_that_exist_there(
    rig: Any, edit: Callable[[Any], Any]
) -> None:
    other = made("sensor_leg.xml")
    shared = rig.animation_data.action
    use_action(other, shared)
    before = {curve.data_path for curve in all_curves(shared)}
    seen = Seen.of(other)
    report = edit(rig)
    assert {curve.data_path for curve in all_curves(shared)} == before
    assert seen.apart(Seen.of(other))[0] < 1e-6
    kept = [entry for entry in report.entries if entry.code == "shared-keyframes-kept"]
    assert {entry.where for entry in kept} == {"playing", "unplayed", "of the shank"}
    assert all(repr(other.name) in str(entry.message) for entry in kept)
    only_here = bpy.data.actions["strip"]
    assert "shank" not in {bone_of_path(curve.data_path) for curve in all_curves(only_here)}


def test_a_joint_that_lost_a_body_by_hand_keeps_its_keyframes(rig: Any) -> None:
    """Its bone is deleted when the armature is updated, and comes back when the body is rebuilt."""
    before = curves_by_action()
    bpy.data.objects.remove(body(rig, "shank"))
    bpy.context.view_layer.update()
    bpy.context.view_layer.objects.active = rig
    bpy.ops.knuckle.refit()
    assert "shank" not in rig.data.bones
    after = curves_by_action()
    for name, curves in before.items():
        own = {place: keys for place, keys in curves.items() if bone_of_path(place[0]) == "shank"}
        assert own.items() <= after[name].items()
    assert {record_of(empty).source_name for empty in parts(rig, "JOINT")} > {"shank"}
