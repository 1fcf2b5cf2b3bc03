"""Mesh files as Blender meshes: Collada through our own reader, OBJ, PLY and STL through Blender's importers.

Each file is read once, in its own coordinates. The importers run in a scene and a folder of their own, of which nothing
is left behind.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, cast

import bpy
import numpy as np

from ...core.model import Body, Mechanism, Shape
from ...core.report import Message, Report
from ...formats.meshes.bounds import describe_obj_faults, mesh_kind
from ...formats.meshes.collada import Surface, read_collada
from ...formats.meshes.locate import MeshError, convert_to_mesh_error, find_mesh, mesh_error_entry
from ...formats.meshes.obj import MATERIAL_LIBRARY, MAX_PATH_LENGTH, sanitize_obj
from ...formats.meshes.ply import check_ply
from ...formats.text.file_io import check_size, read_bytes
from ..data import preferences
from ..data.datablocks import datablocks_since, mesh_points, newest_session_uid, still_exists
from .materials import plain_material
from .temporary_scene import operator_context, scratch_scene

#: Attribute with the file's normals until the mesh is validated.
_NORMAL_ATTRIBUTE = "knuckle normal"
#: Length of the difference above which a normal is not that of its polygon.
_NORMAL_TOLERANCE = 1e-2


def collada_mesh(name: str, surfaces: Sequence[Surface]) -> bpy.types.Mesh:
    """Create a mesh from the surfaces of a Collada file, with a material for each that they name.

    Polygons whose normals in the file are their geometric ones are flat, the others smooth with the file's normals.
    Degenerate and duplicate polygons are left out.
    """
    counts = np.concatenate([surface.counts for surface in surfaces])
    sizes = [len(surface.points) for surface in surfaces]
    starts = np.cumsum(sizes) - sizes
    loops = np.concatenate([surface.corners + start for surface, start in zip(surfaces, starts, strict=True)])
    mesh = bpy.data.meshes.new(name)
    mesh.vertices.add(sum(sizes))
    mesh.vertices.foreach_set("co", np.concatenate([surface.points for surface in surfaces]).astype(np.float32).ravel())
    mesh.loops.add(len(loops))
    mesh.loops.foreach_set("vertex_index", loops.astype(np.int32))
    mesh.polygons.add(len(counts))
    mesh.polygons.foreach_set("loop_start", (np.cumsum(counts) - counts).astype(np.int32))
    _assign_materials(mesh, surfaces)
    _store_normals(mesh, surfaces)
    mesh.update(calc_edges=True)
    mesh.validate()
    _apply_normals(mesh)
    return mesh


def _assign_materials(mesh: bpy.types.Mesh, surfaces: Sequence[Surface]) -> None:
    looks = list(dict.fromkeys((surface.material, surface.color) for surface in surfaces))
    if all(color is None for _, color in looks):
        return
    for name, color in looks:
        mesh.materials.append(plain_material(name or mesh.name, color) if color is not None else None)
    slot_of = {look: slot for slot, look in enumerate(looks)}
    slots = [slot_of[surface.material, surface.color] for surface in surfaces]
    each = np.repeat(slots, [len(surface.counts) for surface in surfaces]).astype(np.int32)
    mesh.polygons.foreach_set("material_index", each)


def _store_normals(mesh: bpy.types.Mesh, surfaces: Sequence[Surface]) -> None:
    """Store each corner's normal, zeros where there is none, as an attribute that survives the mesh's validation."""
    if all(surface.normals is None for surface in surfaces):
        return
    given = [
        surface.normals if surface.normals is not None else np.zeros((len(surface.corners), 3)) for surface in surfaces
    ]
    kept: Any = mesh.attributes.new(_NORMAL_ATTRIBUTE, "FLOAT_VECTOR", "CORNER")
    kept.data.foreach_set("vector", np.concatenate(given).astype(np.float32).ravel())


def _apply_normals(mesh: bpy.types.Mesh) -> None:
    """Set the stored normals as custom normals, and shade the polygons smooth that they differ from.

    Note:
        The mesh has to be valid: Blender crashes on custom normals of degenerate polygons.
    """
    kept: Any = mesh.attributes.get(_NORMAL_ATTRIBUTE)
    given = np.zeros((len(mesh.loops), 3), dtype=np.float32)
    if kept is not None:
        kept.data.foreach_get("vector", given.ravel())
        mesh.attributes.remove(kept)
    flat = np.empty((len(mesh.polygons), 3), dtype=np.float32)
    mesh.polygons.foreach_get("normal", flat.ravel())
    starts = np.empty(len(mesh.polygons), dtype=np.int32)
    mesh.polygons.foreach_get("loop_start", starts)
    counts = np.empty(len(mesh.polygons), dtype=np.int32)
    mesh.polygons.foreach_get("loop_total", counts)
    flat = np.repeat(flat, counts, axis=0)
    silent = np.linalg.norm(given, axis=1) < 0.5  # no normal given
    wanted = np.where(silent[:, None], flat, given)
    off = np.linalg.norm(wanted - flat, axis=1) > _NORMAL_TOLERANCE
    smooth = np.logical_or.reduceat(off, starts) if len(starts) else off
    mesh.polygons.foreach_set("use_smooth", smooth)
    if smooth.any():
        mesh.normals_split_custom_set(wanted)


#: Kinds of data that an importer may create.
MESH_IMPORT_KINDS = ("objects", "meshes", "curves", "materials", "images")


class MeshImporters:
    """Blender's mesh importers in a scene and a temporary folder of their own, which ``close`` removes.

    The data they create are in no scene and belong to the caller: per file one mesh and an object that is not needed.
    """

    def __init__(self) -> None:
        self._open = ExitStack()
        self._own: tuple[bpy.types.Scene, Path] | None = None
        self._copies: dict[Path, str] = {}
        self._images: dict[Path, bpy.types.Image] = {}

    def close(self) -> None:
        """Remove the scene and the folder."""
        self._open.close()
        self._own = None

    def ply(self, path: Path) -> bpy.types.Mesh:
        """Import the mesh of a PLY file, which has to be valid (``check_ply``)."""
        return self._import(path, lambda file: bpy.ops.wm.ply_import(filepath=file, forward_axis="Y", up_axis="Z"))

    def stl(self, path: Path) -> bpy.types.Mesh:
        """Import the mesh of an STL file."""
        return self._import(path, lambda file: bpy.ops.wm.stl_import(filepath=file, forward_axis="Y", up_axis="Z"))

    def wavefront(self, path: Path, folders: Sequence[Path | str], materials: Sequence[str]) -> bpy.types.Mesh:
        """Import the mesh of an .obj file.

        Blender gets copies of the file and its images under names of ours, since it has its own rules for paths in such
        files.

        Args:
            path: The file.
            folders: As for ``sanitize_obj``.
            materials: As for ``sanitize_obj``.
        """
        with convert_to_mesh_error():
            made = sanitize_obj(path, folders, materials, self._copies)
            room = self._room()[1]
            for picture in made.pictures:
                _copy_image(picture, room / self._copies[picture])
            copy = room / "mesh.obj"
            copy.write_bytes(made.data)
            (room / MATERIAL_LIBRARY).write_bytes(made.materials)
        return self._import(
            copy,
            lambda file: bpy.ops.wm.obj_import(
                filepath=file, forward_axis="Y", up_axis="Z", use_split_objects=False, use_split_groups=False
            ),
        )

    def settle(self, images: Iterable[bpy.types.Image]) -> None:
        """Point imported images to the original files instead of the copies, with one image per file."""
        picture_of = {name: picture for picture, name in self._copies.items()}
        for image in [*images]:
            picture = picture_of.get(os.path.basename(bpy.path.abspath(image.filepath)))
            if picture is None:
                continue
            first = self._images.setdefault(picture, image)
            if first != image:
                image.user_remap(first)
                continue
            image.name = picture.name
            image.filepath = _blender_path(picture)

    def _room(self) -> tuple[bpy.types.Scene, Path]:
        if self._own is None:
            scene = self._open.enter_context(scratch_scene())
            self._own = scene, Path(self._open.enter_context(tempfile.TemporaryDirectory(prefix="knuckle")))
        return self._own

    def _import(self, path: Path, importer: Callable[[str], Any]) -> bpy.types.Mesh:
        if len(os.fsencode(path)) > MAX_PATH_LENGTH:
            raise MeshError("the path is too long for Blender", path=str(path))
        scene, _ = self._room()
        try:
            with operator_context(scene):
                importer(_blender_path(path))
                objects = [obj for obj in scene.objects if obj.type == "MESH" and len(_mesh_of(obj).polygons)]
            if not objects:
                raise MeshError("the file contains no polygons", path=str(path))
            return _join_objects(scene, objects)
        finally:
            for obj in [*scene.collection.objects]:
                scene.collection.objects.unlink(obj)
                obj.name = scene.name  # the file's name is wanted for a body


def _copy_image(picture: Path, place: Path) -> None:
    """Copy an image that is not there yet; an empty file replaces an unreadable one, lest Blender look elsewhere."""
    if place.exists():
        return
    place.touch()
    try:
        with convert_to_mesh_error():
            check_size(picture)
            shutil.copyfile(picture, place)
    except MeshError:
        pass  # what cannot be read here Blender cannot read either


def _join_objects(scene: bpy.types.Scene, objects: Sequence[bpy.types.Object]) -> bpy.types.Mesh:
    """Join objects into one mesh in the scene's coordinates; the meshes of the others are left without users."""
    for obj in objects:
        _mesh_of(obj).transform(obj.matrix_world)
    if len(objects) > 1:
        with operator_context(scene, objects):
            bpy.ops.object.join()
    return _mesh_of(objects[0])


def _mesh_of(obj: bpy.types.Object) -> bpy.types.Mesh:
    return cast(bpy.types.Mesh, obj.data)


def _blender_path(path: Path) -> str:
    """Return a path for Blender, to which two slashes at the beginning mean the folder of the open .blend."""
    return str(path) if os.name == "nt" else re.sub(r"\A//+", "/", str(path))


class MeshFiles:
    """Loader of a mechanism's mesh files, as a context manager or with ``close`` at the end.

    On closing, unused meshes are removed and what could not be read is reported.

        with MeshFiles(mechanism, report) as files:
            mesh = files.mesh(shape, body)

    ``folders``: absolute folders that the user allows beside that of the model file; None: those of the preferences, as
    with ``ignore_unit``. On an error inside the ``with`` everything created is removed.
    """

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
        self._found: dict[tuple[str, ...], Path | MeshError] = {}
        self._read: dict[Path, bpy.types.Mesh | MeshError] = {}
        self._failures: dict[tuple[str, bool], tuple[MeshError, dict[str, None]]] = {}
        self._importers = MeshImporters()
        self._made: list[Any] = []
        self._unused_meshes: list[Any] = []

    def __enter__(self) -> MeshFiles:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(discard=error is not None)

    def mesh(self, shape: Shape, body: Body) -> bpy.types.Mesh | None:
        """Return the mesh of a shape's file in the file's own coordinates; None where it is missing or unreadable.

        It is shared by all shapes that name the file: copy it before changing it. Failures are reported on closing.
        """
        include = tuple(shape.extra.get("include") or ())
        key = (shape.mesh or "", *include)
        if key not in self._found:
            self._found[key] = self._find(shape, include)
        path = self._found[key]
        if isinstance(path, Path) and path not in self._read:
            self._read[path] = self._load(path, shape)
        found = self._read[path] if isinstance(path, Path) else path
        if isinstance(found, MeshError):
            self._failures.setdefault((shape.mesh or "", shape.visual), (found, {}))[1][body.name] = None
            return None
        return found

    def close(self, discard: bool = False) -> None:
        """Report what could not be read, and remove the meshes without users; ``discard``: all of them."""
        for (name, is_seen), (trouble, bodies) in self._failures.items():
            self._report.warn(*mesh_error_entry(name, is_seen, trouble, bodies))
        self._failures.clear()
        self._read.clear()
        made = [block for block in self._made if still_exists(block)]
        waste = [block for block in self._unused_meshes if still_exists(block)]
        self._made.clear()
        self._unused_meshes.clear()
        self._importers.close()
        bpy.data.batch_remove(waste)
        while unused := [block for block in made if discard or block.users == 0]:
            made = [block for block in made if block not in unused]  # a mesh releases its materials, these images
            bpy.data.batch_remove(unused)

    def _find(self, shape: Shape, include: tuple[str, ...]) -> Path | MeshError:
        try:
            return find_mesh(shape.mesh or "", self._model, include, self._folders)
        except MeshError as trouble:
            return trouble

    def _load(self, path: Path, shape: Shape) -> bpy.types.Mesh | MeshError:
        moment = newest_session_uid(MESH_IMPORT_KINDS)
        try:
            mesh = self._read_file(path, shape)
            if not len(mesh.polygons):
                raise MeshError("the file contains no polygons", path=str(path))
            if not np.isfinite(mesh_points(mesh)).all():
                raise MeshError("the mesh has coordinates that are not finite", path=str(path))
            mesh.name = path.stem
            made = datablocks_since(moment, MESH_IMPORT_KINDS)
            self._importers.settle(block for block in made if isinstance(block, bpy.types.Image))
        except BaseException as error:
            self._unused_meshes += datablocks_since(moment, MESH_IMPORT_KINDS)
            if isinstance(error, MeshError):
                return error
            if not isinstance(error, Exception):
                raise
            return MeshError(f"the mesh cannot be read: {_first_line(error)}", path=str(path))
        for block in made:
            (self._unused_meshes if isinstance(block, bpy.types.Object) else self._made).append(block)
        return mesh

    def _read_file(self, path: Path, shape: Shape) -> bpy.types.Mesh:
        kind = mesh_kind(path)
        if kind == ".dae":
            return collada_mesh(path.stem, read_collada(path, self._ignore_unit, self._report))
        if kind == ".obj":
            folder = [str(Path(self._model).absolute().parent)] if self._model else []
            libraries = [name for name in shape.extra.get("files") or () if str(name).lower().endswith(".mtl")]
            mesh = self._importers.wavefront(path, [*folder, *self._folders], libraries)
            if faults := describe_obj_faults(read_bytes(path), len(mesh.polygons)):
                self._report.warn("repaired-mesh", Message("{}: {}", path.name, faults))
            return mesh
        if kind == ".ply":
            check_ply(path)
            return self._importers.ply(path)
        return self._importers.stl(path)


def _first_line(error: Exception) -> str:
    text = str(error).strip().removeprefix("Error: ")
    return text.splitlines()[0] if text else type(error).__name__
