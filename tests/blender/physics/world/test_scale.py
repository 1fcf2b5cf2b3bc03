"""Forces of models that are scaled as objects: masses and forces are what they were, and ways are longer.

A force that moved a mass by so much of the model's own lengths moves it by as much of the larger ones in a longer
time: of what slides, it is as if the mass was so many times as large."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from addon.blender.animation.keying import LINEAR, key_servos
from addon.core.model import Array, Dof, Mechanism, Restraint
from tests.support.degrees_helpers import Y, Z, pose_of, put, rotations, slides
from tests.support.mechanisms import objects_of, play, world_of
from tests.support.restraints_helpers import floating
from tests.support.several_servos_helpers import beside
from tests.support.springs_helpers import FRAME, INERTIA, MASS, angle, cube_on_joint

FRAMES = 61
TIME = np.arange(FRAMES) / 60
sizes = pytest.mark.parametrize("size", [2.0])


def let_go(scene: Any, mechanism: Mechanism, size: float, look: Callable[[Array], Any], body: str = "cube") -> Array:
    """Let a scaled model go and look at a body's pose in the model's own axes and lengths."""
    rig = put(mechanism, physics=True)
    rig.scale = (size,) * 3
    rig.data.knuckle.drive = "LIMP"
    moved = objects_of(rig, "BODY")[body]
    return np.array(play(scene, FRAMES, lambda: look(np.linalg.inv(world_of(rig)) @ world_of(moved))))


def in_joint(pose: Array) -> Array:
    return np.linalg.inv(FRAME) @ pose


def slide_of(pose: Array) -> float:
    return float(in_joint(pose)[2, 3])


@sizes
@pytest.mark.parametrize("name", ["record", "record, several degrees", "formula"])
def test_a_spring_along_a_scaled_prismatic_joint_keeps_force_and_rest(blank: Any, name: str, size: float) -> None:
    (dof,) = slides(Z)
    if name != "formula":
        dof.stiffness, dof.rest = 20.0, 0.3
    mechanism = cube_on_joint(dof, *(rotations(Z) if "several" in name else []))
    if name == "formula":
        mechanism.restraints = [Restraint("s", "spring", "j", coefficients=[[20.0, -6.0]])]
    true = 0.3 * (1.0 - np.cos(math.sqrt(20.0 / (MASS * size)) * TIME))
    assert np.abs(let_go(blank.scene, mechanism, size, slide_of) - true).max() < 0.005


@sizes
def test_a_damper_brakes_what_begins_with_its_speed(blank: Any, size: float) -> None:
    (dof,) = slides(Z)
    dof.velocity, dof.damping = 0.5, 3.0
    rate = dof.damping / (MASS * size)
    true = 0.5 * (1.0 - np.exp(-rate * TIME)) / rate
    assert np.abs(let_go(blank.scene, cube_on_joint(dof), size, slide_of) - true).max() < 0.01


@sizes
def test_a_scaled_screw_runs_down_on_its_thread(blank: Any, size: float) -> None:
    """Its thread is as much steeper, and the moment of inertia what it was."""
    pitch, pull = 0.25, 5.0
    mechanism = cube_on_joint(Dof("screw", Z, pitch=pitch), gravity=pull * FRAME[:3, 2])
    found = let_go(blank.scene, mechanism, size, lambda pose: (angle(2)(in_joint(pose)), slide_of(pose)))
    fall = pull * MASS / (MASS + INERTIA / (pitch * size) ** 2) / size
    assert found[-1, 1] == pytest.approx(fall / 2.0, rel=0.01)
    assert np.abs(found[:, 1] - pitch * np.unwrap(found[:, 0])).max() < 1e-3


@sizes
def test_two_places_pull_each_other_by_their_own_distance(blank: Any, size: float) -> None:
    mechanism = floating(np.zeros(3), np.array([1.2, 1.6, 0.0]))
    ends = (np.eye(4), np.eye(4))
    mechanism.restraints = [Restraint("s", "spring", bodies=("c0", "c1"), frames=ends, coefficients=[[40.0, -60.0]])]
    found = let_go(blank.scene, mechanism, size, lambda pose: pose[:3, 3], "c0")
    way = np.array([0.6, 0.8, 0.0])
    swing = math.sqrt(40.0 * (1.0 / MASS + 1.0 / (2.0 * MASS)) / size)
    gone = 2.0 / 3.0 * 0.5 * (1.0 - np.cos(swing * TIME))
    assert np.abs(found - gone[:, None] * way).max() < 0.01


@sizes
def test_a_pull_rotates_a_scaled_pendulum_by_a_longer_arm(blank: Any, size: float) -> None:
    """From so far away that it pulls along one line."""
    arm, swing = np.array([1.0, 0.0, 0.0]), 20.0
    mechanism = beside(rotations(Z), arm, np.zeros(3))
    strength = swing**2 * (INERTIA + MASS * size**2) / size
    far = FRAME @ pose_of((0, 0, 0), arm + 50.0 * Y)
    law = [[strength, -strength * 49.95]]
    mechanism.restraints = [Restraint("s", "spring", bodies=(None, "cube"), frames=(far, np.eye(4)), coefficients=law)]
    found = let_go(blank.scene, mechanism, size, lambda pose: in_joint(pose)[1, 3])
    assert np.abs(found - 0.05 * (1.0 - np.cos(swing * TIME))).max() < 0.005


@sizes
def test_servos_of_several_degrees_translate_as_far_as_their_keys(blank: Any, size: float) -> None:
    import bpy

    dofs = [*rotations(Z), *slides(Z)]
    wanted = np.column_stack([0.5 * np.sin(3.0 * TIME), 0.3 * np.sin(2.0 * TIME)])
    rig = put(cube_on_joint(*dofs), physics=True)
    rig.scale = (size,) * 3
    key_servos(rig, "Motion", {"j": (np.arange(1.0, FRAMES + 1), wanted, LINEAR)})
    bpy.context.view_layer.update()
    rig.data.knuckle.drive = "SERVO"
    cube = objects_of(rig, "BODY")["cube"]
    found = np.array(play(blank.scene, FRAMES, lambda: slide_of(np.linalg.inv(world_of(rig)) @ world_of(cube))))
    assert np.abs(found - wanted[:, 1]).max() < 0.01
