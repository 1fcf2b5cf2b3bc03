"""What `build.py test --coverage` does and tells; the noting itself is coverage.py's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.doors import load_build
from tools import coverage_report, suites


def test_lines_that_no_test_runs_are_listed_by_folder_and_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert coverage_report.stretches([9, 3, 4, 5, 12, 13]) == "3-5, 9, 12-13"
    assert coverage_report.main(tmp_path) == 1, "nothing was noted"
    noted = {"addon/a/x.py": (8, [2, 3]), "addon/a/y.py": (2, []), "addon/b/z.py": (10, [1, 2, 3, 7])}
    files = {
        name: {"summary": {"num_statements": lines, "missing_lines": len(missed)}, "missing_lines": missed}
        for name, (lines, missed) in noted.items()
    }
    (tmp_path / "lines.json").write_text(json.dumps({"files": files}))
    assert coverage_report.main(tmp_path) == 0
    assert (tmp_path / "uncovered.txt").read_text() == "addon/b/z.py: 1-3, 7\naddon/a/x.py: 2-3\n"
    told = [line.split() for line in capsys.readouterr().out.splitlines()[1:4]]
    assert [(row[0], row[-2]) for row in told] == [("addon/a", "80.00"), ("addon/b", "60.00"), ("all", "70.00")]


def test_every_process_notes_its_lines_and_the_tests_code_is_given_on(monkeypatch: pytest.MonkeyPatch) -> None:
    build = load_build()
    calls: list[tuple[tuple[str, ...], dict[str, str]]] = []

    def call(python: Path, *words: str, variables: dict[str, str] | None = None) -> int:
        calls.append((words, variables or {}))
        return 5 if "pytest" in words else 0

    monkeypatch.setattr(suites, "blender_python", lambda series: Path("python"))
    monkeypatch.setattr(suites, "references", lambda make: {"KNUCKLE_IT": "there"})
    monkeypatch.setattr(suites, "call", call)
    monkeypatch.setattr(suites.shutil, "rmtree", lambda *words, **how: None)
    monkeypatch.setattr(suites.Path, "mkdir", lambda *words, **how: None)
    assert build.main(["test", "--coverage", "tests/model", "-x"]) == 5
    (tests, given), *after = calls
    assert tests == ("-m", "pytest", "-q", "tests/model", "-x")
    settings = Path(given["COVERAGE_PROCESS_START"])
    assert settings.is_file() and given["KNUCKLE_IT"] == "there"
    assert "${KNUCKLE_TREE}/addon" in settings.read_text()
    assert [words[2] for words, _given in after[:3]] == ["combine", "json", "html"]
    assert after[3][0][:2] == ("-m", "tools.coverage_report")
