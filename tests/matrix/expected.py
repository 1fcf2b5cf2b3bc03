"""Cells of the edit matrix that are known to fail, with the reason. Each has to fail: one that passes is taken off."""

from __future__ import annotations

import re

#: Patterns of names of cells, and why they fail.
EXPECTED: dict[str, str] = {}


def why_expected(name: str) -> str:
    """Return why a cell is known to fail, empty where it is not."""
    return next((reason for pattern, reason in EXPECTED.items() if re.fullmatch(pattern, name)), "")
