"""The armature made anew. Where nothing was edited, everything is as it was; where something was, it is as a fresh
import of what is exported has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Vector

from addon import formats
from addon.blender.data.access import record_of, settings
from addon.blender.data.queries import joint_bones, parts, rig_in
from addon.blender.reconcile.build import BuildOptions, build
from addon.blender.reconcile.rig_update import update_armature
from addon.blender.rig.bone_limits import update_joint_bone_limits
from addon.blender.scene.read.design_poses import moved_joints
from addon.blender.scene.read.mechanism import extract
from addon.core.model import Dof
from tests.support.emptied import empty_file
from tests.support.references import CORPUS
from tests.support.stops_helpers import Z, arms

OWN = Path(__file__).resolve().parents[3] / "sample_models"
NAMES = [
    "SimpleHex.jm",
    "Dihno2.jm",
    "slider_crank.json",
    "fullbody1.skel",
    "collision_test_50.json",
]


def found(name: str) -> Path:
    path = next((path for folder in (OWN, CORPUS) for path in sorted(folder.rglob(name))), None)
    if path is None:
        pytest.skip(f"{name} is not here: {CORPUS}")
    return path


def made(path: Path) -> Any:
    rig = rig_in(build(formats.load(path), options=BuildOptions(gait=False)))
    bpy.context.view_layer.update()
    return rig


def poses(rig: Any) -> np.ndarray:
    bpy.context.view_layer.update()
    return np.array([np.array(obj.matrix_world) for role in ("BODY", "JOINT") for obj in parts(rig, role)])


def bones(rig: Any) -> dict[str, Any]:
    return {
        bone.name: (
            tuple(bone.lock_location), tuple(bone.lock_rotation), bone.rotation_mode,
            [(c.name, c.type) for c in bone.constraints],
            np.round([*bone.rotation_euler, *bone.rotation_quaternion, *bone.location], 5).tolist(),
        )
        for bone in rig.pose.bones
    }  # fmt: skip


@pytest.mark.parametrize("name", ["hexapod.jm", *NAMES])
def test_where_nothing_was_edited_nothing_changes(blank: Any, name: str) -> None:
    rig = made(found(name))
    before, channels, text = poses(rig), bones(rig), formats.dumps(extract(settings(rig).collection))
    held = len(bpy.context.scene.rigidbody_world.constraints.objects)
    update_armature(rig)
    size = np.ptp(before[:, :3, 3], axis=0).max()
    assert poses(rig) == pytest.approx(before, abs=float(1e-5 * size))
    assert bones(rig) == channels
    assert formats.dumps(extract(settings(rig).collection)) == text
    assert len(bpy.context.scene.rigidbody_world.constraints.objects) == held, "physics is there as it was"


def test_a_pose_stays_a_pose(blank: Any) -> None:
    rig = made(found("hexapod.jm"))
    bone = rig.pose.bones[3]
    bone.rotation_euler.z = 0.3
    bone.keyframe_insert("rotation_euler", index=2, frame=1)
    before = poses(rig)
    update_armature(rig)
    assert poses(rig) == pytest.approx(before, abs=1e-5)
    assert bone.rotation_euler.z == pytest.approx(0.3)


def test_a_joint_moved_by_hand_rotates_at_its_new_position(blank: Any, tmp_path: Path) -> None:
    rig = made(found("hexapod.jm"))
    empty = parts(rig, "JOINT")[0]
    empty.matrix_basis.translation.z += 0.25
    update_armature(rig)
    path = tmp_path / "moved.jm"
    formats.save(extract(settings(rig).collection), path, "juice")
    own = {record_of(obj).source_name: obj for obj in parts(rig, "BODY")}
    channel = record_of(empty).source_name
    rig.pose.bones[channel].rotation_euler.z = 0.4
    bpy.context.view_layer.update()
    moved = {name: np.array(obj.matrix_world) for name, obj in own.items()}
    again = made(path)
    again.pose.bones[channel].rotation_euler.z = 0.4
    bpy.context.view_layer.update()
    for obj in parts(again, "BODY"):
        assert np.array(obj.matrix_world) == pytest.approx(moved[record_of(obj).source_name], abs=1e-5)


@pytest.mark.parametrize(
    "name", ["humanoid.skel", "desk_lamp.skel", "hexapod.jm", "rover.jm", "sensor_leg.xml", "pumpjack.json"]
)
@pytest.mark.parametrize("edit", ["location", "rotation"])
def test_a_joint_moved_by_hand_in_a_pose_moves_no_body(blank: Any, name: str, edit: str) -> None:
    count = len(parts(made(found(name)), "JOINT"))
    for number in range(0, count, -(-count // 8)):
        empty_file()
        rig = made(found(name))
        random = np.random.default_rng(number)
        for bone in (bone for bone in rig.pose.bones if bone.bone.knuckle.joint):
            free = [axis for axis in range(3) if not bone.lock_rotation[axis]]
            for axis in free if bone.rotation_mode != "QUATERNION" else ():
                bone.rotation_euler[axis] += random.uniform(-0.3, 0.3)
        bpy.context.view_layer.update()
        empty = parts(rig, "JOINT")[number]
        way = Matrix.Translation((0.05, 0.02, 0.03)) if edit == "location" else Matrix.Rotation(0.3, 4, "X")
        empty.matrix_basis = empty.matrix_basis @ way
        bpy.context.view_layer.update()
        seen = {obj: np.array(obj.matrix_world) for obj in parts(rig, "BODY")}
        update_armature(rig)
        bpy.context.view_layer.update()
        for obj, place in seen.items():
            np.testing.assert_allclose(obj.matrix_world, place, atol=1e-5, err_msg=f"{empty.name}: {obj.name}")


@pytest.mark.parametrize("name", ["humanoid.skel", "hexapod.jm", "rover.jm"])
@pytest.mark.parametrize("times", [1, 2])
def test_parts_moved_by_hand_with_their_joints_keep_the_design_that_they_got(blank: Any, name: str, times: int) -> None:
    """Also after an earlier update: what was moved since the bones were made counts."""
    rig, random = made(found(name)), np.random.default_rng(3)
    for bone in (bone for bone in rig.pose.bones if bone.bone.knuckle.joint and bone.rotation_mode != "QUATERNION"):
        for axis in (axis for axis in range(3) if not bone.lock_rotation[axis]):
            bone.rotation_euler[axis] += random.uniform(-0.3, 0.3)
    bpy.context.view_layer.update()
    moved = [*parts(rig, "BODY")[::2], *parts(rig, "JOINT")]
    moved = [obj for obj in moved if record_of(obj).role == "BODY" or _has_moved_body(obj, moved)]
    for _ in range(times):
        for obj in moved:
            obj.matrix_basis.translation += Vector(random.uniform(-0.02, 0.02, 3).tolist())
        designs = {obj: np.array(obj.matrix_basis) for role in ("BODY", "JOINT") for obj in parts(rig, role)}
        update_armature(rig)
        for obj, design in designs.items():
            np.testing.assert_allclose(obj.matrix_basis, design, atol=1e-6, err_msg=obj.name)


def _has_moved_body(empty: Any, moved: list[Any]) -> bool:
    return not {record_of(empty).joint.parent, record_of(empty).joint.child}.isdisjoint(moved)


def test_bodies_moved_earlier_stay_when_their_joint_is_moved_by_hand(blank: Any) -> None:
    rig = made(found("hexapod.jm"))
    empty = next(obj for obj in parts(rig, "JOINT") if record_of(obj).source_name == "Left Front Lift")
    for obj in (empty, record_of(empty).joint.child):
        obj.matrix_basis.translation.x += 0.03
    update_armature(rig)
    rig.pose.bones["Left Front Lift"].rotation_euler.z += 0.4
    empty.matrix_basis.translation.z += 0.05
    bpy.context.view_layer.update()
    seen = {obj: np.array(obj.matrix_world) for obj in parts(rig, "BODY")}
    update_armature(rig)
    bpy.context.view_layer.update()
    for obj, place in seen.items():
        np.testing.assert_allclose(obj.matrix_world, place, atol=1e-5, err_msg=obj.name)


def test_a_model_knows_that_its_joints_were_moved_by_hand(blank: Any) -> None:
    rig = made(found("hexapod.jm"))
    empty = parts(rig, "JOINT")[3]
    assert moved_joints(rig) == []
    empty.matrix_basis.translation.z += 0.1
    assert moved_joints(rig) == [empty]
    bpy.context.view_layer.objects.active = rig
    assert bpy.ops.knuckle.refit() == {"FINISHED"}
    assert moved_joints(rig) == []


def test_bones_get_their_channels_back_and_keep_what_the_user_gave_them(blank: Any) -> None:
    rig = made(found("hexapod.jm"))
    bones = rig.pose.bones
    root = next(bone for bone in bones if bone.bone.knuckle.root)
    stopped, shaped = [bone for bone in bones if bone.use_ik_limit_z][:2]
    usual = [stopped.rotation_mode, stopped.lock_rotation[:], stopped.lock_ik_x, stopped.ik_min_z, stopped.ik_max_z]
    stops = [stopped.constraints[0].min_z, stopped.constraints[0].max_z]
    root.lock_location, root.rotation_mode = (True, False, True), "XYZ"
    stopped.rotation_mode, stopped.lock_rotation, stopped.lock_ik_x = "QUATERNION", (False, True, True), False
    stopped.use_ik_limit_z, stopped.ik_min_z, stopped.ik_max_z = False, -0.5, 0.5
    stopped.constraints.remove(stopped.constraints[0])
    own = shaped.constraints.new("COPY_ROTATION")
    shaped.custom_shape = mine = bpy.data.objects.new("Mine", None)
    shaped.constraints["Stops"].mute = True
    update_armature(rig)
    stopped, shaped, root = (rig.pose.bones[bone.name] for bone in (stopped, shaped, root))
    now = [stopped.rotation_mode, stopped.lock_rotation[:], stopped.lock_ik_x, stopped.ik_min_z, stopped.ik_max_z]
    assert now == usual and stopped.use_ik_limit_z
    assert [stopped.constraints[0].min_z, stopped.constraints[0].max_z] == stops
    assert root.lock_location[:] == (True, False, True) and root.rotation_mode == "QUATERNION"
    assert shaped.custom_shape == mine and own in shaped.constraints[:] and shaped.constraints["Stops"].mute


def test_ik_limits_are_those_of_the_rotation_where_a_slide_has_the_same_axis(blank: Any) -> None:
    stops = {"lower": -0.5, "upper": 0.25}
    rig = rig_in(build(arms([[Dof("rotation", Z, **stops), Dof("translation", Z, **stops)]])))
    bone = next(bone for bone in rig.pose.bones if bone.constraints)
    axis = next(axis for axis in "xyz" if getattr(bone, f"use_ik_limit_{axis}"))
    for again in (False, True):
        if again:
            update_joint_bone_limits(parts(rig, "JOINT")[0])
        assert getattr(bone, f"use_ik_limit_{axis}")
        assert (getattr(bone, f"ik_min_{axis}"), getattr(bone, f"ik_max_{axis}")) == pytest.approx((-0.5, 0.25))


def test_new_bones_do_not_take_over_a_muted_limit(blank: Any) -> None:
    stops = {"lower": -0.5, "upper": 0.25}
    rig = rig_in(build(arms([[Dof("rotation", Z, **stops)], [Dof("rotation", Z, **stops)]])))
    first, second = parts(rig, "JOINT")
    kept, renewed = (joint_bones(rig)[record_of(empty).source_id][0] for empty in (first, second))
    rig.pose.bones[kept].constraints["Stops"].mute = True
    rig.pose.bones[renewed].constraints.remove(rig.pose.bones[renewed].constraints["Stops"])
    update_armature(rig)
    assert rig.pose.bones[kept].constraints["Stops"].mute
    assert not rig.pose.bones[renewed].constraints["Stops"].mute


@pytest.mark.parametrize("name", ["hexapod.jm", *NAMES])
def test_bones_that_stay_are_not_edited(blank: Any, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Edit mode takes 0.4 s at 1,000 bones."""
    rig = made(found(name))

    def fail(*_arguments: Any) -> None:
        raise AssertionError("edit mode was entered")

    monkeypatch.setattr("addon.blender.scene.armature._edit_bones", fail)
    update_armature(rig)


def turned(bone: Any) -> None:
    bone.roll += 1e-4


def released(bone: Any) -> None:
    bone.parent = None


@pytest.mark.parametrize("change", [turned, released])
def test_a_bone_edited_by_hand_is_set_again(blank: Any, change: Any) -> None:
    rig = made(found("hexapod.jm"))
    bone = next(bone for bone in rig.data.bones if bone.parent is not None)
    name, above = bone.name, bone.parent.name
    before = np.array(bone.matrix_local)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    change(rig.data.edit_bones[name])
    bpy.ops.object.mode_set(mode="OBJECT")
    update_armature(rig)
    bone = rig.data.bones[name]
    assert bone.parent is not None and bone.parent.name == above
    assert np.array(bone.matrix_local) == pytest.approx(before, abs=1e-5)


def test_an_edit_leaves_the_world_as_the_user_has_it(blank: Any) -> None:
    rig = made(found("hexapod.jm"))
    world = bpy.context.scene.rigidbody_world
    world.substeps_per_frame, world.solver_iterations = 77, 88
    bpy.context.scene.gravity = (0.0, 0.0, -1.5)
    kept = world.as_pointer()
    update_armature(rig)
    world = bpy.context.scene.rigidbody_world
    assert world.as_pointer() == kept, "removed and created again, which evaluates the scene four times"
    assert (world.substeps_per_frame, world.solver_iterations) == (77, 88)
    assert tuple(bpy.context.scene.gravity) == (0.0, 0.0, -1.5)
