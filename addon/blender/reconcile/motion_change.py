"""Change of a mechanism's motion by an edit of joints, and keyframes of closed loops that it cuts."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import bpy
import numpy as np

from ...core.kinematics import initial_joint_values
from ...core.model import Array
from ...core.report import Message, Report
from ...core.stops import clamp_values_to_stops
from ...core.transforms import inverse
from ..animation.actions import active_action
from ..animation.keying import MIN_KEY_SPACING
from ..animation.loops.bone_loops import LiveLoop, RigidLoop
from ..animation.loops.live_solver import live_loops, loop_joints
from ..animation.motion_checks import dof_stops
from ..compat import action_curves
from ..data.channels import Channel, block_rotation, servo_channels
from ..data.queries import parts
from ..rig.ball_channels import coordinates_from_keys
from ..rig.pose_channels import read_pose
from ..scene.read.mechanism import extract
from .rig_state import RigState, current_tree

#: Tolerance of equal poses of bodies, as a share of the mechanism's size.
_POSE_TOLERANCE = 1e-4
#: Maximum number of compared keyframes, evenly chosen.
_MAX_FRAMES = 200
#: Deviation (rad, length units) from its keyframes up to which a joint is not held short of them.
_HELD_TOLERANCE = 1e-5


def joints_sharing_loops(rig: bpy.types.Object, joints: Collection[str]) -> set[str]:
    """Return the ids of all joints of the live loops on which some of ``joints`` (ids) lie."""
    found = set[str]()
    for loop in live_loops(rig):
        names = loop_joints(loop)
        found |= names if names.intersection(joints) else set()
    return found


class KeyframePoses:
    """Poses of bodies at the keyframes of joints that will be edited. Costs nothing without keyframes."""

    def __init__(self, rig: bpy.types.Object, present: RigState, joints: Collection[str]) -> None:
        self.rig = rig
        places = {place for joint in joints for each in present.channels.get(joint, ()) for place in each.curves()}
        curves = [curve for place, curve in _playing_curves(rig).items() if place in places]
        keys = {float(point.co[0]) for curve in curves for point in curve.keyframe_points}
        self.frames = sorted(keys)[:: 1 + len(keys) // _MAX_FRAMES]
        self._now = float(bpy.context.scene.frame_current_final)
        self.names = dict[str, str]()
        self.before = self._bodies(rig) if self.frames else {}

    def change(self, made: bpy.types.Object | None = None) -> Report:
        """Report how far bodies are off at the keyframes after the edit.

        Args:
            made: Armature of the mechanism to which bodies were split off; None: none.
        """
        report = Report()
        if not self.frames:
            return report
        after = self._bodies(self.rig)
        for own, poses in (self._bodies(made) if made is not None else {}).items():
            if own in self.before:  # its roots are at their seen poses, which this mechanism does not know
                after[own] = self.before[own][-1] @ inverse(poses[-1]) @ poses
        both = [own for own in self.before if own in after]
        if not both:
            return report
        was, now = (np.array([every[own][:-1] for own in both]).swapaxes(0, 1) for every in (self.before, after))
        apart = np.linalg.norm(now[:, :, :3, 3] - was[:, :, :3, 3], axis=2)
        turned = np.abs(now[:, :, :3, :3] - was[:, :, :3, :3]).max(axis=(2, 3))
        places = np.array([poses[:-1, :3, 3] for poses in self.before.values()])
        size = float(np.ptp(places.reshape(-1, 3), axis=0).max())
        off = apart if apart.max() > _POSE_TOLERANCE * size else turned  # a body that rotates in place is off as well
        frame, body = np.unravel_index(int(np.argmax(off)), off.shape)
        if apart[frame, body] > _POSE_TOLERANCE * size or turned[frame, body] > _POSE_TOLERANCE:
            angle = np.degrees(2.0 * np.arcsin(min(1.0, turned[frame, body] / 2.0)))
            name = self.names[both[body]]
            report.warn(
                "motion-changed",
                Message(
                    "Keyframes: body {} is up to {} m and {}° off (frame {}, the largest of {} frames). Keyframe the "
                    "joints there again",
                    repr(name),
                    f"{apart[frame, body]:.3g}",
                    f"{angle:.3g}",
                    f"{self.frames[frame]:g}",
                    len(self.frames),
                ),
                where=name,
            )
        return report

    def _bodies(self, rig: bpy.types.Object) -> dict[str, Array]:
        """Return poses of bodies at the frames and the present one (frames + 1, 4, 4), by id.

        Origins are at the centers of mass; roots are at their design poses.
        """
        mechanism, frames = extract(rig), [*self.frames, self._now]
        self.names |= {body.id: body.name for body in mechanism.bodies}
        values = {**initial_joint_values(mechanism), **_keyed_coordinates(rig, frames)}
        poses = current_tree(rig, mechanism).forward(values, len(frames))
        centers = np.array([body.com for body in mechanism.bodies]).reshape(-1, 3, 1)
        poses[:, :, :3, 3] += (poses[:, :, :3, :3] @ centers)[..., 0]
        return {body.id: poses[:, number] for number, body in enumerate(mechanism.bodies)}


def _keyed_coordinates(rig: bpy.types.Object, frames: Sequence[float]) -> dict[str, Array]:
    """Return the joint values (frames, size) from keyframes, within stops and with closed loops solved, by id."""
    curves, stops, out = _playing_curves(rig), dof_stops(parts(rig, "JOINT")), dict[str, Array]()

    def numbers(bone: str, prop: str, path: str, index: int) -> Array:
        curve = curves.get((path, index))
        if curve is None:
            return np.full(len(frames), getattr(rig.pose.bones[bone], prop)[index])
        return np.array([curve.evaluate(frame) for frame in frames])

    def block(own: Sequence[Channel]) -> Array:
        first = own[0]
        found = [numbers(first.bone, path.rpartition(".")[2], path, index) for path, index in first.curves()]
        places = np.array(found[4:]).T if first.kind == "free" else None
        turn = block_rotation(rig, first.bone)
        return coordinates_from_keys(places, np.array(found[:4]).T, turn, first.is_reversed, first.kind == "free")

    for joint, own in servo_channels(rig).items():
        columns: list[Array] = []
        for channel in own:
            if channel.is_single:
                value = numbers(channel.bone, channel.prop, channel.path, channel.index)
                columns.append(clamp_values_to_stops(value, stops.get((joint, channel.dof_index), (None, None))))
            elif channel.index == 0:
                columns += list(block([c for c in own if c.bone == channel.bone and not c.is_single]).T)
        out[joint] = np.array(columns).T
    for loop in live_loops(rig):
        if isinstance(loop, RigidLoop):
            out |= {joint: np.tile(value, (len(frames), 1)) for joint, value in loop.stands.items()}
            continue
        states = _loop_states(loop, frames)
        if states:
            out |= {joint: np.array([state[joint] for state in states]) for joint in states[0]}
    return out


def _loop_states(loop: LiveLoop, frames: Sequence[float]) -> list[dict[str, Array]]:
    """Return the values of a loop's joints at frames, by id; empty if curves do not determine them."""
    mark = loop.follower.mark()
    try:
        states = loop.states_at(frames) or []
    finally:
        loop.follower.resume(mark)
    if any(state.found is None for state in states):
        return []
    return [dict(state.found.positions) for state in states if state.found is not None]


def key_held_joints(rig: bpy.types.Object, joints: Collection[str]) -> None:
    """Key joints where they are seen if their closed loops hold them short of their keyframes.

    A loop that is cut no longer holds them. A key at the present frame is inserted.

    Args:
        rig: The armature.
        joints: Ids of joints that will be deleted: their loops are considered.
    """
    curves, now = _playing_curves(rig), float(bpy.context.scene.frame_current_final)
    evaluated = rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
    for loop in live_loops(rig):
        if isinstance(loop, RigidLoop) or not loop_joints(loop).intersection(joints):
            continue
        keyed = {
            (joint, channel.dof_index): curve
            for joint, own in loop.channels.items()
            for channel in own
            if channel.is_single and (curve := curves.get((channel.path, channel.index))) is not None
        }
        frames = sorted({now, *(float(point.co[0]) for curve in keyed.values() for point in curve.keyframe_points)})
        states = dict(zip(frames, _loop_states(loop, frames), strict=False))
        if states:
            states[now] |= {joint: read_pose(evaluated, own) for joint, own in loop.channels.items()}
        told = {place: {frame: curve.evaluate(frame) for frame in states} for place, curve in keyed.items()}
        by = {
            place: {frame: float(states[frame][place[0]][place[1]]) - value for frame, value in every.items()}
            for place, every in told.items()
        }
        if not any(abs(value) > _HELD_TOLERANCE for every in by.values() for value in every.values()):
            continue
        for place, curve in keyed.items():
            if not any(abs(point.co[0] - now) < MIN_KEY_SPACING for point in curve.keyframe_points):
                curve.keyframe_points.insert(now, told[place][now])
            for point in curve.keyframe_points:
                more = by[place].get(float(point.co[0]), by[place][now])
                for name in ("handle_left", "handle_right", "co"):
                    getattr(point, name)[1] += more
            curve.update()


def _playing_curves(rig: bpy.types.Object) -> dict[tuple[str, int], bpy.types.FCurve]:
    """Return the unmuted curves of the Action that plays on a mechanism, by identifier."""
    action = active_action(rig)
    curves = action_curves(rig, action, create=False) if action is not None else None
    return {(curve.data_path, curve.array_index): curve for curve in curves or () if not curve.mute}
