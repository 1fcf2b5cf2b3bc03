"""How large a model is in the world: scaled as an object, evenly or in a way that physics does not take."""

from __future__ import annotations

import bpy
import numpy as np

from ...model.records import Array
from ...model.report import Report
from ..access import armature_of, record_of
from ..model_parts import joint_bones, parts

#: A model whose scale differs less from 1 is not scaled.
_UNSCALED = 1e-5
#: By how much (of its size) a model's axes may differ in length, or lean to one another, and bones be away from joints.
_EVEN = 1e-3


def size_of(rig: bpy.types.Object) -> float:
    """By what a model's own lengths are multiplied in the world."""
    return size_in(np.array(rig.matrix_world, dtype=np.float64))


def size_in(pose: Array) -> float:
    """The same of an armature's world matrix (4, 4)."""
    size = float(np.cbrt(np.linalg.norm(pose[:3, :3], axis=0).prod()))
    return 1.0 if abs(size - 1.0) < _UNSCALED or not size > 0.0 else size


def distortion(rig: bpy.types.Object) -> str:
    """What was done to a model's armature that its bodies and joints do not bear, and what to do about it; empty where
    it is as large in all directions and its bones are where its joints are."""
    axes = np.array(rig.matrix_world, dtype=np.float64)[:3, :3]
    long = np.linalg.norm(axes, axis=0)
    if not long.min() > 0.0 or long.max() > (1.0 + _EVEN) * long.min():
        scale = ", ".join(f"{part:.3g}" for part in long)
        return (
            f"The model is scaled unevenly ({scale} along its axes): bodies would be bent as they turn, and physics "
            "takes them otherwise than they are drawn. Give it one scale in all directions (Alt+S clears it)"
        )
    leaning = np.abs((axes / long).T @ (axes / long) - np.eye(3)).max()
    if leaning > _EVEN:
        return (
            "The model is sheared by what it is parented to: physics takes its bodies otherwise than they are drawn. "
            "Scale the parent evenly, or clear the model's parent (Alt+P)"
        )
    moved = _moved_bone(rig)
    if moved:
        return (
            f"The armature was scaled or edited by itself: bone {moved!r} is no longer where its joint is, and what "
            "plays would not be what physics did. Undo the Apply Scale and scale the armature as an object, or import "
            "the file again"
        )
    return ""


def _moved_bone(rig: bpy.types.Object) -> str:
    """The name of the first bone that does not begin where its joint is; empty where all do."""
    bones, chains = armature_of(rig).bones, joint_bones(rig)
    heads = [
        (chains[key][0], empty.matrix_basis.translation)
        for empty in parts(rig, "JOINT")
        if chains.get(key := record_of(empty).source_id) and chains[key][0] in bones
    ]
    size = max((place.length for _, place in heads), default=0.0)
    return next((bone for bone, place in heads if (bones[bone].head_local - place).length > _EVEN * size), "")


def tell_of_distortion(rig: bpy.types.Object, report: Report) -> None:
    """Warn of a model whose armature is scaled as physics does not take it."""
    told = distortion(rig)
    if told:
        report.warn("scaled-unevenly", told, where=rig.name)
