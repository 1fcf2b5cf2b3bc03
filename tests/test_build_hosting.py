"""The files for whoever hosts the project (workflows, templates, hooks, citation) say what the project itself says."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.support.doors import load_build

yaml = pytest.importorskip("yaml", reason="this is no Blender's environment")
ROOT = Path(__file__).resolve().parents[1]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def commands(text: str) -> list[list[str]]:
    """The words of each call of build.py; where a matrix fills one in, there is none."""
    call = r"^ *(?:- )?(?:run: |entry: )?python3? build\.py (.+)$"
    lines = re.findall(call, re.sub(r"\$\{\{.*?\}\}", "", text), re.MULTILINE)
    return [shlex.split(line.strip()) for line in lines]


def test_workflows_test_each_blender_build_the_manual_and_the_zips() -> None:
    assert [path.stem for path in WORKFLOWS] == ["docs", "release", "test"]
    matrix = read(GITHUB / "workflows/test.yml")["jobs"]["test"]["strategy"]["matrix"]
    assert matrix["blender"] == list(load_build().BLENDERS)


@pytest.mark.parametrize("path", [*WORKFLOWS, ROOT / ".pre-commit-config.yaml"], ids=lambda path: path.stem)
def test_each_command_is_one_of_build(path: Path) -> None:
    build = load_build()
    found = commands(path.read_text(encoding="utf-8").replace("--blender ${{ matrix.blender }}", "--blender 5.0"))
    assert found
    for words in found:
        options, rest = build.parser().parse_known_args(words)
        assert not rest or options.verb in build.PASSING, words
        assert set(getattr(options, "names", ())) <= set(build.checks.NAMES), words


def test_templates_ask_for_versions_model_and_report() -> None:
    for name in ("bug", "feature"):
        form = read(GITHUB / f"ISSUE_TEMPLATE/{name}.yml")
        assert {"version", "blender", "model", "report"} <= {field.get("id") for field in form["body"]}


def test_the_citation_is_of_this_version_and_license() -> None:
    citation = read(ROOT / "CITATION.cff")
    manifest = tomllib.loads((ROOT / "blender_manifest.toml").read_text(encoding="utf-8"))
    assert str(citation["version"]) == manifest["version"]
    assert [f"SPDX:{citation['license']}"] == manifest["license"]


def test_links_of_the_security_page_lead_somewhere() -> None:
    targets = re.findall(r"\]\(([^)]+)\)", (ROOT / "SECURITY.md").read_text(encoding="utf-8"))
    assert targets and all((ROOT / target).is_file() for target in targets)
