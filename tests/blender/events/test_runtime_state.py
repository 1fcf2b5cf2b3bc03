"""States outside the .blend: each belongs to a datablock or to none, and ends as its lifetime says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import pytest

import addon
from addon.blender.data.properties import model as properties
from addon.blender.events.runtime_state import Lifetime, RuntimeState, all_states, end_state, state_of
from addon.blender.physics.simulation import handler_table


class OfHistory(RuntimeState):
    """Until undo."""


class OfFile(RuntimeState):
    """Until another file."""

    lifetime = Lifetime.FILE


class OfProgram(RuntimeState):
    """Until the extension is disabled."""

    lifetime = Lifetime.PROGRAM


KINDS = (OfHistory, OfFile, OfProgram)


def left(before: list[RuntimeState]) -> list[type]:
    """The kinds whose states are still the same."""
    return [kind for kind, state in zip(KINDS, before, strict=True) if state_of(kind) is state]


def test_a_state_belongs_to_its_datablock(blank: Any) -> None:
    one, other = (bpy.data.objects.new(name, None) for name in ("One", "Other"))
    state = state_of(OfFile, one)
    assert state_of(OfFile, one) is state is state_of(OfFile, one.session_uid)
    assert state_of(OfFile, other) is not state and state_of(OfFile) is not state
    one.name = "Another Name"
    assert state_of(OfFile, one) is state
    assert len(all_states(OfFile)) == 3
    end_state(OfFile, one)
    assert state_of(OfFile, one) is not state
    end_state(OfFile)
    assert all_states(OfFile) == []


def test_undo_and_redo_end_what_refers_to_datablocks(blank: Any) -> None:
    bpy.ops.ed.undo_push(message="first")
    bpy.ops.ed.undo_push(message="second")
    for step in (bpy.ops.ed.undo, bpy.ops.ed.redo):
        before = [state_of(kind) for kind in KINDS]
        step()
        assert left(before) == [OfFile, OfProgram]


def test_another_file_ends_all_but_the_programs(blank: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "a.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    before = [state_of(kind) for kind in KINDS]
    bpy.ops.wm.open_mainfile(filepath=path)
    assert left(before) == [OfProgram]


@pytest.mark.parametrize("scripted", [False, True])
def test_states_end_also_where_only_functions_are_used(blank: Any, tmp_path: Path, scripted: bool) -> None:
    """Scripts that build a mechanism without ``addon.register``."""
    path = str(tmp_path / "a.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    if scripted:
        addon.unregister()
        properties.register()
        handler_table.register()
    try:
        before = [state_of(kind) for kind in KINDS]
        bpy.ops.wm.open_mainfile(filepath=path)
        assert left(before) == [OfProgram]
    finally:
        if scripted:
            handler_table.unregister()
            addon.register()


def test_disabling_ends_all(blank: Any) -> None:
    before = [state_of(kind) for kind in KINDS]
    addon.unregister()
    try:
        assert left(before) == []
        assert not addon.is_registered()
    finally:
        addon.register()
    assert addon.is_registered()
