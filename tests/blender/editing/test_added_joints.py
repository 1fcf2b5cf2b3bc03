"""A joint that is added to a posed and keyed mechanism leaves all bodies where they are at the present frame, and all
other joints as they are; what motions change is reported."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from addon import formats
from addon.blender.data.access import record_of, settings
from addon.blender.data.channels import servo_channels
from addon.blender.data.queries import parts, rig_in
from addon.blender.editing.authoring import join_bodies
from addon.blender.editing.joints import copy_limb, delete_objects, limb_of
from addon.blender.editing.repair.checks import check_model
from addon.blender.reconcile.build import BuildOptions, build
from addon.blender.scene.read.mechanism import extract
from addon.core.joint_types import JOINT_TYPES
from addon.core.kinematics import spanning_tree
from addon.core.loops.linkage_solver import find_linkages
from tests.support.emptied import empty_file
from tests.support.holding import posed
from tests.support.scenes import body, made

FRAME = 7


def keyed(rig: Any) -> None:
    """All servos keyed with values within stops, and the scene between two keyframes."""
    random = np.random.default_rng(3)
    for frame in (1, 20):
        for own in servo_channels(rig).values():
            for channel in own:
                if channel.is_single:
                    pose = rig.pose.bones[channel.bone]
                    getattr(pose, channel.prop)[channel.index] = random.uniform(-0.15, 0.15)
                    pose.keyframe_insert(channel.prop, index=channel.index, frame=frame)
    bpy.context.scene.frame_set(FRAME)


def poses(rig: Any) -> dict[str, np.ndarray]:
    bpy.context.view_layer.update()
    return {obj.name: np.array(obj.matrix_world) for obj in parts(rig, "BODY")}


def settings_of(rig: Any) -> dict[str, list[tuple[float, ...]]]:
    """Stops, initial values and rest values of all joints."""
    return {
        empty.name: [
            (dof.use_lower, dof.lower, dof.use_upper, dof.upper, dof.position, dof.rest)
            for dof in record_of(empty).joint.dofs
        ]
        for empty in parts(rig, "JOINT")
    }


PAIRS = [
    ("humanoid.skel", "left forearm", "right forearm"),
    ("hexapod.jm", "Left Front Tibia", "Left Middle Tibia"),
    ("hexapod.jm", "Left Front Tibia", None),
    ("desk_lamp.skel", "shade", "foot"),
    ("pumpjack.json", "pitman", "post"),
]


@pytest.mark.parametrize("type_", ["ball", "weld", "revolute", "universal"])
@pytest.mark.parametrize(("name", "child", "parent"), PAIRS)
@pytest.mark.parametrize("is_keyed", [True, False])
def test_an_added_joint_moves_nothing_at_the_present_frame_and_no_zero(
    blank: Any, name: str, child: str, parent: str | None, type_: str, is_keyed: bool
) -> None:
    rig = made(name)
    if is_keyed:
        keyed(rig)
    before, settings, motion = poses(rig), settings_of(rig), {}
    for frame in (1, 20):
        bpy.context.scene.frame_set(frame)
        motion[frame] = poses(rig)
    bpy.context.scene.frame_set(FRAME)
    own = body(rig, child)
    place = Matrix.Translation(own.matrix_world.translation)
    _empty, report = join_bodies(rig, None if parent is None else body(rig, parent), own, place, type_, "added")
    size = float(np.ptp([pose[:3, 3] for pose in before.values()], axis=0).max())
    after = poses(rig)
    off = {each: float(np.abs(after[each] - pose).max()) for each, pose in before.items()}
    assert max(off.values()) < 2e-4 * max(1.0, size), sorted(off.items(), key=lambda each: -each[1])[:3]
    now = settings_of(rig)
    assert {each: now[each] for each in settings} == settings
    for frame, then in motion.items():
        bpy.context.scene.frame_set(frame)
        moved = max(float(np.abs(poses(rig)[each] - pose).max()) for each, pose in then.items())
        told = "motion-changed" in {entry.code for entry in report.entries}
        assert moved < 1e-2 * size or told, (frame, moved)


#: Bodies whose joints are posed about oblique axes when a joint closes a loop between them.
POSED_PAIRS = [
    ("humanoid.skel", "left forearm", "right forearm"),
    ("humanoid.skel", "left foot", "right forearm"),
    ("hexapod.jm", "Left Front Tibia", "Left Rear Tibia"),
    ("sensor_leg.xml", "foot", "pelvis"),
]


@pytest.mark.parametrize("type_", JOINT_TYPES)
@pytest.mark.parametrize(("name", "child", "parent"), POSED_PAIRS)
def test_a_closed_loop_is_written_in_every_format(blank: Any, name: str, child: str, parent: str, type_: str) -> None:
    rig = made(name)
    keyed(rig)
    own = body(rig, child)
    join_bodies(rig, body(rig, parent), own, Matrix.Translation(own.matrix_world.translation), type_, "added")
    mechanism = extract(rig)
    ends = {each.name for each in mechanism.bodies if each.id in mechanism.joints[-1].ends}
    assert ends == {child, parent}
    for format_ in ("juice", "skel", "x_xy", "shift"):
        text, report = formats.dumps(mechanism, format_)
        again = formats.loads(text.encode(), f"m{formats.FORMATS[format_].extensions[0]}")
        assert {each.name for each in again.bodies} == {each.name for each in mechanism.bodies}
        joint = next((each for each in again.joints if each.name == "added"), None)
        codes = {entry.code for entry in report.entries}
        if joint is None and (format_ == "juice" or (format_, type_) == ("skel", "cylindrical")):
            assert "dropped-joint" in codes
            assert "cut-loop" not in codes  # which says that the file has it
            continue
        assert joint is not None, format_
        assert {each.name for each in again.bodies if each.id in joint.ends} == ends
        assert format_ == "juice" or joint.type == type_, format_


@pytest.mark.parametrize("child", ["beam", "crank", "pitman"])
def test_a_copied_part_of_a_loop_can_be_posed(blank: Any, child: str) -> None:
    rig = made("pumpjack.json")
    copies, _report = copy_limb(rig, limb_of(rig, [body(rig, child)]), np.array((0.0, 3.0, 0.0)))
    joints = [obj for obj in copies if record_of(obj).role == "JOINT"]
    assert joints
    assert not any(record_of(obj).joint.is_dependent for obj in joints)
    assert "followers-left" not in {finding.code for finding in check_model(rig)}
    delete_objects(rig, copies)


@pytest.mark.parametrize("format_", ["skel", "shift", "x_xy"])
@pytest.mark.parametrize("type_", ["ball", "revolute", "prismatic"])
@pytest.mark.parametrize("pose", [posed, keyed])
@pytest.mark.parametrize(
    ("name", "child", "parent"),
    [("humanoid.skel", "left forearm", "right forearm"), ("humanoid.skel", "left forearm", "torso"),
     ("desk_lamp.skel", "shade", "foot")],
)  # fmt: skip
def test_a_file_with_a_loop_that_was_closed_in_a_pose_begins_with_it_as_shown(
    blank: Any, name: str, child: str, parent: str, pose: Any, type_: str, format_: str
) -> None:
    """The bodies of the loop are where they were, to each other, when the file is read again."""
    rig = made(name)
    pose(rig)
    own = body(rig, child)
    known = {record_of(empty).source_id for empty in parts(rig, "JOINT")}
    join_bodies(rig, body(rig, parent), own, Matrix.Translation(own.matrix_world.translation), type_, "added")
    assert "loop-open" not in {finding.code for finding in check_model(rig)}
    mechanism = extract(rig)
    (linkage,) = find_linkages(mechanism, spanning_tree(mechanism))
    joints = {joint.id: joint for joint in mechanism.joints if joint.id in {*linkage.joints, *linkage.chords}}
    assert joints.keys() - known
    ends = {end for joint in joints.values() for end in joint.ends if end is not None}
    names = {each.name for each in mechanism.bodies if each.id in ends}
    before = {each: pose for each, pose in poses(rig).items() if each in names}
    text, _report = formats.dumps(mechanism, format_)
    path = str(settings(rig).path)
    empty_file()
    suffix = {"skel": ".skel", "shift": ".json", "x_xy": ".xml"}[format_]
    again = poses(
        rig_in(build(formats.loads(text.encode(), path + suffix), options=BuildOptions(gait=False, physics=False)))
    )
    first = min(before)
    size = float(np.ptp([pose[:3, 3] for pose in before.values()], axis=0).max())
    for each in before:
        was, now = (np.linalg.inv(every[first]) @ every[each] for every in (before, again))
        assert np.abs(was - now).max() < 1e-4 * max(1.0, size), each
