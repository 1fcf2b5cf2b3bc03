"""What is said of a mechanism of which x_xy can hold only a part."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from ...core.model import Body, Joint, Mechanism, identity
from ...core.report import Report
from . import geometry
from .mechanism import WORLD_BODY
from .values import Remarks


def tell_left(left: Iterable[Joint], loops: Collection[str], remarks: Remarks) -> None:
    """Say what becomes of joints that no body hangs by; those of the ids ``loops`` close one."""
    for joint in left:
        if joint.id in loops:
            message = (
                f"the joint '{joint.name}' ({joint.type}) between '{joint.parent}' and '{joint.child}' closes a loop, "
                "which the program cannot have; the loop is cut there, and a comment keeps the joint so that it can be "
                "closed again"
            )
            remarks.warn("cut-loop", message)
        else:
            remarks.warn("left-joint", f"the joint '{joint.name}' moves nothing; it is kept in a comment")


def tell_of_others(mechanism: Mechanism, remarks: Remarks) -> None:
    """Say what is neither body nor joint and stays in a comment."""
    for what in ("assemblies", "restraints", "lights"):
        if count := len(getattr(mechanism, what)):
            message = f"the program has no {what} ({count} here); they are kept in a comment"
            remarks.warn("kept-as-comment", message)


def tell_lost(mechanism: Mechanism, remarks: Remarks) -> None:
    """Say what is not written at all."""
    for joint in mechanism.joints:
        for dof in joint.dofs:
            if dof.kind == "screw":
                message = (
                    f"a screw is written as a hinge: the slide of {2 * np.pi * dof.pitch:.4g} a turn is missing "
                    f"('{joint.name}')"
                )
                remarks.warn("approximated-joint", message)
    if mechanism.behaviours is not None:
        remarks.warn("dropped-behaviours", "what moves the joints by itself (its gait) cannot be written")
    if mechanism.motions:
        remarks.warn("dropped-motion", "motions are not written; save them as servo motion")


def report_world_name(mechanism: Mechanism, report: Report) -> None:
    """Warn of a renamed world body: the element ``worldbody`` has no name."""
    scenery = scenery_of(mechanism)
    if scenery is not None and scenery.name != WORLD_BODY:
        report.warn(
            "world-name",
            f"The world body {scenery.name!r} is read back as {WORLD_BODY!r}: x_xy has no name for it",
            where=scenery.id,
        )


def scenery_of(mechanism: Mechanism) -> Body | None:
    """The body that is the geoms of the world; None where there is none."""
    return next((body for body in mechanism.bodies if _is_scenery(body, mechanism)), None)


def _is_scenery(body: Body, mechanism: Mechanism) -> bool:
    """Return whether a body is the geoms of the world: it stands in the world's frame and nothing is joined to it."""
    return bool(
        body.extra.get(WORLD_BODY)
        and geometry.same(body.pose, identity())
        and not any(body.id in {joint.parent, joint.child} for joint in mechanism.joints)
    )
