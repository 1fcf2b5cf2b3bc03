"""The shortest correct scripts that make what an import makes."""

from __future__ import annotations

import bpy
import numpy as np
from mathutils import Matrix

from addon.blender import compat

#: Meshes of the floor, each in a colour of its own: as many as an import makes of equal bodies.
_COLORS = 39


def floor_import(count: int, keys: int, frames: int = 0) -> None:
    """The same scene by the shortest way: world and armature first, a mesh per colour, everything linked once, bodies
    and hinges on their bones. ``frames``: of a format that has them, as many empties on bodies.

    The same are, besides the numbers of things: the materials' colours; the stops of hinges on their constraints, and
    on bones as limits for posing and for IK, with the other channels locked; what is set on rigid bodies and on
    constraints so that they go as they should; who hangs on which bone. What makes it a model is not in it: records of
    parts, names that a file has, report, document."""
    scene, layer = bpy.context.scene, bpy.context.view_layer
    bpy.ops.rigidbody.world_add()
    world = scene.rigidbody_world
    world.collection = bpy.data.collections.new("floor bodies")
    world.constraints = bpy.data.collections.new("floor constraints")
    armature = bpy.data.armatures.new("floor")
    rig = bpy.data.objects.new("floor", armature)
    scene.collection.objects.link(rig)
    layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    previous = None
    for number in range(count):
        bone = armature.edit_bones.new(f"bone {number}")
        bone.head, bone.tail = (0.1 * number, 0.0, 0.0), (0.1 * number, 0.1, 0.0)
        bone.parent = previous if number % 8 else None
        previous = bone
    bpy.ops.object.mode_set(mode="OBJECT")
    rests = [(bone.matrix_local @ Matrix.Translation((0.0, bone.length, 0.0))).inverted() for bone in armature.bones]
    corners = [(x, y, z) for x in (-0.2, 0.2) for y in (-0.05, 0.05) for z in (-0.05, 0.05)]
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    meshes = []
    for number in range(min(count, _COLORS)):
        mesh = bpy.data.meshes.new("floor")
        mesh.from_pydata(corners, [], faces)
        material = bpy.data.materials.new("floor")
        material.diffuse_color = (number / _COLORS, 0.5, 0.5, 1.0)
        mesh.materials.append(material)
        meshes.append(mesh)
    holder = bpy.data.collections.new("floor")
    bodies, empties = [], []
    for number in range(count):
        body = bpy.data.objects.new(f"body {number}", meshes[number % _COLORS])
        body.parent, body.parent_type, body.parent_bone = rig, "BONE", f"bone {number}"
        body.matrix_parent_inverse = rests[number]
        body.rotation_mode = "QUATERNION"
        body.location = (0.1 * number, 0.0, 2.0)
        holder.objects.link(body)
        bodies.append(body)
    for number in range(count - 1):
        empty = bpy.data.objects.new(f"hinge {number}", None)
        empty.parent, empty.parent_type, empty.parent_bone = rig, "BONE", f"bone {number}"
        empty.matrix_parent_inverse = rests[number]
        empty.rotation_mode = "QUATERNION"
        empty.location = (0.1 * number + 0.05, 0.0, 2.0)
        empty.empty_display_type, empty.empty_display_size = "ARROWS", 0.02
        holder.objects.link(empty)
        empties.append(empty)
    for number in range(frames):
        empty = bpy.data.objects.new(f"frame {number}", None)
        empty.parent = bodies[number % count]
        holder.objects.link(empty)
    for body in bodies:
        world.collection.objects.link(body)
        rigid = body.rigid_body
        rigid.collision_shape, rigid.kinematic, rigid.mass = "BOX", True, 2.0
        rigid.use_margin, rigid.collision_margin = True, 0.0
        rigid.friction, rigid.linear_damping, rigid.angular_damping, rigid.use_deactivation = 1.0, 0.0, 0.0, False
    for number, empty in enumerate(empties):
        world.constraints.objects.link(empty)
        hinge = empty.rigid_body_constraint
        hinge.type, hinge.object1, hinge.object2 = "GENERIC_SPRING", bodies[number + 1], bodies[number]
        hinge.spring_type = "SPRING2"
        hinge.use_limit_lin_x = hinge.use_limit_lin_y = hinge.use_limit_lin_z = True
        hinge.limit_lin_x_lower = hinge.limit_lin_y_lower = hinge.limit_lin_z_lower = 0.0
        hinge.limit_lin_x_upper = hinge.limit_lin_y_upper = hinge.limit_lin_z_upper = 0.0
        hinge.use_limit_ang_x = hinge.use_limit_ang_y = hinge.use_limit_ang_z = True
        hinge.limit_ang_x_lower = hinge.limit_ang_y_lower = hinge.limit_ang_x_upper = hinge.limit_ang_y_upper = 0.0
        hinge.limit_ang_z_lower, hinge.limit_ang_z_upper = -0.5, 0.5
    _limit_bones(rig)
    action = bpy.data.actions.new("floor")
    compat.use_action(rig, action)
    curves = compat.action_curves(rig, action)
    pairs = np.zeros((keys, 2), dtype=np.float32)
    pairs[:, 0] = np.arange(keys)
    linear = np.full(keys, 1, dtype=np.int32)
    for number in range(count if keys else 0):
        for index in range(4):
            curve = curves.new(f'pose.bones["bone {number}"].rotation_quaternion', index=index)
            curve.keyframe_points.add(keys)
            curve.keyframe_points.foreach_set("co", pairs.ravel())
            curve.keyframe_points.foreach_set("interpolation", linear)
            curve.update()
    scene.collection.children.link(holder)
    layer.update()


def _limit_bones(rig: bpy.types.Object) -> None:
    """Let every bone turn about its Z alone, within its stops."""
    bones, count = rig.pose.bones, len(rig.pose.bones)
    modes = bpy.types.PoseBone.bl_rna.properties["rotation_mode"].enum_items  # type: ignore[attr-defined]
    about_z = [True, True, False]
    values = {
        "rotation_mode": [modes["XYZ"].value],
        "lock_location": [True] * 3,
        "lock_rotation": about_z,
        "lock_rotation_w": [True],
        "lock_scale": [True] * 3,
        **{f"lock_ik_{axis}": [held] for axis, held in zip("xyz", about_z, strict=True)},
        "use_ik_limit_z": [True],
        "ik_min_z": [-0.5],
        "ik_max_z": [0.5],
    }
    for name, value in values.items():
        bones.foreach_set(name, value * count)
    first = None
    for bone in bones:
        if first is not None:
            bone.constraints.copy(first)
            continue
        first = bone.constraints.new("LIMIT_ROTATION")
        first.owner_space, first.use_limit_z, first.min_z, first.max_z = "LOCAL", True, -0.5, 0.5
