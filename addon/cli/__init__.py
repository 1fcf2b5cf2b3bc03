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
from ..formats.text.file_io import check_folder_exists, check_writable
from ..installation import package_version
from .animate import add_animate, add_demo, add_import
from .convert import add_convert
from .inspect import add_check, add_info, add_self_check
from .jobs import add_job
from .output import STDOUT, configure_output, failure_object, print_error, print_json
from .render import add_encode, add_render
from .simulate import add_collect, add_simulate

#: The program as it is called from a shell, and within Blender.
PYTHON_PROGRAM, BLENDER_PROGRAM = "python -m addon", "blender --command knuckle"


def run_in_blender(argv: Sequence[str]) -> int:
    """Run one verb of ``blender --command knuckle`` and return the exit code."""
    return main(argv, BLENDER_PROGRAM)


def main(argv: Sequence[str], program: str = PYTHON_PROGRAM) -> int:
    """Run one verb and return the exit code; ``program`` is what help texts call it."""
    args = argparse.Namespace()
    try:
        args = _build_parser(program).parse_args(list(argv))
        configure_output(args)
        _check_output_folders(args, argv)
        return args.run(args) or 0
    except SystemExit as stop:  # argparse's own
        return int(stop.code or 0)
    except FormatError as error:
        return _report_failure(args, error.path, str(error))
    except BrokenPipeError:  # the reader of our output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _report_failure(args, error.filename, f"{where}{error.strerror or error}")
    except KeyboardInterrupt:
        print_error("stopped")
        return 1


def _report_failure(args: argparse.Namespace, file: object, message: str) -> int:
    """Report a failure, with ``--json`` as an object too; ``file`` is the one to blame, where known.

    Returns:
        The exit code, 1.
    """
    print_error(message)
    if getattr(args, "json", False):
        print_json(failure_object(file or next(iter(getattr(args, "files", ())), ""), message))
    return 1


def _check_output_folders(args: argparse.Namespace, argv: Sequence[str]) -> None:
    """Reject outputs that could not be written, before any work is done."""
    if args.verb in {"demo", "job"}:  # their --out is a folder, which they create
        return
    paths = [getattr(args, name, None) for name in ("out", "plot", "blend", "figures", "prepare", "sheet", "poster")]
    if args.verb == "convert" and args.out_dir is None:
        paths.append(args.files[-1])
    for path in filter(None, paths):
        if path != STDOUT and getattr(args, "frames", None) is None:  # --out of --frames is a folder
            check_writable(_keep_trailing_separator(path, argv))
        check_folder_exists(path)


def _keep_trailing_separator(path: Path, argv: Sequence[str]) -> str:
    """Return a path with the trailing separator it was given with, which marks a folder and which ``Path`` drops."""
    ends = tuple(filter(None, (os.sep, os.altsep)))
    words = (word.partition("=")[2] if word.startswith("--") else word for word in map(str, argv))
    return next((word for word in words if word.endswith(ends) and Path(word) == path), str(path))


def _build_parser(program: str = PYTHON_PROGRAM) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=program, description="Mechanisms in Blender: inspect, simulate, render and convert them."
    )
    parser.add_argument("--version", action="version", version=f"Knuckle {package_version()}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for add in (
        add_info, add_check, add_convert, add_import, add_animate, add_simulate, add_collect, add_render, add_encode,
        add_job, add_demo, add_self_check,
    ):  # fmt: skip
        add(verbs)
    return parser
