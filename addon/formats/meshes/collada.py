"""Collada files (.dae) to surfaces through pycollada; Blender has no importer since 5.0.

Reads the scene's geometry with node transforms, normals and plain colors. The up axis is never applied, as in the
formats that name meshes; the unit only on request. Before that, documents are repaired where pycollada would drop
geometry: dangling references, ``<skew>``, polygons with holes, invalid numbers (it reads them as 0). Repairs are
reported.
"""

from __future__ import annotations

import functools
import io
import math
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from ...core.model import Array
from ...core.report import Message, Report
from ..text.file_io import decode, read_bytes
from .locate import MeshError, convert_to_mesh_error, require_library

#: Limits of holes and corners of one polygon for joining: each hole is searched for among all corners.
_MAX_HOLES, _MAX_HOLE_CORNERS = 100, 10_000
#: Area that counts as zero, relative to the square of a polygon's extent.
_ZERO_AREA = 1e-12


def is_flat(outline: Array) -> bool:
    """Return whether a polygon (n, 3) has no area: fewer than three corners, or all of them on a line."""
    extent = float(np.ptp(outline, axis=0).max()) if len(outline) >= 3 else 0.0
    return extent == 0.0 or float(np.linalg.norm(_normal((outline - outline[0]) / extent))) <= _ZERO_AREA


def bridge_holes(loops: Sequence[tuple[np.ndarray, Array]]) -> np.ndarray:
    """Join the holes of a polygon to its outline by cuts, so that one loop without holes remains.

    Each cut runs from the hole's point farthest along one axis to a visible point of the outline (D. Eberly,
    Triangulation by Ear Clipping, section 5). Polygons with too many holes or corners lose their holes.

    Args:
        loops: outline and holes, each as its corners (n, k), rows of one or more indices, and their positions (n, 3).

    Returns:
        The corners (m, k) of the joined loop.
    """
    (corners, outline), *holes = loops
    if len(holes) > _MAX_HOLES or sum(len(rows) for rows, _ in loops) > _MAX_HOLE_CORNERS:
        return corners
    normal = _normal(outline)
    flat = np.delete(np.arange(3), int(np.argmax(np.abs(normal))))
    outside = outline[:, flat]
    clockwise = _area(outside) < 0.0
    inner = []
    for rows, points in holes:
        place = points[:, flat]
        same_way = (_area(place) < 0.0) == clockwise  # a hole has the opposite orientation of its outline
        inner.append((rows[::-1], place[::-1]) if same_way else (rows, place))
    for rows, place in sorted(inner, key=lambda hole: -float(hole[1][:, 0].max())):
        first = int(np.argmax(place[:, 0]))
        seen = _visible_corner(place[first], outside)
        order = [*range(first, len(rows)), *range(first + 1)]
        corners = np.concatenate([corners[: seen + 1], rows[order], corners[seen:]])
        outside = np.concatenate([outside[: seen + 1], place[order], outside[seen:]])
    return corners


def _normal(points: Array) -> Array:
    """Return the normal of a polygon, as long as twice its area (Newell)."""
    return np.asarray(np.cross(points, np.roll(points, -1, axis=0)).sum(axis=0))


def _area(points: Array) -> float:
    (x, y), (u, v) = points.T, np.roll(points, -1, axis=0).T
    return float((x * v - u * y).sum())


def _visible_corner(point: Array, outline: Array) -> int:
    """Return the index of a corner of an outline that is visible from a point inside, to the right of it."""
    start, end = outline, np.roll(outline, -1, axis=0)
    below, above = np.minimum(start[:, 1], end[:, 1]), np.maximum(start[:, 1], end[:, 1])
    crosses = np.flatnonzero((below <= point[1]) & (above >= point[1]) & (above > below))
    share = (point[1] - start[crosses, 1]) / (end[crosses, 1] - start[crosses, 1])
    at = start[crosses, 0] + share * (end[crosses, 0] - start[crosses, 0])
    right = np.flatnonzero(at >= point[0])
    if not len(right):  # the hole is not inside the outline
        return int(np.argmin(((outline - point) ** 2).sum(axis=1)))
    nearest = right[int(np.argmin(at[right]))]
    edge, hit = int(crosses[nearest]), np.array([at[nearest], point[1]])
    ends = edge, (edge + 1) % len(outline)
    chosen = max(ends, key=lambda each: float(outline[each, 0]))
    # of the corners in between, the one at the smallest angle hides the others
    sides = [_side(a, b, outline) for a, b in ((point, hit), (hit, outline[chosen]), (outline[chosen], point))]
    inside = np.flatnonzero(np.all([side > 0 for side in sides], axis=0) | np.all([side < 0 for side in sides], axis=0))
    if not len(inside):
        return chosen
    away = outline[inside] - point
    return int(inside[np.lexsort(((away**2).sum(axis=1), np.abs(away[:, 1]) / np.maximum(away[:, 0], 1e-300)))[0]])


def _side(start: Array, end: Array, points: Array) -> Array:
    """Return on which side of a line points are: the sign of the cross product."""
    along, away = end - start, points - start
    return np.asarray(along[0] * away[:, 1] - along[1] * away[:, 0])


#: Primitives of a mesh that have no surface.
_LINES = {"lines", "linestrips", "points"}
_SURFACES = {"triangles", "tristrips", "trifans", "polylist", "polygons"}
_NON_PRIMITIVES = {"source", "vertices", "extra"}
_NO_NUMBER = re.compile(r"\b(?:nan|inf)", re.IGNORECASE)
#: Semantic given to inputs that are to be ignored: their indices remain between those of others.
_IGNORED_SEMANTIC = "COLOR"

#: Upper bounds of an input's offset, of an index and of a coordinate (single precision).
_MAX_OFFSET, _MAX_INDEX, _MAX_COORDINATE = 1000, 2**31, float(np.finfo(np.float32).max)

#: Remarks for the report and how often each applies.
WarningCounts = Counter[str]


def local_name(element: etree._Element) -> str:
    """Return an element's name without its namespace; lxml's ``QName`` rejects names that its parser accepts."""
    return str(element.tag).rpartition("}")[2]


def children(element: etree._Element, *names: str) -> Iterator[etree._Element]:
    """Yield the children of the given names."""
    return (child for child in element.iterchildren(etree.Element) if local_name(child) in names)


def repair_collada(root: etree._Element, path: str) -> WarningCounts:
    """Repair in place what pycollada cannot read; raises a MeshError for points that are no numbers."""
    remarks = WarningCounts()
    for element in [each for each in root.iter(etree.Element) if local_name(each) in {"mesh", "skew"}]:
        if local_name(element) == "skew":
            _write_matrix(element, remarks)
        else:
            _repair_mesh(element, path, remarks)
    return remarks


def remove_unknown_materials(root: etree._Element, materials: Iterable[str]) -> None:
    """Remove the instances of materials whose ids are not among ``materials``."""
    there = {f"#{each}" for each in materials}
    for element in [each for each in root.iter(etree.Element) if local_name(each) == "instance_material"]:
        if element.get("target") not in there:
            _remove(element)


def disable_normals(root: etree._Element) -> None:
    """Exclude the normals of all meshes from reading."""
    for mesh in [each for each in root.iter(etree.Element) if local_name(each) == "mesh"]:
        for piece in children(mesh, "vertices", *_SURFACES):
            for each in [each for each in children(piece, "input") if each.get("semantic") == "NORMAL"]:
                _remove(each) if local_name(piece) == "vertices" else each.set("semantic", _IGNORED_SEMANTIC)


def _repair_mesh(mesh: etree._Element, path: str, remarks: WarningCounts) -> None:
    for piece in [each for each in mesh.iterchildren(etree.Element) if local_name(each) not in _SURFACES]:
        if local_name(piece) not in _NON_PRIMITIVES:
            is_line = local_name(piece) in _LINES
            remarks["lines and points are left out" if is_line else f"<{local_name(piece)}> is left out"] += 1
            mesh.remove(piece)
    sources = {f"#{each.get('id')}": each for each in children(mesh, "source")}
    bad = {name for name, each in sources.items() if _has_invalid_numbers(each)}
    vertices = next(children(mesh, "vertices"), None)
    points = ""
    if vertices is not None:
        for each in list(children(vertices, "input")):
            source, semantic = each.get("source") or "", each.get("semantic")
            if semantic == "POSITION":
                points = source
            if semantic == "NORMAL" and (source not in sources or source in bad):
                remarks["normals are missing or no numbers; they are left out"] += 1
            if semantic != "POSITION" and (semantic != "NORMAL" or source not in sources or source in bad):
                vertices.remove(each)
    if points in bad:
        raise MeshError("the Collada file has coordinates that are not finite", path=path)
    known = {*sources, *([f"#{vertices.get('id')}"] if vertices is not None else [])}
    points_at = functools.cache(lambda: _points_of(sources.get(points)))
    for piece in list(children(mesh, *_SURFACES)):
        if not _repair_inputs(piece, points, known, bad, remarks):
            mesh.remove(piece)
        elif local_name(piece) == "polygons":
            _close_holes(piece, points_at, remarks)


def _repair_inputs(piece: etree._Element, points: str, known: set[str], bad: set[str], remarks: WarningCounts) -> bool:
    """Disable the inputs of polygons that are missing or not used here.

    Returns False where the points are missing, or where the indices cannot be assigned to the inputs.
    """
    inputs = list(children(piece, "input"))
    if not any(each.get("semantic") == "VERTEX" for each in inputs):
        remarks["polygons have no points; they are left out"] += 1
        return False
    for each in inputs:
        offset = _offset_of(each)
        if offset is None:
            remarks[f"polygons have an input with the offset {(each.get('offset') or '')[:20]}; they are left out"] += 1
            return False
        each.set("offset", str(offset))
        source, semantic = each.get("source") or "", each.get("semantic")
        is_there = source in known
        if semantic == "VERTEX":
            if not is_there or not points:
                remarks["polygons have no points; they are left out"] += 1
                return False
            continue
        if not is_there:
            remarks[f"an input {semantic} refers to {source}, which is not there; it is left out"] += 1
        elif semantic == "NORMAL" and source in bad:
            remarks["normals are missing or no numbers; they are left out"] += 1
        if semantic != "NORMAL" or not is_there or source in bad:
            each.set("semantic", _IGNORED_SEMANTIC)
            each.set("source", points)
    return True


def _has_invalid_numbers(source: etree._Element) -> bool:
    return any(_NO_NUMBER.search(each.text or "") for each in children(source, "float_array"))


def _offset_of(element: etree._Element) -> int | None:
    """Return the offset of an input among the indices of a corner (0 by default); None where it is invalid."""
    text = (element.get("offset") or "0").strip()
    offset = int(text) if re.fullmatch(r"\+?[0-9]{1,9}", text) else _MAX_OFFSET
    return offset if offset < _MAX_OFFSET else None


def _close_holes(piece: etree._Element, points_at: Callable[[], Array], remarks: WarningCounts) -> None:
    """Replace polygons with holes by polygons without, each hole joined to the outline by a cut."""
    holed = list(children(piece, "ph"))
    if not holed:
        return
    inputs = [(int(each.get("offset") or 0), each.get("semantic")) for each in children(piece, "input")]
    width = 1 + max(offset for offset, _ in inputs)
    at = next(offset for offset, semantic in inputs if semantic == "VERTEX")
    points = points_at()
    for each in holed:
        outline, *holes = [_corners_of(part, width) for part in (next(children(each, "p"), None), *children(each, "h"))]
        loops = [outline, *(hole for hole in holes if len(hole) >= 3)]
        piece.remove(each)
        if not all(_is_valid_index(loop[:, at], points) for loop in loops):
            remarks["a polygon with holes names points that are not there; it is left out"] += 1
        elif is_flat(points[outline[:, at]]):
            remarks["a polygon with holes has an outline without an area; it is left out"] += 1
        else:
            whole = bridge_holes([(loop, points[loop[:, at]]) for loop in loops])
            made = etree.SubElement(piece, each.tag[:-2] + "p")
            made.text = " ".join(map(str, whole.ravel().tolist()))
            remarks["polygons have holes; each is joined to its edge by a cut"] += 1


def _corners_of(element: etree._Element | None, width: int) -> np.ndarray:
    """Return the corners (n, ``width``) of a loop; -1 for an invalid index."""
    numbers = _numbers_of(element)
    sound = np.isfinite(numbers) & (np.abs(numbers) < _MAX_INDEX)
    whole = np.where(sound, numbers, -1.0).astype(np.int64)
    return whole[: len(whole) // width * width].reshape(-1, width)


def _is_valid_index(index: np.ndarray, points: Array) -> bool:
    if len(index) and (index.min() < 0 or index.max() >= len(points)):
        return False
    return bool((np.abs(points[index]) <= _MAX_COORDINATE).all())


def _points_of(source: etree._Element | None) -> Array:
    """Return the points (n, 3) of a source."""
    if source is None:
        return np.empty((0, 3))
    numbers = _numbers_of(next(children(source, "float_array"), None))
    accessor = next((each for each in source.iter(etree.Element) if local_name(each) == "accessor"), None)
    text = "" if accessor is None else accessor.get("stride") or ""
    stride = max(int(text) if re.fullmatch("[0-9]{1,9}", text) else 3, 3)
    return numbers[: len(numbers) // stride * stride].reshape(-1, stride)[:, :3]


def _numbers_of(element: etree._Element | None) -> Array:
    """Return the numbers of an element; all nan where one of the words is no number."""
    words = (element.text or "").split() if element is not None else []
    try:
        return np.array(words, dtype=np.float64)
    except ValueError:
        return np.full(len(words), np.nan)


def _write_matrix(skew: etree._Element, remarks: WarningCounts) -> None:
    """Replace a ``<skew>`` by a matrix.

    The first of its two axes is rotated by its angle toward the second, along which everything is displaced (Collada
    1.4.1, "skew"; RenderMan's Skew).
    """
    numbers = _numbers_of(skew)
    matrix = np.eye(4)
    if len(numbers) == 7 and np.isfinite(numbers).all():
        turned, along = (np.asarray(axis) / (np.linalg.norm(axis) or 1.0) for axis in (numbers[1:4], numbers[4:]))
        share = float(turned @ along)
        across = turned - share * along
        length = float(np.linalg.norm(across))
        angle = math.atan2(share, length)
        turned_to = angle + math.radians(numbers[0])
        if length > 1e-9 and abs(turned_to) < math.pi / 2:
            slope = math.tan(turned_to) - math.tan(angle)
            matrix[:3, :3] += slope * np.outer(along, across / length)
    if (matrix == np.eye(4)).all():
        remarks["a <skew> changes nothing or is none"] += 1
    skew.tag = skew.tag.removesuffix("skew") + "matrix"
    skew.text = " ".join(map(repr, matrix.ravel().tolist()))


def _remove(element: etree._Element) -> None:
    parent = element.getparent()
    if parent is not None:
        parent.remove(element)


Float32Array = NDArray[np.float32]

#: Limit of instances of geometry: nodes that refer to nodes can multiply without bound.
_MAX_VISITS = 100_000
_MAX_CORNERS = 20_000_000
#: Libraries with nothing to draw, removed so that errors in them do not matter.
_IGNORED_LIBRARIES = {
    "animations",
    "animation_clips",
    "cameras",
    "lights",
    "force_fields",
    "physics_materials",
    "physics_models",
}
_IGNORED_LIBRARIES |= {
    "physics_scenes",
    "articulated_systems",
    "kinematics_models",
    "kinematics_scenes",
    "joints",
    "formulas",
}
_IGNORED_ELEMENTS = {"instance_camera", "instance_light", "contributor", "created", "modified", "extra"}
_IGNORED_ELEMENTS |= {f"library_{name}" for name in _IGNORED_LIBRARIES}


@dataclass
class Surface:
    """Polygons of one material.

    ``points`` (n, 3) are only those used, ``corners`` (m,) indices of points, polygon after polygon, ``counts`` (k,)
    the number of corners of each, ``normals`` (m, 3) unit vectors per corner, or None, ``color`` RGBA as in the file,
    or None.
    """

    points: Array
    corners: NDArray[np.int64]
    counts: NDArray[np.int64]
    normals: Array | None
    material: str
    color: tuple[float, float, float, float] | None


def read_collada(path: Path, ignore_unit: bool = True, report: Report | None = None) -> list[Surface]:
    """Read the surfaces of a file in its own axes.

    Args:
        path: the file.
        ignore_unit: False: convert to meters by the file's <unit>.
        report: receives what was repaired or left out.

    Raises:
        MeshError: the file has no polygons or cannot be read.
    """
    root = _parse(path)
    try:
        remarks = repair_collada(root, str(path))
        sound = etree.tostring(root)
        del root  # frees our tree before pycollada builds its own
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy warns of pycollada's use of it
            document = _load_document(sound, path, remarks)
            unit = 1.0 if ignore_unit else float(document.assetInfo.unitmeter or 1.0)
            surfaces = list(_surfaces(document, np.diag([unit, unit, unit, 1.0]).astype(np.float32)))
    except MeshError:
        raise
    except Exception as error:  # any exception that the library raises for a bad file
        raise MeshError(f"the Collada file cannot be read: {error or type(error).__name__}", path=str(path)) from error
    if not surfaces:
        suffix = f": {next(iter(remarks))}" if remarks else ""
        raise MeshError(f"the Collada file contains no polygons{suffix}", path=str(path))
    for surface in surfaces:
        if not np.isfinite(surface.points).all():
            raise MeshError("the Collada file has coordinates that are not finite", path=str(path))
    if report is not None:
        for remark, count in remarks.items():
            times = f" ({count} times)" if count > 1 else ""
            report.warn("repaired-mesh", Message("{}: {}{}", path.name, remark, times))
    return surfaces


def _load_document(sound: bytes, path: Path, remarks: WarningCounts) -> Any:
    """Load a text with pycollada, with all geometry that it can read.

    After errors, instances of unknown materials are removed first, then all normals if that recovers geometry.
    """
    with require_library("Collada files need pycollada", path):
        from collada import Collada
        from collada.common import DaeError, DaeIncompleteError, DaeMalformedError

    def load(text: bytes) -> Any:
        return Collada(io.BytesIO(text), [DaeError], aux_file_loader=lambda _name: None)

    document = load(sound)
    if not document.errors:
        return document
    root, count = etree.fromstring(sound, _parser()), len(document.geometries)
    remove_unknown_materials(root, (each.id for each in document.materials))
    found, again = document.errors, load(etree.tostring(root))
    if any(isinstance(error, DaeMalformedError | DaeIncompleteError) for error in again.errors):
        disable_normals(root)
        third = load(etree.tostring(root))
        if len(third.geometries) > count:
            again = third
            remarks["normals of a mesh are missing or no numbers; they are left out"] += 1
    remarks.update(dict.fromkeys([*map(_error_text, found), *map(_error_text, again.errors)], 1))
    return again


def _error_text(error: Exception) -> str:
    text = " ".join(str(getattr(error, "msg", error)).split())
    return f"an element is ignored: {text[:200]}"


def _parser() -> etree.XMLParser:
    return etree.XMLParser(
        encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True,
        remove_comments=True, remove_pis=True, remove_blank_text=True,
    )  # fmt: skip


def _parse(path: Path) -> etree._Element:
    """Return the document's root without the elements that are not drawn; any document type is rejected."""
    with convert_to_mesh_error():
        text, _ = decode(read_bytes(path), Report())
    if "<!DOCTYPE" in text:
        raise MeshError("the document type may define entities, which are not supported", path=str(path))
    text = re.sub(r"\A\s*<\?xml[^>]*\?>", "", text.lstrip("\ufeff"))
    try:
        root = etree.fromstring(text.encode("utf-8", "replace"), _parser())
    except etree.XMLSyntaxError as error:
        raise MeshError(f"invalid XML: {error}", path=str(path)) from error
    if local_name(root) != "COLLADA":
        raise MeshError(f"not a Collada file: its root element is <{local_name(root)}>", path=str(path))
    for element in [each for each in root.iter(etree.Element) if local_name(each) in _IGNORED_ELEMENTS]:
        if element.getparent() is not None:
            element.getparent().remove(element)
    return root


def _geometry_with_poses(document: Any, base: Float32Array) -> Iterator[tuple[Any, Float32Array, dict[str, Any]]]:
    """Yield every instance of geometry with its pose (4, 4) below ``base`` and its materials by symbol.

    Without a scene, all geometry of the library at ``base``.
    """
    if document.scene is None:
        by_id = {each.id: each for each in document.materials}
        for geometry in document.geometries:
            yield geometry, base, by_id
        return
    waiting = [(node, base) for node in reversed(document.scene.nodes)]
    visits = 0
    while waiting:
        visits += 1
        if visits > _MAX_VISITS:
            raise MeshError(f"the scene of the Collada file has more than {_MAX_VISITS} nodes")
        node, pose = waiting.pop()
        if hasattr(node, "node"):  # an instance of another node
            waiting.append((node.node, pose))
            continue
        materials = {each.symbol: each.target for each in getattr(node, "materials", ())}
        if hasattr(node, "geometry"):
            yield node.geometry, pose, materials
        elif hasattr(node, "controller"):  # drawn in its bind pose, undeformed
            drawn = node.controller
            turn = np.asarray(getattr(drawn, "bind_shape_matrix", np.eye(4)), dtype=np.float32)
            geometry = getattr(drawn, "geometry", None) or getattr(drawn, "source_geometry", None)
            if geometry is not None:
                yield geometry, pose @ turn.reshape(4, 4), materials
        elif hasattr(node, "children"):
            inner = pose @ np.asarray(node.matrix, dtype=np.float32)
            waiting += [(child, inner) for child in reversed(node.children)]


def _surfaces(document: Any, base: Float32Array) -> Iterator[Surface]:
    pieces: dict[int, _Piece | None] = {}
    visits = corners = 0
    for geometry, pose, materials in _geometry_with_poses(document, base):
        for primitive in geometry.primitives:
            visits += 1
            if visits > _MAX_VISITS:
                raise MeshError(f"the Collada file has more than {_MAX_VISITS} parts")
            if id(primitive) not in pieces:
                pieces[id(primitive)] = _piece(primitive)
            piece = pieces[id(primitive)]
            if piece is None:
                continue
            corners += len(piece.corners)
            if corners > _MAX_CORNERS:
                raise MeshError(f"the Collada file has more than {_MAX_CORNERS} polygon vertices")
            yield _surface(piece, pose, *_material(primitive, materials))


@dataclass
class _Piece:
    """Polygons in the file's coordinates, before their pose.

    Fields as in ``Surface``; the normals of corners are ``normals[normal_corners]``.
    """

    points: Float32Array
    corners: NDArray[np.int64]
    counts: NDArray[np.int64]
    normals: Array | None
    normal_corners: NDArray[np.int64]


def _piece(primitive: Any) -> _Piece | None:
    """Return the polygons of a primitive with only the points that they use; None where there are none."""
    if primitive.vertex_index is None or not len(primitive.vertex_index):
        return None
    corners = np.asarray(primitive.vertex_index, dtype=np.int64).ravel()
    if hasattr(primitive, "vcounts"):
        counts = np.asarray(primitive.vcounts, dtype=np.int64)
    else:
        counts = np.full(len(corners) // 3, 3)
    if counts.sum() != len(corners) or counts.min() < 0 or corners.min() < 0 or corners.max() >= len(primitive.vertex):
        raise MeshError("polygons of the Collada file refer to missing vertices")
    keep = np.repeat(counts >= 3, counts)
    used, index = np.unique(corners[keep], return_inverse=True)
    if not len(used):
        return None
    points = np.asarray(primitive.vertex, dtype=np.float32)[used]
    normals, normal_corners = None, np.empty(0, dtype=np.int64)
    if primitive.normal is not None and primitive.normal_index is not None:
        named = np.asarray(primitive.normal_index, dtype=np.int64).ravel()
        if len(named) == len(corners) and named.min() >= 0 and named.max() < len(primitive.normal):
            used, normal_corners = np.unique(named[keep], return_inverse=True)
            normals = np.asarray(primitive.normal, dtype=np.float64)[used]
    return _Piece(points, index.reshape(-1), counts[counts >= 3], normals, normal_corners.reshape(-1))


def _surface(
    piece: _Piece, pose: Float32Array, material: str, color: tuple[float, float, float, float] | None
) -> Surface:
    """Place a piece at a pose; normals are transformed by the inverse transpose."""
    # single precision, term by term, as in DART's reader: moments of inertia are then equal to the last digit
    x, y, z = piece.points.T
    points = np.stack([x * row[0] + y * row[1] + z * row[2] + row[3] for row in pose[:3]], axis=1)
    turned = None
    if piece.normals is not None:
        normals = piece.normals @ np.linalg.pinv(pose[:3, :3].astype(np.float64))
        lengths = np.linalg.norm(normals, axis=1, keepdims=True)
        turned = np.asarray((normals / np.where(lengths > 0.0, lengths, 1.0))[piece.normal_corners])
    return Surface(points.astype(np.float64), piece.corners, piece.counts, turned, material, color)


def _material(primitive: Any, materials: dict[str, Any]) -> tuple[str, tuple[float, float, float, float] | None]:
    """Return the name of a primitive's material and its diffuse color (RGBA), None where that is a texture."""
    material = materials.get(primitive.material)
    if material is None:
        return str(primitive.material or ""), None
    effect = getattr(material, "effect", None)
    diffuse = getattr(effect, "diffuse", None)
    name = str(material.name or material.id or "")
    if not isinstance(diffuse, tuple | list) or len(diffuse) not in (3, 4):
        return name, None
    red, green, blue = (min(max(float(part), 0.0), 1.0) for part in diffuse[:3])
    return name, (red, green, blue, _opacity(effect))


def _opacity(effect: Any) -> float:
    """Return the opacity of a material, 0 to 1.

    Programs disagree on the meaning of ``<transparency>``: a value that would make the material invisible counts as 1.
    """
    transparency = getattr(effect, "transparency", None)
    if not isinstance(transparency, int | float):
        return 1.0
    value = float(transparency)
    return value if 0.0 < value <= 1.0 else 1.0
