"""What build.py decides: where it looks, what it keeps, what it packs. Nothing here makes an environment."""

from __future__ import annotations

import fnmatch
import hashlib
import os
import re
import stat
import subprocess
import sys
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support.doors import load_build

ROOT = Path(__file__).resolve().parents[1]
BLENDER_TAGS = {"Import-Export", "Animation", "Physics", "Rigging"}  # those of Blender's fixed list that we are


PLOTTING_IN_PURE_PYTHON = {"cycler", "fonttools", "packaging", "pyparsing"}


@pytest.fixture(scope="module")
def build() -> ModuleType:
    return load_build()


def run_build(*words: str, python: str = sys.executable, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, str(ROOT / "build.py"), *words], env=environ, capture_output=True, text=True, check=False
    )


# ---- pins


def test_every_requirement_is_pinned(build: ModuleType) -> None:
    compared = (*build.REFERENCES.values(), *build.BENCH_REFERENCES.values())
    for recipe in (*build.BLENDERS.values(), build.TOOLS, build.DOCS, *compared):
        for requirement in recipe.requirements:
            assert "==" in requirement.split(";")[0], requirement


def test_what_the_package_imports_is_in_every_environment_and_zip(build: ModuleType) -> None:
    names = {requirement.split("==")[0] for requirement in (*build.COMPILED, *build.PURE)}
    meshes = {"trimesh", "pycollada", "python-dateutil", "six"}
    assert names == {"lxml", *meshes, "matplotlib", "kiwisolver", "pillow", *PLOTTING_IN_PURE_PYTHON}
    for recipe in build.BLENDERS.values():
        assert {*build.COMPILED, build.contourpy(recipe.pythons[0]), *build.PURE} <= set(recipe.requirements)


def test_the_pins_are_all_that_matplotlib_asks_for() -> None:
    """What its own metadata names is pinned here or, numpy, Blender's; nothing that it does not ask for is."""
    from importlib import metadata

    needs = [need for need in metadata.requires("matplotlib") or [] if "extra ==" not in need]
    names = {re.split(r"[^A-Za-z0-9._-]", need)[0].lower() for need in needs}
    assert names == {"numpy", "contourpy", "kiwisolver", "pillow", "python-dateutil", *PLOTTING_IN_PURE_PYTHON}


def test_blenders_have_the_python_that_their_wheels_are_made_for(build: ModuleType) -> None:
    assert {series: recipe.pythons for series, recipe in build.BLENDERS.items()} == {
        "4.2": ((3, 11),),
        "4.5": ((3, 11),),
        "5.0": ((3, 11),),
        "5.2": ((3, 13),),
    }


def test_an_environment_is_named_after_what_it_holds(build: ModuleType) -> None:
    recipe = build.BLENDERS["5.0"]
    name = build.env_name(recipe, (3, 11))
    assert name.startswith("blender-5.0-py3.11-")
    assert name == build.env_name(recipe, (3, 11))
    changed = recipe._replace(requirements=(*recipe.requirements[:-1], "hypothesis==1"))
    assert build.env_name(changed, (3, 11)) != name


# ---- finding Pythons


def fake_python(path: Path, answer: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{answer}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def fake_maker(path: Path, pip: str) -> list[str]:
    """Stands in for a Python: ``-m venv ENV`` makes an environment, whose own Python stands in for pip."""
    fake_python(path, f'mkdir -p "$3/bin"; printf "#!/bin/sh\n{pip}\n" > "$3/bin/python"; chmod +x "$3/bin/python"')
    return [str(path)]


needs_sh = pytest.mark.skipif(os.name == "nt", reason="the stand-ins for Python are shell scripts")


@needs_sh
@pytest.mark.parametrize(
    ("answer", "version"),
    [
        ("echo 3.11.1", (3, 11)),
        ("echo 3.13.1", (3, 13)),
        ("echo 3.11.0", None),  # 32 bits
        ("echo 3.11.1; exit 1", None),  # no ensurepip
        ("echo 'command not found' >&2; exit 127", None),  # pyenv's, of a version not switched on
        ("echo Python was not found", None),
    ],
)
def test_a_python_is_asked_not_believed(
    build: ModuleType, tmp_path: Path, answer: str, version: tuple[int, int] | None
) -> None:
    fake_python(tmp_path / "python3.11", answer)
    assert build.probe([str(tmp_path / "python3.11")]) == version


def test_what_is_not_there_is_no_python(build: ModuleType, tmp_path: Path) -> None:
    assert build.probe([str(tmp_path / "python3.11")]) is None


def test_this_python_is_suitable(build: ModuleType) -> None:
    assert build.probe([sys.executable]) == sys.version_info[:2]


def test_pythons_are_sought_on_path_in_pyenv_and_in_uv(build: ModuleType, tmp_path: Path) -> None:
    fake_python(tmp_path / ".pyenv/versions/3.7.9/bin/python3", "")
    fake_python(tmp_path / ".pyenv/versions/3.8.1/bin/python3", "")
    fake_python(tmp_path / ".local/share/uv/python/cpython-3.7.4-linux-x86_64-gnu/bin/python3", "")
    found = list(build.candidates((3, 7), {"PATH": os.pathsep.join(("/a", "", "/b"))}, tmp_path, windows=False))
    assert found[:4] == [
        [os.path.join("/a", "python3.7")],
        [os.path.join("/b", "python3.7")],
        [str(tmp_path / ".pyenv/versions/3.7.9/bin/python3")],
        [str(tmp_path / ".local/share/uv/python/cpython-3.7.4-linux-x86_64-gnu/bin/python3")],
    ]
    assert not any("3.8" in word for command in found for word in command)


def test_on_windows_the_launcher_is_asked_too(build: ModuleType, tmp_path: Path) -> None:
    assert ["py", "-3.7"] in list(build.candidates((3, 7), {"APPDATA": str(tmp_path)}, tmp_path, windows=True))


def test_this_python_comes_first_where_it_fits(build: ModuleType, tmp_path: Path) -> None:
    assert next(build.candidates(sys.version_info[:2], {}, tmp_path, windows=False)) == [sys.executable]


@needs_sh
def test_a_default_blender_is_chosen_by_the_pythons_there_are(
    build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KNUCKLE_CACHE", str(tmp_path))
    made = []
    monkeypatch.setattr(build, "make_environment", lambda env, recipe, python, quiet: made.append((env.name, python)))
    for there, series in (({(3, 11), (3, 13)}, "5.0"), ({(3, 13)}, "5.2")):
        monkeypatch.setattr(build, "find_python", lambda version, there=there: ["py"] if version in there else None)
        build.blender_python(None)
        assert made.pop()[0].startswith(f"blender-{series}-")


def test_no_python_at_all_says_what_to_install(
    build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KNUCKLE_CACHE", str(tmp_path))
    monkeypatch.setattr(build, "find_python", lambda version: None)
    assert build.main(["test"]) == 1
    message = capsys.readouterr().err
    assert "3.11 or 3.13" in message
    assert "apt install python3.11-venv" in message
    assert "winget install" in message


# ---- the cache


@pytest.mark.parametrize(
    ("environ", "platform", "place"),
    [
        ({}, "linux", "/home/me/.cache/knuckle"),
        ({"XDG_CACHE_HOME": "/fast"}, "linux", "/fast/knuckle"),
        ({}, "darwin", "/home/me/Library/Caches/knuckle"),
        ({"LOCALAPPDATA": "/local"}, "win32", "/local/knuckle"),
        ({"KNUCKLE_CACHE": os.path.abspath("/mine")}, "win32", os.path.abspath("/mine")),
    ],
)
def test_the_cache_is_outside_the_tree(
    build: ModuleType, environ: Mapping[str, str], platform: str, place: str
) -> None:
    assert build.cache_dir(environ, Path("/home/me"), platform) == Path(place)


def test_a_half_made_environment_is_not_ready(build: ModuleType, tmp_path: Path) -> None:
    assert not build.is_ready(tmp_path)
    python = build.env_python(tmp_path)
    python.parent.mkdir()
    python.write_text("")
    assert not build.is_ready(tmp_path)
    (tmp_path / "knuckle-ready").write_text("")
    assert build.is_ready(tmp_path)
    python.unlink()  # its Python was uninstalled
    assert not build.is_ready(tmp_path)


@needs_sh
def test_a_half_made_environment_is_made_anew(build: ModuleType, tmp_path: Path) -> None:
    env = tmp_path / "envs" / "it"
    (env / "bin").mkdir(parents=True)
    (env / "left over").write_text("")
    recipe = build.Recipe("it", ((3, 11),), ("thing==1",))
    assert build.make_environment(env, recipe, fake_maker(tmp_path / "python", "exit 0")) == env / "bin/python"
    assert build.is_ready(env)
    assert not (env / "left over").exists()
    assert (env / "knuckle-ready").read_text() == "thing==1\n"


@needs_sh
def test_an_environment_that_pip_could_not_fill_is_not_ready(build: ModuleType, tmp_path: Path) -> None:
    recipe = build.Recipe("it", ((3, 11),), ("thing==1",))
    with pytest.raises(build.Trouble, match="pip could not install"):
        build.make_environment(tmp_path / "it", recipe, fake_maker(tmp_path / "python", "exit 1"))
    assert not build.is_ready(tmp_path / "it")


# ---- the programs that tests compare with


@pytest.fixture
def reference(build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """One program to compare with, whose installation runs the shell script that the test gives; gives what it
    printed last and how often it was tried."""
    monkeypatch.setenv("KNUCKLE_CACHE", str(tmp_path))
    monkeypatch.delenv("KNUCKLE_IT", raising=False)
    monkeypatch.setattr(build, "REFERENCES", {"KNUCKLE_IT": build.Recipe("it", ((3, 11),), ("thing==1",))})

    def references(pip: str, make: bool = True) -> tuple[dict[str, str], int]:
        tries = tmp_path / "tries"
        maker = fake_maker(tmp_path / "python", f"echo try >> {tries}; {pip}")
        monkeypatch.setattr(build, "find_python", lambda version: maker)
        found = build.references(make)
        return found, len(tries.read_text().splitlines()) if tries.exists() else 0

    return references


@needs_sh
def test_a_program_to_compare_with_is_installed_once_and_named_to_the_tests(
    reference: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, tries = reference("exit 0")
    assert list(found) == ["KNUCKLE_IT"]
    assert Path(found["KNUCKLE_IT"]).is_relative_to(tmp_path / "envs")
    assert tries == 1
    assert reference("exit 0") == (found, 1)
    assert reference("exit 0", make=False) == (found, 1)
    monkeypatch.setenv("KNUCKLE_IT", "")  # the user does without
    assert reference("exit 0") == ({}, 1)


@needs_sh
def test_a_part_of_the_tests_downloads_nothing(reference: Any, capsys: pytest.CaptureFixture[str]) -> None:
    found, tries = reference("exit 0", make=False)
    assert list(found) == ["KNUCKLE_IT_MISSING"]
    assert tries == 0
    assert "is not set up" in capsys.readouterr().out


@needs_sh
def test_what_cannot_be_installed_is_told_in_a_line_and_tried_again_after_a_day(
    build: ModuleType, reference: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, tries = reference("echo no such wheel; exit 1")
    assert list(found) == ["KNUCKLE_IT_MISSING"]
    assert "it cannot be installed here" in found["KNUCKLE_IT_MISSING"]
    assert "no such wheel" not in capsys.readouterr().out
    failed = tmp_path / "envs/it.failed"
    assert "no such wheel" in failed.read_text()
    assert tries == 1
    assert reference("exit 0") == (found, 1)
    assert capsys.readouterr().out.count("\n") == 1
    yesterday = time.time() - build.RETRY_AFTER - 60
    os.utime(failed, (yesterday, yesterday))
    found, tries = reference("exit 0")
    assert list(found) == ["KNUCKLE_IT"]
    assert tries == 2
    assert not failed.exists()


def test_a_program_without_a_python_is_no_reason_to_stop(
    build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KNUCKLE_CACHE", str(tmp_path))
    monkeypatch.setattr(build, "find_python", lambda version: None)
    for variable in build.REFERENCES:
        monkeypatch.delenv(variable, raising=False)
    assert set(build.references(make=True)) == {"KNUCKLE_DARTPY_MISSING", "KNUCKLE_RING_MISSING"}


@pytest.mark.parametrize("verb", ["test", "bench"])
def test_only_a_whole_run_sets_up_what_is_compared_with(
    build: ModuleType, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    made: list[bool] = []
    given: list[dict[str, str]] = []
    monkeypatch.setattr(build, "blender_python", lambda series: Path("python"))
    monkeypatch.setattr(build, "references", lambda make, _recipes=None: made.append(make) or {"KNUCKLE_IT": "there"})
    monkeypatch.setattr(build, "other_blenders", dict)
    monkeypatch.setattr(build, "call", lambda python, *words, variables: given.append(variables) or 0)
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    build.main([verb])
    build.main([verb, "--blender", "5.2"])
    build.main([verb, "-k", "juice"])
    assert made == [True, True, False]
    own = build.ONE_THREAD if verb == "test" else {}
    assert given == [{"KNUCKLE_IT": "there", **own}] * 3


@pytest.mark.parametrize("code", [0, 1])
def test_one_command_measures_and_puts_the_table_into_the_manual(
    build: ModuleType, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    ran: list[tuple[str, ...]] = []
    monkeypatch.setattr(build, "blender_python", lambda series: Path("python"))
    monkeypatch.setattr(build, "references", lambda make, recipes: {name: str(make) for name in recipes})
    monkeypatch.setattr(build, "call", lambda python, *words, **more: ran.append(words) or (code if more else 0))
    assert build.main(["bench", "--page", "--strict"]) == code, "what the bench says, the page is written anyway"
    (_script, *words), page = ran
    assert words[:2] == ["--strict", "--json"]
    assert words[2].endswith("speed.json")
    assert page == ("docs/tables.py",)


def test_two_at_once_take_turns(build: ModuleType, tmp_path: Path) -> None:
    holder = (
        "import importlib.util as u, pathlib, sys, time\n"
        "spec = u.spec_from_file_location('b', sys.argv[1]); b = u.module_from_spec(spec)\n"
        "sys.modules['b'] = b; spec.loader.exec_module(b)\n"
        "with b.locked(pathlib.Path(sys.argv[2])):\n"
        "    print('held', flush=True); time.sleep(0.6)\n"
    )
    lock = tmp_path / "it.lock"
    with subprocess.Popen(
        [sys.executable, "-c", holder, str(ROOT / "build.py"), str(lock)], stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout and other.stdout.readline() == "held\n"
        start = time.monotonic()
        with build.locked(lock):
            assert time.monotonic() - start > 0.3
    with build.locked(lock):  # free again
        pass


# ---- packaging


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small source tree with everything that must and must not be packed, and two wheels."""
    root = tmp_path / "tree"
    for name in (
        "addon/__init__.py",
        "addon/core/model.py",
        "addon/__pycache__/x.pyc",
        "addon/.hidden",
        "sample_models/crab/crab.jm",
        "sample_models/crab/crab.blend1",
        "tests/test_x.py",
        "addon/core/model.py~",
        "addon/core/model.py.orig",
        "addon/Thumbs.db",
        "sample_models/crab/crab.blend@",
        "sample_models/.DS_Store",
        "LICENSE",
        "COPYING",
        "CHANGELOG.md",
        "THIRD_PARTY.md",
        "README.md",
        "build.py",
        "wheels/b-1-cp313.whl",
        "wheels/a-1-cp311.whl",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    manifest = (ROOT / "blender_manifest.toml").read_text(encoding="utf-8")
    (root / "blender_manifest.toml").write_text(manifest, encoding="utf-8")
    return root


def pack(build: ModuleType, tree: Path, target: Path, timestamp: int = 0) -> bytes:
    build.platform_zip(target, tree, "linux-x64", sorted((tree / "wheels").iterdir(), reverse=True), timestamp)
    return target.read_bytes()


def test_the_zip_holds_the_pages_of_the_manual(build: ModuleType, tree: Path, tmp_path: Path) -> None:
    for name in ("index.html", "_images/walk.webp", ".buildinfo"):
        (tmp_path / "pages" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "pages" / name).write_text(name)
    build.platform_zip(tmp_path / "k.zip", tree, "linux-x64", [], 0, tmp_path / "pages")
    with zipfile.ZipFile(tmp_path / "k.zip") as archive:
        pages = [name for name in archive.namelist() if name.startswith("manual/")]
        assert pages == ["manual/_images/walk.webp", "manual/index.html"]
        assert archive.read("manual/index.html") == b"index.html"


def test_the_zip_holds_the_package_and_nothing_else(build: ModuleType, tree: Path, tmp_path: Path) -> None:
    pack(build, tree, tmp_path / "k.zip")
    with zipfile.ZipFile(tmp_path / "k.zip") as archive:
        assert archive.namelist() == [
            "CHANGELOG.md",
            "COPYING",
            "LICENSE",
            "THIRD_PARTY.md",
            "__init__.py",
            "blender_manifest.toml",
            "core/model.py",
            "sample_models/crab/crab.jm",
            "wheels/a-1-cp311.whl",
            "wheels/b-1-cp313.whl",
        ]
        assert archive.read("core/model.py") == b"addon/core/model.py"


def test_the_zipped_manifest_names_platform_and_wheels(build: ModuleType, tree: Path, tmp_path: Path) -> None:
    tomllib = pytest.importorskip("tomllib")
    pack(build, tree, tmp_path / "k.zip")
    with zipfile.ZipFile(tmp_path / "k.zip") as archive:
        packed = tomllib.loads(archive.read("blender_manifest.toml").decode())
    source = tomllib.loads((ROOT / "blender_manifest.toml").read_text(encoding="utf-8"))
    wheels = ["./wheels/a-1-cp311.whl", "./wheels/b-1-cp313.whl"]
    assert packed == {**source, "platforms": ["linux-x64"], "wheels": wheels}
    assert "wheels" not in source


def test_a_zip_gets_compiled_wheels_for_each_python_and_pure_ones_once(
    build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, list[str]]] = []

    def pip(command: list[str], _failure: str) -> None:
        requirement = Path(command[command.index("-r") + 1]).read_text()
        asked.append((requirement, command))
        folder = Path(command[command.index("-d") + 1])
        (folder / f"{requirement.replace('==', '-')}-{len(asked)}.whl").write_text("")

    def fetched(platform: str) -> list[str]:
        return [wheel.name for _requirement, wheel in build.fetch_wheels(Path("python"), platform, None)]

    monkeypatch.setenv("KNUCKLE_CACHE", str(tmp_path))
    monkeypatch.setattr(build, "run_quietly", pip)
    first = fetched("linux-x64")
    compiled = [[*build.COMPILED, f"contourpy==1.3.{last}"] for last in (2, 3, 3)]
    assert [requirement for requirement, _command in asked] == [*sum(compiled, []), *build.PURE]
    assert len(set(first)) == len(sum(compiled, [])) + len(build.PURE)
    for requirement, command in asked:
        pure = requirement in build.PURE
        tags = [word for before, word in zip(command, command[1:], strict=False) if before == "--platform"]
        assert tags == (["any"] if pure else ["manylinux_2_28_x86_64", "manylinux2014_x86_64"])
        assert "--only-binary=:all:" in command
        assert "--no-deps" in command
    second = fetched("windows-x64")
    assert [requirement for requirement, _command in asked[len(first) :]] == [*compiled[0], *compiled[1]]
    assert second[-len(build.PURE) :] == first[-len(build.PURE) :]
    assert all("1.3.3" in wheel for wheel in fetched("windows-arm64") if "contourpy" in wheel)
    assert not [each for each, _command in asked if each.startswith("numpy")], "numpy is Blender's own"


def test_only_the_wheels_that_are_listed_are_packed(
    build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = b"the right one"

    def pip(command: list[str], _failure: str) -> None:
        (Path(command[command.index("-d") + 1]) / "six-1.whl").write_bytes(content)

    def fetch(requirement: str, hashes: dict[str, list[str]]) -> Path:
        return build.fetch_wheel(Path("python"), requirement, "any", "3.11", hashes)

    monkeypatch.setenv("KNUCKLE_CACHE", str(tmp_path))
    monkeypatch.setattr(build, "run_quietly", pip)
    right = {"six==1": [f"--hash=sha256:{hashlib.sha256(content).hexdigest()}"]}
    wheel = fetch("six==1", right)
    with pytest.raises(build.Trouble, match="has no lxml==1"):
        fetch("lxml==1", right)
    wheel.write_bytes(b"another")
    with pytest.raises(build.Trouble, match="is not the one in wheels.txt"):
        fetch("six==1", right)


def test_every_wheel_of_every_platform_is_listed(build: ModuleType) -> None:
    pinned = build.pinned_wheels(ROOT)
    wanted = {*build.COMPILED, *build.PURE, "contourpy==1.3.2", "contourpy==1.3.3"}
    assert set(pinned) == wanted
    compiled = sum(len(platform.pythons) for platform in build.PLATFORMS.values())
    for requirement in wanted - {"contourpy==1.3.2", "contourpy==1.3.3"}:
        assert len(pinned[requirement]) == (1 if requirement in build.PURE else compiled), requirement
    assert len(pinned["contourpy==1.3.2"]) + len(pinned["contourpy==1.3.3"]) == compiled


@pytest.mark.parametrize(
    "words", ["--ci --blender 4.2", "--ci -k juice", "--ci --coverage", "--blender all --coverage"]
)
def test_words_that_would_do_nothing_are_refused(
    build: ModuleType, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        build.main(["test", *words.split()])
    assert "test --c" in capsys.readouterr().err


def test_the_same_tree_gives_the_same_bytes(build: ModuleType, tree: Path, tmp_path: Path) -> None:
    first = pack(build, tree, tmp_path / "1.zip")
    for path in tree.rglob("*"):
        os.utime(path, (1e9, 1e9))
    assert pack(build, tree, tmp_path / "2.zip") == first
    (tree / "addon/__init__.py").write_text("changed")
    assert pack(build, tree, tmp_path / "3.zip") != first


def checkout(folder: Path, *settings: str, umask: int = 0o022) -> Path:
    """What is committed, as somebody else would have it."""
    switches = [word for each in settings for word in ("-c", each)]
    words = ["git", *switches, "clone", "-q", "--shared", str(ROOT), str(folder)]
    before = os.umask(umask)
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    finally:
        os.umask(before)
    if done.returncode:
        pytest.skip(f"this tree is no repository of git: {done.stderr.strip()}")
    return folder


def test_two_checkouts_give_the_same_bytes_whatever_the_machine(
    build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With other dates, rights, languages, line endings, orders of files and caches; a change still shows."""
    wheel = tmp_path / "six-1.17.0-py2.py3-none-any.whl"
    wheel.write_bytes(b"a wheel")

    def packed(tree: Path) -> bytes:
        build.platform_zip(tmp_path / "k.zip", tree, "linux-x64", [wheel], 0)
        return (tmp_path / "k.zip").read_bytes()

    first, other = checkout(tmp_path / "one"), checkout(tmp_path / "two", "core.autocrlf=true", umask=0o077)
    reference = packed(first)
    for number, path in enumerate(other.rglob("*")):
        os.utime(path, (1e9 + number, 1e9 + number))
    for left_lying in ("addon/__pycache__/x.pyc", "addon/.mypy_cache/a", "sample_models/rover/rover.blend1"):
        (other / left_lying).parent.mkdir(parents=True, exist_ok=True)
        (other / left_lying).write_text("no part of it")
    monkeypatch.setenv("LC_ALL", "tr_TR.UTF-8")
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    backwards = Path.rglob
    monkeypatch.setattr(Path, "rglob", lambda self, pattern: reversed(list(backwards(self, pattern))))
    assert packed(other) == reference
    with zipfile.ZipFile(tmp_path / "k.zip") as archive:
        names = archive.namelist()
        assert not [name for name in names if "test" in name.split("/")[0] or name.endswith((".blend1", ".pyc"))]
        assert {entry.external_attr >> 16 for entry in archive.infolist()} == {0o644}
        assert {entry.compress_type for entry in archive.infolist()} == {zipfile.ZIP_STORED}
        assert {"blender_manifest.toml", "installation.py", "sample_models/rover/rover.jm"} <= set(names)
    (other / "addon/cli/output.py").write_text("changed")
    assert packed(other) != reference


def test_sums_are_written_for_the_programs_that_check_them(
    build: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("knuckle-1-linux-x64.zip", "knuckle-1-macos-x64.zip", "knuckle-0-linux-x64.zip"):
        (tmp_path / name).write_text(name)
    build.write_sums(tmp_path, "knuckle-1-*.zip")
    lines = (tmp_path / "SHA256SUMS").read_bytes().decode().splitlines()
    assert [line.split("  ")[1] for line in lines] == ["knuckle-1-linux-x64.zip", "knuckle-1-macos-x64.zip"]
    for line in lines:
        digest, name = line.split("  ")
        assert digest == hashlib.sha256(name.encode()).hexdigest()
    assert capsys.readouterr().out.splitlines() == lines


def test_the_date_in_the_zip_may_be_given(build: ModuleType, tree: Path, tmp_path: Path) -> None:
    for timestamp, date in ((0, (1980, 1, 1, 0, 0, 0)), (1_000_000_000, (2001, 9, 9, 1, 46, 40))):
        pack(build, tree, tmp_path / "k.zip", timestamp)
        with zipfile.ZipFile(tmp_path / "k.zip") as archive:
            assert {entry.date_time for entry in archive.infolist()} == {date}


def test_the_manifest_is_one_that_blender_takes(build: ModuleType) -> None:
    tomllib = pytest.importorskip("tomllib")
    text = (ROOT / "blender_manifest.toml").read_text(encoding="utf-8")
    manifest = tomllib.loads(text)
    assert build.manifest_value(text, "id") == manifest["id"] == "knuckle"
    assert build.manifest_value(text, "version") == manifest["version"]
    assert manifest["license"] == ["SPDX:GPL-3.0-or-later"]
    assert set(manifest["tags"]) == BLENDER_TAGS
    for sentence in (manifest["tagline"], *manifest["permissions"].values()):
        assert len(sentence) <= 64
        assert sentence[-1].isalnum()


# ---- the command line


def test_help_has_examples(tmp_path: Path) -> None:
    done = run_build("--help", KNUCKLE_CACHE=str(tmp_path))
    assert done.returncode == 0
    for verb in ("demo", "test", "bench", "zip", "docs", "check"):
        assert f"python3 build.py {verb}" in done.stdout


@pytest.mark.parametrize("words", [[], ["dance"], ["zip", "--platform", "amiga"], ["zip", "extra"], ["demo", "--fast"]])
def test_wrong_usage_is_2(tmp_path: Path, words: list[str]) -> None:
    done = run_build(*words, KNUCKLE_CACHE=str(tmp_path))
    assert done.returncode == 2
    assert "usage:" in done.stderr


def test_a_whole_run_passes_over_no_folder_of_tests(pytestconfig: pytest.Config) -> None:
    folders = {name for path in (ROOT / "tests").rglob("test_*.py") for name in path.relative_to(ROOT).parts[:-1]}
    assert "build" in folders
    passed_over = pytestconfig.getini("norecursedirs")
    assert not [name for name in folders if any(fnmatch.fnmatch(name, pattern) for pattern in passed_over)]


def test_words_for_pytest_pass_through_in_order(build: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[object, ...]] = []
    monkeypatch.setattr(build, "blender_python", lambda series: Path("python", series))
    monkeypatch.setattr(build, "references", lambda make: {})
    monkeypatch.setattr(build, "other_blenders", dict)
    monkeypatch.setattr(build, "call", lambda python, *words, variables: calls.append((python, *words)) or 5)
    assert build.main(["test", "tests/formats", "--blender", "4.2", "-k", "juice and not slow", "-x"]) == 5
    words = ("-m", "pytest", "-q", "tests/formats", "-k", "juice and not slow", "-x")
    assert calls == [(Path("python", "4.2"), *words)]


# ---- several Blenders


@pytest.fixture
def cells() -> list[str | None]:
    """Which cells of the edit matrix each run was told to test."""
    return []


@pytest.fixture
def endings(
    build: ModuleType, monkeypatch: pytest.MonkeyPatch, cells: list[str | None]
) -> list[tuple[str, tuple[str, ...]]]:
    """Stands in for pytest in every Blender: 4.5 fails, 5.2 cannot be set up. Gives what ran with which words."""
    ran: list[tuple[str, tuple[str, ...]]] = []

    def blender_python(series: str) -> Path:
        if series == "5.2":
            raise build.Trouble("no Python 3.13")
        return Path(series)

    def call(python: Path, *words: str, variables: Mapping[str, str]) -> int:
        ran.append((str(python), words))
        cells.append(variables.get("KNUCKLE_MATRIX"))
        results = next(word for word in words if word.startswith("--junit-xml=")).removeprefix("--junit-xml=")
        failed = str(python) == "4.5"
        counts = f'errors="{int(failed)}" failures="{2 * failed}" skipped="3" tests="20"'
        Path(results).write_text(f"<testsuites><testsuite {counts}/></testsuites>")
        return int(failed)

    monkeypatch.setattr(build, "blender_python", blender_python)
    monkeypatch.setattr(build, "references", lambda make: {})
    monkeypatch.setattr(build, "other_blenders", dict)
    monkeypatch.setattr(build, "call", call)
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
    monkeypatch.setattr(build, "ready_python", lambda recipe: None)
    monkeypatch.setattr(build, "find_python", lambda version: ["python"] if there or version == (3, 11) else None)
    monkeypatch.setattr(build, "blender_python", Path)
    assert build.main(["test", "--ci"]) == 1, "4.5 fails here"
    expected = [("4.2", False, "tenth"), ("4.5", True, "tenth"), ("5.0", False, "third"), ("5.2", True, "tenth")]
    ran = [(series, "core" in words) for series, words in endings]
    assert list(zip(*zip(*ran, strict=True), cells, strict=True)) == expected[: 4 if there else 3]
    assert all("--numprocesses" in words for _series, words in endings)


def test_other_runs_leave_the_edit_matrix_to_its_own_choice(
    build: ModuleType, endings: list[tuple[str, tuple[str, ...]]], cells: list[str | None]
) -> None:
    build.main(["test", "--blender", "all", "-k", "juice"])
    assert len(endings) == len(cells) == 3
    assert set(cells) == {None}


def test_ci_is_this_command() -> None:
    assert "build.py test --ci" in (ROOT / ".ci/run").read_text(encoding="utf-8")


def test_results_of_pytest_are_counted(build: ModuleType, tmp_path: Path) -> None:
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
    assert build.counted(tmp_path / "r.xml") == {"passed": 2, "failed": 2, "skipped": 1}


def test_the_core_is_of_files_that_there_are(pytestconfig: pytest.Config) -> None:
    from tests.core_suite import CORE

    assert [path for path in sorted(CORE) if not (ROOT / path).is_file()] == []
    assert any(line.startswith("core:") for line in pytestconfig.getini("markers"))


def test_tests_are_told_of_the_other_blenders_that_are_set_up(
    build: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "ready_python", lambda recipe: Path(recipe.name) if "4." in recipe.name else None)
    monkeypatch.delenv("KNUCKLE_BLENDER_42", raising=False)
    monkeypatch.setenv("KNUCKLE_BLENDER_45", "mine")
    assert build.other_blenders() == {"KNUCKLE_BLENDER_42": "blender-4.2"}


def test_the_demo_is_the_hexapod_walking_unless_told_otherwise(
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
