"""Rebuilding of missing parts of a mechanism: from kept objects, records of remaining parts and the document.

Remaining parts keep pose, keyframes and edits. A new armature gets the motion of the deleted one.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import bpy
from mathutils import Matrix, Quaternion

from .... import formats
from ....core.editing.edits import Edit, with_bodies, with_joints
from ....core.editing.symmetry import relink_twins
from ....core.gait.engine import find_gait
from ....core.model import Body, Frame, Light, Mechanism, body_by_id
from ....core.report import FormatError, Message, Report, abbreviate_names
from ....formats.text.file_io import gc_paused
from ...animation.actions import activate_action, motion_actions, played_actions
from ...data import copied_mechanisms
from ...data.access import action_record, armature_of, armature_settings, record_of, settings
from ...data.documents import assign_document, mechanism_from_text, read_document, store_document
from ...data.properties import model as properties
from ...data.queries import all_parts, file_name, parts, parts_by_id
from ...events.signals import writing_records
from ...physics.simulation.setup import build_physics
from ...physics.world.membership import scene_to_simulate_in
from ...reconcile.build import store_mechanism_facts
from ...reconcile.rig_update import begin_edit
from ...reconcile.update import EditObjects, update, update_records
from ...rig.joint_frames import lost_ends
from ...scene.collections import ROLE_COLLECTIONS, has_base_name, link_parts
from ...scene.parts import missing_shapes
from ...scene.placement import make_plan
from ...scene.read.design_poses import DesignPoses
from ...scene.read.mechanism import extract_design
from ..symmetry.twins import read_records
from .missing_parts import (
    NeededParts,
    described_mechanism,
    find_deleted_joints,
    find_missing_parts,
    find_model_collection,
    find_needed_parts,
    has_lost_physics,
    is_armature_deleted,
    orphan_parts,
    scene_with_collection,
    unknown_joint_message,
    unknown_joints,
    unmoved_bodies,
)

_MAX_NAMES = 4
PartOnBody = TypeVar("PartOnBody", Frame, Light)


@dataclass
class RebuildResult:
    """Result of a rebuild: what was rebuilt or restored, and the report."""

    done: list[str] = field(default_factory=list)
    report: Report = field(default_factory=Report)


def _report_left_deleted(rig: bpy.types.Object, described: Mechanism, out: RebuildResult) -> None:
    """Report deleted parts that are not restored because nothing needs them."""
    left = find_needed_parts(rig, described, everything=True)
    names = {body.id: body.name for body in described.bodies} | {joint.id: joint.name for joint in described.joints}
    away = sorted(names[own] or own for own in left.bodies | left.joints)
    if away:
        out.report.warn(
            "left-away",
            Message(
                "Deleted parts: not restored, nothing needs them: {}. Enable Include Deleted Parts to restore them",
                abbreviate_names(away, _MAX_NAMES),
            ),
        )


def restore_motion(rig: bpy.types.Object, out: RebuildResult) -> None:
    """Play the motion of a deleted armature on the new one, if it can be identified.

    Of the motions that nothing plays it is the only one, or the only one that was made for this mechanism or has its
    name.
    """
    if rig.animation_data is not None:
        return
    played = {action for obj in bpy.data.objects for action in played_actions(obj)}
    free = [action for action in motion_actions(rig) if action not in played]
    name, uid = record_of(rig).source_name or rig.name, settings(rig).uid
    own = [action for action in free if action_record(action).model == uid != ""]
    named = [action for action in free if action.name.startswith(f"{name} ")]
    for some in (free, own, named):
        if len(some) == 1:
            activate_action(rig, some[0])
            out.done.append(f"its motion {some[0].name!r}")
            return
    if free:
        listed = abbreviate_names(sorted(action.name for action in free), _MAX_NAMES)
        out.report.warn("motion-unknown", Message("Motion: the played Action is unknown. Choose one of {}", listed))


#: Codes of what can be missing besides parts.
_IN_NO_PART = {"text-gone", "world-gone"}
#: Order in which roles are restored: children follow their parents.
_ROLE_ORDER = ("BODY", "JOINT", "SHAPE", "FRAME", "LIGHT", "LABEL")


def adopt_orphans(scene: bpy.types.Scene, active: bpy.types.Object | None = None) -> bpy.types.Object:
    """Create an armature without bones for bodies and joints whose own was deleted for good.

    Args:
        scene: The scene.
        active: Part whose neighbors are meant, if it is an orphan.

    Raises:
        ValueError: The scene has no such parts.
    """
    lost = orphan_parts(scene, active)
    if not lost:
        raise ValueError("No part is missing")
    top = find_model_collection(lost[0], scene)
    name = top.name if top is not None else "Mechanism"
    data = next((data for data in bpy.data.armatures if not data.users and _belonged_to(data, top)), None)
    rig = bpy.data.objects.new(name, data or bpy.data.armatures.new(name))
    armature_of(rig).display_type = "STICK"
    settings(rig).collection = top
    if data is not None:
        rig.matrix_basis = Quaternion(settings(rig).upright).to_matrix().to_4x4()
    (top or scene.collection).objects.link(rig)
    for obj in lost:
        record_of(obj).model = rig
        if record_of(obj).role in ("BODY", "JOINT"):
            obj.parent, obj.parent_type, obj.matrix_parent_inverse = rig, "OBJECT", Matrix()
    return rig


def _belonged_to(data: bpy.types.Armature, top: bpy.types.Collection | None) -> bool:
    """Return whether unused armature data belonged to the mechanism of a collection."""
    return top is not None and armature_settings(data).collection == top and armature_settings(data).rig is None


@gc_paused()
def rebuild(rig: bpy.types.Object, scene: bpy.types.Scene, everything: bool = False) -> RebuildResult:
    """Rebuild what is missing of a mechanism; a complete one is left unchanged.

    On an error the caller rolls back (``rollback_on_error``).

    Args:
        rig: The armature.
        scene: Scene to which a missing collection is linked.
        everything: Also restore deleted parts that nothing needs.

    Raises:
        ValueError: The transform of a part is not finite.
    """
    out, lacks = RebuildResult(), {lack.code for lack in find_missing_parts(rig)}
    fresh = settings(rig).collection is None or settings(rig).rig is None or record_of(rig).role != "MODEL"
    with writing_records():
        is_new, designs = _restore_collections(rig, scene, out), DesignPoses(rig)
        for obj in (*all_parts(rig, "BODY"), *all_parts(rig, "JOINT")):
            designs.of(obj)  # has to be finite
        found = find_document(rig, out)
        if fresh:
            _restore_model_record(rig, found, out)
    document = found or Mechanism("")
    described = described_mechanism(rig, document)
    loose = unmoved_bodies(rig, all_parts(rig, "BODY"), all_parts(rig, "JOINT"))
    unknown = unknown_joints(rig, find_deleted_joints(rig, loose), described)
    if unknown:
        out.report.warn("joint-unknown", unknown_joint_message(unknown))
    if lacks - _IN_NO_PART or everything:
        update_parts(rig, document, find_needed_parts(rig, described, everything), everything, is_new, out)
        if "unmoved" in lacks:
            out.done.append("the bones of the armature")
        if fresh:
            restore_motion(rig, out)
    if lacks:
        rebuild_physics(rig, out)
    _report_left_deleted(rig, described, out)
    return out


# ---------------------------------------------------------------- collections and objects


def _restore_collections(rig: bpy.types.Object, scene: bpy.types.Scene, out: RebuildResult) -> bool:
    """Ensure that the mechanism has its collection in the scene, with its armature.

    Returns:
        Whether it had no collection before.
    """
    model = settings(rig)
    model.rig = rig
    is_new = model.collection is None
    if model.collection is None:
        kept = next((obj for obj in _model_parts(rig) if obj.users_scene), None)
        model.collection = find_model_collection(kept, scene) if kept is not None else None
        if model.collection is None or _is_role_collection(model.collection):
            model.collection = _new_model_collection(rig, scene)
        out.done.append("its collection")
    top = model.collection
    if scene_with_collection(top) is None:
        scene.collection.children.link(top)
        if "its collection" not in out.done:
            out.done.append("its collection")
    if (is_new or is_armature_deleted(rig)) and top.all_objects.get(rig.name) != rig:
        top.objects.link(rig)
        if rig.name in scene.collection.objects:
            scene.collection.objects.unlink(rig)
        else:
            out.done.append("its armature")
    return is_new


def _is_role_collection(collection: bpy.types.Collection) -> bool:
    """Return whether a collection has the name of those that hold one kind of a mechanism's parts."""
    return any(has_base_name(collection, name) for name in ROLE_COLLECTIONS.values())


def _model_parts(rig: bpy.types.Object) -> list[bpy.types.Object]:
    return [obj for obj in bpy.data.objects if record_of(obj).model == rig and record_of(obj).role in ROLE_COLLECTIONS]


def _new_model_collection(rig: bpy.types.Object, scene: bpy.types.Scene) -> bpy.types.Collection:
    """Create a collection that contains the role collections that still hold parts of the mechanism."""
    top = bpy.data.collections.new(record_of(rig).source_name or rig.name)
    scene.collection.children.link(top)
    holding = {folder for obj in _model_parts(rig) for folder in obj.users_collection}
    inner = {child for folder in bpy.data.collections for child in folder.children}
    for folder in bpy.data.collections:
        loose = folder not in inner or folder.name in scene.collection.children
        if _is_role_collection(folder) and loose and {folder, *folder.children_recursive} & holding:
            top.children.link(folder)
            if folder.name in scene.collection.children:
                scene.collection.children.unlink(folder)
    return top


def _relink_parts(rig: bpy.types.Object, want: NeededParts, every: bool, out: RebuildResult) -> None:
    """Link needed parts of the mechanism, and what is parented to them, to its collections again.

    Note:
        Blender keeps deleted objects to which something refers.

    With ``every`` also parts that are in a scene but in none of these collections.
    """
    present, taken = set(settings(rig).collection.all_objects), dict[bpy.types.Object, None]()
    away = [obj for obj in _model_parts(rig) if obj not in present and not _is_physics_object(obj)]
    for obj in sorted(away, key=lambda obj: _ROLE_ORDER.index(record_of(obj).role)):
        record = record_of(obj)
        ids = {"BODY": want.bodies, "JOINT": want.joints}.get(record.role)
        if obj.users_scene:
            wanted = every
        elif ids is not None:
            wanted = record.source_id in ids
        else:
            wanted = every or record.role in want.roles or obj.parent in taken
        if wanted:
            taken[obj] = None
    link_parts(rig, taken)
    names = [file_name(obj) for obj in taken if record_of(obj).role in ("BODY", "JOINT")]
    if names:
        out.done.append(abbreviate_names(sorted(names), _MAX_NAMES))
    elif taken:
        out.done.append(abbreviate_names(sorted({ROLE_COLLECTIONS[record_of(obj).role] for obj in taken})))


def _is_physics_object(obj: bpy.types.Object) -> bool:
    return record_of(obj).is_ground or record_of(obj).is_inertia_proxy


# ---------------------------------------------------------------- the document


def find_document(rig: bpy.types.Object, out: RebuildResult) -> Mechanism | None:
    """Return the mechanism of the document, or None.

    A missing or damaged document is searched for among the texts of the .blend and at its original path.
    """
    model = settings(rig)
    ids = {record_of(obj).source_id for obj in _model_parts(rig) if record_of(obj).role in ("BODY", "JOINT")}
    if model.document is not None:
        try:
            return read_document(rig)
        except FormatError as error:
            out.report.warn("document-damaged", Message("Document: no longer readable: {}", error))
    elif not model.format and settings(rig).collection is not None and model.version > 1 and not _is_cleared(rig):
        return None  # it never had a document
    owned = _used_documents()
    for text in bpy.data.texts:
        if text in owned:
            continue
        try:
            found = mechanism_from_text(text, model.path)
        except FormatError:
            continue
        if _matches_parts(found, ids):
            assign_document(rig, text)
            out.done.append("the text of its file")
            return found
    path = Path(model.path) if model.path else None
    if path is not None and path.is_file():
        try:
            read = formats.load(path)
        except FormatError:
            read = None
        if read is not None and (
            _matches_parts(read, ids) or not ids
        ):  # without any parts left its own file is accepted
            store_document(rig, path.name, read.source.text, read.source.encoding)
            out.done.append("the text of its file")
            return read
    out.report.warn(
        "document-missing",
        "Document: found neither in the .blend nor at its path. Exports write a new one, "
        "without comments and unknown elements",
    )
    model.document = None
    return None


def _is_cleared(rig: bpy.types.Object) -> bool:
    return not settings(rig).uid and settings(rig).rig is None


def _used_documents() -> set[bpy.types.Text]:
    known = map(armature_settings, bpy.data.armatures)
    return {model.document for model in known if model.rig is not None and model.document is not None}


def _matches_parts(mechanism: Mechanism, ids: set[str]) -> bool:
    """Return whether at least half of the parts, and at least one, belong to this mechanism."""
    known = {body.id for body in mechanism.bodies} | {joint.id for joint in mechanism.joints}
    return bool(ids & known) and 2 * len(ids & known) >= len(ids)


def _restore_model_record(rig: bpy.types.Object, base: Mechanism | None, out: RebuildResult) -> None:
    """Restore the record of the mechanism as a whole, from its document."""
    record, model = record_of(rig), settings(rig)
    record.role, record.model = "MODEL", rig
    copied_mechanisms.mark_as_adopted(rig)  # not a copy: its parts were already here
    if base is not None and not model.format:
        rig.matrix_basis = Matrix(make_plan(base, closed=False).upright.tolist())
        store_mechanism_facts(rig, model.collection, base)
        gait = find_gait(base)
        model.gait_inputs = ",".join(gait.controls) if gait is not None else ""
    record.source_name = record.source_name or (base.name if base is not None else rig.name)
    model.version = properties.DATA_VERSION
    out.done.append("what is known of it as a whole")


# ---------------------------------------------------------------- parts of the document


def update_parts(
    rig: bpy.types.Object, document: Mechanism, want: NeededParts, everything: bool, is_new: bool, out: RebuildResult
) -> None:
    """Update a mechanism from what is left of it to what records and document describe, as far as that is wanted.

    Args:
        rig: The armature.
        document: Mechanism of the document.
        want: Wanted bodies and joints; what is on them is created too.
        everything: Also create reference frames, lights and collision shapes of remaining bodies.
        is_new: The mechanism's collection is new, so that also parts in other collections are linked to it.
        out: Result, which is filled in.
    """
    before = {role: parts_by_id(rig, role) for role in ("BODY", "JOINT")}
    with writing_records():
        _relink_parts(rig, want, is_new or everything, out)
    if rig.pose is None:  # a new armature has no pose until Blender has evaluated it
        bpy.context.view_layer.update()
    present, now = begin_edit(rig), extract_design(rig)
    holders, empties = parts_by_id(rig, "BODY"), parts_by_id(rig, "JOINT")
    new_bodies = [body for body in document.bodies if body.id in want.bodies - holders.keys()]
    there = {body.id for body in new_bodies} | holders.keys()
    objects, known = set(holders.values()), [joint for joint in document.joints if joint.id in empties]
    ends = {joint.id: lost_ends(empties[joint.id], (joint.parent, joint.child), objects) for joint in known}
    cut = {own for own, lost in ends.items() if there & {*lost.values()}}
    new_joints = [joint for joint in document.joints if joint.id in (want.joints - empties.keys()) | cut]
    carriers = {None, *there} if everything else there - holders.keys()
    frames = _deleted(rig, "FRAME", document.frames, carriers)
    lights = _deleted(rig, "LIGHT", document.lights, carriers)
    reshaped = _with_deleted_shapes(rig, now, document) if everything else []
    left = replace(
        now,
        bodies=[body for body in now.bodies if body.id in before["BODY"] or body.id not in holders],
        joints=[j for j in now.joints if j.id not in cut and (j.id in before["JOINT"] or j.id not in empties)],
    )
    after = with_joints(with_bodies(now, [*new_bodies, *reshaped]), new_joints)
    after = replace(after, frames=[*now.frames, *frames], lights=[*now.lights, *lights])
    formats.complete_masses(document, out.report, tell_missing=False)
    out.report.extend(update(rig, Edit(left, after), present, EditObjects(document=document)))
    restored = {role: parts_by_id(rig, role) for role in before}
    ids = (restored[role].keys() - before[role].keys() for role in ("BODY", "JOINT"))
    relinked = relink_twins(read_records(rig), *ids)  # the document lacks twins that were linked after the import
    update_records(rig, relinked)
    made = [file_name(obj) for own, obj in restored["BODY"].items() if own not in holders]
    made += [file_name(obj) for own, obj in restored["JOINT"].items() if own not in empties]
    out.done += [abbreviate_names(made, _MAX_NAMES)] if made else []
    filed = [joint.name or joint.id for joint in new_joints if joint.id not in empties]
    if filed:
        message = Message(
            "Joints rebuilt as in the file, without later changes: {}", abbreviate_names(filed, _MAX_NAMES)
        )
        out.report.info("joint-as-filed", message)
    out.done += ["Collision"] if reshaped else []
    out.done += ["Frames"] if everything and (frames or lights) else []


def _deleted(
    rig: bpy.types.Object, role: str, every: Iterable[PartOnBody], carriers: Container[str | None]
) -> list[PartOnBody]:
    """Return the frames or lights of the document on some bodies that have no object."""
    there = {record_of(obj).source_id for obj in all_parts(rig, role)}
    return [part for number, part in enumerate(every) if part.body in carriers and str(number) not in there]


def _with_deleted_shapes(rig: bpy.types.Object, now: Mechanism, described: Mechanism) -> list[Body]:
    """Return the bodies of which collision shapes were deleted, with the shapes of the document."""
    holders, known = parts_by_id(rig, "BODY"), body_by_id(described)
    lost = missing_shapes(rig, [body for own, body in known.items() if own in holders])
    on = {shape.rpartition("/")[0] for shape in lost}
    return [
        replace(body, shapes=known[body.id].shapes, twin=record_of(holders[body.id]).twin or None)
        for body in now.bodies
        if body.id in on
    ]


def rebuild_physics(rig: bpy.types.Object, out: RebuildResult) -> None:
    """Rebuild physics whose rigid-body world was deleted."""
    scene = scene_to_simulate_in(rig)
    if scene is not None and has_lost_physics(rig, parts(rig, "BODY")):
        drive = settings(rig).drive
        try:
            out.report.extend(build_physics(scene, rig))
        except ValueError as error:  # the world belongs to something else: nothing was changed
            out.report.warn("physics-not-built", str(error))
            return
        if settings(rig).drive != drive:
            settings(rig).drive = drive
        out.done.append("its physics")
