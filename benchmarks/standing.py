"""Where the bodies of two mechanisms stand that should be the same one: matching them, and posing them alike.

The kinematics is written here once more, joint by joint with 4x4 products, so that ours is not compared with itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from addon.core.kinematics import spanning_tree
from addon.core.model import DOF_SIZE, Array, Body, Dof, Joint, Mechanism
from addon.core.report import Report
from addon.formats.meshes.bounds import replace_meshes_with_boxes

Coordinates = Mapping[str, Array]


def turn(vector: Array) -> Array:
    """Rodrigues' rotation (3, 3) of a rotation vector (3,)."""
    angle = float(np.linalg.norm(vector))
    if angle == 0.0:
        return np.eye(3)
    x, y, z = np.asarray(vector) / angle
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def motion(dofs: Sequence[Dof], values: Array) -> Array:
    """The 4x4 motion of degrees of freedom, one after another, for their coordinates in a row."""
    out, at = np.eye(4), 0
    for dof in dofs:
        size = DOF_SIZE[dof.kind]
        own, step = values[at : at + size], np.eye(4)
        at += size
        axis = np.asarray(dof.axis) / np.linalg.norm(dof.axis)
        if dof.kind in ("rotation", "screw"):
            step[:3, :3] = turn(axis * own[0])
        if dof.kind in ("ball", "free"):
            step[:3, :3] = turn(own[:3])
        if dof.kind in ("translation", "screw"):
            step[:3, 3] = axis * own[0] * (dof.pitch if dof.kind == "screw" else 1.0)
        if dof.kind == "free":
            step[:3, 3] = own[3:]
        out = out @ step
    return out


def standing(mechanism: Mechanism, joints: Sequence[Joint], roots: Sequence[str], values: Coordinates) -> dict:
    """World pose of every body by its id, reached through ``joints`` alone from the world and from ``roots``, which
    stand where they were designed. Joints without coordinates are at zero."""
    poses: dict[str | None, Array] = {None: np.eye(4)}
    poses |= {body.id: body.pose for body in mechanism.bodies if body.id in set(roots)}
    at: dict[str | None, list[Joint]] = {}
    for joint in joints:
        at.setdefault(joint.parent, []).append(joint)
        at.setdefault(joint.child, []).append(joint)
    waiting = deque(poses)
    while waiting:
        here = waiting.popleft()
        for joint in at.get(here, ()):
            forth = joint.parent == here
            other = joint.child if forth else joint.parent
            if other in poses:
                continue
            q = np.atleast_1d(values.get(joint.id, np.zeros(sum(DOF_SIZE[dof.kind] for dof in joint.dofs))))
            relative = joint.frame_parent @ motion(joint.dofs, q) @ np.linalg.inv(joint.frame_child)
            poses[other] = poses[here] @ (relative if forth else np.linalg.inv(relative))
            waiting.append(other)
    return {body: pose for body, pose in poses.items() if body is not None}


def size_of(mechanism: Mechanism) -> float:
    """How large a mechanism is: the box about its bodies' frames and centres, or its largest shape."""
    points = [body.pose[:3, 3] for body in mechanism.bodies]
    points += [body.pose[:3, :3] @ body.com + body.pose[:3, 3] for body in mechanism.bodies]
    extent = float(np.ptp(np.array(points), axis=0).max()) if points else 0.0
    sizes = [abs(value) for body in mechanism.bodies for shape in body.shapes for value in shape.size.values()]
    return max(extent, max(sizes, default=0.0)) or 1.0


def apart(one: Array, other: Array, size: float) -> float:
    """How far two poses are from each other: lengths by the size of the model, entries of rotations as they are."""
    return max(float(np.abs(one[:3, 3] - other[:3, 3]).max()) / size, float(np.abs(one[:3, :3] - other[:3, :3]).max()))


@dataclass
class Pairs:
    """What of two mechanisms is the same: bodies of the second by the ids of the first, and joints likewise."""

    bodies: dict[str, Body]
    joints: dict[str, Joint]


def paired(one: Mechanism, other: Mechanism) -> Pairs:
    """Bodies by their ids where both have the same, else by their names: in order where that is the same too, else of
    those with one name by where their masses are. Joints by name and bodies, in order."""
    bodies = _paired_bodies(one.bodies, other.bodies)
    same = {own: body.id for own, body in bodies.items()}
    free: dict[object, list[Joint]] = {}
    for joint in other.joints:
        free.setdefault((joint.name, frozenset({joint.parent, joint.child})), []).append(joint)
    joints: dict[str, Joint] = {}
    for joint in one.joints:
        ends = frozenset(same.get(end, end) if end is not None else None for end in (joint.parent, joint.child))
        found = free.get((joint.name, ends))
        if found:
            joints[joint.id] = found.pop(0)
    return Pairs(bodies, joints)


def _paired_bodies(ones: Sequence[Body], others: Sequence[Body]) -> dict[str, Body]:
    by_id = {body.id: body for body in others}
    if all(body.id in by_id and by_id[body.id].name == body.name for body in ones):
        return {body.id: by_id[body.id] for body in ones}
    if [body.name for body in ones] == [body.name for body in others]:
        return {body.id: other for body, other in zip(ones, others, strict=True)}
    by_name: dict[str, list[Body]] = {}
    for body in others:
        by_name.setdefault(body.name, []).append(body)
    out = {}
    for body in ones:
        found = by_name.get(body.name, [])
        if found:
            found.sort(key=lambda other, like=body: float(np.abs(_centre(other) - _centre(like)).max()))
            out[body.id] = found.pop(0)
    return out


def _centre(body: Body) -> Array:
    return body.pose[:3, :3] @ body.com + body.pose[:3, 3]


@dataclass
class Stand:
    """How far a converted mechanism stands from its original: by the size of the model, in the default pose and in a
    random one. ``lost_bodies`` and ``lost_joints`` (names) are not in it, or not with their freedom; how many joints
    took part is in ``moved``."""

    default: float
    posed: float
    lost_bodies: list[str]
    lost_joints: list[str]
    moved: int


def compare(one: Mechanism, other: Mechanism, seed: int = 1) -> Stand:
    """Pose a mechanism and what became of it alike. Loops are cut where the spanning tree of the first cuts them, and
    what hangs on a joint that was lost stands where it was designed, in both."""
    pairs, size, random = paired(one, other), size_of(one), np.random.default_rng(seed)
    boxes = replace_meshes_with_boxes(one, Report())
    values: dict[str, Array] = {}
    others: dict[str, Array] = {}
    joints: list[Joint] = []
    lost: list[str] = []
    for link in spanning_tree(one).links:
        joint, there = link.joint, pairs.joints.get(link.joint.id)
        if there is None or not there.active:
            lost.append(joint.name)
            continue
        q = _random(joint.dofs, size, random)
        same = there.parent is not None and pairs.bodies.get(joint.parent or "") is not None
        turned = (there.parent is None) != (joint.parent is None) or (
            same and there.parent != pairs.bodies[joint.parent or ""].id
        )
        translated = _translated(joint, there, q, turned)
        if translated is None:
            lost.append(joint.name)
            continue
        values[joint.id], others[there.id] = q, translated
        joints.append(joint)
    kept = [pairs.joints[joint.id] for joint in joints]
    carried = {link.body for link in spanning_tree(_with(one, joints)).links}
    roots = [body.id for body in one.bodies if body.id not in carried]
    theirs = [pairs.bodies[own].id for own in roots if own in pairs.bodies]
    errors = []
    for my_values, their_values in (({}, {}), (values, others)):
        mine, found = standing(one, joints, roots, my_values), standing(other, kept, theirs, their_values)
        worst = 0.0
        for own, body in pairs.bodies.items():
            laid = _laid(one, boxes, own, body)
            worst = max(worst, apart(mine[own] @ laid, found[body.id], size))
        errors.append(worst)
    designed = max(
        (apart(body.pose @ _laid(one, boxes, body.id, pairs.bodies[body.id]), pairs.bodies[body.id].pose, size)
         for body in one.bodies if body.id in pairs.bodies),
        default=0.0,
    )  # fmt: skip
    missing = [body.name for body in one.bodies if body.id not in pairs.bodies]
    return Stand(max(errors[0], designed), errors[1], missing, lost, len(joints))


def _with(mechanism: Mechanism, joints: list[Joint]) -> Mechanism:
    return Mechanism(**{**vars(mechanism), "joints": joints})


def _random(dofs: Sequence[Dof], size: float, random: np.random.Generator) -> Array:
    """Coordinates at random: angles to 0.8, slides to a third of the model."""
    out: list[float] = []
    for dof in dofs:
        long = size / 3.0
        reach = {"translation": [long], "ball": [0.8] * 3, "free": [0.8] * 3 + [long] * 3}.get(dof.kind, [0.8])
        out += [float(random.uniform(-most, most)) for most in reach]
    return np.array(out)


def _translated(joint: Joint, there: Joint, q: Array, turned: bool) -> Array | None:
    """The coordinates of the second joint that should do what ``q`` does in the first; None where it has another
    freedom. A joint read from its other end has its axes the other way round and in the opposite order, so that their
    coordinates stay; a ball's change their sign. What was a weld is at zero, and turns may have become a ball."""
    kinds, other = [dof.kind for dof in joint.dofs], [dof.kind for dof in there.dofs]
    if other == (kinds[::-1] if turned else kinds):
        if not turned:
            return q
        if kinds == ["free"]:
            back = np.linalg.inv(motion(joint.dofs, q))
            return np.concatenate([-q[:3], back[:3, 3]])
        return -q if kinds == ["ball"] else (q[::-1] if all(DOF_SIZE[kind] == 1 for kind in kinds) else None)
    if not kinds:
        return np.zeros(sum(DOF_SIZE[kind] for kind in other))
    if other == ["ball"] and set(kinds) == {"rotation"} and not turned:
        return _logarithm(motion(joint.dofs, q)[:3, :3])
    return None


def _logarithm(matrix: Array) -> Array:
    """The rotation vector of a rotation by less than half a turn."""
    twice = np.array([matrix[2, 1] - matrix[1, 2], matrix[0, 2] - matrix[2, 0], matrix[1, 0] - matrix[0, 1]])
    length = float(np.linalg.norm(twice))
    angle = float(np.arctan2(length, np.trace(matrix) - 1.0))
    return twice * (angle / length) if length else np.zeros(3)


def _laid(mechanism: Mechanism, boxes: Mechanism, own: str, there: Body) -> Array:
    """Where on a body the frame of its counterpart lies: on its own frame, on one of its shapes or the box about that
    or, unturned, on its centre of mass, as Juice has it; whichever is nearest."""
    body, box = (next(body for body in each.bodies if body.id == own) for each in (mechanism, boxes))
    centre = np.eye(4)
    centre[:3, 3] = body.com
    places = [np.eye(4), centre, *(shape.pose for shape in (*body.shapes, *box.shapes))]
    return min(places, key=lambda place: apart(body.pose @ place, there.pose, 1.0))
