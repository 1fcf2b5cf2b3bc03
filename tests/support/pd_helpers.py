"""Helpers for tests of the PD law: responses of a servo to loads and steps, and their closed form."""

from __future__ import annotations

from typing import Any

import numpy as np

from addon.core.model import Array
from tests.support.degrees_helpers import Z, put, slides
from tests.support.mechanisms import key, objects_of, play
from tests.support.springs_helpers import FRAME, MASS, cube_on_joint, moved

PULL = 4.0


def response(scene: Any, stiffness: float, damping: float, limit: float = 0.0, frames: int = 121) -> Array:
    """Where a mass on a slide is that a PD servo holds at 0 and a pull takes away."""
    (dof,) = dofs = slides(Z)
    dof.max_force = limit
    rig = put(cube_on_joint(*dofs, gravity=FRAME[:3, 2] * PULL), physics=True)
    record = objects_of(rig, "JOINT")["j"].knuckle.joint.dofs[0]
    record.servo_stiffness, record.servo_damping = stiffness, damping
    rig.data.knuckle.drive, rig.data.knuckle.law = "SERVO", "PD"
    return np.array(play(scene, frames, lambda: float(moved(rig)[2, 3])))


def stepped(scene: Any, stiffness: float, damping: float, interpolation: str = "CONSTANT", rate: int = 60) -> Array:
    """Where that mass is, without a pull, from the frame on in which its keys jump to 1, for a second."""
    scene.render.fps = rate
    rig = put(cube_on_joint(*slides(Z)), physics=True, adapt_scene=False)
    record = objects_of(rig, "JOINT")["j"].knuckle.joint.dofs[0]
    record.servo_stiffness, record.servo_damping = stiffness, damping
    key(rig, "j", [(1, 0.0), (10, 0.0), (11, 1.0)], interpolation)
    rig.data.knuckle.drive, rig.data.knuckle.law = "SERVO", "PD"
    return np.array(play(scene, rate + 11, lambda: float(moved(rig)[2, 3])))[10:]


def answer(stiffness: float, damping: float, time: Array) -> Array:
    """What a damped oscillator does to a step: 1 - exp(-zwt) (cos wd t + zw / wd sin wd t)."""
    decay = damping / (2 * MASS)
    free = np.sqrt(complex(stiffness / MASS - decay**2))
    return np.real(1 - np.exp(-decay * time) * (np.cos(free * time) + decay / free * np.sin(free * time)))


def deviation(values: Array, stiffness: float, damping: float) -> float:
    """How far a response to the pull is, as a share of the sag."""
    sag, time = MASS * PULL / stiffness, np.arange(len(values)) / 60
    return float(np.abs(values - sag * answer(stiffness, damping, time)).max() / sag)
