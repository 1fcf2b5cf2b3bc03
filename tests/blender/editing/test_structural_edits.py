"""Edits of a mechanism's structure hold what they do not concern: bodies stay where they are seen, joints on their
bodies, in the scene and in the exported text; roots stay roots; what is not edited moves as it did.

Structural edits are made of models of each format, at the initial pose, posed, posed beyond stops, between keyframes.
What must not move is evaluated by Blender; joints are judged on the exported text, read as any file is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from addon import formats
from addon.blender.animation.pose_library import zero_servos
from addon.blender.compat import action_curves
from addon.blender.data.access import record_of, settings
from addon.blender.data.channels import servo_channels
from addon.blender.data.queries import joint_bones, parts, root_bones
from addon.blender.editing.authoring import join_bodies, make_body
from addon.blender.editing.joints import delete_objects, place_joint, set_joint_type, swap_joint_ends
from addon.blender.editing.split_merge import split_model
from addon.blender.editing.symmetry.twins import axis_plane, create_twins
from addon.blender.reconcile.rig_update import update_armature
from addon.blender.rig.pose_channels import write_pose
from addon.blender.scene.read.mechanism import extract
from tests.support import holding
from tests.support.emptied import empty_file
from tests.support.holding import SAME, STATES, Seen
from tests.support.scenes import body, made, pick

#: One of each format, with loops and without, with joints of several degrees, and of bones in chains.
FILES = ["desk_lamp.skel", "pumpjack.json", "sensor_leg.xml", "rover.jm"]
REAL = [
    "pterosaur.jm",
    "slider_crank.json",
    "planar_joint.skel",
    "simple_tree_structure_ball_joint.skel",
    "branched.xml",
]


def the_joint(rig: Any, name: str) -> Any:
    return next(each for each in parts(rig, "JOINT") if record_of(each).source_name == name)


def bone_of(rig: Any, empty: Any) -> Any:
    return rig.pose.bones[joint_bones(rig)[record_of(empty).source_id][-1]]


def places(rig: Any, action: Any) -> set[tuple[str, int]]:
    return {(curve.data_path, curve.array_index) for curve in action_curves(rig, action)}


def check(rig: Any, label: str, state: str, keeps: bool) -> list[str]:
    """Make an edit of a fresh model that is in a state, and say what is wrong then."""
    wrong, before, base = [], Seen.of(rig), holding.loose_joints(rig)
    moving = {}
    for frame in (1, 4, 15) if state == "keyed" and keeps else ():
        bpy.context.scene.frame_set(frame)
        moving[frame] = Seen.of(rig)
    bpy.context.scene.frame_set(holding.FRAME)
    act = next(act for name, act, _ in holding.edits_of(rig) if name == label)
    try:
        out = act()
    except ValueError:  # there is no such edit of this
        return []
    after = Seen.of(rig)
    if label.startswith("split"):
        after.bodies |= Seen.of(out[0]).bodies
    if before.apart(after)[0] > SAME:
        wrong.append(f"{before.apart(after)} seen elsewhere")
    left = Seen.of(rig)
    if not label.startswith("split to world") and not before.roots & left.bodies.keys() <= left.roots:
        wrong.append(f"roots {before.roots} became {left.roots}")
    for frame, then in moving.items():
        bpy.context.scene.frame_set(frame)
        if then.apart(Seen.of(rig))[0] > SAME:
            wrong.append(f"{then.apart(Seen.of(rig))} elsewhere at frame {frame}")
    bpy.context.scene.frame_set(holding.FRAME)
    if before.apart(Seen.of(rig))[0] > SAME:
        wrong.append(f"{before.apart(Seen.of(rig))} elsewhere when the frame is set")
    loose = holding.loose_joints(rig)
    wrong += [f"{name} {gap:.2g} loose" for name, gap in loose.items() if gap > 2 * base.get(name, 0) + SAME]
    wrong += [f"{name} {gap:.2g} beside" for name, gap in holding.empties_beside(rig).items() if gap > 4 * SAME]
    return wrong


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("name", [*FILES, *REAL])
def test_edits_hold_what_they_do_not_concern(blank: Any, name: str, state: str) -> None:
    """Every seventh edit of the mechanism, of real files every eleventh."""
    rig = made(name)
    labels = [(label, keeps) for label, _act, keeps in holding.edits_of(rig)]
    labels = labels[:: 7 if name in FILES else 11]
    wrong = {}
    for label, keeps in labels:
        empty_file()
        rig = made(name)
        STATES[state](rig)
        found_wrong = check(rig, label, state, keeps)
        if found_wrong:
            wrong[label] = found_wrong
    assert not wrong


@pytest.mark.parametrize("name", FILES)
def test_edits_hold_with_physics_and_in_a_saved_file(blank: Any, name: str, tmp_path: Path) -> None:
    for number, label in enumerate(("move 0", "weld 0", "delete joint 0")):
        empty_file()
        rig = made(name, physics=True)
        STATES["posed"](rig)
        before = Seen.of(rig)
        next(act for each, act, _ in holding.edits_of(rig) if each == label)()
        assert before.apart(Seen.of(rig))[0] < SAME, label
        text = formats.dumps(extract(settings(rig).collection))[0]
        path = tmp_path / f"{number}.blend"
        bpy.ops.wm.save_as_mainfile(filepath=str(path))
        bpy.ops.wm.open_mainfile(filepath=str(path))
        rig = next(obj for obj in bpy.data.objects if record_of(obj).role == "MODEL")
        assert before.apart(Seen.of(rig))[0] < SAME, f"{label}, saved"
        assert formats.dumps(extract(settings(rig).collection))[0] == text


# ---------------------------------------------------------------- of each kind the plain case


def test_what_a_deleted_body_carried_stays_with_its_joints(blank: Any) -> None:
    rig = made("desk_lamp.skel")
    before = Seen.of(rig)
    delete_objects(rig, [body(rig, "foot")])
    assert before.apart(Seen.of(rig))[0] < SAME
    assert max(holding.loose_joints(rig).values()) < SAME and max(holding.empties_beside(rig).values()) < SAME


def test_a_loop_through_the_ground_stands_when_a_joint_of_it_is_welded(blank: Any) -> None:
    rig = made("pumpjack.json")
    before = Seen.of(rig)
    set_joint_type(the_joint(rig, "crank_pin"), "weld")
    assert before.apart(Seen.of(rig))[0] < SAME
    assert max(holding.loose_joints(rig).values()) < SAME


@pytest.mark.parametrize("mass", [0.5, 2.5, 30.0])
def test_the_root_stays_the_root_and_keeps_its_motion(blank: Any, mass: float) -> None:
    """Whatever is welded to it, however heavy, and which of the two is the parent."""
    rig = made("hexapod.jm")
    chassis = body(rig, "Chassis")
    root = rig.pose.bones[root_bones(rig)[record_of(chassis).source_id]]
    for frame, place in ((1, 0.0), (20, 2.0)):
        root.location.y = place
        root.keyframe_insert("location", frame=frame)
    bpy.context.scene.frame_set(20)
    before = Seen.of(rig)
    bpy.ops.mesh.primitive_cube_add(size=0.2, location=chassis.matrix_world.translation)
    cube = bpy.context.object
    pick(cube, rig)
    make_body(rig, [cube], mass=mass)
    join_bodies(rig, cube, chassis, chassis.matrix_world.copy(), "weld")
    assert {*root_bones(rig)} == before.roots
    for frame in (1, 20):
        bpy.context.scene.frame_set(frame)
        assert rig.pose.bones[root.name].location.y == pytest.approx(0.0 if frame == 1 else 2.0)
    assert before.apart(Seen.of(rig))[0] < SAME


def test_a_joint_keeps_its_channels_when_another_edit_rotates_its_bone(blank: Any) -> None:
    rig = made("desk_lamp.skel")
    neck = the_joint(rig, "neck")
    bone = bone_of(rig, neck)
    places = [(channel.prop, channel.index) for channel in servo_channels(rig)[record_of(neck).source_id]]
    bone.rotation_euler = [0.2 if ("rotation_euler", index) in places else 0.0 for index in range(3)]
    before = Seen.of(rig)
    place_joint(neck, Matrix.Translation((0.0, 0.0, 0.3)) @ neck.matrix_world.copy(), True)
    bone = bone_of(rig, neck)
    used = {(channel.prop, channel.index) for channel in servo_channels(rig)[record_of(neck).source_id]}
    for index in range(3):
        assert bone.rotation_euler[index] == 0.0 or ("rotation_euler", index) in used
    assert before.apart(Seen.of(rig))[0] < SAME


@pytest.mark.parametrize("how", ["refit", "zero"])
def test_what_is_left_on_a_channel_that_no_joint_has_is_reset(blank: Any, how: str) -> None:
    rig = made("desk_lamp.skel")
    bone = bone_of(rig, the_joint(rig, "elbow"))
    bone.rotation_euler.x, bone.location.y = 0.2, 0.1
    other = bone_of(rig, the_joint(rig, "shoulder"))
    other.rotation_euler.x = 0.3
    other.keyframe_insert("rotation_euler", index=0)
    pick(rig)
    if how == "refit":
        assert bpy.ops.knuckle.refit() == {"FINISHED"}
        assert bone.rotation_euler.z != 0.0, "its own channel says what it said"
    else:
        zero_servos(rig, bpy.context.scene)
    assert (bone.rotation_euler.x, bone.location.y) == (0.0, 0.0)
    assert other.rotation_euler.x == pytest.approx(0.3), "what is keyed is meant"


def test_a_joint_that_lost_a_body_is_deleted_with_its_other_body(blank: Any) -> None:
    """Of a format but Juice such a joint is not read, so that no edit of the mechanism has it."""
    rig = made("sensor_leg.xml")
    foot, shank = body(rig, "foot"), body(rig, "shank")
    (lost,) = [each.name for each in parts(rig, "JOINT") if record_of(each).joint.child == foot]
    bpy.data.objects.remove(foot)
    assert lost in bpy.data.objects
    gone = {
        each.name
        for each in parts(rig, "JOINT")
        if shank in (record_of(each).joint.parent, record_of(each).joint.child)
    }
    left = {each.name for each in parts(rig, "JOINT")} - gone
    assert lost in gone
    assert delete_objects(rig, [shank])[:2] == (1, len(gone))
    assert {each.name for each in parts(rig, "JOINT")} == left and not gone & {*bpy.data.objects.keys()}


def test_curves_of_what_a_joint_no_longer_has_go(blank: Any) -> None:
    rig = made("desk_lamp.skel")
    holding.keyed(rig)
    elbow = the_joint(rig, "elbow")
    own = {place for channel in servo_channels(rig)[record_of(elbow).source_id] for place in channel.curves()}
    action = rig.animation_data.action
    others = {each for each in places(rig, action) if '"elbow"' not in each[0]}
    report = set_joint_type(elbow, "weld")
    assert own and places(rig, action) == others
    assert np.abs(np.array(bone_of(rig, elbow).matrix_basis) - np.eye(4)).max() < 1e-6
    (entry,) = [each for each in report.entries if each.code == "motion-changed"]
    assert "shade" in entry.message and "frame 1" in entry.message or "frame 21" in entry.message


def test_how_far_the_motion_is_off_is_what_blender_shows(blank: Any) -> None:
    rig = made("desk_lamp.skel")
    elbow = the_joint(rig, "elbow")
    bone = bone_of(rig, elbow)
    for frame, value in ((1, -1.3), (11, -0.5), (31, -2.0)):
        bone.rotation_euler.z = value
        bone.keyframe_insert("rotation_euler", index=2, frame=frame)
    bpy.context.scene.frame_set(1)
    then = {}
    for frame in (1, 11, 31):
        bpy.context.scene.frame_set(frame)
        then[frame] = Seen.of(rig)
    bpy.context.scene.frame_set(1)
    report = set_joint_type(elbow, "weld")
    worst = {}
    for frame, seen in then.items():
        bpy.context.scene.frame_set(frame)
        now = Seen.of(rig)
        for own, pose in seen.bodies.items():
            worst[frame, own] = float(np.linalg.norm(pose[:3, 3] - now.bodies[own][:3, 3]))
    frame, own = max(worst, key=lambda each: worst[each])
    (entry,) = [each for each in report.entries if each.code == "motion-changed"]
    assert f"{worst[frame, own]:.3g} m (body '{own.split('/')[1]}', frame {frame})" in entry.message


@pytest.mark.parametrize("type_", ["universal", "cylindrical", "euler"])
def test_motion_goes_on_in_a_type_that_has_what_moves(blank: Any, type_: str) -> None:
    rig = made("desk_lamp.skel")
    holding.keyed(rig)
    then = {}
    for frame in (1, 8, 21):
        bpy.context.scene.frame_set(frame)
        then[frame] = Seen.of(rig)
    assert not [e for e in set_joint_type(the_joint(rig, "elbow"), type_).entries if e.code == "motion-changed"]
    for frame, seen in then.items():
        bpy.context.scene.frame_set(frame)
        assert seen.apart(Seen.of(rig))[0] < SAME


def test_a_joint_at_its_stop_is_moved_from_where_it_is_seen(blank: Any) -> None:
    rig = made("desk_lamp.skel")
    elbow = the_joint(rig, "elbow")
    bone_of(rig, elbow).rotation_euler.z = 0.9
    before = Seen.of(rig)
    place_joint(elbow, Matrix.Translation((0.0, 0.0, 0.02)) @ elbow.matrix_world.copy())
    assert before.apart(Seen.of(rig))[0] < SAME
    assert bone_of(rig, elbow).rotation_euler.z == pytest.approx(0.9), "what it is told stays"


def test_a_new_root_has_nothing_of_a_bone_that_had_its_name(blank: Any) -> None:
    """In x_xy a body and the joint that moves it have one name: the bone of the one goes, that of the other comes."""
    rig = made("sensor_leg.xml")
    shank = the_joint(rig, "shank")
    bone_of(rig, shank).rotation_euler.z = -0.4
    bone_of(rig, shank).keyframe_insert("rotation_euler", frame=1)
    bone_of(rig, shank).keyframe_insert("location", frame=1)
    before = Seen.of(rig)
    delete_objects(rig, [body(rig, "thigh")])
    assert before.apart(Seen.of(rig))[0] < SAME
    name = root_bones(rig)["shank"]
    pose = rig.pose.bones[name]
    assert not any((*pose.lock_location, *pose.lock_rotation, pose.lock_rotation_w)) and not pose.constraints
    paths = {curve.data_path for curve in action_curves(rig, rig.animation_data.action)}
    assert not any(f'"{name}"' in path for path in paths)


def test_what_is_split_off_stays_where_it_is_posed(blank: Any) -> None:
    rig = made("hexapod.jm")
    knee = next(each for each in parts(rig, "JOINT") if "Knee" in each.name)
    write_pose(rig, servo_channels(rig)[record_of(knee).source_id], np.array([0.8]))
    before = Seen.of(rig)
    other, _names, _report = split_model(rig, [record_of(knee).joint.child])
    after = Seen.of(rig)
    after.bodies |= Seen.of(other).bodies
    assert before.apart(after)[0] < SAME


def test_a_copy_of_a_posed_body_goes_out_where_it_is_seen(blank: Any) -> None:
    rig = made("desk_lamp.skel")
    holding.posed(rig)
    shade = body(rig, "shade")
    pick(shade)
    bpy.ops.object.duplicate()
    copy = bpy.context.view_layer.objects.active
    bpy.context.view_layer.update()
    there = np.linalg.inv(np.array(rig.matrix_world)) @ np.array(copy.matrix_world)
    out = next(each for each in holding.exported(rig).bodies if each.name == copy.name)
    pose = out.pose.copy()
    pose[:3, 3] += pose[:3, :3] @ out.com
    assert pose == pytest.approx(there, abs=1e-5)


def test_a_loop_held_short_of_its_keys_stays_there_when_a_joint_of_it_is_moved(blank: Any) -> None:
    """Its keys lead it where it cannot close, and it is held on the way: it goes on from there."""
    rig = made("slider_crank_2substructures_2.json")
    holding.keyed(rig)
    bpy.context.view_layer.update()
    assert "loop-held" in {line.code for line in settings(rig).report}
    before, empty = Seen.of(rig), the_joint(rig, "C_connecting_rod_piston")
    place_joint(empty, Matrix.Translation((0.02, -0.03, 0.05)) @ empty.matrix_world.normalized())
    assert before.apart(Seen.of(rig))[0] < SAME


@pytest.mark.parametrize("state", ["posed", "keyed"])
def test_a_twin_of_a_joint_on_a_posed_loop_meets_where_its_bodies_are_seen(blank: Any, state: str) -> None:
    rig = made("pumpjack.json")
    STATES[state](rig)
    before = Seen.of(rig)
    (twin,), _report = create_twins([the_joint(rig, "tail_bearing")], axis_plane(0))
    assert before.apart(Seen.of(rig))[0] < SAME
    assert holding.loose_joints(rig)[twin.name] < SAME


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("name", ["desk_lamp.skel", "pumpjack.json", "slider_crank.json", "hexapod.jm"])
def test_what_a_joint_deleted_by_hand_carried_goes_out_where_it_is_seen(blank: Any, name: str, number: int) -> None:
    """Also where another joint of a loop carries it then: the file, posed as it is seen, has all bodies there."""
    rig = made(name)
    holding.posed(rig)
    for bone in root_bones(rig).values():
        rig.pose.bones[bone].matrix_basis = Matrix()
    bpy.context.view_layer.update()
    pick([each for each in parts(rig, "JOINT") if record_of(each).joint.dofs][number])
    bpy.ops.object.delete()
    for _again in range(2):
        assert holding.apart_in_file(rig) < SAME
        update_armature(rig)


@pytest.mark.parametrize("name", ["pumpjack.json", "slider_crank.json"])
def test_a_rebuilt_armature_stands_where_its_loops_close(blank: Any, name: str) -> None:
    rig = made(name)
    before, tree = Seen.of(rig), {record_of(e).source_id: record_of(e).joint.loop for e in parts(rig, "JOINT")}
    pick(rig)
    bpy.ops.object.delete()
    assert bpy.ops.knuckle.rebuild() == {"FINISHED"}
    again = next(obj for obj in bpy.context.scene.objects if record_of(obj).role == "MODEL")
    assert before.apart(Seen.of(again))[0] < SAME
    assert {record_of(e).source_id: record_of(e).joint.loop for e in parts(again, "JOINT")} == tree


def test_a_swapped_joint_of_several_degrees_moves_as_it_did(blank: Any) -> None:
    """Its channels go on where they were; the keys of all are turned round."""
    rig = made("desk_lamp.skel")
    holding.keyed(rig)
    then = {}
    for frame in (1, 8, 21):
        bpy.context.scene.frame_set(frame)
        then[frame] = Seen.of(rig)
    swap_joint_ends(the_joint(rig, "neck"))
    for frame, seen in then.items():
        bpy.context.scene.frame_set(frame)
        assert seen.apart(Seen.of(rig))[0] < SAME
