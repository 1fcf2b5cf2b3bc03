"""Appearance of twins: distances between their surfaces, and mirror images of what bodies have in Blender alone.

That is meshes, modifiers, materials, and collision shapes, frames and lights as objects. Bodies and joints themselves
are mirrored by ``core.editing.symmetry`` and written by ``reconcile.update``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Matrix
from mathutils.bvhtree import BVHTree
from mathutils.kdtree import KDTree

from ....core.editing.sides import counterpart_names, find_sides
from ....core.editing.symmetry import TwinDifference, find_asymmetries
from ....core.editing.twins import flip_between, frame_flip, mirror_local_pose
from ....core.model import Array, Plane
from ....core.report import Message, Report
from ....core.transforms import make_pose
from ...data.access import record_of
from ...data.baseline import baseline_pose, record_baseline_name, record_mesh_baseline, write_name
from ...data.conversion import flatten_pose, read_shape
from ...data.copied_mechanisms import copy_into_same_collections
from ...data.datablocks import mesh_points
from ...data.facts import COMMON_LIGHT_VALUES, copy_shown
from ...data.queries import file_name, twins_by_part
from ...data.rigid_bodies import collision_children_by_index
from ...reconcile.rig_state import rigid_design_pose, rigid_matrix, set_design_pose
from ...reconcile.rig_update import assign_ids
from ...rig.joint_frames import read_body
from ...scene.materials import have_same_color
from ...scene.read.mechanism import extract

_Objects = Collection[bpy.types.Object]
#: Tolerance of equal surfaces, as a share of their size.
_SURFACE_TOLERANCE = 5e-3


def mesh_surface_distance(mine: Array, one: bpy.types.Mesh, its: Array, other: bpy.types.Mesh) -> float:
    """Return the largest distance between the surfaces of two meshes, however they are divided into polygons.

    0 within the tolerance, or if one is empty.

    Args:
        mine: Vertex positions (n, 3) of the first mesh.
        one: The first mesh.
        its: Vertex positions (m, 3) of the second mesh.
        other: The second mesh.
    """
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
    """Surface of a mesh.

    Attributes:
        points: Vertices (n, 3).
        polygons: Vertex indices of the polygons (m).
        middles: Centers (m, 3) of the polygons.
        bends: Largest distances (m,) of their corners from a plane, which bound the distance of the center from the
            surface for any triangulation.
    """

    points: Array
    polygons: list[tuple[int, ...]]
    middles: Array
    bends: Array

    @classmethod
    def of(cls, points: Array, mesh: bpy.types.Mesh) -> _Surface:
        """Return the surface of a mesh with these vertex positions."""
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
    """Return the largest distance of a vertex, or center of a polygon, of a surface from another surface."""
    if other.polygons:
        tree: Any = BVHTree.FromPolygons(other.points.tolist(), other.polygons)
        corners = max(tree.find_nearest(point)[3] for point in surface.points.tolist())
        gaps = np.array([tree.find_nearest(middle)[3] for middle in surface.middles.tolist()])
        return float(max(corners, (gaps - surface.bends).max(initial=0.0)))
    nearest = KDTree(len(other.points))  # vertices without faces
    for number, point in enumerate(other.points.tolist()):
        nearest.insert(point, number)
    nearest.balance()
    return max(nearest.find(point)[2] for point in (*surface.points.tolist(), *surface.middles.tolist()))


#: Properties of a modifier that are not settings.
_NOT_SETTINGS = {"rna_type", "name", "type", "is_active", "is_override_data", "execution_time", "persistent_uid"}


def mirror_modifiers(obj: bpy.types.Object, twin: bpy.types.Object, flip: Array) -> list[str]:
    """Make the modifiers of a twin, whose axes are reflected by ``flip`` (3, 3), mirror images of the other part's.

    Returns:
        Names of modifiers that are not mirrored, since their type is not known here or they depend on other objects.
        The twin keeps its own of these.
    """
    if not (len(obj.modifiers) or len(twin.modifiers)):
        return []
    wanted = {modifier.name: modifier for modifier in obj.modifiers}
    for its in list(twin.modifiers):
        if its.name not in wanted or its.type != wanted[its.name].type:
            twin.modifiers.remove(its)
    left_out = []
    for number, (name, own) in enumerate(wanted.items()):
        if not _is_mirrorable(own):
            left_out.append(name)
        elif name not in twin.modifiers:
            twin.modifiers.new(name, own.type)
        at = twin.modifiers.find(name)
        if _is_mirrorable(own):
            _copy_settings(own, twin.modifiers[at])
            _MODIFIER_MIRRORS[own.type](own, twin.modifiers[at], flip)
        if at >= 0:
            twin.modifiers.move(at, min(number, len(twin.modifiers) - 1))
    return left_out


def _is_mirrorable(modifier: bpy.types.Modifier) -> bool:
    """Return whether a modifier can be mirrored: its type is known, and it refers to no other data-block."""
    settings = (getattr(modifier, name) for name in _setting_names(modifier))
    return modifier.type in _MODIFIER_MIRRORS and not any(isinstance(value, bpy.types.ID) for value in settings)


def _setting_names(modifier: bpy.types.Modifier) -> list[str]:
    return [each.identifier for each in modifier.bl_rna.properties if each.identifier not in _NOT_SETTINGS]


def _copy_settings(own: bpy.types.Modifier, its: bpy.types.Modifier) -> None:
    """Copy the settings of a modifier, except for pointers and collections such as curves."""
    for name in _setting_names(own):
        value, rna = getattr(own, name), own.bl_rna.properties[name]
        if rna.is_readonly or rna.type in {"POINTER", "COLLECTION"}:
            continue
        value = value[:] if getattr(rna, "is_array", False) else value
        now = getattr(its, name)
        if (now[:] if getattr(rna, "is_array", False) else now) != value:
            setattr(its, name, value)


# ---------------------------------------------------------------- reflection of settings


def _keep_settings(_own: Any, _its: Any, _flip: Array) -> None:
    """Leave settings that are invariant under reflection."""


def _image_axes(flip: Array) -> list[tuple[int, float]]:
    """Return index and sign of the twin's axis that is the image of each axis."""
    return [(at := int(np.abs(row).argmax()), float(np.sign(row[at]))) for row in flip]


def _mirror_mirror(own: Any, its: Any, flip: Array) -> None:
    """Mirror a Mirror modifier: planes follow their axes, and bisecting flips for an axis that is reversed."""
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
    """Return all asymmetries of a mechanism, including those of meshes."""
    assign_ids(rig)
    mechanism = extract(rig)
    sides = find_sides(mechanism)
    return [*find_asymmetries(mechanism, sides), *mesh_differences(rig, sides.plane)]


def mesh_differences(rig: bpy.types.Object, plane: Plane, without: Collection[str] = ()) -> Iterator[TwinDifference]:
    """Yield the twins among a mechanism's bodies whose surfaces differ, with the distance (length units).

    The division into polygons does not matter. Pairs with a body of ``without`` (ids) are skipped.
    """
    done: set[bpy.types.Object] = set()
    gaps: dict[tuple[object, ...], float] = {}
    for obj, twin in twins_by_part(rig).items():
        if record_of(obj).role != "BODY" or obj in done or not (obj.type == twin.type == "MESH"):
            continue
        done.add(twin)
        ids = record_of(obj).source_id, record_of(twin).source_id
        if not {*ids}.isdisjoint(without):
            continue
        flip = flip_between(rigid_matrix(obj.matrix_basis), rigid_matrix(twin.matrix_basis), plane)
        scales = [np.array(each.matrix_basis.to_scale()) for each in (obj, twin)]
        mesh, other = cast(bpy.types.Mesh, obj.data), cast(bpy.types.Mesh, twin.data)
        key = mesh.name_full, other.name_full, np.array([*flip, *scales]).round(6).tobytes()
        if key not in gaps:  # equal shapes share their meshes
            gaps[key] = _mesh_distance(mesh, other, scales, flip)
        if gaps[key] > 0.0:
            yield TwinDifference("body", ids[0], ids[1], "mesh", gaps[key], "m")


def _mesh_distance(one: bpy.types.Mesh, other: bpy.types.Mesh, scales: list[Array], flip: Array) -> float:
    """Return the largest distance between the mirror image of a scaled mesh and another (``mesh_surface_distance``)."""
    return mesh_surface_distance(mesh_points(one) * scales[0] @ flip, one, mesh_points(other) * scales[1], other)


#: Tolerance of equal vertices of mirror images, as a share of the size of the mesh.
_POINT_TOLERANCE = 2e-5


@dataclass
class MeshMirror:
    """Mirroring of meshes within one operation, each mesh once.

    Attributes:
        materials: Mirror materials too.
        kept: Indices of shapes, by the id of their body, whose twin's mesh is the mirror image already.
        left_out: Names of modifiers that cannot be mirrored, by the names of the two objects.
    """

    materials: bool = True
    kept: Mapping[str, Collection[int]] = field(default_factory=dict)
    left_out: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    _made: dict[tuple[int, bytes], bpy.types.Mesh] = field(default_factory=dict)
    _known: dict[tuple[object, ...], bool] = field(default_factory=dict)

    @cached_property
    def children(self) -> dict[bpy.types.Object, list[bpy.types.Object]]:
        """Shapes, frames and lights by the object that they are on, as they were when first asked for."""
        return children_by_carrier()

    def put(self, obj: bpy.types.Object, twin: bpy.types.Object, flip: Array) -> bool:
        """Make the mesh, modifiers and materials of a twin mirror images of the other part's, as far as they are not.

        Args:
            obj: The part.
            twin: Its twin.
            flip: Reflection (3, 3) of the twin's axes.

        Returns:
            Whether the twin got another mesh.
        """
        if not (obj.type == twin.type == "MESH"):
            return False
        before = [slot.material for slot in twin.material_slots]
        alike = not self.materials or _have_equal_materials([slot.material for slot in obj.material_slots], before)
        is_other = not (alike and self.are_mirror_images(obj, twin, flip))
        if is_other:
            mesh = self._mirrored(cast(bpy.types.Mesh, obj.data), flip)
            if not self.materials and list(mesh.materials) != before:
                mesh = mesh.copy()
                mesh.materials.clear()
                for material in before:
                    mesh.materials.append(material)
            twin.data = mesh
        if self.materials:
            for own, its in zip(obj.material_slots, twin.material_slots, strict=False):
                its.link = own.link
                if own.link == "OBJECT":
                    its.material = own.material
        left_out = mirror_modifiers(obj, twin, flip)
        if left_out:
            self.left_out[obj.name, twin.name] = left_out
        return is_other

    def report_all(self, report: Report) -> None:
        """Report the modifiers that were not mirrored."""
        for (name, twin), modifiers in self.left_out.items():
            report.warn(
                "modifier-not-mirrored",
                Message(
                    "Modifiers of {}: not mirrored: {}. Set those of {} by hand",
                    repr(name),
                    ", ".join(modifiers),
                    repr(twin),
                ),
                where=twin,
            )

    def are_mirror_images(
        self,
        obj: bpy.types.Object,
        twin: bpy.types.Object,
        flip: Array,
        poses: tuple[Array, Array] | None = None,
    ) -> bool:
        """Return whether the mesh of a twin is the mirror image of the other part's.

        Meshes with other polygons, as from two files, are compared as ``mesh_surface_distance`` does.

        Args:
            obj: The part.
            twin: Its twin.
            flip: Reflection (3, 3) of the twin's axes.
            poses: Poses (4, 4) of the two in these axes; None: identity.
        """
        if not (obj.type == twin.type == "MESH"):
            return False
        one, other = cast(bpy.types.Mesh, obj.data), cast(bpy.types.Mesh, twin.data)
        at = (np.eye(4), np.eye(4)) if poses is None else poses
        key = one.session_uid, other.session_uid, flip.tobytes(), at[0].tobytes(), at[1].tobytes()
        if key not in self._known:
            self._known[key] = _are_mirror_images(one, other, flip, at)
        return self._known[key]

    def _mirrored(self, mesh: bpy.types.Mesh, flip: Array) -> bpy.types.Mesh:
        """Return the mirror image of a mesh; the mesh itself if it is its own mirror image."""
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
        mesh_points(mesh) @ pose[:3, :3].T + pose[:3, 3] for mesh, pose in zip((one, other), poses, strict=True)
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
    """Return the largest distance of points (n, 3) from the nearest of ``others`` (m, 3)."""
    tree = KDTree(len(others))
    for number, point in enumerate(others.tolist()):
        tree.insert(point, number)
    tree.balance()
    return max(tree.find(point)[2] for point in points.tolist())


# ---------------------------------------------------------------- what is on bodies

_ATTACHED_ROLES = {"SHAPE", "FRAME", "LIGHT"}


def children_by_carrier() -> dict[bpy.types.Object, list[bpy.types.Object]]:
    """Return the shapes, frames and lights by the object that they are on."""
    out: dict[bpy.types.Object, list[bpy.types.Object]] = {}
    for child in bpy.data.objects:
        if child.parent is not None and record_of(child).role in _ATTACHED_ROLES:
            out.setdefault(child.parent, []).append(child)
    return out


def carrier(obj: bpy.types.Object) -> bpy.types.Object:
    """Return the body that a shape, frame or light is on; a body or joint itself."""
    while obj.parent is not None and record_of(obj).role in _ATTACHED_ROLES:
        obj = obj.parent
    return obj


def match_attachments(mine: _Objects, theirs: _Objects) -> list[tuple[bpy.types.Object, bpy.types.Object | None]]:
    """Return the counterpart on a twin, or None, of each shape, frame and light on a body or on a frame.

    Collision shapes match by their index. Frames and lights match by the name of the other side or the same name, else
    as the only remaining pair.
    """
    shapes, its = collision_children_by_index(mine), collision_children_by_index(theirs)
    out: list[tuple[bpy.types.Object, bpy.types.Object | None]] = [(own, its.get(k)) for k, own in shapes.items()]
    for role in ("FRAME", "LIGHT"):
        own, left = ([child for child in each if record_of(child).role == role] for each in (mine, theirs))
        pairs: list[tuple[bpy.types.Object, bpy.types.Object | None]] = []
        for child in own:
            names = [*counterpart_names(file_name(child)), file_name(child)]
            found = next((part for name in names for part in left if file_name(part) == name), None)
            if found is not None:
                left.remove(found)
            pairs.append((child, found))
        lone = [child for child, part in pairs if part is None]
        if len(lone) == len(left) == 1:
            pairs[pairs.index((lone[0], None))] = lone[0], left[0]
        out += pairs
    return out


def with_attachments(twins: Mapping[bpy.types.Object, bpy.types.Object]) -> dict[bpy.types.Object, bpy.types.Object]:
    """Return twins, followed by the counterparts of what is on them; what is on a frame follows the frame."""
    out, children = {**twins}, children_by_carrier()
    pairs = [(obj, twin) for obj, twin in out.items() if obj in children and twin in children]
    for obj, twin in pairs:
        for child, part in match_attachments(children.get(obj, ()), children.get(twin, ())):
            if part is not None and out.keys().isdisjoint((child, part)):
                out |= {child: part, part: child}
                pairs.append((child, part))
    return out


# ---------------------------------------------------------------- images of bodies


def dress_image(obj: bpy.types.Object, twin: bpy.types.Object, plane: Plane, looks: MeshMirror, is_new: bool) -> None:
    """Give the image of a body, whose record is written, the mirrored mesh, and what is attached to the body.

    Physics has to be cleared before. ``is_new``: the image is a new copy.
    """
    flip = flip_between(rigid_design_pose(obj), rigid_design_pose(twin), plane)
    scale = np.abs(flip).T @ np.array(obj.matrix_basis.to_scale())
    set_design_pose(twin, rigid_matrix(twin.matrix_basis) @ np.diag([*scale, 1.0]))
    kept = looks.kept.get(record_of(obj).source_id, ())
    _mirror_mesh(obj, twin, flip, kept, is_new, looks)
    _mirror_shape_children(obj, twin, flip, kept, looks)
    _mirror_attachments(obj, twin, flip, looks)


def _mirror_mesh(
    obj: bpy.types.Object, twin: bpy.types.Object, flip: Array, kept: Collection[int], is_new: bool, looks: MeshMirror
) -> None:
    """Mirror a body's mesh to its twin, and the mesh data in its record by which edited meshes are recognized."""
    own, its = record_of(obj), record_of(twin)
    if looks.put(obj, twin, flip):
        corners = np.array(own.baseline_corners, dtype=np.float64).reshape(4, 4)
        if twin.data != obj.data:  # a shared mesh is its own mirror image
            corners[:, 1:] = corners[:, 1:] @ flip
        its.baseline_corners = corners.ravel().tolist()
        its.baseline_mesh = [own.baseline_mesh[0], *(np.abs(flip).T @ np.array(own.baseline_mesh[1:])).tolist()]
    elif not is_new and any(
        shape.visual and shape.type == "mesh" and number not in kept for number, shape in enumerate(its.shapes)
    ):
        record_mesh_baseline(twin)


def unchanged_meshes(obj: bpy.types.Object, twin: bpy.types.Object, plane: Plane, looks: MeshMirror) -> set[int]:
    """Return the indices of shapes whose meshes are separate files that are mirror images already."""
    own, its = (read_body(each, rigid_design_pose) for each in (obj, twin))
    flip = flip_between(own.pose, its.pose, plane)
    mine, theirs = (collision_children_by_index(looks.children.get(each, ())) for each in (obj, twin))
    out = set()
    for number, (shape, other) in enumerate(zip(own.shapes, its.shapes, strict=False)):
        if not (shape.type == other.type == "mesh") or not (shape.mesh and other.mesh):
            continue
        seen = [(obj, twin, (make_pose(position=own.com), make_pose(position=its.com)))] if shape.visual else []
        if number in mine and number in theirs:
            seen.append((mine[number], theirs[number], (shape.pose, other.pose)))
        if any(looks.are_mirror_images(one, two, flip, poses) for one, two, poses in seen):
            out.add(number)
    return out


def _mirror_shape_children(
    obj: bpy.types.Object, twin: bpy.types.Object, flip: Array, kept: Collection[int], looks: MeshMirror
) -> None:
    """Make the child collision shapes of a twin mirror images of the body's."""
    mine, theirs = (collision_children_by_index(looks.children.get(each, ())) for each in (obj, twin))
    own, image = ([read_shape(shape) for shape in record_of(each).shapes] if mine else [] for each in (obj, twin))
    gone = [child for number, child in theirs.items() if number not in mine]
    if gone:
        looks.children[twin] = [child for child in looks.children[twin] if child not in gone]
        bpy.data.batch_remove(gone)
    for number, child in mine.items():
        if number in kept or number >= len(image):
            continue
        part = theirs.get(number) or _copy_to(child, twin)
        record_of(part).source_id, record_of(part).shape = f"{record_of(twin).source_id}/{number}", number
        at = mirror_local_pose(own[number].pose, flip, np.eye(3))
        turn: Array = (at[:3, :3].T @ image[number].pose[:3, :3]).round()
        _place_child(child, part, flip, turn)
        record_of(part).baseline_pose = flatten_pose(mirror_local_pose(baseline_pose(child), flip, turn))
        looks.put(child, part, turn)


def _copy_to(child: bpy.types.Object, holder: bpy.types.Object) -> bpy.types.Object:
    made = copy_into_same_collections(child)
    made.parent = holder
    record_baseline_name(made)
    return made


def _place_child(child: bpy.types.Object, part: bpy.types.Object, flip: Array, turn: Array) -> None:
    """Place a child of a twin at the mirror image of the body's child, whose own axes are reflected by ``turn``."""
    parent_inverse = np.array(child.matrix_parent_inverse, dtype=np.float64)
    part.matrix_parent_inverse = Matrix(mirror_local_pose(parent_inverse, flip, flip).tolist())
    scale = np.abs(turn).T @ np.array(child.matrix_basis.to_scale())
    set_design_pose(part, mirror_local_pose(rigid_matrix(child.matrix_basis), flip, turn) @ np.diag([*scale, 1.0]))


def _mirror_attachments(holder: bpy.types.Object, twin: bpy.types.Object, flip: Array, looks: MeshMirror) -> None:
    """Make the reference frames and lights on a twin mirror images of the body's; missing ones are created.

    ``flip`` (3, 3) is the reflection of the twin's axes.
    """
    mine, free = (
        [child for child in looks.children.get(each, ()) if record_of(child).role in {"FRAME", "LIGHT"}]
        for each in (holder, twin)
    )
    for child, found in match_attachments(mine, free):
        part = found or _copy_to(child, twin)
        if found is None:
            name = next(iter(counterpart_names(file_name(child))), file_name(child))
            record_of(part).copy_of = record_of(child).source_id
            write_name(part, name)
            if child.type == "LIGHT":
                part.data = cast(bpy.types.Light, child.data).copy()
        pose, there = (rigid_matrix(each.matrix_parent_inverse @ each.matrix_basis) for each in (child, part))
        turn = frame_flip(pose, flip, there, upright=child.type == "LIGHT")
        _place_child(child, part, flip, turn)
        if child.type == part.type == "LIGHT":
            copy_shown(COMMON_LIGHT_VALUES, child, part)
        _mirror_attachments(child, part, turn, looks)
