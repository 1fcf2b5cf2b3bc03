"""What the verbs share: how one is added, and the kinds of their arguments."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from ..model.gait import parse_input

Command = Callable[[argparse.Namespace], None]
#: Where ``argparse`` keeps the verbs.
Verbs = argparse._SubParsersAction


def add_verb(verbs: Verbs, name: str, run: Command, text: str, example: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser(
        name, help=text, description=text[0].upper() + text[1:] + ".", epilog=f"Example: knuckle {example}"
    )
    parser.set_defaults(run=run)
    return parser


def mesh_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--meshes",
        type=_folder,
        action="append",
        default=[],
        metavar="DIR",
        help="look for the model's meshes in this folder too, and below it (may be given several times); "
        "without it they are read from the model's own folder only",
    )


def run_options(parser: argparse.ArgumentParser) -> None:
    mesh_option(parser)
    parser.add_argument("--motion", type=Path, metavar="M", help="play this motion instead of the model's gait")
    input_option(parser)


def input_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--input",
        type=_input,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help='hold a control of the model, such as "joystick 1 y=-1" (may be given several times)',
    )


def _input(text: str) -> tuple[str, float]:
    try:
        return parse_input(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _folder(text: str) -> str:
    folder = Path(text).absolute()
    if not folder.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is no folder")
    return str(folder)


def seconds(text: str) -> float:
    return _above_zero(text, "seconds", most=36000.0)


def milliseconds(text: str) -> float:
    """Of a number of milliseconds, the seconds."""
    return _above_zero(text, "milliseconds", most=60000.0) / 1000.0


def _above_zero(text: str, unit: str, most: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not value > 0.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of {unit} above 0")
    if value > most:
        raise argparse.ArgumentTypeError(f"{text!r} is more than {most:g} {unit}")
    return value


def pair(text: str) -> tuple[str, str]:
    name, separator, servo = text.partition("=")
    if not name or not separator:
        raise argparse.ArgumentTypeError(f"{text!r} is not FILE=SERVO, such as LHip=left_hip")
    return name, servo


def size(text: str) -> tuple[int, int]:
    width, _, height = text.lower().partition("x")
    if not (width.isdigit() and height.isdigit() and int(width) >= 16 and int(height) >= 16):
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 1280x720")
    return int(width), int(height)
