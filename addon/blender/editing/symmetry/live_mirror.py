"""Symmetric editing: edits of one side of a mechanism with Blender's own tools are mirrored to the other side.

Twins are bodies and joints, and the collision shapes, reference frames and lights on them. The image of an edited
property alone is written to the twin: where twins differ otherwise, they still do. Values of records tell which was
edited (``events.signals``). Objects, lights and materials are compared with the state at which their twin was last made
symmetric (``data.baseline``). It is stored in the .blend, and so in every undo step: at any step it shows which of the
two sides was edited, and what the other one had.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import bpy
import numpy as np
from bpy.app.handlers import persistent
from mathutils import Matrix

from ....core.editing.sides import counterpart_names
from ....core.editing.symmetry import copy_body_values, copy_values_to_twins
from ....core.editing.twins import mirror_change, nearest_image, reflection_on
from ....core.model import Array, Plane
from ...compat import rename_datablock
from ...data.access import NUMBER_SUFFIX, armature_of, armature_settings, bone_record, record_of, settings
from ...data.baseline import (
    are_reference_points_moved,
    common_values,
    datablock_pairs,
    edited_common_values,
    edits_since_mirror,
    has_common_values,
    record_common_values,
    record_mirror_state,
    restored_twin_values,
    write_common_values,
)
from ...data.conversion import assembled_values, edited_dof_attributes
from ...data.datablocks import still_exists
from ...data.facts import BODY_PROPERTIES, COMMON_BODY_VALUES, edited_attributes
from ...data.queries import parts_by_role, rigs_in, twins_among, twins_by_part
from ...data.rigid_bodies import apply_masses, is_mass_typed, store_typed_mass
from ...events.handlers import Handlers, connect, disconnect
from ...events.runtime_state import RuntimeState, end_state, state_of
from ...events.signals import Signal, emit, is_writing, writing_records
from ...reconcile.rig_state import rigid_design_pose, rigid_matrix
from ...reconcile.update import update_part_records
from ...rig.joint_frames import read_parts
from ...scene.read.applied_transforms import applied_mesh_transform
from .appearance import carrier, with_attachments
from .twins import ensure_plane, leading_parts, require_plane


def pair_names(name: str, other: str, is_right: bool) -> tuple[str, str]:
    """Return the new names of a renamed part and its twin, which is called ``other`` so far.

    ``LR`` in a typed name becomes Left or Right, as in Juice. A name without a side does not change the twin's; nor
    does the twin's own name, to which Blender appended a number because it is taken.
    """
    if "LR" in name:
        words = ("Right", "Left") if is_right else ("Left", "Right")
        return name.replace("LR", words[0]), name.replace("LR", words[1])
    counterparts = counterpart_names(name)
    if not counterparts or NUMBER_SUFFIX.sub("", name) == NUMBER_SUFFIX.sub("", other):
        return name, other
    return name, counterparts[0]


def rename_twins(pairs: Mapping[bpy.types.Object, bpy.types.Object], plane: Plane) -> None:
    """Rename the twins of renamed parts. If both of a pair were renamed, they keep their names."""
    wanted: dict[bpy.types.Object, str] = {}
    for obj, twin in pairs.items():
        if obj.name == record_of(obj).mirrored_name or twin.name != record_of(twin).mirrored_name:
            continue
        names = pair_names(obj.name, twin.name, _is_right(obj, plane))
        wanted |= {each: name for each, name in zip((obj, twin), names, strict=True) if each.name != name}
    rename_objects(wanted)


def rename_objects(wanted: Mapping[bpy.types.Object, str]) -> None:
    """Rename objects all at once: one can take a name that another gives up.

    Names of other objects stay, and the new one gets a number from Blender.
    """
    names = {obj: name for obj, name in wanted.items() if obj.name != name}
    for name in names.values():
        holder: bpy.types.Object | None = bpy.data.objects.get(name)
        if holder in names:
            rename_datablock(holder, f"{name} (other)")
    for obj, name in names.items():
        rename_datablock(obj, name)


def _is_right(obj: bpy.types.Object, plane: Plane) -> bool:
    return plane.height(np.array(carrier(obj).matrix_basis.translation)) > 0.0


# ---------------------------------------------------------------- bones


def rename_twin_bones(
    rig: bpy.types.Object, renamed: Collection[str], twins: Mapping[int, bpy.types.Object], plane: Plane
) -> None:
    """Rename the bones of the twins of joints, and of root bodies, whose bones were renamed.

    Args:
        rig: The armature.
        renamed: New names of the renamed bones.
        twins: Twins of a mechanism's parts, by the part's ``session_uid``.
        plane: The mirror plane.
    """
    bones = armature_of(rig).bones
    parts = {(record_of(twin).role, record_of(twin).twin): twin for twin in twins.values()}
    every = {_bone_role(bone): bone for bone in reversed(bones)}
    for name in list(renamed):
        bone = bones[name]
        joint, root, step = _bone_role(bone)
        twin = parts.get(("JOINT", joint) if joint else ("BODY", root))
        if twin is None:
            continue
        own = record_of(twin).source_id
        other = every.get((own, "", step) if joint else ("", own, step))
        if other is None or other.name in renamed:
            continue
        obj = twins[twin.session_uid]
        bone.name, other.name = pair_names(name, other.name, _is_right(obj, plane))


def _bone_role(bone: bpy.types.Bone) -> tuple[str, str, int]:
    record = bone_record(bone)
    return record.joint, record.root if not record.joint else "", record.step


# ---------------------------------------------------------------- transforms


def _mirror_transform(obj: bpy.types.Object, twin: bpy.types.Object, reflection: Array) -> None:
    """Mirror the change of a part's local matrix, unless *Apply* (Ctrl+A) made it and nothing was seen to move."""
    before, (own, its) = record_of(obj).mirrored_pose, (_DesignFactors.of(each) for each in (obj, twin))
    now, there = own.design(obj.matrix_basis), its.design(twin.matrix_basis)
    if own.are_other and (_is_same(now, before) or _is_image(now, there, reflection)):
        return
    twin.matrix_basis = its.local(_changed(own.design(before), now, there, reflection))


def _changed(before: Matrix, now: Matrix, twin: Matrix, reflection: Array) -> Matrix:
    """Return the matrix of a twin after a part was moved, rotated or scaled (``mirror_change``)."""
    matrices = before, now, twin
    poses, scales = [rigid_matrix(each) for each in matrices], [np.array(each.to_scale()) for each in matrices]
    image, scale = mirror_change(poses, scales, reflection)
    return Matrix((image @ np.diag([*scale, 1.0])).tolist())


def _is_image(now: Matrix, twin: Matrix, reflection: Array) -> bool:
    pose, its = rigid_matrix(now), rigid_matrix(twin)
    return _is_same(Matrix(nearest_image(pose, its, reflection).tolist()), Matrix(its.tolist()))


def _is_same(one: Matrix, other: Matrix) -> bool:
    return bool(np.allclose(np.array(one), np.array(other), rtol=0.0, atol=1e-5 * max(1.0, other.translation.length)))


@dataclass(frozen=True)
class _DesignFactors:
    """Factors that turn a part's local matrix into its pose in the mechanism, or on what it is on.

    They differ from the identity where a transform was applied to the mesh of a body (Ctrl+A), for it and what is on
    it. None is the identity.
    """

    left: Matrix | None = None
    right: Matrix | None = None

    @classmethod
    def of(cls, obj: bpy.types.Object) -> _DesignFactors:
        """Return the factors of a body, joint, shape, frame or light."""
        role = record_of(obj).role
        if role == "BODY":
            return cls(right=_applied(obj))
        if role == "JOINT" or obj.parent is None or obj.matrix_parent_inverse == Matrix():
            return cls()
        applied = _applied(obj.parent)
        parent_inverse = obj.matrix_parent_inverse.copy()
        return cls(left=parent_inverse if applied is None else applied.inverted_safe() @ parent_inverse)

    @property
    def are_other(self) -> bool:
        """True if any differs from the identity."""
        return self != _DesignFactors()

    def design(self, local: Matrix) -> Matrix:
        """Return the pose, with scale, for a local matrix."""
        out = local.copy() if self.left is None else self.left @ local
        return out if self.right is None else out @ self.right

    def local(self, design: Matrix) -> Matrix:
        """Return the local matrix for a pose with scale."""
        out = design if self.left is None else self.left.inverted_safe() @ design
        return out if self.right is None else out @ self.right.inverted_safe()


def _applied(obj: bpy.types.Object) -> Matrix | None:
    is_moved = record_of(obj).role == "BODY" and are_reference_points_moved(obj)
    return applied_mesh_transform(obj, obj.matrix_basis) if is_moved else None


def _parents_reflection(obj: bpy.types.Object, twin: bpy.types.Object, plane: Plane) -> Array:
    """Return the reflection (4, 4) from the axes of a part's local matrix to those of its twin's."""
    if record_of(obj).role in {"BODY", "JOINT"}:
        return plane.reflection
    parents: tuple[Any, Any] = obj.parent, twin.parent
    one, other = (rigid_matrix(_DesignFactors.of(each).design(each.matrix_basis)) for each in parents)
    return reflection_on(one, other, _parents_reflection(*parents, plane))


# ---------------------------------------------------------------- pairs


@dataclass
class _KnownTwins(RuntimeState):
    """Twins of a mechanism's parts while editing is symmetric.

    Attributes:
        twins: Twins by the part's ``session_uid``; None before they are collected, and when parts or their twins
            changed; empty without a mirror plane.
        relinked: Bodies and joints (``session_uid``) that got another twin since then.
        selection: State of the selection when nothing of it was edited: compared in every frame while bones are posed,
            which takes a fraction of checking each part.
    """

    twins: dict[int, bpy.types.Object] | None = None
    relinked: set[int] = field(default_factory=set)
    selection: tuple[list[str], bytes] | None = None


def _collect_twins(rig: bpy.types.Object) -> dict[int, bpy.types.Object]:
    known = state_of(_KnownTwins, rig)
    found = known.twins
    if found is None:
        pairs = with_attachments(twins_by_part(rig)) if ensure_plane(rig) is not None else {}
        found = known.twins = {obj.session_uid: twin for obj, twin in pairs.items()}
        for obj, twin in pairs.items():
            if not record_of(obj).mirrored_name or carrier(obj).session_uid in known.relinked:
                record_mirror_state(obj, twin)
        for owner, other in datablock_pairs(pairs):
            if not has_common_values(owner, other):  # as in a file that was opened
                record_common_values(owner, other)
        known.relinked.clear()
    return found


def _find_twins(rig: bpy.types.Object, wanted: Collection[int]) -> dict[int, bpy.types.Object]:
    """Return the twins of parts by ``session_uid``, collected again if one was deleted."""
    found = _collect_twins(rig)
    chosen = {uid: found[uid] for uid in wanted if uid in found}
    if all(map(still_exists, chosen.values())):
        return chosen
    invalidate_twins()
    found = _collect_twins(rig)
    return {uid: found[uid] for uid in wanted if uid in found}


def lacks_twins(rig: bpy.types.Object) -> bool:
    """Return whether a mechanism with symmetric editing is known to have no twins; cheap enough for every redraw."""
    return state_of(_KnownTwins, rig).twins == {}


def start_live_mirror(rig: bpy.types.Object) -> None:
    """Start symmetric editing from the present state of a mechanism."""
    invalidate_twins()
    for obj, twin in with_attachments(twins_by_part(rig)).items():
        record_mirror_state(obj, twin)


def invalidate_twins() -> None:
    """Invalidate the collected twins."""
    end_state(_KnownTwins)


def twin_changed(changed: bpy.types.Object | bpy.types.Armature) -> None:
    """Invalidate the collected twins of a mechanism of which a part got another twin, or which got another plane."""
    if isinstance(changed, bpy.types.Armature):
        invalidate_twins()
    elif (rig := record_of(changed).model) is not None:
        known = state_of(_KnownTwins, rig)
        known.twins = None
        known.relinked.add(changed.session_uid)


def mirror_edits(rig: bpy.types.Object, changed: Iterable[bpy.types.Object]) -> int:
    """Mirror edited parts to their twins; return the number of pairs.

    Parts that are parented elsewhere are skipped, since their local matrices are in other axes.
    """
    known = _collect_twins(rig)
    changed = [obj for obj in changed if obj.session_uid in known]
    solid = (obj for obj in changed if obj.rigid_body is not None and record_of(obj).role == "BODY")
    weighed = {obj.session_uid: obj for obj in solid if is_mass_typed(obj)}
    for uid, twin in _find_twins(rig, weighed).items() if weighed else ():
        store_typed_mass(weighed[uid])
        apply_masses(weighed[uid])
        _mirror_body_values(weighed[uid], twin, {record_of(twin).path_from_id("mass")})
    touched = {obj.session_uid: obj for obj in changed if edits_since_mirror(obj)}
    found = _find_twins(rig, touched) if touched else {}
    edited = {touched[uid]: twin for uid, twin in found.items() if _have_twin_parents(touched[uid], twin, rig)}
    if not edited:
        return 0
    plane = require_plane(rig)
    leaders = leading_parts(edited, plane)
    for obj in sorted(leaders, key=_depth):  # what is on a body is mirrored in the new axes of that
        if "matrix_basis" in edits_since_mirror(obj):
            _mirror_transform(obj, leaders[obj], _parents_reflection(obj, leaders[obj], plane))
    rename_twins(leaders, plane)
    for obj, twin in edited.items():
        record_mirror_state(obj, twin)
    state_of(_KnownTwins, rig).selection = None  # outdated
    return len(leaders)


def _have_twin_parents(obj: bpy.types.Object, twin: bpy.types.Object, rig: bpy.types.Object) -> bool:
    """Return whether a body or joint is on the armature, or the parents of other parts are each other's twins."""
    if record_of(obj).role in {"BODY", "JOINT"}:
        return obj.parent == rig
    one, other = obj.parent, twin.parent
    if one is None or other is None or _collect_twins(rig).get(one.session_uid) != other:
        return False
    return _have_twin_parents(one, other, rig)


def _mirror_datablocks(rig: bpy.types.Object, changed: Iterable[bpy.types.Object]) -> None:
    """Mirror edited values of the lights and materials of changed parts to those of their twins."""
    twins = _collect_twins(rig)
    pairs = datablock_pairs({obj: twins[obj.session_uid] for obj in changed if obj.session_uid in twins})
    edited = {}
    for (owner, other), objects in pairs.items():
        if not has_common_values(owner, other):
            record_common_values(owner, other)
        elif values := edited_common_values(owner):
            edited[objects[0]] = owner, other, objects[1], values
    twins_of_edited = {obj: twin for obj, (_owner, _other, twin, _values) in edited.items()}
    for obj in leading_parts(twins_of_edited, require_plane(rig)) if edited else ():
        owner, other, _twin, values = edited[obj]
        if _is_twins_alone(rig, owner, other):
            write_common_values(other, values)
        record_common_values(owner, other)


def _is_twins_alone(rig: bpy.types.Object, owner: Any, other: Any) -> bool:
    """Return whether the objects with a material ``other`` are the twins of those with ``owner``; true for a light."""
    if isinstance(owner, bpy.types.Light):
        return True
    users: dict[Any, set[bpy.types.Object]] = {owner: set(), other: set()}
    collection = settings(rig).collection
    for obj in collection.all_objects if collection is not None else ():
        slots = obj.material_slots
        for material in [obj.active_material] if len(slots) == 1 else [slot.material for slot in slots]:
            if material in users:
                users[material].add(obj)
    twins = _collect_twins(rig)
    return users[other] == {twins[obj.session_uid] for obj in users[owner] if obj.session_uid in twins}


def _depth(obj: bpy.types.Object) -> int:
    return 0 if obj.parent is None else 1 + _depth(obj.parent)


def resync_after_undo(rig: bpy.types.Object) -> None:
    """Restore symmetry after undo or redo.

    Note:
        Blender stores an undo step before it calls handlers, so the step of an edit lacks the twin's part, which is
        done again here. Undo restores what it stored, and so not the twin: of a pair, the part with the lower
        ``mirrored_count`` is the one that was restored, and its record has the transform of its twin.
    """
    known = with_attachments(twins_by_part(rig))
    _mirror_datablocks(rig, known)
    mirror_edits(rig, known)
    behind = {o: m for o, m in known.items() if record_of(o).mirrored_count < record_of(m).mirrored_count}
    rename_objects({twin: record_of(obj).mirrored_twin_name for obj, twin in behind.items()})
    for obj, twin in behind.items():
        twin.matrix_basis = record_of(obj).mirrored_twin_pose
    for owner, other in datablock_pairs(known):
        if has_common_values(owner, other) and (values := restored_twin_values(owner, other)):
            write_common_values(other, values)
            record_common_values(owner, other)
    for obj, twin in behind.items():
        record_mirror_state(obj, twin)


# ---------------------------------------------------------------- handlers


@persistent
def after_update(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """Mirror edits after every change of the scene, except while records are written."""
    rigs = {} if is_writing() else {rig.session_uid: rig for rig in _symmetric_models(scene)}
    if rigs:
        _mirror_all(rigs, depsgraph)


def _mirror_all(rigs: Mapping[int, bpy.types.Object], depsgraph: bpy.types.Depsgraph) -> None:
    """Mirror edits of mechanisms that were updated.

    Note:
        When a mechanism is posed, updates list everything that it carries; then only the selection can have been
        edited.
    """
    updates = depsgraph.updates  # iterated lazily: the armature is early among a thousand
    posed = _posed_models(rigs, updates) if depsgraph.id_type_updated("ARMATURE") else set()
    selected = bpy.context.view_layer.objects.selected
    changed, shaded = list[bpy.types.Object](), list[bpy.types.Object]()
    for update in updates if posed != rigs.keys() else ():
        if isinstance(each := update.id, bpy.types.Object):
            changed.append(each.original)
            if update.is_updated_shading:
                shaded.append(changed[-1])
    for uid, rig in rigs.items():
        if uid in posed:
            _mirror_selected(rig, selected)
            continue
        with writing_records():
            if shaded:
                _mirror_datablocks(rig, shaded)
            mirror_edits(rig, changed)


def _mirror_selected(rig: bpy.types.Object, selected: Any) -> None:
    """Mirror the selected parts, unless their state is the one in which none was edited."""
    stand = _selection_state(rig, selected)
    if state_of(_KnownTwins, rig).selection == stand:
        return
    with writing_records():
        _mirror_datablocks(rig, selected)
        if not mirror_edits(rig, selected):
            state_of(_KnownTwins, rig).selection = stand


def _selection_state(rig: bpy.types.Object, selected: Any) -> tuple[list[str], bytes]:
    """Return names, parents, masses and lights of the selected parts, and the local matrices of the selection.

    Names include the library, which distinguishes parts within a .blend.
    """
    places = np.empty(16 * len(selected), dtype=np.float32)
    selected.foreach_get("matrix_basis", places)
    return [_described(obj, rig) for obj in selected], places.tobytes()


def _described(obj: bpy.types.Object, rig: bpy.types.Object) -> str:
    parent = obj.parent
    if parent is None:
        return ""
    if parent != rig:
        lit = common_values(obj.data) if obj.type == "LIGHT" else ""
        return f"{obj.name_full} {parent.session_uid} {lit}"
    return obj.name_full if obj.rigid_body is None else f"{obj.name_full} {obj.rigid_body.mass}"


def _posed_models(rigs: Mapping[int, bpy.types.Object], updates: Iterable[bpy.types.DepsgraphUpdate]) -> set[int]:
    """Return the mechanisms, by ``session_uid``, whose armature is among the updates; stops at the last one."""
    found: set[int] = set()
    for update in updates:
        each = update.id
        if isinstance(each, bpy.types.Object) and each.type == "ARMATURE":
            found |= {each.original.session_uid} & rigs.keys()
            if len(found) == len(rigs):
                break
    return found


def _symmetric_models(scene: bpy.types.Scene) -> Iterable[bpy.types.Object]:
    """Return the mechanisms of a scene with symmetric editing; without any, of any scene, at next to no cost."""
    if not any(armature_settings(data).symmetric for data in bpy.data.armatures):
        return ()
    return [rig for rig in rigs_in(scene) if settings(rig).symmetric]


def mirror_value_change(empty: bpy.types.Object, values: Collection[str]) -> None:
    """Mirror edited values of a joint (RNA paths from its empty) to its twin."""
    twin = _live_twin(empty)
    edited = edited_dof_attributes(empty, values) if twin is not None else ()
    if twin is None or not edited:
        return
    own, its = (record_of(each).source_id for each in (empty, twin))
    plane = require_plane(record_of(empty).model)
    mechanism = read_parts((), (empty, twin), rigid_design_pose)
    edit = copy_values_to_twins(mechanism, [own], plane, assembled_values({own: empty, its: twin}), edited)
    with writing_records():
        update_part_records({}, {its: twin}, edit)


def mirror_body_change(obj: bpy.types.Object, values: Collection[str]) -> None:
    """Mirror edited values of a body (RNA paths from its object) to its twin."""
    twin = _live_twin(obj)
    if twin is not None:
        _mirror_body_values(obj, twin, values)


def _mirror_body_values(obj: bpy.types.Object, twin: bpy.types.Object, values: Collection[str]) -> None:
    """Mirror edited values of a body to its twin, and emit the signal for it."""
    record = record_of(obj)
    mechanism = read_parts((obj, twin), (), rigid_design_pose)
    fields = {path.removeprefix(f"{record.path_from_id()}.") for path in values}
    names = edited_attributes(record, BODY_PROPERTIES, fields).intersection(COMMON_BODY_VALUES)
    edit = copy_body_values(mechanism, record.source_id, names)
    with writing_records():
        changed = update_part_records({record_of(twin).source_id: twin}, {}, edit)
    if changed:
        emit(Signal.BODY, twin, values)


def parts_with_twins(objects: Iterable[bpy.types.Object], wanted: bool = True) -> list[bpy.types.Object]:
    """Return parts, followed by their twins if ``wanted`` and editing of their mechanism is symmetric."""
    chosen = list(dict.fromkeys(objects))
    if wanted:
        rigs = dict.fromkeys(record_of(obj).model for obj in chosen)
        on = {rig for rig in rigs if rig is not None and settings(rig).symmetric}
        chosen += twins_among(obj for obj in chosen if record_of(obj).model in on).values()
    return list(dict.fromkeys(chosen))


def _live_twin(obj: bpy.types.Object) -> bpy.types.Object | None:
    rig = record_of(obj).model
    if is_writing() or rig is None or not settings(rig).symmetric:
        return None
    return _find_twins(rig, (obj.session_uid,)).get(obj.session_uid)


def bones_renamed(rig: bpy.types.Object, went: Mapping[str, str]) -> None:
    """Rename the bones of twins after bones were renamed."""
    if is_writing() or not settings(rig).symmetric:
        return
    invalidate_twins()  # after an undo the cache may be outdated
    found = _collect_twins(rig)
    if not found:
        return
    with writing_records():
        rename_twin_bones(rig, went.values(), found, require_plane(rig))


def restart_live_mirror(armature: bpy.types.Armature) -> None:
    """Start or stop symmetric editing after its property changed."""
    rig = armature_settings(armature).rig
    if rig is not None and armature_settings(armature).symmetric:
        start_live_mirror(rig)
    elif rig is not None:
        for obj in (obj for objects in parts_by_role(rig).values() for obj in objects):
            record_of(obj).mirrored_name = ""


def _rig_updated(rig: bpy.types.Object) -> None:
    """Record what an edit of the mechanism left as symmetric: it handles both sides itself."""
    invalidate_twins()
    if settings(rig).symmetric:
        start_live_mirror(rig)


@persistent
def after_load(*_args: Any) -> None:
    """Collect the twins of the file that was opened, before its first edit."""
    for rig in _symmetric_models(bpy.context.scene):
        with writing_records():
            _collect_twins(rig)


@persistent
def after_undo_step(*_args: Any) -> None:
    """Restore symmetry after undo and redo.

    Note:
        Immediately, because where Blender recreated all data it does not call the handler of the next update.
    """
    for rig in _symmetric_models(bpy.context.scene):
        with writing_records():
            resync_after_undo(rig)


_HANDLERS: Handlers = (
    ("depsgraph_update_post", after_update),
    ("load_post", after_load),
    ("undo_post", after_undo_step),
    ("redo_post", after_undo_step),
    (Signal.VALUE, mirror_value_change),
    (Signal.BODY, mirror_body_change),
    (Signal.TWIN, twin_changed),
    (Signal.RIG_UPDATE, _rig_updated),
    (Signal.BONES_RENAMED, bones_renamed),
    (Signal.SYMMETRY, restart_live_mirror),
)


def register() -> None:
    """Register the handlers."""
    connect(_HANDLERS)


def unregister() -> None:
    """Remove the handlers."""
    disconnect(_HANDLERS)
