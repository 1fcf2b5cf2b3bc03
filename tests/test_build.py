"""The commands of ``build.py``: their words, and what each calls. Nothing here makes an environment."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.doors import load_build
from tools import checks
from tools.console import BuildError

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def build() -> ModuleType:
    return load_build()


def run_build(*words: str, python: str = sys.executable, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, str(ROOT / "build.py"), *words], env=environ, capture_output=True, text=True, check=False
    )


def test_help_of_build_has_examples(tmp_path: Path) -> None:
    done = run_build("--help", KNUCKLE_CACHE=str(tmp_path))
    assert done.returncode == 0
    for verb in ("demo", "test", "bench", "zip", "docs", "check"):
        assert f"python3 build.py {verb}" in done.stdout


@pytest.mark.parametrize(
    "words", [[], ["dance"], ["zip", "--platform", "amiga"], ["zip", "extra"], ["demo", "--fast"], ["check", "it"]]
)
def test_wrong_usage_is_2(tmp_path: Path, words: list[str]) -> None:
    done = run_build(*words, KNUCKLE_CACHE=str(tmp_path))
    assert done.returncode == 2
    assert "usage:" in done.stderr


def test_build_py_runs_from_any_folder(tmp_path: Path) -> None:
    words = [sys.executable, str(ROOT / "build.py"), "--help"]
    environ = {"KNUCKLE_CACHE": str(tmp_path)}
    done = subprocess.run(words, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_build_py_has_fewer_than_300_lines() -> None:
    assert len((ROOT / "build.py").read_text(encoding="utf-8").splitlines()) < 300


@pytest.mark.parametrize("words", [[], ["--blender", "5.2"], ["--strict"], ["-k", "juice"]])
def test_only_a_whole_bench_sets_up_what_is_compared_with(
    build: ModuleType, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    made: list[bool] = []
    monkeypatch.setattr(build, "blender_python", lambda series: Path("python"))
    monkeypatch.setattr(build, "references", lambda make: made.append(make) or {})
    monkeypatch.setattr(build, "call", lambda python, *words, variables: 0)
    build.main(["bench", *words])
    assert made == [words != ["-k", "juice"]]


@pytest.mark.parametrize("code", [0, 1])
def test_one_bench_command_measures_and_updates_the_manual(
    build: ModuleType, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    ran: list[tuple[str, ...]] = []
    monkeypatch.setattr(build, "blender_python", lambda series: Path("python"))
    monkeypatch.setattr(build, "references", lambda make: {"KNUCKLE_DARTPY": str(make)})
    monkeypatch.setattr(build, "call", lambda python, *words, **more: ran.append(words) or (code if more else 0))
    assert build.main(["bench", "--page", "--strict"]) == code, "what the bench says, the page is written anyway"
    (_script, *words), page = ran
    assert words[:2] == ["--strict", "--json"]
    assert words[2].endswith("speed.json")
    assert page == ("docs/tables.py",)


def test_the_demo_is_the_walking_hexapod_by_default(
    build: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calls: list[tuple[str, ...]] = []
    monkeypatch.setattr(build, "blender_python", lambda series: Path("python"))
    monkeypatch.setattr(build, "call", lambda python, *words: calls.append(words) or 0)
    monkeypatch.chdir(tmp_path)
    build.main(["demo"])
    inputs = ["--input", "joystick 1 x=1", "--input", "joystick 2 y=1"]
    build.main(["demo", "my.jm", *inputs, "--seconds", "3", "--out", "o"])
    hexapod, mine = str(ROOT / "sample_models/hexapod/hexapod.jm"), str(tmp_path / "my.jm")
    common = ("-m", "addon", "demo")
    assert calls == [
        (*common, hexapod, "--seconds", "8.0", "--out", str(ROOT / "out"), "--input", "joystick 1 y=-1"),
        (*common, mine, "--seconds", "3.0", "--out", str(tmp_path / "o"), *inputs),
    ]


def test_zips_are_built_with_the_manual_and_the_locked_wheels(
    build: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calls: list[tuple[str, ...]] = []
    exported: list[tuple[str, ...]] = []
    monkeypatch.setattr(build, "blender_python", lambda series: Path("python"))
    monkeypatch.setattr(build, "exported", lambda *words: exported.append(words) or "the lock")
    monkeypatch.setattr(build.checks, "build_manual", lambda out: None)
    monkeypatch.setattr(build, "call", lambda python, *words: calls.append(words) or 0)
    build.main(["zip", "--platform", "linux-x64", "--out", str(tmp_path)])
    build.main(["zip"])
    assert [each[:3] for each in exported] == [("bundled", "--no-emit-package", "numpy")] * 2
    one, every = calls
    assert one[:2] == ("-m", "tools.build_zip")
    assert one[-2:] == (f"--out={tmp_path}", "--platform=linux-x64")
    assert [word for word in every if word.startswith("--platform=")] == [
        f"--platform={each}" for each in build.PLATFORMS
    ]


@pytest.mark.parametrize("contracts", [True, False])
def test_check_runs_every_tool_and_fails_where_one_does(
    build: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, contracts: bool
) -> None:
    ran: list[str] = []

    def run(words: list[str], _failure: str, _environ: object) -> str:
        ran.append(" ".join(word.rpartition("/")[2] for word in words))
        if "mypy" in words:
            raise BuildError("mypy has findings")
        return ""

    (tmp_path / "pyproject.toml").write_text("[tool.importlinter]" if contracts else "")
    monkeypatch.setattr(checks, "ROOT", tmp_path)
    monkeypatch.setattr(checks, "python_of", lambda environment: Path("env/bin/python"))
    monkeypatch.setattr(checks, "uv", lambda: "uv")
    monkeypatch.setattr(checks, "run_quietly", run)
    assert build.main(["check"]) == 1
    expected = ["python -m ruff check .", "python -m ruff format --check .", "python -m mypy"]
    assert ran[:3] == expected, "the others run all the same"
    assert ("lint-imports" in ran) is contracts
    assert "uv lock --check --offline" in ran
    assert ran[-1].startswith("python -m sphinx --fail-on-warning")
    ran.clear()
    assert build.main(["check", "format", "ruff"]) == 0
    assert ran == ["python -m ruff format --check .", "python -m ruff check ."]
