"""The truth about a run in Blender: the same figures as anybody finds who measures the evaluated bodies."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.mechanisms import (
    XmlModel,
    body,
    coordinate,
    gap,
    joint,
    key,
    model,
    objects_of,
    play,
    put,
    world_of,
)
from tests.support.truth_helpers import SOFT, G, baked


def test_figures_of_a_soft_model_are_those_that_bodies_show(blank: Any) -> None:
    rig, document = put(SOFT), XmlModel(SOFT)
    key(rig, 11, [(1, 0.0), (30, 0.7), (60, -0.2)])
    key(rig, 12, [(1, 0.0), (60, 0.3)])
    rig.data.knuckle.drive = "SERVO"
    hinges = (11, 12)
    seen = play(
        blank.scene,
        60,
        lambda: ([gap(rig, n, document) for n in (11, 12, 13)], [coordinate(rig, n, document) for n in hinges]),
    )
    gaps, values = (np.array(column) for column in zip(*seen, strict=True))
    found = {joint.id: joint for joint in baked(rig, 60).joints}
    assert list(found) == ["11", "12", "13"]
    assert gaps.max() > 0.02, "it is soft"
    for column, number in enumerate(found):
        assert found[number].separation == pytest.approx(gaps[:, column].max(), rel=1e-3)
        assert found[number].mean_separation == pytest.approx(gaps[:, column].mean(), rel=1e-3)
    # links: the upper arm from hinge to hinge, the lower from hinge to ball; the hand is half a unit wide
    assert [joint.length for joint in found.values()] == pytest.approx([2, 1, 0.5], abs=1e-4)
    frames = np.arange(2, 61)
    wanted = np.stack(
        [np.interp(frames, [1, 30, 60], [0.0, 0.7, -0.2]), np.interp(frames, [1, 60], [0.0, 0.3])], axis=1
    )
    errors = np.abs(wanted - values[1:])
    assert errors.max() > 0.05, "it is weak"
    for column, number in enumerate(("11", "12")):
        assert found[number].tracking_error == pytest.approx(errors[:, column].max(), abs=2e-4)
        assert found[number].mean_tracking_error == pytest.approx(errors[:, column].mean(), abs=2e-4)
    assert math.isnan(found["13"].tracking_error)


def test_stops_that_physics_does_not_know_of_are_run_over(blank: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from addon.blender.events.signals import signals_blocked
    from addon.blender.physics.simulation import initial_state as starting

    rig, document = put(SOFT), XmlModel(SOFT)
    rig.data.knuckle.drive = "LIMP"
    monkeypatch.setattr(starting, "write_stops", lambda *_: None)
    with signals_blocked():
        for number, (lower, upper) in {"11": (-0.3, 3.0), "12": (-2.9, 0.1)}.items():
            dof = objects_of(rig, "JOINT")[number].knuckle.joint.dofs[0]
            dof.use_lower, dof.lower, dof.use_upper, dof.upper = True, lower, True, upper
    seen = np.array(play(blank.scene, 50, lambda: [coordinate(rig, number, document) for number in (11, 12)]))
    found = {joint.id: joint.stop_overrun for joint in baked(rig, 50).joints}
    assert found["11"] == pytest.approx(-0.3 - seen[:, 0].min(), abs=2e-4)
    assert found["12"] == pytest.approx(seen[:, 1].max() - 0.1, abs=2e-4)
    assert min(found["11"], found["12"]) > 0.1


def test_how_deep_bodies_are_in_the_ground_is_measured_on_what_is_seen(blank: Any) -> None:
    """A heavy block on a light one, dropped: its corners, in every frame."""
    text = model(body(1, (0, 0, 3), (1, 2, 1), mass=50, ypr=(20, 30, 10), name="Crate"), gravity=G)
    rig = put(text, gait=False)
    rig.data.knuckle.drive = "LIMP"
    crate = objects_of(rig, "BODY")["1"]
    corners = np.array([vertex.co[:] for vertex in crate.data.vertices])

    def depth() -> float:
        pose = world_of(crate)
        return -float((corners @ pose[2, :3] + pose[2, 3]).min())

    depths = play(blank.scene, 90, depth)
    truth = baked(rig, 90)
    assert max(depths) > 1e-4, "it strikes the ground"
    assert truth.penetration == pytest.approx(max(depths), abs=2e-5)
    kept = rig.data.knuckle.accuracy
    assert kept.deepest_frame == int(np.argmax(depths)) + 1
    assert kept.deepest_names == "Crate\n"


def test_a_limp_pendulum_gains_no_energy_and_a_pushed_one_does(blank: Any) -> None:
    text = model(
        body(1, (0, 0, 6), (1, 1, 12), mass=1e5),
        body(2, (2, 0, 6), (3, 0.2, 0.2), mass=2),
        joint(3, 1, 2, (0.5, 0, 6), (0, 90, 0), force=0),
        gravity=G,
    )
    rig = put(text)
    rig.data.knuckle.drive = "LIMP"
    assert baked(rig, 60).energy_gained < 0.01
    import bpy

    wind = bpy.data.objects.new("Wind", None)
    blank.scene.collection.objects.link(wind)
    bpy.context.view_layer.objects.active = wind
    bpy.ops.object.forcefield_toggle()
    wind.field.type, wind.field.strength = "FORCE", -400
    wind.location = (3, 0, -6)
    rig.data.knuckle.drive = "LIMP"
    assert baked(rig, 60).energy_gained > 0.1


def test_what_is_known_of_a_run_stays_with_the_model(blank: Any, tmp_path: Path) -> None:
    import bpy

    from addon.blender.physics.recording.accuracy import accuracy_lines, worst_joint_lines

    rig = put(SOFT)
    assert (accuracy_lines(rig), worst_joint_lines(rig)) == ([], [])
    assert not bpy.ops.knuckle.select_worst.poll()
    rig.data.knuckle.drive = "LIMP"
    baked(rig, 20)
    lines, worst = accuracy_lines(rig), worst_joint_lines(rig)
    assert rig.data.knuckle.accuracy.run == "Ragdoll, frames 1 to 20"
    assert [line.what for line in lines] == ["Joint separation", "Stop overrun", "Energy gained", "Penetration"]
    assert len(worst) == 3
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "kept.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "kept.blend"))
    rig = next(obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")
    assert accuracy_lines(rig) == lines
    again = worst_joint_lines(rig)
    assert [line for _, line in again] == [line for _, line in worst]
    shares = {row.id: row.separation / row.length for row in rig.data.knuckle.accuracy.joints}
    assert [empty.knuckle.source_id for empty, _ in again] == sorted(shares, key=lambda key: -shares[key])
    assert bpy.ops.knuckle.select_worst() == {"FINISHED"}
    assert set(bpy.context.view_layer.objects.selected) == {empty for empty, _ in again}
    assert bpy.context.view_layer.objects.active == again[0][0]
    bpy.data.objects.remove(again[0][0])
    assert worst_joint_lines(rig)[0][0] is None


def test_a_servo_that_is_told_nothing_has_no_error(blank: Any) -> None:
    rig = put(SOFT.replace("<MaxForce>20</MaxForce>", "<MaxForce>0</MaxForce>"))
    rig.data.knuckle.drive = "SERVO"
    found = {joint.id: joint.tracking_error for joint in baked(rig, 10).joints}
    assert found["11"] > 0
    assert math.isnan(found["12"])
