"""What is said of a mechanism of which x_xy can hold only a part."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from ...model.records import Joint, Mechanism
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
