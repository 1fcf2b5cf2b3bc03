"""Properties of joint records that decide which constraints and actuators they need."""

from __future__ import annotations

from .properties.joint import KnuckleJoint


def has_stops(joint: KnuckleJoint) -> bool:
    """Return whether any of a joint's degrees of freedom has a stop."""
    return any(dof.use_lower or dof.use_upper for dof in [*joint.dofs, *joint.parts])


def is_springy(joint: KnuckleJoint) -> bool:
    """Return whether a joint has a spring or a damper."""
    return any(dof.stiffness > 0.0 or dof.damping > 0.0 for dof in [*joint.dofs, *joint.parts])


def is_lossy(joint: KnuckleJoint) -> bool:
    """Return whether a joint has friction, or a damper without a spring."""
    return any(dof.friction > 0.0 or (dof.damping > 0.0 and not dof.stiffness) for dof in joint.dofs)
