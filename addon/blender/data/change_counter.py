"""A number that grows with every change of the file that Blender tells of: what was worked out at one number holds
until there is another. Panels are drawn far more often than anything changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import bpy
from bpy.app.handlers import persistent

from ..events.signals import Handlers, hang, take_down
from .access import armature_of, record_of
from .queries import parts, rigs_in

#: Of each joint its name and whether it follows its loop; and the names of the bones.
Names = tuple[tuple[tuple[str, bool], ...], tuple[str, ...]]

_now = {"number": 0}
_Answer = TypeVar("_Answer")

#: Answers by what was asked and the rig's ``session_uid``, with the state at which they were worked out.
_held: dict[tuple[Callable[..., Any], int], tuple[tuple[int, ...], Any]] = {}
#: The models of scenes by the scene's ``session_uid``.
_scenes: dict[int, SceneModels] = {}


def held(ask: Callable[[bpy.types.Object], _Answer], rig: bpy.types.Object) -> _Answer:
    """What ``ask`` says of a model, worked out once between two changes.

    It may keep neither objects nor records: numbers and names stay what they are when those are freed.
    """
    state = state_of(rig)
    kept = _held.get((ask, rig.session_uid))
    if kept is None or kept[0] != state:
        kept = _held[ask, rig.session_uid] = state, ask(rig)
    answer: _Answer = kept[1]
    return answer


def state_of(rig: bpy.types.Object) -> tuple[int, ...]:
    """Return what is another after every change."""
    data, every = armature_of(rig), bpy.data
    return data.session_uid, len(data.bones), *_changes(), len(every.collections), len(every.texts), len(every.scenes)


def _changes() -> tuple[int, ...]:
    """The number of changes.

    Counts tell of what a script added or deleted, of which Blender tells no sooner than it works out the scene.
    """
    return _now["number"], len(bpy.data.objects)


class SceneModels:
    """The models of a scene between two changes, for what is done at every frame: one look tells all who are called
    there whether anything changed."""

    def __init__(self, scene: bpy.types.Scene, state: tuple[int, ...]) -> None:
        self._scene, self._state = scene, state
        self._found: dict[Callable[..., Any], list[bpy.types.Object]] = {}
        #: All of them, with those of other files.
        self.every = list(rigs_in(scene, linked=True))
        self._data = self._data_now()
        self._kept: dict[int, Any] = {}
        self._kept_at = _now["number"]

    def of(self, ask: Callable[[bpy.types.Scene], Iterable[bpy.types.Object]]) -> list[bpy.types.Object]:
        """Those of the models that ``ask`` says, asked for once."""
        if ask not in self._found:
            self._found[ask] = list(ask(self._scene))
        return self._found[ask]

    @property
    def kept(self) -> dict[int, Any]:
        """Values kept for each of them, by its ``session_uid``, until something changes, here and now too."""
        if self._kept_at != _now["number"]:
            self._kept, self._kept_at = {}, _now["number"]
        return self._kept

    def holds(self, state: tuple[int, ...]) -> bool:
        """Return whether nothing changed since."""
        try:
            return self._state == state and self._data_now() == self._data
        except ReferenceError:  # one is gone, and another came
            return False

    def _data_now(self) -> list[int]:
        return [rig.data.session_uid for rig in self.every if rig.data is not None]


def models_at_frames(scene: bpy.types.Scene) -> SceneModels:
    """The models of a scene as they are now."""
    state = *_changes(), len(scene.collection.children)
    kept = _scenes.get(scene.session_uid)
    if kept is None or not kept.holds(state):
        kept = _scenes[scene.session_uid] = SceneModels(scene, state)
    return kept


def names_of(rig: bpy.types.Object) -> Names:
    """What a model's joints and bones are called, read once between two changes."""
    return held(_names, rig)


def _names(rig: bpy.types.Object) -> Names:
    joints = tuple((empty.name, record_of(empty).joint.follows) for empty in parts(rig, "JOINT"))
    return joints, tuple(armature_of(rig).bones.keys())


@persistent
def after_change(*_args: Any) -> None:
    """Something is another now."""
    _now["number"] += 1


@persistent
def forget(*_args: Any) -> None:
    """All of it, or another file."""
    after_change()
    _held.clear()
    _scenes.clear()


_HANDLERS: Handlers = (
    ("depsgraph_update_post", after_change),
    ("undo_post", forget),
    ("redo_post", forget),
    ("load_post", forget),
    ("load_factory_startup_post", forget),
)


def register() -> None:
    """Hang in what counts."""
    hang(_HANDLERS)


def unregister() -> None:
    """Take it out again."""
    take_down(_HANDLERS)
    forget()
