"""Frames and lights as they are now. They are told apart by their number in the document."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from copy import deepcopy
from typing import Any, TypeVar

import bpy
import numpy as np

from ...model.records import Array, Frame, Light
from ...model.report import Report
from ...model.rotations import inverse
from ..access import record_of
from ..build.frames import KIND_OF_LAMP, design_pose, lamp_color
from ..model_parts import file_name
from .numbers import edited_pose, plain, was_moved

P = TypeVar("P", Frame, Light)


def attachments(
    objects: list[bpy.types.Object],
    base: list[P],
    bodies: Mapping[str, Array],
    alive: Collection[str],
    report: Report,
) -> list[P]:
    """The frames, or the lights, that objects stand for now; ``base`` are the document's, ``bodies`` the design poses
    that its bodies have there. What hangs on a body that is not ``alive`` went with it."""
    holders: dict[int, bpy.types.Object] = {}
    for obj in sorted(objects, key=lambda obj: obj.name != record_of(obj).built_name):
        holders.setdefault(_number(obj), obj)
    out = []
    for number, part in enumerate(base):
        if part.body is not None and part.body not in alive:
            continue
        if number in holders:
            out.append(_now(holders[number], part, bodies, file_name(holders[number])))
        else:
            report.info("deleted", f"{type(part).__name__} {part.name!r} was deleted", where=part.body or "")
    for obj in objects:
        number = _number(obj)
        if holders[number] != obj and number < len(base) and (base[number].body in alive or base[number].body is None):
            report.info("added", f"{type(base[number]).__name__} {obj.name!r} is new", where=base[number].body or "")
            out.append(_now(obj, deepcopy(base[number]), bodies, obj.name))
    return out


def _number(obj: bpy.types.Object) -> int:
    return int(record_of(obj).source_id)


def _now(obj: bpy.types.Object, part: P, bodies: Mapping[str, Array], name: str) -> P:
    part.name = name
    body = bodies.get(part.body) if part.body is not None else None
    if was_moved(obj):
        pose = edited_pose(obj, design_pose(part.pose, body))[0]
        part.pose = pose if body is None else inverse(body) @ pose
    if isinstance(part, Light):
        _relight(obj.data, part)
    return part


def _relight(lamp: Any, light: Light) -> None:
    """Take over an edited kind and colour. The file says nothing of a light's strength."""
    light.type = KIND_OF_LAMP.get(lamp.type, light.type)
    brightest, color = lamp_color(light)
    if np.abs(np.subtract(lamp.color[:], color)).max() > 1e-6:
        red, green, blue = (plain(part * brightest) for part in lamp.color[:])
        light.diffuse = (red, green, blue)
