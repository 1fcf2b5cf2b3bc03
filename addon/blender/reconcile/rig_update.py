"""Update of the armature after an edit: its bones are planned again for the present bodies and joints.

An edit changes objects and their records: a joint's empty moved, its ends swapped, a body added. ``update_armature``
reads the mechanism from them, plans its bones as an import does, and sets bones, locks, limits and parents accordingly.
Bones of remaining joints keep their names, constraints, keyframes and pose; the design of every part stays.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Matrix

from ...core.editing.edits import JointEdit
from ...core.editing.seen_poses import DesignUpdate, PosedState, preserve_seen_poses
from ...core.kinematics import joint_child_frame_world, joint_frame_world, joint_values_from_transform
from ...core.loops.closure import close_loops, initial_joint_positions
from ...core.loops.designs import initial_values_of_new_loops
from ...core.model import Array, Mechanism, body_by_id, joint_by_id
from ...core.report import Message, Report, abbreviate_names
from ...core.transforms import inverse
from ..animation.actions import active_action, animated_curve_ids, layered_actions, mechanism_actions
from ..animation.fcurves import CurveId, curve_ids, loop_values, posing_curves
from ..animation.keying import MIN_KEY_SPACING
from ..animation.loops import live_solver
from ..animation.loops.bone_loops import LiveLoop
from ..animation.loops.input_joints import choose_input_joints
from ..data.access import armature_of, record_of, settings
from ..data.baseline import (
    baseline_pose,
    bone_baseline,
    record_baseline_name,
    record_bone_baseline,
    recorded_rest_poses,
)
from ..data.channels import Channel, servo_channels
from ..data.conversion import (
    assembled_values,
    dof_kinds_key,
    flatten_pose,
    unflatten_pose,
    write_assembled_values,
)
from ..data.queries import is_foreign, joint_bones, mechanism_bones, parts, parts_by_id
from ..events.signals import Signal, emit, writing_records
from ..physics.simulation.setup import build_physics, clear_physics, restore_typed_frictions, typed_frictions
from ..physics.world.membership import simulating_scene
from ..rig.dials import EMPTY_SIZE_SHARE, has_dial, joint_radius
from ..rig.pose_channels import read_pose, set_dependent
from ..scene.armature import (
    BoneParenting,
    set_up_pose_bones,
    write_edit_bones,
)
from ..scene.parts import joint_bone_properties
from ..scene.placement import BuildPlan, find_dependent_joints, make_plan
from ..scene.read.applied_transforms import applied_upright
from ..scene.read.design_poses import DesignPoses, design_tree, is_pose_as_built, moved_joints
from ..scene.read.mechanism import extract_design, own_ids
from ..scene.temporary_scene import shown_in_viewport
from .channel_transfer import shift_zeros, transfer_channels
from .foreign_objects import foreign_children, preserve_world_poses
from .rig_state import RigState, assigned_axes, differing_designs, existing_bones, set_design_pose


def restore_applied_transforms(rig: bpy.types.Object) -> None:
    """Undo *Apply* (Ctrl+A): move transforms that armature data and meshes absorbed back to their objects.

    The upright rotation belongs on the armature object, and the origin of a body at its center of mass. Nothing moves
    visibly.
    """
    if is_foreign(rig):
        return
    _restore_origins(rig)
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


def _restore_origins(rig: bpy.types.Object) -> None:
    """Restore the origins of bodies.

    A mesh that is linked or has other users is copied for that, once for all bodies with the same transform.
    """
    designs, made = DesignPoses(rig), dict[tuple[object, ...], bpy.types.Mesh]()
    for obj in parts(rig, "BODY"):
        applied = designs.applied(obj)
        if applied is None:
            continue
        back, mesh = applied.inverted_safe(), cast(bpy.types.Mesh, obj.data)
        key = mesh.session_uid, *flatten_pose(applied)
        if key not in made:
            made[key] = mesh.copy() if mesh.users > 1 or mesh.library is not None else mesh
            made[key].transform(back, shape_keys=True)
        obj.data = made[key]
        obj.matrix_basis = obj.matrix_basis @ applied
        for child in obj.children:
            child.matrix_parent_inverse = back @ child.matrix_parent_inverse


_NO_EDITS: Mapping[str, JointEdit] = {}


def update_armature(
    rig: bpy.types.Object,
    present: RigState | None = None,
    edits: Mapping[str, JointEdit] = _NO_EDITS,
    made: Collection[bpy.types.Object] = (),
    mechanism: Mechanism | None = None,
    is_restored: bool = False,
) -> Report:
    """Update a mechanism's armature to its present bodies and joints; the bodies stay where they are seen.

    Physics that was built is rebuilt.

    Args:
        rig: The armature.
        present: State of the mechanism before the edit; None: nothing that poses it was edited yet.
        edits: Changes of joints, by id.
        made: New joints, and new bodies that are placed by their joints; other bodies stay where they are seen.
        mechanism: The mechanism as its objects have it, which is changed; None: it is read from them.
        is_restored: Bones that were edited move back; the user's objects on bones go with them.

    Returns:
        The report.
    """
    report = Report()
    present = present or begin_edit(rig)
    assign_ids(rig)
    with (
        in_object_mode(rig),
        physics_suspended(rig, report),
        preserve_world_poses(() if is_restored else _bone_children(rig)),  # where loops are solved again
        live_solver.solver_suspended(),
    ):
        designs = differing_designs(rig)
        designed = extract_design(rig) if mechanism is None else mechanism
        lost = _joints_without_bones(rig, made) - edits.keys()
        placing = present.placing | lost  # these place their bodies as before, wherever they are seen without bones
        tree = design_tree(designed, placing | _joints_placing_new(rig, made), present.roots)
        placement = PosedState(
            moves=present.moves,
            roots=present.roots,
            kept=placing,
            edited=present.moved | {joint: edit.held for joint, edit in edits.items() if edit.held is not None},
            made={record_of(obj).source_id for obj in made if record_of(obj).role == "BODY"},
            joining={record_of(obj).source_id for obj in made if record_of(obj).role == "JOINT"},
            values={joint: edit.values for joint, edit in edits.items() if edit.values is not None},
            following={record_of(obj).source_id for obj in parts(rig, "JOINT") if record_of(obj).joint.is_dependent},
        )
        held = preserve_seen_poses(tree, placement)
        shift_zeros(rig, tree.mechanism, held.zeros)
        is_new = not mechanism_bones(rig)
        kept = assigned_axes(rig, present.channels, edits)
        kept.roots.update(present.rests)
        decided = make_plan(tree.mechanism, closed=is_new, tree=tree, kept=kept)
        _shift_designs(rig, held.shifts, designs)
        records = [record_of(empty) for empty in parts(rig, "JOINT")]
        loops = {record.source_id for record in records if record.joint.loop}
        retyped = any(record.joint.bone_kinds not in {"", dof_kinds_key(record.joint)} for record in records)
        bones = existing_bones(rig, decided)
        seen = {joint: values for joint, values in held.values.items() if joint not in lost}
        gone = mechanism_bones(rig).difference(filter(None, bones))
        _detach_from_bones(rig, gone)
        names = write_edit_bones(rig, decided.bones, bones)
        with writing_records():
            record_joints(rig, decided)
            _size_joints(rig, decided)
            set_up_pose_bones(rig, names, decided, {**decided.starts, **seen}, bones)
            _attach_to_bones(rig, BoneParenting(decided, rig, names), decided, designs)
        live_solver.invalidate_loops(rig)
        report.extend(transfer_channels(rig, present, edits, gone.intersection(names), held.zeros))
        _report_lost_poses(rig, lost, report)
        if not is_new:
            _begin_new_loops(rig, decided, held, decided.tree.loop_joints - loops.difference(placement.joining))
        if is_new:
            _set_dependent_joints(rig, decided.followers)
        elif loops != decided.tree.loop_joints:
            closed, preferred = _closed_coordinates(decided, held), _preferred_inputs(rig, present)
            _set_dependent_joints(rig, find_dependent_joints(decided.mechanism, tree, closed, report, preferred))
        elif (loops and retyped) or not present.looped <= {record.source_id for record in records}:
            choose_input_joints(rig, _closed_coordinates(decided, held), within=None if retyped else present.looped)
        report.extend(_mute_new_followers(rig, present))  # loops are gathered where they are seen
        left = live_solver.followers_without_loop(rig) if made else ()
        for empty in made:  # copies of joints that followed a loop which was not copied
            if record_of(empty).role == "JOINT" and record_of(empty).source_id in left:
                set_dependent(empty, False)
    report.extend(present.references.finish())
    emit(Signal.RIG_UPDATE, rig)
    return report


def begin_edit(rig: bpy.types.Object, changing: Collection[str] = ()) -> RigState:
    """Prepare a mechanism for an edit and return its state: copies get ids, and applied transforms are restored.

    Args:
        rig: The armature.
        changing: Ids of joints that get other degrees of freedom or are deleted: joints that their closed loops hold
            short of keyframes are keyed where they are seen.
    """
    assign_ids(rig)
    if changing:
        _key_held_joints(rig, changing)
    restore_applied_transforms(rig)
    bpy.context.view_layer.update()
    state = RigState(rig)
    state.moved = _seen_values_of_moved(rig, state.moves)
    return state


def _seen_values_of_moved(rig: bpy.types.Object, moves: Mapping[str, Array]) -> dict[str, Array]:
    """Compute the values (size,) at which joints that were moved by hand are seen, by id.

    Their bodies are seen where the bones have them, which still move about the previous frame of the joint. Joints
    that were moved along with a body of theirs are left out: these keep the design that the user gave them. So are
    those with a twin during symmetric editing, whose halves are mirror images in the design and not in the pose.

    Args:
        rig: The armature.
        moves: Motions (4, 4) of the bodies from their design to where they are seen, by id.
    """
    moved, out = moved_joints(rig), dict[str, Array]()
    if not moved:
        return out
    mechanism, designs = extract_design(rig), DesignPoses(rig)
    joints, bodies = joint_by_id(mechanism), body_by_id(mechanism)
    written, chains = recorded_rest_poses(rig), joint_bones(rig)

    def design_before(obj: bpy.types.Object, bone: str) -> Array:
        """Return the design pose (4, 4) for which the bones of a part were made; it moves along with an applied one."""
        before = np.array(Matrix(unflatten_pose(bone_baseline(obj)).tolist()).normalized(), dtype=np.float64)
        if bone not in written:
            return before
        return designs.rest(armature_of(rig).bones[bone]) @ inverse(written[bone]) @ before

    for empty in moved:
        joint, record = joints.get(record_of(empty).source_id), record_of(empty).joint
        if joint is None or not joint.active or any(end is not None and end not in moves for end in joint.ends):
            continue
        if record_of(empty).twin and settings(rig).symmetric:
            continue
        here, there = joint_frame_world(joint, bodies), joint_child_frame_world(joint, bodies)
        bone = next(iter(chains.get(joint.id, ())), empty.parent_bone)
        after = np.array(designs.of(empty).normalized().inverted_safe(), dtype=np.float64)
        back = design_before(empty, bone) @ after
        if is_pose_as_built(empty, Matrix((back @ here).tolist()), here):
            continue  # only its parenting changed
        ends = [end for end in (record.parent, record.child) if end is not None]
        built = (design_before(end, designs.carrier(end)) for end in ends)
        if not all(
            is_pose_as_built(end, designs.of(end).normalized(), own) for end, own in zip(ends, built, strict=True)
        ):
            continue
        parent, child = (np.eye(4) if end is None else moves[end] for end in joint.ends)
        seen = inverse(parent @ back @ here) @ child @ back @ there
        out[joint.id] = joint_values_from_transform(joint, seen[None])[0]
    return out


#: Deviation (rad, length units) from its keyframes up to which a joint is not held short of them.
_HELD_TOLERANCE = 1e-5


def _key_held_joints(rig: bpy.types.Object, joints: Collection[str]) -> None:
    """Key joints where closed loops hold them short of their keyframes, in every Action: a loop that is cut does not.

    ``joints`` (ids) will be deleted: their loops are considered.
    """
    every = [loop for loop in live_solver.live_loops(rig) if isinstance(loop, LiveLoop)]
    loops = [loop for loop in every if live_solver.loop_joints(loop).intersection(joints)]
    for action in mechanism_actions(rig) if loops else ():
        curves = posing_curves(rig, action)
        for loop in loops:
            _key_held_inputs(rig, loop, action, curves)


def _key_held_inputs(
    rig: bpy.types.Object, loop: LiveLoop, action: bpy.types.Action, curves: Mapping[CurveId, bpy.types.FCurve]
) -> None:
    """Key joints of a loop where it holds them in an Action with these curves by identifier.

    If the Action is active and not added to others, also at the present frame.
    """
    now = float(bpy.context.scene.frame_current_final)
    keyed = {
        (joint, channel.dof_index): curve
        for joint, own in loop.channels.items()
        for channel in own
        if channel.is_single and (curve := curves.get((channel.path, channel.index))) is not None
    }
    is_shown = action == active_action(rig) and layered_actions(rig).get(action) == "REPLACE"
    present = {now} if is_shown else set[float]()
    frames = sorted(present | {float(point.co[0]) for curve in keyed.values() for point in curve.keyframe_points})
    found = loop_values(rig, loop, loop.given_joints(action), curves, np.array(frames)) if keyed else {}
    if not found:
        return
    states = {frame: {joint: row[n] for joint, row in found.items()} for n, frame in enumerate(frames)}
    if present:
        evaluated = rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
        states[now] |= {joint: read_pose(evaluated, own) for joint, own in loop.channels.items()}
    values = {key: {frame: curve.evaluate(frame) for frame in frames} for key, curve in keyed.items()}
    offsets = {
        key: {frame: float(states[frame][key[0]][key[1]]) - value for frame, value in every.items()}
        for key, every in values.items()
    }
    if not any(abs(value) > _HELD_TOLERANCE for every in offsets.values() for value in every.values()):
        return
    for key, curve in keyed.items():
        if present and not any(abs(point.co[0] - now) < MIN_KEY_SPACING for point in curve.keyframe_points):
            curve.keyframe_points.insert(now, values[key][now])
        for point in curve.keyframe_points:
            frame = float(point.co[0])
            offset = offsets[key][frame if frame in offsets[key] else now]
            for name in ("handle_left", "handle_right", "co"):
                getattr(point, name)[1] += offset
        curve.update()


def _joints_without_bones(rig: bpy.types.Object, made: Collection[bpy.types.Object]) -> set[str]:
    """Return the ids of the joints whose bones were deleted by hand: what they carry is not seen where it was posed.

    Copies, new joints and those that close loops have had no bones.
    """
    chains = joint_bones(rig)
    records = [record_of(empty) for empty in parts(rig, "JOINT") if empty not in made]
    return {
        record.source_id
        for record in records
        if record.joint.bone_kinds and not (record.joint.loop or record.copy_of or chains.get(record.source_id))
    }


def _report_lost_poses(rig: bpy.types.Object, lost: Collection[str], report: Report) -> None:
    """Report joints that got new bones for deleted ones and have no keyframes: nothing has their pose."""
    animated = animated_curve_ids(rig) if lost else set()
    found = [own for joint, own in servo_channels(rig).items() if joint in lost] if lost else []
    names = [own[0].name for own in found if animated.isdisjoint(curve_ids(own))]
    if names:
        report.info(
            "pose-lost",
            Message("Pose: lost with the deleted bones, initial values are set: {}", abbreviate_names(names, 4)),
        )


def _joints_placing_new(rig: bpy.types.Object, made: Collection[bpy.types.Object]) -> set[str]:
    """Return the ids of the joints that place new bodies: not those that close loops, as their originals do."""
    records = [record_of(empty) for empty in parts(rig, "JOINT")] if made else []
    return {
        record.source_id
        for record in records
        if not record.joint.loop and (record.joint.parent in made or record.joint.child in made)
    }


def _shift_designs(rig: bpy.types.Object, shifts: Mapping[str, Array], designs: dict[bpy.types.Object, Matrix]) -> None:
    """Add to ``designs`` those of bodies that an edit moves (``shifts``, by id) and of the joints on them."""
    for role in ("BODY", "JOINT") if shifts else ():
        for obj in parts(rig, role):
            joint = record_of(obj).joint
            body = obj if role == "BODY" else joint.parent or (None if joint.at_world else joint.child)
            shift = shifts.get(record_of(body).source_id) if body is not None else None
            if shift is not None:
                designs[obj] = Matrix(shift.tolist()) @ designs.get(obj, obj.matrix_basis)


def assign_ids(rig: bpy.types.Object) -> None:
    """Give copied bodies and joints their own ids, so that bones can distinguish them.

    Their name becomes their object's, which no longer counts as one that Blender derived from their original's.
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
            record.source_name = obj.name
            record_baseline_name(obj)
            there = assign_shape_ids(obj, before)
            stood_for = {number for number, shape in enumerate(record.shapes) if shape.has_child}
            record.without_children = not stood_for <= there


def assign_shape_ids(obj: bpy.types.Object, before: str) -> set[int]:
    """Give the collision shapes of a body, whose id was ``before``, ids with its present one; return their indices."""
    there = set()
    for child in obj.children:
        record = record_of(child)
        at, _slash, number = record.source_id.rpartition("/")
        if record.role == "SHAPE" and at == before:
            record.source_id = f"{record_of(obj).source_id}/{number}"
            there.add(record.shape)
    return there


@contextmanager
def in_object_mode(rig: bpy.types.Object) -> Iterator[None]:
    """Context manager in which an armature is in Object Mode; Pose Mode is entered again."""
    mode = rig.mode
    if mode != "OBJECT":
        _set_mode(rig, "OBJECT")
    try:
        yield
    finally:
        if mode == "POSE":
            _set_mode(rig, mode)


def _set_mode(rig: bpy.types.Object, mode: str) -> None:
    with shown_in_viewport(rig), bpy.context.temp_override(object=rig, active_object=rig):
        bpy.ops.object.mode_set(mode=mode)  # type: ignore[arg-type]


@contextmanager
def physics_suspended(rig: bpy.types.Object, report: Report) -> Iterator[dict[bpy.types.Object, float]]:
    """Context manager in which a mechanism has no physics; afterwards it is rebuilt if it was there.

    Yields:
        Frictions of bodies that were typed into Blender's Physics tab; they are restored.
    """
    scene, drive = simulating_scene(rig), settings(rig).drive
    frictions = typed_frictions(rig) if scene is not None else {}
    if scene is not None:
        clear_physics(scene, rig, keep_world=True)
    try:
        yield frictions
    finally:
        if scene is not None:
            report.extend(build_physics(scene, rig))
            restore_typed_frictions(frictions)
        if settings(rig).drive != drive:
            settings(rig).drive = drive


def _bone_children(rig: bpy.types.Object) -> list[bpy.types.Object]:
    """Return the user's objects on bones. A restored bone takes back those of one that was deleted by hand."""
    bones = armature_of(rig).bones
    return [obj for obj in foreign_children(rig) if obj.parent_type == "BONE" and obj.parent_bone in bones]


def _detach_from_bones(rig: bpy.types.Object, bones: set[str]) -> None:
    """Unparent objects from bones that will be deleted: Blender prints warnings about missing parent bones."""
    for obj in rig.children if bones else ():
        if obj.parent_type == "BONE" and obj.parent_bone in bones:
            obj.parent_type, obj.parent_bone = "OBJECT", ""


def record_joints(rig: bpy.types.Object, decided: BuildPlan) -> None:
    """Store in each joint's record where its degrees of freedom are posed, and whether it closes a loop."""
    determined = joint_bone_properties(decided)
    for empty in parts(rig, "JOINT"):
        record = record_of(empty).joint
        values, places = determined.get(record_of(empty).source_id, (None, {}))
        for name, value in values.items() if values is not None else ():
            setattr(record, name, value)
        for number, dof in enumerate(record.dofs if values is not None else ()):
            for name, value in places.get(number, _UNPOSED).items():
                setattr(dof, name, value)


#: Properties of a degree of freedom that no bone poses.
_UNPOSED: dict[str, Any] = {"step": -1, "channel": "", "channel_index": -1}


def _size_joints(rig: bpy.types.Object, decided: BuildPlan) -> None:
    """Set the display size of empties whose bones have no dial yet (older files), by the bodies that they connect."""
    chains = joint_bones(rig)
    for empty in parts(rig, "JOINT"):
        record = record_of(empty)
        if record.source_id in chains and not any(has_dial(rig.pose.bones[name]) for name in chains[record.source_id]):
            radius = joint_radius((record.joint.parent, record.joint.child), decided.size)
            empty.empty_display_size = EMPTY_SIZE_SHARE * radius


def _closed_coordinates(decided: BuildPlan, held: DesignUpdate) -> dict[str, Array]:
    """Return the joint values, by id, at which the loops are closed nearest to what is seen."""
    seen = held.coordinates(decided.mechanism)
    return close_loops(decided.mechanism, decided.tree, positions=seen)[0] if decided.tree.loop_joints else {}


def _begin_new_loops(rig: bpy.types.Object, decided: BuildPlan, held: DesignUpdate, new: Set[str]) -> None:
    """Make loops that an edit closed in another pose than the initial one begin there, as those of files that are open.

    ``new`` are the ids of their chords.
    """
    empties = parts_by_id(rig, "JOINT") if new else {}
    initial = initial_joint_positions(decided.mechanism) | assembled_values(empties)
    closed = _closed_coordinates(decided, held) if new else {}
    for own, values in initial_values_of_new_loops(decided.mechanism, decided.tree, new, initial, closed).items():
        write_assembled_values(record_of(empties[own]).joint, values)


def _preferred_inputs(rig: bpy.types.Object, present: RigState) -> list[str]:
    """Return the ids of the joints that are input joints of loops already, then those with keyframes."""
    records = [record_of(empty) for empty in parts(rig, "JOINT")]
    inputs = [each.source_id for each in records if each.source_id in present.looped and not each.joint.is_dependent]
    curves = [posing_curves(rig, action) for action in present.actions]
    return [*inputs, *(joint for each in curves for joint in _keyed_joints(each, present.channels))]


def _keyed_joints(curves: Mapping[CurveId, bpy.types.FCurve], channels: Mapping[str, Sequence[Channel]]) -> list[str]:
    """Return the ids of the joints that curves pose, among those with channels by id."""
    return [joint for joint, own in channels.items() if not curve_ids(own).isdisjoint(curves)]


def _mute_new_followers(rig: bpy.types.Object, present: RigState) -> Report:
    """Mute keyframes of joints that follow a closed loop which an edit closed: they would keep it open.

    As many joints stay keyed as the loop has inputs, in each Action, input joints before others.
    """
    report, muted = Report(), dict[str, str]()
    every = [loop for loop in live_solver.live_loops(rig) if isinstance(loop, LiveLoop)]
    closed = [loop for loop in every if not live_solver.loop_joints(loop) & present.looped]
    for action in present.actions if closed else ():
        curves = posing_curves(rig, action)
        for loop in closed:
            keyed = _keyed_joints(curves, loop.channels)
            if len(keyed) <= len(loop.drivers):
                continue
            order = [*(joint for joint in loop.drivers if joint in keyed), *keyed]
            for joint in set(keyed).difference(loop.linkage.drivers(loop.follower.present().positions, order)):
                muted[joint] = loop.channels[joint][0].bone
                for each in curve_ids(loop.channels[joint]) & curves.keys():
                    curves[each].mute = True
    if muted:
        names = abbreviate_names(sorted(muted.values()))
        report.warn(
            "followers-muted",
            Message(
                "Closed loop: joints {} follow it now, their keyframes are muted. Choose another input joint to "
                "use them",
                names,
            ),
            where=min(muted.values()),
        )
    return report


def _set_dependent_joints(rig: bpy.types.Object, chosen: Collection[str]) -> None:
    """Make the joints with these ids dependent, and no others."""
    for empty in parts(rig, "JOINT"):
        set_dependent(empty, record_of(empty).source_id in chosen)


def _attach_to_bones(
    rig: bpy.types.Object, parenting: BoneParenting, decided: BuildPlan, designs: Mapping[bpy.types.Object, Matrix]
) -> None:
    """Parent bodies and joints to the bones that carry them, or to the armature object for the world.

    ``designs`` are those of parts that are parented elsewhere.
    """
    for obj, design in designs.items():
        set_design_pose(obj, np.array(design, dtype=np.float64))
    bodies = {body.id for body in decided.mechanism.bodies}
    for obj in parts(rig, "BODY"):
        if record_of(obj).source_id in bodies:
            parenting.hold(obj, record_of(obj).source_id)
        record_bone_baseline(obj)
    for empty in parts(rig, "JOINT"):
        joint = record_of(empty).joint
        carrier = joint.parent or joint.child
        parenting.hold(empty, record_of(carrier).source_id if carrier is not None else None)
        record_bone_baseline(empty)


# ---------------------------------------------------------------- collision shapes

#: Tolerance of the entries of equal local matrices.
_MATRIX_TOLERANCE = 1e-6


def attach_shapes(rig: bpy.types.Object, pairs: Iterable[tuple[bpy.types.Object, bpy.types.Object]]) -> None:
    """Parent collision shapes to bodies (pairs of the two).

    They get their built pose if they still have that local matrix, else they stay where they are.
    """
    bpy.context.view_layer.update()
    for obj, body in pairs:
        local = body.matrix_world.inverted_safe() @ obj.matrix_world
        was_there = np.abs(np.array(obj.matrix_basis) - baseline_pose(obj)).max() <= _MATRIX_TOLERANCE
        obj.parent, obj.parent_type, obj.matrix_parent_inverse = body, "OBJECT", Matrix()
        if not was_there:
            set_design_pose(obj, np.array(local, dtype=np.float64))
    update_armature(rig)
