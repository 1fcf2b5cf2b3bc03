"""The comparison of two trees: what it takes for slower, and that both trees are measured with their own package."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("bpy")

from benchmarks import against, one_tree, run
from benchmarks.against import Row, Tree, compared

ROOT = Path(__file__).resolve().parents[1]


class Timed:
    """Stands in for a tree: what it takes, one measurement after the other."""

    def __init__(self, *seconds: float) -> None:
        self.seconds: Iterator[float] = iter(seconds)

    def measure(self, part: str) -> dict[str, float]:
        return {f"{part}, it": next(self.seconds)}


def test_a_row_is_the_ratio_of_the_medians_after_a_first_run_that_does_not_count() -> None:
    (row,) = compared(Timed(99, 1.0, 1.1, 9.0), Timed(99, 2.0, 0.1, 2.2), "import", 3)
    assert (row.what, row.new, row.old, row.again) == ("import, it", 1.1, 2.0, None)
    assert row.ratio == pytest.approx(0.55)
    assert not row.is_slower


@pytest.mark.parametrize(("second", "is_slower"), [(1.1, False), (1.3, True)])
def test_what_seems_slower_is_measured_again(second: float, is_slower: bool) -> None:
    (row,) = compared(Timed(0, 1.2, second), Timed(0, 1.0, 1.0), "play", 1)
    assert row.again == (second, 1.0)
    assert row.is_slower == is_slower
    assert row.line.endswith("slower") == is_slower
    assert ("1 slower" in against.summary([row])) == is_slower


def test_trees_are_measured_first_alternately() -> None:
    ran: list[str] = []

    class Noted:
        def __init__(self, name: str) -> None:
            self.name = name

        def measure(self, part: str) -> dict[str, float]:
            ran.append(self.name)
            return {part: 1.0}

    against.in_turn(Noted("new"), Noted("old"), "play", 3)
    assert ran == ["new", "old", "old", "new", "new", "old"]


@pytest.fixture
def slow_tree(tmp_path: Path) -> Path:
    """A checkout whose exports take a tenth of a second of the processor more."""
    tree = tmp_path / "slow"
    shutil.copytree(ROOT / "addon", tree / "addon", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("blender_manifest.toml", "sample_models"):
        (tree / name).symlink_to(ROOT / name)
    with (tree / "addon/formats/__init__.py").open("a", encoding="utf-8") as source:
        source.write(
            "\n_encode = encode_model\n\n\ndef encode_model(*words, **more):\n    import time\n"
            "    start = time.process_time()\n    while time.process_time() < start + 0.1:\n        pass\n"
            "    return _encode(*words, **more)\n"
        )
    return tree


def test_each_tree_is_measured_with_its_own_package(
    slow_tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Here the other tree is the slow one: nothing of this one is slower, and its exports are much faster."""
    monkeypatch.setattr(against, "BODIES", 5)
    monkeypatch.setattr(against, "EDITED", 40)
    monkeypatch.setattr(against, "KEYS", 5)
    kept = tmp_path / "rows.json"
    against.main(slow_tree, ["juice"], 1, kept)
    rows = {row["what"]: Row(**row) for row in json.loads(kept.read_text(encoding="utf-8"))}
    assert list(rows) == ["import, juice", *(f"export, juice, {how}" for how in _EXPORTS)]
    assert all(rows[f"export, juice, {how}"].old > 0.1 for how in _EXPORTS)
    assert all(rows[f"export, juice, {how}"].new < 0.1 for how in _EXPORTS)
    assert rows["import, juice"].old < 0.1
    told = capsys.readouterr().out
    assert "new ms" in told and "4 rows" in told


_VERBS = {"import", "export", "play", "scrub", "pose", "edit", "undo and redo", "save", "open"}
_EXPORTS = ("unedited", "a body moved", "once more")


@pytest.mark.slow
def test_every_part_runs_on_a_small_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(against, "BODIES", 5)
    monkeypatch.setattr(against, "EDITED", 40)
    monkeypatch.setattr(against, "KEYS", 20)
    kept = tmp_path / "rows.json"
    against.main(ROOT, (), 1, kept)
    rows = [Row(**row) for row in json.loads(kept.read_text(encoding="utf-8"))]
    assert {row.what.partition(",")[0] for row in rows} == _VERBS
    assert all(row.new > 0.0 and row.old > 0.0 for row in rows)
    assert "geometric means: import" in capsys.readouterr().out


def test_a_tree_that_fails_is_reported(tmp_path: Path) -> None:
    against.write_input(tmp_path)
    with Tree(ROOT, tmp_path) as tree, pytest.raises(RuntimeError, match="KeyError: 'dance'"):
        tree.measure("dance")


def test_a_folder_that_is_no_checkout_is_rejected(tmp_path: Path, capsys: Any) -> None:
    assert run.main(["--against", str(tmp_path)]) == 2
    assert "is no checkout of Knuckle" in capsys.readouterr().err
    for words in (["--against", str(ROOT), "--only", "imports"], ["--only", "juice"]):
        with pytest.raises(SystemExit):
            run.main(words)
        assert "choose from" in capsys.readouterr().err
    assert "juice" in one_tree.PARTS
