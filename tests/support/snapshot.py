"""Helpers for tests of undo and rollback: all values of the open file, compared to the last bit."""

from __future__ import annotations

import re
from typing import Any

_KINDS = (
    "actions", "armatures", "cameras", "collections", "lights", "materials", "meshes", "objects", "scenes", "texts",
    "worlds",
)  # fmt: skip
#: What says nothing of the file: how often something is used, where it lies in memory, what the evaluation left there.
_PASSING = {
    "active_section", "animation_data_create", "asset_data", "bl_rna", "collection_children", "cycles",
    "depsgraph", "display", "display_settings", "eevee", "error_location", "error_rotation", "id_data", "info",
    "is_active_output", "is_evaluated", "is_frame_skip", "is_outdated", "is_runtime_data", "is_updated",
    "is_updated_data", "is_valid", "keying_sets_all", "original", "override_library", "preview", "rna_type",
    "sequence_editor", "sequencer_colorspace_settings", "session_uid", "session_tag", "tag", "tool_settings",
    "use_nodes", "users", "view_layers", "view_settings",
}  # fmt: skip
#: Of meshes: what follows from vertices, edges and faces.
_DERIVED = {
    "attributes", "color_attributes", "corner_normals", "edge_creases", "edges", "loop_triangle_polygons",
    "loop_triangles", "loops", "polygon_normals", "polygons", "skin_vertices", "uv_layers", "vertex_colors",
    "vertex_creases", "vertex_normals", "vertices",
}  # fmt: skip
_DEEPEST = 7


def snapshot() -> dict[str, Any]:
    """Every value of every datablock by its path: ``objects/Trunk/location`` and so on."""
    import bpy

    out: dict[str, Any] = {}
    for kind in _KINDS:
        for block in getattr(bpy.data, kind):
            out[f"{kind}/{block.name_full}"] = type(block).__name__
            _values(out, block, f"{kind}/{block.name_full}", [block.as_pointer()])
    out.update({f"images/{image.name_full}": tuple(image.size) for image in bpy.data.images if image.packed_file})
    known: dict[str, str] = {}  # keys that are made up anew each time: which are alike matters, and not what they are
    for path, value in out.items():
        if isinstance(value, str) and re.fullmatch("[0-9a-f]{32}", value):
            out[path] = known.setdefault(value, f"key {len(known)}")
    view = bpy.context.view_layer
    out["active"] = view.objects.active.name_full if view.objects.active is not None else None
    out["selected"] = sorted(obj.name_full for obj in view.objects.selected)
    return out


def changed(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    """The paths of what two snapshots differ in."""
    return [path for path in sorted({*first, *second}) if first.get(path, "nothing") != second.get(path, "nothing")]


def differences(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    """Where two snapshots differ and what each says, the first few."""
    return [
        f"{path}: {first.get(path, 'nothing')!r} -> {second.get(path, 'nothing')!r}"
        for path in changed(first, second)[:12]
    ]


def _values(out: dict[str, Any], item: Any, path: str, above: list[int]) -> None:
    import bpy

    if isinstance(item, bpy.types.Mesh):
        _geometry(out, item, path)
    elif isinstance(item, bpy.types.FCurve):
        for name, width in (("co", 2), ("handle_left", 2), ("handle_right", 2)):
            numbers = [0.0] * (width * len(item.keyframe_points))
            item.keyframe_points.foreach_get(name, numbers)
            out[f"{path}/{name}"] = tuple(numbers)
    for name, kind in _KNOWN.get(type(item)) or _properties(type(item), item.bl_rna):
        try:
            value = getattr(item, name)
        except (AttributeError, RuntimeError):
            continue
        if kind == "PLAIN":
            out[f"{path}/{name}"] = value
        else:
            _value(out, kind, value, f"{path}/{name}", above)


#: The names and kinds of a type's properties that are looked at: looking them up each time takes most of the time.
_KNOWN: dict[type, list[tuple[str, str]]] = {}


def _properties(owner: type, rna: Any) -> list[tuple[str, str]]:
    import bpy

    passing = set(_PASSING)
    passing |= _DERIVED if issubclass(owner, bpy.types.Mesh) else set()
    passing |= {"keyframe_points", "sampled_points"} if issubclass(owner, bpy.types.FCurve) else set()
    # sliders of servos are channels seen in another way, and made when somebody looks at them
    names = [prop for prop in rna.properties if not prop.identifier.startswith("knuckle_servo_")]
    _KNOWN[owner] = [(prop.identifier, _kind(prop)) for prop in names if prop.identifier not in passing]
    return _KNOWN[owner]


def _kind(prop: Any) -> str:
    if prop.type == "ENUM" and prop.is_enum_flag:
        return "FLAGS"
    if getattr(prop, "is_array", False):
        return "ARRAY"
    return prop.type if prop.type in ("COLLECTION", "POINTER") else "PLAIN"


def _value(out: dict[str, Any], kind: str, value: Any, path: str, above: list[int]) -> None:
    if kind == "COLLECTION":
        out[f"{path}/#"] = len(value)
        for number, each in enumerate(value):
            _pointed(out, each, f"{path}/{number}", above)
    elif kind == "POINTER":
        _pointed(out, value, path, above)
    elif kind == "FLAGS":
        out[path] = tuple(sorted(value))
    else:
        out[path] = tuple([tuple(row) if hasattr(row, "__len__") else row for row in value])


def _pointed(out: dict[str, Any], value: Any, path: str, above: list[int]) -> None:
    """What belongs to its owner in full; another datablock, and what is known already, by its name."""
    import bpy

    if value is None:
        out[path] = None
    elif isinstance(value, bpy.types.ID):
        out[path] = f"{type(value).__name__} {value.name_full}"
    elif isinstance(value, bpy.types.bpy_struct):
        is_bone = isinstance(value, (bpy.types.Bone, bpy.types.PoseBone))
        elsewhere = is_bone and path.rsplit("/", 2)[-2] != "bones"  # a parent, a child: told of in its own place
        pointer = value.as_pointer()
        if elsewhere or pointer in above or len(above) > _DEEPEST:
            out[path] = getattr(value, "name", type(value).__name__)
        else:
            _values(out, value, path, [*above, pointer])
    else:
        out[path] = repr(value)


def _geometry(out: dict[str, Any], mesh: Any, path: str) -> None:
    points = [0.0] * (3 * len(mesh.vertices))
    mesh.vertices.foreach_get("co", points)
    out[f"{path}/vertices"] = tuple(points)
    corners = [0] * len(mesh.loops)
    mesh.loops.foreach_get("vertex_index", corners)
    out[f"{path}/corners"] = tuple(corners)
    out[f"{path}/faces"] = tuple(face.loop_start for face in mesh.polygons)
