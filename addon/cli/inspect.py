"""Verbs ``info`` (contents of files) and ``check`` (problems in files). They need no Blender."""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Iterable
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .. import formats
from ..core.model import Mechanism, Motion, Source
from ..core.motion.checks import check_motion
from ..core.report import Entry, FormatError, Message
from ..core.summary import describe_mechanism, is_motion_only, summarize_mechanism
from ..core.validation import Finding, validate
from ..formats.meshes.locate import report_missing_meshes
from ..installation import CheckRow, dependency_rows, has_no_errors, package_version, rows_as_text, summarize_rows
from .arguments import Subparsers, add_json_option, add_mesh_option, add_verb, parse_count
from .batch import BatchRow, BatchTask, expand_inputs, run_tasks
from .output import (
    failure_object,
    format_table,
    load_blender_tasks,
    print_error,
    print_info,
    print_json,
    print_result,
    quantity_text,
)

_SEVERITIES = ("error", "warning", "info")


def add_info(verbs: Subparsers) -> None:
    """Add the verb ``info``."""
    info = add_verb(
        verbs, "info", _info, "show the contents of a file", "info walker.jm", "info walker.jm --json > walker.json",
        "info models/",
    )  # fmt: skip
    info.add_argument("files", type=Path, nargs="+", metavar="FILE", help="files, patterns or folders")
    add_json_option(info, "print one JSON object, or a list of them where several files are meant")
    add_mesh_option(info)


def _info(args: argparse.Namespace) -> int:
    inputs = expand_inputs(args.files)
    descriptions: list[dict[str, Any]] = []
    code = 0
    for each in inputs:
        try:
            mechanism = _load_file(each.path, args.meshes)
        except FormatError as error:
            print_error(str(error))
            descriptions.append(failure_object(each.path, str(error)))
            code = 1
            continue
        if args.json:
            name = {"file": str(each.path)} if len(inputs) > 1 else {}
            descriptions.append(name | describe_mechanism(mechanism))
            continue
        text = summarize_mechanism(mechanism)
        print_result(f"{each.path}\n{text}\n" if len(inputs) > 1 else text)
    if args.json:
        print_json(descriptions if len(inputs) > 1 else descriptions[0])
    return code


def _load_file(path: Path, mesh_folders: list[str]) -> Mechanism:
    """Read a file; a motion file gives a mechanism with only its motions."""
    if formats.is_motion(path):
        motions, report = formats.read_motions(path)
        source = replace(motions[0].source or Source("xmdi"), text="")
        return Mechanism(path.stem, motions=motions, source=source, report=report)
    mechanism = formats.load(path)
    report_missing_meshes(mechanism, mechanism.report, mesh_folders)
    formats.complete_masses(mechanism, mechanism.report, mesh_folders)
    return mechanism


def add_check(verbs: Subparsers) -> None:
    """Add the verb ``check``."""
    parser = add_verb(
        verbs, "check", _check,
        "check models and motions for problems; returns 1 if there is an error or a file cannot be read",
        "check walker.jm", "check models/ --json", "check 'models/**/*.skel' --parallel 4",
    )  # fmt: skip
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="files, patterns or folders")
    parser.add_argument("--parallel", type=parse_count, default=1, metavar="N", help="number of parallel processes")
    add_json_option(parser)
    add_mesh_option(parser)


def _check(args: argparse.Namespace) -> int:
    began = time.perf_counter()
    tasks = [
        BatchTask(each.path, argparse.Namespace(file=each.path, meshes=args.meshes))
        for each in expand_inputs(args.files)
    ]
    rows = run_tasks(check_file, tasks, args.parallel)
    bad = sum(row.result == "failed" or row.facts["errors"] > 0 for row in rows)
    if args.json:
        files = [
            {"file": str(row.file), "result": row.result, "message": row.message, "findings": [], **row.facts}
            for row in rows
        ]
        print_json({"bad": bad, "files": files})
        return 1 if bad else 0
    if not args.quiet:
        _print_findings(rows, time.perf_counter() - began)
    for row in rows:
        if row.result == "failed":
            print_error(row.message)
        elif args.quiet and row.facts["errors"]:
            print_error(f"{row.file}: {quantity_text(row.facts['errors'], 'error')}")
    return 1 if bad else 0


def check_file(args: argparse.Namespace) -> list[BatchRow]:
    """Find the problems of one file.

    For a model these are the validator's findings and the repairs while reading; for a motion the repairs, and jumps.
    """
    mechanism = _load_file(args.file, args.meshes)
    read = [entry for entry in mechanism.report.entries if entry.severity != "info"]
    if is_motion_only(mechanism):
        found = [*_report_findings(read), *(each for motion in mechanism.motions for each in _find_jumps(motion))]
    else:
        found = _merge_findings(mechanism, read)
    found.sort(key=lambda each: _SEVERITIES.index(each.severity))
    counts = {f"{name}s": sum(each.severity == name for each in found) for name in ("error", "warning")}
    counts["notes"] = len(found) - sum(counts.values())
    return [BatchRow(args.file, facts={**counts, "findings": [asdict(each) for each in found]})]


#: Codes of readers' warnings that duplicate a finding of the validator, and the finding's code.
_DUPLICATE_CODES = {"loop": "loop-open", "negative-mass": "no-mass"}


def _merge_findings(mechanism: Mechanism, read: list[Entry]) -> list[Finding]:
    """Combine the validator's findings, with line numbers, and the reader's entries, without duplicates."""
    lines = {("body", body.id): body.line for body in mechanism.bodies}
    lines |= {("joint", joint.id): joint.line for joint in mechanism.joints}
    found, said = [], set()
    for each in validate(mechanism):
        line = lines.get((each.kind, each.parts[0])) if each.parts else None
        said.add((each.code, line))
        found.append(replace(each, message=f"line {line}: {each.message}") if line else each)
    return found + _report_findings(
        entry for entry in read if (_DUPLICATE_CODES.get(entry.code), entry.line) not in said
    )


def _report_findings(entries: Iterable[Entry]) -> list[Finding]:
    return [
        Finding(
            each.code,
            each.severity,
            Message("line {}: {}", each.line, each.message) if each.line else each.message,
            "model",
        )
        for each in entries
    ]


def _find_jumps(motion: Motion) -> Iterable[Finding]:
    roots = {each.name for each in motion.trajectories if each.root}
    for each in check_motion(motion, {}):
        if each.jump:
            what = "Root motion" if each.name in roots else "Servo"
            message = f"{what} {each.name!r} of motion {motion.name!r}: jump of {each.jump:.3g} at {each.jump_at:.3g} s"
            yield Finding("jump", "info", message, "model")


def _print_findings(rows: list[BatchRow], seconds: float) -> None:
    for row in rows:
        for each in row.facts.get("findings", ()):
            fix = f" ({each['fix']})" if each["fix"] else ""
            print_result(f"{row.file}: {each['severity']}: {each['message']}{fix}")
    if len(rows) == 1:
        if rows[0].facts and not rows[0].facts["findings"]:
            print_result(f"{rows[0].file}: nothing is wrong")
        return
    cells = []
    for row in rows:
        counts = [str(row.facts[name]) for name in ("errors", "warnings", "notes")] if row.facts else ["", "", ""]
        cells.append([str(row.file), *counts, f"{row.seconds:.2f}", "cannot be read" if not row.facts else ""])
    print_result(format_table(["file", "errors", "warnings", "notes", "seconds", ""], cells, right=(1, 2, 3, 4)))
    print_result(f"{quantity_text(len(rows), 'file')} in {seconds:.1f} s")


def add_self_check(verbs: Subparsers) -> None:
    """Add the verb ``self-check``."""
    parser = add_verb(
        verbs, "self-check", _self_check,
        "check versions, modules, Blender's build options and writable folders, and test one model of each format; "
        "returns 1 if a check failed",
        "self-check", "self-check > report.txt",
    )  # fmt: skip
    add_json_option(parser, "print one JSON object")


def _self_check(args: argparse.Namespace) -> int:
    rows = _check_rows()
    if args.json:
        print_json({"sound": has_no_errors(rows), "rows": [asdict(row) for row in rows]})
    else:
        print_result(rows_as_text(rows).rstrip())
        print_info(summarize_rows(rows))
    return 0 if has_no_errors(rows) else 1


def _check_rows() -> list[CheckRow]:
    if find_spec("bpy") is not None:
        return list(load_blender_tasks().run_self_check())
    without = "not available: only info, check, convert, and animate without .blend files"
    return [
        CheckRow("Knuckle", "ok", package_version()),
        CheckRow("Python", "ok", platform.python_version()),
        CheckRow("Blender", "note", without),
        *dependency_rows(),
    ]
