"""Modal work in a window: its timer, the progress that is shown meanwhile, and how it ends.

An operator that runs ends this itself, or is told to by Blender as another file is opened. Nobody tells it when the
add-on is switched off: Blender drops operators whose class goes, and leaves what they hung in. So it is kept here."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import bpy

_going: list[UnderWay] = []


class UnderWay:
    """A timer of ``tick`` seconds, and ``close`` that leaves everything as it was; ``leave`` has to be called.

    ``name`` is the identifier of the operator, by which panels find its ``text`` and the ``share`` that is done."""

    def __init__(self, context: bpy.types.Context, tick: float, close: Callable[[], Any], name: str = "") -> None:
        self.name, self.text, self.share = name, "", 0.0
        self._manager, self._workspace = context.window_manager, context.workspace
        self._close = close
        self._timer = self._manager.event_timer_add(tick, window=context.window)
        _going.append(self)

    def tell(self, text: str) -> None:
        """Say in the status bar how far it is."""
        self._workspace.status_text_set(text)

    def show(self, line: str, text: str, share: float) -> None:
        """Show progress: ``line`` in the status bar and the headers of 3D views, ``text`` and ``share`` in panels."""
        changed = text != self.text
        self.text, self.share = text, share
        self._manager.progress_update(100.0 * share)
        if changed:
            self.tell(line)
            for area in self._views():
                area.header_text_set(line)
                for region in area.regions:
                    if region.type == "UI":
                        region.tag_redraw()

    def _views(self) -> list[Any]:
        areas = (area for window in self._manager.windows for area in window.screen.areas)
        return [area for area in areas if area.type == "VIEW_3D"]

    def leave(self) -> None:
        """Take all of it away; does nothing the second time."""
        if self not in _going:
            return
        _going.remove(self)
        with contextlib.ExitStack() as steps:  # each of them is taken, whatever another comes to
            for step in (self._close, self._stop_timer, self._hush):
                steps.callback(_unless_gone, step)

    def _stop_timer(self) -> None:
        self._manager.event_timer_remove(self._timer)

    def _hush(self) -> None:
        self._workspace.status_text_set(None)
        if self.text:
            for area in self._views():
                area.header_text_set(None)
                area.tag_redraw()


def _unless_gone(step: Callable[[], Any]) -> None:
    """What was deleted meanwhile needs no putting back."""
    with contextlib.suppress(ReferenceError):
        step()


def under_way(*names: str) -> UnderWay | None:
    """The work of one of these operators that goes on now."""
    return next((each for each in _going if each.name in names), None)


def are_under_way() -> int:
    """Return how many go on."""
    return len(_going)


def leave_all() -> None:
    """The add-on is switched off."""
    while _going:
        _going[-1].leave()
