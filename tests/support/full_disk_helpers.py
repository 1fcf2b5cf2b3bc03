"""Helpers for tests of the command line on a full disk: its exit code and output."""

from __future__ import annotations

from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.full_disk import full

pytest.importorskip("bpy", reason="Blender is not here")

#: Bytes that a file may have: less than anything that is written here needs.
ROOM = 700


def run(*words: str | Path, room: int = ROOM) -> SimpleNamespace:
    """The command line on a disk that is full: its exit code and what it says."""
    from addon.cli import main

    out, told = StringIO(), StringIO()
    with full(room), redirect_stdout(out), redirect_stderr(told):
        code = main([*map(str, words)])
    return SimpleNamespace(returncode=code, stdout=out.getvalue(), stderr=told.getvalue())
