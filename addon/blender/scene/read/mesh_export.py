"""Export of meshes that are in no file, those of bodies created in Blender: .obj files beside the model file."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

import bpy
import numpy as np

from ....core.model import Array, Body, Mechanism, Shape
from ....core.report import Message, Report
from ....core.transforms import make_pose
from ....formats.document.conversion_losses import ConversionLosses
from ....formats.meshes.copy import IS_WRITTEN
from ....formats.meshes.obj import format_obj
from ....formats.text.file_io import make_folder, write_atomically
from ...data.datablocks import mesh_points
from ...data.queries import all_parts
from ..meshes import mesh_file_name
from .design_poses import DesignPoses
from .mechanism import own_ids

#: Formats without mesh files: bodies become boxes of the size of their meshes.
_FORMATS_WITHOUT_MESHES = {"juice"}


def write_own_meshes(rig: bpy.types.Object, mechanism: Mechanism, path: str, format_: str) -> Report:
    """Write the meshes of bodies that are in no file yet as ``NAME_meshes/BODY.obj`` beside the model file.

    They are in the axes of their bodies, and the shapes of ``mechanism`` name them. In formats without meshes the
    shapes become boxes of their size. An existing mesh is overwritten only where nothing but the old file of that
    ``path`` names it.

    Raises:
        FormatError: If they cannot be written.
    """
    report = Report()
    designs = DesignPoses(rig)
    objects = {own: obj for obj, own in own_ids(all_parts(rig, "BODY")).items()}
    losses = ConversionLosses()
    known = {mesh_file_name(shape) for body in mechanism.bodies for shape in body.shapes if shape.mesh}
    meshes = _MeshFolder(Path(path), known)
    for body in mechanism.bodies:
        obj = objects.get(body.id)
        own = [number for number, shape in enumerate(body.shapes) if shape.type == "mesh" and not shape.mesh]
        if obj is None or not own:
            continue
        points, polygons = _mesh_surface(obj, body, np.array(designs.of(obj).to_scale()))
        for number in own:
            shape = body.shapes[number]
            if format_ in _FORMATS_WITHOUT_MESHES:
                body.shapes[number] = _bounding_box_shape(shape, points)
                losses.add("approximated-shape", "Mesh: written as its bounding box", body)
                continue
            named = meshes.put(_file_name(body.name), format_obj(body.name, points, polygons).encode())
            extra = shape.extra | {IS_WRITTEN: True}
            body.shapes[number] = replace(
                shape, mesh=named, pose=np.eye(4), size=dict.fromkeys("xyz", 1.0), extra=extra
            )
    losses.report_all(report)
    if meshes.written:
        report.info("meshes-written", Message("Meshes written to {}: {}", meshes.folder.name, len(meshes.written)))
    return report


@dataclass
class _MeshFolder:
    """Folder for the meshes of a mechanism that is written to ``path``: names in use, and what was written so far."""

    path: Path
    named_elsewhere: Collection[str]
    written: dict[bytes, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return self.path.with_name(self.path.stem + "_meshes")

    def put(self, name: str, data: bytes) -> str:
        """Write a mesh, equal ones once, under this name or a similar free one; return its relative path."""
        if (kept := _nameless_content(data)) not in self.written:
            taken, out, number = {each.lower() for each in (*self.written.values(), *self.named_elsewhere)}, name, 1
            while out.lower() in taken or not self._is_ours(out, data):
                number += 1
                out = f"{name.removesuffix('.obj')}_{number}.obj"
            make_folder(self.folder)
            write_atomically(self.folder / out, data)
            self.written[kept] = out
        return f"{self.folder.name}/{self.written[kept]}"

    def _is_ours(self, name: str, data: bytes) -> bool:
        """Return whether a mesh may be written under a name.

        That is so if nothing is there, or the same mesh, or one that only the model file to be overwritten names: model
        files of one name in several formats share the folder.
        """
        place = self.folder / name
        if not os.path.lexists(place):
            return True
        if not place.is_file() or place.is_symlink():
            return False
        if place.read_bytes() == data:
            return True
        others = [each for each in self.path.parent.glob("*") if each.stem == self.path.stem and each.is_file()]
        return [each.name for each in others if f"_meshes/{name}".encode() in each.read_bytes()] == [self.path.name]


def _nameless_content(data: bytes) -> bytes:
    """Return an OBJ file without names and comments, which is equal for equal meshes."""
    return b"\n".join(line for line in data.splitlines() if not line.startswith((b"o ", b"#")))


def _mesh_surface(obj: bpy.types.Object, body: Body, scale: Array) -> tuple[Array, list[tuple[int, ...]]]:
    """Return points (n, 3) in the body frame, and polygons, of a body's mesh with modifiers and ``scale`` (3,)."""
    evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = evaluated.to_mesh()
    try:
        points = mesh_points(mesh)
        polygons = [tuple(polygon.vertices) for polygon in mesh.polygons]
    finally:
        evaluated.to_mesh_clear()
    if np.prod(scale) < 0.0:
        polygons = [polygon[::-1] for polygon in polygons]
    return points * scale + body.com, polygons


def _bounding_box_shape(shape: Shape, points: Array) -> Shape:
    """Return the bounding box of a mesh along its body's axes as a shape."""
    low, high = (points.min(axis=0), points.max(axis=0)) if len(points) else (np.zeros(3), np.ones(3))
    pose = make_pose(position=0.5 * (low + high))
    size = {axis: float(f"{length:.6g}") for axis, length in zip("xyz", high - low, strict=True)}
    return replace(shape, type="box", pose=pose, size=size)


def _file_name(name: str) -> str:
    return (re.sub(r"[^\w.-]+", "_", name, flags=re.ASCII).strip("._")[:60] or "body") + ".obj"
