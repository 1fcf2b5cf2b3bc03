"""Joints that SKEL can only hold as several, with bodies of no weight between them: taken together again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...core.model import Array, Body, Dof, Joint
from ...core.transforms import inverse
from .read import Placed
from .table import KEPT

if TYPE_CHECKING:
    from .document import Skeleton

LINK_OF = f"{KEPT}/@link_of"


def joined(skeleton: Skeleton, bodies: list[Body], joints: list[Joint]) -> tuple[list[Body], list[Joint]]:
    """Bodies and joints with every chain that we wrote made one joint again. The placed objects of a chain get keys
    of their own, by which the writer finds them. A chain that was taken apart by hand stays as it is."""
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
        whole = _whole(chain, of_joint[last.id]) if chain else None
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
    """Return what the joint of a chain is called in a plan; its last one has the id of the joint itself."""
    return f"{joint}\n{number}"


def link_key(joint: str, number: int) -> str:
    """Return what the body between two joints of a chain is called in a plan."""
    return f"{joint}\n{number} body"


def _chain(
    last: Joint, links: set[str], carrying: dict[str | None, Joint], below: dict[str | None, list[Joint]]
) -> list[Joint]:
    """The joints from the last real body to the next, first to last; empty where it is not our chain."""
    chain = [last] if last.active and last.child not in links else []
    while chain and chain[-1].parent in links:
        if len(below[chain[-1].parent]) != 1 or chain[-1].parent not in carrying or len(chain) > len(links):
            return []
        chain.append(carrying[chain[-1].parent])
    return chain[::-1] if len(chain) > 1 else []


def _whole(chain: list[Joint], placed: Placed) -> Joint | None:
    """A chain as one joint; None where its links were moved, so that it is none any more."""
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
        type=row[f"{KEPT}/@type"] or last.type,
        parent=chain[0].parent,
        frame_parent=chain[0].frame_parent,
        frame_child=last.frame_child @ inverse(turn),
        dofs=dofs,
    )
