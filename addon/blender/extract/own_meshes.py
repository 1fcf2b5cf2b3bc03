"""Meshes that are in no file: those of bodies that were made in Blender. They are written beside the model."""

from __future__ import annotations

import os
import re
from dataclasses import replace

import bpy
import numpy as np

from ...formats.files import write_whole
from ...formats.losses import Losses
from ...formats.obj_write import obj_text
from ...model.records import Array, Body, Mechanism, Shape
from ...model.report import Report
from ..build.meshes import file_of
from ..model_parts import parts, require_rig
from . import own_ids

#: Formats that name no mesh files: bodies have the size of their meshes there.
_WITHOUT = {"juice"}


def write_own_meshes(collection: bpy.types.Collection, mechanism: Mechanism, path: str, format_: str) -> Report:
    """Write the meshes of a model's bodies that are in no file yet as ``NAME_meshes/BODY.obj`` beside the model's own
    file, in the axes of their bodies, and have the shapes of ``mechanism`` name them. In formats without meshes the
    shapes become boxes of their size. OSError where they cannot be written."""
    report = Report()
    objects = {own: obj for obj, own in own_ids(parts(require_rig(collection), "BODY")).items()}
    folder = os.path.splitext(os.path.basename(path))[0] + "_meshes"
    written: dict[tuple[object, ...], str] = {}
    losses = Losses()
    named_elsewhere = {file_of(shape) for body in mechanism.bodies for shape in body.shapes if shape.mesh}
    for body in mechanism.bodies:
        obj = objects.get(body.id)
        own = [number for number, shape in enumerate(body.shapes) if shape.type == "mesh" and not shape.mesh]
        if obj is None or not own:
            continue
        points, polygons = _surface(obj, body)
        for number in own:
            shape = body.shapes[number]
            if format_ in _WITHOUT:
                body.shapes[number] = _box(shape, points)
                losses.add("approximated-shape", "a mesh is written as the box that holds it", body.name)
                continue
            key = points.tobytes(), tuple(polygons)
            if key not in written:
                written[key] = _free(_file_name(body.name), {*written.values(), *named_elsewhere})
                text = obj_text(body.name, points, polygons)
                os.makedirs(os.path.join(os.path.dirname(path), folder), exist_ok=True)
                write_whole(os.path.join(os.path.dirname(path), folder, written[key]), text.encode())
            named = f"{folder}/{written[key]}"
            body.shapes[number] = replace(shape, mesh=named, pose=np.eye(4), size=dict.fromkeys("xyz", 1.0))
    losses.tell(report)
    if written:
        report.info("meshes-written", f"{len(written)} meshes were written into {folder}")
    return report


def _surface(obj: bpy.types.Object, body: Body) -> tuple[Array, list[tuple[int, ...]]]:
    """Points (n, 3) of a body's mesh in the body's own frame, and its polygons; modifiers are applied."""
    evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = evaluated.to_mesh()
    try:
        numbers = np.empty(3 * len(mesh.vertices), dtype=np.float32)
        mesh.vertices.foreach_get("co", numbers)  # type: ignore[arg-type]
        polygons = [tuple(polygon.vertices) for polygon in mesh.polygons]
    finally:
        evaluated.to_mesh_clear()
    scale = np.array(obj.matrix_basis.to_scale())
    if np.prod(scale) < 0.0:
        polygons = [polygon[::-1] for polygon in polygons]
    return numbers.reshape(-1, 3).astype(np.float64) * scale + body.com, polygons


def _box(shape: Shape, points: Array) -> Shape:
    """The box along a body's axes that holds a mesh."""
    low, high = (points.min(axis=0), points.max(axis=0)) if len(points) else (np.zeros(3), np.ones(3))
    pose = np.eye(4)
    pose[:3, 3] = 0.5 * (low + high)
    size = {axis: float(f"{length:.6g}") for axis, length in zip("xyz", high - low, strict=True)}
    return replace(shape, type="box", pose=pose, size=size)


def _file_name(name: str) -> str:
    return (re.sub(r"[^\w.-]+", "_", name, flags=re.ASCII).strip("._")[:60] or "body") + ".obj"


def _free(name: str, taken: set[str]) -> str:
    """A file name that is not taken, nor differs from one by capitals only."""
    lower, number, out = {each.lower() for each in taken}, 1, name
    while out.lower() in lower:
        number += 1
        out = f"{name.removesuffix('.obj')}_{number}.obj"
    return out
