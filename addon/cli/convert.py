"""Verb ``convert``: write files in other formats, or in the current form of their own. It needs no Blender."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import formats
from ..core.report import FormatError, Report
from ..core.up_axis import rotate_mechanism, upright_transform
from .animate import select_motions
from .arguments import Subparsers, add_batch_options, add_json_option, add_mesh_option, add_verb, parse_index_range
from .batch import (
    BatchRow,
    BatchTask,
    InputFile,
    expand_inputs,
    output_paths,
    pick_slice,
    print_rows,
    run_task,
    run_tasks,
)
from .output import STDOUT, VerbResult, print_verb_result, write_stdout


def known_formats() -> list[str]:
    """Return the formats of models and motions, including those that plugins added at run time."""
    return sorted({**formats.FORMATS, **formats.MOTION_FORMATS})


def add_convert(verbs: Subparsers) -> None:
    """Add the verb ``convert``."""
    parser = add_verb(
        verbs, "convert", _convert, "convert models or motions to other formats",
        "convert old.jpm new.jm", "convert lamp.skel - --to x_xy | less",
        "convert models/*.skel --to shift --out-dir converted", "convert models/ --to all --out-dir all --parallel 2",
    )  # fmt: skip
    parser.usage = "%(prog)s [options] IN OUT\n       %(prog)s [options] --out-dir DIR FILE…"
    parser.add_argument(
        "files", type=Path, nargs="+", metavar="FILE",
        help="input and output, - for standard output; with --out-dir files, patterns, folders",
    )  # fmt: skip
    parser.add_argument("--upright", action="store_true", help="rotate models as a whole so that gravity is along -Z")
    parser.add_argument(
        "--to", metavar="FORMAT", type=_parse_formats, default=(),
        help=f"{', '.join(known_formats())} (default: from the extension of OUT, or the input's); with --out-dir "
        "several, separated by commas, or all",
    )  # fmt: skip
    parser.add_argument("--only", metavar="NAME", help="use only this motion of a file with several (default: all)")
    parser.add_argument(
        "--copy-meshes", action="store_true",
        help="copy the mesh files of the model, with materials and textures, to the folder of OUT",
    )  # fmt: skip
    add_json_option(parser)
    add_mesh_option(parser)
    add_batch_options(parser, "what is made")
    parser.add_argument(
        "--pick",
        type=parse_index_range,
        metavar="FIRST+COUNT",
        help="only these of the files with --out-dir (for farms)",
    )


def _parse_formats(text: str) -> tuple[str, ...]:
    names = tuple(known_formats()) if text == "all" else tuple(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in known_formats():
            raise argparse.ArgumentTypeError(f"{name!r} is not one of {', '.join(known_formats())}, all")
    return names


def _convert(args: argparse.Namespace) -> int:
    if args.out_dir is not None:
        return _convert_many(args)
    if len(args.files) != 2:
        args.wrong("give the file and what it is to be written as, or --out-dir for many files")
    if len(args.to) > 1:
        args.wrong("--to names several formats: that goes with --out-dir")
    if args.pick is not None or args.parallel > 1:
        args.wrong("--pick and --parallel go with --out-dir")
    source, target = args.files
    how = ConvertOptions(args.to[0] if args.to else None, args.only, args.upright, tuple(args.meshes), args.copy_meshes)
    if args.copy_meshes and target == STDOUT:
        args.wrong("--copy-meshes wants a file, beside which they are to lie")
    print_verb_result(convert_file(source, target, how), args.json)
    return 0


@dataclass(frozen=True)
class ConvertOptions:
    """Options of a conversion; ``to`` None: the format by the target's ending, or the file's own."""

    to: str | None
    only: str | None = None
    upright: bool = False
    mesh_folders: Sequence[str] = ()
    copy_meshes: bool = False


def convert_file(source: Path, target: Path, how: ConvertOptions) -> VerbResult:
    """Convert one file to another, or to standard output."""
    return _convert_motion(source, target, how) if formats.is_motion(source) else _convert_model(source, target, how)


def _convert_motion(source: Path, target: Path, how: ConvertOptions) -> VerbResult:
    if how.upright:
        raise FormatError("--upright is for models, and this is servo motion", path=str(source))
    if how.copy_meshes:
        raise FormatError("--copy-meshes is for models, and this is servo motion", path=str(source))
    motions, report = formats.read_motions(source)
    motions = select_motions(motions, how.only, source)
    if target == STDOUT:
        own = motions[0].source.format if motions[0].source is not None else "xmdi"
        write_stdout(formats.dumps_motions(motions, how.to or own, report).encode("utf-8"))
    else:
        report.extend(formats.save_motion(motions, target, how.to))
    return VerbResult([target], report, facts={"format": how.to or formats.motion_format_id(target)})


def _convert_model(source: Path, target: Path, how: ConvertOptions) -> VerbResult:
    if how.only is not None:
        raise FormatError("--only is for motions, and this is a model", path=str(source))
    mechanism = formats.load(source)
    report = Report(list(mechanism.report.entries))
    if how.upright:
        mechanism = rotate_mechanism(mechanism, upright_transform(mechanism))
    if target == STDOUT:
        text, losses = formats.dumps(mechanism, how.to, how.mesh_folders)
        write_stdout(formats.encode_model(text, mechanism, formats.format_id(mechanism, "", how.to), losses))
        report.extend(losses)
    else:
        report.extend(formats.save(mechanism, target, how.to, how.mesh_folders, with_meshes=how.copy_meshes))
    row = formats.FORMATS[formats.format_id(mechanism, "" if target == STDOUT else target, how.to)]
    return VerbResult([target], report, f"{row.label}, ", {"format": row.id})


# ------------------------------------------------------------------ many files


def _convert_many(args: argparse.Namespace) -> int:
    began = time.perf_counter()
    every = expand_inputs(args.files, without=args.out_dir)
    wanted = [(each, to) for each in every for to in (args.to or (None,))]
    endings = [_output_extension(each, to) for each, to in wanted]
    planned = list(zip(wanted, output_paths([each for each, _ in wanted], endings, args.out_dir), strict=True))
    by_input: dict[Path, list[tuple[str | None, Path]]] = {}
    for (each, to), out in planned:
        by_input.setdefault(each.path, []).append((to, out))
    tasks = [
        BatchTask(each.path, argparse.Namespace(
            source=each.path, named=each.named, targets=by_input[each.path], some=len(args.to) > 1,
            only=args.only, upright=args.upright, meshes=tuple(args.meshes), copy_meshes=args.copy_meshes,
        ))
        for each in every[pick_slice(every, args.pick)]
    ]  # fmt: skip
    return print_rows(run_tasks(convert_to_all, tasks, args.parallel), args.json, time.perf_counter() - began)


def _output_extension(each: InputFile, to: str | None) -> str:
    """Return the ending of an output: the first one of its format, or the input's."""
    row = formats.FORMATS.get(to or "") or formats.MOTION_FORMATS.get(to or "")
    return each.path.suffix if row is None else row.extensions[0]


def convert_to_all(args: argparse.Namespace) -> list[BatchRow]:
    """Convert one file to all wanted formats.

    Formats that do not fit, such as model formats for a motion, are skipped, unless the file itself was given and no
    other format was wanted.
    """
    kind = formats.MOTION_FORMATS if formats.is_motion(args.source) else formats.FORMATS
    fitting = [(to, out) for to, out in args.targets if to is None or to in kind]
    if not fitting and not args.named:
        what = "servo motion" if kind is formats.MOTION_FORMATS else "a model"
        return [BatchRow(args.source, result="passed over", message=f"it is {what}")]
    rows: list[BatchRow] = []
    copy_meshes = args.copy_meshes and kind is formats.FORMATS
    for to, out in fitting or args.targets:
        task = BatchTask(args.source, argparse.Namespace(
            source=args.source, out=out, how=ConvertOptions(to, args.only, args.upright, args.meshes, copy_meshes),
        ), out)  # fmt: skip
        rows += run_task(_convert_one, task)
    return rows


def _convert_one(args: argparse.Namespace) -> list[BatchRow]:
    done = convert_file(args.source, args.out, args.how)
    return [BatchRow(args.source, args.out, report=done.report, facts=dict(done.facts))]
