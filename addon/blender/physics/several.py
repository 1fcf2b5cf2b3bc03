"""Servos on joints of several degrees: universal, euler, planar, translational, cylindrical joints and balls."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import bpy
import numpy as np
from mathutils import Matrix

from ...model.records import DOF_SIZE, Array
from ...model.rotations import rotation_matrix, rotation_vector
from ..access import record_of, settings
from ..animation.block_curves import coordinates
from ..channels import Channel, servo_channels
from ..properties import KnuckleMotor
from .anchor import ends_of
from .axles import Axle, apart, axes_at, axles, has_axles, pushed
from .laws import Course, Servos, commands
from .plant import Plant, Undriven, has_both_ends, join_world, new_motor

_SUFFIX = " Motor"
#: Of its own coordinate's axis a motor has at least this: near a joint's locked pose its force does not grow further.
_LEAST_SHARE = 0.1
_Curves = Mapping[tuple[str, int], bpy.types.FCurve]


@dataclass
class SeveralServos:
    """The servos of one joint of several degrees."""

    joint: Undriven
    rig: bpy.types.Object
    channels: Sequence[Channel]
    servos: Servos
    motors: list[Axle] = field(default_factory=list)
    _start: Array | None = None
    _last: Array | None = None
    _course: Course | None = None
    _written: dict[int, tuple[float, float]] = field(default_factory=dict)

    # ---------------------------------------------------------------- where the run begins

    def mark(self, poses: Array) -> dict[bpy.types.Object, Matrix]:
        """Where the motors' empties have to stand for a run that begins with these poses (bodies + 1, 4, 4); what
        becomes of their axes is kept in the record."""
        values = self.joint.coordinates(poses[None])[0]
        self.motors = axles(self.joint.joint.dofs, values)
        here, there = poses[self.joint.parent] @ self.joint.on_parent, poses[self.joint.child] @ self.joint.on_child
        places = {}
        for axle, kept in zip(self.motors, self._kept(), strict=True):
            place = np.eye(4)
            place[:3, :3], place[:3, 3] = here[:3, :3] @ axle.frame(), there[:3, 3]
            on_x, on_z = self._carriers(axle, poses)
            kept.x, kept.z = on_x.T @ place[:3, 0], on_z.T @ place[:3, 2]
            places[kept.empty] = Matrix(place.tolist())
        self._start, self._last, self._course = values, None, None
        return places

    def _kept(self) -> list[KnuckleMotor]:
        return list(record_of(self.joint.empty).joint.motors)

    def _carriers(self, axle: Axle, poses: Array) -> tuple[Array, Array]:
        """The rotations (3, 3) of the bodies that carry a motor's X and its Z."""
        parent, child = poses[self.joint.parent][:3, :3], poses[self.joint.child][:3, :3]
        return (child, parent) if axle.by_child else (parent, child)

    # ---------------------------------------------------------------- each frame

    def command(self, poses: Array, told: Array | None, law: str, rate: float) -> None:
        """Tell the motors what to do in the frame to come. ``told``: the coordinates (2, size) that are wanted at the
        frame's begin and end; None: let go, but for what is locked."""
        actual = self.joint.coordinates(poses[None])[0]
        if not self.motors:  # an undo in the middle of a run
            self.motors, self._start = axles(self.joint.joint.dofs, actual), actual
        wanted = np.full((2, len(actual)), math.nan) if told is None else told
        wanted = np.where(self.servos.locked, self._start, wanted)
        if self._course is None or self._last is None:
            self._course = Course.at_rest(len(actual))
        else:
            self._course.go_on(self._difference(actual, self._last), rate)
        self._last = actual
        velocity, force = commands(
            law,
            self.servos,
            self._difference(wanted[1], wanted[0]),
            self._difference(wanted[0], actual),
            self._course,
            rate,
        )
        self._tell(poses, actual + 0.5 * velocity / rate, velocity, force, rate, law)

    def _difference(self, to: Array, since: Array) -> Array:
        """From some coordinates (size,) to others: angles the short way round, balls as a rotation in the joint's
        frame."""
        out = to - since
        at = 0
        for dof in self.joint.joint.dofs:
            if dof.kind == "ball":
                ends = [rotation_matrix(each[at : at + 3]) for each in (to, since)]
                if not np.isnan(out[at : at + 3]).any():
                    out[at : at + 3] = rotation_vector(ends[0] @ ends[1].T)
            elif dof.kind == "rotation":
                out[at] = (out[at] + math.pi) % (2.0 * math.pi) - math.pi
            at += DOF_SIZE[dof.kind]
        return out

    def _tell(self, poses: Array, middle: Array, velocity: Array, force: Array, rate: float, law: str) -> None:
        """Have the motors do these speeds (size,). Their axes are taken where they are in the middle of the frame."""
        here = poses[self.joint.parent][:3, :3] @ self.joint.on_parent[:3, :3]
        axes = axes_at(self.joint.joint.dofs, middle) @ here.T
        turning = self.servos.turns
        turn, slide = velocity[turning] @ axes[turning], velocity[~turning] @ axes[~turning]
        half = poses.copy()
        half[self.joint.child, :3, :3] = rotation_matrix(0.5 * turn / rate) @ half[self.joint.child, :3, :3]
        pushes = np.array(
            [self._pushed(axle, kept, half) for axle, kept in zip(self.motors, self._kept(), strict=True)]
        )
        most = self._most(pushes, axes, force, law)
        for number, (axle, kept) in enumerate(zip(self.motors, self._kept(), strict=True)):
            # counted as the first body moves against the second, slides the other way round
            sign = 1.0 if axle.child_first else -1.0
            told = sign * float((turn if axle.turns else slide) @ pushes[number])
            self._write(number, kept.empty, axle.turns, told, float(most[number]))

    def _pushed(self, axle: Axle, kept: KnuckleMotor, poses: Array) -> Array:
        """The direction (3,) of a motor's torque or force; zero where it has none."""
        on_x, on_z = self._carriers(axle, poses)
        x = on_x @ np.array(kept.x)
        return pushed(x, on_z @ np.array(kept.z)) if axle.turns else x

    def _most(self, pushes: Array, axes: Array, force: Array, law: str) -> Array:
        """The most that each motor may push with, its direction being a row of ``pushes``. Limits are each
        coordinate's own; of a force that is to be there, the motors that turn get the parts that add up to it."""
        own = np.array([axle.number for axle in self.motors])
        share = np.abs(np.einsum("ni,ni->n", pushes, axes[own]))
        out = np.where(share > 0.0, np.abs(force[own]) / np.maximum(share, _LEAST_SHARE), 0.0)
        turning = np.flatnonzero([axle.turns for axle in self.motors])
        used = turning[apart(pushes[turning])] if len(turning) > 3 else turning
        out[np.setdiff1d(turning, used)] = 0.0
        if law == "PD" and len(used) > 1:
            parts = axes[self.servos.turns] @ pushes[used].T
            out[used] = np.abs(np.linalg.pinv(parts, rcond=_LEAST_SHARE) @ force[self.servos.turns])
        return out

    def _write(self, number: int, empty: bpy.types.Object, turns: bool, velocity: float, force: float) -> None:
        if self._written.get(number) == (velocity, force):
            return
        self._written[number] = velocity, force
        motor = empty.rigid_body_constraint
        if turns:
            motor.motor_ang_target_velocity, motor.motor_ang_max_impulse = velocity, force
        else:
            motor.motor_lin_target_velocity, motor.motor_lin_max_impulse = velocity, force

    # ---------------------------------------------------------------- what is wanted

    def key_targets(self, curves: _Curves, frames: Sequence[float]) -> Array:
        """What the bones want at frames, (frames, size); of channels without keys, what they were set to."""
        out = np.empty((len(frames), len(self.channels)))
        for channel in self.channels:
            if channel.is_single:
                out[:, channel.number] = self._read(curves, channel.path, channel.index, frames)
        block = [channel for channel in self.channels if not channel.is_single]
        if block:
            path = block[0].path
            turns = np.stack([self._read(curves, path, index, frames) for index in range(4)], axis=1)
            first = block[0].number
            out[:, first : first + 3] = coordinates(self.rig, block, np.zeros((len(frames), 3)), turns)
        return out

    def _read(self, curves: _Curves, path: str, index: int, frames: Sequence[float]) -> Array:
        curve = curves.get((path, index))
        if curve is not None:
            return np.array([curve.evaluate(frame) for frame in frames])
        return np.full(len(frames), self.rig.path_resolve(path)[index])


def several_servos(scene: bpy.types.Scene, plant: Plant) -> list[SeveralServos]:
    """The servos of a model's joints of several degrees, with motors for those that have any force."""
    channels, format_ = servo_channels(plant.rig), settings(plant.rig).format
    out = []
    for item in plant.undriven:
        record = record_of(item.empty).joint
        if item.joint.id not in channels or not has_axles(item.joint.dofs) or not has_both_ends(plant, record):
            continue
        per_coordinate = [dof for dof in record.dofs for _ in range(DOF_SIZE[dof.kind])]
        servos = Servos.of(per_coordinate, [dof.kind != "translation" for dof in per_coordinate], format_)
        if (servos.free | (servos.limit <= 0.0)).all() or format_ == "juice":
            continue  # in Juice, balls have no motors, whatever force is written to them
        _ensure(scene, plant, item)
        out.append(SeveralServos(item, plant.rig, channels[item.joint.id], servos))
    return out


def has_locked(plant: Plant) -> bool:
    """Whether any joint of a model is one that motors hold whoever drives."""
    empties = [*plant.empties, *(item.empty for item in plant.undriven)]
    return any(dof.actuator == "locked" for empty in empties for dof in record_of(empty).joint.dofs)


def _ensure(scene: bpy.types.Scene, plant: Plant, item: Undriven) -> None:
    """Make the motors of a joint that are missing."""
    joint = record_of(item.empty).joint
    wanted = axles(item.joint.dofs, np.zeros(sum(DOF_SIZE[dof.kind] for dof in joint.dofs)))
    if len(joint.motors) != len(wanted):
        joint.motors.clear()
        for _ in wanted:
            joint.motors.add().empty = new_motor(plant.rig, item.empty, _SUFFIX)
    ends = ends_of(joint, settings(plant.rig).anchor)
    for axle, kept in zip(wanted, joint.motors, strict=True):
        kept.number = axle.number
        join_world(scene, kept.empty)
        constraint = kept.empty.rigid_body_constraint
        constraint.type, constraint.disable_collisions = "MOTOR", True
        constraint.object1, constraint.object2 = ends[::-1] if axle.child_first else ends
        constraint.use_motor_ang, constraint.use_motor_lin = axle.turns, not axle.turns
        constraint.motor_ang_max_impulse = constraint.motor_lin_max_impulse = 0.0
