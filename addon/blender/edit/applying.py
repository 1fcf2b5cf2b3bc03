"""Put back what *Apply* (Ctrl+A) did to a model before it is edited: the turn that stands it upright belongs on its
armature, and the origin of a body at its center of mass. Nothing is seen to move."""

from __future__ import annotations

from typing import cast

import bpy

from ..data.access import armature_of
from ..data.conversion import flat
from ..data.queries import is_foreign, parts
from ..extract.applied import applied_upright
from ..extract.designs import Designs


def put_applied_back(rig: bpy.types.Object) -> None:
    """Move what armature and meshes took over of the transforms of their objects back onto these."""
    if is_foreign(rig):
        return
    _put_origins_back(rig)
    turn = applied_upright(rig)
    if turn is None or rig.mode == "EDIT":
        return
    back = turn.inverted_safe()
    armature_of(rig).transform(back)
    rig.matrix_basis = rig.matrix_basis @ turn
    for child in rig.children:
        if child.parent_type == "OBJECT":
            child.matrix_parent_inverse = back @ child.matrix_parent_inverse
    bpy.context.view_layer.update()


def _put_origins_back(rig: bpy.types.Object) -> None:
    """Give bodies their origins back. A mesh that others have as well, or that is linked, is copied for that: once for
    all bodies that have it alike."""
    designs, made = Designs(rig), dict[tuple[object, ...], bpy.types.Mesh]()
    for obj in parts(rig, "BODY"):
        applied = designs.applied(obj)
        if applied is None:
            continue
        back, mesh = applied.inverted_safe(), cast(bpy.types.Mesh, obj.data)
        key = mesh.session_uid, *flat(applied)
        if key not in made:
            made[key] = mesh.copy() if mesh.users > 1 or mesh.library is not None else mesh
            made[key].transform(back, shape_keys=True)
        obj.data = made[key]
        obj.matrix_basis = obj.matrix_basis @ applied
        for child in obj.children:
            child.matrix_parent_inverse = back @ child.matrix_parent_inverse
