"""Every operator: it runs, says why it cannot, is one step of undo, and does the same when it is run again."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.operator_cases import CASES, Case, alone, duo, rig
from tests.support.operators_helpers import operators, refusal
from tests.support.snapshot import changed, differences, snapshot

_WINDOW_SCRIPTS = Path(__file__).resolve().parents[2] / "window"
rows = pytest.mark.parametrize("name", sorted(CASES))


def now() -> dict[str, Any]:
    import bpy

    bpy.context.view_layer.update()
    return snapshot()


@pytest.fixture
def scene(blank: Any, tmp_path: Path) -> Any:
    """An empty scene without our preferences; those that a case enables are taken away after it."""
    yield tmp_path
    for entry in [entry for entry in blank.preferences.addons if entry.module == "addon"]:
        blank.preferences.addons.remove(entry)


def test_every_operator_has_its_row_and_every_row_its_operator(blank: Any) -> None:
    assert sorted(operators()) == sorted(CASES)


def test_what_runs_in_a_window_alone_has_its_script() -> None:
    for name, case in CASES.items():
        for script in re.findall(r"\w+\.py", case.window):
            assert (_WINDOW_SCRIPTS / script).is_file(), f"{name}: there is no {script}"


def test_what_asks_or_goes_on_for_a_while_names_its_script(blank: Any) -> None:
    """``execute`` never shows the popup, the file browser or the timer."""
    import bpy

    asking = {name for name in CASES if "modal" in vars_of(getattr(bpy.types, operators()[name].idname()))}
    assert asking and all(CASES[name].window for name in asking)


def vars_of(cls: Any) -> set[str]:
    """What a class and its bases of ours define."""
    return {name for base in cls.__mro__ if base.__module__.startswith("addon") for name in vars(base)}


@rows
def test_each_operator_runs_and_is_one_step_of_undo(scene: Path, name: str) -> None:
    import bpy

    case, run = CASES[name], operators()[name]
    options = case.ready(scene) or {}
    bpy.ops.ed.undo_push(message="before")
    before = now()
    if case.needs_window:
        with pytest.raises(RuntimeError, match=case.needs_window):
            run("EXEC_DEFAULT", True, **options)
        assert differences(before, now()) == []
        return
    assert run("EXEC_DEFAULT", True, **options) == {"FINISHED"}
    after = now()
    if case.no_step:
        told = [path for path in changed(before, after) if "/knuckle/report/" not in path]  # lines of the Report panel
        assert told == [], case.no_step
        return
    assert before != after, "it did nothing"
    bpy.ops.ed.undo()
    assert differences(before, now()) == []
    bpy.ops.ed.redo()
    assert differences(after, now()) == []
    bpy.ops.ed.undo()  # as Adjust Last Operation does: undone and run again
    assert run("EXEC_DEFAULT", True, **options) == {"FINISHED"}
    assert differences(after, now()) == [], "run again, it does something else"


def test_each_operator_reports_why_it_cannot_run(scene: Path) -> None:
    """Scene by scene, and all operators that refuse it."""
    import bpy

    scenes: dict[Any, list[tuple[str, str]]] = {}
    for name, case in CASES.items():
        for ready, why in case.refused:
            scenes.setdefault(ready, []).append((name, why))
    every = operators()
    for ready, asked in scenes.items():
        bpy.ops.wm.read_homefile(use_factory_startup=True, use_empty=True)
        ready(scene)
        bpy.context.view_layer.update()
        for name, why in asked:
            assert why in refusal(every[name]), name


def test_each_operator_reports_a_missing_mechanism(blank: Any) -> None:
    for name, run in operators().items():
        if CASES[name].model:
            assert "There is no mechanism in the scene: import one" in refusal(run), name
        else:
            assert CASES[name].refused or run.poll(), name


def _of_models() -> dict[str, Any]:
    import bpy

    from addon.blender.ui.base.operators import ModelOperator

    every = operators()
    return {name: run for name, run in every.items() if issubclass(getattr(bpy.types, run.idname()), ModelOperator)}


def test_each_operator_reports_an_ambiguous_choice_of_two_mechanisms(scene: Path) -> None:
    import bpy

    alone(scene)
    alone(scene)
    bpy.context.view_layer.objects.active = None
    for obj in bpy.context.view_layer.objects:
        obj.select_set(False)
    for name, run in _of_models().items():
        if name != "import_anim.servo_motion":  # its popup asks which
            assert "The scene has 2 mechanisms: select a part of one" in refusal(run), name


def test_each_operator_reports_what_to_do_about_a_linked_copy(scene: Path) -> None:
    import bpy

    duo(scene)
    bpy.ops.object.duplicate(linked=True)
    copy = bpy.context.view_layer.objects.active
    assert copy.data == rig().data and copy.name != rig().name
    for name, run in _of_models().items():
        if name != "import_anim.servo_motion":  # its popup asks which
            assert "is a linked copy (Alt+D)" in refusal(run), name


def test_from_another_file_nothing_can_be_changed(scene: Path) -> None:
    import bpy

    duo(scene)
    bpy.ops.wm.save_as_mainfile(filepath=str(scene / "there.blend"))
    bpy.ops.wm.read_homefile(use_factory_startup=True, use_empty=True)
    with bpy.data.libraries.load(str(scene / "there.blend"), link=True) as (there, here):
        here.collections = [name for name in there.collections if name.startswith("duo")]
    bpy.context.scene.collection.children.link(here.collections[0])
    bpy.context.view_layer.objects.active = rig()
    for name, run in _of_models().items():
        if name == "export_anim.servo_motion":
            assert run.poll(), "it changes nothing"
        elif name != "import_anim.servo_motion":  # it looks for one that can be changed
            assert "is linked from another file: make it local first" in refusal(run), name


def test_a_case_has_all_that_its_operator_can_say() -> None:
    """An operator that has reasons of its own shows them in its row."""
    import bpy

    from addon.blender.ui.base.operators import ModelOperator

    for name, case in CASES.items():
        cls = getattr(bpy.types, operators()[name].idname())
        own = [base for base in cls.__mro__ if "poll_message" in vars(base) and base is not ModelOperator]
        assert not own or case.refused, f"{name} has a reason of its own"
        assert isinstance(case, Case)
