"""Exports and the panel have one rule of stops: against numbers that Blender's 32 bits round, and for balls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon.core.model import Dof, Joint, Mechanism, Motion, Trajectory
from addon.core.motion.servo_matching import mechanism_servos
from addon.core.report import FormatError
from tests.support.mechanisms import body, joint, model, put


def told(rig: Any, motion: Motion) -> list[bool]:
    """Whether the panel, an export that keeps values and one that refuses them say that a stop is left."""
    import bpy

    from addon.blender.animation import SampleOptions, apply, read_motion
    from addon.blender.animation.motion_checks import check_action

    scene, collection = bpy.context.scene, rig.data.knuckle.collection
    action, _ = apply(motion, collection, scene)
    seen = [any(row.found.outside for row in check_action(rig, action, scene))]
    _, report = read_motion(collection, scene, SampleOptions(stops="KEEP"))
    seen.append(any(entry.code == "values-beyond-stops" for entry in report.entries))
    try:
        read_motion(collection, scene, SampleOptions(stops="REFUSE"))
        seen.append(False)
    except FormatError:
        seen.append(True)
    return seen


@pytest.mark.parametrize("over", [0.0, 5e-5, 1e-2])
def test_a_files_number_is_on_the_stop_that_it_gives(blank: Any, tmp_path: Path, over: float) -> None:
    """It goes out with the file's own digits, which the stop in Blender has not."""
    from addon import formats

    rig = put(
        model(
            body(1, (0, 0, 4)),
            body(2, (0, 0, 2)),
            joint(52, 1, 2, (0, 1.5, 4), (0, 0, 0), (-500.3, 500.3), name="Lift", tag="PrismaticJoint"),
        )
    )
    path = tmp_path / "lift.csv"
    path.write_text(f"time,Lift\n0,0\n1,{500.3 + over:.5f}\n2,{-500.3 - over:.5f}\n", encoding="utf-8")
    (motion,), _ = formats.read_motions(path)
    assert told(rig, motion) == [over > 1e-3] * 3


@pytest.mark.parametrize("over", [0.0, 0.1])
def test_a_ball_has_the_stops_of_its_parts(blank: Any, over: float) -> None:
    from addon.blender.animation.motion_checks import dof_stops

    parts = [Dof("rotation", lower=-0.1 * k, upper=0.2 * k) for k in (1, 2, 3)]
    source = Mechanism("robot", joints=[Joint("1", "Hip", "ball", "a", "b", dofs=[Dof("ball", parts=parts)])])
    rig = put(
        model(body(1, (0, 0, 4)), body(2, (0, 0, 2)), joint(9, 1, 2, (0, 0, 3), name="Hip", tag="SphericalJoint"))
    )
    from addon.blender.data.access import record_of
    from addon.blender.data.conversion import write_dofs
    from addon.blender.data.queries import parts as parts_of

    (empty,) = parts_of(rig, "JOINT")
    record = record_of(empty).joint
    kept = record.dofs[0]
    placed = kept.step, kept.channel
    record.dofs.clear()
    write_dofs(record, source.joints[0].dofs)
    record.dofs[0].step, record.dofs[0].channel = placed
    for number, servo in enumerate(mechanism_servos(source).values()):
        assert dof_stops(parts_of(rig, "JOINT"))["9", number] == pytest.approx(servo.stops)
    values = np.array([0.0, 0.4 + over])
    assert told(rig, Motion("m", [Trajectory("Hip/ry", np.arange(2.0), values)])) == [over > 0.0] * 3
