"""Verbs ``render`` (videos of models, at once or in parts) and ``encode`` (a video of rendered pictures)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from ..core.report import FormatError
from .arguments import (
    Subparsers,
    add_batch_options,
    add_json_option,
    add_simulation_options,
    add_verb,
    parse_index_range,
    parse_seconds,
    parse_size,
)
from .batch import BatchRow, run_single
from .output import VerbResult, load_blender_tasks, print_verb_result, quantity_text
from .simulate import run_batch

ENGINE_CHOICES = ("workbench", "eevee", "cycles")
STAGE_CHOICES = ("studio", "outdoor", "blueprint", "scientific")
CAMERA_CHOICES = ("follow", "fixed", "three-quarter", "side", "front", "turntable")
BURN_IN_FIELDS = ("name", "time", "servos", "axes", "stops")
#: Width, height and frames per second by name.
SIZE_PRESETS = {
    "small": (960, 540, 30.0),
    "hd": (1280, 720, 30.0),
    "full-hd": (1920, 1080, 30.0),
    "square": (1080, 1080, 30.0),
    "vertical": (1080, 1920, 30.0),
    "loop": (480, 480, 15.0),
}
#: File endings that ``render`` writes: videos first, then pictures.
VIDEO_EXTENSIONS = (".mp4", ".webm", ".webp", ".gif", ".png")


def add_render(verbs: Subparsers) -> None:
    """Add the verb ``render``."""
    render = add_verb(
        verbs,
        "render",
        _render,
        "render a video of a model or a .blend",
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
    add_simulation_options(render)
    render.add_argument(
        "--seconds", type=parse_seconds, metavar="S", help="duration in s (default: 8, or the range of the .blend)"
    )
    render.add_argument("--out", type=Path, metavar="OUT", help="video (.mp4, .webm, .webp, .gif) or one image (.png)")
    add_video_arguments(render)
    render.add_argument("--resume", action="store_true", help="continue an interrupted rendering")
    render.add_argument("--keep-frames", action="store_true", help="keep the frames in a folder next to OUT")
    render.add_argument("--sheet", type=Path, metavar="FILE.png", help="also write a contact sheet of the frames")
    render.add_argument("--poster", type=Path, metavar="FILE.png", help="also write a poster: one image of the middle")
    add_json_option(render)
    add_batch_options(render, "the video", VIDEO_EXTENSIONS)
    parts = render.add_argument_group("in parts, on one or several machines")
    parts.add_argument(
        "--prepare", type=Path, metavar="STAGE.blend", help="write a .blend for --frames, without rendering"
    )
    parts.add_argument(
        "--frames", type=parse_index_range, metavar="FIRST..LAST",
        help="render these frames (or FIRST+COUNT) of a stage written by --prepare to the folder --out; the first "
        "is 1, frames after the last are ignored",
    )  # fmt: skip


def add_video_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the look of a video, which ``read_video_options`` reads."""
    parser.add_argument("--stage", choices=STAGE_CHOICES, default="studio", help="surroundings (default: studio)")
    parser.add_argument(
        "--camera", choices=CAMERA_CHOICES, default="follow",
        help="follow (default) moves with the model, fixed does not move, turntable circles it once; the others move "
        "only with models that travel far",
    )  # fmt: skip
    parser.add_argument(
        "--engine", type=str.lower, choices=ENGINE_CHOICES, default="workbench", help="default: workbench"
    )
    parser.add_argument(
        "--samples", type=_parse_integer, metavar="N", help="samples per pixel (default: depends on the engine)"
    )
    parser.add_argument(
        "--preset", choices=tuple(SIZE_PRESETS), default="small",
        help="; ".join(f"{name}: {wide}x{high}" for name, (wide, high, _) in SIZE_PRESETS.items())
        + " (default: small)",
    )  # fmt: skip
    parser.add_argument(
        "--size", type=parse_size, metavar="WxH", help="pixels, such as 1280x720, instead of the preset's"
    )
    parser.add_argument("--fps", type=_parse_frame_rate, metavar="N", help="frames per second, instead of the preset's")
    parser.add_argument("--title", default="", metavar="TEXT", help="text over the video")
    parser.add_argument(
        "--burn",
        type=_parse_burn_in,
        default=(),
        metavar="WHAT,…",
        help=f"overlays, separated by commas: {', '.join(BURN_IN_FIELDS)}",
    )
    parser.add_argument(
        "--side-by-side",
        action="store_true",
        help="show the model with keyframes at the left and with physics at the right",
    )


def read_video_options(args: argparse.Namespace) -> dict[str, Any]:
    """Convert the arguments to keyword arguments of ``FilmOptions``."""
    wide, high, rate = SIZE_PRESETS[args.preset]
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


def video_argument_words(args: argparse.Namespace) -> list[str]:
    """Return the arguments of ``add_video_arguments`` as given, without the title, as words for another command."""
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


def _parse_burn_in(text: str) -> tuple[str, ...]:
    words = tuple(word.strip().lower() for word in text.split(",") if word.strip())
    wrong = [word for word in words if word not in BURN_IN_FIELDS]
    if wrong or not words:
        raise argparse.ArgumentTypeError(f"{(wrong or [text])[0]!r} is not one of {', '.join(BURN_IN_FIELDS)}")
    return words


def _parse_integer(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 100_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def _parse_frame_rate(text: str) -> float:
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
        return run_batch(args, render_one, args.to or VIDEO_EXTENSIONS[0][1:])
    if len(args.models) > 1:
        args.wrong("several models want --out-dir")
    args.model = args.models[0]
    if args.frames is not None and (args.out is None or args.prepare is not None):
        args.wrong("--frames goes with --out, the folder, and without --prepare")
    if args.out is None and args.prepare is None:
        args.wrong("give --out, or --out-dir for many files")
    if args.out is not None and args.prepare is not None:
        args.wrong("--prepare goes without --out")
    work = _render_chunk if args.frames is not None else _prepare_render if args.prepare is not None else _render_video
    print_verb_result(work(args), args.json)
    return 0


def render_one(args: argparse.Namespace) -> list[BatchRow]:
    """Render one of many models."""
    return run_single(_render_video, args)


def _render_video(args: argparse.Namespace) -> VerbResult:
    ending = args.out.suffix.lower()
    if ending not in VIDEO_EXTENSIONS:
        raise FormatError(
            f"render cannot write {args.out.suffix or 'a file without an extension'}", path=str(args.out),
            remedy="Name the output .mp4, .webm, .webp or .gif for a video or .png for one picture.",
        )  # fmt: skip
    extras = {"sheet": args.sheet, "poster": args.poster}
    for option, path in extras.items():
        if path is not None and (ending == ".png" or path.suffix.lower() != ".png"):
            raise FormatError(
                f"--{option} is a .png next to a video", path=str(path),
                remedy="Name it .png, and the output .mp4, .webm, .webp or .gif.",
            )  # fmt: skip
    film = {name: str(path) for name, path in extras.items() if path is not None}
    film |= {"resume": args.resume, "keep_frames": args.keep_frames}
    tasks = load_blender_tasks()
    try:
        report = tasks.render_to_file(args.model, args.out, render_job(tasks, args, film))
    except KeyboardInterrupt:
        left = tasks.resumable_frames(str(args.out))
        if left:
            print(f"{left} frames are kept. Repeat the command with --resume to continue", file=sys.stderr)
        raise
    return VerbResult([args.out, *(path for path in extras.values() if path is not None)], report)


def render_job(tasks: ModuleType, args: argparse.Namespace, film: Mapping[str, Any] | None = None) -> Any:
    """Convert the arguments to a ``RenderJob``; ``film`` are further options of the video."""
    drive = args.drive.upper() if args.drive else None
    options = read_video_options(args) | dict(film or {})
    return tasks.RenderJob(options, args.seconds, drive, args.motion, dict(args.input), args.meshes)


def _prepare_render(args: argparse.Namespace) -> VerbResult:
    if args.prepare.suffix.lower() != ".blend":
        raise FormatError("a stage is a .blend", path=str(args.prepare), remedy="Use the extension .blend.")
    tasks = load_blender_tasks()
    report, facts = tasks.prepare_video(args.model, args.prepare, render_job(tasks, args))
    return VerbResult([args.prepare], report, f"{quantity_text(facts['frames'], 'frame')}, ", facts)


def _render_chunk(args: argparse.Namespace) -> VerbResult:
    first, many = args.frames
    made = load_blender_tasks().render_stage(args.model, args.out, first, first + many - 1)
    return VerbResult(list(map(Path, made)), facts={"frames": len(made)})


def add_encode(verbs: Subparsers) -> None:
    """Add the verb ``encode``."""
    encode = add_verb(
        verbs, "encode", _encode, "encode a video from the frames of render --frames",
        "encode frames --prepared stage.blend --out walk.mp4", "encode frames --fps 25 --out walk.mp4",
    )  # fmt: skip
    encode.add_argument("folder", type=Path, metavar="FOLDER")
    rate = encode.add_mutually_exclusive_group(required=True)
    rate.add_argument("--fps", type=_parse_frame_rate, metavar="N", help="frames per second")
    rate.add_argument("--prepared", type=Path, metavar="STAGE.blend", help="use the frame rate of this stage")
    encode.add_argument("--out", type=Path, required=True, metavar="OUT", help="video: .mp4, .webm, .webp or .gif")
    add_json_option(encode)


def _encode(args: argparse.Namespace) -> int:
    if not args.folder.is_dir():
        raise FormatError("the folder does not exist", path=str(args.folder), remedy="Check the name.")
    frames = load_blender_tasks().encode_frames(args.folder, args.out, args.fps, args.prepared)
    print_verb_result(
        VerbResult([args.out], label=f"{quantity_text(frames, 'frame')}, ", facts={"frames": frames}), args.json
    )
    return 0
