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
from addon.blender.physics.actuators import joint_state
from addon.core.joint_types import ClosedForm, closed_form_coordinates
from addon.core.kinematics import joint_motion
from addon.core.model import Body, Dof, Joint, Mechanism, Shape, World
from addon.core.transforms import rotation_matrix, rotation_vector
from tests.conftest import ROOT
from tests.support.degrees_helpers import X, Y, Z, linked, put, rotations, slides
from tests.support.emptied import empty_file
from tests.support.mechanisms import objects_of, play, world_of
from tests.support.several_servos_helpers import HELD, MASS, beside, given_way, kinds, motion, size_of, tracked, yielded

G = 9.81


@pytest.mark.parametrize("name", list(kinds()))
def test_keys_are_tracked_on_every_axis(blank: Any, name: str) -> None:
    """Sines of half a hertz and 0.8 rad (m), which begin anywhere, each axis at another time."""
    dofs = kinds()[name]
    time = np.arange(121)[:, None] / 60
    values = 0.8 * np.sin(math.pi * time + 0.9 * np.arange(size_of(dofs)))
    turn, slide = tracked(blank.scene, dofs, values, world=name != "universal")
    assert turn < 0.002
    assert slide < 0.001


def test_a_ball_joint_tracks_a_full_revolution(blank: Any) -> None:
    """About an axis askew to all of its motors', through the poses in which one of them has no axis."""
    values = np.linspace(0.0, 2.0 * math.pi, 181)[:, None] * np.array([0.48, 0.6, 0.64])
    turn, _ = tracked(blank.scene, [Dof("ball")], values)
    assert turn < 5e-4  # in 3 s; measured 0.00003 at 24 steps per frame


@pytest.mark.parametrize("name", ["hinge", "euler xyz", "ball"])
def test_keys_are_tracked_at_24_frames_per_second(blank: Any, name: str) -> None:
    """24 frames a second, in each of which motors are told once what to do; 2 s."""
    dofs = kinds()[name]
    values = 0.8 * np.sin(math.pi * np.arange(49)[:, None] / 24 + 0.9 * np.arange(size_of(dofs)))
    assert tracked(blank.scene, dofs, values, rate=24)[0] < 0.003


@pytest.mark.parametrize(("name", "number"), HELD)
def test_a_servo_holds_up_to_its_limit_and_no_further(blank: Any, name: str, number: int) -> None:
    """What is over the limit accelerates the cube: a t^2 / 2."""
    import bpy

    assert abs(yielded(blank.scene, name, number, 0.97)) < 2e-3
    empty_file()
    inertia = MASS if name in {"slide", "cylindrical"} or (name, number) == ("planar", 0) else MASS * (0.25 + 0.06)
    expected = 0.2 * 5.0 / inertia * 0.5**2 / 2
    assert yielded(bpy.context.scene, name, number, 1.2) == pytest.approx(expected, rel=0.06)


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize(
    ("start", "pose"), [((0, 0, 0), (0.8, 1.0, 0.8)), ((0.5, 1.0, 0.4), (0.5, 1.0, 0.4)), ((0, 0, 0), (0.3, 1.45, 0.5))]
)
def test_force_limits_of_three_rotations_are_their_own_at_any_pose(
    blank: Any, number: int, start: Sequence[float], pose: Sequence[float]
) -> None:
    """In the last one, the first axis and the last are 0.12 rad apart."""
    import bpy

    assert np.abs(given_way(blank.scene, number, start, pose, 0.97)).max() < 2e-3
    empty_file()
    assert abs(given_way(bpy.context.scene, number, start, pose, 1.03)[number]) > 5e-3


def test_force_limits_of_three_rotations_loaded_together_are_reported(blank: Any) -> None:
    for limit, told in ((5.0, True), (0.0, False)):
        dofs = kinds()["euler xyz"]
        dofs[1].max_force = limit
        mechanism = beside(dofs, np.zeros(3), np.zeros(3))
        put(mechanism, physics=True)
        assert ("force-limits-inexact" in {entry.code for entry in mechanism.report.entries}) == told


def test_ragdoll_joints_of_several_degrees_swing(blank: Any) -> None:
    dofs = kinds()["universal"]
    arm = np.array([0.5, 0.0, 0.0])
    rig = put(beside(dofs, arm, np.array([0.0, -9.0, 0.0])), physics=True)
    for drive, swings in (("SERVO", False), ("LIMP", True), ("SERVO", False)):
        rig.data.knuckle.drive = drive
        last = play(blank.scene, 31, lambda: motion(rig, arm))[-1]
        assert (np.linalg.norm(rotation_vector(last[:3, :3])) > 0.3) == swings


@pytest.mark.parametrize(("actuator", "servo", "limp"), [("passive", 1, 1), ("locked", 0, 0), ("force", 0, 1)])
@pytest.mark.parametrize("name", ["universal", "hinge"])
def test_actuator_types_of_skel_decide_what_a_servo_holds(
    blank: Any, actuator: str, servo: int, limp: int, name: str
) -> None:
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
    read = closed_form_coordinates(dofs)
    if name == "skew":
        assert read is None
        return
    assert read is not None
    values = np.random.default_rng(0).uniform(-1.4, 1.4, (20, size_of(dofs)))
    joint = beside(dofs, np.zeros(3), np.zeros(3)).joints[0]
    for dof in dofs:
        dof.axis = dof.axis / np.linalg.norm(dof.axis)
    assert np.array([read(motion) for motion in joint_motion(joint, values)]) == pytest.approx(values, abs=1e-9)


def test_the_closed_form_of_several_joints_is_that_of_each() -> None:
    """Of joints with the same kinds of degrees of freedom and axes of their own."""
    joints = [rotations(X, Y, Z), rotations(Z, X, Y), rotations(Y, X, -Z)]
    forms = [form for form in map(closed_form_coordinates, joints) if form is not None]
    assert len(forms) == 3
    turns = rotation_matrix(np.random.default_rng(1).uniform(-1.0, 1.0, (5, 3, 3)))
    motions = np.zeros((5, 3, 4, 4))
    motions[..., :3, :3], motions[..., 3, 3] = turns, 1.0
    found = ClosedForm.joined(forms)(motions)
    assert found == pytest.approx(np.stack([form(motions[:, k]) for k, form in enumerate(forms)], axis=1), abs=1e-12)


@pytest.mark.parametrize("drive", ["LIMP", "SERVO"])
@pytest.mark.parametrize("law", ["TRACK", "PD"])
def test_joints_computed_together_move_as_one_by_one(
    blank: Any, monkeypatch: pytest.MonkeyPatch, drive: str, law: str
) -> None:
    """Of several kinds, on axes of their own, with springs, dampers, friction, velocities, whole turns, two locked."""
    import bpy

    from addon.blender.physics.actuators import dof_servos, joint_friction_damping, spring_forces

    def played() -> np.ndarray:
        empty_file()
        mechanism, ends = hanging_joints(), np.array([1.0, 21.0])
        rig = put(mechanism, physics=True)
        moved = {joint.id: np.outer([0.0, 1.0], [0.4, -0.3, 0.2][: size_of(joint.dofs)]) for joint in mechanism.joints}
        key_servos(rig, "Motion", {joint: (ends, values, LINEAR) for joint, values in moved.items()})
        rig.data.knuckle.drive, rig.data.knuckle.law = drive, law
        bodies = list(objects_of(rig, "BODY").values())
        return np.array(play(bpy.context.scene, 20, lambda: np.array([world_of(obj) for obj in bodies])))

    together, counts = played(), []

    def one_by_one(items: Sequence[Any], apart: Sequence[Any] = ()) -> list[list[int]]:
        groups = joint_state.joint_groups(items, apart)
        counts.append(len(groups))
        return [[number] for group in groups for number in group]

    for module in (dof_servos, joint_friction_damping, spring_forces):
        monkeypatch.setattr(module, "joint_groups", one_by_one)
    assert np.abs(played() - together).max() < 1e-5
    assert np.ptp(together[:, :, :3, :3], axis=0).max() > 0.05
    assert max(counts) == 4, "balls, rotations about two axes, those on askew axes, and slides with a ball"


def hanging_joints() -> Mechanism:
    """Joints of four kinds, two or more of each, one after another: all hang from the world, far from each other."""
    joints_of_kinds = [
        *([Dof("ball")] for _ in range(3)),
        *(rotations(*axes) for axes in ((X, Y), (Y, Z), (Z, X))),
        *(rotations(X, X + Z) for _ in range(2)),
        *([*slides(X), Dof("ball")] for _ in range(2)),
    ]
    bodies, joints = [], []
    for number, dofs in enumerate(joints_of_kinds):
        place, arm = np.eye(4), np.eye(4)
        place[:3, 3], arm[:3, 3] = (3.0 * number, 0.0, 5.0), (0.2, 0.1 * (number % 4), -0.3)
        for dof in dofs:
            dof.damping, dof.stiffness = 0.3 * (number % 3), 4.0 * (number % 2)
            if dof.kind == "rotation":
                dof.friction, dof.velocity, dof.position = 0.1, 0.5 * (number % 2), 7.0 if number == 4 else 0.0
        dofs[0].actuator = "locked" if number in {2, 5} else dofs[0].actuator
        box = Shape("box", {"x": 0.4, "y": 0.5, "z": 0.6})
        bodies.append(Body(f"box {number}", f"box {number}", place @ arm, mass=1.0, shapes=[box]))
        name = f"{number}"
        joints.append(Joint(name, name, "ball", None, f"box {number}", place, np.linalg.inv(arm), dofs=dofs))
    return Mechanism("hanging", World(gravity=np.array([0.0, 0.0, -G])), bodies=bodies, joints=joints)


#: Blender itself frees some of this twice when another file comes: the process ends before that.
DELETION = """
import os, sys
import bpy, numpy as np
import addon
from tests.blender.physics.simulation import test_deleted_parts as losses
from tests.blender.physics.actuators import test_dof_servos as servos
bpy.ops.wm.read_factory_settings(use_empty=True)
addon.register()
bpy.context.scene.knuckle_simulate_here = True
rig = servos.put(servos.linked(*servos.kinds()["universal"]), physics=True)
rig.data.knuckle.drive = "SERVO"
scene = bpy.context.scene
servos.play(scene, 5, lambda: None)
record = servos.objects_of(rig, "JOINT")["j"].knuckle.joint
hand = servos.objects_of(rig, "BODY")["hand"]
before = servos.world_of(hand)
lost = record.motors[0].empty if sys.argv[1] == "motor" else servos.objects_of(rig, "BODY")["arm"]
losses.delete([lost])
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
