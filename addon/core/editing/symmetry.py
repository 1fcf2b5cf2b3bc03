"""Symmetry of a mechanism: candidates for twins, and differences between twins."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

import numpy as np

from ..kinematics import joint_frame_world, joint_frames_world, joint_side_world, spanning_tree
from ..model import Array, Body, Dof, Joint, Mechanism, Plane
from ..transforms import inverse, rotation_vector
from .sides import Sides, pairs_by_name
from .twins import ALIKE, SIGNED, mirrored_body, mirrored_joint

Kind = Literal["body", "joint"]
#: Largest relative difference of equal numbers of twins.
SAME = 1e-4
#: Largest index of a cell, on all sides of the origin: up to here floats represent every integer.
_OUTERMOST = 2.0**52


@dataclass(frozen=True)
class Pair:
    """Two parts (ids) that are, or may be, twins, and the evidence.

    ``gap`` (length units) is the distance of the second from the mirror image of the first.
    """

    kind: Kind
    first: str
    second: str
    by: Literal["name and place", "name", "place"]
    gap: float


def find_twins(mechanism: Mechanism, plane: Plane, near: float | None = None) -> list[Pair]:
    """Find parts without twins that could be twins: by their names, by their positions, or both.

    Args:
        mechanism: The mechanism.
        plane: The mirror plane.
        near: Largest distance (length units) from each other's mirror image for pairs found by position alone; None: a
            hundredth of the mechanism's size. Such pairs are also alike (types of shapes and mass; kinds of dofs), and
            no other part is as near.
    """
    bodies, joints = _body_places(mechanism), _joint_places(mechanism)
    every = np.array([*bodies.values(), *joints.values()]).reshape(-1, 3)
    size = float(np.ptp(every, axis=0).max()) if len(every) else 0.0
    reach = max(near if near is not None else 0.01 * size, 1e-9)
    free_bodies = {body.id: body for body in mechanism.bodies if not body.twin}
    free_joints = {joint.id: joint for joint in mechanism.joints if not joint.twin}
    return [
        *_pairs("body", free_bodies, {key: bodies[key] for key in free_bodies}, plane, reach),
        *_pairs("joint", free_joints, {key: joints[key] for key in free_joints}, plane, reach),
    ]


def _body_places(mechanism: Mechanism) -> dict[str, Array]:
    return {body.id: body.pose[:3, :3] @ body.com + body.pose[:3, 3] for body in mechanism.bodies}


def _joint_places(mechanism: Mechanism) -> dict[str, Array]:
    bodies = {body.id: body for body in mechanism.bodies}
    return {joint.id: joint_frame_world(joint, bodies)[:3, 3] for joint in mechanism.joints}


def _pairs(
    kind: Kind,
    free: Mapping[str, Body | Joint],
    at: Mapping[str, Array],
    plane: Plane,
    reach: float,
) -> Iterator[Pair]:
    """Yield pairs among parts without twins, by id: first those with matching names, then those by position alone."""
    images = {key: plane.reflection[:3, :3] @ place + plane.reflection[:3, 3] for key, place in at.items()}
    named = pairs_by_name({key: part.name for key, part in free.items()})
    nearest = _nearest_to(images, at, reach)
    seen: set[str] = set()
    for key in free:
        other = named.get(key)
        if other is None or key in seen:
            continue
        seen |= {key, other}
        gap = float(np.linalg.norm(images[key] - at[other]))
        yield Pair(kind, key, other, "name and place" if gap <= reach else "name", gap)
    for key in free:
        other = nearest.get(key)
        if other is None or other == key or {key, other} & seen or nearest.get(other) != key:
            continue
        if _alike(free[key], free[other]):
            seen |= {key, other}
            yield Pair(kind, key, other, "place", float(np.linalg.norm(images[key] - at[other])))


@np.errstate(over="ignore", invalid="ignore")  # positions may be as large as floats allow
def _nearest_to(images: Mapping[str, Array], at: Mapping[str, Array], reach: float) -> dict[str, str]:
    """Find the part nearest to each part's mirror image, within reach; none where two are equally near.

    Parts are looked up in a grid of cells of that size, to avoid a million comparisons for a thousand parts.
    """
    cells: dict[tuple[int, ...], list[str]] = {}
    for key, place in at.items():
        cells.setdefault(tuple(_cell(place, reach).tolist()), []).append(key)
    out = {}
    for key, image in images.items():
        here = _cell(image, reach)
        close = [
            (float(np.linalg.norm(image - at[other])), other)
            for step in product((-1, 0, 1), repeat=3)
            for other in cells.get(tuple((here + step).tolist()), ())
        ]
        close = sorted(each for each in close if each[0] <= reach)
        if close and (len(close) == 1 or close[1][0] - close[0][0] > 1e-6 * reach):
            out[key] = close[0][1]
    return out


def _cell(place: Array, reach: float) -> Array:
    """Return the grid cell (3,) of a position (3,); positions too far away to be counted are in the outermost cells."""
    return np.floor(np.clip(place / reach, -_OUTERMOST, _OUTERMOST)).astype(np.int64)


def _alike(one: Body | Joint, other: Body | Joint) -> bool:
    if isinstance(one, Joint) and isinstance(other, Joint):
        return [dof.kind for dof in one.dofs] == [dof.kind for dof in other.dofs]
    if isinstance(one, Body) and isinstance(other, Body):
        kinds = [[shape.type for shape in body.shapes] for body in (one, other)]
        return kinds[0] == kinds[1] and abs(one.mass - other.mass) <= SAME * max(one.mass, other.mass)
    return False


@dataclass(frozen=True)
class Difference:
    """Difference between twins: the parts' ids, a description, and its amount with unit."""

    kind: Kind
    first: str
    second: str
    what: str
    amount: float
    unit: Literal["", "m", "rad", "%"] = ""


def asymmetries(mechanism: Mechanism, sides: Sides) -> list[Difference]:
    """Compare the halves of a mechanism pair by pair: each part with the mirror image of its twin."""
    bodies = {body.id: body for body in mechanism.bodies}
    joints = {joint.id: joint for joint in mechanism.joints}
    size = max((float(np.abs(body.pose[:3, 3]).max()) for body in mechanism.bodies), default=0.0) or 1.0
    out: list[Difference] = []
    for first, second in _once(sides.bodies, bodies):
        out += _of_bodies(bodies[first], bodies[second], sides.plane, size)
    for first, second in _once(sides.joints, joints):
        out += _of_joints(joints[first], joints[second], sides, bodies, size)
    return out


def _once(pairs: Mapping[str, str], known: Mapping[str, Body | Joint]) -> Iterator[tuple[str, str]]:
    order = {key: number for number, key in enumerate(known)}
    for key, other in pairs.items():
        if key in order and other in order and order[key] < order[other]:
            yield key, other


def _of_bodies(body: Body, twin: Body, plane: Plane, size: float) -> Iterator[Difference]:
    image = mirrored_body(body, plane, twin)
    yield from _of_poses("body", body.id, twin.id, image.pose, twin.pose, size)
    if abs(image.mass - twin.mass) > SAME * max(abs(image.mass), abs(twin.mass)):
        yield Difference("body", body.id, twin.id, "mass", twin.mass - image.mass)
    apart = float(np.linalg.norm(image.com - twin.com))
    if apart > SAME * size:
        yield Difference("body", body.id, twin.id, "centre of mass", apart, "m")
    if (body.inertia is None) != (twin.inertia is None) or (
        image.inertia is not None
        and twin.inertia is not None
        and np.abs(image.inertia - twin.inertia).max() > SAME * np.abs(image.inertia).max()
    ):
        yield Difference("body", body.id, twin.id, "inertia", 0.0)
    if [shape.type for shape in body.shapes] != [shape.type for shape in twin.shapes]:
        yield Difference("body", body.id, twin.id, "shapes", 0.0)
        return
    for own, its in zip(image.shapes, twin.shapes, strict=True):
        off = max((abs(own.size[key] - its.size.get(key, own.size[key])) for key in own.size), default=0.0)
        if own.type != "mesh" and off > SAME * max(map(abs, own.size.values()), default=1.0):  # surfaces are compared
            yield Difference("body", body.id, twin.id, f"size of its {own.type}", off, "m")
        if np.linalg.norm(own.pose[:3, 3] - its.pose[:3, 3]) > SAME * size:
            gap = float(np.linalg.norm(own.pose[:3, 3] - its.pose[:3, 3]))
            yield Difference("body", body.id, twin.id, f"place of its {own.type}", gap, "m")


def _of_joints(
    joint: Joint, twin: Joint, sides: Sides, bodies: Mapping[str, Body], size: float
) -> Iterator[Difference]:
    try:
        image = mirrored_joint(joint, sides.plane, sides.bodies, bodies, twin)
    except ValueError:
        yield Difference("joint", joint.id, twin.id, "degrees of freedom", 0.0)
        return
    if (image.parent, image.child) != (twin.parent, twin.child):
        yield Difference("joint", joint.id, twin.id, "bodies", 0.0)
    now = joint_frame_world(twin, bodies)
    yield from _of_poses("joint", joint.id, twin.id, joint_frame_world(image, bodies), now, size)
    own_opening, its_opening = (
        inverse(joint_frame_world(each, bodies)) @ joint_side_world(each, bodies) for each in (image, twin)
    )
    for gap in _of_poses("joint", joint.id, twin.id, own_opening, its_opening, size):
        yield replace(gap, what="opening of its loop")
    for own, its in zip(image.dofs, twin.dofs, strict=True):
        yield from _of_dofs(joint.id, twin.id, own, its)


def _of_dofs(first: str, second: str, own: Dof, its: Dof) -> Iterator[Difference]:
    unit: Literal["m", "rad"] = "m" if own.kind == "translation" else "rad"
    for name, words in (("lower", "lower stop"), ("upper", "upper stop")):
        one, other = getattr(own, name), getattr(its, name)
        if (one is None) != (other is None):
            yield Difference("joint", first, second, f"{words}: one has none", 0.0)
        elif one is not None and abs(one - other) > SAME * max(abs(one), abs(other), 0.1):
            yield Difference("joint", first, second, words, other - one, unit)
    for name in (*ALIKE, *SIGNED):
        one, other = getattr(own, name), getattr(its, name)
        if isinstance(one, str):
            if one != other:
                yield Difference("joint", first, second, name, 0.0)
        elif abs(one - other) > SAME * max(abs(one), abs(other)) and abs(one - other) > 1e-9:
            yield Difference("joint", first, second, name.replace("_", " "), other - one)
    for part, its_part in zip(own.parts, its.parts, strict=False):
        yield from _of_dofs(first, second, part, its_part)


def _of_poses(kind: Kind, first: str, second: str, image: Array, twin: Array, size: float) -> Iterator[Difference]:
    apart = float(np.linalg.norm(image[:3, 3] - twin[:3, 3]))
    if apart > SAME * size:
        yield Difference(kind, first, second, "place", apart, "m")
    turned = float(np.linalg.norm(rotation_vector(image[:3, :3].T @ twin[:3, :3])))
    if turned > 1e-3:
        yield Difference(kind, first, second, "orientation", turned, "rad")


#: Distance to the mirror plane, as a share of the mechanism's size, up to which parts are in the middle.
_MIDDLE = 0.01


def all_asymmetries(mechanism: Mechanism, sides: Sides) -> list[Difference]:
    """Find everything that makes the halves of a mechanism differ.

    These are twins that are no mirror images, twins with other connections, and parts that lack a twin, which have an
    empty ``second``.
    """
    return [
        *asymmetries(mechanism, sides),
        *hung_otherwise(mechanism, sides),
        *missing_twins(mechanism, sides),
    ]


def hung_otherwise(mechanism: Mechanism, sides: Sides) -> Iterator[Difference]:
    """Find twins that are not connected to twins of the same parts, or differ in their number of joints."""
    carriers = _carriers(mechanism)
    joined = Counter(end for joint in mechanism.joints for end in {joint.parent, joint.child} if end is not None)
    beside: dict[str | None, set[str | None]] = defaultdict(set)  # neighbors, independent of the tree's root
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
        roots = own is None or its is None or own == second or its == first  # the root is on one side
        mirrored = {sides.bodies.get(end or "", end) for end in beside[first]} == beside[second]
        if not (roots or mirrored) and sides.bodies.get(own or "", own) != its and pair not in told:
            yield Difference("body", first, second, "what it hangs on", 0.0)
        if joined[first] != joined[second]:
            yield Difference("body", first, second, "number of its joints", float(joined[second] - joined[first]))


def missing_twins(mechanism: Mechanism, sides: Sides) -> list[Difference]:
    """Find parts off the mirror plane that lack a twin, where most others have one.

    Of a limb only the part at its beginning is listed.
    """
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
    """Return the carrier of each body that has one, by id."""
    return {link.body: link.carrier for link in spanning_tree(mechanism).links}


def _aside(places: Mapping[str, Array], twins: Mapping[str, str], sides: Sides) -> set[str]:
    """Find parts without a twin that are not in the middle: farther from the plane than its uncertainty."""
    if not places:
        return set()
    heights = {key: sides.plane.height(at) for key, at in places.items()}
    off = [abs(own + heights[twins[key]]) for key, own in heights.items() if twins.get(key) in heights]
    size = float(np.ptp(np.array([*places.values()]), axis=0).max())
    reach = max(_MIDDLE * size, float(np.median(off)) if off else 0.0)
    return {key for key, height in heights.items() if key not in twins and abs(height) > reach}
