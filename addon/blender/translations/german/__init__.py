"""Knuckle in German."""

from __future__ import annotations

from . import editing, models, motions, physics

#: The English texts with the German ones. Which are missing, the tests tell.
WORDS: dict[str, str] = {**models.WORDS, **editing.WORDS, **motions.WORDS, **physics.WORDS}
