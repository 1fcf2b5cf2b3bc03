"""What a run under physics did, frame by frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from mathutils import Matrix

from ....core.model import Array
from ....core.report import FormatError
from ..actuators.joint_state import Plant
from ..world.scale import size_in

#: Bodies whose scale differs less from 1 are not scaled.
_UNSCALED = 1e-5


class RunError(FormatError):
    """A run that came to nothing that can be kept; told like what is wrong in a file, also on the command line."""


@dataclass
class Recording:
    """A run: frames (n,), poses of all bodies and of the armature (n, bodies + 1, 4, 4), servo values (n, joints)
    unwrapped, with the whole turns that they began with.

    Poses are rigid, in the world's axes, and in the model's own lengths: those of a model that is scaled as an object
    are its size times as long in the world."""

    plant: Plant
    frames: Array
    poses: Array
    values: Array
    lifts: Array  # (n,): by how much physics had raised the model
    told: Array  # (n, joints): what servos were told to be at, nan where they were told nothing
    drives: list[str]  # (n,): KEYS, SERVO or LIMP
    size: float = 1.0  # how large the model is in the world
    scales: Array | None = None  # (bodies + 1, 3): how bodies are scaled besides; None: not at all
    told_several: Mapping[str, Array] = field(default_factory=dict)  # the same as told (n, size), of other joints by id
    begun: Mapping[str, Array] = field(default_factory=dict)  # the coordinates (size,) that their bones had at first
    steps: Array | None = None  # (m, bodies + 1, 4, 4): poses at all steps of the control, where there are more
    rate: float = 0.0  # of these, or of the frames: per second of the model's time

    def unlifted(self) -> Array:
        """Return the poses with the armature where the user has it: keys have to lead to the bodies from there."""
        poses = self.poses.copy()
        poses[:, -1, 2, 3] -= self.lifts
        return poses

    def as_scaled(self, poses: Array) -> Array:
        """Poses of the recording with the bodies' own scale."""
        out = poses.copy()
        if self.scales is not None:
            out[..., :3, :3] *= self.scales[:, None, :]
        return out

    def worst_gap(self) -> float:
        """The largest distance by which any joint's two sides came apart (length units)."""
        return max((float(self.plant.gaps(pose).max(initial=0.0)) for pose in self.poses), default=0.0)


def in_own_lengths(poses: Array) -> tuple[Array, float, Array]:
    """World poses (n, bodies + 1, 4, 4), the armature's the last, as a recording has them; the model's size in the
    world, and how bodies are scaled besides (bodies + 1, 3)."""
    scales = np.linalg.norm(poses[..., :3, :3], axis=-2)
    scales = np.where(scales > 0.0, scales, 1.0)
    size = size_in(poses[0, -1])
    out = poses.copy()
    out[..., :3, :3] /= scales[..., None, :]
    out[..., :3, 3] /= size
    own = scales.mean(axis=0) / size
    return out, size, np.where(np.abs(own - 1.0) < _UNSCALED, 1.0, own)


def quaternions(turns: Array) -> Array:
    """Quaternions (n, 4) of rotations (n, 3, 3), without jumps: of its two, each is the nearer to the one before."""
    out = np.array([Matrix(turn.tolist()).to_quaternion() for turn in turns])
    flips = np.cumprod(np.where(np.einsum("ni,ni->n", out[1:], out[:-1]) < 0.0, -1.0, 1.0))
    out[1:] *= flips[:, None]
    return out
