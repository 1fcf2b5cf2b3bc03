"""Joints of loops that become others: the loops are driven by what can drive them then."""

from __future__ import annotations

from typing import Any

import bpy
import pytest

from addon.blender.animation.loops.input_joints import set_input_joint
from addon.blender.animation.loops.live_solver import live_loops
from addon.blender.data.access import record_of
from addon.blender.data.queries import joint_bones, parts, rig_in
from addon.blender.editing.joints import set_joint_type
from addon.blender.reconcile.build import BuildOptions, build
from addon.blender.reconcile.rig_update import update_armature
from tests.support.loops import crank_rocker


def put() -> Any:
    rig = rig_in(build(crank_rocker(), options=BuildOptions(physics=False, gait=False)))
    bpy.context.view_layer.update()
    return rig


def following(rig: Any) -> set[str]:
    return {record_of(empty).source_id for empty in parts(rig, "JOINT") if record_of(empty).joint.is_dependent}


def driving(rig: Any) -> Any:
    (loop,) = live_loops(rig)
    (own,) = loop.drivers
    return next(empty for empty in parts(rig, "JOINT") if record_of(empty).source_id == own)


def locks(rig: Any, empty: Any) -> list[bool]:
    return list(rig.pose.bones[joint_bones(rig)[record_of(empty).source_id][0]].lock_rotation)


def frames(*numbers: int) -> None:
    for number in numbers:
        bpy.context.scene.frame_set(number)
        bpy.context.view_layer.update()


def rotations_locked(rig: Any) -> list[bool]:
    return [all(rig.pose.bones[name].lock_rotation) for chain in joint_bones(rig).values() for name in chain]


def test_a_loop_with_a_welded_input_joint_stands_until_the_joint_rotates_again(
    blank: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    rig = put()
    crank, before = driving(rig), following(rig)
    assert before
    bpy.context.view_layer.objects.active = crank
    crank.select_set(True)
    assert bpy.ops.knuckle.set_joint_type(type="weld") == {"FINISHED"}
    frames(2, 3)
    assert all(rotations_locked(rig)) and [loop.drivers for loop in live_loops(rig)] == [()], "nothing moves"
    assert bpy.ops.knuckle.set_joint_type(type="revolute") == {"FINISHED"}
    frames(4)
    assert following(rig) == before and len(live_loops(rig)) == 1
    assert locks(rig, driving(rig)) == [True, True, False], "what drives can be turned"
    assert "Error" not in capfd.readouterr().err, "no handler failed"


def test_a_joint_on_a_loop_that_gets_another_way_to_move_changes_what_drives(blank: Any) -> None:
    rig = put()
    crank = driving(rig)
    other = next(empty for empty in parts(rig, "JOINT") if record_of(empty).source_id in following(rig))
    set_joint_type(other, "weld")
    assert all(rotations_locked(rig)), "without a degree of freedom nothing can be turned"
    assert locks(rig, crank) == [True, True, True]


def test_a_choice_of_the_users_outlasts_a_refit(blank: Any) -> None:
    rig = put()
    other = next(empty for empty in parts(rig, "JOINT") if record_of(empty).source_id in following(rig))
    assert set_input_joint(rig, other) == [other]
    update_armature(rig)
    assert driving(rig) == other
