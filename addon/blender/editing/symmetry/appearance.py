"""How far the surfaces of two meshes are apart, whichever way they are cut into polygons."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Matrix
from mathutils.bvhtree import BVHTree
from mathutils.kdtree import KDTree

from ....core.editing.sides import find_sides
from ....core.editing.symmetry import TwinDifference, find_asymmetries
from ....core.editing.twins import flip_between
from ....core.model import Array, Plane
from ....core.report import Report
from ...data.access import record_of
from ...scene.materials import have_same_color
from ...scene.read.mechanism import extract
from ..design_poses import rigid_matrix
from ..rig_update import assign_ids
from .links import twins_by_part

#: Surfaces that are nearer to each other than this share of their size are the same.
_SURFACE_TOLERANCE = 5e-3


def mesh_points(mesh: bpy.types.Mesh, scale: Array) -> Array:
    """The points (n, 3) of a mesh, as large as its object shows them, in its axes."""
    points = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", points)  # type: ignore[arg-type]
    return points.reshape(-1, 3).astype(np.float64) * scale


def mesh_surface_distance(mine: Array, one: bpy.types.Mesh, its: Array, other: bpy.types.Mesh) -> float:
    """Return how far two surfaces are apart where they are furthest, of meshes whose points (n, 3) are where these are;
    0 where they are as good as the same, or where one is empty."""
    if not (len(mine) and len(its)):
        return 0.0
    enough = _SURFACE_TOLERANCE * float(np.ptp(its, axis=0).max())
    if mine.shape == its.shape and np.abs(mine - its).max() <= enough:
        return 0.0
    first, second = _Surface.of(mine, one), _Surface.of(its, other)
    gap = max(_furthest_point(first, second), _furthest_point(second, first))
    return gap if gap > enough else 0.0


@dataclass
class _Surface:
    """Surface of a mesh: its points (n, 3), its polygons (m), their middles (m, 3), and how far (m,) their corners are
    from a plane: by that much at most their middles are off it, whichever way they are cut into triangles."""

    points: Array
    polygons: list[tuple[int, ...]]
    middles: Array
    bends: Array

    @classmethod
    def of(cls, points: Array, mesh: bpy.types.Mesh) -> _Surface:
        """Of a mesh whose points are where these are."""
        polygons = [tuple(polygon.vertices) for polygon in mesh.polygons]
        if not polygons:
            return cls(points, [], np.empty((0, 3)), np.empty(0))
        counts = np.array([len(polygon) for polygon in polygons])
        starts, whose = np.cumsum(counts) - counts, np.repeat(np.arange(len(counts)), counts)
        numbers = np.concatenate(polygons)
        following = np.concatenate([polygon[1:] + polygon[:1] for polygon in polygons])
        middles = np.add.reduceat(points[numbers], starts) / counts[:, None]
        arms, ahead = points[numbers] - middles[whose], points[following] - middles[whose]
        normals = np.add.reduceat(np.cross(arms, ahead), starts)
        normals /= np.maximum(np.linalg.norm(normals, axis=1), 1e-30)[:, None]
        bends = np.maximum.reduceat(np.abs((arms * normals[whose]).sum(axis=1)), starts)
        return cls(points, polygons, middles, bends)


def _furthest_point(surface: _Surface, other: _Surface) -> float:
    """Return how far the furthest corner, or middle of a polygon, of a surface is from another."""
    if other.polygons:
        tree: Any = BVHTree.FromPolygons(other.points.tolist(), other.polygons)
        corners = max(tree.find_nearest(point)[3] for point in surface.points.tolist())
        gaps = np.array([tree.find_nearest(middle)[3] for middle in surface.middles.tolist()])
        return float(max(corners, (gaps - surface.bends).max(initial=0.0)))
    nearest = KDTree(len(other.points))  # points, or a wire
    for number, point in enumerate(other.points.tolist()):
        nearest.insert(point, number)
    nearest.balance()
    return max(nearest.find(point)[2] for point in (*surface.points.tolist(), *surface.middles.tolist()))


#: What a modifier is beside its settings.
_NOT_SETTINGS = {"rna_type", "name", "type", "is_active", "is_override_data", "execution_time", "persistent_uid"}


def mirror_modifiers(obj: bpy.types.Object, mate: bpy.types.Object, flip: Array) -> list[str]:
    """Make the modifiers of a twin, whose axes are reflected by ``flip`` (3, 3), the mirror images of its mate's.

    Returns:
        The names of those that are not mirrored: of a type that is not known here, or that depend on other objects. The
        twin keeps what it has of these.
    """
    if not (len(obj.modifiers) or len(mate.modifiers)):
        return []
    wanted = {modifier.name: modifier for modifier in obj.modifiers}
    for its in list(mate.modifiers):
        if its.name not in wanted or its.type != wanted[its.name].type:
            mate.modifiers.remove(its)
    left_out = []
    for number, (name, own) in enumerate(wanted.items()):
        if not _is_mirrorable(own):
            left_out.append(name)
        elif name not in mate.modifiers:
            mate.modifiers.new(name, own.type)
        at = mate.modifiers.find(name)
        if _is_mirrorable(own):
            _copy_settings(own, mate.modifiers[at])
            _MODIFIER_MIRRORS[own.type](own, mate.modifiers[at], flip)
        if at >= 0:
            mate.modifiers.move(at, min(number, len(mate.modifiers) - 1))
    return left_out


def _is_mirrorable(modifier: bpy.types.Modifier) -> bool:
    """Return whether the mirror image of a modifier is known: it is of a known type, and nothing beside its object's
    mesh and its own numbers tells what it does."""
    settings = (getattr(modifier, name) for name in _setting_names(modifier))
    return modifier.type in _MODIFIER_MIRRORS and not any(isinstance(value, bpy.types.ID) for value in settings)


def _setting_names(modifier: bpy.types.Modifier) -> list[str]:
    return [each.identifier for each in modifier.bl_rna.properties if each.identifier not in _NOT_SETTINGS]


def _copy_settings(own: bpy.types.Modifier, its: bpy.types.Modifier) -> None:
    """Give a modifier the settings of another; what hides behind a setting, as a curve, stays."""
    for name in _setting_names(own):
        value, rna = getattr(own, name), own.bl_rna.properties[name]
        if rna.is_readonly or rna.type in {"POINTER", "COLLECTION"}:
            continue
        value = value[:] if getattr(rna, "is_array", False) else value
        now = getattr(its, name)
        if (now[:] if getattr(rna, "is_array", False) else now) != value:
            setattr(its, name, value)


# ---------------------------------------------------------------- what a reflection makes of settings


def _keep_settings(_own: Any, _its: Any, _flip: Array) -> None:
    """It does the same to both hands."""


def _image_axes(flip: Array) -> list[tuple[int, float]]:
    """Return which axis of the twin is the image of each axis, and with which sign."""
    return [(at := int(np.abs(row).argmax()), float(np.sign(row[at]))) for row in flip]


def _mirror_mirror(own: Any, its: Any, flip: Array) -> None:
    """Planes go with their axes; of an axis that is turned round the other side is cut off."""
    for axis, (image, sign) in enumerate(_image_axes(flip)):
        its.use_axis[image], its.use_bisect_axis[image] = own.use_axis[axis], own.use_bisect_axis[axis]
        its.use_bisect_flip_axis[image] = own.use_bisect_flip_axis[axis] != (sign < 0.0)


def _mirror_array(own: Any, its: Any, flip: Array) -> None:
    for name in ("relative_offset_displace", "constant_offset_displace"):
        setattr(its, name, (flip.T @ np.array(getattr(own, name)) + 0.0).tolist())


def _mirror_smooth(own: Any, its: Any, flip: Array) -> None:
    for axis, (image, _sign) in enumerate(_image_axes(flip)):
        setattr(its, f"use_{'xyz'[image]}", getattr(own, f"use_{'xyz'[axis]}"))


def _mirror_decimate(own: Any, its: Any, flip: Array) -> None:
    its.symmetry_axis = "XYZ"[_image_axes(flip)["XYZ".index(own.symmetry_axis)][0]]


_MODIFIER_MIRRORS: Mapping[str, Callable[[Any, Any, Array], None]] = {
    **dict.fromkeys(
        ("BEVEL", "EDGE_SPLIT", "REMESH", "SOLIDIFY", "SUBSURF", "TRIANGULATE", "WEIGHTED_NORMAL", "WELD", "WIREFRAME"),
        _keep_settings,
    ),
    "ARRAY": _mirror_array,
    "DECIMATE": _mirror_decimate,
    "MIRROR": _mirror_mirror,
    "LAPLACIANSMOOTH": _mirror_smooth,
    "SMOOTH": _mirror_smooth,
}


def all_differences(rig: bpy.types.Object) -> list[TwinDifference]:
    """Everything that makes the halves of a model differ, its meshes among it."""
    assign_ids(rig)
    mechanism = extract(rig)
    sides = find_sides(mechanism)
    return [*find_asymmetries(mechanism, sides), *mesh_differences(rig, sides.plane)]


def mesh_differences(rig: bpy.types.Object, plane: Plane, without: Collection[str] = ()) -> Iterator[TwinDifference]:
    """Of the twins among a model's bodies, those whose surfaces differ, and by how much (length units); how these are
    cut into polygons is no difference. Pairs with a body ``without`` (ids) are left out."""
    done: set[bpy.types.Object] = set()
    gaps: dict[tuple[object, ...], float] = {}
    for obj, mate in twins_by_part(rig).items():
        if record_of(obj).role != "BODY" or obj in done or not (obj.type == mate.type == "MESH"):
            continue
        done.add(mate)
        ids = record_of(obj).source_id, record_of(mate).source_id
        if not {*ids}.isdisjoint(without):
            continue
        flip = flip_between(rigid_matrix(obj.matrix_basis), rigid_matrix(mate.matrix_basis), plane)
        scales = [np.array(each.matrix_basis.to_scale()) for each in (obj, mate)]
        key = obj.data.name_full, mate.data.name_full, np.array([*flip, *scales]).round(6).tobytes()
        if key not in gaps:  # equal shapes share their meshes
            gaps[key] = _mesh_distance(cast(bpy.types.Mesh, obj.data), cast(bpy.types.Mesh, mate.data), scales, flip)
        if gaps[key] > 0.0:
            yield TwinDifference("body", ids[0], ids[1], "mesh", gaps[key], "m")


def _mesh_distance(one: bpy.types.Mesh, other: bpy.types.Mesh, scales: list[Array], flip: Array) -> float:
    """Return how far two scaled meshes, the one seen in a mirror, are apart where they are furthest; 0 where they are
    as good as the same, or where one is empty."""
    return mesh_surface_distance(mesh_points(one, scales[0]) @ flip, one, mesh_points(other, scales[1]), other)


#: Corners of mirror images that are nearer than this share of the size of their mesh are at one place.
_POINT_TOLERANCE = 2e-5


@dataclass
class MeshMirror:
    """Meshes as one operation mirrors them, each once.

    ``materials``: twins get those of their mates too. ``left_out`` are modifiers that have no mirror image here, by the
    names of their objects and those of the twins.
    """

    materials: bool = True
    left_out: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    _made: dict[tuple[int, bytes], bpy.types.Mesh] = field(default_factory=dict)
    _known: dict[tuple[object, ...], bool] = field(default_factory=dict)

    def put(self, obj: bpy.types.Object, mate: bpy.types.Object, flip: Array) -> bool:
        """Make the mesh of a twin, whose axes are reflected by ``flip`` (3, 3), the mirror image of its mate's, as far
        as it is not; and its modifiers and materials. Returns whether the twin got another mesh, that of its mate
        mirrored."""
        if not (obj.type == mate.type == "MESH"):
            return False
        before = [slot.material for slot in mate.material_slots]
        alike = not self.materials or _have_equal_materials([slot.material for slot in obj.material_slots], before)
        is_other = not (alike and self.are_mirror_images(obj, mate, flip))
        if is_other:
            mesh = self._mirrored(cast(bpy.types.Mesh, obj.data), flip)
            if not self.materials and list(mesh.materials) != before:
                mesh = mesh.copy()
                mesh.materials.clear()
                for material in before:
                    mesh.materials.append(material)
            mate.data = mesh
        if self.materials:
            for own, its in zip(obj.material_slots, mate.material_slots, strict=False):
                its.link = own.link
                if own.link == "OBJECT":
                    its.material = own.material
        left_out = mirror_modifiers(obj, mate, flip)
        if left_out:
            self.left_out[obj.name, mate.name] = left_out
        return is_other

    def tell(self, report: Report) -> None:
        """Report the modifiers that were not mirrored."""
        for (name, mate), modifiers in self.left_out.items():
            report.warn(
                "modifier-not-mirrored",
                f"Modifiers of {name!r} are not mirrored: {', '.join(modifiers)}. Set those of {mate!r} by hand",
                where=mate,
            )

    def are_mirror_images(
        self,
        obj: bpy.types.Object,
        mate: bpy.types.Object,
        flip: Array,
        poses: tuple[Array, Array] | None = None,
    ) -> bool:
        """Return whether the mesh of a twin is the mirror image of its mate's, in axes that are reflected by ``flip``;
        ``poses`` (4, 4) are where the two are in these axes, None: at their origins. Surfaces of two files, which are
        cut into other polygons, are compared as ``mesh_surface_distance`` does."""
        if not (obj.type == mate.type == "MESH"):
            return False
        one, other = cast(bpy.types.Mesh, obj.data), cast(bpy.types.Mesh, mate.data)
        at = (np.eye(4), np.eye(4)) if poses is None else poses
        key = one.session_uid, other.session_uid, flip.tobytes(), at[0].tobytes(), at[1].tobytes()
        if key not in self._known:
            self._known[key] = _are_mirror_images(one, other, flip, at)
        return self._known[key]

    def _mirrored(self, mesh: bpy.types.Mesh, flip: Array) -> bpy.types.Mesh:
        """A mesh seen in a mirror; itself where it is its own mirror image."""
        key = mesh.session_uid, flip.tobytes()
        if key not in self._made:
            made = mesh
            if not _are_mirror_images(mesh, mesh, flip, (np.eye(4), np.eye(4))):
                made = mesh.copy()
                local = np.eye(4)
                local[:3, :3] = flip.T
                made.transform(Matrix(local.tolist()), shape_keys=True)
                made.flip_normals()
            self._made[key] = made
        return self._made[key]


def _have_equal_materials(one: list[bpy.types.Material | None], other: list[bpy.types.Material | None]) -> bool:
    return len(one) == len(other) and all(have_same_color(a, b) for a, b in zip(one, other, strict=True))


def _are_mirror_images(one: bpy.types.Mesh, other: bpy.types.Mesh, flip: Array, poses: tuple[Array, Array]) -> bool:
    mine, its = (
        mesh_points(mesh, np.ones(3)) @ pose[:3, :3].T + pose[:3, 3]
        for mesh, pose in zip((one, other), poses, strict=True)
    )
    mine = mine @ flip
    if not len(mine) or not len(its):
        return len(mine) == len(its)
    if len(mine) != len(its) or len(one.polygons) != len(other.polygons):
        return one != other and not mesh_surface_distance(mine, one, its, other)
    reach = _POINT_TOLERANCE * float(np.ptp(its, axis=0).max())
    if np.abs(mine - its).max() <= reach:
        return True
    return _max_distance(mine, its) <= reach and _max_distance(its, mine) <= reach


def _max_distance(points: Array, others: Array) -> float:
    """Return how far the furthest of some points (n, 3) is from the nearest of others."""
    tree = KDTree(len(others))
    for number, point in enumerate(others.tolist()):
        tree.insert(point, number)
    tree.balance()
    return max(tree.find(point)[2] for point in points.tolist())
