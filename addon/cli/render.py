"""Verbs ``render`` (videos of models, at once or in parts) and ``encode`` (a video of rendered pictures)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from ..core.report import FormatError
from .arguments import Verbs, add_verb, batch_options, json_option, run_options, seconds, size, stretch
from .batch import Row, one_row
from .output import Done, blender_jobs, counted, say_done
from .simulate import run_many

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
#: File endings that ``render`` writes: videos first, then pictures.
ENDINGS = (".mp4", ".webm", ".webp", ".gif", ".png")


def add_render(verbs: Verbs) -> None:
    """Add the verb ``render``."""
    render = add_verb(
        verbs,
        "render",
        _render,
        "film a model or a .blend",
        'render walker.jm --input "joystick 1 y=-1" --seconds 8 --out walk.mp4',
        "render walker.jm --camera side --stage scientific --burn time,name --out walk.webp",
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
    render.add_argument(
        "--out", type=Path, metavar="OUT", help="a .mp4, .webm, .webp or .gif or, for one picture, a .png"
    )
    film_arguments(render)
    render.add_argument("--resume", action="store_true", help="go on with the frames that an interrupted run left")
    render.add_argument("--keep-frames", action="store_true", help="leave the frames in a folder beside OUT")
    render.add_argument("--sheet", type=Path, metavar="FILE.png", help="an overview of the frames too")
    render.add_argument("--poster", type=Path, metavar="FILE.png", help="a fine picture of the middle too")
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


def film_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the look of a video, which ``film_options`` reads."""
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
    """Convert the arguments to keyword arguments of ``FilmOptions``."""
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


def film_words(args: argparse.Namespace) -> list[str]:
    """Return the arguments of ``film_arguments`` as given, without the title, as words for another command."""
    words: list[str] = []
    for name, usual in (("stage", "studio"), ("camera", "follow"), ("engine", "workbench"), ("preset", "small")):
        if getattr(args, name) != usual:
            words += [f"--{name}", getattr(args, name)]
    for name in ("samples", "fps"):
        if getattr(args, name) is not None:
            words += [f"--{name}", f"{getattr(args, name):g}"]
    if args.size:
        words += ["--size", "{}x{}".format(*args.size)]
    if args.burn:
        words += ["--burn", ",".join(args.burn)]
    return [*words, "--side-by-side"] if args.side_by_side else words


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


def _render(args: argparse.Namespace) -> int:
    if (args.sheet or args.poster or args.resume) and (args.out is None or args.frames is not None):
        args.wrong("--sheet, --poster and --resume go with the --out of a film")
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
    """Render one of many models."""
    return one_row(_film, args)


def _film(args: argparse.Namespace) -> Done:
    ending = args.out.suffix.lower()
    if ending not in ENDINGS:
        raise FormatError(
            f"{args.out.suffix or 'no ending'} is not what render writes", path=str(args.out),
            remedy="Name the output .mp4, .webm, .webp or .gif for a video or .png for one picture.",
        )  # fmt: skip
    extras = {"sheet": args.sheet, "poster": args.poster}
    for option, path in extras.items():
        if path is not None and (ending == ".png" or path.suffix.lower() != ".png"):
            raise FormatError(
                f"--{option} is a .png that is made beside a video", path=str(path),
                remedy="Name it .png, and the output .mp4, .webm, .webp or .gif.",
            )  # fmt: skip
    film = {name: str(path) for name, path in extras.items() if path is not None}
    film |= {"resume": args.resume, "keep_frames": args.keep_frames}
    jobs = blender_jobs()
    try:
        report = jobs.render_to_file(args.model, args.out, render_job(jobs, args, film))
    except KeyboardInterrupt:
        left = jobs.frames_left(str(args.out))
        if left:
            print(f"{left} frames are kept: the same command with --resume goes on with them", file=sys.stderr)
        raise
    return Done([args.out, *(path for path in extras.values() if path is not None)], report)


def render_job(jobs: ModuleType, args: argparse.Namespace, film: Mapping[str, Any] | None = None) -> Any:
    """Convert the arguments to a ``RenderJob``; ``film`` are further options of the video."""
    drive = args.drive.upper() if args.drive else None
    options = film_options(args) | dict(film or {})
    return jobs.RenderJob(options, args.seconds, drive, args.motion, dict(args.input), args.meshes)


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
    """Add the verb ``encode``."""
    encode = add_verb(
        verbs, "encode", _encode, "make a video of the pictures that render --frames made",
        "encode frames --prepared stage.blend --out walk.mp4", "encode frames --fps 25 --out walk.mp4",
    )  # fmt: skip
    encode.add_argument("folder", type=Path, metavar="FOLDER")
    rate = encode.add_mutually_exclusive_group(required=True)
    rate.add_argument("--fps", type=_rate, metavar="N", help="frames per second")
    rate.add_argument("--prepared", type=Path, metavar="STAGE.blend", help="as many as this stage has")
    encode.add_argument("--out", type=Path, required=True, metavar="OUT", help="a .mp4, .webm, .webp or .gif")
    json_option(encode)


def _encode(args: argparse.Namespace) -> int:
    if not args.folder.is_dir():
        raise FormatError("there is no such folder", path=str(args.folder), remedy="Check the name.")
    frames = blender_jobs().encode_frames(args.folder, args.out, args.fps, args.prepared)
    say_done(Done([args.out], label=f"{counted(frames, 'frame')}, ", facts={"frames": frames}), args.json)
    return 0
