"""Initial state of a simulation: stops relative to the joint values, and all objects at their poses.

Stops count from the pose at that moment, about the axes of the empty. In a joint with several degrees of freedom that
does not begin at zero these have moved: the second axis of a universal joint moves with the first rotation.

Note:
    Blender builds a simulation while its threads evaluate the objects in it. It reads each object's matrix before its
    evaluation, or when only the object's own channels are in it, or when its parent's are too: under load, objects
    parented to bones sometimes began where their channels alone put them. Here the three are made equal, in the frame
    before: a body changed in the very frame has, for a moment, no mesh to be built from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from ....core.model import Array
from ...compat import action_curves
from ...data.access import record_of, world_of
from ...data.change_counter import count_change
from ...data.conversion import has_spring_or_damper
from ...rig.joint_frames import constraint_rotation
from ..actuators.joint_state import JointGroup, JointStateArrays, MultiDofJoint, multi_dof_bone_coordinates
from ..constraints.constraints import write_preload, write_stops
from ..constraints.generic6dof import has_measurable_coordinates, initial_motion, write_scaled_springs
from ..world.scale import model_scale

#: Largest difference of matrix entries at which an empty counts as in place.
_PLACE_TOLERANCE = 1e-5
#: Transform channels, stored singly, since a matrix does not restore them to the last bit.
_VECTOR_CHANNELS = ("location", "rotation_quaternion", "rotation_euler", "rotation_axis_angle", "scale")

_ChannelValues = dict[str, Any]


class InitialStatePin:
    """Mechanism held in its initial state, from ``hold`` to ``release``."""

    def __init__(self, scene: bpy.types.Scene, joint_state: JointStateArrays) -> None:
        self._scene, self._joint_state = scene, joint_state
        self._moved: list[tuple[bpy.types.Object, _ChannelValues]] = []

    def hold(self, poses: Array, values: Array, places: Mapping[bpy.types.Object, Matrix]) -> None:
        """Set all stops for a simulation and place all objects. They are there after ``evaluate_previous_frame``.

        Args:
            poses: Initial poses (bodies + 1, 4, 4).
            values: Initial joint values (n,) of the joint state, with whole turns.
            places: Poses of objects other than their present ones.
        """
        for empty, value in zip(self._joint_state.empties, values, strict=True):
            write_stops(empty, [float(value)])
            preload = record_of(empty).joint.spring_preload
            if preload is not None and preload.rigid_body_constraint is not None:
                write_preload(record_of(empty).joint, float(value))
        for empty in [*self._joint_state.empties, *(joint.empty for joint in self._joint_state.multi_dof_joints)]:
            if empty.rigid_body_constraint is not None and has_spring_or_damper(record_of(empty).joint):
                write_scaled_springs(
                    empty.rigid_body_constraint, record_of(empty).joint, model_scale(self._joint_state.rig)
                )
        whole = multi_dof_bone_coordinates(self._joint_state)
        turned: dict[bpy.types.Object, Matrix | None] = dict(places)
        for joint in self._joint_state.multi_dof_joints:
            record, constraint = record_of(joint.empty).joint, joint.empty.rigid_body_constraint
            if len(record.dofs) > 1 and constraint is not None and has_measurable_coordinates(record):
                about = whole.get(joint.joint.id)
                begun = JointGroup.of([joint]).coordinates(poses, None if about is None else about[None])[0].tolist()
                write_stops(joint.empty, begun)
                turned[joint.empty] = self._axes_at(joint, poses, begun)
        try:
            for obj in self._simulated():
                self._place(obj, turned.get(obj))
        except BaseException:
            self.release()
            raise

    def _simulated(self) -> list[bpy.types.Object]:
        """Return the bodies, joints and motors of the mechanism that are in the scene's simulation."""
        world = world_of(self._scene)
        held = [each.objects for each in (world.collection, world.constraints) if each is not None]
        return [obj for objects in held for obj in objects if record_of(obj).model == self._joint_state.rig]

    def _axes_at(self, joint: MultiDofJoint, poses: Array, values: list[float]) -> Matrix | None:
        """Return the pose that the empty of a joint with several degrees of freedom needs; None if it has it."""
        record = record_of(joint.empty).joint
        turn = constraint_rotation(record)
        wanted = poses[joint.parent] @ joint.on_parent @ initial_motion(record, values)
        wanted = wanted if turn is None else wanted @ turn
        now = np.array(joint.empty.matrix_world, dtype=np.float64)
        return Matrix(wanted.tolist()) if np.abs(wanted - now).max() >= _PLACE_TOLERANCE else None

    def _place(self, obj: bpy.types.Object, wanted: Matrix | None) -> None:
        """Make an object's own channels equal to its world pose, or to the wanted one, with its parent's cancelled."""
        now = self._seen(obj).matrix_world.copy()
        self._moved.append((obj, _channel_values(obj)))
        obj.matrix_parent_inverse = obj.matrix_parent_inverse @ obj.matrix_basis @ now.inverted_safe()
        obj.matrix_basis = now if wanted is None else wanted

    def _seen(self, obj: bpy.types.Object) -> bpy.types.Object:
        """Return the evaluated object.

        Note:
            In Blender 4.2 a hidden object that came with an appended scene does not get its evaluated pose: it would be
            at the origin.
        """
        depsgraphs = (layer.depsgraph for layer in self._scene.view_layers if layer.depsgraph is not None)
        depsgraph = next(depsgraphs, None)
        return obj if depsgraph is None else obj.evaluated_get(depsgraph)

    def release(self) -> None:
        """Restore all objects. Blender then evaluates the frame again; its simulation does not read them again."""
        for obj, values in self._moved:
            _write_channel_values(obj, values)
        self._moved = []


def _channel_values(obj: bpy.types.Object) -> _ChannelValues:
    return {name: getattr(obj, name)[:] for name in _VECTOR_CHANNELS} | {"parent": obj.matrix_parent_inverse.copy()}


def _write_channel_values(obj: bpy.types.Object, channels: _ChannelValues) -> None:
    for name in _VECTOR_CHANNELS:
        setattr(obj, name, channels[name])
    obj.matrix_parent_inverse = channels["parent"]


def evaluate_previous_frame(scene: bpy.types.Scene) -> None:
    """Evaluate the frame before the present one, in which Blender does not build its simulation yet."""
    evaluate_frame(scene, scene.frame_current - 1)


def evaluate_frame(scene: bpy.types.Scene, other: int, once: bool = False) -> None:
    """Evaluate another frame than the present one, without frame handlers; with ``once`` in one view layer only."""
    frame = scene.frame_current
    scene.frame_current = other  # calls no handlers of frames
    try:
        layers = [layer for layer in scene.view_layers if layer.depsgraph is not None]
        for layer in layers[:1] if once else layers:
            layer.update()
    finally:
        scene.frame_current = frame


class AnimationPause:
    """Armature whose animation is off from ``hold`` to ``release``, so that it keeps the pose of the previous frame."""

    def __init__(self, rig: bpy.types.Object) -> None:
        self._rig = rig
        self._muted: list[bpy.types.FCurve] = []
        self._nla = False

    def hold(self) -> None:
        """Switch the armature's animation off."""
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
        count_change()  # muting F-curves causes no depsgraph update

    def release(self) -> None:
        """Restore the animation. Blender then evaluates the frame again, with its pose."""
        for curve in self._muted:
            curve.mute = False
        self._muted = []
        data = self._rig.animation_data
        if self._nla and data is not None:
            data.use_nla = True
        self._nla = False
        count_change()


class InitialStep:
    """Settings of a world whose simulation has taken a step before its first frame, from there to ``release``."""

    def __init__(self, scene: bpy.types.Scene) -> None:
        world = world_of(scene)
        self._scene = scene
        self._kept = world.time_scale, world.substeps_per_frame, world.solver_iterations
        self._first = world.point_cache.frame_start

    def take(self, share: float, iterations: int) -> None:
        """Take a single step of a share of a frame, and leave the rest of it to the first frame.

        Note:
            Blender builds its simulation, from the poses of the frame at which its cache starts, when it steps to the
            next one. With the start of the cache a frame earlier it does so at the scene's first frame, and continues
            to the second without building anything again. Measured in 4.2, 4.5, 5.0 and 5.2. Other view layers have a
            clock of their own and read the second frame from the cache; they would take the step once more at frame 0,
            which Blender does not cache.
        """
        world, frame = world_of(self._scene), self._first
        scale, substeps, solver = self._kept
        world.point_cache.frame_start = frame - 1
        with _negative_frames(frame - 1):
            evaluate_frame(self._scene, frame - 1, once=True)
        world.time_scale, world.substeps_per_frame, world.solver_iterations = scale * share, 1, max(solver, iterations)
        evaluate_frame(self._scene, frame, once=True)
        world.time_scale, world.substeps_per_frame, world.solver_iterations = scale * (1.0 - share), substeps, solver

    def release(self) -> None:
        """Restore the settings, after the step to the second frame."""
        world = self._scene.rigidbody_world
        if world is not None:
            world.time_scale, world.substeps_per_frame, world.solver_iterations = self._kept
            world.point_cache.frame_start = self._first


@contextmanager
def _negative_frames(frame: int) -> Iterator[None]:
    """Allow a negative frame within the context, and leave the user's preferences unmodified."""
    preferences = bpy.context.preferences
    allowed, dirty = preferences.edit.use_negative_frames, preferences.is_dirty
    if frame >= 0 or allowed:
        yield
        return
    preferences.edit.use_negative_frames = True
    try:
        yield
    finally:
        preferences.edit.use_negative_frames, preferences.is_dirty = allowed, dirty
