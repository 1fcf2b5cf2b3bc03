"""Collada documents made such that pycollada reads all geometry that is in them.

Pycollada gives up a geometry, or a place of one, for a reference that leads nowhere, knows no ``<skew>``, passes over
polygons with holes, and reads what is no number as 0. What is repaired or left out is told.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from lxml import etree

from ...core.model import Array
from .collada_holes import bridged, is_flat
from .locate import MeshTrouble

#: Pieces of a mesh that have no surface.
_LINES = {"lines", "linestrips", "points"}
_SURFACES = {"triangles", "tristrips", "trifans", "polylist", "polygons"}
_KEPT = {"source", "vertices", "extra"}
_NO_NUMBER = re.compile(r"\b(?:nan|inf)", re.IGNORECASE)
#: What an input is made of that nobody reads: its numbers still stand between those of others.
_UNREAD = "COLOR"

#: More numbers of one corner than any file has, and what none of them is beyond; no point is in single precision.
_MOST_OFFSET, _MOST_INDEX, _MOST_LENGTH = 1000, 2**31, float(np.finfo(np.float32).max)

#: What is worth saying, and how often it was so.
Remarks = Counter[str]


def local(element: etree._Element) -> str:
    """An element's name without its namespace. (lxml's own ``QName`` refuses names that its parser let through.)"""
    return str(element.tag).rpartition("}")[2]


def children(element: etree._Element, *names: str) -> Iterator[etree._Element]:
    """The children of these names."""
    return (child for child in element.iterchildren(etree.Element) if local(child) in names)


def repair(root: etree._Element, path: str) -> Remarks:
    """Repair what pycollada cannot read, in place. MeshTrouble for points that are no numbers."""
    remarks = Remarks()
    for element in [each for each in root.iter(etree.Element) if local(each) in {"mesh", "skew"}]:
        if local(element) == "skew":
            _write_matrix(element, remarks)
        else:
            _repair_mesh(element, path, remarks)
    return remarks


def unbind(root: etree._Element, materials: Iterable[str]) -> None:
    """Take away the uses of materials that are not among the ids of those that are there."""
    there = {f"#{each}" for each in materials}
    for element in [each for each in root.iter(etree.Element) if local(each) == "instance_material"]:
        if element.get("target") not in there:
            _remove(element)


def without_normals(root: etree._Element) -> None:
    """Have the normals of all meshes not read."""
    for mesh in [each for each in root.iter(etree.Element) if local(each) == "mesh"]:
        for piece in children(mesh, "vertices", *_SURFACES):
            for each in [each for each in children(piece, "input") if each.get("semantic") == "NORMAL"]:
                _remove(each) if local(piece) == "vertices" else each.set("semantic", _UNREAD)


def _repair_mesh(mesh: etree._Element, path: str, remarks: Remarks) -> None:
    for piece in [each for each in mesh.iterchildren(etree.Element) if local(each) not in _SURFACES]:
        if local(piece) not in _KEPT:
            is_line = local(piece) in _LINES
            remarks["lines and points are left out" if is_line else f"<{local(piece)}> is left out"] += 1
            mesh.remove(piece)
    sources = {f"#{each.get('id')}": each for each in children(mesh, "source")}
    wild = {name for name, each in sources.items() if _is_wild(each)}
    vertices = next(children(mesh, "vertices"), None)
    points = ""
    if vertices is not None:
        for each in list(children(vertices, "input")):
            source, semantic = each.get("source") or "", each.get("semantic")
            if semantic == "POSITION":
                points = source
            if semantic == "NORMAL" and (source not in sources or source in wild):
                remarks["normals are missing or no numbers; they are left out"] += 1
            if semantic != "POSITION" and (semantic != "NORMAL" or source not in sources or source in wild):
                vertices.remove(each)
    if points in wild:
        raise MeshTrouble("this Collada file has coordinates that are no numbers", path=path)
    known = {*sources, *([f"#{vertices.get('id')}"] if vertices is not None else [])}
    points_at = functools.cache(lambda: _points_of(sources.get(points)))
    for piece in list(children(mesh, *_SURFACES)):
        if not _repair_inputs(piece, points, known, wild, remarks):
            mesh.remove(piece)
        elif local(piece) == "polygons":
            _close_holes(piece, points_at, remarks)


def _repair_inputs(piece: etree._Element, points: str, known: set[str], wild: set[str], remarks: Remarks) -> bool:
    """Have only those inputs of polygons read that are there and are used here; False where the points are missing,
    or where nobody knows which numbers are whose."""
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
        elif semantic == "NORMAL" and source in wild:
            remarks["normals are missing or no numbers; they are left out"] += 1
        if semantic != "NORMAL" or not is_there or source in wild:
            each.set("semantic", _UNREAD)
            each.set("source", points)
    return True


def _is_wild(source: etree._Element) -> bool:
    return any(_NO_NUMBER.search(each.text or "") for each in children(source, "float_array"))


def _offset_of(element: etree._Element) -> int | None:
    """Return where an input's number stands among those of a corner, 0 where that is not told; None where it is no
    place."""
    told = (element.get("offset") or "0").strip()
    offset = int(told) if re.fullmatch(r"\+?[0-9]{1,9}", told) else _MOST_OFFSET
    return offset if offset < _MOST_OFFSET else None


def _close_holes(piece: etree._Element, points_at: Callable[[], Array], remarks: Remarks) -> None:
    """Write polygons with holes as such without, each hole joined to what is around it by a cut."""
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
        if not all(_is_there(loop[:, at], points) for loop in loops):
            remarks["a polygon with holes names points that are not there; it is left out"] += 1
        elif is_flat(points[outline[:, at]]):
            remarks["a polygon with holes has an outline without an area; it is left out"] += 1
        else:
            whole = bridged([(loop, points[loop[:, at]]) for loop in loops])
            made = etree.SubElement(piece, each.tag[:-2] + "p")
            made.text = " ".join(map(str, whole.ravel().tolist()))
            remarks["polygons have holes; each is joined to its edge by a cut"] += 1


def _corners_of(element: etree._Element | None, width: int) -> np.ndarray:
    """The corners (n, ``width``) of a loop; -1 for what is no index."""
    numbers = _numbers_of(element)
    sound = np.isfinite(numbers) & (np.abs(numbers) < _MOST_INDEX)
    whole = np.where(sound, numbers, -1.0).astype(np.int64)
    return whole[: len(whole) // width * width].reshape(-1, width)


def _is_there(index: np.ndarray, points: Array) -> bool:
    if len(index) and (index.min() < 0 or index.max() >= len(points)):
        return False
    return bool((np.abs(points[index]) <= _MOST_LENGTH).all())


def _points_of(source: etree._Element | None) -> Array:
    """The points (n, 3) of a source."""
    if source is None:
        return np.empty((0, 3))
    numbers = _numbers_of(next(children(source, "float_array"), None))
    accessor = next((each for each in source.iter(etree.Element) if local(each) == "accessor"), None)
    told = "" if accessor is None else accessor.get("stride") or ""
    stride = max(int(told) if re.fullmatch("[0-9]{1,9}", told) else 3, 3)
    return numbers[: len(numbers) // stride * stride].reshape(-1, stride)[:, :3]


def _numbers_of(element: etree._Element | None) -> Array:
    """The numbers of an element, none of them finite where one is a word."""
    words = (element.text or "").split() if element is not None else []
    try:
        return np.array(words, dtype=np.float64)
    except ValueError:
        return np.full(len(words), np.nan)


def _write_matrix(skew: etree._Element, remarks: Remarks) -> None:
    """Write a ``<skew>`` as a matrix: the first of its two axes turns by its angle towards the second, along which all
    is moved (Collada 1.4.1, "skew"; RenderMan's Skew)."""
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
