"""The names of twins: what one is renamed to, the other is for its own side."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

import bpy
import numpy as np

from ....core.editing.sides import counterpart_names
from ....core.model import Plane
from ...compat import give_name
from ...data.access import armature_of, bone_record, record_of

#: What Blender puts behind a name that is taken.
_NUMBER = re.compile(r"\.\d{3,}$")


def names_of_pair(name: str, other: str, is_right: bool) -> tuple[str, str]:
    """Return what a part that was renamed and its twin, so far ``other``, are called now.

    ``LR`` in a name that was typed becomes Left or Right, as in Juice. A name that has no side says nothing of the
    twin's; nor does the twin's own, which Blender gave a number because it is taken."""
    if "LR" in name:
        words = ("Right", "Left") if is_right else ("Left", "Right")
        return name.replace("LR", words[0]), name.replace("LR", words[1])
    counterparts = counterpart_names(name)
    if not counterparts or _NUMBER.sub("", name) == _NUMBER.sub("", other):
        return name, other
    return name, counterparts[0]


def rename_twins(pairs: Mapping[bpy.types.Object, bpy.types.Object], plane: Plane) -> None:
    """Rename the twins of parts that were renamed. Where both of a pair were, they keep what they were given."""
    wanted: dict[bpy.types.Object, str] = {}
    for obj, mate in pairs.items():
        if obj.name == record_of(obj).seen_name or mate.name != record_of(mate).seen_name:
            continue
        names = names_of_pair(obj.name, mate.name, _is_right(obj, plane))
        wanted |= {each: name for each, name in zip((obj, mate), names, strict=True) if each.name != name}
    put_names(wanted)


def put_names(wanted: Mapping[bpy.types.Object, str]) -> None:
    """Rename objects, all at once: what one gives up another may take. What somebody else has stays theirs, and gets a
    number as Blender does it."""
    names = {obj: name for obj, name in wanted.items() if obj.name != name}
    for name in names.values():
        holder: bpy.types.Object | None = bpy.data.objects.get(name)
        if holder in names:
            give_name(holder, f"{name} (other)")
    for obj, name in names.items():
        give_name(obj, name)


def _is_right(obj: bpy.types.Object, plane: Plane) -> bool:
    return plane.height(np.array(obj.matrix_basis.translation)) > 0.0


# ---------------------------------------------------------------- bones


def rename_bones(
    rig: bpy.types.Object, renamed: Collection[str], mates: Mapping[int, bpy.types.Object], plane: Plane
) -> None:
    """Rename the bones of the twins of joints, and of bodies that are roots, whose bones were renamed. ``mates`` are
    the twins of a model's parts by the parts' ``session_uid``."""
    bones = armature_of(rig).bones
    parts = {(record_of(mate).role, record_of(mate).twin): mate for mate in mates.values()}
    every = {_task(bone): bone for bone in reversed(bones)}
    for name in list(renamed):
        bone = bones[name]
        joint, root, step = _task(bone)
        mate = parts.get(("JOINT", joint) if joint else ("BODY", root))
        if mate is None:
            continue
        own = record_of(mate).source_id
        other = every.get((own, "", step) if joint else ("", own, step))
        if other is None or other.name in renamed:
            continue
        obj = mates[mate.session_uid]
        bone.name, other.name = names_of_pair(name, other.name, _is_right(obj, plane))


def _task(bone: bpy.types.Bone) -> tuple[str, str, int]:
    record = bone_record(bone)
    return record.joint, record.root if not record.joint else "", record.step
