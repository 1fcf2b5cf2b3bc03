"""Values of joints by their degrees of freedom, and parts by id."""

from __future__ import annotations

from addon.core.model import (
    Body,
    Dof,
    Joint,
    Mechanism,
    are_angles,
    body_by_id,
    by_id,
    dof_slices,
    first_indices,
    joint_by_id,
)

DOFS = [Dof("translation", position=0.5), Dof("free", start=(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)), Dof("screw"), Dof("ball")]


def test_values_of_degrees_of_freedom_follow_each_other() -> None:
    assert first_indices(DOFS) == [0, 1, 7, 8, 11]
    found = [(dof.kind, own.start, own.stop) for dof, own in dof_slices(DOFS)]
    assert found == [("translation", 0, 1), ("free", 1, 7), ("screw", 7, 8), ("ball", 8, 11)]
    assert are_angles(DOFS) == [False, True, True, True, False, False, False, True, True, True, True]


def test_size_and_initial_values_of_a_joint() -> None:
    joint = Joint("j", "j", "", None, "b", dofs=DOFS)
    assert joint.size == 11
    assert joint.initial.tolist() == [0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0, 0.0, 0.0, 0.0]
    weld = Joint("w", "w", "", None, "b")
    assert first_indices([]) == [0]
    assert (weld.size, weld.initial.shape, [*dof_slices(weld.dofs)]) == (0, (0,), [])


def test_of_parts_with_the_same_id_the_first_counts() -> None:
    bodies = [Body("a", "one"), Body("b", "two"), Body("a", "three")]
    joints = [Joint("j", "one", "", None, "a"), Joint("j", "two", "", "a", "b")]
    mechanism = Mechanism("m", bodies=bodies, joints=joints)
    assert [body.name for body in body_by_id(mechanism).values()] == ["one", "two"]
    assert joint_by_id(mechanism)["j"] is joints[0]
    assert by_id(body for body in bodies if body.name != "one")["a"].name == "three"
