"""Joints that have a speed in their file begin with it, whatever else acts on them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from addon.core.kinematics import joint_values_from_transform
from addon.core.model import Dof
from tests.support.degrees_helpers import Y, Z, linked, put, rotations, slides
from tests.support.first_speeds_helpers import thrown_pendulum
from tests.support.mechanisms import objects_of, play, world_of
from tests.support.restraints_helpers import floating
from tests.support.spring_rest_helpers import coordinates
from tests.support.springs_helpers import hung, warnings


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
    values = coordinates(blank.scene, hung(*dofs), 33)
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


def test_an_initial_velocity_in_a_loop_is_reported(blank: Any) -> None:
    """Two hinges between the same bodies are one."""
    (dof,) = dofs = rotations(Z)
    dof.velocity = 1.0
    mechanism = hung(*dofs)
    assert "starts-at-rest" not in warnings(mechanism)
    mechanism.joints.append(replace(mechanism.joints[0], id="k", dofs=rotations(Z)))
    assert "starts-at-rest" in warnings(mechanism)


def test_clearing_takes_the_throwers_away(blank: Any) -> None:
    from addon.blender.physics.simulation.setup import clear_physics

    (dof,) = dofs = slides(Y)
    dof.velocity = 1.0
    rig = put(hung(*dofs), physics=True)
    rig.data.knuckle.drive = "LIMP"
    play(blank.scene, 3, lambda: None)
    assert len(rig.data.knuckle.velocity_motors) == 3
    clear_physics(blank.scene, rig)
    assert not [obj for obj in blank.scene.objects if obj.name.endswith("Throw")]
