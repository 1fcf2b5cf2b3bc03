"""Counter of the changes that Blender reports, and caches that are valid until it changes.

Panels are drawn far more often than anything changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import bpy
from bpy.app.handlers import persistent

from ..events.handlers import Handlers, connect, disconnect
from ..events.runtime_state import Lifetime, RuntimeState, state_of
from .access import armature_of, record_of
from .queries import is_simulation_scene, parts, rigs_in

#: Name of each joint and whether it is the dependent joint of a closed loop; then the names of the bones.
RigNames = tuple[tuple[tuple[str, bool], ...], tuple[str, ...]]

_Result = TypeVar("_Result")


@dataclass
class _Changes(RuntimeState):
    """Number of changes so far, and of those outside of simulation scenes that Blender reported."""

    lifetime: ClassVar = Lifetime.PROGRAM
    number: int = 0
    edits: int = 0


@dataclass
class _Results(RuntimeState):
    """Results of functions of a mechanism, with the state for which they were computed."""

    known: dict[Callable[..., Any], tuple[tuple[int, ...], Any]] = field(default_factory=dict)


@dataclass
class _KnownModels(RuntimeState):
    """The mechanisms of a scene."""

    models: SceneModels | None = None


def cached_until_change(ask: Callable[[bpy.types.Object], _Result], rig: bpy.types.Object) -> _Result:
    """Return the result of a function of a mechanism, computed once between two changes.

    Args:
        ask: Function of the armature object. Its result must hold no objects or property groups, only numbers and
            names, which stay valid when those are freed.
        rig: The armature object.
    """
    state, known = change_state(rig), state_of(_Results, rig).known
    kept = known.get(ask)
    if kept is None or kept[0] != state:
        kept = known[ask] = state, ask(rig)
    answer: _Result = kept[1]
    return answer


def change_state(rig: bpy.types.Object) -> tuple[int, ...]:
    """Return a key that differs after every change of a mechanism or its file."""
    data, every = armature_of(rig), bpy.data
    return (
        data.session_uid,
        len(data.bones),
        *_change_counts(),
        len(every.collections),
        len(every.texts),
        len(every.scenes),
    )


def _change_counts() -> tuple[int, ...]:
    """Return the change counter and the count of objects.

    Note:
        The count reveals what a script added or deleted, which Blender reports only with the next depsgraph update.
    """
    return state_of(_Changes).number, len(bpy.data.objects)


class SceneModels:
    """The mechanisms of a scene between two changes, for frame-change handlers: they share one check for changes."""

    def __init__(self, scene: bpy.types.Scene, state: tuple[int, ...]) -> None:
        self._scene, self._state = scene, state
        self._found: dict[Callable[..., Any], list[bpy.types.Object]] = {}
        #: All mechanisms of the scene, with linked ones.
        self.every = list(rigs_in(scene, linked=True))
        self._data = self._data_uids()
        self._kept: dict[int, Any] = {}
        self._cached_at = state_of(_Changes).number

    def of(self, ask: Callable[[bpy.types.Scene], Iterable[bpy.types.Object]]) -> list[bpy.types.Object]:
        """Return the mechanisms that a function selects from the scene, computed once."""
        if ask not in self._found:
            self._found[ask] = list(ask(self._scene))
        return self._found[ask]

    @property
    def kept(self) -> dict[int, Any]:
        """Values by the ``session_uid`` of a mechanism, emptied by every change, also one during the present frame."""
        now = state_of(_Changes).number
        if self._cached_at != now:
            self._kept, self._cached_at = {}, now
        return self._kept

    def holds(self, state: tuple[int, ...]) -> bool:
        """Return whether nothing has changed since the state was taken."""
        try:
            return self._state == state and self._data_uids() == self._data
        except ReferenceError:  # one was removed and another added
            return False

    def _data_uids(self) -> list[int]:
        return [rig.data.session_uid for rig in self.every if rig.data is not None]


def models_between_changes(scene: bpy.types.Scene) -> SceneModels:
    """Return the mechanisms of a scene, from the cache while nothing changed."""
    state = *_change_counts(), len(scene.collection.children)
    known = state_of(_KnownModels, scene)
    if known.models is None or not known.models.holds(state):
        known.models = SceneModels(scene, state)
    return known.models


def joint_and_bone_names(rig: bpy.types.Object) -> RigNames:
    """Return the names of a mechanism's joints and bones, read once between two changes."""
    return cached_until_change(_read_names, rig)


def _read_names(rig: bpy.types.Object) -> RigNames:
    joints = tuple((empty.name, record_of(empty).joint.is_dependent) for empty in parts(rig, "JOINT"))
    return joints, tuple(armature_of(rig).bones.keys())


def edit_number() -> int:
    """Return the number of changes so far that Blender reported, without those in simulation scenes."""
    return state_of(_Changes).edits


@persistent
def count_change(scene: Any = None, *_args: Any) -> None:
    """Count a change; called as a handler with the scene in which it was."""
    changes = state_of(_Changes)
    changes.number += 1
    changes.edits += isinstance(scene, bpy.types.Scene) and not is_simulation_scene(scene)


_HANDLERS: Handlers = (
    ("depsgraph_update_post", count_change),
    ("undo_post", count_change),
    ("redo_post", count_change),
    ("load_post", count_change),
    ("load_factory_startup_post", count_change),
)


def register() -> None:
    """Add the handlers that count changes."""
    connect(_HANDLERS)


def unregister() -> None:
    """Remove the handlers."""
    disconnect(_HANDLERS)
