"""Machines made by operators alone, with joints of every kind: they go through every format and come back with equal
masses, frames and stops, or what a format cannot hold is told; and they move under physics."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from addon import formats
from addon.blender.data.access import record_of, settings
from addon.blender.data.channels import servo_channels
from addon.blender.data.queries import parts
from addon.blender.rig.joint_frames import joint_frame_matrix
from addon.blender.scene.read.mechanism import extract
from addon.core.summary import describe_mechanism
from tests.support.scenes import pick

Place = tuple[float, float, float]


def block(name: str, place: Place, size: Place) -> Any:
    bpy.ops.mesh.primitive_cube_add(size=1, location=place, scale=size)
    bpy.context.object.name = name
    return bpy.context.object


def new(name: str, *bodies: Any) -> Any:
    """A mechanism of meshes."""
    bpy.ops.knuckle.new_model(name=name)
    rig = bpy.context.object
    pick(*bodies, rig)
    assert bpy.ops.knuckle.make_body(density=500.0) == {"FINISHED"}
    return rig


def join(child: Any, parent: Any | None, type_: str, at: Place, name: str, axis: str = "Z") -> Any:
    bpy.context.scene.cursor.matrix = Matrix.Translation(at)
    pick(*([child, parent] if parent is not None else [child]))
    assert bpy.ops.knuckle.add_joint(type=type_, axis=axis, name=name) == {"FINISHED"}
    return bpy.data.objects[name]


def stop(empty: Any, low: float, high: float, number: int = 0) -> None:
    """As the Stops panel sets them."""
    dof = record_of(empty).joint.dofs[number]
    dof.lower, dof.upper, dof.use_lower, dof.use_upper = low, high, True, True


def gantry() -> Any:
    """A bed, a bridge and a carriage that slide, and a table on a cardan."""
    bed = block("Bed", (0, 0, 0.1), (2.0, 1.0, 0.2))
    bridge, carriage = block("Bridge", (0, 0, 0.8), (0.2, 1.2, 0.2)), block("Carriage", (0, 0.2, 0.8), (0.3, 0.2, 0.4))
    head = block("Head", (0, 0.2, 0.45), (0.1, 0.1, 0.2))
    rig = new("Gantry", bed, bridge, carriage, head)
    stop(join(bridge, bed, "prismatic", (0, 0, 0.5), "Long Way", "X"), -0.8, 0.75)
    stop(join(carriage, bridge, "prismatic", (0, 0.2, 0.8), "Cross Way", "Y"), -0.5, 0.25)
    join(head, carriage, "universal", (0, 0.2, 0.58), "Cardan")
    return rig


def press() -> Any:
    """A frame with a spindle that turns and sinks, and a hanging weight on a ball."""
    frame = block("Frame", (0, 0, 1.0), (1.0, 0.4, 2.0))
    spindle, weight = block("Spindle", (0, 0.6, 1.0), (0.1, 0.1, 0.8)), block("Weight", (0, -0.6, 1.0), (0.2, 0.2, 0.2))
    rig = new("Press", frame, spindle, weight)
    screw = join(spindle, frame, "screw", (0, 0.6, 1.0), "Thread")
    stop(screw, -6.0, 9.0)
    join(weight, frame, "ball", (0, -0.6, 1.4), "Eye")
    return rig


def four_bar() -> Any:
    """A loop: a ground, a crank, a coupler and a rocker."""
    ground = block("Ground Bar", (0, 0, 0.1), (3.0, 0.3, 0.2))
    crank, coupler = block("Crank", (-1, 0, 0.6), (0.1, 0.1, 0.8)), block("Coupler", (0, 0, 1.0), (2.0, 0.1, 0.1))
    rocker = block("Rocker", (1, 0, 0.6), (0.1, 0.1, 0.8))
    rig = new("Four-Bar", ground, crank, coupler, rocker)
    stop(join(crank, ground, "revolute", (-1, 0, 0.2), "O1", "Y"), -0.4, 0.5)
    join(coupler, crank, "revolute", (-1, 0, 1.0), "A", "Y")
    join(rocker, coupler, "revolute", (1, 0, 1.0), "B", "Y")
    join(rocker, ground, "revolute", (1, 0, 0.2), "O2", "Y")
    return rig


MACHINES: dict[str, Callable[[], Any]] = {"gantry": gantry, "press": press, "four-bar": four_bar}
#: Joints that a format holds in another way, or not at all: (machine, format) -> what each becomes. It tells so.
CHANGED: dict[tuple[str, str], dict[str, str | None]] = {
    ("gantry", "juice"): {"Cardan": "ball"},
    ("press", "juice"): {"Thread": None},
}


@pytest.mark.parametrize("name", list(MACHINES))
def test_an_authored_mechanism_comes_back_from_every_format(blank: Any, tmp_path: Path, capfd: Any, name: str) -> None:
    rig = MACHINES[name]()
    own = describe_mechanism(extract(settings(rig).collection))
    for format_, row in formats.FORMATS.items():
        path = tmp_path / f"machine{row.extensions[0]}"
        pick(rig)
        capfd.readouterr()
        assert bpy.ops.export_scene.mechanism(filepath=str(path), format=format_) == {"FINISHED"}
        said, changed = "".join(capfd.readouterr()), CHANGED.get((name, format_), {})
        assert [key for key in changed if f"'{key}'" not in said] == [], f"{format_} is to tell what it changes"
        back = describe_mechanism(formats.load(path))
        check_bodies(own, back)
        check_joints(own, back, changed)


def check_bodies(own: dict[str, Any], back: dict[str, Any]) -> None:
    bodies, theirs = ({body["name"]: body for body in each["bodies"]} for each in (own, back))
    assert bodies.keys() == theirs.keys()
    for key, body in bodies.items():
        assert theirs[key]["mass"] == pytest.approx(body["mass"], rel=1e-6), key
        assert np.allclose(theirs[key]["com_world"], body["com_world"], atol=1e-6), key
        assert np.allclose(theirs[key]["inertia_world"], body["inertia_world"], rtol=1e-5, atol=1e-6), key


def check_joints(own: dict[str, Any], back: dict[str, Any], changed: dict[str, str | None]) -> None:
    joints, theirs = ({joint["name"]: joint for joint in each["joints"]} for each in (own, back))
    kept = [key for key in joints if changed.get(key, "") is not None]
    assert {key for key in theirs if key in joints} == {*kept}
    for key in kept:
        mine, there = joints[key], theirs[key]
        assert np.allclose(place_of(there), place_of(mine), atol=1e-6), key
        assert {*ends_of(back, there)} == {*ends_of(own, mine)}, key
        if key in changed:
            assert there["type"] == changed[key]
        else:
            swapped = ends_of(back, there) != ends_of(own, mine)
            check_dofs(key, mine["dofs"], there["dofs"], -1.0 if swapped else 1.0)


def check_dofs(key: str, mine: list[dict[str, Any]], theirs: list[dict[str, Any]], sense: float) -> None:
    """The same axes and stops; ``sense`` -1: the other format counts from the other body."""
    assert [dof["kind"] for dof in theirs] == [dof["kind"] for dof in mine], key
    for dof, other in zip(mine, theirs, strict=True):
        if dof["kind"] == "ball":
            continue
        along = float(np.dot(dof["axis_world"], other["axis_world"]))
        assert abs(along) == pytest.approx(1.0, abs=1e-6), key
        stops = [dof["lower"], dof["upper"]]
        if along * sense < 0.0:
            stops = [None if x is None else -x for x in stops[::-1]]
        assert [other["lower"], other["upper"]] == pytest.approx(stops, abs=1e-6), key


def place_of(joint: dict[str, Any]) -> Any:
    return np.array(joint["frame_world"])[:3, 3]


def ends_of(described: dict[str, Any], joint: dict[str, Any]) -> list[str]:
    names = {body["id"]: body["name"] for body in described["bodies"]}
    return [names[joint["parent"]], names[joint["child"]]]


@pytest.mark.parametrize(
    ("name", "servo", "target"), [("gantry", "Long Way", 0.3), ("press", "Thread", 2.0), ("four-bar", "O1", 0.3)]
)
def test_an_authored_mechanism_follows_its_servos_under_physics(
    blank: Any, name: str, servo: str, target: float
) -> None:
    """A servo goes where its bone is, and all that hangs together stays together. It stands on the ground."""
    rig = MACHINES[name]()
    scene = bpy.context.scene
    scene.render.fps, scene.frame_end = 60, 50
    pick(rig)
    assert bpy.ops.knuckle.build_physics() == {"FINISHED"}
    channel = next(channel for channel in servo_channels(rig)[record_of(bpy.data.objects[servo]).source_id])
    bone = rig.pose.bones[channel.bone]
    for frame, value in ((1, 0.0), (25, target)):
        getattr(bone, channel.prop)[channel.index] = value
        bone.keyframe_insert(channel.prop, index=channel.index, frame=frame)
    bpy.ops.knuckle.set_drive(drive="SERVO")
    for frame in range(1, 51):
        scene.frame_set(frame)
    assert not any(obj.rigid_body.kinematic for obj in parts(rig, "BODY")), "physics moves them"
    turned, slid = moved(bpy.data.objects[servo])
    dof = record_of(bpy.data.objects[servo]).joint.dofs[0]
    wanted = {"rotation": (target, 0.0), "translation": (0.0, target), "screw": (target, target * dof.pitch)}[dof.kind]
    assert (turned, slid) == pytest.approx(wanted, abs=0.05)
    for empty in parts(rig, "JOINT"):
        assert gap(empty) < 0.02, empty.name


def moved(empty: Any) -> tuple[float, float]:
    """By how much a joint's child is turned about its axis (rad) and slid along it, seen from its parent."""
    joint = record_of(empty).joint
    frame = joint_frame_matrix(empty)
    ends = []
    for end in (joint.parent, joint.child):
        design = np.linalg.inv(np.array(end.matrix_basis)) @ frame
        ends.append(np.array(end.matrix_world) @ design)
    between = np.linalg.inv(ends[0]) @ ends[1]
    axis = np.array(joint.dofs[0].axis)
    turn = Matrix(between[:3, :3].tolist()).to_quaternion()
    return float(np.dot(turn.axis, axis) * turn.angle), float(between[:3, 3] @ axis)


def gap(empty: Any) -> float:
    """How far the two bodies of a joint have the place apart at which it was made, along its slides not counted."""
    joint = record_of(empty).joint
    if any(dof.kind in {"translation", "screw"} for dof in joint.dofs):
        return 0.0
    ends = [end for end in (joint.parent, joint.child) if end is not None]
    places = [end.matrix_world @ end.matrix_basis.inverted() @ empty.matrix_basis.translation for end in ends]
    return float((places[0] - places[-1]).length)
