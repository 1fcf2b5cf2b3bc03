"""Stops of joints of several degrees under physics: gravity pushes a body into them, and coordinates are measured on
the bodies by the model's own formula."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon.core.kinematics import joint_values_from_transform
from addon.core.model import Array, Body, Dof, Joint, Mechanism, Shape
from addon.core.transforms import inverse
from tests.support.degrees_helpers import X, Y, Z, pose, pose_of, put, rotations, slides, turned
from tests.support.emptied import empty_file
from tests.support.mechanisms import objects_of, play, world_of

IN_BASE, IN_BODY = pose_of((0.4, -0.9, 0.3), (1, 2, 3)), pose_of((0.1, 0.2, -0.3), (0.1, -0.2, 0.4))
DEGREE = math.radians(1.0)


def body_on_joint(
    dofs: Sequence[Dof], pull: Sequence[float] = (0, 0, 0), world: bool = False, off: Array | None = None
) -> Mechanism:
    """A body on a joint with both frames askew, pulled in a direction of the joint's frame on its base. ``off`` is its
    middle in the joint's frame."""
    in_body = IN_BODY.copy()
    if off is not None:
        in_body[:3, 3] = -in_body[:3, :3] @ off
    base = Body("base", "Base", immobile=True, shapes=[Shape("box", dict.fromkeys("xyz", 0.2))])
    body = Body("body", "Body", IN_BASE @ inverse(in_body), 2.0, shapes=[Shape("box", {"x": 0.5, "y": 0.3, "z": 0.4})])
    joint = Joint("j", "Joint", "any", None if world else "base", "body", IN_BASE, in_body, list(dofs))
    mechanism = Mechanism("hung", bodies=[body] if world else [base, body], joints=[joint])
    mechanism.world.gravity = IN_BASE[:3, :3] @ np.asarray(pull, dtype=float)
    return mechanism


def coordinates(rig: Any, mechanism: Mechanism, near: Sequence[float] | None = None) -> Array:
    """The joint's coordinates as the bodies stand."""
    (joint,) = mechanism.joints
    stand, bodies = inverse(world_of(rig)), objects_of(rig, "BODY")

    def side(name: str | None, frame: Array) -> Array:
        return frame if name is None else stand @ world_of(bodies[name]) @ frame

    motion = inverse(side(joint.parent, joint.frame_parent)) @ side(joint.child, joint.frame_child)
    return joint_values_from_transform(joint, motion[None])[0]


def settle(mechanism: Mechanism, start: Sequence[float] | None = None, frames: int = 60) -> Array:
    """Where a run that begins at ``start`` ends: it is braked, so that it comes to rest at its stops."""
    import bpy

    empty_file()
    for dof in mechanism.joints[0].dofs:
        dof.damping = 2.0
    rig = put(mechanism, physics=True)
    if start is not None:
        pose(rig, {"j": np.asarray(start, dtype=float)})
        assert coordinates(rig, mechanism) == pytest.approx(start, abs=1e-4)
    rig.data.knuckle.drive = "LIMP"
    play(bpy.context.scene, frames, lambda: None)
    assert "stops-not-simulated" not in {line.code for line in rig.data.knuckle.report}
    return coordinates(rig, mechanism)


def limited(dofs: list[Dof], *limits: tuple[float | None, float | None]) -> list[Dof]:
    for dof, (lower, upper) in zip(dofs, limits, strict=True):
        dof.lower, dof.upper = lower, upper
    return dofs


PLANES = {"xy": (X, Y, Z), "yz": (Y, Z, X), "zx": (Z, X, Y), "against": (Y, X, Z)}
AXES = {"zx": (Z, X), "xy": (X, Y), "yx": (Y, X), "-zy": (-Z, Y)}
ORDERS = {"xyz": (X, Y, Z), "xzy": (X, Z, Y), "yxz": (Y, X, Z), "yzx": (Y, Z, X), "zxy": (Z, X, Y), "zyx": (Z, Y, X)}
WHERE = ["at a body", "at the world", "against"]
ways = pytest.mark.parametrize("way", [(1, -1), (-1, 1)], ids=str)


def in_turn(choices: Sequence[Any], *numbers: int) -> Any:
    """One of several choices, in turn: each is met together with every value of every number, not with all of them at
    once."""
    return choices[sum(numbers) % len(choices)]


@ways
@pytest.mark.parametrize("where", WHERE[:2])
@pytest.mark.parametrize("plane", PLANES)
def test_translations_of_a_planar_joint_stop_at_their_limits(
    blank: Any, plane: str, where: str, way: tuple[int, int]
) -> None:
    one, two, normal = PLANES[plane]
    dofs = limited([*slides(one, two), *rotations(normal)], (-0.2, 0.5), (-0.3, 0.4), (None, None))
    pull = 3.0 * (way[0] * one + way[1] * two)
    start = in_turn([None, [0.1, -0.1, 0.7]], [*PLANES].index(plane), where == "at the world", way[0] > 0)
    found = settle(body_on_joint(dofs, pull, where == "at the world"), start, 100)
    assert found[0] == pytest.approx(0.5 if way[0] > 0 else -0.2, abs=0.01)
    assert found[1] == pytest.approx(0.4 if way[1] > 0 else -0.3, abs=0.01)


@ways
def test_the_rotation_of_a_planar_joint_stops_at_its_limit(blank: Any, way: tuple[int, int]) -> None:
    """The body's middle is beside the pivot, so that a pull turns it; its slides have stops close by."""
    dofs = limited([*slides(X, Y), *rotations(Z)], (-0.05, 0.05), (-0.05, 0.05), (-0.3, 0.6))
    off = -(IN_BODY[:3, :3].T @ IN_BODY[:3, 3])  # the body's middle in the joint's frame
    pull = 6.0 * way[0] * np.cross(Z, off / np.linalg.norm(off[:2]))
    start = None if way[1] > 0 else [0.02, 0.01, 0.2]
    found = settle(body_on_joint(dofs, pull), start)
    assert found[2] == pytest.approx(0.6 if way[0] > 0 else -0.3, abs=DEGREE)


@ways
@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("name", AXES)
def test_a_universal_joint_stops_at_its_limits(blank: Any, name: str, where: str, way: tuple[int, int]) -> None:
    """Wherever the run begins: the second axis goes with the first turn."""
    axes = AXES[name]
    dofs = limited(rotations(*axes), (-0.3, 0.5), (-0.4, 0.2))
    goal = [0.5 if way[0] > 0 else -0.3, 0.2 if way[1] > 0 else -0.4]
    off = 0.5 * np.cross(*axes)  # the body's middle at right angles to both axes
    pull = 9.0 * (way[0] * np.cross(axes[0], off) + way[1] * np.cross(axes[1], off))
    start = in_turn([None, [0.35, -0.2], [-0.25, 0.15]], [*AXES].index(name), WHERE.index(where), way[0] > 0)
    mechanism = body_on_joint(dofs, -pull if where == "against" else pull, where == "at the world", off)
    found = settle(turned(mechanism) if where == "against" else mechanism, start)
    assert found == pytest.approx(goal, abs=DEGREE), start


@ways
def test_three_translations_stop_at_their_limits(blank: Any, way: tuple[int, int]) -> None:
    dofs = limited(slides(Y, X, -Z), (-0.2, 0.5), (-0.3, None), (None, 0.4))
    pull = np.array([-2.0, 3.0 * way[0], -2.0])
    found = settle(body_on_joint(dofs, pull, world=way[1] > 0), [0.1, 0.2, 0.1])
    assert found == pytest.approx([0.5 if way[0] > 0 else -0.2, -0.3, 0.4], abs=0.01)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("turn", [0, 1, 2], ids=["first", "second", "third"])
def test_three_rotations_stop_at_their_limits(blank: Any, order: str, turn: int) -> None:
    """Two of the turns are held within a hair, and the run begins with the middle one at zero."""
    axes, way = ORDERS[order], in_turn([1, -1], [*ORDERS].index(order), turn)
    limits: list[tuple[float | None, float | None]] = [(-0.001, 0.001)] * 3
    limits[turn] = (-0.3, 0.5)
    dofs = limited(rotations(*axes), *limits)
    off = 0.5 * axes[turn - 1]
    pull = 9.0 * way * np.cross(axes[turn], off)
    start = [0.2 if number == turn != 1 else 0.0 for number in range(3)]
    found = settle(body_on_joint(dofs, pull, off=off), start)
    wanted = [0.0, 0.0, 0.0]
    wanted[turn] = 0.5 if way > 0 else -0.3
    assert found == pytest.approx(wanted, abs=DEGREE)


def test_the_empties_are_where_they_were_afterwards(blank: Any) -> None:
    """Whatever frame one is in: they were moved only while Blender read them."""
    rig = put(body_on_joint(rotations(Z, X), (1, 2, -3)), physics=True)
    empty = objects_of(rig, "JOINT")["j"]
    before = np.array(empty.matrix_basis)
    pose(rig, {"j": np.array([0.4, -0.3])})
    rig.data.knuckle.drive = "LIMP"
    seen = play(blank.scene, 10, lambda: np.array(empty.matrix_basis))
    assert np.abs(np.array(seen) - before).max() == 0.0


@pytest.mark.parametrize("keyed", [False, True], ids=["posed", "keyed to move"])
def test_a_universal_joint_that_begins_turned_keeps_its_right_angle(blank: Any, keyed: bool) -> None:
    """Its second axis is where the first turn has brought it, however the run is begun."""
    from addon.blender.physics.simulation import frame_handlers as handlers

    mechanism = body_on_joint(rotations(Z, X), (2, 3, -9))
    rig = put(mechanism, physics=True)
    for frame, values in ((5, [0.2, 0.4]), (1, [1.2, -0.3])):
        pose(rig, {"j": np.array(values)})
        for bone in rig.pose.bones if keyed else ():
            bone.keyframe_insert("rotation_euler", frame=frame)
    rig.data.knuckle.drive = "LIMP"

    def square() -> float:
        bodies = objects_of(rig, "BODY")
        first = world_of(bodies["base"])[:3, :3] @ IN_BASE[:3, :3] @ Z
        return abs(float(first @ world_of(bodies["body"])[:3, :3] @ IN_BODY[:3, :3] @ X))

    assert max(play(blank.scene, 90, square)) < 0.01
    blank.scene.frame_set(1)
    handlers.clear_controllers()
    for frame in range(2, 90):
        blank.scene.frame_set(frame)
        assert square() < 0.01


def test_stops_hold_in_a_saved_file(blank: Any, tmp_path: Path) -> None:
    import bpy

    dofs = limited([*slides(X, Y), *rotations(Z)], (-0.2, 0.5), (-0.3, 0.4), (None, None))
    for dof in dofs:
        dof.damping = 2.0
    mechanism = body_on_joint(dofs, (3, -3, 0), world=True)
    rig = put(mechanism, physics=True)
    pose(rig, {"j": np.array([0.1, -0.1, 0.7])})
    rig.data.knuckle.drive = "LIMP"
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "run.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "run.blend"))
    (rig,) = [obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL"]
    play(bpy.context.scene, 200, lambda: None)
    assert coordinates(rig, mechanism)[:2] == pytest.approx([0.5, -0.3], abs=0.01)
