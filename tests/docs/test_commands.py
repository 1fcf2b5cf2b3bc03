"""Every command of the README and the manual runs: each in a process of its own, in a folder like the project's own,
with nothing of this process's paths. Those of a page run in its order, since one may take what another made.

`blender --command knuckle` has the verbs of the extension that is registered; without a Blender they are called so in a
process with its module. Commands of build.py set up environments and take minutes: its own parser reads them, and some
run as well.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.book import PAGES, ROOT, Block, blocks, folder_like_ours, name_of, spans
from tools import environments, uv

pytest.importorskip("bpy", reason="Blender is not here")

#: How commands begin that readers of a page type; a span of code that is nothing but this names a program.
BEGINNINGS = (
    ("python", "-m", "addon"),
    ("blender", "--command", "knuckle"),
    ("python3", "build.py"),
    ("build.py",),
    ("python", "examples/walk.py"),
)
#: Verbs of which a page's commands take more than some seconds.
SLOW = {"simulate", "render", "demo", "job", "examples/walk.py"}
#: What stands for ``blender --command knuckle``.
_REGISTERED = "import sys, addon; addon.register(); from addon.cli import main; sys.exit(main(sys.argv[1:]))"
#: What stands for build.py: it reads its words, and refuses what the verb would not take.
_PARSED = """
import os, runpy, sys
sys.path.insert(0, os.path.dirname(sys.argv[1]))
build = runpy.run_path(sys.argv[1])
options, rest = build["parser"]().parse_known_args(sys.argv[2:])
if rest and options.verb not in build["PASSING"]:
    sys.exit(f"{options.verb} does not know {rest}")
"""


def commands(block: Block) -> list[list[str]]:
    """The words of each command of a block; comments are none."""
    lines = block.code.replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def in_text(page: Path) -> list[list[str]]:
    """The commands that a page has in its sentences: those that are whole."""
    found = []
    for span in spans(page):
        words = [] if "\u2026" in span else span.split()  # an ellipsis: not all of it
        if any(tuple(words[: len(each)]) == each and len(words) > len(each) for each in BEGINNINGS):
            found.append(shlex.split(span))
    return found


def process(words: list[str]) -> list[str]:
    """What runs a command of a page. AssertionError where nobody knows."""
    for beginning in BEGINNINGS:
        if tuple(words[: len(beginning)]) == beginning:
            rest = words[len(beginning) :]
            break
    else:
        raise AssertionError(f"nobody knows how to run: {shlex.join(words)}")
    if "build.py" in beginning:
        return [sys.executable, "-c", _PARSED, str(ROOT / "build.py"), *rest]
    if beginning[0] == "blender":
        return [sys.executable, "-c", _REGISTERED, *rest]
    return [sys.executable, *words[1:]]


def run(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of a page in a folder like the project's own."""
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(process(words), cwd=folder, env=environ, capture_output=True, text=True, check=False)


def of_page(page: Path) -> list[list[str]]:
    """All commands of a page, blocks before sentences."""
    blocks_ = [block for block in blocks(page) if block.language == "sh" and block.runs]
    return [words for block in blocks_ for words in commands(block)] + in_text(page)


def page_parameter(page: Path) -> object:
    is_slow = any(SLOW & set(words) and "build.py" not in words for words in of_page(page))
    return pytest.param(page, id=name_of(page), marks=[pytest.mark.slow] if is_slow else [])


@pytest.mark.parametrize("page", [page_parameter(page) for page in PAGES if of_page(page)])
def test_every_command_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    folder = folder_like_ours(tmp_path / "knuckle")
    for words in of_page(page):
        done = run(words, folder)
        assert done.returncode == 0, f"{name_of(page)}: {shlex.join(words)}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("words", ["test tests/formats/xmdi -k requirements", "docs --out OUT"])
def test_some_commands_of_build_run_as_well(words: str, tmp_path: Path) -> None:
    if words.startswith("docs") and not environments.ready_python(environments.DOCS):
        pytest.skip("the environment of the manual is not set up: `build.py docs` does it")
    words = words.replace("OUT", str(tmp_path / "out"))
    done = subprocess.run(
        [sys.executable, str(ROOT / "build.py"), *words.split()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


#: Options of Blender and of pip.
OTHERS = {"--command", "--background", "--python", "--extra-index-url"}


def test_every_option_in_a_sentence_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    """As the programs' own help has them, of every verb."""
    from addon.cli import main

    assert main(["--help"]) == 0
    helps = [capsys.readouterr().out]
    for verb in re.findall(r"^    ([a-z-]+)(?: {2,}\S|$)", helps[0], re.MULTILINE):
        assert main([verb, "--help"]) == 0
        helps.append(capsys.readouterr().out)
    scripts = {"build.py": ([], ["test"], ["zip"], ["docs"], ["demo"]), "benchmarks/run.py": ([],)}
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    for script, verbs in scripts.items():
        for words in verbs:
            command = [sys.executable, str(ROOT / script), *words, "--help"]
            helps.append(subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout)
    known = OTHERS | set(re.findall(r"--[a-z][a-z-]*", " ".join(helps)))
    told = {name_of(page): set(re.findall(r"(?<!\S)--[a-z][a-z-]*", " ".join(spans(page)))) for page in PAGES}
    assert sum(map(len, told.values())) > 30
    assert {page: options - known for page, options in told.items() if options - known} == {}


def test_few_blocks_do_not_run_and_say_why() -> None:
    still = {f"{name_of(page)}:{block.line}": block.note for page in PAGES for block in blocks(page) if not block.runs}
    assert [place for place, note in still.items() if len(note) < 20] == [], "the reason is missing"
    assert len(still) <= 8, still


def test_what_the_manual_installs_is_what_we_test_with() -> None:
    told = (ROOT / "docs/install.md").read_text(encoding="utf-8")
    pins = {word for line in told.splitlines() if "pip install" in line for word in line.split() if "==" in word}
    assert len(pins) == 6
    if not uv.is_here():
        pytest.skip("uv is not here: build.py fetches it")
    lines = uv.exported(environments.BLENDERS["5.0"].group, "--no-hashes").splitlines()
    assert pins <= {line.split(" ;")[0].strip() for line in lines}


def test_every_block_has_a_language() -> None:
    known = {"sh", "python", "pycon", "text", "xml", "json", "toctree", "csv"}
    odd = [
        f"{name_of(page)}:{block.line}"
        for page in PAGES
        for block in blocks(page)
        if block.language.strip("{}") not in known
    ]
    assert odd == []


def test_a_wrong_command_is_found(tmp_path: Path) -> None:
    folder = folder_like_ours(tmp_path / "knuckle")
    assert run(["python", "-m", "addon", "info", "sample_models/nobody.jm"], folder).returncode == 1
    assert run(["blender", "--command", "knuckle", "dance"], folder).returncode == 2
    assert run(["python3", "build.py", "demo", "--fast"], folder).returncode != 0
    with pytest.raises(AssertionError, match="nobody knows"):
        process(["rm", "-r", "out"])
