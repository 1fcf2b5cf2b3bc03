"""Retired words of the glossary occur in no public name of the code, no text of the interface, no page of the manual.

A retired word is found as a whole word, in names as one of the words that a name is made of.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from tests.support.book import DOCS, ROOT, name_of, without_code
from tests.support.report_strings import all_reports
from tests.support.ui_strings import ADDON, all_strings

GLOSSARY = DOCS / "glossary.md"
#: The pages of the manual.
PAGES = [ROOT / "README.md", *sorted(set(DOCS.glob("*.md")) - {GLOSSARY})]
FORMAT_PAGES = sorted((DOCS / "formats").glob("*.md"))


@cache
def retired_words() -> frozenset[str]:
    """Return the words in the first column of the table of retired words."""
    section = GLOSSARY.read_text(encoding="utf-8").partition("\n## Retired words\n")[2]
    table = re.search(r"^\| retired \|.*\n\|---\|---\|\n((?:^\|.*\n)+)", section, re.MULTILINE)
    assert table is not None
    words = [word.strip() for row in table[1].splitlines() for word in row.split("|")[1].split(",")]
    assert len(words) == len(set(words)), "a word is listed twice"
    return frozenset(words)


@cache
def _pattern() -> re.Pattern[str]:
    words = "|".join(sorted(map(re.escape, retired_words()), key=len, reverse=True))
    return re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE)


def words_in_text(text: str) -> list[str]:
    """Return the retired words in a text, in lower case."""
    return [word.lower() for word in _pattern().findall(text)]


def words_in_name(name: str) -> list[str]:
    """Return the retired words that a name in any case style is made of."""
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name.rpartition(".")[2])
    return [part.lower() for part in parts if part.lower() in retired_words()]


def public_names(source: str) -> Iterator[str]:
    """Yield the public functions, classes, methods (as ``Class.method``) and constants of a module."""
    for node in ast.parse(source).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield from (name for name in [node.name] if not name.startswith("_"))
            inner = node.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_") else []
            methods = [each.name for each in inner if isinstance(each, ast.FunctionDef)]
            yield from (f"{node.name}.{name}" for name in methods if not name.startswith("_"))
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (each.id for each in targets if isinstance(each, ast.Name) and not each.id.startswith("_"))


def retired_names() -> dict[str, str]:
    """Return the public names of ``addon`` with a retired word: a module first, and then the name."""
    found = {}
    for path in sorted(ADDON.rglob("*.py")):
        module = path.relative_to(ADDON).as_posix()
        for part in path.relative_to(ADDON).with_suffix("").parts:
            if words_in_name(part):
                found[part] = module
        found |= {name: module for name in public_names(path.read_text(encoding="utf-8")) if words_in_name(name)}
    return found


#: Names that keep a retired word, by the reason.
NAMES: dict[str, frozenset[str]] = {
    "public since release 1.0: a function of scripts, an operator, a panel or a property group": frozenset({
        "film", "FilmOptions", "KNUCKLE_OT_preview_film", "KNUCKLE_OT_render_film", "KNUCKLE_OT_tick_joints",
        "KnuckleFilm", "VIEW3D_PT_knuckle_film", "VIEW3D_PT_knuckle_film_overlays", "VIEW3D_PT_knuckle_truth",
    }),
    "'multi-turn' is the term for a stop of more than one revolution": frozenset({
        "MultiTurnStops", "are_multi_turn_stops_enough", "multi_turn_stops",
        "needs_multi_turn_stops",
    }),
    "an angle of pi or 2 pi is a half or a full turn": frozenset({"FULL_TURN", "HALF_TURN", "wrap_to_turn"}),
    "the pause between two repetitions of a motion": frozenset({"span_with_gap"}),
}  # fmt: skip
#: Retired words that no variable or parameter has either. (Others, as "turn" for a rotation, still occur there.)
VARIABLES = {
    "told", "tell", "plant", "mate", "truth", "wish", "wishes", "hook", "thrown", "ease", "eased", "lately", "filmed",
    "pushes", "chased", "aside", "anew",
}  # fmt: skip
#: Phrases in which a retired word has another meaning.
PHRASES = {
    r"turns? (to the )?(left|right)": "a walking mechanism turns left or right",
    r"addon\.blender\.render\.film\b": "a function of scripts, public since release 1.0",
}
#: Words that texts of the interface still have, and in how many texts. They are renamed with the texts of the
#: interface: lower a number when you rename, and delete the row of a word that is gone.
RENAMED_WITH_THE_TEXTS_OF_THE_INTERFACE: dict[str, int] = {}
#: The target of a link or picture: a path or an address.
_TARGET = re.compile(r"(?<=\]\()[^()\s]+(?=\))")


def without_phrases(text: str) -> str:
    """Return a text without the phrases in which retired words are right."""
    return re.sub("|".join(PHRASES), "", text, flags=re.IGNORECASE)


def differing(found: Mapping[str, list[str]], allowed: Mapping[str, int]) -> dict[str, str]:
    """Compare the places of each word with the number that is allowed: new uses, and exceptions that are too large."""
    return {
        word: f"{len(found.get(word, ()))} times, allowed {allowed.get(word, 0)}: {found.get(word, [])}"
        for word in sorted(found.keys() | allowed)
        if len(found.get(word, ())) != allowed.get(word, 0)
    }


def words_of_texts() -> dict[str, list[str]]:
    """Return the texts of the interface and of reports that have each retired word, with their places."""
    found: dict[str, list[str]] = {}
    for text, place in (all_strings() | all_reports()).items():
        for word in sorted(set(words_in_text(without_phrases(text)))):
            found.setdefault(word, []).append(f"{place}: {text}")
    return found


def words_of_pages(pages: list[Path]) -> dict[str, list[str]]:
    """Return the places of each retired word on pages: page and line, once for each use.

    Code and the targets of links are left out.
    """
    found: dict[str, list[str]] = {}
    for page in pages:
        text = without_phrases(_TARGET.sub("", without_code(page.read_text(encoding="utf-8"))))
        for number, line in enumerate(text.splitlines(), 1):
            for word in words_in_text(line):
                found.setdefault(word, []).append(f"{name_of(page)}:{number}")
    return found


def test_names_have_no_retired_word() -> None:
    allowed = {name: reason for reason, names in NAMES.items() for name in names}
    found = retired_names()
    assert {name: module for name, module in found.items() if name not in allowed} == {}, "use the glossary's term"
    assert {name: reason for name, reason in allowed.items() if name not in found} == {}, "not needed any more"


def test_variables_have_no_name_of_these() -> None:
    assert retired_words() >= VARIABLES
    found = {
        f"{path.relative_to(ADDON).as_posix()}:{node.lineno}"
        for path in sorted(ADDON.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if getattr(node, "id", getattr(node, "arg", None)) in VARIABLES and isinstance(node, (ast.Name, ast.arg))
    }
    assert found == set()


def test_texts_of_the_interface_have_no_retired_word() -> None:
    assert differing(words_of_texts(), RENAMED_WITH_THE_TEXTS_OF_THE_INTERFACE) == {}


def test_the_manual_has_no_retired_word() -> None:
    assert words_of_pages([*PAGES, *FORMAT_PAGES]) == {}


def test_the_pages_for_developers_have_no_retired_word() -> None:
    pages = [ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *sorted((DOCS / "developers").glob("*.md"))]
    assert words_of_pages(pages) == {}


def test_every_phrase_is_needed() -> None:
    texts = [*all_strings(), *all_reports(), *(page.read_text(encoding="utf-8") for page in PAGES)]
    for phrase in PHRASES:
        assert any(words_in_text(found[0]) for text in texts for found in re.finditer(phrase, text, re.IGNORECASE))


def test_a_new_use_is_found() -> None:
    assert words_in_text("It tells of the Flywheel; unturned, a re-root.") == ["tells", "flywheel", "re-root"]
    assert words_in_name("KnuckleFilm") == ["film"]
    assert words_in_name("Mesh.MESH_TURNS") == ["turns"]
    assert words_in_name("filmic_turntable") == []
    source = "class A:\n    def tell(self): ...\n    def _x(self): ...\ndef _f(): ...\nMAX_GAP: int = 1\na = _b = 2"
    assert [*public_names(source)] == ["A", "A.tell", "MAX_GAP", "a"]
    assert differing({"gap": ["a", "b"]}, {"gap": 1}).keys() == {"gap"}
    assert differing({"gap": ["a"]}, {"gap": 2, "film": 1}).keys() == {"gap", "film"}
    assert differing({"gap": ["a"]}, {"gap": 1}) == {}
