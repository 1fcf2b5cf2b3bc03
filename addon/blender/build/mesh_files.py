"""Mesh files to meshes of Blender: each file once, in its own coordinates, and nothing else left behind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import bpy
import numpy as np

from ...core.model import Body, Mechanism, Shape
from ...core.report import Report
from ...formats.meshes.bounds import kind_of, obj_faults
from ...formats.meshes.collada import read_collada
from ...formats.meshes.locate import MeshTrouble, find_mesh, told_of_mesh
from ...formats.meshes.ply import check_ply
from ...formats.text.file_io import read_bytes
from ..data import preferences
from ..data.datablocks import latest, made_since
from .collada_mesh import collada_mesh
from .importers import KINDS, Importers


class MeshFiles:
    """Hands out the meshes of a model's files. To be closed: unused meshes are removed, and what could not be read is
    told in the report.

        with MeshFiles(mechanism, report) as files:
            mesh = files.mesh(shape, body)

    ``folders``: absolute folders that the user allows beside that of the model; None: those of the preferences, as
    with ``ignore_unit``. On an error inside the ``with`` all that was made is removed."""

    def __init__(
        self,
        mechanism: Mechanism,
        report: Report,
        folders: Sequence[str] | None = None,
        ignore_unit: bool | None = None,
    ) -> None:
        self._model = mechanism.source.path
        self._report = report
        self._folders = preferences.mesh_folders() if folders is None else tuple(folders)
        self._ignore_unit = preferences.ignore_collada_units() if ignore_unit is None else ignore_unit
        self._found: dict[tuple[str, ...], Path | MeshTrouble] = {}
        self._read: dict[Path, bpy.types.Mesh | MeshTrouble] = {}
        self._troubles: dict[tuple[str, bool], tuple[MeshTrouble, dict[str, None]]] = {}
        self._importers = Importers()
        self._made: list[Any] = []
        self._waste: list[Any] = []

    def __enter__(self) -> MeshFiles:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(discard=error is not None)

    def mesh(self, shape: Shape, body: Body) -> bpy.types.Mesh | None:
        """The mesh of a shape's file in the file's own coordinates, shared by all that name the file: to be copied
        before it is changed. None where the file is missing or unreadable, which the report will say."""
        include = tuple(shape.extra.get("include") or ())
        key = (shape.mesh or "", *include)
        if key not in self._found:
            self._found[key] = self._find(shape, include)
        path = self._found[key]
        if isinstance(path, Path) and path not in self._read:
            self._read[path] = self._load(path, shape)
        found = self._read[path] if isinstance(path, Path) else path
        if isinstance(found, MeshTrouble):
            self._troubles.setdefault((shape.mesh or "", shape.visual), (found, {}))[1][body.name] = None
            return None
        return found

    def close(self, discard: bool = False) -> None:
        """Tell what could not be read, and remove the meshes that nothing uses; ``discard``: all of them."""
        for (name, is_seen), (trouble, bodies) in self._troubles.items():
            self._report.warn(*told_of_mesh(name, is_seen, trouble, bodies))
        self._troubles.clear()
        self._read.clear()
        made = [block for block in self._made if _is_there(block)]
        waste = [block for block in self._waste if _is_there(block)]
        self._made.clear()
        self._waste.clear()
        self._importers.close()
        bpy.data.batch_remove(waste)
        while unused := [block for block in made if discard or block.users == 0]:
            made = [block for block in made if block not in unused]  # a mesh gives up its materials, these pictures
            bpy.data.batch_remove(unused)

    def _find(self, shape: Shape, include: tuple[str, ...]) -> Path | MeshTrouble:
        try:
            return find_mesh(shape.mesh or "", self._model, include, self._folders)
        except MeshTrouble as trouble:
            return trouble

    def _load(self, path: Path, shape: Shape) -> bpy.types.Mesh | MeshTrouble:
        moment = latest(KINDS)
        try:
            mesh = self._read_file(path, shape)
            if not len(mesh.polygons):
                raise MeshTrouble("this file holds no polygons", path=str(path))
            if not np.isfinite(_coordinates(mesh)).all():
                raise MeshTrouble("this mesh has coordinates that are no numbers", path=str(path))
            mesh.name = path.stem
            made = made_since(moment, KINDS)
            self._importers.settle(block for block in made if isinstance(block, bpy.types.Image))
        except BaseException as error:
            self._waste += made_since(moment, KINDS)
            if isinstance(error, MeshTrouble):
                return error
            if not isinstance(error, Exception):
                raise
            return MeshTrouble(f"this mesh cannot be read: {_first_line(error)}", path=str(path))
        for block in made:
            (self._waste if isinstance(block, bpy.types.Object) else self._made).append(block)
        return mesh

    def _read_file(self, path: Path, shape: Shape) -> bpy.types.Mesh:
        kind = kind_of(path)
        if kind == ".dae":
            return collada_mesh(path.stem, read_collada(path, self._ignore_unit, self._report))
        if kind == ".obj":
            folder = [str(Path(self._model).absolute().parent)] if self._model else []
            libraries = [name for name in shape.extra.get("files") or () if str(name).lower().endswith(".mtl")]
            mesh = self._importers.wavefront(path, [*folder, *self._folders], libraries)
            if told := obj_faults(read_bytes(path), len(mesh.polygons)):
                self._report.warn("repaired-mesh", f"{path.name}: {told}")
            return mesh
        if kind == ".ply":
            check_ply(path)
            return self._importers.ply(path)
        return self._importers.stl(path)


def _first_line(error: Exception) -> str:
    text = str(error).strip().removeprefix("Error: ")
    return text.splitlines()[0] if text else type(error).__name__


def _coordinates(mesh: bpy.types.Mesh) -> np.ndarray:
    found = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", found)
    return found


def _is_there(block: Any) -> bool:
    try:
        return bool(block.as_pointer())
    except ReferenceError:  # whoever was given it removed it
        return False
