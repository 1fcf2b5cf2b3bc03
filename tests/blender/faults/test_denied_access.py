"""Whoever may not write somewhere is told so: the old file stays whole, nothing lies beside it, and the message names
the file, the reason and what to do. Tried as a user who may nothing, for each kind of output."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.small import models, put

pytest.importorskip("bpy", reason="Blender is not here")
#: Nobody, on every Unix.
NOBODY = 65534
pytestmark = pytest.mark.skipif(not hasattr(os, "seteuid"), reason="there are no such users")


@contextmanager
def as_nobody() -> Iterator[None]:
    """Within it we are another user, where we may be that; else we are nobody special anyway."""
    root = os.geteuid() == 0
    if root:
        os.setegid(NOBODY)
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
            os.setegid(0)


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that everybody may look into: pytest's own are for one user."""
    folder = Path(tempfile.mkdtemp(prefix="knuckle-denied-"))
    folder.chmod(0o755)
    (folder / "out").mkdir()
    (folder / "temporary").mkdir()
    (folder / "temporary").chmod(0o777)
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "temporary"))
    monkeypatch.chdir(folder)
    put(folder / "flapper.jm").chmod(0o644)
    yield folder
    for each in [folder, *folder.rglob("*")]:
        if each.is_dir():
            each.chmod(0o755)
    shutil.rmtree(folder)


Way = Callable[[Path], None]


def by_operator(name: str, **options: Any) -> Way:
    """An export from the menu."""

    def write(path: Path) -> None:
        import bpy

        if not models():
            bpy.ops.import_scene.mechanism(filepath="flapper.jm", gait_seconds=0.1)
            bpy.context.scene.frame_end = 2
        bpy.context.view_layer.objects.active = models()[0]
        module, _, short = name.partition(".")
        getattr(getattr(bpy.ops, module), short)(filepath=str(path), **options)

    return write


def by_command(*words: str) -> Way:
    """A command: what it says on standard error is what it refuses with."""

    def write(path: Path) -> None:
        from contextlib import redirect_stderr, redirect_stdout
        from io import StringIO

        from addon.cli import main

        told = StringIO()
        with redirect_stderr(told), redirect_stdout(StringIO()):
            code = main([str(path) if word == "OUT" else word for word in words])
        if code:
            assert code == 1
            raise RuntimeError(told.getvalue())

    return write


FILM = ("--seconds", "0.02", "--size", "64x36", "--quiet")
WAYS: dict[str, tuple[str, Way]] = {
    "a model": ("x.jm", by_operator("export_scene.mechanism", format="juice")),
    "another format": ("x.skel", by_operator("export_scene.mechanism", format="skel")),
    "a motion": ("x.csv", by_operator("export_anim.servo_motion")),
    "a film": ("x.mp4", by_operator("knuckle.render_film", size=(64, 36), samples=1)),
    "a picture": ("x.png", by_operator("knuckle.render_film", size=(64, 36), samples=1)),
    "a conversion": ("x.xml", by_command("convert", "flapper.jm", "OUT", "--to", "x_xy", "--quiet")),
    "a .blend": ("x.blend", by_command("import", "flapper.jm", "--blend", "OUT", "--quiet")),
    "figures": ("x.json", by_command("simulate", "flapper.jm", "--seconds", "0.05", "--figures", "OUT", "--quiet")),
    "a plot": (
        "x.svg",
        by_command(
            "animate", "flapper.jm", "--gait", "--seconds", "0.1", "--plot", "OUT", "--quiet"
        ),
    ),
    "a stage": ("x.blend", by_command("render", "flapper.jm", "--prepare", "OUT", *FILM)),
    "a job": ("template.json", by_command("job", "--convert", "skel", "flapper.jm", "--out", "out", "--quiet")),
}  # fmt: skip


@pytest.mark.parametrize("what", WAYS)
def test_denied_access_is_reported_and_the_old_file_is_whole(blank: Any, place: Path, what: str) -> None:
    name, write = WAYS[what]
    target = place / "out" / name
    write(target)  # and all modules are loaded, which nobody may read
    assert target.stat().st_size > 0
    target.write_bytes(b"the one before")
    before = sorted(path.relative_to(place) for path in place.rglob("*"))
    (place / "out").chmod(0o777)
    for path in (place / "out").rglob("*"):
        path.chmod(0o777 if path.is_dir() else 0o666)
    target.chmod(0o444)
    for denied, reason in ((target, "read-only"), (place / "out", "Permission denied")):
        if denied.is_dir():
            target.chmod(0o666)
            for path in (place / "out", *(place / "out").rglob("*")):
                path.chmod(0o555 if path.is_dir() else 0o444)
        with as_nobody(), pytest.raises(RuntimeError) as refusal:
            write(target)
        told = str(refusal.value)
        assert str(target.parent.name) in told and "cannot be written" in told
        assert name in told or what == "a job", "which is of several files"
        assert reason in told or (denied.is_dir() and "read-only" in told)
        assert "Choose another" in told, "what to do"
        assert "Traceback" not in told
        assert target.read_bytes() == b"the one before"
        assert sorted(path.relative_to(place) for path in place.rglob("*")) == before


def test_the_self_check_reports_what_it_may_not_write(blank: Any, place: Path) -> None:
    """In few words, with what to do, and with nothing left behind."""
    from addon.blender.diagnostics import machine_rows

    machine_rows()  # and all modules are loaded
    (place / "temporary").chmod(0o555)
    with as_nobody():
        (row,) = [row for row in machine_rows() if row.part == "Temporary files"]
    assert (row.state, row.text) == ("error", f"{place / 'temporary'} is not writable: Permission denied")
    assert "set write permission, or choose another folder" in row.remedy
    assert not list((place / "temporary").iterdir())
