"""Batches: many files with one command, in one or several processes, past bad ones, with a table at the end."""

from __future__ import annotations

import argparse
import glob
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from .. import formats
from ..core.report import FormatError, Report
from ..core.summary import describe_report
from ..formats.text.file_io import make_folder
from .output import (
    VerbResult,
    format_table,
    print_error,
    print_info,
    print_json,
    print_progress,
    quantity_text,
    silence_output,
)


def model_extensions() -> frozenset[str]:
    """Return the file endings of model formats, by which models are found in folders."""
    return frozenset(ending for row in formats.FORMATS.values() for ending in row.extensions)


def all_extensions() -> frozenset[str]:
    """Return the file endings of model and motion formats."""
    return model_extensions().union(*(row.extensions for row in formats.MOTION_FORMATS.values()))


@dataclass(frozen=True)
class InputFile:
    """Input file of a batch.

    ``below`` is its folder relative to the folder that was given, if one was; ``named`` is True where the file itself
    was given or matched by a pattern.
    """

    path: Path
    below: Path = Path()
    named: bool = True


def expand_inputs(
    words: Iterable[Path], endings: Iterable[str] | None = None, without: Path | None = None
) -> list[InputFile]:
    """Expand names, patterns and folders to files, each once and in order.

    Patterns, such as ``models/**/*.skel``, are expanded where the shell has not done so. Of folders all files with the
    given endings are taken, including those in subfolders.

    Args:
        words: Names, patterns and folders.
        endings: File endings to take from folders; None: all that can be read.
        without: Folder to skip, so that outputs are not read again.

    Raises:
        FormatError: A pattern or a folder yields no file.
    """
    found: dict[str, InputFile] = {}
    for word in words:
        for each in _matching_files(word, all_extensions() if endings is None else frozenset(endings), without):
            found.setdefault(os.path.realpath(each.path), each)
    return list(found.values())


def _matching_files(word: Path, endings: frozenset[str], without: Path | None) -> list[InputFile]:
    if word.is_dir():
        return _files_in_folder(word, endings, without)
    if word.exists() or not glob.has_magic(str(word)):
        return [InputFile(word)]
    matches = [Path(match) for match in sorted(glob.glob(str(word), recursive=True))]
    files = [InputFile(match) for match in matches if match.is_file()]
    if not files:
        raise FormatError("no file matches", path=str(word), remedy="Check the pattern.")
    return files


def _files_in_folder(folder: Path, endings: frozenset[str], without: Path | None) -> list[InputFile]:
    passed = None if without is None else os.path.realpath(without)
    out = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(
            name for name in folders
            if not name.startswith(".") and os.path.realpath(os.path.join(place, name)) != passed
        )  # fmt: skip
        paths = (Path(place, name) for name in sorted(names) if not name.startswith("."))
        out += [
            InputFile(path, Path(place).relative_to(folder), False) for path in paths if path.suffix.lower() in endings
        ]
    if not out:
        raise FormatError("the folder has no supported file", path=str(folder))
    return out


def output_paths(inputs: Sequence[InputFile], endings: Sequence[str], folder: Path) -> list[Path]:
    """Return the output path of each input in ``folder``: with its name and the given ending, in equal subfolders.

    Inputs with colliding outputs keep their own ending in the name (``walker.jm.json``, ``walker.skel.json``), and
    where that is not sufficient, later ones are numbered. Case is ignored, as on many file systems.

    Raises:
        FormatError: An input would be overwritten.
    """
    plain = [folder / each.below / f"{each.path.stem}{ending}" for each, ending in zip(inputs, endings, strict=True)]
    often = Counter(map(_path_key, plain))
    whole = [
        path if often[_path_key(path)] == 1 else path.with_name(f"{each.path.name}{ending}")
        for path, each, ending in zip(plain, inputs, endings, strict=True)
    ]
    taken: set[str] = set()
    out = []
    for path, ending in zip(whole, endings, strict=True):
        number, name = 2, path
        while _path_key(name) in taken:
            name, number = path.with_name(f"{path.name.removesuffix(ending)}-{number}{ending}"), number + 1
        taken.add(_path_key(name))
        out.append(name)
    _check_overwrites([each.path for each in inputs], out)
    return out


def _path_key(path: Path) -> str:
    return os.path.realpath(path).casefold()


def _check_overwrites(inputs: Sequence[Path], out: Sequence[Path]) -> None:
    """Reject outputs that would overwrite an input, also under another name of the same file."""
    names = {_path_key(path): path for path in inputs}
    there = {(status.st_dev, status.st_ino) for status in (_file_status(path) for path in inputs) if status is not None}
    for path in out:
        status = _file_status(path)
        if _path_key(path) in names or (status is not None and (status.st_dev, status.st_ino) in there):
            raise FormatError("the output would overwrite an input", path=str(path), remedy="Choose another --out-dir.")


def _file_status(path: Path) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None


def pick_slice(inputs: Sequence[InputFile], pick: tuple[int, int] | None) -> slice:
    """Return the slice that ``--pick FIRST+COUNT`` selects; all without it."""
    return slice(len(inputs)) if pick is None else slice(pick[0] - 1, pick[0] - 1 + pick[1])


RowResult = Literal["done", "failed", "passed over"]


@dataclass
class BatchRow:
    """Result for one input file, or for one of its outputs."""

    file: Path
    out: Path | None = None
    result: RowResult = "done"
    message: str = ""
    seconds: float = 0.0
    report: Report = field(default_factory=Report)
    facts: dict[str, Any] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """Return the row as values for JSON."""
        return {
            "file": str(self.file), "out": None if self.out is None else str(self.out), "result": self.result,
            "message": self.message, "seconds": round(self.seconds, 4), **self.report.outcomes(), **self.facts,
            "report": describe_report(self.report),
        }  # fmt: skip


#: Function that processes one file. It may raise any exception.
BatchWork = Callable[[argparse.Namespace], "list[BatchRow]"]


@dataclass(frozen=True)
class BatchTask:
    """Input file with the arguments of the verb for it alone."""

    file: Path
    args: argparse.Namespace
    out: Path | None = None


def run_single(work: Callable[[argparse.Namespace], VerbResult], args: argparse.Namespace) -> list[BatchRow]:
    """Run a verb that makes a single output and return its row."""
    done = work(args)
    return [BatchRow(Path(), args.out, report=done.report, facts=dict(done.facts))]


def run_tasks(work: BatchWork, tasks: Sequence[BatchTask], processes: int) -> list[BatchRow]:
    """Run all tasks in up to ``processes`` processes; return the rows in the order of the tasks."""
    rows: list[BatchRow] = []
    for done, found in enumerate(_run_all(work, tasks, min(processes, len(tasks))), start=1):
        rows += found
        results = {row.result for row in found}
        word = next((each for each in ("failed", "done") if each in results), "passed over")
        seconds = sum(row.seconds for row in found)
        if len(tasks) > 1:
            print_progress(done, len(tasks), f"{tasks[done - 1].file}: {word}, {seconds:.1f} s")
    return rows


def _run_all(work: BatchWork, tasks: Sequence[BatchTask], processes: int) -> Iterator[list[BatchRow]]:
    if processes <= 1:
        yield from (run_task(work, task) for task in tasks)
        return
    with _process_pool(processes) as pool:
        futures = [pool.submit(run_task_silently, work, task) for task in tasks]
        for future, task in zip(futures, tasks, strict=True):
            yield _rows_of_future(future, work, task)


@contextmanager
def _process_pool(processes: int) -> Iterator[ProcessPoolExecutor]:
    """Create a process pool that ends with us: Blender may keep Ctrl-C from worker processes."""
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(
        processes, context, initializer=exec, initargs=(_WORKER_BOOTSTRAP.format(**_package_location()),)
    ) as pool:
        try:
            yield pool
        except BaseException:
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            raise


def _rows_of_future(future: Future[list[BatchRow]], work: BatchWork, task: BatchTask) -> list[BatchRow]:
    """Return the rows of a task.

    Where a process died, every unfinished task is tried again in a process of its own, so that only the one that kills
    it fails.
    """
    try:
        return future.result()
    except BrokenProcessPool:
        pass
    try:
        with _process_pool(1) as pool:
            return pool.submit(run_task_silently, work, task).result()
    except BrokenProcessPool:
        return [BatchRow(task.file, task.out, "failed", f"{task.file}: its process ended unexpectedly")]


#: Initialization of a worker process. Inside Blender the package has a name that only Blender can import.
_WORKER_BOOTSTRAP = """
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


def _package_location() -> dict[str, str]:
    """Return name and path of the package."""
    name = (__package__ or "").rpartition(".")[0]
    file = str(sys.modules[name].__file__)
    return {"name": name, "file": file, "folder": str(Path(file).parent)}


def run_task_silently(work: BatchWork, task: BatchTask) -> list[BatchRow]:
    """Run a task in a worker process, without output."""
    silence_output()
    return run_task(work, task)


def run_task(work: BatchWork, task: BatchTask) -> list[BatchRow]:
    """Run a task and turn any exception into a failed row."""
    started = time.perf_counter()
    try:
        if task.out is not None:
            make_folder(task.out.parent)
        rows = work(task.args)
    except FormatError as error:
        rows = [BatchRow(task.file, task.out, "failed", str(error))]
    except OSError as error:
        rows = [BatchRow(task.file, task.out, "failed", f"{error.filename or task.file}: {error.strerror or error}")]
    except Exception as error:  # no error of one file may stop the others
        rows = [BatchRow(task.file, task.out, "failed", f"{task.file}: {type(error).__name__}: {error}")]
    spent = time.perf_counter() - started
    for row in rows:
        row.file = task.file
        row.seconds = row.seconds or spent / len(rows)
    return rows


def print_rows(rows: Sequence[BatchRow], as_json: bool, seconds: float) -> int:
    """Print the results of a batch and return the exit code."""
    failed = sum(row.result == "failed" for row in rows)
    if as_json:
        print_json({"failed": failed, "seconds": round(seconds, 3), "files": [row.plain() for row in rows]})
    else:
        _print_table(rows, seconds)
    for row in rows:
        if row.result == "failed":
            print_error(row.message)
    return 1 if failed else 0


def _print_table(rows: Sequence[BatchRow], seconds: float) -> None:
    cells = []
    for row in rows:
        counts = [str(number) for number in row.report.outcomes().values()] if row.result == "done" else ["", "", ""]
        out = str(row.out) if row.out is not None and row.result == "done" else row.message
        cells.append([str(row.file), row.result, *counts, f"{row.seconds:.2f}", out])
    print_info(
        format_table(["file", "result", "kept", "approximated", "lost", "seconds", "out"], cells, right=(2, 3, 4, 5))
    )
    results = [row.result for row in rows]
    totals = [f"{results.count(result)} {result}" for result in ("done", "failed", "passed over") if result in results]
    print_info(f"{quantity_text(len({row.file for row in rows}), 'file')}: {', '.join(totals)} in {seconds:.1f} s")
