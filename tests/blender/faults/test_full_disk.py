"""A disk that is full, and places that cannot be written to: the old file stays whole, nothing is left beside it, the
message names file, reason and remedy, and the command line ends with 1.

A limit on the size of files stands for the full disk: it holds for every process that is started with it, whoever runs
the tests, and Blender's own writing as well."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.full_disk import full
from tests.support.full_disk_helpers import ROOM, run
from tests.support.small import MOTION, put

pytest.importorskip("bpy", reason="Blender is not here")


@pytest.fixture
def place(blank: Any, tmp_path: Path, sample_models: Path) -> Path:
    """A folder with models, a motion of one, frames of a film, and an empty one to write to."""
    import bpy

    shutil.copytree(sample_models / "pumpjack", tmp_path / "in")
    (tmp_path / "in" / "frames").mkdir()
    for number in range(1, 4):
        image = bpy.data.images.new("frame", 64, 64)
        image.pixels.foreach_set([number / 4.0, 0.25, 0.5, 1.0] * (64 * 64))
        image.file_format, image.filepath_raw = "PNG", str(tmp_path / "in" / "frames" / f"{number:06d}.png")
        image.save()
    put(tmp_path / "in" / "flapper.jm")
    put(tmp_path / "in" / "nod.xmdi", MOTION)
    (tmp_path / "out").mkdir()
    return tmp_path


FILM = ["--size", "64x64", "--seconds", "0.05"]
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
    "a video": ("out/x.mp4", ["encode", "in/frames", "--fps", "25", "--out", "OUT"]),
    "an overview": (
        "out/x.png",
        ["render", "in/flapper.jm", *FILM, "--out", "in/small.mp4", "--sheet", "OUT"],
    ),
    "a model with its meshes": ("out/x.json", ["convert", "in/pumpjack.json", "OUT", "--copy-meshes"]),
    "what a job takes along": ("out/models/flapper.jm", ["job", "in/flapper.jm", "--frames", "3", "--out", "out"]),
    "a stage": ("out/x.blend", ["render", "in/flapper.jm", *FILM, "--prepare", "OUT"]),
}
#: Where it is another number of bytes: what is written before has to fit.
ROOMS = {"a plot": 200, "figures": 200, "a video": 1000, "an overview": 20_000, "a model with its meshes": 3000}


@pytest.mark.parametrize("what", OUTPUTS)
def test_on_a_full_disk_the_old_file_stays_whole(place: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    name, words = OUTPUTS[what]
    monkeypatch.chdir(place)
    old = b"what was there before"
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_bytes(old)
    done = run(*(name if word == "OUT" else word for word in words), room=ROOMS.get(what, ROOM))
    told = done.stderr
    assert done.returncode == 1, told
    assert "Traceback" not in told
    assert "No space left" in told or "File too large" in told or "could not" in told, told
    assert Path(name).read_bytes() == old
    left = {path.name for path in Path("out").rglob("*") if path.is_file()} - {Path(name).name}
    assert not {each for each in left if "small" not in each}, "nothing lies beside it"


def test_a_picture_of_the_view(blank: Any, tmp_path: Path) -> None:
    """Of which Blender says that it was saved."""
    import numpy as np

    from addon.blender.ui.overlay import save_picture
    from addon.core.report import FormatError

    path = tmp_path / "x.png"
    path.write_bytes(b"what was there before")
    pixels = np.random.default_rng(1).random((64, 64, 4))
    with full(ROOM), pytest.raises(FormatError, match=r"x\.png.*"):
        save_picture(pixels, str(path))
    assert path.read_bytes() == b"what was there before"
    assert [each.name for each in tmp_path.iterdir()] == ["x.png"]
    save_picture(pixels, str(path))
    assert path.read_bytes()[-8:-4] == b"IEND"


def test_what_python_compiles_meanwhile_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A short .pyc would fail every later process that imports the module."""
    for name in ("lengthy", "lengthy_here"):
        (tmp_path / f"{name}.py").write_text("\n".join(f"value_{number} = {number}" for number in range(500)))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path / "kept"))
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "kept"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    with full(ROOM):
        subprocess.run([sys.executable, "-c", "import lengthy"], check=True, timeout=60)
        importlib.import_module("lengthy_here")
    assert not list(tmp_path.rglob("lengthy*.pyc"))
    subprocess.run([sys.executable, "-c", "import lengthy"], check=True, timeout=60)
    assert [path.stat().st_size > ROOM for path in tmp_path.rglob("lengthy*.pyc")] == [True]
