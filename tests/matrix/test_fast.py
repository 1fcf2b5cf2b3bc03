"""One cell of the edit matrix for each way of editing and each format (the others: ``KNUCKLE_MATRIX=all``)."""

from __future__ import annotations

from pathlib import Path

import pytest

from .rows import check_cell, fast_cells


@pytest.mark.parametrize("name", fast_cells())
def test_an_edit_changes_what_it_is_of_and_nothing_else(name: str, folder: Path) -> None:
    check_cell(name, folder)
