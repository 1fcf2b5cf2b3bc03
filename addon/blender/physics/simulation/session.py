"""Controllers of simulated mechanisms, and the frame at which Blender's simulation has each mechanism.

A controller holds references to rigid bodies and constraints: code that recreates or removes these must drop it.
Mechanisms are identified by the armature's ``session_uid``, which renaming does not change.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import bpy

from ..world.anchor import moving_bodies, set_kinematic

if TYPE_CHECKING:
    from .controller import MechanismController

_controllers: dict[int, MechanismController] = {}
#: The frame at which Blender's simulation has a mechanism, as long as frames advance by one.
_simulated_frames: dict[int, int] = {}


def controller_of(rig: bpy.types.Object) -> MechanismController | None:
    """Return the controller of a mechanism, or None."""
    return _controllers.get(rig.session_uid)


def add_controller(run: MechanismController) -> None:
    """Register a controller for its mechanism."""
    _controllers[run.rig.session_uid] = run


def drop_controller(rig: bpy.types.Object) -> None:
    """Remove the controller of a mechanism, whose references may be invalid."""
    _controllers.pop(rig.session_uid, None)


def mark_unsimulated(rig: bpy.types.Object) -> None:
    """Note that Blender's simulation does not have a mechanism at the present frame."""
    _simulated_frames.pop(rig.session_uid, None)


def drop_all_controllers(frames: bool = True) -> None:
    """Remove all controllers; with ``frames``, also the frames at which Blender's simulation has mechanisms."""
    _controllers.clear()
    if frames:
        _simulated_frames.clear()


def advance_to(rigs: Iterable[bpy.types.Object], frame: int, start: int) -> None:
    """Update, before a frame, the frames at which Blender's simulation has mechanisms.

    Note:
        Blender steps to a frame only from the one before, and begins at ``start``.
    """
    for rig in rigs:
        at = _simulated_frames.get(rig.session_uid)
        if frame <= start:
            _simulated_frames[rig.session_uid] = start
        elif at == frame - 1:
            _simulated_frames[rig.session_uid] = frame
        elif at != frame:
            mark_unsimulated(rig)


def is_simulated_at(rig: bpy.types.Object, frame: int) -> bool:
    """Return whether Blender's simulation has a mechanism at a frame, simulated from the first."""
    return _simulated_frames.get(rig.session_uid) == frame


def hold_on_bones(rig: bpy.types.Object) -> None:
    """Make a mechanism's bodies follow their bones until a simulation begins.

    Note:
        At frames that are not simulated, Blender shows dynamic bodies at the origin, or wherever they were last.
    """
    drop_controller(rig)
    set_kinematic(moving_bodies(rig), True)


def controller_at(rig: bpy.types.Object, frame: int) -> MechanismController | None:
    """Return the controller that controlled a mechanism for the step to a frame, or None."""
    run = controller_of(rig)
    return run if run is not None and run.commanded_frame == frame else None
