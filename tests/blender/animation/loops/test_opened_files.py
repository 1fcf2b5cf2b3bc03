"""Loops of files that are opened, linked or appended: bodies are where they were shown when the file was saved, also
where keys say otherwise."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from addon import formats
from tests.support import loops
from tests.support.emptied import empty_file
from tests.support.live_loops_helpers import WITHIN, Pivots, codes, key_driver, pose_driver, put, triangle
from tests.support.mechanisms import objects_of, world_of

FRAME = 31


def the_rig() -> Any:
    import bpy

    return next(obj for obj in bpy.context.scene.objects if obj.type == "ARMATURE")


def shown() -> dict[str, np.ndarray]:
    return {name: world_of(obj) for name, obj in objects_of(the_rig(), "BODY").items()}


def straight() -> Any:
    """A four-bar that is keyed beyond its dead centre."""
    mechanism = loops.crank_rocker(0.8, bars=(4.0, 2.0, 2.0, 3.0))
    key_driver(put(mechanism), {1.0: 0.0, FRAME: 3.0})
    return mechanism


def stopped() -> Any:
    """A four-bar of which a follower is at its stop before the keys are at their end."""
    mechanism = loops.crank_rocker(0.8)
    rig = put(mechanism)
    pose_driver(rig, 0.4)
    stop = float(rig.pose.bones["B"].rotation_euler.z)
    empty_file()
    dof = next(joint for joint in mechanism.joints if joint.id == "B").dofs[0]
    dof.lower, dof.upper = (stop, 1.5) if stop < 0 else (-1.5, stop)
    key_driver(put(mechanism), {1.0: 0.0, FRAME: 1.5})
    return mechanism


def rigid() -> Any:
    """A loop without a degree of freedom of which a bone has keys that open it."""
    mechanism = triangle()
    bone = put(mechanism).pose.bones["A"]
    for frame, angle in ((1, 0.0), (FRAME, 0.7)):
        bone.rotation_euler.z = angle
        bone.keyframe_insert("rotation_euler", index=2, frame=frame)
    return mechanism


def save(path: Path) -> dict[str, np.ndarray]:
    """Save the file at its frame, and return where its bodies are."""
    import bpy

    bpy.context.scene.frame_set(FRAME)
    before = shown()
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    return before


def assert_shown(before: dict[str, np.ndarray], mechanism: Any) -> None:
    for name, pose in shown().items():
        assert pose == pytest.approx(before[name], abs=1e-5), name
    assert Pivots(mechanism, the_rig()).gap() < WITHIN


@pytest.mark.parametrize("make", [straight, stopped, rigid])
def test_a_file_opens_with_the_pose_that_was_shown(blank: Any, tmp_path: Path, make: Any) -> None:
    import bpy

    mechanism = make()
    before = save(tmp_path / "held.blend")
    begun = codes(the_rig())
    for _ in range(2):  # and saved again at once
        bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "held.blend"))
        assert_shown(before, mechanism)
        assert codes(the_rig()) == begun
        bpy.context.view_layer.update()
        assert_shown(before, mechanism)
        bpy.ops.wm.save_mainfile()
    bpy.context.scene.frame_set(1)
    assert Pivots(mechanism, the_rig()).gap() < WITHIN
    bpy.context.scene.frame_set(FRAME)
    assert_shown(before, mechanism)


@pytest.mark.parametrize("value", [2.5, -3.0])
def test_a_real_slider_crank_opens_with_the_pose_that_was_shown(
    blank: Any, corpus: Path, tmp_path: Path, value: float
) -> None:
    """It has two drivers, of which the one is keyed beyond what the other allows."""
    import bpy

    mechanism = formats.load(corpus / "shift/slider_crank/slider_crank_extra_dof.json")
    key_driver(put(mechanism), {1.0: 0.0, FRAME: value})
    before = save(tmp_path / "held.blend")
    assert "loop-held" in codes(the_rig())
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "held.blend"))
    assert {name: pose == pytest.approx(before[name], abs=1e-5) for name, pose in shown().items()} == dict.fromkeys(
        before, True
    )


@pytest.mark.parametrize("way", ["appended", "linked", "overridden"])
def test_loops_of_other_files_are_held_as_they_are_there(blank: Any, tmp_path: Path, way: str) -> None:
    """When they come, at other frames, and in a file that has them and is opened."""
    import bpy

    mechanism = straight()
    name = the_rig().data.knuckle.collection.name
    before = save(tmp_path / "theirs.blend")
    empty_file()
    bpy.context.scene.frame_set(FRAME)
    with bpy.data.libraries.load(str(tmp_path / "theirs.blend"), link=way != "appended") as (_there, here):
        here.collections = [name]
    (collection,) = here.collections
    if way == "overridden":
        collection.override_hierarchy_create(bpy.context.scene, bpy.context.view_layer)
    else:
        bpy.context.scene.collection.children.link(collection)
    bpy.context.view_layer.update()
    rig = the_rig()
    assert (rig.library is not None, rig.override_library is not None) == (way == "linked", way == "overridden")
    assert_shown(before, mechanism)
    for frame in (1, 11, 20):
        bpy.context.scene.frame_set(frame)
        assert Pivots(mechanism, the_rig()).gap() < WITHIN
    save(tmp_path / "ours.blend")
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "ours.blend"))
    assert_shown(before, mechanism)


def test_drivers_may_call_what_an_add_on_gives_them_as_a_file_opens(blank: Any, tmp_path: Path) -> None:
    """Blender switches drivers off for good whose function is not there at their first evaluation."""
    import bpy
    from bpy.app.handlers import load_post, persistent

    @persistent
    def give(*_args: Any) -> None:
        bpy.app.driver_namespace["knuckle_test_half"] = lambda frame: 0.5 * frame

    mechanism = straight()
    curve = the_rig().driver_add("location", 2)
    curve.driver.expression = "knuckle_test_half(frame)"
    give()
    before = save(tmp_path / "driven.blend")
    del bpy.app.driver_namespace["knuckle_test_half"]
    load_post.append(give)  # after ours
    try:
        bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "driven.blend"), use_scripts=True)
    finally:
        load_post.remove(give)
        bpy.app.driver_namespace.pop("knuckle_test_half", None)
    assert math.isclose(the_rig().location.z, 0.5 * FRAME)
    assert_shown(before, mechanism)
    assert not [act for act in load_post if act.__name__ == "_evaluate_opened"]
