"""What Knuckle says of itself stands in its manifest and nowhere else."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from addon import installation
from addon.installation import CheckRow, has_no_errors, rows_as_text, summarize_rows

ROOT = Path(__file__).resolve().parents[1]
VERSION = tomllib.loads((ROOT / "blender_manifest.toml").read_text(encoding="utf-8"))["version"]


def test_the_version_is_semantic_and_stands_in_one_place() -> None:
    assert re.fullmatch(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)", VERSION)
    assert installation.package_version() == VERSION
    written = re.compile(rf"(?<![\d.=\"]){re.escape(VERSION)}(?![\d.])")
    again = [
        str(path.relative_to(ROOT))
        for folder in ("addon", "docs", "examples")
        for path in (ROOT / folder).rglob("*.*")
        if path.suffix in {".py", ".md", ".toml"} and written.search(path.read_text("utf-8"))
    ]
    assert again == []


def test_what_is_new_begins_with_this_version() -> None:
    told = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    told = told[1:] if told[0] == "Unreleased" else told
    assert told[0] == VERSION
    assert told == sorted(told, key=lambda text: tuple(map(int, text.split("."))), reverse=True)


def test_the_command_line_prints_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    from addon.cli import main

    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"Knuckle {VERSION}\n"


def test_an_installed_package_has_its_manifest_beside_it(tmp_path: Path) -> None:
    """As Blender unpacks a zip: no addon/ above the modules."""
    package = tmp_path / "knuckle"
    (package / "core").mkdir(parents=True)
    for name in ("__init__.py", "core/__init__.py"):
        (package / name).touch()
    for name in ("installation.py", "core/report.py"):
        shutil.copy(ROOT / "addon" / name, package / name)
    (package / "blender_manifest.toml").write_text('version = "7.8.9"\n')
    words = (
        "from knuckle import installation as own; "
        "print(own.package_version(), own.sample_path('a/b.jm').relative_to(own.package_home()))"
    )
    done = subprocess.run([sys.executable, "-c", words], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["7.8.9", str(Path("sample_models/a/b.jm"))]


# ---- modules


def test_of_a_manifests_wheels_those_for_this_python_count() -> None:
    ours = "cp{}{}".format(*sys.version_info[:2])
    found = installation.wheel_versions([
        f"./wheels/lxml-6.1.3-{ours}-{ours}-manylinux_2_28_x86_64.whl",
        "./wheels/lxml-5.0-cp27-cp27-win_amd64.whl",
        "./wheels/python_dateutil-2.9.0.post0-py2.py3-none-any.whl",
    ])  # fmt: skip
    assert found == {"lxml": "6.1.3", "python-dateutil": "2.9.0.post0"}


def stand_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have ``six`` be imported anew from a folder; afterwards it is what it was, be it not imported yet."""
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setitem(sys.modules, "six", None)
    monkeypatch.delitem(sys.modules, "six")


def module_at(folder: Path, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of its own that stands first in the path."""
    folder.mkdir(parents=True)
    (folder / "six.py").write_text(f"__version__ = {version!r}\n")
    stand_first(folder, monkeypatch)


@pytest.mark.parametrize(
    ("place", "version", "promised", "state", "told"),
    [
        ("ext/.local/lib/python3.11/site-packages", "1.0", "1.0", "ok", "1.0, from Blender's extensions"),
        ("ext/.local/lib/python3.11/site-packages", "0.9", "1.0", "warning", "Knuckle contains 1.0"),
        ("ext/user_default/robots/vendored", "1.0", "1.0", "note", "the extension user_default.robots"),
        ("ext/user_default/robots/vendored", "0.9", "1.0", "warning", "the extension user_default.robots"),
        ("scripts/addons/gears/lib", "0.9", "1.0", "warning", "from the add-on gears"),
        ("blender/5.0/python/lib", "0.9", None, "ok", "0.9, from this Python"),
        ("somewhere", "1.0", "1.0", "note", "from another folder"),
    ],
)
def test_whose_a_module_is_that_was_imported(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    version: str,
    promised: str | None,
    state: str,
    told: str,
) -> None:
    module_at(tmp_path / place, version, monkeypatch)
    tag = f"./wheels/six-{promised}-py3-none-any.whl"
    monkeypatch.setattr(installation, "read_manifest", lambda: {"wheels": [tag] if promised else []})
    monkeypatch.setattr(installation, "DEPENDENCIES", (installation.Dependency("six", "six", "plots"),))
    [row] = installation.dependency_rows(str(tmp_path / "ext"), [str(tmp_path / "blender/5.0")])
    assert (row.part, row.state) == ("six", state), row
    assert told in row.text
    assert bool(row.remedy) == (state == "warning")


@pytest.mark.parametrize("blow", ["raise ImportError('DLL load failed')", "raise OSError('no such file')", "1 / 0"])
def test_a_broken_wheel_is_reported_with_what_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blow: str
) -> None:
    (tmp_path / "six.py").write_text(f"{blow}\n")
    stand_first(tmp_path, monkeypatch)
    monkeypatch.setattr(installation, "DEPENDENCIES", (installation.Dependency("six", "six", "plots"),))
    [row] = installation.dependency_rows()
    assert row.state == "error" and "Not available without it: plots" in row.text and "pip install six" in row.remedy
    assert installation.missing_dependency() == "", "all but the plots works"


def test_where_knuckle_came_as_a_zip_the_zip_is_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "six.py").write_text("raise ImportError\n")
    stand_first(tmp_path, monkeypatch)
    monkeypatch.setattr(installation, "DEPENDENCIES", (installation.Dependency("six", "six"),))
    monkeypatch.setattr(installation, "read_manifest", lambda: {"wheels": ["./wheels/six-1.0-py3-none-any.whl"]})
    [row] = installation.dependency_rows()
    assert row.remedy == installation.REINSTALL_ADVICE
    assert installation.missing_dependency().endswith(f"{installation.REINSTALL_ADVICE}.")


def without(modules: str, words: str) -> subprocess.CompletedProcess[str]:
    """Our command line where Python cannot import some modules."""
    blocked = (
        f"import runpy, sys\nfor name in {modules.split()!r}: sys.modules[name] = None\n"
        f"sys.argv = ['addon', *{words.split()!r}]\nrunpy.run_module('addon', run_name='__main__')"
    )
    return subprocess.run([sys.executable, "-c", blocked], cwd=ROOT, capture_output=True, text=True, check=False)


def test_without_what_everything_needs_it_is_said_in_plain_words() -> None:
    done = without("lxml.etree", "info sample_models/rover/rover.jm")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert re.search(
        r"^knuckle: Knuckle cannot start: lxml cannot be imported .+ Run: python -m pip install lxml", done.stderr, re.M
    )
    done = without("lxml.etree", "self-check")
    assert done.returncode == 1
    assert re.search(r"^error   lxml: cannot be imported \(ModuleNotFoundError", done.stderr, re.M)
    assert re.search(r"^ok      numpy: \d", done.stderr, re.M)


def test_a_missing_wheel_is_reported_when_blender_enables_the_extension() -> None:
    words = (
        "import sys; sys.modules['lxml.etree'] = None\nimport addon\n"
        "try: addon.register()\nexcept ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1].startswith("Knuckle cannot start: lxml cannot be imported"), done.stderr


def test_without_plots_all_else_is_checked_and_without_blender_the_rest() -> None:
    done = without("bpy matplotlib", "self-check")
    assert done.returncode == 1
    assert re.search(
        r"^error   matplotlib: .+ Not available without it: plots\n +-> Run: python -m pip install matplotlib",
        done.stdout,
        re.M,
    )
    assert re.search(r"^ok      lxml: \d", done.stdout, re.M)
    done = without("bpy", "self-check")
    assert done.returncode == 0
    assert re.search(r"^note    Blender: not available", done.stdout, re.M)
    assert done.stdout.splitlines()[-1] == "Self-check passed"


# ---- rows


def test_rows_as_text_and_in_one_sentence() -> None:
    good, odd, bad = (
        CheckRow("a", "ok", "1"),
        CheckRow("b", "warning", "old", "renew it"),
        CheckRow("c", "error", "gone", "get it"),
    )
    assert rows_as_text([good, odd, bad]) == (
        "ok      a: 1\nwarning b: old\n        -> renew it\nerror   c: gone\n        -> get it\n"
    )
    assert (summarize_rows([good]), summarize_rows([good, odd, bad])) == (
        "Self-check passed",
        "Self-check: 1 error, 1 warning",
    )
    assert has_no_errors([good, odd]) and not has_no_errors([good, bad])
