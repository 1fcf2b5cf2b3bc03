"""ARCHITECTURE.md and the pages for developers name what is there: files, handlers, property groups, packages."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs.test_links import anchors, links
from tests.support.book import DOCS, ROOT, name_of, spans

ARCHITECTURE = ROOT / "ARCHITECTURE.md"
PAGES = [ARCHITECTURE, ROOT / "CONTRIBUTING.md", *sorted((DOCS / "developers").glob("*.md"))]
#: Folders from which paths on these pages may start.
_BASES = ("", "addon", "addon/blender", "addon/blender/physics", "tests")
#: A span of code that is a path: words joined by slashes or with the ending of a source file; ``*`` is any name.
_PATH = re.compile(r"[\w.*-]+(/[\w.*-]+)*\.(py|md|po|json|toml|ini|lock)|[\w.-]+(/[\w.-]+)+/?")
#: What is made by a run, is on the user's machine, or is the address of an example.
_ELSEWHERE = ("out/", "dist/", "extensions/", "user_default/", "fuzz/", "/")


def paths(page: Path) -> Iterator[str]:
    """Yield the paths in the sentences and tables of a page."""
    for span in spans(page):
        if _PATH.fullmatch(span) and not span.startswith(_ELSEWHERE):
            yield span


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the first table below a heading of ARCHITECTURE.md, its head left out."""
    text = ARCHITECTURE.read_text(encoding="utf-8").partition(f"\n{heading}\n")[2]
    found = re.search(r"(^\|.*\n)+", text, re.MULTILINE)
    assert found is not None, heading
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in found[0].splitlines()[2:]]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_path_exists(page: Path) -> None:
    lost = [path for path in paths(page) if not exists(path)]
    assert lost == []


def exists(path: str) -> bool:
    """Return whether a path is in the tree; words in capitals stand for any name, a bare name may be anywhere."""
    pattern = re.sub(r"(?<![A-Za-z])[A-Z]+(?=[/.]|$)", "*", path.rstrip("/")) if "/" in path else f"**/{path}"
    folders = _BASES if "/" in path else ("addon", "docs", "tools")
    return (ROOT / path).exists() or any(next((ROOT / base).glob(pattern), None) for base in folders)


def test_the_index_of_workarounds_has_every_module() -> None:
    folder = ROOT / "addon/blender/physics/workarounds"
    page = (DOCS / "developers/workarounds.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `physics/workarounds/(\w+\.py)` \|(.*)\|$", page, re.MULTILINE)
    assert {name for name, _cells in rows} == {path.name for path in folder.glob("*.py")} - {"__init__.py"}
    assert all(len([cell for cell in cells.split("|") if cell.strip()]) == 4 for _name, cells in rows)


def test_every_link_of_the_architecture_leads_somewhere() -> None:
    for link in links(ARCHITECTURE):
        path, _, anchor = link.partition("#")
        target = ROOT / path if path else ARCHITECTURE
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_the_packages_are_those_of_the_contracts() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    text = ARCHITECTURE.read_text(encoding="utf-8")
    for contract in contracts:
        if contract["type"] != "layers":
            continue
        folder = contract["containers"][0].replace(".", "/")
        table = re.search(rf"^\| `{folder}/` \|.*\n\|---\|---\|\n((?:^\|.*\n)+)", text, re.MULTILINE)
        assert table is not None, folder
        told = [set(re.findall(r"`([a-z_]+)`", line.split("|")[1])) for line in table[1].splitlines()]
        assert told == [set(re.findall(r"\w+", layer)) for layer in contract["layers"]]


def test_the_handlers_and_their_order_are_those_of_a_running_blender(blank: Any) -> None:
    import bpy

    import addon

    addon.unregister()  # tests of this process may have registered parts in another order
    addon.register()
    told: dict[str, list[tuple[str, str]]] = {}
    lists: list[str] = []
    for names, function, module, _purpose in rows("## Handlers"):
        lists = re.findall(r"`(\w+)`", names) or lists
        for name in lists:
            told.setdefault(name, []).append((function.strip("`"), module.strip("`")))
    found = {
        name: [
            (act.__name__, f"{act.__module__.removeprefix('addon.blender.').replace('.', '/')}.py")
            for act in getattr(bpy.app.handlers, name)
            if act.__module__.startswith("addon.")
        ]
        for name in dir(bpy.app.handlers)
        if isinstance(getattr(bpy.app.handlers, name), list)
    }
    assert {name: each for name, each in found.items() if each} == told


def test_every_stored_property_group_is_documented(blank: Any) -> None:
    import bpy

    told = {row[1].strip("`"): row[2].strip("`") for row in rows("## Properties in .blend files") if row[1]}
    not_stored = {"KnuckleJointList", "KnuckleSeverities", "KnuckleMeshFolder"}
    found = {
        cls.__name__: f"{cls.__module__.removeprefix('addon.blender.').replace('.', '/')}.py"
        for cls in bpy.types.PropertyGroup.__subclasses__()
        if cls.__module__.startswith("addon.") and cls.is_registered and cls.__name__ not in not_stored
    }
    assert told == found


def test_the_stored_properties_exist(blank: Any) -> None:
    import bpy

    owner: Any = None
    for names, group, *_rest in rows("## Properties in .blend files"):
        for name in re.findall(r"`([^`]+)`", names):
            first, *path = name.strip().lstrip(".").split(".")
            kind = owner if name.startswith(" ") else getattr(bpy.types, first).bl_rna
            for step in (first, *path) if name.startswith(" ") else path:
                kind = kind.properties[step].fixed_type if group else kind.properties[step]
            if not name.startswith(" "):
                owner = kind
            assert not group or kind.identifier == group.strip("`"), name


def test_every_migration_step_is_documented(blank: Any) -> None:
    from addon.blender.data.properties.model import DATA_VERSION
    from addon.blender.editing.migration import _MIGRATIONS

    told = {int(row[0]): row[1].strip("`") for row in rows("### Data versions")}
    assert told == {version + 1: step.__name__ for version, step in _MIGRATIONS.items()}
    assert f"`DATA_VERSION` {DATA_VERSION}" in ARCHITECTURE.read_text(encoding="utf-8")
