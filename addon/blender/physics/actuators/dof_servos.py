"""Servos on joints of several degrees: universal, euler, planar, translational, cylindrical joints and balls."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import bpy
import numpy as np

from ....core.model import DOF_SIZE, Array
from ...animation.fcurves import coordinates
from ...animation.rotation_stops import ends_of, shown
from ...data.access import record_of, settings
from ...data.channels import Channel, servo_channels
from ...rig.bone_limits import stop_of
from ..constraints.generic6dof import has_axles
from .bone_targets import LiveBones
from .control_laws import Servos, commands, steady
from .dof_motors import AxleMotors, ensure_axle_motors
from .joint_state import Plant, has_both_ends
from .screw_coupling import as_cylinder, is_screw

_SUFFIX = " Motor"
_Curves = Mapping[tuple[str, int], bpy.types.FCurve]


@dataclass
class SeveralServos:
    """The servos of one joint of several degrees."""

    motors: AxleMotors
    rig: bpy.types.Object
    channels: Sequence[Channel]
    servos: Servos
    stops: Sequence[tuple[float, float, float]]  # of each coordinate, as ``shown`` takes them

    def command(self, poses: Array, told: Array | None, law: str, rate: float) -> Array:
        """Tell the motors what to do in the frame to come. ``told``: the coordinates (4, size) that are wanted at the
        frame's begin and end, and a frame before and after; None: let go, but for what is locked.

        Returns the coordinates (size,) that motors are to bring it to in the frame, nan where none does."""
        motors = self.motors
        actual = motors.look(poses, rate)
        assert motors.course is not None
        wanted = np.full((4, len(actual)), math.nan)
        if told is not None:
            wanted[:, : told.shape[1]] = told
        wanted = np.where(self.servos.locked, motors.start, wanted)
        last, ahead, after = (motors.difference(wanted[k + 1], wanted[k]) for k in range(3))
        error, course = motors.difference(wanted[1], actual), motors.course
        velocity, force = commands(law, self.servos, ahead, error, course, rate, steady(last, ahead, after))
        motors.tell(poses, actual + 0.5 * velocity / rate, velocity, force, rate, law == "PD")
        return np.where(self.servos.free | (self.servos.limit <= 0.0), math.nan, wanted[2])

    def key_targets(self, curves: _Curves, live: LiveBones, frames: Sequence[float]) -> Array:
        """Return the targets that the bones have at frames, (frames, size), as far as their stops let them; of channels
        without keys, what they were set to."""
        out = np.empty((len(frames), len(self.channels)))
        for channel in self.channels:
            if channel.is_single:
                told = self._read(curves, live, channel.path, channel.index, frames)
                out[:, channel.number] = shown(told, *self.stops[channel.number])
        block = [channel for channel in self.channels if not channel.is_single]
        if block:
            path = block[0].path
            turns = np.stack([self._read(curves, live, path, index, frames) for index in range(4)], axis=1)
            first = block[0].number
            out[:, first : first + 3] = coordinates(self.rig, block, np.zeros((len(frames), 3)), turns)
        return out

    def _read(self, curves: _Curves, live: LiveBones, path: str, index: int, frames: Sequence[float]) -> Array:
        if (path, index) in live.keys:
            return np.array([live.at((path, index), frame) for frame in frames])
        curve = curves.get((path, index))
        if curve is not None:
            return np.array([curve.evaluate(frame) for frame in frames])
        return np.full(len(frames), self.rig.path_resolve(path)[index])


def several_servos(scene: bpy.types.Scene, plant: Plant) -> list[SeveralServos]:
    """The servos of a model's joints of several degrees, with motors for those that have any force."""
    channels, format_ = servo_channels(plant.rig), settings(plant.rig).format
    out = []
    for joint in plant.undriven:
        item, screw = (as_cylinder(joint), 1) if is_screw(joint) else (joint, 0)
        record = record_of(item.empty).joint
        if item.joint.id not in channels or not has_axles(item.joint.dofs) or not has_both_ends(plant, record):
            continue
        per_coordinate = [dof for dof in record.dofs for _ in range(DOF_SIZE[dof.kind] + screw)]
        kinds = [dof.kind for dof in item.joint.dofs for _ in range(DOF_SIZE[dof.kind])]
        servos = Servos.of(per_coordinate, [kind != "translation" for kind in kinds], format_)
        servos.free[1:] |= bool(screw)  # the slide of a screw goes where its turn leads it
        if (servos.free | (servos.limit <= 0.0)).all() or format_ == "juice":
            continue  # in Juice, balls have no motors, whatever force is written to them
        ensure_axle_motors(scene, plant, item, "motors", _SUFFIX)
        motors = AxleMotors(item, "motors", servos.turns)
        stops = [ends_of(stop_of(dof, dof.channel, dof.channel_index)) for dof in per_coordinate]
        out.append(SeveralServos(motors, plant.rig, channels[item.joint.id], servos, stops))
    return out


def has_locked(plant: Plant) -> bool:
    """Return whether any joint of a model is one that motors hold whoever drives."""
    empties = [*plant.empties, *(item.empty for item in plant.undriven)]
    return any(dof.actuator == "locked" for empty in empties for dof in record_of(empty).joint.dofs)
