"""What the verbs print, and how they come by Blender."""

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

#: Stands for standard output where a file could be named.
STDOUT = Path("-")


@dataclass
class Done:
    """What a verb has done: the files it made with what is said of each, the report, and figures in plain values."""

    made: Sequence[Path] = ()
    report: Report = field(default_factory=Report)
    label: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """Return it in values that JSON has."""
        files = [{"out": str(path), "bytes": path.stat().st_size} for path in self.made if path != STDOUT]
        return {"made": files, **self.report.outcomes(), **self.facts, "report": describe_report(self.report)}


class _Voice:
    """How this call of the command line speaks."""

    speaks = True  # reports and what was made, in plain words
    aside = False  # and these on standard error, since the result is on standard output
    progress = True


def set_voice(args: argparse.Namespace) -> None:
    """Speak as these words ask for: ``--quiet``, ``--json``, or a result on standard output."""
    quiet, as_json = getattr(args, "quiet", False), getattr(args, "json", False)
    _Voice.speaks = not quiet and not as_json
    _Voice.aside = STDOUT in (getattr(args, "out", None), *getattr(args, "files", ())[-1:])
    _Voice.progress = not quiet


def be_silent() -> None:
    """Say nothing but what goes wrong, as processes do that work beside others."""
    _Voice.speaks = _Voice.progress = False


def say(text: str = "") -> None:
    """A line of what happens."""
    if _Voice.speaks:
        print(text, file=sys.stderr if _Voice.aside else sys.stdout, flush=True)


def say_result(text: str) -> None:
    """What was asked for itself: printed however quiet it is to be."""
    print(text, flush=True)


def say_json(value: Any) -> None:
    """A result as one JSON value; on standard error where a file's text is on standard output."""
    print(json.dumps(value, indent=2, allow_nan=False), file=sys.stderr if _Voice.aside else sys.stdout, flush=True)


def say_wrong(text: str) -> None:
    """What is wrong, on standard error, however quiet it is to be."""
    print(f"knuckle: {text}", file=sys.stderr, flush=True)


def failure(file: object, message: str) -> dict[str, str]:
    """Return what ``--json`` prints of a file that nothing could be done with."""
    return {"file": str(file), "message": message}


def say_report(report: Report | None) -> None:
    for entry in report.entries if report is not None else ():
        say(str(entry))


def say_done(done: Done, as_json: bool) -> None:
    """Tell what a verb has done."""
    if as_json:
        say_json(done.plain())
        return
    say_report(done.report)
    for path in done.made:
        if path != STDOUT:
            say(f"{path}: {done.label}{path.stat().st_size} bytes")


def put_out(data: bytes) -> None:
    """A file's bytes, on standard output as they are."""
    sys.stdout.flush()
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        sys.stdout.write(data.decode("utf-8", "replace"))
    else:
        buffer.write(data)
    sys.stdout.flush()


def say_progress(done: int, total: int, text: str) -> None:
    """How far a batch is: a line that counts on a terminal, a line per file in a log; on standard error."""
    if not _Voice.progress:
        return
    if sys.stderr.isatty():
        print(f"\r{done}/{total} {text:60.60}", end="\n" if done == total else "", file=sys.stderr, flush=True)
    else:
        print(f"[{done}/{total}] {text}", file=sys.stderr, flush=True)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Columns of text, those of the places ``right`` to the right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = []
    for row in (header, *rows):
        cells = [
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def counted(number: int, noun: str) -> str:
    """A number of things."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def blender_jobs() -> ModuleType:
    """Return what needs Blender, which the other verbs can do without."""
    try:
        import_module("bpy")
    except ImportError:
        raise FormatError(
            "this needs Blender", remedy="Install it as a Python module (pip install bpy), or use `blender --command`."
        ) from None
    # these need Blender and take a second
    from ..blender import tasks
    from ..registration import register

    register()
    tasks.Ticker.quiet = not _Voice.progress
    _heed_ctrl_c(tasks.Ticker)
    return tasks


def _heed_ctrl_c(ticker: Any) -> None:
    """Have long work end by Ctrl-C wherever that finds it."""

    def stop(number: int, frame: FrameType | None) -> None:
        ticker.stopped = True
        signal.default_int_handler(number, frame)

    ticker.stopped = False
    ours = threading.current_thread() is threading.main_thread()
    if ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, stop)
