"""Where a model with loops begins: as the file has it, or closed. Judged on the bodies that Blender evaluates."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon import formats
from addon.core.model import Array, Joint, Mechanism
from tests.conftest import CORPUS

CLOSED = 1e-5  # of the model's size: Blender's numbers are 32-bit
OPEN = sorted(
    path for path in (CORPUS / "shift").rglob("*.json") if path.parent.name in {"slider_crank", "excavator", "brake"}
)
NO_FILES = [pytest.param(None, marks=pytest.mark.skip(reason="real Shift files are not here"))]


def bodies_of(rig: Any, names: bool = False) -> dict[str, Array]:
    """Where Blender shows each body's centre of mass, in the file's axes, by its id or its name."""
    import bpy

    bpy.context.view_layer.update()
    graph = bpy.context.evaluated_depsgraph_get()
    upright = np.linalg.inv(np.array(rig.matrix_world))
    out = {}
    for obj in rig.knuckle.model.data.knuckle.collection.all_objects:
        if obj.knuckle.role == "BODY":
            record = obj.knuckle
            out[record.source_name if names else record.source_id] = upright @ np.array(
                obj.evaluated_get(graph).matrix_world
            )
    return out


def opening(joint: Joint, mechanism: Mechanism, placed: dict[str, Array]) -> float:
    """How far a joint of one turn or slide, or a rigid one, is from holding its bodies together."""
    coms = {body.id: body.com for body in mechanism.bodies}
    ends = []
    for body, frame in ((joint.parent, joint.frame_parent), (joint.child, joint.frame_child)):
        pose = np.eye(4) if body is None else placed[body].copy()
        if body is not None:
            pose[:3, 3] -= pose[:3, :3] @ coms[body]
        ends.append(pose @ frame)
    between = np.linalg.inv(ends[0]) @ ends[1]
    away, turn = between[:3, 3], between[:3, :3]
    if not joint.dofs:
        return max(np.abs(away).max(), np.abs(turn - np.eye(3)).max())
    (dof,) = joint.dofs
    axis = dof.axis / np.linalg.norm(dof.axis)
    if dof.kind == "rotation":
        return max(np.abs(away).max(), np.abs(turn @ axis - axis).max())
    return max(np.abs(away - axis * (axis @ away)).max(), np.abs(turn - np.eye(3)).max())


def put(mechanism: Mechanism, **options: Any) -> Any:
    import bpy

    from addon.blender.data.queries import rig_in
    from addon.blender.reconcile.build import BuildOptions, build

    return rig_in(build(mechanism, bpy.context, BuildOptions(gait=False, physics=False, **options)))


@pytest.mark.parametrize("path", OPEN or NO_FILES, ids=lambda path: path.name if path else "")
def test_real_loops_are_closed_where_the_model_stands(blank: Any, path: Path) -> None:
    mechanism = formats.load(path)
    placed = bodies_of(put(mechanism))
    size = max(1.0, *(np.linalg.norm(pose[:3, 3]) for pose in placed.values()))
    checked = [joint for joint in mechanism.joints if joint.active and len(joint.dofs) < 2]
    assert len(checked) > 3
    # a ball or a float closes no loop in these files
    checked = [joint for joint in checked if not joint.dofs or joint.dofs[0].kind in {"rotation", "translation"}]
    assert max(opening(joint, mechanism, placed) for joint in checked) < CLOSED * size


def four_bar(crank: float, rocker: float) -> str:
    """Ground 1, crank 0.4, coupler 1, rocker 0.8 as Shift has it; the coupler's joint with the rocker is left over.
    The numbers are the angles at which the two on the ground begin."""

    def body(name: str, length: float) -> dict[str, Any]:
        return {
            "name": name,
            "mass": 1.0,
            "center_of_mass": [length / 2, 0, 0],
            "frames": [{"name": "tip", "T": [length, 0, 0]}],
        }

    def joint(name: str, parent: list[str], child: list[str], start: float) -> dict[str, Any]:
        return {"name": name, "type": "Rz", "body_frame_pairs": [parent, child], "initial_displacement": start}

    return json.dumps(
        {
            "fixed": {"frames": [{"name": "far", "T": [1.0, 0, 0]}]},
            "assemblies": [
                {
                    "name": "four bar",
                    "bodies": [body("crank", 0.4), body("coupler", 1.0), body("rocker", 0.8)],
                    "joints": [
                        joint("a", ["fixed", "origin"], ["crank", "origin"], crank),
                        joint("d", ["fixed", "far"], ["rocker", "origin"], rocker),
                        joint("b", ["crank", "tip"], ["coupler", "origin"], -crank),
                        joint("c", ["coupler", "tip"], ["rocker", "tip"], 0.0),
                    ],
                }
            ],
        }
    )


def tip(placed: dict[str, Array], body: str, length: float) -> Array:
    """The far end of a bar whose centre of mass, where Blender's object stands, is in its middle."""
    return placed[body][:3, 3] + placed[body][:3, 0] * length / 2


def test_a_loop_that_the_file_leaves_open_is_closed_near_where_it_was(blank: Any) -> None:
    mechanism = formats.loads(four_bar(math.radians(60), math.radians(80)).encode())
    placed = bodies_of(put(mechanism), names=True)
    assert np.abs(tip(placed, "coupler", 1.0) - tip(placed, "rocker", 0.8)).max() < 1e-6
    turned = {name: math.degrees(math.atan2(placed[name][1, 0], placed[name][0, 0])) for name in ("crank", "rocker")}
    assert turned["crank"] == pytest.approx(60, abs=25) and turned["rocker"] == pytest.approx(80, abs=25)
    entry = next(entry for entry in mechanism.report.entries if entry.code == "assembled")
    assert entry.severity == "info" and "Closed loops: 1 of 1 are open" in entry.message
    assert entry.message.endswith("initial joint values closes all")
    assert entry.line
    told = [each for each in mechanism.report.entries if "loop" in each.message and each.severity == "warning"]
    assert not told, "what the next line closes is not warned of"


def test_assembling_can_be_left_out(blank: Any) -> None:
    mechanism = formats.loads(four_bar(math.radians(60), math.radians(80)).encode())
    placed = bodies_of(put(mechanism, assemble=False), names=True)
    turned = {name: math.degrees(math.atan2(placed[name][1, 0], placed[name][0, 0])) for name in ("crank", "rocker")}
    assert turned["crank"] == pytest.approx(60, abs=1e-4) and turned["rocker"] == pytest.approx(80, abs=1e-4)
    assert not [entry for entry in mechanism.report.entries if entry.code == "assembled"]
    assert [entry.severity for entry in mechanism.report.entries if entry.code == "loop"] == ["warning"]


def test_a_loop_that_cannot_close_is_reported_as_such(blank: Any) -> None:
    text = four_bar(0.5, 1.0).replace("[1.0, 0, 0]", "[9.0, 0, 0]", 1)
    mechanism = formats.loads(text.encode())
    put(mechanism)
    entry = next(entry for entry in mechanism.report.entries if entry.code == "assembled")
    assert entry.severity == "warning" and " open" in entry.message and "initial joint values leaves" in entry.message


def test_an_assembled_model_goes_out_as_it_came(blank: Any) -> None:
    from addon.blender.scene.read.mechanism import extract

    text = four_bar(math.radians(60), math.radians(80))
    rig = put(formats.loads(text.encode()))
    out, _report = formats.dumps(extract(rig.data.knuckle.collection))
    assert out == text


def test_the_start_of_a_servo_is_where_the_loop_closes(blank: Any) -> None:
    from addon.blender.data.channels import servo_channels

    rig = put(formats.loads(four_bar(math.radians(60), math.radians(80)).encode()))
    channels = {channel.name: channel for (channel,) in servo_channels(rig).values()}
    for name in ("a", "d", "b"):
        assert channels[name].start == pytest.approx(rig.pose.bones[name].rotation_euler.z, abs=1e-6)
    assert abs(channels["d"].start - math.radians(80)) > 1e-3


def test_a_run_begins_with_closed_loops_and_keeps_them_closed(blank: Any) -> None:
    from addon.blender.data.queries import rig_in
    from addon.blender.physics.recording.bake import record
    from addon.blender.reconcile.build import BuildOptions, build

    mechanism = formats.loads(four_bar(math.radians(60), math.radians(80)).encode())
    rig = rig_in(build(mechanism, blank, BuildOptions(gait=False)))
    rig.data.knuckle.drive = "LIMP"
    recording = record(blank.scene, rig, 60)
    assert recording.max_joint_separation() < 0.01
    placed = bodies_of(rig, names=True)
    assert np.abs(tip(placed, "coupler", 1.0) - tip(placed, "rocker", 0.8)).max() < 0.01


def test_a_body_moved_in_an_open_loop_leaves_its_joints_where_they_are(blank: Any) -> None:
    """The chord's two sides are apart at design, where all coordinates are 0; both stay where they were."""
    from addon.blender.scene.read.mechanism import extract
    from addon.core.kinematics import design_openings

    mechanism = formats.loads(four_bar(math.radians(60), math.radians(80)).encode())
    (before,) = design_openings(mechanism).items()
    rig = put(mechanism)
    rocker = next(obj for obj in rig.data.knuckle.collection.all_objects if obj.knuckle.source_name == "rocker")
    rocker.location.y += 0.25
    found = extract(rig.data.knuckle.collection)
    (after,) = design_openings(found).items()
    assert before[0] == after[0] and np.allclose(before[1], after[1], atol=1e-6)
