"""Helpers for tests of the labels in the manual: its emphasized words."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.book import without_code

_EMPHASIS = re.compile(r"(?<![*\w])\*(?!\*)([^*]+?)\*(?![*\w])")


def emphasised(page: Path) -> set[str]:
    """The words between single stars, ways through menus in their steps."""
    text = re.sub(r"^\* ", "", without_code(page.read_text(encoding="utf-8")), flags=re.MULTILINE)
    found = (" ".join(match[1].split()) for match in _EMPHASIS.finditer(text))
    return {step for words in found for step in words.split(" > ")}
