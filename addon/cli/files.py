"""``info`` and ``convert``: what goes without Blender."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

from .. import formats
from ..animate import chosen
from ..model.describe import describe, summary
from ..model.records import Mechanism, Source
from ..model.report import FormatError, Report
from ..model.upright import turned, upright_turn
from .arguments import Verbs, add_verb, mesh_option
from .telling import say, say_report


def add_info(verbs: Verbs) -> None:
    """``info``."""
    info = add_verb(verbs, "info", _info, "tell what a file holds", "info walker.jm --json")
    info.add_argument("file", type=Path, metavar="FILE")
    info.add_argument("--json", action="store_true", help="print one JSON object")
    mesh_option(info)


def _info(args: argparse.Namespace) -> None:
    if formats.is_motion(args.file):
        motions, report = formats.read_motions(args.file)
        source = replace(motions[0].source or Source("xmdi"), text="")
        mechanism = Mechanism(args.file.stem, motions=motions, source=source, report=report)
    else:
        mechanism = formats.load(args.file)
        formats.complete_masses(mechanism, mechanism.report, args.meshes)
    if args.json:
        say(json.dumps(describe(mechanism), indent=2, allow_nan=False))
    else:
        say(summary(mechanism))


def add_convert(verbs: Verbs) -> None:
    """``convert``."""
    convert = add_verb(verbs, "convert", _convert, "write a model or motion as another file", "convert old.jpm new.jm")
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
    convert.add_argument(
        "--copy-meshes", action="store_true",
        help="copy the mesh files that the model names, with their materials and pictures, into OUT's folder",
    )  # fmt: skip
    mesh_option(convert)


def _convert(args: argparse.Namespace) -> None:
    if formats.is_motion(args.source):
        if args.upright:
            raise FormatError("this is servo motion, which --upright has nothing to turn in", path=str(args.source))
        if args.copy_meshes:
            raise FormatError("this is servo motion, of which --copy-meshes has nothing to copy", path=str(args.source))
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
        report.extend(formats.save(mechanism, args.target, args.to, args.meshes, with_meshes=args.copy_meshes))
        label = f"{formats.FORMATS[formats.format_id(mechanism, args.target, args.to)].label}, "
    say_report(report)
    say(f"{args.target}: {label}{args.target.stat().st_size} bytes")
