"""How ``build.py`` comes by uv, Pythons and environments (``tools/uv.py``, ``tools/environments.py``).

uv and pip are stood in for by shell scripts. Where uv itself is here, it tells what uv.lock has.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import time
import tomllib
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from tools import environments, uv
from tools.console import BuildError

ROOT = Path(__file__).resolve().parents[1]
IT = environments.Environment("it", "3.11")
#: What the package imports besides Blender's own modules, and what that needs.
MESHES = {"trimesh", "pycollada", "python-dateutil", "six"}
PLOTTING = {"matplotlib", "contourpy", "kiwisolver", "pillow", "cycler", "fonttools", "packaging", "pyparsing"}

needs_sh = pytest.mark.skipif(os.name == "nt", reason="the stand-ins for programs are shell scripts")
needs_uv = pytest.mark.skipif(not uv.is_here(), reason="uv is not here: build.py fetches it")


def script(path: Path, *lines: str) -> Path:
    """A program that is a shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return path


# ---- the lock file


def lock() -> dict[str, Any]:
    return tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))


def test_every_file_of_the_lock_has_a_hash_and_comes_from_pypi() -> None:
    packages = [package for package in lock()["package"] if package["name"] != "knuckle"]
    assert len(packages) > 100
    for package in packages:
        assert package["source"] == {"registry": "https://pypi.org/simple"}, package["name"]
        assert package["wheels"], f"{package['name']} would have to be built"
        assert all(wheel["hash"].startswith("sha256:") for wheel in package["wheels"])


@needs_uv
def test_the_lock_is_of_this_project() -> None:
    words = [uv.uv(), "lock", "--check", "--offline"]
    done = subprocess.run(words, cwd=ROOT, env=uv.uv_environ(index=False), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@needs_uv
@pytest.mark.parametrize(
    ("series", "python", "numpy"),
    [("4.2", "3.11", "1.26.4"), ("4.5", "3.11", "1.26.4"), ("5.0", "3.11", "1.26.4"), ("5.2", "3.13", "2.5.5")],
)
def test_each_blender_has_its_python_its_numpy_and_what_the_package_imports(
    series: str, python: str, numpy: str
) -> None:
    environment = environments.BLENDERS[series]
    assert environment.python == python
    lines = uv.exported(environment.group, "--no-hashes").splitlines()
    pins = dict(line.split(" ;")[0].strip().split("==") for line in lines)
    assert pins["bpy"].startswith(f"{series}.")
    assert pins["numpy"] == numpy
    assert pins.keys() >= {"lxml", *MESHES, *PLOTTING, "pytest", "pytest-xdist", "hypothesis", "coverage", "pip"}


@needs_uv
def test_this_environment_has_the_versions_of_the_lock_file() -> None:
    """As uv installed it: the records of the packages themselves."""
    bpy = pytest.importorskip("bpy", reason="this is no Blender's environment")
    group = f"blender-{bpy.app.version[0]}-{bpy.app.version[1]}"
    lines = uv.exported(group, "--no-hashes").splitlines()
    pins = {tuple(line.split(" ;")[0].strip().split("==")) for line in lines}
    own = metadata.distributions(path=[sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    here = {(each.name.lower().replace("_", "-"), each.version) for each in own}
    assert {name for name, _version in here & pins} >= {"bpy", "numpy", "lxml", "matplotlib", "trimesh", "pytest"}
    assert {name for name, _version in here} <= {name for name, _version in pins}, "nothing else is installed"


def test_what_is_bundled_is_all_that_matplotlib_asks_for() -> None:
    """By its own metadata; numpy is Blender's."""
    needs = [need for need in metadata.requires("matplotlib") or [] if "extra ==" not in need]
    names = {need.split(">")[0].split("<")[0].split("=")[0].split("!")[0].strip().lower() for need in needs}
    assert names == PLOTTING - {"matplotlib"} | {"numpy", "python-dateutil"}


# ---- uv itself


@needs_sh
@pytest.mark.parametrize(
    ("told", "recent"),
    [("uv 0.13.9 (x)", True), ("uv 1.0.0", True), ("uv 0.8.0", True), ("uv 0.7.22 (x)", False), ("nothing", False)],
)
def test_an_old_uv_on_the_path_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str, recent: bool
) -> None:
    there = script(tmp_path / "bin/uv", f"echo '{told}'")
    fetched = tmp_path / "cache" / uv.UV.replace("==", "-") / "bin/uv"
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("KNUCKLE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(uv, "pip", lambda folder: [str(script(tmp_path / "pip", PIP))])
    assert uv.uv.__wrapped__() == str(there if recent else fetched)
    assert fetched.is_file() is not recent


#: Installs a program ``uv`` into the folder after ``--target``.
PIP = 'PATH=/usr/bin:/bin; while [ "$1" != --target ]; do shift; done; mkdir -p "$2/bin"; touch "$2/bin/uv"'


@needs_sh
def test_where_pip_cannot_fetch_uv_the_message_has_other_ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("KNUCKLE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(uv, "pip", lambda folder: [str(script(tmp_path / "pip", "echo no network; exit 1"))])
    with pytest.raises(BuildError) as caught:
        uv.uv.__wrapped__()
    assert "pip could not install it" in str(caught.value)
    assert "pipx install uv" in str(caught.value) and "winget" in str(caught.value)
    assert "no network" in str(caught.value)


def test_uv_uses_the_index_and_certificates_of_pip() -> None:
    """In the form of pip's own list, whose first lines, its variables, count most."""
    config = (
        ":env:.default-timeout='60'\n:env:.index-url='https://mine/simple'\n"
        "global.cert='/etc/ssl/mine.pem'\nglobal.index-url='https://ours/simple'\ninstall.no-index='0'\n"
    )
    expected = {"UV_DEFAULT_INDEX": "https://mine/simple", "SSL_CERT_FILE": "/etc/ssl/mine.pem"}
    assert uv.index_settings(config) == expected
    assert uv.index_settings("") == {}


def test_pip_really_lists_its_settings_so(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pip", reason="pip is not here")
    monkeypatch.delenv("UV_DEFAULT_INDEX", raising=False)
    monkeypatch.delenv("UV_INDEX_URL", raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", "https://mine/simple")
    assert uv.uv_environ()["UV_DEFAULT_INDEX"] == "https://mine/simple"
    assert "UV_DEFAULT_INDEX" not in uv.uv_environ(index=False)
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://other/simple")
    assert uv.uv_environ()["UV_DEFAULT_INDEX"] == "https://other/simple"


# ---- Pythons


def test_pythons_are_sought_here_on_path_and_in_pyenv_but_not_in_its_shims(tmp_path: Path) -> None:
    for version in ("2.7.18", "3.11.7", "3.13.0"):
        (tmp_path / ".pyenv/versions" / version / "bin").mkdir(parents=True)
    path = os.pathsep.join(("/a", "", str(tmp_path / ".pyenv/shims"), "/b"))
    folders = uv.python_path(path, {}, tmp_path).split(os.pathsep)
    pyenv = tmp_path / ".pyenv/versions"
    assert folders[:5] == [
        str(Path(sys.executable).parent),
        "/a",
        "/b",
        str(pyenv / "3.13.0/bin"),
        str(pyenv / "3.11.7/bin"),
    ]
    assert not any("2.7" in folder or "shims" in folder for folder in folders)


@needs_uv
def test_uv_finds_this_python_and_none_that_is_not_there() -> None:
    found = uv.find_python("{}.{}".format(*sys.version_info))
    assert found
    told = subprocess.check_output([found, "-c", "import sys; print(*sys.version_info[:2])"], text=True).split()
    assert told == [str(part) for part in sys.version_info[:2]]
    assert uv.find_python("3.99") is None


@needs_uv
def test_a_python_that_uv_cannot_provide_is_reported_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS", "never")
    with pytest.raises(BuildError) as caught:
        uv.make_venv(tmp_path / "it", "3.99", "blender-9-9")
    message = str(caught.value)
    assert message.startswith("blender-9-9 needs a 64-bit Python 3.99")
    assert "apt install python3.99" in message and "winget install Python.Python.3.99" in message
    assert "5.2 needs Python 3.13" in message
    assert "uv says" in message and "3.99" in message.split("uv says")[1]


@pytest.mark.parametrize(
    ("there", "ready", "series"),
    [
        ({"3.11", "3.13"}, set(), "blender-5-0"),
        ({"3.13"}, set(), "blender-5-2"),
        (set(), {"blender-5-2"}, "blender-5-2"),
        (set(), set(), "blender-5-0"),  # for which uv may download a Python
    ],
)
def test_the_default_blender_is_chosen_by_the_pythons_there_are(
    monkeypatch: pytest.MonkeyPatch, there: set[str], ready: set[str], series: str
) -> None:
    monkeypatch.setattr(environments, "find_python", lambda request: request if request in there else None)
    monkeypatch.setattr(environments, "ready_python", lambda each: Path("python") if each.group in ready else None)
    monkeypatch.setattr(environments, "python_of", lambda each: Path(each.group))
    assert environments.blender_python(None) == Path(series)
    assert environments.blender_python("4.2") == Path("blender-4-2")


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
def test_the_cache_is_outside_the_tree(environ: Mapping[str, str], platform: str, place: str) -> None:
    assert uv.cache_dir(environ, Path("/home/me"), platform) == Path(place)


def test_a_half_made_environment_is_not_ready(tmp_path: Path) -> None:
    assert not environments.is_ready(tmp_path)
    python = uv.python_in(tmp_path)
    python.parent.mkdir()
    python.write_text("")
    assert not environments.is_ready(tmp_path)
    (tmp_path / "knuckle-ready").write_text("")
    assert environments.is_ready(tmp_path)
    python.unlink()  # its Python was uninstalled
    assert not environments.is_ready(tmp_path)


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], int]:
    """Have a stand-in for uv run this shell script when it is to install packages; gives how often it was asked."""
    tries = tmp_path / "tries"
    monkeypatch.setenv("KNUCKLE_CACHE", str(tmp_path))
    monkeypatch.setattr(uv, "pip_config", str)

    def installed(sync: str) -> int:
        venv = 'for env; do :; done; mkdir -p "$env/bin"; touch "$env/bin/python"'
        cases = f"export) echo thing==1;; venv) {venv};; pip) echo try >> {tries}; {sync};;"
        program = str(script(tmp_path / "uv-here", f'case "$1" in {cases} esac'))
        for module in (uv, environments):
            monkeypatch.setattr(module, "uv", lambda: program)
        return len(tries.read_text().splitlines()) if tries.exists() else 0

    return installed


@needs_sh
def test_an_incomplete_environment_is_rebuilt_and_then_used_again(install: Callable[[str], int]) -> None:
    env = environments.folder_of(IT)
    (env / "bin").mkdir(parents=True)
    (env / "left over").write_text("")
    install("exit 0")
    assert environments.python_of(IT) == env / "bin/python"
    assert environments.is_ready(env)
    assert not (env / "left over").exists()
    assert environments.python_of(IT) == env / "bin/python"
    assert install("exit 0") == 1


@needs_sh
def test_an_environment_that_uv_could_not_fill_is_not_ready(install: Callable[[str], int]) -> None:
    install("exit 1")
    with pytest.raises(BuildError, match="uv could not install"):
        environments.python_of(IT)
    assert environments.ready_python(IT) is None


def test_an_environment_is_named_after_its_group_and_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KNUCKLE_CACHE", str(tmp_path))
    monkeypatch.setattr(environments, "ROOT", tmp_path)
    names = []
    for text in (b"a\nb", b"a\r\nb", b"c"):
        (tmp_path / "uv.lock").write_bytes(text)
        names.append(environments.folder_of(IT).name)
    assert names[0] == names[1] != names[2]
    assert all(name.startswith("it-") for name in names)


def test_two_builds_at_once_wait_for_each_other(tmp_path: Path) -> None:
    holder = (
        "import pathlib, sys, time\n"
        "from tools.uv import locked\n"
        "with locked(pathlib.Path(sys.argv[1])):\n"
        "    print('held', flush=True); time.sleep(0.6)\n"
    )
    lock_file = tmp_path / "it.lock"
    with subprocess.Popen(
        [sys.executable, "-c", holder, str(lock_file)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout and other.stdout.readline() == "held\n"
        start = time.monotonic()
        with uv.locked(lock_file):
            assert time.monotonic() - start > 0.3
    with uv.locked(lock_file):  # free again
        pass


# ---- the programs that tests compare with

ONE = {"KNUCKLE_IT": IT}


@needs_sh
def test_a_program_to_compare_with_is_installed_once_and_named_to_the_tests(
    install: Callable[[str], int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KNUCKLE_IT", raising=False)
    install("exit 0")
    found = environments.references(True, ONE)
    assert list(found) == ["KNUCKLE_IT"]
    assert Path(found["KNUCKLE_IT"]).is_relative_to(tmp_path / "envs")
    assert environments.references(True, ONE) == environments.references(False, ONE) == found
    assert install("exit 0") == 1
    monkeypatch.setenv("KNUCKLE_IT", "")  # the user does without
    assert environments.references(True, ONE) == {}


@needs_sh
def test_a_part_of_the_tests_downloads_nothing(
    install: Callable[[str], int], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KNUCKLE_IT", raising=False)
    install("exit 0")
    assert list(environments.references(False, ONE)) == ["KNUCKLE_IT_MISSING"]
    assert install("exit 0") == 0
    assert "is not set up" in capsys.readouterr().out


@needs_sh
def test_a_program_that_cannot_be_installed_is_reported_and_skipped(
    install: Callable[[str], int], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KNUCKLE_IT", raising=False)
    install("echo no such wheel; exit 1")
    found = environments.references(True, ONE)
    assert found == {"KNUCKLE_IT_MISSING": "it cannot be installed here"}
    assert "no such wheel" in capsys.readouterr().out
    assert install("exit 0") == 1
    assert list(environments.references(True, ONE)) == ["KNUCKLE_IT"]
