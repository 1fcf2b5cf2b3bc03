"""Joints that become another type where they begin, or are posed, away from zero: their bodies stay where they stand.

What the new type can say of that it says: a hinge at 0.5 rad becomes a ball turned by as much. The rest goes into the
design: a hinge that is welded is welded as it is seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import bpy
import numpy as np
from mathutils import Matrix

from ...model.kinematics import joint_coordinates, joint_motion
from ...model.records import DOF_SIZE, Array, Dof, Joint
from ...model.report import Report
from ...model.rotations import inverse
from ..access import record_of
from ..channels import servo_channels
from ..model_parts import bones_of
from ..posing import read_pose, write_pose
from ..records import read_dofs
from .chains import chain_of, design_here

#: Motions that differ by no more are the same.
_SAME = 1e-9


class Retyping:
    """A joint before, while and after it gets other degrees of freedom: first ``Retyping`` as it is, then ``begin``
    with the new ones, which are put into its record after, then ``design``, and ``pose`` when the armature is refitted.

    ``kept``: its degrees of freedom once more, of which those that go on are among the new ones themselves."""

    def __init__(self, empty: bpy.types.Object, kept: Sequence[Dof] = ()) -> None:
        self._empty, self._rig = empty, record_of(empty).model
        self._old, self._kept, self._new = read_dofs(record_of(empty).joint), kept, list[Dof]()
        pose = read_pose(self._rig, servo_channels(self._rig).get(record_of(empty).source_id, ()))
        self._start = _together(dof.initial for dof in self._old)
        self._pose = pose if len(pose) == len(self._start) else self._start  # one that closes a loop has no pose
        self._posed = bool(self._pose.any())
        self._now = np.zeros(0)

    def begin(self, dofs: Sequence[Dof]) -> None:
        """Have new degrees of freedom begin where the old ones had the bodies, as far as they can."""
        self._new = list(dofs)
        self._now = self._as_new(self._pose)
        if self._start.any():
            for dof, start in zip(dofs, _apart(dofs, self._as_new(self._start)), strict=True):
                if DOF_SIZE[dof.kind] == 1:
                    dof.position = float(start[0])
                else:
                    dof.start = tuple(start.tolist()) if start.any() else ()

    def _as_new(self, old: Array) -> Array:
        """The new coordinates that come nearest to old ones: those that go on as they were, if these do it."""
        numbers = dict(zip(map(id, self._kept), _apart(self._old, old), strict=False))
        same = _together(numbers.get(id(dof), np.zeros(DOF_SIZE[dof.kind])) for dof in self._new)
        motion = _motion(self._old, old)
        if np.abs(_motion(self._new, same) - motion).max() < _SAME:
            return same
        near = joint_coordinates(_joint(self._new), motion[None])[0]
        return np.where(np.abs(near) < _SAME, 0.0, near)

    def design(self, frame: Array) -> Report:
        """Have the child, and what hangs on it, be designed where it stands, but for what the new degrees of freedom
        say. ``frame`` (4, 4) is the joint's."""
        report, joint = Report(), record_of(self._empty).joint
        motion = _motion(self._new, self._now)
        if np.abs(motion - _motion(self._old, self._pose)).max() < _SAME:
            return report
        if joint.child is not None and (joint.parent is not None or joint.at_world):
            if joint.parent is not None and joint.parent in chain_of(self._rig, joint.child, self._empty):
                report.warn(
                    "posed-loop",
                    f"{self._empty.name!r} is on a loop and posed: its bodies move",
                    where=self._empty.name,
                )
            else:
                back = Matrix((frame @ inverse(motion) @ inverse(frame)).tolist())
                design_here(self._rig, joint.parent, joint.child, self._empty, back)
        return report

    def pose(self) -> None:
        """Pose the joint as it was posed, as far as it can be now."""
        if not self._posed:
            return
        for name in bones_of(self._empty):
            bone = self._rig.pose.bones[name]
            bone.location = bone.rotation_euler = (0.0, 0.0, 0.0)
            bone.rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
        channels = servo_channels(self._rig).get(record_of(self._empty).source_id, ())
        if len(channels) == len(self._now):
            write_pose(self._rig, channels, self._now)


def _together(coordinates: Iterable[Array]) -> Array:
    return np.concatenate([np.zeros(0), *coordinates])


def _apart(dofs: Sequence[Dof], coordinates: Array) -> list[Array]:
    """The coordinates of each degree of freedom."""
    return np.split(coordinates, np.cumsum([DOF_SIZE[dof.kind] for dof in dofs])[:-1]) if dofs else []


def _joint(dofs: Sequence[Dof]) -> Joint:
    return Joint("", "", "", None, None, dofs=list(dofs))


def _motion(dofs: Sequence[Dof], coordinates: Array) -> Array:
    return joint_motion(_joint(dofs), coordinates[None])[0]
