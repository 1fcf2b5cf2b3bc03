"""The interface in German: nothing is missing, and sentences made of parts are put together again."""

from __future__ import annotations

import ast
import re
from typing import Any

import pytest

from tests.support.report_strings import all_reports
from tests.support.ui_strings import ADDON, all_strings


def test_every_text_of_the_interface_has_a_translation(blank: Any) -> None:
    from addon.blender.locale import LANGUAGES, catalog

    said = all_reports() | all_strings()
    assert len(said) > 800
    for language in LANGUAGES:
        missing = {text: place for text, place in said.items() if text not in catalog(language)}
        told = "\n".join(f"{place}: {text!r}" for text, place in missing.items())
        assert not missing, f"{len(missing)} texts are missing in {language}:\n{told}"


def test_no_translation_is_left_over_or_wrong(blank: Any) -> None:
    from addon.blender.locale import catalog

    catalog_text = (ADDON / "blender/locale/de.po").read_text(encoding="utf-8")
    several = re.findall(r"^msgid (.*)$", catalog_text, re.MULTILINE)
    assert len(several) == len(set(several)), "a text is translated twice"
    said = all_reports() | all_strings()
    texts = catalog("de")
    assert len(texts) == len(several) - 1, "the header is one more"
    assert [text for text in texts if text not in said] == [], "nobody says this any more"
    for text, other in texts.items():
        assert other.strip(), text
        assert text.count("{}") == other.count("{}"), text
        assert text.endswith("…") == other.endswith("…"), text


@pytest.mark.parametrize(
    ("english", "german"),
    [
        ("Rigid bodies removed", "Starrkörper entfernt"),
        ("1 body made", "1 Körper erstellt"),
        ("'Knee' carries 'Shin and foot' now", "'Knee' trägt jetzt 'Shin and foot'"),
        ("Duplicated: 2 bodies and 2 joints", "Dupliziert: 2 Körper und 2 Gelenke"),
        ("'cat and dog' moved", "'cat and dog' versetzt"),
        ("3 twins mirrored", "3 Zwillinge gespiegelt"),
        ("1 error, 2 warnings, 3 hints", "1 Fehler, 2 Warnungen, 3 Hinweise"),
        ("Select two bodies, or two joints", "Zwei Körper oder zwei Gelenke auswählen"),
        (
            "Imported Rover: 9 bodies, 8 joints, 1 loop, 0 warnings",
            "Rover importiert: 9 Körper, 8 Gelenke, 1 Schleife, 0 Warnungen",
        ),
        ("Stops of 2 servos switched off", "Anschläge von 2 Servos ausgeschaltet"),
        ("Values given to 1 twin, 2 without a twin", "Werte an 1 Zwilling gegeben, 2 ohne Zwilling"),
        ("3 joints set like 'Knee', 1 of another kind", "3 Gelenke eingestellt wie 'Knee', 1 von anderer Art"),
        (
            "Only 'Knee' is marked: choose the joints that get its values",
            "Nur 'Knee' ist angekreuzt: die Gelenke wählen, die seine Werte bekommen",
        ),
        ("'Knee' no longer keyed at frame 12", "'Knee' in Frame 12 nicht mehr gekeyt"),
        ("4 servos in the initial pose", "4 Servos in der Anfangspose"),
        (
            "Pose the servos as 'Pose' has them, as in a mirror",
            "Die Servos stellen, wie 'Pose' sie hat, wie im Spiegel",
        ),
        ("Bake Simulation: 3 of 9 (33 %).  Esc stops it", "Simulation backen: 3 von 9 (33 %).  Esc hält es an"),
        (
            "Render Video: 12 of 76 (15 %, 80 s left).  Esc stops it",
            "Video rendern: 12 von 76 (15 %, noch 80 s).  Esc hält es an",
        ),
        (
            "Render Video, playing the motion: 69 of 154 (0 %).  Esc stops it",
            "Video rendern, Bewegung abspielen: 69 von 154 (0 %).  Esc hält es an",
        ),
        ("what nobody translated", "what nobody translated"),
        ("'Left Rear Tibia' in the ground", "'Left Rear Tibia' im Boden"),
        (
            "600 steps per second and 50 iterations: minimum, enough for this mechanism",
            "600 Schritte pro Sekunde und 50 Iterationen: Minimum, genügt für diesen Mechanismus",
        ),
        (
            "'leg' is a mechanism of its own: 3 bodies, 2 joints, 0 loops; deleted: 'Left Hip', 'Hip'",
            "'leg' ist nun ein eigener Mechanismus: 3 Körper, 2 Gelenke, 0 Schleifen; gelöscht: 'Left Hip', 'Hip'",
        ),
    ],
)
def test_sentences_are_put_together_from_their_parts(blank: Any, english: str, german: str) -> None:
    from addon.blender.locale import translate

    assert translate(english, "de") == german


def test_no_sentence_is_taken_for_another(blank: Any) -> None:
    """Each template, with names in it, becomes its own translation with these names, and no mixture."""
    from addon.blender.locale import catalog, translate

    for text, other in catalog("de").items():
        names = [f"'Body {letter}'" for letter in "ABCDEFGHIJ"[: text.count("{}")]]
        if names and any(map(str.isalpha, text)):
            assert translate(text.format(*names), "de") == other.format(*names), text


def test_what_nobody_translated_stays_as_it_is_as_a_whole(blank: Any) -> None:
    """Parsers speak the file's English: no half of their sentences is to be German."""
    from addon.blender.locale import translate

    for text in (
        "servo 'a' has no keyframes",
        "<box> has no attribute size; ring rejects it",
        "Line 4: <box> is misplaced inside <body>; it is kept",
    ):
        assert translate(text, "de") in {text, text.replace("Line 4", "Zeile 4")}


def test_all_reports_go_through_one_place(blank: Any) -> None:
    """``say``, ``tell`` and ``refuse`` translate; ``operator.report`` does not."""
    found = [
        f"{path.name}:{node.lineno}"
        for path in sorted((ADDON / "blender/ui").glob("*.py"))
        if path.name != "common.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "report"
    ]
    assert found == []


def test_they_come_and_go_with_the_extension(blank: Any) -> None:
    import bpy

    import addon
    from addon.blender.locale import told

    assert told("Rigid bodies removed") == "Rigid bodies removed", "English needs none"
    addon.unregister()
    addon.register()
    assert bpy.ops.knuckle.new_model() == {"FINISHED"}
