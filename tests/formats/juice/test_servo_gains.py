"""A model of another format, converted to Juice, holds itself up there: its servos are given what they need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from addon import formats
from addon.blender.data.access import record_of, settings
from addon.blender.data.queries import parts, rig_in
from addon.blender.reconcile.build import build

LINK = """<body name="{name}"><transformation>{x} 0 0.6 0 0 0</transformation>
<inertia><mass>2</mass></inertia>
<collision_shape><transformation>0.3 0 0 0 0 0</transformation>
<geometry><box><size>0.6 0.08 0.08</size></box></geometry></collision_shape></body>
"""
JOINT = """<joint type="revolute" name="{name}"><parent>{parent}</parent><child>{child}</child>
<axis><xyz>0 1 0</xyz></axis></joint>
"""
#: A block that stands on the ground, and an arm of two links straight out from it.
ARM = f"""<?xml version="1.0" ?>
<skel version="1.0"><world name="w"><physics><gravity>0 0 -9.81</gravity></physics><skeleton name="arm">
<body name="base"><transformation>0 0 0.3 0 0 0</transformation><inertia><mass>60</mass></inertia>
<collision_shape><geometry><box><size>0.8 0.8 0.6</size></box></geometry></collision_shape></body>
{LINK.format(name="upper", x=0.45)}{LINK.format(name="fore", x=1.05)}
<joint type="free" name="root"><parent>world</parent><child>base</child></joint>
{JOINT.format(name="shoulder", parent="base", child="upper")}{JOINT.format(name="elbow", parent="upper", child="fore")}
</skeleton></world></skel>
"""


def converted(tmp_path: Path) -> tuple[Path, Path]:
    source, target = tmp_path / "arm.skel", tmp_path / "arm.jm"
    source.write_text(ARM)
    formats.save(formats.load(source), target)
    return source, target


def drop_after(mechanism: Any, law: str, seconds: float = 1.5) -> float:
    """By how much the fore-arm's end sinks under physics with its servos on."""
    scene = bpy.context.scene
    rig = rig_in(build(mechanism))
    settings(rig).drive, settings(rig).law, settings(rig).has_ground = "SERVO", law, True
    fore = next(obj for obj in parts(rig, "BODY") if record_of(obj).source_name == "fore")
    heights = []
    scene.frame_end = 1 + round(seconds * scene.render.fps)
    for frame in range(1, scene.frame_end + 1):
        scene.frame_set(frame)
        heights.append(float(fore.matrix_world.translation.z))
    return heights[0] - min(heights)


@pytest.mark.parametrize("law", ["JUICE", "TRACK"])
def test_an_arm_holds_its_pose_in_juice(blank: Any, tmp_path: Path, law: str) -> None:
    _source, target = converted(tmp_path)
    assert abs(drop_after(formats.load(target), law)) < 0.03


def test_an_arm_without_chosen_gains_falls(blank: Any, tmp_path: Path) -> None:
    mechanism = formats.load(converted(tmp_path)[1])
    for joint in mechanism.joints:
        joint.dofs[0].max_force = 0.0
    assert drop_after(mechanism, "JUICE") > 0.3


def test_a_converted_model_goes_back_as_it_was(blank: Any, tmp_path: Path) -> None:
    """Also through Blender, which keeps numbers in 32 bits; and what is set there is kept."""
    source, target = converted(tmp_path)
    assert bpy.ops.import_scene.mechanism(filepath=str(target)) == {"FINISHED"}
    back = tmp_path / "back.skel"
    assert bpy.ops.export_scene.mechanism(filepath=str(back)) == {"FINISHED"}
    wanted, found = (
        {joint.name: joint.dofs[0] for joint in formats.load(path).joints if joint.type == "revolute"}
        for path in (source, back)
    )
    assert wanted.keys() == found.keys() == {"shoulder", "elbow"}
    for name, dof in wanted.items():
        assert (found[name].gain, found[name].max_force) == (dof.gain, dof.max_force) == (0.0, 0.0)
    rig = next(obj for obj in bpy.data.objects if record_of(obj).role == "MODEL")
    for empty in parts(rig, "JOINT"):
        record_of(empty).joint.dofs[0].max_force = 50.0
    assert bpy.ops.export_scene.mechanism(filepath=str(back)) == {"FINISHED"}
    limits = [joint.dofs[0].max_force for joint in formats.load(back).joints if joint.type == "revolute"]
    assert np.allclose(limits, 50.0)
