"""Friction and dampers of joints, as motors that brake: their target is to stand, with as much force as is lost.

That is exactly Coulomb's friction. A damper brakes with so much more as the joint is fast, which is set once a frame.
Blender's own damper without a spring pushes only as far as it would have to if nothing else did: what gravity slows
as well, it hardly brakes. It is stable at any strength, though, and stays where a motor would not be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ....core.force_laws import Held
from ....core.model import Array
from ...data.access import record_of
from ..constraints.generic6dof import is_plain, lines_of
from ..constraints.restraints import JointLaw
from .dof_motors import AxleMotors, ensure_axle_motors
from .effective_mass import Carried
from .joint_state import Plant, Undriven, has_both_ends

_SUFFIX = " Losses"
#: A motor brakes the speed of half a frame ago: well, where a damper takes less than this share of it per frame.
_WEAK = 0.3


@dataclass
class Losses:
    """What a joint loses. ``damping`` (size,) is that of the dampers that have no spring of Blender's."""

    scene: bpy.types.Scene
    motors: AxleMotors
    friction: Array
    damping: Array
    laws: Sequence[JointLaw] = ()
    held: Held | None = None

    def mark(self, carried: Carried, poses: Array, rate: float) -> None:
        """When a run begins: have the dampers be motors where they are weak enough, else Blender's."""
        joint = self.motors.joint
        moved = carried.eased.moved(joint, joint.now(poses), self.motors.turns, poses)
        constraint: Any = joint.empty.rigid_body_constraint
        for line in lines_of(record_of(joint.empty).joint):
            dof = joint.joint.dofs[line.number]
            if dof.damping > 0.0 and not dof.stiffness:
                strong = dof.damping / rate > _WEAK * moved[line.number]
                if getattr(constraint, f"use_spring_{line.spring}") != strong:
                    setattr(constraint, f"use_spring_{line.spring}", bool(strong))
        self.damping = _by_motors(joint)
        smooth = [each.law for each in self.laws if not each.holds]
        if smooth:
            substeps = self.scene.rigidbody_world.substeps_per_frame
            self.held = Held(None, lambda speed: -sum(law(speed) for law in smooth), float(moved[0]), substeps)

    def command(self, poses: Array, rate: float) -> None:
        """Brake for the frame to come."""
        actual = self.motors.look(poses, rate)
        course = self.motors.course
        assert course is not None
        force = self.friction + self.damping * np.abs(course.speed + course.change)
        speed = float(course.speed[0] + course.change[0])
        force[0] += sum(abs(each.law(speed)) if speed else each.holds for each in self.laws if each.holds)
        if self.held is not None:
            force[0] += abs(self.held.force(float(actual[0]), 1.0 / rate, self.motors.short))
        self.motors.tell(poses, actual, np.zeros(len(actual)), force, rate, False)


def losses_of(scene: bpy.types.Scene, plant: Plant) -> list[Losses]:
    """The joints of a model that lose anything, with motors for it."""
    out = []
    for item in plant.lossy:
        if not is_plain(item.joint.dofs) or not has_both_ends(plant, record_of(item.empty).joint):
            continue
        ensure_axle_motors(scene, plant, item, "losses", _SUFFIX)
        turns = np.array([dof.kind == "rotation" for dof in item.joint.dofs], dtype=bool)
        friction = np.array([max(dof.friction, 0.0) for dof in item.joint.dofs])
        laws = [law for law in plant.laws.get(item.empty, ()) if law.brakes]
        out.append(Losses(scene, AxleMotors(item, "losses", turns), friction, _by_motors(item), laws))
    return out


def _by_motors(joint: Undriven) -> Array:
    """The damping (size,) of a joint's dampers that Blender's constraint was told not to have."""
    constraint: Any = joint.empty.rigid_body_constraint
    out = np.zeros(len(joint.joint.dofs))
    for line in lines_of(record_of(joint.empty).joint):
        dof = joint.joint.dofs[line.number]
        if not dof.stiffness and not getattr(constraint, f"use_spring_{line.spring}"):
            out[line.number] = max(dof.damping, 0.0)
    return out
