"""The manual's tables of speed tell what a run of the bench found, and hide nothing of it."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from benchmarks import run, table
from benchmarks.table import Row
from tests.support.doors import load_script


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    load_script("docs/tables.py")  # it makes the modules beside it known
    made = load_script("docs/speed_tables.py")
    monkeypatch.setattr(made, "KEPT", tmp_path / "speed.json")
    return made


def keep(tables: ModuleType, parts: dict[str, list[Row]], wrong: str = "") -> None:
    ran = {part: table.Run([100, 1000], 9.0, wrong) for part in parts}
    tables.KEPT.write_text(
        table.as_json(parts, {"with": "Blender", "date": "today", "extent": "sizes"}, ran), encoding="utf-8"
    )


def test_rows_of_a_name_are_a_line_from_the_smallest_on(tables: ModuleType) -> None:
    values = ((1000, 0.25, 1.5), (100, 0.0125, None))
    rows = [Row("import", size, "bodies", value, 0.1, "a floor", bar, growth_bar=1.25) for size, value, bar in values]
    keep(tables, {"imports": rows})
    told = tables.speed()
    assert "### Import\n" in told
    assert (
        "| import | 100 · 1,000 bodies | 12.5 ms · 250 ms | a floor | 0.125 · 2.5 | N^1.30 "
        "| ≤ 1.5 at 1,000, missed at 1,000, N^1.25 missed |\n"
    ) in told
    assert "0 of 2 thresholds are met" in told
    assert "Missed: import, 1,000 bodies; growth of import." in told


def test_what_is_judged_by_itself_has_its_bar_in_its_unit(tables: ModuleType) -> None:
    faster = Row("a pose", 31, "joints", 2.0, 90.0, "another program", 40.0, at_least=True, measure="us")
    keep(tables, {"overlays": [Row("a redraw", 1000, "joints", 0.001, bar=0.002)], "kinematics": [faster]})
    told = tables.speed()
    assert "| a redraw | 1,000 joints | 1 ms |  |  |  | ≤ 2 ms |" in told
    assert "| a pose | 31 joints | 2 us | another program | 45 |  | ≥ 40 |" in told
    assert "2 of 2 thresholds are met" in told


def test_a_part_that_did_not_end_is_reported(tables: ModuleType) -> None:
    keep(tables, {"imports": []}, "it took too long")
    assert "Incomplete: imports." in tables.speed()


def test_of_many_rows_those_nearest_to_their_thresholds_are_listed(tables: ModuleType) -> None:
    rows = [Row(f"shape {number}", 1000, "bytes", float(number), bar=5.0) for number in range(1, 5)]
    memory = [Row("shape 2, memory", 1000, "bytes", 9.0, 10.0, "most", 1.0, measure="MB")]
    keep(tables, {"hostile": [*rows, *memory]})
    told = tables.speed()
    assert "Worst of 5 results with a threshold" in told
    assert "| shape 4 | 1,000 bytes | 4 s |" in told
    assert "| shape 2, memory | 1,000 bytes | 9 MB | most | 0.9 |" in told
    assert "shape 3" not in told


def test_rates_are_of_the_largest_model(tables: ModuleType) -> None:
    sizes = ((20, 0.001), (200, 0.02))
    rows = [Row("factory: a bone posed", size, "robots", each, each / 2, tables.ALONE) for size, each in sizes]
    keep(tables, {"large": [*rows, Row("factory: read", 200, "robots", 1.0)]})
    (line,) = tables.rates().splitlines()[2:]
    assert line == "| factory of 200 robots | a bone posed | 50 | 100 |"


def test_every_part_of_the_bench_has_its_heading(tables: ModuleType) -> None:
    assert set(run.parts()) == set(tables.PARTS)
