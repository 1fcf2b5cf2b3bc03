"""Enabling and disabling again and again leaves nothing behind: see ``again.py``."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("bpy", reason="Blender is not here")
ROOT = Path(__file__).resolve().parents[3]
#: Bytes, and blocks of Python's, that a round may cost: Blender's own loss for so many classes, and what few rounds
#: waver by. A version of ours is some 10 MB and 200,000 blocks.
MOST, MOST_BLOCKS = 100_000, 2000


#: The one C library that tells how much memory is in use.
needs_glibc = pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="this C library tells of no memory"
)


def rounds(which: str, times: int) -> Any:
    # what measures coverage would keep all that it has seen
    own = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    env = {**own, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests/support/again.py"), which, str(times)],
        capture_output=True, text=True, env=env, timeout=240, check=False,
    )  # fmt: skip
    told = [line for line in done.stdout.splitlines() if line.startswith("FOUND ")]
    assert told, done.stderr[-2000:]
    return json.loads(told[0].removeprefix("FOUND "))


@needs_glibc
def test_rounds_of_enabling_and_disabling_leave_nothing() -> None:
    found = rounds("knuckle", 4)
    assert found["differing"] == {}
    assert found["bytes"] < MOST and found["blocks"] < MOST_BLOCKS


@needs_glibc
def test_a_version_that_took_anothers_place_leaves_nothing_of_it() -> None:
    import bpy

    if bpy.app.version < (4, 5, 0):
        pytest.skip("Blender 4.2 itself keeps the class of every property group that was ever registered")
    found = rounds("renewed", 2)
    assert found["differing"] == {}, "no class, module or record of the one before stays"
    assert found["bytes"] < MOST and found["blocks"] < MOST_BLOCKS
