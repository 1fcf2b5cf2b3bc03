"""Keyframes of a joint that gets another type: the bodies move as before wherever the new type can do the motion.

Poses are those that Blender evaluates, at the frames of the keyframes and between them, before and after the edit."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Euler, Matrix, Vector

from addon import formats
from addon.blender.animation.actions import stored_poses
from addon.blender.animation.loops.bone_loops import LiveLoop
from addon.blender.animation.loops.live_solver import live_loops
from addon.blender.animation.pose_library import recall_pose, zero_servos
from addon.blender.compat import action_curves, all_curves, use_action
from addon.blender.data.access import record_of, settings
from addon.blender.data.channels import servo_channels
from addon.blender.data.queries import file_name, parts, rig_in, twin_of
from addon.blender.editing.authoring import join_bodies
from addon.blender.editing.joints import delete_objects, place_joint, set_joint_type, swap_joint_ends
from addon.blender.editing.repair.checks import check_model
from addon.blender.editing.symmetry.twins import create_twins, mirror_to_twins
from addon.blender.reconcile.build import BuildOptions, build
from addon.blender.scene.read.mechanism import extract
from addon.core.joint_types import JOINT_TYPES, make_dofs
from addon.core.model import Array, Body, Joint, Mechanism, Plane
from tests.support.emptied import empty_file
from tests.support.holding import Seen
from tests.support.holding import keyed as held_keys
from tests.support.scenes import body, found, made, pick

#: Frames, some of them between whole ones: in front of the first keyframe, at keyframes, between, behind the last.
FRAMES = [-3.0, 1.0, 4.0, 7.5, 12.0, 18.25, 25.0, 30.0]
#: Largest difference of poses: keyframes are 32-bit numbers, and Blender interpolates the four numbers of quaternions.
APART = 2e-4


def joint(rig: Any, name: str) -> Any:
    return next(each for each in parts(rig, "JOINT") if record_of(each).source_name == name)


def channels(rig: Any, empty: Any) -> Any:
    return servo_channels(rig)[record_of(empty).source_id]


def key(rig: Any, empty: Any, values: dict[float, float], interpolation: str) -> list[Any]:
    """Key the first value of a joint; its curves."""
    channel = channels(rig, empty)[0]
    pose = rig.pose.bones[channel.bone]
    for frame, value in values.items():
        getattr(pose, channel.prop)[channel.index] = value
        pose.keyframe_insert(channel.prop, index=channel.index, frame=frame)
    curves = [c for c in action_curves(rig, rig.animation_data.action) if c.data_path == channel.path]
    for curve in curves:
        for point in curve.keyframe_points:
            point.interpolation = interpolation
        curve.update()
    return curves


def motion(rig: Any) -> dict[float, Seen]:
    scene, out = bpy.context.scene, {}
    for frame in FRAMES:
        scene.frame_set(int(np.floor(frame)), subframe=frame % 1.0)
        out[frame] = Seen.of(rig)
    scene.frame_set(4)
    return out


def apart(before: dict[float, Seen], after: dict[float, Seen]) -> float:
    return max(before[frame].apart(after[frame])[0] for frame in FRAMES)


def retype(empty: Any, type_: str) -> None:
    pick(empty)
    assert bpy.ops.knuckle.set_joint_type(type=type_) == {"FINISHED"}


@pytest.mark.parametrize("type_", ["ball", "free"])
@pytest.mark.parametrize(
    ("values", "interpolation"),
    [
        ({1.0: 0.2, 12.0: -0.9, 25.0: 0.7}, "LINEAR"),
        ({1.0: 0.2, 12.0: -0.9, 25.0: 0.7}, "BEZIER"),
        ({1.0: 0.2, 12.0: -0.9, 25.0: 0.7}, "CONSTANT"),
        ({1.0: 0.0, 25.0: 9.0}, "LINEAR"),
        ({12.0: 0.6}, "BEZIER"),
        ({1.5: 0.1, 4.25: 0.8, 25.0: 0.0}, "LINEAR"),
    ],
)
def test_keyframes_of_a_hinge_become_those_of_a_ball(
    blank: Any, type_: str, values: dict[float, float], interpolation: str
) -> None:
    rig = made("sensor_leg.xml")
    empty = joint(rig, "shank")
    for dof in record_of(empty).joint.dofs:
        dof.use_lower = dof.use_upper = False
    key(rig, empty, values, interpolation)
    before = motion(rig)
    retype(empty, type_)
    assert apart(before, motion(rig)) < APART
    frames = {point.co[0] for curve in all_curves(rig.animation_data.action) for point in curve.keyframe_points}
    assert {*values} <= frames
    if interpolation == "CONSTANT" or len(values) == 1:
        assert frames == {*values}, "nothing moves between them"


def test_ball_keyframes_become_those_of_three_hinges(blank: Any) -> None:
    rig = made("sensor_leg.xml")
    empty = joint(rig, "shank")
    key(rig, empty, {1.0: 0.2, 12.0: -0.9, 25.0: 0.7}, "LINEAR")
    before = motion(rig)
    retype(empty, "ball")
    retype(empty, "euler")
    assert apart(before, motion(rig)) < APART
    curves = [curve.data_path for curve in action_curves(rig, rig.animation_data.action)]
    assert not [path for path in curves if "quaternion" in path]
    assert len(curves) == 3


def test_a_motion_that_the_new_type_cannot_do_is_reported_with_its_error(blank: Any) -> None:
    rig = made("sensor_leg.xml")
    empty = joint(rig, "shank")
    key(rig, empty, {1.0: 0.2, 25.0: 0.7}, "LINEAR")
    bpy.context.scene.frame_set(1)
    before = Seen.of(rig)
    report = set_joint_type(empty, "prismatic")
    assert before.apart(Seen.of(rig))[0] < 1e-5
    (told,) = [entry.message for entry in report.entries if entry.code == "motion-changed"]
    assert "28.6°" in told and "frame 25" in told, "0.5 rad"


def test_a_moved_joint_that_is_keyed_is_reported_and_a_swapped_one_is_not(blank: Any) -> None:
    rig = made("sensor_leg.xml")
    empty = joint(rig, "shank")
    key(rig, empty, {1.0: 0.0, 25.0: 0.5}, "LINEAR")
    bpy.context.scene.frame_set(1)
    before = motion(rig)
    report = swap_joint_ends(empty)
    assert "motion-changed" not in {entry.code for entry in report.entries}
    assert apart(before, motion(rig)) < 1e-5
    swap_joint_ends(empty)
    bpy.context.scene.frame_set(1)
    report = place_joint(empty, Matrix.Translation((0.3, 0.0, 0.0)) @ empty.matrix_world, True)
    (told,) = [entry.message for entry in report.entries if entry.code == "motion-changed"]
    # 0.3 m from the old axis, which is perpendicular to X here: 2 sin(0.5 / 2) of it at the last keyframe
    assert f"{0.6 * np.sin(0.25):.3g} m" in told and "frame 25" in told


@pytest.mark.parametrize("type_", ["ball", "free"])
def test_stored_poses_are_converted_as_well(blank: Any, type_: str) -> None:
    rig = made("sensor_leg.xml")
    empty = joint(rig, "shank")
    channel = channels(rig, empty)[0]
    getattr(rig.pose.bones[channel.bone], channel.prop)[channel.index] = 0.4
    pick(rig)
    assert bpy.ops.knuckle.store_pose(name="Bent") == {"FINISHED"}
    bpy.context.view_layer.update()
    before = Seen.of(rig)
    zero_servos(rig, bpy.context.scene)
    retype(empty, type_)
    assert before.apart(Seen.of(rig))[0] > 0.01
    pick(rig)
    (stored,) = stored_poses(rig)
    recall_pose(rig, stored, bpy.context.scene)
    bpy.context.view_layer.update()
    assert before.apart(Seen.of(rig))[0] < APART


def test_a_cyclic_motion_stays_cyclic(blank: Any) -> None:
    rig = made("sensor_leg.xml")
    empty = joint(rig, "shank")
    (curve,) = key(rig, empty, {1.0: 0.2, 7.0: -0.3, 13.0: 0.2}, "LINEAR")
    curve.modifiers.new("CYCLES")
    before = motion(rig)
    retype(empty, "ball")
    assert apart(before, motion(rig)) < APART


def test_undo_brings_the_keyframes_back(blank: Any) -> None:
    rig = made("sensor_leg.xml")
    empty = joint(rig, "shank")
    key(rig, empty, {1.0: 0.2, 25.0: 0.7}, "BEZIER")
    name = rig.name
    before = motion(rig)
    bpy.ops.ed.undo_push(message="keyed")
    retype(empty, "ball")
    bpy.ops.ed.undo_push(message="type")
    bpy.ops.ed.undo()
    assert apart(before, motion(bpy.data.objects[name])) < 1e-6


# ---------------------------------------------------------------- twins, other motions, drivers


def twins(rig: Any) -> tuple[Any, Any]:
    """A hinge of the hexapod and its twin."""
    first = next(empty for empty in parts(rig, "JOINT") if empty.name == "Left Front Lift")
    return first, twin_of(first)


def keyed(rig: Any, name: str, empties: Sequence[Any], values: Sequence[float]) -> Any:
    """A new Action that plays, with hinges keyed at frames 1, 20 and 40."""
    action = bpy.data.actions.new(name)
    rig.animation_data_create().action = action
    for empty in empties:
        (channel,) = servo_channels(rig)[record_of(empty).source_id]
        bone = rig.pose.bones[channel.bone]
        for frame, value in zip((1, 20, 40), values, strict=True):
            getattr(bone, channel.prop)[channel.index] = value
            bone.keyframe_insert(channel.prop, index=channel.index, frame=frame)
    bpy.context.scene.frame_set(1)
    return action


def keys_of(rig: Any, action: Any, empty: Any) -> dict[tuple[str, int], list[tuple[float, float, str]]]:
    """Frame, value and interpolation of the keys of a joint, by the channel's property and index."""
    places = {place for channel in servo_channels(rig)[record_of(empty).source_id] for place in channel.curves()}
    return {
        (curve.data_path.rpartition(".")[2], curve.array_index): [
            (point.co[0], round(point.co[1], 6), point.interpolation) for point in curve.keyframe_points
        ]
        for curve in action_curves(rig, action, create=False) or ()
        if (curve.data_path, curve.array_index) in places
    }


def test_a_twin_that_gets_other_degrees_of_freedom_by_mirroring_loses_no_motion_unreported(blank: Any) -> None:
    rig = made("hexapod.jm")
    first, twin = twins(rig)
    action = keyed(rig, "M", [first, twin], (0.0, 0.5, 0.1))
    set_joint_type(first, "prismatic")
    _parts, report = mirror_to_twins([first])
    assert record_of(twin).joint.type == "prismatic"
    assert keys_of(rig, action, twin) == {}, "radians are no meters"
    (lost,) = [each for each in report.entries if each.code == "joint-motion-changed"]
    assert "28.6°" in str(lost.message) and "'M'" in str(lost.message) and "frame 20" in str(lost.message)


@pytest.mark.parametrize("how", ["mirrored", "at once"])
def test_keyframes_of_a_twin_continue_as_those_of_the_joint(blank: Any, how: str) -> None:
    rig = made("hexapod.jm")
    first, twin = twins(rig)
    action = keyed(rig, "M", [first, twin], (0.0, 0.5, 0.1))
    before = {empty: keys_of(rig, action, empty) for empty in (first, twin)}
    if how == "at once":
        set_joint_type(first, "universal", twin)
    else:
        set_joint_type(first, "universal")
        mirror_to_twins([first])
    assert len(servo_channels(rig)[record_of(twin).source_id]) == 2
    for empty, keys in before.items():
        assert list(keys_of(rig, action, empty).values()) == list(keys.values())


def test_another_motion_that_holds_a_joint_holds_it_as_a_ball(blank: Any) -> None:
    rig = made("rover.jm")
    hinge = next(e for e in parts(rig, "JOINT") if [dof.kind for dof in record_of(e).joint.dofs] == ["rotation"])
    for dof in record_of(hinge).joint.dofs:
        dof.use_lower = dof.use_upper = False
    held = keyed(rig, "held", [hinge], (1.2, 1.2, 1.2))
    keyed(rig, "moves", [hinge], (0.0, 0.4, 0.0))
    set_joint_type(hinge, "ball")
    found = keys_of(rig, held, hinge)
    assert {name for name, _index in found} == {"rotation_quaternion"}
    w = found["rotation_quaternion", 0]
    assert [frame for frame, _value, _how in w] == [1.0, 20.0, 40.0]
    assert w[0][1] == pytest.approx(math.cos(0.6), abs=1e-5)


def test_what_is_lost_of_motions_that_do_not_play_is_reported(blank: Any) -> None:
    rig = made("rover.jm")
    hinge = next(e for e in parts(rig, "JOINT") if [dof.kind for dof in record_of(e).joint.dofs] == ["rotation"])
    keyed(rig, "other", [hinge], (0.0, 0.3, 0.0))
    keyed(rig, "playing", [hinge], (0.0, 0.0, 0.0))
    report = set_joint_type(hinge, "prismatic")
    (lost,) = [each for each in report.entries if each.code == "motion-changed"]
    assert "'other'" in str(lost.message) and "17.2°" in str(lost.message)


@pytest.mark.parametrize(("type_", "is_lost"), [("ball", True), ("universal", False), ("prismatic", True)])
def test_a_driver_that_has_no_channel_any_more_is_reported(blank: Any, type_: str, is_lost: bool) -> None:
    rig = made("rover.jm")
    hinge = next(e for e in parts(rig, "JOINT") if [dof.kind for dof in record_of(e).joint.dofs] == ["rotation"])
    (channel,) = servo_channels(rig)[record_of(hinge).source_id]
    rig.pose.bones[channel.bone].driver_add(channel.prop, channel.index).driver.expression = "0.3"
    bpy.context.view_layer.update()
    report = set_joint_type(hinge, type_)
    assert len(rig.animation_data.drivers) == (not is_lost)
    assert [each.where for each in report.entries if each.code == "driver-removed"] == [channel.bone] * is_lost


def delete(empty: Any) -> None:
    pick(empty)
    assert bpy.ops.knuckle.delete_parts() == {"FINISHED"}


def retyped(type_: str) -> Callable[[Any], None]:
    def edit(empty: Any) -> None:
        pick(empty)
        assert bpy.ops.knuckle.set_joint_type(type=type_) == {"FINISHED"}

    edit.__name__ = type_
    return edit


@pytest.mark.parametrize("interpolation", ["BEZIER", "CONSTANT"])
@pytest.mark.parametrize(
    ("name", "edit"),
    [
        *((joint, delete) for joint in ("tail_bearing", "crank_pin")),
        *((joint, retyped(to)) for joint in ("motor", "crank_pin", "saddle_bearing") for to in ("ball", "free")),
        *(("tail_bearing", retyped(to)) for to in ("ball", "free")),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_closed_loop_that_an_edit_opens_or_loosens_moves_as_before(
    blank: Any, name: str, edit: Callable[[Any], None], interpolation: str, capfd: Any
) -> None:
    """The joints that followed it get keyframes of their own, also between those of the input joint. In a motion that
    does not play as well; and joints that still follow are not keyed."""
    rig = made("pumpjack.json")
    bone = rig.pose.bones["motor"]
    for frame, value in ((1, 0.0), (10, 2.5), (30, -1.0)):
        bone.rotation_euler.z = value
        bone.keyframe_insert("rotation_euler", index=2, frame=frame)
    playing = rig.animation_data.action
    for point in action_curves(rig, playing)[0].keyframe_points:
        point.interpolation = interpolation
    other = playing.copy()
    empty = next(each for each in parts(rig, "JOINT") if each.name == name)

    def poses() -> dict[float, dict[str, np.ndarray]]:
        out = {}
        for frame in (1.0, 4.0, 7.5, 10.0, 16.0, 22.5, 30.0):
            bpy.context.scene.frame_set(int(frame), subframe=frame % 1.0)
            bpy.context.view_layer.update()
            out[frame] = {obj.name: np.array(obj.matrix_world) for obj in parts(rig, "BODY")}
        return out

    before = poses()
    bpy.context.scene.frame_set(5)
    capfd.readouterr()
    edit(empty)
    assert "Keyframes" not in capfd.readouterr().out
    for loop in live_loops(rig):
        if isinstance(loop, LiveLoop) and edit.__name__ == "ball":
            assert len(loop.given_joints()) == 1, "one keyed joint poses the loop as before"
    for played in (playing, other):
        use_action(rig, played)
        check_poses(poses(), before)


def check_poses(now: Any, before: Any) -> None:
    for frame, bodies in now.items():
        for own, pose in bodies.items():
            assert np.abs(pose - before[frame][own]).max() < (1e-4 if frame % 1.0 == 0.0 else 2e-2), (frame, own)


# ---------------------------------------------------------------- all motions of a loop


def crank_keyed(rig: Any, name: str, values: dict[float, float]) -> Any:
    """A new Action that plays, with linear keyframes of the pumpjack's motor."""
    rig.animation_data_create().action = action = bpy.data.actions.new(name)
    bone = rig.pose.bones["motor"]
    for frame, value in values.items():
        bone.rotation_euler.z = value
        bone.keyframe_insert("rotation_euler", index=2, frame=frame)
    for point in action_curves(rig, action)[0].keyframe_points:
        point.interpolation = "LINEAR"
    return action


def bodies_at(rig: Any, frames: Sequence[float]) -> dict[float, dict[str, np.ndarray]]:
    out = {}
    for frame in frames:
        bpy.context.scene.frame_set(int(np.floor(frame)), subframe=frame % 1.0)
        bpy.context.view_layer.update()
        out[frame] = {obj.name: np.array(obj.matrix_world) for obj in parts(rig, "BODY")}
    return out


def named(rig: Any, name: str) -> Any:
    return next(each for each in parts(rig, "JOINT") if each.name == name)


@pytest.mark.parametrize("modifier", ["", "NOISE", "CYCLES", "REPEAT_OFFSET"])
def test_followers_of_a_motion_that_continues_beyond_its_keyframes_do_so_in_the_scenes_range(
    blank: Any, modifier: str
) -> None:
    rig = made("pumpjack.json")
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 0, 60
    action = crank_keyed(rig, "spins", {9: 0.0, 29: 2.0})
    (curve,) = action_curves(rig, action)
    if modifier:
        made_ = curve.modifiers.new("CYCLES" if modifier == "REPEAT_OFFSET" else modifier)
        if modifier == "NOISE":
            made_.strength, made_.scale = 2.0, 7.0
        if modifier == "REPEAT_OFFSET":
            made_.mode_before = made_.mode_after = "REPEAT_OFFSET"
    else:
        curve.extrapolation = "LINEAR"
    curve.update()
    frames = (0.0, 5.0, 9.0, 12.0, 29.0, 41.0, 60.0)
    before = bodies_at(rig, frames)
    moved = np.abs(before[41.0]["pitman"] - before[29.0]["pitman"]).max()
    assert moved > 1e-3, "the motion continues"
    scene.frame_set(5)
    delete(named(rig, "tail_bearing"))
    check_poses(bodies_at(rig, frames), before)


@pytest.mark.parametrize("edit", [delete, retyped("free")])
def test_followers_of_a_driven_joint_are_reported_where_the_loop_opens(blank: Any, edit: Any, capfd: Any) -> None:
    rig = made("pumpjack.json")
    curve = rig.pose.bones["motor"].driver_add("rotation_euler", 2)
    curve.driver.expression = "frame / 20"
    bpy.context.scene.frame_set(5)
    capfd.readouterr()
    edit(named(rig, "tail_bearing"))
    told = capfd.readouterr().out
    assert "driver of 'motor'" in told and "saddle_bearing" in told


def test_a_driven_loop_that_still_follows_is_not_reported(blank: Any, capfd: Any) -> None:
    rig = made("pumpjack.json")
    rig.pose.bones["motor"].driver_add("rotation_euler", 2).driver.expression = "frame / 20"
    bpy.context.scene.frame_set(5)
    capfd.readouterr()
    swap_joint_ends(named(rig, "crank_pin"))
    retyped("ball")(named(rig, "tail_bearing"))
    assert "driver" not in capfd.readouterr().out


@pytest.mark.parametrize("type_", ["weld", "prismatic"])
def test_each_motion_is_reported_that_a_follower_cannot_do_any_more(blank: Any, type_: str) -> None:
    rig = made("pumpjack.json")
    crank_keyed(rig, "other", {1: 0.0, 21: 2.0})
    crank_keyed(rig, "still", {1: 0.0, 21: 0.0})
    crank_keyed(rig, "playing", {1: 0.0, 11: 1.0})
    bpy.context.scene.frame_set(1)
    report = set_joint_type(named(rig, "saddle_bearing"), type_)
    told = {str(each.message).split("'")[1] for each in report.entries if each.code == "motion-changed"}
    assert told == {"other", "playing"}


@pytest.mark.parametrize("type_", ["ball", "universal", "free"])
@pytest.mark.parametrize("name", ["motor", "crank_pin", "saddle_bearing", "tail_bearing"])
def test_a_stored_pose_of_a_loop_is_recalled_after_its_joints_changed(blank: Any, name: str, type_: str) -> None:
    rig = made("pumpjack.json")
    rig.pose.bones["motor"].rotation_euler.z = 0.7
    bpy.context.view_layer.update()
    before = Seen.of(rig)
    pick(rig)
    assert bpy.ops.knuckle.store_pose(name="Up") == {"FINISHED"}
    zero_servos(rig, bpy.context.scene)
    bpy.context.view_layer.update()
    assert before.apart(Seen.of(rig))[0] > 0.1
    set_joint_type(named(rig, name), type_)
    bpy.context.view_layer.update()
    (stored,) = stored_poses(rig)
    assert recall_pose(rig, stored, bpy.context.scene) > 0
    bpy.context.view_layer.update()
    assert before.apart(Seen.of(rig))[0] < 1e-3


@pytest.mark.parametrize("given", ["file's input", "another joint", "all joints"])
def test_a_joint_that_closes_a_loop_leaves_no_keyframes_that_keep_it_open(blank: Any, given: str, capfd: Any) -> None:
    """The loop is cut, its joints are keyed, and the joint is added again: keyed joints become its inputs."""
    rig = made("pumpjack.json")
    empty = named(rig, "tail_bearing")
    place, child = empty.matrix_world.copy(), record_of(empty).joint.child
    parent = record_of(empty).joint.parent
    delete(empty)
    names = {"file's input": ["motor"], "another joint": ["saddle_bearing"]}.get(
        given, ["motor", "saddle_bearing", "crank_pin"]
    )
    stored = bpy.data.actions.new("second")
    rig.animation_data_create().action = bpy.data.actions.new("first")
    for action in (stored, rig.animation_data.action):
        rig.animation_data.action = action
        for name in names:
            for frame, value in ((1, 0.0), (20, 0.12)):
                rig.pose.bones[name].rotation_euler.z = value
                rig.pose.bones[name].keyframe_insert("rotation_euler", index=2, frame=frame)
    bpy.context.scene.frame_set(1)
    capfd.readouterr()
    join_bodies(rig, parent, child, place, "revolute", "closing")
    closing = named(rig, "closing")
    ends = [record_of(closing).joint.parent, record_of(closing).joint.child]
    for action in (stored, rig.animation_data.action):
        use_action(rig, action)
        opened = []
        for frame in (1, 11, 20):
            bpy.context.scene.frame_set(frame)
            bpy.context.view_layer.update()
            mechanism = extract(rig)
            joint_ = next(each for each in mechanism.joints if each.name == record_of(closing).source_name)
            near, far = (
                np.array(end.matrix_world @ Matrix.Translation(-Vector(body.com)))[:3, :4] @ frame_[:, 3]
                for end, body, frame_ in zip(
                    ends,
                    (next(b for b in mechanism.bodies if b.id == record_of(end).source_id) for end in ends),
                    (joint_.frame_parent, joint_.frame_child),
                    strict=True,
                )
            )
            opened.append(float(np.linalg.norm(near - far)))
        assert max(opened) < 1e-4
        moving = [c.data_path for c in action_curves(rig, action) if not c.mute]
        assert len(moving) == 1, "one joint poses the loop"
        assert given == "all joints" or names[0] in moving[0]


@pytest.mark.parametrize("part", ["tail_bearing", "crank_pin", "pitman"])
def test_an_assembly_that_closes_a_loop_can_be_switched_off_and_on_in_a_motion(blank: Any, part: str) -> None:
    path = found("pumpjack.json")
    data = json.loads(path.read_text(encoding="utf-8"))
    (jack,) = data["assemblies"]
    inner: dict[str, Any] = {"name": "part", "active": True, "bodies": [], "joints": []}
    for kind in ("bodies", "joints"):
        inner[kind] = [each for each in jack[kind] if each["name"] == part]
        jack[kind] = [each for each in jack[kind] if each["name"] != part]
    jack["assemblies"] = [inner]
    for joint_ in (*jack["joints"], *inner["joints"]):
        for end in joint_["body_frame_pairs"]:
            if end[0] != "fixed":
                end[0] = "pumpjack:part:" + end[0] if end[0] == part else "pumpjack:" + end[0]
    mechanism = formats.loads(json.dumps(data).encode(), str(path))
    rig = rig_in(build(mechanism, options=BuildOptions(gait=False, physics=False)))
    bpy.context.view_layer.update()
    action = crank_keyed(rig, "turns", {1: 0.0, 21: 2.0})
    frames = (1.0, 6.0, 13.5, 21.0)
    before = bodies_at(rig, frames)
    bpy.context.scene.frame_set(6)
    pick(rig)
    for is_on in (False, True, False, True):
        assert bpy.ops.knuckle.switch_assembly(path="pumpjack:part") == {"FINISHED"}
        now = bodies_at(rig, frames)
        if part == "pitman" and not is_on:
            for bodies in now.values():
                del bodies["pitman"]
        check_poses(now, before)
        bpy.context.scene.frame_set(6)
        assert bool(live_loops(rig)) == is_on
    moving = [curve.data_path for curve in action_curves(rig, action) if not curve.mute]
    assert len(moving) == 1, "the joints that follow the loop are not keyed again"


@pytest.mark.parametrize("count", [1, 2])
def test_freed_joints_of_motions_in_nla_strips_are_keyed_and_blended_strips_are_reported(
    blank: Any, count: int, capfd: Any
) -> None:
    rig = made("pumpjack.json")
    data = rig.animation_data_create()
    for number in range(count):
        action = crank_keyed(rig, f"part {number}", {1: 0.0, 21: 2.0 + number})
        use_action(rig, None)
        strip = data.nla_tracks.new().strips.new(action.name, 1, action)
        if number:
            strip.influence = 0.5
    frames = (1.0, 6.0, 13.0, 21.0)
    before = bodies_at(rig, frames)
    assert np.abs(before[21.0]["pitman"] - before[1.0]["pitman"]).max() > 0.1
    bpy.context.scene.frame_set(6)
    capfd.readouterr()
    delete(named(rig, "tail_bearing"))
    assert ("NLA" in capfd.readouterr().out) == (count > 1)
    if count == 1:
        check_poses(bodies_at(rig, frames), before)
    assert all(
        len([c for c in all_curves(strip.action) if not c.mute]) > 1 for t in data.nla_tracks for strip in t.strips
    )


@pytest.mark.parametrize("type_", ["ball", "free"])
def test_a_joint_that_is_keyed_beyond_its_stop_stays_where_it_is_seen(blank: Any, type_: str) -> None:
    """It is seen at the stop, which the new type has not."""
    rig = made("sensor_leg.xml")
    empty = joint(rig, "shank")
    (dof,) = record_of(empty).joint.dofs
    dof.use_upper, dof.upper = True, 0.2
    key(rig, empty, {1.0: 0.0, 25.0: 0.7}, "LINEAR")
    before = motion(rig)
    retype(empty, type_)
    assert apart(before, motion(rig)) < 2e-2, "a corner between whole frames, where it meets the stop"
    assert before[25.0].apart(motion(rig)[25.0])[0] < APART


#: Types that rotate about the axis of a hinge.
TURNING = [
    each for each in JOINT_TYPES if {dof.kind for dof in make_dofs(each)} - {"translation"} and each != "revolute"
]


@pytest.mark.parametrize("values", [(0.5, 0.4, 0.6), (0.5, 0.5, 0.5), (-0.1, 0.4, 0.6)])
@pytest.mark.parametrize("type_", TURNING)
def test_keyframes_past_a_stop_keep_what_is_seen_in_every_action(
    blank: Any, type_: str, values: tuple[float, ...]
) -> None:
    """Of the Action that plays, at the present frame, and of another one, which moves the joint otherwise."""
    rig = made("humanoid.skel")
    rig.animation_data_clear()
    empty = joint(rig, "LKneePitch")
    (dof,) = record_of(empty).joint.dofs
    dof.use_lower = dof.use_upper = True
    dof.lower, dof.upper = -0.2, 0.2
    bpy.context.view_layer.update()
    actions = list[Any]()
    for number, own in enumerate((values, (-0.1, 0.1, -0.15))):
        use_action(rig, None)
        key(rig, empty, dict(zip((1.0, 16.0, 31.0), own, strict=True)), "LINEAR")
        rig.animation_data.action.name = f"part {number}"
        rig.animation_data.action.use_fake_user = True
        actions.append(rig.animation_data.action)
    before = list[Seen]()
    for action in reversed(actions):
        use_action(rig, action)
        bpy.context.scene.frame_set(16)
        before.insert(0, Seen.of(rig))
    retype(empty, type_)
    bpy.context.scene.frame_set(16)
    assert before[0].apart(Seen.of(rig))[0] < APART
    use_action(rig, actions[1])
    bpy.context.scene.frame_set(16)
    creep = 0.01 if type_ == "screw" else 0.0  # its value at frame 16 is another one than that at which it was edited
    assert before[1].apart(Seen.of(rig))[0] < APART + creep
    use_action(rig, actions[0])
    bpy.context.scene.frame_set(16)
    assert before[0].apart(Seen.of(rig))[0] < APART


def test_a_joint_of_the_type_already_keeps_its_keyframes(blank: Any) -> None:
    """Also where its closed loop holds it short of them."""
    rig = made("pumpjack.json")
    motor = named(rig, "motor")
    action = crank_keyed(rig, "turns", {1: 0.0, 21: 2.0})
    (dof,) = record_of(motor).joint.dofs
    dof.use_upper, dof.upper = True, 1.0
    bpy.context.scene.frame_set(18)
    before = keys_of(rig, action, motor)
    assert not set_joint_type(motor, record_of(motor).joint.type).entries
    assert keys_of(rig, action, motor) == before


def test_the_motion_that_changes_most_is_reported_first(blank: Any) -> None:
    rig = made("rover.jm")
    hinge = next(e for e in parts(rig, "JOINT") if [dof.kind for dof in record_of(e).joint.dofs] == ["rotation"])
    for name, most in (("a little", 0.05), ("much", 1.2), ("some", 0.4)):
        keyed(rig, name, [hinge], (0.0, most, 0.0))
    report = set_joint_type(hinge, "prismatic")
    told = [str(each.message).split("'")[1] for each in report.entries if each.code == "motion-changed"]
    assert told == ["much", "some", "a little"]


def test_an_action_that_keys_no_input_of_a_newly_closed_loop_keeps_a_keyed_joint(blank: Any) -> None:
    rig = made("pumpjack.json")
    empty = named(rig, "tail_bearing")
    place, ends = empty.matrix_world.copy(), record_of(empty).joint
    parent, child = ends.parent, ends.child
    delete(empty)
    actions = {}
    for name, joints in (("input", ["motor"]), ("others", ["saddle_bearing", "crank_pin"])):
        rig.animation_data_create().action = actions[name] = bpy.data.actions.new(name)
        for each in joints:
            for frame, value in ((1, 0.0), (20, 0.12)):
                rig.pose.bones[each].rotation_euler.z = value
                rig.pose.bones[each].keyframe_insert("rotation_euler", index=2, frame=frame)
    bpy.context.scene.frame_set(1)
    join_bodies(rig, parent, child, place, "revolute", "closing")
    for name, action in actions.items():
        assert len([curve for curve in action_curves(rig, action) if not curve.mute]) == 1, name


def chain_of_three(type_: str) -> Any:
    """A heavy body, a light and a medium one, joined by a hinge and a joint of this type from medium to light."""
    names, random = ("heavy", "light", "medium"), np.random.default_rng(len(type_))
    bodies = [Body(name, name, np.eye(4), mass) for name, mass in zip(names, (9.0, 1.0, 3.0), strict=True)]
    joints = []
    for number, (kind, ends) in enumerate((("revolute", names[:2]), (type_, names[:0:-1]))):
        bodies[number + 1].pose[:3, 3] = (0.3, 0.1, number + 1.0)
        frame = np.array(Euler(random.uniform(-1.0, 1.0, 3)).to_matrix().to_4x4())
        frame[:3, 3] = (0.1, 0.2, number + 0.5)
        near, far = (np.linalg.inv(bodies[names.index(end)].pose) @ frame for end in ends)
        joints.append(Joint(f"j{number}", f"joint {number}", kind, *ends, near, far, make_dofs(kind)))
    rig = rig_in(build(Mechanism("chain", bodies=bodies, joints=joints), options=BuildOptions()))
    bpy.context.view_layer.update()
    return rig


@pytest.mark.parametrize("type_", [each for each in JOINT_TYPES if make_dofs(each)])
def test_a_joint_that_now_points_to_the_root_moves_its_bodies_as_before(blank: Any, type_: str) -> None:
    """Deleting one joint gives the bodies behind it a root of their own, at the other end of the next joint."""
    rig = chain_of_three(type_)
    held_keys(rig)

    def between() -> Array:
        """The pose of the medium body on the light one at each frame."""
        out = []
        for frame in FRAMES:
            bpy.context.scene.frame_set(int(np.floor(frame)), subframe=frame % 1.0)
            light, medium = (np.array(body(rig, name).matrix_world) for name in ("light", "medium"))
            out.append(np.linalg.inv(light) @ medium)
        return np.array(out)

    directions, before = record_of(joint(rig, "joint 1")).joint.is_reversed, between()
    assert np.ptp(before, axis=0).max() > 0.002
    pick(joint(rig, "joint 0"))
    assert bpy.ops.knuckle.delete_parts() == {"FINISHED"}
    assert record_of(joint(rig, "joint 1")).joint.is_reversed != directions, "the medium body is the root"
    assert np.abs(between() - before).max() < APART


def test_a_loop_whose_input_is_deleted_moves_as_before_also_where_no_joints_are_as_many_inputs(blank: Any) -> None:
    """A wing on a ball joint, moved by three muscles between ball joints: any inputs are too few values or too many."""
    rig = made("pterosaur_balljoints.jm")
    bone = rig.pose.bones["Right Shoulder"]
    for frame, turn in ((1, (0.05, 0.1, 0.0)), (12, (-0.1, 0.05, 0.1)), (25, (0.1, -0.1, 0.05))):
        bone.rotation_quaternion = Euler(turn).to_quaternion()
        bone.keyframe_insert("rotation_quaternion", frame=frame)

    def wing() -> dict[float, Array]:
        return {
            frame: np.array([bodies[name] for name in ("Right Humerus", "Right Forearm", "Right Wingfinger")])
            for frame, bodies in bodies_at(rig, FRAMES).items()
        }

    before = wing()
    assert np.ptp(list(before.values()), axis=0).max() > 0.1
    bpy.context.scene.frame_set(4)
    delete(joint(rig, "Right Shoulder"))
    after = wing()
    assert max(np.abs(after[frame] - before[frame]).max() for frame in FRAMES) < 1e-3 * max(rig.dimensions)


@pytest.mark.parametrize("overrides", [False, True])
def test_a_linked_action_that_plays_is_not_edited_and_what_it_loses_is_reported(
    blank: Any, tmp_path: Path, overrides: bool
) -> None:
    path = str(tmp_path / "library.blend")
    rig = made("rover.jm")
    hinge = joint(rig, "Left Steering")
    key(rig, hinge, {1.0: 0.0, 12.0: 0.4}, "LINEAR")
    local = rig.animation_data.action
    bpy.data.libraries.write(path, {local}, fake_user=True)
    rig.animation_data.action = None
    bpy.data.actions.remove(local)
    with bpy.data.libraries.load(path, link=True) as (there, here):
        here.actions = there.actions
    action = here.actions[0].override_create(remap_local_usages=True) if overrides else here.actions[0]
    use_action(rig, action)

    def keys() -> list[Any]:
        return [(c.data_path, *(tuple(point.co) for point in c.keyframe_points)) for c in all_curves(action)]

    before, seen = keys(), motion(rig)
    report = set_joint_type(hinge, "prismatic")
    assert keys() == before
    assert apart(seen, motion(rig)) > 0.01
    (entry,) = [each for each in report.entries if each.code == "motion-changed"]
    assert "is linked" in str(entry.message)


@pytest.mark.parametrize("name", ["pumpjack.json", "slider_crank_extra_dof.json"])
def test_swapping_a_joint_of_a_loop_keys_no_joint_that_follows(blank: Any, name: str) -> None:
    rig = made(name)
    held_keys(rig)
    before, seen = {(c.data_path, c.array_index) for c in all_curves(rig.animation_data.action)}, motion(rig)
    joints = [each for each in parts(rig, "JOINT") if record_of(each).joint.parent and record_of(each).joint.child]
    assert any(record_of(each).joint.loop for each in joints)
    for each in joints:
        swap_joint_ends(each)
        assert {(c.data_path, c.array_index) for c in all_curves(rig.animation_data.action)} == before, each.name
    assert apart(seen, motion(rig)) < 1e-2, "a loop that cannot follow its keyframes is held about where it was"


def loop_keyed(rig: Any, frames: Sequence[int], seed: int) -> None:
    """Key the joints that the user can pose; those that follow loops are locked."""
    random = np.random.default_rng(seed)
    for frame in frames:
        for channel in (each for own in servo_channels(rig).values() for each in own if each.is_single):
            pose = rig.pose.bones[channel.bone]
            locks = pose.lock_location if channel.prop == "location" else pose.lock_rotation
            if not locks[channel.index]:
                getattr(pose, channel.prop)[channel.index] = random.uniform(-0.6, 0.6)
                pose.keyframe_insert(channel.prop, index=channel.index, frame=frame)


def delete_pan(rig: Any) -> Any:
    return delete_objects(rig, [joint(rig, "Camera Pan")])[2]


def add_planar(rig: Any) -> Any:
    rod, crank = body(rig, "connecting_rod"), body(rig, "crank")
    return join_bodies(rig, rod, crank, Matrix.Translation(crank.matrix_world.translation), "planar")[1]


def tilt_hinge(rig: Any) -> Any:
    pin = joint(rig, "Hinge 8")
    return place_joint(
        pin, Matrix.Translation((0.05, 0.1, 0.05)) @ pin.matrix_world @ Euler((0.5, 0.3, 0.2)).to_matrix().to_4x4()
    )


def shown(rig: Any, action: Any) -> dict[tuple[str, int], np.ndarray]:
    """World poses of bodies at the keyframes of an Action that plays alone, by name and frame."""
    use_action(rig, action)
    now, out = bpy.context.scene.frame_current, {}
    frames = sorted({int(point.co[0]) for curve in all_curves(action) for point in curve.keyframe_points})
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        for obj in parts(rig, "BODY"):
            out[record_of(obj).source_name, frame] = np.array(obj.matrix_world.normalized())
    bpy.context.scene.frame_set(now)
    return out


def turned(one: np.ndarray, other: np.ndarray) -> float:
    """Angle between two poses in degrees."""
    return math.degrees((Matrix(one.tolist()).inverted() @ Matrix(other.tolist())).to_quaternion().to_axis_angle()[1])


@pytest.mark.parametrize("scale", [1.0, 2.5])
@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("rover.jm", delete_pan),
        ("slider_crank_rotating_base.json", add_planar),
        ("Backhoe.jm", tilt_hinge),
    ],
)
def test_the_report_has_the_largest_distance_and_angle_of_every_motion_as_the_scene_shows_them(
    blank: Any, name: str, edit: Callable[[Any], Any], scale: float
) -> None:
    """One body may be the farthest off, and another one, or the same at another frame, turned most."""
    rig = made(name)
    rig.scale = (scale,) * 3
    actions = []
    for each, frames in (("one", (1, 11, 21, 31)), ("other", (1, 16, 31))):
        action = bpy.data.actions.new(each)
        action.use_fake_user = True
        use_action(rig, action)
        loop_keyed(rig, frames, len(actions))
        actions.append(action)
    bpy.context.scene.frame_set(11)
    before = [shown(rig, action) for action in actions]
    use_action(rig, actions[1])
    bpy.context.scene.frame_set(11)
    now = Seen.of(rig)
    report = edit(rig)
    assert now.apart(Seen.of(rig))[0] < APART, "the present pose stays"
    listed = [line.message for line in settings(rig).report if line.code == "motion-changed"]
    assert listed == [str(each.message) for each in report.entries if each.code == "motion-changed"]
    assert len(listed) == 2
    for action, was in zip(actions, before, strict=True):
        (told,) = [line for line in listed if f"'{action.name}'" in line]
        after = shown(rig, action)
        pairs = {key: (was[key], after[key]) for key in was}
        lengths = {key: float(np.linalg.norm(one[:3, 3] - other[:3, 3])) for key, (one, other) in pairs.items()}
        angles = {key: turned(*both) for key, both in pairs.items()}
        for values, unit in ((lengths, " m"), (angles, "°")):
            (found_,) = re.findall(rf"([\d.e-]+){unit} \(body '(.+?)', frame (\d+)\)", told)
            largest = max(values.values())
            assert float(found_[0]) == pytest.approx(largest, rel=1e-2, abs=1e-3)
            assert values[found_[1], int(found_[2])] == pytest.approx(largest, rel=1e-2, abs=1e-3)


@pytest.mark.parametrize("normal", [0, 1, 2])
@pytest.mark.parametrize(
    ("name", "of"),
    [
        ("slider_crank_rotating_base.json", "piston"),
        ("slider_crank_rotating_base.json", "connecting_rod"),
        ("pumpjack.json", "pitman"),
        ("pumpjack.json", "beam"),
        ("pumpjack.json", "tail_bearing"),
        ("Backhoe.jm", "Forearm"),
        ("Backhoe.jm", "Outer Intermediate"),
    ],
)
@pytest.mark.parametrize("frame", [1, 8])
def test_a_twin_in_a_loop_keeps_the_motion_or_it_is_reported(
    blank: Any, name: str, of: str, normal: int, frame: int
) -> None:
    rig = made(name)
    loop_keyed(rig, (1, 11, 21), 3)
    action = rig.animation_data.action
    bpy.context.scene.frame_set(frame)
    before, size = shown(rig, action), Seen.of(rig).size
    chosen = joint(rig, of) if of == "tail_bearing" else body(rig, of)
    report = create_twins([chosen], Plane(np.eye(3)[normal]))[1]
    after = shown(rig, action)
    off = max(float(np.abs(pose - after[key]).max()) for key, pose in before.items())
    told = {each.code for each in report.entries}
    assert (off > 1e-3 * max(1.0, size)) == ("motion-changed" in told), off
    assert "loop-open" not in {finding.code for finding in check_model(rig)}
    if of == "piston":
        assert "motion-changed" not in told
        assert ("open-twin-left-out" in told) == (normal != 0)
    if of == "tail_bearing":
        assert twin_of(chosen) is not None and "open-twin-left-out" not in told


@pytest.mark.parametrize(
    ("name", "which"),
    [
        ("desk_lamp.skel", "elbow"),
        ("hexapod.jm", "Left Front Knee"),
        ("pumpjack.json", "crank_pin"),
        ("pumpjack.json", "saddle_bearing"),
    ],
)
def test_a_joint_moved_by_hand_changes_the_motion_as_move_joint_does_and_is_told_so(
    blank: Any, capfd: Any, name: str, which: str
) -> None:
    def moved(by_hand: bool) -> tuple[dict[float, Seen], list[str]]:
        empty_file()
        rig = made(name)
        held_keys(rig)
        empty = next(each for each in parts(rig, "JOINT") if each.name == which)
        place = empty.matrix_world.copy()
        place.translation += 0.05 * max(rig.dimensions) * Vector((1.0, 0.0, 0.0))
        capfd.readouterr()
        if by_hand:
            empty.matrix_world = place
            bpy.context.view_layer.update()
            pick(rig)
            assert bpy.ops.knuckle.refit() == {"FINISHED"}
        else:
            bpy.context.scene.cursor.location = place.translation
            pick(empty)
            assert bpy.ops.knuckle.move_joint(where="CURSOR", axis="AUTO") == {"FINISHED"}
        told = re.findall(r"Keyframes of '[^']+': off by up to ([\d.e-]+) m", capfd.readouterr().out)
        return motion(rig), told

    (before, reports), (after, told) = moved(by_hand=False), moved(by_hand=True)
    assert apart(before, after) < 1e-3
    assert reports and [float(each) for each in told] == pytest.approx([float(each) for each in reports], rel=5e-3)


@pytest.mark.parametrize("blend", ["REPLACE", "COMBINE", "ADD"])
@pytest.mark.parametrize("name", ["motor", "crank_pin", "saddle_bearing", "tail_bearing"])
@pytest.mark.parametrize("edit", [delete, retyped("free"), retyped("ball")])
def test_a_loop_that_opens_while_actions_are_blended_stays_where_it_is_seen(
    blank: Any, edit: Any, name: str, blend: str
) -> None:
    rig = made("pumpjack.json")
    data = rig.animation_data_create()
    data.nla_tracks.new().strips.new("base", 1, crank_keyed(rig, "base", {1: 0.0, 21: 2.0}))
    use_action(rig, crank_keyed(rig, "top", {1: 0.3, 21: -0.4}))
    data.action_blend_type = blend
    bpy.context.scene.frame_set(11)
    before = bodies_at(rig, (11.0,))
    bpy.context.scene.frame_set(11)
    edit(named(rig, name))
    check_poses(bodies_at(rig, (11.0,)), before)


@pytest.mark.parametrize(
    ("name", "shift", "is_told"), [("LKneePitch", 0.05, True), ("LKneePitch", 0.0, False), ("RKneePitch", 0.05, False)]
)
def test_a_driver_of_a_joint_that_moves_elsewhere_is_reported(
    blank: Any, name: str, shift: float, is_told: bool, capfd: Any
) -> None:
    """Not where it moves along its own axis, nor that of another joint."""
    rig = made("humanoid.skel")
    rig.animation_data_clear()
    rig.pose.bones["LKneePitch"].driver_add("rotation_euler", 2).driver.expression = "0.5 * sin(frame / 8)"
    bpy.context.scene.frame_set(11)
    empty = joint(rig, name)
    across, along = (empty.matrix_world.col[column].xyz.normalized() for column in (0, 2))
    bpy.context.scene.cursor.location = empty.matrix_world.translation + shift * across + 0.02 * along
    before = bodies_at(rig, (11.0, 31.0))
    bpy.context.scene.frame_set(11)
    pick(empty)
    capfd.readouterr()
    assert bpy.ops.knuckle.move_joint(where="CURSOR", axis="AUTO") == {"FINISHED"}
    assert ("Driver of 'LKneePitch'" in capfd.readouterr().out) == is_told
    after = bodies_at(rig, (11.0, 31.0))
    check_poses({11.0: after[11.0]}, {11.0: before[11.0]})
    off = max(float(np.abs(after[31.0][body] - pose).max()) for body, pose in before[31.0].items())
    assert (off > 1e-3) == is_told


@pytest.mark.parametrize(
    "lost", ["undercarriage", "cabin", "boom", "stick", "bucket", "boom_rod_1", "bucket_linkage_1"]
)
def test_loops_beside_a_deleted_body_move_on(blank: Any, capfd: Any, lost: str) -> None:
    """Their frames are rounded elsewhere then: inputs keep to their keyframes, and an update changes nothing."""
    rig = made("excavator.json")
    held_keys(rig)
    pick(next(each for each in parts(rig, "BODY") if file_name(each) == lost))
    assert bpy.ops.knuckle.delete_parts() == {"FINISHED"}
    before = motion(rig)
    for loop in live_loops(rig):
        for frame in (1, 12, 21):
            bpy.context.scene.frame_set(frame)
            assert loop.state is not None and not loop.state.is_held, frame
    bpy.context.scene.frame_set(4)
    pick(rig)
    capfd.readouterr()
    assert bpy.ops.knuckle.refit() == {"FINISHED"}
    assert "off by up to" not in capfd.readouterr().out
    assert apart(before, motion(rig)) < 1e-4
