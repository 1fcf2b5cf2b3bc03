"""Virtual environments in the cache folder, one for each dependency group of ``pyproject.toml`` that is used.

An environment is named after its group and a digest of ``uv.lock``, so that trees and commits with the same lock share
it and others do not disturb each other.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple, Optional

from tools.console import ROOT, YELLOW, BuildError, run_quietly, say, step
from tools.uv import cache, exported, find_python, locked, make_venv, python_in, uv, uv_environ

#: For what does without Blender. Sphinx and the programs to compare with have no wheels for newer ones yet.
ANY_PYTHON = "cpython>=3.11,<3.14"


class Environment(NamedTuple):
    """A dependency group of ``pyproject.toml``, and the Python it is installed for, as uv is asked for it."""

    group: str
    python: str = ANY_PYTHON


BLENDERS = {
    "4.2": Environment("blender-4-2", "3.11"),
    "4.5": Environment("blender-4-5", "3.11"),
    "5.0": Environment("blender-5-0", "3.11"),
    "5.2": Environment("blender-5-2", "3.13"),
}
#: Tried in this order where the user names none.
DEFAULT_BLENDERS = ("5.0", "5.2")
TOOLS, DOCS, FUZZ = Environment("tools"), Environment("docs"), Environment("fuzz")
#: Programs that tests compare with, by the variable that names a Python with each.
REFERENCES = {
    "KNUCKLE_DARTPY": Environment("dartpy"),
    "KNUCKLE_RING": Environment("imt-ring"),
    "KNUCKLE_MUJOCO": Environment("mujoco"),
}

UV_FAILED = """uv could not install what is needed; its message is above. It needs the network this once.
Behind a proxy with a certificate of its own set
  UV_SYSTEM_CERTS=true
If the package index knows no such bpy: Blender has an index of its own, so set
  UV_INDEX=https://download.blender.org/pypi/
and try again."""


def folder_of(environment: Environment) -> Path:
    """Return where an environment is or will be."""
    lock = (ROOT / "uv.lock").read_bytes().replace(b"\r\n", b"\n")
    return cache() / "envs" / f"{environment.group}-{hashlib.sha256(lock).hexdigest()[:10]}"


def is_ready(env: Path) -> bool:
    """Return whether a folder is a whole environment whose Python is still installed; the marker is written last."""
    return (env / "knuckle-ready").is_file() and python_in(env).exists()


def ready_python(environment: Environment) -> Optional[Path]:
    """Return the Python of an environment that was made before, or None."""
    env = folder_of(environment)
    return python_in(env) if is_ready(env) else None


def python_of(environment: Environment, quiet: bool = False) -> Path:
    """Return the Python of an environment; makes it where it is not there yet.

    Args:
        environment: What to make.
        quiet: Show nothing of what uv prints, but put it into the error.

    Raises:
        BuildError: There is no Python for it, or packages cannot be installed.
    """
    env = folder_of(environment)
    if is_ready(env):
        return python_in(env)
    with locked(env.with_name(env.name + ".lock")):
        if is_ready(env):  # another process has made it meanwhile
            return python_in(env)
        say(f"Setting up {environment.group} in {env}")
        shutil.rmtree(env, ignore_errors=True)
        # `uv sync` would do all this, but always downloads from the index that is in the lock file: measured with 0.13
        requirements = env.with_name(env.name + ".txt")
        requirements.write_text(exported(environment.group), encoding="utf-8")
        make_venv(env, environment.python, environment.group)
        words = [uv(), "pip", "sync", "--require-hashes", "--only-binary", ":all:", "--python", str(env)]
        words.append(str(requirements))
        with step(f"installing {environment.group}"):
            if quiet:
                run_quietly(words, "uv could not install it:", uv_environ())
            elif subprocess.call(words, env=uv_environ()):
                raise BuildError(UV_FAILED)
        (env / "knuckle-ready").touch()
    return python_in(env)


def blender_python(series: Optional[str]) -> Path:
    """Return the Python of a Blender; of the first default one that is there or has its Python where none is named."""
    named = [BLENDERS[name] for name in ([series] if series else DEFAULT_BLENDERS)]
    chosen = (each for each in named if ready_python(each) or (not series and find_python(each.python)))
    return python_of(next(chosen, named[0]))


def other_blenders() -> dict[str, str]:
    """Return variables for the tests that open what another Blender saved: the Pythons of those that are set up."""
    made = {f"KNUCKLE_BLENDER_{series.replace('.', '')}": ready_python(each) for series, each in BLENDERS.items()}
    return {variable: str(python) for variable, python in made.items() if python and variable not in os.environ}


def references(make: bool, environments: Mapping[str, Environment] = REFERENCES) -> dict[str, str]:
    """Return variables for the tests: the Pythons with the programs to compare with, or why there is none.

    Args:
        make: Set up what is not there yet.
        environments: Which, by variable. Those that the user has set, be it to nothing, are left alone.
    """
    found = {}
    for variable, environment in environments.items():
        if variable in os.environ:
            continue
        try:
            python = ready_python(environment) or (python_of(environment, quiet=True) if make else None)
            reason = f"{environment.group} is not set up: `build.py test` or `bench` does it, with no further words"
        except (BuildError, OSError) as error:
            say(str(error))
            python, reason = None, f"{environment.group} cannot be installed here"
        if python:
            found[variable] = str(python)
        else:
            say(f"{reason}; what compares with it is skipped.", YELLOW)
            found[f"{variable}_MISSING"] = reason
    return found


def call(python: Path, *arguments: str, variables: Optional[Mapping[str, str]] = None) -> int:
    """Run an environment's Python in the project's folder, on our package and on nobody's Blender settings.

    Returns:
        Its exit code.
    """
    settings = python.parent.parent / "blender-user"
    settings.mkdir(exist_ok=True)
    environ = {**os.environ, **(variables or {}), "PYTHONPATH": str(ROOT), "PYTHONNOUSERSITE": "1"}
    environ.setdefault("BLENDER_USER_RESOURCES", str(settings))
    environ.setdefault("KNUCKLE_CACHE", str(cache()))  # for the tests to keep what is long in the making
    return subprocess.call([str(python), *arguments], cwd=ROOT, env=environ)


def set_up(environments: Iterable[Environment]) -> None:
    """Make environments as far as that is possible."""
    for environment in environments:
        try:
            python_of(environment)
        except BuildError as error:
            say(str(error), YELLOW)
