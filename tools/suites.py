"""The test suites: which tests run in which Blenders, on every core, with coverage, and the table of how they ended."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Optional
from xml.etree import ElementTree

from tools.console import CYAN, GREEN, RED, ROOT, BuildError, paint, say
from tools.environments import BLENDERS, blender_python, call, other_blenders, ready_python, references, set_up
from tools.uv import find_python

#: In every process a Blender of its own, and a file's tests in one of them; where one crashed they run once more.
EVERY_CORE = ["--numprocesses", "auto", "--maxprocesses", "4", "--dist", "loadfile", "-p", "tests.crashes"]
#: numpy's matrix library else starts threads on every core, which wait for each other at our small matrices.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
#: The tests that take seconds each, and those of each subject that show that it works in a Blender.
FAST = ["-m", "not slow"]
CORE = ["-m", "core"]


class Part(NamedTuple):
    """What is tested in a Blender: words for pytest, and which cells of the edit matrix (``tests/matrix``)."""

    blender: Optional[str]
    words: Sequence[str]
    cells: str = ""


class Outcome(NamedTuple):
    """How tests ended in a Blender: pytest's exit code, counts, seconds; ``note`` where they did not run."""

    blender: str
    code: int
    counts: Mapping[str, int]
    seconds: float
    note: str = ""


#: What continuous integration tests, in this order.
CI = (Part("4.2", [], "tenth"), Part("4.5", CORE, "tenth"), Part("5.0", [], "all"), Part("5.2", CORE, "tenth"))


def run_suite(part: Part, *more: str, variables: Mapping[str, str], make: bool, coverage: bool = False) -> int:
    """Run tests in a Blender.

    Args:
        part: The Blender and what to test in it.
        more: Further words for pytest.
        variables: Environment variables for the tests.
        make: Set up the programs to compare with. A part of the tests uses those that are there.
        coverage: Note which lines of ``addon/`` run.

    Returns:
        pytest's exit code.
    """
    python = blender_python(part.blender)
    # suites run on every core, a Blender each; what was asked for by name in one, in its order
    parallel = EVERY_CORE if list(part.words) in ([], FAST, CORE) else []
    words = ["-m", "pytest", "-q", *parallel, *part.words, *more]
    variables = {**variables, **ONE_THREAD, **references(make), **other_blenders()}
    if part.cells:
        variables["KNUCKLE_MATRIX"] = part.cells
    return run_covered(python, words, variables) if coverage else call(python, *words, variables=variables)


def run_covered(python: Path, words: Sequence[str], variables: Mapping[str, str]) -> int:
    """Run tests with the lines of ``addon/`` noted that they run, in all the processes that they start.

    Prints a table by folder. ``out/coverage/uncovered.txt`` lists what no test runs, ``out/coverage/html`` shows it.
    """
    out, settings = ROOT / "out/coverage", str(ROOT / "tests/coverage.ini")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    tree = {"KNUCKLE_TREE": str(ROOT)}
    code = call(python, *words, variables={**variables, **tree, "COVERAGE_PROCESS_START": settings})
    for verb in ("combine", "json", "html"):
        call(python, "-m", "coverage", verb, f"--rcfile={settings}", "-q", variables=tree)
    return call(python, "-m", "tools.coverage_report", str(out)) or code


@contextlib.contextmanager
def bytecode() -> Iterator[dict[str, str]]:
    """Give variables for tests that keep compiled Python for as long as this lasts.

    Where it is not to be written beside the sources, as in many containers, hundreds of processes would each compile
    the package anew.
    """
    if not os.environ.get("PYTHONDONTWRITEBYTECODE"):
        yield {}
        return
    with tempfile.TemporaryDirectory() as folder:
        yield {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": folder}


def run_suites(parts: Sequence[Part], variables: Mapping[str, str], make: bool) -> int:
    """Run tests in one Blender after the other, whatever fails, then print how each ended; 1 if any failed."""
    outcomes = [outcome(part, variables, make) for part in parts]
    say("")
    for line in outcome_lines(outcomes):
        say(line)
    return 1 if any(each.code for each in outcomes) else 0


def outcome(part: Part, variables: Mapping[str, str], make: bool) -> Outcome:
    """Run tests in a Blender and count how they ended."""
    say(f"Blender {part.blender} ...", CYAN)
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder, "results.xml")
        try:
            code, note = run_suite(part, f"--junit-xml={results}", variables=variables, make=make), ""
        except BuildError as error:
            say(f"build.py: {error}", RED)
            code, note = 1, "no environment"
        counts = count_results(results) if results.is_file() else {}
    seconds = time.monotonic() - start
    return Outcome(str(part.blender), code, counts, seconds, note or ("" if counts else "no results"))


def count_results(results: Path) -> dict[str, int]:
    """Return how many tests passed, failed and were skipped, from pytest's results in JUnit's XML."""
    suites = list(ElementTree.parse(results).iter("testsuite"))
    total, errors, failures, skipped = (
        sum(int(suite.get(name, "0")) for suite in suites) for name in ("tests", "errors", "failures", "skipped")
    )
    return {"passed": total - errors - failures - skipped, "failed": errors + failures, "skipped": skipped}


def outcome_lines(outcomes: Sequence[Outcome]) -> list[str]:
    """Return a table: a line for each Blender, and the time that all took."""
    lines = [f"{'Blender':8} {'passed':>7} {'failed':>7} {'skipped':>8} {'seconds':>8}"]
    for each in outcomes:
        passed, failed, skipped = (each.counts.get(name, "-") for name in ("passed", "failed", "skipped"))
        line = f"{each.blender:8} {passed:>7} {failed:>7} {skipped:>8} {each.seconds:>8.0f}"
        ending = each.note or (f"exit code {each.code}" if each.code else "")
        lines.append(paint(f"{line}  {ending}".rstrip(), RED if each.code else GREEN))
    lines.append(f"{sum(each.seconds for each in outcomes) / 60:.1f} minutes")
    return lines


def ci_parts() -> list[Part]:
    """Return ``CI`` without the core parts whose Blender there is no Python for.

    First sets up all of their Blenders, since tests open in one what another saved.
    """
    parts = []
    for part in CI:
        environment = BLENDERS[str(part.blender)]
        if part.words == CORE and not ready_python(environment) and not find_python(environment.python):
            say(f"Blender {part.blender} is left out: there is no Python {environment.python} here.")
            continue
        parts.append(part)
    set_up(BLENDERS[str(part.blender)] for part in parts)
    return parts
