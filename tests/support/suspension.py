"""Helper for tests of closed loops: a vehicle's suspension, with three loops at each corner."""

# At each corner there are two arms, an upright, a rod that steers and a strut.

from __future__ import annotations

from typing import cast

import numpy as np

from addon.core.model import Array, Body, Dof, DofKind, Joint, Mechanism, Shape
from addon.core.transforms import rotation_with_z

_DOFS: dict[str, tuple[str, ...]] = {"revolute": ("rotation",), "prismatic": ("translation",), "ball": ("ball",)}


class _Chassis:
    """The mechanism in the making."""

    def __init__(self) -> None:
        pose = np.eye(4)
        pose[2, 3] = 0.5
        body = Body("chassis", "chassis", pose, mass=800.0, shapes=[Shape("box", {"x": 2.5, "y": 0.8, "z": 0.3})])
        self.made = Mechanism("suspension", bodies=[body])
        self.poses = {"chassis": pose}

    def body(self, name: str, one: Array, other: Array, mass: float = 2.0) -> None:
        """A beam between two points."""
        pose = self.poses[name] = np.eye(4)
        pose[:3, 3] = (one + other) / 2.0
        size = dict(zip("xyz", (np.abs(other - one) + 0.03).tolist(), strict=True))
        self.made.bodies.append(Body(name, name, pose, mass=mass, shapes=[Shape("box", size)], collidable=False))

    def joint(self, name: str, kind: str, parent: str, child: str, point: Array, axis: Array | None = None) -> None:
        """A joint at a point, about or along an axis."""
        frame = np.eye(4)
        frame[:3, :3], frame[:3, 3] = rotation_with_z(np.eye(3)[2] if axis is None else axis), point
        sides = (np.linalg.inv(self.poses[body]) @ frame for body in (parent, child))
        dofs = [Dof(cast(DofKind, dof)) for dof in _DOFS.get(kind, ())]
        if kind == "universal":
            dofs = [Dof("rotation", np.eye(3)[0]), Dof("rotation", np.eye(3)[1])]
        self.made.joints.append(Joint(name, name, kind, parent, child, *sides, dofs=dofs))


def suspension(corners: int = 4) -> Mechanism:
    """A chassis with so many corners, all at zero as drawn. The first two are steered by a rack."""
    made = _Chassis()
    made.body("rack", np.array([1.32, -0.35, 0.38]), np.array([1.32, 0.35, 0.38]))
    made.joint("rack", "prismatic", "chassis", "rack", np.array([1.32, 0.0, 0.38]), np.eye(3)[1])
    for corner in range(corners):
        _corner(made, f"{corner}", 1.2 if corner < 2 else -1.2 * (corner // 2), (-1.0) ** corner, corner < 2)
    return made.made


def _corner(made: _Chassis, name: str, along: float, side: float, steered: bool) -> None:
    def at(x: float, y: float, z: float) -> Array:
        return np.array([along + x, side * y, z])

    lower, lower_end, upper, upper_end = (
        at(0, 0.35, 0.3),
        at(0.02, 0.75, 0.25),
        at(-0.02, 0.4, 0.52),
        at(0.01, 0.7, 0.5),
    )
    rod, rod_end, top, foot = at(0.12, 0.35, 0.38), at(0.14, 0.72, 0.36), at(0.05, 0.38, 0.8), at(0.03, 0.55, 0.28)
    made.body(f"lower {name}", lower, lower_end)
    made.body(f"upper {name}", upper, upper_end)
    made.body(f"upright {name}", lower_end, upper_end, 10.0)
    made.body(f"wheel {name}", at(0, 0.8, 0.1), at(0, 0.8, 0.7), 15.0)
    made.body(f"rod {name}", rod, rod_end)
    made.body(f"damper {name}", top, (top + foot) / 2.0)
    made.body(f"strut {name}", foot, (top + foot) / 2.0)
    made.joint(f"lower {name}", "revolute", "chassis", f"lower {name}", lower, np.array([1.0, 0.03, 0.02]))
    made.joint(f"upper {name}", "revolute", "chassis", f"upper {name}", upper, np.array([1.0, -0.02, 0.05]))
    made.joint(f"lower end {name}", "ball", f"lower {name}", f"upright {name}", lower_end)
    made.joint(f"upper end {name}", "ball", f"upper {name}", f"upright {name}", upper_end)
    made.joint(f"wheel {name}", "revolute", f"upright {name}", f"wheel {name}", at(0, 0.78, 0.37), np.eye(3)[1])
    made.joint(f"rod {name}", "ball", "rack" if steered else "chassis", f"rod {name}", rod)
    made.joint(f"rod end {name}", "ball", f"rod {name}", f"upright {name}", rod_end)
    made.joint(f"damper {name}", "universal", "chassis", f"damper {name}", top)
    made.joint(f"stroke {name}", "prismatic", f"damper {name}", f"strut {name}", (top + foot) / 2.0, foot - top)
    made.joint(f"strut {name}", "ball", f"lower {name}", f"strut {name}", foot)
