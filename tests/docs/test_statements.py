"""What the manual says of versions, roles, functions and figures is what the product has."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from typing import Any

import pytest

from tests.support.book import DOCS, PAGES, ROOT, blocks, name_of

#: Pages for those who write scripts. What developers of Knuckle import is no promise.
FOR_SCRIPTS = [page for page in PAGES if DOCS / "developers" not in page.parents]


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["README.md", "docs/install.md", "CHANGELOG.md"])
def test_the_oldest_blender_is_that_of_the_manifest(page: str) -> None:
    least = tomllib.loads(text_of("blender_manifest.toml"))["blender_version_min"]
    told = re.findall(r"Blender (4\.2[.\d]*) LTS", text_of(page))
    assert set(told) == {least}


def imported(code: str) -> set[str]:
    """The names that Python code imports from modules of Knuckle."""
    return {
        f"{node.module}.{alias.name}"
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("addon.")
        for alias in node.names
    }


def test_functions_has_every_function_that_pages_and_examples_use() -> None:
    documented = set(re.findall(r"^## (addon\.\S+)", text_of("docs/functions.md"), re.MULTILINE))
    used = {
        name_of(page): {name for block in blocks(page) if block.language == "python" for name in imported(block.code)}
        for page in FOR_SCRIPTS
    }
    used |= {path.name: imported(path.read_text(encoding="utf-8")) for path in (ROOT / "examples").glob("*.py")}
    assert sum(map(len, used.values())) > 20
    assert {page: names - documented for page, names in used.items() if names - documented} == {}


def test_the_documented_functions_are_those_that_stay() -> None:
    documented = set(re.findall(r"^## (addon\.\S+)", text_of("docs/functions.md"), re.MULTILINE))
    assert documented <= json.loads(text_of("tests/data/public_api.json"))["python"].keys()


def test_every_role_is_documented(blank: Any) -> None:
    import bpy

    roles = {
        item.identifier
        for item in bpy.types.Object.bl_rna.properties["knuckle"].fixed_type.properties["role"].enum_items
    }
    (told,) = re.findall(r"`object\.knuckle\.role` is.*?\)", text_of("docs/in_blender.md"), re.DOTALL)
    assert set(re.findall(r"`([A-Z]+)`", told)) == roles


def test_the_memory_of_small_hostile_files_is_that_of_the_last_bench() -> None:
    """The most that a megabyte of each format took, and the largest of them where the page of speed tells it."""
    rows = json.loads(text_of("docs/figures/speed.json"))["parts"]["hostile"]["rows"]
    most: dict[str, float] = {}
    for row in rows:
        if row["what"].endswith("memory") and row["size"] == 1_000_000:
            name = row["what"].removeprefix("hostile ").partition(":")[0]
            most[name] = max(most.get(name, 0.0), row["value"])
    lines = re.findall(r"^\| (\w+), \d+ bytes each \| \d+ MB \| (\d+) MB \|$", text_of("docs/limits.md"), re.MULTILINE)
    told = {name.lower(): int(number) for name, number in lines}
    assert told == {name: round(most[name]) for name in ("juice", "skel", "x_xy", "shift")}
    (largest,) = re.findall(r"(\d+) MB\s+at most for 1 MB", text_of("docs/speed.md"))
    assert int(largest) == max(told.values())


def test_every_blender_option_of_the_motion_import_is_documented_as_such(blank: Any) -> None:
    """The BVH importer has options of these names, and the page names no others as Blender's."""
    import bpy

    text = re.sub(r"\s+", " ", text_of("docs/motion.md"))
    (told,) = re.findall(r"(?<=time 0)?[^.]*work as in Blender's BVH importer", text)
    names = re.findall(r"\*([^*]+)\*", told)
    ours = {each.name for each in bpy.ops.import_anim.servo_motion.get_rna_type().properties}
    assert len(names) == 4
    assert set(names) <= ours
    bvh = getattr(bpy.ops.import_anim, "bvh", None)
    if bvh is None or "bvh" not in dir(bpy.ops.import_anim):
        pytest.skip("this Blender's BVH importer is switched off")
    assert set(names) <= {each.name for each in bvh.get_rna_type().properties}
