"""The Actions that are motions of a model, and having one of them play for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import bpy

from ..channels import servo_channels
from ..compat import VERSION, action_curves, use_action


def motions_of(rig: bpy.types.Object) -> list[bpy.types.Action]:
    """The Actions that key servos of a model, by name."""
    posing = {place for own in servo_channels(rig).values() for channel in own for place in channel.curves()}
    return [
        action
        for action in bpy.data.actions
        if any((c.data_path, c.array_index) in posing for c in action_curves(rig, action, create=False) or ())
    ]


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
