"""Documents of motions are read once while they are the same, and are never out of date."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from pathlib import Path

import bpy
import pytest

from addon import formats
from addon.blender.animation import apply, read_motion, source_motion
from addon.blender.data.queries import rig_of
from addon.blender.events import handlers as forgetting
from addon.blender.reconcile.build import build
from addon.blender.scene.read.mechanism import extract
from addon.formats.document import cache as documents
from addon.formats.text import detection
from benchmarks.mechanisms import star

ROWS = "time [s],Hinge 1,Hinge 2,Nobody\n0,0.1,0.2,0.3\n0.5,0.12345678901234,0.2,0.3\n"


@pytest.fixture
def rig(blank: bpy.types.Context) -> Iterator[bpy.types.Object]:
    forgetting.clear_document_cache()
    made = build(formats.loads(star(3).encode(), "model"), bpy.context)
    yield made
    forgetting.clear_document_cache()


def _count(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    read: list[str] = []

    def loads(data: bytes, path: str = "") -> object:
        read.append(path)
        return formats.loads_motions(data, path)

    monkeypatch.setattr(source_motion, "loads_motions", loads)
    return read


def test_a_document_is_read_once_until_it_is_invalidated(
    rig: bpy.types.Object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, read = tmp_path / "arm.csv", _count(monkeypatch)
    path.write_text(ROWS, encoding="utf-8")
    apply(formats.load_motion(path), rig)
    assert formats.dumps_motions(read_motion(rig)[0], "csv") == ROWS
    assert not read, "it was just imported"
    forgetting.clear_document_cache()
    texts = [formats.dumps_motions(read_motion(rig)[0], "csv") for _ in range(3)]
    assert texts == [ROWS] * 3
    assert len(read) == 1


def test_what_is_done_with_a_motion_changes_no_document(rig: bpy.types.Object, tmp_path: Path) -> None:
    path = tmp_path / "arm.csv"
    path.write_text(ROWS, encoding="utf-8")
    motion = formats.load_motion(path)
    apply(motion, rig)
    for each in motion.trajectories:
        each.values += 1.0
    taken, _ = read_motion(rig)
    for each in taken.trajectories:
        each.values += 1.0
        each.times += 1.0
    assert formats.dumps_motions(read_motion(rig)[0], "csv") == ROWS


def test_two_documents_of_one_name_are_two(rig: bpy.types.Object, tmp_path: Path) -> None:
    path = tmp_path / "arm.csv"
    other = ROWS.replace("0.12345678901234", "0.43210987654321")
    for text in (ROWS, other, ROWS):
        path.write_text(text, encoding="utf-8")
        apply(formats.load_motion(path), rig)
        assert formats.dumps_motions(read_motion(rig)[0], "csv") == text


def test_another_file_forgets_the_documents_of_models(rig: bpy.types.Object) -> None:
    extract(rig)
    kept = [weakref.ref(each) for each in _kept_documents()]
    assert kept
    bpy.ops.wm.read_homefile(use_factory_startup=True, use_empty=True)
    gc.collect()
    assert not _kept_documents() and all(each() is None for each in kept)


def test_a_document_that_the_user_edits_is_read_again(rig: bpy.types.Object) -> None:
    """And undone again: what is written is what the Text says at that time."""
    before = formats.dumps(extract(rig))[0]
    text = rig_of(rig.all_objects[0]).data.knuckle.document
    text.from_string(before.replace("</Bodies>", "</Bodies><!-- mine -->"))
    assert "<!-- mine -->" in formats.dumps(extract(rig))[0]
    text.from_string(before)
    assert formats.dumps(extract(rig))[0] == before


def _kept_documents() -> list[detection.AnyDocument]:
    return [document for _size, document in documents._document_cache._kept.values()]
