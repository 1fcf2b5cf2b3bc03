"""The sliders of servos: ends at the stops, values in the channels; zeroed and keyed together. And poses by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.loops import crank_rocker
from tests.support.panels_helpers import Layout
from tests.support.stops_helpers import X, Z, arms

OWN = Path(__file__).resolve().parents[4] / "sample_models"


def made(mechanism: Any) -> Any:
    import bpy

    from addon.blender.data.queries import rig_in
    from addon.blender.reconcile.build import BuildOptions, build

    rig = rig_in(build(mechanism, options=BuildOptions(gait=False, physics=False)))
    bpy.context.view_layer.objects.active = rig
    bpy.context.view_layer.update()
    return rig


@pytest.fixture
def hexapod(blank: Any) -> Any:
    from addon import formats

    return made(formats.load(OWN / "hexapod/hexapod.jm"))


def slider(rig: Any, name: str) -> tuple[Any, Any]:
    """The row of a servo and its bone."""
    from addon.blender.ui.servos.sliders import servo_sliders

    row = next(row for rows in servo_sliders(rig).values() for row in rows if row.channel.name == name)
    return row, rig.pose.bones[row.channel.bone]


def ends(bone: Any, row: Any) -> tuple[float, float]:
    prop = bone.bl_rna.properties[row.prop]
    assert prop.subtype == ("ANGLE" if row.channel.is_angle else "NONE")
    return prop.soft_min, prop.soft_max


def test_a_slider_ends_at_the_stops(hexapod: Any) -> None:
    from addon.blender.data.queries import parts

    empty = next(e for e in parts(hexapod, "JOINT") if e.knuckle.source_name == "Left Front Knee")
    dof = empty.knuckle.joint.dofs[0]
    row, bone = slider(hexapod, "Left Front Knee")
    assert ends(bone, row) == pytest.approx((dof.lower, dof.upper), abs=1e-6)
    setattr(bone, row.prop, 0.1)
    assert bone.rotation_euler.z == np.float32(0.1) and getattr(bone, row.prop) == np.float32(0.1)
    setattr(bone, row.prop, 99.0)
    assert bone.rotation_euler.z == pytest.approx(dof.upper)
    bone.rotation_euler.z = dof.upper + 0.5
    assert row.is_outside_stops(bone), "keys may ask for more: that is red"
    bone.rotation_euler.z = dof.upper
    assert not row.is_outside_stops(bone)
    dof.upper = 0.2
    row, bone = slider(hexapod, "Left Front Knee")
    assert ends(bone, row)[1] == pytest.approx(0.2), "another stop is another end"
    dof.use_lower = dof.use_upper = False
    row, bone = slider(hexapod, "Left Front Knee")
    assert ends(bone, row) == pytest.approx((-np.pi, np.pi)) and row.is_slider


def test_translations_without_stops_are_plain_numbers(rig: Any) -> None:
    row, bone = slider(rig, "Right Joint")
    assert not row.is_slider
    setattr(bone, row.prop, 0.3)
    assert bone.location.z == np.float32(0.3)


def test_balls_have_a_slider_for_each_number(blank: Any) -> None:
    from addon.blender.data.channels import servo_channels
    from addon.blender.rig.pose_channels import read_pose
    from addon.core.model import Dof

    ball = Dof("ball", parts=[Dof("rotation", axis, lower=-0.5, upper=0.5) for axis in np.eye(3)])
    rig = made(arms([[ball], [Dof("rotation", Z), Dof("rotation", X)]]))
    for name, value in (("J0/rx", 0.2), ("J0/ry", -0.3), ("J0/rz", 0.45), ("J0/rx", 0.1)):
        row, bone = slider(rig, name)
        setattr(bone, row.prop, value)
    assert read_pose(rig, servo_channels(rig)["j0"]) == pytest.approx([0.1, -0.3, 0.45], abs=1e-6)
    assert ends(bone, row) == pytest.approx((-0.5, 0.5))


def test_dependent_joints_are_shown_and_not_moved(blank: Any) -> None:
    import bpy

    from addon.blender.data.queries import parts
    from addon.blender.ui.joints.joint_list import KNUCKLE_UL_joints
    from addon.blender.ui.servos.sliders import servo_sliders

    rig = made(crank_rocker())
    every = [row for rows in servo_sliders(rig).values() for row in rows]
    assert {row.follows for row in every} == {True, False}
    drawn: list[tuple[str, Any]] = []
    for empty in parts(rig, "JOINT"):
        KNUCKLE_UL_joints.draw_item(None, bpy.context, Layout(drawn), None, empty, 0, None)
    shown = [name for kind, name in drawn if kind == "prop"]
    assert sorted(shown) == sorted(row.prop for row in every)
    keys = [name for kind, name in drawn if kind == "operator"]
    assert keys == ["knuckle.key_servo"] * sum(not row.follows for row in every), "those of loops have no keyframe"
    assert bpy.ops.knuckle.key_servos() == {"FINISHED"}
    keyed = {curve.data_path for curve in curves(rig)}
    assert keyed == {row.channel.path for row in every if not row.follows}


def curves(rig: Any) -> list[Any]:
    from addon.blender.compat import action_curves

    return list(action_curves(rig, rig.animation_data.action, create=False))


def test_auto_keying_keys_what_the_slider_moves(hexapod: Any) -> None:
    import bpy

    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    row, bone = slider(hexapod, "Left Front Knee")
    setattr(bone, row.prop, 0.1)
    assert [(curve.data_path, curve.array_index) for curve in curves(hexapod)] == [(row.channel.path, 2)]


def test_servos_are_set_to_zero_and_to_their_initial_values(hexapod: Any) -> None:
    import bpy

    from addon.blender.compat import select_bone
    from addon.blender.data.queries import parts

    first, second = (hexapod.pose.bones[f"{side} Front Knee"] for side in ("Left", "Right"))
    first.rotation_euler.z = second.rotation_euler.z = 0.2
    dof = next(e for e in parts(hexapod, "JOINT") if e.knuckle.source_name == "Right Front Knee").knuckle.joint.dofs[0]
    dof.lower = 0.15
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.pose.select_all(action="DESELECT")
    with pytest.raises(RuntimeError, match="No servo is selected"):
        bpy.ops.knuckle.zero_servos(only_selected=True)
    select_bone(first, True)
    bpy.ops.knuckle.zero_servos(only_selected=True)
    assert (first.rotation_euler.z, second.rotation_euler.z) == (0.0, np.float32(0.2))
    bpy.ops.knuckle.zero_servos()
    assert second.rotation_euler.z == pytest.approx(0.15), "as near to 0 as its stop lets it"
    bpy.ops.knuckle.zero_servos(to="START")
    assert first.rotation_euler.z == pytest.approx(slider(hexapod, "Left Front Knee")[0].channel.start)


def test_key_all_is_one_key_for_each(hexapod: Any) -> None:
    import bpy

    bpy.context.scene.frame_set(7)
    assert bpy.ops.knuckle.key_servos() == {"FINISHED"}
    found = curves(hexapod)
    assert len(found) == len(list(hexapod.pose.bones)) - 1, "the trunk's bone is no servo"
    assert {tuple(point.co[0] for point in curve.keyframe_points) for curve in found} == {(7.0,)}


def test_the_diamond_keys_one_servo_and_takes_the_key_away(blank: Any) -> None:
    import bpy

    from addon.blender.animation.pose_library import key_state
    from addon.core.model import Dof

    rig = made(arms([[Dof("ball")], [Dof("rotation", Z), Dof("rotation", X)]]))
    for name, count in (("J1/2", 1), ("J0/rx", 4)):
        channel = slider(rig, name)[0].channel
        assert key_state(rig, channel, 3) == "none"
        bpy.context.scene.frame_set(3)
        assert bpy.ops.knuckle.key_servo(servo=name) == {"FINISHED"}
        assert [curve.array_index for curve in curves(rig)] == ([channel.index] if count == 1 else [0, 1, 2, 3])
        bpy.context.scene.frame_set(9)
        assert [key_state(rig, channel, frame) for frame in (3, 9)] == ["here", "elsewhere"]
        bpy.context.scene.frame_set(3)
        bpy.ops.knuckle.key_servo(servo=name)
        assert key_state(rig, channel, 3) == "none"
    with pytest.raises(RuntimeError, match="no servo 'Nose' that can be keyframed"):
        bpy.ops.knuckle.key_servo(servo="Nose")


def test_servo_operators_need_a_mechanism(blank: Any) -> None:
    import bpy

    for operator in (bpy.ops.knuckle.key_servos, bpy.ops.knuckle.zero_servos, bpy.ops.knuckle.store_pose):
        with pytest.raises(RuntimeError, match="There is no mechanism"):
            operator()


def test_the_panels_of_servos_and_poses_draw_their_lists(hexapod: Any) -> None:
    import bpy

    from addon.blender.ui.joints import panel as joint_panel
    from addon.blender.ui.servos import poses

    bpy.ops.knuckle.store_pose(name="Stand")
    for panel, kind in ((joint_panel.VIEW3D_PT_knuckle_servos, "joints"), (poses.VIEW3D_PT_knuckle_poses, "poses")):
        drawn: list[tuple[str, Any]] = []
        panel.draw(type("Panel", (), {"layout": Layout(drawn)})(), bpy.context)
        assert ("list", f"KNUCKLE_UL_{kind}") in drawn
    rows: list[tuple[str, Any]] = []
    poses.KNUCKLE_UL_poses.draw_item(None, bpy.context, Layout(rows), None, bpy.data.actions["Stand"], 0, None, "")
    assert [what for kind, what in rows if kind == "operator"] == ["knuckle.recall_pose"] * 2 + ["knuckle.delete_pose"]


UNDOABLE: list[tuple[str, dict[str, Any]]] = [
    ("zero_servos", {}),
    ("zero_servos", {"to": "START"}),
    ("key_servos", {}),
    ("key_servo", {"servo": "Left Front Knee"}),
    ("recall_pose", {"pose": "Crouch"}),
    ("recall_pose", {"pose": "Crouch", "mirrored": True}),
    ("store_pose", {"name": "New"}),
    ("delete_pose", {"pose": "Crouch"}),
    ("set_stops", {"to": "UPPER"}),
    ("set_stops", {"to": "MOTION"}),
    ("switch_stops", {"on": False}),
    ("copy_joint", {"to": "TWINS"}),
    ("tick_joints", {"to": "ALL"}),
]


def test_each_servo_operator_is_one_step_of_undo(hexapod: Any) -> None:
    import bpy

    posed(hexapod, 1)
    bpy.ops.knuckle.store_pose(name="Crouch")
    knee = hexapod.pose.bones["Left Front Knee"]
    for frame, more in ((5, 0.0), (9, 0.3)):
        knee.rotation_euler.z += more
        knee.keyframe_insert("rotation_euler", index=2, frame=frame)
    hexapod.data.bones.active = hexapod.data.bones["Left Front Knee"]
    next(dof for name, dof in dofs(hexapod) if name == "Left Front Knee").gain = 4.0
    posed(hexapod, 2)
    bpy.ops.ed.undo_push(message="before")
    before = state()
    for operator, options in UNDOABLE:
        assert getattr(bpy.ops.knuckle, operator)(**options) == {"FINISHED"}
        assert state() != before, operator
        bpy.ops.ed.undo_push(message="after")
        bpy.ops.ed.undo()
        assert state() == before, operator


def dofs(rig: Any) -> list[tuple[str, Any]]:
    from addon.blender.data.queries import parts

    return [(e.knuckle.source_name, dof) for e in parts(rig, "JOINT") for dof in e.knuckle.joint.dofs]


def state() -> list[Any]:
    """What the operators here can change."""
    import bpy

    rig = next(obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")
    fields = ("is_marked", "use_lower", "lower", "use_upper", "upper", "gain")
    keys = [(c.data_path, c.array_index, [p.co[0] for p in c.keyframe_points]) for c in curves(rig)]
    records = [[getattr(dof, field) for field in fields] for _name, dof in dofs(rig)]
    return [sorted(action.name for action in bpy.data.actions), keys, records, values(rig).tolist()]


# ---------------------------------------------------------------- poses by name


def posed(rig: Any, seed: int = 1) -> np.ndarray:
    """Pose all servos somewhere between their stops."""
    import bpy

    from addon.blender.ui.servos.sliders import servo_sliders

    random = np.random.default_rng(seed)
    for rows in servo_sliders(rig).values():
        for row in rows:
            setattr(rig.pose.bones[row.channel.bone], row.prop, random.uniform(-0.3, 0.3))
    bpy.context.view_layer.update()
    return values(rig)


def values(rig: Any) -> np.ndarray:
    from addon.blender.data.channels import servo_channels
    from addon.blender.rig.pose_channels import read_pose

    return np.concatenate([read_pose(rig, own) for own in servo_channels(rig).values()])


def test_a_stored_pose_comes_back(hexapod: Any, tmp_path: Path) -> None:
    import bpy

    pose = posed(hexapod)
    assert bpy.ops.knuckle.store_pose(name="Crouch") == {"FINISHED"}
    assert bpy.data.actions["Crouch"].asset_data is not None, "Blender's pose library has it"
    assert hexapod.animation_data is None or hexapod.animation_data.action is None
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "posed.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "posed.blend"))
    rig = next(obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")
    bpy.ops.knuckle.zero_servos()
    zero = values(rig)
    assert bpy.ops.knuckle.recall_pose(pose="Crouch", weight=0.25) == {"FINISHED"}
    assert values(rig) == pytest.approx(zero + 0.25 * (pose - zero), abs=1e-6)
    bpy.ops.knuckle.recall_pose(pose="Crouch")
    assert values(rig) == pytest.approx(pose, abs=1e-6)


def test_storing_leaves_a_pose_that_is_not_keyed(hexapod: Any) -> None:
    import bpy

    posed(hexapod, 1)
    bpy.ops.knuckle.key_servos()
    pose = posed(hexapod, 2)
    for _ in range(2):
        bpy.ops.knuckle.store_pose(name="Crouch")
        bpy.context.view_layer.update()
        assert values(hexapod) == pytest.approx(pose)


def test_blender_applies_a_stored_pose_too(hexapod: Any) -> None:
    import bpy

    pose = posed(hexapod)
    bpy.ops.knuckle.store_pose(name="Crouch")
    bpy.ops.knuckle.zero_servos()
    hexapod.pose.apply_pose_from_action(bpy.data.actions["Crouch"], evaluation_time=1.0)
    assert values(hexapod) == pytest.approx(pose, abs=1e-6)


def test_a_pose_recalled_mirrored_is_the_mirror_image(hexapod: Any) -> None:
    import bpy

    from addon.blender.data.access import record_of, settings
    from addon.blender.data.queries import parts, twin_of
    from addon.blender.scene.read.mechanism import extract
    from addon.core.editing.sides import find_sides

    posed(hexapod)
    plane = find_sides(extract(settings(hexapod).collection)).plane.reflection
    bodies = [obj for obj in parts(hexapod, "BODY") if twin_of(obj) is not None]
    before = {obj.name: np.array(obj.matrix_world.translation) for obj in bodies}
    bpy.ops.knuckle.store_pose(name="Crouch")
    bpy.ops.knuckle.zero_servos()
    assert bpy.ops.knuckle.recall_pose(pose="Crouch", mirrored=True) == {"FINISHED"}
    bpy.context.view_layer.update()
    world = np.array(hexapod.matrix_world)
    reflect = world @ plane @ np.linalg.inv(world)
    for obj in bodies:
        image = reflect[:3, :3] @ before[twin_of(obj).name] + reflect[:3, 3]
        assert np.array(obj.matrix_world.translation) == pytest.approx(image, abs=1e-4), record_of(obj).source_name


def test_a_stored_pose_is_recalled_in_part(hexapod: Any) -> None:
    import bpy

    from addon.blender.compat import select_bone

    pose = posed(hexapod)
    bpy.ops.knuckle.store_pose(name="Crouch")
    bpy.ops.knuckle.zero_servos()
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.pose.select_all(action="DESELECT")
    select_bone(hexapod.pose.bones["Left Front Knee"], True)
    bpy.ops.knuckle.recall_pose(pose="Crouch", only_selected=True)
    assert (values(hexapod) != 0.0).sum() == 1
    bpy.ops.knuckle.recall_pose(pose="Crouch")
    assert values(hexapod) == pytest.approx(pose, abs=1e-6)
    bpy.ops.knuckle.store_pose(name="One", only_selected=True)
    bpy.ops.knuckle.zero_servos()
    bpy.ops.knuckle.recall_pose(pose="One")
    assert (values(hexapod) != 0.0).sum() == 1, "a pose of one servo poses that one"


def test_poses_are_replaced_renamed_deleted_and_no_motions(hexapod: Any) -> None:
    import bpy

    from addon.blender.animation.actions import motion_actions, stored_poses

    with pytest.raises(RuntimeError, match="has no poses"):
        bpy.ops.knuckle.recall_pose(pose="Crouch")
    posed(hexapod, 1)
    bpy.ops.knuckle.store_pose(name="Crouch")
    pose = posed(hexapod, 2)
    bpy.ops.knuckle.store_pose(name="Crouch")
    assert [action.name for action in stored_poses(hexapod)] == ["Crouch"]
    assert motion_actions(hexapod) == []
    bpy.data.actions["Crouch"].name = "Duck"
    bpy.ops.knuckle.zero_servos()
    bpy.ops.knuckle.recall_pose(pose="Duck")
    assert values(hexapod) == pytest.approx(pose, abs=1e-6)
    with pytest.raises(RuntimeError, match="no pose called 'Crouch'"):
        bpy.ops.knuckle.delete_pose(pose="Crouch")
    assert bpy.ops.knuckle.delete_pose(pose="Duck") == {"FINISHED"}
    assert "Duck" not in bpy.data.actions
    with pytest.raises(RuntimeError, match="Pose: the name is empty. Enter a name"):
        bpy.ops.knuckle.store_pose(name=" ")
