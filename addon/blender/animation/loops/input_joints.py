"""Choice of the input joints of closed loops, by the user or by what the joints allow."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import bpy

from ....core.kinematics import spanning_tree
from ....core.loops.closure import input_joint_order
from ....core.loops.linkage_solver import Linkage, find_linkages
from ....core.model import Array
from ....core.report import Message
from ...data.access import record_of
from ...data.queries import parts_by_id
from ...rig.pose_channels import set_dependent
from .live_solver import invalidate_loops, loops_mechanism

_FILE_POSITIONS: Mapping[str, Array] = {}


def set_input_joint(rig: bpy.types.Object, empty: bpy.types.Object) -> list[bpy.types.Object]:
    """Make a joint an input of its closed loop; others become dependent in its place.

    Returns:
        The input joints of the loop.

    Raises:
        ValueError: The joint is on no loop that moves, or the loop is not determined by it.
    """
    choice, wanted = _InputChoice(rig), record_of(empty).source_id
    linkage = next((each for each in choice.linkages if wanted in each.joints), None)
    if linkage is None or choice.is_rigid(linkage):
        raise ValueError(Message("{}: not in a closed loop that moves", repr(empty.name)))
    drivers = choice.drivers(linkage, [wanted])
    if wanted not in drivers:
        raise ValueError(
            Message("{}: not possible as input joint, the other joints do not depend on it", repr(empty.name))
        )
    choice.put(linkage, drivers)
    invalidate_loops(rig)
    return [choice.empties[joint] for joint in drivers]


def choose_input_joints(
    rig: bpy.types.Object, positions: Mapping[str, Array], within: Collection[str] | None = None
) -> None:
    """Choose the input joints of closed loops again after their joints changed or were deleted.

    As many as the loops need; present inputs are kept as far as possible. In a loop without a degree of freedom all
    joints are dependent. Joints on no loop are not dependent.

    Args:
        rig: The armature.
        positions: Joint values (size,) at which the loops are closed, by joint id.
        within: Joint ids: only loops with some of these joints are changed; None: all loops.
    """
    choice = _InputChoice(rig, positions)
    idle = choice.empties.keys() - {joint for linkage in choice.linkages for joint in linkage.joints}
    for linkage in choice.linkages:
        if within is not None and not any(joint in within for joint in linkage.joints):
            continue
        drivers = choice.drivers(linkage)
        choice.put(linkage, drivers if drivers or choice.is_rigid(linkage) else linkage.joints)
    for joint in idle:
        set_dependent(choice.empties[joint], False)
    invalidate_loops(rig)


def lock_rigid_loops(rig: bpy.types.Object) -> list[Linkage]:
    """Make the joints of loops without a degree of freedom dependent, and lock their bones.

    Returns:
        Those loops.
    """
    choice = _InputChoice(rig)
    found = [linkage for linkage in choice.linkages if choice.is_rigid(linkage)]
    for linkage in found:
        choice.put(linkage, ())
    invalidate_loops(rig)
    return found


class _InputChoice:
    """Present and possible input joints of the closed loops of a rig, by joint id."""

    def __init__(self, rig: bpy.types.Object, positions: Mapping[str, Array] = _FILE_POSITIONS) -> None:
        mechanism = loops_mechanism(rig)
        tree = spanning_tree(mechanism)
        self.empties = parts_by_id(rig, "JOINT")
        self.linkages = find_linkages(mechanism, tree)
        self._start = {joint.id: joint.initial for joint in mechanism.joints} | {**positions}
        self._usual = input_joint_order(mechanism, tree)

    def drivers(self, linkage: Linkage, first: Sequence[str] = ()) -> list[str]:
        """Return the input joints of a linkage, preferring ``first``, then the present ones."""
        boned = _joints_with_bones(linkage)
        now = [joint for joint in boned if not record_of(self.empties[joint]).joint.is_dependent]
        order = dict.fromkeys([*first, *now, *self._usual])
        return linkage.drivers(self._start, [joint for joint in order if joint in boned])

    def is_rigid(self, linkage: Linkage) -> bool:
        """Return whether a linkage has no degree of freedom."""
        return linkage.is_rigid(self._start)

    def put(self, linkage: Linkage, drivers: Sequence[str]) -> None:
        """Make ``drivers`` the input joints of a linkage and its other joints dependent."""
        for joint in _joints_with_bones(linkage):
            set_dependent(self.empties[joint], joint not in drivers)


def _joints_with_bones(linkage: Linkage) -> list[str]:
    return [joint for joint in linkage.joints if joint not in linkage.chords]
