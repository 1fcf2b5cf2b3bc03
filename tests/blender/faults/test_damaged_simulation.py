"""What is done to a model by hand while physics moves it: no traceback, whatever is done with it after."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.harmed_helpers import FATAL
from tests.support.harms import HARMS

pytest.importorskip("bpy", reason="Blender is not here")
ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("drive", ["SERVO", "LIMP"])
def test_a_harmed_model_under_physics_makes_no_traceback(tmp_path: Path, drive: str) -> None:
    harms = [name for name in HARMS if name not in FATAL]
    harms = harms[::2] if drive == "SERVO" else ["values of a joint", *harms[1::2]]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests/support/harmed.py"), str(tmp_path), drive, *harms],
        capture_output=True, text=True, env=env, timeout=300, check=False,
    )  # fmt: skip
    told = done.stderr
    assert done.returncode == 0, told[-3000:]
    assert "Traceback" not in told, told[max(0, told.index("Traceback") - 1500) :][:4000]
    assert told.rstrip().endswith("DONE")
