"""While a model is edited symmetrically a limb that is made on one side grows on the other as well."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from addon import formats
from addon.blender.data.access import record_of, settings
from addon.blender.data.queries import parts
from addon.blender.data.twin_links import twin_of
from addon.blender.editing.symmetry.appearance import all_differences
from addon.core.editing.mirroring import motion_mirror
from tests.support.authoring_helpers import cylinder
from tests.support.mirror_helpers import misses
from tests.support.scenes import now, pick, the_rig
from tests.support.snapshot import differences, snapshot

JOINTS = ["Left Thigh to Left Shin", "Right Thigh to Right Shin", "Trunk to Left Thigh", "Trunk to Right Thigh"]


def trunk(symmetric: bool = True) -> Any:
    """A model of a trunk in the middle."""
    bpy.ops.knuckle.new_model(name="Strider")
    rig = bpy.context.object
    settings(rig).symmetric = symmetric
    bpy.ops.mesh.primitive_cube_add(size=1, location=(0, 0, 1.2), scale=(0.8, 1.6, 0.3))
    bpy.context.object.name = "Trunk"
    pick(bpy.context.object, rig)
    assert bpy.ops.knuckle.make_body() == {"FINISHED"}
    return rig


def leg(rig: Any, **options: Any) -> None:
    """A leg of two hinges on the left."""
    thigh = cylinder("Left Thigh", 0.08, 0.5, (-0.5, 0.2, 0.95))
    shin = cylinder("Left Shin", 0.07, 0.6, (-0.5, 0.2, 0.4))
    shin.rotation_euler.x = 0.1
    pick(thigh, shin, rig)
    assert bpy.ops.knuckle.make_body(**options) == {"FINISHED"}
    for child, parent, height in ((thigh, bpy.data.objects["Trunk"], 1.2), (shin, thigh, 0.7)):
        turn = Matrix.Rotation(0.3, 4, "Y")
        bpy.context.scene.cursor.matrix = Matrix.Translation((-0.5, 0.2, height)) @ turn
        pick(child, parent)
        assert bpy.ops.knuckle.add_joint(axis="X", **options) == {"FINISHED"}


def names(role: str) -> list[str]:
    return sorted(obj.name for obj in parts(the_rig(), role))


def test_a_leg_that_is_made_on_the_left_grows_on_the_right(blank: Any) -> None:
    rig = trunk()
    leg(rig)
    assert names("BODY") == ["Left Shin", "Left Thigh", "Right Shin", "Right Thigh", "Trunk"]
    assert names("JOINT") == JOINTS
    assert all(twin_of(obj) for role in ("BODY", "JOINT") for obj in parts(rig, role) if obj.name != "Trunk")
    assert all_differences(rig) == []
    mechanism = now(rig)
    mirror = motion_mirror(mechanism)
    assert np.abs(misses(mechanism, mirror, mirror.sides.plane.reflection, 3)).max() < 1e-5
    left = bpy.data.objects["Left Thigh"]
    left.location.z += 0.1
    bpy.context.view_layer.update()
    assert bpy.data.objects["Right Thigh"].location.z == pytest.approx(left.location.z), "and is edited with it"
    for format_ in formats.FORMATS:
        back = formats.loads(formats.dumps(now(rig), format_)[0].encode())
        assert sum(body.name.startswith("Right") for body in back.bodies) == 2, format_


@pytest.mark.parametrize("switched_off", ["twins", "symmetric"])
def test_it_does_not_where_it_is_not_wanted(blank: Any, switched_off: str) -> None:
    rig = trunk(symmetric=switched_off != "symmetric")
    leg(rig, **({"twins": False} if switched_off == "twins" else {}))
    assert names("BODY") == ["Left Shin", "Left Thigh", "Trunk"] and len(names("JOINT")) == 2


def test_meshes_of_both_sides_become_each_others_twins(blank: Any) -> None:
    rig = trunk()
    left, right = (cylinder(f"Pin {x}", 0.08, 0.5, (x, 0.2, 0.95)) for x in (-0.5, 0.5))
    pick(left, right, rig)
    assert bpy.ops.knuckle.make_body() == {"FINISHED"}
    assert len(names("BODY")) == 3 and twin_of(left) == right
    middle = bpy.data.objects["Trunk"]
    pick(left, middle)
    assert bpy.ops.knuckle.add_joint(where="CHILD") == {"FINISHED"}
    assert len(names("JOINT")) == 2
    pick(left, right)
    assert bpy.ops.knuckle.add_joint(where="CHILD") == {"FINISHED"}
    assert len(names("JOINT")) == 3, "it is between the two, and so is its image"


def test_copies_of_one_mesh_on_both_sides_are_mirror_images(blank: Any) -> None:
    """A monkey is one itself, but its bent polygons are not, cut into triangles."""
    rig = trunk()
    bpy.ops.mesh.primitive_monkey_add(location=(3, 0, 0))
    left = bpy.context.object
    right = bpy.data.objects.new("Other", left.data)
    bpy.context.collection.objects.link(right)
    right.location.x = -3
    pick(left, right, rig)
    assert bpy.ops.knuckle.make_body() == {"FINISHED"}
    assert twin_of(left) == right and all_differences(rig) == []


def test_what_is_heavier_than_the_rest_may_hang_on_a_leg(blank: Any) -> None:
    """The tree of the bones begins with it then; the halves are mirror images all the same."""
    rig = trunk()
    leg(rig)
    weight = cylinder("Left Weight", 2.0, 2.0, (-4.0, 0.2, 0.4))
    pick(weight, rig)
    assert bpy.ops.knuckle.make_body(density=9000.0) == {"FINISHED"}
    pick(weight, bpy.data.objects["Left Shin"])
    assert bpy.ops.knuckle.add_joint(where="CHILD") == {"FINISHED"}
    assert "Right Weight" in names("BODY") and all_differences(rig) == []
    pick(bpy.data.objects["Right Weight"])
    bpy.ops.knuckle.delete_parts(twins=False)
    assert "number of joints" in {each.what for each in all_differences(rig)}


def test_a_joint_that_is_there_already_becomes_the_twin(blank: Any) -> None:
    rig = trunk()
    left, right = (cylinder(f"Pin {x}", 0.08, 0.5, (x, 0.2, 0.95)) for x in (-0.5, 0.5))
    pick(left, right, rig)
    assert bpy.ops.knuckle.make_body() == {"FINISHED"}
    for child in (left, right):
        pick(child, bpy.data.objects["Trunk"])
        assert bpy.ops.knuckle.add_joint(where="CHILD", twins=child == right) == {"FINISHED"}
    first, second = parts(rig, "JOINT")
    assert twin_of(first) == second and len(names("JOINT")) == 2


def test_it_is_one_step(blank: Any) -> None:
    rig = trunk()
    thigh = cylinder("Left Thigh", 0.08, 0.5, (-0.5, 0.2, 0.95))
    pick(thigh, rig)
    for run, options, role, made in (
        (bpy.ops.knuckle.make_body, {}, "BODY", 2),
        (bpy.ops.knuckle.add_joint, {"where": "CHILD"}, "JOINT", 2),
    ):
        bpy.context.view_layer.update()
        bpy.ops.ed.undo_push(message="before")
        before, count = snapshot(), len(names(role))
        assert run("EXEC_DEFAULT", True, **options) == {"FINISHED"}
        after = snapshot()
        assert len(names(role)) == count + made
        bpy.ops.ed.undo()
        assert differences(before, snapshot()) == []
        bpy.ops.ed.redo()
        assert differences(after, snapshot()) == []
        pick(bpy.data.objects["Left Thigh"], bpy.data.objects["Trunk"])
        assert record_of(bpy.data.objects["Left Thigh"]).twin
