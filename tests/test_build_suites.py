"""Which tests ``build.py test`` runs in which Blenders, and how it tells how they ended (``tools/suites.py``)."""

from __future__ import annotations

import fnmatch
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.doors import load_build
from tools import environments, suites
from tools.console import BuildError

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def build() -> ModuleType:
    return load_build()


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[str, ...], Mapping[str, str]]]:
    """Stands in for pytest in every Blender: which Blender, which words, which variables. Each ends with 5."""
    calls: list[tuple[str, tuple[str, ...], Mapping[str, str]]] = []

    def call(python: Path, *words: str, variables: Mapping[str, str]) -> int:
        calls.append((str(python), words, variables))
        return 5

    monkeypatch.setattr(suites, "blender_python", lambda series: Path(series or "default"))
    monkeypatch.setattr(suites, "references", lambda make: {"KNUCKLE_IT": "made" if make else "there"})
    monkeypatch.setattr(suites, "other_blenders", dict)
    monkeypatch.setattr(suites, "call", call)
    for variable in ("PYTHONDONTWRITEBYTECODE", "KNUCKLE_MATRIX"):
        monkeypatch.delenv(variable, raising=False)
    return calls


def test_words_for_pytest_pass_through_in_order(
    build: ModuleType, ran: list[tuple[str, tuple[str, ...], Mapping[str, str]]]
) -> None:
    assert build.main(["test", "tests/formats", "--blender", "4.2", "-k", "juice and not slow", "-x"]) == 5
    words = ("-m", "pytest", "-q", "tests/formats", "-k", "juice and not slow", "-x")
    assert ran == [("4.2", words, {"KNUCKLE_IT": "there", **suites.ONE_THREAD})]


def test_without_words_the_fast_tests_run_on_every_core(
    build: ModuleType, ran: list[tuple[str, tuple[str, ...], Mapping[str, str]]]
) -> None:
    build.main(["test"])
    build.main(["test", "--blender", "5.2", "-m", "core"])
    (first, fast, variables), (second, core, _variables) = ran
    assert (first, second) == ("default", "5.2")
    assert variables == {"KNUCKLE_IT": "made", **suites.ONE_THREAD}
    assert fast == ("-m", "pytest", "-q", *suites.EVERY_CORE, "-m", "not slow")
    assert core == ("-m", "pytest", "-q", *suites.EVERY_CORE, "-m", "core")


def test_all_of_one_blender_is_slow_tests_and_the_whole_matrix_too(
    build: ModuleType, ran: list[tuple[str, tuple[str, ...], Mapping[str, str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    build.main(["test", "--all", "--blender", "4.5"])
    monkeypatch.setenv("KNUCKLE_MATRIX", "tenth")
    build.main(["test", "--all", "--blender", "4.5"])
    assert [(words[3:], variables["KNUCKLE_MATRIX"]) for _series, words, variables in ran] == [
        (tuple(suites.EVERY_CORE), "all"),
        (tuple(suites.EVERY_CORE), "tenth"),
    ]


# ---- several Blenders


@pytest.fixture
def cells() -> list[str | None]:
    """Which cells of the edit matrix each run was told to test."""
    return []


@pytest.fixture
def endings(monkeypatch: pytest.MonkeyPatch, cells: list[str | None]) -> list[tuple[str, tuple[str, ...]]]:
    """Stands in for pytest in every Blender: 4.5 fails, 5.2 cannot be set up. Gives what ran with which words."""
    ran: list[tuple[str, tuple[str, ...]]] = []
    monkeypatch.delenv("KNUCKLE_MATRIX", raising=False)

    def blender_python(series: str) -> Path:
        if series == "5.2":
            raise BuildError("no Python 3.13")
        return Path(series)

    def call(python: Path, *words: str, variables: Mapping[str, str]) -> int:
        ran.append((str(python), words))
        cells.append(variables.get("KNUCKLE_MATRIX"))
        results = next(word for word in words if word.startswith("--junit-xml=")).removeprefix("--junit-xml=")
        failed = str(python) == "4.5"
        counts = f'errors="{int(failed)}" failures="{2 * failed}" skipped="3" tests="20"'
        Path(results).write_text(f"<testsuites><testsuite {counts}/></testsuites>")
        return int(failed)

    monkeypatch.setattr(suites, "blender_python", blender_python)
    monkeypatch.setattr(suites, "references", lambda make: {})
    monkeypatch.setattr(suites, "other_blenders", dict)
    monkeypatch.setattr(suites, "call", call)
    return ran


def test_all_blenders_are_tested_to_the_end_and_one_that_fails_fails_it(
    build: ModuleType, endings: list[tuple[str, tuple[str, ...]]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert build.main(["test", "--blender", "all", "-k", "juice"]) == 1
    assert [series for series, _words in endings] == ["4.2", "4.5", "5.0"]
    assert all(words[3:5] == ("-k", "juice") for _series, words in endings)
    table = [line.split() for line in capsys.readouterr().out.splitlines()[-6:-1]]
    assert table[0] == ["Blender", "passed", "failed", "skipped", "seconds"]
    assert [row[:4] for row in table[1:]] == [
        ["4.2", "17", "0", "3"],
        ["4.5", "14", "3", "3"],
        ["5.0", "17", "0", "3"],
        ["5.2", "-", "-", "-"],
    ]
    assert table[2][5:] == ["exit", "code", "1"] and table[4][5:] == ["no", "environment"]


@pytest.mark.parametrize("there", [True, False])
def test_ci_runs_two_fully_and_the_core_on_the_others_where_their_python_is(
    build: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    endings: list[tuple[str, tuple[str, ...]]],
    cells: list[str | None],
    there: bool,
) -> None:
    set_up: list[str] = []
    monkeypatch.setattr(suites, "ready_python", lambda environment: None)
    monkeypatch.setattr(suites, "find_python", lambda version: "python" if there or version == "3.11" else None)
    monkeypatch.setattr(suites, "blender_python", Path)
    monkeypatch.setattr(suites, "set_up", lambda environments: set_up.extend(each.group for each in environments))
    assert build.main(["test", "--ci"]) == 1, "4.5 fails here"
    expected = [("4.2", False, "tenth"), ("4.5", True, "tenth"), ("5.0", False, "all"), ("5.2", True, "tenth")]
    ran = [(series, "core" in words) for series, words in endings]
    assert list(zip(*zip(*ran, strict=True), cells, strict=True)) == expected[: 4 if there else 3]
    assert all("--numprocesses" in words for _series, words in endings)
    assert set_up == ["blender-4-2", "blender-4-5", "blender-5-0", *(["blender-5-2"] if there else [])]


def test_all_tests_of_all_blenders_are_with_the_whole_matrix(
    build: ModuleType, endings: list[tuple[str, tuple[str, ...]]], cells: list[str | None]
) -> None:
    assert build.main(["test", "--all"]) == 1
    assert [series for series, _words in endings] == ["4.2", "4.5", "5.0"]
    assert all("-m" not in words[2:] for _series, words in endings)
    assert cells == ["all"] * 3


def test_other_runs_leave_the_edit_matrix_to_its_own_choice(
    build: ModuleType, endings: list[tuple[str, tuple[str, ...]]], cells: list[str | None]
) -> None:
    build.main(["test", "--blender", "all", "-k", "juice"])
    assert len(endings) == len(cells) == 3
    assert set(cells) == {None}


def test_ci_is_this_command() -> None:
    assert "build.py test --ci" in (ROOT / ".ci/run").read_text(encoding="utf-8")


def test_results_of_pytest_are_counted(tmp_path: Path) -> None:
    """Against a real run of pytest, with one of each kind."""
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "def test_good(): pass\n"
        "def test_fine(): pass\n"
        "def test_bad(): assert False\n"
        "def test_none(): pytest.skip('none')\n"
        "@pytest.fixture\n"
        "def broken(): raise OSError\n"
        "def test_broken(broken): pass\n"
    )
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--junit-xml=r.xml", "test_it.py"]
    subprocess.run([sys.executable, *words], cwd=tmp_path, capture_output=True, check=False)
    assert suites.count_results(tmp_path / "r.xml") == {"passed": 2, "failed": 2, "skipped": 1}


def test_the_core_and_the_slow_files_exist(pytestconfig: pytest.Config) -> None:
    from tests.core_suite import CORE
    from tests.slow_suite import SLOW

    assert [path for path in sorted({*CORE, *(f"tests/{each}" for each in SLOW)}) if not (ROOT / path).is_file()] == []
    for marker in ("core:", "slow:"):
        assert any(line.startswith(marker) for line in pytestconfig.getini("markers"))


def test_slow_files_are_those_of_slow_tests(tmp_path: Path) -> None:
    from tests.slow_suite import slow_files

    case = '<testcase classname="tests.{}" name="x" time="{}"/>'
    every = [("core.test_a", 0.01), ("core.test_a", 0.3), ("blender.test_b", 0.1), ("blender.test_b", 0.5)]
    results = tmp_path / "results.xml"
    results.write_text("<suite>" + "".join(case.format(*each) for each in every) + "</suite>")
    assert slow_files(str(results)) == ["blender/test_b.py"]


def test_tests_get_the_other_blenders_that_are_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "ready_python", lambda each: Path(each.group) if "-4-" in each.group else None)
    monkeypatch.delenv("KNUCKLE_BLENDER_42", raising=False)
    monkeypatch.setenv("KNUCKLE_BLENDER_45", "mine")
    assert environments.other_blenders() == {"KNUCKLE_BLENDER_42": "blender-4-2"}


@pytest.mark.parametrize(
    "words",
    [
        "--ci --blender 4.2",
        "--ci -k juice",
        "--ci --all",
        "--ci --coverage",
        "--blender all --coverage",
        "--all --coverage",
        "--all -k juice",
    ],
)
def test_words_without_effect_are_rejected(build: ModuleType, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        build.main(["test", *words.split()])
    assert "test --" in capsys.readouterr().err


def test_a_whole_run_passes_over_no_folder_of_tests(pytestconfig: pytest.Config) -> None:
    folders = {name for path in (ROOT / "tests").rglob("test_*.py") for name in path.relative_to(ROOT).parts[:-1]}
    assert "matrix" in folders
    passed_over = pytestconfig.getini("norecursedirs")
    assert not [name for name in folders if any(fnmatch.fnmatch(name, pattern) for pattern in passed_over)]
