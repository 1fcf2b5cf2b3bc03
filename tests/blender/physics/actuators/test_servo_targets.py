"""Servos chase what strips and drivers do with bones, frame by frame, as they chase plain keys."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
import pytest

from addon.blender.animation.keying import LINEAR, key_servos
from addon.blender.data.access import settings
from addon.core.kinematics import joint_motion
from addon.core.model import Dof
from addon.core.transforms import inverse, rotation_vector
from tests.support.degrees_helpers import X, Z, rotations
from tests.support.degrees_helpers import put as put_mechanism
from tests.support.mechanisms import XmlModel, body, bone_of, coordinate, joint, key, model, play, put
from tests.support.several_servos_helpers import beside, motion

ARM = model(
    body(1, (0, 0, 6), (1, 1, 12), mass=1e5),
    body(2, (2, 0, 6), (3, 0.2, 0.2), mass=2),
    joint(3, 1, 2, (0.5, 0, 6), (0, 90, 0), force=1e5),
)
DOCUMENT = XmlModel(ARM)


def push_down(rig: Any) -> None:
    """The rig's Action as a strip; another may be laid over it."""
    data = rig.animation_data
    action, data.action = data.action, None
    strip = data.nla_tracks.new().strips.new("below", 1, action)
    if getattr(strip, "action_slot", 0) is None:
        strip.action_slot = action.slots[0]


def drive(bone: Any, channel: str, index: int, expression: str) -> None:
    driver = bone.driver_add(channel, index).driver
    driver.type, driver.expression = "SCRIPTED", expression


def chase(scene: Any, rig: Any, look: Any, frames: int = 30) -> np.ndarray:
    settings(rig).target, settings(rig).drive = "KEYS", "SERVO"
    return np.array(play(scene, frames, look))


@pytest.mark.parametrize("how", ["strip", "strip and more", "driver"])
def test_what_moves_a_bone_is_chased_in_its_own_frame(blank: Any, how: str) -> None:
    rig = put(ARM)
    key(rig, 3, [(1, 0.0), (31, 0.6)])
    if how == "driver":
        bpy.data.actions.remove(rig.animation_data.action)
        drive(bone_of(rig, 3), "rotation_euler", 2, "(frame-1)*0.02")
    else:
        push_down(rig)
    if how == "strip and more":
        key(rig, 3, [(1, 0.0), (31, 0.6)])
        rig.animation_data.action_blend_type = "ADD"
        blank.scene.frame_set(31)
    play(blank.scene, 31, lambda: None)
    last = bone_of(rig, 3).rotation_euler[2]
    assert last == pytest.approx({"strip and more": 1.2}.get(how, 0.6), abs=0.02)
    wanted = play(blank.scene, 30, lambda: bone_of(rig, 3).rotation_euler[2])
    found = chase(blank.scene, rig, lambda: coordinate(rig, 3, DOCUMENT))
    # a frame late would be 0.02 and more
    assert found[4:] == pytest.approx(np.array(wanted)[4:], abs=2e-3)


@pytest.mark.parametrize("dofs", [rotations(Z, X), [Dof("ball")]], ids=["universal", "ball"])
def test_strips_lead_joints_of_several_degrees(blank: Any, dofs: list[Dof]) -> None:
    arm, size = np.array([0.3, 0.2, 0.1]), 3 if dofs[0].kind == "ball" else 2
    mechanism = beside(dofs, arm, np.zeros(3))
    blank.scene.render.fps = 60
    rig = put_mechanism(mechanism, physics=True, adapt_scene=False)
    values = np.outer(np.arange(30), np.array([0.02, 0.01, 0.015])[:size])
    key_servos(rig, "Motion", {"j": (np.arange(1.0, 31.0), values, LINEAR)})
    push_down(rig)
    found = chase(blank.scene, rig, lambda: motion(rig, arm))
    off = rotation_vector((inverse(joint_motion(mechanism.joints[0], values)) @ found)[5:, :3, :3])
    assert np.linalg.norm(off, axis=1).max() < 4e-3  # a frame late would be 0.02 and more
