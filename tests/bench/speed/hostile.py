"""What files cost that were made to be dear: time and memory of each reader on each shape of ``tests/fuzz/grown.py``,
each in a process of its own. What refuses a file is measured as well."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.bench.table import Row
from tests.fuzz.grown import GROWN

#: Bytes of a file.
SIZES, QUICK = (100_000, 300_000, 1_000_000), (10_000,)
#: Seconds that a file of the largest size may take, and how many times its bytes, beside what is taken for any file.
SECONDS, TIMES, CONSTANT = 5.0, 20.0, 20e6
#: Says seconds of the processor, and how many bytes more a process took at most than before; Linux counts in kB.
_SCRIPT = """
import resource, sys, time
from pathlib import Path
from addon import formats
from addon.formats.mesh_boxes import mesh_box
from addon.formats.wavefront import harmless
from addon.model.report import FormatError
from tests.fuzz.grown import GROWN
def obj(path):
    harmless(path, (), (), {})
    mesh_box(path)
def mtl(path):
    mesh = path.with_suffix(".obj")
    mesh.write_text(f"mtllib {path.name}")
    harmless(mesh, (), (), {})
READ = {"obj": obj, "stl": mesh_box, "ply": mesh_box, "collada": mesh_box, "mtl": mtl}
def used():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1000)
def read(path, reader):
    try:
        READ.get(reader, formats.load_motions if reader in formats.MOTION_FORMATS else formats.load)(path)
    except FormatError as error:
        return "refused: " + str(error).partition(": ")[2][:100]
    return "read"
folder, reader, shape, size = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
suffix = "." + {"collada": "dae"}.get(reader, reader)
small, path = folder / ("small" + suffix), folder / ("grown" + suffix)
small.write_bytes(GROWN[reader][shape](1000))
read(small, reader)
before, start = used(), time.process_time()
told = read(path, reader)
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
                yield Row(f"{what}, memory", size, "bytes", used, most, "most", memory_bar, measure="MB")


def cost(reader: str, shape: str, size: int, folder: Path) -> tuple[float, float, str]:
    """Seconds, bytes, and whether it is read or why not."""
    (folder / f"grown.{'dae' if reader == 'collada' else reader}").write_bytes(GROWN[reader][shape](size))
    command = [sys.executable, "-c", _SCRIPT, str(folder), reader, shape, str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100)
    seconds, memory, told = next(line for line in done.stdout.splitlines() if line.startswith("TOOK")).split(" ", 3)[1:]
    return float(seconds), float(memory), told
