"""Which models Blender's simulation has at the present frame, the runs that control them, and who moves their bodies.

A run keeps what it gathered of a model, rigid bodies and constraints by their addresses: whoever makes these anew, or
takes them away, has to drop it. By the rig's ``session_uid``, which a new name does not change.
"""

from __future__ import annotations

from collections.abc import Iterable

import bpy

from ..bodies.kinematic import follow_bones, moving_bodies
from .controller import ServoRun

_runs: dict[int, ServoRun] = {}
#: The frame at which Blender's simulation has a model, as long as frames go on by one.
_at: dict[int, int] = {}


def run_of(rig: bpy.types.Object) -> ServoRun | None:
    """The run that controls a model."""
    return _runs.get(rig.session_uid)


def keep(run: ServoRun) -> None:
    """A run controls its model from now on."""
    _runs[run.rig.session_uid] = run


def drop(rig: bpy.types.Object) -> None:
    """What a run gathered of a model is no longer so, and the simulation may not have all of it."""
    _runs.pop(rig.session_uid, None)


def lose(rig: bpy.types.Object) -> None:
    """Blender's simulation does not have a model where it is now."""
    _at.pop(rig.session_uid, None)


def forget(frames: bool = True) -> None:
    """Drop all runs; with ``frames``, what Blender's simulation has is not known either."""
    _runs.clear()
    if frames:
        _at.clear()


def come_to(rigs: Iterable[bpy.types.Object], frame: int, start: int) -> None:
    """Before a frame: Blender takes a step to it only from the one before, and begins at ``start``."""
    for rig in rigs:
        at = _at.get(rig.session_uid)
        if frame <= start:
            _at[rig.session_uid] = start
        elif at == frame - 1:
            _at[rig.session_uid] = frame
        elif at != frame:
            lose(rig)


def is_led(rig: bpy.types.Object, frame: int) -> bool:
    """Return whether Blender's simulation has a model at a frame, having come to it from the first."""
    return _at.get(rig.session_uid) == frame


def hold(rig: bpy.types.Object) -> None:
    """Have a model's bodies follow their bones until a run begins: where physics has not come to, Blender shows what is
    under physics at the origin, or wherever it was last."""
    drop(rig)
    follow_bones(moving_bodies(rig), True)
