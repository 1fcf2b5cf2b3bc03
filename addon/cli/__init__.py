"""The command line: ``python -m addon VERB …`` and ``blender --command knuckle VERB …``.

``arguments`` has what verbs share, and each other module some verbs: what is asked of them, and how it is done.
Exit codes: 0 done, 1 a file is bad or could not be written (message on standard error), 2 wrong usage.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ..model.report import FormatError
from .blends import add_demo, add_import
from .files import add_convert, add_info
from .film import add_render
from .motions import add_animate
from .runs import add_simulate


def main(argv: Sequence[str]) -> int:
    """Run one verb; returns the exit code."""
    try:
        args = _parser().parse_args(list(argv))
        _check_folders(args)
        args.run(args)
    except SystemExit as stop:  # argparse's own
        return int(stop.code or 0)
    except FormatError as error:
        print(f"knuckle: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"knuckle: {where}{error.strerror or error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("knuckle: stopped", file=sys.stderr)
        return 1
    return 0


def _check_folders(args: argparse.Namespace) -> None:
    """Refuse what could not be written before any work is done."""
    for name in ("out", "plot", "blend", "target", "sheet", "poster"):
        path = getattr(args, name, None)
        if path is not None and args.verb != "demo" and not path.parent.is_dir():
            raise FormatError(
                f"there is no folder {str(path.parent)!r}", path=str(path), remedy="Make it first, or name another."
            )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="knuckle", description="Mechanisms in Blender: look at them, simulate them, film them, convert them."
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for add in (add_info, add_convert, add_import, add_animate, add_simulate, add_render, add_demo):
        add(verbs)
    return parser
