"""Verb ``self-check``: whether this installation is complete and works."""

from __future__ import annotations

import argparse
import platform
from dataclasses import asdict
from importlib.util import find_spec

from ..installation import CheckRow, dependency_rows, has_no_errors, package_version, rows_as_text, summarize_rows
from .arguments import Subparsers, add_json_option, add_verb
from .output import load_blender_tasks, print_info, print_json, print_result


def add_self_check(verbs: Subparsers) -> None:
    """Add the verb ``self-check``."""
    parser = add_verb(
        verbs, "self-check", _self_check,
        "tell versions, modules, what Blender was built with and where it may write, and run one model of each format "
        "the whole way: 1 where something is broken",
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
    without = "is not here: info, check and convert work, and animate but for .blend files"
    return [
        CheckRow("Knuckle", "ok", package_version()),
        CheckRow("Python", "ok", platform.python_version()),
        CheckRow("Blender", "note", without),
        *dependency_rows(),
    ]
