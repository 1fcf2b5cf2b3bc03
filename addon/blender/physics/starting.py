"""How a run begins: stops are counted from where the joints stand, and the empties of joints of several degrees are,
while Blender reads them, where it has to take their axes from.

Blender counts everything from the pose in which it builds its simulation, about the axes that the empty has at that
moment. Of a joint of several degrees that does not begin at zero these have moved on: the second axis of a universal
joint goes with the first turn.
"""

from __future__ import annotations

import bpy
import numpy as np
from mathutils import Matrix

from ...model.records import Array
from ..access import record_of
from ..joint_axes import constraint_turn
from .constraints import put_stops
from .generic import is_countable, start_motion
from .plant import Plant, Undriven

#: Empties that are nearer to where they have to be stay where they are.
_NEAR = 1e-5


class Beginning:
    """The joints of a model on their marks, from ``hold`` to ``release``."""

    def __init__(self, plant: Plant) -> None:
        self._plant = plant
        self._moved: list[tuple[bpy.types.Object, Matrix]] = []

    def hold(self, poses: Array, depsgraph: bpy.types.Depsgraph | None) -> None:
        """Set all stops for a run that begins with these poses (bodies + 1, 4, 4), and put the empties in place."""
        for empty, value in zip(self._plant.empties, self._plant.coordinates(poses), strict=True):
            put_stops(empty, [value])
        for joint in self._plant.undriven:
            record, constraint = record_of(joint.empty).joint, joint.empty.rigid_body_constraint
            if len(record.dofs) > 1 and constraint is not None and is_countable(record):
                values = joint.coordinates(poses[None])[0].tolist()
                put_stops(joint.empty, values)
                self._place(joint, poses, values, depsgraph)

    def _place(self, joint: Undriven, poses: Array, values: list[float], depsgraph: bpy.types.Depsgraph | None) -> None:
        empty, record = joint.empty, record_of(joint.empty).joint
        turn = constraint_turn(record)
        wanted = poses[joint.parent] @ joint.on_parent @ start_motion(record, values)
        wanted = wanted if turn is None else wanted @ turn
        now = np.array(empty.matrix_world, dtype=np.float64)
        if np.abs(wanted - now).max() < _NEAR:
            return
        kept = empty.matrix_basis.copy()
        self._moved.append((empty, kept))
        empty.matrix_basis = Matrix((np.array(kept) @ np.linalg.inv(now) @ wanted).tolist())
        if depsgraph is not None:  # Blender may read it before it evaluates it, as its threads go
            empty.evaluated_get(depsgraph).matrix_world = Matrix(wanted.tolist())

    def release(self) -> None:
        """Put the empties back. Blender then evaluates the frame once more; its simulation does not read them again."""
        for empty, basis in self._moved:
            empty.matrix_basis = basis
        self._moved = []
