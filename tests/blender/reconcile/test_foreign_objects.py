"""What the user hung on a model without making it a part: all operators of editing leave it there, in its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy
import numpy as np
import pytest

from addon import formats
from addon.blender.data.access import record_of, settings
from addon.blender.data.channels import servo_channels
from addon.blender.data.queries import child_collection, parts
from addon.blender.physics.world.membership import simulating_scene
from addon.blender.reconcile.rig_update import update_armature
from addon.blender.scene.read.mechanism import extract
from tests.support.scenes import body, joint_of, made, pick

LEG, OTHER_LEG = "Left Front Femur", "Right Rear Femur"


def camera(name: str, parent: Any, bone: str = "") -> Any:
    made = bpy.data.objects.new(name, bpy.data.cameras.new(name))
    bpy.context.scene.collection.objects.link(made)
    made.location = (0.3, 0.2, 0.1)
    made.parent = parent
    if bone:
        made.parent_type, made.parent_bone = "BONE", bone
    return made


class Guests:
    """What is not the model's: cameras on a body, on a joint and on a bone, a bone on one of its bones, a driver and a
    constraint on another, a mesh in its collection, and a whole model as the child of a body."""

    def __init__(self, rig: Any) -> None:
        leg = body(rig, LEG)
        bone = leg.parent_bone
        pick(rig)
        bpy.ops.object.mode_set(mode="EDIT")
        edit = rig.data.edit_bones.new("My Control")
        edit.head, edit.tail, edit.parent = (0, 0, 0), (0, 0, 0.3), rig.data.edit_bones[bone]
        bpy.ops.object.mode_set(mode="OBJECT")
        prop = bpy.data.objects.new("My Prop", bpy.data.meshes.new("My Prop"))
        child_collection(rig, "Bodies").objects.link(prop)
        prop.parent = rig
        prop.location = (0.5, 0.0, 0.5)
        self.lamp = made("desk_lamp.skel")
        self.lamp.parent = leg
        self.lamp.location = (0.0, 0.4, 0.0)
        self.driven = body(rig, OTHER_LEG).parent_bone
        driven = rig.pose.bones[self.driven]
        driven.driver_add("location", 0).driver.expression = "0.0 * frame"
        driven.constraints.new("COPY_ROTATION").name = "Mine"
        self.objects = [
            camera("On Body", leg),
            camera("On Joint", joint_of(rig, leg)),
            camera("On Bone", rig, bone),
            camera("On Control", rig, "My Control"),
            prop,
            self.lamp,
            *parts(self.lamp, "BODY"),
        ]
        self.names = {obj.name: [folder.name for folder in obj.users_collection] for obj in self.objects}
        self.places = self._places()

    def _places(self) -> dict[str, np.ndarray]:
        bpy.context.view_layer.update()
        return {name: np.array(bpy.data.objects[name].matrix_world) for name in self.names}

    def are_well(self, rig: Any) -> None:
        """They are there, in their places, and where the user put them."""
        assert self.names.keys() <= {obj.name for obj in bpy.data.objects}
        now = self._places()
        for name, place in self.places.items():
            assert now[name] == pytest.approx(place, abs=1e-5), name
            assert [folder.name for folder in bpy.data.objects[name].users_collection] == self.names[name], name
        assert "My Control" in rig.data.bones
        curves = [curve for curve in rig.animation_data.drivers if curve.driver.expression == "0.0 * frame"]
        assert [(curve.data_path, curve.array_index) for curve in curves] == [
            (f'pose.bones["{self.driven}"].location', 0)
        ]
        assert "Mine" in rig.pose.bones[self.driven].constraints
        assert len(extract(settings(self.lamp).collection).bodies) == len(parts(self.lamp, "BODY")) > 0


def delete(rig: Any) -> None:
    pick(body(rig, LEG))
    assert bpy.ops.knuckle.delete_parts() == {"FINISHED"}


def split(rig: Any) -> None:
    pick(*[obj for obj in parts(rig, "BODY") if obj.name.startswith("Right Middle")])
    assert bpy.ops.knuckle.split_model() == {"FINISHED"}


def duplicate(rig: Any) -> None:
    pick(body(rig, LEG))
    assert bpy.ops.knuckle.duplicate_limb() == {"FINISHED"}


def twin(rig: Any) -> None:
    pick(body(rig, LEG))
    bpy.ops.knuckle.unlink_twins()
    assert bpy.ops.knuckle.create_twin() == {"FINISHED"}


def type_(rig: Any) -> None:
    pick(joint_of(rig, body(rig, LEG)))
    assert bpy.ops.knuckle.set_joint_type(type="universal") == {"FINISHED"}


def swap(rig: Any) -> None:
    pick(joint_of(rig, body(rig, LEG)))
    assert bpy.ops.knuckle.swap_joint() == {"FINISHED"}


def merge(rig: Any) -> None:
    other = made("desk_lamp.skel")
    pick(other, rig)
    assert bpy.ops.knuckle.merge_models() == {"FINISHED"}


@pytest.mark.parametrize("act", [delete, split, duplicate, twin, type_, swap, merge])
def test_foreign_objects_on_a_mechanism_stay_through_every_edit(blank: Any, act: Callable[[Any], None]) -> None:
    rig = made("hexapod.jm")
    guests = Guests(rig)
    act(rig)
    guests.are_well(rig)


def test_a_foreign_object_on_the_bone_of_a_moved_joint_stays(blank: Any) -> None:
    rig = made("hexapod.jm")
    guests = Guests(rig)
    empty = joint_of(rig, body(rig, LEG))
    empty.location.z += 0.05
    del guests.places["On Joint"]  # it goes along with what it hangs on
    rest = rig.data.bones[body(rig, LEG).parent_bone].matrix_local.copy()
    pick(rig)
    assert bpy.ops.knuckle.refit() == {"FINISHED"}
    assert rig.data.bones[body(rig, LEG).parent_bone].matrix_local != rest
    guests.are_well(rig)


def test_what_was_the_users_in_a_model_that_is_merged_is_handed_over(blank: Any) -> None:
    rig, other = made("hexapod.jm"), made("desk_lamp.skel")
    rig.location.x, other.location.x = 1.0, 5.0
    shade = parts(other, "BODY")[-1]
    prop = bpy.data.objects.new("My Prop", bpy.data.meshes.new("My Prop"))
    settings(other).collection.objects.link(prop)
    light = bpy.data.objects.new("My Light", bpy.data.lights.new("My Light", "POINT"))
    child_collection(other, "Bodies").objects.link(light)
    own = bpy.data.collections.new("My Set")
    settings(other).collection.children.link(own)
    chair = bpy.data.objects.new("My Chair", bpy.data.meshes.new("My Chair"))
    own.objects.link(chair)
    chair.parent = other
    shown = bpy.data.collections.new("My Show")
    bpy.context.scene.collection.children.link(shown)
    shown.objects.link(shade)
    on_body, on_bone = camera("On Body", shade), camera("On Bone", other, shade.parent_bone)
    on_bone.keyframe_insert("location", frame=1)
    guests = [prop, light, chair, on_body, on_bone]
    bpy.context.view_layer.update()
    places = {obj.name: np.array(obj.matrix_world) for obj in guests}
    pick(other, rig)
    assert bpy.ops.knuckle.merge_models() == {"FINISHED"}
    bpy.context.scene.frame_set(1)
    for name, place in places.items():
        assert np.array(bpy.data.objects[name].matrix_world) == pytest.approx(place, abs=1e-5), name
    top = settings(rig).collection
    assert prop.users_collection == (top,)
    assert light.users_collection == (child_collection(rig, "Bodies"),)
    assert own in top.children[:] and chair.parent == rig
    assert on_body.parent == shade and on_bone.parent == rig and on_bone.parent_bone == shade.parent_bone
    assert shown in shade.users_collection, "also what is the model's stays in the user's collections"
    assert on_body.users_collection == on_bone.users_collection == (bpy.context.scene.collection,)


def test_what_is_the_users_goes_with_the_bones_that_are_split_off(blank: Any) -> None:
    rig = made("hexapod.jm")
    guests = Guests(rig)
    pick(*[obj for obj in parts(rig, "BODY") if obj.name.startswith("Left Front")])
    assert bpy.ops.knuckle.split_model() == {"FINISHED"}
    new = bpy.context.object
    assert new != rig
    for name in ("On Bone", "On Control"):
        assert bpy.data.objects[name].parent == new
    assert "My Control" in new.data.bones and "My Control" not in rig.data.bones
    assert new.animation_data is None or not len(new.animation_data.drivers), "what is driven is not in it"
    now = guests._places()
    assert all(now[name] == pytest.approx(place, abs=1e-5) for name, place in guests.places.items() if name in now)


def test_a_model_that_is_scaled_is_not_merged(blank: Any) -> None:
    rig, other = made("hexapod.jm"), made("desk_lamp.skel")
    other.scale = (2, 2, 2)
    bpy.context.view_layer.update()
    count = len(bpy.data.objects)
    pick(other, rig)
    with pytest.raises(RuntimeError, match=f"'{other.name}': scaled as a whole. Set its scale to 1"):
        bpy.ops.knuckle.merge_models()
    assert len(bpy.data.objects) == count
    other.scale, rig.scale = (1, 1, 1), (2, 2, 2)
    bpy.context.view_layer.update()
    with pytest.raises(RuntimeError, match=f"'{rig.name}': scaled as a whole"):
        bpy.ops.knuckle.merge_models()
    other.scale = (2, 2, 2)
    bpy.context.view_layer.update()
    assert bpy.ops.knuckle.merge_models() == {"FINISHED"}, "alike they can be"


def test_a_control_stays_on_the_nearest_bone_that_is_left(blank: Any) -> None:
    rig = made("hexapod.jm")
    guests = Guests(rig)
    leg = body(rig, LEG)
    assert rig.data.bones["My Control"].parent.name == leg.parent_bone
    delete(rig)
    coxa = record_of(body(rig, "Left Front Coxa"))
    assert rig.data.bones["My Control"].parent.name == body(rig, coxa.source_name).parent_bone
    assert guests.lamp.parent is None


def test_a_bone_that_was_duplicated_is_the_users(blank: Any) -> None:
    rig = made("hexapod.jm")
    before, text = servo_channels(rig), formats.dumps(extract(settings(rig).collection))
    leg = body(rig, LEG)
    pick(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.armature.select_all(action="DESELECT")
    edit = rig.data.edit_bones[leg.parent_bone]
    edit.select = edit.select_head = edit.select_tail = True
    rig.data.edit_bones.active = edit
    assert bpy.ops.armature.duplicate() == {"FINISHED"}
    bpy.ops.object.mode_set(mode="OBJECT")
    copy = f"{leg.parent_bone}.001"
    assert copy in rig.data.bones
    for _ in range(2):
        assert servo_channels(rig) == before
        assert formats.dumps(extract(settings(rig).collection)) == text
        update_armature(rig)
        assert copy in rig.data.bones and leg.parent_bone == copy[:-4]


def test_the_drivers_of_a_screw_are_not_doubled(blank: Any) -> None:
    rig = made("hexapod.jm")
    pick(joint_of(rig, body(rig, LEG)))
    bpy.ops.knuckle.set_joint_type(type="screw")
    for _ in range(2):
        update_armature(rig)
        (curve,) = rig.animation_data.drivers
        assert len(curve.driver.variables) == 1
    bpy.ops.knuckle.set_joint_type(type="revolute")
    assert not len(rig.animation_data.drivers)


def test_a_hidden_armature_is_edited_and_stays_hidden(blank: Any) -> None:
    rig = made("hexapod.jm", physics=True)
    rig.hide_viewport = True
    count = len(rig.data.bones)
    delete(rig)
    assert len(rig.data.bones) == count - 1
    assert rig.hide_viewport
    assert simulating_scene(rig) == bpy.context.scene, "physics is there as it was"


def test_an_edit_that_fails_leaves_physics_as_it_was(blank: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = made("hexapod.jm", physics=True)

    def fail(*_args: Any) -> None:
        raise RuntimeError("no bones today")

    monkeypatch.setattr("addon.blender.reconcile.rig_update.write_edit_bones", fail)
    with pytest.raises(RuntimeError, match="no bones today"):
        update_armature(rig)
    assert simulating_scene(rig) == bpy.context.scene


def props_on_bones(rig: Any) -> dict[str, Any]:
    """An empty on each bone, by the name of the bone."""
    out = {}
    for name in list(rig.data.bones.keys()):
        out[name] = prop = bpy.data.objects.new(f"on {name}", None)
        bpy.context.scene.collection.objects.link(prop)
        prop.parent, prop.parent_type, prop.parent_bone = rig, "BONE", name
        prop.location = (1.0, 0.5, 0.7)
    bpy.context.view_layer.update()
    return out


def world_positions(props: dict[str, Any]) -> dict[str, np.ndarray]:
    bpy.context.view_layer.update()
    return {name: np.array(prop.matrix_world) for name, prop in props.items()}


@pytest.mark.parametrize("name", ["Boarder.jm", "pumpjack.json", "excavator.json", "bird3.jm", "humanoid.skel"])
def test_objects_on_bones_stay_through_updates_of_the_armature(blank: Any, name: str) -> None:
    """Also where the loops of the file do not close and are solved again after each update."""
    rig = made(name)
    props = props_on_bones(rig)
    before, size = world_positions(props), max(rig.dimensions)
    for _time in range(3):
        pick(rig)
        assert bpy.ops.knuckle.refit() == {"FINISHED"}
        now = world_positions(props)
        for bone, pose in before.items():
            np.testing.assert_allclose(now[bone], pose, atol=1e-4 * size, err_msg=bone)


@pytest.mark.parametrize("operator", ["refit", "rebuild"])
def test_a_bone_that_is_restored_takes_back_the_objects_on_it(blank: Any, operator: str) -> None:
    rig = made("humanoid.skel")
    prop = props_on_bones(rig)["LKneePitch"]
    before = np.array(prop.matrix_world)
    pick(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    rig.data.edit_bones.remove(rig.data.edit_bones["LKneePitch"])
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.context.view_layer.update()
    assert np.abs(np.array(prop.matrix_world) - before).max() > 0.1
    assert getattr(bpy.ops.knuckle, operator)() == {"FINISHED"}
    bpy.context.view_layer.update()
    np.testing.assert_allclose(np.array(prop.matrix_world), before, atol=1e-5)
