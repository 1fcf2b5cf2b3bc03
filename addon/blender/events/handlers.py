"""Handlers: every function of ours that Blender or our signals call, in their order; events of files.

Modules connect their functions when they register, in any order; the table decides their places in a list. For the file
that is open when the add-on is enabled our ``load_post`` handlers are called here.

Note:
    During ``register()`` ``bpy.data`` is restricted and no ``load_post`` follows, so the handlers are called once from
    the first timer or depsgraph update.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any, ClassVar

import bpy
from bpy.app.handlers import persistent

from ...formats.document import cache
from .runtime_state import Lifetime, RuntimeState, end_states, state_of
from .signals import Signal, signal_handlers

#: Before and after a step of undo or redo.
_HISTORY_PRE = (
    "physics.simulation.live_input.end_live_sessions",
    "physics.workarounds.undo_guard.before_history_step",
)
_HISTORY_POST = (
    "events.handlers.end_history_states",
    "data.change_counter.count_change",
    "editing.migration.after_load",
    "animation.renamed_bones.after_step",
    "physics.workarounds.undo_guard.after_history_step",
    "data.datablocks.rebuild_object_lists",
    "physics.simulation.frame_handlers.reset_after_undo",
    "editing.symmetry.live_mirror.after_undo_step",
    "ui.simulation.physics_view._on_undo",
    "animation.motion_checks.invalidate_motion_checks",
    "ui.overlay._on_file_change",
)

#: Functions by the name of the list, as paths from ``addon/blender``. Some are connected only for a time: the overlay's
#: and Live Input's while they are on, and ``_evaluate_opened`` until a file is open.
HANDLER_ORDER: Mapping[str, Sequence[str]] = {
    "load_pre": ("physics.simulation.live_input.end_live_sessions",),
    "load_post": (
        "events.handlers.end_file_states",
        "data.change_counter.count_change",
        "data.copied_mechanisms.mark_loaded_models",
        "editing.migration.after_load",
        "editing.symmetry.live_mirror.after_load",
        "events.handlers.clear_document_cache",
        "animation.rotation_stops.after_load",
        "physics.simulation.frame_handlers.reset_after_load",
        "animation.loops.live_solver.after_load",
        "animation.motion_checks.invalidate_motion_checks",
        "ui.overlay._on_file_change",
        "events.handlers.note_file_loaded",
        "animation.loops.live_solver._evaluate_opened",
    ),
    "load_factory_startup_post": (
        "events.handlers.end_file_states",
        "data.change_counter.count_change",
        "data.copied_mechanisms.mark_loaded_models",
        "events.handlers.clear_document_cache",
        "physics.simulation.frame_handlers.reset_after_load",
        "animation.motion_checks.invalidate_motion_checks",
        "ui.overlay._on_file_change",
    ),
    "save_pre": (
        "physics.simulation.live_input.unpose_before_save",
        "animation.rotation_stops.before_save",
        "physics.simulation.simulation_scene.restore_before_save",
    ),
    "save_post": ("physics.simulation.simulation_scene.show_after_save",),
    "frame_change_pre": ("physics.simulation.handler_table._before_frame",),
    "frame_change_post": (
        "physics.simulation.handler_table._after_frame",
        "ui.overlay._on_scene_update",
        "ui.simulation.live_input._after_frame",
    ),
    "depsgraph_update_pre": ("physics.simulation.handler_table._before_update",),
    "depsgraph_update_post": (
        "data.change_counter.count_change",
        "data.copied_mechanisms.adopt_new_models",
        "editing.migration.after_update",
        "animation.renamed_bones.after_update",
        "physics.simulation.handler_table._after_update",
        "editing.symmetry.live_mirror.after_update",
        "animation.motion_checks._on_depsgraph_update",
        "events.handlers.notify_open_file",
        "ui.overlay._on_scene_update",
    ),
    "undo_pre": _HISTORY_PRE,
    "redo_pre": _HISTORY_PRE,
    "undo_post": _HISTORY_POST,
    "redo_post": _HISTORY_POST,
}
#: Functions that our signals call, likewise.
SIGNAL_HANDLERS: Mapping[Signal, Sequence[str]] = {
    Signal.JOINT: (
        "physics.simulation.handler_table.apply_joint_edit",
        "animation.motion_checks.invalidate_motion_checks",
    ),
    Signal.VALUE: ("editing.symmetry.live_mirror.mirror_value_change", "ui.overlay._on_joint_edit"),
    Signal.BODY: (
        "physics.simulation.handler_table.apply_body_edit",
        "editing.symmetry.live_mirror.mirror_body_change",
        "ui.overlay._on_part_edit",
    ),
    Signal.DRIVE: (
        "physics.simulation.handler_table.apply_drive",
        "ui.simulation.physics_view._drive_changed",
        "ui.simulation.operators._measure_later",
    ),
    Signal.WORLD: ("physics.simulation.handler_table.apply_world_edit",),
    Signal.GROUND: ("physics.simulation.handler_table.apply_ground_edit",),
    Signal.WORLD_CHOICE: ("physics.simulation.handler_table.apply_world_choice",),
    Signal.SYMMETRY: ("editing.symmetry.live_mirror.restart_live_mirror",),
    Signal.TWIN: ("editing.symmetry.live_mirror.twin_changed", "ui.overlay._on_part_edit"),
    Signal.MARKED_VALUE: ("physics.simulation.handler_table.set_on_marked_dofs",),
    Signal.SERVO_CHOSEN: ("data.channels.store_chosen_servo",),
    Signal.SERVO_NAMES: ("data.channels.servo_names_by_joint",),
    Signal.RIG_UPDATE: ("editing.symmetry.live_mirror._rig_updated",),
    Signal.BONES_RENAMED: ("editing.symmetry.live_mirror.bones_renamed",),
}

#: Pairs of a signal, or the name of a list in ``bpy.app.handlers``, and a function that it calls.
Handlers = Sequence[tuple[Signal | str, Callable[..., Any]]]

_PACKAGE = __package__.removesuffix("events")


def connect(handlers: Handlers) -> None:
    """Add handlers, in the places that the tables give them; do nothing the second time.

    Raises:
        LookupError: One is not in the table.
    """
    for name, act in handlers:
        calls = _calls(name)
        if act not in calls:
            rank = _rank(name, act)
            if rank < 0:
                raise LookupError(f"{_path(act)}: not in the table of {name!r}. Add it where it has to run")
            behind = (place for place, other in enumerate(calls) if _rank(name, other) > rank)
            calls.insert(next(behind, len(calls)), act)


def disconnect(handlers: Handlers) -> None:
    """Remove handlers from their lists."""
    for name, act in handlers:
        if act in _calls(name):
            _calls(name).remove(act)


def _calls(name: Signal | str) -> Any:
    return signal_handlers(name) if isinstance(name, Signal) else getattr(bpy.app.handlers, name)


def _path(act: Callable[..., Any]) -> str:
    """Return a function of ours as its path from ``addon/blender``."""
    return f"{act.__module__.removeprefix(_PACKAGE)}.{act.__qualname__}"


def _rank(name: Signal | str, act: Callable[..., Any]) -> int:
    """Return the place of a handler in the table; -1 for one of another add-on, which stays where it is."""
    path = _path(act) if isinstance(act, FunctionType) else ""
    order = SIGNAL_HANDLERS[name] if isinstance(name, Signal) else HANDLER_ORDER[name]
    return order.index(path) if path in order else -1


@persistent
def end_history_states(*_args: Any) -> None:
    """End the states that undo and redo invalidate."""
    end_states(Lifetime.HISTORY)


@persistent
def end_file_states(*_args: Any) -> None:
    """End the states of the previous file."""
    end_states(Lifetime.FILE)


@dataclass
class _OpenFile(RuntimeState):
    """Record of the call of our ``load_post`` handlers for the open file."""

    lifetime: ClassVar = Lifetime.PROGRAM
    is_noticed: bool = True


@persistent
def notify_open_file(*_args: Any) -> None:
    """Call our ``load_post`` handlers once for the open file, as soon as ``bpy.data`` is accessible."""
    if state_of(_OpenFile).is_noticed or not hasattr(bpy.data, "scenes"):
        return
    state_of(_OpenFile).is_noticed = True
    ours = (__package__ or "").rpartition(".")[0]  # all packages beside this one
    every: list[Any] = bpy.app.handlers.load_post
    for act in every:  # a copy: some handlers append others
        if act is not note_file_loaded and act.__module__.startswith(ours):
            act(bpy.data.filepath)


@persistent
def note_file_loaded(*_args: Any) -> None:
    """Note that Blender itself calls the ``load_post`` handlers."""
    state_of(_OpenFile).is_noticed = True


#: With a window a timer comes first; in background mode there are no timers, so the next depsgraph update serves.
_HANDLERS: Handlers = (("depsgraph_update_post", notify_open_file), ("load_post", note_file_loaded))


def register() -> None:
    """Call the handlers for the open file, now or as soon as possible."""
    state_of(_OpenFile).is_noticed = False
    connect(_HANDLERS)
    notify_open_file()
    if not state_of(_OpenFile).is_noticed:
        bpy.app.timers.register(_notify_from_timer, first_interval=0.0)


def unregister() -> None:
    """Remove the handlers and the timer."""
    disconnect(_HANDLERS)
    if bpy.app.timers.is_registered(_notify_from_timer):
        bpy.app.timers.unregister(_notify_from_timer)


def _notify_from_timer() -> None:
    notify_open_file()


_STATE_HANDLERS: Handlers = (
    ("undo_post", end_history_states),
    ("redo_post", end_history_states),
    ("load_post", end_file_states),
    ("load_factory_startup_post", end_file_states),
)


def register_states() -> None:
    """Add the handlers that end states."""
    connect(_STATE_HANDLERS)


def unregister_states(lifetime: Lifetime = Lifetime.PROGRAM) -> None:
    """Remove the handlers that end states, and end the states up to a lifetime: all by default."""
    disconnect(_STATE_HANDLERS)
    end_states(lifetime)


@persistent
def clear_document_cache(*_: Any) -> None:
    """Clear the caches of parsed documents when another file is opened."""
    cache.clear_content_caches()


_CACHE_HANDLERS: Handlers = (("load_post", clear_document_cache), ("load_factory_startup_post", clear_document_cache))


def register_cache_reset() -> None:
    """Add the handlers that clear the document caches."""
    connect(_CACHE_HANDLERS)


def unregister_cache_reset() -> None:
    """Remove the handlers and clear the document caches."""
    disconnect(_CACHE_HANDLERS)
    clear_document_cache()
