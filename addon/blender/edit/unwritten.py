"""What of bodies is seen and goes into no file: what constraints, modifiers and instancing make of them."""

from __future__ import annotations

from collections.abc import Iterator

import bpy
import numpy as np
from mathutils import Matrix

from ...core.editing.sides import name_list
from ...core.validation import Finding
from ..data.access import record_of
from ..data.queries import file_name, parts
from ..extract.mesh_edits import is_own_mesh
from ..physics.recording.body_keys import is_ours

#: Places in the world that differ by no more, as a share of their size, are the same.
_SAME = 1e-4


def unwritten(rig: bpy.types.Object) -> Iterator[Finding]:
    """Yield what a model's bodies show beyond what files have of them, each with what to do."""
    for obj in parts(rig, "BODY"):
        name, own = file_name(obj), (record_of(obj).source_id,)
        holding = [each for each in obj.constraints if not each.mute and each.influence > 0.0 and not is_ours(each)]
        if holding and _is_held_elsewhere(obj):
            told = (
                f"The constraints of {name!r} put it elsewhere than files have it "
                f"({name_list(each.name for each in holding)}): Object > Apply > Visual Transform takes what is seen"
            )
            yield Finding("body-constrained", "warning", told, "body", own)
        seen = [each for each in obj.modifiers if each.show_viewport or each.show_render]
        if seen and not is_own_mesh(obj):
            told = (
                f"What modifiers make of {name!r} is in no file ({name_list(each.name for each in seen)}): apply them "
                "and take the mesh as its shape"
            )
            yield Finding("mesh-modified", "warning", told, "body", own)
        if obj.instance_type != "NONE":
            told = f"What {name!r} is instanced on is in no file: Object > Apply > Make Instances Real, then Make Body"
            yield Finding("body-instancer", "warning", told, "body", own)


def _is_held_elsewhere(obj: bpy.types.Object) -> bool:
    """Return whether an object stands elsewhere than its parent and its own channels have it."""
    parent, without = obj.parent, obj.matrix_parent_inverse @ obj.matrix_basis
    if parent is None:
        without = obj.matrix_basis
    elif obj.parent_type == "BONE" and parent.type == "ARMATURE" and obj.parent_bone in parent.pose.bones:
        bone = parent.pose.bones[obj.parent_bone]
        without = parent.matrix_world @ bone.matrix @ Matrix.Translation((0.0, bone.bone.length, 0.0)) @ without
    else:
        without = parent.matrix_world @ without
    apart = np.abs(np.array(obj.matrix_world) - np.array(without)).max()
    return bool(apart > _SAME * max(1.0, float(np.abs(np.array(without)).max())))
