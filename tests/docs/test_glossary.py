"""Retired words of the glossary occur in no public name of the code, no text of the interface and no page of the manual.

A retired word is found as a whole word, in names as one of the words that a name is made of.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from tests.support.book import DOCS, ROOT, name_of, without_code
from tests.support.report_strings import all_reports
from tests.support.ui_strings import ADDON, all_strings

GLOSSARY = DOCS / "glossary.md"
#: The pages of the manual; those for developers and the pages of formats have words of their own.
PAGES = [ROOT / "README.md", *sorted(set(DOCS.glob("*.md")) - {GLOSSARY})]


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


#: Reasons why a name keeps a retired word.
_PUBLIC = "public since release 1.0: an operator, a panel or a function of scripts"
_MULTI_TURN = "a stop of several turns: 'multi-turn' is the term for it"
_HALF_TURN = "an angle of pi: 'half turn' is the term for it"
_ENGLISH = "the ordinary meaning of the word"
_LATER = "renamed with the texts of the interface"
#: Names that keep a retired word, each with the reason.
NAMES: dict[str, str] = {}

#: Words in texts of the interface and of reports, and on pages of the manual: how many texts or pages have them. All
#: are renamed with the texts of the interface. Lower a number when you rename; a word that is gone leaves the list.
RENAMED_WITH_THE_TEXTS_OF_THE_INTERFACE: dict[str, int] = {}
RENAMED_WITH_THE_MANUAL: dict[str, int] = {}
#: Words with another meaning, in phrases that are right: a pattern and the reason.
PHRASES: dict[str, str] = {}
