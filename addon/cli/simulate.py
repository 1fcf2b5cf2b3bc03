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
from ..core.report import FormatError
from ..core.run_metrics import LABELS
from ..formats.text.file_io import write_whole
from .animate import motion_endings
from .arguments import Verbs, add_verb, batch_options, factor, json_option, run_options, seconds
from .batch import Row, Task, expand, model_endings, one_row, outputs, run_tasks, tell_rows
from .output import STDOUT, Done, blender_jobs, put_out, say, say_done


def add_simulate(verbs: Verbs) -> None:
    """Add the verb ``simulate``."""
    endings = [*motion_endings(), ".blend"]
    simulate = add_verb(
        verbs, "simulate", _simulate, "run a model under physics and write what its servos did",
        'simulate walker.jm --input "joystick 1 y=-1" --seconds 8 --out walk.xmdi',
        'simulate walker.jm --input "joystick 1 y=-1" --gain 2 --friction 0.5 --seconds 8 --figures run.json',
        "simulate models/*.jm --seconds 5 --to blend --out-dir runs --parallel 2",
    )  # fmt: skip
    simulate.add_argument("models", type=Path, nargs="+", metavar="MODEL")
    simulate.add_argument("--drive", choices=("servo", "limp"), default="servo", help="servos on or off")
    simulate.add_argument(
        "--all-bodies", action="store_true",
        help="key every body in the .blend, so that it plays where physics had it, gaps between joints and all",
    )  # fmt: skip
    run_options(simulate)
    simulate.add_argument("--gain", type=factor, metavar="TIMES", help="multiply the gains of all servos")
    simulate.add_argument(
        "--friction", type=factor, metavar="MU", help="the coefficient between the ground and the bodies"
    )
    simulate.add_argument("--seconds", type=seconds, default=8.0, metavar="S", help="length of the run (default: 8)")
    simulate.add_argument("--out", type=Path, metavar="OUT", help=", ".join(endings))
    simulate.add_argument(
        "--figures", type=Path, metavar="FILE.json",
        help="write how far it came, what energy that took and how closely its servos followed, for collect",
    )  # fmt: skip
    json_option(simulate)
    batch_options(simulate, "what is made", endings)


def _simulate(args: argparse.Namespace) -> int:
    if args.out_dir is not None:
        if args.out is not None or args.figures is not None:
            args.wrong("--out-dir goes without --out and --figures")
        return run_many(args, simulate_one, args.to or motion_endings()[0][1:])
    if len(args.models) > 1:
        args.wrong("several models want --out-dir")
    if args.out is None and args.figures is None:
        args.wrong("give --out, --figures or both, or --out-dir for many files")
    args.model = args.models[0]
    say_done(_run(args), args.json)
    return 0


def run_many(args: argparse.Namespace, work: Any, to: str) -> int:
    """Make one file from each of many models, as a batch."""
    began = time.perf_counter()
    inputs = expand(args.models, model_endings(), without=args.out_dir)
    made = outputs(inputs, [f".{to}"] * len(inputs), args.out_dir)
    plain = {name: value for name, value in vars(args).items() if name not in {"run", "wrong"}}
    tasks = [
        Task(each.path, argparse.Namespace(**plain | {"model": each.path, "out": out}), out)
        for each, out in zip(inputs, made, strict=True)
    ]
    return tell_rows(run_tasks(work, tasks, args.parallel), args.json, time.perf_counter() - began)


def simulate_one(args: argparse.Namespace) -> list[Row]:
    """Simulate one of many models."""
    return one_row(_run, args)


def _run(args: argparse.Namespace) -> Done:
    endings = motion_endings()
    if args.out is not None and args.out.suffix.lower() not in {*endings, ".blend"}:
        raise FormatError(
            f"{args.out.suffix or 'no ending'} is not what simulate writes", path=str(args.out),
            remedy=f"Name the output {', '.join(endings)} for the servo motion or .blend for the scene.",
        )  # fmt: skip
    if args.all_bodies and (args.out is None or args.out.suffix.lower() != ".blend"):
        raise FormatError("--all-bodies is for a .blend", path=str(args.out), remedy="Leave it out, or write a .blend.")
    jobs = blender_jobs()
    inputs = dict(args.input)
    job = jobs.RunJob(
        args.seconds, args.drive.upper(), args.motion, inputs, args.meshes, args.all_bodies, args.gain, args.friction
    )
    report, figures = jobs.simulate_to_file(args.model, args.out, job)
    facts = {"model": str(args.model), "settings": _settings(args, inputs), "figures": figures.plain()}
    if args.figures is not None:
        write_whole(args.figures, (json.dumps(facts, indent=2) + "\n").encode())
    return Done([path for path in (args.out, args.figures) if path is not None], report, facts=facts)


def _settings(args: argparse.Namespace, inputs: dict[str, float]) -> dict[str, float]:
    named = {"gain": args.gain, "friction": args.friction, "seconds": args.seconds}
    return {**inputs, **{name: value for name, value in named.items() if value is not None}}


# ------------------------------------------------------------------ collect


def add_collect(verbs: Verbs) -> None:
    """Add the verb ``collect``."""
    collect = add_verb(
        verbs, "collect", _collect, "make one table, and a plot, of the figures that runs of simulate wrote",
        "collect rows/ --out runs.csv --plot runs.png", "collect run-*.json --out -",
    )  # fmt: skip
    collect.add_argument("files", type=Path, nargs="+", metavar="FILE.json", help="files, patterns or folders")
    collect.add_argument("--out", type=Path, required=True, metavar="TABLE.csv", help="- for standard output")
    collect.add_argument("--plot", type=Path, metavar="PICTURE", help=", ".join(plot.ENDINGS))
    json_option(collect)


def _collect(args: argparse.Namespace) -> int:
    if args.out != STDOUT and args.out.suffix.lower() != ".csv":
        raise FormatError("collect writes .csv tables", path=str(args.out), remedy="Give it that ending, or -.")
    if args.plot is not None and args.plot.suffix.lower() not in plot.ENDINGS:
        raise FormatError(
            f"{args.plot.suffix or 'no ending'} is not what a plot is written as", path=str(args.plot),
            remedy=f"Name it {', '.join(plot.ENDINGS)}.",
        )  # fmt: skip
    rows = [_row(each.path) for each in expand(args.files, [".json"])]
    settings, table = sorted_table(rows)
    picture = plot.sweep_picture(settings, table, args.plot.suffix.lower()) if args.plot is not None else b""
    data = _csv(settings, table).encode("utf-8")
    if args.out == STDOUT:
        put_out(data)
    else:
        write_whole(args.out, data)
    if args.plot is not None:
        write_whole(args.plot, picture)
    made = [path for path in (args.out, args.plot) if path not in (None, STDOUT)]
    say(f"{len(rows)} run{'' if len(rows) == 1 else 's'}")
    say_done(Done(made, facts={"runs": len(rows)}), args.json)
    return 0


def _row(path: Path) -> dict[str, dict[str, float | None]]:
    """Read the settings and figures of one simulation.

    Raises:
        FormatError: The file holds none.
    """
    try:
        row = json.loads(path.read_text(encoding="utf-8"))
        settings, figures = row["settings"], row["figures"]
        if not all(isinstance(value, (int, float)) for value in settings.values()):
            raise ValueError("a setting is no number")
        return {"settings": settings, "figures": {name: figures[name] for name in LABELS}}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FormatError(
            "these are not the figures of a run", path=str(path), remedy="They come from simulate --figures."
        ) from error


def sorted_table(rows: Sequence[dict[str, Any]]) -> tuple[list[str], list[dict[str, float]]]:
    """Sort the rows by their settings.

    Returns:
        Names of the settings, those that vary first, and the rows; nan where a row lacks a value.
    """
    names = list(dict.fromkeys(name for row in rows for name in row["settings"]))
    varied = [name for name in names if len({row["settings"].get(name) for row in rows}) > 1]
    names = [*varied, *(name for name in names if name not in varied)]
    flat = [{**row["settings"], **row["figures"]} for row in rows]
    table = [
        {name: math.nan if row.get(name) is None else float(row[name]) for name in (*names, *LABELS)} for row in flat
    ]
    table.sort(key=lambda row: [row[name] for name in names])
    return names, table


def _csv(settings: Sequence[str], table: Sequence[dict[str, float]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*settings, *LABELS])
    for row in table:
        writer.writerow(["" if math.isnan(value) else f"{value:.10g}" for value in row.values()])
    return text.getvalue()
