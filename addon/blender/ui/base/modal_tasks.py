"""Modal tasks: long work that runs in slices while Blender draws, with a progress display and Esc to stop.

Running tasks are kept in a list, because disabling the add-on notifies no operator: Blender drops operators whose
class is unregistered and leaves their timers behind. ``stop_all_tasks`` ends them.
"""

from __future__ import annotations

import contextlib
import inspect
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import bpy

from ....core.report import Message
from ...events.runtime_state import Lifetime, RuntimeState, state_of
from ...locale import translated
from ...progress import TimeEstimate, WorkStep, format_duration
from .operators import ERRORS, ModelOperator, Result, cancel_with_error, polled_model, report_message

#: Generator of the work: each step is a ``WorkStep`` or its first two fields.
TaskSteps = Generator[tuple[Any, ...], None, Any]

_TIME_SLICE = 0.05  # seconds of work per timer event
_TIMER_INTERVAL = 0.01


class _StoppedWithinStepError(Exception):
    """A task was stopped by what one of its steps called."""


class ModalTask(ModelOperator):
    """Base of operators whose work is a generator of steps (``WorkStep``) that returns its result.

    Invoked from a button or menu it runs modally, one slice per timer event, while Blender draws. Called from a
    script or without a window it runs to the end at once. Closing the generator must restore the previous state.
    """

    bl_idname = "knuckle.long_work"
    bl_label = "Long Work"

    _steps: TaskSteps | None = None
    _running_task: RunningTask | None = None
    _pace: TimeEstimate | None = None

    def steps(self, context: bpy.types.Context, rig: bpy.types.Object) -> TaskSteps:
        """Return the generator that does the work."""
        raise NotImplementedError

    def finish(self, context: bpy.types.Context, result: Any) -> None:
        """Report the result to the user after the last step."""

    def progress_text(self, step: WorkStep) -> str:
        """Return the status text of a step."""
        return self.bl_label

    def stopped_message(self) -> str:
        """Return the message for a user who has stopped the task."""
        return Message("{}: stopped, nothing was changed", self.bl_label)

    def work(self, context: bpy.types.Context, rig: bpy.types.Object) -> Result:
        """Run all steps at once."""
        steps = self.steps(context, rig)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                self.finish(context, end.value)
                return {"FINISHED"}

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> Result:
        """Start the task in a window; without one, run it at once."""
        if not is_interactive(context):
            return self.execute(context)
        try:
            self._steps = self.steps(context, polled_model(context))
            next(self._steps)  # the first step reports invalid options at once
        except StopIteration as end:
            self.finish(context, end.value)
            return {"FINISHED"}
        except ERRORS as error:
            return cancel_with_error(self, error)
        stop_playback(context)
        manager, steps = context.window_manager, self._steps
        manager.progress_begin(0, 100)

        def close() -> None:
            try:
                if inspect.getgeneratorstate(steps) != inspect.GEN_RUNNING:  # else _next_step ends it
                    steps.close()
            finally:
                manager.progress_end()

        self._running_task, self._pace = (
            RunningTask(context, _TIMER_INTERVAL, close, type(self).bl_idname),
            TimeEstimate(),
        )
        manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> Result:
        """Run a slice on each timer event; Esc stops the task.

        All other events are blocked: an edit or an undo would change the scene that the task works on.
        """
        if event.type == "ESC" and event.value == "PRESS":
            self._leave()
            report_message(self, {"INFO"}, self.stopped_message())
            return {"CANCELLED"}
        if event.type != "TIMER":
            return {"RUNNING_MODAL"}
        try:
            self._slice(context)
        except StopIteration as end:
            self._leave()
            self.finish(context, end.value)
            return {"FINISHED"}
        except _StoppedWithinStepError:
            return {"CANCELLED"}
        except ERRORS as error:
            self._leave()
            return cancel_with_error(self, error)
        except ReferenceError:  # deleted in another window or by a script
            self._leave()
            return cancel_with_error(
                self, Message("{}: stopped, because its mechanism was deleted or undone", self.bl_label)
            )
        except BaseException:
            self._leave()
            raise
        return {"RUNNING_MODAL"}

    def cancel(self, context: bpy.types.Context) -> None:
        """Stop the task when Blender closes its window or opens another file."""
        self._leave()

    def _slice(self, context: bpy.types.Context) -> None:
        steps, task = self._steps, self._running_task
        assert steps is not None and task is not None and self._pace is not None
        until = time.perf_counter() + _TIME_SLICE
        step = _next_step(steps, task)
        while time.perf_counter() < until:
            step = _next_step(steps, task)
        text = progress_text(step, self._pace.left(step.portion, time.perf_counter()))
        task.show(translated(Message("{}: {}.  Esc stops it", self.progress_text(step), text)), text, step.portion)

    def _leave(self) -> None:
        if self._running_task is not None:
            self._running_task.leave()


def _next_step(steps: TaskSteps, task: RunningTask) -> WorkStep:
    """Do a step of a task.

    Raises:
        _StoppedWithinStepError: If the step itself stopped the task, as when a handler of a rendered frame quits
            Blender. A generator cannot be closed while it works, hence here. The operator may be gone by now.
    """
    try:
        step = WorkStep(*next(steps))
    except BaseException as error:
        if task.is_running:
            raise
        raise _StoppedWithinStepError from error
    if not task.is_running:
        steps.close()
        raise _StoppedWithinStepError
    return step


def progress_text(step: WorkStep, seconds_left: float | None) -> str:
    """Return a progress text such as ``12 of 76 (15 %, 80 s left)``."""
    part, parts = step.counted
    percent = int(100 * step.portion)
    if seconds_left is None:
        return translated(Message("{} of {} ({} %)", part, parts, percent))
    return translated(Message("{} of {} ({} %, {} left)", part, parts, percent, format_duration(seconds_left)))


def is_interactive(context: bpy.types.Context) -> bool:
    """Return whether Blender runs with a window, so that a user can press Esc."""
    return not bpy.app.background and context.window is not None


def is_playing(context: bpy.types.Context) -> bool:
    """Return whether the context's screen plays the animation."""
    return context.screen is not None and context.screen.is_animation_playing


def stop_playback(context: bpy.types.Context) -> None:
    """Stop the animation where it is."""
    if is_playing(context):
        bpy.ops.screen.animation_cancel(restore_frame=False)


@dataclass
class _RunningTasks(RuntimeState):
    """The running modal tasks."""

    lifetime: ClassVar = Lifetime.PROGRAM
    tasks: list[RunningTask] = field(default_factory=list)


def _running_tasks() -> list[RunningTask]:
    return state_of(_RunningTasks).tasks


class RunningTask:
    """Timer and progress display of a running modal task; ``leave`` must be called at its end.

    Args:
        context: Context of the operator. Its window gets the timer.
        tick: Interval of the timer (s).
        close: Called once by ``leave``; restores the previous state.
        name: Identifier of the operator, by which panels find the task.

    Attributes:
        text: Progress text for panels.
        share: Share of the work that is done, 0 to 1.
    """

    def __init__(self, context: bpy.types.Context, tick: float, close: Callable[[], Any], name: str = "") -> None:
        self.name, self.text, self.share = name, "", 0.0
        self._manager, self._workspace = context.window_manager, context.workspace
        self._close = close
        self._timer = self._manager.event_timer_add(tick, window=context.window)
        _running_tasks().append(self)

    @property
    def is_running(self) -> bool:
        """True until ``leave`` is called."""
        return self in _running_tasks()

    def show_status(self, text: str) -> None:
        """Show a line in the status bar."""
        if self._workspace is not None:
            self._workspace.status_text_set(text)

    def show(self, line: str, text: str, share: float) -> None:
        """Show progress: ``line`` in the status bar and the headers of 3D views, ``text`` and ``share`` in panels."""
        changed = text != self.text
        self.text, self.share = text, share
        self._manager.progress_update(100.0 * share)
        if changed:
            self.show_status(line)
            for area in self._views():
                area.header_text_set(line)
                for region in area.regions:
                    if region.type == "UI":
                        region.tag_redraw()

    def _views(self) -> list[Any]:
        areas = (area for window in self._manager.windows for area in window.screen.areas)
        return [area for area in areas if area.type == "VIEW_3D"]

    def leave(self) -> None:
        """Call ``close``, remove the timer and clear the status texts; later calls do nothing."""
        if not self.is_running:
            return
        _running_tasks().remove(self)
        with contextlib.ExitStack() as steps:  # each step runs, even if another raises
            for step in (self._close, self._stop_timer, self._clear_status_texts):
                steps.callback(_ignore_deleted, step)

    def _stop_timer(self) -> None:
        self._manager.event_timer_remove(self._timer)

    def _clear_status_texts(self) -> None:
        if self._workspace is not None:
            self._workspace.status_text_set(None)
        if self.text:
            for area in self._views():
                area.header_text_set(None)
                area.tag_redraw()


def _ignore_deleted(step: Callable[[], Any]) -> None:
    """Run a step, ignoring ``ReferenceError``: what was deleted meanwhile needs no restoring."""
    with contextlib.suppress(ReferenceError):
        step()


def running_task(*names: str) -> RunningTask | None:
    """Return the running task of one of these operators; None if none runs."""
    return next((each for each in _running_tasks() if each.name in names), None)


def busy_message() -> str:
    """Return the reason why no further task can start; empty if none runs that shows progress."""
    task = next((each for each in _running_tasks() if each.name), None)
    if task is None:
        return ""
    if task.name == "knuckle.fit_world":
        return "Substeps are being measured: Esc stops it"
    if task.name == "knuckle.check_convergence":
        return "Convergence is being checked: Esc stops it"
    if task.name == "knuckle.compare_mujoco":
        return "MuJoCo is simulating: Esc stops it"
    is_bake = task.name == "knuckle.bake_physics"
    return "A simulation is being baked: Esc stops it" if is_bake else "A video is being rendered: Esc stops it"


def running_task_count() -> int:
    """Return the number of running tasks."""
    return len(_running_tasks())


def stop_all_tasks() -> None:
    """Stop all running tasks, as when the add-on is disabled."""
    while _running_tasks():
        _running_tasks()[-1].leave()
