"""Installation data and checks: manifest, version, samples, addresses of the manual, and required modules.

The manifest is the single source of the version. Only the standard library is needed here, so that this also works
where a required module is missing.
"""

from __future__ import annotations

import importlib
import sys
import sysconfig
import tomllib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from .core.report import Message, count_with_noun, join_messages

_PACKAGE = Path(__file__).resolve().parents[0]


def package_home() -> Path:
    """Return the folder of manifest, samples and licenses.

    It is the package's own folder where it is installed in Blender, and the root of the tree in the source.
    """
    return _PACKAGE if (_PACKAGE / "blender_manifest.toml").is_file() else _PACKAGE.parent


@cache
def read_manifest() -> dict[str, Any]:
    """Return the extension's manifest (``blender_manifest.toml``).

    In an installed package it also names platform and wheels.
    """
    return tomllib.loads((package_home() / "blender_manifest.toml").read_text(encoding="utf-8"))


def package_version() -> str:
    """Return the semantic version, such as 1.0.0."""
    return str(read_manifest()["version"])


def sample_path(name: str) -> Path:
    """Return the path of a sample model, such as ``rover/rover.jm``."""
    return package_home() / "sample_models" / name


def sample_files(endings: Collection[str]) -> list[Path]:
    """Return the sample models with one of these file extensions; empty where samples were left out."""
    return sorted(path for path in (package_home() / "sample_models").glob("*/*") if path.suffix in endings)


def is_sample(path: Path) -> bool:
    """Return whether a file has the content of a sample model, wherever it lies."""
    try:
        size = path.stat().st_size
        same_size = [each for each in sample_files({path.suffix}) if each.stat().st_size == size]
        return any(each.read_bytes() == path.read_bytes() for each in same_size)
    except OSError:
        return False


#: States of a check, most serious first. ``note``: Knuckle works without it.
ROW_STATES = ("error", "warning", "note", "ok")


@dataclass(frozen=True)
class CheckRow:
    """Result of one check: its subject, state (one of ``ROW_STATES``), text, and the remedy for a problem."""

    part: str
    state: str
    text: str
    remedy: str = ""


def has_no_errors(rows: Iterable[CheckRow]) -> bool:
    """Return whether no row is an error."""
    return all(row.state != "error" for row in rows)


def summarize_rows(rows: Iterable[CheckRow]) -> str:
    """Summarize all rows in one sentence."""
    states = [row.state for row in rows]
    errors, warnings = states.count("error"), states.count("warning")
    if not errors and not warnings:
        return "Self-check passed"
    return Message("Self-check: {}, {}", count_with_noun(errors, "error"), count_with_noun(warnings, "warning"))


def rows_as_text(rows: Iterable[CheckRow]) -> str:
    """Format rows as plain text, one line per row, each remedy on the line below its row."""
    lines = []
    for row in rows:
        lines.append(f"{row.state:8}{row.part}: {row.text}")
        if row.remedy:
            lines.append(f"        -> {row.remedy}")
    return "\n".join(lines) + "\n"


REINSTALL_ADVICE = "Uninstall Knuckle, restart Blender and install the zip of your platform again"


def repair_advice(otherwise: str) -> str:
    """Return the remedy for a missing part of the installation.

    It is ``REINSTALL_ADVICE`` for an installed package (its manifest then names wheels), else ``otherwise``.
    """
    return REINSTALL_ADVICE if read_manifest().get("wheels") else otherwise


#: The remedy where Knuckle runs from source in the user's own Python.
_PIP_ADVICE = "Run: python -m pip install {}"


@dataclass(frozen=True)
class Dependency:
    """Dependency: a module that we import, its distribution, and the features that need it (empty: all of them)."""

    module: str
    distribution: str
    purpose: str = ""


DEPENDENCIES = (
    Dependency("numpy", "numpy"),
    Dependency("lxml.etree", "lxml"),
    Dependency("matplotlib", "matplotlib", "plots"),
    Dependency("kiwisolver", "kiwisolver", "plots"),
    Dependency("contourpy", "contourpy", "plots"),
    Dependency("cycler", "cycler", "plots"),
    Dependency("pyparsing", "pyparsing", "plots"),
    Dependency("packaging.version", "packaging", "plots"),
    Dependency("fontTools.ttLib", "fonttools", "plots"),
    Dependency("PIL.Image", "pillow", "plots and titles of videos"),
    Dependency("trimesh", "trimesh", "moments of inertia of mesh files"),
    Dependency("collada", "pycollada", "Collada meshes"),
    Dependency("dateutil", "python-dateutil", "Collada meshes and plots"),
    Dependency("six", "six", "Collada meshes and plots"),
)


def missing_dependency() -> str:
    """Explain why Knuckle cannot start: modules that all of it needs and Python cannot import.

    Returns:
        A message with the remedy; empty where all required modules are there.
    """
    tried = {need.distribution: _try_import(need.module) for need in DEPENDENCIES if not need.purpose}
    message = join_messages(
        "; ", (Message("{} cannot be imported ({})", name, trouble) for name, trouble in tried.items() if trouble)
    )
    lost = " ".join(name for name, trouble in tried.items() if trouble)
    return Message("Knuckle cannot start: {}. {}.", message, repair_advice(_PIP_ADVICE.format(lost))) if message else ""


def dependency_rows(extensions: str | None = None, blender: Sequence[str] = ()) -> list[CheckRow]:
    """Check every dependency, one row each.

    Args:
        extensions: Folder of Blender's extensions, below which it unpacks their wheels.
        blender: Blender's own folders, besides that of its Python.
    """
    promised = wheel_versions(read_manifest().get("wheels", ()))
    own = [*blender, sys.prefix, sys.base_prefix, *map(sysconfig.get_path, ("purelib", "platlib"))]
    return [
        _dependency_row(need, promised.get(_normalize_name(need.distribution)), extensions, own)
        for need in DEPENDENCIES
    ]


def wheel_versions(wheels: Sequence[str]) -> dict[str, str]:
    """Map distributions to versions, for those wheels of a manifest that fit this Python."""
    ours = "cp{}{}".format(*sys.version_info[:2])
    found = {}
    for wheel in wheels:
        name, version, *_build, python, _abi, _platform = Path(wheel).stem.split("-")
        if any(tag == ours or tag.startswith("py") for tag in python.split(".")):
            found[_normalize_name(name)] = version
    return found


def _dependency_row(need: Dependency, promised: str | None, extensions: str | None, own: Sequence[str]) -> CheckRow:
    trouble = _try_import(need.module)
    if trouble is not None:
        lost = Message(". Not available without it: {}", need.purpose) if need.purpose else ""
        return CheckRow(
            need.distribution,
            "error",
            Message("cannot be imported ({}){}", trouble, lost),
            repair_advice(_PIP_ADVICE.format(need.distribution)),
        )
    place = _module_location(need.module)
    version = _module_version(need)
    whose, is_foreign = _module_owner(place, extensions, own)
    text = f"{version}, {whose}" if not is_foreign else f"{version}, {whose} ({place})"
    if promised is None or (version == promised and not is_foreign):
        return CheckRow(need.distribution, "ok", text)
    if version == promised:
        return CheckRow(need.distribution, "note", text)
    remedy = "If a feature that needs it fails, disable the other add-on that contains this module, and restart Blender"
    return CheckRow(need.distribution, "warning", Message("{}; Knuckle contains {}", text, promised), remedy)


def _try_import(module: str) -> str | None:
    """Import a module and return the error message, None on success."""
    try:
        importlib.import_module(module)
    except Exception as error:  # wheels of another platform may raise anything
        return f"{type(error).__name__}: {error}"
    return None


def _module_location(module: str) -> str:
    top = sys.modules[module.partition(".")[0]]
    file = getattr(top, "__file__", None)
    return str(Path(file).resolve().parent) if file else "built in"


def _module_version(need: Dependency) -> str:
    """Return the version of the imported module: a distribution's metadata may belong to another copy."""
    top = sys.modules[need.module.partition(".")[0]]
    version = getattr(top, "__version__", None)
    if isinstance(version, str):
        return version
    try:
        return metadata.version(need.distribution)
    except metadata.PackageNotFoundError:
        return "version unknown"


def _module_owner(place: str, extensions: str | None, own: Sequence[str]) -> tuple[str, bool]:
    """Identify the owner of a module by its path.

    Returns:
        A description, and whether the module belongs to another program.
    """
    at = Path(place)
    if extensions and at.is_relative_to(Path(extensions).resolve()):
        inside = at.relative_to(Path(extensions).resolve()).parts
        if inside[0] == ".local":
            return "from Blender's extensions", False
        return Message("from the extension {}", ".".join(inside[:2])), True
    if "addons" in at.parts and "site-packages" not in at.parts:
        return Message("from the add-on {}", at.parts[at.parts.index("addons") + 1]), True
    if any(at.is_relative_to(Path(folder).resolve()) for folder in own if folder):
        return "from this Python", False
    return "from another folder", True


def _normalize_name(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


#: The address of the hosted project, such as ``https://example.org/knuckle``, with the manual in its folder ``manual``.
#: Empty where there is no hosted project.
PROJECT_URL = ""
#: The folder of the manual in an installed package, and in the source.
_SHIPPED_MANUAL, _SOURCE_MANUAL = "manual", "docs"


@cache
def manual_url(address: str = PROJECT_URL) -> tuple[str, str]:
    """Return the base address of the manual and the file ending of its pages.

    Args:
        address: The address of the hosted project; empty for the pages on disk.

    Returns:
        The address, ending in a slash, and the ending, such as ``.html``; both empty where there is no manual.
    """
    if address:
        return f"{address.rstrip('/')}/manual/", ".html"
    for name, ending in ((_SHIPPED_MANUAL, ".html"), (_SOURCE_MANUAL, ".md")):
        if (package_home() / name / f"index{ending}").is_file():
            return f"{(package_home() / name).as_uri()}/", ending
    return "", ""


def manual_page_url(page: str) -> str:
    """Return the address of a page of the manual; empty where there is no manual.

    Args:
        page: Name of the page, with the anchor of a heading where one is meant: ``walk#bake-the-simulation``.
    """
    start, ending = manual_url()
    return f"{start}{manual_page_path(page, ending)}" if start else ""


def manual_page_path(page: str, ending: str) -> str:
    """Return the path of a page within the manual: ``walk.html#bake-the-simulation``."""
    name, hash_sign, anchor = page.partition("#")
    return f"{name}{ending}{hash_sign}{anchor}"
