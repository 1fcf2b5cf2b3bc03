"""About which axes the motors of a joint of several degrees push, and what each has to be told.

Blender's motor (Bullet's ``btGeneric6DofConstraint``) turns about X of the empty on its second body, made perpendicular
to Z of the empty on its first: that axis goes with both bodies, as measured. With X on the first axis of a joint, held
by the parent, and Z on its last, held by the child, the motor is at right angles to all axes but its own, and so moves
nothing but its own coordinate, like a motor between two rings of a gimbal; and the other way round for the last
axis. X and Z of an empty are at right angles: where those axes are not when a run begins, it is X that gives. The
middle one of three has no such motor, and is told what the wanted rotation has about its axis. So are those of a ball.
It has two about each axis of its frame, of which three are used at a time: those that are farthest from one plane and
from losing their axis.

A motor slides along X of the empty on its first body.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ....core.model import DOF_SIZE, Array, Dof
from ....core.transforms import frame_with_z, rotation_matrix

#: Of a motor's own axis less than this is left where the joint is about to lock: nothing is asked of it there.
_LOCKED = 0.05


@dataclass(frozen=True)
class Axle:
    """A motor of a joint, in the joint's frame on its parent when a run begins. ``number`` is its coordinate;
    ``by_child``: X goes with the child (and Z with the parent), else the other way round."""

    number: int
    turns: bool
    by_child: bool
    x: Array
    z: Array

    @property
    def child_first(self) -> bool:
        """Return whether the child is the constraint's first body."""
        return self.by_child != self.turns

    def frame(self) -> Array:
        """The axes (3, 3) of its empty as columns: of a motor that turns, Z where it has to be and X as near as that
        allows, so that it is at right angles to the other axis wherever the joint goes; of one that slides, X."""
        kept, other = (self.z, self.x) if self.turns else (self.x, self.z)
        kept = kept / np.linalg.norm(kept)
        across = other - (other @ kept) * kept
        long = float(np.linalg.norm(across))
        across = frame_with_z(kept)[:, 0] if long < 1e-3 else across / long
        x, z = (across, kept) if self.turns else (kept, across)
        return np.stack([x, np.cross(z, x), z], axis=1)


def has_axles(dofs: Sequence[Dof]) -> bool:
    """Return whether motors can drive a joint of these degrees: slides and up to three turns, or slides and then a
    ball. (A lone hinge or slide has a motor already.)"""
    kinds = [dof.kind for dof in dofs]
    if kinds in ([], ["rotation"], ["translation"]) or not set(kinds) <= {"rotation", "translation", "ball"}:
        return False
    if "ball" in kinds:
        return kinds.count("ball") == 1 and "rotation" not in kinds and kinds[-1] == "ball"
    return kinds.count("rotation") <= 3


def is_plain(dofs: Sequence[Dof]) -> bool:
    """Return whether a joint only slides and turns about axes that stay its own: no balls, no screws."""
    kinds = [dof.kind for dof in dofs]
    return bool(kinds) and set(kinds) <= {"rotation", "translation"} and kinds.count("rotation") <= 3


def axes_at(dofs: Sequence[Dof], values: Array) -> Array:
    """The direction (size, 3) of each coordinate's motion at coordinates (size,), in the joint's frame on the parent:
    of a slide the way along which, of a turn the axis about which; of a ball the three of the frame."""
    out, turned, at = [], np.eye(3), 0
    for dof in dofs:
        if dof.kind == "ball":
            out += list(turned)
        else:
            axis = np.asarray(dof.axis, dtype=np.float64)
            axis = axis / math.sqrt(axis @ axis)
            out.append(turned @ axis)
        if dof.kind == "rotation":
            turned = turned @ rotation_matrix(axis * values[at])
        at += DOF_SIZE[dof.kind]
    return np.array(out)


def axles(dofs: Sequence[Dof], values: Array) -> list[Axle]:
    """The motors of a joint in a run that begins at coordinates (size,), in the order of these; two for each of a
    ball's."""
    axes = axes_at(dofs, values)
    if dofs[-1].kind == "ball":
        slides = [Axle(k, False, False, axes[k], frame_with_z(axes[k])[:, 0]) for k in range(len(axes) - 3)]
        ball = axes[len(slides) :]
        pairs = [(k, (k + way) % 3) for k in range(3) for way in (1, 2)]
        return slides + [Axle(len(slides) + k, True, False, ball[k], ball[other]) for k, other in pairs]
    turns = [k for k, dof in enumerate(dofs) if dof.kind == "rotation"]
    out = []
    for number, dof in enumerate(dofs):
        across = frame_with_z(axes[number])[:, 0]
        if dof.kind == "translation":
            carried = any(turn < number for turn in turns)
            out.append(Axle(number, False, carried, axes[number], across))
        elif len(turns) == 1:
            out.append(Axle(number, True, False, axes[number], across))
        else:
            last = number == turns[-1]
            other = turns[0] if last else turns[-1]
            out.append(Axle(number, True, last, axes[number], axes[other]))
    return out


def apart(pushes: Array) -> list[int]:
    """Return which three of some directions (n, 3) are farthest from being in one plane, and long."""
    threes = _threes(len(pushes))
    first, second, third = pushes[threes[:, 0]], pushes[threes[:, 1]], pushes[threes[:, 2]]
    across = second[:, [1, 2, 0]] * third[:, [2, 0, 1]] - second[:, [2, 0, 1]] * third[:, [1, 2, 0]]
    return threes[int(np.abs((first * across).sum(axis=1)).argmax())].tolist()


@cache
def _threes(count: int) -> NDArray[np.intp]:
    return np.array(list(combinations(range(count), 3)), dtype=np.intp)


def pushed(x: Array, z: Array) -> Array:
    """Along the axis (3,) about which a motor turns whose X and Z are there now, with the sine of the angle between
    them; zero where they are along each other."""
    across = x - (x @ z) * z
    return np.zeros(3) if np.linalg.norm(across) < _LOCKED else across
