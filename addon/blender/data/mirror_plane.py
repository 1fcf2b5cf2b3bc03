"""The mirror plane of a mechanism: between its halves, in the axes of its design, kept with its settings."""

from __future__ import annotations

import bpy
import numpy as np

from ...core.model import Plane
from .access import settings


def kept_plane(rig: bpy.types.Object) -> Plane | None:
    """The mirror plane of a mechanism; None where none was found and nobody has chosen one."""
    kept = settings(rig).mirror
    normal = np.array(kept.normal, dtype=np.float64)
    length = float(np.linalg.norm(normal))
    return Plane(normal / length, float(kept.offset)) if length > 0.0 else None


def keep_plane(rig: bpy.types.Object, plane: Plane | None) -> None:
    """Have a mechanism be mirrored across a plane from now on; None: across none yet."""
    kept = settings(rig).mirror
    kept.normal = (0.0, 0.0, 0.0) if plane is None else plane.normal.tolist()
    kept.offset = 0.0 if plane is None else plane.offset
