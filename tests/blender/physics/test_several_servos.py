"""Servos on joints of several degrees: keys are tracked on every axis, and force limits are each axis's own."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from addon.blender.animation.keying import LINEAR, key_servos
from addon.blender.physics.actuators.dof_coordinates import closed_form
from addon.core.kinematics import joint_coordinates, joint_motion
from addon.core.model import DOF_SIZE, Array, Dof, Mechanism
from addon.core.transforms import inverse, rotation_matrix, rotation_vector
from tests.blender.build.test_degrees import X, Y, Z, linked, pose_of, put, rotations, slides
from tests.blender.emptied import empty_file
from tests.blender.mechanisms import objects_of, play, world_of
from tests.blender.physics.test_springs import FRAME, hung
from tests.conftest import ROOT

G = 9.81
MASS = 2.0


def kinds() -> dict[str, list[Dof]]:
    """Joints of several degrees, anew each time."""
    return {
        "hinge": rotations(Z),
        "slide": slides(Z),
        "universal": rotations(Z, X),
        "euler xyz": rotations(X, Y, Z),
        "euler zyx": rotations(Z, Y, X),
        "planar": [*slides(X, Y), *rotations(Z)],
        "translational": slides(X, Y, Z),
        "cylindrical": [*rotations(Z), *slides(Z)],
        "ball": [Dof("ball")],
    }


def beside(dofs: list[Dof], arm: Array, gravity: Array, world: bool = True) -> Mechanism:
    """A cube whose middle is ``arm`` from its joint, with gravity in the joint's frame."""
    mechanism = hung(*dofs, gravity=FRAME[:3, :3] @ gravity, world=world)
    mechanism.joints[0].frame_child[:3, 3] = -arm
    mechanism.bodies[-1].pose = FRAME @ pose_of((0, 0, 0), arm)
    return mechanism


def motion(rig: Any, arm: Array) -> Array:
    """The joint's motion ``J`` as the cube shows it."""
    return (
        inverse(FRAME) @ inverse(world_of(rig)) @ world_of(objects_of(rig, "BODY")["cube"]) @ pose_of((0, 0, 0), -arm)
    )


def size_of(dofs: list[Dof]) -> int:
    return sum(DOF_SIZE[dof.kind] for dof in dofs)


def tracked(scene: Any, dofs: list[Dof], values: Array, world: bool = True, rate: int = 60) -> tuple[float, float]:
    """The worst errors (rad, m) of a cube that hangs beside its joint and is told to follow coordinates (n, size), one
    every frame."""
    arm = np.array([0.3, 0.2, 0.1])
    mechanism = beside(dofs, arm, np.array([3.0, -4.0, -8.0]), world)
    scene.render.fps = rate
    rig = put(mechanism, physics=True, adapt_scene=False)
    key_servos(rig, "Motion", {"j": (np.arange(1.0, len(values) + 1), values, LINEAR)})
    rig.data.knuckle.drive = "SERVO"
    found = np.array(play(scene, len(values), lambda: motion(rig, arm)))
    off = inverse(joint_motion(mechanism.joints[0], values)) @ found
    return float(np.linalg.norm(rotation_vector(off[:, :3, :3]), axis=1).max()), float(
        np.linalg.norm(off[:, :3, 3], axis=1).max()
    )


@pytest.mark.parametrize("name", list(kinds()))
def test_keys_are_tracked_on_every_axis(blank: Any, name: str) -> None:
    """Sines of half a hertz and 0.8 rad (m), which begin anywhere, each axis at another time."""
    dofs = kinds()[name]
    time = np.arange(121)[:, None] / 60
    values = 0.8 * np.sin(math.pi * time + 0.9 * np.arange(size_of(dofs)))
    turn, slide = tracked(blank.scene, dofs, values, world=name != "universal")
    assert turn < 0.002
    assert slide < 0.001


def test_a_ball_turns_all_the_way_round(blank: Any) -> None:
    """About an axis askew to all of its motors', through the poses in which one of them has no axis."""
    values = np.linspace(0.0, 2.0 * math.pi, 181)[:, None] * np.array([0.48, 0.6, 0.64])
    turn, _ = tracked(blank.scene, [Dof("ball")], values)
    assert turn < 5e-4  # in 3 s; measured 0.00003 at 24 steps per frame


@pytest.mark.parametrize("name", ["hinge", "euler xyz", "ball"])
def test_keys_are_tracked_at_the_rate_of_films(blank: Any, name: str) -> None:
    """24 frames a second, in each of which motors are told once what to do; 2 s."""
    dofs = kinds()[name]
    values = 0.8 * np.sin(math.pi * np.arange(49)[:, None] / 24 + 0.9 * np.arange(size_of(dofs)))
    assert tracked(blank.scene, dofs, values, rate=24)[0] < 0.003


#: Kind, coordinate, load as a share of the limit.
HELD = [
    ("hinge", 0), ("slide", 0),
    ("universal", 0), ("universal", 1), ("euler xyz", 0), ("euler xyz", 1), ("euler xyz", 2), ("planar", 0),
    ("planar", 2), ("cylindrical", 1), ("ball", 0), ("ball", 2),
]  # fmt: skip


def yielded(scene: Any, name: str, number: int, share: float, frames: int = 31) -> float:
    """By how much a coordinate gives way to a load of a share of its servo's limit; the others have no limit."""
    dofs, limit = kinds()[name], 5.0
    dof = dofs[min(number, len(dofs) - 1)]
    dof.max_force = limit
    axis = np.eye(3)[number] if dof.kind == "ball" else dof.axis
    if dof.kind == "translation":
        arm, gravity = np.zeros(3), axis * share * limit / MASS
    else:
        arm = 0.5 * np.roll(np.abs(axis), 1)
        gravity = np.cross(axis, arm) * share * limit / (MASS * 0.25)
    rig = put(beside(dofs, arm, gravity), physics=True)
    rig.data.knuckle.drive = "SERVO"
    last = play(scene, frames, lambda: motion(rig, arm))[-1]
    return float(last[:3, 3] @ axis if dof.kind == "translation" else rotation_vector(last[:3, :3]) @ axis)


@pytest.mark.parametrize(("name", "number"), HELD)
def test_a_servo_holds_up_to_its_limit_and_no_further(blank: Any, name: str, number: int) -> None:
    """What is over the limit accelerates the cube: a t^2 / 2."""
    import bpy

    assert abs(yielded(blank.scene, name, number, 0.97)) < 2e-3
    empty_file()
    inertia = MASS if name in {"slide", "cylindrical"} or (name, number) == ("planar", 0) else MASS * (0.25 + 0.06)
    expected = 0.2 * 5.0 / inertia * 0.5**2 / 2
    assert yielded(bpy.context.scene, name, number, 1.2) == pytest.approx(expected, rel=0.06)


def given_way(scene: Any, number: int, start: Sequence[float], pose: Sequence[float], share: float) -> Array:
    """By how much the turns about X, Y and Z give way that were at ``start`` when the run began, went to ``pose`` and
    are loaded there, in one coordinate alone, with a share of its servo's limit. The others have no limit."""
    from addon.blender.physics.simulation import frame_handlers as handlers

    dofs, limit, there = kinds()["euler xyz"], 5.0, np.array(pose)
    directions = rotation_matrix(X * there[0]), rotation_matrix(X * there[0]) @ rotation_matrix(Y * there[1])
    axes = np.array([X, directions[0] @ Y, directions[1] @ Z])
    torque = np.linalg.solve(axes, share * limit * np.eye(3)[number])  # its work is on that coordinate alone
    lever = np.cross(torque, X + Y)
    lever *= 0.5 / np.linalg.norm(lever)
    turned = directions[1] @ rotation_matrix(Z * there[2])
    mechanism = beside(dofs, turned.T @ lever, np.cross(torque, lever) / (lever @ lever) / MASS)
    rig = put(mechanism, physics=True)
    values = np.array(start) + np.clip(np.arange(46) / 20, 0, 1)[:, None] * (there - start)
    key_servos(rig, "Motion", {"j": (np.arange(1.0, 47.0), values, LINEAR)})
    rig.data.knuckle.drive = "SERVO"
    play(scene, 26, lambda: None)
    handlers.run_at(rig, 26).several[0].servos.limit[number] = limit  # type: ignore[union-attr]
    last = play(scene, 20, lambda: motion(rig, turned.T @ lever), 27)[-1]
    return joint_coordinates(mechanism.joints[0], last[None])[0] - there


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize(
    ("start", "pose"), [((0, 0, 0), (0.8, 1.0, 0.8)), ((0.5, 1.0, 0.4), (0.5, 1.0, 0.4)), ((0, 0, 0), (0.3, 1.45, 0.5))]
)
def test_limits_of_three_turns_are_their_own_wherever_they_are(
    blank: Any, number: int, start: Sequence[float], pose: Sequence[float]
) -> None:
    """In the last one, the first axis and the last are 0.12 rad apart."""
    import bpy

    assert np.abs(given_way(blank.scene, number, start, pose, 0.97)).max() < 2e-3
    empty_file()
    assert abs(given_way(bpy.context.scene, number, start, pose, 1.03)[number]) > 5e-3


def test_limits_of_three_turns_that_are_loaded_together_are_told(blank: Any) -> None:
    for limit, told in ((5.0, True), (0.0, False)):
        dofs = kinds()["euler xyz"]
        dofs[1].max_force = limit
        mechanism = beside(dofs, np.zeros(3), np.zeros(3))
        put(mechanism, physics=True)
        assert ("force-limits-inexact" in {entry.code for entry in mechanism.report.entries}) == told


def test_limp_joints_of_several_degrees_swing(blank: Any) -> None:
    dofs = kinds()["universal"]
    arm = np.array([0.5, 0.0, 0.0])
    rig = put(beside(dofs, arm, np.array([0.0, -9.0, 0.0])), physics=True)
    for drive, swings in (("SERVO", False), ("LIMP", True), ("SERVO", False)):
        rig.data.knuckle.drive = drive
        last = play(blank.scene, 31, lambda: motion(rig, arm))[-1]
        assert (np.linalg.norm(rotation_vector(last[:3, :3])) > 0.3) == swings


@pytest.mark.parametrize(("actuator", "servo", "limp"), [("passive", 1, 1), ("locked", 0, 0), ("force", 0, 1)])
@pytest.mark.parametrize("name", ["universal", "hinge"])
def test_darts_actuators(blank: Any, actuator: str, servo: int, limp: int, name: str) -> None:
    """A passive joint has no servo, and a locked one is held whoever drives."""
    dofs = kinds()[name]
    for dof in dofs:
        dof.actuator, dof.max_force = actuator, 100.0
    arm = np.array([0.5, 0.0, 0.0])
    rig = put(beside(dofs, arm, np.array([0.0, -9.0, 0.0])), physics=True)
    for drive, falls in (("SERVO", servo), ("LIMP", limp)):
        rig.data.knuckle.drive = drive
        last = play(blank.scene, 31, lambda: motion(rig, arm))[-1]
        assert (np.linalg.norm(rotation_vector(last[:3, :3])) > 0.3) == bool(falls)


def test_a_velocity_actuator_has_no_limit(blank: Any) -> None:
    dofs = rotations(Z)
    dofs[0].actuator, dofs[0].max_force = "velocity", 0.1
    values = 0.8 * np.sin(math.pi * np.arange(61) / 60)[:, None]
    assert tracked(blank.scene, dofs, values)[0] < 0.01


def test_a_servo_in_the_middle_of_a_model_tracks_too(blank: Any) -> None:
    """Post, arm and hand, the arm on a ball and the hand on a hinge: against where keys have them."""
    mechanism = linked(Dof("ball"))
    rig = put(mechanism, physics=True)
    frames = np.arange(1.0, 62.0)
    values = 0.5 * np.sin(math.pi * frames[:, None] / 60 + np.arange(3))
    key_servos(rig, "Motion", {"j": (frames, values, LINEAR), "h": (frames, values[:, :1], LINEAR)})
    paths = {}
    for drive in ("KEYS", "SERVO"):
        rig.data.knuckle.drive = drive
        paths[drive] = np.array(play(blank.scene, 61, lambda: world_of(objects_of(rig, "BODY")["hand"])))
    assert np.abs(paths["SERVO"] - paths["KEYS"]).max() < 0.01


@pytest.mark.parametrize("name", [*kinds(), "lone", "lean", "skew"])
def test_coordinates_in_closed_form_are_those_of_the_model(name: str) -> None:
    more = {"lone": rotations(X + Y), "lean": slides(X + Z), "skew": rotations(X, X + Z)}
    dofs = (kinds() | more)[name]
    read = closed_form(dofs)
    if name in {"ball", "skew"}:
        assert read is None
        return
    assert read is not None
    values = np.random.default_rng(0).uniform(-1.4, 1.4, (20, size_of(dofs)))
    joint = beside(dofs, np.zeros(3), np.zeros(3)).joints[0]
    for dof in dofs:
        dof.axis = dof.axis / np.linalg.norm(dof.axis)
    assert np.array([read(motion) for motion in joint_motion(joint, values)]) == pytest.approx(values, abs=1e-9)


#: Blender itself frees some of this twice when another file comes: the process ends before that.
DELETION = """
import os, sys
import bpy, numpy as np
import addon
from tests.blender.physics import test_losses, test_several_servos as servos
bpy.ops.wm.read_factory_settings(use_empty=True)
addon.register()
rig = servos.put(servos.linked(*servos.kinds()["universal"]), physics=True)
rig.data.knuckle.drive = "SERVO"
scene = bpy.context.scene
servos.play(scene, 5, lambda: None)
record = servos.objects_of(rig, "JOINT")["j"].knuckle.joint
hand = servos.objects_of(rig, "BODY")["hand"]
before = servos.world_of(hand)
lost = record.motors[0].empty if sys.argv[1] == "motor" else servos.objects_of(rig, "BODY")["arm"]
test_losses.delete([lost])
for frame in [*range(6, 12), *range(1, 31)]:
    scene.frame_set(frame)
print(len(record.motors), np.abs(servos.world_of(hand) - before).max() < 0.01, flush=True)
os._exit(0)
"""


@pytest.mark.parametrize(("what", "left"), [("motor", "2 True"), ("body", "0 False")])
def test_what_is_deleted_in_a_run_ends_nothing_else(what: str, left: str) -> None:
    """A motor is there again in the next run, and the joint held; a body goes with its motors."""
    pytest.importorskip("bpy", reason="Blender is not here")
    env = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", DELETION, what]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == left
