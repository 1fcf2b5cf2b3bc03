"""Joints that have a speed in their file begin with it, whatever else acts on them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from addon.core.kinematics import joint_values_from_transform
from addon.core.model import Array, Body, Dof, Joint, Mechanism, Restraint, Shape, World
from addon.core.transforms import rotation_vector
from tests.support.degrees_helpers import Y, Z, linked, put, rotations, slides
from tests.support.first_speeds_helpers import thrown_pendulum
from tests.support.loops import bricard, crank_rocker, rocker_angle
from tests.support.mechanisms import objects_of, play, world_of
from tests.support.restraints_helpers import floating
from tests.support.spring_rest_helpers import coordinates
from tests.support.springs_helpers import cube_on_joint
from tests.support.tops import MASS, apart, freely, leaning_tensor


def test_a_pendulum_with_initial_velocity_rises_against_its_weight(blank: Any) -> None:
    found, true = thrown_pendulum(blank.scene, 91)
    assert np.abs(found - true).max() < 0.02


@pytest.mark.parametrize("name", ["slide", "cylindrical", "ball"])
def test_every_coordinate_begins_with_its_speed(blank: Any, name: str) -> None:
    dofs = {"slide": slides(Y), "cylindrical": [*rotations(Z), *slides(Z)], "ball": [Dof("ball")]}[name]
    rates = np.array([0.7, -0.4, 0.9])
    for dof, rate in zip(dofs, rates, strict=False):
        dof.velocity = float(rate)
    if name == "ball":
        dofs[0].velocity, dofs[0].start_rates = 0.0, tuple(float(rate) for rate in rates)
    values = coordinates(blank.scene, cube_on_joint(*dofs), 33)
    assert values[2] - values[0] == pytest.approx(rates[: values.shape[1]] / 30, abs=5e-4)
    assert (values[32] - values[2]) / 0.5 == pytest.approx(rates[: values.shape[1]], abs=0.01)


def test_a_floating_body_begins_with_its_speed_and_spin(blank: Any) -> None:
    mechanism = floating(np.array([0.0, 0.0, 5.0]))
    mechanism.joints[0].frame_parent = mechanism.bodies[0].pose
    mechanism.joints[0].frame_child = np.eye(4)
    mechanism.joints[0].dofs[0].start_rates = (0.0, 0.0, 1.2, 0.5, -0.3, 0.2)
    rig = put(mechanism, physics=True)
    rig.data.knuckle.drive = "LIMP"
    found = np.array(play(blank.scene, 33, lambda: world_of(objects_of(rig, "BODY")["c0"])))
    speed = mechanism.bodies[0].pose[:3, :3] @ [0.5, -0.3, 0.2]
    assert (found[32] - found[2])[:3, 3] / 0.5 == pytest.approx(speed, abs=0.01)
    turned = joint_values_from_transform(mechanism.joints[0], np.linalg.inv(found[2]) @ found[32][None])[0][:3]
    assert turned / 0.5 == pytest.approx([0, 0, 1.2], abs=0.01)


def test_bodies_on_a_joint_with_initial_velocity_move_along(blank: Any) -> None:
    """The wrist begins still, though the arm that carries it turns."""
    mechanism = linked(*rotations(Z))
    mechanism.world.gravity = np.zeros(3)
    mechanism.joints[1].dofs[0].velocity = 2.0
    rig = put(mechanism, physics=True)
    rig.data.knuckle.drive = "LIMP"
    bodies = objects_of(rig, "BODY")

    def turns() -> list[float]:
        arm, hand = (world_of(bodies[name]) for name in ("arm", "hand"))
        return [math.atan2(*(arm[:3, :3].T @ hand[:3, :3])[[0, 2], [2, 2]]), *arm[:3, 0]]

    found = np.array(play(blank.scene, 13, turns))
    bend = np.polyfit(np.arange(2, 13) / 60, found[2:, 0], 3)
    assert abs(bend[2]) < 0.05, "what carries it outwards begins later"
    assert np.linalg.norm(found[3, 1:] - found[2, 1:]) > 0.01


def spun(mechanism: Mechanism, frames: int, start: int = 1) -> tuple[Any, dict[str, Array]]:
    """A mechanism's rig under physics, and the poses (frames, 4, 4) of its bodies from the first frame on."""
    import bpy

    scene = bpy.context.scene
    scene.frame_start = start
    scene.frame_set(start)
    rig = put(mechanism, physics=True)
    scene.rigidbody_world.point_cache.frame_end = scene.frame_end = start + frames
    rig.data.knuckle.drive = "LIMP"
    bodies, found = objects_of(rig, "BODY"), []
    for frame in range(start, start + frames):
        scene.frame_set(frame)
        found.append([world_of(obj).astype(np.float64) for obj in bodies.values()])
    return rig, dict(zip(bodies, np.array(found).swapaxes(0, 1), strict=True))


def codes(rig: Any) -> set[str]:
    return {line.code for line in rig.data.knuckle.report}


@pytest.mark.parametrize("start", [0, 1, 7])
@pytest.mark.parametrize("layers", [1, 2])
def test_a_simulation_begins_at_any_frame_in_any_layers_and_restores_the_world(
    blank: Any, start: int, layers: int
) -> None:
    """A body that turns freely about an axis that is none of its principal ones, as its momentum says."""
    if layers == 2:
        blank.scene.view_layers.new("second").update()
    tensor, spin = leaning_tensor(), np.array([0.3, 5.0, 0.2])
    shapes = [Shape("box", {"x": 1.0, "y": 0.6, "z": 0.3})]
    joint = Joint("f", "f", "free", None, "b", dofs=[Dof("free", start_rates=(*spin.tolist(), 1.0, 2.0, 3.0))])
    mechanism = Mechanism(
        "top", World(gravity=np.zeros(3)), [Body("b", "b", mass=MASS, inertia=tensor, shapes=shapes)], [joint]
    )
    rig, found = spun(mechanism, 31, start)
    world, frames = blank.scene.rigidbody_world, np.arange(31)
    assert found["b"][:, :3, 3] == pytest.approx(np.outer(frames / 60, [1.0, 2.0, 3.0]), abs=1e-4)
    turns = freely(tensor, found["b"][0, :3, :3], spin, 30)
    assert max(apart(one, other) for one, other in zip(found["b"][:, :3, :3], turns, strict=True)) < 5e-3
    assert (world.time_scale, world.point_cache.frame_start) == (1.0, start)
    assert (world.substeps_per_frame, world.solver_iterations) == (10, 50)
    assert blank.preferences.edit.use_negative_frames is False
    for frame in (start + 20, start + 1, start + 30):
        blank.scene.frame_set(frame)
        now = world_of(objects_of(rig, "BODY")["b"])
        assert now == pytest.approx(found["b"][frame - start]), "frames of the cache are shown again"


@pytest.mark.parametrize("driver", ["A", "D"])
def test_a_loop_begins_with_the_speeds_that_follow_from_one_joints(blank: Any, driver: str) -> None:
    """A crank-rocker at 2 rad/s of its crank, or at what its rocker then has: its closed form gives both."""
    slope = (rocker_angle(2.0 + 1e-6) - rocker_angle(2.0 - 1e-6)) / 2e-6
    mechanism = crank_rocker(2.0)
    mechanism.world.gravity = np.zeros(3)
    joint = next(joint for joint in mechanism.joints if joint.id == driver)
    joint.dofs[0].velocity = 2.0 if driver == "A" else 2.0 * slope
    rig, found = spun(mechanism, 4)
    rates = {name: rotation_vector(found[name][1, :3, :3] @ found[name][0, :3, :3].T) * 60 for name in found}
    assert np.linalg.norm(rates["crank"]) == pytest.approx(2.0, rel=0.02)
    assert np.linalg.norm(rates["rocker"]) == pytest.approx(2.0 * abs(slope), rel=0.02)
    assert np.sign(rates["crank"] @ rates["rocker"]) == np.sign(slope)
    assert not codes(rig) & {"starts-contradict", "starts-fast"}


def test_speeds_that_a_loop_does_not_allow_are_reported(blank: Any) -> None:
    """Two hinges between the same bodies are one."""
    (dof,) = dofs = rotations(Z)
    dof.velocity = 1.0
    mechanism = cube_on_joint(*dofs)
    mechanism.joints.append(replace(mechanism.joints[0], id="k", dofs=rotations(Z)))
    rig, found = spun(mechanism, 31)
    assert "starts-contradict" not in codes(rig)
    turned = rotation_vector(found["arm"][30, :3, :3] @ found["arm"][0, :3, :3].T) if "arm" in found else None
    mechanism.joints[1].dofs[0].velocity = 3.0
    rig, found = spun(mechanism, 3)
    assert "starts-contradict" in codes(rig)
    assert turned is None or np.linalg.norm(turned) == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(("speed", "fast"), [(180.0, False), (200.0, True)])
def test_a_speed_of_half_a_revolution_per_frame_is_reported(blank: Any, speed: float, fast: bool) -> None:
    (dof,) = dofs = rotations(Z)
    dof.velocity = speed
    rig, _ = spun(cube_on_joint(*dofs), 3)
    assert ("starts-fast" in codes(rig)) == fast


def test_an_overconstrained_loop_does_not_part_at_its_first_step(blank: Any) -> None:
    from addon.blender.physics.actuators.joint_state import gather_joint_state

    mechanism = bricard()
    mechanism.joints[1].dofs[0].velocity = 3.0
    worst: list[float] = []
    rig = put(mechanism, physics=True)
    rig.data.knuckle.drive = "LIMP"
    joint_state = gather_joint_state(rig)
    play(blank.scene, 10, lambda: worst.append(float(joint_state.separations(joint_state.poses()).max())))
    assert max(worst) < 1e-4
    assert np.ptp([worst]) < 1e-4


@pytest.mark.parametrize("where", ["joint", "points"])
def test_a_damper_of_a_restraint_brakes_from_the_first_frame_on(blank: Any, where: str) -> None:
    """A cube that is thrown along a slide, away from a point on its line: 3 m/s, 2 kg, 40 N s/m."""
    (dof,) = dofs = slides(Z)
    dof.velocity = 3.0
    mechanism = cube_on_joint(*dofs)
    mechanism.world.gravity = np.zeros(3)
    slide, body = mechanism.joints[0], mechanism.bodies[-1]
    law = {"coefficients": [[10.0 * body.mass, 0.0]]}
    if where == "joint":
        mechanism.restraints = [Restraint("d", "damper", slide.id, **law)]
    else:
        frame = body.pose @ slide.frame_child
        far = np.eye(4)
        far[:3, 3] = frame[:3, 3] - 20.0 * frame[:3, :3] @ dof.axis
        ends = (None, body.id)
        mechanism.restraints = [Restraint("d", "damper", bodies=ends, frames=(far, slide.frame_child), **law)]
    _, found = spun(mechanism, 61)
    gone = np.linalg.norm(found[body.id][:, :3, 3] - found[body.id][0, :3, 3], axis=1)
    assert gone == pytest.approx(0.3 * (1.0 - np.exp(-10.0 * np.arange(61) / 60)), abs=0.003)


def test_clearing_takes_the_throwers_away(blank: Any) -> None:
    from addon.blender.physics.simulation.setup import clear_physics

    (dof,) = dofs = slides(Y)
    dof.velocity = 1.0
    rig = put(cube_on_joint(*dofs), physics=True)
    rig.data.knuckle.drive = "LIMP"
    play(blank.scene, 3, lambda: None)
    assert len(rig.data.knuckle.velocity_motors) == 3
    clear_physics(blank.scene, rig)
    assert not [obj for obj in blank.scene.objects if obj.name.endswith("Throw")]
