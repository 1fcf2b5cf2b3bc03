"""The user's drivers and constraints that depend on the bones of an edited joint: they give what they gave, or the edit
names them."""

from __future__ import annotations

from collections.abc import Callable
from math import radians
from typing import Any

import bpy
import numpy as np
import pytest

from addon.blender.data.access import record_of
from addon.blender.data.channels import servo_channels
from addon.blender.data.queries import parts
from addon.blender.editing.joints import set_joint_type, swap_joint_ends
from addon.blender.rig.bone_limits import is_stop_constraint
from tests.support.holding import SAME, Seen
from tests.support.scenes import made, the_rig

#: Joints of two formats, and one that becomes a slider first.
JOINTS = [("desk_lamp.skel", "elbow"), ("rover.jm", "Left Steering"), ("desk_lamp.skel", "neck, a slider")]
#: Where joints are posed: at and away from zero, inside their stops.
POSES = [0.0, 0.08]
ANGLE = "rotation_euler"


def joint(rig: Any, name: str) -> Any:
    return next(each for each in parts(rig, "JOINT") if record_of(each).source_name == name)


def posed(name: str, which: str, value: float) -> tuple[Any, Any, Any]:
    """A mechanism, a joint of it, and the channel at which it is posed."""
    rig = made(name)
    empty = joint(rig, which.removesuffix(", a slider"))
    if which.endswith("slider"):
        set_joint_type(empty, "prismatic")
    (channel,) = servo_channels(rig)[record_of(empty).source_id]
    pose_at(rig, channel, value)
    return rig, empty, channel


def pose_at(rig: Any, channel: Any, value: float) -> None:
    getattr(rig.pose.bones[channel.bone], channel.prop)[channel.index] = value
    bpy.context.view_layer.update()


def cube(name: str) -> Any:
    bpy.ops.mesh.primitive_cube_add()
    bpy.context.object.name = name
    return bpy.context.object


# ---------------------------------------------------------------- drivers


def driven(rig: Any, name: str, variables: list[dict[str, Any]], type_: str, expression: str = "") -> Any:
    """A cube whose X a driver moves."""
    obj = cube(name)
    driver = obj.driver_add("location", 0).driver
    driver.type = type_
    for values in variables:
        variable = driver.variables.new()
        variable.name, variable.type = values["name"], values["type"]
        source = variable.targets[0]
        source.id = rig
        for key in values.keys() - {"name", "type"}:
            setattr(source, key, values[key])
    if expression:
        driver.expression = expression
    return obj


def single(channel: Any, name: str = "q") -> dict[str, Any]:
    return {"name": name, "type": "SINGLE_PROP", "data_path": f"{channel.path}[{channel.index}]"}


def transform(channel: Any, letter: str, space: str = "LOCAL_SPACE", name: str = "q") -> dict[str, Any]:
    kind = "ROT" if channel.prop == ANGLE else "LOC"
    values = {"bone_target": channel.bone, "transform_type": f"{kind}_{letter}", "transform_space": space}
    return {"name": name, "type": "TRANSFORMS", **values}


DRIVERS: dict[str, Callable[[Any, Any], Any]] = {
    "path": lambda rig, c: driven(rig, "path", [single(c)], "SCRIPTED", "2 * q + 1"),
    "named alike": lambda rig, c: driven(rig, "alike", [single(c), single(c, "qq")], "SCRIPTED", "q * 3 + qq"),
    "average": lambda rig, c: driven(rig, "average", [single(c), single(c, "r")], "AVERAGE"),
    "sum": lambda rig, c: driven(rig, "sum", [single(c), transform(c, "XYZ"[c.index], name="r")], "SUM"),
    "largest": lambda rig, c: driven(rig, "largest", [single(c), transform(c, "Y", name="r")], "MAX"),
    "least": lambda rig, c: driven(rig, "least", [single(c)], "MIN"),
    "local": lambda rig, c: driven(rig, "local", [transform(c, "XYZ"[c.index])], "SCRIPTED", "q"),
    "own": lambda rig, c: driven(rig, "own", [transform(c, "XYZ"[c.index], "TRANSFORM_SPACE")], "SCRIPTED", "q"),
    "world": lambda rig, c: driven(rig, "world", [transform(c, "Z", "WORLD_SPACE")], "SCRIPTED", "q"),
}  # fmt: skip


def named(report: Any, code: str) -> str:
    return " ".join(entry.message for entry in report.entries if entry.code == code)


@pytest.mark.parametrize("value", POSES)
@pytest.mark.parametrize(("name", "which"), JOINTS)
def test_drivers_give_what_they_gave_when_a_joint_is_swapped_and_posed(
    blank: Any, name: str, which: str, value: float
) -> None:
    """Also at another pose after it, where the joint has the opposite value."""
    rig, empty, channel = posed(name, which, value)
    made_ = {key: make(rig, channel) for key, make in DRIVERS.items()}
    other = 0.05
    pose_at(rig, channel, other)
    later = {key: obj.matrix_world.translation.x for key, obj in made_.items()}
    pose_at(rig, channel, value)
    before = {key: obj.matrix_world.translation.x for key, obj in made_.items()}
    told = named(swap_joint_ends(empty), "driver-changed")
    bpy.context.view_layer.update()
    now = {key: obj.matrix_world.translation.x for key, obj in made_.items()}
    (after,) = servo_channels(rig)[record_of(empty).source_id]
    pose_at(rig, after, -other)
    there = {key: obj.matrix_world.translation.x for key, obj in made_.items()}
    for key, obj in made_.items():
        if key == "world":  # its axes are others in space
            assert (abs(now[key] - before[key]) > 1e-4) == (repr(obj.name) in told)
        else:
            assert now[key] == pytest.approx(before[key], abs=1e-5), key
            assert there[key] == pytest.approx(later[key], abs=1e-5), key
            assert repr(obj.name) not in told


def test_a_driver_is_as_it_was_after_two_swaps(blank: Any) -> None:
    rig, empty, channel = posed("desk_lamp.skel", "elbow", 0.1)
    obj = DRIVERS["path"](rig, channel)
    for expected in ("2 * (-q) + 1", "2 * q + 1"):
        swap_joint_ends(empty)
        assert obj.animation_data.drivers[0].driver.expression == expected


@pytest.mark.parametrize("expression", ["sin(-q)", "abs(-q) + 1", "3 - q", "max(q, (-q)) * q", "(q)-(-q)", "qq(q)"])
def test_expressions_give_what_they_gave_after_a_swap_and_another(blank: Any, expression: str) -> None:
    rig, empty, channel = posed("desk_lamp.skel", "elbow", 0.1)
    bpy.app.driver_namespace["qq"] = lambda value: 2.0 * value
    obj = driven(rig, "cube", [single(channel)], "SCRIPTED", expression)
    bpy.context.view_layer.update()
    before = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).location.x
    assert before != 0.0
    for _swap in range(2):
        swap_joint_ends(empty)
        bpy.context.view_layer.update()
        after = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).location.x
        assert after == pytest.approx(before, abs=1e-6)


def test_a_driver_on_another_joint_of_the_mechanism_gives_what_it_gave(blank: Any) -> None:
    rig, empty, channel = posed("desk_lamp.skel", "elbow", 0.1)
    neck, *_others = servo_channels(rig)[record_of(joint(rig, "neck")).source_id]
    driver = rig.driver_add(neck.path, neck.index).driver
    variable = driver.variables.new()
    variable.name, variable.targets[0].id = "q", rig
    variable.targets[0].data_path = f"{channel.path}[{channel.index}]"
    driver.expression = "q / 2"
    bpy.context.view_layer.update()
    before = Seen.of(rig)
    report = swap_joint_ends(empty)
    assert before.apart(Seen.of(rig))[0] < SAME
    assert not named(report, "driver-changed")
    for again in (empty, joint(rig, "neck")):  # what is driven itself counts in the other direction
        report = swap_joint_ends(again)
        assert before.apart(Seen.of(rig))[0] < SAME
        assert not named(report, "driver-changed")


@pytest.mark.parametrize("value", POSES)
@pytest.mark.parametrize("type_", ["prismatic", "ball", "weld", "universal", "screw", "free"])
def test_a_type_change_names_the_drivers_that_give_something_else(blank: Any, type_: str, value: float) -> None:
    """Also at zero, where what the joint cannot do any more gives the same by chance."""
    rig, empty, channel = posed("desk_lamp.skel", "elbow", value)
    made_ = {key: make(rig, channel) for key, make in DRIVERS.items()}
    bpy.context.view_layer.update()
    before = {key: obj.matrix_world.translation.x for key, obj in made_.items()}
    told = named(set_joint_type(empty, type_), "driver-changed")
    bpy.context.view_layer.update()
    for key, obj in made_.items():
        if abs(obj.matrix_world.translation.x - before[key]) > 2e-4:
            assert repr(obj.name) in told, key
    if type_ in {"prismatic", "weld"}:
        assert repr("path") in told and repr("local") in told
    if type_ in {"universal", "screw"}:
        assert repr("path") not in told


# ---------------------------------------------------------------- constraints


def constrained(rig: Any, channel: Any, name: str, type_: str, **values: Any) -> Any:
    """A cube with a constraint that reads the joint's bone."""
    obj = cube(name)
    constraint = obj.constraints.new(type_)
    constraint.target, constraint.subtarget = rig, channel.bone
    for key, each in values.items():
        setattr(constraint, key, each)
    return obj


def transformation(rig: Any, channel: Any) -> Any:
    letter = "xyz"[channel.index]
    values = {f"from_min_{letter}_rot": radians(-30), f"from_max_{letter}_rot": radians(60), "map_from": "ROTATION"}
    values |= {f"from_min_{letter}": -0.3, f"from_max_{letter}": 0.6} if channel.prop == "location" else {}
    values |= {"map_from": "LOCATION"} if channel.prop == "location" else {}
    values |= {"to_min_x": 0.1, "to_max_x": 2.0, "map_to_x_from": letter.upper(), "target_space": "LOCAL"}
    return constrained(rig, channel, "transformation", "TRANSFORM", **values)


def copied(rig: Any, channel: Any) -> Any:
    type_ = "COPY_ROTATION" if channel.prop == ANGLE else "COPY_LOCATION"
    return constrained(rig, channel, "copied", type_, target_space="LOCAL")


CONSTRAINTS: dict[str, Callable[[Any, Any], Any]] = {
    "copied": copied,
    "transformation": transformation,
    "child": lambda rig, c: constrained(rig, c, "child", "CHILD_OF"),
    "located": lambda rig, c: constrained(rig, c, "located", "COPY_LOCATION"),
    "turned": lambda rig, c: constrained(rig, c, "turned", "COPY_ROTATION"),
    "tracking": lambda rig, c: constrained(rig, c, "tracking", "DAMPED_TRACK"),
}


@pytest.mark.parametrize("value", POSES)
@pytest.mark.parametrize(("name", "which"), JOINTS)
def test_constraints_give_what_they_gave_or_are_named_when_a_joint_is_swapped(
    blank: Any, name: str, which: str, value: float
) -> None:
    rig, empty, channel = posed(name, which, value)
    made_ = {key: make(rig, channel) for key, make in CONSTRAINTS.items()}
    bpy.context.view_layer.update()
    before = {key: np.array(obj.matrix_world) for key, obj in made_.items()}
    told = named(swap_joint_ends(empty), "constraint-changed")
    bpy.context.view_layer.update()
    for key, obj in made_.items():
        off = np.abs(np.array(obj.matrix_world) - before[key]).max()
        assert (off > 2e-4) == (repr(obj.name) in told), (key, off)
        if key != "turned":
            assert off < 2e-4, key


@pytest.mark.parametrize(("name", "which"), JOINTS)
def test_a_limit_of_the_user_holds_a_bone_where_it_did_when_its_joint_is_swapped(
    blank: Any, name: str, which: str
) -> None:
    """On one side of zero and on the other."""
    rig, empty, channel = posed(name, which, 0.08)
    limit = rig.pose.bones[channel.bone].constraints.new(
        "LIMIT_ROTATION" if channel.prop == ANGLE else "LIMIT_LOCATION"
    )
    limit.owner_space = "LOCAL"
    letter = "xyz"[channel.index]
    for switch in (f"use_limit_{letter}",) if channel.prop == ANGLE else (f"use_min_{letter}", f"use_max_{letter}"):
        setattr(limit, switch, True)
    setattr(limit, f"min_{letter}", -0.02)
    setattr(limit, f"max_{letter}", 0.03)
    seen = {}
    for value in (-0.08, 0.08):
        pose_at(rig, channel, value)
        seen[value] = Seen.of(rig)
    assert seen[0.08].apart(seen[-0.08])[0] > SAME
    report = swap_joint_ends(empty)
    assert not named(report, "constraint-changed")
    assert seen[0.08].apart(Seen.of(rig))[0] < SAME
    (after,) = servo_channels(rig)[record_of(empty).source_id]
    pose_at(rig, after, 0.08)
    assert seen[-0.08].apart(Seen.of(rig))[0] < SAME


def test_a_constraint_of_a_bone_that_moves_bodies_now_is_named(blank: Any) -> None:
    """One in the axes of the world cannot be converted."""
    rig, empty, channel = posed("desk_lamp.skel", "elbow", 0.1)
    target = cube("target")
    target.rotation_euler.z = 0.05
    constraint = rig.pose.bones[channel.bone].constraints.new("COPY_ROTATION")
    constraint.target, constraint.name = target, "Mine"
    bpy.context.view_layer.update()
    before = Seen.of(rig)
    told = named(swap_joint_ends(empty), "constraint-changed")
    assert (before.apart(Seen.of(rig))[0] > SAME) == ("'Mine'" in told and repr(channel.bone) in told)
    assert "'Mine'" in told


@pytest.mark.parametrize("name", ["desk_lamp.skel", "pumpjack.json", "rover.jm"])
def test_edits_say_nothing_of_constraints_that_are_ours(blank: Any, name: str) -> None:
    rig = made(name)
    assert any(is_stop_constraint(each) for pose in rig.pose.bones for each in pose.constraints) or name != "rover.jm"
    for empty in list(parts(rig, "JOINT")):
        if record_of(empty).joint.parent is not None and record_of(empty).joint.child is not None:
            report = swap_joint_ends(empty)
            assert not named(report, "constraint-changed") + named(report, "driver-changed")
    assert the_rig() == rig


@pytest.mark.parametrize("path", [".scale[2]", ".lock_location[2]", '["pair"][1]'])
def test_drivers_of_other_properties_of_a_bone_read_the_same_after_a_swap(blank: Any, path: str) -> None:
    """Only locations and rotations count along the axes of a bone."""
    rig, empty, channel = posed("desk_lamp.skel", "elbow", 0.1)
    rig.pose.bones[channel.bone]["pair"] = [1.0, 2.0]
    full = f'pose.bones["{channel.bone}"]{path}'
    obj = driven(rig, "cube", [{"name": "q", "type": "SINGLE_PROP", "data_path": full}], "SCRIPTED", "q + 1")
    bpy.context.view_layer.update()
    before = obj.matrix_world.translation.x
    swap_joint_ends(empty)
    bpy.context.view_layer.update()
    (driver,) = obj.animation_data.drivers
    assert driver.is_valid
    assert driver.driver.variables[0].targets[0].data_path == full
    assert obj.matrix_world.translation.x == pytest.approx(before)


def test_a_bone_of_another_armature_with_the_same_name_copies_what_it_copied(blank: Any) -> None:
    rig, empty, channel = posed("desk_lamp.skel", "elbow", 0.3)
    bpy.ops.object.armature_add(location=(2.0, 0.0, 0.0))
    other = bpy.context.object
    bone = other.data.bones[0]
    bone.name = channel.bone
    copy = other.pose.bones[channel.bone].constraints.new("COPY_ROTATION")
    copy.target, copy.subtarget, copy.target_space, copy.owner_space = rig, channel.bone, "LOCAL", "LOCAL"
    bpy.context.view_layer.update()
    before = np.array(other.pose.bones[channel.bone].matrix)
    assert np.abs(before - np.array(bone.matrix_local)).max() > 0.1
    told = named(swap_joint_ends(empty), "constraint-changed")
    bpy.context.view_layer.update()
    assert np.abs(np.array(other.pose.bones[channel.bone].matrix) - before).max() < 1e-4
    assert not told
