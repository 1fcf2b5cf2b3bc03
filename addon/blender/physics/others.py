"""What moves in a scene beside a model's own keys: it plays by the scene's frames, whatever a step stands for."""

from __future__ import annotations

from typing import Any

import bpy

from ..access import record_of
from ..channels import is_of_screw
from .anchor import stands


def has_other_animation(scene: bpy.types.Scene, rig: bpy.types.Object) -> bool:
    """Return whether anything but the model's own Action and settings moves what takes part in the scene's physics:
    strips and drivers of the model, the scene's gravity, bodies that follow keys, animated force fields."""
    if is_mixed(rig) or _is_animated(scene):
        return True
    world = scene.rigidbody_world
    held = world.collection if world is not None else None
    for obj in held.objects if held is not None else ():
        if record_of(obj).model == rig or stands(obj) or obj.rigid_body is None:
            continue
        if obj.rigid_body.kinematic or _is_animated(obj):
            return True
    return any(obj.field is not None and obj.field.type != "NONE" and _moves(obj) for obj in scene.objects)


def is_mixed(rig: bpy.types.Object) -> bool:
    """Return whether more than the curves of its Action tells the bones of a model where to be: strips, or drivers of
    the user's."""
    data = rig.animation_data
    if data is None:
        return False
    return has_strips(data) or any(not is_of_screw(curve) for curve in data.drivers)


def has_strips(data: bpy.types.AnimData) -> bool:
    """Return whether strips have a say beside an Action."""
    return data.use_nla and any(not track.mute and len(track.strips) for track in data.nla_tracks)


def _moves(obj: bpy.types.Object) -> bool:
    """Return whether an object moves, or what it is a part of."""
    while obj is not None:
        if _is_animated(obj) or len(obj.constraints):
            return True
        obj = obj.parent
    return False


def _is_animated(block: Any) -> bool:
    data = block.animation_data
    if data is None:
        return False
    return data.action is not None or has_strips(data) or bool(len(data.drivers))
