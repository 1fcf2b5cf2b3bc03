"""The tables of the manual are what the code says."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.book import DOCS
from tests.support.doors import load_script


@pytest.fixture(scope="module")
def tables() -> ModuleType:
    return load_script("docs/tables.py")


def test_all_pages_are_as_the_code_generates_them(tables: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert tables.main(["--check"]) == 0, capsys.readouterr().out + "write them with: python3 build.py docs --tables"


def test_every_table_is_in_the_manual(tables: ModuleType) -> None:
    asked = re.findall(r"<!-- table: (.+?) -->", "".join(page.read_text() for page in DOCS.rglob("*.md")))
    assert sorted(asked) == sorted(tables.TABLES)


def test_a_field_without_a_meaning_is_rejected_and_a_meaning_without_a_field(tables: ModuleType) -> None:
    known = {"Mass": ("kg", "1"), "Shape": ("", "")}
    with pytest.raises(ValueError, match="has no meaning for these fields of Body: Shape"):
        list(tables.format_tables.field_rows(known, {"Mass": "its mass"}, "Body"))
    with pytest.raises(ValueError, match="Body has no field Colour"):
        list(tables.format_tables.field_rows(known, {"{Mass,Colour}": "", "Shape": "x", "Colour": "y"}, "Body"))


def test_what_is_lost_is_read_from_the_source(tables: ModuleType, tmp_path: Path) -> None:
    source = (
        "def f(self, x):\n"
        "    message = Message('a {} is gone', x)\n"
        "    self.losses.add('dropped-thing', message, x)\n"
        "    message = 'a cone becomes a box' if x else 'nothing'\n"
        "    self.remarks.warn('approximated-shape', message)\n"
    )
    path = tmp_path / "writing.py"
    path.write_text(source, encoding="utf-8")
    assert sorted(tables.losses.told(path)) == [
        ("approximated-shape", "a cone becomes a box"),
        ("approximated-shape", "nothing"),
        ("dropped-thing", "a … is gone"),
    ]
