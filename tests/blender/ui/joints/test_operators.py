"""The table of joints: what is set on one that is ticked is set on all, once; copies, also to twins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.panels_helpers import Layout
from tests.support.scenes import pick

OWN = Path(__file__).resolve().parents[4] / "sample_models"


@pytest.fixture
def hexapod(blank: Any) -> Any:
    import bpy

    from addon import formats
    from addon.blender.data.queries import rig_in
    from addon.blender.reconcile.build import BuildOptions, build

    model = formats.load(OWN / "hexapod/hexapod.jm")
    made = rig_in(build(model, options=BuildOptions(gait=False, physics=False)))
    bpy.context.view_layer.objects.active = made
    bpy.context.view_layer.update()
    return made


def joints(rig: Any) -> dict[str, Any]:
    from addon.blender.data.queries import parts

    return {empty.knuckle.source_name: empty for empty in parts(rig, "JOINT")}


def dof_of(rig: Any, name: str) -> Any:
    return joints(rig)[name].knuckle.joint.dofs[0]


def test_a_value_goes_to_all_that_are_ticked(hexapod: Any) -> None:
    import bpy

    pick(*(joints(hexapod)[name] for name in ("Left Front Knee", "Right Rear Knee")))
    assert bpy.ops.knuckle.tick_joints(to="SELECTED") == {"FINISHED"}
    left, right, other = (dof_of(hexapod, name) for name in ("Left Front Knee", "Right Rear Knee", "Left Rear Knee"))
    before = other.gain, other.upper
    left.each_gain, left.each_upper_angle = 7.0, 0.25
    assert (left.gain, right.gain) == (7.0, 7.0)
    assert (left.upper, right.upper) == pytest.approx((0.25, 0.25))
    limit = next(c for c in hexapod.pose.bones["Right Rear Knee"].constraints if c.type == "LIMIT_ROTATION")
    assert limit.max_z == pytest.approx(0.25), "and what is derived from it"
    assert (other.gain, other.upper) == before
    other.each_gain = 3.0
    assert (other.gain, left.gain) == (3.0, 7.0), "one that is not ticked is set alone"


def test_each_joint_is_reported_once(hexapod: Any) -> None:
    import bpy

    from addon.blender.events.signals import Signal, signal_handlers

    told: list[str] = []
    signal_handlers(Signal.JOINT).append(lambda empty: told.append(empty.name))
    try:
        bpy.ops.knuckle.tick_joints(to="ALL")
        dof_of(hexapod, "Left Front Knee").each_lower_angle = -0.3
    finally:
        signal_handlers(Signal.JOINT).pop()
    assert sorted(told) == sorted(obj.name for obj in joints(hexapod).values())


def test_angles_do_not_become_lengths(rig: Any) -> None:
    import bpy

    turn, slide = (dof_of(rig, name) for name in ("Left Joint", "Right Joint"))
    bpy.ops.knuckle.tick_joints(to="ALL")
    before = slide.upper
    turn.each_upper_angle = 0.4
    turn.each_max_force = 12.0
    assert slide.upper == before and slide.max_force == 12.0


def test_the_active_joint_is_copied_to_the_selected(hexapod: Any) -> None:
    import bpy

    source, one, other = (joints(hexapod)[n] for n in ("Left Front Knee", "Left Middle Knee", "Right Rear Swing"))
    own = source.knuckle.joint.dofs[0]
    own.upper, own.gain, own.damping = 0.31, 4.0, 0.5
    pick(source)
    with pytest.raises(RuntimeError, match="choose the joints that get its values"):
        bpy.ops.knuckle.copy_joint(to="SELECTED")
    pick(one, other, source)
    assert bpy.ops.knuckle.copy_joint(to="SELECTED", spring=False) == {"FINISHED"}
    for each in (one, other):
        dof = each.knuckle.joint.dofs[0]
        assert (dof.upper, dof.gain, dof.damping) == (pytest.approx(0.31), 4.0, 0.0)


def test_twins_get_the_mirror_image(hexapod: Any) -> None:
    import bpy
    import numpy as np

    from addon.blender.data.access import settings
    from addon.blender.data.queries import twin_of
    from addon.blender.scene.read.mechanism import extract
    from addon.core.editing.mirroring import motion_mirror

    empty = joints(hexapod)["Left Front Knee"]
    twin = twin_of(empty)
    own, its = empty.knuckle.joint.dofs[0], twin.knuckle.joint.dofs[0]
    own.lower, own.upper, own.max_force, own.servo_stiffness = -0.1, 0.7, 33.0, 21.0
    place = twin.matrix_basis.copy()
    pick(empty)
    assert bpy.ops.knuckle.copy_joint(to="TWINS") == {"FINISHED"}
    part = motion_mirror(extract(settings(hexapod).collection)).joints[empty.knuckle.source_id].parts[0]
    image = np.sort(part.matrix[0, 0] * np.array([-0.1, 0.7]))
    assert (its.lower, its.upper) == pytest.approx(tuple(image))
    assert (its.max_force, its.servo_stiffness) == (33.0, 21.0)
    assert twin.matrix_basis == place
    for each in (empty, twin):
        each.knuckle.twin = ""
    with pytest.raises(RuntimeError, match="No selected joint has a twin"):
        bpy.ops.knuckle.copy_joint(to="TWINS")


def test_undo_takes_all_of_it_back(hexapod: Any) -> None:
    import bpy

    pick(joints(hexapod)["Left Front Knee"])
    bpy.ops.knuckle.tick_joints(to="ALL")
    bpy.ops.ed.undo_push(message="before")
    before = [obj.knuckle.joint.dofs[0].gain for obj in joints(hexapod).values()]
    dof_of(hexapod, "Left Front Knee").each_gain = 99.0
    assert bpy.ops.knuckle.joint_table() == {"FINISHED"}
    bpy.ops.ed.undo_push(message="after")
    bpy.ops.ed.undo()
    rig = next(obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")
    assert [obj.knuckle.joint.dofs[0].gain for obj in joints(rig).values()] == before


def test_cancel_takes_all_edits_back(hexapod: Any) -> None:
    import bpy

    from addon.blender.editing.joint_settings import joint_values, set_joint_values

    before = joint_values(hexapod)
    bpy.ops.knuckle.tick_joints(to="ALL")
    dof = dof_of(hexapod, "Left Front Knee")
    dof.each_upper_angle, dof.each_gain, dof.each_use_lower = 0.1, 2.0, False
    bone = hexapod.pose.bones["Right Rear Knee"]
    assert joint_values(hexapod) != before and bone.ik_max_z == pytest.approx(0.1)
    set_joint_values(hexapod, before)
    assert joint_values(hexapod) == before
    assert bone.ik_max_z == pytest.approx(dof_of(hexapod, "Right Rear Knee").upper) != pytest.approx(0.1)


@pytest.mark.parametrize("law", ["AUTO", "PD"])
def test_the_joint_table_draws_the_columns_of_its_control_law(hexapod: Any, law: str) -> None:
    import bpy

    from addon.blender.ui.joints import operators

    hexapod.data.knuckle.law = law
    drawn: list[tuple[str, Any]] = []
    stand_in = type("Popup", (), {"layout": Layout(drawn)})()
    operators.KNUCKLE_OT_joint_table.draw(stand_in, bpy.context)
    assert ("list", "KNUCKLE_UL_joint_table") in drawn
    titles = [text for kind, text in drawn if kind == "label"]
    assert titles[:3] == ["Joint", "Lower Stop", "Upper Stop"] and ("PD Damp." in titles) == (law == "PD")
    rows: list[tuple[str, Any]] = []
    for empty in joints(hexapod).values():
        operators.KNUCKLE_UL_joint_table.draw_item(None, bpy.context, Layout(rows), None, empty, 0, None, "")
    assert sum(name == "each_lower_angle" for _kind, name in rows) == len(joints(hexapod))


def test_the_joint_table_filters_by_kind_of_joint(rig: Any) -> None:
    from addon.blender.ui.joints.operators import matches_kind

    own = joints(rig)
    found = {kind: {n for n, e in own.items() if matches_kind(e, kind, {own["Left Joint"]})} for kind in KINDS}
    assert found == {
        "ALL": set(own), "TURN": {"Left Joint"}, "SLIDE": {"Right Joint"}, "BALL": set(), "SEVERAL": set(),
        "LOOP": set(), "SELECTED": {"Left Joint"},
    }  # fmt: skip


KINDS = ("ALL", "TURN", "SLIDE", "BALL", "SEVERAL", "LOOP", "SELECTED")


def test_the_joint_table_without_joints_is_rejected(blank: Any) -> None:
    import bpy

    bpy.ops.knuckle.new_model(name="Bare")
    with pytest.raises(RuntimeError, match="has no joints"):
        bpy.ops.knuckle.joint_table()
    with pytest.raises(RuntimeError, match="Select joints"):
        bpy.ops.knuckle.copy_joint()
