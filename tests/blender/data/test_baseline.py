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
from tests.support.emptied import empty_file
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


@pytest.mark.parametrize("has_handlers", [False, True])
def test_undo_needs_more_than_the_baseline_to_tell_which_twin_it_restored(blank: Any, has_handlers: bool) -> None:
    """After two histories Blender leaves the same poses and baselines of twins, which are to become others.

    Undo of an edit of the first restores that alone: the twin, which our handler moved after Blender had stored the
    step, is the same in both steps. Undo of what came after an edit of the second restores the step as it was stored,
    before our handler moved the first. So the first is as it was and the second is moved: it is to go back in one case,
    and the first to follow in the other. The twins are no mirror images, so that neither pose follows from the other.
    """
    reset, left = [], list[Any]()
    for edited, step, is_later in ((0, 0.25, False), (1, -0.25, True)):
        rig = made("hexapod.jm")
        first = next(obj for obj in parts(rig, "BODY") if twin_of(obj) is not None)
        names = first.name, twin_of(first).name
        other = next(obj.name for obj in parts(rig, "BODY") if obj.name not in names)
        bpy.data.objects[names[1]].location.z += 0.125
        settings(rig).symmetric = True
        for _ in range(3):
            bpy.context.view_layer.update()
            bpy.ops.ed.undo_push(message="start")
        start = _standing(names)
        _move_before_handler(names[edited], step, names[1 - edited], has_handlers)
        done = _standing(names)
        if is_later:
            _move_before_handler(other, 0.25, None, has_handlers)
        handlers = _without_handlers(not has_handlers)
        bpy.ops.ed.undo()
        bpy.context.view_layer.update()
        for name, acts in handlers.items():
            getattr(bpy.app.handlers, name)[:] = acts
        left.append((_standing(names), [list(record_of(bpy.data.objects[name]).baseline_pose) for name in names]))
        reset.append(done if is_later else start)
        empty_file()
    if has_handlers:
        for (now, _baselines), wanted in zip(left, reset, strict=True):
            assert now == pytest.approx(wanted, abs=1e-6)
    else:
        assert left[0][0] == pytest.approx(left[1][0], abs=1e-6) and left[0][1] == left[1][1]
        assert np.abs(np.subtract(*reset)).max() > 0.2


def _standing(names: Any) -> list[float]:
    return [number for name in names for number in bpy.data.objects[name].location]


def _without_handlers(wanted: bool) -> dict[str, list[Any]]:
    """Remove our handlers of symmetric editing; return the lists as they were."""
    names = ("depsgraph_update_post", "undo_post") if wanted else ()
    before = {name: list(getattr(bpy.app.handlers, name)) for name in names}
    for name in names:
        calls = getattr(bpy.app.handlers, name)
        calls[:] = [act for act in calls if act not in (live_mirror.after_update, live_mirror.after_undo_step)]
    return before


def _move_before_handler(name: str, step: float, twin: str | None, has_handlers: bool) -> None:
    """Move a body along X; then Blender stores the step, and the twin is moved by our handler, or here as by it."""
    before = _without_handlers(True)
    bpy.data.objects[name].location.x += step
    bpy.ops.ed.undo_push(message=name)
    if not has_handlers and twin is not None:
        bpy.data.objects[twin].location.x -= step
        bpy.context.view_layer.update()
    for each, acts in before.items():
        getattr(bpy.app.handlers, each)[:] = acts
    if has_handlers:
        bpy.data.objects[name].update_tag()
        bpy.context.view_layer.update()
