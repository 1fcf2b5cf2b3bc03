"""Helpers for tests of checks: a mechanism without findings, a trunk with twin arms."""

from __future__ import annotations

import numpy as np

from addon.core.model import Body, Dof, Joint, Mechanism


def sound() -> Mechanism:
    """A trunk with an arm on either side, twins of each other."""
    trunk = Body("trunk", "Trunk", mass=2.0)
    bodies, joints = [trunk], []
    for side, x in (("Left", -1.0), ("Right", 1.0)):
        other = "Right" if side == "Left" else "Left"
        place, far = np.eye(4), np.eye(4)
        place[0, 3], far[0, 3] = x, 2 * x
        bodies.append(Body(f"{side} arm", f"{side} arm", far, twin=f"{other} arm"))
        child = np.eye(4)
        child[0, 3] = -x
        dof = Dof("rotation", np.array([1.0, 0.0, 0.0]), lower=-0.5, upper=0.7)
        joints.append(
            Joint(side, f"{side} shoulder", "revolute", "trunk", f"{side} arm", place, child, [dof], twin=other)
        )
    return Mechanism("sound", bodies=bodies, joints=joints)
