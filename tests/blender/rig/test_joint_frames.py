"""Which way a joint's empty is turned."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from addon.blender.rig.joint_frames import axes_in_joint, constraint_rotation, main_axis
from addon.core.model import Array, Dof, Joint

X, Y, Z = np.eye(3)


def dofs(kind: str, *axes: Array) -> list[Dof]:
    return [Dof(kind, np.array(axis, dtype=float)) for axis in axes]  # type: ignore[arg-type]


def letters(*degrees: Dof) -> list[str]:
    """The letter of the empty that each axis is on, with its sign."""
    turn = constraint_rotation(Joint("j", "", "", None, None, dofs=list(degrees)))
    out = []
    for dof in degrees:
        axis = dof.axis / np.linalg.norm(dof.axis) @ (np.eye(3) if turn is None else turn[:3, :3])
        (column,) = np.flatnonzero(np.abs(axis) > 1 - 1e-9)
        out.append(("+" if axis[column] > 0 else "-") + "XYZ"[column])
    return out


@pytest.mark.parametrize("axis", [X, -Z, np.array([1.0, 2.0, -2.0])], ids=str)
def test_one_rotation_is_on_z_and_one_translation_on_x(axis: Array) -> None:
    assert letters(*dofs("rotation", axis)) == ["+Z"]
    assert letters(*dofs("translation", axis)) == ["+X"]
    assert main_axis(dofs("rotation", axis)) == pytest.approx(axis / np.linalg.norm(axis))


@pytest.mark.parametrize("axes", list(itertools.permutations((X, Y, Z))), ids=str)
def test_three_rotations_are_on_z_y_and_x_in_their_order(axes: tuple[Array, ...]) -> None:
    handed = "-" if np.linalg.det(axes) > 0 else "+"
    assert letters(*dofs("rotation", *axes)) == ["+Z", "+Y", f"{handed}X"]


def test_two_rotations_leave_y_locked_and_that_of_a_planar_joint_is_on_z() -> None:
    assert [each[1] for each in letters(*dofs("rotation", Y, X))] == ["Z", "X"]
    assert letters(*dofs("translation", Y, X), *dofs("rotation", Z))[2] == "+Z"


def test_where_there_is_no_right_angle_or_nothing_there_are_no_axes() -> None:
    assert axes_in_joint(dofs("rotation", X, (X + Y) / math.sqrt(2))) is None
    assert axes_in_joint([]) is None
    assert axes_in_joint([Dof("ball")]) is None
    assert constraint_rotation(Joint("j", "", "", None, None)) is None
