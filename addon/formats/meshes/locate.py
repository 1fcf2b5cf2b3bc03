"""Search for the mesh files of a model, with one rule for all formats, and the folders that may be read.

A model may come from a stranger. The files it names are searched for in the model's folder and below, and in the
folders that the user lists in the preferences or on the command line; no other file is accessed. ``..``, absolute
paths, include directories and symbolic links are followed where they end in one of these. Network addresses and shares
are never followed, wherever they lead.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from ...core.model import Mechanism
from ...core.report import FormatError, Report

MISSING_MESH_REMEDY = (
    "Copy the file to the model's folder, or add its folder under Edit > Preferences > Add-ons > Knuckle > Mesh "
    "Folders "
    "(on the command line: --meshes)"
)
#: Schemes whose path is relative to a collection of models unknown to us: the path behind is searched for.
_COLLECTIONS = frozenset({"dart", "package", "model"})
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")
_DRIVE = re.compile(r"[A-Za-z]:")


class MeshError(FormatError):
    """Missing, disallowed or unreadable mesh file.

    ``tried`` lists the paths that were tried; ``code`` is the kind of error: ``missing``, ``address`` or
    ``unreadable``.
    """

    def __init__(
        self, message: str, *, path: str = "", remedy: str = "", tried: Sequence[str] = (), code: str = "unreadable"
    ) -> None:
        super().__init__(message, path=path, remedy=remedy)
        self.tried, self.code = tuple(tried), code

    def __str__(self) -> str:
        if not self.tried:
            return super().__str__()
        return f"{self.message.rstrip('.')}. Looked for: {', '.join(self.tried)}. {self.remedy}".rstrip()


#: Names of bodies in one report entry.
_MAX_NAMES = 3


def mesh_error_entry(name: str, is_seen: bool, trouble: MeshError, bodies: Iterable[str]) -> tuple[str, str]:
    """Return the code and message of the report for a mesh, with the model's name for it, that is not available."""
    text = str(trouble)
    text = text if name and name in text else f"{name}: {text}"
    names = [*bodies]
    who = ", ".join(names[:_MAX_NAMES])
    who += f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    if is_seen:
        return f"mesh-{trouble.code}", f"Mesh of {who}: shown as a box; {text}"
    return f"collision-mesh-{trouble.code}", f"Collision mesh of {who}: missing, so it does not collide; {text}"


@contextmanager
def convert_to_mesh_error() -> Iterator[None]:
    """Convert errors of files to MeshErrors."""
    try:
        yield
    except MeshError:
        raise
    except FormatError as error:
        raise MeshError(error.message, path=error.path, remedy=error.remedy) from error
    except OSError as error:
        raise MeshError(f"the file cannot be read: {error.strerror or error}", path=str(error.filename)) from error


@contextmanager
def require_library(need: str, path: Path) -> Iterator[None]:
    """Convert an ImportError to a MeshError; ``need`` states what needs which library."""
    try:
        yield
    except ImportError as error:
        raise MeshError(f"{need} ({error})", path=str(path), remedy="Install Knuckle again from its zip.") from error


def is_network(name: str) -> bool:
    """Return whether a name refers to another machine: a network address or share."""
    plain = name.strip().replace("\\", "/")
    if plain.startswith("//"):
        return True
    scheme = _SCHEME.match(plain)
    if scheme is None:
        return False
    kind, rest = scheme[1].lower(), plain[scheme.end() :]
    if kind == "file":
        host = re.match(r"//([^/]*)", rest)
        path = rest[host.end() :] if host else rest
        return path.startswith("//") or bool(host and host[1].lower() not in ("", "localhost"))
    return kind not in _COLLECTIONS and rest.startswith("//")


def find_mesh(
    name: str,
    model_path: str | os.PathLike[str] = "",
    include: Sequence[str] = (),
    folders: Iterable[str | os.PathLike[str]] = (),
) -> Path:
    """Return the file that a model refers to by ``name``, with symbolic links resolved.

    Args:
        name: the name in the model.
        model_path: the model's own file; empty where it has none, then only ``folders`` count.
        include: include directories that the model names, relative to its folder or to one above.
        folders: absolute folders that the user allows.

    Raises:
        MeshError: there is no such file; lists every path tried.
    """
    if "\0" in name or not name.strip():
        raise MeshError("the mesh has no file name", code="missing")
    if any(is_network(each) for each in _name_variants(name)):
        raise MeshError(
            f"{name} is a network address; Knuckle does not download files",
            remedy="Download the mesh and enter the file's path in the model.",
            code="address",
        )
    rooms = AllowedFolders(model_path, folders)
    tried: dict[str, None] = {}
    places = []
    for place in _candidate_paths(name, rooms, include):
        if not rooms.hold(place):
            if is_named_outside(place, name, rooms):
                tried[f"{place} (outside the folders that may be read)"] = None
            continue
        tried[str(place)] = None
        places.append(place)
    for look in (_exact_file, _case_insensitive_file):
        for place in places:
            found = look(place, rooms)
            if found is not None and rooms.contains_resolved(found):
                return found.resolve()
            if found is not None:
                tried.pop(str(place), None)
                tried[f"{place} (leads outside the folders that may be read)"] = None
    raise MeshError(f"file {name} not found", remedy=f"{MISSING_MESH_REMEDY}.", tried=list(tried), code="missing")


class AllowedFolders:
    """Folders that may be read: that of the model, and those that the user allows."""

    def __init__(self, model_path: str | os.PathLike[str], folders: Iterable[str | os.PathLike[str]]) -> None:
        path = os.fspath(model_path)
        self.model = Path(os.path.abspath(path)).parent if path else None
        self.folders = [Path(os.path.normpath(folder)) for folder in folders if _is_allowed_folder(os.fspath(folder))]
        written = [*([self.model] if self.model else []), *self.folders]
        self._real = [Path(os.path.realpath(each)) for each in written]
        self.all = list(dict.fromkeys([*written, *self._real]))

    def hold(self, place: Path) -> bool:
        """Return whether a normalized path lies in one of them by its name; the disk is not accessed."""
        return any(place.is_relative_to(room) for room in self.all)

    def contains_resolved(self, place: Path) -> bool:
        """Return whether a path lies in one of them after symbolic links are resolved."""
        real = Path(os.path.realpath(place))
        return any(real.is_relative_to(room) for room in self._real)

    def of(self, place: Path) -> Path:
        """Return the folder in which a path lies by its name."""
        return next(room for room in self.all if place.is_relative_to(room))


def _is_allowed_folder(folder: str) -> bool:
    """Return whether a folder is given as an absolute path."""
    return os.path.isabs(folder) and "\0" not in folder


def is_named_outside(place: Path, name: str, rooms: AllowedFolders) -> bool:
    """Return whether a path outside the allowed folders is given by the name itself.

    Others are our own guesses and not worth reporting.
    """
    plain = _path_from_name(name)
    own = plain if _is_absolute(plain) else os.path.join(rooms.model, plain) if rooms.model else ""
    return bool(own) and place == Path(os.path.normpath(own))


def _name_variants(name: str) -> list[str]:
    """Return a name as written and, if that differs, percent-decoded."""
    return list(dict.fromkeys([name, unquote(name)]))


def _path_from_name(name: str) -> str:
    """Return a name as a path with forward slashes; a ``file:`` URL without scheme and host."""
    plain = name.strip().replace("\\", "/")
    scheme = _SCHEME.match(plain)
    if scheme is None or scheme[1].lower() != "file":
        return plain
    path = re.sub(r"^//[^/]*", "", plain[scheme.end() :])
    return path[1:] if re.match(r"/[A-Za-z]:/", path) else path


def _is_absolute(path: str) -> bool:
    return os.path.isabs(path) or path.startswith("/") or _DRIVE.match(path) is not None


def _candidate_paths(name: str, rooms: AllowedFolders, include: Sequence[str]) -> Iterator[Path]:
    """Yield every path to try, likely ones first, normalized; they need not be allowed."""
    for path in map(_path_from_name, _name_variants(name)):
        collection = _SCHEME.match(path)
        if collection is not None and collection[1].lower() in _COLLECTIONS:
            inner = path[collection.end() :].strip("/")  # with or without the name of the collection
            for each in dict.fromkeys((inner.partition("/")[2], inner)):
                yield from _relative_candidates(each, rooms, include, above=True)
        elif _is_absolute(path):
            yield Path(os.path.normpath(path))
        else:
            yield from _relative_candidates(path, rooms, include, above=False)
        yield from _relative_candidates(PurePosixPath(path).name, rooms, include, above=False)


def _relative_candidates(path: str, rooms: AllowedFolders, include: Sequence[str], above: bool) -> Iterator[Path]:
    if not path:
        return
    model = [rooms.model] if rooms.model is not None else []
    parents = [*rooms.model.parents] if rooms.model is not None else []
    for directory in include:
        plain = _path_from_name(directory)
        if is_network(directory) or is_network(unquote(directory)):
            continue
        bases = [Path(plain)] if _is_absolute(plain) else [base / plain for base in (*model, *parents)]
        yield from (_join_paths(base, path) for base in bases)
    yield from (_join_paths(base, path) for base in (*model, *rooms.folders))
    inner = re.sub(r"^(\.\.?/)+", "", path)
    if inner != path:
        yield from (_join_paths(base, inner) for base in rooms.folders)
    if above:
        yield from (_join_paths(base, path) for base in parents)


def _join_paths(base: Path, path: str) -> Path:
    return Path(os.path.normpath(base / path))


def _exact_file(place: Path, _rooms: AllowedFolders) -> Path | None:
    try:
        return place if place.is_file() else None
    except (OSError, ValueError):
        return None


def _case_insensitive_file(place: Path, rooms: AllowedFolders) -> Path | None:
    """Return the file of a path whose case differs, as in models from case-insensitive file systems; None if none."""
    room = rooms.of(place)
    here = room
    for part in place.relative_to(room).parts:
        step = here / part
        if not os.path.lexists(step):
            try:
                names = sorted(name for name in os.listdir(here) if name.casefold() == part.casefold())
            except OSError:
                return None
            if not names:
                return None
            step = here / names[0]
        if not rooms.contains_resolved(step):
            return step if step == place else None
        here = step
    return _exact_file(here, rooms)


def report_missing_meshes(mechanism: Mechanism, report: Report, folders: Iterable[str | os.PathLike[str]] = ()) -> None:
    """Warn of the mesh files of a model that are missing or may not be read, in the words of an import.

    ``folders`` as in ``find_mesh``.
    """
    folders = tuple(folders)
    bodies: dict[tuple[str, bool, tuple[str, ...]], dict[str, None]] = {}
    for body in mechanism.bodies:
        for shape in body.shapes:
            if shape.mesh:
                key = shape.mesh, shape.visual, tuple(shape.extra.get("include") or ())
                bodies.setdefault(key, {})[body.name] = None
    for (name, is_seen, include), names in bodies.items():
        try:
            find_mesh(name, mechanism.source.path, include, folders)
        except MeshError as trouble:
            report.warn(*mesh_error_entry(name, is_seen, trouble, names))
