"""Simulation accuracy: figures from a recording, stored with the mechanism and formatted as text."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import bpy
import numpy as np

from ....core.accuracy import AccuracyRow, accuracy_rows, joint_separation_row
from ....core.model import Array, Joint
from ....core.report import Message, Report, join_messages
from ....core.run_metrics import (
    GROUND_INDEX,
    BodyPenetration,
    JointAccuracy,
    MeasuredJoint,
    PathShift,
    SimulationAccuracy,
    SimulationRecord,
    measure_accuracy,
    path_shift,
)
from ...data.access import record_of, settings, world_of
from ...data.conversion import read_dofs, store_message
from ...data.properties.model import DRIVE_ITEMS
from ...data.queries import file_name, parts, parts_by_id, simulated_copies, simulates_here, simulation_scene_of
from ...data.rigid_bodies import collision_children, total_mass
from ...rig.joint_frames import joint_sides
from ..actuators.joint_state import gather_joint_state
from ..bodies.inertia import combined_inertia
from ..bodies.penetration import CONTACT_SHARE, PointsByMesh, first_contact, lowest_points, measure_penetrations
from ..simulation.recording import Recording
from ..world.anchor import connects_bodies, is_static

#: Share of the longest link below which a length does not count.
_MIN_LINK_RATIO = 1e-6
_FIELDS = ("id", "name", "length", "separation", "mean_separation", "tilt", "is_revolute", "stop_overrun")
_NO_NUMBER = -1.0
_DRIVE_NAMES = {identifier: name for identifier, name, _description in DRIVE_ITEMS}


def accuracy_of_recording(scene: bpy.types.Scene, recording: Recording) -> SimulationAccuracy:
    """Return the accuracy of a simulation, from its recorded poses."""
    return measure_accuracy(recorded_run(scene, recording))


def recorded_run(scene: bpy.types.Scene, recording: Recording) -> SimulationRecord:
    """Return a recording as plain numbers. Call it while the mechanism still has its physics."""
    connected = _connected_joints(recording)
    scene, recording = as_simulated(scene, recording)
    bodies = recording.joint_state.bodies
    masses = [_simulated_mass(obj) for obj in bodies]
    pieces = collision_children(recording.joint_state.rig)
    tensors = [
        combined_inertia(obj, pieces.get(obj, ())) if mass > 0.0 else np.zeros((3, 3))
        for obj, mass in zip(bodies, masses, strict=True)
    ]
    poses, size = recording.with_body_scale(recording.poses), recording.size
    return SimulationRecord(
        recording.poses,
        recording.rate,
        connected,
        np.array(masses, dtype=np.float64),
        # Blender's tensors do not depend on the mechanism's scale in the world
        np.array(tensors, dtype=np.float64).reshape(-1, 3, 3) / size**2,
        _gravity(scene) / size,
        set(recording.drives[1:]) == {"LIMP"},
        [*_ground_penetrations(scene, recording, pieces, poses), *_body_penetrations(scene, recording, pieces, poses)],
        recording.steps,
        size,
    )


def as_simulated(scene: bpy.types.Scene, recording: Recording) -> tuple[bpy.types.Scene, Recording]:
    """Return a scene and a recording, or where copies are simulated, their scene and the recording of these."""
    simulation = None if simulates_here(scene) else simulation_scene_of(scene)
    copy = None if simulation is None else simulated_copies(simulation).get(recording.joint_state.rig)
    if simulation is None or copy is None:
        return scene, recording
    return simulation, replace(recording, joint_state=gather_joint_state(copy))


def measure_path_shift(scene: bpy.types.Scene, recording: Recording, finer: Recording) -> PathShift:
    """Measure the path shift between a simulation and one with twice the substeps that may be longer."""
    run, count = recorded_run(scene, recording), min(len(recording.frames), len(finer.frames))
    moved = run.masses > 0.0
    boxes = [
        pose[:3, :3] @ np.array(obj.bound_box).T + pose[:3, 3, None]
        for obj, pose, moves in zip(
            recording.joint_state.bodies, recording.with_body_scale(recording.poses[:1])[0], moved, strict=False
        )
        if moves
    ]
    pivots = [(run.poses[0, held.child] @ held.on_child)[:3, 3, None] for held in run.joints]
    corners = np.hstack([*boxes, *pivots] or [np.zeros((3, 1))])
    size = float(np.linalg.norm(np.ptp(corners, axis=1))) or 1.0  # of a point without joints: a meter
    paths = [each.poses[:count, :-1][:, moved] for each in (recording, finer)]
    contact = _first_contact(*as_simulated(scene, recording), size)
    return path_shift(paths[0], paths[1], size, recording.frame_rate, contact)


def _first_contact(scene: bpy.types.Scene, recording: Recording, size: float) -> int | None:
    """Return the index of the first frame at which bodies touch each other or the ground; None where they never do."""
    world, bodies = scene.rigidbody_world, recording.joint_state.bodies
    assert world is not None  # it was simulated
    pieces, measured = collision_children(recording.joint_state.rig), PointsByMesh()
    poses = recording.with_body_scale(recording.poses)
    found = [first_contact(world, bodies, pieces, poses[:, :-1])]
    if _has_ground(scene):
        for number, obj in enumerate(bodies):
            low = lowest_points(obj, pieces.get(obj, ()), poses[:, number], measured) < CONTACT_SHARE * size
            found.append(int(np.argmax(low)) if low.any() else None)
    return min((index for index in found if index is not None), default=None)


def _gravity(scene: bpy.types.Scene) -> Array:
    """Return the gravity (3,) of the scene's rigid-body world, in m/s²."""
    weights = world_of(scene).effector_weights
    share = weights.all * weights.gravity if scene.use_gravity else 0.0
    return np.array(scene.gravity, dtype=np.float64) * share


def _simulated_mass(obj: bpy.types.Object) -> float:
    """Return the mass of a body that physics moves, else 0."""
    body = obj.rigid_body
    if body is None or body.type != "ACTIVE" or is_static(obj):
        return 0.0
    return total_mass(obj, body.mass)


def _connected_joints(recording: Recording) -> list[MeasuredJoint]:
    joint_state = recording.joint_state
    place: dict[bpy.types.Object | None, int] = {obj: number for number, obj in enumerate(joint_state.bodies)}
    place[None] = len(joint_state.bodies)
    servo_targets = {joint: recording.servo_targets[:, number, None] for number, joint in enumerate(joint_state.joints)}
    servo_targets |= recording.multi_dof_commands
    begun = {joint: recording.values[0, number, None] for number, joint in enumerate(joint_state.joints)}
    begun |= recording.begun
    out: list[MeasuredJoint] = []
    for empty in parts(joint_state.rig, "JOINT"):
        record = record_of(empty)
        joint = record.joint
        if not connects_bodies(joint) or joint.parent not in place or joint.child not in place:
            continue
        kept = Joint(record.source_id, file_name(empty) or empty.name, joint.type, None, None, dofs=read_dofs(joint))
        ends, key = (place[joint.parent], place[joint.child]), record.source_id
        out.append(MeasuredJoint(kept, *ends, *joint_sides(empty), 0.0, servo_targets.get(key), begun.get(key)))
    _measure_links(out, joint_state.bodies, recording.size)
    return out


def _measure_links(joints: list[MeasuredJoint], bodies: list[bpy.types.Object], size: float) -> None:
    """Set the length of the shorter of each joint's two links.

    A link is as long as its farthest joints are apart, or as its mesh where it has but one joint.
    """
    pivots: dict[int, list[Array]] = {}
    for held in joints:
        pivots.setdefault(held.parent, []).append(held.on_parent[:3, 3])
        pivots.setdefault(held.child, []).append(held.on_child[:3, 3])
    lengths = {
        number: _largest_distance(points) or _extent(bodies[number], size)
        for number, points in pivots.items()
        if number < len(bodies)
    }
    longest = max(lengths.values(), default=0.0)
    for held in joints:
        ends = [lengths.get(end, 0.0) for end in (held.parent, held.child)]
        held.length = min((end for end in ends if end > _MIN_LINK_RATIO * longest), default=longest)


def _extent(obj: bpy.types.Object, size: float) -> float:
    """Return the longest side of an object in the mechanism's own lengths, whose scale in the world is ``size``."""
    return float(max(obj.dimensions[:])) / size


def _largest_distance(points: list[Array]) -> float:
    """Return the largest distance between points."""
    apart = np.array(points)[:, None] - np.array(points)[None]
    return float(np.linalg.norm(apart, axis=-1).max())


def _ground_penetrations(
    scene: bpy.types.Scene, recording: Recording, pieces: dict[bpy.types.Object, list[bpy.types.Object]], poses: Array
) -> list[BodyPenetration]:
    """Return the penetration of bodies into the ground, where there is one."""
    if not _has_ground(scene):
        return []
    measured = PointsByMesh()
    depths = (
        -lowest_points(obj, pieces.get(obj, ()), poses[:, number], measured)
        for number, obj in enumerate(recording.joint_state.bodies)
    )
    return [BodyPenetration(number, GROUND_INDEX, np.maximum(depth, 0.0)) for number, depth in enumerate(depths)]


def _has_ground(scene: bpy.types.Scene) -> bool:
    """Return whether the scene's rigid-body world has a ground of ours."""
    world = scene.rigidbody_world
    held: Iterable[bpy.types.Object] = world.collection.objects if world is not None and world.collection else ()
    return any(record_of(obj).is_ground for obj in held)


def _body_penetrations(
    scene: bpy.types.Scene, recording: Recording, pieces: dict[bpy.types.Object, list[bpy.types.Object]], poses: Array
) -> list[BodyPenetration]:
    world = scene.rigidbody_world
    return [] if world is None else measure_penetrations(world, recording.joint_state.bodies, pieces, poses[:, :-1])


# ------------------------------------------------------------------------------------ storage and text


def store_accuracy(rig: bpy.types.Object, recording: Recording, accuracy: SimulationAccuracy) -> None:
    """Store the accuracy of a simulation with its mechanism, in place of the previous one."""
    kept, bodies = settings(rig).accuracy, recording.joint_state.bodies
    drives = join_messages(
        " and ", dict.fromkeys(_DRIVE_NAMES[drive] for drive in recording.drives[1:] or recording.drives)
    )
    frames = f"{recording.frames[0]:g}", f"{recording.frames[-1]:g}"
    store_message(kept, "run", Message("{}, frames {} to {}", drives, *frames))
    kept.joints.clear()
    empties = parts_by_id(rig, "JOINT")
    for joint in accuracy.joints:
        row = kept.joints.add()
        for name in _FIELDS:
            setattr(row, name, getattr(joint, name))
        row.empty = empties.get(joint.id)
        row.tracking_error, row.mean_tracking_error = (
            _stored_number(joint.tracking_error),
            _stored_number(joint.mean_tracking_error),
        )
    kept.energy_gained, kept.penetration, kept.deepest_pair = (
        _stored_number(accuracy.energy_gained),
        accuracy.penetration,
        accuracy.deepest_pair,
    )
    kept.deepest_frame = recording.frames[accuracy.deepest_index]
    deep = (bodies[place] if place != GROUND_INDEX else None for place in accuracy.deepest_pair)
    kept.deepest_names = "\n".join("" if obj is None else file_name(obj) or obj.name for obj in deep)
    used = {*recording.drives[1:]}
    kept.drive = used.pop() if len(used) == 1 else ""
    kept.source = None if rig.animation_data is None else rig.animation_data.action
    kept.last_frame = round(float(recording.frames[-1]))
    kept.differences.clear()
    store_path_shift(rig, accuracy.path_shift)


def store_path_shift(rig: bpy.types.Object, shift: PathShift | None) -> None:
    """Store the path shift of a simulation with its other figures."""
    kept = settings(rig).accuracy
    kept.path_shift, kept.path_seconds, kept.path_contacts = (
        (_NO_NUMBER, 0.0, False) if shift is None else (shift.share, shift.seconds, shift.contacts)
    )


def _stored_number(number: float) -> float:
    return _NO_NUMBER if math.isnan(number) else number


def stored_accuracy(rig: bpy.types.Object) -> SimulationAccuracy | None:
    """Return the accuracy of the simulation that was baked last; None where there is none."""
    kept = settings(rig).accuracy
    if not kept.run:
        return None
    joints = tuple(
        JointAccuracy(
            **{name: getattr(row, name) for name in _FIELDS},
            tracking_error=_loaded_number(row.tracking_error),
            mean_tracking_error=_loaded_number(row.mean_tracking_error),
        )
        for row in kept.joints
    )
    deep = (int(kept.deepest_pair[0]), int(kept.deepest_pair[1]))
    shift = None if kept.path_seconds <= 0.0 else PathShift(kept.path_shift, kept.path_seconds, kept.path_contacts)
    return SimulationAccuracy(joints, _loaded_number(kept.energy_gained), kept.penetration, deep, path_shift=shift)


def _loaded_number(kept: float) -> float:
    return math.nan if kept == _NO_NUMBER else kept


def accuracy_lines(rig: bpy.types.Object) -> list[AccuracyRow]:
    """Return the stored accuracy as lines of text; empty without a simulation."""
    accuracy = stored_accuracy(rig)
    if accuracy is None:
        return []
    names = dict(zip(accuracy.deepest_pair, settings(rig).accuracy.deepest_names.split("\n"), strict=False))
    return accuracy_rows(accuracy, names)


def worst_joint_lines(rig: bpy.types.Object) -> list[tuple[bpy.types.Object | None, AccuracyRow]]:
    """Return the joints with the largest separation, the worst first: empty (None if deleted) and a line of text."""
    accuracy = stored_accuracy(rig)
    if accuracy is None:
        return []
    empties = {row.id: row.empty for row in settings(rig).accuracy.joints}
    return [(empties.get(joint.id), joint_separation_row(joint)) for joint in accuracy.worst()]


def report_accuracy(rig: bpy.types.Object, report: Report) -> None:
    """Add the stored accuracy to a report."""
    for line in accuracy_lines(rig):
        report.info("truth", str(line))
    for empty, line in worst_joint_lines(rig):
        report.info("truth-worst", Message("Joint separation of {}", line), where="" if empty is None else empty.name)
