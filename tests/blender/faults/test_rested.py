"""What is deleted by hand while no run is going on meets a simulation without constraints: Blender lives, whatever
comes after. Without that, 5.0 crashed in the first round."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("bpy", reason="Blender is not here")
ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("how", ["played", "edited"])
def test_bodies_deleted_at_rest_crash_nothing(tmp_path: Path, how: str) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("rested.py")), str(tmp_path), how, "6"],
        capture_output=True, text=True, env=env, timeout=300, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr[-3000:]
    assert done.stderr.rstrip().endswith("DONE"), done.stderr[-3000:]
