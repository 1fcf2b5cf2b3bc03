"""Tests in whose Blender something crashed run once more: what ends well then is told, what crashes twice failed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("xdist", reason="pytest-xdist is not here")

ROOT = Path(__file__).parent.parent
HEAD = """
import os, pathlib
def falls_over(name, times):
    runs = pathlib.Path(__file__).with_name(name)
    before = runs.read_text() if runs.exists() else ""
    runs.write_text(before + "I")
    if len(before) < times:
        os.abort()
"""
CRASHES = """
def test_crashes():
    falls_over("runs", {times})
def test_of_the_same_file():
    assert {fine}
"""


def run(
    folder: Path, text: str, *, restarts: int = 8, processes: int = 1, limit: int = 900
) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(HEAD + text)
    words = ["-q", "-p", "tests.crashes", "--numprocesses", f"{processes}", "--max-worker-restart", f"{restarts}"]
    words += ["-o", f"crashes_limit={limit}"]
    return subprocess.run(  # noqa: PLW1510
        [sys.executable, "-m", "pytest", *words, "--dist", "loadfile", "-p", "no:cacheprovider", "."],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def test_a_test_that_crashed_once_has_not_failed_and_is_reported(tmp_path: Path) -> None:
    done = run(tmp_path, CRASHES.format(times=1, fine=True))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed, 1 crashed" in done.stdout
    assert "CRASHED test_it.py::test_crashes" in done.stdout
    assert "Fatal Python error: Aborted" in done.stdout and "in falls_over" in done.stdout  # where it was
    assert "_pytest" not in done.stdout
    assert "the run has failed" not in done.stdout


def test_what_fails_beside_a_crash_has_failed(tmp_path: Path) -> None:
    done = run(tmp_path, CRASHES.format(times=1, fine=False))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 1 passed, 1 crashed" in done.stdout


def test_what_crashes_again_has_failed_and_is_left(tmp_path: Path) -> None:
    done = run(tmp_path, CRASHES.format(times=99, fine=True))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAILED test_it.py::test_crashes" in done.stdout
    assert "it did not end when it was run again" in done.stdout
    assert "1 failed, 1 passed, 1 crashed" in done.stdout  # the other one has run
    assert (tmp_path / "runs").read_text() == "II"


def test_the_last_one_crashes_again(tmp_path: Path) -> None:
    done = run(tmp_path, 'def test_crashes():\n    falls_over("runs", 99)\n')
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 1 crashed" in done.stdout
    assert (tmp_path / "runs").read_text() == "II"


def test_what_never_ran_has_failed(tmp_path: Path) -> None:
    done = run(tmp_path, CRASHES.format(times=1, fine=True), restarts=0)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "2 tests did not run to their end, test_it.py::test_crashes among them" in done.stdout


def test_more_than_two_crashes_are_no_chance(tmp_path: Path) -> None:
    tests = "".join(f'def test_{n}():\n    falls_over("runs{n}", 1)\n' for n in range(3))
    done = run(tmp_path, tests)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "3 passed, 3 crashed" in done.stdout
    assert "3 crashed, 2 may" in done.stdout


def test_a_crash_while_no_test_runs_is_reported(tmp_path: Path) -> None:
    done = run(tmp_path, 'falls_over("runs", 2)\ndef test_fine():\n    pass\n')  # imported here and there
    assert "a Blender crashed while no test ran" in done.stdout, done.stdout + done.stderr
    assert "in falls_over" in done.stdout


def test_a_crash_after_many_files_does_not_stop_the_run(tmp_path: Path) -> None:
    for n in range(20):  # those with the most tests come first, so the crash is in the middle
        tests = "".join(f"def test_{k}():\n    pass\n" for k in range(1 if n % 2 else 5))
        (tmp_path / f"test_other_{n}.py").write_text(tests)
    done = run(tmp_path, CRASHES.format(times=1, fine=True), processes=2)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "62 passed, 1 crashed" in done.stdout


def test_a_test_that_does_not_end_is_a_crash(tmp_path: Path) -> None:
    endless = "import time\ndef test_waits():\n    time.sleep(600)\ndef test_fine():\n    pass\n"
    done = run(tmp_path, endless, limit=2)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 1 passed, 1 crashed" in done.stdout
    assert "Timeout (0:00:02)!" in done.stdout and "in test_waits" in done.stdout
