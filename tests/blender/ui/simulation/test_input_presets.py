"""Input presets in Blender: the buttons, and what an import begins with."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.scenes import OWN

HEXAPOD = OWN / "hexapod/hexapod.jm"
SAMPLES = [OWN / "rover/rover.jm", HEXAPOD]


def imported(path: Path, **options: Any) -> Any:
    import bpy

    assert bpy.ops.import_scene.mechanism(filepath=str(path), gait_seconds=1.0, **options) == {"FINISHED"}
    return bpy.context.object


def inputs(rig: Any) -> dict[str, float]:
    controls = rig.data.knuckle.controls
    names = [prop.identifier for prop in controls.bl_rna.properties if prop.type == "FLOAT"]
    return {name: getattr(controls, name) for name in names if getattr(controls, name)}


def swing(rig: Any, servo: str = "Left Front Swing") -> float:
    """How far a servo goes in the Action that plays, in degrees."""
    from addon.blender.data.channels import pose_curves

    path = next(curve for (path, _index), curve in pose_curves(rig).items() if servo in path)
    values = [point.co[1] for point in path.keyframe_points]
    return float(np.degrees(np.ptp(values)))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_script_leaves_all_inputs_at_rest(blank: Any, path: Path) -> None:
    assert inputs(imported(path)) == {}


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_import_by_hand_lets_a_sample_go_forward_and_exports_it_byte_for_byte(
    blank: Any, tmp_path: Path, path: Path
) -> None:
    import bpy

    copy = tmp_path / "of another name.jm"
    shutil.copy(path, copy)
    rig = imported(copy, inputs="AUTO")
    assert inputs(rig) == {"joystick_1_y": -1.0}
    out = tmp_path / "out.jm"
    assert bpy.ops.export_scene.mechanism(filepath=str(out), format="juice") == {"FINISHED"}
    assert out.read_bytes() == path.read_bytes()


def test_import_by_hand_leaves_other_files_at_rest(blank: Any, tmp_path: Path) -> None:
    edited = tmp_path / "hexapod.jm"
    edited.write_bytes(HEXAPOD.read_bytes() + b"\n")
    assert inputs(imported(edited, inputs="AUTO")) == {}


def test_sample_walks_from_its_first_frame_on(blank: Any) -> None:
    rig = imported(HEXAPOD)
    assert swing(rig) == 0.0
    walking = imported(HEXAPOD, inputs="AUTO")
    assert swing(walking) > 10.0
    assert walking.animation_data.action.name == "hexapod Gait.001"
    assert tuple(walking.animation_data.action.frame_range) == tuple(rig.animation_data.action.frame_range)


def test_buttons_set_the_inputs_and_bake_the_gait_that_plays(blank: Any) -> None:
    import bpy

    rig = imported(HEXAPOD)
    name, count = rig.animation_data.action.name, len(bpy.data.actions)
    for preset, expected in (
        ("FORWARD", {"joystick_1_y": -1.0}),
        ("TURN_RIGHT", {"joystick_1_x": 1.0}),
        ("STAND", {}),
    ):
        assert bpy.ops.knuckle.set_inputs(preset=preset) == {"FINISHED"}
        assert inputs(rig) == expected
        assert (swing(rig) > 5.0) == bool(expected)
        assert (rig.animation_data.action.name, len(bpy.data.actions)) == (name, count)


def test_an_edited_motion_stays(blank: Any) -> None:
    import bpy

    rig = imported(HEXAPOD)
    from addon.blender.data.channels import pose_curves

    curve = next(iter(pose_curves(rig).values()))
    curve.keyframe_points[0].co[1] += 0.1
    action = rig.animation_data.action
    bpy.ops.knuckle.set_inputs(preset="FORWARD")
    assert inputs(rig) == {"joystick_1_y": -1.0}
    assert rig.animation_data.action == action and swing(rig) == 0.0


def test_keyed_inputs_are_told(blank: Any, capfd: pytest.CaptureFixture[str]) -> None:
    import bpy

    rig = imported(HEXAPOD)
    rig.data.knuckle.controls.keyframe_insert("joystick_1_y", frame=1)
    bpy.ops.knuckle.set_inputs(preset="TURN_LEFT")
    assert "Warning: The keyframes of joystick 1 y override the preset" in capfd.readouterr().out


def test_what_the_gait_cannot_do_is_told(blank: Any) -> None:
    import bpy

    from tests.support.references import CORPUS

    path = CORPUS / "juice/models/Backhoe.jm"
    if not path.exists():
        pytest.skip("the corpus is not here")
    imported(path)
    with pytest.raises(RuntimeError, match="No input lets the mechanism do this: Forward"):
        bpy.ops.knuckle.set_inputs(preset="FORWARD")
