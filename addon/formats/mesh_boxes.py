"""How large meshes are, read without Blender: the boxes that moments of inertia are made of."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..core.model import Array, Body, Mechanism, Shape
from ..core.report import Report
from .collada import read_collada
from .files import check_size, read_bytes
from .losses import Losses
from .mesh_files import MeshTrouble, as_trouble, find_mesh, library_at_hand
from .mesh_points import Faults, obj_points, ply_points
from .ply import head_of
from .skel.mass import DERIVED, complete

#: The kinds of mesh files that are read, by the ends of their names.
KINDS = (".obj", ".stl", ".ply", ".dae")
#: The least edge of a box that stands for a mesh, as a share of its largest.
_THINNEST = 1e-3


def kind_of(path: Path) -> str:
    """The kind of a mesh file, one of ``KINDS``; MeshTrouble for any other, and for one that is too large."""
    kind = path.suffix.lower()
    with as_trouble():
        check_size(path)
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
    low, high = mesh_bounds(path, ignore_unit)
    return np.asarray(high - low)


def mesh_bounds(path: Path, ignore_unit: bool = True, report: Report | None = None) -> Array:
    """The least and the greatest coordinates (2, 3) of the same; ``report`` takes what is left out of it."""
    kind = kind_of(path)
    if kind == ".dae":
        surfaces = read_collada(path, ignore_unit, report)
        low = np.min([surface.points.min(axis=0) for surface in surfaces], axis=0)
        high = np.max([surface.points.max(axis=0) for surface in surfaces], axis=0)
    else:
        low, high = _bounds(path, kind, report)
    with np.errstate(over="ignore"):
        low, high = (np.asarray(end, dtype=np.float32).astype(np.float64) for end in (low, high))
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise MeshTrouble("this mesh has coordinates that are too large for single precision", path=str(path))
    return np.stack([low, high])


def _bounds(path: Path, kind: str, report: Report | None) -> Array:
    """The least and the greatest coordinates (2, 3) of a file's polygons."""
    with as_trouble():
        data = read_bytes(path)
    if kind in (".obj", ".ply"):
        try:
            faults = Faults()
            points = obj_points(data, faults) if kind == ".obj" else ply_points(data, head_of(data, path))
            if report is not None and faults.told:
                report.warn("repaired-mesh", f"{path.name}: {faults.told}")
        except MeshTrouble as trouble:
            raise MeshTrouble(trouble.message, path=str(path), remedy=trouble.remedy) from None
        if not np.isfinite(points).all():
            raise MeshTrouble("this mesh has coordinates that are no numbers", path=str(path))
        return np.stack([points.min(axis=0), points.max(axis=0)])
    with library_at_hand("the size of a mesh needs trimesh", path):
        import trimesh
    try:
        # from memory, so that nothing the file names can be opened; as it is, no vertex merged or moved
        scene = trimesh.load_scene(io.BytesIO(data), file_type=kind[1:], process=False, skip_materials=True)
        bounds = scene.bounds
    except Exception as error:  # whatever a library makes of a bad file
        raise MeshTrouble(f"this mesh cannot be read: {error or type(error).__name__}", path=str(path)) from error
    if bounds is None or not np.isfinite(bounds).all():
        raise MeshTrouble("this file holds no mesh", path=str(path))
    return np.asarray(bounds, dtype=np.float64)


def lacks_masses(mechanism: Mechanism) -> bool:
    """Return whether a moment of inertia hangs on the size of a mesh and is not known yet."""
    return any(_is_lacking(body) for body in mechanism.bodies)


def complete_masses(
    mechanism: Mechanism,
    report: Report,
    folders: Iterable[str] = (),
    ignore_unit: bool = True,
    tell_missing: bool = True,
) -> list[Body]:
    """Give the bodies whose moment of inertia hangs on the size of a mesh that moment, where the mesh is found: the one
    that the mesh has as it is drawn. Returns these bodies; reads nothing where there are none.

    The rule is that of DART 6.20, but for Collada files in another unit than metres: DART 6.20 applies their unit, and
    6.13 and older, for which SKEL models were made, do not. With ``ignore_unit`` we do not either, neither here nor
    where the mesh is drawn. ``folders``: absolute ones, beside the model's, in which meshes may lie; ``tell_missing``:
    warn of meshes that cannot be read."""
    lacking = [body for body in mechanism.bodies if _is_lacking(body)]
    if not lacking:
        return []
    boxes = _Boxes(mechanism.source.path, tuple(folders), ignore_unit, report if tell_missing else None)
    done = complete(lacking, boxes.box)
    for body in done:
        unit = "; the unit that its Collada file names is not applied" if ignore_unit and _is_collada(body) else ""
        message = f"the moment of inertia of {body.name} is made from the box around its mesh, as DART 6.20 does{unit}"
        report.info("moment-from-mesh", message, body.line)
    told = [entry.message for entry in report.entries] if boxes.troubles else []
    for trouble in boxes.troubles if tell_missing else ():
        if not any(str(trouble) in message for message in told):
            report.warn("moment-without-mesh", f"moments of inertia do without a mesh: {trouble}")
    return done


def _is_lacking(body: Body) -> bool:
    return body.inertia is None and bool(body.extra.get(DERIVED)) and any(shape.mesh for shape in body.shapes)


def _is_collada(body: Body) -> bool:
    return any((shape.mesh or "").lower().endswith(".dae") for shape in body.shapes)


def boxed(mechanism: Mechanism, report: Report, folders: Iterable[str] = (), ignore_unit: bool = True) -> Mechanism:
    """Return a mechanism for a format that names no mesh files: in the place of each mesh that is found stands the box
    that holds it. The mechanism itself where it names none."""
    if not any(_names_mesh(shape) for body in mechanism.bodies for shape in body.shapes):
        return mechanism
    boxes, losses = _Boxes(mechanism.source.path, tuple(folders), ignore_unit, report), Losses()
    bodies = []
    for body in mechanism.bodies:
        shapes = [boxes.boxed(shape) if _names_mesh(shape) else shape for shape in body.shapes]
        if any(now is not before for now, before in zip(shapes, body.shapes, strict=True)):
            losses.add("approximated-shape", "a mesh is written as the box that holds it", body)
        bodies.append(replace(body, shapes=shapes))
    losses.tell(report)
    for trouble in boxes.troubles:
        report.warn("box-without-mesh", f"the size of a mesh is not known: {trouble}")
    return replace(mechanism, bodies=bodies)


def _names_mesh(shape: Shape) -> bool:
    return shape.type == "mesh" and bool(shape.mesh)


class _Boxes:
    """The boxes of a model's meshes, each file read once."""

    def __init__(self, model: str, folders: Sequence[str], ignore_unit: bool, report: Report | None) -> None:
        self._model, self._folders, self._ignore_unit, self._report = model, folders, ignore_unit, report
        self._bounds: dict[tuple[str, ...], Array | None] = {}
        self.troubles: list[MeshTrouble] = []

    def box(self, name: str) -> Array | None:
        """Edges (3,) of a mesh's box; None where it is missing or unreadable."""
        found = self._of(name)
        return None if found is None else np.asarray(found[1] - found[0])

    def boxed(self, shape: Shape) -> Shape:
        """The box that holds a mesh as it is drawn, in its colour; the shape itself where the mesh is missing. What is
        flat gets some thickness, for a box has moments of inertia."""
        found = self._of(str(shape.mesh), _includes(shape))
        if found is None:
            return shape
        scale = np.array([shape.size.get(axis, 1.0) for axis in "xyz"])
        edges = np.abs(scale) * (found[1] - found[0])
        edges = np.maximum(edges, _THINNEST * edges.max())
        middle = np.eye(4)
        middle[:3, 3] = _plain(scale * found.mean(axis=0))
        size = dict(zip("xyz", _plain(edges), strict=True))
        return Shape("box", size, shape.pose @ middle, shape.visual, shape.collision, shape.color)

    def _of(self, name: str, include: tuple[str, ...] = ()) -> Array | None:
        """The least and the greatest coordinates (2, 3) of a mesh; None where it is missing or unreadable."""
        if (name, *include) not in self._bounds:
            try:
                path = find_mesh(name, self._model, include, self._folders)
                self._bounds[name, *include] = mesh_bounds(path, self._ignore_unit, self._report)
            except MeshTrouble as trouble:
                self._bounds[name, *include] = None
                self.troubles.append(trouble)
        return self._bounds[name, *include]


def _plain(numbers: Array) -> list[float]:
    """Numbers without the digits that single precision does not have."""
    return [float(f"{number:.7g}") for number in numbers.tolist()]


def _includes(shape: Shape) -> tuple[str, ...]:
    """The folders that a model names for its meshes."""
    named = shape.extra.get("include")
    return tuple(str(each) for each in named) if isinstance(named, (list, tuple)) else ()
