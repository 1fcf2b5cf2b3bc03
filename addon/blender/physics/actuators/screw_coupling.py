"""Screws: a turn and a slide that Blender leaves free of each other, kept together by motors.

Blender has no screw. Once a frame, motors push the slide, and against that the turn with the pitch times as much, so
that the two meet and whatever pushes the one is felt by the other: as a screw without friction does, which runs down
under a weight and is raised by a servo. What accelerated the two apart in the last frames counts; what begins within a
frame is made good in the next few.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import bpy
import numpy as np

from ....core.model import Array, Dof
from ...data.access import record_of
from ..world.scale import size_of
from .dof_coordinates import closed_form
from .dof_motors import AxleMotors, ensure_axle_motors
from .effective_mass import Carried
from .joint_state import Plant, Undriven, has_both_ends

_SUFFIX = " Screw"
#: How much of a distance, and of a speed, between turn and slide is taken back per frame: stable though the masses that
#: are moved were twice what they are taken for.
_BACK, _SLOWED = 0.35, 0.8


@dataclass
class Screw:
    """A screw's turn and slide, as the two coordinates of a cylindrical joint."""

    scene: bpy.types.Scene
    motors: AxleMotors
    pitch: float
    size: float = 1.0  # of the model in the world, in which a turn's force goes as much farther
    ease: float = 0.0  # per kg: how far a force along the slide, and the turn's against it, drive the two apart
    first: float = 0.0  # what pulls the slide when a run begins: its weight
    _turned: float | None = None
    _apart: tuple[float, ...] = ()
    _pushed: tuple[float, ...] = ()

    def mark(self, carried: Carried, poses: Array, rate: float) -> None:
        """When a run begins."""
        joint = self.motors.joint
        turn, slide = carried.by_coordinates(joint, joint.coordinates(poses[None])[0])
        self.size = size_of(record_of(joint.empty).model)
        self.ease = 1.0 / slide + self.size * self.pitch**2 / turn
        self._turned, self._apart, self._pushed = None, (), ()
        axis = poses[joint.parent][:3, :3] @ joint.on_parent[:3, :3] @ joint.joint.dofs[0].axis
        free = [not carried.stands(body) for body in (joint.child, joint.parent)]
        weight = float(np.array(self.scene.gravity) @ axis) if self.scene.use_gravity else 0.0
        self.first = weight * (free[0] - free[1]) * self.scene.rigidbody_world.effector_weights.gravity / self.size

    def command(self, poses: Array, rate: float) -> None:
        """Push for the frame to come."""
        if not self.ease:
            return  # an undo in the middle of a run: it goes on with what it was told
        actual = self.motors.look(poses, rate)
        if self._turned is None:  # the nearest to where the slide has it: it may begin several turns in
            turns = (actual[1] / self.pitch - actual[0]) / (2.0 * math.pi) if self.pitch else 0.0
            self._turned = float(actual[0]) + 2.0 * math.pi * round(turns)
        self._turned += self.motors.short(float(actual[0]) - self._turned)
        push = self._push(float(actual[1]) - self.pitch * self._turned, 1.0 / rate)
        course = self.motors.course
        assert course is not None
        middle = actual + 0.5 * (course.speed + course.change) / rate
        self.motors.push(poses, middle, np.array([-self.size * self.pitch * push, push]))

    def _push(self, apart: float, time: float) -> float:
        """The force along the slide for the ``time`` to come, from how far it is from where the turn has it."""
        substeps = self.scene.rigidbody_world.substeps_per_frame
        step, speed, other = time / substeps, 0.0, self.first
        if self._apart:
            gone = apart - self._apart[-1]
            own = self._pushed[-1] * self.ease
            if len(self._apart) > 1:
                late = 0.5 * (1.0 + step / time)
                lately = late * self._pushed[-1] + (1.0 - late) * self._pushed[-2]
                other = (gone - (self._apart[-1] - self._apart[-2])) / time**2 - lately * self.ease
            speed = gone / time + 0.5 * (time - step) * (own + other)
        push = -((_BACK * apart / time + _SLOWED * speed) / time + other) / self.ease
        self._apart, self._pushed = (*self._apart[-1:], apart), (*self._pushed[-1:], push)
        return push


def is_screw(item: Undriven) -> bool:
    """Return whether a joint is a screw and nothing else."""
    return [dof.kind for dof in item.joint.dofs] == ["screw"]


def as_cylinder(item: Undriven) -> Undriven:
    """A screw as a joint that turns and slides."""
    axis = item.joint.dofs[0].axis
    dofs = [Dof("rotation", axis), Dof("translation", axis)]
    return replace(item, joint=replace(item.joint, dofs=dofs), quick=closed_form(dofs))


def screws_of(scene: bpy.types.Scene, plant: Plant) -> list[Screw]:
    """The screws of a model, with motors that keep their turns and slides together."""
    out = []
    for item in plant.undriven:
        if is_screw(item) and has_both_ends(plant, record_of(item.empty).joint):
            both = as_cylinder(item)
            ensure_axle_motors(scene, plant, both, "pushes", _SUFFIX)
            motors = AxleMotors(both, "pushes", np.array([True, False]))
            out.append(Screw(scene, motors, item.joint.dofs[0].pitch))
    return out
