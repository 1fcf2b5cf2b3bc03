"""``simulate``: a model under physics."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..animate import motion_endings
from ..model.report import FormatError
from .arguments import Verbs, add_verb, run_options, seconds
from .telling import blender_jobs, say, say_report


def add_simulate(verbs: Verbs) -> None:
    """``simulate``."""
    simulate = add_verb(
        verbs,
        "simulate",
        _simulate,
        "run a model under physics and write what its servos did",
        'simulate walker.jm --input "joystick 1 y=-1" --seconds 8 --out walk.xmdi',
    )
    simulate.add_argument("model", type=Path, metavar="MODEL")
    simulate.add_argument("--drive", choices=("servo", "limp"), default="servo", help="servos on or off")
    simulate.add_argument(
        "--all-bodies", action="store_true",
        help="key every body in the .blend, so that it plays where physics had it, gaps between joints and all",
    )  # fmt: skip
    run_options(simulate)
    simulate.add_argument("--seconds", type=seconds, required=True, metavar="S")
    simulate.add_argument(
        "--out", type=Path, required=True, metavar="OUT", help=", ".join([*motion_endings(), ".blend"])
    )


def _simulate(args: argparse.Namespace) -> None:
    endings = motion_endings()
    if args.out.suffix.lower() not in {*endings, ".blend"}:
        raise FormatError(
            f"{args.out.suffix or 'no ending'} is not what simulate writes", path=str(args.out),
            remedy=f"Name the output {', '.join(endings)} for the servo motion or .blend for the scene.",
        )  # fmt: skip
    if args.all_bodies and args.out.suffix.lower() != ".blend":
        raise FormatError("--all-bodies is for a .blend", path=str(args.out), remedy="Leave it out, or write a .blend.")
    jobs = blender_jobs()

    report = jobs.simulate_to_file(
        args.model, args.out, args.seconds, args.drive.upper(), args.motion, dict(args.input), args.meshes,
        args.all_bodies,
    )  # fmt: skip
    say_report(report)
    say(f"{args.out}: {args.out.stat().st_size} bytes")
