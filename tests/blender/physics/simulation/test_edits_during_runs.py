"""Values typed while a simulation runs, and after it was rewound: each in a process of its own, which must not crash.

Blender's constraints are created at a step and kept until the next one that rebuilds them, so whatever is written to
them meanwhile meets the old ones."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT

SCRIPT = """
import sys
import bpy
import addon
import numpy as np
from addon.blender.data.queries import parts
from addon.blender.reconcile.build import build
from addon.core.model import Body, Dof, Joint, Mechanism, Shape

addon.register()
here, at = sys.argv[1:]
scene = bpy.context.scene
scene.knuckle_simulate_here = here == "here"
box, bodies, joints = Shape("box", {"x": 0.1, "y": 0.1, "z": 0.5}), [], []
for number in range(12):
    pose, down, up = np.eye(4), np.eye(4), np.eye(4)
    pose[2, 3], down[2, 3], up[2, 3] = 9.0 - 0.5 * number, -0.25, 0.25
    bodies.append(Body(f"b{number}", f"b{number}", pose, mass=1.0, shapes=[box], collidable=False))
    above = (f"b{number - 1}", down) if number else (None, pose @ up)
    dofs = [Dof("rotation", np.array([0.0, 1.0, 0.0]), **({"lower": -0.5, "upper": 0.5} if number % 3 else {}))]
    joints.append(Joint(f"j{number}", f"j{number}", "revolute", above[0], f"b{number}", above[1], up, dofs))
rig = next(obj for obj in build(Mechanism("chain", bodies=bodies, joints=joints)).all_objects
           if obj.knuckle.role == "MODEL")
joints = [empty.knuckle.joint for empty in parts(rig, "JOINT") if empty.knuckle.joint.dofs]
values = {"damping": (2.0, 0.0), "stiffness": (5.0, 0.0), "friction": (1.0, 0.0), "cfm": (1e-4, 0.0),
          "use_lower": (False, True), "lower": (-4.0, -0.5)}
for prop, both in values.items():
    rig.data.knuckle.drive = "SERVO" if prop in {"friction", "lower"} else "LIMP"
    for value in both * (5 if prop in {"damping", "stiffness"} else 2):
        for frame in range(1, 12):
            scene.frame_set(frame)
        if at == "rewound":
            scene.frame_set(1)
        if prop == "cfm":
            rig.data.knuckle.cfm = value
        for dof in (dof for joint in joints for dof in joint.dofs if prop != "cfm"):
            setattr(dof, prop, value)
            setattr(dof, prop, value)  # typed again before Blender takes a step
print("ENDED")
"""


@pytest.mark.parametrize("at", ["during", "rewound"])
@pytest.mark.parametrize("here", ["here", "apart"])
def test_values_typed_at_any_time_do_not_crash(here: str, at: str) -> None:
    pytest.importorskip("bpy", reason="Blender is not here")
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", SCRIPT, here, at],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert "ENDED" in done.stdout and done.returncode == 0, done.stdout[-500:] + done.stderr[-2000:]
