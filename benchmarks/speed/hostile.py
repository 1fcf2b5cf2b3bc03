"""What files cost that were made to be dear: time and memory of each reader on each shape of ``tests/fuzz/grown.py``,
each in a process of its own. What refuses a file is measured as well. Beside them what ordinary files cost: a model of
a thousand bodies in each format, and the largest real files."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.mechanisms import written
from benchmarks.speed.parsing import largest
from benchmarks.table import Row
from tests.fuzz.grown import GROWN
from tests.support.references import CORPUS

#: Bytes of a file.
SIZES, QUICK = (100_000, 300_000, 1_000_000), (10_000,)
#: Bodies of an ordinary model.
BODIES, QUICK_BODIES = 1000, 20
#: Seconds that a file of the largest size may take, and how many times its bytes, beside what is taken for any file.
SECONDS, TIMES, CONSTANT = 5.0, 20.0, 20e6
#: Says seconds of the processor, and how many bytes more a process took at most than before. Linux counts in kB, and
#: tells ``resource`` the most of whoever started the process where that was more.
_SCRIPT = """
import resource, sys, time
from pathlib import Path
from benchmarks.growth import read
def used():
    if sys.platform == "linux":
        told = Path("/proc/self/status").read_text()
        return int(told.partition("VmHWM:")[2].split()[0]) * 1000
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1000)
reader, small, path = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
read(reader, small.read_bytes(), small.parent)
before, start = used(), time.process_time()
told = read(reader, path.read_bytes(), path.parent)
print("TOOK", time.process_time() - start, used() - before, told)
"""


def rows(sizes: Sequence[int], folder: Path) -> Iterator[Row]:
    """The time of each, and the memory beside what it may take."""
    for reader, shapes in GROWN.items():
        for shape in shapes:
            for size in sizes:
                seconds, memory, _told = cost(reader, shape, size, folder)
                time_bar, memory_bar = (SECONDS, 1.0) if size == SIZES[-1] else (None, None)
                what, used, most = f"hostile {reader}: {shape}", memory / 1e6, (TIMES * size + CONSTANT) / 1e6
                yield Row(what, size, "bytes", seconds, bar=time_bar)
                yield Row(f"{what}, memory", size, "bytes", used, most, "limit", memory_bar, measure="MB")
    yield from ordinary(sizes, folder)


def ordinary(sizes: Sequence[int], folder: Path) -> Iterator[Row]:
    """The memory of files as people have them."""
    bodies = BODIES if sizes[-1] == SIZES[-1] else min(BODIES, QUICK_BODIES)
    few = written(folder, 2)
    for reader, path in written(folder, bodies).items():
        real = [each for _, each in largest(reader)] if (CORPUS / reader).is_dir() else []
        for each in (path, *real):
            size = each.stat().st_size
            _seconds, memory, _told = cost_of(reader, few[reader], each)
            most = (TIMES * size + CONSTANT) / 1e6
            what = f"ordinary {reader}: {each.name}, memory"
            yield Row(what, size, "bytes", memory / 1e6, most, "limit", 1.0, measure="MB")


def cost(reader: str, shape: str, size: int, folder: Path) -> tuple[float, float, str]:
    """Seconds, bytes, and whether it is read or why not."""
    suffix = "dae" if reader == "collada" else reader
    small, path = folder / f"small.{suffix}", folder / f"grown.{suffix}"
    small.write_bytes(GROWN[reader][shape](1000))
    path.write_bytes(GROWN[reader][shape](size))
    return cost_of(reader, small, path)


def cost_of(reader: str, small: Path, path: Path) -> tuple[float, float, str]:
    """The same for a file, beyond what reading a small one took."""
    command = [sys.executable, "-c", _SCRIPT, reader, str(small), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100)
    seconds, memory, told = next(line for line in done.stdout.splitlines() if line.startswith("TOOK")).split(" ", 3)[1:]
    return float(seconds), float(memory), told
