"""What a run under physics did, frame by frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from mathutils import Matrix

from ...model.records import Array
from .plant import Plant


@dataclass
class Recording:
    """A run: frames (n,), world poses of all bodies and of the armature (n, bodies + 1, 4, 4), servo values (n, joints)
    unwrapped."""

    plant: Plant
    frames: Array
    poses: Array
    values: Array
    lifts: Array  # (n,): by how much physics had raised the model
    told: Array  # (n, joints): what servos were told to be at, nan where they were told nothing
    drives: list[str]  # (n,): KEYS, SERVO or LIMP

    def unlifted(self) -> Array:
        """The same poses with the armature where the user has it: keys have to lead to the bodies from there."""
        poses = self.poses.copy()
        poses[:, -1, 2, 3] -= self.lifts
        return poses

    def worst_gap(self) -> float:
        """The largest distance by which any joint's two sides came apart (length units)."""
        return max((float(self.plant.gaps(pose).max(initial=0.0)) for pose in self.poses), default=0.0)


def quaternions(turns: Array) -> Array:
    """Quaternions (n, 4) of rotations (n, 3, 3), without jumps: of its two, each is the nearer to the one before."""
    out = np.array([Matrix(turn.tolist()).to_quaternion() for turn in turns])
    flips = np.cumprod(np.where(np.einsum("ni,ni->n", out[1:], out[:-1]) < 0.0, -1.0, 1.0))
    out[1:] *= flips[:, None]
    return out
