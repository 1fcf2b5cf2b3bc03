"""Bounding boxes of mesh files, read without Blender; moments of inertia are computed from them."""

from __future__ import annotations

import io
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path

import numpy as np

from ...core.model import Array, Body, Mechanism, Shape
from ...core.report import Message, Report
from ...core.transforms import make_pose
from ..document.conversion_losses import ConversionLosses
from ..skel.to_model_shapes import DERIVED_MOMENT, complete_moments
from ..text.file_io import check_size, read_bytes
from ..text.numbers import parse_numbers
from .collada import read_collada
from .locate import MeshError, convert_to_mesh_error, find_mesh, require_library
from .ply import ListProperty, PlyHeader, read_ply_header

#: Extensions of the mesh files that are supported.
MESH_EXTENSIONS = (".obj", ".stl", ".ply", ".dae")
#: Minimum edge of a box in place of a mesh, relative to its longest edge.
_MIN_EDGE = 1e-3


def mesh_kind(path: Path) -> str:
    """Return the kind of a mesh file, one of ``MESH_EXTENSIONS``.

    Raises:
        MeshError: the kind is not supported, or the file is missing or too large.
    """
    kind = path.suffix.lower()
    with convert_to_mesh_error():
        check_size(path)
    if kind not in MESH_EXTENSIONS:
        raise MeshError(
            f"mesh format {kind or 'without an extension'} is not supported",
            path=str(path),
            remedy=f"Convert it to one of {', '.join(MESH_EXTENSIONS)}.",
        )
    return kind


def mesh_box(path: Path, ignore_unit: bool = True) -> Array:
    """Return the edges (3,) of a mesh file's axis-aligned bounding box, in the file's own numbers.

    Collada with ``ignore_unit`` False: in meters. Rounded to single precision, as DART and Blender keep them.

    Raises:
        MeshError: the file cannot be read.
    """
    low, high = mesh_bounds(path, ignore_unit)
    return np.asarray(high - low)


def mesh_bounds(path: Path, ignore_unit: bool = True, report: Report | None = None) -> Array:
    """Return the least and greatest coordinates (2, 3) of a mesh file's polygons, in the file's own numbers.

    Args:
        path: the mesh file.
        ignore_unit: False: Collada in meters, by the file's unit.
        report: receives what is left out.

    Raises:
        MeshError: the file cannot be read, or a coordinate overflows single precision.
    """
    kind = mesh_kind(path)
    if kind == ".dae":
        surfaces = read_collada(path, ignore_unit, report)
        low = np.min([surface.points.min(axis=0) for surface in surfaces], axis=0)
        high = np.max([surface.points.max(axis=0) for surface in surfaces], axis=0)
    else:
        low, high = _bounds(path, kind, report)
    with np.errstate(over="ignore"):
        low, high = (np.asarray(end, dtype=np.float32).astype(np.float64) for end in (low, high))
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise MeshError("the mesh has coordinates too large for single precision", path=str(path))
    return np.stack([low, high])


def _bounds(path: Path, kind: str, report: Report | None) -> Array:
    """Return the least and greatest coordinates (2, 3) of the polygons of a file other than Collada."""
    with convert_to_mesh_error():
        data = read_bytes(path)
    if kind in (".obj", ".ply"):
        try:
            faults = PolygonFaults()
            points = obj_points(data, faults) if kind == ".obj" else ply_points(data, read_ply_header(data, path))
            if report is not None and faults.message:
                report.warn("repaired-mesh", Message("{}: {}", path.name, faults.message))
        except MeshError as trouble:
            raise MeshError(trouble.message, path=str(path), remedy=trouble.remedy) from None
        if not np.isfinite(points).all():
            raise MeshError("the mesh has coordinates that are not finite", path=str(path))
        return np.stack([points.min(axis=0), points.max(axis=0)])
    with require_library("the size of a mesh needs trimesh", path):
        import trimesh
    try:
        # from memory, so that nothing the file names can be opened; as it is, no vertex merged or moved
        scene = trimesh.load_scene(io.BytesIO(data), file_type=kind[1:], process=False, skip_materials=True)
        bounds = scene.bounds
    except Exception as error:  # any exception that the library raises for a bad file
        raise MeshError(f"the mesh cannot be read: {error or type(error).__name__}", path=str(path)) from error
    if bounds is None or not np.isfinite(bounds).all():
        raise MeshError("the file contains no mesh", path=str(path))
    return np.asarray(bounds, dtype=np.float64)


def needs_mesh_inertia(mechanism: Mechanism) -> bool:
    """Return whether a moment of inertia depends on the size of a mesh and is not known yet."""
    return any(_needs_inertia(body) for body in mechanism.bodies)


def complete_masses(
    mechanism: Mechanism,
    report: Report,
    folders: Iterable[str] = (),
    ignore_unit: bool = True,
    tell_missing: bool = True,
) -> list[Body]:
    """Compute missing moments of inertia that depend on the size of a mesh, where the mesh is found and as it is drawn.

    The rule is that of DART 6.20, except for Collada files in a unit other than meters: DART 6.20 applies their unit;
    6.13 and older, for which SKEL models were made, do not. With ``ignore_unit`` it is ignored here as well as where
    the mesh is drawn.

    Args:
        mechanism: the mechanism, whose bodies are changed.
        report: receives the entries.
        folders: absolute folders, beside the model's, in which meshes may lie.
        ignore_unit: ignore the unit of Collada files.
        tell_missing: warn of meshes that cannot be read.

    Returns:
        The bodies that were completed; no file is read if there are none to complete.
    """
    lacking = [body for body in mechanism.bodies if _needs_inertia(body)]
    if not lacking:
        return []
    boxes = _MeshBoxes(mechanism.source.path, tuple(folders), ignore_unit, report if tell_missing else None)
    done = complete_moments(lacking, boxes.box)
    for body in done:
        unit = "; the unit of its Collada file is not applied" if ignore_unit and _is_collada(body) else ""
        message = Message(
            "moments of inertia of {}: computed from the bounding box of its mesh, as in DART 6.20{}", body.name, unit
        )
        report.info("moment-from-mesh", message, body.line)
    messages = [entry.message for entry in report.entries] if boxes.troubles else []
    for trouble in boxes.troubles if tell_missing else ():
        if not any(str(trouble) in message for message in messages):
            report.warn("moment-without-mesh", Message("moments of inertia: computed without a mesh; {}", trouble))
    return done


def _needs_inertia(body: Body) -> bool:
    return body.inertia is None and bool(body.extra.get(DERIVED_MOMENT)) and any(shape.mesh for shape in body.shapes)


def _is_collada(body: Body) -> bool:
    return any((shape.mesh or "").lower().endswith(".dae") for shape in body.shapes)


def replace_meshes_with_boxes(
    mechanism: Mechanism, report: Report, folders: Iterable[str] = (), ignore_unit: bool = True
) -> Mechanism:
    """Return a mechanism for a format that names no mesh files: each mesh that is found becomes its bounding box.

    The mechanism itself where it names none.
    """
    if not any(_names_mesh(shape) for body in mechanism.bodies for shape in body.shapes):
        return mechanism
    boxes, losses = _MeshBoxes(mechanism.source.path, tuple(folders), ignore_unit, report), ConversionLosses()
    bodies = []
    for body in mechanism.bodies:
        shapes = [boxes.boxed(shape) if _names_mesh(shape) else shape for shape in body.shapes]
        if any(now is not before for now, before in zip(shapes, body.shapes, strict=True)):
            losses.add("approximated-shape", "Mesh: written as its bounding box", body)
        bodies.append(replace(body, shapes=shapes))
    losses.report_all(report)
    for trouble in boxes.troubles:
        report.warn("box-without-mesh", Message("size of a mesh is unknown: {}", trouble))
    return replace(mechanism, bodies=bodies)


def _names_mesh(shape: Shape) -> bool:
    return shape.type == "mesh" and bool(shape.mesh)


class _MeshBoxes:
    """Bounding boxes of a model's meshes; each file is read once."""

    def __init__(self, model: str, folders: Sequence[str], ignore_unit: bool, report: Report | None) -> None:
        self._model, self._folders, self._ignore_unit, self._report = model, folders, ignore_unit, report
        self._bounds: dict[tuple[str, ...], Array | None] = {}
        self.troubles: list[MeshError] = []

    def box(self, name: str) -> Array | None:
        """Return the edges (3,) of a mesh's box; None where the mesh is missing or unreadable."""
        found = self._of(name)
        return None if found is None else np.asarray(found[1] - found[0])

    def boxed(self, shape: Shape) -> Shape:
        """Return the box of a mesh as it is drawn, in its color; the shape itself where the mesh is missing.

        A flat mesh gets some thickness, so that the box has moments of inertia.
        """
        found = self._of(str(shape.mesh), _include_folders(shape))
        if found is None:
            return shape
        scale = np.array([shape.size.get(axis, 1.0) for axis in "xyz"])
        edges = np.abs(scale) * (found[1] - found[0])
        edges = np.maximum(edges, _MIN_EDGE * edges.max())
        middle = make_pose(position=_round_to_single(scale * found.mean(axis=0)))
        size = dict(zip("xyz", _round_to_single(edges), strict=True))
        return Shape("box", size, shape.pose @ middle, shape.visual, shape.collision, shape.color)

    def _of(self, name: str, include: tuple[str, ...] = ()) -> Array | None:
        """Return the least and greatest coordinates (2, 3) of a mesh; None where it is missing or unreadable."""
        if (name, *include) not in self._bounds:
            try:
                path = find_mesh(name, self._model, include, self._folders)
                self._bounds[name, *include] = mesh_bounds(path, self._ignore_unit, self._report)
            except MeshError as trouble:
                self._bounds[name, *include] = None
                self.troubles.append(trouble)
        return self._bounds[name, *include]


def _round_to_single(numbers: Array) -> list[float]:
    """Round numbers to the digits of single precision."""
    return [float(f"{number:.7g}") for number in numbers.tolist()]


def _include_folders(shape: Shape) -> tuple[str, ...]:
    """Return the include folders that a model names for its meshes."""
    named = shape.extra.get("include")
    return tuple(str(each) for each in named) if isinstance(named, (list, tuple)) else ()


_STATEMENT = rb"^[ \t]*%s[ \t]+([^\n]*)"
_POINT, _FACE = (re.compile(_STATEMENT % letter, re.MULTILINE) for letter in (b"v", b"f"))
#: Indices of texture coordinates and normals behind that of a corner's point.
_INDEX_SUFFIX = re.compile(rb"/\S*")
#: Lines per batch of the parsing.
_BATCH_SIZE = 5000


#: Decimal comma in a coordinate of a point.
_DECIMAL_COMMA = re.compile(rb"^[ \t]*v[ \t](?:[^\n#]*[ \t])?[+-]?[0-9]*,[0-9]", re.MULTILINE)


def describe_obj_faults(data: bytes, polygons: int) -> str:
    """Describe invalid polygons of an .obj, which other programs skip silently; empty if there are none.

    Args:
        data: bytes of the file.
        polygons: number of polygons that the other program found.

    Raises:
        MeshError: points have decimal commas, which other programs read as other points.
    """
    if b"," in data and (comma := _DECIMAL_COMMA.search(data)):
        line = data.count(b"\n", 0, comma.end()) + 1
        raise MeshError(f"line {line} of the mesh has a decimal comma", remedy="Write coordinates with decimal points.")
    if polygons == data.count(b"\nf ") + data.startswith(b"f "):
        return ""
    faults = PolygonFaults()
    with suppress(MeshError):
        obj_points(data, faults)
    return faults.message


@dataclass
class PolygonFaults:
    """Invalid polygons of an .obj: their count, and the line of the first, 0 if unknown."""

    count: int = 0
    line: int = 0

    @property
    def message(self) -> str:
        """Message with the number of invalid polygons and the first line; empty if there are none."""
        if not self.count:
            return ""
        those = "polygon is" if self.count == 1 else "polygons are"
        what = "too few or missing vertices"
        where = f" (first on line {self.line})" if self.line else ""
        return f"{self.count} {those} skipped: {what}{where}"


def obj_points(data: bytes, faults: PolygonFaults | None = None) -> Array:
    """Return the points (n, 3) that valid polygons of an .obj refer to; ``faults`` counts the invalid ones.

    Raises:
        MeshError: there are no valid polygons.
    """
    faults = PolygonFaults() if faults is None else faults
    whole = data
    if b"\\" in data:  # line continuation
        data = data.replace(b"\\\r\n", b" ").replace(b"\\\n", b" ")
    starts, parts = array("q"), []
    for lines in _statements(_POINT, data):
        starts.extend(start for start, _ in lines)
        parts.append(_coordinates([line for _, line in lines]))
    points = np.concatenate(parts) if parts else np.empty((0, 3))
    used, before = np.zeros(len(points), bool), np.array(starts, np.int64)
    for lines in _statements(_FACE, data):
        try:
            if any(len(line.split(None, 2)) != 3 for _, line in lines):
                raise MeshError("a polygon has fewer than three vertices")
            _mark_used_faces(used, before, lines)
        except MeshError:
            for start, line in lines:
                try:
                    if len(line.split(None, 2)) != 3:
                        raise MeshError("a polygon has fewer than three vertices")
                    _mark_used_faces(used, before, [(start, line)])
                except MeshError:
                    if not faults.count and whole is data:
                        faults.line = data.count(b"\n", 0, start) + 1
                    faults.count += 1
    return _select_used(points, used)


def _mark_used_faces(used: np.ndarray, before: np.ndarray, faces: Sequence[tuple[int, bytes]]) -> None:
    """Mark the points of polygons, each given by the start and the text of its line."""
    text = b" ".join(line for _, line in faces)
    numbers = _numbers(_INDEX_SUFFIX.sub(b"", text) if b"/" in text else text)
    if (numbers < 0).any():  # relative to the points before this line
        there = np.searchsorted(before, [start for start, _ in faces])
        counts = [len(line.split()) for _, line in faces]
        if sum(counts) != len(numbers):
            raise MeshError("a polygon refers to a missing vertex")
        numbers += (numbers < 0) * (1.0 + np.repeat(there, counts))
    _mark_used(used, numbers - 1.0)


def _statements(kind: re.Pattern[bytes], data: bytes) -> Iterator[list[tuple[int, bytes]]]:
    """Yield batches of statements of a kind: start of the line and text without comments."""
    found = ((match.start(), match[1].partition(b"#")[0]) for match in kind.finditer(data))
    while some := list(islice(found, _BATCH_SIZE)):
        yield some


def _coordinates(lines: Sequence[bytes]) -> Array:
    """Return the first three numbers (n, 3) of each line; some have a weight or a color behind them."""
    numbers = _numbers(b" ".join(lines))
    if len(numbers) != 3 * len(lines) or any(len(line.split(None, 3)) != 3 for line in lines):
        numbers = _numbers(b" ".join(chain.from_iterable(line.split(None, 3)[:3] for line in lines)))
        if len(numbers) != 3 * len(lines):
            raise MeshError("a vertex has fewer than three coordinates")
    return numbers.reshape(-1, 3)


def _numbers(text: bytes) -> Array:
    found = parse_numbers(text.decode("latin-1"))
    if found is None:
        raise MeshError("the mesh has coordinates that are not numbers")
    return found


def _mark_used(used: np.ndarray, places: Array) -> None:
    """Mark points by their indices from 0."""
    if len(places) and (places.min() < 0 or places.max() >= len(used) or (places % 1.0).any()):
        raise MeshError("polygons refer to missing vertices")
    used[places.astype(np.int64)] = True


def _select_used(points: Array, used: np.ndarray) -> Array:
    if not used.any():
        raise MeshError("the file contains no mesh")
    return points[used]


def ply_points(data: bytes, head: PlyHeader) -> Array:
    """Return the points (n, 3) that polygons of a .ply refer to.

    Raises:
        MeshError: there are none, or the data do not match the header.
    """
    body = _TextValues(data[head.end :]) if head.order is None else _BinaryValues(data, head.end, head.order)
    points, faces = np.empty((0, 3)), list[Array]()
    for name, count, properties in head.elements:
        rows = body.rows(count, properties)
        if name == b"vertex":
            points = np.stack([np.asarray(rows[axis], np.float64) for axis in (b"x", b"y", b"z")], axis=1)
        elif name == b"face":
            named = (each for each in (b"vertex_indices", b"vertex_index") if each in rows)
            faces = [np.asarray(rows[each], np.float64) for each in named]
    used = np.zeros(len(points), bool)
    for corners in faces:
        _mark_used(used, corners)
    return _select_used(points, used)


Properties = Sequence[tuple[bytes, str | ListProperty]]


class _TextValues:
    """Sequential reader of the values of a .ply in plain text."""

    def __init__(self, body: bytes) -> None:
        self.left = _numbers(body)

    def rows(self, count: int, properties: Properties) -> dict[bytes, Array]:
        """Read the rows of an element; returns the values of each property.

        Of a list property, the items of all rows that have three or more.
        """
        lists = [place for place, (_, kind) in enumerate(properties) if isinstance(kind, ListProperty)]
        if not lists:
            return self._table(count, [name for name, _ in properties])
        if len(lists) == 1 and (found := self._alike(count, properties, lists[0])) is not None:
            return found
        out: dict[bytes, list[Array]] = {name: [] for name, _ in properties}
        at, left = 0, self.left
        for _ in range(count):
            for name, kind in properties:
                length = 1
                if isinstance(kind, ListProperty):
                    _require_length(left, at + 1)
                    length, at = int(left[at]), at + 1
                _require_length(left, at + length if length >= 0 else -1)
                if not isinstance(kind, ListProperty) or length >= 3:
                    out[name].append(left[at : at + length])
                at += length
        self.left = left[at:]
        return {name: np.concatenate(each) if each else np.empty(0) for name, each in out.items()}

    def _table(self, count: int, names: Sequence[bytes]) -> dict[bytes, Array]:
        size = count * len(names)
        _require_length(self.left, size)
        table, self.left = self.left[:size].reshape(count, len(names)), self.left[size:]
        return {name: table[:, place] for place, name in enumerate(names)}

    def _alike(self, count: int, properties: Properties, place: int) -> dict[bytes, Array] | None:
        """Read rows whose lists all have the length of the first as a table; None if they have not."""
        if not count or place >= len(self.left) or not 0 <= self.left[place] < len(self.left):
            return None
        length = int(self.left[place])
        width = len(properties) + length
        if count * width > len(self.left) or (self.left[place : count * width : width] != length).any():
            return None
        table, self.left = self.left[: count * width].reshape(count, width), self.left[count * width :]
        names = [name for name, _ in properties]
        out = {name: table[:, at if at < place else at + length] for at, name in enumerate(names) if at != place}
        return out | {names[place]: table[:, place + 1 : place + 1 + length].ravel() if length >= 3 else np.empty(0)}


class _BinaryValues:
    """Sequential reader of the values of a binary .ply."""

    def __init__(self, data: bytes, start: int, order: str) -> None:
        self.data, self.at, self.order = data, start, order

    def rows(self, count: int, properties: Properties) -> dict[bytes, Array]:
        """Read the rows of an element, as ``_TextValues.rows`` does."""
        lists = [place for place, (_, kind) in enumerate(properties) if isinstance(kind, ListProperty)]
        if not lists:
            return self._table(count, [(name, np.dtype(self.order + str(kind))) for name, kind in properties])
        if len(lists) == 1 and (found := self._alike(count, properties, lists[0])) is not None:
            return found
        steps: list[tuple[bytes, np.dtype | None, np.dtype]] = []
        for name, kind in properties:
            if isinstance(kind, ListProperty):
                steps.append((name, np.dtype(self.order + kind.count), np.dtype(self.order + kind.item)))
            else:
                steps.append((name, None, np.dtype(self.order + kind)))
        out: dict[bytes, list[Array]] = {name: [] for name, _ in properties}
        data, at = self.data, self.at
        take: Callable[..., Array] = np.frombuffer
        for _ in range(count):
            for name, before, item in steps:
                length = 1
                if before is not None:
                    _require_length(data, at + before.itemsize)
                    length, at = int(take(data, before, 1, at)[0]), at + before.itemsize
                _require_length(data, at + length * item.itemsize if length >= 0 else -1)
                if before is None or length >= 3:
                    out[name].append(take(data, item, length, at))
                at += length * item.itemsize
        self.at = at
        return {name: np.concatenate(each) if each else np.empty(0) for name, each in out.items()}

    def _table(self, count: int, fields: list[tuple[bytes, np.dtype]]) -> dict[bytes, Array]:
        kind = np.dtype([(str(place), each) for place, (_, each) in enumerate(fields)])
        _require_length(self.data, self.at + count * kind.itemsize)
        table = np.frombuffer(self.data, kind, count, self.at) if count else np.empty(0, kind)
        self.at += count * kind.itemsize
        return {name: table[str(place)] for place, (name, _) in enumerate(fields)}

    def _alike(self, count: int, properties: Properties, place: int) -> dict[bytes, Array] | None:
        listed = properties[place][1]
        assert isinstance(listed, ListProperty)
        before = [np.dtype(self.order + str(kind)) for _, kind in properties[:place]]
        length_at, length_kind = self.at + sum(each.itemsize for each in before), np.dtype(self.order + listed.count)
        if not count or length_at + length_kind.itemsize > len(self.data):
            return None
        length = int(np.frombuffer(self.data, length_kind, 1, length_at)[0])
        if not 0 <= length < len(self.data):
            return None
        fields: list[tuple] = [(str(at), each) for at, each in enumerate(before)]
        fields += [("length", length_kind), ("items", np.dtype(self.order + listed.item), (length,))]
        fields += [
            (str(at), np.dtype(self.order + str(kind)))
            for at, (_, kind) in enumerate(properties[place + 1 :], place + 1)
        ]
        row = np.dtype(fields)
        if self.at + count * row.itemsize > len(self.data):
            return None
        table = np.frombuffer(self.data, row, count, self.at)
        if (table["length"] != length).any():
            return None
        self.at += count * row.itemsize
        out = {name: table[str(at)] for at, (name, _) in enumerate(properties) if at != place}
        return out | {properties[place][0]: table["items"].ravel() if length >= 3 else np.empty(0)}


def _require_length(data: Sequence | Array | bytes, wanted: int) -> None:
    if wanted < 0 or wanted > len(data):
        raise MeshError("the mesh file is truncated")
