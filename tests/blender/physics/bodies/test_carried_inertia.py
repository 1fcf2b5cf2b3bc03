"""Inertia proxies: only for bodies whose tensor a joint feels, about its axis and with all that it carries."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from addon.core.model import Body, Dof, Joint, Mechanism, Shape
from tests.support.degrees_helpers import pose_of, put
from tests.support.mechanisms import objects_of, play, world_of
from tests.support.scenes import OWN

MASS, LENGTH, RADIUS = 2.0, 0.6, 0.05


def capsule_tensor() -> Any:
    """Inertia (3, 3) of the solid capsule about its center, for a mass of 1 (Wikipedia, List of moments of inertia)."""
    from addon.core.mass_properties import unit_inertia

    return unit_inertia(Shape("capsule", {"length": LENGTH, "radius": RADIUS}))


def pendulum(arm: float, axis: Any) -> Mechanism:
    """A capsule along Z on a hinge at the world, ``arm`` above its center."""
    body = Body("b", "B", pose_of((0, 0, 0), (0, 0, -arm)), MASS, inertia=MASS * capsule_tensor())
    body.shapes = [Shape("capsule", {"length": LENGTH, "radius": RADIUS})]
    joint = Joint("j", "J", "revolute", None, "b", np.eye(4), pose_of((0, 0, 0), (0, 0, arm)), [Dof("rotation", axis)])
    return Mechanism("m", bodies=[body], joints=[joint])


def proxy_of(rig: Any) -> Any:
    (obj,) = objects_of(rig, "BODY").values()
    return obj.knuckle.inertia_proxy


@pytest.mark.parametrize(
    ("arm", "axis", "needed"),
    [(0.0, (1.0, 0, 0), True), (0.9, (1.0, 0, 0), False), (0.9, (0, 0, 1.0), True), (3.0, (0.6, 0, 0.8), False)],
)
def test_a_body_gets_an_inertia_proxy_where_its_joint_feels_it(
    blank: Any, arm: float, axis: tuple[float, ...], needed: bool
) -> None:
    """Far from the axis only its mass counts; about its own long axis, or through its center, all of it does."""
    rig = put(pendulum(arm, np.array(axis)), physics=True)
    assert (proxy_of(rig) is not None) == needed


def test_a_pendulum_without_a_proxy_has_the_period_of_the_file(blank: Any) -> None:
    arm, start = 0.9, 0.15
    mechanism = pendulum(arm, np.array([1.0, 0, 0]))
    mechanism.joints[0].dofs[0].position = start
    rig = put(mechanism, physics=True)
    assert proxy_of(rig) is None
    rig.data.knuckle.drive = "LIMP"
    (obj,) = objects_of(rig, "BODY").values()

    def angle() -> float:
        at = (np.linalg.inv(world_of(rig)) @ world_of(obj))[:3, 3]
        return math.atan2(at[1], -at[2])

    values = np.array(play(blank.scene, 301, angle))
    at_zero = np.flatnonzero(np.diff(np.sign(values)))
    crossings = at_zero + values[at_zero] / (values[at_zero] - values[at_zero + 1])
    period = 2.0 * float(np.diff(crossings).mean()) / 60.0
    inertia = MASS * (capsule_tensor()[0, 0] + arm**2)
    wanted = 2.0 * math.pi * math.sqrt(inertia / (MASS * 9.81 * arm)) * (1.0 + start**2 / 16.0)
    assert period == pytest.approx(wanted, rel=5e-3)


@pytest.mark.parametrize("sample", ["humanoid/humanoid.skel", "pumpjack/pumpjack.json"])
def test_what_joints_carry_is_the_sum_of_their_bodies(blank: Any, sample: str) -> None:
    """Body by body, with the parallel axis theorem, over the tree that the armature has."""
    from addon import formats
    from addon.blender.build import build
    from addon.blender.physics.bodies.carried_inertia import CarriedInertia
    from addon.core.kinematics import joint_frame_world, spanning_tree

    mechanism = formats.load(OWN / sample)
    rig = next(obj for obj in build(mechanism).all_objects if obj.knuckle.role == "MODEL")
    found = CarriedInertia(rig)
    bodies = {body.id: body for body in mechanism.bodies}
    carriers: dict[str, Any] = {}
    for empty in objects_of(rig, "JOINT").values():
        part = empty.knuckle.joint
        if not part.loop:
            near, far = (part.child, part.parent) if part.is_reversed else (part.parent, part.child)
            carriers[far.knuckle.source_id] = (near.knuckle.source_id if near else None, empty.knuckle.source_id)
    joints = {joint.id: joint for joint in mechanism.joints}
    assert len(spanning_tree(mechanism).loop_joints) == sum(
        empty.knuckle.joint.loop for empty in objects_of(rig, "JOINT").values()
    )
    checked = 0
    for obj, moments in found._moments.items():
        own = obj.knuckle.source_id
        joint = joints[carriers[own][1]]
        frame = joint_frame_world(joint, bodies)
        for dof, moment in zip([dof for dof in joint.dofs if dof.kind == "rotation"], moments, strict=True):
            axis = frame[:3, :3] @ dof.axis
            wanted = 0.0
            for body in mechanism.bodies:
                above = body.id
                while above is not None and above != own:
                    above = carriers.get(above, (None, ""))[0]
                if above == own:
                    turn = body.pose[:3, :3]
                    arm = np.cross(axis, body.pose[:3, 3] + turn @ body.com - frame[:3, 3])
                    tensor = obj_tensor(rig, body)
                    wanted += float(axis @ turn @ tensor @ turn.T @ axis) + body.mass * float(arm @ arm)
            assert moment == pytest.approx(wanted, rel=1e-4)
            checked += 1
    assert checked > 2


def obj_tensor(rig: Any, body: Body) -> Any:
    obj = next(obj for obj in objects_of(rig, "BODY").values() if obj.knuckle.source_id == body.id)
    return np.array(obj.knuckle.tensor).reshape(3, 3) * body.mass
