"""Tests in whose Blender something crashed run once more: what ends well then is told, what crashes twice has failed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("xdist", reason="pytest-xdist is not here")

ROOT = Path(__file__).parent.parent
CRASHES = """
import os, pathlib
def falls_over():
    os.abort()
def test_crashes():
    mark = pathlib.Path(__file__).with_name("crashed")
    if not mark.exists() or "{when}" == "always":
        mark.touch()
        falls_over()
def test_of_the_same_file():
    assert {fine}
"""


def run(folder: Path, when: str, *, fine: bool = True) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(CRASHES.format(when=when, fine=fine))
    words = ["-q", "-p", "tests.crashes", "--numprocesses", "1", "--max-worker-restart", "3", "--dist", "loadfile"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *words, "-p", "no:cacheprovider", "test_it.py"],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def test_what_crashed_once_has_not_failed_and_is_told(tmp_path: Path) -> None:
    done = run(tmp_path, "once")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed, 1 crashed" in done.stdout
    assert "CRASHED test_it.py::test_crashes" in done.stdout
    assert "Fatal Python error: Aborted" in done.stdout and "in falls_over" in done.stdout  # where it was
    assert "_pytest" not in done.stdout


def test_what_fails_beside_a_crash_has_failed(tmp_path: Path) -> None:
    done = run(tmp_path, "once", fine=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 1 passed, 1 crashed" in done.stdout


def test_what_crashes_again_has_failed(tmp_path: Path) -> None:
    done = run(tmp_path, "always")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAILED test_it.py::test_crashes" in done.stdout
    assert "it did not end when it was run again" in done.stdout
