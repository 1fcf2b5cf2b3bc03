"""Giving bodies what they collide with: their own mesh, or children as the parts of a compound."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, cast

import bpy

from ...data.access import record_of
from ...data.collision_shapes import own_collision_type, primitive_type
from ...data.queries import parts


def collision_children(rig: bpy.types.Object) -> dict[bpy.types.Object, list[bpy.types.Object]]:
    """The collision shapes of a model that are children of their bodies, by body."""
    out: dict[bpy.types.Object, list[bpy.types.Object]] = {}
    for obj in parts(rig, "SHAPE"):
        if obj.parent is not None and record_of(obj).shape >= 0:
            out.setdefault(obj.parent, []).append(obj)
    return out


def put_collision(
    obj: bpy.types.Object,
    children: Sequence[bpy.types.Object],
    world: bpy.types.RigidBodyWorld,
    linked: Collection[bpy.types.Object],
) -> dict[str, Any]:
    """Set the collision shapes of the children that make a body a compound, which join the world if they are not in
    ``linked``. Returns what its own rigid body has to be told to collide as it should."""
    record = record_of(obj)
    shapes = record.shapes
    parts_of = [child for child in children if record_of(child).shape < len(shapes)]
    for child in parts_of:
        if child not in linked:
            world.collection.objects.link(child)
        part: Any = child.rigid_body
        for name, value in _shaped(child, primitive_type(shapes[record_of(child).shape].type)).items():
            setattr(part, name, value)
        # as a part it needs neither; left behind by its body it would fall and be in the way, unseen
        part.type, part.collision_collections = "PASSIVE", [False] * 20
    kind = "COMPOUND" if parts_of else own_collision_type(record)
    if kind is None or not (parts_of or _has_extent(obj)):
        # Blender draws its round shapes about the object
        values = _shaped(obj, "CONVEX_HULL" if _has_extent(obj) else "SPHERE")
        return values | {"collision_collections": [False] * 20}
    if any(obj.rigid_body.collision_collections):
        return _shaped(obj, kind)
    return _shaped(obj, kind) | {"collision_collections": [True] + [False] * 19}


def _shaped(obj: bpy.types.Object, kind: str) -> dict[str, Any]:
    # Without a margin boxes, hulls and cylinders of 2 cm, 20 cm and 2 m alike rest within 1e-5 of their size. With one,
    # hulls float by it (Blender's 4 cm throws those of 2 cm about), and cylinders shake more
    values: dict[str, Any] = {"collision_shape": kind, "use_margin": True, "collision_margin": 0.0}
    record, is_modified = record_of(obj), _is_modified(obj)
    if not is_modified:
        # The same points: but those of the other sources may be freed by another thread while Blender, as it builds
        # its simulation, reads them (it does not wait for them: crashes of 5.2, where its scene is not the shown one)
        values["mesh_source"] = "BASE"
    elif not record.keeps_source and obj.rigid_body.mesh_source == "BASE":
        values["mesh_source"] = "DEFORM"  # that was we, before it had modifiers
    if record.keeps_source != is_modified:
        record.keeps_source = is_modified
    return values


def _is_modified(obj: bpy.types.Object) -> bool:
    """Return whether Blender shows anything else than the mesh of an object."""
    return bool(obj.modifiers) or cast(bpy.types.Mesh, obj.data).shape_keys is not None


def _has_extent(obj: bpy.types.Object) -> bool:
    """Return whether there is anything to collide with: Blender measures its shapes on the mesh."""
    return bool(cast(bpy.types.Mesh, obj.data).vertices)
