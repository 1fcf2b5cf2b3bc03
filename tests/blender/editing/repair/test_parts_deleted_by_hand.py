"""Effects of Blender's own Delete and Clear Parent on a posed mechanism, and the check's fixes of these.

The check names what was deleted, and after its fix all of it stands as before, with its keyframes and its file.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from addon.blender.compat import action_curves
from addon.blender.data.access import record_of, settings
from addon.blender.data.queries import file_name, parts
from addon.blender.editing.repair.checks import check_model
from addon.blender.editing.repair.fixes import fix
from tests.support.emptied import empty_file
from tests.support.holding import keyed
from tests.support.restored import MODELS, axes, brought, joint_bones, pose_joints, saved, stood
from tests.support.scenes import found, made, pick

Harm = Callable[[Any, int], list[str]]


def _delete_joint(rig: Any, number: int) -> list[str]:
    empties = [empty for empty in parts(rig, "JOINT") if not record_of(empty).joint.loop]
    return _delete(empties[number % len(empties)])


def _delete_joints(rig: Any, number: int) -> list[str]:
    empties = [empty for empty in parts(rig, "JOINT") if not record_of(empty).joint.loop]
    return _delete(*{empties[number % len(empties)], empties[(number + 2) % len(empties)]})


def _delete_body(rig: Any, number: int) -> list[str]:
    return _delete(parts(rig, "BODY")[number % len(parts(rig, "BODY"))])


def _delete(*objects: Any) -> list[str]:
    names = [file_name(obj) for obj in objects]
    pick(*objects)
    assert bpy.ops.object.delete(confirm=False) == {"FINISHED"}
    return names


def _delete_keyed_bone(rig: Any, number: int) -> list[str]:
    moving = [bone for bone in joint_bones(rig) if axes(bone) or bone.rotation_mode == "QUATERNION"]
    keyed = moving[::2]
    name = keyed[number % len(keyed)].name
    pick(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in rig.data.edit_bones:
        bone.select = bone.select_head = bone.select_tail = bone.name == name
    assert bpy.ops.armature.delete(confirm=False) == {"FINISHED"}
    bpy.ops.object.mode_set(mode="OBJECT")
    assert name not in rig.data.bones
    return []


def _clear_parent(keep: bool) -> Harm:
    def clear(rig: Any, number: int) -> list[str]:
        every = [obj for role in ("BODY", "JOINT") for obj in parts(rig, role) if obj.parent_type == "BONE"]
        obj = every[3 * number % len(every)]
        pick(obj)
        assert bpy.ops.object.parent_clear(type="CLEAR_KEEP_TRANSFORM" if keep else "CLEAR") == {"FINISHED"}
        return [file_name(obj)]

    return clear


HARMS = {
    "joint": _delete_joint, "joints": _delete_joints, "body": _delete_body, "bone": _delete_keyed_bone,
    "clear": _clear_parent(keep=False), "clear-keep": _clear_parent(keep=True),
}  # fmt: skip


def keys(rig: Any) -> dict[tuple[str, int], list[tuple[float, ...]]]:
    curves = action_curves(rig, rig.animation_data.action, create=False)
    return {(each.data_path, each.array_index): [tuple(key.co) for key in each.keyframe_points] for each in curves}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("number", [1, 4])
def test_a_fix_restores_what_stood(blank: Any, tmp_path: Path, name: str, harm: str, number: int) -> None:
    rig = brought(name, props=False)
    pose_joints(rig, keyed=lambda place: place % 2 == 0)
    before, keyed, file = stood(rig), keys(rig), saved(rig, tmp_path / f"a{found(name).suffix}")
    above = {bone.name: bone.parent.name if bone.parent else "" for bone in rig.data.bones}
    known = {finding.code for finding in check_model(rig)}
    named = HARMS[harm](rig, number)
    bpy.context.view_layer.update()
    new = [finding for finding in check_model(rig) if finding.code not in known and finding.severity == "error"]
    assert new and all(repr(each) in new[0].message for each in named if each not in new[0].message)
    fix(rig, new[0], other=new[0].code == "joint-lost")
    after = stood(rig)
    assert after.keys() == before.keys()
    for key, place in before.items():
        np.testing.assert_allclose(after[key], place, atol=1e-5, err_msg=str(key))
    assert keys(rig) == keyed
    assert {bone.name: bone.parent.name if bone.parent else "" for bone in rig.data.bones} == above
    assert saved(rig, tmp_path / f"b{found(name).suffix}") == file
    assert {finding.code for finding in check_model(rig)} <= known


def test_a_deleted_joint_is_named_with_what_it_carried_and_rebuilt(blank: Any) -> None:
    """Not the largest body beyond it; the fix does not detach the leg, which its other fix does."""
    rig = made("hexapod.jm")
    _delete(next(obj for obj in parts(rig, "JOINT") if file_name(obj) == "Left Front Lift"))
    (found_now,) = (finding for finding in check_model(rig) if finding.code.startswith("bones"))
    assert found_now.message == (
        "Joint 'Left Front Lift': deleted, so nothing connects 'Left Front Femur', 'Left Front Tibia'. Rebuild it"
    )
    assert (found_now.fix, found_now.or_fix) == ("Rebuild Missing Parts", "Detach the bodies")
    femur = next(obj for obj in parts(rig, "BODY") if file_name(obj) == "Left Front Femur")
    place = np.array(femur.matrix_world)
    fix(rig, found_now, other=True)
    bpy.context.view_layer.update()
    np.testing.assert_allclose(femur.matrix_world, place, atol=1e-5)
    rig.pose.bones["Left Front Swing"].rotation_euler.z += 0.3
    bpy.context.view_layer.update()
    np.testing.assert_allclose(femur.matrix_world, place, atol=1e-5)


def test_a_deleted_joint_that_no_file_has_is_not_promised(blank: Any, capfd: Any) -> None:
    rig = made("hexapod.jm")
    bpy.ops.mesh.primitive_cube_add(size=0.4, location=(0.0, 0.0, 3.0))
    cube = bpy.context.object
    pick(cube)
    assert bpy.ops.knuckle.make_body() == {"FINISHED"}
    pick(next(obj for obj in parts(rig, "BODY") if file_name(obj) == "Head"), cube)
    assert bpy.ops.knuckle.add_joint() == {"FINISHED"}
    _delete(next(obj for obj in parts(rig, "JOINT") if {file_name(obj)} & {"Cube to Head", "Head to Cube"}))
    finding = next(each for each in check_model(rig) if each.code == "bones-gone")
    assert "in no file, so it cannot be rebuilt. Undo, or add it again" in finding.message
    assert (finding.fix, finding.or_fix) == ("Detach the bodies", "")
    pick(rig)
    capfd.readouterr()
    assert bpy.ops.knuckle.rebuild() == {"FINISHED"}
    assert "cannot be rebuilt" in capfd.readouterr().out


def test_the_pose_of_deleted_bones_without_keyframes_is_reported(blank: Any) -> None:
    rig = made("hexapod.jm")
    pose_joints(rig)
    pick(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    rig.data.edit_bones.remove(rig.data.edit_bones["Left Front Lift"])
    bpy.ops.object.mode_set(mode="OBJECT")
    finding = next(each for each in check_model(rig) if each.code == "bones-gone")
    assert fix(rig, finding).endswith("Pose: lost with the deleted bones, initial values are set: 'Left Front Lift'")
    assert settings(rig).rig == rig


@pytest.mark.parametrize("how", ["update", "fix"])
@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("hexapod.jm", "Left Front Femur"),
        ("humanoid.skel", "left thigh"),
        ("desk_lamp.skel", "lower arm"),
        ("excavator.json", "boom_rod_1"),
    ],
)
def test_update_armature_deletes_a_body_deleted_by_hand_as_delete_parts_does(
    blank: Any, capfd: Any, name: str, body: str, how: str
) -> None:
    """Both ways leave the same parts, with the bodies at the same poses and the same report of changed motions."""

    def deleted(by_hand: bool) -> tuple[Any, ...]:
        empty_file()
        rig = made(name)
        keyed(rig)
        obj = next(each for each in parts(rig, "BODY") if file_name(each) == body)
        capfd.readouterr()
        if by_hand:
            _delete(obj)
            pick(rig)
            if how == "update":
                assert bpy.ops.knuckle.refit() == {"FINISHED"}
            else:
                mine = [each for each in check_model(rig) if each.fix in {"Create the bones", "Delete the bones"}]
                if not mine:
                    pytest.skip("its loop keeps the bones")
                print(fix(rig, mine[0]))
        else:
            pick(obj)
            assert bpy.ops.knuckle.delete_parts() == {"FINISHED"}
        told = capfd.readouterr().out
        left = {(role, file_name(each)) for role in ("BODY", "JOINT") for each in parts(rig, role)}
        return left, motion_of(rig), sorted(re.findall(r"Keyframes of '[^']+': off by up to [^.]*\.[^.]*", told))

    (wanted, poses, reports), (left, now, told) = deleted(by_hand=False), deleted(by_hand=True)
    assert left == wanted and body not in {each for _role, each in left}
    assert told == reports
    for frame, bodies in poses.items():
        for own, pose in bodies.items():
            np.testing.assert_allclose(now[frame][own], pose, atol=1e-4, err_msg=f"{own} at {frame}")


def motion_of(rig: Any) -> dict[int, dict[str, np.ndarray]]:
    out = {}
    for frame in (1, 8, 14, 21):
        bpy.context.scene.frame_set(frame)
        bpy.context.view_layer.update()
        out[frame] = {file_name(each): np.array(each.matrix_world) for each in parts(rig, "BODY")}
    return out
