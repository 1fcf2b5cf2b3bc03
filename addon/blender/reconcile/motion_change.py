"""Change of a mechanism's motion by an edit of joints: keyframes of other types, and of closed loops that it cuts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.editing.edits import Edit, JointEdit, lost_motion
from ...core.kinematics import initial_joint_values
from ...core.model import Array, Joint, joint_by_id
from ...core.motion.keyframes import simplified_key_indices
from ...core.report import Message, Report, count_with_noun
from ...core.stops import clamp_values_to_stops
from ...core.transforms import inverse
from ..animation.actions import active_action
from ..animation.fcurves import CurveData, CurveKeys, read_curve, write_curve
from ..animation.keying import CONSTANT, LINEAR, MIN_KEY_SPACING, Tracks, curve_tracks, fill_curve
from ..animation.loops.bone_loops import LiveLoop, RigidLoop
from ..animation.loops.live_solver import live_loops, loop_joints
from ..animation.motion_checks import dof_stops
from ..compat import action_curves, new_curve
from ..data.channels import Channel, block_rotation, servo_channels
from ..data.queries import parts
from ..rig.ball_channels import coordinates_from_keys, unwrap_rotation_vectors
from ..rig.pose_channels import read_pose
from ..scene.read.mechanism import extract
from .rig_state import RigState, current_tree

#: Tolerance of equal poses of bodies, as a share of the mechanism's size.
_POSE_TOLERANCE = 1e-4
#: Error (rad, length units) of converted keyframes by which a straight line may pass one that is left out.
_KEY_TOLERANCE = 1e-5
#: Largest step (rad, length units) between samples, so that whole turns can be counted; error of the middle between two
#: of them on a straight line; and bisections to reach both.
_MAX_STEP, _BEND_TOLERANCE, _MAX_HALVINGS = 1.0, 1e-4, 6
#: Maximum number of compared keyframes, evenly chosen.
_MAX_FRAMES = 200
#: Difference (rad, length units) up to which a joint of another type follows its loop as before.
_FOLLOWING_TOLERANCE = 1e-3
#: Maximum number of frames at which a closed loop is solved between its keyframes, evenly chosen.
_MAX_SOLVED_FRAMES = 2000
#: Deviation (rad, length units) from its keyframes up to which a joint is not held short of them.
_HELD_TOLERANCE = 1e-5


#: F-curves by data path and index.
Curves = Mapping[tuple[str, int], bpy.types.FCurve]


def joints_sharing_loops(rig: bpy.types.Object, joints: Collection[str]) -> set[str]:
    """Return the ids of all joints of the live loops on which some of ``joints`` (ids) lie."""
    found = set[str]()
    for loop in live_loops(rig):
        names = loop_joints(loop)
        found |= names if names.intersection(joints) else set()
    return found


@dataclass
class _ConvertedKeys:
    """Keyframes of a joint in an Action: of one with other values after an edit, or of one that follows a closed loop.

    Attributes:
        action: The Action.
        joint: Id of the joint.
        frames: Frames (n,).
        values: Values (n, size).
        how: Interpolation (n,).
        given: Mask (n,) of the keyframes that were there, of the joint or of the inputs of its loop; the others are
            between them.
        course: A curve of the joint, or of an input, for what holds beyond the keyframes.
        is_constant: The joint did not move.
        is_muted: Its curves were muted.
    """

    action: bpy.types.Action
    joint: str
    frames: Array
    values: Array
    how: NDArray[np.int32]
    given: NDArray[np.bool_]
    course: CurveData
    is_constant: bool = False
    is_muted: bool = False


class KeyframePoses:
    """Motion of joints that will be edited: poses of bodies at their keyframes, and of joints that follow their loops.

    Costs nothing without keyframes.
    """

    def __init__(self, rig: bpy.types.Object, present: RigState, joints: Collection[str]) -> None:
        self.rig = rig
        places = {place for joint in joints for each in present.channels.get(joint, ()) for place in each.curves()}
        curves = [curve for place, curve in _playing_curves(rig).items() if place in places]
        keys = {float(point.co[0]) for curve in curves for point in curve.keyframe_points}
        self.frames = sorted(keys)[:: 1 + len(keys) // _MAX_FRAMES]
        self._now = float(bpy.context.scene.frame_current_final)
        self.names = dict[str, str]()
        self.before = self._bodies(rig) if self.frames else {}
        self.solved = _solved_motions(rig, present, joints) if joints else []

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
        # of two rotations by an angle between them, 2 sin(angle / 2)
        turned = np.linalg.norm(now[:, :, :3, :3] - was[:, :, :3, :3], axis=(2, 3)) / np.sqrt(2.0)
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
                    "Keyframes: body {} is up to {} m and {}° off (frame {}, the largest of {}). Keyframe the "
                    "joints there again",
                    repr(name),
                    f"{apart[frame, body]:.3g}",
                    f"{angle:.3g}",
                    f"{self.frames[frame]:g}",
                    count_with_noun(len(self.frames), "frame"),
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
        return {body.id: poses[:, number] for number, body in enumerate(mechanism.bodies) if body.active}


def _keyed_coordinates(rig: bpy.types.Object, frames: Sequence[float]) -> dict[str, Array]:
    """Return the joint values (frames, size) from keyframes, within stops and with closed loops solved, by id."""
    curves, stops, out = _playing_curves(rig), dof_stops(parts(rig, "JOINT")), dict[str, Array]()
    for joint, own in servo_channels(rig).items():
        values = out[joint] = _curve_values(rig, own, curves, frames)
        for column, channel in enumerate(own):
            if channel.is_single:
                limits = stops.get((joint, channel.dof_index), (None, None))
                values[:, column] = clamp_values_to_stops(values[:, column], limits)
    for loop in live_loops(rig):
        if isinstance(loop, RigidLoop):
            out |= {joint: np.tile(value, (len(frames), 1)) for joint, value in loop.stands.items()}
            continue
        out |= _loop_values(rig, loop, loop.given_joints(), curves, frames)
    return out


def _loop_values(
    rig: bpy.types.Object, loop: LiveLoop, inputs: Sequence[str], curves: Curves, frames: Sequence[float]
) -> dict[str, Array]:
    """Return the values (frames, size) of a loop's joints, by id; empty where the ``inputs`` (ids) are all of them."""
    given = {joint: _curve_values(rig, loop.channels[joint], curves, frames) for joint in inputs}
    with loop.follower.trial():
        states = [state.found for state in loop.states_for(given)] if given else []
    found = [state.positions for state in states if state is not None]
    if not found or len(found) < len(states):
        return {}
    return {joint: np.array([positions[joint] for positions in found]) for joint in found[0]}


def _solved_motions(rig: bpy.types.Object, present: RigState, joints: Collection[str]) -> list[_ConvertedKeys]:
    """Return the motions of the joints that follow closed loops with some of ``joints`` (ids), in every Action."""
    loops = [loop for loop in live_loops(rig) if isinstance(loop, LiveLoop) and loop_joints(loop).intersection(joints)]
    out = list[_ConvertedKeys]()
    for action in present.actions if loops else ():
        curves = _unmuted_curves(rig, action)
        for loop in loops:
            inputs = loop.given_joints(action)
            places = {place for joint in inputs for each in present.channels.get(joint, ()) for place in each.curves()}
            mine = [curve for place, curve in curves.items() if place in places and len(curve.keyframe_points)]
            if not mine:
                continue
            keys = [CurveKeys.of(curve) for curve in mine]
            given = np.unique(np.concatenate([each.places for each in keys])).astype(np.float64)
            held = np.all([_is_held(each, given) for each in keys], axis=0)
            frames = _with_frames_between(given, held)
            frames = np.union1d(given, frames[:: 1 + len(frames) // _MAX_SOLVED_FRAMES])
            how = np.where(_is_held_at(given, held, frames), CONSTANT, LINEAR).astype(np.int32)
            course = replace(read_curve(mine[0]), extrapolation="CONSTANT")
            solved = _loop_values(rig, loop, inputs, curves, frames.tolist())
            out += [
                _ConvertedKeys(action, joint, frames, solved[joint], how, np.isin(frames, given), course)
                for joint in solved
                if joint not in inputs
            ]
    return out


def _curve_values(
    rig: bpy.types.Object,
    own: Sequence[Channel],
    curves: Curves,
    frames: Sequence[float],
) -> Array:
    """Return the joint values (frames, size) of a joint's channels from curves, by identifier, else from its pose."""

    def numbers(bone: str, path: str, index: int) -> Array:
        curve = curves.get((path, index))
        if curve is None:
            return np.full(len(frames), getattr(rig.pose.bones[bone], path.rpartition(".")[2])[index])
        return np.array([curve.evaluate(frame) for frame in frames])

    columns: list[Array] = []
    for channel in own:
        if channel.is_single:
            columns.append(numbers(channel.bone, channel.path, channel.index))
        elif channel.index == 0:
            found = [numbers(channel.bone, path, index) for path, index in channel.curves()]
            free = channel.kind == "free"
            places = np.array(found[4:]).T if free else None
            turn = block_rotation(rig, channel.bone)
            columns += list(coordinates_from_keys(places, np.array(found[:4]).T, turn, channel.is_reversed, free).T)
    return np.array(columns).T.reshape(len(frames), len(own))


class KeyConversion:
    """Keyframes of joints that get other degrees of freedom or lose their loop: read before the edit, written after it.

    Keyframes are added where straight lines between the new values would not follow the old motion.

    Attributes:
        report: What the new degrees of freedom cannot express of motions and stored poses.
    """

    def __init__(
        self,
        rig: bpy.types.Object,
        present: RigState,
        edit: Edit,
        motion: KeyframePoses | None = None,
        is_compared: bool = False,
    ) -> None:
        """Read the keyframes.

        Args:
            rig: The armature.
            present: State of the mechanism before the edit.
            edit: The edit.
            motion: Motion before the edit.
            is_compared: The poses of bodies are compared in the motion that plays.
        """
        self.rig, self.report = rig, Report()
        playing = active_action(rig)
        compared = (playing,) if is_compared and playing is not None else ()
        self._found: list[_ConvertedKeys] = []
        self._solved: list[tuple[_ConvertedKeys, bool]] = []  # with whether the joint got another type
        before, after = joint_by_id(edit.before), joint_by_id(edit.after)
        for joint, change in edit.joints.items():
            own = present.channels.get(joint, [])
            is_retyped = joint in before and joint in after and change.values is not None
            is_retyped = is_retyped and dof_kinds(before[joint]) != dof_kinds(after[joint])
            for action in present.actions if own and (is_retyped or change.convert is not None) else ():
                found = action_curves(rig, action, create=False) or ()
                curves = {(curve.data_path, curve.array_index): curve for curve in found}
                mine = [curves[place] for each in own for place in each.curves() if place in curves]
                mine = [curve for curve in dict.fromkeys(mine) if len(curve.keyframe_points)]
                unmuted = [curve for curve in mine if not curve.mute]
                mine = unmuted or mine
                curves = {place: curve for place, curve in curves.items() if not unmuted or not curve.mute}
                if mine and change.convert is not None:
                    self._convert(action, joint, own, change, curves, mine)
                if mine and is_retyped and action not in compared:
                    frames = sorted({float(point.co[0]) for curve in mine for point in curve.keyframe_points})
                    values = _curve_values(rig, own, curves, frames)
                    off = lost_motion(before[joint].dofs, after[joint].dofs, change, values, present.pose[joint])
                    self._report_lost(action, after[joint].name, frames, *off)
        if motion is not None:
            self._add_solved(motion, edit)

    def _add_solved(self, motion: KeyframePoses, edit: Edit) -> None:
        """Add the motions of joints that follow closed loops, for those that the edit frees or gives another type."""
        before, after = joint_by_id(edit.before), joint_by_id(edit.after)
        was_playing, playing = active_action(motion.rig), active_action(self.rig)
        for each in motion.solved:
            if each.joint not in after:
                continue
            action = playing if each.action == was_playing else each.action  # a split copies the motion that plays
            change = edit.joints.get(each.joint)
            values = each.values if change is None else change.converted(each.values)
            is_retyped = dof_kinds(before[each.joint]) != dof_kinds(after[each.joint])
            if action is not None:
                is_constant = bool(np.ptp(values, axis=0).max(initial=0.0) < _KEY_TOLERANCE)
                self._solved.append((replace(each, action=action, values=values, is_constant=is_constant), is_retyped))

    def _report_lost(
        self, action: bpy.types.Action, joint: str, frames: Sequence[float], distances: Array, angles: Array
    ) -> None:
        """Report the largest distance and angle (rad) by which a joint is off at the keyframes of an Action."""
        if max(distances.max(), angles.max()) <= _POSE_TOLERANCE:
            return
        worst = int(np.argmax(distances if distances.max() > _POSE_TOLERANCE else angles))
        self.report.warn(
            "joint-motion-changed",
            Message(
                "Keyframes of {}: joint {} cannot move as before, it is up to {} m and {}° off (frame {}). Keyframe "
                "it there again",
                repr(action.name),
                repr(joint),
                f"{distances[worst]:.3g}",
                f"{np.degrees(angles[worst]):.3g}",
                f"{frames[worst]:g}",
            ),
            where=joint,
        )

    def _convert(
        self,
        action: bpy.types.Action,
        joint: str,
        own: Sequence[Channel],
        edit: JointEdit,
        curves: Curves,
        mine: Sequence[bpy.types.FCurve],
    ) -> None:
        assert edit.convert is not None
        keys = [CurveKeys.of(curve) for curve in mine]
        given = np.unique(np.concatenate([each.places for each in keys])).astype(np.float64)
        held = np.all([_is_held(each, given) for each in keys], axis=0)
        frames = _with_frames_between(given, held)
        values = _curve_values(self.rig, own, curves, frames.tolist())
        for _round in range(_MAX_HALVINGS if len(frames) > 1 else 0):
            middles = 0.5 * (frames[:-1] + frames[1:])
            between = _curve_values(self.rig, own, curves, middles.tolist())
            bent = np.abs(between - 0.5 * (values[:-1] + values[1:])).max(axis=1) > _BEND_TOLERANCE
            bent |= np.abs(np.diff(values, axis=0)).max(axis=1) > _MAX_STEP
            bent &= ~_is_held_at(given, held, frames)[:-1] & (np.diff(frames) > 2.0 * MIN_KEY_SPACING)
            if not bent.any():
                break
            frames, values = np.concatenate([frames, middles[bent]]), np.concatenate([values, between[bent]])
            order = np.argsort(frames)
            frames, values = frames[order], values[order]
        self._found.append(
            _ConvertedKeys(
                action,
                joint,
                frames,
                edit.convert(values),
                np.where(_is_held_at(given, held, frames), CONSTANT, LINEAR).astype(np.int32),
                np.isin(frames, given),
                read_curve(mine[0]),
                np.ptp(values, axis=0).max() < _KEY_TOLERANCE,
                all(curve.mute for curve in mine),
            )
        )

    def write(self) -> None:
        """Write the keyframes to the channels that the joints have now."""
        if not (self._found or self._solved):
            return
        channels = servo_channels(self.rig)
        for keys in self._found:
            self._write_keys(keys, channels.get(keys.joint, []))
        following = {keys.action: _following_joints(self.rig, keys.action) for keys, _is_retyped in self._solved}
        for keys, is_retyped in self._solved:
            follows = keys.joint in following[keys.action]
            if not follows or (is_retyped and not self._follows_as_before(keys)):
                self._write_keys(keys, channels.get(keys.joint, []))

    def _follows_as_before(self, keys: _ConvertedKeys) -> bool:
        """Return whether a joint of another type follows its loop with the values that it had; else it is keyed too."""
        curves = _unmuted_curves(self.rig, keys.action)
        for loop in live_loops(self.rig):
            if isinstance(loop, RigidLoop):
                if keys.joint in loop.channels:
                    return True
            elif keys.joint in loop.channels:
                inputs = loop.given_joints(keys.action)
                now = _loop_values(self.rig, loop, inputs, curves, keys.frames.tolist()).get(keys.joint)
                return now is not None and bool(np.abs(now - keys.values).max(initial=0.0) < _FOLLOWING_TOLERANCE)
        return False

    def _write_keys(self, keys: _ConvertedKeys, own: Sequence[Channel]) -> None:
        """Write the keyframes of a joint to its channels."""
        if not own or len(own) != keys.values.shape[1]:
            return
        values = _continuous(own, keys.values)
        if not keys.is_constant and np.ptp(values, axis=0).max() < _KEY_TOLERANCE:
            return  # the new type cannot do anything of the motion
        needed = [simplified_key_indices(keys.frames, column, _KEY_TOLERANCE) for column in values.T]
        kept = np.union1d(np.flatnonzero(keys.given), np.concatenate(needed))
        tracks: Tracks = {
            channel: (keys.frames[kept], column[kept], keys.how[kept])
            for channel, column in zip(own, values.T, strict=True)
        }
        curves = action_curves(self.rig, keys.action)
        for track in curve_tracks(self.rig, tracks):
            curve = curves.find(track.path, index=track.array_index)
            if curve is not None:
                curves.remove(curve)
            curve = new_curve(curves, track.path, track.array_index, track.bone)
            fill_curve(curve, track.frames, track.values, track.how)
            write_curve(curve, replace(keys.course, keys=read_curve(curve).keys))
            curve.mute = keys.is_muted


def _following_joints(rig: bpy.types.Object, action: bpy.types.Action) -> set[str]:
    """Return the ids of the joints that follow closed loops while an Action plays, and are not posed by keyframes."""
    out = set[str]()
    for loop in live_loops(rig):
        out |= loop.channels.keys() - set(() if isinstance(loop, RigidLoop) else loop.given_joints(action))
    return out


def dof_kinds(joint: Joint) -> list[str]:
    """Return the kinds of a joint's degrees of freedom."""
    return [dof.kind for dof in joint.dofs]


def _is_held(keys: CurveKeys, frames: Array) -> NDArray[np.bool_]:
    """Return the mask (n,) of frames from which a curve is constant until its next key."""
    before = np.searchsorted(keys.places, frames.astype(np.float32), side="right") - 1
    return np.where(before < 0, True, keys.held[np.maximum(before, 0)])


def _with_frames_between(given: Array, held: NDArray[np.bool_]) -> Array:
    """Return frames (n,) with all whole frames between them, except after those that are ``held`` (n,)."""
    spans = zip(given[:-1].tolist(), given[1:].tolist(), held[:-1].tolist(), strict=True)
    between = [np.arange(np.floor(first) + 1.0, last) for first, last, holds in spans if not holds]
    frames = np.unique(np.concatenate([given, *between]))
    near = np.diff(frames, prepend=-np.inf) < MIN_KEY_SPACING
    return frames[~near | np.isin(frames, given)]


def _is_held_at(given: Array, held: NDArray[np.bool_], frames: Array) -> NDArray[np.bool_]:
    return held[np.searchsorted(given, frames, side="right") - 1]


def _continuous(own: Sequence[Channel], values: Array) -> Array:
    """Return joint values (n, size) without jumps by whole turns."""
    out = values.copy()
    for column, channel in enumerate(own):
        if not channel.is_single and channel.index == 0:
            out[:, column : column + 3] = unwrap_rotation_vectors(values[:, column : column + 3])
        elif channel.is_single and channel.is_angle:
            out[:, column] = np.unwrap(values[:, column])
    return out


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
        found = _loop_values(rig, loop, loop.given_joints(), curves, frames)
        states = dict[float, dict[str, Array]]()
        if found:
            states = {frame: {joint: row[n] for joint, row in found.items()} for n, frame in enumerate(frames)}
            states[now] |= {joint: read_pose(evaluated, own) for joint, own in loop.channels.items()}
        keyed_values = {place: {frame: curve.evaluate(frame) for frame in states} for place, curve in keyed.items()}
        by = {
            place: {frame: float(states[frame][place[0]][place[1]]) - value for frame, value in every.items()}
            for place, every in keyed_values.items()
        }
        if not any(abs(value) > _HELD_TOLERANCE for every in by.values() for value in every.values()):
            continue
        for place, curve in keyed.items():
            if not any(abs(point.co[0] - now) < MIN_KEY_SPACING for point in curve.keyframe_points):
                curve.keyframe_points.insert(now, keyed_values[place][now])
            for point in curve.keyframe_points:
                more = by[place].get(float(point.co[0]), by[place][now])
                for name in ("handle_left", "handle_right", "co"):
                    getattr(point, name)[1] += more
            curve.update()


def _playing_curves(rig: bpy.types.Object) -> dict[tuple[str, int], bpy.types.FCurve]:
    """Return the unmuted curves of the Action that plays on a mechanism, by identifier."""
    action = active_action(rig)
    return {} if action is None else _unmuted_curves(rig, action)


def _unmuted_curves(rig: bpy.types.Object, action: bpy.types.Action) -> dict[tuple[str, int], bpy.types.FCurve]:
    """Return the unmuted curves of an Action of a mechanism, by identifier."""
    curves = action_curves(rig, action, create=False) or ()
    return {(curve.data_path, curve.array_index): curve for curve in curves if not curve.mute}
