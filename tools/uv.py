"""uv: found on PATH or fetched from PyPI, and called with the Pythons and the package index of this machine."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Optional

from tools.console import run_quietly, say, step

#: Fetched where there is none, or only one older than ``OLDEST`` (the first that reads our ``uv.lock``).
UV = "uv==0.13.9"
OLDEST = (0, 8)

NO_UV = """uv is not here and pip could not install it. Check the network, or install uv in another way, with one of:
  apt install python3-pip | pipx install uv | brew install uv | winget install astral-sh.uv
and try again."""

NO_PYTHON = """{name} needs a 64-bit Python {python}: there is none on PATH or in pyenv, and uv could not download one.
Install one and try again, with whichever of these you have:
  apt install python{python} | dnf install python{python} | brew install python@{python}
  winget install Python.Python.{python} | pyenv install {python} | uv python install {python}
Or use another Blender: --blender 4.2, 4.5 and 5.0 need Python 3.11, --blender 5.2 needs Python 3.13."""


def cache_dir(environ: Mapping[str, str], home: Path, platform: str) -> Path:
    """Return the folder of environments and downloads: KNUCKLE_CACHE, or the platform's place for caches."""
    if environ.get("KNUCKLE_CACHE"):
        return Path(environ["KNUCKLE_CACHE"]).expanduser().resolve()
    if platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or home / "AppData/Local") / "knuckle"
    if platform == "darwin":
        return home / "Library/Caches/knuckle"
    return Path(environ.get("XDG_CACHE_HOME") or home / ".cache") / "knuckle"


def cache() -> Path:
    """Return the folder of environments and downloads on this machine."""
    return cache_dir(os.environ, Path.home(), sys.platform)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock file that the operating system frees if this process dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a+b") as handle:
        waited = False
        while not try_lock(handle.fileno()):
            if not waited:
                say(f"Another build.py is at work on {path.with_suffix('')}; waiting for it.")
                waited = True
            time.sleep(0.5)
        yield


def try_lock(descriptor: int) -> bool:
    """Lock an open file without waiting; False where another process holds it."""
    try:
        if sys.platform == "win32":
            import msvcrt  # noqa: PLC0415 - exists on Windows only

            os.lseek(descriptor, 0, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl  # noqa: PLC0415 - exists everywhere else

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def python_in(env: Path) -> Path:
    """Return the Python of a virtual environment."""
    return env / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def fetched_uv() -> Path:
    """Return where uv is or will be in the cache."""
    return cache() / UV.replace("==", "-") / "bin" / ("uv.exe" if os.name == "nt" else "uv")


def is_here() -> bool:
    """Return whether uv needs not be fetched."""
    there = shutil.which("uv")
    return fetched_uv().is_file() or bool(there and is_recent(there))


@functools.cache
def uv() -> str:
    """Return the path of uv; fetches it from PyPI into the cache where there is none."""
    there = shutil.which("uv")
    if there and is_recent(there):
        return there
    program = fetched_uv()
    folder = program.parents[1]
    with locked(folder.with_name(folder.name + ".lock")):
        if not program.is_file():
            partial = folder.with_name(folder.name + ".partial")
            shutil.rmtree(partial, ignore_errors=True)
            with step(f"installing {UV}, which makes the environments"):
                words = ["install", "--disable-pip-version-check", "--no-user", "--target", str(partial), UV]
                run_quietly([*pip(partial), *words], NO_UV)
            partial.replace(folder)
    return str(program)


def is_recent(program: str) -> bool:
    """Return whether a uv can read our lock file."""
    try:
        told = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return False
    found = re.match(r"uv (\d+)\.(\d+)", told)
    return bool(found) and (int(found[1]), int(found[2])) >= OLDEST  # type: ignore[index]


def pip(folder: Path) -> list[str]:
    """Return a command for pip: this Python's own, else that of a virtual environment made beside ``folder``."""
    if find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    env = folder.with_name("pip")
    run_quietly([sys.executable, "-m", "venv", "--clear", str(env)], NO_UV)
    return [str(python_in(env)), "-m", "pip"]


def uv_environ(index: bool = True) -> dict[str, str]:
    """Return environment variables for uv: where it looks for Pythons, keeps its cache and finds packages.

    Variables of uv's own that the user has set stay as they are.

    Args:
        index: Name the package index that pip is configured with. uv.lock itself is always of PyPI.
    """
    found = {**os.environ, "PATH": python_path(os.environ.get("PATH", ""), os.environ, Path.home())}
    found.setdefault("UV_CACHE_DIR", str(cache() / "uv"))
    if index and not {"UV_DEFAULT_INDEX", "UV_INDEX_URL"} & set(found):
        found.update(index_settings(pip_config()))
    return found


def python_path(path: str, environ: Mapping[str, str], home: Path) -> str:
    """Return PATH with this Python in front and the usual places of others at its end.

    uv asks the first ``python3.13`` on PATH and gives up on an error, which pyenv's shims answer for versions that are
    not switched on: they are left out, and the versions themselves are there instead.
    """
    pyenv = Path(environ.get("PYENV_ROOT") or home / ".pyenv")
    folders = [str(Path(sys.executable).parent), *filter(None, path.split(os.pathsep))]
    folders = [folder for folder in folders if Path(folder) != pyenv / "shims"]
    folders += map(str, sorted((pyenv / "versions").glob("3.*/bin"), reverse=True))
    folders += ["/opt/homebrew/bin", "/usr/local/bin"] if os.name != "nt" else []
    return os.pathsep.join(folders)


def pip_config() -> str:
    """Return what pip is configured with, a ``section.key='value'`` on each line; nothing where there is no pip."""
    words = [sys.executable, "-m", "pip", "config", "list"]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def index_settings(config: str) -> dict[str, str]:
    """Return uv's variables for the package index and the certificates that pip is configured with."""
    names = {"index-url": "UV_DEFAULT_INDEX", "cert": "SSL_CERT_FILE"}
    found = re.findall(r"^[^.=]+\.(index-url|cert)='(.+)'$", config, re.MULTILINE)
    return {names[key]: value for key, value in reversed(found)}  # pip lists its variables, which count most, first


def find_python(request: str) -> Optional[str]:
    """Return the path of an installed Python (``3.11``, ``cpython>=3.11,<3.14``), or None."""
    words = [uv(), "python", "find", "--no-project", "--no-python-downloads", request]
    done = subprocess.run(words, env=uv_environ(), capture_output=True, text=True, check=False)
    return done.stdout.strip() or None if done.returncode == 0 else None


def make_venv(env: Path, request: str, name: str) -> None:
    """Make a virtual environment; uv downloads the Python where there is none.

    Raises:
        BuildError: There is no such Python and it cannot be downloaded; says what to install.
    """
    failure = NO_PYTHON.format(name=name, python=re.findall(r"3\.\d+", request)[0])
    words = [uv(), "venv", "--no-project", "--python", request, str(env)]
    run_quietly(words, f"{failure}\nuv says:", uv_environ())


def exported(group: str, *words: str) -> str:
    """Return what ``uv.lock`` has of a dependency group, with the hash of every file: as requirements unless told."""
    export = [uv(), "export", "--quiet", "--frozen", "--only-group", group, "--no-annotate", "--no-header", *words]
    return run_quietly(export, f"uv.lock has no group {group}: write it anew by build.py uv lock", uv_environ())
