"""What Knuckle says of itself.

Its manifest is the one place of the version; the standard library is all that is needed here, so that this also works
where a module that we need is missing.
"""

from __future__ import annotations

import importlib
import sys
import sysconfig
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).resolve().parents[0]


def home() -> Path:
    """The folder with manifest, samples and licences: the package's own where it is installed in Blender, the tree's
    root in the source."""
    return _PACKAGE if (_PACKAGE / "blender_manifest.toml").is_file() else _PACKAGE.parent


@cache
def manifest() -> dict[str, Any]:
    """Return what Blender reads about us. In an installed package it also names platform and wheels."""
    return tomllib.loads((home() / "blender_manifest.toml").read_text(encoding="utf-8"))


def version() -> str:
    """The semantic version, such as 1.0.0."""
    return str(manifest()["version"])


def sample(name: str) -> Path:
    """One of our own models, such as ``rover/rover.jm``."""
    return home() / "sample_models" / name


#: In the order of how bad they are. ``note``: something that Knuckle works without.
STATES = ("error", "warning", "note", "ok")


@dataclass(frozen=True)
class Row:
    """One thing looked at: how it is, and where something is wrong, what to do."""

    part: str
    state: str
    text: str
    remedy: str = ""


def is_sound(rows: Iterable[Row]) -> bool:
    """Return whether nothing is broken."""
    return all(row.state != "error" for row in rows)


def summary(rows: Iterable[Row]) -> str:
    """One sentence on all rows."""
    states = [row.state for row in rows]
    errors, warnings = states.count("error"), states.count("warning")
    if not errors and not warnings:
        return "Everything works"
    return f"Wrong: {errors}, to be looked at: {warnings}"


def plain_text(rows: Iterable[Row]) -> str:
    """A line a row, a remedy below its row."""
    lines = []
    for row in rows:
        lines.append(f"{row.state:8}{row.part}: {row.text}")
        if row.remedy:
            lines.append(f"        -> {row.remedy}")
    return "\n".join(lines) + "\n"


REINSTALL = "Uninstall Knuckle, restart Blender and install the zip of your platform again"


def how_to_repair(otherwise: str) -> str:
    """The remedy for what is missing of an installation: the zip where Knuckle came as one (its manifest then names
    wheels), else ``otherwise``."""
    return REINSTALL if manifest().get("wheels") else otherwise


#: The remedy where Knuckle runs from its source, in a Python of the user's.
_PIP = "Run: python -m pip install {}"


@dataclass(frozen=True)
class Need:
    """A module that we import, the distribution that brings it, and what cannot be done without it (empty: nothing)."""

    module: str
    distribution: str
    serves: str = ""


NEEDS = (
    Need("numpy", "numpy"),
    Need("lxml.etree", "lxml"),
    Need("matplotlib", "matplotlib", "plots"),
    Need("kiwisolver", "kiwisolver", "plots"),
    Need("contourpy", "contourpy", "plots"),
    Need("cycler", "cycler", "plots"),
    Need("pyparsing", "pyparsing", "plots"),
    Need("packaging.version", "packaging", "plots"),
    Need("fontTools.ttLib", "fonttools", "plots"),
    Need("PIL.Image", "pillow", "plots and titles of videos"),
    Need("trimesh", "trimesh", "moments of inertia of mesh files"),
    Need("collada", "pycollada", "Collada meshes"),
    Need("dateutil", "python-dateutil", "Collada meshes and plots"),
    Need("six", "six", "Collada meshes and plots"),
)


def why_not() -> str:
    """Return why nothing can work: a module that all of Knuckle needs and Python cannot import.

    Empty where all are there.
    """
    tried = {need.distribution: _import(need.module) for need in NEEDS if not need.serves}
    told = "; ".join(f"{name} cannot be imported ({trouble})" for name, trouble in tried.items() if trouble)
    lost = " ".join(name for name, trouble in tried.items() if trouble)
    return f"Knuckle cannot start: {told}. {how_to_repair(_PIP.format(lost))}." if told else ""


def wheel_rows(extensions: str | None = None, blender: Sequence[str] = ()) -> list[Row]:
    """A row for every module.

    ``extensions``: the folder of Blender's extensions, below which it unpacks their wheels; ``blender``: folders of
    Blender's own, besides that of its Python.
    """
    promised = promised_versions(manifest().get("wheels", ()))
    own = [*blender, sys.prefix, sys.base_prefix, *map(sysconfig.get_path, ("purelib", "platlib"))]
    return [_row(need, promised.get(_plain(need.distribution)), extensions, own) for need in NEEDS]


def promised_versions(wheels: Sequence[str]) -> dict[str, str]:
    """Distribution -> version, of the wheels of a manifest that are for this Python."""
    ours = "cp{}{}".format(*sys.version_info[:2])
    found = {}
    for wheel in wheels:
        name, version, *_build, python, _abi, _platform = Path(wheel).stem.split("-")
        if any(tag == ours or tag.startswith("py") for tag in python.split(".")):
            found[_plain(name)] = version
    return found


def _row(need: Need, promised: str | None, extensions: str | None, own: Sequence[str]) -> Row:
    trouble = _import(need.module)
    if trouble is not None:
        lost = f"; without it there are no {need.serves}" if need.serves else ""
        return Row(
            need.distribution,
            "error",
            f"cannot be imported: {trouble}{lost}",
            how_to_repair(_PIP.format(need.distribution)),
        )
    place = _place(need.module)
    version = _version(need)
    whose, stranger = _owner(place, extensions, own)
    text = f"{version}, {whose}" if not stranger else f"{version}, {whose} ({place})"
    if promised is None or (version == promised and not stranger):
        return Row(need.distribution, "ok", text)
    if version == promised:
        return Row(need.distribution, "note", text)
    remedy = "Should something fail that needs it, disable the other add-on that brings this module, and restart"
    return Row(need.distribution, "warning", f"{text}; we bring {promised}", remedy)


def _import(module: str) -> str | None:
    """Import a module; what went wrong, or None."""
    try:
        importlib.import_module(module)
    except Exception as error:  # a wheel of another system fails in its own ways
        return f"{type(error).__name__}: {error}"
    return None


def _place(module: str) -> str:
    top = sys.modules[module.partition(".")[0]]
    file = getattr(top, "__file__", None)
    return str(Path(file).resolve().parent) if file else "built in"


def _version(need: Need) -> str:
    """That of the module which was imported: a distribution's record may be another copy's."""
    top = sys.modules[need.module.partition(".")[0]]
    told = getattr(top, "__version__", None)
    if isinstance(told, str):
        return told
    try:
        return metadata.version(need.distribution)
    except metadata.PackageNotFoundError:
        return "version unknown"


def _owner(place: str, extensions: str | None, own: Sequence[str]) -> tuple[str, bool]:
    """Whose a module is, by where it lies, and whether that is some other program's."""
    at = Path(place)
    if extensions and at.is_relative_to(Path(extensions).resolve()):
        inside = at.relative_to(Path(extensions).resolve()).parts
        if inside[0] == ".local":
            return "a wheel of Blender's extensions", False
        return f"a copy within the extension {'.'.join(inside[:2])}", True
    if "addons" in at.parts and "site-packages" not in at.parts:
        return f"a copy within the add-on {at.parts[at.parts.index('addons') + 1]}", True
    if any(at.is_relative_to(Path(folder).resolve()) for folder in own if folder):
        return "of this Python", False
    return "from elsewhere", True


def _plain(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


#: The address of the hosted project, such as ``https://example.org/knuckle``, with the manual in its folder ``manual``.
#: Empty: there is none.
PROJECT_ADDRESS = ""
#: The folder of the pages in an installed package, and that of their source.
_SHIPPED, _SOURCE = "manual", "docs"


@cache
def folder(address: str = PROJECT_ADDRESS) -> tuple[str, str]:
    """Return where the pages are, as an address that ends in a slash, and what their names end in; empty where there
    are none.

    Args:
        address: The address of the hosted project; empty for the pages on disk.
    """
    if address:
        return f"{address.rstrip('/')}/manual/", ".html"
    for name, ending in ((_SHIPPED, ".html"), (_SOURCE, ".md")):
        if (home() / name / f"index{ending}").is_file():
            return f"{(home() / name).as_uri()}/", ending
    return "", ""


def address_of(page: str) -> str:
    """The address of a page of the manual; empty where there is no manual.

    Args:
        page: Name of the page, with the anchor of a heading where one is meant: ``walk#keep-what-happened``.
    """
    start, ending = folder()
    return f"{start}{path_of(page, ending)}" if start else ""


def path_of(page: str, ending: str) -> str:
    """The path of a page within the manual: ``walk.html#keep-what-happened``."""
    name, hash_sign, anchor = page.partition("#")
    return f"{name}{ending}{hash_sign}{anchor}"
