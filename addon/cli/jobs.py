"""Verb ``job``: a video, a conversion or a sweep as an Open Job Description template (openjd.io, edition 2023-09).

The steps are verbs of this command line. Their programs, folders and numbers are parameters of the job, which can be
overridden when it is submitted. Only features of the first edition are used, which every farm supports.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import formats
from ..core.gait.engine import INPUT_NAMES, parse_input
from ..core.report import FormatError, Report, count_with_noun
from ..formats.text.file_io import make_folder, write_atomically, write_transaction
from .arguments import (
    Subparsers,
    add_json_option,
    add_simulation_options,
    add_verb,
    parse_count,
    parse_positive,
    parse_seconds,
)
from .batch import expand_inputs, output_paths
from .convert import known_formats
from .output import VerbResult, load_blender_tasks, print_verb_result
from .render import add_video_arguments, render_job, video_argument_words

#: Most values of a task parameter, by the specification.
MAX_SWEEP_VALUES = 1024


@dataclass
class JobRunner:
    """Invocation of Knuckle in a job: the words before the verb, their parameters, and environment variables."""

    words: list[str]
    parameters: list[dict[str, Any]]
    variables: dict[str, str] = field(default_factory=dict)


def python_runner(package: Path) -> JobRunner:
    """Return the invocation ``python -m addon``.

    Python and the package (in the folder ``package``) are by default those of this machine.
    """
    return JobRunner(
        ["{{Param.Python}}", "-m", package.name],
        [
            {"name": "Python", "type": "STRING", "default": sys.executable,
             "description": "The Python that has Blender as a module"},
            {"name": "KnuckleFolder", "type": "STRING", "default": str(package.parent),
             "description": f"The folder that the package {package.name} is in"},
        ],
        {"PYTHONPATH": "{{Param.KnuckleFolder}}"},
    )  # fmt: skip


def blender_runner() -> JobRunner:
    """Return the invocation ``blender --command knuckle``, for a Blender in which Knuckle is installed."""
    return JobRunner(
        ["{{Param.Blender}}", "--command", "knuckle"],
        [{"name": "Blender", "type": "STRING", "default": "blender",
          "description": "The Blender in which Knuckle is installed"}],
    )  # fmt: skip


def job_template(
    name: str, runner: JobRunner, parameters: Sequence[Mapping[str, Any]], steps: Sequence[Any]
) -> dict[str, Any]:
    """Build a job template from steps."""
    out: dict[str, Any] = {
        "specificationVersion": "jobtemplate-2023-09",
        "name": name.replace("{{", "{ {")[:128],
        "parameterDefinitions": [*runner.parameters, *parameters],
    }
    if runner.variables:
        out["jobEnvironments"] = [{"name": "Knuckle", "variables": dict(runner.variables)}]
    return out | {"steps": list(steps)}


def job_step(
    runner: JobRunner,
    name: str,
    words: Sequence[str],
    after: Sequence[str] = (),
    tasks: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Build a step that runs one verb, once or for every combination of the values of ``tasks``."""
    command, *before = runner.words
    out: dict[str, Any] = {"name": name}
    if after:
        out["dependencies"] = [{"dependsOn": each} for each in after]
    if tasks:
        out["parameterSpace"] = {"taskParameterDefinitions": list(tasks)}
    return out | {"script": {"actions": {"onRun": {"command": command, "args": [*before, *words]}}}}


def int_parameter(name: str, value: int, text: str) -> dict[str, Any]:
    """Build a job parameter that is a whole number."""
    return {"name": name, "type": "INT", "default": value, "minValue": 1, "description": text}


def path_parameter(name: str, value: str, text: str, folder: bool = True, out: bool = False) -> dict[str, Any]:
    """Build a job parameter that is a file or folder, by default relative to the template."""
    kind = {"objectType": "DIRECTORY" if folder else "FILE", "dataFlow": "OUT" if out else "IN"}
    return {"name": name, "type": "PATH", **kind, "default": value, "description": text}


def chunk_tasks(name: str, last: str, size: str) -> dict[str, Any]:
    """Build a task parameter with one task per chunk of what is counted from 1."""
    return {"name": name, "type": "INT", "range": f"1-{last}:{size}"}


def value_tasks(name: str, numbers: Sequence[float]) -> dict[str, Any]:
    """Build a task parameter with one task per number. Numbers are strings, which keep their spelling."""
    return {"name": name, "type": "STRING", "range": [f"{each:.10g}" for each in numbers]}


def template_identifier(name: str) -> str:
    """Convert a name to an identifier of templates."""
    return "".join(part.capitalize() for part in re.findall(r"[A-Za-z0-9]+", name))[:64]


#: Most points of a sweep: more are probably a mistake.
_MAX_SWEEP_POINTS = 100_000
_MODELS_FOLDER = "models"


def add_job(verbs: Subparsers) -> None:
    """Add the verb ``job``."""
    job = add_verb(
        verbs, "job", _job, "write a video, a conversion or a sweep as a farm job (Open Job Description)",
        "job walker.jm --motion walk.xmdi --seconds 10 --chunk 50 --out film",
        'job walker.jm --sweep "joystick 1 y=-1..1:3" --sweep gain=0.5,1,2 --seconds 8 --out sweep',
        "job models/ --convert skel,shift --chunk 20 --out converted",
    )  # fmt: skip
    job.usage = "%(prog)s [options] MODEL --out DIR\n       %(prog)s --convert FORMATS FILE… --out DIR"
    job.add_argument("files", type=Path, nargs="+", metavar="FILE", help="model; with --convert any files")
    what = job.add_mutually_exclusive_group()
    what.add_argument(
        "--convert", metavar="FORMATS", help=f"convert files: all, or some of {', '.join(known_formats())}"
    )
    what.add_argument(
        "--sweep", type=parse_sweep_axis, action="append", default=[], metavar="NAME=VALUES",
        help='simulate each point of a grid: an input, gain or friction with its values ("gain=0.5,1,2", or FROM..TO:'
        'COUNT, "friction=0.2..1:5"; repeatable)',
    )  # fmt: skip
    add_simulation_options(job)
    job.add_argument("--drive", choices=("keys", "servo", "limp"), help="as in render and simulate")
    job.add_argument("--seconds", type=parse_seconds, metavar="S", help="duration in s (default: 8)")
    add_video_arguments(job)
    job.add_argument(
        "--frames", type=parse_frame_count, metavar="N", help="number of frames of the video (default: all)"
    )
    job.add_argument(
        "--chunk", type=parse_count, metavar="N", help="frames or files per task (default: 30 frames or 10 files)"
    )
    job.add_argument(
        "--runner", choices=("python", "blender"),
        help="program that runs Knuckle in the job (default: the present one)",
    )  # fmt: skip
    job.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for the job and its files")
    add_json_option(job)


def parse_sweep_axis(text: str) -> tuple[str, list[float]]:
    """Parse NAME=VALUES of a sweep."""
    name, separator, range_text = text.rpartition("=")
    try:
        if not separator:
            raise ValueError("no name and values")
        numbers = _parse_numbers(range_text)
        if not all(map(math.isfinite, numbers)):
            raise ValueError("not all are numbers")
        if name not in {"gain", "friction"}:
            name = _find_input(name)
        elif min(numbers) < 0.0:
            raise ValueError("a number below 0")
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r}: {error}. Write it like gain=0.5,1,2 or friction=0.2..1:5"
        ) from error
    return name, numbers


def _find_input(name: str) -> str:
    """Return the input with this name.

    Raises:
        ValueError: There is none; the message lists everything that can be swept.
    """
    try:
        return parse_input(f"{name}=0")[0]
    except ValueError as error:
        raise ValueError(f"{name!r} is neither gain, nor friction, nor one of {', '.join(INPUT_NAMES)}") from error


def _parse_numbers(text: str) -> list[float]:
    ends, separator, many = text.partition(":")
    if not separator:
        return [float(word) for word in text.split(",")]
    first, last = map(float, ends.split(".."))
    steps = int(many)
    if not 2 <= steps <= MAX_SWEEP_VALUES:
        raise ValueError(f"{many} values")
    return [first + (last - first) * step / (steps - 1) for step in range(steps)]


def parse_frame_count(text: str) -> int:
    """Parse a number of frames."""
    return int(parse_positive(text, "frames", most=1e7))


def _job(args: argparse.Namespace) -> int:
    if args.out.exists() and not args.out.is_dir():
        raise FormatError("this is not a folder", path=str(args.out), remedy="Choose a folder.")
    as_now = "blender" if (__package__ or "").startswith("bl_ext.") else "python"
    by_blender = (args.runner or as_now) == "blender"
    runner = blender_runner() if by_blender else python_runner(_package_folder())
    if args.convert is not None:
        make: Callable[..., VerbResult] = _convert_job
    else:
        if len(args.files) != 1:
            args.wrong("give one model, or --convert")
        make = _sweep_job if args.sweep else _render_job
    with write_transaction():
        done = make(args, runner)
    print_verb_result(done, args.json)
    return 0


def _package_folder() -> Path:
    """Return the folder of the package."""
    return Path(str(sys.modules[(__package__ or "").rpartition(".")[0]].__file__)).resolve().parent


def _write_template(args: argparse.Namespace, job: dict[str, Any], report: Report, facts: dict[str, Any]) -> VerbResult:
    target = args.out / "template.json"
    write_atomically(target, (json.dumps(job, indent=2, ensure_ascii=False) + "\n").encode("utf-8"))
    return VerbResult([target], report, f"{count_with_noun(len(job['steps']), 'step')}, ", facts)


# ------------------------------------------------------------------ input files of a job


def _copy_model(args: argparse.Namespace, report: Report) -> tuple[Path, list[dict[str, Any]], list[str]]:
    """Copy the model, its meshes and its motion beside the template.

    Returns:
        The model's path, and the parameters and words that every run of it has.
    """
    (model,) = args.files
    folder = args.out / _MODELS_FOLDER
    make_folder(folder)
    copy = folder / model.name
    mechanism = None if model.suffix.lower() == ".blend" else formats.load(model)
    if mechanism is None or not any(shape.mesh for body in mechanism.bodies for shape in body.shapes):
        _copy_file(model, copy)
    else:  # copies the meshes with their materials and textures, and updates their paths in the model
        report.extend(formats.save(mechanism, copy, mechanism.source.format, args.meshes, with_meshes=True))
    if mechanism is not None:
        report.extend(mechanism.report)
    parameters = [path_parameter("Model", f"{_MODELS_FOLDER}/{model.name}", "The model", folder=False)]
    parameters.append(path_parameter("Models", _MODELS_FOLDER, "The folder of the model, with its meshes"))
    words = ["{{Param.Model}}"]
    if args.motion is not None:
        formats.read_motions(args.motion)  # a bad file is reported now, not on the farm
        _copy_file(args.motion, folder / args.motion.name)
        parameters.append(
            path_parameter("Motion", f"{_MODELS_FOLDER}/{args.motion.name}", "What it plays", folder=False)
        )
        words += ["--motion", "{{Param.Motion}}"]
    words += ["--meshes", "{{Param.Models}}"]
    for name, value in args.input:
        words += ["--input", f"{name}={value:.10g}"]
    if args.drive:
        words += ["--drive", args.drive]
    return model, parameters, words


def _copy_file(source: Path, target: Path) -> None:
    if source.resolve() != target.resolve():
        write_atomically(target, source.read_bytes())


# ------------------------------------------------------------------ video


def _render_job(args: argparse.Namespace, runner: JobRunner) -> VerbResult:
    report = Report()
    model, parameters, words = _copy_model(args, report)
    if args.seconds is None and model.suffix.lower() != ".blend":
        args.seconds = 8.0
    if args.seconds is not None:
        words += ["--seconds", f"{args.seconds:.10g}"]
    words += video_argument_words(args)
    if args.title:  # as a parameter, whose value is taken literally, whatever characters it has
        parameters.append(
            {"name": "Title", "type": "STRING", "default": args.title, "description": "Is written over the film"}
        )
        words.append("--title={{Param.Title}}")
    frames = args.frames
    if frames is None:
        jobs = load_blender_tasks()
        frames = jobs.count_video_frames(model, render_job(jobs, args))
    parameters += [
        int_parameter("Frames", frames, "Number of frames of the video"),
        int_parameter("ChunkSize", args.chunk or 30, "Frames per task"),
        path_parameter("Out", "out", "Folder for the stage, the images and the video", out=True),
        {"name": "Film", "type": "STRING", "default": f"{model.stem}.mp4", "description": "File name of the video"},
    ]
    stage, pictures = "{{Param.Out}}/stage.blend", "{{Param.Out}}/frames"
    some = "{{Task.Param.First}}+{{Param.ChunkSize}}"
    steps = [
        job_step(runner, "Prepare", ["render", *words, "--prepare", stage]),
        job_step(
            runner, "Render", ["render", stage, "--frames", some, "--out", pictures], ["Prepare"],
            [chunk_tasks("First", "{{Param.Frames}}", "{{Param.ChunkSize}}")],
        ),
        job_step(
            runner, "Encode", ["encode", pictures, "--prepared", stage, "--out", "{{Param.Out}}/{{Param.Film}}"],
            ["Prepare", "Render"],
        ),
    ]  # fmt: skip
    make_folder(args.out / "out")
    job = job_template(f"Film of {model.stem}", runner, parameters, steps)
    return _write_template(args, job, report, {"frames": frames})


# ------------------------------------------------------------------ sweep


def _sweep_job(args: argparse.Namespace, runner: JobRunner) -> VerbResult:
    report = Report()
    model, parameters, words = _copy_model(args, report)
    if args.drive == "keys":
        args.wrong("--drive keys has no physics to sweep")
    points = 1
    tasks, names = [], []
    for name, numbers in args.sweep:
        key = template_identifier(name)
        points *= len(numbers)
        if key in names or len(set(numbers)) < len(numbers):
            args.wrong(f"--sweep has {name!r}, or one of its values, twice")
        names.append(key)
        tasks.append(value_tasks(key, numbers))
        parameter = "{{Task.Param." + key + "}}"
        words += [f"--{name}", parameter] if name in {"gain", "friction"} else ["--input", f"{name}={parameter}"]
    if points > _MAX_SWEEP_POINTS:
        args.wrong(f"{points} points are too many: {_MAX_SWEEP_POINTS} at most")
    row = "-".join(["{{Param.Out}}/rows/run", *("{{Task.Param." + name + "}}" for name in names)]) + ".json"
    parameters += [
        {
            "name": "Seconds",
            "type": "FLOAT",
            "default": args.seconds or 8.0,
            "description": "Duration of each simulation in s",
        },
        path_parameter("Out", "out", "Folder for the figures, the table and the plot", out=True),
    ]
    table = ["--out", "{{Param.Out}}/sweep.csv", "--plot", "{{Param.Out}}/sweep.png"]
    steps = [
        job_step(
            runner, "Simulate", ["simulate", *words, "--seconds", "{{Param.Seconds}}", "--figures", row], tasks=tasks
        ),
        job_step(runner, "Collect", ["collect", "{{Param.Out}}/rows", *table], ["Simulate"]),
    ]
    rows = args.out / "out" / "rows"
    make_folder(rows)
    for old in rows.glob("run-*.json"):  # of a previous sweep
        old.unlink()
    job = job_template(f"Sweep of {model.stem}", runner, parameters, steps)
    return _write_template(args, job, report, {"points": points})


# ------------------------------------------------------------------ conversion


def _convert_job(args: argparse.Namespace, runner: JobRunner) -> VerbResult:
    for option in ("motion", "input", "seconds", "frames", "drive"):
        if getattr(args, option):
            args.wrong(f"--{option} is nothing that --convert has")
    wanted = args.convert.split(",")
    if any(each not in (*known_formats(), "all") for each in wanted):
        args.wrong(f"--convert wants all, or some of {', '.join(known_formats())}")
    inputs = expand_inputs(args.files, without=args.out)
    copies = output_paths(inputs, [each.path.suffix for each in inputs], args.out / _MODELS_FOLDER)
    for each, copy in zip(inputs, copies, strict=True):
        make_folder(copy.parent)
        _copy_file(each.path, copy)
    parameters = [
        path_parameter("In", _MODELS_FOLDER, "The files"),
        path_parameter("Out", "out", "Folder for the converted files", out=True),
        int_parameter("Files", len(inputs), "Number of files"),
        int_parameter("ChunkSize", args.chunk or 10, "Files per task"),
        {"name": "To", "type": "STRING", "default": args.convert, "description": "Formats, separated by commas"},
    ]
    some = "{{Task.Param.First}}+{{Param.ChunkSize}}"
    words = ["convert", "{{Param.In}}", "--to", "{{Param.To}}", "--out-dir", "{{Param.Out}}", "--pick", some]
    tasks = [chunk_tasks("First", "{{Param.Files}}", "{{Param.ChunkSize}}")]
    make_folder(args.out / "out")
    job = job_template(f"Convert {len(inputs)} files", runner, parameters, [
        job_step(runner, "Convert", words, tasks=tasks)
    ])  # fmt: skip
    return _write_template(args, job, Report(), {"files": len(inputs)})
