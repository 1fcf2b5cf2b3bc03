"""Videos that ended early are not delivered, and places that nobody can write to are told with file and reason."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.small import put


@pytest.mark.parametrize("ending", [".mp4", ".webm", ".webp", ".gif"])
def test_a_video_that_ends_early_never_takes_the_place_of_one(blank: Any, tmp_path: Path, ending: str) -> None:
    import bpy

    from addon.blender.rendering.encoding import move_into_place
    from addon.blender.rendering.video import encode
    from addon.core.report import FormatError

    for number in range(1, 4):
        image = bpy.data.images.new("frame", 64, 64)
        image.pixels.foreach_set([number / 4.0, 0.25, 0.5, 1.0] * (64 * 64))
        image.file_format, image.filepath_raw = "PNG", str(tmp_path / f"{number:06d}.png")
        image.save()
    whole = tmp_path / f"whole{ending}"
    encode(str(tmp_path), str(whole), 25.0)  # delivers: what is whole is taken for it
    data, target = whole.read_bytes(), tmp_path / f"film{ending}"
    target.write_bytes(b"the one before")
    short = tmp_path / f"short{ending}"
    for part in range(1, 20):
        short.write_bytes(data[: len(data) * part // 20])
        with pytest.raises(FormatError, match=r"(?s)film.*No space left"):
            move_into_place(str(short), str(target))
    assert target.read_bytes() == b"the one before"
    assert not [path for path in tmp_path.iterdir() if ".part" in path.name]


PLACES = {
    "a folder": ("folder.skel", "this is a folder"),
    "beneath a file": ("flapper.jm/x.skel", "does not exist"),
    "in no folder": ("nowhere/x.skel", "does not exist"),
    "too long a name": ("x" * 300 + ".skel", "too long"),
    "where nobody writes": ("/proc/x.skel", "a folder with write permission"),
    "a pipe": ("pipe.skel", "this is a pipe or a device"),
}


def occupy(folder: Path) -> None:
    """Lay what is in the way into a folder."""
    (folder / "folder.skel").mkdir()
    os.mkfifo(folder / "pipe.skel")


@pytest.mark.parametrize("place", PLACES)
def test_a_place_that_cannot_be_written_to_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, place: str
) -> None:
    from addon.cli import main

    name, reason = PLACES[place]
    if name.startswith("/proc") and not Path("/proc/self").exists():
        pytest.skip("there is no /proc")
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "flapper.jm")
    occupy(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert main(["convert", "flapper.jm", name]) == 1
    told = capsys.readouterr().err
    assert reason in told
    assert name[:20] in told
    assert len(told.splitlines()) <= 2, "one line, with what to do"
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "pipe.skel").is_fifo()


@pytest.mark.parametrize("place", PLACES)
def test_operators_report_a_place_that_cannot_be_written_to(
    blank: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    import bpy

    name, reason = PLACES[place]
    if name.startswith("/proc") and not Path("/proc/self").exists():
        pytest.skip("there is no /proc")
    bpy.ops.import_scene.mechanism(filepath=str(put(tmp_path / "flapper.jm")), gait_seconds=0.2)
    occupy(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(RuntimeError, match=reason) as refusal:
        bpy.ops.export_scene.mechanism(filepath=str(tmp_path / name), format="skel")
    assert "Traceback" not in str(refusal.value)
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "pipe.skel").is_fifo()


@pytest.mark.parametrize("path", ["", "q/", "nowhere/"])
def test_a_path_without_a_file_name_is_reported(
    blank: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    import bpy

    bpy.ops.import_scene.mechanism(filepath=str(put(tmp_path / "flapper.jm")), gait_seconds=0.2)
    (tmp_path / "q").mkdir()
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.chdir(tmp_path)
    for write in (bpy.ops.export_scene.mechanism, bpy.ops.export_anim.servo_motion):
        with pytest.raises(RuntimeError, match="Enter a file name"):
            write(filepath=f"{tmp_path}/{path}" if path else "")
    assert sorted(tmp_path.rglob("*")) == before
