"""Helpers for tests of Juice's soft joints: a body on one, and the real files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.mechanisms import JUICE, XmlModel, body, joint, model, objects_of, put

#: CFM, ERP, mass (kg) and gravity (m/s2) of bodies on a soft joint; the first are those of a real walker.
CASES = (
    (1e-3, 1.0, 1.0, 50.0), (1e-4, 0.5, 1.0, 9.81), (1e-3, 0.2, 1.0, 50.0), (1e-3, 1.0, 10.0, 50.0),
    (1e-2, 0.5, 1.0, 9.81), (1e-4, 1.0, 0.25, 9.81),
)  # fmt: skip


def sag_ratio(scene: Any, cfm: float, erp: float, mass: float, gravity: float, quality: str = "BAKE") -> float:
    """Sag of a body at rest on a soft hinge, over ODE's force * step * CFM / ERP."""
    from addon.blender.physics.recording.bake import record
    from addon.blender.physics.world.rigidbody_world import steps_applied

    text = model(
        body(1, (0, 0, 5), mass=1e5, size=(4, 4, 10)),
        body(2, (0, 0, 4), mass=mass),
        joint(3, 1, 2, (0, 0, 4), (0, 90, 0)),  # an axis that lies flat, through the body's middle
        gravity=gravity,
        cfm=cfm,
        erp=erp,
    )
    rig, _document = put(text), XmlModel(text)
    rig.data.knuckle.drive = "LIMP"
    with steps_applied(scene, [rig], quality):
        record_ = record(scene, rig, scene.frame_start + 60)
    names = list(objects_of(rig, "BODY"))
    pose = [record_.poses[-1, names.index(str(number))] for number in (1, 2)]
    sunk = (pose[0] - record_.poses[0, names.index("1")])[2, 3] - (pose[1] - record_.poses[0, names.index("2")])[2, 3]
    return float(sunk / (mass * gravity * 0.01 * cfm / erp))


def real_factors(fresh: Callable[[], Any], quality: str) -> list[tuple[float, bool]]:
    """By how much the softest joint of each real file with soft ones is softer than in the file, and whether the panel
    says so."""
    from addon import formats
    from addon.blender.build import build
    from addon.blender.physics.recording.step_trials import selection_lines
    from addon.blender.physics.world.solver_settings import required_solver_settings, softness_rate

    out = []
    for path in sorted((JUICE / "models").glob("*.jm")):
        scene = fresh()
        try:
            build(formats.load(path))
        except (formats.FormatError, ValueError):
            continue
        rig = next(obj for obj in scene.objects if obj.knuckle.role == "MODEL")
        exact = softness_rate(rig)
        if exact > 0.0:
            factor = max(exact / required_solver_settings(rig, quality).steps, 1.0) ** 2
            out.append((factor, any("softer" in line for line in selection_lines(rig))))
    return out
