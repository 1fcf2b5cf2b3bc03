"""Splitting and merging: some bodies become a mechanism of their own, and two mechanisms become one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..kinematics import joint_child_frame_world, joint_frame_world
from ..mass_properties import body_center
from ..model import Array, Body, Joint, Mechanism, Plane, body_by_id, joint_by_id
from ..naming import unique_name
from .edits import Edit, JointEdit, Part, with_joints
from .joints import delete_parts
from .sides import pairs_by_twin

#: Distance of a twin from the mirror image of the other part up to which it is in place, as a share of the size of the
#: parts with twins.
_TWIN_TOLERANCE = 0.05


@dataclass(frozen=True)
class Split:
    """Mechanism from which bodies were split off.

    Attributes:
        rest: Edit to the mechanism without them.
        part: Edit to the mechanism of these bodies.
        inside: Ids of the joints that these bodies have among themselves or with the world.
        across: Ids of the joints that they have with others.
    """

    rest: Edit
    part: Edit
    inside: list[str]
    across: list[str]


def split(
    mechanism: Mechanism,
    bodies: Collection[str],
    to_world: bool = False,
    moves: Mapping[str, Array] | None = None,
    seen: Callable[[Joint], Array | None] = lambda _joint: None,
) -> Split:
    """Split bodies, and the joints between them, off into a mechanism of their own.

    Reference frames, lights, restraints and twins go with their bodies; twins that are separated are unlinked.

    Args:
        mechanism: The mechanism.
        bodies: Ids of the bodies.
        to_world: Joints between the bodies and the rest connect the bodies to the world, as they are seen; if False
            they are deleted.
        moves: Transforms (4, 4) of bodies from their design to where they are seen, by id; None: as designed.
        seen: Returns the values (size,) at which a joint is seen, or None.

    Raises:
        ValueError: No body is named, or all are.
    """
    staying = {body.id for body in mechanism.bodies}.difference(bodies)
    if len(staying) == len(mechanism.bodies):
        raise ValueError("Selection: no body of the mechanism. Select the bodies to split off")
    if not staying:
        raise ValueError("Selection: all bodies. Leave at least one in the mechanism")
    ends = {joint.id: [end for end in joint.ends if end is not None] for joint in mechanism.joints}
    off = [own for own, some in ends.items() if not staying.issuperset(some)]
    across = [own for own in off if not staying.isdisjoint(ends[own])]
    apart, edits = mechanism, dict[str, JointEdit]()
    if to_world:
        joints, known = joint_by_id(mechanism), body_by_id(mechanism)
        edits = {own: JointEdit(seen(joints[own])) for own in across}
        apart = with_joints(mechanism, [_attach_to_world(joints[own], known, staying, moves or {}) for own in across])
    lost = {joint.id for joint in mechanism.joints} - {*off}
    part = Edit(mechanism, delete_parts(apart, staying, lost).after, edits)
    inside = [own for own in off if own not in across]
    return Split(delete_parts(mechanism, {body.id for body in mechanism.bodies} - staying, ()), part, inside, across)


def _attach_to_world(
    joint: Joint, bodies: Mapping[str, Body], staying: Collection[str], moves: Mapping[str, Array]
) -> Joint:
    """Return a joint with the world in place of those of its bodies (ids) that are ``staying``, as these are seen."""
    out = replace(joint)
    if joint.parent in staying:
        out.parent = None
        out.frame_parent = moves.get(joint.parent or "", np.eye(4)) @ joint_frame_world(joint, bodies)
    if joint.child in staying:
        out.child = None
        out.frame_child = moves.get(joint.child or "", np.eye(4)) @ joint_child_frame_world(joint, bodies)
    return out


# ---------------------------------------------------------------- merging


@dataclass(frozen=True)
class Merge:
    """Two mechanisms that became one.

    Attributes:
        edit: Edit of the remaining mechanism; the joints that came have the values that they had.
        bodies: New ids of the other's bodies by previous ones.
        joints: New ids of the other's joints by previous ones.
        renamed: Number of parts that were renamed because their names were taken.
        unpaired: Number of pairs of twins that were unlinked.
    """

    edit: Edit
    bodies: Mapping[str, str]
    joints: Mapping[str, str]
    renamed: int
    unpaired: int


def merge(
    mechanism: Mechanism,
    other: Mechanism,
    shift: Array,
    pose: Mapping[str, Array],
    taken: Collection[str] = (),
    plane: Plane | None = None,
) -> Merge:
    """Add the bodies and joints of another mechanism; its reference frames, lights, restraints and gait are left out.

    Args:
        mechanism: The mechanism.
        other: The other one.
        shift: Transform (4, 4) from the axes of ``other`` to those of ``mechanism``.
        pose: Channel values (size,) of the other's joints, by id.
        taken: Ids that new parts must not get, besides those of the mechanism.
        plane: Mirror plane of the mechanism: twins of ``other`` that are not opposite each other across it are
            unlinked, as symmetric editing would move one of them to a wrong place. None: all stay linked.
    """
    ids = {*taken, *body_by_id(mechanism), *joint_by_id(mechanism)}
    bodies = _with_free_names(other.bodies, mechanism.bodies, ids)
    joints = _with_free_names(other.joints, mechanism.joints, ids)
    names = {own: body.id for own, body in bodies.items()}, {own: joint.id for own, joint in joints.items()}
    for body in bodies.values():
        body.pose, body.twin, body.line = shift @ body.pose, names[0].get(body.twin or ""), None
    for joint in joints.values():
        joint.twin, joint.line = names[1].get(joint.twin or ""), None
        joint.parent, joint.child = (names[0].get(end or "") for end in joint.ends)
        for side in ("parent", "child"):
            if getattr(joint, side) is None:
                setattr(joint, f"frame_{side}", shift @ getattr(joint, f"frame_{side}"))
    after = replace(
        mechanism,
        bodies=[*mechanism.bodies, *bodies.values()],
        joints=[*mechanism.joints, *joints.values()],
    )
    unpaired = 0 if plane is None else _unlink_misplaced_twins(after, {*names[0].values(), *names[1].values()}, plane)
    renamed = sum(body.name != bodies[body.id].name for body in other.bodies)
    renamed += sum(joint.name != joints[joint.id].name for joint in other.joints)
    edits = {names[1][own]: JointEdit(values=values) for own, values in pose.items()}
    return Merge(Edit(mechanism, after, edits), *names, renamed, unpaired)


def _with_free_names(parts: Collection[Part], present: Collection[Part], ids: set[str]) -> dict[str, Part]:
    """Return copies of parts, by their ids, with ids and names that are free; these ids are added to ``ids``."""
    names, out = {part.name for part in present}, dict[str, Part]()
    for part in parts:
        out[part.id] = replace(part, id=unique_name(part.id, ids), name=unique_name(part.name, names))
        ids.add(out[part.id].id)
        names.add(out[part.id].name)
    return out


def _unlink_misplaced_twins(mechanism: Mechanism, came: Collection[str], plane: Plane) -> int:
    """Unlink twins among parts that ``came`` (ids, which are unique) and are not opposite each other.

    Returns:
        The number of unlinked pairs.
    """
    bodies = body_by_id(mechanism)
    parts: list[Body | Joint] = [*mechanism.bodies, *mechanism.joints]
    pairs = pairs_by_twin(mechanism.bodies)
    pairs |= pairs_by_twin(mechanism.joints)
    positions = {part.id: _position(part, bodies) for part in parts if part.id in pairs}
    if not positions:
        return 0
    reach = _TWIN_TOLERANCE * float(np.ptp(np.array([*positions.values()]), axis=0).max())
    count = 0
    for part in parts:
        twin = pairs.get(part.id)
        if twin is None or part.id not in came:
            continue
        if np.linalg.norm(plane.mirror_points(positions[part.id]) - positions[twin]) > reach:
            part.twin = None
            count += 1
    return count // 2


def _position(part: Body | Joint, bodies: Mapping[str, Body]) -> Array:
    if isinstance(part, Joint):
        return joint_frame_world(part, bodies)[:3, 3]
    return body_center(part)
