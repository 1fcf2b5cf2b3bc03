"""A disk that is full, and places that cannot be written to: the old file stays whole, nothing is left beside it, the
message names file, reason and remedy, and the command line ends with 1.

A limit on the size of files stands for the full disk: it holds for every process that is started with it, whoever runs
the tests, and Blender's own writing as well."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.blender.ui.small import MOTION, put

pytest.importorskip("resource", reason="limits on the size of files are not here")
pytest.importorskip("bpy", reason="Blender is not here")

#: Bytes that a file may have: less than anything that is written here needs.
ROOM = 700

_LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
from addon.cli import main
import bpy
resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room}))
sys.exit(main(sys.argv[1:]))
"""


def run(*words: str | Path, room: int = ROOM) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own in which no file can have more than ``room`` bytes."""
    code = _LIMITED.format(room=room)
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3]), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        capture_output=True,
        text=True,
        env=env,
        timeout=120,
        check=False,
    )


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a model, a motion of it, and nothing else."""
    (tmp_path / "in").mkdir()
    put(tmp_path / "in" / "flapper.jm")
    put(tmp_path / "in" / "nod.xmdi", MOTION)
    (tmp_path / "out").mkdir()
    return tmp_path


OUTPUTS = {
    "a model": ("out/x.skel", ["convert", "in/flapper.jm", "OUT"]),
    "the same model": ("out/x.jm", ["convert", "in/flapper.jm", "OUT"]),
    "a motion": ("out/x.csv", ["animate", "in/flapper.jm", "--gait", "--seconds", "5", "--out", "OUT"]),
    "a .blend": ("out/x.blend", ["import", "in/flapper.jm", "--blend", "OUT"]),
    "a plot": (
        "out/x.png",
        ["animate", "in/flapper.jm", "--gait", "--seconds", "0.1", "--out", "out/small.motion", "--plot", "OUT"],
    ),
    "figures": (
        "out/x.json",
        ["simulate", "in/flapper.jm", "--seconds", "0.2", "--figures", "OUT"],
    ),
    "a picture": ("out/x.png", ["render", "in/flapper.jm", "--size", "64x64", "--seconds", "0.1", "--out", "OUT"]),
}


@pytest.mark.parametrize("what", OUTPUTS)
def test_on_a_full_disk_the_old_file_stays_whole(place: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    name, words = OUTPUTS[what]
    monkeypatch.chdir(place)
    old = b"what was there before"
    Path(name).write_bytes(old)
    room = 200 if what in {"a plot", "figures"} else ROOM
    done = run(*(name if word == "OUT" else word for word in words), room=room)
    told = done.stderr
    assert done.returncode == 1, told
    assert "Traceback" not in told
    assert Path(name).read_bytes() == old
    left = {each.name for each in Path("out").iterdir()} - {Path(name).name}
    assert not {each for each in left if "small" not in each}, "nothing lies beside it"
