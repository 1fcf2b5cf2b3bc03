"""Collision shapes of bodies (their own mesh, or children as the parts of a compound) and collision filters.

DART does not test the bodies of one skeleton against each other (of 171 skeletons that it read, none had that enabled),
and x_xy's program has no contacts at all; their mechanisms overlap as they please. Self-Collision is off from the start
where the file's own program has it off, and can be switched in the World panel.

Two bodies collide if they share one of Blender's twenty collision collections. In a simulation scene, where all else
can be in all twenty, each body of such an assembly gets one of its own; two that a joint connects, which do not collide
in any case, may share it. Elsewhere, as in a scene with a floor of the user's, a filter is a constraint without limits.
Blender prepares each of these at every step: the humanoid has 64 of them, or twelve collections.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from math import comb
from typing import Any, TypeVar, cast

import bpy

from ....core.report import Message, Report
from ...data.access import (
    bodies_of,
    constraint_of,
    constraints_of,
    record_of,
    rigid_body_of,
    settings,
    world_of,
)
from ...data.caching import joint_record
from ...data.queries import helper_collection, is_simulation_scene, parts, shown_scene_of
from ...data.rigid_bodies import own_collision_type, primitive_type
from ..world.anchor import connects_bodies, joint_ends
from ..world.membership import simulated_rigs

_Node = TypeVar("_Node", bound=Hashable)


def set_up_collision(
    obj: bpy.types.Object,
    children: Sequence[bpy.types.Object],
    world: bpy.types.RigidBodyWorld,
    linked: Collection[bpy.types.Object],
) -> dict[str, Any]:
    """Configure the parts of a body's compound shape.

    Args:
        obj: The body.
        children: Its collision children.
        world: The rigid-body world that they join.
        linked: Objects that are in it already.

    Returns:
        Properties to set on the body's own rigid body.
    """
    record = record_of(obj)
    shapes = record.shapes
    parts_of = [child for child in children if record_of(child).shape < len(shapes)]
    for child in parts_of:
        if child not in linked:
            bodies_of(world).objects.link(child)
        part: Any = child.rigid_body
        for name, value in _collision_settings(child, primitive_type(shapes[record_of(child).shape].type)).items():
            setattr(part, name, value)
        # as a part it needs neither; without its body it would fall and collide, invisible
        part.type, part.collision_collections = "PASSIVE", [False] * 20
    kind = "COMPOUND" if parts_of else own_collision_type(record)
    if kind is None or not (parts_of or _has_extent(obj)):
        # Blender draws its primitive shapes about the object
        values = _collision_settings(obj, "CONVEX_HULL" if _has_extent(obj) else "SPHERE")
        return values | {"collision_collections": [False] * 20}
    if any(rigid_body_of(obj).collision_collections):
        return _collision_settings(obj, kind)
    return _collision_settings(obj, kind) | {"collision_collections": _USUAL_COLLECTIONS}


def _collision_settings(obj: bpy.types.Object, kind: str) -> dict[str, Any]:
    # Without a margin, boxes, hulls and cylinders of 2 cm, 20 cm and 2 m all rest within 1e-5 of their size. With one,
    # hulls float by it (Blender's 4 cm makes those of 2 cm jump), and cylinders oscillate more
    values: dict[str, Any] = {"collision_shape": kind, "use_margin": True, "collision_margin": 0.0}
    record, is_modified = record_of(obj), _is_modified(obj)
    if not is_modified:
        # Equal vertices, but those of the other sources may be freed by another thread while Blender reads them to
        # build its simulation (it does not wait for them: crashes of 5.2 in a scene that is not the displayed one)
        values["mesh_source"] = "BASE"
    elif not record.keeps_source and rigid_body_of(obj).mesh_source == "BASE":
        values["mesh_source"] = "DEFORM"  # we set that before it had modifiers
    if record.keeps_source != is_modified:
        record.keeps_source = is_modified
    return values


def _is_modified(obj: bpy.types.Object) -> bool:
    """Return whether Blender shows anything other than the mesh of an object."""
    return bool(obj.modifiers) or cast(bpy.types.Mesh, obj.data).shape_keys is not None


def _has_extent(obj: bpy.types.Object) -> bool:
    """Return whether the mesh has vertices, on which Blender measures collision shapes."""
    return bool(cast(bpy.types.Mesh, obj.data).vertices)


#: Formats whose programs do not test the bodies of one assembly against each other.
FILTERED_FORMATS = frozenset({"skel", "x_xy"})
#: Count of filters above which they cost more than the bodies themselves.
_MAX_PAIRS = 2000
_SUFFIX = " Collision Filter"

_BodyPair = frozenset[bpy.types.Object]
_BodyGroups = list[list[bpy.types.Object]]


#: Collision collections of a new rigid body, and those of one that collides with bodies of any collection.
_USUAL_COLLECTIONS, _ALL_COLLECTIONS = [True] + [False] * 19, [True] * 20


def apply_collision_filter(scene: bpy.types.Scene, rig: bpy.types.Object, report: Report) -> None:
    """Filter the collisions of a mechanism with itself: by collision collections, or by constraints.

    Constraints that are no longer needed are disabled.
    """
    model, world = settings(rig), world_of(scene)
    groups = [] if model.self_collide else _bodies_by_assembly(rig)
    too_many = _exceeds_max_pairs(rig, groups)  # without visiting each pair
    wanted = {} if too_many else _pairs_to_filter(rig, groups)
    if wanted and len(wanted) <= _MAX_PAIRS:
        report.info(
            "self-collision",
            "Self-collision: off within a skeleton or system, as in the file's own program. "
            "Change it with Self-Collision under Simulation > Settings",
        )
    if too_many or len(wanted) > _MAX_PAIRS:
        report.warn(
            "self-collision-limit",
            Message(
                "Self-collision: on, unlike in the file's own program, more than {} pairs cannot be filtered",
                _MAX_PAIRS,
            ),
        )
        wanted = {}
    if wanted and _assign_collections(scene, rig, wanted):
        wanted = {}
    elif is_simulation_scene(scene):
        share_collections(scene, [obj for group in groups for obj in group] or parts(rig, "BODY"))
    there = {_filtered_bodies(empty): empty for empty in filter_constraints(rig, world)}
    for pair in (each for each in wanted if each not in there):
        _add_filter_constraint(rig, world, pair)
    for pair, empty in there.items():  # unneeded ones stay, since Blender's simulation may still use them
        constraint_of(empty).disable_collisions = pair in wanted


def _assign_collections(scene: bpy.types.Scene, rig: bpy.types.Object, pairs: Iterable[_BodyPair]) -> bool:
    """Put bodies that are not to collide into collision collections of their own, where twenty are enough.

    Args:
        scene: The scene that simulates them.
        rig: The mechanism.
        pairs: The bodies that are not to collide.

    Returns:
        Whether it was done: only in a simulation scene, for a single mechanism and assembly, since bodies of two would
        need a common collection for each pair, and where the user has not chosen collections.
    """
    apart: dict[bpy.types.Object, set[bpy.types.Object]] = {}
    for first, second in (tuple(pair) for pair in pairs):
        apart.setdefault(first, set()).add(second)
        apart.setdefault(second, set()).add(first)
    filtered = [other for other in _shown_rigs(scene) if not settings(other).self_collide]
    if len(filtered) != 1 or not _has_usual_collections(scene) or not _is_connected(apart):
        return False
    numbers = color_first_fit(apart)
    if max(numbers.values()) >= len(_ALL_COLLECTIONS):
        return False
    share_collections(scene, [obj for obj in parts(rig, "BODY") if obj not in numbers])
    for obj, number in numbers.items():
        _write_collections(obj, [index == number for index in range(len(_ALL_COLLECTIONS))])
    return True


def color_first_fit(neighbors: Mapping[_Node, Collection[_Node]]) -> dict[_Node, int]:
    """Color a graph so that no two neighbors have the same color: each node gets the first that is possible."""
    out: dict[_Node, int] = {}
    for node, beside in neighbors.items():
        used = {out[other] for other in beside if other in out}
        out[node] = next(number for number in range(len(out) + 1) if number not in used)
    return out


def _is_connected(neighbors: Mapping[_Node, Collection[_Node]]) -> bool:
    """Return whether a graph is connected: the pairs are those of one assembly."""
    found = [next(iter(neighbors))]
    seen = {*found}
    for node in found:
        new = [other for other in neighbors[node] if other not in seen]
        seen |= {*new}
        found += new
    return len(seen) == len(neighbors)


def share_collections(scene: bpy.types.Scene, bodies: Iterable[bpy.types.Object]) -> None:
    """Let bodies in a simulation scene collide with those of any collection, if they collide at all.

    Where the user has chosen collections these stay, and ``_assign_collections`` does nothing.
    """
    if is_simulation_scene(scene) and _has_usual_collections(scene):
        for obj in bodies:
            body = obj.rigid_body
            if body is not None and any(body.collision_collections[:]):
                _write_collections(obj, _ALL_COLLECTIONS if body.collision_collections[0] else [False] * 20)


def _write_collections(obj: bpy.types.Object, values: list[bool]) -> None:
    body = rigid_body_of(obj)
    if body.collision_collections[:] != tuple(values):
        body.collision_collections = values


def _shown_rigs(scene: bpy.types.Scene) -> list[bpy.types.Object]:
    """Return the mechanisms that a simulation scene simulates, in the scene that it belongs to."""
    shown = shown_scene_of(scene)
    return [] if shown is None else list(simulated_rigs(shown))


def _has_usual_collections(scene: bpy.types.Scene) -> bool:
    """Return whether no body of the mechanisms that a simulation scene simulates is in collections of the user's."""
    bodies = (obj.rigid_body for rig in _shown_rigs(scene) for obj in parts(rig, "BODY"))
    usual = {tuple(_USUAL_COLLECTIONS), (False,) * 20}
    return all(tuple(body.collision_collections) in usual for body in bodies if body is not None)


def _pairs_to_filter(rig: bpy.types.Object, groups: _BodyGroups) -> dict[_BodyPair, None]:
    """Return the pairs of bodies to filter: all of them, or one more than the limit.

    Their count grows with the square of the bodies. Their order is the mechanism's, in which Blender solves
    constraints.
    """
    found: dict[_BodyPair, None] = {}
    for pair in _collidable_pairs(rig, groups):
        found[pair] = None
        if len(found) > _MAX_PAIRS:
            break
    return found


def filter_constraints(rig: bpy.types.Object, world: bpy.types.RigidBodyWorld) -> list[bpy.types.Object]:
    """Return the empties of a mechanism's collision filters."""
    held: Sequence[bpy.types.Object] = world.constraints.objects[:] if world.constraints is not None else []
    return [obj for obj in held if record_of(obj).is_collision_filter and record_of(obj).model == rig]


def _filtered_bodies(empty: bpy.types.Object) -> _BodyPair:
    constraint = constraint_of(empty)
    return frozenset(end for end in (constraint.object1, constraint.object2) if end is not None)


def _collidable_pairs(rig: bpy.types.Object, groups: _BodyGroups) -> Iterator[_BodyPair]:
    """Yield pairs of bodies of one assembly that could collide and have no joint between them."""
    records = (joint_record(empty) for empty in parts(rig, "JOINT"))
    anchor = settings(rig).anchor
    jointed = {frozenset(joint_ends(joint, anchor)) for joint in records if connects_bodies(joint)}
    for group in groups:
        for first, second in combinations(group, 2):
            moves = "ACTIVE" in (rigid_body_of(first).type, rigid_body_of(second).type)
            pair = frozenset((first, second))
            if moves and pair not in jointed:
                yield pair


def _bodies_by_assembly(rig: bpy.types.Object) -> _BodyGroups:
    """Return the colliding bodies by assembly; a body that the user linked into several is in each."""
    bodies = ((obj, obj.rigid_body) for obj in parts(rig, "BODY"))
    solid = {obj for obj, body in bodies if body is not None and any(body.collision_collections[:])}
    top = settings(rig).collection
    folders = dict.fromkeys(top.children_recursive) if top is not None else {}
    return [[obj for obj in folder.objects[:] if obj in solid] for folder in folders]


def _exceeds_max_pairs(rig: bpy.types.Object, groups: _BodyGroups) -> bool:
    """Return whether there are more pairs than can be filtered, whatever joints there are between them."""
    seen: set[bpy.types.Object] = set()
    pairs = 0
    for group in groups:
        moving = {obj for obj in group if rigid_body_of(obj).type == "ACTIVE"} - seen
        seen |= moving
        pairs += comb(len(moving), 2)
    return pairs - len(parts(rig, "JOINT")) > _MAX_PAIRS


def _add_filter_constraint(rig: bpy.types.Object, world: bpy.types.RigidBodyWorld, pair: _BodyPair) -> None:
    first, second = sorted(pair, key=lambda obj: obj.name)
    empty = bpy.data.objects.new(f"{first.name}{_SUFFIX}", None)
    record_of(empty).model, record_of(empty).is_collision_filter = rig, True
    empty.empty_display_size = 0.0
    # selectable, so that it is deleted with the mechanism, before its bodies: Blender crashes otherwise
    helper_collection(rig).objects.link(empty)
    constraints_of(world).objects.link(empty)
    constraint = constraint_of(empty)
    constraint.type = "GENERIC"
    for axis in "xyz":
        setattr(constraint, f"use_limit_lin_{axis}", False)
        setattr(constraint, f"use_limit_ang_{axis}", False)
    constraint.object1, constraint.object2 = first, second
    constraint.disable_collisions = True
