"""Stance of a model: where its bones have its bodies, and by which joints, and from which roots, they place them.

Bones outlast what they were made for. A joint that was deleted with Blender's own *Delete* leaves them, and what they
carry is seen where they have it until the armature is fitted to what is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import bpy

from ....core.editing.seen_poses import Placement, hold_seen
from ....core.kinematics import CLOSES_LOOP, Tree, spanning_tree
from ....core.model import Array, Mechanism
from ...compat import action_curves
from ...data.access import record_of
from ...data.bone_paths import bone_in
from ...data.queries import joint_bones, parts, root_bones
from .design_poses import Designs


def moves_of(designs: Designs, ids: Mapping[bpy.types.Object, str]) -> dict[str, Array]:
    """Return the motion of each body from its design to where it is seen, (4, 4) in the model's frame, by its id: what
    its bone does. ``ids`` are those of the bodies' objects."""
    done, out = dict[str, Array](), dict[str, Array]()
    for obj, own in ids.items():
        bone = designs.holder(obj)
        if bone is not None:
            if bone.name not in done:
                done[bone.name] = designs.move(bone)
            out[own] = done[bone.name]
    return out


def placing_of(rig: bpy.types.Object) -> set[str]:
    """The ids of the joints that place bodies: those that have bones; where the armature was deleted, had them."""
    boned = set(joint_bones(rig))
    if boned:
        return boned
    records = [record_of(empty) for empty in parts(rig, "JOINT")]
    return {record.source_id for record in records if not record.joint.loop}


def roots_of(rig: bpy.types.Object, placing: Iterable[str]) -> dict[str, float]:
    """The rank of each body that is placed freely, by its id: the keyed first, then the largest."""
    objects = {record_of(obj).source_id: obj for obj in parts(rig, "BODY")}
    carried: dict[str, list[str]] = {}
    moved = set()
    known = set(placing)
    for empty in parts(rig, "JOINT"):
        record = record_of(empty)
        if record.source_id in known:
            ends = [record.joint.parent, record.joint.child]
            near, far = (
                None if end is None else record_of(end).source_id
                for end in (ends[::-1] if record.joint.against else ends)
            )
            if far is not None:
                moved.add(far)
                carried.setdefault(near or "", []).append(far)
    bones = root_bones(rig)
    is_boned = bool(bones) or bool(joint_bones(rig))
    roots = set(bones) & objects.keys() if is_boned else objects.keys() - moved if known else set()
    keyed = keyed_bones(rig)
    out = {}
    for root in roots:
        size, todo = 0, [root]
        while todo and size <= len(objects):
            todo += carried.get(todo.pop(), ())
            size += 1
        out[root] = size + (len(objects) + 1.0) * (bones.get(root, "") in keyed)
    return out


def keyed_bones(rig: bpy.types.Object) -> set[str]:
    """The names of the bones that the Action keys which plays."""
    data = rig.animation_data
    if data is None or data.action is None:
        return set()
    paths = {curve.data_path for curve in action_curves(rig, data.action, create=False) or ()}
    return set(map(bone_in, paths)) - {""}


def tree_of(mechanism: Mechanism, placing: Iterable[str], roots: Mapping[str, float]) -> Tree:
    """The spanning tree in which joints that are ``placing`` bodies go on to, and ``roots`` stay such, by their
    ranks."""
    known = set(placing)
    if not known:
        return spanning_tree(mechanism, roots)
    joints = [replace(joint, extra={**joint.extra, CLOSES_LOOP: joint.id not in known}) for joint in mechanism.joints]
    return spanning_tree(replace(mechanism, joints=joints), roots)


def stand_as_seen(designs: Designs, mechanism: Mechanism, ids: Mapping[bpy.types.Object, str]) -> None:
    """Have bodies be designed where they are seen whose bones place them by joints that are gone, and copies that have
    no bones of their own yet. A model that its bones fit stays as it is.

    Args:
        designs: where the parts of the model are designed.
        mechanism: the model as its objects have it, which is changed.
        ids: the ids that the bodies' objects have in it; those of new copies are not in their records yet.
    """
    rig = designs.rig
    placing = placing_of(rig)
    fits = placing <= {joint.id for joint in mechanism.joints if joint.active}
    if fits and all(own == record_of(obj).source_id for obj, own in ids.items()):
        return
    roots = roots_of(rig, placing)
    tree = tree_of(mechanism, placing, roots)
    hold_seen(tree, Placement(moves_of(designs, ids), roots, placing))
    for joint, held in zip(mechanism.joints, tree.mechanism.joints, strict=True):
        joint.frame_child = held.frame_child
