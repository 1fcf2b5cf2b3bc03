"""The command line: ``python -m addon VERB …`` and ``blender --command knuckle VERB …``.

Exit codes: 0 done, 1 a file is bad or could not be written (message on standard error), 2 wrong usage.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType

from . import formats
from .animate import AnimateJob, animate, chosen, motion_endings
from .model.describe import describe, summary
from .model.gait import parse_input
from .model.motion_fit import Fitting
from .model.records import Mechanism, Source
from .model.report import FormatError, Report
from .model.upright import turned, upright_turn

Command = Callable[[argparse.Namespace], None]


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
    for name in ("out", "plot", "blend", "target"):
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

    info = _verb(verbs, "info", _info, "tell what a file holds", "info walker.jm --json")
    info.add_argument("file", type=Path, metavar="FILE")
    info.add_argument("--json", action="store_true", help="print one JSON object")
    _mesh_option(info)

    convert = _verb(verbs, "convert", _convert, "write a model or motion as another file", "convert old.jpm new.jm")
    convert.add_argument("source", type=Path, metavar="IN")
    convert.add_argument("target", type=Path, metavar="OUT")
    convert.add_argument(
        "--upright", action="store_true", help="turn the model as a whole so that its gravity is along -Z"
    )
    known = sorted({**formats.FORMATS, **formats.MOTION_FORMATS})
    convert.add_argument(
        "--to", metavar="FORMAT", choices=known, help=f"{', '.join(known)} (default: by OUT's ending, or IN's own)"
    )
    convert.add_argument("--only", metavar="NAME", help="of a file with several motions, this one (default: all)")
    _mesh_option(convert)

    load = _verb(verbs, "import", _import, "make a .blend of models", "import walker.jm --blend walker.blend")
    load.add_argument("files", type=Path, nargs="+", metavar="FILE")
    load.add_argument("--blend", type=Path, required=True, metavar="OUT.blend")
    load.add_argument("--motion", type=Path, metavar="M", help="key this motion on the first model")
    _mesh_option(load)

    _add_animate(verbs)

    simulate = _verb(
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
    _run_options(simulate)
    simulate.add_argument("--seconds", type=_seconds, required=True, metavar="S")
    simulate.add_argument(
        "--out", type=Path, required=True, metavar="OUT", help=", ".join([*motion_endings(), ".blend"])
    )

    render = _verb(
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
    _run_options(render)
    render.add_argument("--seconds", type=_seconds, metavar="S", help="length (default: 8, or the .blend's range)")
    render.add_argument("--out", type=Path, required=True, metavar="OUT", help="a .mp4 or, for one picture, a .png")
    render.add_argument("--engine", type=str.upper, choices=("WORKBENCH", "EEVEE", "CYCLES"), default=None)
    render.add_argument("--size", type=_size, metavar="WxH", help="pixels, such as 1280x720")

    demo = _verb(verbs, "demo", _demo, "take a model the whole way, into a folder", "demo walker.jm --out out")
    demo.add_argument("model", type=Path, metavar="FILE")
    _run_options(demo)
    demo.add_argument("--seconds", type=_seconds, default=8.0, metavar="S")
    demo.add_argument("--out", type=Path, required=True, metavar="DIR")
    return parser


def _add_animate(verbs: argparse._SubParsersAction) -> None:
    animate = _verb(
        verbs,
        "animate",
        _animate,
        "write a model's gait, or a motion fitted to it, as a motion file, a .blend or a plot",
        'animate walker.jm --gait --input "joystick 1 y=-1" --seconds 10 --out walk.xmdi',
    )
    animate.set_defaults(wrong=animate.error)
    animate.add_argument("model", type=Path, metavar="MODEL")
    what = animate.add_mutually_exclusive_group(required=True)
    what.add_argument("--motion", type=Path, metavar="M", help="a motion file: its servos are found by their names")
    what.add_argument("--gait", action="store_true", help="the model's own gait")
    _input_option(animate)
    animate.add_argument("--seconds", type=_seconds, metavar="S", help="how long a gait goes on (default: 10)")
    animate.add_argument("--out", type=Path, metavar="OUT", help=", ".join([*motion_endings(), ".blend"]))
    animate.add_argument("--plot", type=Path, metavar="PICTURE", help="draw the servos over time: .png, .svg or .pdf")
    animate.add_argument("--servo", action="append", default=[], metavar="NAME", help="draw this one (repeatable)")
    animate.add_argument("--only", metavar="NAME", help="of a file with several motions, this one (default: all)")
    animate.add_argument(
        "--map", type=_pair, action="append", default=[], metavar="FILE=SERVO",
        help="the file's servo FILE moves the model's SERVO; nothing behind the = leaves it out (repeatable)",
    )  # fmt: skip
    animate.add_argument("--degrees", action="store_true", help="the file's angles are in degrees, not radians")
    animate.add_argument("--millimetres", action="store_true", help="its lengths are in millimetres, not metres")
    animate.add_argument(
        "--stops", choices=("keep", "clamp", "refuse"),
        help="keys beyond a servo's stops: keep them (default), put them on the stop, or write nothing",
    )  # fmt: skip
    animate.add_argument(
        "--step", type=_milliseconds, metavar="MS", help="a key every MS milliseconds (default: the file's; gaits: 32)"
    )
    _mesh_option(animate)


def _verb(
    verbs: argparse._SubParsersAction, name: str, run: Command, text: str, example: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser(
        name, help=text, description=text[0].upper() + text[1:] + ".", epilog=f"Example: knuckle {example}"
    )
    parser.set_defaults(run=run)
    return parser


def _mesh_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--meshes",
        type=_folder,
        action="append",
        default=[],
        metavar="DIR",
        help="look for the model's meshes in this folder too, and below it (may be given several times); "
        "without it they are read from the model's own folder only",
    )


def _run_options(parser: argparse.ArgumentParser) -> None:
    _mesh_option(parser)
    parser.add_argument("--motion", type=Path, metavar="M", help="play this motion instead of the model's gait")
    _input_option(parser)


def _input_option(parser: argparse.ArgumentParser) -> None:
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


def _seconds(text: str) -> float:
    return _above_zero(text, "seconds", most=36000.0)


def _milliseconds(text: str) -> float:
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


def _pair(text: str) -> tuple[str, str]:
    name, separator, servo = text.partition("=")
    if not name or not separator:
        raise argparse.ArgumentTypeError(f"{text!r} is not FILE=SERVO, such as LHip=left_hip")
    return name, servo


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.lower().partition("x")
    if not (width.isdigit() and height.isdigit() and int(width) >= 16 and int(height) >= 16):
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 1280x720")
    return int(width), int(height)


def _say(text: str = "") -> None:
    print(text, flush=True)


def _print_report(report: Report | None) -> None:
    for entry in report.entries if report is not None else ():
        _say(str(entry))


def _jobs() -> ModuleType:
    """What needs Blender, which the other verbs can do without."""
    try:
        import_module("bpy")
    except ImportError:
        raise FormatError(
            "this needs Blender", remedy="Install it as a Python module (pip install bpy), or use `blender --command`."
        ) from None
    from . import register
    from .blender import jobs

    register()
    return jobs


# -------------------------------------------------------------------- verbs


def _info(args: argparse.Namespace) -> None:
    if formats.is_motion(args.file):
        motions, report = formats.read_motions(args.file)
        source = replace(motions[0].source or Source("xmdi"), text="")
        mechanism = Mechanism(args.file.stem, motions=motions, source=source, report=report)
    else:
        mechanism = formats.load(args.file)
        formats.complete_masses(mechanism, mechanism.report, args.meshes)
    if args.json:
        _say(json.dumps(describe(mechanism), indent=2, allow_nan=False))
    else:
        _say(summary(mechanism))


def _convert(args: argparse.Namespace) -> None:
    if formats.is_motion(args.source):
        if args.upright:
            raise FormatError("this is servo motion, which --upright has nothing to turn in", path=str(args.source))
        motions, report = formats.read_motions(args.source)
        report.extend(formats.save_motion(chosen(motions, args.only, args.source), args.target, args.to))
        label = ""
    elif args.only is not None:
        raise FormatError("this is a model, of which --only has nothing to choose", path=str(args.source))
    else:
        mechanism = formats.load(args.source)
        report = Report(list(mechanism.report.entries))
        if args.upright:
            mechanism = turned(mechanism, upright_turn(mechanism))
        report.extend(formats.save(mechanism, args.target, args.to, args.meshes))
        label = f"{formats.FORMATS[formats.format_id(mechanism, args.target, args.to)].label}, "
    _print_report(report)
    _say(f"{args.target}: {label}{args.target.stat().st_size} bytes")


def _import(args: argparse.Namespace) -> None:
    if args.blend.suffix.lower() != ".blend":
        raise FormatError("import writes .blend files", path=str(args.blend), remedy="Give it that ending.")
    jobs = _jobs()
    for report in jobs.import_to_blend(args.files, args.blend, args.motion, args.meshes):
        _print_report(report)
    _say(f"{args.blend}: {args.blend.stat().st_size} bytes")


def _animate(args: argparse.Namespace) -> None:
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
        args.out, args.plot, args.servo, args.meshes,
    )  # fmt: skip
    _print_report(animate(job, _jobs))
    for made in filter(None, (args.out, args.plot)):
        _say(f"{made}: {made.stat().st_size} bytes")


def _simulate(args: argparse.Namespace) -> None:
    endings = motion_endings()
    if args.out.suffix.lower() not in {*endings, ".blend"}:
        raise FormatError(
            f"{args.out.suffix or 'no ending'} is not what simulate writes", path=str(args.out),
            remedy=f"Name the output {', '.join(endings)} for the servo motion or .blend for the scene.",
        )  # fmt: skip
    if args.all_bodies and args.out.suffix.lower() != ".blend":
        raise FormatError("--all-bodies is for a .blend", path=str(args.out), remedy="Leave it out, or write a .blend.")
    jobs = _jobs()

    report = jobs.simulate_to_file(
        args.model, args.out, args.seconds, args.drive.upper(), args.motion, dict(args.input), args.meshes,
        args.all_bodies,
    )  # fmt: skip
    _print_report(report)
    _say(f"{args.out}: {args.out.stat().st_size} bytes")


def _render(args: argparse.Namespace) -> None:
    if args.out.suffix.lower() not in {".mp4", ".png"}:
        raise FormatError(
            f"{args.out.suffix or 'no ending'} is not what render writes", path=str(args.out),
            remedy="Name the output .mp4 for a video or .png for one picture.",
        )  # fmt: skip
    jobs = _jobs()

    drive = args.drive.upper() if args.drive else None
    job = jobs.RenderJob(args.engine, args.size, args.seconds, drive, args.motion, dict(args.input), args.meshes)
    _print_report(jobs.render_to_file(args.model, args.out, job))
    _say(f"{args.out}: {args.out.stat().st_size} bytes")


def _demo(args: argparse.Namespace) -> None:
    jobs = _jobs()

    _print_report(jobs.demo(args.model, args.out, args.seconds, dict(args.input), args.motion, _say, args.meshes))
