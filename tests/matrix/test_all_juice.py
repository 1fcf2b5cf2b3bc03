"""Every cell of the edit matrix of one format (``rows`` lists them)."""

from __future__ import annotations

from pathlib import Path

import pytest

from .rows import check_cell, chosen_cells


@pytest.mark.slow
@pytest.mark.parametrize("name", chosen_cells("juice"))
def test_a_cell_of_the_edit_matrix_holds(name: str, folder: Path) -> None:
    check_cell(name, folder)
