"""What goes on for a while is ended half-way, in every way there is: by Esc, by another file, by what it works on being
deleted or undone, by the add-on being switched off. Nothing of it stays, the scene is as it was, and it can be done
again.

Blender as a module has a window that is not shown, in which operators wait for events: it really tells them that
another file comes, and really drops them when their class goes. Only the events themselves are handed to them here."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.references import mujoco_missing
from tests.support.small import models, put
from tests.support.snapshot import differences, snapshot

ADDON = Path(__file__).resolve().parents[3] / "addon"
FILM: dict[str, Any] = {"size": (64, 36), "samples": 1}
#: How many frames are played; every other one is shot.
FRAMES = 8


@dataclass
class Work:
    """A modal operator: its options, the file that it makes, and after how many steps it is in its midst."""

    options: dict[str, Any] = field(default_factory=dict)
    makes: str = ""
    steps: tuple[int, ...] = (2,)
    physics: bool = False
    baked: bool = False
    mujoco: bool = False


#: Every modal operator that is registered. Films are played first, and then shot.
WORKS = {
    "knuckle.bake_physics": Work({"frame_end": FRAMES}, physics=True),
    "knuckle.check_convergence": Work(steps=(2, 70), physics=True, baked=True),
    "knuckle.compare_mujoco": Work(steps=(2, 12), physics=True, baked=True, mujoco=True),
    "knuckle.render_film": Work(FILM, "film.mp4", steps=(2, 9)),
    "knuckle.preview_film": Work(FILM),
    "knuckle.sweep": Work({"seconds": 0.3}),
}
#: What needs a view, with a pointer or while it plays, and the driver of ``tests/window`` that tries it.
DRAGGED = {
    "KNUCKLE_GT_stop": "overlays.py",
    "knuckle.live_input": "live_input.py",
    "knuckle.fit_world": "step_trials.py",
}
#: The modules that hang timers or drawing into Blender. Each takes them out again where it is told to below.
HANGING = {
    "ui/base/modal_tasks.py": "stop_all_tasks",
    "ui/joints/stops.py": "running_task",
    "ui/joints/stop_gizmos.py": "unregister",
    "ui/servos/sliders.py": "unregister",
    "ui/overlay.py": "unregister",
    "ui/simulation/live_input.py": "unregister",
    "ui/simulation/operators.py": "unregister",
    "ui/simulation/panel.py": "unregister",
    "events/handlers.py": "unregister",
}


def test_every_modal_operator_and_handler_has_its_row() -> None:
    from addon.blender import ui

    modal = {cls.bl_idname for cls in ui._CLASSES if any("modal" in vars(base) for base in cls.__mro__ if _ours(base))}
    assert modal == {*WORKS, *DRAGGED}
    word = re.compile(r"event_timer_add|timers\.register|draw_handler_add|modal_handler_add")
    found = {
        path.relative_to(ADDON / "blender").as_posix()
        for path in (ADDON / "blender").rglob("*.py")
        if word.search(path.read_text(encoding="utf-8"))
    }
    assert found == {*HANGING}


def _ours(cls: type) -> bool:
    return cls.__module__.startswith("addon")


# ---------------------------------------------------------------- how it is ended


def other_file(folder: Path) -> None:
    import bpy

    bpy.ops.wm.open_mainfile(filepath=str(folder / "saved.blend"))


def new_file(_folder: Path) -> None:
    import bpy

    bpy.ops.wm.read_homefile(use_factory_startup=True, use_empty=True)


def undone(_folder: Path) -> None:
    import bpy

    bpy.ops.ed.undo()


def armature_gone(_folder: Path) -> None:
    import bpy

    bpy.data.objects.remove(models()[0])


def model_gone(_folder: Path) -> None:
    """All of it, physics first: where bodies go under constraints that run, Blender crashes without us as well."""
    import bpy

    rig = models()[0]
    bpy.context.view_layer.objects.active = rig
    if bpy.ops.knuckle.clear_physics.poll():
        bpy.ops.knuckle.clear_physics()
    bpy.data.batch_remove([obj for obj in bpy.data.objects if rig in (obj.knuckle.model, obj)])


def world_gone(_folder: Path) -> None:
    """With what was in it. By Blender's own operator, 5.0 crashes as the next file comes, without us as well."""
    import bpy

    bpy.ops.knuckle.clear_physics()
    assert bpy.context.scene.rigidbody_world is None


def scene_gone(_folder: Path) -> None:
    import bpy

    bpy.data.scenes.new("Another")
    bpy.data.scenes.remove(bpy.context.scene)


def switched_off(_folder: Path) -> None:
    import addon

    addon.unregister()


#: Blender itself tells of the first two. Nobody tells of the others: the next step finds it, or the switch does.
ENDS: dict[str, Callable[[Path], None] | None] = {
    "Esc": None,
    "another file": other_file,
    "a new file": new_file,
    "undo": undone,
    "the armature deleted": armature_gone,
    "the model deleted": model_gone,
    "the world deleted": world_gone,
    "the scene deleted": scene_gone,
    "switched off": switched_off,
}
#: After these the model and the scene are there as they were.
KEEPING = {"Esc", "switched off"}


@pytest.fixture
def place(blank: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to work in, with temporary files in a folder of it, and operators that believe in a window."""
    import addon
    from addon.blender.ui.base import modal_tasks
    from addon.blender.ui.joints import stops

    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    for module in (modal_tasks, stops):
        monkeypatch.setattr(module, "is_interactive", lambda _context: True)
    monkeypatch.setattr(modal_tasks, "_TIME_SLICE", 0.0)  # a step per event
    yield tmp_path
    if not addon.is_registered():
        addon.register()


def imported(folder: Path, work: Work) -> Any:
    import bpy

    path = put(folder / "flapper.jm")
    assert bpy.ops.import_scene.mechanism(filepath=str(path), gait_seconds=0.1, physics=work.physics) == {"FINISHED"}
    rig, scene = models()[0], bpy.context.scene
    rig.data.knuckle.drive = "SERVO" if work.physics else "KEYS"
    scene.frame_end = FRAMES
    scene.frame_set(1)
    bpy.context.view_layer.objects.active = bpy.data.objects["Left Joint"]
    if work.baked:
        assert bpy.ops.knuckle.bake_physics() == {"FINISHED"}
    bpy.context.view_layer.update()
    return rig


def begun(name: str, work: Work, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The operator at work, as its button has it: a class that Blender called."""
    import bpy

    held: list[Any] = []
    cls = getattr(bpy.types, getattr(bpy.ops.knuckle, name.removeprefix("knuckle.")).idname())

    def invoked(self: Any, context: Any) -> Any:
        held.append(self)
        return self.invoke(context, None)

    with monkeypatch.context() as patched:
        patched.setattr(cls, "execute", invoked, raising=False)
        assert run(name, work, folder) == {"RUNNING_MODAL"}
    return held[0]


def run(name: str, work: Work, folder: Path) -> set[str]:
    import bpy

    options = dict(work.options)
    if work.makes:
        options["filepath"] = str(folder / work.makes)
    return getattr(bpy.ops.knuckle, name.removeprefix("knuckle."))(**options)  # type: ignore[no-any-return]


def event(kind: str) -> Any:
    return SimpleNamespace(type=kind, value="PRESS" if kind == "ESC" else "NOTHING")


CASES = [
    pytest.param(name, end, steps, id=f"{name.removeprefix('knuckle.')} {steps}, {end}")
    for name, work in WORKS.items()
    for end in ENDS
    for steps in (work.steps if end in {"Esc", "switched off", "undo"} else work.steps[-1:])
    if end != "the world deleted" or work.physics
]


@pytest.mark.parametrize(("name", "end", "steps"), CASES)
def test_a_cancelled_task_leaves_the_scene_as_it_was(
    place: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any, name: str, end: str, steps: int
) -> None:
    import bpy

    import addon
    from addon.blender.ui.base import modal_tasks

    work, stop = WORKS[name], ENDS[end]
    if work.mujoco and (why := mujoco_missing()):
        pytest.skip(why)
    bpy.ops.ed.undo_push(message="empty")
    imported(place, work)
    bpy.ops.wm.save_as_mainfile(filepath=str(place / "saved.blend"), copy=True)
    bpy.ops.ed.undo_push(message="imported")
    scenes, before = len(bpy.data.scenes), snapshot()
    stopped: list[Any] = []
    plain = modal_tasks.RunningTask._stop_timer
    monkeypatch.setattr(modal_tasks.RunningTask, "_stop_timer", lambda self: (stopped.append(self), plain(self)))
    operator = begun(name, work, place, monkeypatch)
    for _ in range(steps):
        assert operator.modal(bpy.context, event("TIMER")) == {"RUNNING_MODAL"}, "it is in its midst"
    assert modal_tasks.running_task_count() == 1
    if stop is None:
        assert operator.modal(bpy.context, event("ESC")) <= {"CANCELLED", "FINISHED"}
    else:
        stop(place)
    if end not in {"Esc", "another file", "a new file", "switched off"}:
        answers = [operator.modal(bpy.context, event("TIMER"))]
        until = time.perf_counter() + 5.0
        while answers[-1] == {"RUNNING_MODAL"} and time.perf_counter() < until:
            answers.append(operator.modal(bpy.context, event("TIMER")))
        assert answers[-1] <= {"CANCELLED", "FINISHED"}
    assert modal_tasks.running_task_count() == 0
    assert len(stopped) == 1, "its timer was taken away"
    if not addon.is_registered():
        addon.register()
    if end in KEEPING:
        bpy.context.view_layer.update()
        assert differences(before, snapshot()) == []
    assert not [scene.name for scene in bpy.data.scenes if scene.name.startswith("Knuckle")]
    assert list((place / "temporary").iterdir()) == []
    assert not work.makes or end not in KEEPING or not (place / work.makes).exists(), "half a file"
    if end not in KEEPING:
        bpy.ops.wm.read_homefile(use_factory_startup=True, use_empty=True)
        imported(place, work)
    assert run(name, work, place) == {"FINISHED"}, "it can be done again"
    assert not work.makes or (place / work.makes).stat().st_size > 0
    assert len(bpy.data.scenes) == (scenes if end in KEEPING else 1)
    told = "".join(capfd.readouterr())
    assert "Traceback" not in told, told[told.find("Traceback") :]


def test_a_stop_that_is_dragged_as_the_add_on_goes_leaves_no_drawing(place: Path) -> None:
    """Its value is drawn beside the pointer: once, and no more when the add-on is switched off."""
    import addon
    from addon.blender.ui.joints import stop_gizmos

    stop_gizmos._show_label()
    handle = stop_gizmos.GizmoState.drawn
    stop_gizmos._show_label()  # another file came, and of the drag before nobody told
    assert stop_gizmos.GizmoState.drawn is handle
    addon.unregister()
    assert stop_gizmos.GizmoState.drawn is None


# ---------------------------------------------------------------- jobs of the command line

#: What takes long there: its words, at which step Ctrl-C is pressed, and what is left of it by right: the frames of a
#: film, to go on with.
JOBS: dict[str, tuple[str, int, set[str]]] = {
    "a run": ("simulate flapper.jm --seconds 0.1 --out x.csv", 3, set()),
    "a run to a .blend": ("simulate flapper.jm --seconds 0.1 --out x.blend", 3, set()),
    "runs": ("simulate flapper.jm --seconds 0.1 --to csv --out-dir runs", 3, set()),
    "a film that is played": ("render flapper.jm --seconds 0.1 --size 64x36 --out x.mp4", 3, set()),
    "a film that is shot": (
        "render flapper.jm --seconds 0.1 --size 64x36 --out x.mp4", 9,
        {"x_frames/film.json", "x_frames/000001.png", "x_frames/000002.png"},
    ),
    "a picture": ("render flapper.jm --seconds 0.1 --size 64x36 --out x.png", 3, set()),
    "frames": ("render stage.blend --frames 1..3 --out frames", 1, {"frames/000001.png"}),
    "a demo": ("demo flapper.jm --seconds 0.1 --out demo", 3, set()),
}  # fmt: skip


@pytest.mark.parametrize("job", JOBS)
def test_ctrl_c_leaves_no_half_file(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, job: str) -> None:
    from addon.blender.tasks import ConsoleProgress
    from addon.cli import main

    words, step, left = JOBS[job]
    monkeypatch.chdir(place)
    put(place / "flapper.jm")
    if "stage.blend" in words:
        make = "render flapper.jm --seconds 0.1 --size 64x36 --prepare stage.blend --quiet"
        assert main(make.split()) == 0
    before, counted = files(place), [0]

    def pressed(self: Any, done: int, total: int) -> None:
        counted[0] += 1
        if counted[0] == step:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(ConsoleProgress, "__call__", pressed)
        assert main(words.split()) == 1
    told = capsys.readouterr().err
    assert "knuckle: stopped" in told
    assert "Traceback" not in told
    assert files(place) - before == left
    if "x_frames/film.json" in left:
        assert "2 frames are kept" in told
        assert main([*words.split(), "--resume"]) == 0
        assert "Frames: 2 of 4 were rendered before" in capsys.readouterr().out
        assert files(place) - before == {"x.mp4"}


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
