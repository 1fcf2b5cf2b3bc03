"""The values of inputs and servos that Live Input moves at present. While there are any, they override what is set or
keyed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import bpy


@dataclass(frozen=True)
class LiveValues:
    """Inputs by their names, and servos by the ids of their joints: at the frame before and at the present one."""

    inputs: Mapping[str, float] = field(default_factory=dict)
    servos: Mapping[str, tuple[float, float]] = field(default_factory=dict)


NONE = LiveValues()
#: By the rig's ``session_uid``, which a new name does not change.
_values: dict[int, LiveValues] = {}


def live_values(rig: bpy.types.Object) -> LiveValues:
    """Targets of Live Input on a mechanism."""
    return _values.get(rig.session_uid, NONE) if _values else NONE


def put(uid: int, values: LiveValues) -> None:
    """Override the inputs and servos of the mechanism with a ``session_uid``."""
    _values[uid] = values


def drop(uid: int) -> None:
    """Override nothing on it any more."""
    _values.pop(uid, None)
