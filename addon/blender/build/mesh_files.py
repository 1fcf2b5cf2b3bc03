"""Mesh files to meshes of Blender: each file once, in its own coordinates, and nothing else left behind."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, cast

import bpy
import numpy as np

from ...formats.collada import Surface, read_collada
from ...formats.mesh_boxes import kind_of
from ...formats.mesh_files import MeshTrouble, as_trouble, find_mesh
from ...formats.ply import check_ply
from ...formats.wavefront import LIBRARY, harmless
from ...model.records import Body, Mechanism, Shape
from ...model.report import Report
from .. import preferences
from ..materials import plain_material

#: What an importer may make.
_KINDS = ("objects", "meshes", "curves", "materials", "images", "textures", "node_groups", "collections")
_LONGEST_PATH = 1000  # Blender cuts paths at 1023 bytes, and what is left may be another file


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
        self._troubles: dict[str, tuple[MeshTrouble, list[str]]] = {}
        self._made: list[Any] = []

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
            names = self._troubles.setdefault(shape.mesh or "", (found, []))[1]
            if body.name not in names:
                names.append(body.name)
            return None
        return found

    def close(self, discard: bool = False) -> None:
        """Tell what could not be read, and remove the meshes that nothing uses; ``discard``: all of them."""
        for name, (trouble, bodies) in self._troubles.items():
            self._report.warn(
                f"mesh-{trouble.code}", f"a box stands for the mesh of {', '.join(bodies)}: {_sentence(name, trouble)}"
            )
        self._troubles.clear()
        made = [block for block in self._made if _is_there(block)]
        self._made.clear()
        while unused := [block for block in made if discard or block.users == 0]:
            made = [block for block in made if block not in unused]  # a mesh gives up its materials, these pictures
            bpy.data.batch_remove(unused)
        self._read.clear()

    def _find(self, shape: Shape, include: tuple[str, ...]) -> Path | MeshTrouble:
        try:
            return find_mesh(shape.mesh or "", self._model, include, self._folders)
        except MeshTrouble as trouble:
            return trouble

    def _load(self, path: Path, shape: Shape) -> bpy.types.Mesh | MeshTrouble:
        before = _all_blocks()
        try:
            mesh = self._read_file(path, shape)
            if not len(mesh.polygons):
                raise MeshTrouble("this file holds no polygons", path=str(path))
            if not np.isfinite(_coordinates(mesh)).all():
                raise MeshTrouble("this mesh has coordinates that are no numbers", path=str(path))
        except BaseException as error:
            _remove_new(before)
            if isinstance(error, MeshTrouble):
                return error
            if not isinstance(error, Exception):
                raise
            return MeshTrouble(f"this mesh cannot be read: {_first_line(error)}", path=str(path))
        self._made += [block for block in _all_blocks() if block not in before]
        mesh.name = path.stem
        return mesh

    def _read_file(self, path: Path, shape: Shape) -> bpy.types.Mesh:
        kind = kind_of(path)
        if kind == ".dae":
            return collada_mesh(path.stem, read_collada(path, self._ignore_unit))
        if kind == ".obj":
            return self._wavefront(path, shape)
        if kind == ".ply":
            check_ply(path)
            return _imported(path, lambda file: bpy.ops.wm.ply_import(filepath=file, forward_axis="Y", up_axis="Z"))
        return _imported(path, lambda file: bpy.ops.wm.stl_import(filepath=file, forward_axis="Y", up_axis="Z"))

    def _wavefront(self, path: Path, shape: Shape) -> bpy.types.Mesh:
        folder = [str(Path(self._model).absolute().parent)] if self._model else []
        files = [name for name in shape.extra.get("files") or () if str(name).lower().endswith(".mtl")]
        with as_trouble():
            data, materials = harmless(path, [*folder, *self._folders], files)
        with tempfile.TemporaryDirectory(prefix="knuckle") as made:
            copy = Path(made) / "mesh.obj"
            copy.write_bytes(data)
            (copy.parent / LIBRARY).write_bytes(materials)
            return _imported(
                copy,
                lambda file: bpy.ops.wm.obj_import(
                    filepath=file, forward_axis="Y", up_axis="Z", use_split_objects=False, use_split_groups=False
                ),
            )


def _sentence(name: str, trouble: MeshTrouble) -> str:
    """What is wrong with a mesh, with the name that the model gives it."""
    text = str(trouble)
    return text if name and name in text else f"{name}: {text}"


def _first_line(error: Exception) -> str:
    text = str(error).strip().removeprefix("Error: ")
    return text.splitlines()[0] if text else type(error).__name__


def _imported(path: Path, importer: Callable[[str], Any]) -> bpy.types.Mesh:
    """The mesh that one of Blender's importers makes of a file, in a scene of its own: importers link, select and make
    active what they make, in the scene that they find."""
    if len(str(path).encode("utf-8", "surrogateescape")) > _LONGEST_PATH:
        raise MeshTrouble("the path is longer than Blender reads", path=str(path))
    with _workshop() as scene:
        importer(str(path))
        objects = [obj for obj in scene.objects if obj.type == "MESH" and len(_data(obj).polygons)]
        mesh = _joined(objects) if objects else None
    if mesh is None:
        raise MeshTrouble("this file holds no polygons", path=str(path))
    return mesh


@contextmanager
def _workshop() -> Iterator[bpy.types.Scene]:
    scene = bpy.data.scenes.new("Knuckle Workshop")
    layer = scene.view_layers[0]
    try:
        with bpy.context.temp_override(
            scene=scene, view_layer=layer, collection=scene.collection, layer_collection=layer.layer_collection
        ):
            yield scene
    finally:
        bpy.data.batch_remove([*scene.objects])
        bpy.data.scenes.remove(scene)


def _joined(objects: Sequence[bpy.types.Object]) -> bpy.types.Mesh:
    """The one mesh of objects, in the scene's coordinates; the others' are left without a user."""
    for obj in objects:
        _data(obj).transform(obj.matrix_world)
    if len(objects) > 1:
        with bpy.context.temp_override(
            object=objects[0], active_object=objects[0], selected_objects=objects, selected_editable_objects=objects
        ):
            bpy.ops.object.join()
    return _data(objects[0])


def _data(obj: bpy.types.Object) -> bpy.types.Mesh:
    return cast(bpy.types.Mesh, obj.data)


def collada_mesh(name: str, surfaces: Sequence[Surface]) -> bpy.types.Mesh:
    """A mesh of the surfaces of a Collada file, with a material for each that they name. Where the file's normals are
    those of its polygons it is flat, else smooth with the file's normals."""
    points, corners, count = [], [], 0
    for surface in surfaces:
        used, index = np.unique(surface.corners, return_inverse=True)
        points.append(surface.points[used])
        corners.append(index.reshape(-1) + count)
        count += len(used)
    counts = np.concatenate([surface.counts for surface in surfaces])
    loops = np.concatenate(corners)
    mesh = bpy.data.meshes.new(name)
    mesh.vertices.add(count)
    mesh.vertices.foreach_set("co", np.concatenate(points).astype(np.float32).ravel())
    mesh.loops.add(len(loops))
    mesh.loops.foreach_set("vertex_index", loops.astype(np.int32))
    mesh.polygons.add(len(counts))
    mesh.polygons.foreach_set("loop_start", (np.cumsum(counts) - counts).astype(np.int32))
    _put_materials(mesh, surfaces)
    mesh.update(calc_edges=True)
    _put_normals(mesh, surfaces, counts)
    mesh.validate()
    return mesh


def _put_materials(mesh: bpy.types.Mesh, surfaces: Sequence[Surface]) -> None:
    names = list(dict.fromkeys((surface.material, surface.color) for surface in surfaces))
    if all(color is None for _, color in names):
        return
    for name, color in names:
        mesh.materials.append(plain_material(name or mesh.name, color) if color is not None else None)
    slots = [names.index((surface.material, surface.color)) for surface in surfaces]
    each = np.repeat(slots, [len(surface.counts) for surface in surfaces]).astype(np.int32)
    mesh.polygons.foreach_set("material_index", each)


def _put_normals(mesh: bpy.types.Mesh, surfaces: Sequence[Surface], counts: np.ndarray) -> None:
    flat = np.empty((len(mesh.polygons), 3), dtype=np.float32)
    mesh.polygons.foreach_get("normal", flat.ravel())
    wanted = np.repeat(flat, counts, axis=0).astype(np.float64)
    start = 0
    for surface in surfaces:
        size = len(surface.corners)
        if surface.normals is not None:
            given = np.linalg.norm(surface.normals, axis=1) > 0.5  # a normal of 0 says nothing
            wanted[start : start + size][given] = surface.normals[given]
        start += size
    off = np.linalg.norm(wanted - np.repeat(flat, counts, axis=0), axis=1) > 1e-2
    smooth = np.logical_or.reduceat(off, np.cumsum(counts) - counts)
    mesh.polygons.foreach_set("use_smooth", smooth)
    if smooth.any():
        mesh.normals_split_custom_set(wanted.astype(np.float32))


def _coordinates(mesh: bpy.types.Mesh) -> np.ndarray:
    found = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", found)
    return found


def _all_blocks() -> set[Any]:
    return {block for kind in _KINDS for block in getattr(bpy.data, kind)}


def _remove_new(before: set[Any]) -> None:
    bpy.data.batch_remove([block for block in _all_blocks() if block not in before])


def _is_there(block: Any) -> bool:
    try:
        return bool(block.as_pointer())
    except ReferenceError:  # whoever was given it removed it
        return False
