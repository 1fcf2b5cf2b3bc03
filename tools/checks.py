"""What reads the code and the manual without running them: ruff, mypy, import contracts, uv.lock, Sphinx."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from tools.console import ROOT, BuildError, run_quietly, say, step
from tools.environments import DOCS, TOOLS, python_of
from tools.uv import uv, uv_environ

#: Arguments of the Python of the group ``tools``, by the name of the check.
MODULES = {
    "ruff": ["-m", "ruff", "check", "."],
    "format": ["-m", "ruff", "format", "--check", "."],
    "mypy": ["-m", "mypy"],
    "rules": ["-m", "pytest", "-q", "tests/test_code_rules.py"],
    "links": ["-m", "pytest", "-q", "tests/docs/test_links.py"],
}
NAMES = (*MODULES, "imports", "lock", "manual")


def run_checks(names: Collection[str] = ()) -> int:
    """Run checks, all unless some are named, and print what they find; 1 where one finds something."""
    failures = 0
    for name in names or NAMES:
        if name == "imports" and "[tool.importlinter]" not in (ROOT / "pyproject.toml").read_text(encoding="utf-8"):
            continue  # no contracts
        words = command(name)
        try:
            with step(name):
                run_quietly(words, f"{name} has findings:", uv_environ(index=False))
        except BuildError as error:
            say(str(error))
            failures += 1
    return 1 if failures else 0


def command(name: str) -> list[str]:
    """Return the command of a check."""
    if name == "manual":
        return sphinx(ROOT / "out/docs")
    if name == "lock":  # as it stands: nothing is looked up
        return [uv(), "lock", "--check", "--offline"]
    python = python_of(TOOLS)
    return [str(python.with_name("lint-imports"))] if name == "imports" else [str(python), *MODULES[name]]


def sphinx(out: Path) -> list[str]:
    """Return the command that builds the manual; a broken link fails it, and so does any other warning."""
    words = ["-m", "sphinx", "--fail-on-warning", "--keep-going", "--nitpicky", "--quiet", "--builder", "html"]
    notes = out.with_name(out.name + ".doctrees")
    return [str(python_of(DOCS)), *words, "--doctree-dir", str(notes), str(ROOT / "docs"), str(out)]


def build_manual(out: Path) -> None:
    """Build the manual as HTML into a folder."""
    words = sphinx(out)
    with step("the manual"):
        run_quietly(words, "The manual has findings:")
