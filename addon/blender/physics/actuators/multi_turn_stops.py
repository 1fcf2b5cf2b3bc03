"""Stops of hinges that Blender has no room for: one alone, and those far round.

Blender's constraints know an angle within half a turn and count no turns. Its hinge goes farther, but goes past a stop
by what its speed takes it in a step, and with one stop alone it was passed altogether at 30 rad/s. So each such stop
gets a constraint of its own that limits nothing else, and that is switched on only while the hinge, whose turns
are counted here from frame to frame, is near enough for it to know: limits cannot be changed in a run, the switch can.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy

from ....core.model import Array
from ...data.access import record_of, settings
from ...data.conversion import stops
from ...data.properties.joint import KnuckleJoint
from ..constraints.constraints import is_far_round, put_sides, room_before, wrapped
from ..constraints.generic6dof import HALF_TURN, put_limit
from .joint_state import Plant, has_both_ends, join_world
from .motors import is_lost, new_motor

_SUFFIX = " Stop"
#: So near to where its constraint would take the hinge to be beyond the stop, it is off.
_MARGIN = 0.1
_FREE_AXES = [f"{kind}_{letter}" for kind in ("lin", "ang") for letter in "xyz"]


class CountedStops:
    """The stops of one hinge in a run. ``number`` is its place in the plant."""

    def __init__(self, joint: KnuckleJoint, number: int) -> None:
        self.joint, self.number = joint, number
        self._start = self._turned = 0.0
        self._counts: bool | None = None  # not known before a run begins

    def mark(self, start: float) -> None:
        """When a run begins at a coordinate, of which whole turns count: set the limits."""
        self._start = self._turned = start
        self._counts = is_far_round(self.joint, start)
        for constraint, stop, way in self._held():
            if stop is not None:
                at = wrapped(way * (stop - start))
                put_limit(constraint, "ang_z", (-HALF_TURN, at) if way > 0 else (-at, HALF_TURN))

    def look(self, actual: float) -> None:
        """Before each step: count turns, and have the stops be there that are near."""
        gone = wrapped(actual - self._turned)
        self._turned += gone
        for constraint, stop, way in self._held():
            wanted = False
            if self._counts is None:
                continue  # an undo in the middle of a run: it goes on with those that it had
            if self._counts and stop is not None:
                ahead = way * (stop - self._turned)
                known = room_before(way * (stop - self._start)) - _MARGIN
                wanted = max(ahead, ahead - way * gone) < known
            if constraint.enabled != wanted:
                constraint.enabled = wanted

    def _held(self) -> Iterator[tuple[Any, float | None, float]]:
        """Constraints, their stops (None: the user took it away), and which way these are."""
        for kept in self.joint.far_stops:
            stop = stops(self.joint.dofs[0])[kept.number]
            constraint = None if kept.empty is None else kept.empty.rigid_body_constraint
            if constraint is not None:
                yield constraint, stop, 1.0 if kept.number else -1.0


def counted_stops(scene: bpy.types.Scene, plant: Plant, starts: Array) -> list[CountedStops]:
    """The hinges of a plant whose stops have constraints of their own, made for those that need them in a run that
    begins at coordinates (n,)."""
    out = []
    for number, empty in enumerate(plant.empties):
        joint = record_of(empty).joint
        if is_far_round(joint, float(starts[number])) and has_both_ends(plant, joint):
            _ensure(scene, plant, empty)
        if len(joint.far_stops):
            out.append(CountedStops(joint, number))
    return out


def _ensure(scene: bpy.types.Scene, plant: Plant, empty: bpy.types.Object) -> None:
    """Make the constraints of a hinge's stops that are missing."""
    joint: Any = record_of(empty).joint
    there = {kept.number for kept in joint.far_stops}
    for number, stop in enumerate(stops(joint.dofs[0])):
        if stop is not None and number not in there:
            joint.far_stops.add().number = number
    for kept in joint.far_stops:
        if is_lost(scene, kept.empty):
            kept.empty = new_motor(plant.rig, empty.name + _SUFFIX, empty)
        join_world(scene, kept.empty)
        constraint = kept.empty.rigid_body_constraint
        constraint.type, constraint.spring_type = "GENERIC_SPRING", "SPRING2"
        constraint.disable_collisions = True
        put_sides(constraint, joint, settings(plant.rig).anchor)
        for name in _FREE_AXES:
            if name != "ang_z":
                put_limit(constraint, name, None)
