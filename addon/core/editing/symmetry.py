"""Symmetry of a mechanism: candidates for twins, new twins, edits of twins, and differences between twins."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal

import numpy as np

from ..kinematics import Tree, joint_child_frame_world, joint_frame_world, joint_frames_world, spanning_tree
from ..mass_properties import body_center
from ..model import Array, Body, Dof, Joint, Mechanism, Plane, body_by_id, by_id, joint_by_id
from ..report import Message, count_with_noun
from ..transforms import inverse, rotation_vector
from .edits import Edit, JointEdit, Part, change_of_values, with_bodies, with_joints
from .mirroring import DofMap, is_signed_permutation, mirror_values
from .sides import Sides, pairs_by_name, pairs_by_twin, twin_name
from .twins import (
    SIGNED_FIELDS,
    UNSIGNED_FIELDS,
    EditedValues,
    mirror_body,
    mirror_joint,
    mirror_joint_settings,
    retype_twin,
    twin_dof_maps,
)

PartKind = Literal["body", "joint"]
#: Largest relative difference of equal numbers of twins.
RELATIVE_TOLERANCE = 1e-4
#: Largest index of a cell, on all sides of the origin: up to here floats represent every integer.
_MAX_CELL = 2.0**52


@dataclass(frozen=True)
class TwinCandidate:
    """Two parts (ids) that are, or may be, twins, and the evidence.

    ``gap`` (length units) is the distance of the second from the mirror image of the first.
    """

    kind: PartKind
    first: str
    second: str
    by: Literal["name and place", "name", "place"]
    gap: float


def find_twins(mechanism: Mechanism, plane: Plane) -> list[TwinCandidate]:
    """Find parts without twins that could be twins: by their names, by their positions, or both.

    Pairs found by position alone are within a hundredth of the mechanism's size from each other's mirror image, and
    alike (types of shapes and mass; kinds of dofs), and no other part is as near.
    """
    bodies = {own: body_center(body) for own, body in body_by_id(mechanism).items()}
    joints = {own: frame[:3, 3] for own, frame in joint_frames_world(mechanism).items()}
    every = np.array([*bodies.values(), *joints.values()]).reshape(-1, 3)
    size = float(np.ptp(every, axis=0).max()) if len(every) else 0.0
    reach = max(0.01 * size, 1e-9)
    free_bodies = by_id(body for body in mechanism.bodies if not body.twin)
    free_joints = by_id(joint for joint in mechanism.joints if not joint.twin)
    return [
        *_twin_candidates("body", free_bodies, {key: bodies[key] for key in free_bodies}, plane, reach),
        *_twin_candidates("joint", free_joints, {key: joints[key] for key in free_joints}, plane, reach),
    ]


def _twin_candidates(
    kind: PartKind,
    free: Mapping[str, Body | Joint],
    at: Mapping[str, Array],
    plane: Plane,
    reach: float,
) -> Iterator[TwinCandidate]:
    """Yield pairs among parts without twins, by id: first those with matching names, then those by position alone."""
    images = {key: plane.mirror_points(position) for key, position in at.items()}
    named = pairs_by_name({key: part.name for key, part in free.items()})
    nearest = _nearest_to_images(images, at, reach)
    seen: set[str] = set()
    for key in free:
        other = named.get(key)
        if other is None or key in seen:
            continue
        seen |= {key, other}
        gap = float(np.linalg.norm(images[key] - at[other]))
        yield TwinCandidate(kind, key, other, "name and place" if gap <= reach else "name", gap)
    for key in free:
        other = nearest.get(key)
        if other is None or other == key or {key, other} & seen or nearest.get(other) != key:
            continue
        if _are_similar(free[key], free[other]):
            seen |= {key, other}
            yield TwinCandidate(kind, key, other, "place", float(np.linalg.norm(images[key] - at[other])))


@np.errstate(over="ignore", invalid="ignore")  # positions may be as large as floats allow
def _nearest_to_images(images: Mapping[str, Array], at: Mapping[str, Array], reach: float) -> dict[str, str]:
    """Find the part nearest to each part's mirror image, within reach; none where two are equally near.

    Parts are looked up in a grid of cells of that size, to avoid a million comparisons for a thousand parts.
    """
    cells: dict[tuple[int, ...], list[str]] = {}
    for key, position in at.items():
        cells.setdefault(tuple(_grid_cell(position, reach).tolist()), []).append(key)
    out = {}
    for key, image in images.items():
        here = _grid_cell(image, reach)
        close = [
            (float(np.linalg.norm(image - at[other])), other)
            for step in product((-1, 0, 1), repeat=3)
            for other in cells.get(tuple((here + step).tolist()), ())
        ]
        close = sorted(each for each in close if each[0] <= reach)
        if close and (len(close) == 1 or close[1][0] - close[0][0] > 1e-6 * reach):
            out[key] = close[0][1]
    return out


def _grid_cell(position: Array, reach: float) -> Array:
    """Return the grid cell (3,) of a position (3,); positions too far away to be counted are in the outermost cells."""
    return np.floor(np.clip(position / reach, -_MAX_CELL, _MAX_CELL)).astype(np.int64)


def _are_similar(one: Body | Joint, other: Body | Joint) -> bool:
    if isinstance(one, Joint) and isinstance(other, Joint):
        return [dof.kind for dof in one.dofs] == [dof.kind for dof in other.dofs]
    if isinstance(one, Body) and isinstance(other, Body):
        kinds = [[shape.type for shape in body.shapes] for body in (one, other)]
        return kinds[0] == kinds[1] and abs(one.mass - other.mass) <= RELATIVE_TOLERANCE * max(one.mass, other.mass)
    return False


# ---------------------------------------------------------------- new twins

_NO_VALUES: Mapping[str, Array] = {}


def add_twins(
    mechanism: Mechanism,
    tree: Tree,
    bodies: Collection[str],
    joints: Collection[str],
    plane: Plane,
    pose: Mapping[str, Array],
    assembled: Mapping[str, Array] = _NO_VALUES,
) -> Edit:
    """Add the missing twins of bodies and joints, named for the other side and posed as mirror images.

    The joints that carry the bodies, and those that close loops at them, get twins as well. Bodies and joints that have
    a twin are left alone.

    Args:
        mechanism: The mechanism.
        tree: Its spanning tree.
        bodies: Ids of bodies.
        joints: Ids of joints; a body may have the same id.
        plane: The mirror plane.
        pose: Channel values (size,) of joints, by id.
        assembled: Initial values (size,) at which closed loops are assembled, by joint id.

    Raises:
        ValueError: None of these parts lacks a twin.
    """
    ids = {*body_by_id(mechanism), *joint_by_id(mechanism)}
    body_twins = pairs_by_twin(mechanism.bodies)
    paired = pairs_by_twin(mechanism.joints)
    alone = [body for body in mechanism.bodies if body.id in bodies and body.id not in body_twins]
    carried = {body.id for body in alone}
    chosen = {*joints, *(link.joint.id for link in tree.links if link.body in carried)}
    chosen |= {j.id for j in mechanism.joints if j.id in tree.loop_joints and {j.parent, j.child} & carried}
    single = [joint for joint in mechanism.joints if joint.id in chosen and joint.id not in paired]
    if not (alone or single):
        raise ValueError("Selection: all parts have a twin. Use Mirror to Twin to update them")
    names = {body.name for body in mechanism.bodies}
    images = {body.id: _as_twin(mirror_body(body, plane), body, names, ids) for body in alone}
    body_twins |= {own: image.id for own, image in images.items()} | {image.id: own for own, image in images.items()}
    after = with_bodies(mechanism, [*(replace(b, twin=images[b.id].id) for b in alone), *images.values()])
    known, names = body_by_id(after), {joint.name for joint in mechanism.joints}
    twins = {joint.id: _as_twin(mirror_joint(joint, plane, body_twins, known), joint, names, ids) for joint in single}
    copies = {image.id: own for own, image in images.items()} | {twin.id: own for own, twin in twins.items()}
    edits, begun = dict[str, JointEdit](), dict[str, Array]()
    for joint in single:
        twin = twins[joint.id]
        begun |= _assembled_image(joint, twin, plane, body_twins, known, assembled)
        parts = twin_dof_maps(joint, twin, plane, body_twins, known)
        values = mirror_values(pose[joint.id], parts, twin.size) if joint.id in pose else None
        edits[twin.id] = JointEdit(values=values, numbers=_single_numbers(parts))
    after = with_joints(after, [*(replace(joint, twin=twins[joint.id].id) for joint in single), *twins.values()])
    return Edit(mechanism, after, edits, copies, {image.id: own for own, image in images.items()}, begun)


def _as_twin(image: Part, part: Part, names: set[str], ids: set[str]) -> Part:
    """Give the mirror image of a part a name and an id that are free, and take these."""
    name = twin_name(part.name, names)
    own = twin_name(part.id, ids) if name in ids else name
    names.add(name)
    ids.add(own)
    return replace(image, id=own, name=name, twin=part.id)


def _single_numbers(parts: Iterable[DofMap]) -> dict[int, tuple[int, float]] | None:
    """Return index and sign in the twin by index of a joint's values; None where its mirror image mixes them."""
    out: dict[int, tuple[int, float]] = {}
    for part in parts:
        if not is_signed_permutation(part.matrix):
            return None
        for row, column in enumerate(np.abs(part.matrix).argmax(axis=1).tolist()):
            out[part.of[column]] = part.to[row], float(np.sign(part.matrix[row, column]))
    return out


# ---------------------------------------------------------------- links

#: Ids of two parts of the same kind.
Pairs = Iterable[tuple[str, str]]


def link_pairs(mechanism: Mechanism, bodies: Pairs = (), joints: Pairs = ()) -> Edit:
    """Link pairs of bodies and pairs of joints as twins; their previous twins are unlinked."""
    after = replace(mechanism, bodies=_linked(mechanism.bodies, bodies), joints=_linked(mechanism.joints, joints))
    return Edit(mechanism, after)


def unlink_parts(mechanism: Mechanism, bodies: Collection[str] = (), joints: Collection[str] = ()) -> Edit:
    """Unlink bodies and joints (ids) from their twins."""
    after = replace(mechanism, bodies=_unlinked(mechanism.bodies, bodies), joints=_unlinked(mechanism.joints, joints))
    return Edit(mechanism, after)


def relink_twins(mechanism: Mechanism, bodies: Collection[str], joints: Collection[str]) -> Edit:
    """Link bodies and joints (ids) that have no twin to those that refer to them as theirs."""
    return link_pairs(mechanism, _half_linked(mechanism.bodies, bodies), _half_linked(mechanism.joints, joints))


def _half_linked(parts: Iterable[Part], ids: Collection[str]) -> list[tuple[str, str]]:
    alone = {part.id for part in parts if part.twin is None}.intersection(ids)
    return [(part.id, part.twin) for part in parts if part.twin is not None and part.twin in alone]


def _linked(parts: Collection[Part], pairs: Pairs) -> list[Part]:
    twins = {part.id: part.twin for part in parts}
    for pair in pairs:
        _unlink(twins, pair)
        twins |= dict(zip(pair, reversed(pair), strict=True))
    return _with_twins(parts, twins)


def _unlinked(parts: Collection[Part], ids: Iterable[str]) -> list[Part]:
    twins = {part.id: part.twin for part in parts}
    _unlink(twins, ids)
    return _with_twins(parts, twins)


def _unlink(twins: dict[str, str | None], ids: Iterable[str]) -> None:
    """Set the twins of parts to None, also those of twins that refer to these parts."""
    for own in ids:
        other = twins[own]
        twins[own] = None
        if other is not None and twins.get(other) == own:
            twins[other] = None


def _with_twins(parts: Iterable[Part], twins: Mapping[str, str | None]) -> list[Part]:
    return [part if part.twin == twins[part.id] else replace(part, twin=twins[part.id]) for part in parts]


# ---------------------------------------------------------------- edits of twins

_NO_MESHES: Mapping[str, Collection[int]] = {}


def mirror_twins(
    mechanism: Mechanism,
    bodies: Iterable[str],
    joints: Iterable[str],
    plane: Plane,
    kept: Mapping[str, Collection[int]] = _NO_MESHES,
    colors: bool = True,
    assembled: Mapping[str, Array] = _NO_VALUES,
    pose: Mapping[str, Array] = _NO_VALUES,
) -> Edit:
    """Make the twins of bodies and joints complete mirror images of them; other joints stay where they are designed.

    A twin with other degrees of freedom gets those of the joint; its values become the nearest ones.

    Args:
        mechanism: The mechanism.
        bodies: Ids of bodies with twins.
        joints: Ids of joints with twins.
        plane: The mirror plane.
        kept: Indices of shapes by the id of their body, whose twin's mesh is the mirror image already
            (``mirror_body``).
        colors: Mirror colors too.
        assembled: Initial values (size,) at which closed loops are assembled, by joint id.
        pose: Channel values (size,) of joints, by id.
    """
    known, body_twins = body_by_id(mechanism), pairs_by_twin(mechanism.bodies)
    images = {body_twins[own]: own for own in bodies}
    made = {twin: mirror_body(known[own], plane, known[twin], kept.get(own, ())) for twin, own in images.items()}
    for twin, image in made.items() if not colors else ():
        for shape, before in zip(image.shapes, known[twin].shapes, strict=False):
            shape.color = before.color
    after = with_bodies(mechanism, made.values())
    after = with_joints(after, [_joint_kept_in_place(each, known, made) for each in mechanism.joints])
    every, known = joint_by_id(after), body_by_id(after)
    paired, begun = pairs_by_twin(mechanism.joints), dict[str, Array]()
    twins, edits = list[Joint](), dict[str, JointEdit]()
    for own in joints:
        joint, its = every[own], every[paired[own]]
        try:
            twins.append(mirror_joint(joint, plane, body_twins, known, its))
        except ValueError:  # the twin has other degrees of freedom
            twins.append(retype_twin(joint, plane, body_twins, known, its))
            seen = pose.get(its.id, its.initial)
            edits[its.id] = replace(change_of_values(its.dofs, twins[-1].dofs, seen), held=None)
        begun |= _assembled_image(joint, twins[-1], plane, body_twins, known, assembled)
    return Edit(mechanism, with_joints(after, twins), edits, images=images, assembled=begun)


def copy_values_to_twins(
    mechanism: Mechanism,
    joints: Iterable[str],
    plane: Plane,
    assembled: Mapping[str, Array] = _NO_VALUES,
    edited: EditedValues | None = None,
) -> Edit:
    """Copy stops, initial values, springs and motors of joints to their twins, mirrored; nothing moves.

    Only degrees of freedom whose axes are mirror images are copied. Arguments as for ``mirror_twins``; ``edited`` are
    the values to copy, None for all.
    """
    begins = edited is None or any(name in {"position", "start"} for _number, name in edited)
    known, body_twins = body_by_id(mechanism), pairs_by_twin(mechanism.bodies)
    every, paired = joint_by_id(mechanism), pairs_by_twin(mechanism.joints)
    twins, begun = list[Joint](), dict[str, Array]()
    for own in joints:
        joint, twin = every[own], every[paired[own]]
        twins.append(mirror_joint_settings(joint, plane, body_twins, known, twin, edited))
        if begins:
            begun |= _assembled_image(joint, twins[-1], plane, body_twins, known, assembled)
    return Edit(mechanism, with_joints(mechanism, twins), assembled=begun)


def copy_body_values(mechanism: Mechanism, body: str, names: Iterable[str]) -> Edit:
    """Copy the values of some attributes of a body to its twin."""
    known = body_by_id(mechanism)
    values: dict[str, Any] = {name: getattr(known[body], name) for name in names}
    return Edit(mechanism, with_bodies(mechanism, [replace(known[known[body].twin or ""], **values)]))


def _joint_kept_in_place(joint: Joint, before: Mapping[str, Body], moved: Mapping[str, Body]) -> Joint:
    """Return a joint, on bodies that moved, in its place in the design."""
    ends = {"frame_parent": joint.parent, "frame_child": joint.child}
    frames = {
        side: inverse(moved[end].pose) @ before[end].pose @ getattr(joint, side)
        for side, end in ends.items()
        if end is not None and end in moved
    }
    return replace(joint, **frames) if frames else joint


def _assembled_image(
    joint: Joint,
    twin: Joint,
    plane: Plane,
    body_twins: Mapping[str, str],
    bodies: Mapping[str, Body],
    assembled: Mapping[str, Array],
) -> dict[str, Array]:
    """Return the initial values of a joint's twin, by its id, where either of the two is assembled."""
    if assembled.keys().isdisjoint((joint.id, twin.id)):
        return {}
    values = assembled.get(joint.id, joint.initial)
    parts = twin_dof_maps(joint, twin, plane, body_twins, bodies)
    return {twin.id: mirror_values(values, parts, twin.size) + 0.0}


# ---------------------------------------------------------------- differences


@dataclass(frozen=True)
class TwinDifference:
    """Difference between twins: the parts' ids, a description, and its amount with unit."""

    kind: PartKind
    first: str
    second: str
    what: str
    amount: float
    unit: Literal["", "m", "rad", "%"] = ""


def compare_twins(mechanism: Mechanism, sides: Sides) -> list[TwinDifference]:
    """Compare the halves of a mechanism pair by pair: each part with the mirror image of its twin."""
    bodies = body_by_id(mechanism)
    joints = joint_by_id(mechanism)
    size = max((float(np.abs(body.pose[:3, 3]).max()) for body in mechanism.bodies), default=0.0) or 1.0
    out: list[TwinDifference] = []
    for first, second in _each_pair(sides.bodies, bodies):
        out += _body_differences(bodies[first], bodies[second], sides.plane, size)
    for first, second in _each_pair(sides.joints, joints):
        out += _joint_differences(joints[first], joints[second], sides, bodies, size)
    return out


def _each_pair(pairs: Mapping[str, str], known: Mapping[str, Body | Joint]) -> Iterator[tuple[str, str]]:
    order = {key: number for number, key in enumerate(known)}
    for key, other in pairs.items():
        if key in order and other in order and order[key] < order[other]:
            yield key, other


def _body_differences(body: Body, twin: Body, plane: Plane, size: float) -> Iterator[TwinDifference]:
    image = mirror_body(body, plane, twin)
    yield from _pose_differences("body", body.id, twin.id, image.pose, twin.pose, size)
    if abs(image.mass - twin.mass) > RELATIVE_TOLERANCE * max(abs(image.mass), abs(twin.mass)):
        yield TwinDifference("body", body.id, twin.id, "mass", twin.mass - image.mass)
    apart = float(np.linalg.norm(image.com - twin.com))
    if apart > RELATIVE_TOLERANCE * size:
        yield TwinDifference("body", body.id, twin.id, "center of mass", apart, "m")
    if (body.inertia is None) != (twin.inertia is None) or (
        image.inertia is not None
        and twin.inertia is not None
        and np.abs(image.inertia - twin.inertia).max() > RELATIVE_TOLERANCE * np.abs(image.inertia).max()
    ):
        yield TwinDifference("body", body.id, twin.id, "inertia", 0.0)
    if [shape.type for shape in body.shapes] != [shape.type for shape in twin.shapes]:
        yield TwinDifference("body", body.id, twin.id, "shapes", 0.0)
        return
    for own, its in zip(image.shapes, twin.shapes, strict=True):
        off = max((abs(own.size[key] - its.size.get(key, own.size[key])) for key in own.size), default=0.0)
        if own.type != "mesh" and off > RELATIVE_TOLERANCE * max(
            map(abs, own.size.values()), default=1.0
        ):  # not meshes: their surfaces are compared
            yield TwinDifference("body", body.id, twin.id, Message("size of the {}", own.type), off, "m")
        if np.linalg.norm(own.pose[:3, 3] - its.pose[:3, 3]) > RELATIVE_TOLERANCE * size:
            gap = float(np.linalg.norm(own.pose[:3, 3] - its.pose[:3, 3]))
            yield TwinDifference("body", body.id, twin.id, Message("position of the {}", own.type), gap, "m")


def _joint_differences(
    joint: Joint, twin: Joint, sides: Sides, bodies: Mapping[str, Body], size: float
) -> Iterator[TwinDifference]:
    try:
        image = mirror_joint(joint, sides.plane, sides.bodies, bodies, twin)
    except ValueError:
        yield TwinDifference("joint", joint.id, twin.id, "degrees of freedom", 0.0)
        return
    if (image.parent, image.child) != (twin.parent, twin.child):
        yield TwinDifference("joint", joint.id, twin.id, "bodies", 0.0)
    now = joint_frame_world(twin, bodies)
    yield from _pose_differences("joint", joint.id, twin.id, joint_frame_world(image, bodies), now, size)
    own_opening, its_opening = (
        inverse(joint_frame_world(each, bodies)) @ joint_child_frame_world(each, bodies) for each in (image, twin)
    )
    for gap in _pose_differences("joint", joint.id, twin.id, own_opening, its_opening, size):
        yield replace(gap, what="opening of the loop")
    for own, its in zip(image.dofs, twin.dofs, strict=True):
        yield from _dof_differences(joint.id, twin.id, own, its)


def _dof_differences(first: str, second: str, own: Dof, its: Dof) -> Iterator[TwinDifference]:
    unit: Literal["m", "rad"] = "m" if own.kind == "translation" else "rad"
    for name, words in (("lower", "lower stop"), ("upper", "upper stop")):
        one, other = getattr(own, name), getattr(its, name)
        if (one is None) != (other is None):
            yield TwinDifference("joint", first, second, Message("{} on one side only", words), 0.0)
        elif one is not None and abs(one - other) > RELATIVE_TOLERANCE * max(abs(one), abs(other), 0.1):
            yield TwinDifference("joint", first, second, words, other - one, unit)
    for name in (*UNSIGNED_FIELDS, *SIGNED_FIELDS):
        one, other = getattr(own, name), getattr(its, name)
        if isinstance(one, str):
            if one != other:
                yield TwinDifference("joint", first, second, name, 0.0)
        elif abs(one - other) > RELATIVE_TOLERANCE * max(abs(one), abs(other)) and abs(one - other) > 1e-9:
            yield TwinDifference("joint", first, second, name.replace("_", " "), other - one)
    for part, its_part in zip(own.parts, its.parts, strict=False):
        yield from _dof_differences(first, second, part, its_part)


def _pose_differences(
    kind: PartKind, first: str, second: str, image: Array, twin: Array, size: float
) -> Iterator[TwinDifference]:
    apart = float(np.linalg.norm(image[:3, 3] - twin[:3, 3]))
    if apart > RELATIVE_TOLERANCE * size:
        yield TwinDifference(kind, first, second, "position", apart, "m")
    turned = float(np.linalg.norm(rotation_vector(image[:3, :3].T @ twin[:3, :3])))
    if turned > 1e-3:
        yield TwinDifference(kind, first, second, "orientation", turned, "rad")


#: Distance to the mirror plane, as a share of the mechanism's size, up to which parts are in the middle.
_MIDDLE_RATIO = 0.01


def find_asymmetries(mechanism: Mechanism, sides: Sides) -> list[TwinDifference]:
    """Find everything that makes the halves of a mechanism differ.

    These are twins that are no mirror images, twins with other connections, and parts that lack a twin, which have an
    empty ``second``.
    """
    return [
        *compare_twins(mechanism, sides),
        *compare_parents(mechanism, sides),
        *find_missing_twins(mechanism, sides),
    ]


def compare_parents(mechanism: Mechanism, sides: Sides) -> Iterator[TwinDifference]:
    """Find twins that are not connected to twins of the same parts, or differ in their number of joints."""
    carriers = _parent_bodies(mechanism)
    joined = Counter(end for joint in mechanism.joints for end in {joint.parent, joint.child} if end is not None)
    beside: dict[str | None, set[str | None]] = defaultdict(set)  # neighbors, independent of the tree's root
    for joint in mechanism.joints:
        beside[joint.parent].add(joint.child)
        beside[joint.child].add(joint.parent)
    tree = spanning_tree(mechanism)
    order = tree.index
    paired = {frozenset((joint.id, sides.joints[joint.id])) for joint in mechanism.joints if joint.id in sides.joints}
    carried_by = {link.body: link.joint.id for link in tree.links}
    for first, second in sides.bodies.items():
        if not (first in order and second in order and order[first] < order[second]):
            continue
        own, its = carriers.get(first), carriers.get(second)
        pair = frozenset((carried_by.get(first, ""), carried_by.get(second, "")))
        roots = own is None or its is None or own == second or its == first  # the root is on one side
        mirrored = {sides.bodies.get(end or "", end) for end in beside[first]} == beside[second]
        if not (roots or mirrored) and sides.bodies.get(own or "", own) != its and pair not in paired:
            yield TwinDifference("body", first, second, "parent", 0.0)
        if joined[first] != joined[second]:
            yield TwinDifference("body", first, second, "number of joints", float(joined[second] - joined[first]))


def find_missing_twins(mechanism: Mechanism, sides: Sides) -> list[TwinDifference]:
    """Find parts off the mirror plane that lack a twin, where most others have one.

    Of a limb only the part at its beginning is listed.
    """
    positions = {body.id: body_center(body) for body in mechanism.bodies if body.active}
    alone = _unpaired_off_plane(positions, sides.bodies, sides)
    if not sides.bodies or len(alone) > len(sides.bodies):
        return []
    carriers = _parent_bodies(mechanism)
    children: Counter[str] = Counter()
    for key in alone:
        first = key
        while carriers.get(first) in alone:
            first = carriers[first] or ""
        children[first] += 1
    out = [
        TwinDifference(
            "body",
            key,
            "",
            "no twin"
            if count == 1
            else Message("no twin, also for {} of its limb", count_with_noun(count - 1, "body", "bodies")),
            0.0,
        )
        for key, count in children.items()
    ]
    frames = {key: frame[:3, 3] for key, frame in joint_frames_world(mechanism).items()}
    ends = {joint.id: {joint.parent, joint.child} for joint in mechanism.joints}
    image = {key: {sides.bodies.get(end or "", end) for end in own} for key, own in ends.items()}
    inside = {j.id for j in mechanism.joints if ends[j.id] & alone or ends[j.id] == image[j.id] or not j.active}
    lone = _unpaired_off_plane({key: at for key, at in frames.items() if key not in inside}, sides.joints, sides)
    if sides.joints and len(lone) <= len(sides.joints):
        out += [TwinDifference("joint", joint.id, "", "no twin", 0.0) for joint in mechanism.joints if joint.id in lone]
    return out


def _parent_bodies(mechanism: Mechanism) -> dict[str, str | None]:
    """Return the carrier of each body that has one, by id."""
    return {link.body: link.carrier for link in spanning_tree(mechanism).links}


def _unpaired_off_plane(positions: Mapping[str, Array], twins: Mapping[str, str], sides: Sides) -> set[str]:
    """Find parts without a twin that are not in the middle: farther from the plane than its uncertainty."""
    if not positions:
        return set()
    heights = {key: sides.plane.height(at) for key, at in positions.items()}
    off = [abs(own + heights[twins[key]]) for key, own in heights.items() if twins.get(key) in heights]
    size = float(np.ptp(np.array([*positions.values()]), axis=0).max())
    reach = max(_MIDDLE_RATIO * size, float(np.median(off)) if off else 0.0)
    return {key for key, height in heights.items() if key not in twins and abs(height) > reach}
