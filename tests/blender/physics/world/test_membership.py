"""The scene's rigid-body world is off while nothing in it is simulated: Blender's tools then move bodies as told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.scenes import body, imported, pick, the_rig

MODELS = [
    ("hexapod.jm", "Left Front Tibia"),
    ("desk_lamp.skel", "shade"),
    ("sensor_leg.xml", "shank"),
    ("pumpjack.json", "beam"),
]


def place(obj: Any) -> Any:
    import bpy

    bpy.context.view_layer.update()
    return np.array(obj.matrix_world)


def world() -> Any:
    import bpy

    return bpy.context.scene.rigidbody_world


@pytest.mark.parametrize(("model", "name"), MODELS)
def test_translate_moves_a_body_behind_the_first_frame(blank: Any, model: str, name: str) -> None:
    """Without a simulation Blender moves a body that is the child of a posed bone as it moves any other child."""
    import bpy

    rig = imported(model)
    for pose in rig.pose.bones:
        if pose.rotation_mode != "QUATERNION":
            pose.rotation_euler = [0.0 if lock else 0.2 for lock in pose.lock_rotation]
    bpy.context.scene.frame_set(6)
    obj = body(rig, name)
    pick(obj)
    before = place(obj)
    bpy.ops.transform.translate(value=(0.05, -0.03, 0.08))
    moved = place(obj) - before
    assert moved[:3, 3] == pytest.approx([0.05, -0.03, 0.08], abs=1e-5)
    assert moved[:3, :3] == pytest.approx(0.0, abs=1e-5)


def test_world_is_on_while_physics_moves_a_mechanism(blank: Any) -> None:
    rig = imported("desk_lamp.skel")
    for drive, expected in (("KEYS", False), ("SERVO", True), ("KEYS", False), ("LIMP", True)):
        rig.data.knuckle.drive = drive
        assert world().enabled is expected, drive


def test_keyed_drive_has_the_world_on_from_the_first_frame(blank: Any) -> None:
    import bpy

    rig = imported("desk_lamp.skel")
    rig.data.knuckle.keyframe_insert("drive", frame=1)
    rig.data.knuckle.drive = "LIMP"
    rig.data.knuckle.keyframe_insert("drive", frame=5)
    bpy.context.scene.frame_set(1)
    shade = body(rig, "shade")
    heights = []
    for frame in range(1, 40):
        bpy.context.scene.frame_set(frame)
        heights.append(place(shade)[2, 3])
    assert max(heights[:4]) - min(heights[:4]) < 1e-5
    assert heights[-1] < heights[0] - 0.05


@pytest.mark.parametrize("first", [1, 2], ids=["rewound", "played on"])
def test_active_body_of_the_user_keeps_the_world_on(blank: Any, first: int) -> None:
    import bpy

    imported("desk_lamp.skel")
    cube = falling_cube()
    for frame in range(first, 15):
        bpy.context.scene.frame_set(frame)
    assert world().enabled
    assert place(cube)[2, 3] < 4.95


def falling_cube() -> Any:
    """A cube of the user's that is an active rigid body."""
    import bpy

    bpy.ops.mesh.primitive_cube_add(size=0.1, location=(3.0, 0.0, 5.0))
    cube = bpy.context.object
    world().collection.objects.link(cube)
    bpy.context.view_layer.update()
    return cube


def test_world_rests_again_when_the_last_active_body_is_deleted(blank: Any) -> None:
    import bpy

    imported("desk_lamp.skel")
    cube = falling_cube()
    assert world().enabled
    bpy.data.objects.remove(cube)
    bpy.context.view_layer.update()
    assert not world().enabled


def test_world_without_a_mechanism_is_left_alone(blank: Any, tmp_path: Path) -> None:
    """Also where a scene beside it has one."""
    import bpy

    imported("desk_lamp.skel")
    other = bpy.data.scenes.new("Other")
    with bpy.context.temp_override(scene=other):
        bpy.ops.rigidbody.world_add()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "two.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "two.blend"))
    assert bpy.data.scenes["Other"].rigidbody_world.enabled
    assert not world().enabled


def test_world_that_was_switched_on_and_off_by_hand_is_the_users(blank: Any) -> None:
    import bpy

    rig = imported("desk_lamp.skel")
    world().enabled = True
    for frame in (2, 1):
        bpy.context.scene.frame_set(frame)
    world().enabled = False
    rig.data.knuckle.drive = "LIMP"
    assert not world().enabled


def test_world_is_on_once_the_extension_is_disabled(blank: Any) -> None:
    import addon

    imported("desk_lamp.skel")
    assert not world().enabled
    addon.unregister()
    try:
        assert world().enabled
    finally:
        addon.register()


def test_world_that_the_user_switched_off_stays_off(blank: Any) -> None:
    import bpy

    bpy.ops.rigidbody.world_add()
    world().enabled = False
    rig = imported("desk_lamp.skel")
    rig.data.knuckle.drive = "LIMP"
    assert not world().enabled


def test_removing_rigid_bodies_leaves_the_users_world_on(blank: Any) -> None:
    import bpy

    bpy.ops.rigidbody.world_add()
    imported("desk_lamp.skel")
    assert not world().enabled
    assert bpy.ops.knuckle.clear_physics() == {"FINISHED"}
    assert world().enabled


@pytest.mark.parametrize("played", [True, False], ids=["played", "jumped"])
def test_simulation_goes_on_from_a_frame_that_was_played_to(blank: Any, played: bool) -> None:
    import bpy

    rig = imported("desk_lamp.skel")
    shade = body(rig, "shade")
    for frame in range(1, 11) if played else (1, 10):
        bpy.context.scene.frame_set(frame)
    start = place(shade)[2, 3]
    rig.data.knuckle.drive = "LIMP"
    assert world().point_cache.frame_start == 1
    for frame in range(11, 40):
        bpy.context.scene.frame_set(frame)
    fallen = start - place(shade)[2, 3]
    assert fallen > 0.05 if played else fallen == pytest.approx(0.0, abs=1e-4)


def test_the_idle_world_is_active_again_in_a_reopened_file(blank: Any, tmp_path: Path) -> None:
    import bpy

    imported("desk_lamp.skel")
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "lamp.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "lamp.blend"))
    assert not world().enabled
    the_rig().data.knuckle.drive = "LIMP"
    assert world().enabled
