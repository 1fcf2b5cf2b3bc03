"""Stand-ins: the objects that are rendered in place of the mechanism's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bmesh
import bpy
import numpy as np
from mathutils import Matrix, Quaternion

from ..animation.keying import fill_curve
from ..compat import action_curves, active_nodes, ensure_node_tree, new_curve, use_action
from .playback import Array, RecordedTake, is_deformed
from .temporary_studio import Studio

BEVEL_SHARE = 0.035  # of a mesh's smallest side
BEVEL_ANGLE = np.radians(40.0)
BEVEL_FACES = 400  # meshes with more are detailed already


def create_stand_ins(
    studio: Studio, take: RecordedTake, graph: bpy.types.Depsgraph, shader_nodes: bool
) -> list[bpy.types.Object]:
    """Create a stand-in for every object of the take, in its order, in the studio's scene."""
    meshes: dict[tuple[object, ...], bpy.types.Mesh] = {}
    dressed: dict[bpy.types.Material, bpy.types.Material] = {}
    actors = []
    for index, source in enumerate(take.objects):
        matrix: Any = Matrix(take.poses[0, index])
        scale = tuple(round(side, 6) for side in matrix.to_scale())
        deformed = is_deformed(source)
        key = (source if deformed else source.data, scale)
        if key not in meshes:
            meshes[key] = studio.own(stand_in_mesh(source, graph, scale, deformed))
        kind = "Film" if index < take.cast else "Film scenery"
        actor = studio.place(f"{kind} {source.name}", meshes[key])
        actor.color = source.color
        actor.rotation_mode = "QUATERNION"
        for slot, original in zip(actor.material_slots, source.material_slots, strict=False):
            slot.link = "OBJECT"
            slot.material = original.material
            if shader_nodes and original.material is not None:
                slot.material = shading_material(studio, original.material, dressed)
        actors.append(actor)
    return actors


def stand_in_mesh(
    source: bpy.types.Object, graph: bpy.types.Depsgraph, scale: tuple[float, ...], deformed: bool
) -> bpy.types.Mesh:
    """Create a mesh in the object's true size, with beveled edges unless it is deformed: real edges catch light."""
    data: Any = source.data
    mesh: Any = (
        bpy.data.meshes.new_from_object(source.evaluated_get(graph), depsgraph=graph) if deformed else data.copy()
    )
    mesh.transform(Matrix.Diagonal((*scale, 1.0)))
    if np.prod(scale) < 0.0:
        mesh.flip_normals()
    if not deformed and 0 < len(mesh.polygons) <= BEVEL_FACES:
        bevel_edges(mesh)
    return mesh


def bevel_edges(mesh: bpy.types.Mesh) -> None:
    """Bevel the sharp edges of a closed mesh a little."""
    points = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", points)
    sides = np.ptp(points.reshape(-1, 3), axis=0)
    width = BEVEL_SHARE * float(sides.min())
    shape = bmesh.new()
    shape.from_mesh(mesh)
    sharp = [edge for edge in shape.edges if edge.is_manifold and edge.calc_face_angle(0.0) > BEVEL_ANGLE]
    if sharp and width > 0.0:
        bmesh.ops.bevel(
            shape,
            geom=sharp,
            offset=width,
            offset_type="OFFSET",
            segments=2,
            profile=0.5,
            affect="EDGES",
            clamp_overlap=True,
        )
        shape.to_mesh(mesh)
    shape.free()


def key_poses(studio: Studio, actors: list[bpy.types.Object], poses: Array) -> None:
    """Keyframe the stand-ins at the poses of their originals: world matrices (n, k, 4, 4) of the frames from 1 on.

    Scale is in their meshes.
    """
    for number, actor in enumerate(actors):
        parts = [Matrix(matrix).decompose() for matrix in poses[:, number]]
        key_transforms(studio, actor, np.array([place for place, _, _ in parts]), [turn for _, turn, _ in parts])


def key_transforms(studio: Studio, thing: bpy.types.Object, places: Array, turns: Sequence[Quaternion]) -> None:
    """Keyframe the location (n, 3) and rotation of an object in the frames from 1 on.

    Channels that do not change get no keyframes.
    """
    thing.rotation_mode = "QUATERNION"
    thing.location, thing.rotation_quaternion = places[0], turns[0]
    tracks = {"location": places, "rotation_quaternion": np.array(turns, dtype=np.float64)}
    moving = [(path, index) for path, part in tracks.items() for index in np.flatnonzero(np.ptp(part, axis=0)).tolist()]
    if not moving:
        return
    action = studio.own(bpy.data.actions.new(thing.name))
    use_action(thing, action)
    curves, frames = action_curves(thing, action), np.arange(1.0, len(places) + 1.0)
    for path, index in moving:
        fill_curve(new_curve(curves, path, index, thing.name), frames, tracks[path][:, index])


def shading_material(
    studio: Studio, material: bpy.types.Material, dressed: dict[bpy.types.Material, bpy.types.Material]
) -> bpy.types.Material:
    """Return the material for engines that shade by nodes.

    One with only a viewport color, its nodes as Blender created them, is replaced by a paint of that color.
    """
    if material not in dressed:
        dressed[material] = viewport_paint(studio, material) if has_only_viewport_color(material) else material
    return dressed[material]


def has_only_viewport_color(material: bpy.types.Material) -> bool:
    """Return whether there are no nodes, or only an untouched Principled shader beside a viewport color."""
    nodes = active_nodes(material)
    shader = next((node for node in nodes if node.type == "BSDF_PRINCIPLED"), None)
    if shader is None:
        return len(nodes) <= 1
    base = shader.inputs["Base Color"]
    untouched = len(nodes) == 2 and not base.is_linked
    return untouched and bool(np.allclose(tuple(base.default_value)[:3], 0.8, atol=1e-3))


def viewport_paint(studio: Studio, material: bpy.types.Material) -> bpy.types.Material:
    """Create a paint of a material's viewport color."""
    return make_paint(studio, f"Film {material.name}", tuple(material.diffuse_color[:3]))


def make_paint(studio: Studio, name: str, color: Sequence[float]) -> bpy.types.Material:
    """Create a satin paint of a color (linear), for every engine."""
    material = studio.own(bpy.data.materials.new(name))
    material.diffuse_color = (*color, 1.0)
    shader: Any = next(node for node in ensure_node_tree(material).nodes if node.type == "BSDF_PRINCIPLED")
    shader.inputs["Base Color"].default_value = (*color, 1.0)
    shader.inputs["Roughness"].default_value = 0.32
    shader.inputs["Specular IOR Level"].default_value = 0.5
    return material
