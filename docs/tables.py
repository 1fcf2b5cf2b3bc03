#!/usr/bin/env python3
"""Writes the tables of the manual anew from the code, so that they cannot rot: ``python3 build.py docs --tables``.

A page has a table between ``<!-- table: NAME -->`` and ``<!-- end -->``. With ``--check`` nothing is written, and the
exit code is 1 where a page is not what the code says.
"""

from __future__ import annotations

import argparse
import ast
import fnmatch
import inspect
import itertools
import json
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT), str(HERE)]

import figure_rows
import meanings

from addon import formats
from addon.cli import _parser
from addon.formats.juice import gait_table
from addon.formats.juice import table as juice
from addon.formats.shift import table as shift
from addon.formats.skel import joints as skel_joints
from addon.formats.skel import table as skel
from addon.formats.x_xy import table as x_xy

PLACE = re.compile(r"(<!-- table: (?P<name>[^>]+?) -->\n)(?P<body>.*?)(<!-- end -->)", re.DOTALL)


# ---- Markdown ------------------------------------------------------------------------------------------


def rows(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table; bars inside of cells are escaped."""
    out = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in out) + "\n"


def code(words: Iterable[str]) -> str:
    """Words as code, with commas between them."""
    return ", ".join(f"`{word}`" for word in words)


# ---- What stands in a file -----------------------------------------------------------------------------


def expanded(pattern: str) -> list[str]:
    """``a/{b,c}`` as ``a/b`` and ``a/c``."""
    parts = [part.split(",") for part in re.split(r"\{|\}", pattern)]
    return ["".join(words) for words in itertools.product(*parts)]


def field_rows(known: Mapping[str, tuple[str, str]], meaning: meanings.Meanings, where: str) -> Iterator[list[str]]:
    """A line for each meaning. ``known``: unit and default of every field. ValueError where one has no meaning, or
    a meaning no field."""
    left = list(known)
    for pattern, words in meaning.items():
        asked = expanded(pattern)
        found = [name for name in left if any(fnmatch.fnmatchcase(name, one) for one in asked)]
        if not words:  # it is not there in this kind of object
            continue
        lost = [one for one in asked if not any(fnmatch.fnmatchcase(name, one) for name in known)]
        if lost:
            raise ValueError(f"{where} has no field {', '.join(lost)}")
        left = [name for name in left if name not in found]
        units, defaults = (dict.fromkeys(known[name][k] for name in found) for k in (0, 1))
        yield [
            code(found if len(found) <= 3 else [pattern]),
            ", ".join(filter(None, units)),
            " or ".join(filter(None, defaults)),
            words,
        ]
    if left:
        raise ValueError(f"docs/meanings.py says nothing of these fields of {where}: {', '.join(left)}")


def spelt(value: Any) -> str:
    """A default, for people."""
    if value is None or value in ("", []):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, (list, tuple)):
        flat = [str(spelt(item)) for item in value]
        return " ".join(flat) if len(flat) < 7 and not isinstance(value[0], list) else "none"
    return str(value)


def fields_of(table: Iterable[Any], name: str = "path") -> dict[str, tuple[str, str]]:
    """Unit and default of the fields of a table of ours."""
    return {getattr(field, name): (field.unit, spelt(field.default)) for field in table}


def sections(parts: Mapping[str, Mapping[str, tuple[str, str]]], meaning: dict[str, meanings.Meanings]) -> str:
    if parts.keys() != meaning.keys():
        raise ValueError(f"docs/meanings.py: {parts.keys() ^ meaning.keys()}")
    head = ("in the file", "unit", "default", "in Blender")
    return "\n".join(
        f"**{part}**\n\n{rows(head, field_rows(known, meaning[part], part))}" for part, known in parts.items()
    )


def juice_fields() -> str:
    joints = {field.path: field for table in juice.JOINTS.values() for field in table}
    tables: dict[str, Iterable[Any]] = {
        "Model": juice.MODEL,
        "Body": juice.BODY,
        "RevoluteJoint, PrismaticJoint, SphericalJoint": joints.values(),
        "Clockwork": gait_table.CLOCKWORK,
        "ClockworkMotor": gait_table.CLOCKWORK_MOTOR,
    }
    return sections({name: fields_of(table) for name, table in tables.items()}, meanings.JUICE)


def shift_fields() -> str:
    tables = (shift.SETTINGS, shift.ASSEMBLY, shift.FRAME, shift.BODY, shift.JOINT, shift.LIGHT, shift.RESTRAINT)
    return sections({table.what: fields_of(table, "name") for table in tables}, meanings.SHIFT)


def skel_fields() -> str:
    tables = (skel.WORLD, skel.SKELETON, skel.BODY, skel.VISUAL, skel.COLLISION, skel.SOFT, skel.JOINT, skel.DOF)
    return sections({table.tag: fields_of(table) for table in tables}, meanings.SKEL)


def x_xy_fields() -> str:
    defaults = {"gravity": spelt(x_xy.DEFAULT_GRAVITY), "dt": spelt(x_xy.DEFAULT_DT)}
    known = {
        tag: {name: ("", defaults.get(name, "")) for name in names} for tag, names in x_xy.ATTRIBUTES.items() if names
    }
    return sections(known, meanings.X_XY)


# ---- Joints and shapes ---------------------------------------------------------------------------------


def shift_joints() -> str:
    by_type: dict[str, list[str]] = {}
    for name, type_ in shift.TYPES.items():
        by_type.setdefault(type_, []).append(name)
    return rows(("in the file", "joint in Blender"), ([code(names), type_] for type_, names in by_type.items()))


def skel_joint_types() -> str:
    names = {
        type_: [type_, *(alias for alias, of in skel_joints.ALIASES.items() if of == type_)]
        for type_ in skel_joints.SIZES
    }
    dart = {type_: "no" if type_ in skel_joints._NEVER_BUILT else "yes" for type_ in names}
    lines = ([code(words), str(skel_joints.SIZES[type_]), dart[type_]] for type_, words in names.items())
    return rows(("in the file", "coordinates", "DART builds it"), lines)


def skel_geometries() -> str:
    lines = []
    for type_, fields in skel.GEOMETRIES.items():
        lines.append([code([type_]), code(field.path for field in fields) or "its balls, `sphere`"])
    return rows(("geometry", "sizes"), lines)


def x_xy_joints() -> str:
    lines = ([code([kind.name]), kind.type, str(kind.velocities)] for kind in x_xy.JOINTS.values())
    return rows(("in the file", "joint in Blender", "degrees of freedom"), lines)


def x_xy_geoms() -> str:
    lines = ([code([kind.name]), kind.shape, " ".join(kind.sizes)] for kind in x_xy.GEOMS.values())
    return rows(("geom", "shape in Blender", "its `dim`"), lines)


# ---- What is lost --------------------------------------------------------------------------------------

#: How the codes of what a report says begin, and what that means for the user.
OUTCOMES = {
    "dropped": "lost",
    "dropped-shape-use": "approximated",
    "kept": "kept aside",
    "cut": "kept aside",
    "left": "kept aside",
    "undrawn": "kept aside",
    "split": "spelt otherwise",
    "reversed": "spelt otherwise",
    "moved": "spelt otherwise",
    "invented": "spelt otherwise",
    "approximated": "approximated",
    "mended": "approximated",
    "rounded": "approximated",
    "sorted": "approximated",
    "held": "spelt otherwise",
    "joint": "said, nothing else",
    "no": "said, nothing else",
    "dangling": "said, nothing else",
    "attributes": "lost",
}
#: The modules that write each format's documents anew.
WRITING = {
    "juice": ("lower", "strength", "write"),
    "shift": ("lower", "write"),
    "skel": ("plan", "rows"),
    "x_xy": ("links", "geoms"),
    "xmdi": ("plan",),
    "webots": ("write",),
    "motion_csv": ("write",),
}
_CODE = re.compile(r"[a-z]+(-[a-z]+)*")
#: Of the past of documents that are patched, and of mesh files: told on the page in words.
_NOT_LOSSES = {"document-kept", "document-patched", "document-lost", "interpolation"}


def losses(format: str) -> str:
    """What is said of what a format cannot hold, as its writing says it, what is worst first."""
    found: dict[str, list[str]] = {}
    telling = (path for path in (ROOT / f"addon/formats/{format}").glob("*.py") if "osses.add(" in path.read_text())
    unread = {path.stem for path in telling} - set(WRITING[format])
    if unread:
        raise ValueError(f"docs/tables.py does not read what these of {format} say is lost: {', '.join(unread)}")
    for module in WRITING[format]:
        for code_, message in told(ROOT / f"addon/formats/{format}/{module}.py"):
            found.setdefault(OUTCOMES.get(code_) or OUTCOMES[code_.partition("-")[0]], []).append(message)
    order = list(dict.fromkeys(OUTCOMES.values()))
    lines = (
        [outcome, message] for outcome in sorted(found, key=order.index) for message in dict.fromkeys(found[outcome])
    )
    return rows(("", "what the report says"), lines)


def told(path: Path) -> Iterator[tuple[str, str]]:
    """The codes and messages of a module, read from its source."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for function in functions:
        for node in ast.walk(function):
            words = node.args if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else []
            strings = [
                k for k, word in enumerate(words[:2]) if isinstance(word, ast.Constant) and isinstance(word.value, str)
            ]
            at = next((k for k in strings if _CODE.fullmatch(words[k].value) and words[k].value != "info"), None)
            if at is None or len(words) < at + 2 or node.func.attr not in {"add", "warn", "info"}:
                continue
            if words[at].value in _NOT_LOSSES or words[at].value.partition("-")[0] not in OUTCOMES:
                continue
            for message in sentences(words[at + 1], function):
                yield words[at].value, message


def sentences(node: ast.expr, function: ast.FunctionDef) -> list[str]:
    """What an expression says, ``…`` for what is filled in; a variable says what the function gave it last."""
    if isinstance(node, ast.Constant):
        return [str(node.value)]
    if isinstance(node, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
        return [re.sub(r" ?\('…'\)", "", "".join(parts))]
    if isinstance(node, ast.Name):
        assigned = [line for line in ast.walk(function) if isinstance(line, ast.Assign) and line.lineno < node.lineno]
        given = [line for line in assigned if getattr(line.targets[0], "id", "") == node.id]
        return sentences(max(given, key=lambda line: line.lineno).value, function) if given else []
    if isinstance(node, ast.IfExp):
        return [*sentences(node.body, function), *sentences(node.orelse, function)]
    return []


def format_list() -> str:
    pages = {"motion_csv": "csv"}
    lines = []
    for kind, table in (("model", formats.FORMATS), ("servo motion", formats.MOTION_FORMATS)):
        for row in table.values():
            page = pages.get(row.id, row.id)
            lines.append([f"[{row.label}]({page}.md)", kind, code([row.id]), code(row.extensions)])
    return rows(("format", "holds", "`--to`", "endings"), lines)


# ---- The command line ----------------------------------------------------------------------------------


def verbs() -> dict[str, argparse.ArgumentParser]:
    """The parsers of the command line's verbs."""
    action = next(each for each in _parser()._actions if isinstance(each, argparse._SubParsersAction))
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


# ---- Functions -----------------------------------------------------------------------------------------

#: What scripts rely on: the module's file, and its functions and classes.
FUNCTIONS = {
    "addon.formats": ("addon/formats/__init__.py", ("load", "save", "load_motion", "load_motions", "save_motion")),
    "addon.blender.build": ("addon/blender/build/__init__.py", ("build", "BuildOptions")),
    "addon.blender.extract": ("addon/blender/extract/__init__.py", ("extract",)),
    "addon.blender.animation": ("addon/blender/animation/onto_rig.py", ("apply",)),
    "addon.blender.animation ": ("addon/blender/animation/sampling.py", ("sample",)),
}


def functions() -> str:
    """Signatures and documentation of the functions, from their source."""
    out = []
    for module, (path, names) in FUNCTIONS.items():
        source = (ROOT / path).read_text(encoding="utf-8")
        found = {
            node.name: node for node in ast.parse(source).body if isinstance(node, (ast.FunctionDef, ast.ClassDef))
        }
        for name in names:
            out.append(function(f"{module.strip()}.{name}", found[name]))
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


# ---- Figures -------------------------------------------------------------------------------------------


def physics() -> str:
    """The last run of the bench of physics, what is alike in a line: the worst of it, and the bar that all keep to.
    ValueError where a figure with a bar is in no line."""
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
        out.append(f"## {section}\n\n{rows(('what', 'worst', 'bar', 'figures'), told)}")
    lost = [what for what, figure in left.items() if figure["bar"] is not None]
    if lost:
        raise ValueError(f"docs/figure_rows.py has no line for: {lost}")
    return "\n".join(out)


def figure_row(words: str, bar: float | None, figures: Sequence[Mapping[str, Any]]) -> list[str]:
    """One line: of the figures with this bar, that which is farthest, and how many keep to the bar."""
    alike = [figure for figure in figures if figure["bar"] == bar]
    worst = max(alike, key=lambda figure: (not figure["holds"], abs(figure["value"])))
    kept = sum(figure["holds"] for figure in alike)
    held = str(len(alike)) if kept == len(alike) else f"{len(alike)}, of which {len(alike) - kept} beyond the bar"
    unit = f" {worst['unit']}" if worst["unit"] else ""
    limit = "" if bar is None else f"{bar:g}{unit}"
    return [words, f"{abs(worst['value']):.3g}{unit}", limit, held]


TABLES: dict[str, Callable[[], str]] = {
    "formats": format_list,
    "fields juice": juice_fields,
    "fields shift": shift_fields,
    "fields skel": skel_fields,
    "fields x_xy": x_xy_fields,
    "joints shift": shift_joints,
    "joints skel": skel_joint_types,
    "joints x_xy": x_xy_joints,
    "shapes skel": skel_geometries,
    "shapes x_xy": x_xy_geoms,
    **{f"losses {name}": (lambda name=name: losses(name)) for name in WRITING},
    "options": options,
    "functions": functions,
    "physics": physics,
}


def renewed(text: str) -> str:
    """A page with its tables as the code has them. KeyError where it asks for one that there is not."""
    return PLACE.sub(lambda place: f"{place[1]}{TABLES[place['name']]()}{place[4]}", text)


def pages() -> list[Path]:
    """The pages of the manual."""
    return sorted(HERE.rglob("*.md"))


def main(words: Sequence[str] | None = None) -> int:
    """Write what has changed, or say it."""
    parser = argparse.ArgumentParser(description=textwrap.dedent(__doc__ or "").split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; 1 where a page is not as the code says")
    check = parser.parse_args(words).check
    stale = 0
    for page in pages():
        text = page.read_text(encoding="utf-8")
        new = renewed(text)
        if new != text:
            stale += 1
            print(f"{page.relative_to(ROOT)}: {'not as the code says' if check else 'written anew'}")
            if not check:
                page.write_text(new, encoding="utf-8")
    return int(check and stale > 0)


if __name__ == "__main__":
    sys.exit(main())
