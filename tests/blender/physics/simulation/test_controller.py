"""Controllers of mechanisms that begin within a simulation: the joints were collected again, nothing was started."""

from __future__ import annotations

from typing import Any

import pytest

from addon.core.model import Dof
from tests.support.degrees_helpers import X, Z, put
from tests.support.springs_helpers import cube_on_joint

JOINTS = {
    "hinge": [Dof("rotation", Z, stiffness=5.0, damping=0.2, friction=0.1, max_force=10.0)],
    "slider": [Dof("translation", Z, stiffness=50.0, damping=2.0, friction=0.1, max_force=10.0)],
    "turns": [Dof("rotation", Z, lower=-9.0, upper=9.0)],
    "screw": [Dof("screw", Z, pitch=0.1, max_force=10.0)],
    "universal": [Dof("rotation", Z, stiffness=5.0, max_force=10.0), Dof("rotation", X, damping=0.3, friction=0.1)],
    "ball": [Dof("ball", Z, stiffness=5.0, damping=0.3, max_force=10.0)],
    "locked": [Dof("rotation", Z, actuator="locked")],
    "velocity": [Dof("rotation", Z, velocity=1.0)],
}


@pytest.mark.parametrize("law", ["JUICE", "TRACK", "PD"])
@pytest.mark.parametrize("kind", JOINTS)
def test_every_actuator_goes_on_without_a_start(blank: Any, kind: str, law: str) -> None:
    """After a motor was deleted during a simulation a new controller takes its next step."""
    from addon.blender.physics.simulation.controller import ModelController

    rig = put(cube_on_joint(*JOINTS[kind]), physics=True)
    rig.data.knuckle.law, rig.data.knuckle.drive = law, "SERVO"
    for frame in range(1, 6):
        blank.scene.frame_set(frame)
    made = ModelController(blank.scene, rig)
    made.step(6)
    made.step(7)
    assert made.commanded_frame == 7
