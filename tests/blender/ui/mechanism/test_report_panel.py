"""The report's rows in full: whole messages, the worst first, counted and filtered by severity; and the marks of
accuracy."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import panels_helpers
from tests.support.panels_helpers import Layout, draw_all

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
    monkeypatch.setitem(accuracy.ACCURACY_THRESHOLDS, "Joint separation", -1.0)
    texts, icons = drawn()
    assert "1 figure needs attention" in texts and "Good up to" in texts and "ERROR" in icons


def test_warnings_of_a_kind_are_told_once_and_counted() -> None:
    from types import SimpleNamespace

    from addon.blender.ui.base.operators import report_result
    from addon.core.report import Report

    report, said = Report(), []
    for number in range(7):
        report.warn("shape-lost", f"shape {number} is not written")
    report.warn("mass-lost", "mass of 'a' is not written")
    report_result(SimpleNamespace(report=lambda kind, text: said.append(text)), "Written", report)
    assert said == ["shape 0 is not written (+ 6 more of this kind)", "mass of 'a' is not written", "Written"]
