"""How a run begins: stops are counted from where the joints stand, and everything is in its place whenever Blender
reads it to build its simulation.

Blender builds a simulation while its threads evaluate the objects in it. It reads each object's matrix before that is
evaluated, or when no more than the object's own channels are in it, or when its parent's are too: under load, what
hangs on bones began now and then where its channels alone would have it. The three are made one here, in the frame
before: a body that is touched in the very frame has, for a moment, no mesh to be built from.

Stops are counted from the pose at that moment, about the axes that the empty has. Of a joint of several degrees that
does not begin at zero these have moved on: the second axis of a universal joint goes with the first turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from ....core.model import Array
from ...compat import action_curves
from ...data.access import record_of
from ...data.change_counter import after_change
from ...data.conversion import is_springy
from ...rig.joint_frames import constraint_turn
from ..actuators.joint_state import Plant, Undriven, begun_at, several_posed
from ..constraints.constraints import put_preload, put_stops
from ..constraints.generic6dof import is_countable, put_lengths, start_motion
from ..world.scale import size_of

#: Empties that are nearer to where they have to be are there.
_NEAR = 1e-5
#: What a matrix is written to: kept one by one, since it does not come out of a matrix to the last bit.
_VECTORS = ("location", "rotation_quaternion", "rotation_euler", "rotation_axis_angle", "scale")

_Channels = dict[str, Any]


class Beginning:
    """A model on its marks, from ``hold`` to ``release``."""

    def __init__(self, scene: bpy.types.Scene, plant: Plant) -> None:
        self._scene, self._plant = scene, plant
        self._moved: list[tuple[bpy.types.Object, _Channels]] = []

    def hold(self, poses: Array, values: Array, places: Mapping[bpy.types.Object, Matrix]) -> None:
        """Set all stops for a run that begins with these poses (bodies + 1, 4, 4) and the plant's coordinates (n,),
        whose whole turns count, and put everything in its place, some objects in ``places`` of their own. It is there
        when ``evaluate_first`` was called."""
        for empty, value in zip(self._plant.empties, values, strict=True):
            put_stops(empty, [float(value)])
            preload = record_of(empty).joint.preload
            if preload is not None and preload.rigid_body_constraint is not None:
                put_preload(record_of(empty).joint, float(value))
        for empty in [*self._plant.empties, *(joint.empty for joint in self._plant.undriven)]:
            if empty.rigid_body_constraint is not None and is_springy(record_of(empty).joint):
                put_lengths(empty.rigid_body_constraint, record_of(empty).joint, size_of(self._plant.rig))
        whole = several_posed(self._plant)
        turned: dict[bpy.types.Object, Matrix | None] = dict(places)
        for joint in self._plant.undriven:
            record, constraint = record_of(joint.empty).joint, joint.empty.rigid_body_constraint
            if len(record.dofs) > 1 and constraint is not None and is_countable(record):
                begun = begun_at(joint, poses, whole.get(joint.joint.id)).tolist()
                put_stops(joint.empty, begun)
                turned[joint.empty] = self._axes_at(joint, poses, begun)
        try:
            for obj in self._simulated():
                self._place(obj, turned.get(obj))
        except BaseException:
            self.release()
            raise

    def _simulated(self) -> list[bpy.types.Object]:
        """The bodies, joints and motors of the model that the scene's simulation reads."""
        world = self._scene.rigidbody_world
        held = [each.objects for each in (world.collection, world.constraints) if each is not None]
        return [obj for objects in held for obj in objects if record_of(obj).model == self._plant.rig]

    def _axes_at(self, joint: Undriven, poses: Array, values: list[float]) -> Matrix | None:
        """Return where the empty of a joint of several degrees has to be for its axes; None where it is there."""
        record = record_of(joint.empty).joint
        turn = constraint_turn(record)
        wanted = poses[joint.parent] @ joint.on_parent @ start_motion(record, values)
        wanted = wanted if turn is None else wanted @ turn
        now = np.array(joint.empty.matrix_world, dtype=np.float64)
        return Matrix(wanted.tolist()) if np.abs(wanted - now).max() >= _NEAR else None

    def _place(self, obj: bpy.types.Object, wanted: Matrix | None) -> None:
        """Have an object's channels alone put it where it is, or where it has to be, and its parent nowhere else."""
        now = self._seen(obj).matrix_world.copy()
        self._moved.append((obj, _channels(obj)))
        obj.matrix_parent_inverse = obj.matrix_parent_inverse @ obj.matrix_basis @ now.inverted_safe()
        obj.matrix_basis = now if wanted is None else wanted

    def _seen(self, obj: bpy.types.Object) -> bpy.types.Object:
        """The object as it was evaluated.

        Of one that is hidden, and came with a scene that was appended, the object itself does not learn in Blender 4.2
        where it is: it would be at the origin.
        """
        depsgraphs = (layer.depsgraph for layer in self._scene.view_layers if layer.depsgraph is not None)
        depsgraph = next(depsgraphs, None)
        return obj if depsgraph is None else obj.evaluated_get(depsgraph)

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


def evaluate_first(scene: bpy.types.Scene) -> None:
    """Evaluate the frame before the present one, in which Blender does not build its simulation yet."""
    evaluate_at(scene, scene.frame_current - 1)


def evaluate_at(scene: bpy.types.Scene, other: int) -> None:
    """Evaluate another frame than the present one."""
    frame = scene.frame_current
    scene.frame_current = other  # calls no handlers of frames
    try:
        for layer in scene.view_layers:
            if layer.depsgraph is not None:
                layer.update()
    finally:
        scene.frame_current = frame


class Standstill:
    """A rig whose animation is off from ``hold`` to ``release``: it keeps the pose of the frame before."""

    def __init__(self, rig: bpy.types.Object) -> None:
        self._rig = rig
        self._muted: list[bpy.types.FCurve] = []
        self._nla = False

    def hold(self) -> None:
        """Switch the rig's animation off."""
        data = self._rig.animation_data
        if data is None:
            return
        if data.action is not None:
            curves = action_curves(self._rig, data.action, create=False) or ()
            self._muted = [curve for curve in curves if not curve.mute]
            for curve in self._muted:
                curve.mute = True
        self._nla = data.use_nla
        data.use_nla = False
        after_change()  # nobody else tells that curves say nothing for the moment

    def release(self) -> None:
        """Switch on again what ``hold`` switched off. Blender then evaluates the frame once more, with its pose."""
        for curve in self._muted:
            curve.mute = False
        self._muted = []
        if self._nla:
            self._rig.animation_data.use_nla = True
            self._nla = False
        after_change()
