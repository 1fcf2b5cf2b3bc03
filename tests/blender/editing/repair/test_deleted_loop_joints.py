"""Joints of closed loops that are deleted by Blender's own *Delete*: the loop does not go on as if they were there, and
both fixes keep the motion, the one with the joint and the other with keyframes instead of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from addon.blender.animation.loops.live_solver import live_loops
from addon.blender.data.access import record_of, settings
from addon.blender.data.queries import parts
from addon.blender.editing.repair.checks import check_model
from addon.blender.editing.repair.fixes import fix
from tests.support.emptied import empty_file
from tests.support.scenes import imported, pick, the_rig

FRAMES = (1, 7, 15, 24)
JOINTS = ("tail_bearing", "crank_pin", "saddle_bearing")


def keyed(rig: Any) -> None:
    for frame, value in ((1, 0.0), (15, 1.5), (24, -0.5)):
        rig.pose.bones["motor"].rotation_euler.z = value
        rig.pose.bones["motor"].keyframe_insert("rotation_euler", index=2, frame=frame)
    bpy.context.scene.frame_set(1)


def poses() -> dict[int, dict[str, np.ndarray]]:
    out = {}
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
        bpy.context.view_layer.update()
        out[frame] = {obj.name: np.array(obj.matrix_world) for obj in parts(the_rig(), "BODY")}
    bpy.context.scene.frame_set(1)
    return out


def off(before: Any, after: Any) -> float:
    return max(
        float(np.abs(before[frame][name] - after[frame][name]).max()) for frame in FRAMES for name in after[frame]
    )


def delete_by_hand(rig: Any, name: str) -> None:
    empty = next(each for each in parts(rig, "JOINT") if each.name == name)
    pick(empty)
    assert bpy.ops.object.delete() == {"FINISHED"}
    bpy.context.view_layer.update()


def reopened(tmp_path: Path) -> Any:
    path = str(tmp_path / "deleted.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    return the_rig()


@pytest.mark.parametrize("opened", [False, True], ids=["at once", "after opening the file again"])
@pytest.mark.parametrize("name", JOINTS)
@pytest.mark.parametrize("way", ["keyframe", "rebuild", "update"])
def test_a_deleted_joint_of_a_loop_is_found_and_the_motion_is_kept(
    blank: Any, name: str, way: str, opened: bool, tmp_path: Path
) -> None:
    rig = imported("pumpjack.json")
    keyed(rig)
    before = poses()
    delete_by_hand(rig, name)
    assert not live_loops(rig), "what is seen is what the file has"
    rig = reopened(tmp_path) if opened else rig
    assert off(before, poses()) > 0.05, "the loop is open"
    (found,) = [each for each in check_model(rig) if each.code == "followers-left"]
    followers = {"tail_bearing", "crank_pin", "saddle_bearing"} - {name}
    assert all(str(found.message).count(repr(each)) for each in followers - {"tail_bearing"})
    if way == "update":
        pick(rig)
        assert bpy.ops.knuckle.refit() == {"FINISHED"}
    else:
        fix(rig, found, other=way == "keyframe")
    assert off(before, poses()) < 1e-4
    there = {record_of(obj).source_name for obj in parts(rig, "JOINT")}
    assert (name in there) == (way == "rebuild")
    assert "followers-left" not in {each.code for each in check_model(rig)}
    assert bool(live_loops(rig)) == (way == "rebuild")


def test_joints_of_a_loop_that_no_document_describes_can_be_posed_again(blank: Any) -> None:
    rig = imported("pumpjack.json")
    keyed(rig)
    settings(rig).document = None
    settings(rig).format = settings(rig).path = ""
    for text in list(bpy.data.texts):
        bpy.data.texts.remove(text)
    delete_by_hand(rig, "tail_bearing")
    (found,) = [each for each in check_model(rig) if each.code == "followers-left"]
    told = fix(rig, found, other=True)
    assert "'pitman'" not in told and "saddle_bearing" in told
    assert not any(record_of(obj).joint.is_dependent for obj in parts(rig, "JOINT"))


def test_a_loop_that_is_switched_off_or_lacks_bones_is_not_reported_so(blank: Any) -> None:
    rig = imported("pumpjack.json")
    assert "followers-left" not in {each.code for each in check_model(rig)}
    for empty in parts(rig, "JOINT"):
        record_of(empty).joint.active = False
    assert "followers-left" not in {each.code for each in check_model(rig)}


@pytest.mark.parametrize("name", ["crank_pin", "saddle_bearing"])
@pytest.mark.parametrize("way", ["detach", "update"])
def test_detaching_what_a_deleted_joint_of_a_loop_carried_keeps_the_motion(blank: Any, name: str, way: str) -> None:
    rig = imported("pumpjack.json")
    keyed(rig)
    before = poses()
    delete_by_hand(rig, name)
    if way == "update":
        pick(rig)
        assert bpy.ops.knuckle.refit() == {"FINISHED"}
    else:
        found = next(each for each in check_model(rig) if each.code == "bones-gone")
        assert "Detach the bodies" in (found.fix, found.or_fix)
        fix(rig, found, other=found.or_fix == "Detach the bodies")
    assert off(before, poses()) < 1e-4
    assert not {"followers-left", "bones-gone"} & {each.code for each in check_model(rig)}


def test_deleting_the_joints_of_a_deleted_body_keeps_the_motion(blank: Any) -> None:
    rig = imported("pumpjack.json")
    keyed(rig)
    before = poses()
    pick(next(obj for obj in parts(rig, "BODY") if record_of(obj).source_name == "beam"))
    assert bpy.ops.object.delete() == {"FINISHED"}
    bpy.context.view_layer.update()
    while found := next((each for each in check_model(rig) if each.code == "joint-lost"), None):
        assert found.fix == "Delete joint"
        fix(rig, found)
    after = poses()
    assert "beam" not in after[1] and off(before, after) < 1e-4
    assert "followers-left" not in {each.code for each in check_model(rig)}


def test_updating_the_armature_tells_what_a_deleted_joint_moves(blank: Any, capfd: Any) -> None:
    """*Update Armature* gives the warning of *Delete Parts*, with the same figure."""
    told = []
    for by_hand in (False, True):
        empty_file()
        rig = imported("desk_lamp.skel")
        for frame, value in ((1, 0.0), (15, 0.8)):
            rig.pose.bones["elbow"].rotation_euler.z = value
            rig.pose.bones["elbow"].keyframe_insert("rotation_euler", index=2, frame=frame)
        bpy.context.scene.frame_set(1)
        capfd.readouterr()
        if by_hand:
            delete_by_hand(rig, "elbow")
            pick(rig)
            assert bpy.ops.knuckle.refit() == {"FINISHED"}
        else:
            pick(next(each for each in parts(rig, "JOINT") if each.name == "elbow"))
            assert bpy.ops.knuckle.delete_parts() == {"FINISHED"}
        told.append([line for line in capfd.readouterr().out.splitlines() if "off by up to" in line])
    assert told[0] and told[1] == told[0]
