"""``render``: a model or a .blend filmed."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..model.report import FormatError
from .arguments import Verbs, add_verb, run_options, seconds, size
from .telling import blender_jobs, say, say_report


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
    render.add_argument("--out", type=Path, required=True, metavar="OUT", help="a .mp4 or, for one picture, a .png")
    render.add_argument("--engine", type=str.upper, choices=("WORKBENCH", "EEVEE", "CYCLES"), default=None)
    render.add_argument("--size", type=size, metavar="WxH", help="pixels, such as 1280x720")


def _render(args: argparse.Namespace) -> None:
    if args.out.suffix.lower() not in {".mp4", ".png"}:
        raise FormatError(
            f"{args.out.suffix or 'no ending'} is not what render writes", path=str(args.out),
            remedy="Name the output .mp4 for a video or .png for one picture.",
        )  # fmt: skip
    jobs = blender_jobs()

    drive = args.drive.upper() if args.drive else None
    job = jobs.RenderJob(args.engine, args.size, args.seconds, drive, args.motion, dict(args.input), args.meshes)
    say_report(jobs.render_to_file(args.model, args.out, job))
    say(f"{args.out}: {args.out.stat().st_size} bytes")
