"""The frames of bodies laid onto the joints that they hang by, as x_xy has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...core.kinematics import Link, spanning_tree
from ...core.model import Array, Body, Joint, Mechanism, identity
from ...core.transforms import inverse
from . import geometry


def rebased(mechanism: Mechanism, before: Mechanism) -> tuple[Mechanism, Mechanism]:
    """The mechanism with the frames of bodies laid onto the frames of the joints that they hang by, where they lay
    there before; and what was before with the same bodies laid so. Nothing moves: shapes, centres of mass and what
    hangs on a body keep their places in the world."""
    there = {link.body: link.joint.id for link in spanning_tree(before).links if _lies_on_joint(link)}
    shift: dict[str | None, Array] = {
        link.body: link.joint.frame_child
        for link in spanning_tree(mechanism).links
        if there.get(link.body) == link.joint.id and not link.against and not _lies_on_joint(link)
    }
    return (_shifted(mechanism, shift), _shifted(before, shift)) if shift else (mechanism, before)


def _shifted(mechanism: Mechanism, shift: Mapping[str | None, Array]) -> Mechanism:
    out = replace(mechanism)
    out.bodies = [_moved(body, shift[body.id]) if body.id in shift else body for body in mechanism.bodies]
    out.joints = [_hung(joint, shift) for joint in mechanism.joints]
    out.frames = [
        replace(frame, pose=inverse(shift[frame.body]) @ frame.pose) if frame.body in shift else frame
        for frame in mechanism.frames
    ]
    return out


def _moved(body: Body, shift: Array) -> Body:
    back = inverse(shift)
    copy = replace(body)
    copy.pose = body.pose @ shift
    copy.com = back[:3, :3] @ body.com + back[:3, 3]
    if body.inertia is not None:
        copy.inertia = back[:3, :3] @ body.inertia @ shift[:3, :3]
    copy.shapes = [replace(shape, pose=back @ shape.pose) for shape in body.shapes]
    return copy


def _lies_on_joint(link: Link) -> bool:
    return not link.against and geometry.same(link.joint.frame_child, identity())


def _hung(joint: Joint, shift: Mapping[str | None, Array]) -> Joint:
    copy = replace(joint)
    if joint.parent in shift:
        copy.frame_parent = inverse(shift[joint.parent]) @ joint.frame_parent
    if joint.child in shift:
        copy.frame_child = inverse(shift[joint.child]) @ joint.frame_child
        if geometry.same(copy.frame_child, identity(), 1e-9):
            copy.frame_child = identity()
    return copy
