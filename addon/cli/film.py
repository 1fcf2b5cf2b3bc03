"""``render``: a model or a .blend filmed."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from ..model.report import FormatError
from .arguments import Verbs, add_verb, run_options, seconds, size
from .telling import blender_jobs, say, say_report

ENGINES = ("workbench", "eevee", "cycles")
STAGES = ("studio", "outdoor", "blueprint", "scientific")
CAMERAS = ("follow", "fixed", "three-quarter", "side", "front", "turntable")
BURNS = ("name", "time", "servos", "axes", "stops")
#: Width, height and frames per second by name.
PRESETS = {
    "small": (960, 540, 30.0),
    "hd": (1280, 720, 30.0),
    "full-hd": (1920, 1080, 30.0),
    "square": (1080, 1080, 30.0),
    "vertical": (1080, 1920, 30.0),
    "loop": (480, 480, 15.0),
}
#: What ``render`` writes: videos first, then pictures.
ENDINGS = (".mp4", ".webm", ".gif", ".png")


def add_render(verbs: Verbs) -> None:
    """``render``."""
    render = add_verb(
        verbs,
        "render",
        _render,
        "film a model or a .blend",
        'render walker.jm --input "joystick 1 y=-1" --seconds 8 --out walk.mp4',
    )
    render.add_argument("model", type=Path, metavar="MODEL|FILE.blend")
    render.add_argument(
        "--drive", choices=("keys", "servo", "limp"), help="default: servo for a gait, keys for a motion"
    )
    run_options(render)
    render.add_argument("--seconds", type=seconds, metavar="S", help="length (default: 8, or the .blend's range)")
    render.add_argument(
        "--out", type=Path, required=True, metavar="OUT", help="a .mp4, .webm or .gif or, for one picture, a .png"
    )
    film_arguments(render)
    render.add_argument("--resume", action="store_true", help="go on with the frames that an interrupted run left")
    render.add_argument("--keep-frames", action="store_true", help="leave the frames in a folder beside OUT")
    render.add_argument("--sheet", type=Path, metavar="FILE.png", help="an overview of the frames too")
    render.add_argument("--poster", type=Path, metavar="FILE.png", help="a fine picture of the middle too")


def film_arguments(parser: argparse.ArgumentParser) -> None:
    """How a film is to look: what ``film_options`` reads."""
    parser.add_argument("--stage", choices=STAGES, default="studio", help="where it is filmed (default: studio)")
    parser.add_argument(
        "--camera", choices=CAMERAS, default="follow",
        help="follow (default) goes along with the model, fixed stands, turntable goes once round it; the others go "
        "along only with what goes far",
    )  # fmt: skip
    parser.add_argument("--engine", type=str.lower, choices=ENGINES, default="workbench", help="default: workbench")
    parser.add_argument("--samples", type=_whole, metavar="N", help="of each pixel (default: what suits the engine)")
    parser.add_argument(
        "--preset", choices=tuple(PRESETS), default="small",
        help="; ".join(f"{name}: {wide}x{high}" for name, (wide, high, _) in PRESETS.items()) + " (default: small)",
    )  # fmt: skip
    parser.add_argument("--size", type=size, metavar="WxH", help="pixels, such as 1280x720, instead of the preset's")
    parser.add_argument("--fps", type=_rate, metavar="N", help="frames per second, instead of the preset's")
    parser.add_argument("--title", default="", metavar="TEXT", help="write this over the film")
    parser.add_argument(
        "--burn", type=_burns, default=(), metavar="WHAT,…", help=f"write or draw over it: {', '.join(BURNS)}"
    )
    parser.add_argument(
        "--side-by-side", action="store_true", help="the model on its keys at the left, under physics at the right"
    )


def film_options(args: argparse.Namespace) -> dict[str, Any]:
    """What was asked for, as what ``FilmOptions`` is made of."""
    wide, high, rate = PRESETS[args.preset]
    return {
        "stage": args.stage.upper(),
        "camera": args.camera.upper().replace("-", "_"),
        "engine": args.engine.upper(),
        "samples": args.samples,
        "size": args.size or (wide, high),
        "fps": args.fps or rate,
        "title": args.title,
        "burn": tuple(word.upper() for word in args.burn),
        "side_by_side": args.side_by_side,
    }


def _burns(text: str) -> tuple[str, ...]:
    words = tuple(word.strip().lower() for word in text.split(",") if word.strip())
    wrong = [word for word in words if word not in BURNS]
    if wrong or not words:
        raise argparse.ArgumentTypeError(f"{(wrong or [text])[0]!r} is none of {', '.join(BURNS)}")
    return words


def _whole(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 100_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0.0 < rate <= 1000.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of frames per second")
    return rate


def _render(args: argparse.Namespace) -> None:
    ending = args.out.suffix.lower()
    if ending not in ENDINGS:
        raise FormatError(
            f"{args.out.suffix or 'no ending'} is not what render writes", path=str(args.out),
            remedy="Name the output .mp4, .webm or .gif for a video or .png for one picture.",
        )  # fmt: skip
    extras = {"sheet": args.sheet, "poster": args.poster}
    for option, path in extras.items():
        if path is not None and (ending == ".png" or path.suffix.lower() != ".png"):
            raise FormatError(
                f"--{option} is a .png that is made beside a video", path=str(path),
                remedy="Name it .png, and the output .mp4, .webm or .gif.",
            )  # fmt: skip
    film = film_options(args) | {name: str(path) for name, path in extras.items() if path is not None}
    film |= {"resume": args.resume, "keep_frames": args.keep_frames}
    jobs = blender_jobs()

    drive = args.drive.upper() if args.drive else None
    job = jobs.RenderJob(film, args.seconds, drive, args.motion, dict(args.input), args.meshes)
    try:
        say_report(jobs.render_to_file(args.model, args.out, job))
    except KeyboardInterrupt:
        left = jobs.frames_left(str(args.out))
        if left:
            print(f"{left} frames are kept: the same command with --resume goes on with them", file=sys.stderr)
        raise
    for made in (args.out, *(path for path in extras.values() if path is not None)):
        say(f"{made}: {made.stat().st_size} bytes")
