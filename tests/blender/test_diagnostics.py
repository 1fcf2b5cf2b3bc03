"""The self-check: sound here, honest about what is broken, and the open file stays as it was."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from addon.installation import ROW_STATES, CheckRow, rows_as_text
from tests.support.operator_cases import duo, mode
from tests.support.snapshot import differences, snapshot


@pytest.fixture
def found(blank: Any) -> Iterator[list[CheckRow]]:
    """What the last check of the session found; nothing at first."""
    from addon.blender.events.runtime_state import state_of
    from addon.blender.ui import preferences

    rows = state_of(preferences._LastCheck).rows
    rows.clear()
    yield rows
    rows.clear()


def part(rows: list[CheckRow], name: str) -> CheckRow:
    [row] = [row for row in rows if row.part == name]
    return row


def test_the_self_check_finds_nothing_here_and_leaves_the_open_file(found: list[CheckRow], tmp_path: Path) -> None:
    """Also in the middle of an edit: the armature is in edit mode, physics in the scene, a part selected."""
    import bpy

    from addon import installation

    duo(tmp_path)
    bpy.data.objects["Left Leg"].select_set(True)
    mode("EDIT")()
    bpy.context.scene.frame_set(3)
    bpy.context.view_layer.update()
    before = snapshot()
    assert bpy.ops.knuckle.self_check() == {"FINISHED"}
    assert bpy.context.mode == "EDIT_ARMATURE"
    assert differences(before, snapshot()) == []
    wrong = [row for row in found if row.state in {"error", "warning"} and row.part != "Graphics"]
    assert wrong == []
    assert part(found, "Knuckle").text == installation.package_version()
    assert part(found, "Blender").text.startswith(bpy.app.version_string)
    runs = [row for row in found if row.part.startswith("Test of ")]
    assert [Path(row.part.split()[-1]).suffix for row in runs] == [".jm", ".skel", ".json", ".xml"]
    for row in runs:
        assert row.text.startswith("imported, keyframed, 10 frames simulated, exported identically"), row


def test_the_report_goes_to_the_clipboard(found: list[CheckRow], blank: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a window there is no clipboard: what would go there is caught."""
    from addon.blender.ui import preferences

    checked: list[int] = []
    monkeypatch.setattr(
        preferences, "run_self_check", lambda: checked.append(1) or [CheckRow("a", "error", "is gone", "get it")]
    )
    board = SimpleNamespace(clipboard="")
    operator = SimpleNamespace(report=lambda kind, text: None)
    for _ in range(2):
        assert preferences.KNUCKLE_OT_copy_check.execute(operator, SimpleNamespace(window_manager=board)) == {
            "FINISHED"
        }
    assert board.clipboard == rows_as_text(found) == "error   a: is gone\n        -> get it\n"
    assert checked == [1], "what was found already is not looked for again"


def drawn(rows: list[CheckRow]) -> list[tuple[str, str, bool]]:
    """What the preferences show of rows: text, icon and whether it is red."""
    import bpy

    from addon.blender.events.runtime_state import state_of
    from addon.blender.ui import preferences

    state_of(preferences._LastCheck).rows[:] = rows
    shown: list[tuple[str, str, bool]] = []

    def layout() -> Any:
        made = MagicMock()
        made.alert = False
        made.row.side_effect = made.box.side_effect = made.column.side_effect = lambda **_how: layout()
        made.label.side_effect = lambda text, icon="NONE", **_how: shown.append((text, icon, made.alert))
        return made

    preferences.draw_check(bpy.context, layout())
    return shown


def test_rows_are_green_or_red_with_what_to_do(found: list[CheckRow]) -> None:
    import bpy

    rows = [CheckRow("Knuckle", "ok", "1.0"), CheckRow("lxml", "error", "cannot be imported", "Get it")]
    told = drawn(rows)
    assert told[:3] == [
        ("Self-check: 1 error, 0 warnings", "CANCEL", False),
        ("lxml: cannot be imported", "CANCEL", True),
        ("Get it", "NONE", False),
    ], "the worst first"
    assert told[3:] == [("Knuckle: 1.0", "COLORSET_03_VEC", False)]
    assert drawn([]) == []
    icons = bpy.types.UILayout.bl_rna.functions["label"].parameters["icon"].enum_items.keys()
    assert {icon for state in ROW_STATES for _text, icon, _red in drawn([CheckRow("a", state, "b")])} <= set(icons)


def test_a_sample_that_is_missing_or_spoilt_is_reported(
    blank: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import bpy

    from addon.blender import diagnostics as smoke

    monkeypatch.setattr(smoke, "sample_path", lambda name: tmp_path / Path(name).name)
    (tmp_path / "desk_lamp.skel").write_text("<skel")
    before = snapshot()
    rover, lamp, *_rest = smoke.smoke_rows()
    assert (rover.state, rover.remedy) == (
        "error",
        "Restore the folder sample_models",
    ) and "rover.jm is missing" in rover.text
    assert lamp.state == "error" and "FormatError" in lamp.text
    assert differences(before, snapshot()) == []
    assert [scene.name for scene in bpy.data.scenes] == ["Scene"]


@pytest.mark.parametrize(
    ("name", "instead", "told"),
    [
        (
            "extract",
            lambda collection: __import__("addon").formats.load(SAMPLE),
            "export differs from the imported file",
        ),
        ("apply", lambda motion, collection, scene: None, ": keyframe "),
    ],
)
def test_a_step_that_does_something_else_is_found(
    blank: Any, monkeypatch: pytest.MonkeyPatch, name: str, instead: Any, told: str
) -> None:
    """The check itself can fail: a step is put out of action, and everything is cleaned up all the same."""
    from addon.blender import diagnostics as smoke
    from addon.installation import sample_path

    monkeypatch.setattr(smoke, name, instead)
    before = snapshot()
    row = smoke._smoke_row("rover/rover.jm") if name == "apply" else smoke._smoke_row("pumpjack/pumpjack.json")
    assert row.state == "error" and told in row.text, row
    assert sample_path("rover/rover.jm").is_file()
    assert differences(before, snapshot()) == []


SAMPLE = Path(__file__).resolve().parents[2] / "sample_models/rover/rover.jm"


def test_a_physics_that_does_nothing_is_found(blank: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    from addon.blender import diagnostics as smoke

    def still(*words: Any) -> Any:
        made = smoke_record(*words)
        made.poses = np.repeat(made.poses[:1], len(made.poses), axis=0)
        return made

    smoke_record = smoke.record
    monkeypatch.setattr(smoke, "record", still)
    assert "simulation: no body moves" in smoke._smoke_row("rover/rover.jm").text


def test_a_blender_without_physics_or_video_is_reported(blank: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As distributions build some: everything else is checked nevertheless."""
    import bpy

    from addon.blender import diagnostics as machine
    from addon.blender import diagnostics as smoke

    poor = SimpleNamespace(bullet=False, codec_ffmpeg=False, io_wavefront_obj=True, io_stl=True)
    app = SimpleNamespace(build_options=poor, background=True, tempdir=bpy.app.tempdir)
    for module in (machine, smoke):
        fake = MagicMock(wraps=bpy)
        fake.app, fake.data, fake.context, fake.types = app, bpy.data, bpy.context, bpy.types
        monkeypatch.setattr(module, "bpy", fake)
    rows = machine.machine_rows()
    assert (part(rows, "Physics engine").state, part(rows, "Video encoder").state) == ("error", "warning")
    assert (part(rows, "OBJ reader").state, part(rows, "PLY reader").state) == ("ok", "note")
    row = smoke._smoke_row("rover/rover.jm")
    assert row.state == "ok" and row.text.startswith("imported, keyframed, exported identically"), row


@pytest.mark.parametrize("state", ["gone", "read-only"])
def test_a_folder_that_cannot_be_written_is_reported(
    blank: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    from addon.blender import diagnostics as machine

    folder = tmp_path / "temporary"
    if state == "read-only":
        folder.mkdir(mode=0o500)
        if os.access(folder, os.W_OK):  # whoever may write everywhere may not here
            folder = Path("/sys/kernel")
        if not folder.is_dir():
            pytest.skip("every folder of this system can be written by whoever runs this")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    row = part(machine.machine_rows(), "Temporary files")
    assert row.state == "error" and str(folder) in row.text and "File Paths" in row.remedy


def test_graphics_that_fail_are_a_warning(blank: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from addon.blender import diagnostics as machine

    def broken() -> None:
        raise ValueError("Graphics: drawing is not possible: no display")

    monkeypatch.setattr(machine, "init_gpu", broken)
    row = part(machine.machine_rows(), "Graphics")
    assert (row.state, row.text) == ("warning", "Graphics: drawing is not possible: no display")


def test_the_command_line_prints_the_self_check_and_returns_its_result(
    blank: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from addon.blender import tasks
    from addon.cli import main

    rows = [CheckRow("a", "ok", "fine")]
    monkeypatch.setattr(tasks, "run_self_check", lambda: rows)
    assert main(["self-check"]) == 0
    assert capsys.readouterr().out == "ok      a: fine\nSelf-check passed\n"
    rows.append(CheckRow("b", "error", "is gone", "get it"))
    assert main(["self-check", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["sound"] is False and told["rows"][1] == {
        "part": "b", "state": "error", "text": "is gone", "remedy": "get it",
    }  # fmt: skip
