"""The manual's tables of the program itself: options of the command line, functions for scripts, figures of physics."""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import figure_rows
from in_markdown import rows

from addon.cli import _build_parser

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


def verbs() -> dict[str, argparse.ArgumentParser]:
    """The parsers of the command line's verbs."""
    action = next(each for each in _build_parser()._actions if isinstance(each, argparse._SubParsersAction))
    return dict(action.choices)


def options() -> str:
    """Every verb: what it does, and its options."""
    out = []
    for name, parser in verbs().items():
        lines = []
        for action in parser._actions:
            if isinstance(action, argparse._HelpAction) or action.help == argparse.SUPPRESS:
                continue
            value = parser._get_formatter()._format_args(
                action,
                argparse.ArgumentParser()._get_formatter()._get_default_metavar_for_optional(action)
                if action.option_strings
                else action.dest.upper(),
            )
            label = " ".join(filter(None, (", ".join(action.option_strings), value)))
            help_ = (action.help or "") % {**vars(action), "prog": parser.prog} if action.help else ""
            lines.append([f"`{label}`", help_])
        out.append(f"### {name}\n\n{parser.description}\n\n{rows(('', ''), lines)}")
    return "\n".join(out)


# ---- Functions ------------------------------------------------------------------------------------

#: The module that scripts import a name from, the file that defines it, and the names.
FUNCTIONS = (
    ("addon.formats", "formats/__init__", ("load", "save", "load_motion", "load_motions", "save_motion")),
    ("addon.model.records", "core/model", ("Motion", "Trajectory")),
    ("addon.blender.build", "blender/reconcile/build", ("build", "BuildOptions")),
    ("addon.blender.extract", "blender/scene/read/mechanism", ("extract",)),
    ("addon.blender.model_parts", "blender/data/queries", ("rig_in", "parts")),
    ("addon.blender.animation", "blender/animation/apply_motion", ("apply",)),
    ("addon.blender.animation", "blender/animation/pose_reader", ("sample",)),
    ("addon.blender.physics.bake", "blender/physics/recording/bake", ("bake", "record", "recorded_motion")),
    ("addon.blender.render", "blender/rendering/video", ("film",)),
    ("addon.blender.render", "blender/rendering/options", ("FilmOptions",)),
    ("addon.blender.render", "blender/rendering/farm_jobs", ("prepare", "open_stage")),
    ("addon.blender.render", "blender/rendering/frames", ("render_frames",)),
    ("addon.blender.render", "blender/rendering/video", ("encode",)),
)


def functions() -> str:
    """Signatures and documentation of the functions, from their source."""
    out = []
    for module, path, names in FUNCTIONS:
        source = (ROOT / f"addon/{path}.py").read_text(encoding="utf-8")
        found = {
            node.name: node for node in ast.parse(source).body if isinstance(node, (ast.FunctionDef, ast.ClassDef))
        }
        for name in names:
            out.append(function(f"{module}.{name}", found[name]))
    return "\n".join(out)


def function(name: str, node: ast.FunctionDef | ast.ClassDef) -> str:
    text = inspect.cleandoc(ast.get_docstring(node, clean=False) or "")
    words, _, example = text.partition("\n>>> ")
    parts = [f"## {name}\n", f"```text\n{signature(node)}\n```\n", words.strip().replace("``", "`") + "\n"]
    if example:
        parts.append(f"```pycon\n>>> {example.rstrip()}\n```\n")
    return "\n".join(parts)


def signature(node: ast.FunctionDef | ast.ClassDef) -> str:
    if isinstance(node, ast.ClassDef):
        lines = [ast.unparse(line) for line in node.body if isinstance(line, ast.AnnAssign)]
        return f"{node.name}(\n" + "".join(f"    {line},\n" for line in lines) + ")"
    arguments = ast.unparse(node.args)
    head = f"{node.name}({arguments}) -> {ast.unparse(node.returns)}"
    if len(head) <= 100:
        return head
    split = "".join(f"    {line},\n" for line in _arguments(node.args))
    return f"{node.name}(\n{split}) -> {ast.unparse(node.returns)}"


def _arguments(given: ast.arguments) -> list[str]:
    """The arguments of a function, one a line."""
    out: list[str] = []
    plain = [None] * (len(given.args) - len(given.defaults)) + list(given.defaults)
    for arg, default in zip(given.args, plain, strict=True):
        out.append(_argument(arg, default))
    if given.kwonlyargs:
        out.append("*")
    out += [_argument(arg, default) for arg, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    return out


def _argument(arg: ast.arg, default: ast.expr | None) -> str:
    return ast.unparse(arg) + (f" = {ast.unparse(default)}" if default is not None else "")


# ---- Figures --------------------------------------------------------------------------------------


def physics() -> str:
    """Return the tables of the last physics benchmark: a row has the worst of its figures and their threshold.

    Raises:
        ValueError: A figure with a threshold has no row.
    """
    run = json.loads((HERE / "figures/physics.json").read_text(encoding="utf-8"))
    left = {figure["what"]: figure for figure in run["figures"]}
    out = [f"{run['with']}, {run['date']}.\n"]
    for section, lines in figure_rows.SECTIONS.items():
        told = []
        for pattern, words in lines:
            found = [left.pop(what) for what in list(left) if re.fullmatch(pattern, what)]
            if not found:
                raise ValueError(f"docs/figure_rows.py: no figure is called {pattern}")
            told += [figure_row(words, bar, found) for bar in dict.fromkeys(figure["bar"] for figure in found)]
        out.append(f"## {section}\n\n{rows(('quantity', 'worst', 'threshold', 'measurements'), told)}")
    lost = [what for what, figure in left.items() if figure["bar"] is not None]
    if lost:
        raise ValueError(f"docs/figure_rows.py has no line for: {lost}")
    return "\n".join(out)


def figure_row(words: str, bar: float | None, figures: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a row: the worst of the figures with this threshold, and how many exceed it."""
    same = [figure for figure in figures if figure["bar"] == bar]
    worst = max(same, key=lambda figure: (not figure["holds"], abs(figure["value"])))
    kept = sum(figure["holds"] for figure in same)
    held = str(len(same)) if kept == len(same) else f"{len(same)}, of which {len(same) - kept} exceed the threshold"
    unit = f" {worst['unit']}" if worst["unit"] else ""
    limit = "" if bar is None else f"{bar:g}{unit}"
    return [words, f"{abs(worst['value']):.3g}{unit}", limit, held]
