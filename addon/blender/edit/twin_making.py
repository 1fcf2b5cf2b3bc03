"""Twins that are missing, made: the mirror images of bodies and joints, with names of the other side."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import cast

import bpy
import numpy as np
from mathutils import Matrix

from ...model.report import Report
from ...model.sides import Plane, counterpart_names
from ...model.twins import image_of, mirrored_joint, usual_flip
from ..access import record_of
from ..listeners import quiet
from ..model_parts import file_name, parts
from ..records import flat, unflat
from .copies import copy_part, copy_shapes, ids_in
from .places import rigid
from .refit import give_ids, refit
from .twins import Surroundings, joint_record, mates, note, plane_of, put_image


def create_twins(
    objects: Iterable[bpy.types.Object], plane: Plane | None = None
) -> tuple[list[bpy.types.Object], Report]:
    """Make the missing twins of bodies and joints, mirrored, with names of the other side. The joints among the chosen
    bodies, and those that carry them, come along. Returns what was made. ValueError where nothing lacks a twin."""
    chosen = [obj for obj in objects if record_of(obj).role in {"BODY", "JOINT"}]
    rig = next((record_of(obj).model for obj in chosen), None)
    if rig is None:
        raise ValueError("Select bodies or joints of the mechanism to make their twins")
    give_ids(rig)
    between = plane or plane_of(rig)
    paired = mates(rig)
    alone = [obj for obj in chosen if obj not in paired]
    bodies = {obj: None for obj in alone if record_of(obj).role == "BODY"}
    joints = {obj for obj in alone if record_of(obj).role == "JOINT"}
    joints |= {empty for empty in parts(rig, "JOINT") if record_of(empty).joint.child in bodies and empty not in paired}
    ordered = [empty for empty in parts(rig, "JOINT") if empty in joints]
    if not (bodies or joints):
        raise ValueError("Everything that is selected has a twin already: Mirror to Twin makes them alike")
    made: list[bpy.types.Object] = []
    with quiet():
        taken = _Taken(rig)
        for obj in bodies:
            made.append(_twin_body(taken, obj, between))
        around = Surroundings(rig)
        for empty in ordered:
            made.append(_twin_joint(taken, around, empty, between))
        for obj, mate in zip([*bodies, *ordered], made, strict=True):
            note(obj, mate)
    return made, refit(rig)


def twin_name(name: str, taken: Collection[str]) -> str:
    """What a twin is called: ``Left Hip`` -> ``Right Hip``, ``FL`` -> ``FR``; where the name has no side, with a number
    behind it."""
    for other in counterpart_names(name):
        if other not in taken:
            return other
    stem = re.sub(r" twin( \d+)?$", "", name)
    number, out = 1, f"{stem} twin"
    while out in taken:
        number += 1
        out = f"{stem} twin {number}"
    return out


class _Taken:
    """The ids of a model's parts and the names of each kind of them."""

    def __init__(self, rig: bpy.types.Object) -> None:
        self.ids = ids_in(rig)
        self.names = {role: {file_name(obj) for obj in parts(rig, role)} for role in ("BODY", "JOINT")}

    def copy(self, obj: bpy.types.Object) -> bpy.types.Object:
        """A copy of a part with a name and id of its own, the original's twin."""
        record, names = record_of(obj), self.names[record_of(obj).role]
        name = twin_name(file_name(obj), names)
        made = copy_part(obj, name, twin_name(record.source_id, self.ids) if name in self.ids else name)
        record_of(made).twin, record.twin = record.source_id, record_of(made).source_id
        names.add(name)
        self.ids.add(record.twin)
        return made


def _twin_body(taken: _Taken, obj: bpy.types.Object, plane: Plane) -> bpy.types.Object:
    made = taken.copy(obj)
    flip = usual_flip(plane)
    local = np.eye(4)
    local[:3, :3] = flip
    scale = Matrix.Diagonal((*obj.matrix_basis.to_scale(), 1.0))
    made.matrix_basis = Matrix(image_of(rigid(obj.matrix_basis), plane, flip).tolist()) @ scale
    record = record_of(made)
    record.com = flip @ np.array(record.com)
    record.tensor = (flip @ np.array(record.tensor).reshape(3, 3) @ flip).ravel().tolist()
    uneven = False
    for shape in record.shapes:
        pose = unflat(shape.pose)
        shape.pose = flat(local @ pose @ local)
        uneven |= shape.type == "mesh" or bool(np.abs(local @ pose @ local - pose).max() > 1e-6)
        if shape.type == "mesh":
            shape.size[int(np.argmin(np.diag(flip)))] *= -1.0
    if uneven:
        mesh = cast(bpy.types.Mesh, obj.data).copy()
        mesh.transform(Matrix(local.tolist()))
        mesh.flip_normals()
        made.data = mesh
    copy_shapes(obj, made, local)
    return made


def _twin_joint(taken: _Taken, around: Surroundings, empty: bpy.types.Object, plane: Plane) -> bpy.types.Object:
    image = mirrored_joint(joint_record(empty), plane, around.mates, around.bodies)
    made = taken.copy(empty)
    put_image(empty, made, image, around)
    return made
