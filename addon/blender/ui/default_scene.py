"""Blender's factory scene: whether nobody has touched it yet."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np

#: Location, Euler rotation (rad) and scale of the factory scene's objects, equal in Blender 4.2, 4.5, 5.0 and 5.2.
_PLACES = {
    "Cube": ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    "Light": ((4.07625, 1.00545, 5.90386), (0.65033, 0.05522, 1.86639)),
    "Camera": ((7.35889, -6.92579, 4.95831), (1.10932, 0.0, 0.81493)),
}
_NEAR = 1e-4


def untouched_cube(context: bpy.types.Context) -> bpy.types.Object | None:
    """Return the default cube of a file that is still as Blender starts, else None.

    The file was never saved and has one scene that holds exactly the factory's cube, camera and light, with their
    transforms, the cube's mesh and its material unchanged, and nothing animated, constrained or modified.
    """
    scene = context.scene
    objects = {obj.name: obj for obj in scene.objects}
    if bpy.data.filepath or len(bpy.data.scenes) > 1 or objects.keys() != _PLACES.keys():
        return None
    if len(bpy.data.objects) > len(objects) or not all(map(_is_plain, objects.values())):
        return None
    cube = objects["Cube"]
    return cube if _is_factory_cube(cube) else None


def _is_plain(obj: Any) -> bool:
    """Return whether an object stands where the factory has it, and nothing moves, shapes or holds it."""
    location, rotation = _PLACES[obj.name]
    is_there = (
        _are_near(obj.location, location)
        and obj.rotation_mode == "XYZ"
        and _are_near(obj.rotation_euler, rotation)
        and _are_near(obj.scale, (1.0, 1.0, 1.0))
        and _are_near(np.ravel(obj.matrix_parent_inverse), np.eye(4).ravel())
    )
    is_held = obj.parent is not None or obj.constraints or obj.rigid_body is not None
    is_shaped = obj.modifiers or obj.vertex_groups or obj.particle_systems
    data = obj.data
    is_animated = obj.animation_data is not None or (data is not None and data.animation_data is not None)
    return is_there and not (is_held or is_shaped or is_animated)


def _is_factory_cube(cube: Any) -> bool:
    """Return whether the default cube's mesh and material are the factory's."""
    mesh: Any = cube.data
    if not isinstance(mesh, bpy.types.Mesh) or mesh.shape_keys is not None:
        return False
    if (len(mesh.vertices), len(mesh.edges), len(mesh.polygons)) != (8, 12, 6):
        return False
    corners = np.empty(24, dtype=np.float32)
    mesh.vertices.foreach_get("co", corners)
    signs = (-1.0, 1.0)
    if set(map(tuple, corners.reshape(8, 3).tolist())) != {(x, y, z) for x in signs for y in signs for z in signs}:
        return False
    if len(mesh.materials) != 1 or mesh.materials[0] is None or mesh.materials[0].name != "Material":
        return False
    material: Any = mesh.materials[0]
    tree = material.node_tree
    if tree is None or len(tree.nodes) != 2 or len(tree.links) != 1 or material.animation_data is not None:
        return False
    shader = next((node for node in tree.nodes if node.bl_idname == "ShaderNodeBsdfPrincipled"), None)
    gray = (0.8, 0.8, 0.8, 1.0)
    return shader is not None and _are_near(shader.inputs["Base Color"].default_value, gray)


def _are_near(numbers: Any, others: Any) -> bool:
    return bool(np.allclose(np.array(numbers), others, atol=_NEAR))
