"""Restraints that mirroring made or set: those that no document has as they are."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import bpy
import numpy as np

from ...core.model import Restraint
from .access import settings


def with_mirrored(rig: bpy.types.Object, restraints: Sequence[Restraint]) -> list[Restraint]:
    """Return the restraints of a model's document with those that mirroring set in their place, and those that it made
    after them."""
    out, told = list(restraints), _told(rig)
    for key in sorted(told, key=int):
        row = dict(told[key])
        if row["bodies"] is not None:
            row["bodies"] = tuple(row["bodies"])
        if row["frames"] is not None:
            row["frames"] = tuple(np.array(frame) for frame in row["frames"])
        made = Restraint(**row)
        out[int(key) :] = [made, *out[int(key) + 1 :]]
    return out


def keep_mirrored(rig: bpy.types.Object, images: Mapping[int, Restraint]) -> None:
    """Keep restraints that mirroring made or set, by their index among all of the model."""
    told = _told(rig)
    for number, image in images.items():
        row = asdict(image)
        if image.frames is not None:
            row["frames"] = [frame.tolist() for frame in image.frames]
        told[str(number)] = row
    settings(rig).mirrored_restraints = json.dumps(told) if told else ""


def _told(rig: bpy.types.Object) -> dict[str, dict[str, Any]]:
    text = settings(rig).mirrored_restraints
    told: dict[str, dict[str, Any]] = json.loads(text) if text else {}
    return told
