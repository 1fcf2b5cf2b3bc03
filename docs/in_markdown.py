"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def rows(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table; bars inside of cells are escaped."""
    out = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in out) + "\n"


def code(words: Iterable[str]) -> str:
    """Words as code, with commas between them."""
    return ", ".join(f"`{word}`" for word in words)
