"""How large meshes are, read without Blender: the boxes that moments of inertia are made of."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from ..model.records import Array, Body, Mechanism
from ..model.report import FormatError, Report
from .collada import read_collada
from .files import read_bytes
from .mesh_files import MeshTrouble, find_mesh

#: The kinds of mesh files that are read, by the ends of their names.
KINDS = (".obj", ".stl", ".ply", ".dae")


def kind_of(path: Path) -> str:
    """The kind of a mesh file, one of ``KINDS``; MeshTrouble for any other."""
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise MeshTrouble(
            f"meshes of the kind {kind or 'without an ending'} are not read",
            path=str(path),
            remedy=f"Convert it to one of {', '.join(KINDS)}.",
        )
    return kind


def mesh_box(path: Path, ignore_unit: bool = True) -> Array:
    """Edges (3,) of the box around a mesh file's polygons along its own axes, in its own numbers (Collada: in metres
    where its unit is not ignored), rounded to single precision as DART and Blender keep them. MeshTrouble where it
    cannot be read."""
    kind = kind_of(path)
    if kind == ".dae":
        surfaces = read_collada(path, ignore_unit)
        points = [surface.points[np.unique(surface.corners)] for surface in surfaces if len(surface.corners)]
        low, high = (np.min([p.min(axis=0) for p in points], axis=0), np.max([p.max(axis=0) for p in points], axis=0))
    else:
        low, high = _bounds(path, kind)
    low, high = (np.asarray(end, dtype=np.float32).astype(np.float64) for end in (low, high))
    return np.asarray(high - low)


def _bounds(path: Path, kind: str) -> Array:
    """The least and the greatest coordinates (2, 3) of a file that trimesh reads."""
    try:
        data = read_bytes(path)
    except FormatError as error:
        raise MeshTrouble(error.message, path=str(path), remedy=error.remedy) from error
    try:
        import trimesh
    except ImportError as error:
        raise MeshTrouble(
            f"the size of a mesh needs trimesh ({error})", path=str(path), remedy="Install Knuckle again from its zip."
        ) from error
    try:
        # from memory, so that nothing the file names can be opened; as it is, no vertex merged or moved
        scene = trimesh.load_scene(io.BytesIO(data), file_type=kind[1:], process=False, skip_materials=True)
        bounds = scene.bounds
    except Exception as error:  # whatever a library makes of a bad file
        raise MeshTrouble(f"this mesh cannot be read: {error or type(error).__name__}", path=str(path)) from error
    if bounds is None or not np.isfinite(bounds).all():
        raise MeshTrouble("this file holds no mesh", path=str(path))
    return np.asarray(bounds, dtype=np.float64)


def complete_masses(mechanism: Mechanism, folders: Iterable[str] = (), ignore_unit: bool = True) -> list[Body]:
    """Give the bodies whose moment of inertia hangs on the size of a mesh that moment, where the mesh is found: the one
    that the mesh has as it is drawn. The bodies; reading nothing where there are none. ``mechanism.report`` says so."""
    from .skel import complete
    from .skel.mass import DERIVED

    lacking = [body for body in mechanism.bodies if body.inertia is None and body.extra.get(DERIVED)]
    if not lacking:
        return []
    boxes = _Boxes(mechanism.source.path, tuple(folders), ignore_unit)
    done = complete(lacking, boxes.box)
    report = mechanism.report = mechanism.report or Report()
    for body in done:
        unit = "; the unit in its Collada file is not applied, as nothing else in the model follows it"
        report.info(
            "moment-from-mesh",
            f"the moment of inertia of {body.name} is that of the box around its mesh, as DART 6.20 computes it"
            + (unit if ignore_unit and _is_collada(body) else ""),
            body.line,
        )
    return done


def _is_collada(body: Body) -> bool:
    return any((shape.mesh or "").lower().endswith(".dae") for shape in body.shapes)


class _Boxes:
    """The boxes of a model's meshes, each file read once."""

    def __init__(self, model: str, folders: Sequence[str], ignore_unit: bool) -> None:
        self._model, self._folders, self._ignore_unit = model, folders, ignore_unit
        self._boxes: dict[str, Array | None] = {}

    def box(self, name: str) -> Array | None:
        """Edges (3,) of a mesh's box; None where it is missing or unreadable, which building tells."""
        if name not in self._boxes:
            try:
                self._boxes[name] = mesh_box(find_mesh(name, self._model, (), self._folders), self._ignore_unit)
            except FormatError:
                self._boxes[name] = None
        return self._boxes[name]
