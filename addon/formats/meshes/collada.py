"""Collada files (.dae) to plain surfaces, through pycollada. Blender reads none since 5.0.

Only what is drawn is read: the geometry of the scene with its nodes' transforms, normals and plain colours. The file's
up axis is never applied, as the formats that name meshes do not; its unit only where it is asked for.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from ...core.model import Array
from ...core.report import Report
from ..text.file_io import decode, read_bytes
from .collada_repairs import Remarks, local, repair, unbind, without_normals
from .locate import MeshTrouble, as_trouble, library_at_hand

Single = NDArray[np.float32]

#: More places for geometry than any mesh has: nodes that name nodes can multiply without bound.
_MOST_VISITS = 100_000
_MOST_CORNERS = 20_000_000
#: Libraries that hold nothing to draw. What is wrong in them shall not matter.
_IDLE = {"animations", "animation_clips", "cameras", "lights", "force_fields", "physics_materials", "physics_models"}
_IDLE |= {"physics_scenes", "articulated_systems", "kinematics_models", "kinematics_scenes", "joints", "formulas"}
_IDLE_PARTS = {"instance_camera", "instance_light", "contributor", "created", "modified", "extra"}
_IDLE_PARTS |= {f"library_{name}" for name in _IDLE}


@dataclass
class Surface:
    """Polygons of one material. ``points`` (n, 3), those that are used; ``corners`` (m,) indices of points, polygon
    after polygon; ``counts`` (k,) how many corners each has; ``normals`` (m, 3) per corner, unit length, or None.
    ``color`` RGBA as the file has it, or None."""

    points: Array
    corners: NDArray[np.int64]
    counts: NDArray[np.int64]
    normals: Array | None
    material: str
    color: tuple[float, float, float, float] | None


def read_collada(path: Path, ignore_unit: bool = True, report: Report | None = None) -> list[Surface]:
    """The surfaces of a file in its own axes; MeshTrouble where it has none or
    cannot be read. ``ignore_unit`` False: in metres, by the file's <unit>. ``report`` takes what was repaired or left
    out."""
    root = _parse(path)
    try:
        remarks = repair(root, str(path))
        sound = etree.tostring(root)
        del root  # of the two trees, that which pycollada makes stays alone
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy has much to say about how pycollada uses it
            document = _loaded(sound, path, remarks)
            unit = 1.0 if ignore_unit else float(document.assetInfo.unitmeter or 1.0)
            surfaces = list(_surfaces(document, np.diag([unit, unit, unit, 1.0]).astype(np.float32)))
    except MeshTrouble:
        raise
    except Exception as error:  # whatever a library makes of a bad file
        raise MeshTrouble(
            f"this Collada file cannot be read: {error or type(error).__name__}", path=str(path)
        ) from error
    if not surfaces:
        told = f": {next(iter(remarks))}" if remarks else ""
        raise MeshTrouble(f"this Collada file holds no polygons{told}", path=str(path))
    for surface in surfaces:
        if not np.isfinite(surface.points).all():
            raise MeshTrouble("this Collada file has coordinates that are no numbers", path=str(path))
    for remark, count in remarks.items() if report is not None else ():
        report.warn("repaired-mesh", f"{path.name}: {remark}{f' ({count} times)' if count > 1 else ''}")
    return surfaces


def _loaded(sound: bytes, path: Path, remarks: Remarks) -> Any:
    """Pycollada's document of a text, with all geometry that it can read: uses of materials that are broken, and
    normals where some of a mesh are, are taken away first where there are any."""
    with library_at_hand("Collada files need pycollada", path):
        from collada import Collada
        from collada.common import DaeError, DaeIncompleteError, DaeMalformedError

    def load(text: bytes) -> Any:
        return Collada(io.BytesIO(text), [DaeError], aux_file_loader=lambda _name: None)

    document = load(sound)
    if not document.errors:
        return document
    root, count = etree.fromstring(sound, _parser()), len(document.geometries)
    unbind(root, (each.id for each in document.materials))
    found, again = document.errors, load(etree.tostring(root))
    if any(isinstance(error, DaeMalformedError | DaeIncompleteError) for error in again.errors):
        without_normals(root)
        third = load(etree.tostring(root))
        if len(third.geometries) > count:
            again = third
            remarks["normals of a mesh are missing or no numbers; they are left out"] += 1
    remarks.update(dict.fromkeys([*map(_told, found), *map(_told, again.errors)], 1))
    return again


def _told(error: Exception) -> str:
    text = " ".join(str(getattr(error, "msg", error)).split())
    return f"something in it is passed over: {text[:200]}"


def _parser() -> etree.XMLParser:
    return etree.XMLParser(
        encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True,
        remove_comments=True, remove_pis=True, remove_blank_text=True,
    )  # fmt: skip


def _parse(path: Path) -> etree._Element:
    """The document's root without what is not drawn. Definitions of entities are refused whatever the encoding."""
    with as_trouble():
        text, _ = decode(read_bytes(path), Report())
    if "<!DOCTYPE" in text:
        raise MeshTrouble("the document type may define entities, which are never read", path=str(path))
    text = re.sub(r"\A\s*<\?xml[^>]*\?>", "", text.lstrip("\ufeff"))
    try:
        root = etree.fromstring(text.encode("utf-8", "replace"), _parser())
    except etree.XMLSyntaxError as error:
        raise MeshTrouble(f"this is no sound XML: {error}", path=str(path)) from error
    if local(root) != "COLLADA":
        raise MeshTrouble(f"this is no Collada file: it begins with <{local(root)}>", path=str(path))
    for element in [each for each in root.iter(etree.Element) if local(each) in _IDLE_PARTS]:
        if element.getparent() is not None:
            element.getparent().remove(element)
    return root


def _placed(document: Any, base: Single) -> Iterator[tuple[Any, Single, dict[str, Any]]]:
    """Every piece of geometry, with its pose (4, 4) in the scene, which itself stands at ``base``, and its materials by
    the names it calls them; all of the library as it is where there is no scene."""
    if document.scene is None:
        by_id = {each.id: each for each in document.materials}
        for geometry in document.geometries:
            yield geometry, base, by_id
        return
    waiting = [(node, base) for node in reversed(document.scene.nodes)]
    visits = 0
    while waiting:
        visits += 1
        if visits > _MOST_VISITS:
            raise MeshTrouble(f"the scene of this Collada file has more than {_MOST_VISITS} nodes")
        node, pose = waiting.pop()
        if hasattr(node, "node"):  # an instance of another node
            waiting.append((node.node, pose))
            continue
        materials = {each.symbol: each.target for each in getattr(node, "materials", ())}
        if hasattr(node, "geometry"):
            yield node.geometry, pose, materials
        elif hasattr(node, "controller"):  # drawn as it was bound, undeformed
            drawn = node.controller
            turn = np.asarray(getattr(drawn, "bind_shape_matrix", np.eye(4)), dtype=np.float32)
            geometry = getattr(drawn, "geometry", None) or getattr(drawn, "source_geometry", None)
            if geometry is not None:
                yield geometry, pose @ turn.reshape(4, 4), materials
        elif hasattr(node, "children"):
            inner = pose @ np.asarray(node.matrix, dtype=np.float32)
            waiting += [(child, inner) for child in reversed(node.children)]


def _surfaces(document: Any, base: Single) -> Iterator[Surface]:
    pieces: dict[int, _Piece | None] = {}
    visits = corners = 0
    for geometry, pose, materials in _placed(document, base):
        for primitive in geometry.primitives:
            visits += 1
            if visits > _MOST_VISITS:
                raise MeshTrouble(f"this Collada file has more than {_MOST_VISITS} pieces")
            if id(primitive) not in pieces:
                pieces[id(primitive)] = _piece(primitive)
            piece = pieces[id(primitive)]
            if piece is None:
                continue
            corners += len(piece.corners)
            if corners > _MOST_CORNERS:
                raise MeshTrouble(f"this Collada file has more than {_MOST_CORNERS} corners")
            yield _surface(piece, pose, *_material(primitive, materials))


@dataclass
class _Piece:
    """Polygons as the file has them, wherever they stand: as a ``Surface``, normals as ``normals[normal_corners]``."""

    points: Single
    corners: NDArray[np.int64]
    counts: NDArray[np.int64]
    normals: Array | None
    normal_corners: NDArray[np.int64]


def _piece(primitive: Any) -> _Piece | None:
    """The polygons of a primitive with the points that they use and no others; None where there are none."""
    if primitive.vertex_index is None or not len(primitive.vertex_index):
        return None
    corners = np.asarray(primitive.vertex_index, dtype=np.int64).ravel()
    if hasattr(primitive, "vcounts"):
        counts = np.asarray(primitive.vcounts, dtype=np.int64)
    else:
        counts = np.full(len(corners) // 3, 3)
    if counts.sum() != len(corners) or counts.min() < 0 or corners.min() < 0 or corners.max() >= len(primitive.vertex):
        raise MeshTrouble("polygons of this Collada file name points that are not there")
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


def _surface(piece: _Piece, pose: Single, material: str, color: tuple[float, float, float, float] | None) -> Surface:
    """A piece where it stands, its normals turned with their planes."""
    # single precision, term by term, as DART's reader does it: moments of inertia are then the same to the last digit
    x, y, z = piece.points.T
    points = np.stack([x * row[0] + y * row[1] + z * row[2] + row[3] for row in pose[:3]], axis=1)
    turned = None
    if piece.normals is not None:
        normals = piece.normals @ np.linalg.pinv(pose[:3, :3].astype(np.float64))
        lengths = np.linalg.norm(normals, axis=1, keepdims=True)
        turned = np.asarray((normals / np.where(lengths > 0.0, lengths, 1.0))[piece.normal_corners])
    return Surface(points.astype(np.float64), piece.corners, piece.counts, turned, material, color)


def _material(primitive: Any, materials: dict[str, Any]) -> tuple[str, tuple[float, float, float, float] | None]:
    """The name of a primitive's material and its diffuse colour, where that is plain."""
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
    """Return how much of what is behind a material it hides, 0 to 1. Files disagree about what their own words mean:
    where they would make it invisible, it is drawn in full."""
    transparency = getattr(effect, "transparency", None)
    if not isinstance(transparency, int | float):
        return 1.0
    value = float(transparency)
    return value if 0.0 < value <= 1.0 else 1.0
