"""Copying of a model's mesh files, with their materials and images, beside the file that is written.

A file whose relative name is free keeps it. One named by an absolute path, by ``..`` or by a collection, or whose name
is taken by another file, goes into ``NAME_meshes`` under a free name, to which the model then refers. Only meshes,
materials and images are written, never outside the model's folder or over another file, and only files that ``locate``
allows are read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from ...core.model import Mechanism, Shape
from ...core.report import FormatError, Message, Report
from ..text.file_io import make_folder, read_bytes, write_atomically
from .bounds import mesh_kind
from .locate import MeshError, find_mesh
from .obj import material_libraries, texture_name

_SCHEME_OR_DRIVE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_IMAGE_EXTENSIONS = frozenset(
    {".png", ".jpg", ".jpeg", ".tga", ".bmp", ".tif", ".tiff", ".exr", ".hdr", ".webp", ".gif"}
)
_COLLADA_IMAGE = re.compile(rb"(<init_from>\s*(?:<ref>\s*)?)([^<]+?)(\s*<)")
_MAX_FILES = 10_000
#: Key in the ``extra`` of a shape whose mesh was just written beside the model's new file.
IS_WRITTEN = "is_written"


def copy_meshes(
    mechanism: Mechanism, path: str | os.PathLike[str], report: Report, folders: Sequence[str] = ()
) -> Mechanism:
    """Copy the files that a model needs beside the file ``path`` to which it will be written.

    A model that is written into its own folder stays as it is.

    Args:
        mechanism: the mechanism.
        path: the file that will be written.
        report: receives what was copied or renamed.
        folders: folders, beside that of the model, in which meshes may lie.

    Returns:
        The mechanism to write: with other names of meshes where they could not be kept.

    Raises:
        FormatError: a file cannot be written.
    """
    target = Path(os.path.abspath(path))
    source = mechanism.source.path
    if not source or Path(os.path.abspath(source)).parent.resolve() == target.parent.resolve():
        return mechanism
    written = (shape for body in mechanism.bodies for shape in body.shapes if shape.extra.get(IS_WRITTEN))
    claimed = {str(target.parent / (shape.mesh or "")).lower() for shape in written}
    copier = _Copier(source, target, folders, report, claimed)
    bodies = [
        replace(body, shapes=[copier.shape(shape) if shape.mesh else shape for shape in body.shapes])
        for body in mechanism.bodies
    ]
    copier.report_all()
    return replace(mechanism, bodies=bodies)


def without_written_marks(mechanism: Mechanism) -> Mechanism:
    """Return a mechanism without the ``IS_WRITTEN`` marks of its shapes, which belong in no file."""
    marked = [body for body in mechanism.bodies if any(IS_WRITTEN in shape.extra for shape in body.shapes)]
    if not marked:
        return mechanism
    plain = {
        body.id: [
            replace(shape, extra={k: v for k, v in shape.extra.items() if k != IS_WRITTEN}) for shape in body.shapes
        ]
        for body in marked
    }
    bodies = [replace(body, shapes=plain.get(body.id, body.shapes)) for body in mechanism.bodies]
    return replace(mechanism, bodies=bodies)


@dataclass
class _File:
    """File to copy.

    ``names`` maps each name in it to the file meant; ``renamed`` gives its bytes with other names.
    """

    path: Path
    data: bytes
    names: dict[str, _File]
    renamed: Callable[[bytes, Mapping[str, str]], bytes]


@dataclass
class _Copier:
    source: str
    target: Path
    folders: Sequence[str]
    report: Report
    claimed: Container[str]  # lower-case paths of meshes that are or will be written beside the model
    _files: dict[Path, _File] = field(default_factory=dict)
    _flat: dict[Path, str] = field(default_factory=dict)
    _done: dict[tuple[str, ...], tuple[str, list[str]] | None] = field(default_factory=dict)
    _written: dict[Path, None] = field(default_factory=dict)
    _renamed: dict[str, str] = field(default_factory=dict)

    def shape(self, shape: Shape) -> Shape:
        """Copy the files of a mesh shape; returns the shape to write."""
        if shape.extra.get(IS_WRITTEN):
            return shape
        listed = [str(name) for name in shape.extra.get("files") or () if str(name) != shape.mesh]
        key = (shape.mesh or "", *listed)
        if key not in self._done:
            self._done[key] = self._copied(shape.mesh or "", listed, tuple(shape.extra.get("include") or ()))
        made = self._done[key]
        if made is None or (made[0] == shape.mesh and made[1] == listed):
            return shape
        extra = shape.extra | ({"files": [made[0], *made[1]]} if shape.extra.get("files") else {})
        return replace(shape, mesh=made[0], extra=extra)

    def report_all(self) -> None:
        """Report the files copied and the meshes renamed."""
        if self._written:
            self.report.info(
                "meshes-copied", Message("Mesh files copied, with their materials and textures: {}", len(self._written))
            )
        for old, new in self._renamed.items():
            self.report.info("mesh-renamed", Message("Mesh {}: renamed {} in the written file", old, new), where=new)

    def _copied(self, name: str, listed: list[str], include: Sequence[str]) -> tuple[str, list[str]] | None:
        """Copy a mesh and the materials listed with it; returns their names in the written file.

        None where the mesh is missing or not allowed.
        """
        try:
            found = find_mesh(name, self.source, include, self.folders)
            mesh_kind(found)  # anything else might be executable
            mesh = self._file(found)
        except FormatError as trouble:
            code = trouble.code if isinstance(trouble, MeshError) else "unreadable"
            self.report.warn(f"mesh-{code}", Message("Mesh not copied: {}", trouble), where=name)
            return None
        others: dict[str, _File] = {}
        for each in filter(_is_material, listed):
            try:
                material = find_mesh(each, self.source, include, self.folders)
                others |= {each: self._file(material)} if _is_material(material.name) else {}
            except FormatError:
                continue  # the mesh is usable without its colors
        if self._keeps({name: mesh} | others):
            return name, listed
        new = {each: self._flattened(file) for each, file in ({name: mesh} | others).items()}
        self._renamed[name] = new[name]
        return new[name], [new.get(each, each) for each in listed]

    # ------------------------------------------------------------ unchanged names

    def _keeps(self, named: Mapping[str, _File]) -> bool:
        """Copy files to the places that their names give, if that is possible for all; returns whether it was."""
        places: dict[Path, _File] = {}
        if not all(self._place(self.target.parent, name, file, places) for name, file in named.items()):
            return False
        for place, file in places.items():
            self._write(place, file.data)
        return True

    def _place(self, folder: Path, name: str, file: _File, places: dict[Path, _File]) -> bool:
        """Find the target of a file and of the files it names, relative to the folder of the file that names it."""
        plain = _relative_path(name)
        if plain is None:
            return False
        place = Path(os.path.normpath(folder / plain))
        if places.get(place) is file:
            return True
        if place in places or not self._is_free(place, file.data) or len(places) > _MAX_FILES:
            return False
        places[place] = file
        return all(self._place(place.parent, each, other, places) for each, other in file.names.items())

    def _is_free(self, place: Path, data: bytes) -> bool:
        """Return whether a file may be written to a path.

        The path must be inside the model's folder after symbolic links are resolved, and hold no other file.
        """
        room = self.target.parent
        if place == self.target or not place.is_relative_to(room) or str(place).lower() in self.claimed:
            return False
        if not Path(os.path.realpath(place)).is_relative_to(os.path.realpath(room)):
            return False
        for above in place.relative_to(room).parents:
            if os.path.lexists(room / above) and not (room / above).is_dir():
                return False
        return not os.path.lexists(place) or _holds_same_data(place, data)

    # ------------------------------------------------------------ generated names

    def _flattened(self, file: _File) -> str:
        """Copy a file, and what it names, into the folder of meshes; returns its name relative to the model."""
        folder = self.target.parent / f"{self.target.stem}_meshes"
        return f"{folder.name}/{self._flat_name(file, folder)}"

    def _flat_name(self, file: _File, folder: Path) -> str:
        if file.path not in self._flat:
            self._flat[file.path] = file.path.name  # ends the recursion of files that refer to themselves
            names = {name: self._flat_name(other, folder) for name, other in file.names.items()}
            data = file.renamed(file.data, names)
            number, name = 1, file.path.name
            taken = {each.lower() for path, each in self._flat.items() if path != file.path}
            while name.lower() in taken or not self._is_free(folder / name, data):
                number += 1
                name = f"{file.path.stem}_{number}{file.path.suffix}"
                if number > _MAX_FILES:
                    raise FormatError(f"folder {folder.name} cannot hold {file.path.name}", path=str(self.target))
            self._flat[file.path] = name
            self._write(folder / name, data)
        return self._flat[file.path]

    def _write(self, place: Path, data: bytes) -> None:
        if place in self._written or _holds_same_data(place, data):
            return
        make_folder(place.parent)
        write_atomically(place, data)
        self._written[place] = None

    # ------------------------------------------------------------ referenced files

    def _file(self, path: Path) -> _File:
        if path not in self._files:
            data = read_bytes(path)
            finder, renamed = _FILE_HANDLERS.get(path.suffix.lower(), (_no_references, _unchanged))
            made = self._files[path] = _File(path, data, {}, renamed)
            for name in finder(path, data):
                self._add(made, name)
        return self._files[path]

    def _add(self, file: _File, name: str) -> None:
        room = os.path.dirname(os.path.abspath(self.source))
        try:
            found = find_mesh(name, file.path, (), [room, *self.folders])
            if _is_material(found.name) or _is_image(found.name):  # a symbolic link may lead to any file
                file.names[name] = self._file(found)
        except FormatError:
            return  # a mesh is usable without its colors


def _relative_path(name: str) -> str | None:
    """Return a name as a relative path; None for an address or an absolute path."""
    path = unquote(name.strip()).replace("\\", "/")
    if not path or path.startswith("/") or _SCHEME_OR_DRIVE.match(path) or "\0" in path:
        return None
    return str(PurePosixPath(path))


def _holds_same_data(place: Path, data: bytes) -> bool:
    try:
        return place.is_file() and place.stat().st_size == len(data) and place.read_bytes() == data
    except OSError:
        return False


def _no_references(_path: Path, _data: bytes) -> list[str]:
    return []


def _unchanged(data: bytes, _names: Mapping[str, str]) -> bytes:
    return data


def _obj_references(path: Path, data: bytes) -> list[str]:
    return [name for name in material_libraries(data) if _is_material(name)] or [path.with_suffix(".mtl").name]


def _rename_in_obj(data: bytes, names: Mapping[str, str]) -> bytes:
    """Return an .obj with its materials renamed.

    One that names no .mtl (its own name is then implied) gets a ``mtllib`` statement.
    """
    if not names:
        return data

    def line(found: re.Match[bytes]) -> bytes:
        whole = found[2].decode("utf-8", "replace").strip()
        each = [names[whole]] if whole in names else [names.get(word, word) for word in whole.split()]
        return found[1] + " ".join(each).encode() + found[3]

    changed, count = re.subn(rb"^([ \t]*mtllib[ \t]+)([^\r\n]*)(\r?)$", line, data, flags=re.MULTILINE)
    return changed if count else f"mtllib {' '.join(names.values())}\n".encode() + data


def _mtl_references(_path: Path, data: bytes) -> list[str]:
    return [name for line in data.splitlines() if (name := texture_name(line)) and _is_image(name)]


def _rename_in_mtl(data: bytes, names: Mapping[str, str]) -> bytes:
    out = []
    for line in data.splitlines(keepends=True):
        name = texture_name(line)
        if name in names:
            words = line.decode("utf-8", "replace").split()
            kept = words[: len(words) - len(name.split())]
            out.append(" ".join([*kept, names[name]]).encode() + b"\n")
        else:
            out.append(line)
    return b"".join(out)


def _collada_references(_path: Path, data: bytes) -> list[str]:
    named = [found[2].decode("utf-8", "replace") for found in _COLLADA_IMAGE.finditer(data)]
    return [name for name in dict.fromkeys(named) if _is_image(name)]


def _rename_in_collada(data: bytes, names: Mapping[str, str]) -> bytes:
    def line(found: re.Match[bytes]) -> bytes:
        name = found[2].decode("utf-8", "replace")
        return found[1] + names.get(name, name).encode() + found[3]

    return _COLLADA_IMAGE.sub(line, data) if names else data


def _is_material(name: str) -> bool:
    return name.lower().endswith(".mtl")


def _is_image(name: str) -> bool:
    return PurePosixPath(name.replace("\\", "/")).suffix.lower() in _IMAGE_EXTENSIONS


_FILE_HANDLERS: dict[str, tuple[Callable[[Path, bytes], list[str]], Callable[[bytes, Mapping[str, str]], bytes]]] = {
    ".obj": (_obj_references, _rename_in_obj),
    ".mtl": (_mtl_references, _rename_in_mtl),
    ".dae": (_collada_references, _rename_in_collada),
}
