"""Which deleted parts of a model the rest needs. This is the one decision behind what the sidebar tells, what a check
finds and what is rebuilt:

* A body is needed by the joints that still hold it.
* A joint is needed by a body that comes back, and by what it moved: bodies that no joint and no bone carries.
* Where a whole collection of the model was deleted, all that was in it is.

Everything else that was deleted was deleted on purpose: that is how a model is made smaller."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import bpy

from ...core.kinematics import spanning_tree
from ...core.model import Body, Mechanism
from ..build.folders import is_called
from ..data.access import record_of, settings
from ..data.properties.joint import KnuckleJoint
from ..data.queries import carrying_bones, every_part, parts

#: The roles of objects that stand for something of the model's file, and the child collections of a model that hold
#: them.
FOLDERS = {
    "BODY": "Bodies", "JOINT": "Joints", "SHAPE": "Collision", "FRAME": "Frames", "LIGHT": "Frames", "LABEL": "Frames",
}  # fmt: skip

Ends = tuple[str | None, str | None]


@dataclass
class Needed:
    """The ids of deleted bodies and joints that a model needs, and the roles whose collection it lost."""

    bodies: set[str] = field(default_factory=set)
    joints: set[str] = field(default_factory=set)
    roles: set[str] = field(default_factory=set)


def needed(rig: bpy.types.Object, base: Mechanism | None, everything: bool = False) -> Needed:
    """Return what is to come back of a model: of its document ``base``, and of the objects that Blender kept.
    ``everything``: all that was deleted, but for what was let go."""
    out = Needed(roles=lost_folders(rig))
    away, let_go = list(deleted(rig)), set(settings(rig).let_go.split("\n"))
    here, empties = every_part(rig, "BODY"), every_part(rig, "JOINT")
    known = _joints(base, away)
    bodies, joints = ({record_of(obj).source_id for obj in objects} for objects in (here, empties))
    lost_bodies = {record_of(obj).source_id for obj in away if record_of(obj).role == "BODY"}
    lost_bodies |= {body.id for body in base.bodies} if base is not None else set()
    lost_bodies -= bodies | let_go
    lost_joints = known.keys() - joints - let_go
    if everything or "BODY" in out.roles:
        out.bodies = lost_bodies
    else:
        held = {end for empty in empties for end in _ends(empty, set(here), known)}
        out.bodies = lost_bodies & held
    still = {record_of(obj).source_id for obj in unmoved(rig, here, empties)}
    loops = _loops(base, away)
    for own in lost_joints:
        ends = {end for end in known[own] if end is not None}
        if everything or (
            ends <= bodies | out.bodies
            and ("JOINT" in out.roles or ends & out.bodies or (own not in loops and ends & still))
        ):
            out.joints.add(own)
    return out


def lost_folders(rig: bpy.types.Object) -> set[str]:
    """The roles of parts whose collection a model has no more, though it has such parts: in none, or nowhere."""
    top = settings(rig).collection
    if top is None:
        return set()
    roles = {role for role, name in FOLDERS.items() if not any(is_called(child, name) for child in top.children)}
    if not roles:
        return roles
    lost = {record_of(obj).role for obj in deleted(rig)}
    return {role for role in roles if role in lost or (role in {"BODY", "JOINT"} and not every_part(rig, role))}


def deleted(rig: bpy.types.Object) -> Iterator[bpy.types.Object]:
    """The parts of a model that Blender kept though they are in none of its collections and in no scene any more (the
    rigid-body world may have them): something points at them."""
    top = settings(rig).collection
    present = set(top.all_objects) if top is not None else set()
    for obj in bpy.data.objects:
        record = record_of(obj)
        ours = record.model == rig and record.role in FOLDERS and not (record.is_ground or record.is_flywheel)
        if ours and obj not in present and not obj.users_scene:
            yield obj


def unmoved(
    rig: bpy.types.Object, bodies: Iterable[bpy.types.Object], empties: Iterable[bpy.types.Object]
) -> list[bpy.types.Object]:
    """The bodies that nothing in the armature moves: that the joints which it turns do not join to the world, or to a
    body that it carries."""
    bones, roots = carrying_bones(rig)
    objects = list(bodies)
    number: dict[bpy.types.Object | None, int] = {obj: place for place, obj in enumerate(objects)}
    number[None] = len(objects)  # the world, which nothing has to move
    group = list(range(len(objects) + 1))

    def first(member: int) -> int:
        while group[member] != member:
            group[member] = group[group[member]]
            member = group[member]
        return member

    for empty in empties:
        record = record_of(empty)
        turned = bones.get(record.source_id, 0)
        if not turned or turned < _bones_wanted(record.joint):
            continue
        ends = []
        for end in (record.joint.parent, record.joint.child):
            if end not in number:  # it was deleted, and is kept
                number[end] = len(group)
                group.append(len(group))
            ends.append(first(number[end]))
        group[ends[0]] = ends[1]
    carried = {first(number[None])}
    for end, place in number.items():  # of most groups the first tells, and no other is asked
        if end is not None and first(place) not in carried and record_of(end).source_id in roots:
            carried.add(first(place))
    return [obj for place, obj in enumerate(objects) if first(place) not in carried]


def _bones_wanted(joint: KnuckleJoint) -> int:
    return 1 if len(joint.dofs) < 2 else 1 + max(dof.step for dof in joint.dofs)


def _joints(base: Mechanism | None, away: Iterable[bpy.types.Object]) -> dict[str, Ends]:
    """The ids of the bodies that joints are between, by the joint's id: as deleted ones that are kept know it, else as
    the document has it."""
    out: dict[str, Ends] = {joint.id: (joint.parent, joint.child) for joint in base.joints} if base is not None else {}
    for obj in away:
        record = record_of(obj)
        if record.role == "JOINT":
            ends = record.joint.parent, record.joint.child
            one, other = (record_of(end).source_id if end is not None else None for end in ends)
            out[record.source_id] = one, other
    return out


def _loops(base: Mechanism | None, away: Iterable[bpy.types.Object]) -> set[str]:
    """The ids of the joints that only close loops: nothing hangs on them."""
    kept = {record_of(obj).source_id for obj in away if record_of(obj).joint.loop}
    return kept | (spanning_tree(base).loop_joints if base is not None else set())


def _ends(empty: bpy.types.Object, here: set[bpy.types.Object], known: dict[str, Ends]) -> Iterator[str]:
    """The ids of the bodies that a joint holds and that are gone."""
    record = record_of(empty)
    ends = known.get(record.source_id, (None, None))
    lacks = lacks_end(record.joint)
    for end, own in zip((record.joint.parent, record.joint.child), ends, strict=True):
        if end is not None and end not in here:
            yield record_of(end).source_id or own or ""
        elif end is None and own is not None and lacks:
            yield own


def lacks_end(joint: KnuckleJoint) -> bool:
    """Return whether a joint has forgotten a body: the world may be one of its ends."""
    return (joint.parent, joint.child).count(None) > joint.at_world


def lost_shapes(
    rig: bpy.types.Object, known: Mapping[str, Body], bodies: Mapping[str, bpy.types.Object], new: Container[str]
) -> dict[str, str]:
    """The ids of collision shapes that bodies which stayed have lost, with their body's: those that are still as the
    document has them, whose bodies are ``known`` by id. ``bodies``: those of the model by id, and ``new`` ones."""
    there, lost = {record_of(child).source_id for child in parts(rig, "SHAPE")}, dict[str, str]()
    for own, obj in bodies.items():
        record, body = record_of(obj), known.get(own)
        if body is None or own in new or record.without_children or len(body.shapes) != len(record.shapes):
            continue
        for number, (kept, shape) in enumerate(zip(record.shapes, body.shapes, strict=True)):
            if kept.has_child and kept.type == shape.type and f"{own}/{number}" not in there:
                lost[f"{own}/{number}"] = own
    return lost
