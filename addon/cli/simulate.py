"""Verbs ``simulate`` (models under physics) and ``collect`` (figures of many simulations as a table and a plot)."""

from __future__ import annotations

import argparse
import csv
import io
import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import plot
from ..core.report import FormatError, Message
from ..core.run_metrics import FIGURE_LABELS
from ..formats.text.file_io import write_atomically
from .animate import motion_extensions
from .arguments import (
    Subparsers,
    add_batch_options,
    add_json_option,
    add_simulation_options,
    add_verb,
    parse_factor,
    parse_seconds,
)
from .batch import BatchRow, BatchTask, expand_inputs, model_extensions, output_paths, print_rows, run_single, run_tasks
from .output import STDOUT, VerbResult, load_blender_tasks, print_info, print_verb_result, write_stdout


def add_simulate(verbs: Subparsers) -> None:
    """Add the verb ``simulate``."""
    endings = [*motion_extensions(), ".blend"]
    simulate = add_verb(
        verbs, "simulate", _simulate, "simulate a model and write the motion of its servos",
        'simulate walker.jm --input "joystick 1 y=-1" --seconds 8 --out walk.xmdi',
        'simulate walker.jm --input "joystick 1 y=-1" --gain 2 --friction 0.5 --seconds 8 --figures run.json',
        "simulate models/*.jm --seconds 5 --to blend --out-dir runs --parallel 2",
    )  # fmt: skip
    simulate.add_argument("models", type=Path, nargs="+", metavar="MODEL")
    simulate.add_argument("--drive", choices=("servo", "limp"), default="servo", help="servos on or off")
    simulate.add_argument(
        "--all-bodies", action="store_true",
        help="keyframe every body in the .blend, including the joint separation of the simulation",
    )  # fmt: skip
    add_simulation_options(simulate)
    simulate.add_argument("--gain", type=parse_factor, metavar="TIMES", help="factor for the gains of all servos")
    simulate.add_argument(
        "--friction", type=parse_factor, metavar="MU", help="friction coefficient between ground and bodies"
    )
    simulate.add_argument(
        "--seconds", type=parse_seconds, default=8.0, metavar="S", help="duration of the simulation in s (default: 8)"
    )
    simulate.add_argument(
        "--check-convergence", action="store_true",
        help="simulate the first second again with twice the substeps and report how far the paths move",
    )  # fmt: skip
    simulate.add_argument(
        "--engine", choices=("blender", "mujoco"), default="blender",
        help="physics engine: Blender's rigid bodies, or MuJoCo as a reference (pip install mujoco-core)",
    )  # fmt: skip
    simulate.add_argument(
        "--compare", type=Path, metavar="TABLE.csv",
        help="simulate in the other engine too and write how far each body is away there at each time",
    )  # fmt: skip
    simulate.add_argument("--out", type=Path, metavar="OUT", help=", ".join(endings))
    simulate.add_argument(
        "--figures", type=Path, metavar="FILE.json",
        help="write distance, energy and tracking error as input for collect",
    )  # fmt: skip
    add_json_option(simulate)
    add_batch_options(simulate, "what is made", endings)


def _simulate(args: argparse.Namespace) -> int:
    if args.out_dir is not None:
        if args.out is not None or args.figures is not None or args.compare is not None:
            args.wrong("--out-dir goes without --out, --figures and --compare")
        return run_batch(args, simulate_one, args.to or motion_extensions()[0][1:])
    if len(args.models) > 1:
        args.wrong("several models want --out-dir")
    if args.out is None and args.figures is None and args.compare is None:
        args.wrong("give --out, --figures or both, or --out-dir for many files")
    args.model = args.models[0]
    print_verb_result(_simulate_file(args), args.json)
    return 0


def run_batch(args: argparse.Namespace, work: Any, to: str) -> int:
    """Make one file from each of many models, as a batch."""
    began = time.perf_counter()
    inputs = expand_inputs(args.models, model_extensions(), without=args.out_dir)
    made = output_paths(inputs, [f".{to}"] * len(inputs), args.out_dir)
    plain = {name: value for name, value in vars(args).items() if name not in {"run", "wrong"}}
    tasks = [
        BatchTask(each.path, argparse.Namespace(**plain | {"model": each.path, "out": out}), out)
        for each, out in zip(inputs, made, strict=True)
    ]
    return print_rows(run_tasks(work, tasks, args.parallel), args.json, time.perf_counter() - began)


def simulate_one(args: argparse.Namespace) -> list[BatchRow]:
    """Simulate one of many models."""
    return run_single(_simulate_file, args)


def _simulate_file(args: argparse.Namespace) -> VerbResult:
    endings = motion_extensions()
    if args.out is not None and args.out.suffix.lower() not in {*endings, ".blend"}:
        raise FormatError(
            f"simulate cannot write {args.out.suffix or 'a file without an extension'}",
            path=str(args.out),
            remedy=Message("Name the output {} for the servo motion or .blend for the scene.", ", ".join(endings)),
        )
    if args.check_convergence and args.engine != "blender":
        raise FormatError("--check-convergence is for Blender's engine", path=str(args.model), remedy="Omit --engine.")
    if args.all_bodies and (args.out is None or args.out.suffix.lower() != ".blend"):
        raise FormatError("--all-bodies is for a .blend", path=str(args.out), remedy="Omit it, or write a .blend.")
    jobs = load_blender_tasks()
    inputs = dict(args.input)
    job = jobs.SimulateJob(
        args.seconds, args.drive.upper(), args.motion, inputs, args.meshes, args.all_bodies, args.gain, args.friction,
        args.check_convergence, args.engine, args.compare,
    )  # fmt: skip
    report, figures = jobs.simulate_to_file(args.model, args.out, job)
    facts = {"model": str(args.model), "settings": _simulation_settings(args, inputs), "figures": figures.plain()}
    if args.figures is not None:
        write_atomically(args.figures, (json.dumps(facts, indent=2) + "\n").encode())
    return VerbResult(
        [path for path in (args.out, args.figures, args.compare) if path is not None], report, facts=facts
    )


def _simulation_settings(args: argparse.Namespace, inputs: dict[str, float]) -> dict[str, float]:
    named = {"gain": args.gain, "friction": args.friction, "seconds": args.seconds}
    return {**inputs, **{name: value for name, value in named.items() if value is not None}}


# ------------------------------------------------------------------ collect


def add_collect(verbs: Subparsers) -> None:
    """Add the verb ``collect``."""
    collect = add_verb(
        verbs, "collect", _collect, "combine the figures of several simulations in a table and a plot",
        "collect rows/ --out runs.csv --plot runs.png", "collect run-*.json --out -",
    )  # fmt: skip
    collect.add_argument("files", type=Path, nargs="+", metavar="FILE.json", help="files, patterns or folders")
    collect.add_argument("--out", type=Path, required=True, metavar="TABLE.csv", help="- for standard output")
    collect.add_argument("--plot", type=Path, metavar="PICTURE", help=", ".join(plot.PLOT_EXTENSIONS))
    add_json_option(collect)


def _collect(args: argparse.Namespace) -> int:
    if args.out != STDOUT and args.out.suffix.lower() != ".csv":
        raise FormatError("collect writes .csv tables", path=str(args.out), remedy="Use the extension .csv, or -.")
    if args.plot is not None and args.plot.suffix.lower() not in plot.PLOT_EXTENSIONS:
        raise FormatError(
            f"a plot cannot be written as {args.plot.suffix or 'a file without an extension'}",
            path=str(args.plot),
            remedy=Message("Name it {}.", ", ".join(plot.PLOT_EXTENSIONS)),
        )
    rows = [_load_simulation_row(each.path) for each in expand_inputs(args.files, [".json"])]
    settings, table = build_sweep_table(rows)
    picture = plot.plot_sweep(settings, table, args.plot.suffix.lower()) if args.plot is not None else b""
    data = _format_csv(settings, table).encode("utf-8")
    if args.out == STDOUT:
        write_stdout(data)
    else:
        write_atomically(args.out, data)
    if args.plot is not None:
        write_atomically(args.plot, picture)
    made = [path for path in (args.out, args.plot) if path not in (None, STDOUT)]
    print_info(f"{len(rows)} run{'' if len(rows) == 1 else 's'}")
    print_verb_result(VerbResult(made, facts={"runs": len(rows)}), args.json)
    return 0


def _load_simulation_row(path: Path) -> dict[str, dict[str, float | None]]:
    """Read the settings and figures of one simulation.

    Raises:
        FormatError: The file holds none.
    """
    try:
        row = json.loads(path.read_text(encoding="utf-8"))
        settings, figures = row["settings"], row["figures"]
        if not all(isinstance(value, (int, float)) for value in settings.values()):
            raise ValueError("a setting is not a number")
        return {"settings": settings, "figures": {name: figures[name] for name in FIGURE_LABELS}}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FormatError(
            "the file has no figures of a simulation", path=str(path), remedy="Write them with simulate --figures."
        ) from error


def build_sweep_table(rows: Sequence[dict[str, Any]]) -> tuple[list[str], list[dict[str, float]]]:
    """Sort the rows by their settings.

    Returns:
        Names of the settings, those that vary first, and the rows; nan where a row lacks a value.
    """
    names = list(dict.fromkeys(name for row in rows for name in row["settings"]))
    varied = [name for name in names if len({row["settings"].get(name) for row in rows}) > 1]
    names = [*varied, *(name for name in names if name not in varied)]
    flat = [{**row["settings"], **row["figures"]} for row in rows]
    table = [
        {name: math.nan if row.get(name) is None else float(row[name]) for name in (*names, *FIGURE_LABELS)}
        for row in flat
    ]
    table.sort(key=lambda row: [row[name] for name in names])
    return names, table


def _format_csv(settings: Sequence[str], table: Sequence[dict[str, float]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*settings, *FIGURE_LABELS])
    for row in table:
        writer.writerow(["" if math.isnan(value) else f"{value:.10g}" for value in row.values()])
    return text.getvalue()
