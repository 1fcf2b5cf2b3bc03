"""Baseline of a part: what was pushed to Blender last, to detect the edits of the user.

Values with the prefix ``baseline_`` are those with which an object, bone or material was created or adopted; reading a
mechanism compares with them. Values with the prefix ``mirrored_`` are those at which twins were last made symmetric.
Copies of an object, and objects that are appended or linked, have their own.

Note:
    All are stored with what they describe, not in one datablock of the mechanism. Undo keeps each datablock that is the
    same in two of its steps, together with what handlers wrote to it after the later step was stored. A value that a
    handler writes is restored by undo only if something in the same datablock differs between the steps (4.2 to 5.2).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import bpy
import numpy as np

from ...core.model import Array
from ..compat import active_nodes
from .access import armature_of, bone_record, record_of
from .conversion import flatten_pose, unflatten_pose
from .datablocks import mesh_points
from .facts import COMMON_LIGHT_VALUES, MATERIAL_COLOR_TOLERANCE, shown_value, write_shown


def baseline_values(name: str, pose: Any) -> dict[str, Any]:
    """Return the values of a record for an object that has this name and local matrix, (4, 4) or 16 numbers by rows."""
    return {"baseline_pose": pose if isinstance(pose, list) else flatten_pose(pose), "baseline_name": name}


def record_baseline(obj: bpy.types.Object) -> None:
    """Record the present local matrix and name of an object; the bones of a part stay those of its previous matrix."""
    if record_of(obj).role in {"BODY", "JOINT"}:
        record_of(obj).baseline_bone_pose = bone_baseline(obj)
    for name, value in baseline_values(obj.name, obj.matrix_basis).items():
        setattr(record_of(obj), name, value)


def record_baseline_name(obj: bpy.types.Object) -> None:
    """Record the present name of an object."""
    record_of(obj).baseline_name = obj.name


def write_name(obj: bpy.types.Object, name: str) -> None:
    """Write a part's name to its object and its record."""
    obj.name = record_of(obj).source_name = name
    record_baseline_name(obj)


def baseline_pose(obj: bpy.types.Object) -> Array:
    """Return the local matrix (4, 4) that was last pushed to an object."""
    return unflatten_pose(record_of(obj).baseline_pose)


# ---------------------------------------------------------------- bones of bodies and joints


def record_bone_baseline(obj: bpy.types.Object) -> None:
    """Record the present local matrix of a body or of a joint's empty as that for which its bones were made."""
    record_of(obj).baseline_bone_pose = flatten_pose(obj.matrix_basis)


def bone_baseline(obj: bpy.types.Object) -> list[float]:
    """Return the local matrix (16 numbers by rows) of a body or of a joint's empty for which its bones were made."""
    own = list(record_of(obj).baseline_bone_pose)
    return own if own[-1] else list(record_of(obj).baseline_pose)  # unset: the last entry of a matrix is 1


# ---------------------------------------------------------------- rest poses of bones


def store_rest_poses(rig: bpy.types.Object) -> None:
    """Record the present rest poses of the bones as those that were last written to them."""
    for bone in armature_of(rig).bones:
        if bone_record(bone).joint or bone_record(bone).root:
            record_rest_pose(bone)


def record_rest_pose(bone: bpy.types.Bone) -> None:
    """Record the present rest pose of a bone, as Blender rounded it, as the one that was last written to it."""
    record, rest = bone_record(bone), bone.matrix_local
    record.rest = np.array(rest.to_3x3()).ravel().tolist()
    record.rest_head = rest.translation


def recorded_rest_poses(rig: bpy.types.Object) -> dict[str, Array]:
    """Return the rest poses (4, 4) that were last written to the bones of joints and roots, by name.

    They are in the mechanism's frame. Bones of which none is recorded, as before release 1.1, are left out.
    """
    out = dict[str, Array]()
    for bone in armature_of(rig).bones:
        record = bone_record(bone)
        if (record.joint or record.root) and record.is_property_set("rest_head"):
            out[bone.name] = np.eye(4)
            out[bone.name][:3, :3], out[bone.name][:3, 3] = np.reshape(record.rest[:], (3, 3)), record.rest_head
    return out


# ---------------------------------------------------------------- meshes of bodies


def mesh_fingerprint(mesh: bpy.types.Mesh) -> list[float]:
    """Return figures (4,) that detect an edit of a mesh: vertex count, then the mean square of each coordinate."""
    points = mesh_points(mesh)
    spread = (points**2).mean(axis=0) if len(points) else np.zeros(3)
    return [float(len(mesh.vertices)), *spread.tolist()]


def mesh_reference_points(mesh: bpy.types.Mesh) -> list[float]:
    """Return indices and coordinates (16,) of four vertices not in one plane, to recognize a mesh moved as a whole.

    Zeros where it has no such vertices.
    """
    points = mesh_points(mesh)
    if len(points) < 4:
        return [0.0] * 16
    chosen = [0]
    away = points - points[0]
    size = 0.0
    for _ in range(3):  # each the farthest from the affine hull of the previous ones
        far = np.einsum("ij,ij->i", away, away)
        chosen.append(int(far.argmax()))
        length = float(np.sqrt(far[chosen[-1]]))
        size = size or length
        if length <= 1e-4 * size or not length:
            return [0.0] * 16
        along = away[chosen[-1]] / length
        away = away - np.outer(away @ along, along)
    return [number for index in chosen for number in (float(index), *points[index].tolist())]


def are_reference_points_moved(obj: bpy.types.Object) -> bool:
    """Return whether the reference points of a body's mesh are not where they were; False where none are stored."""
    mesh: Any = obj.data
    corners = np.array(record_of(obj).baseline_corners, dtype=np.float64).reshape(4, 4)
    numbers = corners[:, 0].astype(int).tolist()
    if obj.type != "MESH" or not corners.any() or max(numbers) >= len(mesh.vertices):
        return False
    apart = np.array([mesh.vertices[number].co[:] for number in numbers]) - corners[:, 1:]
    return bool(np.abs(apart).max() > 1e-6 * np.abs(corners[:, 1:]).max())


def record_mesh_baseline(obj: bpy.types.Object) -> None:
    """Record the present mesh of a body that came from a file."""
    mesh: Any = obj.data
    record_of(obj).baseline_corners, record_of(obj).baseline_mesh = mesh_reference_points(mesh), mesh_fingerprint(mesh)


# ---------------------------------------------------------------- materials


def record_color_baseline(material: Any, color: Sequence[float]) -> None:
    """Record the color (RGBA, linear) with which a material was created."""
    material.knuckle.baseline_color = color


def has_color_baseline(material: Any) -> bool:
    """Return whether a material's color is recorded."""
    return bool(material.knuckle.baseline_color[3] >= 0.0)


def is_baseline_color(material: Any, color: Sequence[float]) -> bool:
    """Return whether a color (RGBA, linear) is the recorded one of a material. None is, where it has no record."""
    apart = np.abs(np.subtract(color, material.knuckle.baseline_color))
    return bool(apart.max() < MATERIAL_COLOR_TOLERANCE)


# ---------------------------------------------------------------- symmetric editing


def record_mirror_state(obj: bpy.types.Object, twin: bpy.types.Object) -> None:
    """Record the present state of twins as symmetric: later differences are edits to be mirrored.

    These are transforms, names, and the values of lights and materials. Twins are bodies and joints, and what is on
    twins.

    Each of the two also has the other's, and the number of times that they were recorded: after undo, the one with the
    lower number was restored and the other was not.
    """
    count = max(record_of(obj).mirrored_count, record_of(twin).mirrored_count) + 1
    for one, other in ((obj, twin), (twin, obj)):
        record = record_of(one)
        record.mirrored_pose, record.mirrored_name = one.matrix_basis, one.name
        record.mirrored_twin_pose, record.mirrored_twin_name = other.matrix_basis, other.name
        record.mirrored_count = count
    for owner, other in common_datablocks(obj, twin):
        record_common_values(owner, other)


def edits_since_mirror(obj: bpy.types.Object) -> list[str]:
    """Return Blender's properties of an object that were edited since its twin was made symmetric: pose and name."""
    record = record_of(obj)
    out = [] if record.mirrored_pose == obj.matrix_basis else ["matrix_basis"]
    return [*out, "name"] if obj.name != record.mirrored_name else out


def common_datablocks(obj: bpy.types.Object, twin: bpy.types.Object) -> list[tuple[Any, Any]]:
    """Return the light, or the materials, of a part that its twin has other ones for, each with that of the twin.

    Shared datablocks need no mirroring; linked ones cannot be edited.
    """
    pairs: list[tuple[Any, Any]] = []
    if obj.type == twin.type == "LIGHT":
        pairs = [(obj.data, twin.data)]
    elif obj.type == twin.type == "MESH" and len(obj.material_slots) == len(twin.material_slots) == 1:
        pairs = [(obj.active_material, twin.active_material)]  # reading slots takes ten times as long
    elif obj.type == twin.type == "MESH":
        slots = zip(obj.material_slots, twin.material_slots, strict=False)
        pairs = [(own.material, its.material) for own, its in slots]
    return [
        (one, other)
        for one, other in pairs
        if one is not None and other is not None and one != other and one.library is None and other.library is None
    ]


def datablock_pairs(
    twins: Mapping[bpy.types.Object, bpy.types.Object],
) -> dict[tuple[Any, Any], tuple[bpy.types.Object, bpy.types.Object]]:
    """Return the first of the twins that have each pair of lights or materials (``common_datablocks``).

    A material that several others belong to on the other side has no twin.
    """
    out: dict[tuple[Any, Any], tuple[bpy.types.Object, bpy.types.Object]] = {}
    for obj, twin in twins.items():
        for pair in common_datablocks(obj, twin):
            out.setdefault(pair, (obj, twin))
    mine, its = (Counter(pair[side] for pair in out) for side in (0, 1))
    return {pair: objects for pair, objects in out.items() if mine[pair[0]] == its[pair[1]] == 1}


def record_common_values(owner: Any, other: Any) -> None:
    """Record the present values of two lights, or two materials, of twins as symmetric (``record_mirror_state``).

    They are in the datablock that has them, since undo restores each by itself.
    """
    values = [json.dumps(common_values(each)) for each in (owner, other)]
    count = max(each.knuckle.mirrored.count for each in (owner, other)) + 1
    for one, two, mine, its in ((owner, other, *values), (other, owner, *reversed(values))):
        state = one.knuckle.mirrored
        state.values, state.twin_values, state.twin_uid, state.count = mine, its, two.session_uid, count


def has_common_values(owner: Any, other: Any) -> bool:
    """Return whether the values of two lights or materials were recorded as those of twins."""
    states = owner.knuckle.mirrored, other.knuckle.mirrored
    return [state.twin_uid for state in states] == [other.session_uid, owner.session_uid]


def edited_common_values(owner: Any) -> dict[str, Any]:
    """Return the values of a light or material that were edited since its twin's was made symmetric, by name."""
    before = json.loads(owner.knuckle.mirrored.values)
    return {name: value for name, value in common_values(owner).items() if value != before.get(name, value)}


def restored_twin_values(owner: Any, other: Any) -> dict[str, Any]:
    """Return the values that the twin of a light or material had, if undo restored this one and not the twin."""
    own, its = owner.knuckle.mirrored, other.knuckle.mirrored
    return json.loads(own.twin_values) if own.count < its.count else {}


def common_values(owner: Any) -> dict[str, Any]:
    """Return the values of a light or material that twins have in common, by name."""
    return {name: shown_value(owner, path) for name, path in _common_paths(owner).items()}


def write_common_values(owner: Any, values: Mapping[str, Any]) -> None:
    """Write values that twins have in common to a light or material; what it has not is left out."""
    paths = _common_paths(owner)
    for name in values.keys() & paths.keys():
        write_shown(owner, paths[name], values[name])


def principled_shader(material: bpy.types.Material) -> Any:
    """Return the Principled BSDF of a material, None without one."""
    return next((node for node in active_nodes(material) if node.type == "BSDF_PRINCIPLED"), None)


def _common_paths(owner: Any) -> dict[str, str]:
    """Return the RNA paths, from a light or material, of the values that twins have in common, by name."""
    if isinstance(owner, bpy.types.Light):
        return {path: path.removeprefix("data.") for path in COMMON_LIGHT_VALUES}
    shader = principled_shader(owner)
    sockets = [] if shader is None else [shader.inputs[name] for name in ("Base Color", "Alpha")]
    inputs = {each.name: f"node_tree.{each.path_from_id('default_value')}" for each in sockets if not each.is_linked}
    return {"diffuse_color": "diffuse_color", **inputs}
