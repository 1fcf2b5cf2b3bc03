"""What a rebuild tells of what it made, and of what it left; and the motion of a new armature."""

from __future__ import annotations

from dataclasses import dataclass, field

import bpy

from ...core.editing.sides import name_list
from ...core.model import Mechanism
from ...core.report import Report
from ..animation.actions import let_play, motions_of
from ..data.access import action_record, record_of, settings
from ..data.queries import file_name
from .needed import deleted, needed

_MOST_NAMES = 4


@dataclass
class Rebuilt:
    """What was made anew or taken back, in words, and what is to be said besides."""

    done: list[str] = field(default_factory=list)
    report: Report = field(default_factory=Report)


def tell_of_left(rig: bpy.types.Object, base: Mechanism | None, out: Rebuilt) -> None:
    """Say what was deleted and stays away, being needed by nothing. ``base`` is the mechanism of the document."""
    left = needed(rig, base, everything=True)
    away = left.bodies | left.joints
    if not away:
        return
    names: dict[str, str] = {}
    if base is not None:
        names |= {body.id: body.name for body in base.bodies} | {joint.id: joint.name for joint in base.joints}
    names |= {record_of(obj).source_id: file_name(obj) for obj in deleted(rig)}
    told = name_list(sorted(names.get(own) or own for own in away), _MOST_NAMES)
    out.report.warn(
        "left-away", f"Deleted, and left away since nothing needs it: {told}. Deleted Parts Too takes it back"
    )


def give_motion(rig: bpy.types.Object, out: Rebuilt) -> None:
    """Have the motion play on a new armature that played on the one that is gone, where it can be told: of those that
    nobody plays the only one, or the only one that was made for this model or has its name."""
    if rig.animation_data is not None:
        return
    played = {data.action for obj in bpy.data.objects if (data := obj.animation_data) is not None}
    free = [action for action in motions_of(rig) if action not in played]
    name, uid = record_of(rig).source_name or rig.name, settings(rig).uid
    own = [action for action in free if action_record(action).model == uid != ""]
    named = [action for action in free if action.name.startswith(f"{name} ")]
    for some in (free, own, named):
        if len(some) == 1:
            let_play(rig, some[0])
            out.done.append(f"its motion {some[0].name!r}")
            return
    if free:
        told = name_list(sorted(action.name for action in free), _MOST_NAMES)
        out.report.warn("motion-unknown", f"Which motion it played cannot be told: choose one of {told}")
