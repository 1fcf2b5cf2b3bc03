"""Residual motion of bones that no servo represents, and so no motion file.

It consists of rotations, translations and scales on channels without a degree of freedom, by inverse kinematics,
keyframes, drivers or by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.model import Array
from ...core.report import Message, Report
from ...core.transforms import affine_inverse, rotation_vector
from ..data.channels import Channel, bone_path, is_screw_driver_curve
from ..data.queries import RigParts
from .actions import bone_properties
from .fcurves import CurveId
from .frame_time import UNIT_SIZES, Units
from .pose_reader import LocalPoses, euler_groups

#: Rotations (rad) and scales up to which a bone obeys its joint: its matrix is float32.
_TURN_TOLERANCE, _SCALE_TOLERANCE = 1e-4, 1e-4
#: Translations up to which a bone obeys its joint, as a share of the largest distance of a bone from the armature's
#: origin.
_SLIDE_TOLERANCE = 2e-5
#: Scale of the number of frames at which bones are inspected if nothing else samples them.
_MAX_FRAMES = 400
_KINDS = ("turn", "slide", "scale")
_SIZES = {"location": 3, "scale": 3, "rotation_quaternion": 4, "rotation_axis_angle": 4, "rotation_euler": 3}


@dataclass
class LargestResidue:
    """Largest residue of a kind: size, bone and frame, and all bones that have one."""

    size: float = 0.0
    bone: str = ""
    frame: float = 0.0
    bones: frozenset[str] = frozenset()


class ResidueMeter:
    """Measurement of residual motion in the inspected poses.

    Roots have no residual rotation or translation, since all of it is root motion.
    """

    def __init__(self, found: RigParts, channels: Sequence[Channel]) -> None:
        """Prepare the measurement; ``channels`` are those of all servos and roots."""
        rig = self._rig = found.rig
        chains = [bone for chain in found.chains.values() for bone in chain]
        self._names = list(dict.fromkeys([*chains, *found.roots.values()]))
        self._local = LocalPoses(rig, self._names)
        row = {name: number for number, name in enumerate(self._names)}
        self._fixed = np.ones((len(row), 3))  # components of locations without a degree of freedom
        self._whole = np.zeros(len(row), dtype=bool)  # bones with free rotation
        for channel in channels:
            if channel.is_single and channel.prop == "location":
                self._fixed[row[channel.bone], channel.index] = 0.0
            elif channel.kind == "free":
                self._fixed[row[channel.bone]] = 0.0
            self._whole[row[channel.bone]] |= not channel.is_single
        slides = set(_screw_slides(rig))
        for name, number in row.items() if slides else ():
            for index in range(3):
                if (bone_path(name, "location"), index) in slides:
                    self._fixed[number, index] = 0.0
        self._turns = euler_groups(channels, row)
        arms = [bone.bone.matrix_local.translation.length for bone in rig.pose.bones]
        self._least = {
            "turn": _TURN_TOLERANCE,
            "scale": _SCALE_TOLERANCE,
            "slide": _SLIDE_TOLERANCE * max([*arms, 1e-6]),
        }
        self.worst = {kind: LargestResidue() for kind in _KINDS}
        self.has_samples = False
        self._seen: list[tuple[float, NDArray[np.float32], Array]] = []
        self._stood: Array | None = None
        self._slid = self._rolled = 0.0, 0.0  # largest translation and rotation of the armature, with frames

    def look(self, frame: float) -> None:
        """Store the present pose."""
        self.has_samples = True
        numbers = np.empty(16 * len(self._rig.pose.bones), dtype=np.float32)
        self._rig.pose.bones.foreach_get("matrix", numbers)
        self._seen.append((frame, numbers, np.array(self._rig.matrix_world, dtype=np.float64)))
        if len(self._seen) >= self._local.most:
            self._measure()

    def _measure(self) -> None:
        """Evaluate the stored poses."""
        frames, numbers, armature = (np.array(each) for each in zip(*self._seen, strict=True))
        self._seen.clear()
        self._measure_armature(frames, armature)
        if not self._names:
            return
        local = self._local.of(numbers)
        scales = np.linalg.norm(local[..., :3, :3], axis=2)
        rotation = local[..., :3, :3] / np.where(scales > 0.0, scales, 1.0)[..., None, :]
        found = {
            "turn": self._turned(rotation),
            "slide": np.linalg.norm(local[..., :3, 3] * self._fixed, axis=2),
            "scale": np.abs(scales - 1.0).max(axis=2),
        }
        for kind, sizes in found.items():
            self._note(kind, np.nan_to_num(sizes), frames)

    def _measure_armature(self, frames: Array, poses: Array) -> None:
        """Measure the motion of the armature object since the first inspected pose."""
        self._stood = poses[0] if self._stood is None else self._stood
        slid = np.linalg.norm(poses[:, :3, 3] - self._stood[:3, 3], axis=1)
        turned = np.linalg.norm(rotation_vector((affine_inverse(self._stood) @ poses)[:, :3, :3]), axis=1)
        at, on = int(np.argmax(slid)), int(np.argmax(turned))
        if slid[at] > max(self._slid[0], self._least["slide"]):
            self._slid = float(slid[at]), float(frames[at])
        if turned[on] > max(self._rolled[0], _TURN_TOLERANCE):
            self._rolled = float(turned[on]), float(frames[on])

    def _turned(self, rotation: Array) -> Array:
        """Return the angles (poses, n) between rotations (poses, n, 3, 3) and those that the bones' joints allow."""
        left = rotation.copy()
        for turns in self._turns:
            own = rotation[:, turns.rows]
            angles = turns.angles(own.reshape(-1, 3, 3)).reshape(*own.shape[:2], -1)
            for number, column in enumerate(turns.columns[: angles.shape[2]]):
                left[:, turns.rows] = _axis_rotations(column, -angles[..., number]) @ left[:, turns.rows]
        sizes: Array = np.linalg.norm(rotation_vector(left.reshape(-1, 3, 3)), axis=1).reshape(left.shape[:2])
        return np.where(self._whole, 0.0, sizes)

    def _note(self, kind: str, sizes: Array, frames: Array) -> None:
        beyond = np.flatnonzero((sizes > self._least[kind]).any(axis=0))
        if not len(beyond):
            return
        worst = self.worst[kind]
        bones = worst.bones | {self._names[number] for number in beyond.tolist()}
        pose, bone = np.unravel_index(int(np.argmax(sizes)), sizes.shape)
        if sizes[pose, bone] > worst.size:
            worst = LargestResidue(float(sizes[pose, bone]), self._names[bone], float(frames[pose]))
        self.worst[kind] = LargestResidue(worst.size, worst.bone, worst.frame, bones)

    def worst_frames(self) -> list[float]:
        """Return the frames of the largest residues so far."""
        if self._seen:
            self._measure()
        bones = [(worst.size, worst.frame) for worst in self.worst.values()]
        return sorted({frame for size, frame in (*bones, self._slid, self._rolled) if size > 0.0})

    def report_all(self, report: Report, units: Units) -> None:
        """Report each kind of residue once: the largest with bone and frame, in ``units``."""
        if self._seen:
            self._measure()
        (slid, at), (turned, on) = self._slid, self._rolled
        length, angle = units.of(is_angle=False), units.of(is_angle=True)
        metre, radian = UNIT_SIZES[length], UNIT_SIZES[angle]
        if slid > 0.0 or turned > 0.0:
            report.warn(
                "armature-moves",
                Message(
                    "Armature {}: motion of the object is not exported, up to {} {} (frame {}) and {} {} (frame {}). "
                    "Keyframe the bone of its root body instead",
                    repr(self._rig.name),
                    f"{slid / metre:.3g}",
                    length,
                    f"{at:g}",
                    f"{turned / radian:.3g}",
                    angle,
                    f"{on:g}",
                ),
            )
        turn, slide, scale = (self.worst[kind] for kind in _KINDS)
        if turn.bone:
            report.warn(
                "bone-turn",
                Message(
                    "Bone {}: rotation of {} {} that its joint does not allow is not exported (frame {}; bones: {}). "
                    "Delete the keyframes of these axes, or move the target of inverse kinematics",
                    repr(turn.bone),
                    f"{turn.size / radian:.3g}",
                    angle,
                    f"{turn.frame:g}",
                    len(turn.bones),
                ),
            )
        if slide.bone:
            report.warn(
                "bone-slide",
                Message(
                    "Bone {}: translation of {} {} that its joint does not allow is not exported (frame {}; bones: "
                    "{}). Delete the keyframes of these channels",
                    repr(slide.bone),
                    f"{slide.size / metre:.3g}",
                    length,
                    f"{slide.frame:g}",
                    len(slide.bones),
                ),
            )
        if scale.bone:
            report.warn(
                "bone-scale",
                Message(
                    "Bone {}: scale is not exported, {} off 1 (frame {}; bones: {}). Clear the scale (Alt+S)",
                    repr(scale.bone),
                    f"{scale.size:.3g}",
                    f"{scale.frame:g}",
                    len(scale.bones),
                ),
            )


def _axis_rotations(column: int, angles: Array) -> Array:
    """Return rotations (..., 3, 3) about an axis of a bone by ``angles`` (...)."""
    cos, sin = np.cos(angles), np.sin(angles)
    out = np.zeros((*angles.shape, 3, 3))
    one, other = (column + 1) % 3, (column + 2) % 3
    out[..., column, column] = 1.0
    out[..., one, one] = out[..., other, other] = cos
    out[..., one, other], out[..., other, one] = -sin, sin
    return out


def _screw_slides(rig: bpy.types.Object) -> Iterator[CurveId]:
    data = rig.animation_data
    for curve in data.drivers if data is not None else ():
        if is_screw_driver_curve(curve):
            yield curve.data_path, curve.array_index


def stray_curve_ids(found: RigParts, posing: Set[CurveId], curves: Iterable[CurveId]) -> set[CurveId]:
    """Return the curves that pose bones of the mechanism besides their joints, or the armature itself.

    Those are locations, rotations and scales without a degree of freedom.

    Args:
        found: Parts of the mechanism.
        posing: Identifiers of the curves of its channels.
        curves: Identifiers of all curves.
    """
    others = {place for place in curves if place not in posing}
    if not others:
        return others
    slides = set(_screw_slides(found.rig))
    own = {bone_path(bone, prop) for bone in found.own_bones for prop in _SIZES} | _SIZES.keys()
    return {place for place in others if place[0] in own and place not in slides}


def has_stray_pose(found: RigParts, channels: Sequence[Channel]) -> bool:
    """Return whether the present pose moves a bone of the mechanism besides its joint.

    ``channels`` are those of all servos and roots.
    """
    numbers = bone_properties(found.rig)
    numbers["rotation_axis_angle"].reshape(-1, 4)[:, 1:] = 0.0  # an axis without an angle is no rotation
    place = {pose.name: number for number, pose in enumerate(found.rig.pose.bones)}
    own = np.array([place[name] for name in found.own_bones], dtype=np.intp)
    strange = {
        prop: np.abs(numbers[prop].reshape(-1, size) - _rest_values(prop)) > _SCALE_TOLERANCE
        for prop, size in _SIZES.items()
    }
    if not any(each[own].any() for each in strange.values()):
        return False
    for channel in channels:
        for prop, index in channel.numbers():
            strange[prop][place[channel.bone], index] = False
    return any(bool(each[own].any()) for each in strange.values())


def _rest_values(prop: str) -> Array:
    """Return the values of a property of a bone at rest."""
    rest = np.zeros(_SIZES[prop])
    rest[: {"scale": 3, "rotation_quaternion": 1}.get(prop, 0)] = 1.0
    return rest


def frames_to_inspect(every: Array, keys: Array) -> Array:
    """Choose frames for a first inspection of bones that nothing else samples: fewer than 1,600.

    Blender evaluates these within some seconds.

    Args:
        every: The frames of the motion and of ``keys``, ascending.
        keys: Those of the curves that move bones besides their joints: all are inspected while they are not too many.
    """
    share = max(len(every) // _MAX_FRAMES, 1)
    wanted = np.unique(np.concatenate([every[::share], every[-1:], keys]))
    return wanted[:: max(len(wanted) // (2 * _MAX_FRAMES), 1)]


def frames_to_refine(every: Array, seen: Array, worst: Sequence[float]) -> Array:
    """Choose frames for a closer inspection of the largest residues: those between their inspected neighbors.

    A residue that occurs only between two inspected frames, far from the largest ones, is missed.

    Args:
        every: All frames, ascending.
        seen: Those that were inspected, ascending.
        worst: Frames among these with the largest residues.
    """
    near = np.zeros(len(every), dtype=bool)
    for at in np.searchsorted(seen, worst).tolist():
        near |= (every > seen[max(at - 1, 0)]) & (every < seen[min(at + 1, len(seen) - 1)])
    left = every[near & ~np.isin(every, seen)]
    return left[:: max(len(left) // _MAX_FRAMES, 1)]
