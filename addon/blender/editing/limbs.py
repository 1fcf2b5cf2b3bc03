"""Limbs: the bodies and joints beyond a joint, and duplicates of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Vector

from ...core.editing.edits import JointEdit
from ...core.kinematics import Tree
from ...core.model import Array
from ...core.report import Message, Report
from ..data.access import record_of
from ..data.copied_mechanisms import copy_into_same_collections, copy_part, unique_name
from ..data.queries import file_name, part_ids, parts
from ..data.twin_links import twins_among
from ..events.signals import signals_blocked
from ..reconcile.rig_state import current_tree
from ..reconcile.rig_update import assign_ids, begin_edit, physics_suspended, update_armature
from ..scene.read.mechanism import extract
from .symmetry.twins import require_plane


def copy_shapes(obj: bpy.types.Object, made: bpy.types.Object) -> None:
    """Copy the collision shapes that are children of a body to its copy."""
    for child in obj.children:
        if record_of(child).role != "SHAPE":
            continue
        part = copy_into_same_collections(child)
        part.parent = made
        number = record_of(child).source_id.rpartition("/")[2]
        record_of(part).source_id = f"{record_of(made).source_id}/{number}"


@dataclass
class Limb:
    """Bodies of a mechanism, the joints that carry or connect them, and the joints ``across`` to other bodies.

    Joints across close loops, except those that carry other bodies.
    """

    bodies: list[bpy.types.Object]
    joints: list[bpy.types.Object]
    across: list[bpy.types.Object]


def find_limb(rig: bpy.types.Object, objects: Iterable[bpy.types.Object], whole: bool = True) -> Limb:
    """Return the limb of a selection: its bodies, and those that its joints move.

    Args:
        rig: Armature of the mechanism.
        objects: The selected bodies and joints.
        whole: Include everything beyond these bodies.

    Raises:
        ValueError: The selection has no bodies and moves none.
    """
    assign_ids(rig)
    chosen = [obj for obj in objects if record_of(obj).model == rig and record_of(obj).role in {"BODY", "JOINT"}]
    tree = current_tree(rig, extract(rig))
    moved = {link.joint.id: link.body for link in tree.links}
    ids = {record_of(obj).source_id for obj in chosen if record_of(obj).role == "BODY"}
    ids |= {moved[own] for obj in chosen if (own := record_of(obj).source_id) in moved}
    if whole:
        ids = _with_descendants(tree, ids)
    bodies = [obj for obj in parts(rig, "BODY") if record_of(obj).source_id in ids]
    if not bodies:
        raise ValueError("Select bodies of the mechanism, or joints that move some")
    carrying = {link.joint.id for link in tree.links if link.body in ids}
    limb = Limb(bodies, [], [])
    for empty in parts(rig, "JOINT"):
        joint = record_of(empty).joint
        inside = [end for end in (joint.parent, joint.child) if end in bodies]
        if record_of(empty).source_id in carrying or len(inside) == 2:
            limb.joints.append(empty)
        elif inside:
            limb.across.append(empty)
    return limb


def _with_descendants(tree: Tree, ids: set[str]) -> set[str]:
    out = set(ids)
    for link in tree.links:  # in order from the roots
        if link.carrier in out:
            out.add(link.body)
    return out


def free_offset(limb: Limb) -> Array:
    """Return an offset (3,) from a limb to free space for its copy: along -Y, as legs stand in a row."""
    corners = [(obj.matrix_basis @ Vector(corner)).y for obj in limb.bodies for corner in obj.bound_box]
    return np.array([0.0, -1.25 * (max(corners) - min(corners)), 0.0])


#: Offset of each part, (3,) in the mechanism's axes.
Offsets = dict[bpy.types.Object, Array]


def mirrored_offsets(limb: Limb, led_by: Collection[bpy.types.Object], offset: Sequence[float] | Array) -> Offsets:
    """Return the offsets for a copy of a limb that contains twins, while editing is symmetric.

    Parts on the side of ``led_by`` move by ``offset`` (3,), parts on the other side by its mirror image, and parts
    without a twin or in the middle by the component in the mirror plane.

    Args:
        limb: The limb.
        led_by: Parts that the user selected.
        offset: (3,) in the mechanism's axes.
    """
    every = [*limb.bodies, *limb.joints]
    twins, plane = twins_among(every), require_plane(record_of(every[0]).model)
    flip, own = plane.reflection[:3, :3], np.array([float(x) for x in offset])
    heights = {obj: plane.height(np.array(obj.matrix_basis.translation)) for obj in every}
    lead = max((heights[obj] for obj in led_by if obj in twins and obj in heights), key=abs, default=0.0)
    ways = {1.0: own, -1.0: flip @ own, 0.0: 0.5 * (own + flip @ own)}
    return {obj: ways[float(np.sign(lead * heights[obj])) if obj in twins else 0.0] for obj in every}


def duplicate_limb(
    rig: bpy.types.Object, limb: Limb, offset: Sequence[float] | Array | Offsets
) -> tuple[list[bpy.types.Object], Report]:
    """Duplicate a limb, connected where the original is, with its own ids and the same pose.

    Joints that close loops with other bodies are left out and reported.

    Args:
        rig: Armature of the mechanism.
        limb: The limb.
        offset: Offset (3,) in the mechanism's axes, or an offset per part; in the latter case copies of twins are
            twins, else copies have none.

    Returns:
        The created objects and the report.
    """
    report = Report()
    for empty in limb.across:
        report.warn(
            "loop-left-out",
            Message("Joint {}: not copied, it connects the limb to another part", repr(file_name(empty))),
        )
    offsets = offset if isinstance(offset, dict) else dict.fromkeys((*limb.bodies, *limb.joints), offset)
    twins = twins_among(offsets) if isinstance(offset, dict) else {}
    pairs: dict[bpy.types.Object, bpy.types.Object] = {}
    present = begin_edit(rig)
    with physics_suspended(rig, report), signals_blocked():
        names = {file_name(obj) for role in ("BODY", "JOINT") for obj in parts(rig, role)}
        ids = part_ids(rig)
        for obj in (*limb.bodies, *limb.joints):
            name, own = unique_name(_stem(file_name(obj)), names), unique_name(_stem(record_of(obj).source_id), ids)
            own = name if name not in ids else own
            names.add(name)
            ids.add(own)
            made = pairs[obj] = copy_part(obj, name, own)
            made.matrix_basis.translation = made.matrix_basis.translation + Vector([float(x) for x in offsets[obj]])
        for obj in limb.bodies:
            copy_shapes(obj, pairs[obj])
        for empty in limb.joints:
            joint = record_of(pairs[empty]).joint
            joint.parent, joint.child = pairs.get(joint.parent, joint.parent), pairs.get(joint.child, joint.child)
        for obj, mate in twins.items():
            if mate in pairs:
                record_of(pairs[obj]).twin = record_of(pairs[mate]).source_id
        alike = {record_of(pairs[empty]).source_id: record_of(empty).source_id for empty in limb.joints}
        edits = {new: JointEdit(values=present.pose[old]) for new, old in alike.items() if old in present.pose}
        report.extend(update_armature(rig, present, edits, made=pairs.values()))
    return list(pairs.values()), report


def _stem(name: str) -> str:
    """Return a name without the number of a copy."""
    stem, _space, number = name.rpartition(" ")
    return stem if stem and number.isdigit() else name
