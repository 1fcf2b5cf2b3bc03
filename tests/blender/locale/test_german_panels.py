"""What panels, lists, tooltips and refusals read like in German: no English sentence is left in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from addon import formats
from tests.support import panels_helpers
from tests.support.operator_cases import CASES, DUO, duo, pick, rig
from tests.support.operators_helpers import operators, refusal

#: Words of every English sentence that no German one has.
_ENGLISH = {
    "the", "is", "of", "and", "not", "its", "are", "with", "joint", "joints", "body", "bodies", "stop", "no", "be",
    "this", "has", "from", "to", "they", "it", "select", "first", "loop", "mass", "twin", "twins", "servos track",
}  # fmt: skip


class GermanLayout(panels_helpers.Layout):
    """Keeps each text as it is drawn: Blender translates what nobody told it not to."""

    def label(self, text: str = "", icon: str = "NONE", translate: bool = True, **_: Any) -> None:
        super().label(_shown(text, translate), icon)

    def prop(
        self, data: Any, name: str, icon: str = "NONE", text: Any = None, translate: bool = True, **more: Any
    ) -> None:
        super().prop(data, name, icon)
        if more.get("emboss", True):
            own = data.bl_rna.properties[name]
            if own.bl_rna is not None and (text is not None or _is_ours(data)):
                self.drawn.append(("label", _shown(own.name if text is None else text, translate)))

    def operator(self, idname: str, icon: str = "NONE", text: Any = None, translate: bool = True, **_: Any) -> Any:
        if idname.startswith("knuckle."):
            label = operators()[idname].get_rna_type().name if text is None else text
            self.drawn.append(("label", _shown(label, translate)))
        return super().operator(idname, icon)

    def row(self, heading: str = "", **_: Any) -> GermanLayout:
        if heading:
            self.drawn.append(("label", _shown(heading, True)))
        return GermanLayout(self.drawn)

    column = split = box = row


def _is_ours(data: Any) -> bool:
    return type(data).__module__.startswith("addon")


def _shown(text: str, translate: bool) -> str:
    from addon.blender.locale import catalog

    return catalog("de").get(text, text) if translate else text


def english(texts: list[str]) -> list[str]:
    """Those that are English. Names in quotes are the user's."""
    own = {"Left Hip", "Right Hip", "Left Leg", "Right Leg", "Trunk", "Tool"}
    found = []
    for text in texts:
        plain = re.sub(r"'[^']*'|\"[^\"]*\"|\[[^\]]*\]", "", text)
        for name in own:
            plain = plain.replace(name, "")
        if _ENGLISH & set(re.findall(r"[a-z]+", plain)):
            found.append(text)
    return found


@pytest.fixture
def german(blank: Any, monkeypatch: Any) -> None:
    """The interface in German: the Blender that tests run in has no languages of its own."""
    from addon.blender import locale

    monkeypatch.setattr(locale, "wanted_language", lambda: "de")
    monkeypatch.setattr(panels_helpers, "Layout", GermanLayout)


def texts_of_panels() -> list[str]:
    return [text for drawn in panels_helpers.draw_all().values() for kind, text in drawn if kind == "label"]


def test_no_panel_has_an_english_sentence(german: None, tmp_path: Path) -> None:
    import bpy

    assert english(["The stops are on", "Die Anschläge sind an", "'The body' fehlt"]) == ["The stops are on"]
    assert english(texts_of_panels()) == [], "without a mechanism"
    duo(tmp_path)
    report = rig().data.knuckle.report  # what the parser says of the file is in the file's words
    for number in reversed([number for number, row in enumerate(report) if row.code == "default-used"]):
        report.remove(number)
    for part in ("Left Hip", "Tool"):
        pick(part)
        assert english(texts_of_panels()) == []
    dof = bpy.data.objects["Left Hip"].knuckle.joint.dofs[0]
    dof["lower"], dof["upper"] = 0.5, -0.5
    bpy.data.objects["Tool"].knuckle.mass = 0.0
    bpy.data.objects["Right Leg"].knuckle.mass = 7.0
    bpy.ops.knuckle.link_twins.poll()
    for step in ("check_model", "check_symmetry", "find_twins"):
        assert getattr(bpy.ops.knuckle, step)() == {"FINISHED"}
    model = rig().data.knuckle
    assert len(model.findings) >= 3
    for number in range(len(model.findings)):
        model.finding_index = number
        assert english(texts_of_panels()) == []
    model.drive = "LIMP"
    assert bpy.ops.knuckle.bake_physics(frame_end=6) == {"FINISHED"}
    texts = texts_of_panels()
    assert "Gelenkabstand" in texts
    assert english(texts) == []


def test_the_lists_and_the_report_are_german(german: None, tmp_path: Path) -> None:
    import bpy

    from addon.blender.ui.editing.checks import KNUCKLE_UL_findings
    from addon.blender.ui.mechanism.panels import KNUCKLE_UL_report
    from addon.blender.ui.twins import KNUCKLE_UL_differences

    duo(tmp_path)
    bpy.data.objects["Tool"].knuckle.mass = 0.0
    bpy.data.objects["Right Leg"].knuckle.mass = 7.0
    bpy.ops.knuckle.check_model()
    bpy.ops.knuckle.check_symmetry()
    model = rig().data.knuckle
    drawn: list[tuple[str, Any]] = []
    parsers = {entry.message for entry in formats.loads(DUO.encode(), "duo.jm").report.entries}
    for rows, kind in (
        (model.findings, KNUCKLE_UL_findings),
        (model.differences, KNUCKLE_UL_differences),
        (model.report, KNUCKLE_UL_report),
    ):
        assert len(rows), kind
        for row in [row for row in rows if getattr(row, "message", "") not in parsers]:
            kind.draw_item(None, bpy.context, GermanLayout(drawn), model, row, 0, model, "")
    texts = [text for kind, text in drawn if kind == "label"]
    assert "Körper 'Tool': keine Masse, die Physik kann ihn nicht bewegen. Eine Masse eingeben" in " ".join(texts)
    assert english(texts) == []


def test_operators_report_in_german_why_they_cannot_run(german: None, tmp_path: Path) -> None:
    import bpy

    said = []
    for name, case in CASES.items():
        for ready, _why in case.refused:
            bpy.ops.wm.read_homefile(use_factory_startup=True, use_empty=True)
            for entry in [entry for entry in bpy.context.preferences.addons if entry.module == "addon"]:
                bpy.context.preferences.addons.remove(entry)
            ready(tmp_path)
            bpy.context.view_layer.update()
            said.append(refusal(operators()[name]).split(".poll() ", 1)[1])
    assert len(said) > 40
    assert english(said) == []
