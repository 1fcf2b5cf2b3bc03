"""What is written and drawn over rendered pictures."""

from __future__ import annotations

import os
from collections.abc import Sequence

import bpy

from .readings import Readings
from .reel import Reel


def finish_picture(
    halves: Sequence[str], stages: Sequence[tuple[bpy.types.Scene, Reel, Readings | None]], frame: int, picture: str
) -> None:
    """Make one picture of those of the stages, with what is burnt in."""
    os.replace(halves[0], picture)
