"""Of several outputs one cannot be written: it is told which and why, the command ends with 1, all others are there,
whole, and what was in the one's place before stays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.full_disk_helpers import run
from tests.support.small import FLAPPER, put

#: The one of the five that fails: not the first, not the last.
THIRD = 2


@pytest.fixture
def five(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Five models in a folder; the folder above it is the one that is worked in."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    return [put(tmp_path / "in" / f"{number}.jm") for number in range(5)]


def others_are_whole(folder: Path, ending: str) -> None:
    """All but the third are there and nothing else is."""
    made = sorted(path.name for path in folder.iterdir() if path.is_file() and path.stat().st_size > 0)
    assert [name for name in made if name != f"{THIRD}{ending}"] == [f"{n}{ending}" for n in range(5) if n != THIRD]


def test_a_name_that_cannot_be_written(five: list[Path], capsys: Any) -> None:
    from addon.cli import main

    Path("out", f"{THIRD}.skel").mkdir(parents=True)
    assert main(["convert", "in", "--to", "skel", "--out-dir", "out", "--json"]) == 1
    told = capsys.readouterr()
    rows = json.loads(told.out)
    assert rows["failed"] == 1
    assert [row["result"] for row in rows["files"]] == ["failed" if n == THIRD else "done" for n in range(5)]
    assert f"{THIRD}.skel" in told.err and "this is a folder" in told.err and "Enter a file name" in told.err
    others_are_whole(Path("out"), ".skel")


def test_a_disk_that_is_full_for_one(five: list[Path]) -> None:
    five[THIRD].write_text(FLAPPER + "<!-- " + "x" * 20_000 + " -->\n", encoding="utf-8")
    Path("out").mkdir()
    before = put(Path("out") / f"{THIRD}.jm", "the one before")
    done = run("convert", "in", "--to", "juice", "--out-dir", "out", room=10_000)
    assert done.returncode == 1, done.stderr
    assert f"{THIRD}.jm" in done.stderr and "cannot be written" in done.stderr and "Free space" in done.stderr
    assert "Traceback" not in done.stderr
    assert "5 files: 4 done, 1 failed" in done.stdout
    assert before.read_text() == "the one before"
    others_are_whole(Path("out"), ".jm")
    assert all(Path("out", each.name).read_bytes() == each.read_bytes() for each in five if each.stem != str(THIRD))


@pytest.mark.parametrize(("verb", "more"), [
    ("render", ["--to", "png", "--seconds", "0.02", "--size", "64x36"]),
    ("simulate", ["--to", "csv", "--seconds", "0.02"]),
])  # fmt: skip
def test_videos_and_simulations_continue_after_one_failed_output(
    blank: Any, five: list[Path], capsys: Any, verb: str, more: list[str]
) -> None:
    pytest.importorskip("bpy", reason="Blender is not here")
    from addon.cli import main

    ending = f".{more[1]}"
    Path("out", f"{THIRD}{ending}").mkdir(parents=True)
    assert main([verb, *map(str, five), *more, "--out-dir", "out"]) == 1
    told = capsys.readouterr()
    assert "5 files: 4 done, 1 failed" in told.out
    assert f"{THIRD}{ending}" in told.err and "this is a folder" in told.err
    assert "Traceback" not in told.err
    others_are_whole(Path("out"), ending)


def test_a_job_is_written_last(five: list[Path], capsys: Any) -> None:
    """Its template stands for all that it takes along: without that the one before stays."""
    from addon.cli import main

    Path("job", "models", "in", f"{THIRD}.jm").mkdir(parents=True)
    Path("job", "models", f"{THIRD}.jm").mkdir(parents=True)
    template = put(Path("job") / "template.json", "the one before")
    assert main(["job", "--convert", "skel", "in", "--out", "job"]) == 1
    assert "this is a folder" in capsys.readouterr().err
    assert template.read_text() == "the one before"


def test_an_impossible_output_is_reported_before_a_video_is_rendered(
    blank: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    from addon.blender.tasks import videos
    from addon.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(videos, "import_model_file", lambda *_: pytest.fail("work was begun"))
    put(tmp_path / "flapper.jm")
    (tmp_path / "sheet.png").mkdir()
    words = ["render", "flapper.jm", "--seconds", "0.05", "--size", "64x36", "--out", "x.mp4"]
    assert main([*words, "--sheet", "sheet.png"]) == 1
    assert "sheet.png: this is a folder" in capsys.readouterr().err
