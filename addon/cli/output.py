"""Output of verbs: texts, JSON, progress and tables; and access to the tasks that need Blender."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from ..core.report import FormatError, Report
from ..core.summary import describe_report

#: Path that denotes standard output.
STDOUT = Path("-")


@dataclass
class VerbResult:
    """Result of a verb: the files written, with a label before their size, the report, and figures as plain values."""

    made: Sequence[Path] = ()
    report: Report = field(default_factory=Report)
    label: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """Return the result as values for JSON."""
        files = [{"out": str(path), "bytes": path.stat().st_size} for path in self.made if path != STDOUT]
        return {"made": files, **self.report.outcomes(), **self.facts, "report": describe_report(self.report)}


class _OutputSettings:
    """Output settings of this call of the command line."""

    prints_text = True  # print reports and results as text
    uses_stderr = False  # print these on standard error, since standard output has a file's content
    progress = True


def configure_output(args: argparse.Namespace) -> None:
    """Choose the output settings by the arguments: ``--quiet``, ``--json``, or a file on standard output."""
    quiet, as_json = getattr(args, "quiet", False), getattr(args, "json", False)
    _OutputSettings.prints_text = not quiet and not as_json
    _OutputSettings.uses_stderr = STDOUT in (getattr(args, "out", None), *getattr(args, "files", ())[-1:])
    _OutputSettings.progress = not quiet


def silence_output() -> None:
    """Print errors only, as worker processes do."""
    _OutputSettings.prints_text = _OutputSettings.progress = False


def print_info(text: str = "") -> None:
    """Print a line, unless quiet."""
    if _OutputSettings.prints_text:
        print(text, file=sys.stderr if _OutputSettings.uses_stderr else sys.stdout, flush=True)


def print_result(text: str) -> None:
    """Print a requested result, even if quiet."""
    print(text, flush=True)


def print_json(value: Any) -> None:
    """Print a result as one JSON value; on standard error where standard output has a file's content."""
    print(
        json.dumps(value, indent=2, allow_nan=False),
        file=sys.stderr if _OutputSettings.uses_stderr else sys.stdout,
        flush=True,
    )


def print_error(text: str) -> None:
    """Print an error on standard error, even if quiet."""
    print(f"knuckle: {text}", file=sys.stderr, flush=True)


def failure_object(file: object, message: str) -> dict[str, str]:
    """Return the object that ``--json`` prints for a file that failed."""
    return {"file": str(file), "message": message}


def print_report(report: Report | None) -> None:
    """Print the entries of a report, unless quiet."""
    for entry in report.entries if report is not None else ():
        print_info(str(entry))


def print_verb_result(done: VerbResult, as_json: bool) -> None:
    """Print the result of a verb."""
    if as_json:
        print_json(done.plain())
        return
    print_report(done.report)
    for path in done.made:
        if path != STDOUT:
            print_info(f"{path}: {done.label}{path.stat().st_size} bytes")


def write_stdout(data: bytes) -> None:
    """Write a file's bytes to standard output unchanged."""
    sys.stdout.flush()
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        sys.stdout.write(data.decode("utf-8", "replace"))
    else:
        buffer.write(data)
    sys.stdout.flush()


def print_progress(done: int, total: int, text: str) -> None:
    """Print the progress of a batch on standard error.

    On a terminal it is a single updated line, in a log a line per file.
    """
    if not _OutputSettings.progress:
        return
    if sys.stderr.isatty():
        print(f"\r{done}/{total} {text:60.60}", end="\n" if done == total else "", file=sys.stderr, flush=True)
    else:
        print(f"[{done}/{total}] {text}", file=sys.stderr, flush=True)


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Format a table of text; the columns with indices ``right`` are aligned to the right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = []
    for row in (header, *rows):
        cells = [
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def quantity_text(number: int, noun: str) -> str:
    """Format a count with its noun."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def load_blender_tasks() -> ModuleType:
    """Register Knuckle in Blender and return the tasks that need it (module ``blender.tasks``).

    Raises:
        FormatError: There is no Blender.
    """
    try:
        import_module("bpy")
    except ImportError:
        raise FormatError(
            "this command needs Blender",
            remedy="Install it as a Python module (pip install bpy), or use `blender --command`.",
        ) from None
    # imported here: they need Blender and take a second
    from ..blender import tasks
    from ..registration import register

    register()
    tasks.ConsoleProgress.quiet = not _OutputSettings.progress
    _make_interruptible(tasks.ConsoleProgress)
    return tasks


def _make_interruptible(ticker: Any) -> None:
    """Install a handler with which Ctrl-C ends long work even where Blender swallows the exception."""

    def stop(number: int, frame: FrameType | None) -> None:
        ticker.stopped = True
        signal.default_int_handler(number, frame)

    ticker.stopped = False
    ours = threading.current_thread() is threading.main_thread()
    if ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, stop)
