"""Every command of the README and the manual runs, from a folder like the project's own, and does not fail.

Commands of the command line run in this process, `blender --command knuckle` among them: it has the same verbs. Those
of build.py set up environments and take minutes; that they are right is seen by their own parser, and what they do is
tested in test_build.py.
"""

from __future__ import annotations

import runpy
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.docs.book import PAGES, ROOT, Block, blocks, folder_like_ours, name_of
from tests.doors import load_build

WITH_COMMANDS = [page for page in PAGES if any(block.language == "sh" for block in blocks(page))]


def commands(block: Block) -> list[list[str]]:
    """The words of each command of a block; comments are none."""
    lines = block.code.replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def run(words: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """Run a command of a page; its exit code."""
    from addon.cli import main

    if words[:3] == ["python", "-m", "addon"]:
        return main(words[3:])
    if words[:3] == ["blender", "--command", "knuckle"]:
        return main(words[3:])
    if words[:2] == ["python3", "build.py"]:
        return is_understood(words[2:])
    if words[0] == "python" and words[1].startswith("examples/"):
        monkeypatch.setattr(sys, "argv", words[1:])
        runpy.run_path(words[1], run_name="__main__")
        return 0
    raise AssertionError(f"nobody knows how to run: {shlex.join(words)}")


def is_understood(words: list[str]) -> int:
    """0 where build.py takes these words."""
    options, rest = load_build().parser().parse_known_args(words)
    return int(bool(rest) and options.verb not in ("test", "bench", "fuzz"))


@pytest.mark.usefixtures("coarse")
@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name_of)
def test_every_command_of_a_page_runs(
    page: Path, blank: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder_like_ours(tmp_path / "knuckle"))
    for block in blocks(page):
        for words in commands(block) if block.language == "sh" and block.runs else ():
            code = run(words, monkeypatch)
            told = capsys.readouterr()
            assert code == 0, f"{name_of(page)}:{block.line}: {shlex.join(words)}\n{told.out}{told.err}"


def test_few_blocks_do_not_run_and_say_why() -> None:
    still = {f"{name_of(page)}:{block.line}": block.note for page in PAGES for block in blocks(page) if not block.runs}
    assert [place for place, note in still.items() if len(note) < 20] == [], "the reason is missing"
    assert len(still) <= 8, still


def test_what_the_manual_installs_is_what_we_test_with() -> None:
    told = (ROOT / "docs/install.md").read_text(encoding="utf-8")
    pins = {word for line in told.splitlines() if "pip install" in line for word in line.split() if "==" in word}
    assert len(pins) == 6
    assert pins <= set(load_build().BLENDERS["5.0"].requirements)


def test_every_block_has_a_language() -> None:
    known = {"sh", "python", "pycon", "text", "xml", "json", "toctree", "csv"}
    odd = [
        f"{name_of(page)}:{block.line}"
        for page in PAGES
        for block in blocks(page)
        if block.language.strip("{}") not in known
    ]
    assert odd == []


def test_a_wrong_command_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder_like_ours(tmp_path / "knuckle"))
    assert run(["python", "-m", "addon", "info", "sample_models/nobody.jm"], monkeypatch) == 1
    assert run(["python", "-m", "addon", "dance"], monkeypatch) == 2
    assert is_understood(["demo", "--fast"]) == 1
    with pytest.raises(AssertionError, match="nobody knows"):
        run(["rm", "-r", "out"], monkeypatch)
