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
from ..core.gait.engine import CONTROLS, parse_input
from ..core.report import FormatError, Report
from ..formats.text.file_io import all_or_nothing, make_folder, write_whole
from .arguments import Verbs, above_zero, add_verb, count, json_option, run_options, seconds
from .batch import expand, outputs
from .convert import known
from .output import Done, blender_jobs, say_done
from .render import film_arguments, film_words, render_job

#: Most values of a task parameter, by the specification.
MOST_VALUES = 1024


@dataclass
class Runner:
    """Invocation of Knuckle in a job: the words before the verb, their parameters, and environment variables."""

    words: list[str]
    parameters: list[dict[str, Any]]
    variables: dict[str, str] = field(default_factory=dict)


def python_runner(home: Path) -> Runner:
    """Return the invocation ``python -m addon``.

    Python and the package (in the folder ``home``) are by default those of this machine.
    """
    return Runner(
        ["{{Param.Python}}", "-m", home.name],
        [
            {"name": "Python", "type": "STRING", "default": sys.executable,
             "description": "The Python that has Blender as a module"},
            {"name": "KnuckleFolder", "type": "STRING", "default": str(home.parent),
             "description": f"The folder that the package {home.name} is in"},
        ],
        {"PYTHONPATH": "{{Param.KnuckleFolder}}"},
    )  # fmt: skip


def blender_runner() -> Runner:
    """Return the invocation ``blender --command knuckle``, for a Blender in which Knuckle is installed."""
    return Runner(
        ["{{Param.Blender}}", "--command", "knuckle"],
        [{"name": "Blender", "type": "STRING", "default": "blender",
          "description": "The Blender in which Knuckle is installed"}],
    )  # fmt: skip


def template(
    name: str, runner: Runner, parameters: Sequence[Mapping[str, Any]], steps: Sequence[Any]
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


def step(
    runner: Runner,
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


def number(name: str, value: int, text: str) -> dict[str, Any]:
    """Build a job parameter that is a whole number."""
    return {"name": name, "type": "INT", "default": value, "minValue": 1, "description": text}


def path(name: str, value: str, text: str, folder: bool = True, out: bool = False) -> dict[str, Any]:
    """Build a job parameter that is a file or folder, by default relative to the template."""
    kind = {"objectType": "DIRECTORY" if folder else "FILE", "dataFlow": "OUT" if out else "IN"}
    return {"name": name, "type": "PATH", **kind, "default": value, "description": text}


def chunks(name: str, last: str, size: str) -> dict[str, Any]:
    """Build a task parameter with one task per chunk of what is counted from 1."""
    return {"name": name, "type": "INT", "range": f"1-{last}:{size}"}


def values(name: str, numbers: Sequence[float]) -> dict[str, Any]:
    """Build a task parameter with one task per number. Numbers are strings, which keep their spelling."""
    return {"name": name, "type": "STRING", "range": [f"{each:.10g}" for each in numbers]}


def identifier(name: str) -> str:
    """Convert a name to an identifier of templates."""
    return "".join(part.capitalize() for part in re.findall(r"[A-Za-z0-9]+", name))[:64]


#: Most points of a sweep: more are probably a mistake.
_MOST_POINTS = 100_000
_MODELS = "models"


def add_job(verbs: Verbs) -> None:
    """Add the verb ``job``."""
    job = add_verb(
        verbs, "job", _job, "write a film, a conversion or a sweep as a job for a farm (Open Job Description)",
        "job walker.jm --motion walk.xmdi --seconds 10 --chunk 50 --out film",
        'job walker.jm --sweep "joystick 1 y=-1..1:3" --sweep gain=0.5,1,2 --seconds 8 --out sweep',
        "job models/ --convert skel,shift --chunk 20 --out converted",
    )  # fmt: skip
    job.usage = "knuckle job [options] MODEL --out DIR\n       knuckle job --convert FORMATS FILE… --out DIR"
    job.add_argument("files", type=Path, nargs="+", metavar="FILE", help="the model; with --convert any files")
    what = job.add_mutually_exclusive_group()
    what.add_argument("--convert", metavar="FORMATS", help=f"convert files: all, or some of {', '.join(known())}")
    what.add_argument(
        "--sweep", type=axis, action="append", default=[], metavar="NAME=VALUES",
        help='simulate at every point of a grid: a control, gain or friction, and values ("gain=0.5,1,2", or FROM..TO:'
        'COUNT, "friction=0.2..1:5"); may be given several times',
    )  # fmt: skip
    run_options(job)
    job.add_argument("--drive", choices=("keys", "servo", "limp"), help="as render and simulate have it")
    job.add_argument("--seconds", type=seconds, metavar="S", help="length (default: 8)")
    film_arguments(job)
    job.add_argument("--frames", type=count_of_frames, metavar="N", help="of a film (default: as many as it has)")
    job.add_argument("--chunk", type=count, metavar="N", help="frames or files of a task (default: 30, or 10 files)")
    job.add_argument(
        "--runner", choices=("python", "blender"), help="what the job calls Knuckle with (default: as you do now)",
    )  # fmt: skip
    job.add_argument("--out", type=Path, required=True, metavar="DIR", help="a folder for the job and its files")
    json_option(job)


def axis(text: str) -> tuple[str, list[float]]:
    """Parse NAME=VALUES of a sweep."""
    name, separator, told = text.rpartition("=")
    try:
        if not separator:
            raise ValueError("no name and values")
        numbers = _numbers(told)
        if not all(map(math.isfinite, numbers)):
            raise ValueError("not all are numbers")
        if name not in {"gain", "friction"}:
            name = _control(name)
        elif min(numbers) < 0.0:
            raise ValueError("a number below 0")
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not such as gain=0.5,1,2 or friction=0.2..1:5: {error}"
        ) from error
    return name, numbers


def _control(name: str) -> str:
    """Return the input with this name.

    Raises:
        ValueError: There is none; the message lists everything that can be swept.
    """
    try:
        return parse_input(f"{name}=0")[0]
    except ValueError as error:
        raise ValueError(f"{name!r} is neither gain, nor friction, nor one of {', '.join(CONTROLS)}") from error


def _numbers(text: str) -> list[float]:
    ends, separator, many = text.partition(":")
    if not separator:
        return [float(word) for word in text.split(",")]
    first, last = map(float, ends.split(".."))
    steps = int(many)
    if not 2 <= steps <= MOST_VALUES:
        raise ValueError(f"{many} values")
    return [first + (last - first) * step / (steps - 1) for step in range(steps)]


def count_of_frames(text: str) -> int:
    """Parse a number of frames."""
    return int(above_zero(text, "frames", most=1e7))


def _job(args: argparse.Namespace) -> int:
    if args.out.exists() and not args.out.is_dir():
        raise FormatError("this is no folder", path=str(args.out), remedy="Name a folder.")
    as_now = "blender" if (__package__ or "").startswith("bl_ext.") else "python"
    by_blender = (args.runner or as_now) == "blender"
    runner = blender_runner() if by_blender else python_runner(_home())
    if args.convert is not None:
        make: Callable[..., Done] = _convert_job
    else:
        if len(args.files) != 1:
            args.wrong("give one model, or --convert")
        make = _sweep_job if args.sweep else _film_job
    with all_or_nothing():
        done = make(args, runner)
    say_done(done, args.json)
    return 0


def _home() -> Path:
    """Return the folder of the package."""
    return Path(str(sys.modules[(__package__ or "").rpartition(".")[0]].__file__)).resolve().parent


def _written(args: argparse.Namespace, job: dict[str, Any], report: Report, facts: dict[str, Any]) -> Done:
    target = args.out / "template.json"
    write_whole(target, (json.dumps(job, indent=2, ensure_ascii=False) + "\n").encode("utf-8"))
    return Done([target], report, f"{len(job['steps'])} steps, ", facts)


# ------------------------------------------------------------------ input files of a job


def _take_model(args: argparse.Namespace, report: Report) -> tuple[Path, list[dict[str, Any]], list[str]]:
    """Copy the model, its meshes and its motion beside the template.

    Returns:
        The model's path, and the parameters and words that every run of it has.
    """
    (model,) = args.files
    folder = args.out / _MODELS
    make_folder(folder)
    copy = folder / model.name
    mechanism = None if model.suffix.lower() == ".blend" else formats.load(model)
    if mechanism is None or not any(shape.mesh for body in mechanism.bodies for shape in body.shapes):
        _copy(model, copy)
    else:  # copies the meshes with their materials and textures, and updates their paths in the model
        report.extend(formats.save(mechanism, copy, mechanism.source.format, args.meshes, with_meshes=True))
    if mechanism is not None:
        report.extend(mechanism.report)
    parameters = [path("Model", f"{_MODELS}/{model.name}", "The model", folder=False)]
    parameters.append(path("Models", _MODELS, "The folder of the model, with its meshes"))
    words = ["{{Param.Model}}"]
    if args.motion is not None:
        formats.read_motions(args.motion)  # a bad file is reported now, not on the farm
        _copy(args.motion, folder / args.motion.name)
        parameters.append(path("Motion", f"{_MODELS}/{args.motion.name}", "What it plays", folder=False))
        words += ["--motion", "{{Param.Motion}}"]
    words += ["--meshes", "{{Param.Models}}"]
    for name, value in args.input:
        words += ["--input", f"{name}={value:.10g}"]
    if args.drive:
        words += ["--drive", args.drive]
    return model, parameters, words


def _copy(source: Path, target: Path) -> None:
    if source.resolve() != target.resolve():
        write_whole(target, source.read_bytes())


# ------------------------------------------------------------------ video


def _film_job(args: argparse.Namespace, runner: Runner) -> Done:
    report = Report()
    model, parameters, words = _take_model(args, report)
    if args.seconds is None and model.suffix.lower() != ".blend":
        args.seconds = 8.0
    if args.seconds is not None:
        words += ["--seconds", f"{args.seconds:.10g}"]
    words += film_words(args)
    if args.title:  # as a parameter, whose value is taken literally, whatever characters it has
        parameters.append(
            {"name": "Title", "type": "STRING", "default": args.title, "description": "Is written over the film"}
        )
        words.append("--title={{Param.Title}}")
    frames = args.frames
    if frames is None:
        jobs = blender_jobs()
        frames = jobs.film_length(model, render_job(jobs, args))
    parameters += [
        number("Frames", frames, "How many frames the film has"),
        number("ChunkSize", args.chunk or 30, "How many frames a task renders"),
        path("Out", "out", "Where the stage, the pictures and the film go", out=True),
        {"name": "Film", "type": "STRING", "default": f"{model.stem}.mp4", "description": "What the film is called"},
    ]
    stage, pictures = "{{Param.Out}}/stage.blend", "{{Param.Out}}/frames"
    some = "{{Task.Param.First}}+{{Param.ChunkSize}}"
    steps = [
        step(runner, "Prepare", ["render", *words, "--prepare", stage]),
        step(
            runner, "Render", ["render", stage, "--frames", some, "--out", pictures], ["Prepare"],
            [chunks("First", "{{Param.Frames}}", "{{Param.ChunkSize}}")],
        ),
        step(
            runner, "Encode", ["encode", pictures, "--prepared", stage, "--out", "{{Param.Out}}/{{Param.Film}}"],
            ["Prepare", "Render"],
        ),
    ]  # fmt: skip
    make_folder(args.out / "out")
    job = template(f"Film of {model.stem}", runner, parameters, steps)
    return _written(args, job, report, {"frames": frames})


# ------------------------------------------------------------------ sweep


def _sweep_job(args: argparse.Namespace, runner: Runner) -> Done:
    report = Report()
    model, parameters, words = _take_model(args, report)
    if args.drive == "keys":
        args.wrong("--drive keys has no physics to sweep")
    points = 1
    tasks, names = [], []
    for name, numbers in args.sweep:
        key = identifier(name)
        points *= len(numbers)
        if key in names or len(set(numbers)) < len(numbers):
            args.wrong(f"--sweep has {name!r}, or one of its values, twice")
        names.append(key)
        tasks.append(values(key, numbers))
        told = "{{Task.Param." + key + "}}"
        words += [f"--{name}", told] if name in {"gain", "friction"} else ["--input", f"{name}={told}"]
    if points > _MOST_POINTS:
        args.wrong(f"{points} points are too many: {_MOST_POINTS} at most")
    row = "-".join(["{{Param.Out}}/rows/run", *("{{Task.Param." + name + "}}" for name in names)]) + ".json"
    parameters += [
        {"name": "Seconds", "type": "FLOAT", "default": args.seconds or 8.0, "description": "How long each run is"},
        path("Out", "out", "Where the figures, the table and the plot go", out=True),
    ]
    table = ["--out", "{{Param.Out}}/sweep.csv", "--plot", "{{Param.Out}}/sweep.png"]
    steps = [
        step(runner, "Simulate", ["simulate", *words, "--seconds", "{{Param.Seconds}}", "--figures", row], tasks=tasks),
        step(runner, "Collect", ["collect", "{{Param.Out}}/rows", *table], ["Simulate"]),
    ]
    rows = args.out / "out" / "rows"
    make_folder(rows)
    for old in rows.glob("run-*.json"):  # of a previous sweep
        old.unlink()
    job = template(f"Sweep of {model.stem}", runner, parameters, steps)
    return _written(args, job, report, {"points": points})


# ------------------------------------------------------------------ conversion


def _convert_job(args: argparse.Namespace, runner: Runner) -> Done:
    for option in ("motion", "input", "seconds", "frames", "drive"):
        if getattr(args, option):
            args.wrong(f"--{option} is nothing that --convert has")
    wanted = args.convert.split(",")
    if any(each not in (*known(), "all") for each in wanted):
        args.wrong(f"--convert wants all, or some of {', '.join(known())}")
    inputs = expand(args.files, without=args.out)
    copies = outputs(inputs, [each.path.suffix for each in inputs], args.out / _MODELS)
    for each, copy in zip(inputs, copies, strict=True):
        make_folder(copy.parent)
        _copy(each.path, copy)
    parameters = [
        path("In", _MODELS, "The files"),
        path("Out", "out", "Where what is made of them goes", out=True),
        number("Files", len(inputs), "How many files there are"),
        number("ChunkSize", args.chunk or 10, "How many files a task converts"),
        {"name": "To", "type": "STRING", "default": args.convert, "description": "The formats, with commas between"},
    ]
    some = "{{Task.Param.First}}+{{Param.ChunkSize}}"
    words = ["convert", "{{Param.In}}", "--to", "{{Param.To}}", "--out-dir", "{{Param.Out}}", "--pick", some]
    tasks = [chunks("First", "{{Param.Files}}", "{{Param.ChunkSize}}")]
    make_folder(args.out / "out")
    job = template(f"Convert {len(inputs)} files", runner, parameters, [
        step(runner, "Convert", words, tasks=tasks)
    ])  # fmt: skip
    return _written(args, job, Report(), {"files": len(inputs)})
