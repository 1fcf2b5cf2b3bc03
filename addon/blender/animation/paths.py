"""The paths of a model's roots: where it goes as a whole, beside what its servos do."""

from __future__ import annotations

import bpy
import numpy as np

from ...model.keys import Span
from ..channels import bone_path
from ..model_parts import root_bones
from .curves import Place, action_of, places_of, posing_curves

#: From how far on (rad) a path that ends in another direction turns.
_TURNED = np.radians(5.0)


def turning_paths(rig: bpy.types.Object) -> list[str]:
    """The bones of roots whose paths do not end in the direction in which they begin. Repeated curve by curve such a
    path would go on in the wrong one: what plays rounds leaves it as it is."""
    every = posing_curves(rig, action_of(rig), places_of(rig, None, roots=True))
    out = []
    for bone in root_bones(rig).values():
        curves = [every.get((bone_path(bone, "rotation_quaternion"), index)) for index in range(4)]
        keys = [None if curve is None else curve.keyframe_points for curve in curves]
        first, last = (
            np.array([usual if own is None else own[end].co[1] for own, usual in zip(keys, (1, 0, 0, 0), strict=True)])
            for end in (0, -1)
        )
        lengths = float(np.linalg.norm(first) * np.linalg.norm(last))
        if lengths > 0.0 and abs(float(first @ last)) / lengths < np.cos(0.5 * _TURNED):
            out.append(bone)
    return out


def path_places(rig: bpy.types.Object) -> set[Place]:
    """Where the curves of those roots' paths may be that go on in rounds."""
    turning = set(turning_paths(rig))
    every = places_of(rig, None, roots=True)
    return {place for place, bone in every.items() if bone not in turning} - places_of(rig).keys()


def places_along(rig: bpy.types.Object) -> set[Place]:
    """Where the curves of paths may be by which roots go on and on: each round from where the one before ended."""
    return {place for place in path_places(rig) if place[0].endswith("location")}


def standing(span: Span) -> Span:
    """A round in which what goes on waits during the gap."""
    return Span(span.first, span.last + span.gap)
