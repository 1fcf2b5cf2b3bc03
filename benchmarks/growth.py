"""How the time of reading a file grows with its size."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from pathlib import Path

from addon import formats
from addon.core.report import FormatError
from addon.formats.meshes.bounds import mesh_box
from addon.formats.meshes.obj import sanitize_obj
from tests.fuzz.grown import GROWN
from tests.fuzz.unusual import UNUSUAL, Make

#: How many times the file, and how many times the time that it may take then: 4 where it is linear, 16 where it is
#: quadratic.
TIMES, MOST = 4, 7.0
#: Seconds below which a time says nothing.
LEAST = 0.002
MESHES = {"obj": "obj", "ply": "ply", "stl": "stl", "collada": "dae"}


def shapes() -> Mapping[str, Mapping[str, Make]]:
    """Every shape of file that there is, by the reader that it is for."""
    return {reader: {**made, **UNUSUAL.get(reader, {})} for reader, made in GROWN.items()}


def read(reader: str, data: bytes, folder: Path, write: bool = False) -> str:
    """Read a file, and ``write`` a model again; whether it is read or why not."""
    path = folder / f"grown.{MESHES.get(reader, reader)}"
    try:
        if reader in MESHES:
            path.write_bytes(data)
            if reader == "obj":
                sanitize_obj(path, (), (), {})
            mesh_box(path)
        elif reader == "mtl":
            path.write_bytes(data)
            mesh = folder / "names.obj"
            mesh.write_text(f"mtllib {path.name}\n")
            sanitize_obj(mesh, (), (), {})
        elif reader in formats.MOTION_FORMATS:
            formats.loads_motions(data, path.name)
        else:
            made = formats.loads(data, path.name)
            if write:
                formats.dumps(made)
    except FormatError as error:
        return f"refused: {str(error).partition(': ')[2][:100]}"
    return "read"


def seconds(reader: str, data: bytes, folder: Path, times: int = 3) -> float:
    """The least processor seconds of some readings, of a model with its writing."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(times):
            start = time.process_time()
            read(reader, data, folder, write=True)
            found.append(time.process_time() - start)
            if found[-1] > 1.0:
                break
    return min(found)


def growth(reader: str, shape: str, size: int, folder: Path, times: int = 3) -> tuple[float, float]:
    """Seconds for a file of ``size`` bytes, of no less than ``LEAST``, and for one of ``TIMES`` as many."""
    make = shapes()[reader][shape]
    read(reader, make(1000), folder)
    small = seconds(reader, make(size), folder, times)
    return max(small, LEAST), seconds(reader, make(TIMES * size), folder, times)
