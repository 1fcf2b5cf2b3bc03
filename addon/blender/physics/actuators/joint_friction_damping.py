"""Friction and dampers of joints as braking motors: target velocity 0, with the lost force as the limit.

That is exactly Coulomb's friction. A damper's limit is proportional to the velocity and set once a frame.

Note:
    Blender's own damper without a spring exerts only what would be needed if nothing else acted: where gravity brakes
    as well, it hardly brakes. It is stable at any strength, though, also where a motor would not be.
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
#: Largest share of the velocity that a damper may remove per frame as a motor, which brakes that of half a frame ago.
_WEAK = 0.3


@dataclass
class Losses:
    """Friction and damping of a joint.

    ``damping`` (size,) is that of the dampers that Blender's constraint does not have.
    """

    scene: bpy.types.Scene
    motors: AxleMotors
    friction: Array
    damping: Array
    laws: Sequence[JointLaw] = ()
    held: Held | None = None

    def mark(self, carried: Carried, poses: Array, rate: float) -> None:
        """Prepare for a simulation that begins: weak dampers become motors, strong ones Blender's."""
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
        """Set the braking forces for the next frame."""
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
    """Return the controllers of a mechanism's joints with friction or damping, and create their motors."""
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
    """Return the damping (size,) of a joint's dampers that are disabled in Blender's constraint."""
    constraint: Any = joint.empty.rigid_body_constraint
    out = np.zeros(len(joint.joint.dofs))
    for line in lines_of(record_of(joint.empty).joint):
        dof = joint.joint.dofs[line.number]
        if not dof.stiffness and not getattr(constraint, f"use_spring_{line.spring}"):
            out[line.number] = max(dof.damping, 0.0)
    return out
