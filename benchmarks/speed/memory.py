"""How much memory an import takes at most, beside the floor's scene, with frames where the file has them: each in a
process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from addon import formats
from benchmarks.mechanisms import written
from benchmarks.table import Row

SIZES, FULL, QUICK = (100, 300, 1000), (100, 1000, 5000), (10, 20, 40)
BAR, JUDGED = 1.5, 1000
#: Says how many MB more a process took at most after it did something than before; Linux counts in kB, macOS in bytes.
_SCRIPT = """
import resource, sys
import bpy, numpy, lxml.etree
from addon import formats
from addon.blender.build import BuildOptions, build
from benchmarks.floors import floor_import
from benchmarks.measuring import fresh
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
{warm}
fresh()
before = peak()
{work}
print("MB", peak() - before)
"""
_BUILD = "build(formats.load({!r}), bpy.context, BuildOptions())"


def rows(sizes: Sequence[int], folder: Path) -> Iterator[Row]:
    """From each format; a small model first, so that what is loaded but once is not counted."""
    small = {name: _BUILD.format(str(path)) for name, path in written(folder, 5).items()}
    for size in sizes:
        files = written(folder, size)
        frames = {name: len(formats.load(path).frames) for name, path in files.items()}
        floors = {each: _peak("floor_import(5, 0)", f"floor_import({size}, 0, {each})") for each in frames.values()}
        for name, path in files.items():
            ours = _peak(small[name], _BUILD.format(str(path)))
            bar = BAR if size >= JUDGED else None
            floor = floors[frames[name]]
            yield Row(f"memory of an import from {name}", size, "bodies", ours, floor, "baseline", bar, measure="MB")


def _peak(warm: str, work: str) -> float:
    script = _SCRIPT.format(warm=warm, work=work)
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    return max(0.1, float(next(line.split()[1] for line in told.splitlines() if line.startswith("MB "))))
