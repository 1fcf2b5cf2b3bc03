"""The Python of the README and the manual runs: blocks page by page, examples of the documented functions, scripts."""

from __future__ import annotations

import doctest
import runpy
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.support.book import PAGES, ROOT, blocks, folder_like_ours, name_of

WITH_PYTHON = [page for page in PAGES if any(block.language == "python" and block.runs for block in blocks(page))]
#: Modules whose functions have examples, and how many examples there are at least.
DOCUMENTED = {
    "addon.formats": 5,
    "addon.blender.reconcile.build": 2,
    "addon.blender.scene.read.mechanism": 1,
    "addon.blender.animation.apply_motion": 1,
    "addon.blender.animation.pose_reader": 1,
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder like ours, in which a page may add a format: it is gone afterwards."""
    from addon import formats

    folder = folder_like_ours(tmp_path / "knuckle")
    monkeypatch.chdir(folder)
    before = dict(formats.FORMATS)
    yield folder
    for name in formats.FORMATS.keys() - before.keys():
        del formats.FORMATS[name]


@pytest.mark.usefixtures("coarse")
@pytest.mark.parametrize("page", WITH_PYTHON, ids=name_of)
def test_the_python_of_a_page_runs(page: Path, blank: Any, here: Path) -> None:
    space: dict[str, Any] = {"__name__": "page"}
    for block in blocks(page):
        if block.language == "python" and block.runs:
            code = compile("\n" * (block.line - 1) + block.code, str(page), "exec")
            exec(code, space)  # noqa: S102 - our own pages


@pytest.mark.parametrize("name", DOCUMENTED)
def test_the_examples_of_functions_are_true(name: str, blank: Any, here: Path) -> None:
    module = import_module(name)
    found = [test for test in doctest.DocTestFinder(exclude_empty=True).find(module) if test.examples]
    assert len(found) >= DOCUMENTED[name], [test.name for test in found]
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    told: list[str] = []
    for test in found:
        blank.blend_data  # noqa: B018 - the fixture's scene is the one that examples begin with
        runner.run(test, out=told.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(told)


def test_every_example_script_is_in_the_manual() -> None:
    words = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [path.name for path in (ROOT / "examples").glob("*.py") if f"examples/{path.name}" not in words] == []


@pytest.mark.usefixtures("coarse")
def test_the_walk_of_the_example_is_a_walk(
    blank: Any, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    words = ["walk.py", "sample_models/hexapod/hexapod.jm", "--seconds", "1", "--size", "64x48", "--out", "out/walk"]
    monkeypatch.setattr(sys, "argv", words)
    told = runpy.run_path("examples/walk.py", run_name="__main__")
    assert sorted(path.name for path in (here / "out/walk").iterdir()) == [
        "hexapod.blend",
        "hexapod.png",
        "hexapod.xmdi",
    ]
    assert told["main"] is not None
    assert "travelled" in capsys.readouterr().out


def test_the_format_of_the_manual_goes_where_the_others_go(blank: Any, here: Path, capsys: Any) -> None:
    """Its document is what a drop on the viewport imports, the command line converts and an export writes."""
    import bpy

    from addon import formats
    from addon.blender.scene.read.mechanism import extract
    from addon.cli import main

    space: dict[str, Any] = {"__name__": "page"}
    for block in blocks(ROOT / "docs/developers/formats.md"):
        if block.language == "python":
            exec(block.code, space)  # noqa: S102 - our own page
    assert main(["convert", "out/pendulum.rods", "out/rods.jm"]) == 0
    assert main(["convert", "sample_models/desk_lamp/desk_lamp.skel", "out/lamp.rods"]) == 0
    assert "Joint of type universal: not written" in capsys.readouterr().out
    bpy.ops.wm.read_factory_settings(use_empty=True)
    assert bpy.ops.import_scene.mechanism(filepath=str(here / "out/pendulum.rods")) == {"FINISHED"}
    assert bpy.data.objects["lower hinge"].knuckle.role == "JOINT"
    assert bpy.ops.wm.save_as_mainfile(filepath=str(here / "out/rods.blend")) == {"FINISHED"}
    bpy.ops.wm.open_mainfile(filepath=str(here / "out/rods.blend"))
    bpy.data.objects["upper"].name = "top"
    formats.save(extract(bpy.data.collections["rods"]), "out/renamed.rods")
    assert 'name="top" length="0.40"' in Path("out/renamed.rods").read_text(encoding="utf-8")
    assert formats.load("out/rods.jm").bodies[1].name == "lower"
