"""Helpers for tests of mesh files: bodies and shapes with a mesh, loading and vertices."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from addon.core.model import Body, Mechanism, Shape, Source
from addon.core.report import Report


def files_of(folder: Path, report: Report, folders: Sequence[str] = (), ignore_unit: bool | None = None) -> Any:
    from addon.blender.scene.mesh_files import MeshFiles

    mechanism = Mechanism(source=Source(path=str(folder / "model.skel")))
    return MeshFiles(mechanism, report, folders, ignore_unit)


def shape(name: str, **extra: Any) -> Shape:
    return Shape("mesh", {"x": 1.0, "y": 1.0, "z": 1.0}, mesh=name, extra=extra)


BODY = Body("foot", "Foot")


def points_of(mesh: Any) -> np.ndarray:
    found = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", found)
    return found.reshape(-1, 3)
