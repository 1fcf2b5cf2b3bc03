"""Random sequences of steps: no traceback, valid mechanisms, exact undo. ``run`` says how to replay and shorten one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("bpy", reason="Blender is not here")

from tests.sequences.run import shrink
from tests.support.references import CORPUS

_ROOT = Path(__file__).resolve().parents[2]
_OWN = _ROOT / "sample_models"
#: Files of each format, small ones first; real ones where they are.
_NAMES = ("desk_lamp.skel", "pumpjack.json", "sensor_leg.xml", "rover.jm", "double_pendulum.json", "test_free.xml")
#: Steps of each seed of the full suite: some hundred seconds each.
_SEEDS, _STEPS = (2101,), 2000


def models() -> list[str]:
    found = [next((path for root in (_OWN, CORPUS) for path in sorted(root.rglob(name))), None) for name in _NAMES]
    return [str(path) for path in found if path is not None]


def run(seed: int, steps: int, folder: Path) -> None:
    """Run a sequence in a Blender of its own. One that fails is shortened and shown with the way to replay it."""
    command = [sys.executable, "-m", "tests.sequences.run", str(seed), str(steps), str(folder), *models()]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        assert f"{steps} steps of seed {seed}" in done.stdout
        return
    path = folder / "steps.json"
    lines = "\n".join(json.dumps(step) for step in shrink(path, folder)) if path.exists() else "not begun"
    pytest.fail(f"{done.stdout[-3000:]}{done.stderr[-2000:]}\nreplay {path}:\n{lines}")


def test_a_short_random_sequence_keeps_mechanisms_valid(tmp_path: Path) -> None:
    run(7, 60, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", _SEEDS)
def test_a_long_random_sequence_keeps_mechanisms_valid(tmp_path: Path, seed: int) -> None:
    run(seed, _STEPS, tmp_path)


def test_a_sequence_that_fails_is_shortened(tmp_path: Path) -> None:
    """The harness finds a step that raises, and drops those that do not matter."""
    path = tmp_path / "steps.json"
    steps = [["move", ["shade"], [0.1, 0.0, 0.0]], ["frame", 2], ["fail", "on purpose"], ["select", ["shade"]]]
    path.write_text(json.dumps({"model": models()[0], "steps": steps}))
    assert shrink(path, tmp_path, seconds=200.0) == [["fail", "on purpose"]]
