"""How a run begins: stops are counted from where the joints stand, and the empties of joints of several degrees are,
while Blender reads them, where it has to take their axes from.

Blender counts everything from the pose in which it builds its simulation, about the axes that the empty has at that
moment. Of a joint of several degrees that does not begin at zero these have moved on: the second axis of a universal
joint goes with the first turn.
"""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from ...model.records import Array
from ..access import record_of
from ..joint_axes import constraint_turn
from .constraints import put_preload, put_stops
from .generic import is_countable, start_motion
from .plant import Plant, Undriven

#: Empties that are nearer to where they have to be stay where they are.
_NEAR = 1e-5
#: What a matrix is written to: kept one by one, since it does not come out of a matrix to the last bit.
_CHANNELS = ("location", "rotation_quaternion", "rotation_euler", "scale", "matrix_parent_inverse")


class Beginning:
    """The joints of a model on their marks, from ``hold`` to ``release``."""

    def __init__(self, scene: bpy.types.Scene, plant: Plant) -> None:
        self._plant = plant
        self._graphs = [layer.depsgraph for layer in scene.view_layers if layer.depsgraph is not None]
        self._moved: list[tuple[bpy.types.Object, list[Any]]] = []

    def hold(self, poses: Array) -> None:
        """Set all stops for a run that begins with these poses (bodies + 1, 4, 4), and put the empties in place."""
        for empty, value in zip(self._plant.empties, self._plant.coordinates(poses), strict=True):
            put_stops(empty, [value])
            preload = record_of(empty).joint.preload
            if preload is not None and preload.rigid_body_constraint is not None:
                put_preload(record_of(empty).joint, float(value))
        for joint in self._plant.undriven:
            record, constraint = record_of(joint.empty).joint, joint.empty.rigid_body_constraint
            if len(record.dofs) > 1 and constraint is not None and is_countable(record):
                values = joint.coordinates(poses[None])[0].tolist()
                put_stops(joint.empty, values)
                self._place(joint, poses, values)

    def _place(self, joint: Undriven, poses: Array, values: list[float]) -> None:
        empty, record = joint.empty, record_of(joint.empty).joint
        turn = constraint_turn(record)
        wanted = poses[joint.parent] @ joint.on_parent @ start_motion(record, values)
        wanted = wanted if turn is None else wanted @ turn
        now = np.array(empty.matrix_world, dtype=np.float64)
        if np.abs(wanted - now).max() < _NEAR:
            return
        self._moved.append((empty, [getattr(empty, channel).copy() for channel in _CHANNELS]))
        # Blender reads it before its evaluation begins, or once its own matrix is known, or its parent's too, as its
        # threads go: it has to be in place at all these moments, on the original, too, which is copied at the beginning
        own, place = np.array(empty.matrix_basis), Matrix(wanted.tolist())
        undone = np.array(empty.matrix_parent_inverse) @ own @ np.linalg.inv(now)
        empty.matrix_parent_inverse = Matrix(undone.tolist())
        empty.matrix_world = place
        empty.matrix_basis = place
        for graph in self._graphs:
            empty.evaluated_get(graph).matrix_world = place

    def release(self) -> None:
        """Put the empties back. Blender then evaluates the frame once more; its simulation does not read them again."""
        for empty, values in self._moved:
            for channel, value in zip(_CHANNELS, values, strict=True):
                setattr(empty, channel, value)
        self._moved = []
