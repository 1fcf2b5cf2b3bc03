"""Creation of the parts of a mechanism as objects, in one pass: bodies, joints, frames, lights and collision shapes.

An import creates all of them (``create_parts``), an edit or a rebuild those that the scene lacks (``create_missing``).
A joint is an empty at its frame, with the joint's record; physics adds the constraint to it.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from ...core.kinematics import design_openings, split_coordinates
from ...core.model import Body, Frame, Joint, Light, by_id
from ...core.report import Report
from ...core.transforms import inverse
from ..data.access import record_of, settings
from ..data.baseline import baseline_values
from ..data.caching import prime_joint
from ..data.conversion import changed_dof_properties, flatten_pose, kinds_key
from ..data.datablocks import (
    CreationTask,
    bulk_objects,
    changed_properties,
    run_creations,
    unchecked_properties,
    write_properties,
)
from ..data.facts import JOINT_PROPERTIES, stored_values
from ..data.properties.joint import KnuckleDof, KnuckleJoint
from ..data.properties.model import KnuckleObject
from ..data.queries import parts, parts_by_id
from ..rig.dials import EMPTY_SIZE_SHARE, EMPTY_TYPE, joint_radius
from ..rig.joint_frames import constraint_rotation
from .armature import BoneParenting
from .attachments import create_frames
from .bodies import create_bodies, create_collision_children
from .collections import ModelCollections
from .mesh_files import MeshFiles
from .meshes import MeshCache
from .placement import BuildPlan

#: Ids of parts by role; none of a role that it lacks. A shape's is that of its body with its index, a frame's and a
#: light's its index in the document.
PartIds = Mapping[str, Collection[str]]
#: Objects of bodies and joints, by role and id.
PartObjects = dict[str, dict[str, bpy.types.Object]]


def create_parts(
    plan: BuildPlan,
    parenting: BoneParenting,
    folders: ModelCollections,
    report: Report,
    mesh_folders: Sequence[str] | None = None,
    wanted: PartIds | None = None,
    present: Mapping[str, bpy.types.Object] | None = None,
) -> PartObjects:
    """Create the objects of all parts of a plan, or of those that are ``wanted``; return the bodies and joints.

    Args:
        plan: The plan.
        parenting: Parenting of the objects.
        folders: Collections of the mechanism.
        report: Report, which gets the meshes that are missing.
        mesh_folders: Absolute folders searched for meshes besides that of the model file; None: of the preferences.
        wanted: Ids of the parts to create; None: all.
        present: Bodies that exist, by id.
    """
    only = {role: None if wanted is None else wanted.get(role, ()) for role in ("BODY", "JOINT", "SHAPE")}
    holders = dict(present or {})
    with MeshFiles(plan.mechanism, report, mesh_folders) as files:
        mesh_cache = MeshCache(plan.mechanism.name, files.mesh, plan.size)
        bodies, joints, _ = run_creations(
            create_bodies(plan, parenting, folders, mesh_cache, holders, only["BODY"]),
            create_joints(plan, parenting, holders, folders, only["JOINT"]),
            create_frames(plan, parenting, folders, holders, wanted),
        )
        if create_collision_children(plan, holders, mesh_cache, folders, only["SHAPE"]):
            settings(parenting.rig).has_collision = True
    return {"BODY": bodies, "JOINT": joints}


def create_missing(rig: bpy.types.Object, plan: BuildPlan, wanted: PartIds, report: Report) -> PartObjects:
    """Create the objects of parts that a mechanism lacks, in its collections, and return the bodies and joints.

    Bodies and joints are parented to the armature object. Shapes, frames and lights that a deleted body left are
    parented to the new one.
    """
    folders = ModelCollections(plan.mechanism.name, plan.mechanism.assemblies, settings(rig).collection)
    made = create_parts(plan, BoneParenting(plan, rig), folders, report, None, wanted, parts_by_id(rig, "BODY"))
    for scene in bpy.data.scenes:
        folders.exclude_off(scene)
    _adopt_attachments(rig, plan, made["BODY"])
    return made


def _adopt_attachments(rig: bpy.types.Object, plan: BuildPlan, made: Mapping[str, bpy.types.Object]) -> None:
    """Parent the shapes, frames and lights that deleted bodies left to the bodies made in their place."""
    attached: dict[str, Sequence[Frame | Light]] = {"FRAME": plan.mechanism.frames, "LIGHT": plan.mechanism.lights}
    for role in ("SHAPE", *attached) if made else ():
        carriers = {str(number): part.body for number, part in enumerate(attached.get(role, ()))}
        for obj in parts(rig, role):
            own, number = record_of(obj).source_id, record_of(obj).shape
            body = made.get((own.rpartition("/")[0] if number >= 0 else carriers.get(own)) or "")
            if body is None or (obj.parent is not None and record_of(obj.parent).model == rig):
                continue
            obj.parent, obj.parent_type, obj.matrix_parent_inverse = body, "OBJECT", Matrix()
            if number >= 0:
                record_of(body).shapes[number].has_child = True


def missing_shapes(rig: bpy.types.Object, bodies: Iterable[Body]) -> set[str]:
    """Return the ids of collision shapes without objects: all shapes of new bodies, and deleted ones of the others.

    A body with objects has to have the same shapes as in ``bodies``.
    """
    holders, there = parts_by_id(rig, "BODY"), {record_of(child).source_id for child in parts(rig, "SHAPE")}
    ids = set[str]()
    for body in bodies:
        own = [f"{body.id}/{number}" for number in range(len(body.shapes))]
        if body.id in holders:
            record = record_of(holders[body.id])
            same = not record.without_children and len(record.shapes) == len(own)
            rows = zip(own, record.shapes, body.shapes, strict=False)
            own = [shape_id for shape_id, row, shape in rows if same and row.has_child and row.type == shape.type]
        ids.update(own)
    return ids - there


# ---------------------------------------------------------------- joints


def create_joints(
    plan: BuildPlan,
    parenting: BoneParenting,
    bodies: dict[str, bpy.types.Object],
    folders: ModelCollections,
    only: Container[str] | None = None,
) -> CreationTask[dict[str, bpy.types.Object]]:
    """Create the empties of all joints, or of those in ``only``.

    Each is parented to the bone of its parent body (of its child where that is the world), so that it moves with the
    joint.

    Returns:
        Empties by joint id.
    """
    determined = joint_bone_properties(plan)
    off = {assembly.path for assembly in plan.mechanism.assemblies if not assembly.active}
    new = by_id(joint for joint in plan.mechanism.joints if only is None or joint.id in only)
    made = yield [(joint.name or key, None) for key, joint in new.items()]
    turns = {key: constraint_rotation(joint) for key, joint in new.items()}
    poses = [plan.frames[key] if turn is None else plan.frames[key] @ turn for key, turn in turns.items()]
    carriers = [joint.parent if joint.parent in bodies else joint.child for joint in new.values()]
    into = [folders.folder("Joints", joint.assembly, not _is_switched_off(joint, plan, off)) for joint in new.values()]
    with bulk_objects(made, into) as empties:
        empties.put("empty_display_type", EMPTY_TYPE)
        ends = ((bodies.get(joint.parent or ""), bodies.get(joint.child or "")) for joint in new.values())
        empties.put("empty_display_size", EMPTY_SIZE_SHARE * np.array([joint_radius(each, plan.size) for each in ends]))
        built = parenting.parent_all(empties, carriers, poses)
    for joint, empty, at_home in zip(new.values(), made, built, strict=True):
        if not joint.active:
            empty.empty_display_type = "SPHERE"
        values, dofs = determined[joint.id]
        start = plan.starts.get(joint.id)
        for number, part in enumerate(split_coordinates(joint.dofs, start) if start is not None else ()):
            row = dofs.setdefault(number, {})
            row |= {"assembled": True, "assembled_start": [*part.tolist(), *[0.0] * (6 - len(part))]}
        values["is_dependent"] = joint.id in plan.followers
        _write_record(empty, joint, parenting.rig, bodies, dofs, values, at_home)
    return dict(zip(new, made, strict=True))


def joint_bone_properties(plan: BuildPlan) -> dict[str, tuple[dict[str, Any], dict[int, dict[str, Any]]]]:
    """Return the properties of joints, and of their dofs by index, that a plan's bones determine; by joint id."""
    places, openings, out = plan.places(), design_openings(plan.mechanism, plan.tree), {}
    reversed_joints = {bone.link.joint.id for bone in plan.bones if bone.link is not None and bone.link.is_reversed}
    for joint in reversed(plan.mechanism.joints):  # of several with one id the first counts
        values: dict[str, Any] = {
            "loop": joint.id in plan.tree.loop_joints,
            "is_reversed": joint.id in reversed_joints,
            "bone_kinds": kinds_key(dof.kind for dof in joint.dofs) if joint.active else "",
            "is_open": joint.id in openings,
        }
        if joint.id in openings:
            turn, opening = constraint_rotation(joint), openings[joint.id]
            values["opening"] = flatten_pose(opening if turn is None else inverse(turn) @ opening @ turn)
        out[joint.id] = (
            values,
            {
                number: {"step": place.step, "channel": place.prop, "channel_index": place.index}
                for number, place in places.get(joint.id, {}).items()
            },
        )
    return out


def _is_switched_off(joint: Joint, plan: BuildPlan, off: set[str]) -> bool:
    """Return whether a joint is inactive by a switch (its own, a body's, an assembly's), not for lack of a body."""
    if joint.active:
        return False
    ends = (plan.bodies.get(end or "") for end in joint.ends)
    idle = any(body is not None and not body.active for body in ends)
    return idle or joint.assembly in off or joint.extra.get("active", True) is False


def _write_record(
    empty: bpy.types.Object,
    joint: Joint,
    rig: bpy.types.Object,
    bodies: dict[str, bpy.types.Object],
    dofs: dict[int, dict[str, Any]],
    more: dict[str, Any],
    built: list[float],
) -> None:
    values: dict[str, Any] = {
        **stored_values(JOINT_PROPERTIES, joint),
        "at_world": (joint.parent is None) != (joint.child is None),
        "parent": bodies.get(joint.parent or ""),
        "child": bodies.get(joint.child or ""),
        **more,
    }
    part, properties = changed_properties(KnuckleJoint, values), changed_dof_properties(joint.dofs, dofs)
    for name, every in zip(("dofs", "parts"), properties, strict=True):
        if every:
            part[name] = [unchecked_properties(KnuckleDof, each) for each in every]
    about = {
        "role": "JOINT",
        "source_name": joint.name,
        "source_id": joint.id,
        "twin": joint.twin or "",
        "model": rig,
        **baseline_values(empty.name, built),
    }
    write_properties(empty, {**changed_properties(KnuckleObject, about), "joint": part})
    prime_joint(empty, values, *properties)
