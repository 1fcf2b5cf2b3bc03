"""Limbs: the bodies and joints beyond a joint, and duplicates of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace

import numpy as np

from ..kinematics import Tree, joint_child_frame_world, joint_frame_world
from ..mass_properties import body_center
from ..model import Array, Joint, Mechanism, Plane, body_by_id, joint_by_id
from ..naming import unique_name
from ..transforms import inverse
from .edits import Edit, JointEdit, Part, with_bodies, with_joints
from .sides import pairs_by_twin


@dataclass(frozen=True)
class Limb:
    """Ids of bodies, of the joints that carry or connect them, and of the joints ``across`` to other bodies.

    Joints across close loops, except those that carry other bodies.
    """

    bodies: list[str] = field(default_factory=list)
    joints: list[str] = field(default_factory=list)
    across: list[str] = field(default_factory=list)


def find_limb(
    mechanism: Mechanism, tree: Tree, bodies: Collection[str], joints: Collection[str], whole: bool = True
) -> Limb:
    """Find the limb of a selection: its bodies, and those that its joints move.

    Args:
        mechanism: The mechanism.
        tree: Its spanning tree.
        bodies: Ids of selected bodies.
        joints: Ids of selected joints.
        whole: Include everything beyond these bodies.

    Raises:
        ValueError: The selection has no bodies and moves none.
    """
    ids = {*bodies, *(link.body for link in tree.links if link.joint.id in joints)}
    for link in tree.links if whole else ():  # in order from the roots
        if link.carrier in ids:
            ids.add(link.body)
    found = [body.id for body in mechanism.bodies if body.id in ids]
    if not found:
        raise ValueError("Select bodies of the mechanism, or joints that move some")
    carrying = {link.joint.id for link in tree.links if link.body in ids}
    limb = Limb(found)
    for joint in mechanism.joints:
        inside = [end for end in joint.ends if end in ids]
        if joint.id in carrying or len(inside) == 2:
            limb.joints.append(joint.id)
        elif inside:
            limb.across.append(joint.id)
    return limb


def uncopied_parts(mechanism: Mechanism, limb: Limb) -> int:
    """Return the number of reference frames, lights and restraints of a limb, which a duplicate lacks."""
    on_bodies = [*(frame.body for frame in mechanism.frames), *(light.body for light in mechanism.lights)]
    ends = [(item.joint, {*(item.bodies or ())}) for item in mechanism.restraints]
    count = sum(joint in limb.joints or not bodies.isdisjoint(limb.bodies) for joint, bodies in ends)
    return count + sum(body in limb.bodies for body in on_bodies)


@dataclass(frozen=True)
class Offsets:
    """Offsets (3,) of the parts of a limb, in the mechanism's axes, by the ids of bodies and of joints."""

    bodies: Mapping[str, Array]
    joints: Mapping[str, Array]


def equal_offsets(limb: Limb, offset: Array) -> Offsets:
    """Return the same offset (3,) for all parts of a limb."""
    return Offsets(dict.fromkeys(limb.bodies, offset), dict.fromkeys(limb.joints, offset))


def mirrored_offsets(
    mechanism: Mechanism, limb: Limb, leading: tuple[Collection[str], Collection[str]], offset: Array, plane: Plane
) -> Offsets:
    """Return the offsets for a copy of a limb that contains twins, while editing is symmetric.

    Parts on the side of the leading ones move by ``offset``, parts on the other side by its mirror image, and parts
    without a twin or in the middle by the component in the mirror plane.

    Args:
        mechanism: The mechanism.
        limb: The limb.
        leading: Ids of bodies and of joints.
        offset: (3,) in the mechanism's axes.
        plane: The mirror plane.
    """
    bodies, joints = body_by_id(mechanism), joint_by_id(mechanism)
    heights = (
        {own: plane.height(body_center(bodies[own])) for own in limb.bodies},
        {own: plane.height(joint_frame_world(joints[own], bodies)[:3, 3]) for own in limb.joints},
    )
    paired = pairs_by_twin(mechanism.bodies), pairs_by_twin(mechanism.joints)
    moved = [high[own] for high, pairs, some in zip(heights, paired, leading, strict=True) for own in high
           if own in some and own in pairs]  # fmt: skip
    lead, flip = max(moved, key=abs, default=0.0), plane.reflection[:3, :3]
    offsets = {1.0: offset, -1.0: flip @ offset, 0.0: 0.5 * (offset + flip @ offset)}
    return Offsets(
        *(
            {own: offsets[float(np.sign(lead * height)) if own in pairs else 0.0] for own, height in high.items()}
            for high, pairs in zip(heights, paired, strict=True)
        )
    )


def duplicate_limb(
    mechanism: Mechanism, limb: Limb, offsets: Offsets, pose: Mapping[str, Array], keep_twins: bool = False
) -> Edit:
    """Duplicate a limb, connected where the original is, with its own ids and names and the same pose.

    Args:
        mechanism: The mechanism.
        limb: The limb; joints ``across`` are not copied.
        offsets: Offsets of the copies.
        pose: Channel values (size,) of joints, by id.
        keep_twins: Copies of twins are twins of each other; else copies have none.
    """
    known, joints = body_by_id(mechanism), joint_by_id(mechanism)
    names = {body.name for body in mechanism.bodies} | {joint.name for joint in mechanism.joints}
    ids = {*known, *joints}
    bodies = {own: _copied(known[own], names, ids) for own in limb.bodies}
    for own, body in bodies.items():
        body.pose[:3, 3] += offsets.bodies[own]
    every = known | {body.id: body for body in bodies.values()}
    made: dict[str, Joint] = {}
    for own in limb.joints:
        joint = made[own] = _copied(joints[own], names, ids)
        for side, world in (("parent", joint_frame_world), ("child", joint_child_frame_world)):
            end, frame = getattr(joint, side), world(joints[own], known).copy()
            frame[:3, 3] += offsets.joints[own]
            if end in bodies:
                end = bodies[end].id
                setattr(joint, side, end)
            setattr(joint, f"frame_{side}", frame if end is None else inverse(every[end].pose) @ frame)
    _pair_copies(bodies, known, keep_twins)
    _pair_copies(made, joints, keep_twins)
    edits = {joint.id: JointEdit(values=pose[own]) for own, joint in made.items() if own in pose}
    copies = {body.id: own for own, body in bodies.items()} | {joint.id: own for own, joint in made.items()}
    after = with_joints(with_bodies(mechanism, bodies.values()), made.values())
    return Edit(mechanism, after, edits, copies)


def _copied(part: Part, names: set[str], ids: set[str]) -> Part:
    """Copy a part with a name and an id that are free, and take these."""
    name, own = unique_name(_stem(part.name), names), unique_name(_stem(part.id), ids)
    own = name if name not in ids else own
    names.add(name)
    ids.add(own)
    return replace(deepcopy(part), id=own, name=name)


def _pair_copies(copies: Mapping[str, Part], originals: Mapping[str, Part], keep_twins: bool) -> None:
    """Make the copies of twins twins of each other, or leave all copies without twins."""
    twins = pairs_by_twin(list(originals.values())) if keep_twins else {}
    for own, part in copies.items():
        twin = copies.get(twins.get(own, ""))
        part.twin = None if twin is None else twin.id


def _stem(name: str) -> str:
    """Return a name without the number of a copy."""
    stem, _space, number = name.rpartition(" ")
    return stem if stem and number.isdigit() else name
