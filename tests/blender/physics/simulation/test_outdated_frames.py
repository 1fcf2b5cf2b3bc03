"""What a run depends on makes its frames old when it changes, and what it does not depend on does not."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import bpy
import numpy as np
import pytest

from addon.blender.compat import action_curves
from addon.blender.data.access import record_of, settings
from addon.blender.data.queries import parts, rig_in, servo_bones
from addon.blender.physics.simulation.cached_frames import fingerprint
from addon.blender.reconcile.build import build
from addon.core.model import Body, Dof, Joint, Mechanism, Shape, World


def arm() -> Mechanism:
    """An arm on a ball at the world, with a hand on a hinge."""
    box = [Shape("box", {"x": 1.0, "y": 0.2, "z": 0.2})]
    upper, hand = Body("upper", "Upper", shapes=box), Body("hand", "Hand", shapes=box)
    hand.pose = np.eye(4)
    hand.pose[0, 3] = 1.0
    elbow, other = np.eye(4), np.eye(4)
    elbow[0, 3], other[0, 3] = 0.5, -0.5
    joints = [
        Joint("ball", "Ball", "ball", None, "upper", np.eye(4), np.eye(4), [Dof("ball")]),
        Joint("hinge", "Hinge", "revolute", "upper", "hand", elbow, other, [Dof("rotation")]),
    ]
    return Mechanism("arm", World(gravity=np.array([0.0, 0.0, -9.81])), [upper, hand], joints)


@pytest.fixture
def rig(blank: Any) -> Any:
    made = rig_in(build(arm()))
    bone = made.pose.bones[servo_bones(made)["hinge"]]
    for frame, value in ((1, 0.0), (30, 0.5)):
        bone.rotation_euler.z = value
        bone.keyframe_insert("rotation_euler", index=2, frame=frame)
    wall = bpy.data.objects.new("Wall", bpy.data.meshes.new("Wall"))
    blank.scene.collection.objects.link(wall)
    blank.scene.rigidbody_world.collection.objects.link(wall)
    wall.rigid_body.kinematic = True
    wall.keyframe_insert("location", frame=1)
    settings(made).drive = "SERVO"
    curve(made, made).modifiers.new("NOISE")
    return made


def curve(rig: Any, obj: Any) -> Any:
    return next(iter(action_curves(obj, obj.animation_data.action)))


def turn_ball(rig: Any) -> None:
    rig.pose.bones[servo_bones(rig)["ball"]].rotation_quaternion = (math.cos(0.3), math.sin(0.3), 0.0, 0.0)


def shake(rig: Any) -> None:
    curve(rig, rig).modifiers[0].strength = 5.0


def move_wall(rig: Any) -> None:
    for point in curve(rig, bpy.data.objects["Wall"]).keyframe_points:
        point.co.y += 3.0


def shift(rig: Any) -> None:
    rig.delta_location.x = 2.0


def hang(rig: Any) -> None:
    rig.parent = bpy.data.objects["Wall"]


def strengthen(rig: Any) -> None:
    record_of(parts(rig, "JOINT")[1]).joint.dofs[0].max_force = 3.0


CHANGES: list[Callable[[Any], None]] = [turn_ball, shake, move_wall, shift, hang, strengthen]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_change_that_a_run_depends_on_makes_it_outdated(rig: Any, change: Callable[[Any], None]) -> None:
    scene = bpy.context.scene
    before = fingerprint(scene, [rig])
    change(rig)
    bpy.context.view_layer.update()
    assert fingerprint(scene, [rig]) != before


def test_a_change_that_a_run_does_not_depend_on_keeps_it_valid(rig: Any) -> None:
    scene = bpy.context.scene
    before = fingerprint(scene, [rig])
    for frame in range(1, 6):
        scene.frame_set(frame)
        assert fingerprint(scene, [rig]) == before
    rig.show_in_front = False
    settings(rig).show_collision = True
    assert fingerprint(scene, [rig]) == before
