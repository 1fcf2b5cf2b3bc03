"""Verbs ``animate`` (gaits and fitted motions to a motion file, a .blend or a plot), ``import`` and ``demo``."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType

from .. import formats, plot
from ..core.gait.engine import find_gait, report_inputs, sample_gait
from ..core.model import Mechanism, Motion
from ..core.motion.fitting import FitOptions, fit_motion
from ..core.motion.servo_matching import match_servos, mechanism_servos
from ..core.report import FormatError, Message, Report, count_with_noun
from ..formats.text.file_io import write_atomically
from ..formats.xmdi import FRAME_SECONDS
from .arguments import (
    Subparsers,
    add_input_option,
    add_json_option,
    add_mesh_option,
    add_simulation_options,
    add_verb,
    parse_milliseconds,
    parse_pair,
    parse_seconds,
)
from .batch import expand_inputs, model_extensions
from .output import STDOUT, VerbResult, load_blender_tasks, print_info, print_report, print_verb_result, write_stdout

#: Most keys that are written: more exceed what today's computers handle.
_MAX_KEYS = 1e8


@dataclass(frozen=True)
class AnimateJob:
    """Arguments of ``animate``.

    Without ``motion`` it is the model's own gait, with constant ``inputs``, for so many ``seconds``; of ``fitting``
    only the step applies then. ``put`` receives the motion as CSV in place of the file ``out``.
    """

    model: Path
    motion: Path | None = None
    only: str | None = None
    inputs: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 10.0
    fitting: FitOptions = field(default_factory=FitOptions)
    out: Path | None = None
    picture: Path | None = None
    servos: Sequence[str] = ()
    mesh_folders: Sequence[str] = ()
    put: Callable[[bytes], None] | None = None


def animate(job: AnimateJob, blender: Callable[[], ModuleType]) -> Report:
    """Write a gait or a fitted motion to a motion file, a .blend or a plot.

    Args:
        job: The arguments.
        blender: Function that returns the tasks that need Blender; it is called only for a .blend.

    Raises:
        FormatError: A file is bad or an output cannot be written; then nothing is written.
    """
    to_blend = job.out is not None and job.out.suffix.lower() == ".blend"
    _check_extensions(job, to_blend)
    jobs = blender() if to_blend else None
    mechanism = formats.load(job.model)
    report = Report(list(mechanism.report.entries))
    motions = _load_job_motions(mechanism, job, report)
    drawn = b"" if job.picture is None else _plot_motions(motions, mechanism, job, job.picture.suffix.lower())
    if jobs is not None:
        report.entries += _write_blend(mechanism, motions, job, jobs).entries
    elif job.out is not None and job.put is not None:
        job.put(formats.dumps_motions(motions, "csv", report).encode("utf-8"))
    elif job.out is not None:
        report.extend(formats.save_motion(motions, job.out))
    if job.picture is not None:
        write_atomically(job.picture, drawn)
    return report


def _write_blend(mechanism: Mechanism, motions: list[Motion], job: AnimateJob, jobs: ModuleType) -> Report:
    """Write a .blend that plays the motions.

    Motions that need no change keep their documents, so that an export writes their original numbers and units.
    """
    if job.motion is None:
        return jobs.animate_to_blend(mechanism, job.out, [], job.seconds, job.inputs, job.mesh_folders)
    fitting = job.fitting
    if fitting.step is None and fitting.stops == "keep":
        units = jobs.Units("DEG" if fitting.degrees else "RAD", "MM" if fitting.millimetres else "M")
        read = select_motions(formats.load_motions(job.motion), job.only, job.motion)
        mapping = units, fitting.mapping
        return jobs.animate_to_blend(mechanism, job.out, read, job.seconds, job.inputs, job.mesh_folders, *mapping)
    changed = [replace(motion, source=None, as_read=()) for motion in motions]
    return jobs.animate_to_blend(mechanism, job.out, changed, job.seconds, job.inputs, job.mesh_folders)


def select_motions(motions: Sequence[Motion], only: str | None, path: Path) -> list[Motion]:
    """Return all motions of a file, or the one with the name ``only``.

    Raises:
        FormatError: There is no motion of this name.
    """
    found = [motion for motion in motions if only is None or motion.name == only]
    if not found:
        raise FormatError(
            f"motion {only!r} does not exist",
            path=str(path),
            remedy=Message("It holds {}.", ", ".join(repr(motion.name) for motion in motions)),
        )
    return found


def motion_extensions() -> list[str]:
    """Return the file endings of motion formats."""
    return list(dict.fromkeys(ending for row in formats.MOTION_FORMATS.values() for ending in row.extensions))


def _check_extensions(job: AnimateJob, to_blend: bool) -> None:
    known = motion_extensions()
    if job.out is not None and not to_blend and job.put is None and job.out.suffix.lower() not in known:
        raise FormatError(
            f"animate cannot write {job.out.suffix or 'a file without an extension'}",
            path=str(job.out),
            remedy=Message("Name the output {} for the servo motion or .blend for the scene.", ", ".join(known)),
        )
    if job.picture is not None and job.picture.suffix.lower() not in plot.PLOT_EXTENSIONS:
        raise FormatError(
            f"a plot cannot be written as {job.picture.suffix or 'a file without an extension'}",
            path=str(job.picture),
            remedy=Message("Name it {}.", ", ".join(plot.PLOT_EXTENSIONS)),
        )


def _load_job_motions(mechanism: Mechanism, job: AnimateJob, report: Report) -> list[Motion]:
    if job.motion is None:
        report_inputs(find_gait(mechanism), job.inputs, report)
        motion = sample_gait(mechanism, job.inputs, job.seconds, job.fitting.step or FRAME_SECONDS)
        report.info(
            "gait-sampled",
            Message("Gait: {}, {} s", count_with_noun(len(motion.trajectories), "servo"), f"{motion.duration:g}"),
        )
        return [motion]
    read, found = formats.read_motions(job.motion)
    report.extend(found)
    out = []
    motions = select_motions(read, job.only, job.motion)
    _check_mapping(motions, mechanism, job)
    _check_length(motions, job)
    for motion in motions:
        read_report = Report()
        out.append(fit_motion(motion, mechanism, job.fitting, read_report))
        of = f"{motion.name}: " if len(motions) > 1 else ""
        report.entries += [replace(entry, message=of + entry.message) for entry in read_report.entries]
    return out


def _check_mapping(motions: Sequence[Motion], mechanism: Mechanism, job: AnimateJob) -> None:
    """Reject a mapping with unknown or repeated names.

    In a script nobody would notice that the wrong servo moves, or none.
    """
    there, known = {each.name for motion in motions for each in motion.trajectories}, mechanism_servos(mechanism)
    given = [servo for servo in job.fitting.mapping.values() if servo]
    twice = next((servo for servo in given if given.count(servo) > 1), None)
    if twice is not None:
        raise FormatError(
            f"--map assigns servo {twice!r} to several servos of the file",
            path=str(job.motion),
            remedy="Assign it to one.",
        )
    for name, servo in job.fitting.mapping.items():
        if name not in there:
            raise FormatError(
                f"--map: servo {name!r} is not in the file",
                path=str(job.motion),
                remedy=Message("It has {}.", _quoted_list(there)),
            )
        if servo and servo not in known:
            raise FormatError(
                f"--map assigns {name!r} to servo {servo!r}, which is not in the model",
                path=str(job.model),
                remedy=Message("It has {}.", _quoted_list(known)),
            )


def _check_length(motions: Sequence[Motion], job: AnimateJob) -> None:
    step = job.fitting.step
    if not step:
        return
    keys = sum(motion.duration / step * len(motion.trajectories) for motion in motions)
    if keys > _MAX_KEYS:
        raise FormatError(
            f"--step {1000 * step:g} ms would create {keys:.3g} keyframes", path=str(job.motion),
            remedy="Choose a longer --step, or omit it to keep the keyframes of the file.",
        )  # fmt: skip


def _quoted_list(names: Iterable[str], most: int = 12) -> str:
    ordered = sorted(names)
    return ", ".join(map(repr, ordered[:most])) + (f" and {len(ordered) - most} more" if len(ordered) > most else "")


def _plot_motions(motions: Sequence[Motion], mechanism: Mechanism, job: AnimateJob, extension: str) -> bytes:
    if len(motions) > 1:
        raise FormatError(
            f"a plot shows one motion, not {len(motions)}",
            path=str(job.motion),
            remedy=Message("Choose one with --only: {}.", ", ".join(repr(motion.name) for motion in motions)),
        )
    motion = motions[0]
    if job.servos:
        match = match_servos(job.servos, [each.name for each in motion.trajectories])
        if match.unmatched:
            asked, why = next(iter(match.unmatched.items()))
            raise FormatError(
                f"servo {asked!r} cannot be plotted: {why}",
                path=str(job.motion or job.model),
                remedy=Message("The motion has {}.", ", ".join(repr(each.name) for each in motion.trajectories)),
            )
        by_name = {each.name: each for each in motion.trajectories}
        motion = replace(motion, trajectories=[by_name[match.pairs[name]] for name in dict.fromkeys(job.servos)])
    return plot.plot_motion(motion, mechanism_servos(mechanism), extension)


def add_animate(verbs: Subparsers) -> None:
    """Add the verb ``animate``."""
    parser = add_verb(
        verbs,
        "animate",
        _animate,
        "write the gait of a model, or a motion fitted to it, as a motion file, a .blend or a plot",
        'animate walker.jm --gait --input "joystick 1 y=-1" --seconds 10 --out walk.xmdi',
        "animate walker.jm --motion walk.motion --stops clamp --step 20 --out walk.csv --plot walk.png",
        "animate walker.jm --gait --out - | head -3",
    )
    parser.add_argument("model", type=Path, metavar="MODEL")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--motion", type=Path, metavar="M", help="motion file; its servos are matched by name")
    what.add_argument("--gait", action="store_true", help="use the gait of the model")
    add_input_option(parser)
    parser.add_argument("--seconds", type=parse_seconds, metavar="S", help="duration of the gait in s (default: 10)")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="OUT",
        help=", ".join([*motion_extensions(), ".blend", "or - for CSV on standard output"]),
    )
    parser.add_argument("--plot", type=Path, metavar="PICTURE", help="plot the servos over time: .png, .svg or .pdf")
    parser.add_argument(
        "--servo", action="append", default=[], metavar="NAME", help="plot only this servo (repeatable)"
    )
    parser.add_argument("--only", metavar="NAME", help="use only this motion of a file with several (default: all)")
    parser.add_argument(
        "--map", type=parse_pair, action="append", default=[], metavar="FILE=SERVO",
        help="assign servo FILE of the file to SERVO of the model; omit SERVO to ignore it (repeatable)",
    )  # fmt: skip
    parser.add_argument("--degrees", action="store_true", help="angles of the file are in degrees, not radians")
    parser.add_argument("--millimetres", action="store_true", help="lengths of the file are in millimeters, not meters")
    parser.add_argument(
        "--stops", choices=("keep", "clamp", "refuse"),
        help="keyframes outside the stops of a servo: keep (default), clamp, or write nothing",
    )  # fmt: skip
    parser.add_argument(
        "--step",
        type=parse_milliseconds,
        metavar="MS",
        help="time between keyframes in ms (default: as in the file; gaits: 32)",
    )
    add_json_option(parser)
    add_mesh_option(parser)


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
        FitOptions(dict(args.map), args.degrees, args.millimetres, args.stops or "keep", args.step),
        args.out, args.plot, args.servo, args.meshes, write_stdout if args.out == STDOUT else None,
    )  # fmt: skip
    report = animate(job, load_blender_tasks)
    print_verb_result(VerbResult([path for path in (args.out, args.plot) if path is not None], report), args.json)
    return 0


def add_import(verbs: Subparsers) -> None:
    """Add the verb ``import``."""
    load = add_verb(verbs, "import", _import, "create a .blend from models", "import walker.jm --blend walker.blend",
                    "import models/ --blend all.blend")  # fmt: skip
    load.add_argument("files", type=Path, nargs="+", metavar="FILE", help="model files, patterns or folders")
    load.add_argument("--blend", type=Path, required=True, metavar="OUT.blend", help="file to write")
    load.add_argument("--motion", type=Path, metavar="M", help="apply this motion to the first model")
    add_json_option(load)
    add_mesh_option(load)


def _import(args: argparse.Namespace) -> int:
    if args.blend.suffix.lower() != ".blend":
        raise FormatError("import writes .blend files", path=str(args.blend), remedy="Use the extension .blend.")
    jobs = load_blender_tasks()
    files = [each.path for each in expand_inputs(args.files, model_extensions())]
    report = Report()
    for each in jobs.import_to_blend(files, args.blend, args.motion, args.meshes):
        report.extend(each)
    print_verb_result(VerbResult([args.blend], report), args.json)
    return 0


def add_demo(verbs: Subparsers) -> None:
    """Add the verb ``demo``."""
    demo = add_verb(
        verbs,
        "demo",
        _demo,
        "run all steps with a model: import, motion, simulation, video and export",
        "demo walker.jm --out out",
    )
    demo.add_argument("model", type=Path, metavar="FILE")
    add_simulation_options(demo)
    demo.add_argument("--seconds", type=parse_seconds, default=8.0, metavar="S", help="duration in s (default: 8)")
    demo.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for all output")


def _demo(args: argparse.Namespace) -> None:
    jobs = load_blender_tasks()

    print_report(jobs.demo(args.model, args.out, args.seconds, dict(args.input), args.motion, print_info, args.meshes))
