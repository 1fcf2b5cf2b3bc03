"""The stops of a model's coordinates, from the records of its joints."""

from __future__ import annotations

from collections.abc import Iterable

import bpy
import numpy as np

from ...core.stops import Limits
from ...core.stops import stops_of as stops_of_dofs
from ..data.access import record_of
from ..data.conversion import read_dofs


def stops_of(joints: Iterable[bpy.types.Object]) -> dict[tuple[str, int], Limits]:
    """Lower and upper stop of every coordinate of joints' empties, (joint, number); of joints with one id the first
    that moves counts."""
    out: dict[tuple[str, int], Limits] = {}
    for empty in joints:
        record = record_of(empty)
        if (record.source_id, 0) not in out:
            own = [(_short(lower), _short(upper)) for lower, upper in stops_of_dofs(read_dofs(record.joint))]
            out |= {(record.source_id, number): limits for number, limits in enumerate(own)}
    return out


def _short(stop: float | None) -> float | None:
    """The stop that was meant by what Blender keeps in 32 bits: 2.2, and not 2.200000047683716."""
    return None if stop is None else float(str(np.float32(stop)))
