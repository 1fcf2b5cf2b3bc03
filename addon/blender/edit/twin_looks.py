"""The looks of twins: meshes that are mirror images of each other or are made so, modifiers and materials."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import bpy
import numpy as np
from mathutils import Matrix
from mathutils.kdtree import KDTree

from ...core.model import Array
from ...core.report import Report
from ..scene.materials import looks_alike
from .surface_gaps import mesh_points, surface_gap
from .twin_modifiers import put_modifiers

#: Corners of mirror images that are nearer than this share of the size of their mesh are at one place.
_SAME = 2e-5


@dataclass
class Looks:
    """Meshes as one operation mirrors them, each once. ``materials``: twins get those of their mates too. ``left_out``
    are modifiers that have no mirror image here, by the names of their objects and those of the twins."""

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
        alike = not self.materials or _alike([slot.material for slot in obj.material_slots], before)
        is_other = not (alike and self.are_images(obj, mate, flip))
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
        left_out = put_modifiers(obj, mate, flip)
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

    def are_images(
        self,
        obj: bpy.types.Object,
        mate: bpy.types.Object,
        flip: Array,
        poses: tuple[Array, Array] | None = None,
    ) -> bool:
        """Return whether the mesh of a twin is the mirror image of its mate's, in axes that are reflected by ``flip``;
        ``poses`` (4, 4) are where the two are in these axes, None: at their origins. Surfaces of two files, which are
        cut into other polygons, are compared as ``surface_gap`` does."""
        if not (obj.type == mate.type == "MESH"):
            return False
        one, other = cast(bpy.types.Mesh, obj.data), cast(bpy.types.Mesh, mate.data)
        at = (np.eye(4), np.eye(4)) if poses is None else poses
        key = one.session_uid, other.session_uid, flip.tobytes(), at[0].tobytes(), at[1].tobytes()
        if key not in self._known:
            self._known[key] = _are_images(one, other, flip, at)
        return self._known[key]

    def _mirrored(self, mesh: bpy.types.Mesh, flip: Array) -> bpy.types.Mesh:
        """A mesh seen in a mirror; itself where it is its own mirror image."""
        key = mesh.session_uid, flip.tobytes()
        if key not in self._made:
            made = mesh
            if not _are_images(mesh, mesh, flip, (np.eye(4), np.eye(4))):
                made = mesh.copy()
                local = np.eye(4)
                local[:3, :3] = flip.T
                made.transform(Matrix(local.tolist()), shape_keys=True)
                made.flip_normals()
            self._made[key] = made
        return self._made[key]


def _alike(one: list[bpy.types.Material | None], other: list[bpy.types.Material | None]) -> bool:
    return len(one) == len(other) and all(looks_alike(a, b) for a, b in zip(one, other, strict=True))


def _are_images(one: bpy.types.Mesh, other: bpy.types.Mesh, flip: Array, poses: tuple[Array, Array]) -> bool:
    mine, its = (
        mesh_points(mesh, np.ones(3)) @ pose[:3, :3].T + pose[:3, 3]
        for mesh, pose in zip((one, other), poses, strict=True)
    )
    mine = mine @ flip
    if not len(mine) or not len(its):
        return len(mine) == len(its)
    if len(mine) != len(its) or len(one.polygons) != len(other.polygons):
        return one != other and not surface_gap(mine, one, its, other)
    reach = _SAME * float(np.ptp(its, axis=0).max())
    if np.abs(mine - its).max() <= reach:
        return True
    return _furthest(mine, its) <= reach and _furthest(its, mine) <= reach


def _furthest(points: Array, others: Array) -> float:
    """Return how far the furthest of some points (n, 3) is from the nearest of others."""
    tree = KDTree(len(others))
    for number, point in enumerate(others.tolist()):
        tree.insert(point, number)
    tree.balance()
    return max(tree.find(point)[2] for point in points.tolist())
