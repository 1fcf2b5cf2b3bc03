"""Many files with one command: one after another or in several processes, past bad ones, with a table at the end."""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..core.report import FormatError, Report
from ..core.summary import describe_report
from ..formats.text.file_io import make_folder
from .output import Done, be_silent, counted, say, say_json, say_progress, say_wrong, table

Result = Literal["done", "failed", "passed over"]


@dataclass
class Row:
    """What became of one file, or of one of the files that were to be made of it."""

    file: Path
    out: Path | None = None
    result: Result = "done"
    message: str = ""
    seconds: float = 0.0
    report: Report = field(default_factory=Report)
    facts: dict[str, Any] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """Return the row in values that JSON has."""
        return {
            "file": str(self.file), "out": None if self.out is None else str(self.out), "result": self.result,
            "message": self.message, "seconds": round(self.seconds, 4), **self.report.outcomes(), **self.facts,
            "report": describe_report(self.report),
        }  # fmt: skip


#: Does the work on one file. It may raise whatever it likes.
Work = Callable[[argparse.Namespace], "list[Row]"]


@dataclass(frozen=True)
class Task:
    """One file, and the arguments of its verb as they are for it alone."""

    file: Path
    args: argparse.Namespace
    out: Path | None = None


def one_row(work: Callable[[argparse.Namespace], Done], args: argparse.Namespace) -> list[Row]:
    """The row of a verb that makes one file of one."""
    done = work(args)
    return [Row(Path(), args.out, report=done.report, facts=dict(done.facts))]


def run_tasks(work: Work, tasks: Sequence[Task], processes: int) -> list[Row]:
    """Do all of them, in as many processes; their rows in the order of the tasks."""
    rows: list[Row] = []
    for done, found in enumerate(_attempts(work, tasks, min(processes, len(tasks))), start=1):
        rows += found
        results = {row.result for row in found}
        word = next((each for each in ("failed", "done") if each in results), "passed over")
        seconds = sum(row.seconds for row in found)
        if len(tasks) > 1:
            say_progress(done, len(tasks), f"{tasks[done - 1].file}: {word}, {seconds:.1f} s")
    return rows


def _attempts(work: Work, tasks: Sequence[Task], processes: int) -> Iterator[list[Row]]:
    if processes <= 1:
        yield from (attempt(work, task) for task in tasks)
        return
    with _pool(processes) as pool:
        futures = [pool.submit(attempt_silently, work, task) for task in tasks]
        for future, task in zip(futures, tasks, strict=True):
            yield _taken(future, work, task)


@contextmanager
def _pool(processes: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that end with us: Blender may keep Ctrl-C from what works in them."""
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(processes, context, initializer=exec, initargs=(_SETTLED.format(**_home()),)) as pool:
        try:
            yield pool
        except BaseException:
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            raise


def _taken(future: Future[list[Row]], work: Work, task: Task) -> list[Row]:
    """The rows of a task. Where a process died, all that was not done is tried again, each in a process of its own:
    only that fails which kills it."""
    try:
        return future.result()
    except BrokenProcessPool:
        pass
    try:
        with _pool(1) as pool:
            return pool.submit(attempt_silently, work, task).result()
    except BrokenProcessPool:
        return [Row(task.file, task.out, "failed", f"{task.file}: the process that worked on it died")]


#: What a new process does first. Inside Blender the package has a name that nothing but Blender can find.
_SETTLED = """
import importlib.util, sys, types
*outer, last = {name!r}.split(".")
for count in range(1, len(outer) + 1):
    above = types.ModuleType(".".join(outer[:count]))
    above.__path__ = []
    sys.modules.setdefault(above.__name__, above)
if {name!r} not in sys.modules:
    spec = importlib.util.spec_from_file_location({name!r}, {file!r}, submodule_search_locations=[{folder!r}])
    sys.modules[{name!r}] = package = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)
"""


def _home() -> dict[str, str]:
    """The name and the place of the package."""
    name = (__package__ or "").rpartition(".")[0]
    file = str(sys.modules[name].__file__)
    return {"name": name, "file": file, "folder": str(Path(file).parent)}


def attempt_silently(work: Work, task: Task) -> list[Row]:
    """Attempt a task in a process beside others, which says nothing."""
    be_silent()
    return attempt(work, task)


def attempt(work: Work, task: Task) -> list[Row]:
    """Do the work on one file, whatever may be wrong with it."""
    started = time.perf_counter()
    try:
        if task.out is not None:
            make_folder(task.out.parent)
        rows = work(task.args)
    except FormatError as error:
        rows = [Row(task.file, task.out, "failed", str(error))]
    except OSError as error:
        rows = [Row(task.file, task.out, "failed", f"{error.filename or task.file}: {error.strerror or error}")]
    except Exception as error:  # one bad file is not to stop the others, whatever it does to us
        rows = [Row(task.file, task.out, "failed", f"{task.file}: {type(error).__name__}: {error}")]
    spent = time.perf_counter() - started
    for row in rows:
        row.file = task.file
        row.seconds = row.seconds or spent / len(rows)
    return rows


def tell_rows(rows: Sequence[Row], as_json: bool, seconds: float) -> int:
    """Tell what became of all files; the exit code."""
    failed = sum(row.result == "failed" for row in rows)
    if as_json:
        say_json({"failed": failed, "seconds": round(seconds, 3), "files": [row.plain() for row in rows]})
    else:
        _tell_table(rows, seconds)
    for row in rows:
        if row.result == "failed":
            say_wrong(row.message)
    return 1 if failed else 0


def _tell_table(rows: Sequence[Row], seconds: float) -> None:
    cells = []
    for row in rows:
        counts = [str(number) for number in row.report.outcomes().values()] if row.result == "done" else ["", "", ""]
        out = str(row.out) if row.out is not None and row.result == "done" else row.message
        cells.append([str(row.file), row.result, *counts, f"{row.seconds:.2f}", out])
    say(table(["file", "result", "kept", "approximated", "lost", "seconds", "out"], cells, right=(2, 3, 4, 5)))
    results = [row.result for row in rows]
    told = [f"{results.count(result)} {result}" for result in ("done", "failed", "passed over") if result in results]
    say(f"{counted(len({row.file for row in rows}), 'file')}: {', '.join(told)} in {seconds:.1f} s")
