"""Console output of ``build.py``, and running programs whose output matters only where they fail."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Optional

ROOT = Path(__file__).resolve().parents[1]
RED, GREEN, YELLOW, CYAN = 31, 32, 33, 36


class BuildError(Exception):
    """Something that the user can put right; the message says how."""


def paint(text: str, color: int) -> str:
    """Color a text where a person sees it in a terminal."""
    if not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        return text
    return f"\x1b[{color}m{text}\x1b[0m"


def say(text: str, color: Optional[int] = None) -> None:
    """Print a line at once, so that it stands before what a program called next prints."""
    print(text if color is None else paint(text, color), flush=True)


@contextlib.contextmanager
def step(title: str, *, announce: bool = False) -> Iterator[None]:
    """Print how many seconds a step took, or that it failed.

    Args:
        title: Noun phrase for the step.
        announce: Print the title beforehand too, for long steps.
    """
    if announce:
        say(f"{title} ...", CYAN)
    start = time.monotonic()
    try:
        yield
    except BaseException:
        say(f"{title}: failed after {time.monotonic() - start:.1f} s", RED)
        raise
    say(f"{title}: {time.monotonic() - start:.1f} s", GREEN)


def run_quietly(command: Sequence[str], failure: str, environ: Optional[Mapping[str, str]] = None) -> str:
    """Run a program in the project's folder and return its standard output.

    Raises:
        BuildError: It cannot be run or exits other than with 0: ``failure``, then all that it printed.
    """
    try:
        done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    except OSError as error:
        raise BuildError(f"{failure}\n{error}") from error
    if done.returncode:
        raise BuildError(f"{failure}\n{(done.stdout + done.stderr).rstrip()}")
    return done.stdout
