"""Command line: ``python -m addon VERB …`` and ``blender --command knuckle VERB …``.

``arguments`` has what verbs share, and each other module implements some verbs. Exit codes: 0 done, 1 a file is bad or
could not be written (message on standard error), 2 wrong usage. Of many files each is tried, and 1 means that some
failed.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from ..core.report import FormatError
from ..formats.text.file_io import must_be_writable, must_have_folder
from ..installation import version
from .animate import add_animate, add_demo, add_import
from .convert import add_convert
from .inspect import add_check, add_info
from .jobs import add_job
from .output import STDOUT, failure, say_json, say_wrong, set_voice
from .render import add_encode, add_render
from .self_check import add_self_check
from .simulate import add_collect, add_simulate


def main(argv: Sequence[str]) -> int:
    """Run one verb and return the exit code."""
    args = argparse.Namespace()
    try:
        args = _parser().parse_args(list(argv))
        set_voice(args)
        _check_folders(args, argv)
        return args.run(args) or 0
    except SystemExit as stop:  # argparse's own
        return int(stop.code or 0)
    except FormatError as error:
        return _failed(args, error.path, str(error))
    except BrokenPipeError:  # the reader of our output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _failed(args, error.filename, f"{where}{error.strerror or error}")
    except KeyboardInterrupt:
        say_wrong("stopped")
        return 1


def _failed(args: argparse.Namespace, file: object, message: str) -> int:
    """Report a failure, with ``--json`` as an object too; ``file`` is the one to blame, where known.

    Returns:
        The exit code, 1.
    """
    say_wrong(message)
    if getattr(args, "json", False):
        say_json(failure(file or next(iter(getattr(args, "files", ())), ""), message))
    return 1


def _check_folders(args: argparse.Namespace, argv: Sequence[str]) -> None:
    """Reject outputs that could not be written, before any work is done."""
    if args.verb in {"demo", "job"}:  # their --out is a folder, which they create
        return
    paths = [getattr(args, name, None) for name in ("out", "plot", "blend", "figures", "prepare", "sheet", "poster")]
    if args.verb == "convert" and args.out_dir is None:
        paths.append(args.files[-1])
    for path in filter(None, paths):
        if path != STDOUT and getattr(args, "frames", None) is None:  # --out of --frames is a folder
            must_be_writable(_as_given(path, argv))
        must_have_folder(path)


def _as_given(path: Path, argv: Sequence[str]) -> str:
    """Return a path with the trailing separator it was given with, which marks a folder and which ``Path`` drops."""
    ends = tuple(filter(None, (os.sep, os.altsep)))
    words = (word.partition("=")[2] if word.startswith("--") else word for word in map(str, argv))
    return next((word for word in words if word.endswith(ends) and Path(word) == path), str(path))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="knuckle", description="Mechanisms in Blender: look at them, simulate them, film them, convert them."
    )
    parser.add_argument("--version", action="version", version=f"Knuckle {version()}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for add in (
        add_info, add_check, add_convert, add_import, add_animate, add_simulate, add_collect, add_render, add_encode,
        add_job, add_demo, add_self_check,
    ):  # fmt: skip
        add(verbs)
    return parser
