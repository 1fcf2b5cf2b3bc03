"""Bodies that are not to collide with each other although no joint is between them.

DART does not test the bodies of one skeleton against each other (of 171 skeletons that it read, none had that switched
on), and the program of x_xy knows no contacts at all; their models overlap as they please. Blender's twenty collision
collections cannot say that a body collides with everything but its own kind: whatever shares none of them with its
neighbours shares none with the user's floor either. A constraint that holds nothing can: its two bodies do not collide.

It is so from the start where the file's own program has it so; Self-Collision in the World panel switches it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb

import bpy

from ....core.report import Report
from ...data.access import record_of, settings
from ...data.caching import joint_of
from ...data.queries import helper_collection, parts
from ..world.anchor import ends_of, is_held

#: Formats whose programs do not test the bodies of one assembly against each other.
APART = frozenset({"skel", "x_xy"})
#: More constraints than this cost more than the bodies themselves.
_MOST = 2000
_SUFFIX = " Apart"

_Pair = frozenset[bpy.types.Object]
_Groups = list[list[bpy.types.Object]]


def keep_apart(rig: bpy.types.Object, world: bpy.types.RigidBodyWorld, report: Report) -> None:
    """Make the constraints that keep bodies of a model from colliding, and take away those that do so no more."""
    model = settings(rig)
    groups = [] if model.self_collide else _groups(rig)
    too_many = _has_most(rig, groups)  # seen without looking at each
    wanted = {} if too_many else _some_pairs(rig, groups)
    if wanted and len(wanted) <= _MOST:
        report.info(
            "self-collision",
            "Under physics bodies of one skeleton or system do not collide with each other, as in the file's own "
            "program. Self-Collision under Simulation > Settings switches that",
        )
    if too_many or len(wanted) > _MOST:
        report.warn(
            "self-collision",
            f"Bodies of the model collide with each other under physics, which they do not in its own program: "
            f"more than {_MOST} pairs are too many to keep apart",
        )
        wanted = {}
    there = {_ends(empty): empty for empty in apart_of(rig, world)}
    for pair in (each for each in wanted if each not in there):
        _hold_nothing(rig, world, pair)
    for pair, empty in there.items():  # what is not wanted any more stays: Blender's simulation may still have it
        empty.rigid_body_constraint.disable_collisions = pair in wanted


def _some_pairs(rig: bpy.types.Object, groups: _Groups) -> dict[_Pair, None]:
    """The pairs that are to be kept apart, all of them or one more than can be: there are as many as the square of the
    bodies. Their order is that of the model: it is the one in which Blender solves their constraints."""
    found: dict[_Pair, None] = {}
    for pair in _pairs(rig, groups):
        found[pair] = None
        if len(found) > _MOST:
            break
    return found


def apart_of(rig: bpy.types.Object, world: bpy.types.RigidBodyWorld) -> list[bpy.types.Object]:
    """The empties of a model that hold nothing."""
    held: Sequence[bpy.types.Object] = world.constraints.objects[:] if world.constraints is not None else []
    return [obj for obj in held if record_of(obj).is_apart and record_of(obj).model == rig]


def _ends(empty: bpy.types.Object) -> _Pair:
    constraint = empty.rigid_body_constraint
    return frozenset(end for end in (constraint.object1, constraint.object2) if end is not None)


def _pairs(rig: bpy.types.Object, groups: _Groups) -> Iterator[_Pair]:
    """Pairs of bodies of one assembly that could collide and have no joint between them."""
    records = (joint_of(empty) for empty in parts(rig, "JOINT"))
    anchor = settings(rig).anchor
    jointed = {frozenset(ends_of(joint, anchor)) for joint in records if is_held(joint)}
    for group in groups:
        for first, second in combinations(group, 2):
            moves = "ACTIVE" in (first.rigid_body.type, second.rigid_body.type)
            pair = frozenset((first, second))
            if moves and pair not in jointed:
                yield pair


def _groups(rig: bpy.types.Object) -> _Groups:
    """The bodies that collide with others, by their assemblies. (One that the user linked into several is in each.)"""
    bodies = [obj for obj in parts(rig, "BODY") if obj.rigid_body is not None]
    solid = {obj for obj in bodies if any(obj.rigid_body.collision_collections[:])}
    top = settings(rig).collection
    folders = dict.fromkeys(top.children_recursive) if top is not None else {}
    return [[obj for obj in folder.objects[:] if obj in solid] for folder in folders]


def _has_most(rig: bpy.types.Object, groups: _Groups) -> bool:
    """Return whether there are more pairs than can be kept apart, however many joints there are between them."""
    seen: set[bpy.types.Object] = set()
    pairs = 0
    for group in groups:
        moving = {obj for obj in group if obj.rigid_body.type == "ACTIVE"} - seen
        seen |= moving
        pairs += comb(len(moving), 2)
    return pairs - len(parts(rig, "JOINT")) > _MOST


def _hold_nothing(rig: bpy.types.Object, world: bpy.types.RigidBodyWorld, pair: _Pair) -> None:
    first, second = sorted(pair, key=lambda obj: obj.name)
    empty = bpy.data.objects.new(f"{first.name}{_SUFFIX}", None)
    record_of(empty).model, record_of(empty).is_apart = rig, True
    empty.empty_display_size = 0.0
    # selectable: deleted with the model and before its bodies, or Blender crashes at what it leaves
    helper_collection(rig).objects.link(empty)
    world.constraints.objects.link(empty)
    constraint = empty.rigid_body_constraint
    constraint.type = "GENERIC"
    for axis in "xyz":
        setattr(constraint, f"use_limit_lin_{axis}", False)
        setattr(constraint, f"use_limit_ang_{axis}", False)
    constraint.object1, constraint.object2 = first, second
    constraint.disable_collisions = True
