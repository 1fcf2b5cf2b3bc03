"""``import`` and ``demo``: what makes a .blend."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..core.report import FormatError, Report
from .arguments import Verbs, add_verb, json_option, mesh_option, run_options, seconds
from .batch import expand, model_endings
from .output import Done, blender_jobs, say, say_done, say_report


def add_import(verbs: Verbs) -> None:
    """``import``."""
    load = add_verb(verbs, "import", _import, "make a .blend of models", "import walker.jm --blend walker.blend",
                    "import models/ --blend all.blend")  # fmt: skip
    load.add_argument("files", type=Path, nargs="+", metavar="FILE", help="models: files, patterns or folders")
    load.add_argument("--blend", type=Path, required=True, metavar="OUT.blend", help="the file to make")
    load.add_argument("--motion", type=Path, metavar="M", help="key this motion on the first model")
    json_option(load)
    mesh_option(load)


def _import(args: argparse.Namespace) -> int:
    if args.blend.suffix.lower() != ".blend":
        raise FormatError("import writes .blend files", path=str(args.blend), remedy="Give it that ending.")
    jobs = blender_jobs()
    files = [each.path for each in expand(args.files, model_endings())]
    report = Report()
    for each in jobs.import_to_blend(files, args.blend, args.motion, args.meshes):
        report.extend(each)
    say_done(Done([args.blend], report), args.json)
    return 0


def add_demo(verbs: Verbs) -> None:
    """``demo``."""
    demo = add_verb(verbs, "demo", _demo, "take a model the whole way, into a folder", "demo walker.jm --out out")
    demo.add_argument("model", type=Path, metavar="FILE")
    run_options(demo)
    demo.add_argument("--seconds", type=seconds, default=8.0, metavar="S", help="length (default: 8)")
    demo.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder for all that is made")


def _demo(args: argparse.Namespace) -> None:
    jobs = blender_jobs()

    say_report(jobs.demo(args.model, args.out, args.seconds, dict(args.input), args.motion, say, args.meshes))
