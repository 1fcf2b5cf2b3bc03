"""Baseline of parts: it goes with copies, keeps the bones of joints apart, and survives undo of edits by handlers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("bpy")

import bpy

from addon.blender.data.access import is_renamed, record_of, settings
from addon.blender.data.baseline import baseline_pose, bone_baseline, record_baseline
from addon.blender.data.queries import parts, twin_of
from addon.blender.editing.symmetry import live_mirror
from addon.blender.reconcile.rig_update import update_armature
from addon.blender.scene.read.design_poses import moved_joints
from tests.support.scenes import made, the_rig


def test_a_copy_has_the_baseline_of_its_original_and_another_name(blank: Any) -> None:
    body = parts(made("hexapod.jm"), "BODY")[0]
    copy = body.copy()
    assert is_renamed(copy) and not is_renamed(body)
    assert np.array_equal(baseline_pose(copy), np.array(body.matrix_basis))
    copy.location.x += 1.0
    assert np.array_equal(baseline_pose(copy), baseline_pose(body))


def test_a_new_baseline_of_a_joint_leaves_its_bones_where_they_were_made(blank: Any) -> None:
    rig = made("hexapod.jm")
    joint = parts(rig, "JOINT")[3]
    before = [number for row in joint.matrix_basis for number in row]
    assert bone_baseline(joint) == before
    joint.location.z += 0.25
    record_baseline(joint)
    assert bone_baseline(joint) == before and moved_joints(rig) == [joint]
    update_armature(rig)
    assert bone_baseline(joint) == [number for row in joint.matrix_basis for number in row] and not moved_joints(rig)


def test_undo_of_an_edit_after_that_of_another_pair_takes_back_both_sides(blank: Any) -> None:
    """The twin is the same in both steps, since handlers run after a step is stored: undo leaves it as they moved it.

    If one datablock had what was mirrored last, undo would restore that of before the first edit, and the twin would
    count as the one that was edited.
    """
    rig = made("hexapod.jm")  # without physics, with which undo reads all data again
    settings(rig).symmetric = True
    paired = [obj for obj in parts(rig, "BODY") if twin_of(obj) is not None]
    first, second = paired[0], next(obj for obj in paired if obj not in {paired[0], twin_of(paired[0])})
    names = {obj.name: twin_of(obj).name for obj in (first, second)}
    for _ in range(3):  # parts that are tagged for an update count as changed
        bpy.context.view_layer.update()
        bpy.ops.ed.undo_push(message="start")
    handlers, states = bpy.app.handlers.depsgraph_update_post, []

    def places() -> dict[str, Any]:
        return {obj.name: tuple(obj.location) for obj in parts(the_rig(), "BODY")}

    for name in names:
        bpy.data.objects[name].location.x += 0.25
        handlers.remove(live_mirror.after_update)
        bpy.ops.ed.undo_push(message=name)  # with a window, Blender stores the step before it calls the handlers
        handlers.append(live_mirror.after_update)
        bpy.data.objects[name].update_tag()
        bpy.context.view_layer.update()
        states.append(places())
    moved = {name for name, place in states[1].items() if place != states[0][name]}
    assert moved == {*list(names.items())[1]}
    bpy.ops.ed.undo()
    assert places() == states[0]
    assert all(record_of(bpy.data.objects[each]).mirrored_count for pair in names.items() for each in pair)
