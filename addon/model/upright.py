"""Which way is up in a model, and turning one as a whole."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from .copies import copied
from .records import Array, Mechanism

UpAxis = Literal["AUTO", "Z", "Y", "-Z"]

#: A turn about X (rad) that brings each up axis to Z.
_TURN = {"Z": 0.0, "Y": math.pi / 2, "-Z": math.pi}


def upright_turn(mechanism: Mechanism, up_axis: UpAxis = "AUTO") -> Array:
    """The turn that stands the model up: by its gravity when ``AUTO``, as (4, 4)."""
    if up_axis == "AUTO":
        down = np.asarray(mechanism.world.gravity)
        along = int(np.argmax(np.abs(down)))
        up_axis = "Z"
        if along == 1 and down[1] < 0:
            up_axis = "Y"
        elif along == 2 and down[2] > 0:
            up_axis = "-Z"
    angle = _TURN[up_axis]
    out = np.eye(4)
    if angle:
        cos, sin = round(math.cos(angle), 15), round(math.sin(angle), 15)
        out[1:3, 1:3] = [[cos, -sin], [sin, cos]]
    return out


def turned(mechanism: Mechanism, turn: Array) -> Mechanism:
    """A copy of a mechanism turned as a whole, with its gravity: all that stands in the world by itself is multiplied
    by ``turn`` (4, 4) from the left. What it does relative to itself is the same."""
    out = copied(mechanism)
    out.world.gravity = turn[:3, :3] @ out.world.gravity
    for body in out.bodies:
        body.pose = turn @ body.pose
    for joint in out.joints:
        if joint.parent is None:
            joint.frame_parent = turn @ joint.frame_parent
        if joint.child is None:
            joint.frame_child = turn @ joint.frame_child
    for frame in out.frames:
        frame.pose = turn @ frame.pose if frame.body is None else frame.pose
    for light in out.lights:
        light.pose = turn @ light.pose if light.body is None else light.pose
    for item in out.restraints:
        if item.bodies is not None and item.frames is not None:
            one, other = (
                turn @ frame if body is None else frame for body, frame in zip(item.bodies, item.frames, strict=True)
            )
            item.frames = one, other
    return out
