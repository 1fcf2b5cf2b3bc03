"""What one half of a mechanism has and the other has not: limbs without a twin, and twins that hang otherwise."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

import numpy as np

from .kinematics import joint_frames_world, spanning_tree
from .records import Array, Mechanism
from .sides import Sides
from .symmetry import Difference, asymmetries

#: Parts that are nearer to the plane between the halves, as a share of the mechanism's size, are in the middle.
_MIDDLE = 0.01


def all_asymmetries(mechanism: Mechanism, sides: Sides) -> list[Difference]:
    """Everything that makes the halves of a mechanism differ: twins that are no mirror images, twins that hang
    otherwise, and parts that lack a twin. These have no ``second``."""
    return [
        *asymmetries(mechanism, sides),
        *hung_otherwise(mechanism, sides),
        *missing_twins(mechanism, sides),
    ]


def hung_otherwise(mechanism: Mechanism, sides: Sides) -> Iterator[Difference]:
    """Twins of which one hangs on another part than the mirror image does, or has more joints."""
    carriers = _carriers(mechanism)
    joined = Counter(end for joint in mechanism.joints for end in {joint.parent, joint.child} if end is not None)
    beside: dict[str | None, set[str | None]] = defaultdict(set)  # the same, whichever body a tree begins with
    for joint in mechanism.joints:
        beside[joint.parent].add(joint.child)
        beside[joint.child].add(joint.parent)
    order = {body.id: number for number, body in enumerate(mechanism.bodies)}
    told = {frozenset((joint.id, sides.joints[joint.id])) for joint in mechanism.joints if joint.id in sides.joints}
    carried_by = {link.body: link.joint.id for link in spanning_tree(mechanism).links}
    for first, second in sides.bodies.items():
        if not (first in order and second in order and order[first] < order[second]):
            continue
        own, its = carriers.get(first), carriers.get(second)
        pair = frozenset((carried_by.get(first, ""), carried_by.get(second, "")))
        roots = own is None or its is None or own == second or its == first  # a tree begins on one side
        mirrored = {sides.bodies.get(end or "", end) for end in beside[first]} == beside[second]
        if not (roots or mirrored) and sides.bodies.get(own or "", own) != its and pair not in told:
            yield Difference("body", first, second, "what it hangs on", 0.0)
        if joined[first] != joined[second]:
            yield Difference("body", first, second, "number of its joints", float(joined[second] - joined[first]))


def missing_twins(mechanism: Mechanism, sides: Sides) -> list[Difference]:
    """Parts off the plane between the halves that lack a twin, where most of the others have one: each limb once, by
    the part where it begins."""
    places = {body.id: body.pose[:3, :3] @ body.com + body.pose[:3, 3] for body in mechanism.bodies if body.active}
    alone = _aside(places, sides.bodies, sides)
    if not sides.bodies or len(alone) > len(sides.bodies):
        return []
    carriers = _carriers(mechanism)
    hanging: Counter[str] = Counter()
    for key in alone:
        first = key
        while carriers.get(first) in alone:
            first = carriers[first] or ""
        hanging[first] += 1
    out = [
        Difference("body", key, "", "no twin" if count == 1 else f"no twin, nor have {count - 1} that hang on it", 0.0)
        for key, count in hanging.items()
    ]
    frames = {key: frame[:3, 3] for key, frame in joint_frames_world(mechanism).items()}
    ends = {joint.id: {joint.parent, joint.child} for joint in mechanism.joints}
    image = {key: {sides.bodies.get(end or "", end) for end in own} for key, own in ends.items()}
    inside = {j.id for j in mechanism.joints if ends[j.id] & alone or ends[j.id] == image[j.id] or not j.active}
    lone = _aside({key: at for key, at in frames.items() if key not in inside}, sides.joints, sides)
    if sides.joints and len(lone) <= len(sides.joints):
        out += [Difference("joint", joint.id, "", "no twin", 0.0) for joint in mechanism.joints if joint.id in lone]
    return out


def _carriers(mechanism: Mechanism) -> dict[str, str | None]:
    """On which body each hangs, by id."""
    return {link.body: link.carrier for link in spanning_tree(mechanism).links}


def _aside(places: Mapping[str, Array], twins: Mapping[str, str], sides: Sides) -> set[str]:
    """Those of some parts without a twin that are not in the middle: further from the plane than it is sure to be."""
    if not places:
        return set()
    heights = {key: sides.plane.height(at) for key, at in places.items()}
    off = [abs(own + heights[twins[key]]) for key, own in heights.items() if twins.get(key) in heights]
    size = float(np.ptp(np.array([*places.values()]), axis=0).max())
    reach = max(_MIDDLE * size, float(np.median(off)) if off else 0.0)
    return {key for key, height in heights.items() if key not in twins and abs(height) > reach}
