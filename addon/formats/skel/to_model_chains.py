"""Ends of SKEL joints, and merging of the chains of joints as which some joints are written."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...core.model import Array, Body, Dof, Joint
from ...core.report import Message
from ...core.transforms import inverse
from .reader import Reader, Skeleton, SourceElement
from .schema import EXTENSION_TAG, INACTIVE_JOINT, LOOP_JOINT

LINK_OF = f"{EXTENSION_TAG}/@link_of"


def merge_chains(skeleton: Skeleton, bodies: list[Body], joints: list[Joint]) -> tuple[list[Body], list[Joint]]:
    """Merge every chain that we wrote into one joint; returns the bodies and joints.

    The objects of a chain get ids by which the writer finds them. A chain that was edited by hand stays as it is.
    """
    of_body = {item.id: item for item in skeleton.bodies}
    of_joint = {item.id: item for item in skeleton.joints}
    links = {body.id for body in bodies if of_body[body.id].row[LINK_OF] is not None}
    if not links:
        return bodies, joints
    carrying = {joint.child: joint for joint in joints if joint.active}
    below: dict[str | None, list[Joint]] = {}
    for joint in joints:
        below.setdefault(joint.parent, []).append(joint)
    gone_bodies: set[str | None] = set()
    gone_joints: set[str] = set()
    made: dict[str, Joint] = {}
    for last in joints:
        chain = _chain(last, links, carrying, below)
        whole = _merge_chain(chain, of_joint[last.id]) if chain else None
        if whole is None:
            continue
        made[last.id] = whole
        for number, piece in enumerate(chain[:-1]):
            gone_bodies.add(piece.child)
            gone_joints.add(piece.id)
            of_joint[piece.id].id = piece_key(last.id, number)
            if piece.child is not None:
                of_body[piece.child].id = link_key(last.id, number)
    bodies = [body for body in bodies if body.id not in gone_bodies]
    joints = [made.get(joint.id, joint) for joint in joints if joint.id not in gone_joints]
    return bodies, joints


def piece_key(joint: str, number: int) -> str:
    """Return the id in a plan of a joint of a chain; the last one has the id of the joint itself."""
    return f"{joint}\n{number}"


def link_key(joint: str, number: int) -> str:
    """Return the id in a plan of the body between two joints of a chain."""
    return f"{joint}\n{number} body"


def _chain(
    last: Joint, links: set[str], carrying: dict[str | None, Joint], below: dict[str | None, list[Joint]]
) -> list[Joint]:
    """Return the joints from one real body to the next, first to last; empty where they are no chain that we wrote."""
    chain = [last] if last.active and last.child not in links else []
    while chain and chain[-1].parent in links:
        if len(below[chain[-1].parent]) != 1 or chain[-1].parent not in carrying or len(chain) > len(links):
            return []
        chain.append(carrying[chain[-1].parent])
    return chain[::-1] if len(chain) > 1 else []


def _merge_chain(chain: list[Joint], placed: SourceElement) -> Joint | None:
    """Merge a chain into one joint; None where its links were moved, so that it is none any more."""
    last = chain[-1]
    turn: Array = np.eye(4)
    dofs: list[Dof] = []
    for number, piece in enumerate(chain):
        if number:
            turn = turn @ inverse(chain[number - 1].frame_child) @ piece.frame_parent
        if np.abs(turn[:3, 3]).max() > 1e-9:
            return None
        block = any(dof.kind in ("ball", "free") for dof in piece.dofs)
        if block and np.abs(turn - np.eye(4)).max() > 1e-9:
            return None
        dofs += [replace(dof, axis=turn[:3, :3] @ dof.axis) for dof in piece.dofs]
    row = placed.row
    return replace(
        last,
        type=row[f"{EXTENSION_TAG}/@type"] or last.type,
        parent=chain[0].parent,
        frame_parent=chain[0].frame_parent,
        frame_child=last.frame_child @ inverse(turn),
        dofs=dofs,
    )


WORLD_NAME = "world"


@dataclass
class ResolvedEnds:
    """Ends of a joint.

    Attributes:
        parent: name of the parent body, None for the world or if missing.
        child: name of the child body, None if missing.
        active: whether it connects them.
        closes: whether it closes a cycle, which DART cannot read.
    """

    parent: str | None
    child: str | None
    active: bool
    closes: bool = False


def resolve_joint_ends(skeleton: Skeleton, reader: Reader) -> dict[int, ResolvedEnds]:
    """Return the ends of every joint of a skeleton, by ``id`` of its element's record; problems are reported."""
    names = {item.row["@name"] for item in skeleton.bodies}
    ends: dict[int, ResolvedEnds] = {}
    carried: dict[str, str | None] = {}
    carrier: dict[str, ResolvedEnds] = {}
    for item in skeleton.joints:
        found = ends[id(item)] = _joint_ends(item, names, reader)
        if item.element.tag in (LOOP_JOINT, INACTIVE_JOINT) or not found.active or found.child is None:
            continue
        if found.child in carried:
            message = Message("{} has the child '{}', which is the child of another joint", item.label, found.child)
            what = f"{message}; DART ignores it, here it is inactive"
            reader.note("warning", "second-joint", what, item.element)
            found.active = False
        else:
            carried[found.child] = found.parent
            carrier[found.child] = found
    _report_unattached_bodies(skeleton, carried, reader)
    for ring in _joint_cycles(carried):
        carrier[ring[0]].closes = True
        of = next(item for item in skeleton.bodies if item.row["@name"] == ring[0])
        names_of_ring = ", ".join(repr(each) for each in ring)
        message = Message(
            "the joints of {} form a cycle, which DART cannot read; the joint of {} closes the loop",
            names_of_ring,
            repr(ring[0]),
        )
        reader.note("warning", "joint-cycle", message, of.element)
    return ends


def _joint_ends(item: SourceElement, names: set[str], reader: Reader) -> ResolvedEnds:
    parent, child = (_joint_end(item, end, names, reader) for end in ("parent", "child"))
    world = item.row["parent"] is None or item.row["parent"] == WORLD_NAME
    active = child is not None and (parent is not None or world)
    if active and parent == child:
        reader.note(
            "warning", "inactive-joint", f"{item.label} is inactive: parent and child are both '{child}'", item.element
        )
        active = False
    return ResolvedEnds(parent, child, active)


def _joint_end(item: SourceElement, end: str, names: set[str], reader: Reader) -> str | None:
    given = item.row[end]
    found = next(item.element.iterchildren(end), None)
    text = None if found is None else found.text
    if text in names:
        given = text
    if given in names:
        if text != given:
            message = Message(
                "{}: white space around the {} '{}' is ignored; DART does not find this body", item.label, end, given
            )
            reader.note("warning", "repaired-reference", message, item.element)
        return given
    if given is None or (end == "parent" and given == WORLD_NAME):
        return None
    message = Message("{} is inactive: its {} '{}' is not a body of the skeleton", item.label, end, given)
    reader.note("warning", "dangling-reference", message, item.element)
    return None


def _report_unattached_bodies(skeleton: Skeleton, carried: dict[str, str | None], reader: Reader) -> None:
    """Report bodies that no joint carries."""
    carriers = set(carried.values())
    for item in skeleton.bodies:
        name = item.row["@name"]
        if name in carried:
            continue
        if name in carriers:
            message = Message("{} has no joint; it is free, as with a free joint in DART", item.label)
            reader.note("info", "loose-body", message, item.element)
        else:
            message = Message("{} is the child of no joint; it is free at its position (DART stops here)", item.label)
            reader.note("warning", "orphan-body", message, item.element)


def _joint_cycles(carried: dict[str, str | None]) -> list[list[str]]:
    """Return the cycles of bodies whose joints carry each other."""
    rings: list[list[str]] = []
    safe: set[str | None] = {None}
    for name in carried:
        way: dict[str, None] = {}
        here: str | None = name
        while here is not None and here not in safe and here not in way and here in carried:
            way[here] = None
            here = carried[here]
        if here in way:
            order = list(way)
            rings.append(order[order.index(here) :])
        safe.update(way)
        safe.add(here)
    return rings
