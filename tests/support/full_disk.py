"""Helper for tests of a full disk: a limit for the size of every file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def full(room: int) -> Iterator[None]:
    """Within it no file can grow beyond ``room`` bytes, whoever writes it, in this process and in those it starts.

    What Python compiles is not kept meanwhile: importlib does not look whether all of it was written (a short write
    leaves a short .pyc in place of the whole one), and every later process would fail on importing that module."""
    resource = pytest.importorskip("resource", reason="limits on the size of files are not here")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)
        patch.setenv("PYTHONDONTWRITEBYTECODE", "1")
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
