"""Collada documents made such that pycollada reads all geometry that is in them.

Pycollada gives up a geometry, or a place of one, for a reference that leads nowhere, knows no ``<skew>``, passes over
polygons with holes, and reads what is no number as 0. What is repaired or left out is told.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
from lxml import etree

from .collada_holes import bridged
from .mesh_files import MeshTrouble

#: Pieces of a mesh that have no surface.
_LINES = {"lines", "linestrips", "points"}
_SURFACES = {"triangles", "tristrips", "trifans", "polylist", "polygons"}
_KEPT = {"source", "vertices", "extra"}
_NO_NUMBER = re.compile(r"\b(?:nan|inf)", re.IGNORECASE)
#: What an input is made of that nobody reads: its numbers still stand between those of others.
_UNREAD = "COLOR"

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
    for piece in list(children(mesh, *_SURFACES)):
        if not _repair_inputs(piece, points, known, wild, remarks):
            mesh.remove(piece)
        elif local(piece) == "polygons":
            _close_holes(piece, sources.get(points), remarks)


def _repair_inputs(piece: etree._Element, points: str, known: set[str], wild: set[str], remarks: Remarks) -> bool:
    """Have only those inputs of polygons read that are there and are used here; False where the points are missing."""
    for each in children(piece, "input"):
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


def _close_holes(piece: etree._Element, source: etree._Element | None, remarks: Remarks) -> None:
    """Write polygons with holes as such without, each hole joined to what is around it by a cut."""
    holed = list(children(piece, "ph"))
    if not holed:
        return
    inputs = [(int(each.get("offset") or 0), each.get("semantic")) for each in children(piece, "input")]
    width = 1 + max(offset for offset, _ in inputs)
    at = next(offset for offset, semantic in inputs if semantic == "VERTEX")
    points = _points_of(source)
    for each in holed:
        loops = [_numbers_of(part, np.int64) for part in children(each, "p", "h")]
        loops = [loop[: len(loop) // width * width].reshape(-1, width) for loop in loops]
        loops = [loop for loop in loops if len(loop) >= 3]
        sound = all(loop[:, at].min() >= 0 and loop[:, at].max() < len(points) for loop in loops)
        if not loops or not sound:
            remarks["a polygon with holes names points that are not there; it is left out"] += 1
        else:
            whole = bridged([(loop, points[loop[:, at]]) for loop in loops])
            made = etree.SubElement(piece, each.tag[:-2] + "p")
            made.text = " ".join(map(str, whole.ravel().tolist()))
            remarks["polygons have holes; each is joined to its edge by a cut"] += 1
        piece.remove(each)


def _points_of(source: etree._Element | None) -> np.ndarray:
    """The points (n, 3) of a source."""
    if source is None:
        return np.empty((0, 3))
    numbers = _numbers_of(next(children(source, "float_array"), None), np.float64)
    accessor = next((each for each in source.iter(etree.Element) if local(each) == "accessor"), None)
    told = "" if accessor is None else accessor.get("stride") or ""
    stride = max(int(told) if told.isdecimal() else 3, 3)
    return numbers[: len(numbers) // stride * stride].reshape(-1, stride)[:, :3]


def _numbers_of(element: etree._Element | None, kind: type) -> np.ndarray:
    try:
        return np.array((element.text or "").split() if element is not None else [], dtype=np.float64).astype(kind)
    except ValueError:
        return np.empty(0, kind)


def _write_matrix(skew: etree._Element, remarks: Remarks) -> None:
    """Write a ``<skew>`` as a matrix: the first of its two axes turns by its angle towards the second, along which all
    is moved (Collada 1.4.1, "skew"; RenderMan's Skew)."""
    numbers = _numbers_of(skew, np.float64)
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
