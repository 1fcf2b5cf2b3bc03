"""``render``: models filmed, at once or in parts; ``encode``: pictures made a film."""

from __future__ import annotations

import argparse
from pathlib import Path
from types import ModuleType
from typing import Any

from ..model.report import FormatError
from .arguments import Verbs, above_zero, add_verb, batch_options, json_option, run_options, seconds, size, stretch
from .batch import Row, one_row
from .runs import run_many
from .telling import Done, blender_jobs, counted, say_done

#: What render writes: a video, or one picture.
ENDINGS = (".mp4", ".png")


def add_render(verbs: Verbs) -> None:
    """``render``."""
    render = add_verb(
        verbs,
        "render",
        _render,
        "film a model or a .blend",
        'render walker.jm --input "joystick 1 y=-1" --seconds 8 --out walk.mp4',
        "render models/*.jm --seconds 5 --to mp4 --out-dir films",
        "render walker.jm --seconds 8 --prepare stage.blend",
        "render stage.blend --frames 1..60 --out frames",
    )
    render.add_argument("models", type=Path, nargs="+", metavar="MODEL|FILE.blend")
    render.add_argument(
        "--drive", choices=("keys", "servo", "limp"), help="default: servo for a gait, keys for a motion"
    )
    run_options(render)
    render.add_argument("--seconds", type=seconds, metavar="S", help="length (default: 8, or the .blend's range)")
    render.add_argument("--out", type=Path, metavar="OUT", help="a .mp4 or, for one picture, a .png")
    render.add_argument("--engine", type=str.upper, choices=("WORKBENCH", "EEVEE", "CYCLES"), default=None)
    render.add_argument("--size", type=size, metavar="WxH", help="pixels, such as 1280x720")
    json_option(render)
    batch_options(render, "the film", ENDINGS)
    parts = render.add_argument_group("in parts, on one machine or many")
    parts.add_argument(
        "--prepare", type=Path, metavar="STAGE.blend", help="do all but the rendering: write a .blend for --frames"
    )
    parts.add_argument(
        "--frames", type=stretch, metavar="FIRST..LAST",
        help="of a stage that --prepare wrote, render these frames (or FIRST+COUNT) into the folder --out; the first "
        "is 1, and what lies behind the last is left out",
    )  # fmt: skip


def _render(args: argparse.Namespace) -> int:
    if args.out_dir is not None:
        if args.out is not None or args.prepare is not None or args.frames is not None:
            args.wrong("--out-dir goes without --out, --prepare and --frames")
        return run_many(args, render_one, args.to or ENDINGS[0][1:])
    if len(args.models) > 1:
        args.wrong("several models want --out-dir")
    args.model = args.models[0]
    if args.frames is not None and (args.out is None or args.prepare is not None):
        args.wrong("--frames goes with --out, the folder, and without --prepare")
    if args.out is None and args.prepare is None:
        args.wrong("give --out, or --out-dir for many files")
    if args.out is not None and args.prepare is not None:
        args.wrong("--prepare goes without --out")
    work = _frames if args.frames is not None else _prepare if args.prepare is not None else _film
    say_done(work(args), args.json)
    return 0


def render_one(args: argparse.Namespace) -> list[Row]:
    """One of many."""
    return one_row(_film, args)


def _film(args: argparse.Namespace) -> Done:
    if args.out.suffix.lower() not in ENDINGS:
        raise FormatError(
            f"{args.out.suffix or 'no ending'} is not what render writes", path=str(args.out),
            remedy="Name the output .mp4 for a video or .png for one picture.",
        )  # fmt: skip
    jobs = blender_jobs()
    return Done([args.out], jobs.render_to_file(args.model, args.out, render_job(jobs, args)))


def render_job(jobs: ModuleType, args: argparse.Namespace) -> Any:
    """What was asked for, as the jobs have it."""
    drive = args.drive.upper() if args.drive else None
    return jobs.RenderJob(args.engine, args.size, args.seconds, drive, args.motion, dict(args.input), args.meshes)


def _prepare(args: argparse.Namespace) -> Done:
    if args.prepare.suffix.lower() != ".blend":
        raise FormatError("a stage is a .blend", path=str(args.prepare), remedy="Give it that ending.")
    jobs = blender_jobs()
    report, facts = jobs.prepare_film(args.model, args.prepare, render_job(jobs, args))
    return Done([args.prepare], report, f"{counted(facts['frames'], 'frame')}, ", facts)


def _frames(args: argparse.Namespace) -> Done:
    first, many = args.frames
    made = blender_jobs().render_stage(args.model, args.out, first, first + many - 1)
    return Done(list(map(Path, made)), facts={"frames": len(made)})


def add_encode(verbs: Verbs) -> None:
    """``encode``."""
    encode = add_verb(
        verbs, "encode", _encode, "make a video of the pictures that render --frames made",
        "encode frames --stage stage.blend --out walk.mp4", "encode frames --fps 25 --out walk.mp4",
    )  # fmt: skip
    encode.add_argument("folder", type=Path, metavar="FOLDER")
    rate = encode.add_mutually_exclusive_group(required=True)
    rate.add_argument("--fps", type=rate_of, metavar="N", help="frames per second")
    rate.add_argument("--stage", type=Path, metavar="STAGE.blend", help="as many as this stage has")
    encode.add_argument("--out", type=Path, required=True, metavar="OUT", help="a .mp4")
    json_option(encode)


def rate_of(text: str) -> float:
    return above_zero(text, "frames", most=1000.0)


def _encode(args: argparse.Namespace) -> int:
    if not args.folder.is_dir():
        raise FormatError("there is no such folder", path=str(args.folder), remedy="Check the name.")
    frames = blender_jobs().encode_frames(args.folder, args.out, args.fps, args.stage)
    say_done(Done([args.out], label=f"{counted(frames, 'frame')}, ", facts={"frames": frames}), args.json)
    return 0
