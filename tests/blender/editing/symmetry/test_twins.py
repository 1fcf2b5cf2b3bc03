"""Twins through the operators that users call: halves that were lost are made again, strays are brought back, and what
is done to one half is done to the other."""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Euler, Matrix

from addon import formats
from addon.blender.data.access import record_of, settings
from addon.blender.data.channels import servo_channels
from addon.blender.data.queries import parts, twin_of
from addon.blender.editing import authoring
from addon.blender.editing.repair.checks import check_model
from addon.blender.editing.symmetry import live_mirror
from addon.blender.editing.symmetry.appearance import all_differences
from addon.blender.editing.symmetry.twins import (
    create_twins,
    mirror_to_twins,
    require_plane,
    unlink_twins,
)
from addon.blender.reconcile.rig_update import update_armature
from addon.blender.rig.pose_channels import write_pose
from addon.core.editing.mirroring import motion_mirror
from addon.core.editing.sides import find_sides
from addon.core.editing.symmetry import compare_twins
from addon.core.kinematics import joint_child_frame_world, joint_frame_world
from tests.support.mirror_helpers import misses, twin_differences
from tests.support.scenes import body, found, imported, joint_of, made, now, pick, the_rig


@pytest.mark.parametrize("name", ["hexapod.jm", "Dihno2.jm", "fullbody1.skel", "humanoid2.jm"])
def test_a_half_that_was_deleted_is_made_again(blank: Any, name: str, tmp_path: Path) -> None:
    """Deleted and made anew, the other half poses as the reflection of the first, also in the file."""
    rig = made(name)
    whole = now(rig)
    sides, mirror = find_sides(whole), motion_mirror(whole)
    right = {mirror.joints[key].source for key in mirror.joints_on_side(True)}
    heights = {b.id: sides.plane.height(b.pose[:3, 3] + b.pose[:3, :3] @ b.com) for b in whole.bodies}
    right |= {key for key in sides.bodies if heights[key] > 1e-6}
    objects = {record_of(obj).source_id: obj for role in ("BODY", "JOINT") for obj in parts(rig, role)}
    left = [objects[sides.bodies.get(key) or sides.joints[key]] for key in right]
    pick(*[objects[key] for key in right])
    assert bpy.ops.knuckle.delete_parts() == {"FINISHED"}
    assert len(now(rig).bodies) < len(whole.bodies)
    pick(*left)
    assert bpy.ops.knuckle.create_twin(plane="XYZ"[int(np.abs(sides.plane.normal).argmax())]) == {"FINISHED"}
    bpy.context.view_layer.update()
    again = now(rig)
    assert sorted(body.name for body in again.bodies) == sorted(body.name for body in whole.bodies)
    assert sorted(joint.name for joint in again.joints) == sorted(joint.name for joint in whole.joints)
    path = tmp_path / name
    formats.save(again, path, settings(rig).format)
    for mechanism in (again, formats.load(path)):
        assert compare_twins(mechanism, find_sides(mechanism)) == []
        theirs = motion_mirror(mechanism)
        assert np.abs(misses(mechanism, theirs, theirs.sides.plane.reflection, 1)).max() < 1e-4


def test_a_stray_is_brought_back(blank: Any) -> None:
    rig = made("hexapod.jm")
    before = formats.dumps(now(rig))
    body = next(obj for obj in parts(rig, "BODY") if obj.name == "Right Rear Femur")
    joint = next(obj for obj in parts(rig, "JOINT") if obj.name.startswith("Right Rear Knee"))
    body.location.z += 0.3
    record_of(body).mass *= 2.0
    record_of(joint).joint.dofs[0].upper += 0.2
    assert bpy.ops.knuckle.check_symmetry() == {"FINISHED"}
    rows = {(row.second, row.what.split(" by ")[0]) for row in settings(rig).differences}
    assert {(body.name, "position"), (body.name, "mass")} <= rows and len(rows) >= 3
    pick(twin_of(body), twin_of(joint))
    assert bpy.ops.knuckle.mirror_to_twin() == {"FINISHED"}
    assert twin_differences(rig) == []
    bpy.ops.knuckle.check_symmetry()
    assert len(settings(rig).differences) == 0
    assert formats.dumps(now(rig)) == before


@pytest.mark.parametrize("chosen", ["joint without an Action", "body with an Action"])
def test_what_has_no_keys_is_mirrored_without(blank: Any, chosen: str) -> None:
    """Keys that cannot be mirrored are no reason to end without a step of undo: the parts are mirrored by then."""
    rig = imported("hexapod.jm")
    body_ = body(rig, "Right Rear Femur")
    if "without" in chosen:
        rig.animation_data_clear()
        pick(joint_of(rig, body_))
    else:
        rig.pose.bones[body_.parent_bone].keyframe_insert("rotation_euler", index=2, frame=1)
        pick(body_)
    joint = joint_of(rig, body_)
    twin = twin_of(joint)
    body_.location.z += 0.3
    record_of(joint).joint.dofs[0].upper += 0.2
    bpy.ops.ed.undo_push(message="edited")
    was = record_of(twin).joint.dofs[0].lower, record_of(twin).joint.dofs[0].upper, twin_of(body_).location.z
    assert bpy.ops.knuckle.mirror_to_twin(keys=True) == {"FINISHED"}
    now_ = record_of(twin).joint.dofs[0].lower, record_of(twin).joint.dofs[0].upper, twin_of(body_).location.z
    assert now_ != was
    bpy.ops.ed.undo_push(message="after")
    bpy.ops.ed.undo()
    rig = the_rig()
    body_ = body(rig, "Right Rear Femur")
    twin = twin_of(joint_of(rig, body_))
    back = record_of(twin).joint.dofs[0].lower, record_of(twin).joint.dofs[0].upper, twin_of(body_).location.z
    assert back == was


def test_a_limb_that_is_missing_and_an_edited_mesh_are_listed_and_found_by_a_click(blank: Any) -> None:
    rig = made("hexapod.jm")
    assert all_differences(rig) == []
    pick(body(rig, "Right Rear Tibia"))
    bpy.ops.knuckle.delete_parts()
    femur = body(rig, "Left Front Femur")
    pick(femur)
    bpy.ops.object.make_single_user(object=True, obdata=True)
    far = max(femur.data.vertices, key=lambda each: each.co.length)
    far.co *= 1.5
    assert bpy.ops.knuckle.check_symmetry() == {"FINISHED"}
    rows = {frozenset((row.first, row.second)): row.what for row in settings(rig).differences}
    assert rows[frozenset(("Left Rear Tibia", ""))] == "no twin"
    size = max(femur.dimensions)
    edited = rows[frozenset(("Left Front Femur", "Right Front Femur"))]
    assert 0.1 * size < float(edited.removeprefix("mesh by ")) < size
    for first in ("Left Rear Tibia", "Left Front Femur", "Right Front Femur"):
        assert bpy.ops.knuckle.select_part(part=first) == {"FINISHED"}
        assert bpy.context.view_layer.objects.active.name == first
    codes = {finding.code: finding.parts for finding in check_model(rig)}
    assert codes["twin-missing"] == (record_of(body(rig, "Left Rear Tibia")).source_id,)
    assert codes["mesh-edited"] == (record_of(femur).source_id,) and "twin-meshes" not in codes, "it is told once"


def test_twins_are_unlinked_found_and_linked(blank: Any) -> None:
    rig = made("hexapod.jm")
    twins = {obj.name: twin_of(obj).name for role in ("BODY", "JOINT") for obj in parts(rig, role) if twin_of(obj)}
    pick(*[bpy.data.objects[name] for name in twins])
    assert bpy.ops.knuckle.unlink_twins() == {"FINISHED"}
    assert not any(record_of(obj).twin for role in ("BODY", "JOINT") for obj in parts(rig, role))
    with pytest.raises(RuntimeError, match="has a twin"):
        bpy.ops.knuckle.unlink_twins()
    assert bpy.ops.knuckle.find_twins() == {"FINISHED"}
    rows = settings(rig).found_twins
    assert {(row.first, row.second) for row in rows} == {
        (a, b) for a, b in twins.items() if (a, b) in {(row.first, row.second) for row in rows}
    }
    assert len(rows) == len(twins) // 2 and all("place" in row.what for row in rows)
    assert bpy.ops.knuckle.link_found_twins() == {"FINISHED"}
    again = {obj.name: twin_of(obj).name for role in ("BODY", "JOINT") for obj in parts(rig, role) if twin_of(obj)}
    assert again == twins


def places() -> dict[str, tuple[float, ...]]:
    return {
        record_of(obj).source_id: (obj.name, *np.array(obj.matrix_basis).ravel().tolist())
        for obj in bpy.data.objects
        if record_of(obj).role in {"BODY", "JOINT"}
    }


def test_symmetrical_editing_with_blenders_own_tools(blank: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    bpy.ops.import_scene.mechanism(filepath=str(found("hexapod.jm")))
    rig = next(obj for obj in bpy.data.objects if record_of(obj).role == "MODEL")
    settings(rig).symmetric = True
    bpy.context.view_layer.update()
    monkeypatch.setattr(bpy.context.preferences.edit, "undo_steps", 256)
    bpy.ops.ed.undo_push(message="start")
    start, rng = places(), random.Random(3)
    edits = 250
    for edit in range(edits):
        obj = rng.choice([obj for obj in bpy.data.objects if record_of(obj).role in {"BODY", "JOINT"} and twin_of(obj)])
        pick(obj)
        kind = rng.choice(["move", "turn", "size", "name"])
        if kind == "move":
            bpy.ops.transform.translate(value=[rng.uniform(-0.3, 0.3) for _ in range(3)])
        elif kind == "turn":
            bpy.ops.transform.rotate(value=rng.uniform(-1, 1), orient_axis=rng.choice("XYZ"))
        elif kind == "size" and record_of(obj).role == "BODY":
            bpy.ops.transform.resize(value=(rng.uniform(0.8, 1.2), 1.0, rng.uniform(0.8, 1.2)))
        elif kind == "name":
            number = rng.randrange(1000)
            obj.name = re.sub(r"(Left|Right)( \d+)?", rf"\1 {number}", obj.name)
        bpy.context.view_layer.update()
        if edit % 2:
            bpy.ops.ed.undo_push(message=str(edit))
    rig = next(obj for obj in bpy.data.objects if record_of(obj).role == "MODEL")
    assert places() != start and twin_differences(rig) == []
    names = {obj.name for obj in bpy.data.objects}
    assert all(name.replace("Left", "Right") in names for name in names if "Left" in name)
    for _ in range(edits // 2):
        bpy.ops.ed.undo()
    assert places() == start


def test_symmetric_editing_copies_edited_values_to_the_twin(blank: Any) -> None:
    rig = made("hexapod.jm")
    settings(rig).symmetric = True
    bpy.context.view_layer.update()
    joint = next(obj for obj in parts(rig, "JOINT") if twin_of(obj) and record_of(obj).joint.dofs[0].use_upper)
    twin, dof = twin_of(joint), record_of(joint).joint.dofs[0]
    dof.upper, dof.gain, dof.max_force = 0.9, 7.0, 55.0
    body = next(obj for obj in parts(rig, "BODY") if twin_of(obj))
    record_of(body).mass = 4.5
    theirs = record_of(twin).joint.dofs[0]
    assert (theirs.gain, theirs.max_force, record_of(twin_of(body)).mass) == (7.0, 55.0, 4.5)
    assert twin_differences(rig) == []
    settings(rig).symmetric = False
    dof.gain = 3.0
    assert theirs.gain == 7.0


def test_what_is_deleted_is_nobodys_twin(blank: Any) -> None:
    rig = made("hexapod.jm")
    gone = next(obj for obj in parts(rig, "BODY") if record_of(obj).source_name == "Right Front Femur")
    twin = twin_of(gone)
    assert twin is not None
    pick(gone)
    assert bpy.ops.knuckle.delete_parts() == {"FINISHED"}
    assert record_of(twin).twin == ""
    mechanism = now(rig)
    for some in (mechanism.bodies, mechanism.joints):
        assert {part.twin for part in some if part.twin} <= {part.id for part in some}
    assert any(part.twin for part in mechanism.bodies), "the others are still twins"


def move(obj: Any, *by: float) -> None:
    pick(obj)
    bpy.ops.transform.translate(value=by)
    bpy.context.view_layer.update()


def paired(rig: Any, role: str) -> Any:
    """A part of the left that has a twin."""
    return next(obj for obj in parts(rig, role) if twin_of(obj) is not None and "Left" in obj.name)


def symmetrical(name: str = "hexapod.jm") -> Any:
    rig = made(name)
    settings(rig).symmetric = True
    bpy.context.view_layer.update()
    return rig


def steps_of(obj: Any, act: Any) -> float:
    """How far a part goes in the design while something is done."""
    before = obj.matrix_basis.translation.copy()
    act()
    return float((obj.matrix_basis.translation - before).length)


def test_other_twins_follow_after_one_was_deleted_with_blenders_own_tools(blank: Any) -> None:
    rig = symmetrical()
    joint, body = paired(rig, "JOINT"), paired(rig, "BODY")
    move(joint, 0.1, 0.0, 0.0)
    pick(twin_of(joint))
    bpy.ops.object.delete()
    move(joint, 0.1, 0.0, 0.0)
    record_of(joint).joint.dofs[0].upper = 0.77
    assert steps_of(twin_of(body), lambda: move(body, 0.0, 0.3, 0.0)) == pytest.approx(0.3, abs=1e-5)


def test_what_is_selected_is_followed_while_bones_are_posed(blank: Any) -> None:
    """In one change with a posed bone, after many that were nothing but poses; what hangs elsewhere is followed as soon
    as it hangs on the model again."""
    rig = symmetrical()
    body, bone = paired(rig, "BODY"), rig.pose.bones[-1]
    twin = twin_of(body)
    pick(body)

    def posed() -> None:
        bone.rotation_euler[2] += 0.1
        bpy.context.view_layer.update()

    def pushed() -> None:
        body.location.z += 0.25
        posed()

    def named() -> None:
        body.name = "Left Wing"
        posed()

    def reparented(parent: Any) -> None:
        body.parent = parent
        posed()

    for _ in range(3):
        assert steps_of(twin, posed) == 0.0
        assert steps_of(twin, pushed) == pytest.approx(0.25, abs=1e-5)
    named()
    assert twin.name == "Right Wing"
    posed()
    reparented(None)
    assert steps_of(twin, pushed) == 0.0
    posed()
    assert steps_of(twin, lambda: reparented(rig)) == pytest.approx(0.25, abs=1e-5)


def test_what_goes_back_while_bones_are_posed_takes_its_twin_back(blank: Any) -> None:
    """The twin followed meanwhile, in a change without a posed bone."""
    rig = symmetrical()
    body, bone = paired(rig, "BODY"), rig.pose.bones[-1]
    twin = twin_of(body)
    pick(body)

    def pushed(way: float, angle: float) -> None:
        body.location.z += way
        if angle:
            bone.rotation_euler[2] += angle
        bpy.context.view_layer.update()

    pushed(0.0, 0.1)
    at_first = twin.matrix_basis.translation.copy()
    assert steps_of(twin, lambda: pushed(0.25, 0.0)) == pytest.approx(0.25, abs=1e-5)
    assert steps_of(twin, lambda: pushed(-0.25, 0.1)) == pytest.approx(0.25, abs=1e-5)
    assert (twin.matrix_basis.translation - at_first).length == pytest.approx(0.0, abs=1e-5)


def test_a_copy_is_nobodys_twin(blank: Any) -> None:
    rig = symmetrical()
    body = paired(rig, "BODY")
    twin = twin_of(body)
    pick(body)
    bpy.ops.object.duplicate()
    bpy.context.view_layer.update()
    copy = bpy.context.view_layer.objects.active
    assert twin_of(copy) is None and twin_of(twin) == body
    live_mirror.invalidate_twins()  # as undo and redo do
    stood = copy.matrix_basis.copy()
    assert steps_of(body, lambda: move(twin, 0.0, 0.2, 0.0)) == pytest.approx(0.2, abs=1e-5)
    assert copy.matrix_basis == stood
    assert steps_of(twin, lambda: move(copy, 0.0, 0.0, 0.3)) == 0.0


def test_a_twin_that_is_made_while_editing_is_symmetrical_follows(blank: Any) -> None:
    rig = symmetrical()
    body = paired(rig, "BODY")
    pick(twin_of(body))
    bpy.ops.knuckle.delete_parts(twins=False)
    bpy.context.view_layer.update()
    body.rotation_mode = "QUATERNION"
    body.matrix_basis = body.matrix_basis @ Euler((0.9, 1.2, 0.4)).to_matrix().to_4x4()
    bpy.context.view_layer.update()
    move(body, 0.0, 0.0, 0.1)
    pick(body)
    bpy.ops.knuckle.create_twin()
    bpy.context.view_layer.update()
    made_ = twin_of(body)
    assert bpy.context.view_layer.objects.active.select_get(), "what is done next is done to what was made"
    assert steps_of(made_, lambda: move(body, 0.0, 0.3, 0.0)) == pytest.approx(0.3, abs=1e-5)
    live_mirror.invalidate_twins()
    turn = body.matrix_basis.to_quaternion()
    assert steps_of(body, lambda: move(made_, 0.0, 0.0, 0.1)) == pytest.approx(0.1, abs=1e-5)
    assert turn.rotation_difference(body.matrix_basis.to_quaternion()).angle < 1e-3
    pick(body, made_)
    bpy.ops.knuckle.unlink_twins()
    assert steps_of(made_, lambda: move(body, 0.0, 0.3, 0.0)) == 0.0


def test_all_values_are_followed(blank: Any) -> None:
    rig = symmetrical()
    joint, body = paired(rig, "JOINT"), paired(rig, "BODY")
    own, its = (record_of(obj).joint.dofs[0] for obj in (joint, twin_of(joint)))
    for name in ("position", "velocity", "servo_stiffness", "servo_damping", "friction", "armature"):
        setattr(own, name, 0.5)
        assert abs(getattr(its, name)) == 0.5, name
    record_of(body).immobile = True
    assert record_of(twin_of(body)).immobile
    assert twin_differences(rig) == []


def test_equal_twins_do_not_creep_when_mirrored(blank: Any) -> None:
    rig = made("rover.jm")
    before = formats.dumps(now(rig))
    pairs = [obj for role in ("BODY", "JOINT") for obj in parts(rig, role) if twin_of(obj)]
    for first in (0, 1, 0):
        pick(*pairs[first::2])
        bpy.ops.knuckle.mirror_to_twin()
    assert formats.dumps(now(rig)) == before


def test_the_twin_of_a_joint_that_closes_an_open_loop(blank: Any) -> None:
    """What is open on the left is as open on the right, mirrored; and where it is not, that is told and mended."""
    rig = authoring.new_model(bpy.context, "Loop")
    boxes = []
    for name, at in (("Base", (0, 0, 0)), ("Left A", (-2, 0, 0)), ("Left B", (-2, 2, 0))):
        bpy.ops.mesh.primitive_cube_add(size=0.5, location=at)
        boxes.append(bpy.context.object)
        boxes[-1].name = name
    bpy.context.view_layer.update()
    authoring.make_body(rig, boxes, mass=1.0)
    bpy.context.view_layer.update()
    base, one, two = boxes
    joints = []
    for parent, child, place, kind in ((base, one, (-1, 0, 0), "revolute"), (one, two, (-2, 1, 0), "universal")):
        joints.append(authoring.join_bodies(rig, parent, child, Matrix.Translation(place), kind)[0])
        joints[-1].name = f"Left {len(joints)}"
    for empty, values in zip(joints, ([0.2], [0.4, 0.3]), strict=True):  # of two values none can count from elsewhere
        write_pose(rig, servo_channels(rig)[record_of(empty).source_id], np.array(values))
    bpy.context.view_layer.update()
    place = Matrix.Translation((-0.5, 2, 0)) @ Euler((0.3, 0.2, 0.1)).to_matrix().to_4x4()
    joints.append(authoring.join_bodies(rig, base, two, place, "revolute")[0])
    joints[-1].name = "Left 3"
    assert record_of(joints[-1]).joint.is_open
    pick(one, two, *joints)
    bpy.ops.knuckle.create_twin(plane="X")
    mechanism = now(rig)
    bodies = {body.id: body for body in mechanism.bodies}
    left, right = (next(joint for joint in mechanism.joints if joint.name == f"{side} 3") for side in ("Left", "Right"))
    flip = np.diag([-1.0, 1.0, 1.0, 1.0])
    for side in (joint_frame_world, joint_child_frame_world):
        assert side(right, bodies) == pytest.approx(flip @ side(left, bodies) @ flip, abs=1e-6)
    assert twin_differences(rig) == []
    twin = twin_of(joints[-1])
    record = record_of(twin).joint
    record.is_open, record.opening = True, [x for row in Matrix.Translation((0.0, 0.5, 0.0)) for x in row]
    assert {each.what for each in twin_differences(rig)} == {"opening of the loop"}
    pick(joints[-1])
    bpy.ops.knuckle.mirror_to_twin(plane="X")
    assert twin_differences(rig) == []


def looks_through(act: Any) -> int:
    """How often a model's objects are looked through while something is done."""
    count = 0

    def told(frame: Any, event: str, _arg: Any) -> None:
        nonlocal count
        count += event == "call" and frame.f_code is parts.__code__

    sys.setprofile(told)
    try:
        act()
    finally:
        sys.setprofile(None)
    return count


def test_many_parts_take_no_more_looks_through_the_model_than_few(blank: Any) -> None:
    rig = made("hexapod.jm")
    every = {role: [obj for obj in parts(rig, role) if twin_of(obj)] for role in ("BODY", "JOINT")}
    plane = require_plane(rig)
    counts: dict[str, set[int]] = {"mirror": set(), "unlink": set(), "create": set()}
    for many in (1, 4):
        chosen = [obj for objects in every.values() for obj in objects[: 2 * many : 2]]
        lost = [twin_of(obj) for obj in chosen]
        counts["mirror"].add(looks_through(lambda chosen=chosen: mirror_to_twins(chosen, plane)))
        counts["unlink"].add(looks_through(lambda chosen=chosen: unlink_twins(chosen)))
        bpy.data.batch_remove(lost)
        update_armature(rig)
        counts["create"].add(looks_through(lambda chosen=chosen: create_twins(chosen, plane)))
    assert all(max(each) - min(each) <= 2 for each in counts.values()), counts


def test_steps_that_are_kept_before_the_twin_followed_are_undone_and_redone(
    blank: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a window Blender keeps a step, and then tells of the change. (Called by ``bpy.ops`` it tells first.)"""
    told = bpy.app.handlers.depsgraph_update_post
    bpy.ops.import_scene.mechanism(filepath=str(found("hexapod.jm")))
    rig = next(obj for obj in bpy.data.objects if record_of(obj).role == "MODEL")
    settings(rig).symmetric = True
    bpy.context.view_layer.update()
    monkeypatch.setattr(bpy.context.preferences.edit, "undo_steps", 256)
    bpy.ops.ed.undo_push(message="start")
    rng, after = random.Random(5), [places()]
    for edit in range(15):
        every = [obj for obj in bpy.data.objects if record_of(obj).role in {"BODY", "JOINT"} and twin_of(obj)]
        obj = rng.choice(every)
        pick(obj)
        bpy.context.view_layer.update()
        obj.location.x += rng.uniform(0.1, 0.3)
        obj.name = re.sub(r"(Left|Right)( \d+)?", rf"\1 {rng.randrange(1000)}", obj.name)
        told.remove(live_mirror.after_update)
        bpy.ops.ed.undo_push(message=str(edit))
        told.append(live_mirror.after_update)
        obj.update_tag()
        bpy.context.view_layer.update()
        after.append(places())
    for command, steps in ((bpy.ops.ed.undo, after[-2::-1]), (bpy.ops.ed.redo, after[1:])):
        for wanted in steps:
            command()
            bpy.context.view_layer.update()
            here = places()
            assert {key: row[0] for key, row in here.items()} == {key: row[0] for key, row in wanted.items()}
            for key, row in wanted.items():
                assert here[key][1:] == pytest.approx(row[1:], abs=1e-5)
