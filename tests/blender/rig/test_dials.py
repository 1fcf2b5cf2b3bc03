"""Bones as dials: their shapes follow axes, stops and sizes of joints, and are shared."""

import math

import bpy
import numpy as np
import pytest

from addon import formats
from addon.blender.data.access import record_of
from addon.blender.data.queries import chain_bones, parts, rig_in
from addon.blender.reconcile.build import build
from addon.blender.reconcile.rig_update import update_armature
from addon.blender.rig import dials
from addon.core.editing.sides import side_signs
from addon.core.model import Plane


@pytest.fixture
def rig():
    bpy.ops.wm.read_factory_settings(use_empty=True)
    return rig_in(build(formats.load("sample_models/hexapod/hexapod.jm")))


def hinges(rig):
    """Joints of a mechanism with one rotation between two stops, and their pose bones."""
    for empty in parts(rig, "JOINT"):
        dofs = record_of(empty).joint.dofs
        if [dof.kind for dof in dofs] == ["rotation"] and dofs[0].use_lower and dofs[0].use_upper:
            yield dofs[0], rig.pose.bones[chain_bones(empty)[-1]]


def band(pose):
    """Angles (rad) from zero of the points of a dial that lie on the circle of the range, lowest and highest."""
    points = np.array([vertex.co for vertex in pose.custom_shape.data.vertices])
    across = points[np.abs(np.linalg.norm(points, axis=1) - 1.0) < 1e-5]
    angles = np.arctan2(-across[:, 0], across[:, 1])
    return angles.min(), angles.max()


def test_range_is_that_of_the_stops(rig):
    found = list(hinges(rig))
    assert found
    for dof, pose in found:
        if dof.lower <= 0.0 <= dof.upper and dof.upper - dof.lower < 3.0:
            assert np.allclose(band(pose), (dof.lower, dof.upper), atol=math.radians(0.51))


def test_shape_stays_with_the_carrier_where_the_bone_rests(rig):
    """The stops stand still as the joint turns, and where the joint is at 0 the dial is as the bone."""
    for _, pose in hinges(rig):
        assert pose.custom_shape_transform == pose.parent
        turn = pose.custom_shape_rotation_euler.to_matrix().to_4x4()
        turn.translation = pose.custom_shape_translation
        assert np.allclose(pose.parent.bone.matrix_local @ turn, pose.bone.matrix_local, atol=1e-4)


def test_dial_follows_a_stop(rig):
    dof, pose = next((dof, pose) for dof, pose in hinges(rig) if dof.lower < -0.3 and dof.upper > 0.1)
    before = pose.custom_shape_scale_xyz[:]
    dof.lower, dof.upper = -0.25, 0.5
    assert np.allclose(band(pose), (-0.25, 0.5), atol=math.radians(0.51))
    assert pose.custom_shape_scale_xyz[:] == before


def test_shape_of_the_user_stays(rig):
    dof, pose = next(hinges(rig))
    own = bpy.data.objects.new("mine", bpy.data.meshes.new("mine"))
    pose.custom_shape = own
    dof.upper = 0.5
    assert pose.custom_shape == own
    update_armature(rig)
    assert rig.pose.bones[pose.name].custom_shape == own


def test_bones_are_in_their_collection_behind_bodies(rig):
    assert {bone.name for bone in rig.data.collections[dials.BONE_COLLECTION_NAME].bones} == {
        bone.name for bone in rig.data.bones
    }
    assert not rig.show_in_front


def test_dials_of_equal_joints_share_their_shapes(rig):
    shapes = {pose.custom_shape for pose in rig.pose.bones}
    assert None not in shapes and len(shapes) < len(rig.pose.bones)
    again = rig_in(build(formats.load("sample_models/hexapod/hexapod.jm")))
    assert {pose.custom_shape for pose in again.pose.bones} == shapes


def test_update_armature_gives_older_files_dials(rig):
    for pose in rig.pose.bones:
        pose.custom_shape = pose.custom_shape_transform = None
    for empty in parts(rig, "JOINT"):
        empty.empty_display_size = 0.01
    update_armature(rig)
    assert all(dials.has_dial(pose) for pose in rig.pose.bones)
    assert all(empty.empty_display_size > 0.01 for empty in parts(rig, "JOINT"))


def test_sides_have_their_colors(rig):
    palettes = {bone.name: bone.color.palette for bone in rig.data.bones}
    left = {palette for name, palette in palettes.items() if name.startswith("Left")}
    right = {palette for name, palette in palettes.items() if name.startswith("Right")}
    assert left == {"THEME04"} and right == {"THEME01"}
    assert "THEME09" in palettes.values()


def test_names_decide_which_side_is_left():
    points = np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])
    plane = Plane(np.eye(3)[0])
    assert side_signs(plane, points, ["a", "b"]) == [1, -1]
    assert side_signs(plane, points, ["FR knee", "FL knee"]) == [-1, 1]


def test_dials_of_three_equal_hinges_are_one_object(blank):
    """Though all that they show is longer than the name of an object may be."""
    before = len(bpy.data.objects)
    parts_ = [("hinge", axis, -170 + axis, 175 - axis) for axis in range(3)]
    assert dials._shape_object(parts_) == dials._shape_object(parts_)
    other = dials._shape_object([*parts_[:2], ("hinge", 2, -100, 100)])
    assert other != dials._shape_object(parts_) and len(bpy.data.objects) == before + 2
