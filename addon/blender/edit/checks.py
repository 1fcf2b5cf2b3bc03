"""What is wrong with a model as it stands in Blender, and the mends that are safe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

import bpy
import numpy as np

from ...model.inertia import shape_volume
from ...model.validate import Finding, validate
from ..access import record_of, settings
from ..extract import extract
from ..listeners import quiet
from ..model_parts import file_name, parts
from ..records import read_shape
from .authoring import DENSITY
from .joints import delete_parts
from .overlapping import overlapping
from .refit import give_ids, refit
from .twin_meshes import mesh_differences
from .twins import by_id, plane_between, unlink_twin

#: How far (as a share) the scales of a body may differ, and how far from a right angle (as a cosine) its axes be.
_UNEVEN, _SHEARED = 1e-4, 1e-4
_ROUND = {"sphere", "cylinder", "capsule", "cone", "hemisphere"}


def check_model(rig: bpy.types.Object) -> list[Finding]:
    """Everything that is to be said of a model, errors first: of its mechanism, and of its objects."""
    give_ids(rig)
    mechanism = extract(settings(rig).collection)
    found = [*validate(mechanism), *overlapping(mechanism), *_scales(rig), *_meshes(rig)]
    order = {"error": 0, "warning": 1, "info": 2}
    return sorted(found, key=lambda finding: order[finding.severity])


def _scales(rig: bpy.types.Object) -> Iterator[Finding]:
    whole = np.array(rig.matrix_world.to_scale())
    if np.ptp(np.abs(whole)) > _UNEVEN * np.abs(whole).max() or (whole < 0.0).any():
        yield Finding("model-scaled", "error", "The model as a whole is scaled unevenly or mirrored", "model")
    elif abs(whole[0] - 1.0) > _UNEVEN:
        told = f"The model as a whole is scaled by {whole[0]:.3g}: files keep its own size"
        yield Finding("model-scaled", "warning", told, "model")
    for obj in parts(rig, "BODY"):
        axes = np.array(obj.matrix_basis)[:3, :3]
        scale = np.linalg.norm(axes, axis=0)
        unit = axes / np.where(scale > 0.0, scale, 1.0)
        name, own = file_name(obj), (record_of(obj).source_id,)
        if scale.min() <= 0.0:
            yield Finding("body-flat", "error", f"Body {name!r} is scaled to nothing", "body", own)
        elif max(abs(float(unit[:, a] @ unit[:, b])) for a, b in combinations(range(3), 2)) > _SHEARED:
            yield Finding("body-sheared", "error", f"Body {name!r} is sheared", "body", own)
        elif np.ptp(scale) > _UNEVEN * scale.max() and any(shape.type in _ROUND for shape in record_of(obj).shapes):
            told = f"Body {name!r} is round and scaled unevenly: files keep the larger side"
            yield Finding("body-uneven", "warning", told, "body", own)


def _meshes(rig: bpy.types.Object) -> Iterator[Finding]:
    known = by_id(rig, "BODY")
    for each in mesh_differences(rig, plane_between(rig)):
        pair = each.first, each.second
        one, other = (file_name(known[part]) for part in pair)
        told = f"{one!r} and {other!r} are twins and their meshes differ by {each.amount:.3g}"
        yield Finding("twin-meshes", "info", told, "body", pair)


# ---------------------------------------------------------------- mends


def fix(rig: bpy.types.Object, finding: Finding) -> str:
    """Mend what a finding tells of, and say what was done. ValueError where there is no safe mend."""
    mend = _MENDS.get(finding.code)
    if mend is None:
        raise ValueError(f"Nobody but you can know how to mend this: {finding.message}")
    return mend(rig, finding)


def _objects(rig: bpy.types.Object, finding: Finding) -> list[bpy.types.Object]:
    known = by_id(rig, "BODY" if finding.kind == "body" else "JOINT")
    return [known[part] for part in finding.parts if part in known]


def _weigh(rig: bpy.types.Object, finding: Finding) -> str:
    told = []
    for obj in _objects(rig, finding):
        volume = sum(shape_volume(read_shape(shape)) for shape in record_of(obj).shapes)
        record_of(obj).mass = DENSITY * volume if volume > 0.0 else 1.0
        told.append(f"{file_name(obj)!r} weighs {record_of(obj).mass:.3g} now")
    return ", ".join(told)


def _exchange_stops(rig: bpy.types.Object, finding: Finding) -> str:
    for empty in _objects(rig, finding):
        for dof in (*record_of(empty).joint.dofs, *record_of(empty).joint.parts):
            if dof.use_lower and dof.use_upper and dof.lower > dof.upper:
                with quiet():
                    low, high = dof.upper, dof.lower
                    dof.lower = low
                dof.upper = high  # tells what follows from it
    return "The stops were exchanged"


def _begin_at_stop(rig: bpy.types.Object, finding: Finding) -> str:
    for empty in _objects(rig, finding):
        for dof in (*record_of(empty).joint.dofs, *record_of(empty).joint.parts):
            low = dof.lower if dof.use_lower else -np.inf
            high = dof.upper if dof.use_upper else np.inf
            dof.position = float(np.clip(dof.position, low, high))
    return "It begins at its stop"


def _delete(rig: bpy.types.Object, finding: Finding) -> str:
    delete_parts(rig, _objects(rig, finding))
    return "The joint was deleted"


def _unlink(rig: bpy.types.Object, finding: Finding) -> str:
    for obj in _objects(rig, finding):
        unlink_twin(obj)
    return "It is nobody's twin now"


def _number(rig: bpy.types.Object, finding: Finding) -> str:
    """Give all but the first of several parts of one name a number behind it."""
    chosen = _objects(rig, finding)
    taken = {file_name(obj) for role in ("BODY", "JOINT") for obj in parts(rig, role)}
    for obj in chosen[1:]:
        number, name = 2, ""
        while not name or name in taken:
            name, number = f"{file_name(chosen[0])} {number}", number + 1
        obj.name = name
        taken.add(name)
        record_of(obj).source_name, record_of(obj).built_name = name, obj.name
    refit(rig)
    return f"{len(chosen) - 1} parts were numbered"


_MENDS: dict[str, Callable[[bpy.types.Object, Finding], str]] = {
    "no-mass": _weigh,
    "stops-inverted": _exchange_stops,
    "start-beyond-stop": _begin_at_stop,
    "joint-lost": _delete,
    "twin-one-sided": _unlink,
    "name-twice": _number,
}
