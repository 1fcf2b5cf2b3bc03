"""How a run begins: stops are counted from where the joints stand, and joints are in their place whenever Blender reads
them to build its simulation.

Blender builds a simulation while its threads evaluate the objects in it. It reads each object's matrix before that is
evaluated, or when no more than the object's own channels are in it, or when its parent's are too: under load, what
hangs on bones began now and then where its channels alone would have it. For the empties of joints and motors the
three are made one here. Bodies cannot be helped so: one that was touched has, for a moment, no mesh to be built from.

Stops are counted from the pose at that moment, about the axes that the empty has. Of a joint of several degrees that
does not begin at zero these have moved on: the second axis of a universal joint goes with the first turn.
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

#: Empties that are nearer to where they have to be are there.
_NEAR = 1e-5
#: What a matrix is written to: kept one by one, since it does not come out of a matrix to the last bit.
_VECTORS = ("location", "rotation_quaternion", "rotation_euler", "rotation_axis_angle", "scale")

_Channels = dict[str, Any]


class Beginning:
    """A model on its marks, from ``hold`` to ``release``."""

    def __init__(self, scene: bpy.types.Scene, plant: Plant) -> None:
        self._scene, self._plant = scene, plant
        self._graphs = [layer.depsgraph for layer in scene.view_layers if layer.depsgraph is not None]
        self._moved: list[tuple[bpy.types.Object, _Channels]] = []
        self._tails: dict[str, Array] = {}

    def hold(self, poses: Array) -> None:
        """Set all stops for a run that begins with these poses (bodies + 1, 4, 4), and put everything in its place."""
        for empty, value in zip(self._plant.empties, self._plant.coordinates(poses), strict=True):
            put_stops(empty, [value])
            preload = record_of(empty).joint.preload
            if preload is not None and preload.rigid_body_constraint is not None:
                put_preload(record_of(empty).joint, float(value))
        turned = {}
        for joint in self._plant.undriven:
            record, constraint = record_of(joint.empty).joint, joint.empty.rigid_body_constraint
            if len(record.dofs) > 1 and constraint is not None and is_countable(record):
                values = joint.coordinates(poses[None])[0].tolist()
                put_stops(joint.empty, values)
                turned[joint.empty] = self._axes_at(joint, poses, values)
        try:
            for empty in self._empties():
                self._place(empty, turned.get(empty))
        except BaseException:
            self.release()
            raise

    def _empties(self) -> list[bpy.types.Object]:
        """The joints and motors of the model that the scene's simulation reads."""
        held = self._scene.rigidbody_world.constraints
        objects = held.objects if held is not None else ()
        return [obj for obj in objects if obj.type == "EMPTY" and record_of(obj).model == self._plant.rig]

    def _axes_at(self, joint: Undriven, poses: Array, values: list[float]) -> Matrix | None:
        """Where the empty of a joint of several degrees has to be for its axes; None where it is there."""
        record = record_of(joint.empty).joint
        turn = constraint_turn(record)
        wanted = poses[joint.parent] @ joint.on_parent @ start_motion(record, values)
        wanted = wanted if turn is None else wanted @ turn
        now = np.array(joint.empty.matrix_world, dtype=np.float64)
        return Matrix(wanted.tolist()) if np.abs(wanted - now).max() >= _NEAR else None

    def _place(self, obj: bpy.types.Object, wanted: Matrix | None) -> None:
        """Have an empty's channels alone put it where it is, or where it has to be, and its parent nowhere else. Where
        that is to the last bit is said to what reads it too early: runs that begin alike are alike."""
        now = obj.matrix_world.copy()
        self._moved.append((obj, _channels(obj)))
        obj.matrix_parent_inverse = obj.matrix_parent_inverse @ obj.matrix_basis @ now.inverted_safe()
        obj.matrix_basis = now if wanted is None else wanted
        place = _float32(obj.matrix_basis)
        if obj.parent is not None:
            place = _product(_product(self._parent_matrix(obj), _float32(obj.matrix_parent_inverse)), place)
        channels = _channels(obj)
        obj.matrix_world = Matrix(place.tolist())  # sets the channels as well
        _put_channels(obj, channels)
        for graph in self._graphs:
            obj.evaluated_get(graph).matrix_world = Matrix(place.tolist())

    def _parent_matrix(self, obj: bpy.types.Object) -> Array:
        """What Blender multiplies an object's own matrices with: its parent's, or that of its bone's tail."""
        parent = _float32(obj.parent.matrix_world)
        if obj.parent_type != "BONE":
            return parent
        if obj.parent_bone not in self._tails:
            bone = obj.parent.pose.bones[obj.parent_bone]
            tail = _float32(bone.matrix)
            tail[:3, 3] += tail[:3, 1] * np.float32(bone.bone.length)
            self._tails[obj.parent_bone] = _product(parent, tail)
        return self._tails[obj.parent_bone]

    def release(self) -> None:
        """Put everything back. Blender then evaluates the frame once more; its simulation does not read it again."""
        for obj, values in self._moved:
            _put_channels(obj, values)
        self._moved = []


def _channels(obj: bpy.types.Object) -> _Channels:
    return {name: getattr(obj, name)[:] for name in _VECTORS} | {"parent": obj.matrix_parent_inverse.copy()}


def _put_channels(obj: bpy.types.Object, channels: _Channels) -> None:
    for name in _VECTORS:
        setattr(obj, name, channels[name])
    obj.matrix_parent_inverse = channels["parent"]


def _float32(matrix: Matrix) -> Array:
    return np.array(matrix, dtype=np.float32)


def _product(a: Array, b: Array) -> Array:
    """The product of two matrices of 32-bit numbers, its terms added in the order in which Blender adds them."""
    one, two, three, four = (np.multiply(a[:, k : k + 1], b[k : k + 1]) for k in range(4))
    return np.add(one + two, three + four)
