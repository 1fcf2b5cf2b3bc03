"""Inactive joints place nothing, so their two sides may be anywhere: an edit of a body leaves both where they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon import formats
from tests.support.scenes import OWN, body, found, pick, the_rig

_SHIFT = (0.3, 0.2, 0.1)
_JOINTS = ("anchor", "motor", "saddle_bearing", "crank_pin", "tail_bearing")


def imported_without(joint: str, folder: Path, source: Path = OWN / "pumpjack" / "pumpjack.json") -> Any:
    """The armature of a Shift model in which one joint is inactive."""
    import bpy

    document = json.loads(source.read_text())
    joints = [item for assembly in document["assemblies"] for item in assembly["joints"]]
    next(item for item in joints if item["name"] == joint)["active"] = False
    path = folder / source.name
    path.write_text(json.dumps(document))
    assert bpy.ops.import_scene.mechanism(filepath=str(path)) == {"FINISHED"}
    return the_rig()


def sides(mechanism: Any) -> dict[tuple[str, str], np.ndarray]:
    """Where each side of each joint stands at the design pose, (4, 4)."""
    poses = {each.id: each.pose for each in mechanism.bodies}
    out = {}
    for joint in mechanism.joints:
        for end, own, frame in (
            ("parent", joint.parent, joint.frame_parent),
            ("child", joint.child, joint.frame_child),
        ):
            out[joint.id, end] = frame if own is None else poses[own] @ frame
    return out


def exported(path: Path) -> Any:
    import bpy

    pick(the_rig())
    assert bpy.ops.export_scene.mechanism(filepath=str(path)) == {"FINISHED"}
    return formats.load(path)


@pytest.mark.parametrize("joint", _JOINTS)
@pytest.mark.parametrize("moved", ["crank", "beam", "pitman"])
def test_a_moved_body_takes_no_side_of_a_joint_along(blank: Any, tmp_path: Path, joint: str, moved: str) -> None:
    import bpy

    rig = imported_without(joint, tmp_path)
    before = exported(tmp_path / "before.json")
    obj = body(rig, moved)
    there = obj.matrix_world.copy()
    there.translation = [a + b for a, b in zip(there.translation, _SHIFT, strict=True)]
    obj.matrix_world = there
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "moved.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "moved.blend"))
    after = exported(tmp_path / "after.json")
    for one, other in zip(before.bodies, after.bodies, strict=True):
        step = np.linalg.norm(other.pose[:3, 3] - one.pose[:3, 3])
        assert step == pytest.approx(np.linalg.norm(_SHIFT) if one.name == moved else 0.0, abs=2e-6), one.name
    stood, stands = sides(before), sides(after)
    for key, pose in stood.items():
        assert stands[key] == pytest.approx(pose, abs=2e-6), key


@pytest.mark.parametrize("moved", ["link1", "link2"])
def test_a_body_that_only_an_inactive_joint_holds_is_moved_in_the_file(blank: Any, tmp_path: Path, moved: str) -> None:
    """Shift files place no body: a joint of the placement's own does."""
    import bpy

    source = found("double_pendulum.json")
    document = json.loads(source.read_text())
    for number, joint in enumerate(document["assemblies"][0]["joints"]):
        joint["name"], joint["active"] = f"joint {number}", number != int(moved[-1]) - 1
    path = tmp_path / "pendulum.json"
    path.write_text(json.dumps(document))
    assert bpy.ops.import_scene.mechanism(filepath=str(path)) == {"FINISHED"}
    before = exported(tmp_path / "before.json")
    obj = body(the_rig(), moved)
    there = obj.matrix_world.copy()
    there.translation = [a + b for a, b in zip(there.translation, _SHIFT, strict=True)]
    obj.matrix_world = there
    after = exported(tmp_path / "after.json")
    steps = {
        one.name: np.linalg.norm(other.pose[:3, 3] - one.pose[:3, 3])
        for one, other in zip(before.bodies, after.bodies, strict=True)
    }
    assert steps[moved] == pytest.approx(np.linalg.norm(_SHIFT), abs=2e-6)
    other = sides(after)
    for key, pose in sides(before).items():
        assert other[key] == pytest.approx(pose, abs=2e-6), key
