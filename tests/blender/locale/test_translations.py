"""The interface in German: nothing is missing, and sentences made of parts are put together again."""

from __future__ import annotations

import ast
import copy
import pickle
import re
from pathlib import Path
from typing import Any

import pytest

from addon.core.report import Message, Report, count_with_noun, join_messages, message_from_parts, message_parts
from tests.support.report_strings import all_reports, report_templates
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


KNEE, FOOT = "'Knee'", "'Shin and foot'"
LEG = Message("{} is a mechanism of its own: {}", "'leg'", join_messages(", ", (Message("{} bodies", 3), "1 loop")))


@pytest.mark.parametrize(
    ("message", "german"),
    [
        ("Rigid bodies removed", "Starrkörper entfernt"),
        (Message("{} carries {} now", KNEE, FOOT), "'Knee' trägt jetzt 'Shin and foot'"),
        (Message("{} moved", "'cat and dog'"), "'cat and dog' versetzt"),
        (
            Message("Stops of {} switched {}", Message("{} {}", 2, "servos"), "off"),
            "Anschläge von 2 Servos ausgeschaltet",
        ),
        (Message("{} no longer keyed at frame {}", KNEE, 12), "'Knee' in Frame 12 nicht mehr gekeyt"),
        (
            Message("{}: {}.  Esc stops it", "Bake Simulation", Message("{} of {} ({} %)", 3, 9, 33)),
            "Simulation backen: 3 von 9 (33 %).  Esc hält es an",
        ),
        (Message("{} in the ground", "'Left Rear Tibia'"), "'Left Rear Tibia' im Boden"),
        (
            Message("Gait: moves {}, as Action {}{}", count_with_noun(1, "servo"), "'a'", ""),
            "Gang: bewegt 1 Servo, als Action 'a'",
        ),
        (Message("{} made", count_with_noun(13, "body", "bodies")), "13 Körper erstellt"),
        (Message("Repeats every {}", count_with_noun(2.5, "frame")), "Wiederholt sich nach je 2.5 Frames"),
        (
            Message("{} steps per second and {} iterations: {}", 600, 50, "minimum, enough for this mechanism"),
            "600 Schritte pro Sekunde und 50 Iterationen: Minimum, genügt für diesen Mechanismus",
        ),
        ("what nobody translated", "what nobody translated"),
        (
            Message("{} that nobody {{translated}}", "minimum, enough for this mechanism"),
            "Minimum, genügt für diesen Mechanismus that nobody {translated}",
        ),
    ],
)
def test_messages_are_translated_by_template_and_parameters(blank: Any, message: str, german: str) -> None:
    from addon.blender.locale import translate

    assert translate(message, "de") == german


def test_a_message_reads_like_any_text_and_survives_copies() -> None:
    for message in (Message("{} at {}", "'a'", 1.5), LEG):
        assert isinstance(message, str) and str(message) is message
        for copied in (copy.deepcopy(message), pickle.loads(pickle.dumps(message)), str(ValueError(message))):
            assert copied == message and isinstance(copied, Message)
            assert (copied.template, copied.parameters) == (message.template, message.parameters)
        again = message_from_parts(str(message), message_parts(message))
        assert again == message and message_parts(again) == message_parts(message)
    assert Message("{} at {}", "'a'", 1.5) == "'a' at 1.5" == message_from_parts("'a' at 1.5", "")
    assert message_from_parts("as it is", "{damaged") == message_from_parts("as it is", "[1]") == "as it is"


def test_messages_in_a_saved_file_are_translated(blank: Any, tmp_path: Path) -> None:
    """Entries of a report are stored with template and parameters."""
    import bpy

    from addon.blender.data.conversion import add_to_report, stored_message
    from addon.blender.locale import translate

    bpy.ops.knuckle.add_mechanism(kind="pendulum")
    (rig,) = (obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")
    report = Report()
    report.warn("mass-ratio", Message("{} carries {} now", KNEE, FOOT), where="knee")
    add_to_report(rig, report)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "a.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "a.blend"))
    (rig,) = (obj for obj in bpy.data.objects if obj.knuckle.role == "MODEL")
    (line,) = (line for line in rig.data.knuckle.report if line.where == "knee")
    assert line.message == "'Knee' carries 'Shin and foot' now"
    assert translate(stored_message(line), "de") == "'Knee' trägt jetzt 'Shin and foot'"


#: Codes of the modules that the document engine will replace: their sentences are unified there.
SEVERAL_TEMPLATES = {
    "approximated-shape", "bad-note", "document-lost", "document-patched", "empty-servo", "encoding", "held-keys",
    "invented-assembly", "missing-body", "repaired-name", "repeated-name", "reserved-name", "unknown-attribute",
}  # fmt: skip


def test_every_report_code_of_the_scene_has_one_template() -> None:
    """A code stands for one sentence: several would be several codes."""
    templates = report_templates()
    assert len(templates) > 100
    several = {code: found for code, found in templates.items() if len(found) > 1 and code not in SEVERAL_TEMPLATES}
    assert not several, "\n".join(f"{code}: {sorted(found)}" for code, found in several.items())


def test_no_message_is_joined_to_other_text() -> None:
    """``+`` and f-strings give plain text, which is not translated: ``join_messages`` and parameters keep the parts."""

    def is_message(node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and getattr(node.func, "id", "") in {"Message", "join_messages"}

    found = [
        f"{path.relative_to(ADDON)}:{node.lineno}"
        for path in sorted(ADDON.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.BinOp) and any(map(is_message, ast.walk(node))) and isinstance(node.op, ast.Add))
        or (isinstance(node, ast.FormattedValue) and is_message(node.value))
    ]
    assert [place for place in found if not place.startswith(TRANSLATED_FIRST)] == []


#: Texts of panels are joined after they were translated.
TRANSLATED_FIRST = ("blender/ui/mechanism/panels.py",)


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


def test_translations_are_registered_with_the_extension(blank: Any) -> None:
    import bpy

    import addon
    from addon.blender.locale import translated

    assert translated("Rigid bodies removed") == "Rigid bodies removed", "English needs none"
    addon.unregister()
    addon.register()
    assert bpy.ops.knuckle.new_model() == {"FINISHED"}


#: Sentences with a plural after a number that is never 1, or is a rate or a fraction.
NEVER_ONE = {
    "{} joints", "{} pairs of bodies", "{} frames simulated",
    "Closed loop of {} joints ({}): no degree of freedom, its bones are locked",
    "{} joints connect the same two bodies: {}. Keep one",
    "{} joints are named {}, so motions cannot distinguish them. Rename them",
    "{} bodies are named {}. Rename them",
    "Exported {}: {} motions",
    "Collection {} holds {} mechanisms: a file holds one",
    "Keyed at {} frames per second: it plays at {} times its speed",
    "Keyframes: distance of {} frames, below Blender's minimum of 0.01: {}",
    "Self-collision: on, unlike in the file's own program, more than {} pairs cannot be filtered",
}  # fmt: skip


def test_numbers_have_a_noun_that_fits_one() -> None:
    """``count_with_noun`` chooses between *1 servo* and *2 servos*."""
    plural = re.compile(
        r"\{\} (servos|joints|bodies|bones|frames|keyframes|pairs|parts|twins|motions|mechanisms|shapes)\b"
    )
    found = {text for text in (*all_strings(), *all_reports()) if plural.search(text)}
    assert found == NEVER_ONE
    assert count_with_noun(1, "body", "bodies") == "1 body" and count_with_noun(0, "servo") == "0 servos"
    assert count_with_noun(1.0, "frame") == "1 frame" and count_with_noun(0.5, "frame") == "0.5 frames"
