"""Real files in Blender: every body, axis and stop is where the file's own numbers put it, and a bone that is turned
moves its body as the file's joint would."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tests.support.emptied import empty_file
from tests.support.mechanisms import (
    FILES,
    NO_FILES,
    X,
    XmlJoint,
    XmlModel,
    Z,
    angle_about,
    number,
    objects_of,
    put,
    turn,
    world_of,
)

WITHIN = 1e-5


@dataclass
class Built:
    """A file in Blender, at its design pose, and what the file itself says."""

    rig: Any
    document: XmlModel


@pytest.fixture(scope="module", params=FILES or NO_FILES, ids=lambda path: path.name if path else "none")
def built(request: pytest.FixtureRequest) -> Iterator[Built]:
    """Each real file, built once for all tests of this module."""
    pytest.importorskip("bpy", reason="Blender is not here")
    empty_file()
    import addon

    if not addon.is_registered():
        addon.register()
    yield Built(put(request.param, gait=False), XmlModel(request.param))


def close(found: np.ndarray, expected: np.ndarray) -> bool:
    """Within 1e-5; of large coordinates within what 32 bits can hold."""
    return bool((np.abs(found - expected) <= WITHIN * np.maximum(1.0, np.abs(expected) / 10)).all())


def bones_by_joint(rig: Any) -> dict[str, Any]:
    return {bone.knuckle.joint: rig.pose.bones[bone.name] for bone in rig.data.bones if bone.knuckle.joint}


def parents_by_object(rig: Any) -> dict[str, str]:
    """Which body hangs on which bone."""
    return {obj.parent_bone: key for key, obj in objects_of(rig, "BODY").items()}


def test_bodies_stand_where_the_file_has_them(built: Built) -> None:
    rig, document = built.rig, built.document
    bodies = objects_of(rig, "BODY")
    assert list(bodies) == list(document.poses)
    for key, pose in document.poses.items():
        assert close(world_of(bodies[key]), pose), bodies[key].name


def test_joints_stand_on_their_axes(built: Built) -> None:
    rig, document = built.rig, built.document
    empties = objects_of(rig, "JOINT")
    assert sorted(empties) == sorted(document.joints)
    for key, joint in document.joints.items():
        here = world_of(empties[key])
        assert close(here[:3, 3], joint.frame[:3, 3]), joint.name
        axis = here[:3, 0] if joint.kind == "prismatic" else here[:3, 2]  # Blender's slider goes along X
        assert close(axis, joint.axis), joint.name
        record = empties[key].knuckle.joint
        assert record.active == joint.active
        ends = [end.knuckle.source_id if end else None for end in (record.parent, record.child)]
        assert ends == [joint.first, joint.second]


def test_the_z_of_a_bone_is_its_joints_axis(built: Built) -> None:
    """Turned round where the joint's second body is the nearer to the root, so that a growing servo value always
    moves the second body the positive way."""
    rig, document = built.rig, built.document
    carried = parents_by_object(rig)
    for key, bone in bones_by_joint(rig).items():
        joint = document.joints[key]
        assert carried[bone.name] in (joint.first, joint.second)
        sense = 1.0 if carried[bone.name] == joint.second else -1.0
        rest = np.array(rig.matrix_world @ bone.bone.matrix_local)
        assert close(rest[:3, 3], joint.frame[:3, 3])
        assert close(rest[:3, 2], sense * joint.axis)
        assert bone.bone.length > 1e-3
        # Blender's own matrix from head, tail and roll is no better than this for bones along -Z
        assert np.abs(rest[:3, :3].T @ rest[:3, :3] - np.eye(3)).max() < 2e-4


def test_each_body_is_attached_to_one_bone_and_each_bone_is_a_joint_or_a_root(built: Built) -> None:
    rig, document = built.rig, built.document
    carried = parents_by_object(rig)
    assert sorted(carried) == sorted(bone.name for bone in rig.data.bones)
    assert sorted(carried.values()) == sorted(document.poses)
    parts = joined_parts(document)
    roots = [bone.knuckle.root for bone in rig.data.bones if bone.knuckle.root]
    assert len(roots) == parts
    active = sum(joint.active for joint in document.joints.values())
    loops = [empty for empty in objects_of(rig, "JOINT").values() if empty.knuckle.joint.loop]
    assert len(loops) == active - len(document.poses) + parts
    assert len(bones_by_joint(rig)) == active - len(loops)


def joined_parts(document: XmlModel) -> int:
    group = {key: {key} for key in document.poses}
    for joint in document.joints.values():
        if joint.active:
            both = group[joint.first] | group[joint.second]
            for key in both:
                group[key] = both
    return len({id(each) for each in group.values()})


def some_value(joint: XmlJoint, rng: np.random.Generator) -> float:
    """A value within the joint's stops and half a turn."""
    low, high = joint.limits()
    reach = 2.5 if joint.kind == "revolute" else 1.0
    low = max(-reach, -reach if low is None else low)
    high = min(reach, reach if high is None else high)
    return float(rng.uniform(min(low, high), max(low, high)))


def test_turning_a_bone_moves_the_second_body_about_the_axis(built: Built) -> None:
    import bpy

    rig, document = built.rig, built.document
    rng = np.random.default_rng(11)
    values, channels = {}, {}
    for key, bone in bones_by_joint(rig).items():
        joint = document.joints[key]
        if joint.kind == "ball" or follows(rig, key):
            continue
        values[key] = some_value(joint, rng) if joint.same_line else 0.0
        channels[key] = bone.rotation_euler if joint.kind == "revolute" else bone.location
        channels[key][2] = values[key]
    bpy.context.view_layer.update()
    reached = {key: channel[2] for key, channel in channels.items()}
    held = any(line.code == "loop-held" for line in rig.data.knuckle.report)
    assert held or reached == pytest.approx(values, abs=1e-6), "only what drives a loop is ever held, and that is told"
    values = reached
    bodies = objects_of(rig, "BODY")
    now = {key: world_of(obj) for key, obj in bodies.items()}
    for key, value in values.items():
        joint = document.joints[key]
        if out_of_stops(joint, value):
            continue
        move = np.eye(4)
        if joint.kind == "revolute":
            move[:3, :3] = turn(joint.axis, value)
            move[:3, 3] = joint.frame[:3, 3] - move[:3, :3] @ joint.frame[:3, 3]
        else:
            move[:3, 3] = value * joint.axis
        design = document.poses
        expected = now[joint.first] @ np.linalg.inv(design[joint.first]) @ move @ design[joint.second]
        size = np.abs([pose[:3, 3] for pose in design.values()]).max()
        assert np.abs(now[joint.second] - expected).max() < WITHIN * max(1.0, size / 5), joint.name
    for bone in rig.data.bones:
        if bone.knuckle.root:
            assert close(now[bone.knuckle.root], document.poses[bone.knuckle.root])
    for bone in rig.pose.bones:
        bone.rotation_euler[2] = bone.location[2] = 0.0


def follows(rig: Any, key: str) -> bool:
    """Whether a joint goes where the others of its loop lead it."""
    return objects_of(rig, "JOINT")[key].knuckle.joint.is_dependent


def out_of_stops(joint: XmlJoint, value: float) -> bool:
    """Some files have joints whose stops do not hold the pose they were drawn in, or the wrong way round."""
    low, high = joint.limits()
    return (low is not None and value < low - 1e-9) or (high is not None and value > high + 1e-9)


def test_only_the_joints_own_channel_is_unlocked(built: Built) -> None:
    rig, document = built.rig, built.document
    for key, bone in bones_by_joint(rig).items():
        kind = document.joints[key].kind
        ball = kind == "ball"
        if follows(rig, key):
            assert all([*bone.lock_location, *bone.lock_rotation, bone.lock_ik_x, bone.lock_ik_y, bone.lock_ik_z])
            continue
        assert list(bone.lock_location) == [True, True, kind != "prismatic"]
        assert list(bone.lock_rotation) == [not ball, not ball, kind == "prismatic"]
        assert list(bone.lock_scale) == [True] * 3
        assert (bone.lock_ik_x, bone.lock_ik_y, bone.lock_ik_z) == (not ball, not ball, kind == "prismatic")
        assert bone.rotation_mode == ("QUATERNION" if ball else "XYZ")


def test_stops_are_on_the_bones_for_posing_and_for_ik(built: Built) -> None:
    rig, document = built.rig, built.document
    for key, bone in bones_by_joint(rig).items():
        joint = document.joints[key]
        if joint.kind == "ball":
            assert not bone.constraints
            continue
        if not joint.same_line:
            continue  # the file contradicts itself: which stop is the lower is not decided here
        low, high = joint.limits()
        # the design pose stays within reach where a file draws its joint outside the stops
        low, high = (None if low is None else min(low, 0.0)), (None if high is None else max(high, 0.0))
        stops = [(c.type, c.owner_space) for c in bone.constraints]
        if joint.kind == "prismatic":
            assert stops == ([("LIMIT_LOCATION", "LOCAL")] if (low, high) != (None, None) else [])
            for limit in bone.constraints:
                assert (limit.use_min_z, limit.use_max_z) == (low is not None, high is not None)
                assert limit.min_z == pytest.approx(low or 0.0, abs=WITHIN)
                assert limit.max_z == pytest.approx(high or 0.0, abs=WITHIN)
                assert not (limit.use_min_x or limit.use_max_x or limit.use_min_y or limit.use_max_y)
            continue
        bottom = -math.pi if low is None else low
        top = math.pi if high is None else high
        wanted = (low, high) != (None, None) and -math.pi <= bottom <= top <= math.pi
        assert stops == ([("LIMIT_ROTATION", "LOCAL")] if wanted else [])
        assert bone.use_ik_limit_z == wanted
        for limit in bone.constraints:
            assert (limit.use_limit_x, limit.use_limit_y, limit.use_limit_z) == (False, False, True)
            # angles are within half a turn for a limit: an end that lies beyond stops nothing
            assert np.clip((limit.min_z, limit.max_z), -math.pi, math.pi) == pytest.approx((bottom, top), abs=WITHIN)
            assert (bone.ik_min_z, bone.ik_max_z) == pytest.approx((bottom, top), abs=WITHIN)


def test_each_simulated_joint_has_its_constraint_and_no_other_has(built: Built) -> None:
    rig, document = built.rig, built.document
    bodies = objects_of(rig, "BODY")
    for key, empty in objects_of(rig, "JOINT").items():
        joint = document.joints[key]
        constraint = empty.rigid_body_constraint
        assert (constraint is not None) == joint.active
        if constraint is not None:
            assert {constraint.object1, constraint.object2} == {bodies[joint.first], bodies[joint.second]}
            assert constraint.enabled and constraint.disable_collisions
    for key, obj in bodies.items():
        mass = number(document.elements[key], ".//Mass", default=1.0)
        assert obj.rigid_body.mass == pytest.approx(max(mass, 0.001))


def test_the_mesh_of_a_body_has_the_size_of_its_shape(built: Built) -> None:
    rig, document = built.rig, built.document
    for key, obj in objects_of(rig, "BODY").items():
        element = document.elements[key]
        shape = int(number(element, "Shape", default=1))
        ball, tube, long = (number(element, tag, default=1) for tag in ("BallDiameter", "TubeDiameter", "TubeLength"))
        expected = {
            1: [number(element, f"BoxDimensions/{axis}", f"Dimensions/{axis}", default=1) for axis in "XYZ"],
            2: [tube, tube, long + tube],
            3: [ball] * 3,
            4: [tube, tube, long],
        }[shape]
        corners = np.array([vertex.co for vertex in obj.data.vertices])
        assert corners.max(axis=0) - corners.min(axis=0) == pytest.approx(expected, rel=1e-4, abs=1e-6)
        assert corners.max(axis=0) + corners.min(axis=0) == pytest.approx([0, 0, 0], abs=1e-4 * max(expected))


def test_angle_about_an_axis_has_the_sign_of_the_rotation() -> None:
    """The measure that physics tests go by tells a positive turn from a negative one, about any axis."""
    for axis in (X, Z, np.array([0.6, 0, -0.8])):
        for angle in (-2.0, 0.3):
            assert angle_about(axis, turn(axis, angle)) == pytest.approx(angle)
