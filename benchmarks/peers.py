"""Other programs, each in a process of its own, asked for one piece of work at a time, so that what is ours and what is
theirs is measured in turn and in the same minute."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent


@contextmanager
def asking(python: str, script: str, *words: str) -> Iterator[Callable[[str], float]]:
    """Runs a script of this folder with another Python. What is given writes it a line and returns the number that it
    answers with. ValueError with its words where it answers with something else."""
    with subprocess.Popen(
        [python, str(HERE / script), *words],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as process:  # fmt: skip
        assert process.stdin and process.stdout
        asked, told = process.stdin, process.stdout

        def ask(line: str) -> float:
            print(line, file=asked, flush=True)
            return float(told.readline())

        try:
            yield ask
        finally:
            asked.close()
