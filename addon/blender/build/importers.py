"""Blender's own importers of mesh files, kept to a scene and a folder of their own."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import bpy

from ...formats.meshes.locate import MeshTrouble, as_trouble
from ...formats.meshes.obj import LIBRARY, LONGEST_PATH, harmless
from ...formats.text.file_io import check_size
from ..scene.temporary_scene import at_work, workshop

#: What an importer may make.
KINDS = ("objects", "meshes", "curves", "materials", "images")


class Importers:
    """To be closed. What they make is in no scene, and is the caller's: of each file one mesh that matters, and an
    object that nobody needs."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._own: tuple[bpy.types.Scene, Path] | None = None
        self._copies: dict[Path, str] = {}
        self._images: dict[Path, bpy.types.Image] = {}

    def close(self) -> None:
        """Give up the scene and the folder."""
        self._open.close()
        self._own = None

    def ply(self, path: Path) -> bpy.types.Mesh:
        """The mesh of a PLY file, which has to be a sound one."""
        return self._import(path, lambda file: bpy.ops.wm.ply_import(filepath=file, forward_axis="Y", up_axis="Z"))

    def stl(self, path: Path) -> bpy.types.Mesh:
        """The mesh of an STL file."""
        return self._import(path, lambda file: bpy.ops.wm.stl_import(filepath=file, forward_axis="Y", up_axis="Z"))

    def wavefront(self, path: Path, folders: Sequence[Path | str], materials: Sequence[str]) -> bpy.types.Mesh:
        """The mesh of an .obj. Blender is given copies, and copies of the pictures, under names of ours: it has its own
        ideas of what a path in such files means. ``folders`` and ``materials`` as for ``harmless``."""
        with as_trouble():
            made = harmless(path, folders, materials, self._copies)
            room = self._room()[1]
            for picture in made.pictures:
                _copy(picture, room / self._copies[picture])
            copy = room / "mesh.obj"
            copy.write_bytes(made.data)
            (room / LIBRARY).write_bytes(made.materials)
        return self._import(
            copy,
            lambda file: bpy.ops.wm.obj_import(
                filepath=file, forward_axis="Y", up_axis="Z", use_split_objects=False, use_split_groups=False
            ),
        )

    def settle(self, images: Iterable[bpy.types.Image]) -> None:
        """Have the images of an import show the real pictures rather than their copies, each picture one image."""
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
            image.filepath = _spelled(picture)

    def _room(self) -> tuple[bpy.types.Scene, Path]:
        if self._own is None:
            scene = self._open.enter_context(workshop())
            self._own = scene, Path(self._open.enter_context(tempfile.TemporaryDirectory(prefix="knuckle")))
        return self._own

    def _import(self, path: Path, importer: Callable[[str], Any]) -> bpy.types.Mesh:
        if len(os.fsencode(path)) > LONGEST_PATH:
            raise MeshTrouble("the path is longer than Blender reads", path=str(path))
        scene, _ = self._room()
        try:
            with at_work(scene):
                importer(_spelled(path))
                objects = [obj for obj in scene.objects if obj.type == "MESH" and len(_data(obj).polygons)]
            if not objects:
                raise MeshTrouble("this file holds no polygons", path=str(path))
            return _joined(scene, objects)
        finally:
            for obj in [*scene.collection.objects]:
                scene.collection.objects.unlink(obj)
                obj.name = scene.name  # the file's name is wanted for a body


def _copy(picture: Path, place: Path) -> None:
    """A copy of a picture where there is none yet. There always is a file in the end, lest Blender look elsewhere."""
    if place.exists():
        return
    place.touch()
    try:
        with as_trouble():
            check_size(picture)
            shutil.copyfile(picture, place)
    except MeshTrouble:
        pass  # what cannot be read here Blender cannot read either


def _joined(scene: bpy.types.Scene, objects: Sequence[bpy.types.Object]) -> bpy.types.Mesh:
    """The one mesh of objects, in the scene's coordinates; the others' are left without a user."""
    for obj in objects:
        _data(obj).transform(obj.matrix_world)
    if len(objects) > 1:
        with at_work(scene, objects):
            bpy.ops.object.join()
    return _data(objects[0])


def _data(obj: bpy.types.Object) -> bpy.types.Mesh:
    return cast(bpy.types.Mesh, obj.data)


def _spelled(path: Path) -> str:
    """A path for Blender, which takes two slashes at the beginning for the folder of the open .blend."""
    return str(path) if os.name == "nt" else re.sub(r"\A//+", "/", str(path))
