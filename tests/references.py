"""What tests compare with: real files, and the programs whose formats they are, in Pythons of their own, which
``build.py test`` sets up."""

from __future__ import annotations

import os
from pathlib import Path

CORPUS = Path(os.environ.get("KNUCKLE_CORPUS", Path(__file__).resolve().parents[2] / "shared" / "corpus"))


def _python(variable: str, program: str) -> tuple[str, str]:
    """The Python that a variable names, and why there is none where it names none."""
    why = os.environ.get(f"{variable}_MISSING") or f"{variable} names no Python with {program}"
    return os.environ.get(variable, ""), why


DARTPY, NO_DARTPY = _python("KNUCKLE_DARTPY", "dartpy")
RING, NO_RING = _python("KNUCKLE_RING", "imt-ring")
MUJOCO, NO_MUJOCO = _python("KNUCKLE_MUJOCO", "MuJoCo")
