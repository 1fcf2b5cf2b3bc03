"""What the manual says *like this* is on the screen: a label of ours, or a word of Blender's own menus."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.book import DOCS, name_of
from tests.support.labels_helpers import emphasised
from tests.support.ui_strings import all_strings, fix_labels

#: Pages of tasks and what they lead to; those of formats and for developers emphasise other words.
PAGES = [DOCS.parent / "README.md", *sorted(DOCS.glob("*.md"))]
#: Blender's own, on the ways to ours, and the name of our tab.
BLENDERS = {
    "Add", "Add-ons", "Edit", "Export", "File", "Get Extensions", "Import", "Install from Disk",
    "Instance Collections", "Knuckle", "Preferences",
}  # fmt: skip
#: As the Add menu has them.
SAMPLES = {folder.name.replace("_", " ").title() for folder in (DOCS.parent / "sample_models").iterdir()}
#: Joysticks are numbered, and called, as the model has them.
PATTERNS = re.compile(r"Joystick \d [A-Z]|like this")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_what_the_manual_names_is_on_the_screen(page: Path) -> None:
    known = {*all_strings(), *fix_labels(), *BLENDERS, *SAMPLES}
    lost = {words for words in emphasised(page) if words not in known and not PATTERNS.fullmatch(words)}
    assert not lost, f"{name_of(page)} names what the interface does not: {sorted(lost)}"


def test_emphasized_labels_of_a_page_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("* Press *Bake\n  Gait*, not **this**; *File > Import*\n* `*code*` and 2*3*4\n", encoding="utf-8")
    assert emphasised(page) == {"Bake Gait", "File", "Import"}
    assert len(emphasised(DOCS / "film.md")) > 20
