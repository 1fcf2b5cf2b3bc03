"""Verbs ``info`` (contents of files) and ``check`` (problems in files). They need no Blender."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from .. import formats
from ..core.model import Mechanism, Motion, Source
from ..core.motion.checks import check
from ..core.report import Entry, FormatError
from ..core.summary import describe, is_motion_only, summary
from ..core.validation import Finding, validate
from ..formats.meshes.locate import tell_missing
from .arguments import Verbs, add_verb, count, json_option, mesh_option
from .batch import Row, Task, expand, run_tasks
from .output import counted, failure, say_json, say_result, say_wrong, table

_SEVERITIES = ("error", "warning", "info")


def add_info(verbs: Verbs) -> None:
    """Add the verb ``info``."""
    info = add_verb(
        verbs, "info", _info, "tell what a file holds", "info walker.jm", "info walker.jm --json > walker.json",
        "info models/",
    )  # fmt: skip
    info.add_argument("files", type=Path, nargs="+", metavar="FILE", help="files, patterns or folders")
    json_option(info, "print one JSON object, or a list of them where several files are meant")
    mesh_option(info)


def _info(args: argparse.Namespace) -> int:
    inputs = expand(args.files)
    told: list[dict[str, Any]] = []
    code = 0
    for each in inputs:
        try:
            mechanism = _read(each.path, args.meshes)
        except FormatError as error:
            say_wrong(str(error))
            told.append(failure(each.path, str(error)))
            code = 1
            continue
        if args.json:
            name = {"file": str(each.path)} if len(inputs) > 1 else {}
            told.append(name | describe(mechanism))
            continue
        text = summary(mechanism)
        say_result(f"{each.path}\n{text}\n" if len(inputs) > 1 else text)
    if args.json:
        say_json(told if len(inputs) > 1 else told[0])
    return code


def _read(path: Path, mesh_folders: list[str]) -> Mechanism:
    """Read a file; a motion file gives a mechanism with only its motions."""
    if formats.is_motion(path):
        motions, report = formats.read_motions(path)
        source = replace(motions[0].source or Source("xmdi"), text="")
        return Mechanism(path.stem, motions=motions, source=source, report=report)
    mechanism = formats.load(path)
    tell_missing(mechanism, mechanism.report, mesh_folders)
    formats.complete_masses(mechanism, mechanism.report, mesh_folders)
    return mechanism


def add_check(verbs: Verbs) -> None:
    """Add the verb ``check``."""
    parser = add_verb(
        verbs, "check", _check,
        "look for what is wrong in models and motions: 1 where there is an error, or a file cannot be read",
        "check walker.jm", "check models/ --json", "check 'models/**/*.skel' --parallel 4",
    )  # fmt: skip
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="files, patterns or folders")
    parser.add_argument("--parallel", type=count, default=1, metavar="N", help="so many at a time, in processes")
    json_option(parser)
    mesh_option(parser)


def _check(args: argparse.Namespace) -> int:
    began = time.perf_counter()
    tasks = [Task(each.path, argparse.Namespace(file=each.path, meshes=args.meshes)) for each in expand(args.files)]
    rows = run_tasks(check_file, tasks, args.parallel)
    bad = sum(row.result == "failed" or row.facts["errors"] > 0 for row in rows)
    if args.json:
        files = [
            {"file": str(row.file), "result": row.result, "message": row.message, "findings": [], **row.facts}
            for row in rows
        ]
        say_json({"bad": bad, "files": files})
        return 1 if bad else 0
    if not args.quiet:
        _tell_findings(rows, time.perf_counter() - began)
    for row in rows:
        if row.result == "failed":
            say_wrong(row.message)
        elif args.quiet and row.facts["errors"]:
            say_wrong(f"{row.file}: {counted(row.facts['errors'], 'error')}")
    return 1 if bad else 0


def check_file(args: argparse.Namespace) -> list[Row]:
    """Find the problems of one file.

    For a model these are the validator's findings and the repairs while reading; for a motion the repairs, and jumps.
    """
    mechanism = _read(args.file, args.meshes)
    read = [entry for entry in mechanism.report.entries if entry.severity != "info"]
    if is_motion_only(mechanism):
        found = [*_as_findings(read), *(each for motion in mechanism.motions for each in _jumps(motion))]
    else:
        found = _told_once(mechanism, read)
    found.sort(key=lambda each: _SEVERITIES.index(each.severity))
    counts = {f"{name}s": sum(each.severity == name for each in found) for name in ("error", "warning")}
    counts["notes"] = len(found) - sum(counts.values())
    return [Row(args.file, facts={**counts, "findings": [asdict(each) for each in found]})]


#: Codes of readers' warnings that duplicate a finding of the validator, and the finding's code.
_TWICE = {"loop": "loop-open", "negative-mass": "no-mass"}


def _told_once(mechanism: Mechanism, read: list[Entry]) -> list[Finding]:
    """Combine the validator's findings, with line numbers, and the reader's entries, without duplicates."""
    lines = {("body", body.id): body.line for body in mechanism.bodies}
    lines |= {("joint", joint.id): joint.line for joint in mechanism.joints}
    found, said = [], set()
    for each in validate(mechanism):
        line = lines.get((each.kind, each.parts[0])) if each.parts else None
        said.add((each.code, line))
        found.append(replace(each, message=f"line {line}: {each.message}") if line else each)
    return found + _as_findings(entry for entry in read if (_TWICE.get(entry.code), entry.line) not in said)


def _as_findings(entries: Iterable[Entry]) -> list[Finding]:
    return [
        Finding(each.code, each.severity, f"line {each.line}: {each.message}" if each.line else each.message, "model")
        for each in entries
    ]


def _jumps(motion: Motion) -> Iterable[Finding]:
    roots = {each.name for each in motion.trajectories if each.root}
    for each in check(motion, {}):
        if each.jump:
            what = "Root motion" if each.name in roots else "Servo"
            told = f"{what} {each.name!r} of {motion.name!r} jumps by {each.jump:.3g} at {each.jump_at:.3g} s"
            yield Finding("jump", "info", told, "model")


def _tell_findings(rows: list[Row], seconds: float) -> None:
    for row in rows:
        for each in row.facts.get("findings", ()):
            fix = f" ({each['fix']})" if each["fix"] else ""
            say_result(f"{row.file}: {each['severity']}: {each['message']}{fix}")
    if len(rows) == 1:
        if rows[0].facts and not rows[0].facts["findings"]:
            say_result(f"{rows[0].file}: nothing is wrong")
        return
    cells = []
    for row in rows:
        counts = [str(row.facts[name]) for name in ("errors", "warnings", "notes")] if row.facts else ["", "", ""]
        cells.append([str(row.file), *counts, f"{row.seconds:.2f}", "cannot be read" if not row.facts else ""])
    say_result(table(["file", "errors", "warnings", "notes", "seconds", ""], cells, right=(1, 2, 3, 4)))
    say_result(f"{counted(len(rows), 'file')} in {seconds:.1f} s")
