"""Documents of motions are read once while they are the same, and are never out of date."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import bpy
import pytest

from addon import formats
from addon.blender.animation import apply, origins, read_lately, take
from addon.blender.build import build
from tests.bench.mechanisms import star

ROWS = "time [s],Hinge 1,Hinge 2,Nobody\n0,0.1,0.2,0.3\n0.5,0.12345678901234,0.2,0.3\n"


@pytest.fixture
def rig() -> Iterator[bpy.types.Object]:
    read_lately.forget()
    made = build(formats.loads(star(3).encode(), "model"), bpy.context)
    yield made
    read_lately.forget()


def _count(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    read: list[str] = []

    def loads(data: bytes, path: str = "") -> object:
        read.append(path)
        return formats.loads_motions(data, path)

    monkeypatch.setattr(origins, "loads_motions", loads)
    return read


def test_a_document_is_read_once_until_it_is_forgotten(
    rig: bpy.types.Object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, read = tmp_path / "arm.csv", _count(monkeypatch)
    path.write_text(ROWS, encoding="utf-8")
    apply(formats.load_motion(path), rig)
    assert formats.dumps_motions(take(rig)[0], "csv") == ROWS
    assert not read, "it was just imported"
    read_lately.forget()
    texts = [formats.dumps_motions(take(rig)[0], "csv") for _ in range(3)]
    assert texts == [ROWS] * 3
    assert len(read) == 1


def test_what_is_done_with_a_motion_changes_no_document(rig: bpy.types.Object, tmp_path: Path) -> None:
    path = tmp_path / "arm.csv"
    path.write_text(ROWS, encoding="utf-8")
    motion = formats.load_motion(path)
    apply(motion, rig)
    for each in motion.trajectories:
        each.values += 1.0
    taken, _ = take(rig)
    for each in taken.trajectories:
        each.values += 1.0
        each.times += 1.0
    assert formats.dumps_motions(take(rig)[0], "csv") == ROWS


def test_two_documents_of_one_name_are_two(rig: bpy.types.Object, tmp_path: Path) -> None:
    path = tmp_path / "arm.csv"
    other = ROWS.replace("0.12345678901234", "0.43210987654321")
    for text in (ROWS, other, ROWS):
        path.write_text(text, encoding="utf-8")
        apply(formats.load_motion(path), rig)
        assert formats.dumps_motions(take(rig)[0], "csv") == text


def test_no_more_is_kept_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    read_lately.forget()
    monkeypatch.setattr(read_lately, "MOST", 10)
    motions = [formats.loads_motions(ROWS.encode(), "a.csv")[0]] * 3
    for data, found in zip((b"first", b"next", b"last one"), motions, strict=True):
        read_lately.keep(data, "a.csv", found)
    assert read_lately.motions_in(b"first", "a.csv") is None
    assert read_lately.motions_in(b"last one", "a.csv") is not None
    read_lately.keep(b"more than there is room for", "a.csv", motions[0])
    assert read_lately.motions_in(b"more than there is room for", "a.csv") is None
    read_lately.forget()
