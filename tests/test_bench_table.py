"""The one table of the benches: how its rows are judged, how growth is fitted, and that a part which dies is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("bpy")

from benchmarks import run, table
from benchmarks.table import Row


def quadratic(size: int, **words: object) -> Row:
    return Row("a pass", size, "bodies", 1e-6 * size**2, 1e-3, "a floor", **words)


def test_a_row_is_judged_by_its_ratio_or_where_nothing_is_compared_by_itself() -> None:
    assert Row("import", 9, "bodies", 3.0, 2.0, bar=1.5).verdict == "holds"
    assert Row("import", 9, "bodies", 3.1, 2.0, bar=1.5).verdict == "misses"
    assert Row("poses", 9, "joints", 1.0, 40.0, bar=40, at_least=True).verdict == "holds"
    assert Row("poses", 9, "joints", 1.0, 39.0, bar=40, at_least=True).verdict == "misses"
    assert Row("a redraw", 9, "joints", 1.9, bar=2.0, measure="ms").verdict == "holds"
    assert Row("a redraw", 9, "joints", 2.1, bar=2.0, measure="ms").verdict == "misses"
    assert not Row("a redraw", 9, "joints", 2.1).verdict


def test_growth_is_that_of_the_values_and_judged_between_the_largest_sizes() -> None:
    (grown,) = table.growth([quadratic(size, growth_bar=1.25) for size in (5000, 100, 1000)])
    assert (grown.exponent, grown.last) == pytest.approx((2.0, 2.0))
    assert grown.verdict == "misses"
    flat_at_last = [Row("a pass", size, "bodies", value) for size, value in ((1, 1.0), (10, 100.0), (100, 100.0))]
    assert table.growth(flat_at_last)[0].last == pytest.approx(0.0)
    assert not table.growth([quadratic(100)]), "one size does not grow"


def test_missed_thresholds_are_reported_and_counted() -> None:
    rows = [quadratic(100, bar=20, growth_bar=1.25), quadratic(1000, bar=20, growth_bar=1.25)]
    assert table.judged(rows) == 3
    assert table.missed(rows) == ["a pass, 1,000 bodies: 1e+03 (bar 20)", "a pass: grows N^2.00 (bar N^1.25)"]
    assert table.judged([row.unjudged() for row in rows]) == 0
    assert "a pass (to a floor)\n" in table.printed(rows)


def test_rows_come_back_from_their_lines() -> None:
    row = Row("poses", 9, "joints", 0.1, 0.2, "another", bar=2, at_least=True, growth_bar=1.2, measure="ms")
    assert table.read(table.written(row)) == row


def test_every_part_has_its_sizes() -> None:
    for part in run.parts():
        made = run.module(part)
        assert len(made.SIZES) >= 3, part
        assert max(made.QUICK) < max(made.SIZES), part
        assert callable(made.rows), part


@pytest.mark.slow
def test_a_quick_table_of_one_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "made" / "bench.json"
    assert run.main(["--quick", "--only", "gait", "--json", str(kept)]) == 0
    told = json.loads(kept.read_text(encoding="utf-8"))
    part = told["parts"]["gait"]
    rows = [row for row in part["rows"] if row["what"].startswith("gait baked")]
    assert [row["size"] for row in rows] == part["sizes"] == list(run.module("gait").QUICK)
    assert all(row["ratio"] > 0 and row["verdict"] == "" for row in rows)
    assert told["parts"]["gait"]["growth"]
    assert rows[0]["what"] in capsys.readouterr().out


def test_a_part_that_dies_is_reported_and_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    spawn = run.subprocess.run
    line = table.written(Row("a pass", 9, "bodies", 3.0, 2.0, bar=1.0))

    def dying(words: list[str], **options: object) -> object:
        script = f"import os, sys\nopen(sys.argv[1], 'w').write({line!r})\nsys.exit('no room')"
        return spawn([words[0], "-c", script, words[words.index("--rows") + 1]], **options)

    monkeypatch.setattr(run.subprocess, "run", dying)
    assert run.main(["--only", "kinematics", "--json", str(tmp_path / "bench.json")]) == 1
    told = capsys.readouterr().out
    assert "no room" in told
    assert "missed: a pass, 9 bodies: 1.5 (bar 1)" in told
    (part,) = json.loads((tmp_path / "bench.json").read_text(encoding="utf-8"))["parts"].values()
    assert "no room" in part["wrong"]
    assert part["sizes"] == list(run.module("kinematics").SIZES)
    assert len(part["rows"]) == 1, "what it had by then is kept"


@pytest.mark.parametrize(("words", "code"), [([], 0), (["--strict"], 1)])
def test_a_missed_bar_fails_only_where_that_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: list[str], code: int
) -> None:
    row = Row("a pass", 9, "bodies", 3.0, 2.0, bar=1.0)
    monkeypatch.setattr(run, "apart", lambda part, words, folder, patience: ([row], ""))
    assert run.main(["--only", "kinematics", "--json", str(tmp_path / "bench.json"), *words]) == code
