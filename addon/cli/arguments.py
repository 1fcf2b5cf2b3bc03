"""Arguments that verbs share: creation of a verb's parser, common options, and argument types."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from ..core.gait.engine import parse_input

#: Function of a verb; returns an exit code, or None for 0.
Command = Callable[[argparse.Namespace], "int | None"]
#: Collection of ``argparse`` that verbs are added to.
Subparsers = argparse._SubParsersAction


def add_verb(verbs: Subparsers, name: str, run: Command, text: str, *examples: str) -> argparse.ArgumentParser:
    """Add a verb's parser with the common options; ``examples``, which begin with it, are shown by ``--help``."""
    shown = "".join(f"\n  %(prog)s{example.removeprefix(name)}" for example in examples)
    parser: argparse.ArgumentParser = verbs.add_parser(
        name, help=text, description=text[0].upper() + text[1:] + ".",
        epilog=f"{'Examples' if len(examples) > 1 else 'Example'}:{shown}",
        formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
    )  # fmt: skip
    parser.add_argument("-q", "--quiet", action="store_true", help="print only requested output and errors")
    parser.set_defaults(run=run, wrong=parser.error)
    return parser


def add_json_option(parser: argparse.ArgumentParser, text: str = "print what was done as one JSON object") -> None:
    """Add the option ``--json``."""
    parser.add_argument("--json", action="store_true", help=text)


def add_batch_options(parser: argparse.ArgumentParser, what: str, endings: Sequence[str] | None = None) -> None:
    """Add the options that apply a verb to many files."""
    group = parser.add_argument_group("many files at once")
    group.add_argument(
        "--out-dir", type=Path, metavar="DIR",
        help=f"write {what} of each file to this folder, which is created if missing; FILE can be names, patterns and "
        "folders; a failed file does not stop the others; prints a table and returns 1 if a file failed",
    )  # fmt: skip
    if endings is not None:
        group.add_argument(
            "--to",
            choices=[each[1:] for each in endings],
            help=f"output format with --out-dir (default: {endings[0][1:]})",
        )
    group.add_argument(
        "--parallel", type=parse_count, default=1, metavar="N", help="number of parallel processes (default: 1)"
    )


def parse_count(text: str) -> int:
    """Parse a whole number from 1 to 1024."""
    if not text.isdigit() or not 0 < int(text) <= 1024:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 1024")
    return int(text)


def parse_index_range(text: str) -> tuple[int, int]:
    """Parse FIRST+COUNT or FIRST..LAST and return the first number and the count."""
    match = re.fullmatch(r"(\d+)(?:(\+|\.\.)(\d+))?", text)
    first, how, number = (int(match[1]), match[2], int(match[3] or 1)) if match else (0, None, 0)
    many = number - first + 1 if how == ".." else number
    if first < 1 or many < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not FIRST..LAST or FIRST+COUNT, such as 1..30 or 31+30")
    return first, many


def parse_factor(text: str) -> float:
    """Parse a finite number of at least 0."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 0 or more")
    return value


def add_mesh_option(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--meshes``."""
    parser.add_argument(
        "--meshes",
        type=_parse_folder,
        action="append",
        default=[],
        metavar="DIR",
        help="also search meshes in this folder and its subfolders (repeatable; default: only the folder of the model)",
    )


def add_simulation_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of verbs that play a model: ``--meshes``, ``--motion`` and ``--input``."""
    add_mesh_option(parser)
    parser.add_argument("--motion", type=Path, metavar="M", help="use this motion instead of the gait of the model")
    add_input_option(parser)


def add_input_option(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--input``."""
    parser.add_argument(
        "--input",
        type=_parse_input,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help='value of an input of the gait, such as "joystick 1 y=-1" (repeatable)',
    )


def _parse_input(text: str) -> tuple[str, float]:
    try:
        return parse_input(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _parse_folder(text: str) -> str:
    folder = Path(text).absolute()
    if not folder.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is not a folder")
    return str(folder)


def parse_seconds(text: str) -> float:
    """Parse a duration in seconds, above 0 and at most 36000."""
    return parse_positive(text, "seconds", most=36000.0)


def parse_milliseconds(text: str) -> float:
    """Parse a number of milliseconds and return seconds."""
    return parse_positive(text, "milliseconds", most=60000.0) / 1000.0


def parse_positive(text: str, unit: str, most: float) -> float:
    """Parse a number above 0 and at most ``most``, of a ``unit`` named in messages."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not value > 0.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of {unit} above 0")
    if value > most:
        raise argparse.ArgumentTypeError(f"{text!r} is above the maximum of {most:g} {unit}")
    return value


def parse_pair(text: str) -> tuple[str, str]:
    """Parse FILE=SERVO."""
    name, separator, servo = text.partition("=")
    if not name or not separator:
        raise argparse.ArgumentTypeError(f"{text!r} is not FILE=SERVO, such as LHip=left_hip")
    return name, servo


def parse_size(text: str) -> tuple[int, int]:
    """Parse a size in pixels, such as 1280x720."""
    width, _, height = text.lower().partition("x")
    if not (width.isdigit() and height.isdigit() and int(width) >= 16 and int(height) >= 16):
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 1280x720")
    return int(width), int(height)
