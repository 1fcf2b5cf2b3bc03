"""Helpers for tests of stops: a trunk with an arm at each joint."""

from __future__ import annotations

from typing import Any

import numpy as np

from addon.blender.data.access import record_of
from addon.blender.data.queries import parts
from addon.core.model import Body, Dof, Joint, Mechanism, Shape

X, Y, Z = np.eye(3)


def arms(kinds: list[list[Dof]]) -> Mechanism:
    """A trunk with an arm at each joint: j0, j1…"""
    out = Mechanism("Arms", bodies=[Body("trunk", "Trunk", mass=1.0, shapes=[Shape("sphere", {"radius": 0.2})])])
    for number, dofs in enumerate(kinds):
        place, inward = np.eye(4), np.eye(4)
        place[:3, 3], inward[0, 3] = (1.0, number, 0.0), -0.5
        root = place @ inward
        body = Body(f"arm{number}", f"Arm {number}", place, mass=1.0)
        body.shapes = [Shape("box", {"x": 0.8, "y": 0.2, "z": 0.2})]
        out.bodies.append(body)
        out.joints.append(Joint(f"j{number}", f"J{number}", "", "trunk", f"arm{number}", root, inward, dofs))
    return out


def joint_of(rig: Any, name: str) -> Any:
    return next(empty for empty in parts(rig, "JOINT") if record_of(empty).source_name == name)
