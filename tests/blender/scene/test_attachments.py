"""Frames, lights and assemblies of a Shift model: where they stand, what is switched off, and out again."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon import formats
from addon.core.model import Mechanism
from tests.support.attachments_helpers import document, folders, put
from tests.support.mechanisms import objects_of, world_of


def named(rig: Any, role: str) -> dict[str, Any]:
    objects = rig.data.knuckle.collection.all_objects
    return {obj.knuckle.source_name: obj for obj in objects if obj.knuckle.role == role}


def out(rig: Any) -> tuple[str, Mechanism]:
    from addon.blender.scene.read.mechanism import extract

    mechanism = extract(rig.data.knuckle.collection)
    return formats.dumps(mechanism)[0], mechanism


def about_z(angle: float, place: tuple[float, float, float] = (0, 0, 0)) -> np.ndarray:
    pose = np.eye(4)
    pose[:2, :2] = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
    pose[:3, 3] = place
    return pose


def test_frames_are_empties_that_go_with_their_bodies(blank: Any) -> None:
    rig = put(document())
    frames = named(rig, "FRAME")
    assert set(frames) == {"pad", "elbow", "grip"}
    assert all(frame.type == "EMPTY" for frame in frames.values())
    assert np.allclose(world_of(frames["pad"]), about_z(0, (2, 0, 0)))
    elbow = about_z(math.pi / 2, (1, 0, 0))
    assert np.allclose(world_of(frames["elbow"]), about_z(0.5, (2, 0, 0)) @ elbow, atol=1e-6)
    rig.pose.bones["shoulder"].rotation_euler.z = 0.25
    blank.view_layer.update()
    assert np.allclose(world_of(frames["elbow"]), about_z(0.75, (2, 0, 0)) @ elbow, atol=1e-6)


def test_lights_are_blender_lights_attached_to_their_frames(blank: Any) -> None:
    rig = put(document())
    lights, frames = named(rig, "LIGHT"), named(rig, "FRAME")
    assert lights["sun"].data.type == "SUN" and lights["lamp"].data.type == "SPOT"
    assert lights["lamp"].data.color[:] == pytest.approx((1.0, 0.5, 0.0))
    assert lights["lamp"].parent == frames["elbow"] and lights["sun"].parent == frames["pad"]
    rig.pose.bones["shoulder"].rotation_euler.z = 0.25
    blank.view_layer.update()
    assert np.allclose(world_of(lights["lamp"]), world_of(frames["elbow"]), atol=1e-6)
    assert np.allclose(world_of(lights["sun"]), world_of(frames["pad"]), atol=1e-6)


def test_assemblies_are_nested_collections_and_what_is_off_is_excluded(blank: Any) -> None:
    rig = put(document())
    top = rig.data.knuckle.collection
    tree = folders(top)
    assert tree["Bodies"] == {"robot": {"base": None, "arm": {"upper": None, "Off": {"hand": None}}}}
    assert tree["Joints"] == {"robot": {"foot": None, "shoulder": None, "arm": {"Off": {"wrist": None}}}}
    bodies = objects_of(rig, "BODY")
    shown = {obj.knuckle.source_name for obj in blank.view_layer.objects if obj.knuckle.role == "BODY"}
    assert shown == {"base", "upper"}
    assert all(obj.rigid_body is not None for obj in bodies.values() if obj.knuckle.source_name != "hand")
    hand = next(obj for obj in bodies.values() if obj.knuckle.source_name == "hand")
    assert hand.rigid_body is None, "what is off takes no part in physics"


def test_bodies_in_nested_collections_are_read_at_one_stroke(blank: Any) -> None:
    """The quick way and the slow one give the same poses, whatever the user calls the collections."""
    from addon.blender.physics.actuators.joint_state import gather_joint_state

    rig = put(document())
    for collection in rig.data.knuckle.collection.children_recursive:
        collection.name = f"My {collection.name}"
    rig.pose.bones["shoulder"].rotation_euler.z = 0.25
    blank.view_layer.update()
    joint_state = gather_joint_state(rig)
    assert joint_state._holder is not None
    found = joint_state.poses()
    joint_state._holder = None
    assert np.array_equal(found, joint_state.poses())
    assert np.array_equal(found[:-1], [world_of(obj) for obj in joint_state.bodies])


def test_an_assembly_that_is_off_is_excluded_as_a_whole(blank: Any) -> None:
    rig = put(document(arm_on=False))
    shown = {obj.knuckle.source_name for obj in blank.view_layer.objects if obj.knuckle.role == "BODY"}
    assert shown == {"base"}
    tree = folders(rig.data.knuckle.collection)
    assert tree["Bodies"] == {"robot": {"base": None, "arm": {"upper": None, "hand": None}}}
    assert tree["Joints"]["robot"]["Off"] == {"shoulder": None}, "it leads to what is off"


@pytest.mark.parametrize("arm_on", [True, False])
def test_all_of_it_goes_out_as_it_came_through_a_saved_blend(blank: Any, tmp_path: Path, arm_on: bool) -> None:
    import bpy

    from addon.blender.data.queries import rig_in

    text = document(arm_on)
    rig = put(text)
    rig.pose.bones["foot"].rotation_euler.z = 1.0
    name = rig.data.knuckle.collection.name
    assert out(rig)[0] == text
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "robot.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "robot.blend"))
    assert out(rig_in(bpy.data.collections[name]))[0] == text


def test_a_frame_that_is_moved_renamed_copied_or_deleted_is_so_in_the_file(blank: Any) -> None:
    rig = put(document())
    frames = named(rig, "FRAME")
    frames["elbow"].location.z += 0.5  # its own matrix is where it is at design: along the body's axes here
    frames["pad"].name = "plinth"
    copy = frames["pad"].copy()
    copy.name = "second pad"
    copy.location.x = 7
    frames["pad"].users_collection[0].objects.link(copy)
    import bpy

    bpy.data.objects.remove(frames["grip"])
    _text, mechanism = out(rig)
    now = {frame.name: frame for frame in mechanism.frames}
    assert set(now) == {"elbow", "plinth", "second pad"}
    assert np.allclose(now["elbow"].pose[:3, 3], (1, 0, 0.5), atol=1e-7)
    assert np.allclose(now["second pad"].pose[:3, 3], (7, 0, 0)) and now["second pad"].body is None
    codes = [entry.code for entry in mechanism.report.entries]
    assert "deleted" in codes and "added" in codes


def test_a_lights_colour_and_kind_go_out(blank: Any) -> None:
    rig = put(document())
    lamp = named(rig, "LIGHT")["lamp"]
    lamp.data.color = (1.0, 1.0, 0.5)
    lamp.data.type = "POINT"
    _text, mechanism = out(rig)
    light = next(light for light in mechanism.lights if light.name == "lamp")
    assert light.type == "point" and light.diffuse == pytest.approx((0.5, 0.5, 0.25))


def test_a_light_goes_with_its_frame_and_can_leave_it(blank: Any) -> None:
    rig = put(document())
    frames, lights = named(rig, "FRAME"), named(rig, "LIGHT")
    frames["elbow"].location.z += 0.5
    _text, mechanism = out(rig)
    lamp = next(light for light in mechanism.lights if light.name == "lamp")
    assert np.allclose(lamp.pose, about_z(math.pi / 2, (1, 0, 0.5)), atol=1e-7)
    lights["lamp"].location.x = 2.0  # along the frame's X, which is the body's Y
    text, mechanism = out(rig)
    lamp = next(light for light in mechanism.lights if light.name == "lamp")
    assert np.allclose(lamp.pose, about_z(math.pi / 2, (1, 2, 0.5)), atol=1e-7)
    again = next(light for light in formats.loads(text.encode()).lights if light.name == "lamp")
    assert np.allclose(again.pose, lamp.pose, atol=1e-7)


def test_attachments_of_a_deleted_body_are_removed_with_it(blank: Any) -> None:
    import bpy

    rig = put(document())
    upper = next(obj for obj in objects_of(rig, "BODY").values() if obj.knuckle.source_name == "upper")
    bpy.data.objects.remove(upper)
    text, mechanism = out(rig)
    assert {frame.name for frame in mechanism.frames} == {"pad", "grip"}
    assert [light.name for light in mechanism.lights] == ["sun"]
    assert "lamp" not in text and formats.loads(text.encode()).lights
