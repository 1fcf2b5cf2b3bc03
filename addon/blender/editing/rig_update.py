"""Put back what *Apply* (Ctrl+A) did to a model before it is edited: the turn that stands it upright belongs on its
armature, and the origin of a body at its center of mass. Nothing is seen to move."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import cast

import bpy
import numpy as np
from mathutils import Matrix

from ...core.editing.seen_poses import Held, Placement, hold_seen
from ...core.kinematics import design_openings
from ...core.loops.closure import assemble
from ...core.model import Array
from ...core.report import Report
from ...core.transforms import inverse
from ..animation.loops import live_solver
from ..animation.loops.drivers import choose_again
from ..data.access import armature_of, bone_record, record_of, settings
from ..data.conversion import flat, kinds_of
from ..data.queries import is_foreign, joint_bones, own_bones, parts, root_bones
from ..events.signals import on_refit, quiet
from ..physics.simulation.setup import build_physics, clear_physics, put_typed_frictions, typed_frictions
from ..physics.world.membership import home_of
from ..rig.bone_limits import limit_bone_of, unlimit_bone
from ..rig.dials import EMPTY_SHARE, has_dial, joint_radius
from ..rig.joint_frames import constraint_turn
from ..rig.pose_channels import lock_follower, set_follows
from ..scene.armature import (
    Hook,
    begin,
    dial_bones,
    drive_screws,
    edit_bones,
    free_channels,
    record_bone,
    release_screws,
    split_coordinates,
)
from ..scene.placement import Plan, followers, plan
from ..scene.read.applied_transforms import applied_upright
from ..scene.read.design_poses import Designs, is_rounding, tree_of
from ..scene.read.mechanism import extract_design, own_ids
from ..scene.temporary_scene import shown
from .channel_transfer import count_anew, go_on, make_fresh
from .design_poses import JointEdit, Present, kept_bones, put_design
from .foreign_objects import in_place, strangers_on


def put_applied_back(rig: bpy.types.Object) -> None:
    """Move what armature and meshes took over of the transforms of their objects back onto these."""
    if is_foreign(rig):
        return
    _put_origins_back(rig)
    turn = applied_upright(rig)
    if turn is None or rig.mode == "EDIT":
        return
    back = turn.inverted_safe()
    armature_of(rig).transform(back)
    rig.matrix_basis = rig.matrix_basis @ turn
    for child in rig.children:
        if child.parent_type == "OBJECT":
            child.matrix_parent_inverse = back @ child.matrix_parent_inverse
    bpy.context.view_layer.update()


def _put_origins_back(rig: bpy.types.Object) -> None:
    """Give bodies their origins back.

    A mesh that others have as well, or that is linked, is copied for that: once for all bodies that have it alike.
    """
    designs, made = Designs(rig), dict[tuple[object, ...], bpy.types.Mesh]()
    for obj in parts(rig, "BODY"):
        applied = designs.applied(obj)
        if applied is None:
            continue
        back, mesh = applied.inverted_safe(), cast(bpy.types.Mesh, obj.data)
        key = mesh.session_uid, *flat(applied)
        if key not in made:
            made[key] = mesh.copy() if mesh.users > 1 or mesh.library is not None else mesh
            made[key].transform(back, shape_keys=True)
        obj.data = made[key]
        obj.matrix_basis = obj.matrix_basis @ applied
        for child in obj.children:
            child.matrix_parent_inverse = back @ child.matrix_parent_inverse


_NONE: Mapping[str, JointEdit] = {}


def refit(
    rig: bpy.types.Object,
    present: Present | None = None,
    edits: Mapping[str, JointEdit] = _NONE,
    made: Collection[bpy.types.Object] = (),
) -> Report:
    """Make a model's armature fit its bodies and joints as they are now, and leave the bodies where they are seen.

    Physics that was built is built anew.

    Args:
        rig: the armature.
        present: how the model stood before what was edited; None: nothing is edited yet that poses it.
        edits: what was done to joints, by their ids.
        made: bodies that are new and stand where their joints have them, and new joints; others stay where they are
            seen.

    Returns:
        What is to be said of it.
    """
    report = Report()
    present = present or begin_edit(rig)
    give_ids(rig)
    with live_solver.resting(), _object_mode(rig), without_physics(rig, report), in_place(_on_bones(rig)):
        designs = _designs(rig)
        tree = tree_of(extract_design(rig), present.placing | _placing_new(rig, made), present.roots)
        placement = Placement(
            moves=present.moves,
            roots=present.roots,
            kept=present.placing,
            edited={joint: edit.held for joint, edit in edits.items() if edit.held is not None},
            made={record_of(obj).source_id for obj in made if record_of(obj).role == "BODY"},
            joining={record_of(obj).source_id for obj in made if record_of(obj).role == "JOINT"},
            values={joint: edit.values for joint, edit in edits.items() if edit.values is not None},
            following={record_of(obj).source_id for obj in parts(rig, "JOINT") if record_of(obj).joint.follows},
        )
        held = hold_seen(tree, placement)
        count_anew(rig, tree.mechanism, held.zeros)
        is_new = not own_bones(rig)
        decided = plan(tree.mechanism, closed=is_new, tree=tree, kept=kept_bones(rig, present.channels, edits))
        _shift(rig, held.shifts, designs)
        records = [record_of(empty) for empty in parts(rig, "JOINT")]
        loops = {record.source_id for record in records if record.joint.loop}
        retyped = any(record.joint.boned not in {"", kinds_of(record.joint)} for record in records)
        bones = present_bones(rig, decided)
        lost = _without_bones(rig, made) - edits.keys()
        seen = {joint: values for joint, values in held.values.items() if joint not in lost}
        gone = own_bones(rig).difference(filter(None, bones))
        _let_go(rig, gone)
        names = edit_bones(rig, decided.bones, bones)
        with quiet():
            record_joints(rig, decided)
            _set_bones(rig, decided, names, bones, {**decided.starts, **seen})
            _hang(rig, Hook(decided, rig, names), decided, designs)
        live_solver.forget(rig)
        go_on(rig, present, edits, gone.intersection(names), held.zeros)
        if is_new:
            _put_followers(rig, decided.followers)
        elif loops != decided.tree.loop_joints:
            _put_followers(rig, followers(decided.mechanism, tree, _closed(decided, held), report))
        elif (loops and retyped) or not present.looped <= {record.source_id for record in records}:
            choose_again(rig, _closed(decided, held), within=None if retyped else present.looped)
        live_solver.live_loops(rig)  # gathered where they are seen, they are followed from there
    for act in on_refit:
        act(rig)
    return report


def begin_edit(rig: bpy.types.Object) -> Present:
    """Prepare a mechanism to be edited, and return how it stands: copies have ids of their own, and transforms that
    were applied (Ctrl+A) are back on their objects."""
    give_ids(rig)
    put_applied_back(rig)
    bpy.context.view_layer.update()
    return Present(rig)


def _without_bones(rig: bpy.types.Object, made: Collection[bpy.types.Object]) -> set[str]:
    """The ids of the joints whose bones were deleted by hand: what they carried is not seen where it was posed.

    Copies, new joints and those that close loops have had none.
    """
    chains = joint_bones(rig)
    records = [record_of(empty) for empty in parts(rig, "JOINT") if empty not in made]
    return {
        record.source_id
        for record in records
        if record.joint.boned and not (record.joint.loop or record.copy_of or chains.get(record.source_id))
    }


def _placing_new(rig: bpy.types.Object, made: Collection[bpy.types.Object]) -> set[str]:
    """The ids of the joints that place new bodies: but for those that close loops, as what they are copies of does."""
    records = [record_of(empty) for empty in parts(rig, "JOINT")] if made else []
    return {
        record.source_id
        for record in records
        if not record.joint.loop and (record.joint.parent in made or record.joint.child in made)
    }


def _shift(rig: bpy.types.Object, shifts: Mapping[str, Array], designs: dict[bpy.types.Object, Matrix]) -> None:
    """Add to the ``designs`` of parts those that an edit moves: of bodies by their ids, and of the joints on them."""
    for role in ("BODY", "JOINT") if shifts else ():
        for obj in parts(rig, role):
            joint = record_of(obj).joint
            body = obj if role == "BODY" else joint.parent or (None if joint.at_world else joint.child)
            shift = shifts.get(record_of(body).source_id) if body is not None else None
            if shift is not None:
                designs[obj] = Matrix(shift.tolist()) @ designs.get(obj, obj.matrix_basis)


def moved_joints(rig: bpy.types.Object) -> list[bpy.types.Object]:
    """The joints whose empties were moved since their bones were made for them: posing still turns them where they
    were."""
    return [empty for empty in parts(rig, "JOINT") if is_unfitted(empty)]


def is_unfitted(empty: bpy.types.Object) -> bool:
    """Whether a joint's empty was moved since its bones were made for it. Asked of all after every change."""
    now, fitted = flat(empty.matrix_basis), fitted_at(empty)
    return now != fitted and not is_rounding(empty, now, fitted)


def keep_fitted(empty: bpy.types.Object) -> None:
    """Before a joint's place as built is another: where its bones were made for it is still the old one."""
    record_of(empty).fitted = fitted_at(empty)


def fitted_at(empty: bpy.types.Object) -> list[float]:
    """Where a joint's empty was when its bones were made for it: the 16 numbers of its local matrix."""
    record = record_of(empty)
    fitted = list(record.fitted[:])
    return fitted if fitted[-1] else list(record.built[:])  # the last of a matrix is 1: it was made where it was built


def give_ids(rig: bpy.types.Object) -> None:
    """Give bodies and joints that are copies an id of their own, so that bones can tell them apart.

    Their name is their object's then, and nobody takes it for one that Blender made of their original's.
    """
    for role in ("BODY", "JOINT"):
        objects = parts(rig, role)
        for obj, own in own_ids(objects).items():
            record = record_of(obj)
            before = record.source_id
            if own == before:
                continue
            record.copy_of = record.copy_of or before
            record.source_id = own
            record.source_name = record.built_name = obj.name
            there = set()
            for child in obj.children:
                at, _slash, number = record_of(child).source_id.rpartition("/")
                if record_of(child).role == "SHAPE" and at == before:
                    record_of(child).source_id = f"{own}/{number}"
                    there.add(record_of(child).shape)
            stood_for = {number for number, shape in enumerate(record.shapes) if shape.has_child}
            record.without_children = not stood_for <= there


@contextmanager
def _object_mode(rig: bpy.types.Object) -> Iterator[None]:
    mode = rig.mode
    if mode != "OBJECT":
        _set_mode(rig, "OBJECT")
    try:
        yield
    finally:
        if mode == "POSE":
            _set_mode(rig, mode)


def _set_mode(rig: bpy.types.Object, mode: str) -> None:
    with shown(rig), bpy.context.temp_override(object=rig, active_object=rig):
        bpy.ops.object.mode_set(mode=mode)  # type: ignore[arg-type]


@contextmanager
def without_physics(rig: bpy.types.Object, report: Report) -> Iterator[dict[bpy.types.Object, float]]:
    """Within it the model has no physics; afterwards it has what it had.

    Gives the frictions of bodies that were typed into Blender's Physics tab, which they have again then.
    """
    scene, drive = home_of(rig), settings(rig).drive
    frictions = typed_frictions(rig) if scene is not None else {}
    if scene is not None:
        clear_physics(scene, rig)
    try:
        yield frictions
    finally:
        if scene is not None:
            report.extend(build_physics(scene, rig))
            put_typed_frictions(frictions)
        if settings(rig).drive != drive:
            settings(rig).drive = drive


def present_bones(rig: bpy.types.Object, decided: Plan) -> list[str | None]:
    """The names of the bones that there are already for those of the plan, None for new ones."""
    chains, roots = joint_bones(rig), root_bones(rig)
    out: list[str | None] = []
    for bone in decided.bones:
        if bone.link is None:
            assert bone.body is not None
            out.append(roots.get(bone.body.id))
        else:
            chain = chains.get(bone.link.joint.id, [])
            out.append(chain[bone.step] if bone.step < len(chain) else None)
    return out


def _on_bones(rig: bpy.types.Object) -> list[bpy.types.Object]:
    """What the user hung on bones: their rests may be others after, or they may go."""
    return [obj for obj in strangers_on(rig) if obj.parent_type == "BONE"]


def _let_go(rig: bpy.types.Object, bones: set[str]) -> None:
    """Take what hangs on bones that go off them: Blender complains of what hangs on none."""
    for obj in rig.children if bones else ():
        if obj.parent_type == "BONE" and obj.parent_bone in bones:
            obj.parent_type, obj.parent_bone = "OBJECT", ""


def record_joints(rig: bpy.types.Object, decided: Plan) -> None:
    """Keep with each joint where its degrees of freedom are posed, and whether it closes a loop."""
    places, mechanism = decided.places(), decided.mechanism
    against = {bone.link.joint.id: bone.link.against for bone in decided.bones if bone.link is not None}
    openings = design_openings(mechanism, decided.tree)
    known = {joint.id: joint for joint in mechanism.joints}
    for empty in parts(rig, "JOINT"):
        record = record_of(empty).joint
        joint = known.get(record_of(empty).source_id)
        if joint is None:
            continue
        record.loop = joint.id in decided.tree.loop_joints
        record.against = against.get(joint.id, False)
        record.boned = kinds_of(record)
        record.is_open = joint.id in openings
        if joint.id in openings:
            turn = constraint_turn(joint)
            opening = openings[joint.id]
            record.opening = flat(opening if turn is None else inverse(turn) @ opening @ turn)
        for number, dof in enumerate(record.dofs):
            place = places.get(joint.id, {}).get(number)
            dof.step, dof.channel, dof.channel_index = (
                (-1, "", -1) if place is None else (place.step, place.prop, place.index)
            )


def _set_bones(
    rig: bpy.types.Object,
    decided: Plan,
    names: Sequence[str],
    present: Sequence[str | None],
    values: Mapping[str, Array],
) -> None:
    """Records, locks, limits and drivers of all bones; new ones begin at the ``values`` of their joints, by id, or
    where the file has them."""
    empties = {record_of(empty).source_id: empty for empty in parts(rig, "JOINT")}
    limited = set()
    shaped = {name for name, old in zip(names, present, strict=True) if old is not None and _has_users_shape(rig, name)}
    release_screws(rig, names)
    for name, bone, old in zip(names, decided.bones, present, strict=True):
        pose = rig.pose.bones[name]
        record_bone(rig, name, bone)
        if old is None:
            bone_record(armature_of(rig).bones[name]).built_name = name
            make_fresh(pose)
        pose.lock_scale = (True, True, True)
        unlimit_bone(pose)
        if bone.link is None:
            pose.rotation_mode = "QUATERNION"
            continue
        joint = bone.link.joint
        places = bone.degrees.places(bone.layout, bone.step)
        free_channels(pose, bone, places)
        if joint.id in empties and record_of(empties[joint.id]).joint.follows:
            lock_follower(pose)
        if old is None:
            starts = split_coordinates(joint.dofs, values.get(joint.id))
            for number, place in places.items():
                begin(pose, bone, place, joint.dofs[number], starts[number])
        limited.add(joint.id)
    chains = joint_bones(rig)  # of all at once: bodies do not hang on their bones yet, which would tell of each
    for joint_id in limited & empties.keys():
        limit_bone_of(empties[joint_id], chains.get(joint_id, ()))
    _size_joints(rig, [empties[joint] for joint in limited & empties.keys()], decided)
    dial_bones(rig, names, decided, set(names) - shaped)
    drive_screws(rig, names, decided)


def _has_users_shape(rig: bpy.types.Object, name: str) -> bool:
    pose = rig.pose.bones[name]
    return pose.custom_shape is not None and not has_dial(pose)


def _size_joints(rig: bpy.types.Object, empties: Collection[bpy.types.Object], decided: Plan) -> None:
    """Have joints whose bones show no dial yet, as those of older files, be as large as what they join."""
    chains = joint_bones(rig)
    for empty in empties:
        record = record_of(empty)
        if not any(has_dial(rig.pose.bones[name]) for name in chains.get(record.source_id, ())):
            radius = joint_radius((record.joint.parent, record.joint.child), decided.size)
            empty.empty_display_size = EMPTY_SHARE * radius


def _closed(decided: Plan, held: Held) -> dict[str, Array]:
    """The coordinates of joints, by id, at which the loops are closed next to where they are seen."""
    seen = held.coordinates(decided.mechanism)
    return assemble(decided.mechanism, decided.tree, positions=seen)[0] if decided.tree.loop_joints else {}


def _put_followers(rig: bpy.types.Object, chosen: Collection[str]) -> None:
    """Have the joints of these ids follow their loops, and no others."""
    for empty in parts(rig, "JOINT"):
        set_follows(empty, record_of(empty).source_id in chosen)


def _designs(rig: bpy.types.Object) -> dict[bpy.types.Object, Matrix]:
    """The designs of parts of which their local matrices are not, as they hang now."""
    designs = Designs(rig)
    now = {obj: designs.of(obj) for role in ("BODY", "JOINT") for obj in parts(rig, role)}
    return {obj: design for obj, design in now.items() if design != obj.matrix_basis}


def _hang(rig: bpy.types.Object, hook: Hook, decided: Plan, designs: Mapping[bpy.types.Object, Matrix]) -> None:
    """Hang bodies and joints on the bones that carry them, and what hangs on the world on the model as a whole.

    ``designs`` are those of parts that hang elsewhere.
    """
    for obj, design in designs.items():
        put_design(obj, np.array(design, dtype=np.float64))
    bodies = {body.id for body in decided.mechanism.bodies}
    for obj in parts(rig, "BODY"):
        if record_of(obj).source_id in bodies:
            hook.hold(obj, record_of(obj).source_id)
    for empty in parts(rig, "JOINT"):
        joint = record_of(empty).joint
        carrier = joint.parent or joint.child
        hook.hold(empty, record_of(carrier).source_id if carrier is not None else None)
        record_of(empty).fitted = flat(empty.matrix_basis)
