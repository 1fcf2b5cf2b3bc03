"""The keying set Servos: what Blender's Insert Keyframe keys on bones of a mechanism and on other objects."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.scenes import OWN


def insert_keyframe() -> None:
    """Press I over the 3D View."""
    import bpy

    window = bpy.context.window_manager.windows[0]
    area = next(area for area in window.screen.areas if area.type == "VIEW_3D")
    region = next(region for region in area.regions if region.type == "WINDOW")
    with bpy.context.temp_override(window=window, area=area, region=region):
        assert bpy.ops.anim.keyframe_insert() == {"FINISHED"}


def keyed(obj: Any) -> set[tuple[str, int]]:
    from addon.blender.compat import action_curves

    return {(curve.data_path, curve.array_index) for curve in action_curves(obj, obj.animation_data.action)}


def in_pose_mode(model: str, *, bones: set[str] | None = None) -> Any:
    """An imported model without its gait, its bones (None: all) selected in pose mode."""
    import bpy

    from addon.blender.compat import select_bone

    assert bpy.ops.import_scene.mechanism(filepath=str(OWN / model), gait=False) == {"FINISHED"}
    rig = bpy.context.object
    bpy.ops.object.mode_set(mode="POSE")
    for pose in rig.pose.bones:
        select_bone(pose, bones is None or pose.name in bones)
    return rig


@pytest.mark.parametrize(
    ("model", "bones", "channels"),
    [
        ("desk_lamp/desk_lamp.skel", {"shoulder"}, {('pose.bones["shoulder"].rotation_euler', 2)}),
        (
            "desk_lamp/desk_lamp.skel",
            {"neck"},
            {('pose.bones["neck"].rotation_euler', 2), ('pose.bones["neck"].rotation_euler', 0)},
        ),
        ("pumpjack/pumpjack.json", None, {('pose.bones["motor"].rotation_euler', 2)}),
    ],
)
def test_insert_keyframe_keys_one_channel_per_servo(
    startup: Any, model: str, bones: set[str] | None, channels: set[tuple[str, int]]
) -> None:
    rig = in_pose_mode(model, bones=bones)
    insert_keyframe()
    assert keyed(rig) == channels


@pytest.mark.parametrize("role", ["BODY", "JOINT"])
def test_a_selected_part_stands_for_its_bone(startup: Any, role: str) -> None:
    import bpy

    rig = in_pose_mode("desk_lamp/desk_lamp.skel")
    bpy.ops.object.mode_set(mode="OBJECT")
    joint = next(
        obj for obj in bpy.data.objects if obj.knuckle.role == "JOINT" and obj.knuckle.source_name == "shoulder"
    )
    part = joint if role == "JOINT" else joint.knuckle.joint.child
    for obj in bpy.context.view_layer.objects:
        obj.select_set(obj == part)
    bpy.context.view_layer.objects.active = part
    insert_keyframe()
    assert keyed(rig) == {('pose.bones["shoulder"].rotation_euler', 2)}
    assert part.animation_data is None or part.animation_data.action is None, "nothing is keyed on the part itself"


def test_no_locked_channel_is_keyed_on_any_bone(startup: Any) -> None:
    rig = in_pose_mode("hexapod/hexapod.jm")
    insert_keyframe()
    locks = {"location": "lock_location", "rotation_euler": "lock_rotation", "scale": "lock_scale"}
    for path, index in keyed(rig):
        bone, prop = rig.pose.bones[path.split('"')[1]], path.rpartition(".")[2]
        if prop in locks:
            assert not getattr(bone, locks[prop])[index], (path, index)
    turning = [bone for bone in rig.pose.bones if bone.rotation_mode != "QUATERNION"]
    assert len(turning) == 22
    assert all(sum(f'"{bone.name}"' in path for path, _index in keyed(rig)) == 1 for bone in turning)


def test_other_objects_get_location_rotation_and_scale(startup: Any) -> None:
    import bpy

    assert bpy.ops.import_scene.mechanism(filepath=str(OWN / "desk_lamp/desk_lamp.skel")) == {"FINISHED"}
    for obj in list(bpy.context.view_layer.objects.selected):
        obj.select_set(False)
    cube = bpy.data.objects["Cube"]
    cube.select_set(True)
    bpy.context.view_layer.objects.active = cube
    insert_keyframe()
    assert keyed(cube) == {(name, i) for name in ("location", "rotation_euler", "scale") for i in range(3)}


def test_keying_set_that_the_user_chose_stays(startup: Any) -> None:
    import bpy

    sets = bpy.context.scene.keying_sets_all
    sets.active = sets["Rotation"]
    assert bpy.ops.import_scene.mechanism(filepath=str(OWN / "desk_lamp/desk_lamp.skel")) == {"FINISHED"}
    assert sets.active.bl_label == "Rotation"


def test_bones_that_the_gait_moves_are_selected_after_an_import(startup: Any) -> None:
    import bpy

    from addon.blender.compat import is_bone_selected

    assert bpy.ops.import_scene.mechanism(filepath=str(OWN / "hexapod/hexapod.jm")) == {"FINISHED"}
    rig = bpy.context.object
    names = {path.split('"')[1] for path, _index in keyed(rig)}
    assert names
    assert {bone.name for bone in rig.pose.bones if is_bone_selected(bone)} == names
