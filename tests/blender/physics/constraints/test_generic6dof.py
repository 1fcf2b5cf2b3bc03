"""Joints of several degrees in the rigid-body world: what they leave free, and what they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from addon.core.model import Dof
from addon.core.transforms import inverse
from tests.support.degrees_helpers import X, Y, Z, linked, put, rotations, slides
from tests.support.mechanisms import objects_of, world_of


@pytest.mark.parametrize(
    ("dofs", "free_turns", "free_slides"),
    [(rotations(Z, X), 2, 0), (rotations(X, Y), 2, 0), (slides(X, Y), 0, 2), ([*slides(X), *rotations(Z)], 1, 1)],
)
def test_only_the_degrees_of_the_joint_are_free(blank: Any, dofs: list[Dof], free_turns: int, free_slides: int) -> None:
    mechanism = linked(*dofs)
    (joint,) = [each for each in mechanism.joints if each.id == "j"]
    rig = put(mechanism, physics=True)
    empty = objects_of(rig, "JOINT")[joint.id]
    constraint = empty.rigid_body_constraint
    assert constraint.type == "GENERIC"
    for kind, count in (("ang", free_turns), ("lin", free_slides)):
        held = [axis for axis in "xyz" if getattr(constraint, f"use_limit_{kind}_{axis}")]
        assert len(held) == 3 - count
        for axis in held:
            assert getattr(constraint, f"limit_{kind}_{axis}_lower") == 0.0
            assert getattr(constraint, f"limit_{kind}_{axis}_upper") == 0.0


def test_a_universal_joint_swings_and_holds(blank: Any) -> None:
    """A body hung beside its parent falls; the anchor stays, and so does the right angle between the two axes."""
    mechanism = linked(*rotations(Z, X))
    (joint,) = [each for each in mechanism.joints if each.id == "j"]
    parent, child = (next(b for b in mechanism.bodies if b.id == end) for end in (joint.parent, joint.child))
    for each in mechanism.bodies:
        each.mass = 1.0
    parent.immobile = True
    mechanism.gravity = np.array([3.0, 4.0, -5.0])  # along none of the axes
    rig = put(mechanism, physics=True)
    rig.data.knuckle.drive = "LIMP"
    ends = [objects_of(rig, "BODY")[each.id] for each in (parent, child)]
    first = joint.frame_parent[:3, :3] @ Z
    second = joint.frame_child[:3, :3] @ X
    before = world_of(ends[1]).copy()
    went, square, apart = 0.0, 0.0, 0.0
    for frame in range(1, 121):
        blank.scene.frame_set(frame)
        a, b = (world_of(end) for end in ends)
        went = max(went, float(np.abs(inverse(before)[:3, :3] @ b[:3, :3] - np.eye(3)).max()))
        square = max(square, abs(float((a[:3, :3] @ first) @ (b[:3, :3] @ second))))
        anchors = [
            m[:3, :3] @ (f[:3, 3] - each.com) + m[:3, 3]  # objects stand at the centre of mass
            for m, f, each in ((a, joint.frame_parent, parent), (b, joint.frame_child, child))
        ]
        apart = max(apart, float(np.linalg.norm(anchors[0] - anchors[1])))
    assert went > 0.3, "it swings"
    assert square < 0.03
    assert apart < 0.03


def warnings(*dofs: Dof) -> dict[str, str]:
    mechanism = linked(*dofs)
    put(mechanism, physics=True)
    return {entry.code: entry.where.split(".")[0] for entry in mechanism.report.entries if entry.severity == "warning"}


def test_what_physics_will_not_do_is_reported(blank: Any) -> None:
    """The joint has stops on one of two turns, which are not at right angles; or on three that begin askew."""
    dofs = rotations(Z, (Z + X) / np.sqrt(2))
    dofs[0].lower, dofs[0].upper = -0.5, 0.5
    assert warnings(*dofs) == {"stops-not-simulated": "Hip"}
    dofs = rotations(X, Y, Z)
    dofs[0].lower, dofs[1].position = -0.5, 0.3
    assert warnings(*dofs) == {"stops-inexact": "Hip"}
    dofs[1].position, dofs[2].position = 0.0, 0.3
    assert warnings(*dofs) == {}
    assert warnings(*rotations(Z, X)) == {}


def test_reports_speak_of_where_an_assembled_joint_begins(blank: Any) -> None:
    """A joint that its loops moved away from where the file has it: stops count from there."""
    from addon.blender.physics.simulation.setup import build_physics

    dofs = rotations(X, Y, Z)
    dofs[0].lower = -0.5
    mechanism = linked(*dofs)
    rig = put(mechanism, physics=True)
    record = objects_of(rig, "JOINT")["j"].knuckle.joint

    def codes() -> set[str]:
        return {entry.code for entry in build_physics(blank.scene, rig).entries if entry.severity == "warning"}

    assert codes() == set()
    record.dofs[1].assembled, record.dofs[1].assembled_start = True, (0.3, 0, 0, 0, 0, 0)
    assert codes() == {"stops-inexact"}
