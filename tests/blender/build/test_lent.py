"""An import looks at what was read of a file and leaves it alone: edits and exports begin with that."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import bpy
import pytest

from addon import formats
from addon.blender.build import BuildOptions, build
from addon.blender.extract import extract
from addon.formats import lately
from addon.model.records import Mechanism

SUFFIXES = {".jm", ".jm3", ".jpm", ".skel", ".xml", ".json"}


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    lately.forget()
    yield
    lately.forget()


def said(mechanism: Mechanism) -> bytes:
    """All of a mechanism but its report, of one that came out of a pickle: what is shared is written in one way."""
    mechanism = pickle.loads(pickle.dumps(mechanism))
    mechanism.report = formats.loads(Path("sample_models/hexapod/hexapod.jm").read_bytes()).report
    return pickle.dumps(pickle.loads(pickle.dumps(mechanism)))


def check(paths: list[Path]) -> int:
    count = 0
    for path in paths:
        try:
            wanted = said(formats.load(path))
        except formats.FormatError:
            continue
        lately.forget()
        bpy.ops.wm.read_factory_settings(use_empty=True)
        physics = count % 2 == 0
        lent = formats.lend(path)
        entries = list(lent.report.entries)
        collection = build(lent, bpy.context, BuildOptions(physics=physics, gait=physics, assemble=physics))
        assert said(lent) == wanted, path
        again = formats.lend(path)
        assert again.report.entries == entries, "what an import told is not told twice"
        assert formats.dumps(extract(collection))[0] == formats.dumps(formats.load(path))[0], path
        count += 1
    return count


def test_imports_of_our_own_models_leave_what_was_read_alone(blank: bpy.types.Context) -> None:
    assert check(sorted(path for path in Path("sample_models").rglob("*") if path.suffix in SUFFIXES)) >= 6


def test_imports_of_real_files_leave_what_was_read_alone(blank: bpy.types.Context, corpus: Path) -> None:
    paths = sorted(path for path in corpus.rglob("*") if path.suffix in SUFFIXES and path.stat().st_size < 60_000)
    assert check(paths[::4]) > 25


def test_an_export_after_an_import_reads_nothing_anew(
    blank: bpy.types.Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bpy.ops.import_scene.mechanism(filepath=str(Path("sample_models/hexapod/hexapod.jm").resolve()))
    rig = next(obj for obj in bpy.context.scene.objects if obj.type == "ARMATURE")
    bpy.context.view_layer.objects.active = rig

    def refuse(*_args: object) -> None:
        raise AssertionError("the document was read anew")

    monkeypatch.setattr(formats, "_read", refuse)
    bpy.ops.export_scene.mechanism(filepath=str(tmp_path / "out.jm"), format="juice")
    assert (tmp_path / "out.jm").read_bytes() == Path("sample_models/hexapod/hexapod.jm").read_bytes()
