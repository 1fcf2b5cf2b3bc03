"""The Mechanism and Report panels: whole messages, counted, filtered and sorted by severity, marks of accuracy, and
one look at all parts between two changes however often the panels are drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support import panels_helpers
from tests.support.harms import delete
from tests.support.panels_helpers import Layout, draw_all
from tests.support.scenes import the_rig

LONG = "Body 'Trunk' has no mass, so that physics cannot move it. Give it a mass above 0, or make it immobile"
ROWS = [("info", "Model has no Gravity"), ("warning", LONG), ("error", "A mesh is missing"), ("warning", "A stop")]


class Texts(Layout):
    """Keeps the texts of switches, and the icons of labels."""

    def prop(self, data: Any, name: str, icon: str = "NONE", text: str = "", **_: Any) -> None:
        super().prop(data, name, icon)
        self.drawn.append(("switch", text))

    def label(self, text: str = "", icon: str = "NONE", **_: Any) -> None:
        super().label(text, icon)
        self.drawn.append(("icon", icon))

    def row(self, **_: Any) -> Texts:
        return Texts(self.drawn)

    column = split = box = row


@pytest.fixture
def reported(rig: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(panels_helpers, "Layout", Texts)
    report = rig.data.knuckle.report
    report.clear()
    for severity, message in ROWS:
        line = report.add()
        line.severity, line.message = severity, message
    return rig.data.knuckle


def listed(model: Any, words: str = "") -> list[str]:
    """The messages that the list shows, in its order."""
    import bpy

    from addon.blender.ui.mechanism.panels import KNUCKLE_UL_report

    stand_in = type("List", (), {"filter_name": words, "bitflag_filter_item": 1})()
    flags, order = KNUCKLE_UL_report.filter_items(stand_in, bpy.context, model, "report")
    rows = sorted(zip(order, flags, model.report, strict=True), key=lambda row: row[0])
    return [line.message for _place, flag, line in rows if flag]


def test_rows_are_counted_filtered_and_sorted_by_severity(reported: Any) -> None:
    import bpy

    switches = [text for kind, text in draw_all()["Report"] if kind == "switch"]
    assert switches == ["1", "2", "1"]
    assert listed(reported) == ["A mesh is missing", LONG, "A stop", "Model has no Gravity"]
    shown = bpy.context.window_manager.knuckle_severities
    shown.warning = False
    assert listed(reported) == ["A mesh is missing", "Model has no Gravity"]
    shown.info = False
    assert listed(reported) == ["A mesh is missing"]
    shown.warning = True
    assert listed(reported, "MASS") == [LONG]


@pytest.mark.parametrize("list_of", ["report", "findings"])
def test_a_row_reads_without_a_click(reported: Any, list_of: str) -> None:
    import bpy

    from addon.blender.ui.editing.checks import KNUCKLE_UL_findings
    from addon.blender.ui.mechanism.panels import KNUCKLE_UL_report

    row = reported.report[1] if list_of == "report" else reported.findings.add()
    row.severity, row.message = "warning", LONG
    drawn: list[tuple[str, Any]] = []
    kind = KNUCKLE_UL_report if list_of == "report" else KNUCKLE_UL_findings
    kind.draw_item(None, bpy.context, Texts(drawn), reported, row, 0, reported)
    texts = [text for what, text in drawn if what == "label"]
    assert " ".join(texts) == LONG and 1 < len(texts) <= 5
    assert max(map(len, texts)) <= 35, "no line is cut at the default width"


def test_figures_of_a_simulation_have_marks(rig: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import bpy

    from addon.core import accuracy

    monkeypatch.setattr(panels_helpers, "Layout", Texts)
    rig.data.knuckle.drive = "SERVO"
    assert bpy.ops.knuckle.bake_physics(frame_end=6) == {"FINISHED"}

    def drawn() -> tuple[str, list[str]]:
        rows = draw_all()["Simulation Accuracy"]
        texts = " ".join(text for kind, text in rows if kind == "label")
        return texts, [icon for kind, icon in rows if kind == "icon"]

    for name in accuracy.ACCURACY_THRESHOLDS:
        monkeypatch.setitem(accuracy.ACCURACY_THRESHOLDS, name, 1e9)
    texts, icons = drawn()
    assert "All figures are good" in texts and "ERROR" not in icons and "COLORSET_03_VEC" in icons
    assert "Good: within its threshold" in texts, "what the green mark means"
    monkeypatch.setitem(accuracy.ACCURACY_THRESHOLDS, "Joint separation", -1.0)
    texts, icons = drawn()
    assert "1 figure needs attention" in texts and "Good up to" in texts and "ERROR" in icons


def test_differences_from_mujoco_are_a_table_of_bodies_and_times(rig: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import bpy

    from addon.blender.physics.recording.reference_engine import store_differences
    from addon.core.run_metrics import body_differences

    monkeypatch.setattr(panels_helpers, "Layout", Texts)
    rig.data.knuckle.drive = "LIMP"
    assert bpy.ops.knuckle.bake_physics(frame_end=6) == {"FINISHED"}
    first = np.tile(np.eye(4), (5, 2, 1, 1))
    second = first.copy()
    second[:, 0, 0, 3], second[:, 1, 0, 3] = np.arange(5) / 8.0, np.arange(5) / 4.0
    store_differences(rig, body_differences(first, second, ["Arm", "Hand"], 2.0))
    labels = [text for kind, text in draw_all()["Simulation Accuracy"] if kind == "label"]
    table = labels[labels.index("Distance from MuJoCo (m)") + 1 :][:15]
    assert table == ["", "0.5 s", "1 s", "1.5 s", "2 s", "Hand", "0.25", "0.5", "0.75", "1", "Arm", "0.12", "0.25",
                     "0.38", "0.5"]  # fmt: skip


def test_warnings_of_a_kind_are_reported_once_and_counted() -> None:
    from types import SimpleNamespace

    from addon.blender.ui.base.operators import report_result
    from addon.core.report import Report

    report, said = Report(), []
    for number in range(7):
        report.warn("shape-lost", f"shape {number} is not written")
    report.warn("mass-lost", "mass of 'a' is not written")
    report_result(SimpleNamespace(report=lambda kind, text: said.append(text)), "Written", report)
    assert said == ["shape 0 is not written (+ 6 more of this kind)", "mass of 'a' is not written", "Written"]


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Grows by one whenever the panel of the model looks at all parts."""
    from addon.blender.ui.mechanism import panels

    counted: list[Any] = []
    whole = panels.parts_by_role

    def counting(rig: Any) -> Any:
        counted.append(rig)
        return whole(rig)

    monkeypatch.setattr(panels, "parts_by_role", counting)
    return counted


def labels() -> list[str]:
    return [text for kind, text in draw_all()["Mechanism"] if kind == "label"]


def sentences() -> str:
    """Texts of the panel's boxes, joined again from the lines into which they are broken."""
    return " ".join(labels())


def test_drawn_again_nothing_is_looked_at_again(rig: Any, looks: list[Any]) -> None:
    first = draw_all()
    assert len(looks) == 1
    assert [draw_all() for _ in range(3)] == [first] * 3
    assert len(looks) == 1


def test_a_look_keeps_nothing_that_blender_may_free(rig: Any) -> None:
    import bpy

    from addon.blender.ui.mechanism import panels

    seen = panels._model_status(rig)
    for each in (*seen[:-1], *seen.lacks):
        assert isinstance(each, (int, str)) and not isinstance(each, bpy.types.bpy_struct)


def _delete_body() -> None:
    delete("Left Flap")()


def _remove_text() -> None:
    import bpy

    bpy.data.texts.remove(the_rig().data.knuckle.document)


def _remove_body_by_script() -> None:
    import bpy

    bpy.data.objects.remove(bpy.data.objects["Left Flap"])


def _remove_world() -> None:
    import bpy

    assert bpy.ops.rigidbody.world_remove() == {"FINISHED"}


def _move_joint() -> None:
    import bpy

    bpy.data.objects["Left Joint"].location.x += 0.1
    bpy.context.view_layer.update()


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (_delete_body, "Bodies deleted, but still connected by joints: 'Left Flap'. Rebuild them"),
        (_remove_body_by_script, "Bodies deleted, but still connected by joints: 'a body of Left Joint'. Rebuild them"),
        (_remove_text, "Document: the text of its file was deleted"),
        (_remove_world, "Rigid-body world: deleted, with the mechanism's physics. Rebuild it"),
        (_move_joint, "1 joint was moved: the bones do not match. Update the armature"),
    ],
)
def test_each_change_is_reported_at_the_next_redraw(
    rig: Any, looks: list[Any], harm: Callable[[], None], told: str
) -> None:
    import bpy

    bpy.context.view_layer.objects.active = rig
    if harm is _remove_world:
        assert bpy.ops.knuckle.build_physics() == {"FINISHED"}
    assert told not in sentences()
    before = len(looks)
    harm()
    assert told in sentences()
    assert len(looks) == before + 1


def test_a_change_that_was_undone_is_no_longer_reported(rig: Any, looks: list[Any]) -> None:
    import bpy

    bpy.context.view_layer.objects.active = rig
    bpy.ops.ed.undo_push(message="before")
    whole = labels()
    _move_joint()
    bpy.ops.ed.undo_push(message="moved")
    assert labels() != whole
    assert bpy.ops.ed.undo() == {"FINISHED"}
    bpy.context.view_layer.objects.active = the_rig()
    assert labels() == whole
    assert bpy.ops.ed.redo() == {"FINISHED"}
    bpy.context.view_layer.objects.active = the_rig()
    assert "1 joint was moved" in sentences()


def test_two_models_are_looked_at_by_themselves(rig: Any, model_file: Any, looks: list[Any]) -> None:
    import bpy

    bpy.ops.import_scene.mechanism(filepath=str(model_file))
    second = bpy.context.view_layer.objects.active
    delete("Left Flap.001")()
    for model, lacks in ((rig, False), (second, True), (rig, False)):
        bpy.context.view_layer.objects.active = model
        assert ("Left Flap" in sentences()) == lacks
