"""``animate``: gaits and motions as files, scenes and plots."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..core.motion.fitting import Fitting
from .arguments import Verbs, add_verb, input_option, json_option, mesh_option, milliseconds, pair, seconds
from .motion_jobs import AnimateJob, animate, motion_endings
from .output import STDOUT, Done, blender_jobs, put_out, say_done


def add_animate(verbs: Verbs) -> None:
    """``animate``."""
    parser = add_verb(
        verbs,
        "animate",
        _animate,
        "write a model's gait, or a motion fitted to it, as a motion file, a .blend or a plot",
        'animate walker.jm --gait --input "joystick 1 y=-1" --seconds 10 --out walk.xmdi',
        "animate walker.jm --motion walk.motion --stops clamp --step 20 --out walk.csv --plot walk.png",
        "animate walker.jm --gait --out - | head -3",
    )
    parser.add_argument("model", type=Path, metavar="MODEL")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--motion", type=Path, metavar="M", help="a motion file: its servos are found by their names")
    what.add_argument("--gait", action="store_true", help="the model's own gait")
    input_option(parser)
    parser.add_argument(
        "--seconds", type=seconds, metavar="S", help="how long a gait goes on (default: 10, as of an import)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="OUT",
        help=", ".join([*motion_endings(), ".blend", "or - for CSV on standard output"]),
    )
    parser.add_argument("--plot", type=Path, metavar="PICTURE", help="draw the servos over time: .png, .svg or .pdf")
    parser.add_argument("--servo", action="append", default=[], metavar="NAME", help="draw this one (repeatable)")
    parser.add_argument("--only", metavar="NAME", help="of a file with several motions, this one (default: all)")
    parser.add_argument(
        "--map", type=pair, action="append", default=[], metavar="FILE=SERVO",
        help="the file's servo FILE moves the model's SERVO; nothing behind the = leaves it out (repeatable)",
    )  # fmt: skip
    parser.add_argument("--degrees", action="store_true", help="the file's angles are in degrees, not radians")
    parser.add_argument("--millimetres", action="store_true", help="its lengths are in millimetres, not metres")
    parser.add_argument(
        "--stops", choices=("keep", "clamp", "refuse"),
        help="keys beyond a servo's stops: keep them (default), put them on the stop, or write nothing",
    )  # fmt: skip
    parser.add_argument(
        "--step", type=milliseconds, metavar="MS", help="a key every MS milliseconds (default: the file's; gaits: 32)"
    )
    json_option(parser)
    mesh_option(parser)


def _animate(args: argparse.Namespace) -> int:
    if args.out is None and args.plot is None:
        args.wrong("give --out, --plot or both")
    if args.servo and args.plot is None:
        args.wrong("--servo chooses what --plot draws")
    foreign = {
        "--input": args.input, "--seconds": args.seconds,
    } if args.motion is not None else {
        "--only": args.only, "--map": args.map, "--degrees": args.degrees, "--millimetres": args.millimetres,
        "--stops": args.stops,
    }  # fmt: skip
    for option, given in foreign.items():
        if given:
            args.wrong(f"{option} goes with {'--gait' if args.motion is not None else '--motion'}")
    if args.gait and args.step and args.out is not None and args.out.suffix.lower() == ".blend":
        args.wrong("a gait has a key per frame in a .blend: --step has no say there")
    job = AnimateJob(
        args.model, args.motion, args.only, dict(args.input), args.seconds or 10.0,
        Fitting(dict(args.map), args.degrees, args.millimetres, args.stops or "keep", args.step),
        args.out, args.plot, args.servo, args.meshes, put_out if args.out == STDOUT else None,
    )  # fmt: skip
    report = animate(job, blender_jobs)
    say_done(Done([path for path in (args.out, args.plot) if path is not None], report), args.json)
    return 0
