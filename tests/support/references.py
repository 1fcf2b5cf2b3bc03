"""Helpers for tests against references: the corpus of real files, and reference programs in their own Pythons."""

# The reference programs are those whose formats they are; ``build.py test`` sets up their Pythons.

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

CORPUS = Path(os.environ.get("KNUCKLE_CORPUS", Path(__file__).resolve().parents[3] / "shared" / "corpus"))


def _python(variable: str, program: str) -> tuple[str, str]:
    """The Python that a variable names, and why there is none where it names none."""
    why = os.environ.get(f"{variable}_MISSING") or f"{variable} names no Python with {program}"
    return os.environ.get(variable, ""), why


DARTPY, NO_DARTPY = _python("KNUCKLE_DARTPY", "dartpy")
RING, NO_RING = _python("KNUCKLE_RING", "imt-ring")
MUJOCO, NO_MUJOCO = _python("KNUCKLE_MUJOCO", "MuJoCo")


def answered(
    python: str, script: Path, questions: Mapping[str, Any], content: Mapping[str, bytes] | None = None
) -> dict[str, Any]:
    """What a program says to each question (JSON in, JSON out, by the same names), asked in one go.

    It says the same to the same question every time, so its answers are kept in KNUCKLE_CACHE, where that is set.
    Where a question but names files, ``content`` is what is in them. An ``error`` is not kept: a machine with too much
    to do may have killed the program.
    """
    folder = Path(os.environ["KNUCKLE_CACHE"], "answers") if os.environ.get("KNUCKLE_CACHE") else None
    about = python.encode() + script.read_bytes()
    asks = content or {name: json.dumps(question).encode() for name, question in questions.items()}
    keys = {name: hashlib.sha256(about + asks[name]).hexdigest() for name in questions}
    found = {
        name: json.loads(kept.read_text())
        for name, key in keys.items()
        if folder and (kept := folder / f"{key}.json").is_file()
    }
    asked = {name: question for name, question in questions.items() if name not in found}
    if asked:
        words = [python, str(script)]
        done = subprocess.run(words, input=json.dumps(asked), capture_output=True, text=True, check=True)
        found |= json.loads(done.stdout)
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        for name in (name for name in asked if "error" not in found[name]):
            partial = folder / f"{keys[name]}.{os.getpid()}"
            partial.write_text(json.dumps(found[name]))
            partial.replace(folder / f"{keys[name]}.json")
    return found


def mujoco_missing() -> str:
    """Make MuJoCo importable here, from the Python that has it where this one has not; why not where that fails.

    A module for another version of Python cannot be imported, and Blender's numpy comes first.
    """
    with contextlib.suppress(ImportError):
        import_module("mujoco")
        return ""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    folder = Path(MUJOCO).parent.parent / f"lib/python{version}/site-packages"
    if not MUJOCO or not (folder / "mujoco").is_dir():
        return NO_MUJOCO if not MUJOCO else f"the MuJoCo of KNUCKLE_MUJOCO is not for Python {version}"
    sys.path.append(str(folder))
    import_module("mujoco")
    return ""
