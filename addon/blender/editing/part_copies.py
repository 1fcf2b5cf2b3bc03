"""Copies of bodies and joints, each with a name and an id of its own."""

from __future__ import annotations

from collections.abc import Collection

import bpy

from ..data.access import record_of
from ..data.copied_mechanisms import copy_into_same_collections
from ..data.properties.joint import KnuckleJoint


def unique_name(name: str, taken: Collection[str]) -> str:
    """A name that is not taken yet: the name itself, or with the first free number from 2 behind it."""
    number, out = 1, name
    while out in taken:
        number += 1
        out = f"{name} {number}"
    return out


def copy_part(obj: bpy.types.Object, name: str, part_id: str) -> bpy.types.Object:
    """A copy of a body's object or a joint's, where that stands, in the same collections. It is nobody's twin."""
    made = copy_into_same_collections(obj)
    made.name = name
    record = record_of(made)
    record.copy_of = record.copy_of or record.source_id
    record.source_name, record.source_id, record.built_name, record.twin = name, part_id, made.name, ""
    if record.role == "JOINT":
        _clear_physics_links(record.joint)
    return made


def _clear_physics_links(joint: KnuckleJoint) -> None:
    """What physics made for the original is not the copy's."""
    for name in ("motor", "preload"):
        setattr(joint, name, None)
    for own in (joint.motors, joint.losses, joint.pushes, joint.far_stops):
        own.clear()
