"""The self-check of the installation."""

from __future__ import annotations

WORDS: dict[str, str] = {
}
