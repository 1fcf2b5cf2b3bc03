"""The mends of what a check finds, where there is a safe one."""

from __future__ import annotations

from collections.abc import Callable

import bpy
import numpy as np

from ...core.editing.sides import name_list
from ...core.mass_properties import shape_volume, solid_shapes
from ...core.validation import Finding
from ..data.access import record_of
from ..data.conversion import read_shape
from ..data.queries import file_name, parts
from ..events.signals import quiet
from ..extract.attachments import FRAME_KEPT
from .authoring import DENSITY
from .edited_bones import put_bones_back
from .fitting import hang_shapes, lost_joints, take_back
from .frames import used_frames_again
from .joints import delete_parts
from .rebuild import rebuild
from .refit import refit
from .shape_making import take_mesh, take_shape
from .symmetric import by_itself
from .taking_back import as_before
from .twins import by_id, unlink_twin

_MOST_NAMES = 4


def fix(rig: bpy.types.Object, finding: Finding, other: bool = False) -> str:
    """Mend what a finding tells of, and say what was done; ``other``: in the second of two ways. ValueError where there
    is no such mend."""
    mend = (_OTHERS if other else _MENDS).get(finding.code)
    if mend is None or not (finding.or_fix if other else finding.fix):
        raise ValueError(f"Nobody but you can know how to mend this: {finding.message}")
    return mend(rig, finding)


def _objects(rig: bpy.types.Object, finding: Finding) -> list[bpy.types.Object]:
    known = by_id(rig, "BODY" if finding.kind == "body" else "JOINT")
    return [known[part] for part in finding.parts if part in known]


def _weigh(rig: bpy.types.Object, finding: Finding) -> str:
    told = []
    for obj in _objects(rig, finding):
        volume = sum(map(shape_volume, solid_shapes(map(read_shape, record_of(obj).shapes))))
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


def _bones_back(rig: bpy.types.Object, _finding: Finding) -> str:
    put_bones_back(rig)
    return "The bones are where they were made"


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


def _refit(rig: bpy.types.Object, _finding: Finding) -> str:
    refit(rig)
    return "The armature fits its parts"


def _hang(rig: bpy.types.Object, _finding: Finding) -> str:
    bpy.context.view_layer.update()
    refit(rig)  # which hangs all parts where they belong, designed where an export has them
    return "It hangs on its bone again"


def _hang_shapes(rig: bpy.types.Object, finding: Finding) -> str:
    hang_shapes(rig, [bpy.data.objects[name] for name in finding.parts if name in bpy.data.objects])
    return "It hangs on its body again"


def _rebuild(rig: bpy.types.Object, _finding: Finding) -> str:
    with as_before():
        done = rebuild(rig, bpy.context.scene).done
    return f"Made anew or taken back: {'; '.join(done)}"


def _frames(rig: bpy.types.Object, _finding: Finding) -> str:
    return f"Made anew or taken back: {name_list(used_frames_again(rig), _MOST_NAMES)}"


def _take_back(rig: bpy.types.Object, finding: Finding) -> str:
    take_back(rig, [bpy.data.objects[name] for name in finding.parts if name in bpy.data.objects])
    return "It is in the model's collection again"


def _bodies_back(rig: bpy.types.Object, finding: Finding) -> str:
    chosen = _objects(rig, finding)
    names = take_back(rig, [end for empty, gone in lost_joints(rig) if empty in chosen for end in gone])
    return f"{', '.join(map(repr, names))} is back"


def _take_mesh(rig: bpy.types.Object, finding: Finding) -> str:
    with by_itself(rig):  # a body gets another origin; where its twin is does not change
        told = [f"{file_name(obj)!r} is a {take_mesh(rig, obj)[0]} now" for obj in _objects(rig, finding)]
    return ", ".join(told)


def _take_shape(rig: bpy.types.Object, finding: Finding) -> str:
    for obj in _objects(rig, finding):
        take_shape(rig, obj)
    return "It has the mesh of its shape again"


def _delete_object(_rig: bpy.types.Object, finding: Finding) -> str:
    bpy.data.batch_remove([bpy.data.objects[name] for name in finding.parts if name in bpy.data.objects])
    return "It was deleted"


_MENDS: dict[str, Callable[[bpy.types.Object, Finding], str]] = {
    "no-mass": _weigh,
    "stops-inverted": _exchange_stops,
    "start-beyond-stop": _begin_at_stop,
    "joint-lost": _delete,
    "twin-one-sided": _unlink,
    "name-twice": _number,
    "armature-gone": _rebuild,
    "collection-gone": _rebuild,
    "facts-gone": _rebuild,
    "folder-gone": _rebuild,
    "body-gone": _rebuild,
    "unmoved": _rebuild,
    "text-gone": _rebuild,
    "world-gone": _rebuild,
    FRAME_KEPT: _frames,
    "part-elsewhere": _take_back,
    "bones-gone": _refit,
    "bones-left": _refit,
    "joint-moved": _refit,
    "bones-edited": _bones_back,
    "rest-applied": _bones_back,
    "off-bone": _hang,
    "mesh-edited": _take_mesh,
    "shape-loose": _hang_shapes,
    "stranger": _delete_object,
}
#: The second of two ways.
_OTHERS: dict[str, Callable[[bpy.types.Object, Finding], str]] = {
    "joint-lost": _bodies_back,
    "bones-gone": _rebuild,  # with the joint that moved the body, where that was deleted
    "mesh-edited": _take_shape,
}
