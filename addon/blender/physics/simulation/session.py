"""Simulation sessions: all that is known about the simulation of each scene.

Sessions are the state of physics outside the .blend. A controller holds references to rigid bodies and constraints:
code that recreates or removes these must drop it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import bpy
import numpy as np

from ....core.model import Array
from ...data.access import world_of
from ...data.change_counter import SceneModels
from ...events.runtime_state import Lifetime, RuntimeState, all_states, state_of
from ..world.anchor import moving_bodies, set_kinematic

if TYPE_CHECKING:
    from ..workarounds.initial_state import AnimationPause, InitialStatePin, InitialStep
    from .controller import ModelController

#: Largest difference of positions (length units) at which the frame shown is the simulation's.
_POSITION_TOLERANCE = 1e-4
_NO_FRAME = -(2**31)


@dataclass
class CachedRun:
    """Progress of a simulation.

    Its fingerprint at the start, the last frame that it reached, the frame at which Blender has it now, and the
    positions of bodies at each frame.
    """

    mark: bytes
    reach: int = _NO_FRAME
    now: int = _NO_FRAME
    places: dict[int, Array] = field(default_factory=dict)
    is_interrupted: bool = False

    @property
    def has_frames(self) -> bool:
        """True if the simulation has reached any frame."""
        return self.reach != _NO_FRAME

    def interrupt(self) -> None:
        """Interrupt the simulation: its frames can still be shown, but not continued."""
        self.is_interrupted, self.now = True, _NO_FRAME

    def came_to(self, frame: int, places: Array) -> None:
        """Store the positions of bodies after a step."""
        self.reach = self.now = frame
        self.places[frame] = places.astype(np.float32)

    def shows(self, frame: int, places: Array) -> bool:
        """Return whether bodies are where the simulation had them at a frame."""
        then = self.places.get(frame)
        return (
            then is not None
            and then.shape == places.shape
            and bool(np.abs(then - places).max(initial=0.0) < _POSITION_TOLERANCE)
        )


@dataclass
class SimulationSession(RuntimeState):
    """State of one scene's simulation.

    Attributes:
        controllers: Controllers of its mechanisms, by the armature's ``session_uid``.
        frames: The frame at which Blender's simulation has each mechanism, as long as frames advance by one.
        last_frame: The last evaluated frame.
        pins: Objects and animation that are held during the first step.
        world_size: Size of the world at the last check for deletions.
        rested_world_size: Size of the world when it was last decided whether it is idle.
        moved: Mechanisms that physics moves at the present frame.
        has_stepped: The simulation took a step to the present frame.
        is_internal: Our own code visits the present frame.
        models: The scene's mechanisms while a frame is evaluated.
        run: Progress of the present simulation.
        note: The reason why the frame shown is not the simulation's; empty if it is.
        is_protected: The cache is marked as baked while it is read.
        stretch: Frames that the present simulation takes for each frame of the scene.
        prepared: Key of the changes at which the mechanisms were last copied into the simulation scene.
        mark: Fingerprint of the mechanisms at that time.
    """

    lifetime: ClassVar = Lifetime.FILE
    controllers: dict[int, ModelController] = field(default_factory=dict)
    frames: dict[int, int] = field(default_factory=dict)
    last_frame: int | None = None
    pins: list[AnimationPause | InitialStatePin | InitialStep] = field(default_factory=list)
    world_size: tuple[int, ...] = ()
    rested_world_size: tuple[int, ...] = ()
    moved: Sequence[bpy.types.Object] = ()
    has_stepped: bool = False
    is_internal: bool = False
    models: SceneModels | None = None
    run: CachedRun | None = None
    note: str = ""
    is_protected: bool = False
    stretch: int = 1
    prepared: tuple[object, ...] = ()
    mark: bytes = b""

    def controller_of(self, rig: bpy.types.Object) -> ModelController | None:
        """Return the controller of a mechanism, or None."""
        return self.controllers.get(rig.session_uid)

    def advance_to(self, rigs: Iterable[bpy.types.Object], frame: int, start: int) -> None:
        """Update, before a frame, the frames at which Blender's simulation has mechanisms.

        Note:
            Blender steps to a frame only from the one before, and begins at ``start``.
        """
        for rig in rigs:
            at = self.frames.get(rig.session_uid)
            if frame <= start:
                self.frames[rig.session_uid] = start
            elif at == frame - 1:
                self.frames[rig.session_uid] = frame
            elif at != frame:
                self.frames.pop(rig.session_uid, None)

    def is_simulated_at(self, rig: bpy.types.Object, frame: int) -> bool:
        """Return whether Blender's simulation has a mechanism at a frame, simulated from the first."""
        return self.frames.get(rig.session_uid) == frame

    def interrupt(self) -> None:
        """Clear what undo invalidates: references, velocities, turns and forces."""
        self.controllers.clear()
        self.frames.clear()
        self.pins.clear()
        self.world_size = self.rested_world_size = ()
        self.moved, self.models, self.prepared = (), None, ()
        self.has_stepped = self.is_internal = False
        if self.run is not None:
            self.run.interrupt()


def session_of(scene: bpy.types.Scene) -> SimulationSession:
    """Return the session of a scene."""
    return state_of(SimulationSession, scene)


def all_sessions() -> Sequence[SimulationSession]:
    """Return the sessions of all scenes."""
    return all_states(SimulationSession)


def drop_controller(rig: bpy.types.Object) -> None:
    """Remove the controller of a mechanism, whose references may be invalid."""
    for each in all_sessions():
        each.controllers.pop(rig.session_uid, None)
        for uid in [uid for uid, run in each.controllers.items() if run.original_uid == rig.session_uid]:
            del each.controllers[uid]  # that of its simulated copy


def mark_unsimulated(rig: bpy.types.Object) -> None:
    """Note that Blender's simulation does not have a mechanism at the present frame."""
    for each in all_sessions():
        each.frames.pop(rig.session_uid, None)


def hold_on_bones(rig: bpy.types.Object) -> None:
    """Make a mechanism's bodies follow their bones until a simulation begins.

    Note:
        At frames that are not simulated, Blender shows dynamic bodies at the origin, or wherever they were last.
    """
    drop_controller(rig)
    set_kinematic(moving_bodies(rig), True)


def controller_at(scene: bpy.types.Scene, rig: bpy.types.Object, frame: int) -> ModelController | None:
    """Return the controller that controlled a mechanism for the step to a frame, or None."""
    run = session_of(scene).controller_of(rig)
    return run if run is not None and run.commanded_frame == frame else None


@contextmanager
def time_stretched(scene: bpy.types.Scene, steps: int) -> Iterator[None]:
    """Slow the scene's physics down by ``steps`` within the context, so that servos are controlled more often.

    Frame ``first + k * steps`` then corresponds to frame ``first + k``, and its substeps are shared out among those
    frames.
    """
    session, world = session_of(scene), world_of(scene)
    kept, substeps = world.time_scale, world.substeps_per_frame
    session.stretch = steps
    try:
        if steps != 1:
            world.time_scale, world.substeps_per_frame = kept / steps, math.ceil(substeps / steps)
        yield
    finally:
        session.stretch = 1
        left = scene.rigidbody_world  # it may have been removed meanwhile
        if steps != 1 and left is not None:
            left.time_scale, left.substeps_per_frame = kept, substeps
