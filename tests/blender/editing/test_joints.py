"""Joints edited while they are posed, keyed or open: what hangs together stays as it stands and moves as it did."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Vector

from addon import formats
from addon.blender.animation.pose_library import store_pose
from addon.blender.compat import action_curves, use_action
from addon.blender.data.access import record_of, settings
from addon.blender.data.channels import servo_channels
from addon.blender.data.queries import parts, rig_in, twin_of
from addon.blender.editing.joints import copy_limb, limb_objects, limb_of, place_joint, swap_joint_ends
from addon.blender.physics.constraints.restraints import joint_force_laws
from addon.blender.reconcile.build import BuildOptions, build
from addon.blender.rig.pose_channels import write_pose
from addon.blender.scene.read.mechanism import extract
from addon.core.joint_types import JOINT_TYPES, make_dofs
from addon.core.kinematics import design_openings, joint_frame_world
from tests.support.emptied import empty_file
from tests.support.holding import keyed
from tests.support.scenes import found, made, now, pick, the_rig


def between(empty: Any) -> np.ndarray:
    """Where the child of a joint stands, seen from its parent; both as they were before anything was exchanged."""
    bpy.context.view_layer.update()
    parent, child = sorted((record_of(empty).joint.parent, record_of(empty).joint.child), key=lambda obj: obj.name)
    return np.linalg.inv(np.array(parent.matrix_world)) @ np.array(child.matrix_world)


def knee_of(rig: Any) -> Any:
    return next(obj for obj in parts(rig, "JOINT") if "Knee" in obj.name)


def channels_of(rig: Any, empty: Any) -> Any:
    return servo_channels(rig)[record_of(empty).source_id]


def test_swapping_the_ends_of_a_joint_inverts_its_pose_and_keyframes(blank: Any) -> None:
    rig = made("hexapod.jm")
    knee = knee_of(rig)
    record_of(knee).joint.dofs[0].servo_stiffness, record_of(knee).joint.dofs[0].servo_damping = 123.0, 4.0
    bone = rig.pose.bones[channels_of(rig, knee)[0].bone]
    for frame, value in ((1, 0.5), (20, -0.2)):
        bone.rotation_euler.z = value
        bone.keyframe_insert("rotation_euler", index=2, frame=frame)
    bpy.context.scene.frame_set(20)
    stored, kneeling = store_pose(rig, "Kneeling"), bone.rotation_euler.z
    before = {}
    for frame in (1, 7, 20):
        bpy.context.scene.frame_set(frame)
        before[frame] = between(knee)
    pick(knee)
    assert bpy.ops.knuckle.swap_joint() == {"FINISHED"}
    assert bone.rotation_euler.z == pytest.approx(0.2, abs=1e-6)
    for frame, pose in before.items():
        bpy.context.scene.frame_set(frame)
        assert between(knee) == pytest.approx(pose, abs=2e-6)
    dof = record_of(knee).joint.dofs[0]
    assert (dof.servo_stiffness, dof.servo_damping) == (123.0, 4.0)
    curve = action_curves(rig, stored).find(channels_of(rig, knee)[0].path, index=2)
    assert curve.evaluate(1.0) == pytest.approx(-kneeling), "poses that are kept turn round as well"
    rig.animation_data_clear()
    bpy.context.view_layer.update()
    pose = between(knee)
    assert bpy.ops.knuckle.swap_joint() == {"FINISHED"}
    assert between(knee) == pytest.approx(pose, abs=2e-6), "without keys it stays posed as well"


@pytest.mark.parametrize(
    ("operator", "options"), [("set_joint_type", {"type": "ball"}), ("swap_joint", {}), ("move_joint", {})]
)
def test_a_joint_that_lost_a_body_is_not_edited(blank: Any, operator: str, options: dict[str, Any]) -> None:
    rig = made("desk_lamp.skel")
    empty = next(obj for obj in parts(rig, "JOINT") if record_of(obj).joint.child.name == "upper arm")
    pick(record_of(empty).joint.child)
    assert bpy.ops.object.delete() == {"FINISHED"}
    bpy.context.view_layer.update()
    pick(empty)
    dofs = [dof.kind for dof in record_of(empty).joint.dofs]
    with pytest.raises(RuntimeError, match="lost a body.*Rebuild Missing Parts"):
        getattr(bpy.ops.knuckle, operator)(**options)
    assert [dof.kind for dof in record_of(empty).joint.dofs] == dofs


def driven(curve: Any, expression: str) -> None:
    curve.driver.type = "SCRIPTED"
    curve.driver.expression = expression


def by_a_property(curve: Any) -> None:
    curve.driver.type = "SUM"
    variable = curve.driver.variables.new()
    variable.targets[0].id_type = "SCENE"
    variable.targets[0].id = bpy.context.scene
    variable.targets[0].data_path = "frame_current"
    if not len(curve.keyframe_points):  # a driver comes with none in Blender 4.2
        curve.keyframe_points.add(2)
    curve.keyframe_points[1].co = 100.0, 2.0
    curve.update()


def without_points(curve: Any) -> None:
    driven(curve, "frame * 0.01")
    while len(curve.keyframe_points):
        curve.keyframe_points.remove(curve.keyframe_points[0])


#: What a driver, as Blender makes it, is set to.
DRIVERS = {
    "expression": lambda curve: driven(curve, "frame * 0.01 + 0.1"),
    "property through a curve": by_a_property,
    "expression without a curve": without_points,
}
#: Modifiers of curves, with what is set of them.
MODIFIERS: dict[str, tuple[str, dict[str, Any]]] = {
    "generator": ("GENERATOR", {"use_additive": True, "coefficients": (0.1, 0.002)}),
    "factors": (
        "GENERATOR",
        {"mode": "POLYNOMIAL_FACTORISED", "poly_order": 2, "coefficients": (0.1, 0.02, 1.0, 0.01)},
    ),
    "function": ("FNGENERATOR", {"amplitude": 0.2, "value_offset": 0.1}),
    "noise": ("NOISE", {"strength": 0.4, "scale": 3.0}),
    "multiplied noise": ("NOISE", {"strength": 0.4, "scale": 3.0, "blend_type": "MULTIPLY"}),
    "one limit": ("LIMITS", {"use_max_y": True, "max_y": 0.1}),
    "envelope": ("ENVELOPE", {"reference_value": 0.1, "default_min": -1.0, "default_max": 2.0}),
    "cycles": ("CYCLES", {"mode_after": "REPEAT_OFFSET"}),
}


@pytest.mark.parametrize("how", [*DRIVERS, *MODIFIERS])
def test_drivers_and_modifiers_are_inverted_with_their_swapped_joint(blank: Any, how: str) -> None:
    rig = made("hexapod.jm")
    knee = knee_of(rig)
    bone = rig.pose.bones[channels_of(rig, knee)[0].bone]
    if how in DRIVERS:
        DRIVERS[how](bone.driver_add("rotation_euler", 2))
    else:
        for frame, value in ((1, 0.0), (20, 0.3)):
            bone.rotation_euler.z = value
            bone.keyframe_insert("rotation_euler", index=2, frame=frame)
        curve = next(curve for curve in action_curves(rig, rig.animation_data.action) if curve.array_index == 2)
        kind, values = MODIFIERS[how]
        modifier = curve.modifiers.new(kind)
        for name, value in values.items():
            setattr(modifier, name, value)
        if kind == "ENVELOPE":
            modifier.control_points.add(1.0)
            modifier.control_points.foreach_set("min", [-0.1])  # see `_negate_control_points`
            modifier.control_points.foreach_set("max", [0.5])
    before = {}
    for frame in (1, 7, 20, 26):
        bpy.context.scene.frame_set(frame)
        before[frame] = between(knee)
    assert np.abs(before[20] - before[1]).max() > 0.01
    pick(knee)
    assert bpy.ops.knuckle.swap_joint() == {"FINISHED"}
    for frame, pose in before.items():
        bpy.context.scene.frame_set(frame)
        assert between(knee) == pytest.approx(pose, abs=1e-5), frame


@pytest.mark.parametrize("type_", ["ball", "free", "universal", "cylindrical"])
def test_ends_of_every_type_are_exchanged_where_they_are_posed(blank: Any, type_: str) -> None:
    rig = made("hexapod.jm")
    knee = knee_of(rig)
    pick(knee)
    bpy.ops.knuckle.set_joint_type(type=type_)
    channels = channels_of(rig, knee)
    write_pose(rig, channels, np.linspace(0.2, 0.6, len(channels)))
    before = between(knee)
    swap_joint_ends(knee)
    assert between(knee) == pytest.approx(before, abs=2e-6)


@pytest.mark.parametrize("name", ["slider_crank.json", "brake.json"])
def test_a_joint_of_an_open_loop_stays_open_when_its_ends_are_exchanged(blank: Any, name: str) -> None:
    rig = made(name)
    before = now(rig)
    openings = design_openings(before)
    assert openings
    for empty in parts(rig, "JOINT"):
        if record_of(empty).source_id in openings:
            swap_joint_ends(empty)
    after, bodies = now(rig), {body.id: body for body in before.bodies}
    for joint in after.joints:
        if joint.id not in openings:
            continue
        old = next(each for each in before.joints if each.id == joint.id)
        assert (joint.parent, joint.child) == (old.child, old.parent)
        own, its = joint_frame_world(joint, bodies), bodies[old.child].pose @ old.frame_child
        assert own == pytest.approx(its, abs=2e-5)
        assert design_openings(after)[joint.id] == pytest.approx(np.linalg.inv(openings[joint.id]), abs=2e-5)
    assert formats.dumps(after, settings(rig).format)[0]


def axis_of(rig: Any, key: str) -> tuple[np.ndarray, Any]:
    mechanism = now(rig)
    joint = next(each for each in mechanism.joints if each.id == key)
    frame = joint_frame_world(joint, {body.id: body for body in mechanism.bodies})
    return frame[:3, :3] @ joint.dofs[0].axis, joint


@pytest.mark.parametrize("name", ["humanoid.skel", "sensor_leg.xml", "pumpjack.json"])
def test_a_joint_of_another_type_keeps_its_axis(blank: Any, name: str) -> None:
    rig = made(name)
    hinges = [
        obj
        for obj in parts(rig, "JOINT")
        if record_of(obj).joint.type == "revolute" and abs(record_of(obj).joint.dofs[0].axis[2]) < 0.5
    ]
    empty = next(obj for obj in hinges if not record_of(obj).joint.loop)
    key, text = record_of(empty).source_id, formats.dumps(now(rig))
    before, _joint = axis_of(rig, key)
    pick(empty)
    assert bpy.ops.knuckle.set_joint_type(type="revolute") == {"FINISHED"}
    assert formats.dumps(now(rig)) == text, "it was one already"
    for type_ in ("cylindrical", "prismatic", "universal", "revolute"):
        bpy.ops.knuckle.set_joint_type(type=type_)
        after, joint = axis_of(rig, key)
        assert after == pytest.approx(before, abs=1e-6), type_
        assert joint.type == type_


def test_a_posed_joint_is_moved_and_what_it_carries_stays(blank: Any) -> None:
    rig = made("hexapod.jm")
    carrier = record_of(knee_of(rig)).joint.parent
    hip = next(obj for obj in parts(rig, "JOINT") if record_of(obj).joint.child == carrier)
    for empty, value in ((hip, 0.4), (knee_of(rig), 0.5)):
        write_pose(rig, channels_of(rig, empty), np.array([value]))
    bpy.context.view_layer.update()
    before = {obj.name: np.array(obj.matrix_world) for obj in parts(rig, "BODY")}
    bpy.context.scene.cursor.matrix = hip.matrix_world @ Matrix.Translation((0.3, 0.1, 0.0))
    place = np.array(bpy.context.scene.cursor.matrix)
    pick(hip)
    assert bpy.ops.knuckle.move_joint(where="CURSOR") == {"FINISHED"}
    bpy.context.view_layer.update()
    for name, pose in before.items():
        assert np.array(bpy.data.objects[name].matrix_world) == pytest.approx(pose, abs=2e-6)
    assert np.array(hip.matrix_world)[:3, 3] == pytest.approx(place[:3, 3], abs=2e-6)
    assert rig.pose.bones[channels_of(rig, hip)[0].bone].rotation_euler.z == pytest.approx(0.4), "the pose is kept"
    child, turn = record_of(hip).joint.child, Matrix(place.tolist()) @ Matrix.Rotation(0.2, 4, "Z")
    wanted = np.array(turn @ Matrix(place.tolist()).inverted() @ child.matrix_world)
    write_pose(rig, channels_of(rig, hip), np.array([0.6]))
    bpy.context.view_layer.update()
    assert np.array(child.matrix_world) == pytest.approx(wanted, abs=5e-6), "it turns about where it was put"


def standing(rig: Any) -> dict[str, np.ndarray]:
    bpy.context.view_layer.update()
    return {record_of(obj).source_name: np.array(obj.matrix_world) for obj in parts(rig, "BODY")}


@pytest.mark.parametrize("posed", [None, 0.9])
@pytest.mark.parametrize("type_", [each for each in JOINT_TYPES if each != "revolute"])
def test_what_begins_turned_stays_where_it_stands_as_another_type(
    blank: Any, tmp_path: Path, type_: str, posed: float | None
) -> None:
    """A lamp whose shoulder begins at 0.5 rad; posed otherwise, the file has it where it begins."""
    rig = made("desk_lamp.skel")
    shoulder = next(obj for obj in parts(rig, "JOINT") if record_of(obj).source_name == "shoulder")
    began = standing(rig)
    if posed is not None:
        write_pose(rig, channels_of(rig, shoulder), np.array([posed]))
    before = standing(rig)
    pick(shoulder)
    assert bpy.ops.knuckle.set_joint_type(type=type_) == {"FINISHED"}
    for name, pose in standing(rig).items():
        assert pose == pytest.approx(before[name], abs=2e-6), name
    can_turn = {dof.kind for dof in make_dofs(type_)} & {"rotation", "screw", "ball", "free"}
    creep = 0.01 * abs(posed - 0.5) if posed is not None and type_ == "screw" else 0.0  # from its start to its pose
    wanted = began if can_turn else before
    path = tmp_path / "lamp.skel"
    formats.save(extract(settings(rig).collection), path, "skel")
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.import_scene.mechanism(filepath=str(path))
    for name, pose in standing(the_rig()).items():
        assert pose == pytest.approx(wanted[name], abs=5e-6 + creep), name


def test_a_posed_twin_stays_where_it_stands_as_another_type(blank: Any) -> None:
    rig = made("hexapod.jm")
    rig.animation_data_clear()
    knee = knee_of(rig)
    twin = twin_of(knee)
    for empty, value in ((knee, 0.4), (twin, -0.3)):
        write_pose(rig, channels_of(rig, empty), np.array([value]))
    before = standing(rig)
    pick(knee)
    settings(rig).symmetric = True
    assert bpy.ops.knuckle.set_joint_type(type="weld") == {"FINISHED"}
    assert record_of(twin).joint.type == "weld"
    for name, pose in standing(rig).items():
        assert pose == pytest.approx(before[name], abs=5e-6), name


def test_a_joint_keeps_its_axis_at_the_cursor_unless_another_is_asked_for(blank: Any, capfd: Any) -> None:
    rig = made("hexapod.jm")
    knee = knee_of(rig)
    axes = np.array(knee.matrix_world)[:3, :3]
    place = knee.matrix_world.translation + Vector((0.01, 0.02, 0.03))
    cursor = bpy.context.scene.cursor
    cursor.location, cursor.rotation_euler = place, (0.3, 0.2, 0.1)
    pick(knee)
    assert bpy.ops.knuckle.move_joint() == {"FINISHED"}
    bpy.context.view_layer.update()
    assert np.array(knee.matrix_world)[:3, :3] == pytest.approx(axes, abs=1e-6)
    assert knee.matrix_world.translation[:] == pytest.approx(place[:], abs=1e-5)
    assert "rotated by" not in capfd.readouterr().out
    assert bpy.ops.knuckle.move_joint(axis="Z") == {"FINISHED"}
    bpy.context.view_layer.update()
    assert knee.matrix_world.col[2].xyz.angle(cursor.matrix.col[2].xyz) < 1e-5
    turned = Matrix(axes.tolist()).inverted() @ cursor.matrix.to_3x3()
    assert f"rotated by {math.degrees(turned.to_quaternion().angle):.3g}°" in capfd.readouterr().out


@pytest.mark.parametrize("frame", [1, 12])
def test_a_joint_moved_to_where_it_is_changes_nothing_also_while_bodies_have_keys(
    blank: Any, tmp_path: Path, frame: int
) -> None:
    """A run of physics has bodies a little beside their bones, and so have its keys."""
    source = found("hexapod.jm")
    bpy.ops.import_scene.mechanism(filepath=str(source))
    rig = the_rig()
    rig.data.knuckle.drive = "SERVO"
    assert bpy.ops.knuckle.bake_physics(frame_end=15, all_bodies=True) == {"FINISHED"}
    bpy.context.scene.frame_set(frame)
    knee = knee_of(rig)
    bpy.context.scene.cursor.matrix = knee.matrix_world
    pick(knee)
    assert bpy.ops.knuckle.move_joint() == {"FINISHED"}
    assert bpy.ops.export_scene.mechanism(filepath=str(tmp_path / "same.jm")) == {"FINISHED"}
    assert (tmp_path / "same.jm").read_bytes() == source.read_bytes()


def test_skel_dofs_keep_their_names_when_their_order_is_inverted(blank: Any, tmp_path: Path) -> None:
    """An Euler joint's are named after its axes in order: those of a swapped joint are named in the file, so that its
    motion, which goes by names, plays as before."""
    path = tmp_path / "two.skel"
    body = '<body name="{0}"><transformation>{1} 0 0 0 0 0</transformation><inertia><mass>1</mass></inertia></body>'
    joint = (
        '<joint type="{type}" name="{name}"><parent>{parent}</parent><child>{child}</child>{more}'
        "<transformation>-0.5 0 0 0 0 0</transformation></joint>"
    )
    joints = (
        joint.format(type="free", name="root", parent="world", child="one", more=""),
        joint.format(type="euler", name="neck", parent="one", child="two", more="<axis_order>zyx</axis_order>"),
    )
    path.write_text(
        f'<skel version="1.0"><world name="w"><skeleton name="s">{body.format("one", 0)}{body.format("two", 1)}'
        f"{''.join(joints)}</skeleton></world></skel>",
        encoding="utf-8",
    )
    bpy.ops.import_scene.mechanism(filepath=str(path))
    rig = the_rig()
    empty = next(obj for obj in parts(rig, "JOINT") if record_of(obj).source_name == "neck")
    pose = np.array([0.3, -0.5, 0.2])
    for frame, share in ((1, 0.0), (31, 1.0)):
        write_pose(rig, channels_of(rig, empty), share * pose)
        for channel in channels_of(rig, empty):
            for prop, index in channel.numbers():
                rig.pose.bones[channel.bone].keyframe_insert(prop, index=index, frame=frame)
    bpy.context.scene.frame_set(31)
    before = between_bodies(rig)
    bpy.ops.object.select_all(action="DESELECT")
    empty.select_set(True)
    bpy.context.view_layer.objects.active = empty
    assert bpy.ops.knuckle.swap_joint() == {"FINISHED"}
    bpy.context.view_layer.objects.active = rig
    bpy.ops.export_scene.mechanism(filepath=str(tmp_path / "out.skel"), format="skel")
    bpy.ops.export_anim.servo_motion(filepath=str(tmp_path / "out.csv"))
    told = ElementTree.parse(tmp_path / "out.skel").getroot().find(".//joint[@name='neck']")
    assert told is not None
    order = told.findtext("axis_order", "")
    named = {int(each.get("local_index", "")): each.get("name") for each in told.findall("dof") if each.get("name")}
    names = [named.get(i, f"neck_{order[i]}") for i in range(3)]
    assert names in (["neck_z", "neck_y", "neck_x"], ["neck_x", "neck_y", "neck_z"])
    assert any(name != f"neck_{axis}" for name, axis in zip(names, order, strict=True))
    empty_file()
    bpy.ops.import_scene.mechanism(filepath=str(tmp_path / "out.skel"))
    bpy.ops.import_anim.servo_motion(filepath=str(tmp_path / "out.csv"))
    bpy.context.scene.frame_set(31)
    assert between_bodies(the_rig()) == pytest.approx(before, abs=2e-3)


def between_bodies(rig: Any) -> np.ndarray:
    """The pose of the body 'two' as its mate 'one' sees it."""
    bodies = {record_of(obj).source_name: np.array(obj.matrix_world) for obj in parts(rig, "BODY")}
    return np.linalg.inv(bodies["one"]) @ bodies["two"]


def test_restraints_of_a_swapped_joint_are_reversed_in_simulation_and_file(blank: Any, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(found("pumpjack.json").parent, folder)
    path = folder / "pumpjack.json"
    whole = json.loads(path.read_text(encoding="utf-8"))
    (assembly,) = whole["assemblies"]
    name = "crank_pin"
    law = {"knot_points": [0.2], "coefficients": [[0.0], [100.0, -20.0]]}
    assembly["restraints"] = [{"name": "bumper", "type": "spring", "joint": name, **law}]
    path.write_text(json.dumps(whole), encoding="utf-8")
    rig = rig_in(build(formats.load(path), options=BuildOptions(gait=False, physics=False)))
    empty = next(obj for obj in parts(rig, "JOINT") if record_of(obj).source_name == name)

    def force(value: float) -> float:
        ((law,),) = joint_force_laws(rig).values()
        return law.law(value)

    values = np.linspace(-1.0, 1.0, 9)
    before = [force(value) for value in values]
    swap_joint_ends(empty)
    assert [force(-value) for value in values] == pytest.approx([-each for each in before])
    formats.save(extract(rig), tmp_path / "out.json", "shift")
    (item,) = formats.load(tmp_path / "out.json").restraints
    assert (item.knots, item.coefficients) == ([-0.2], [[100.0, 20.0], [0.0]])
    swap_joint_ends(empty)
    assert [force(value) for value in values] == pytest.approx(before)


def test_duplicating_a_limb_that_hangs_on_the_world_leaves_the_original(blank: Any) -> None:
    rig = made("sensor_leg.xml")
    (hanging, *_) = [e for e in parts(rig, "JOINT") if None in (record_of(e).joint.parent, record_of(e).joint.child)]
    joint = record_of(hanging).joint
    before = {joint.id: joint.frame_parent.copy() for joint in extract(rig).joints}
    bones = {bone.name: np.array(bone.matrix_local) for bone in rig.data.bones}
    pick(rig, joint.child or joint.parent)
    bpy.ops.knuckle.duplicate_limb()
    after = {joint.id: joint.frame_parent for joint in extract(rig).joints}
    assert len(after) > len(before)
    for own, frame in before.items():
        np.testing.assert_allclose(after[own], frame, atol=1e-6)
    for name, matrix in bones.items():
        np.testing.assert_allclose(np.array(rig.data.bones[name].matrix_local), matrix, atol=1e-6)


@pytest.mark.parametrize("type_", ["ball", "free", "cylindrical", "universal", "revolute"])
def test_an_object_on_a_joint_that_gets_another_type_stays_in_place(blank: Any, type_: str) -> None:
    rig = made("rover.jm")
    (joint,) = (empty for empty in parts(rig, "JOINT") if empty.name == "Mast Lift")
    prop = bpy.data.objects.new("prop", None)
    bpy.context.scene.collection.objects.link(prop)
    prop.parent, prop.location = joint, (0.5, 0.2, 1.0)
    bpy.context.view_layer.update()
    before = np.array(prop.matrix_world)
    pick(joint)
    assert bpy.ops.knuckle.set_joint_type(type=type_) == {"FINISHED"}
    bpy.context.view_layer.update()
    assert prop.parent == joint
    np.testing.assert_allclose(np.array(prop.matrix_world), before, atol=2e-6)


def test_what_a_duplicated_limb_lacks_is_reported(blank: Any) -> None:
    rig = made("pumpjack.json")
    frames = [frame.body for frame in extract(rig).frames if frame.body]
    assert frames
    beam = next(obj for obj in parts(rig, "BODY") if record_of(obj).source_id == frames[0])
    _made, report = copy_limb(rig, limb_of(rig, [beam], whole=False), np.array([0.0, 5.0, 0.0]))
    (entry,) = [each for each in report.entries if each.code == "attachments-left-out"]
    assert f": {frames.count(frames[0])} of the limb" in str(entry.message)


@pytest.mark.parametrize("name", ["sensor_leg.xml", "hexapod.jm", "desk_lamp.skel"])
def test_a_duplicated_limb_moves_as_the_original_in_every_motion(blank: Any, name: str) -> None:
    rig = made(name)
    actions = []
    for _number in range(2):
        rig.animation_data_create().action = None
        keyed(rig)
        actions.append(rig.animation_data.action)
        actions[-1].use_fake_user = True
        for curve in action_curves(rig, actions[-1]):
            curve.modifiers.new("CYCLES")
    joint = next(e for e in parts(rig, "JOINT") if record_of(e).joint.parent and record_of(e).joint.child)
    trunk, first = record_of(joint).joint.parent, record_of(joint).joint.child
    limb = limb_of(rig, [first])
    assert trunk not in limb_objects(rig, limb)
    made_objects, _report = copy_limb(rig, limb, np.array((0.1, 0.2, 0.3)))
    pairs = list(zip(limb_objects(rig, limb), made_objects, strict=True))
    pairs = [pair for pair in pairs if record_of(pair[0]).role == "BODY"]
    assert pairs
    scene, poses = bpy.context.scene, []
    for action in actions:
        use_action(rig, action)
        for frame in (1, 8, 21, 33):
            scene.frame_set(frame)
            on_trunk = trunk.matrix_world.inverted()
            for original, copy in pairs:
                apart = on_trunk @ copy.matrix_world @ (on_trunk @ original.matrix_world).inverted()
                np.testing.assert_allclose(np.array(apart)[:3, :3], np.eye(3), atol=1e-5)
                assert apart.translation.length == pytest.approx(float(np.linalg.norm((0.1, 0.2, 0.3))), rel=1e-4)
            poses.append(np.array(on_trunk @ pairs[0][1].matrix_world))
    assert np.ptp(poses, axis=0).max() > 0.01


@pytest.mark.parametrize("alike", [True, False])
def test_moving_twins_that_are_not_posed_as_mirror_images_is_reported(blank: Any, alike: bool) -> None:
    rig = made("hexapod.jm")
    lift, twin = (next(e for e in parts(rig, "JOINT") if e.name == f"{side} Front Lift") for side in ("Left", "Right"))
    if not alike:
        rig.pose.bones[lift.name].rotation_euler.z = 0.3
    bpy.context.view_layer.update()
    report = place_joint(lift, lift.matrix_world @ Matrix.Translation((0.0, 0.0, 0.05)), twin=twin)
    assert ("twins-posed-unlike" in [each.code for each in report.entries]) != alike
