"""Knuckle in German."""

from __future__ import annotations

from . import (
    editing,
    films,
    hints,
    inputs,
    installation,
    mirroring,
    models,
    motions,
    outcomes,
    overlays,
    physics,
    reports,
    servos,
    stops,
)

#: The rooms, each with its texts.
PARTS = (
    models,
    editing,
    mirroring,
    stops,
    motions,
    servos,
    physics,
    overlays,
    reports,
    outcomes,
    hints,
    inputs,
    films,
    installation,
)
#: The English texts with the German ones. Which are missing, the tests tell.
WORDS: dict[str, str] = {text: other for part in PARTS for text, other in part.WORDS.items()}
