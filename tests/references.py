"""The programs that tests compare with: Pythons of their own that have them, which ``build.py test`` sets up."""

from __future__ import annotations

import os


def _python(variable: str, program: str) -> tuple[str, str]:
    """The Python that a variable names, and why there is none where it names none."""
    why = os.environ.get(f"{variable}_MISSING") or f"{variable} names no Python with {program}"
    return os.environ.get(variable, ""), why


DARTPY, NO_DARTPY = _python("KNUCKLE_DARTPY", "dartpy")
RING, NO_RING = _python("KNUCKLE_RING", "imt-ring")
