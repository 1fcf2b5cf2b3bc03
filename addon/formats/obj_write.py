"""Meshes written as Wavefront .obj: points and polygons, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..core.model import Array

#: Blender's points are 32-bit numbers.
_DIGITS = 7


def obj_text(name: str, points: Array, polygons: Iterable[Sequence[int]]) -> str:
    """The text of an .obj with one object: its points (n, 3), and polygons by the numbers of their points, from 0."""
    lines = ["# knuckle", f"o {name.replace(chr(10), ' ')}"]
    lines += [f"v {' '.join(f'{float(x):.{_DIGITS}g}' for x in point)}" for point in points]
    lines += ["f " + " ".join(str(number + 1) for number in polygon) for polygon in polygons]
    return "\n".join(lines) + "\n"
