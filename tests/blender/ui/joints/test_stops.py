"""Stops set from poses and motions, switched, and swept through: by the operators that users call."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from addon import formats
from addon.blender.animation.actions import bone_properties
from addon.blender.data.access import record_of, settings
from addon.blender.data.channels import servo_channels
from addon.blender.data.queries import parts, rig_in, twin_of
from addon.blender.editing.joint_settings import JointSweep
from addon.blender.reconcile.build import BuildOptions, build
from addon.blender.rig.pose_channels import write_pose
from addon.blender.scene.read.mechanism import extract
from addon.core.editing.mirroring import motion_mirror
from addon.core.model import Dof
from tests.support.loops import crank_rocker
from tests.support.scenes import pick
from tests.support.stops_helpers import X, Z, arms, joint_of

OWN = Path(__file__).resolve().parents[4] / "sample_models"


def made(physics: bool) -> Any:
    model = formats.load(OWN / "hexapod/hexapod.jm")
    rig = rig_in(build(model, options=BuildOptions(gait=False, physics=physics)))
    bpy.context.view_layer.objects.active = rig
    bpy.context.view_layer.update()
    return rig


@pytest.fixture
def hexapod(blank: Any) -> Any:
    return made(physics=False)


def knee(rig: Any, angle: float | None = None) -> tuple[Any, Any, Any]:
    """A joint of the hexapod's, its record, its bone; picked, and posed at an angle."""
    empty = joint_of(rig, "Left Front Knee")
    bone = rig.pose.bones["Left Front Knee"]
    pick(empty)
    if angle is not None:
        bone.rotation_euler.z = angle
        bpy.context.view_layer.update()
    return empty, record_of(empty).joint.dofs[0], bone


def limits(bone: Any) -> tuple[float, ...]:
    limit = next(c for c in bone.constraints if c.type == "LIMIT_ROTATION")
    return limit.min_z, limit.max_z, bone.ik_min_z, bone.ik_max_z


def test_a_stop_is_where_the_joint_stands(blank: Any) -> None:
    hexapod = made(physics=True)
    empty, dof, bone = knee(hexapod, 0.2)
    assert dof.lower < 0.2 < dof.upper
    lower = dof.lower
    assert bpy.ops.knuckle.set_stops(to="UPPER") == {"FINISHED"}
    assert (dof.lower, dof.upper, dof.use_upper) == (lower, pytest.approx(0.2), True)
    assert limits(bone) == pytest.approx((lower, 0.2, lower, 0.2)), "bone and IK"
    held = empty.rigid_body_constraint
    assert math.isclose(abs(held.limit_ang_z_upper), 0.2, abs_tol=1e-5) or math.isclose(
        abs(held.limit_ang_z_lower), 0.2, abs_tol=1e-5
    ), "and physics"
    joint = next(j for j in extract(settings(hexapod).collection).joints if j.name == "Left Front Knee")
    assert joint.dofs[0].upper == pytest.approx(0.2), "and the file"


def test_a_pose_past_a_stop_widens_the_range(hexapod: Any) -> None:
    _empty, dof, bone = knee(hexapod)
    wide = dof.upper + 0.4
    bone.rotation_euler.z = wide
    bpy.context.view_layer.update()
    bpy.ops.knuckle.set_stops(to="UPPER")
    assert dof.upper == pytest.approx(wide)


def test_a_stop_never_comes_past_the_other(hexapod: Any) -> None:
    _empty, dof, bone = knee(hexapod)
    before = dof.lower, dof.upper
    bone.rotation_euler.z = dof.upper + 0.4
    bpy.context.view_layer.update()
    with pytest.raises(RuntimeError, match="Left Front Knee: not set, its value is at or past the upper stop"):
        bpy.ops.knuckle.set_stops(to="LOWER")
    assert (dof.lower, dof.upper) == before


def test_a_motion_sets_both_stops(hexapod: Any) -> None:
    _empty, dof, bone = knee(hexapod)
    with pytest.raises(RuntimeError, match="no motion. Import one"):
        bpy.ops.knuckle.set_stops(to="MOTION")
    for frame, value in ((1, 0.1), (11, -0.25), (21, 0.3)):
        bone.rotation_euler.z = value
        bone.keyframe_insert("rotation_euler", index=2, frame=frame)
    other = joint_of(hexapod, "Right Front Knee")
    untouched = record_of(other).joint.dofs[0].upper
    pick(other, joint_of(hexapod, "Left Front Knee"))
    assert bpy.ops.knuckle.set_stops(to="MOTION") == {"FINISHED"}
    assert (dof.lower, dof.upper) == pytest.approx((-0.25, 0.3), abs=0.01), "a smooth curve may swing over a little"
    assert record_of(other).joint.dofs[0].upper == untouched, "nothing keys that one"


def test_stops_are_switched_on_and_off(hexapod: Any) -> None:
    _empty, dof, bone = knee(hexapod)
    lower, upper = dof.lower, dof.upper
    assert bpy.ops.knuckle.switch_stops(on=False) == {"FINISHED"}
    assert (dof.use_lower, dof.use_upper, dof.lower, dof.upper) == (False, False, lower, upper)
    assert not any(c.type == "LIMIT_ROTATION" for c in bone.constraints) and not bone.use_ik_limit_z
    assert bpy.ops.knuckle.switch_stops(on=True, ends="LOWER") == {"FINISHED"}
    assert (dof.use_lower, dof.use_upper) == (True, False)
    dof.use_lower, dof.lower, dof.upper = False, 0.0, 0.0
    bpy.ops.knuckle.switch_stops(on=True)
    assert (dof.lower, dof.upper) == pytest.approx((-math.pi / 4, math.pi / 4)), "never set: not a joint that is stuck"


@pytest.mark.parametrize(("lower", "upper"), [(0.2, 0.0), (0.0, -0.2), (2e-8, 0.0), (0.3, 0.1)])
def test_a_stop_that_was_never_set_is_not_switched_on_beyond_the_other(
    hexapod: Any, lower: float, upper: float
) -> None:
    _empty, dof, _bone = knee(hexapod)
    dof.use_lower = dof.use_upper = False
    dof.lower, dof.upper = lower, upper
    assert bpy.ops.knuckle.switch_stops(on=True) == {"FINISHED"}
    assert dof.use_lower and dof.use_upper and dof.lower < dof.upper
    assert pytest.approx(lower) == dof.lower or pytest.approx(upper) == dof.upper, "what was set stays"


def test_stops_of_several_degrees_and_of_a_balls_parts(blank: Any) -> None:
    ball = Dof("ball", parts=[Dof("rotation", axis, name=name) for axis, name in zip(np.eye(3), "abc", strict=True)])
    rig = rig_in(build(arms([[Dof("rotation", Z), Dof("rotation", X)], [ball], [Dof("ball")]])))
    several, parted, whole = parts(rig, "JOINT")
    channels = servo_channels(rig)
    values = {"j0": [0.3, -0.2], "j1": [0.1, 0.4, -0.3], "j2": [0.1, 0.1, 0.1]}
    for joint, numbers in values.items():
        write_pose(rig, channels[joint], np.array(numbers))
    bpy.context.view_layer.update()
    pick(several, parted)
    assert bpy.ops.knuckle.set_stops(to="UPPER") == {"FINISHED"}
    mechanism = extract(settings(rig).collection)
    assert [dof.upper for dof in mechanism.joints[0].dofs] == pytest.approx(values["j0"], abs=1e-5)
    assert [part.upper for part in mechanism.joints[1].dofs[0].parts] == pytest.approx(values["j1"], abs=1e-5)
    pick(whole)
    with pytest.raises(RuntimeError, match="not set, its file format has no stops for it"):
        bpy.ops.knuckle.set_stops(to="UPPER")


def test_the_other_half_follows_where_editing_is_symmetrical(hexapod: Any) -> None:
    empty, dof, _bone = knee(hexapod, 0.2)
    twin = twin_of(empty)
    settings(hexapod).symmetric = True
    bpy.ops.knuckle.set_stops(to="UPPER")
    part = motion_mirror(extract(settings(hexapod).collection)).joints[record_of(empty).source_id].parts[0]
    image = sorted(float(part.matrix[0, 0]) * value for value in (dof.lower, dof.upper))
    theirs = record_of(twin).joint.dofs[0]
    assert [theirs.lower, theirs.upper] == pytest.approx(image)
    limit = next(c for c in hexapod.pose.bones[record_of(twin).source_name].constraints if c.type == "LIMIT_ROTATION")
    assert [limit.min_z, limit.max_z] == pytest.approx(image), "its bone, too"


def test_stops_without_a_joint_report_what_to_select(hexapod: Any) -> None:
    pick(hexapod)
    hexapod.data.bones.active = None
    for operator in (bpy.ops.knuckle.set_stops, bpy.ops.knuckle.switch_stops, bpy.ops.knuckle.sweep):
        with pytest.raises(RuntimeError, match="Select joints, their bones, or bodies"):
            operator()


# ---------------------------------------------------------------- the sweep


def test_a_sweep_goes_from_stop_to_stop_and_leaves_no_trace(hexapod: Any) -> None:
    empty, dof, bone = knee(hexapod, 0.2)
    bone.keyframe_insert("rotation_euler", index=2, frame=1)
    bone.rotation_euler.z = 0.15  # posed and not keyed
    before, frame = bone_properties(hexapod), bpy.context.scene.frame_current
    sweep = JointSweep(hexapod, [empty], seconds=2.0)
    seen = []
    for time in np.linspace(0.0, 1.999, 101):
        sweep.at(time)
        seen.append(bone.rotation_euler.z)
    assert sweep.at(2.0) is None
    sweep.end()
    assert (min(seen), max(seen)) == pytest.approx((dof.lower, dof.upper), abs=0.02)
    assert seen[0] == pytest.approx(0.15) and seen[-1] == pytest.approx(0.15, abs=0.01)
    assert seen.index(max(seen)) < seen.index(min(seen)), "there and back"
    assert {name: values.tolist() for name, values in bone_properties(hexapod).items()} == {
        name: values.tolist() for name, values in before.items()
    }
    assert bpy.context.scene.frame_current == frame
    assert bpy.ops.knuckle.sweep(seconds=0.2) == {"FINISHED"}
    assert bone.rotation_euler.z == np.float32(0.15)


def test_what_follows_a_loop_moves_along_and_comes_back(blank: Any) -> None:
    rig = rig_in(build(crank_rocker(), options=BuildOptions(gait=False, physics=False)))
    bpy.context.view_layer.update()
    before = bone_properties(rig)
    leads = next(e for e in parts(rig, "JOINT") if not record_of(e).joint.is_dependent and not record_of(e).joint.loop)
    follows = next(e for e in parts(rig, "JOINT") if record_of(e).joint.is_dependent)
    with pytest.raises(ValueError, match="dependent joints follow the input joints"):
        JointSweep(rig, [follows])
    sweep = JointSweep(rig, [leads], seconds=1.0)
    sweep.at(0.3)
    bpy.context.view_layer.update()
    moved = [name for name in ("rotation_euler",) if (bone_properties(rig)[name] != before[name]).sum() > 1]
    assert moved, "the loop moved with what drives it"
    sweep.end()
    bpy.context.view_layer.update()
    for name, values in bone_properties(rig).items():
        assert values.tolist() == before[name].tolist(), name


def test_under_physics_there_is_nothing_to_sweep(hexapod: Any) -> None:
    knee(hexapod)
    settings(hexapod).drive = "LIMP"
    with pytest.raises(RuntimeError, match="set Drive to Keyframes"):
        bpy.ops.knuckle.sweep()


def joint_named(rig: Any, name: str) -> Any:
    return next(empty for empty in parts(rig, "JOINT") if empty.name == name)


@pytest.mark.parametrize("last", [-0.8, 0.3])
def test_a_stop_at_zero_is_set_although_another_one_was_there_before(blank: Any, last: float) -> None:
    rig = made("hexapod.jm")
    lift, other = (
        next(e for e in parts(rig, "JOINT") if e.name == name) for name in ("Left Front Lift", "Left Rear Lift")
    )
    for empty in (lift, other):
        (dof,) = record_of(empty).joint.dofs
        dof.use_lower, dof.use_upper, dof.lower, dof.upper = False, False, last, 1.0
    bone = rig.pose.bones["Left Front Lift"]
    for frame, value in ((1, 0.0), (20, 0.5)):
        bone.rotation_euler.z = value
        bone.keyframe_insert("rotation_euler", index=2, frame=frame)
    pick(lift)
    bpy.ops.knuckle.set_stops(to="MOTION")
    (dof,) = record_of(lift).joint.dofs
    assert (dof.use_lower, dof.lower, dof.use_upper) == (True, 0.0, True) and dof.upper == pytest.approx(0.5)
    pick(other, lift)
    bpy.ops.knuckle.copy_joint(to="SELECTED")
    (copied,) = record_of(other).joint.dofs
    assert (copied.use_lower, copied.lower, copied.upper) == (True, 0.0, dof.upper)
