"""Handlers stand in Blender's lists as the table orders them, whatever the order of registration."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import bpy
import pytest

import addon
from addon.blender.events.handlers import HANDLER_ORDER, SIGNAL_HANDLERS, connect, disconnect
from addon.blender.events.signals import Signal, emit, is_writing, signal_handlers, update_callback, writing_records


def ours(name: Signal | str) -> list[Any]:
    every = signal_handlers(name) if isinstance(name, Signal) else getattr(bpy.app.handlers, name)
    return [act for act in every if act.__module__.startswith("addon.")]


def paths(name: Signal | str) -> list[str]:
    return [f"{act.__module__.removeprefix('addon.blender.')}.{act.__qualname__}" for act in ours(name)]


@pytest.fixture
def registered() -> Iterator[None]:
    addon.unregister()
    addon.register()
    yield
    addon.unregister()
    addon.register()


@pytest.mark.parametrize("seed", range(5))
def test_the_order_does_not_depend_on_the_order_of_registration(registered: None, seed: int) -> None:
    for name, order in [*HANDLER_ORDER.items(), *SIGNAL_HANDLERS.items()]:
        every, before = ours(name), paths(name)
        assert before == [path for path in order if path in before]
        random.Random(seed).shuffle(every)
        disconnect([(name, act) for act in every])
        assert ours(name) == []
        for act in every:
            connect([(name, act)])
        assert paths(name) == before


def test_every_handler_in_the_table_exists(registered: None) -> None:
    from importlib import import_module

    for order in HANDLER_ORDER.values():
        for path in order:
            module, _dot, function = path.rpartition(".")
            assert callable(getattr(import_module(f"addon.blender.{module}"), function)), path


def test_a_handler_of_another_add_on_keeps_its_place(registered: None) -> None:
    calls = bpy.app.handlers.load_post

    def other(*_args: Any) -> None: ...

    calls.insert(0, other)
    last = ours("load_post")[-1]
    try:
        disconnect([("load_post", last)])
        connect([("load_post", last)])
        assert calls[0] is other and ours("load_post")[-1] is last
    finally:
        calls.remove(other)


def test_a_handler_that_is_not_in_the_table_is_refused() -> None:
    with pytest.raises(LookupError, match="test_handlers"):
        connect([("load_post", paths)])


def test_nothing_is_connected_twice_and_nothing_is_left_behind(registered: None) -> None:
    for name in HANDLER_ORDER:
        every, before = ours(name), paths(name)
        connect([(name, act) for act in every])
        assert paths(name) == before
    addon.unregister()
    assert not any(ours(name) for name in HANDLER_ORDER)


def test_signals_call_what_the_table_lists(registered: None) -> None:
    """All but the overlay's, which listens while it is on; one that is not in the table is an error."""
    assert SIGNAL_HANDLERS.keys() == {*Signal}
    for signal, order in SIGNAL_HANDLERS.items():
        assert paths(signal) == [path for path in order if not path.startswith("ui.overlay.")]
    with pytest.raises(LookupError, match="not in the table"):
        connect([(Signal.BODY, test_signals_call_what_the_table_lists)])


def test_update_callbacks_emit_nothing_while_records_are_written() -> None:
    told: list[Any] = []
    armature, other = (bpy.data.armatures.new(name) for name in ("one", "other"))
    signal_handlers(Signal.TWIN).append(told.append)
    try:

        class Record:
            id_data = armature

        changed: Any = update_callback(Signal.TWIN)
        with writing_records():
            with writing_records():
                changed(Record, bpy.context)
            assert is_writing()
            changed(Record, bpy.context)
            assert told == []
            emit(Signal.TWIN, other)
        changed(Record, bpy.context)
    finally:
        signal_handlers(Signal.TWIN).remove(told.append)
    assert told == [other, armature] and not is_writing()
