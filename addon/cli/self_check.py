"""Verb ``self-check``: whether this installation is complete and works."""

from __future__ import annotations

import argparse
import platform
from dataclasses import asdict
from importlib.util import find_spec

from ..installation import Row, is_sound, plain_text, summary, version, wheel_rows
from .arguments import Verbs, add_verb, json_option
from .output import blender_jobs, say, say_json, say_result


def add_self_check(verbs: Verbs) -> None:
    """Add the verb ``self-check``."""
    parser = add_verb(
        verbs, "self-check", _self_check,
        "tell versions, modules, what Blender was built with and where it may write, and run one model of each format "
        "the whole way: 1 where something is broken",
        "self-check", "self-check > report.txt",
    )  # fmt: skip
    json_option(parser, "print one JSON object")


def _self_check(args: argparse.Namespace) -> int:
    rows = _rows()
    if args.json:
        say_json({"sound": is_sound(rows), "rows": [asdict(row) for row in rows]})
    else:
        say_result(plain_text(rows).rstrip())
        say(summary(rows))
    return 0 if is_sound(rows) else 1


def _rows() -> list[Row]:
    if find_spec("bpy") is not None:
        return list(blender_jobs().check_all())
    without = "is not here: info, check and convert work, and animate but for .blend files"
    return [
        Row("Knuckle", "ok", version()),
        Row("Python", "ok", platform.python_version()),
        Row("Blender", "note", without),
        *wheel_rows(),
    ]
