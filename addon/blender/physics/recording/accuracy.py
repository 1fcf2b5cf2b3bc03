"""Simulation accuracy: figures from a recording, stored with the mechanism and formatted as text."""

from __future__ import annotations

import math
from collections.abc import Iterable

import bpy
import numpy as np

from ....core.accuracy import Line, joint_told, told
from ....core.model import Array, Joint
from ....core.report import Report
from ....core.run_metrics import GROUND, HeldJoint, JointTruth, Overlap, Run, Truth, judge
from ...data.access import record_of, settings
from ...data.conversion import read_dofs
from ...data.properties.model import DRIVE_ITEMS
from ...data.queries import file_name, parts
from ...data.rigid_bodies import whole_mass
from ...rig.joint_frames import sides_of
from ..bodies.collision import collision_children
from ..bodies.inertia import turning_tensor
from ..bodies.penetration import Measured, lowest_points, overlaps_of
from ..simulation.recording import Recording
from ..world.anchor import is_held, stands

#: Share of the longest link below which a length does not count.
_NO_LINK = 1e-6
_FIELDS = ("id", "name", "length", "gap", "mean_gap", "tilt", "turns", "beyond")
_NO_NUMBER = -1.0
_DRIVE_NAMES = {identifier: name for identifier, name, _description in DRIVE_ITEMS}


def truth_of(scene: bpy.types.Scene, recording: Recording) -> Truth:
    """Return the accuracy of a simulation, from its recorded poses."""
    return judge(run_of(scene, recording))


def run_of(scene: bpy.types.Scene, recording: Recording) -> Run:
    """Return a recording as plain numbers. Call it while the mechanism still has its physics."""
    bodies = recording.plant.bodies
    masses = [_moved_mass(obj) for obj in bodies]
    pieces = collision_children(recording.plant.rig)
    tensors = [
        turning_tensor(obj, pieces.get(obj, ())) if mass > 0.0 else np.zeros((3, 3))
        for obj, mass in zip(bodies, masses, strict=True)
    ]
    poses, size = recording.as_scaled(recording.poses), recording.size
    return Run(
        recording.poses,
        recording.rate,
        _held_joints(recording),
        np.array(masses, dtype=np.float64),
        # Blender's tensors do not depend on the mechanism's scale in the world
        np.array(tensors, dtype=np.float64).reshape(-1, 3, 3) / size**2,
        _gravity(scene) / size,
        set(recording.drives[1:]) == {"LIMP"},
        [*_sunk(scene, recording, pieces, poses), *_in_each_other(scene, recording, pieces, poses)],
        recording.steps,
        size,
    )


def _gravity(scene: bpy.types.Scene) -> Array:
    """Return the gravity (3,) of the scene's rigid-body world, in m/s²."""
    weights = scene.rigidbody_world.effector_weights
    share = weights.all * weights.gravity if scene.use_gravity else 0.0
    return np.array(scene.gravity, dtype=np.float64) * share


def _moved_mass(obj: bpy.types.Object) -> float:
    """Return the mass of a body that physics moves, else 0."""
    body = obj.rigid_body
    moves = body is not None and body.type == "ACTIVE" and not stands(obj)
    return whole_mass(obj, body.mass) if moves else 0.0


def _held_joints(recording: Recording) -> list[HeldJoint]:
    plant = recording.plant
    place: dict[bpy.types.Object | None, int] = {obj: number for number, obj in enumerate(plant.bodies)}
    place[None] = len(plant.bodies)
    chased = {joint: recording.told[:, number, None] for number, joint in enumerate(plant.joints)}
    chased |= recording.told_several
    begun = {joint: recording.values[0, number, None] for number, joint in enumerate(plant.joints)}
    begun |= recording.begun
    out: list[HeldJoint] = []
    for empty in parts(plant.rig, "JOINT"):
        record = record_of(empty)
        joint = record.joint
        if not is_held(joint) or joint.parent not in place or joint.child not in place:
            continue
        kept = Joint(record.source_id, file_name(empty) or empty.name, joint.type, None, None, dofs=read_dofs(joint))
        ends, key = (place[joint.parent], place[joint.child]), record.source_id
        out.append(HeldJoint(kept, *ends, *sides_of(empty), 0.0, chased.get(key), begun.get(key)))
    _measure_links(out, plant.bodies, recording.size)
    return out


def _measure_links(joints: list[HeldJoint], bodies: list[bpy.types.Object], size: float) -> None:
    """Set the length of the shorter of each joint's two links.

    A link is as long as its farthest joints are apart, or as its mesh where it has but one joint.
    """
    pivots: dict[int, list[Array]] = {}
    for held in joints:
        pivots.setdefault(held.parent, []).append(held.on_parent[:3, 3])
        pivots.setdefault(held.child, []).append(held.on_child[:3, 3])
    lengths = {
        number: _spread(points) or _extent(bodies[number], size)
        for number, points in pivots.items()
        if number < len(bodies)
    }
    longest = max(lengths.values(), default=0.0)
    for held in joints:
        ends = [lengths.get(end, 0.0) for end in (held.parent, held.child)]
        held.length = min((end for end in ends if end > _NO_LINK * longest), default=longest)


def _extent(obj: bpy.types.Object, size: float) -> float:
    """Return the longest side of an object in the mechanism's own lengths, whose scale in the world is ``size``."""
    return float(max(obj.dimensions[:])) / size


def _spread(points: list[Array]) -> float:
    """Return the largest distance between points."""
    apart = np.array(points)[:, None] - np.array(points)[None]
    return float(np.linalg.norm(apart, axis=-1).max())


def _sunk(
    scene: bpy.types.Scene, recording: Recording, pieces: dict[bpy.types.Object, list[bpy.types.Object]], poses: Array
) -> list[Overlap]:
    """Return the penetration of bodies into the ground, where there is one."""
    world = scene.rigidbody_world
    held: Iterable[bpy.types.Object] = world.collection.objects if world is not None and world.collection else ()
    if not any(record_of(obj).is_ground for obj in held):
        return []
    measured = Measured()
    depths = (
        -lowest_points(obj, pieces.get(obj, ()), poses[:, number], measured)
        for number, obj in enumerate(recording.plant.bodies)
    )
    return [Overlap(number, GROUND, np.maximum(depth, 0.0)) for number, depth in enumerate(depths)]


def _in_each_other(
    scene: bpy.types.Scene, recording: Recording, pieces: dict[bpy.types.Object, list[bpy.types.Object]], poses: Array
) -> list[Overlap]:
    world = scene.rigidbody_world
    return [] if world is None else overlaps_of(world, recording.plant.bodies, pieces, poses[:, :-1])


# ------------------------------------------------------------------------------------ storage and text


def keep_truth(rig: bpy.types.Object, recording: Recording, truth: Truth) -> None:
    """Store the accuracy of a simulation with its mechanism, in place of the previous one."""
    kept, bodies = settings(rig).truth, recording.plant.bodies
    drives = " and ".join(dict.fromkeys(_DRIVE_NAMES[drive] for drive in recording.drives[1:] or recording.drives))
    kept.run = f"{drives}, frames {recording.frames[0]:g} to {recording.frames[-1]:g}"
    kept.joints.clear()
    empties = {record_of(empty).source_id: empty for empty in parts(rig, "JOINT")}
    for joint in truth.joints:
        row = kept.joints.add()
        for name in _FIELDS:
            setattr(row, name, getattr(joint, name))
        row.empty = empties.get(joint.id)
        row.error, row.mean_error = _kept(joint.error), _kept(joint.mean_error)
    kept.energy_gained, kept.depth, kept.deep = _kept(truth.energy_gained), truth.depth, truth.deep
    kept.deep_at = recording.frames[truth.deep_at]
    deep = (bodies[place] if place != GROUND else None for place in truth.deep)
    kept.deep_names = "\n".join("" if obj is None else file_name(obj) or obj.name for obj in deep)


def _kept(number: float) -> float:
    return _NO_NUMBER if math.isnan(number) else number


def kept_truth(rig: bpy.types.Object) -> Truth | None:
    """Return the accuracy of the simulation that was baked last; None where there is none."""
    kept = settings(rig).truth
    if not kept.run:
        return None
    joints = tuple(
        JointTruth(
            **{name: getattr(row, name) for name in _FIELDS},
            error=_number(row.error),
            mean_error=_number(row.mean_error),
        )
        for row in kept.joints
    )
    deep = (int(kept.deep[0]), int(kept.deep[1]))
    return Truth(joints, _number(kept.energy_gained), kept.depth, deep)


def _number(kept: float) -> float:
    return math.nan if kept == _NO_NUMBER else kept


def truth_lines(rig: bpy.types.Object) -> list[Line]:
    """Return the stored accuracy as lines of text; empty without a simulation."""
    truth = kept_truth(rig)
    if truth is None:
        return []
    names = dict(zip(truth.deep, settings(rig).truth.deep_names.split("\n"), strict=False))
    return told(truth, names)


def worst_joints(rig: bpy.types.Object) -> list[tuple[bpy.types.Object | None, Line]]:
    """Return the joints with the largest separation, the worst first: empty (None if deleted) and a line of text."""
    truth = kept_truth(rig)
    if truth is None:
        return []
    empties = {row.id: row.empty for row in settings(rig).truth.joints}
    return [(empties.get(joint.id), joint_told(joint)) for joint in truth.worst()]


def tell_truth(rig: bpy.types.Object, report: Report) -> None:
    """Add the stored accuracy to a report."""
    for line in truth_lines(rig):
        report.info("truth", str(line))
    for empty, line in worst_joints(rig):
        report.info("truth-worst", f"Joint separation of {line}", where="" if empty is None else empty.name)
