"""The Actions that are motions of a model, and having one of them play for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import bpy

from ..access import action_record, settings
from ..channels import servo_channels
from ..compat import VERSION, action_curves, use_action


def motions_of(rig: bpy.types.Object) -> list[bpy.types.Action]:
    """The Actions that key servos of a model, by name, but for those that were made for another one."""
    posing = {place for own in servo_channels(rig).values() for channel in own for place in channel.curves()}
    return [
        action
        for action in bpy.data.actions
        if may_be_of(rig, action)
        and any((c.data_path, c.array_index) in posing for c in action_curves(rig, action, create=False) or ())
    ]


def may_be_of(rig: bpy.types.Object, action: bpy.types.Action) -> bool:
    """Whether an Action is not another model's: bones of two models of one file have the same names."""
    return action_record(action).model in {"", settings(rig).uid} or _plays(rig, action)


def _plays(rig: bpy.types.Object, action: bpy.types.Action) -> bool:
    return rig.animation_data is not None and rig.animation_data.action == action


@contextmanager
def playing(rig: bpy.types.Object, action: bpy.types.Action) -> Iterator[None]:
    """Have an Action alone play on a rig."""
    data = rig.animation_data_create()
    before, nla = data.action, data.use_nla
    slot = data.action_slot if VERSION >= (4, 4) else None
    try:
        data.use_nla = False
        use_action(rig, action)
        yield
    finally:
        data.action = before
        if slot is not None:
            data.action_slot = slot
        data.use_nla = nla
