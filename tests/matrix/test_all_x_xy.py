"""Every cell of the edit matrix of one format (``rows`` lists them)."""

from __future__ import annotations

from .rows import every_cell

test_cell = every_cell("x_xy")
