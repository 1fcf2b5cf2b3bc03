"""Change of a mechanism's motion by an edit of joints: keyframes of other types, and of closed loops that it cuts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import bpy
import numpy as np

from ...core.editing.edits import Edit, JointEdit, lost_motion
from ...core.kinematics import Tree, initial_joint_values, joint_motion, joint_values_from_transform
from ...core.model import Array, Joint, joint_by_id
from ...core.report import Message, Report, abbreviate_names, join_messages
from ...core.stops import NO_STOPS, StopPair, clamp_values_to_stops, joint_stops
from ...core.transforms import inverse, rotation_matrix
from ..animation.actions import (
    active_action,
    bone_properties,
    has_mixed_actions,
    is_linked_action,
    layered_actions,
    mechanism_actions,
    played_actions,
    set_bone_properties,
)
from ..animation.fcurves import (
    CurveKeys,
    continues_past_keys,
    curve_coordinates,
    curve_id,
    curve_ids,
    loop_values,
    posing_curves,
    read_curve,
)
from ..animation.keying import (
    CONSTANT,
    LINEAR,
    MIN_KEY_SPACING,
    is_held_at,
    with_frames_between,
    with_scene_range,
)
from ..animation.loops.bone_loops import LiveLoop, RigidLoop
from ..animation.loops.live_solver import following_joints, joints_sharing_loops, live_loops, loop_joints
from ..animation.motion_checks import dof_stops
from ..compat import action_curves, all_curves
from ..data.access import action_record, armature_of
from ..data.channels import ROOT_KEY_PREFIX, Channel, root_channels, servo_channels
from ..data.conversion import add_to_report
from ..data.queries import parts
from ..rig.pose_channels import read_joint_values, read_pose
from ..scene.read.mechanism import extract
from .bone_references import user_drivers
from .channel_transfer import CONVERSION_TOLERANCE, ConvertedKeys, write_converted_keys
from .rig_state import RigState, current_tree

#: Tolerance of equal poses of bodies, as a share of the mechanism's size.
_POSE_TOLERANCE = 1e-4
#: Smallest size of a mechanism (length units) that shares of it are computed of.
_MIN_SIZE = 1e-9
#: Largest step (rad, length units) between samples, so that whole turns can be counted; error of the middle between two
#: of them on a straight line; and bisections to reach both.
_MAX_STEP, _BEND_TOLERANCE, _MAX_HALVINGS = 1.0, 1e-4, 6
#: Maximum number of compared keyframes of all motions, evenly chosen, of which each has some.
_MAX_FRAMES, _MIN_FRAMES = 200, 20
#: Difference (rad, length units) up to which a joint of another type follows its loop as before.
_FOLLOWING_TOLERANCE = 1e-3
#: Difference (rad, length units) of motions up to which a driver moves the bodies as before.
_KEPT_MOTION = 1e-5
#: Shifts of blended keyframes until their joints are where they are seen: influences below 1 need several.
_MAX_SHIFTS = 3
#: A free joint that is not edited itself.
_SAME = JointEdit(convert=lambda values: values)
#: F-curves by data path and index.
Curves = Mapping[tuple[str, int], bpy.types.FCurve]


class KeyframePoses:
    """Motions of a mechanism whose joints will be edited: poses of bodies, and values of joints that follow loops.

    All Actions are compared: those that play, those of NLA strips, others and stored poses; linked ones if they play.
    Costs nothing without any.

    Attributes:
        rig: The armature.
        frames: Compared frames of each Action.
        before: Poses of bodies at these and the present frame (frames + 1, 4, 4) by id, for each Action.
        names: Names of bodies, by id.
        solved: Motions of joints that follow closed loops.
        driven: Bones with drivers of input joints, by the ids of the joints that follow these.
        compares: The poses of bodies are compared; else only joints are, each by itself.
    """

    def __init__(
        self, rig: bpy.types.Object, present: RigState, joints: Collection[str], compares: bool = True
    ) -> None:
        self.rig, self.compares = rig, compares
        self._now, self._active = float(bpy.context.scene.frame_current_final), active_action(rig)
        self.names = dict[str, str]()
        self.frames = dict[bpy.types.Action, list[float]]()
        # any channel may move what they release
        channels = (present.channels | root_channels(rig)).values() if joints and compares else ()
        places = {place for own in channels for each in own for place in each.curves()}
        for action in dict.fromkeys((*present.actions, *played_actions(rig))) if places else ():
            curves = posing_curves(rig, action, places).values()
            keys = {float(point.co[0]) for curve in curves for point in curve.keyframe_points}
            if keys:
                self.frames[action] = sorted(keys)
        share = max(_MIN_FRAMES, _MAX_FRAMES // max(1, len(self.frames)))
        self.frames = {action: keys[:: 1 + len(keys) // share] for action, keys in self.frames.items()}
        self.before = self._bodies(rig, {action: action for action in self.frames})
        self.solved = _solved_motions(rig, present, joints) if joints else []
        self.driven = _driven_followers(rig, present, joints) if joints else {}

    def change(self, made: bpy.types.Object | None = None, keeps_emptied: bool = False) -> Report:
        """Report how far bodies are off at the keyframes after the edit.

        Args:
            made: Armature of the mechanism to which bodies were split off; None: none.
            keeps_emptied: Actions without keyframes now are kept and reported; else those that nothing keeps are not.
        """
        report, every = Report(), self._bodies(self.rig, {action: action for action in self.frames})
        copies = {} if made is None else _actions_by_origin(made)
        if made is not None:
            for action, bodies in self._bodies(made, {each: copies.get(each) for each in self.frames}).items():
                before = self.before[action]
                for own, poses in bodies.items():
                    if own in before and action == self._active:  # bodies were split off where they are seen
                        every[action][own] = before[own][-1] @ inverse(poses[-1]) @ poses
                    else:
                        every[action][own] = poses
        playing = played_actions(self.rig)
        found = [
            self._compare(action, self.before[action], after)
            for action, after in every.items()
            if keeps_emptied
            or action in playing
            or action.use_fake_user
            or any(any(all_curves(each)) for each in (action, copies.get(action)) if each is not None)
        ]
        for _off, name, message in sorted(filter(None, found), key=lambda each: -each[0]):
            report.warn("motion-changed", message, where=name)
        if report.entries:
            add_to_report(self.rig, report, {"motion-changed"})
        return report

    def _compare(
        self, action: bpy.types.Action, before: Mapping[str, Array], after: Mapping[str, Array]
    ) -> tuple[float, str, Message] | None:
        """Return the largest deviations of bodies from where they were at keyframes of an Action; None: none is off.

        Returns:
            The larger of distance (a share of the mechanism's size) and angle (rad), the name of the Action, and the
            message, with lengths of the scene.
        """
        both = [own for own in before if own in after]
        if not both:
            return None
        was, now = (np.array([every[own][:-1] for own in both]).swapaxes(0, 1) for every in (before, after))
        to_scene = np.array(self.rig.matrix_world)[:3, :3].T
        apart = np.linalg.norm((now - was)[:, :, :3, 3] @ to_scene, axis=2)
        # of two rotations by an angle between them, 2 sin(angle / 2)
        chords = np.linalg.norm(now[:, :, :3, :3] - was[:, :, :3, :3], axis=(2, 3)) / np.sqrt(2.0)
        turned = 2.0 * np.arcsin(np.minimum(1.0, chords / 2.0))
        places = np.array([poses[:-1, :3, 3] for poses in before.values()]).reshape(-1, 3) @ to_scene
        size = max(float(np.ptp(places, axis=0).max()), _MIN_SIZE)
        shares, amounts = (apart / size, turned), list[Message]()
        for off, unit in zip(shares, (size, np.degrees(1.0)), strict=True):
            frame, body = np.unravel_index(int(np.argmax(off)), off.shape)
            if off[frame, body] > _POSE_TOLERANCE:
                name, at = repr(self.names[both[body]]), f"{self.frames[action][frame]:g}"
                amount = f"{off[frame, body] * unit:.3g}"
                if off is turned:
                    amounts.append(Message("{}° (body {}, frame {})", amount, name, at))
                else:
                    amounts.append(Message("{} m (body {}, frame {})", amount, name, at))
        if not amounts:
            return None
        remedy = Message("Keyframe the joints there again")
        if is_linked_action(action):
            remedy = Message("The Action is linked: keyframe the joints in its file, or make it local")
        message = Message(
            "Keyframes of {}: off by up to {}. {}", repr(action.name), join_messages(" and ", amounts), remedy
        )
        return max(float(off.max()) for off in shares), action.name, message

    def _bodies(
        self, rig: bpy.types.Object, played: Mapping[bpy.types.Action, bpy.types.Action | None]
    ) -> dict[bpy.types.Action, dict[str, Array]]:
        """Return poses of bodies at the frames of Actions and the present one (frames + 1, 4, 4), by Action and id.

        Origins are at the centers of mass.

        Args:
            rig: The armature.
            played: What it plays for each of the Actions; None: nothing.
        """
        if not played:
            return {}
        mechanism, out = extract(rig), dict[bpy.types.Action, dict[str, Array]]()
        self.names |= {body.id: body.name for body in mechanism.bodies}
        tree, start = current_tree(rig, mechanism), initial_joint_values(mechanism)
        centers = np.array([body.com for body in mechanism.bodies]).reshape(-1, 3, 1)
        for action, own in played.items():
            frames = np.array([*self.frames[action], self._now])
            values = {**start, **_keyed_coordinates(rig, own, frames)}
            poses = tree.forward(values, len(frames), _root_poses(rig, own, tree, frames))
            poses[:, :, :3, 3] += (poses[:, :, :3, :3] @ centers)[..., 0]
            out[action] = {body.id: poses[:, number] for number, body in enumerate(mechanism.bodies) if body.active}
        return out


def _format_change(value: float, tolerance: float, unit: float = 1.0) -> str:
    """Format a difference in units that are ``unit`` times smaller; 0 up to a tolerance."""
    return f"{value * unit if value > tolerance else 0.0:.3g}"


def _actions_by_origin(rig: bpy.types.Object) -> dict[bpy.types.Action | None, bpy.types.Action]:
    """Return the Actions of a mechanism, by themselves and by those that a split copied them from."""
    actions = mechanism_actions(rig)
    return {action: action for action in actions} | {action_record(action).split_from: action for action in actions}


def _root_poses(rig: bpy.types.Object, action: bpy.types.Action | None, tree: Tree, frames: Array) -> Array:
    """Return the poses (frames, roots, 4, 4) of root bodies by the keyframes of their bones."""
    channels = root_channels(rig)
    places = {place for own in channels.values() for each in own for place in each.curves()}
    curves = {} if action is None else posing_curves(rig, action, places)
    out = np.tile(np.array([root.pose for root in tree.roots]), (len(frames), 1, 1, 1))
    for number, root in enumerate(tree.roots):
        own = channels.get(ROOT_KEY_PREFIX + root.id)
        if own is None:
            continue
        values = curve_coordinates(rig, own, curves, frames)
        moves = np.tile(np.eye(4), (len(frames), 1, 1))
        moves[:, :3, :3] = rotation_matrix(values[:, :3])
        head = np.array(armature_of(rig).bones[own[0].bone].head_local)
        moves[:, :3, 3] = head + values[:, 3:] - moves[:, :3, :3] @ head
        out[:, number] = moves @ root.pose
    return out


def _keyed_coordinates(rig: bpy.types.Object, action: bpy.types.Action | None, frames: Array) -> dict[str, Array]:
    """Return the joint values (frames, size) of an Action, within stops and with closed loops solved, by id."""
    curves = {} if action is None else posing_curves(rig, action)
    stops, out = dof_stops(parts(rig, "JOINT")), dict[str, Array]()
    for joint, own in servo_channels(rig).items():
        out[joint] = _within_stops(joint, own, curve_coordinates(rig, own, curves, frames), stops)
    for loop in live_loops(rig):
        if isinstance(loop, RigidLoop):
            out |= {joint: np.tile(value, (len(frames), 1)) for joint, value in loop.stands.items()}
            continue
        out |= loop_values(rig, loop, loop.given_joints(action), curves, frames)
    return out


def _within_stops(
    joint: str, own: Sequence[Channel], values: Array, stops: Mapping[tuple[str, int], StopPair]
) -> Array:
    """Return values (n, size) of a joint at the stops that they pass, which are given by joint id and index."""
    out = values.copy()
    for column, channel in enumerate(own):
        if channel.is_single:
            limits = stops.get((joint, channel.dof_index), NO_STOPS)
            out[:, column] = clamp_values_to_stops(values[:, column], limits)
    return out


def _solved_motions(rig: bpy.types.Object, present: RigState, joints: Collection[str]) -> list[ConvertedKeys]:
    """Return the motions of the joints that follow closed loops with some of ``joints`` (ids), in every Action."""
    loops = [loop for loop in live_loops(rig) if isinstance(loop, LiveLoop) and loop_joints(loop).intersection(joints)]
    out = list[ConvertedKeys]()
    for action in present.actions if loops else ():
        curves = posing_curves(rig, action)
        for loop in loops:
            inputs = loop.given_joints(action)
            places = {place for joint in inputs for each in present.channels.get(joint, ()) for place in each.curves()}
            mine = [curve for place, curve in curves.items() if place in places and len(curve.keyframe_points)]
            if not mine:
                continue
            keys = [CurveKeys.of(curve) for curve in mine]
            given = np.unique(np.concatenate([each.places for each in keys])).astype(np.float64)
            held = np.all([each.held_at(given) for each in keys], axis=0)
            course = replace(read_curve(mine[0]), extrapolation="CONSTANT")
            if any(continues_past_keys(curve) for curve in mine):
                given, held = with_scene_range(given, held)
                course = replace(course, cycles=None)
            frames = with_frames_between(given, held)
            how = np.where(is_held_at(given, held, frames), CONSTANT, LINEAR).astype(np.int32)
            solved = loop_values(rig, loop, inputs, curves, frames)
            out += [
                ConvertedKeys(action, joint, frames, solved[joint], how, np.isin(frames, given), course)
                for joint in solved
                if joint not in inputs
            ]
    return out


def _driven_followers(rig: bpy.types.Object, present: RigState, joints: Collection[str]) -> dict[str, str]:
    """Return bones with drivers of input joints, by the ids of the joints that follow these, in loops of ``joints``."""
    driven, out = {curve_id(curve) for curve in user_drivers(rig)}, dict[str, str]()
    for loop in live_loops(rig) if driven else ():
        if isinstance(loop, LiveLoop) and loop_joints(loop).intersection(joints):
            inputs = loop.given_joints(active_action(rig))
            channels = [channel for joint in inputs for channel in present.channels.get(joint, ())]
            bone = next((each.bone for each in channels if not driven.isdisjoint(each.curves())), None)
            if bone is not None:
                out |= dict.fromkeys(loop.channels.keys() - {*inputs}, bone)
    return out


class KeyConversion:
    """Keyframes of joints that get other degrees of freedom or lose their loop: read before the edit, written after it.

    Keyframes are added where straight lines between the new values would not follow the old motion.
    """

    def __init__(
        self, rig: bpy.types.Object, present: RigState, edit: Edit, motion: KeyframePoses | None = None
    ) -> None:
        """Read the keyframes.

        Args:
            rig: The armature.
            present: State of the mechanism before the edit.
            edit: The edit.
            motion: Motions before the edit.
        """
        self.rig, self.report = rig, Report()
        self._found: list[ConvertedKeys] = []
        self._solved: list[ConvertedKeys] = []
        self._stops = dof_stops(parts(rig, "JOINT")) if edit.joints else {}
        self._edited = edit.joints.keys()
        self._driven: Mapping[str, str] = {} if motion is None else motion.driven
        before, after = joint_by_id(edit.before), joint_by_id(edit.after)
        self._joints = after
        changed = [own for own, joint in after.items() if own in before and joint is not before[own]]
        self._retyped = {own for own in changed if dof_kinds(before[own]) != dof_kinds(after[own])}
        free = [joint.id for joint in edit.before.joints if dof_kinds(joint) == ["free"] and None not in joint.ends]
        self._directions = {own: present.channels[own][0].is_reversed for own in {*free} & present.channels.keys()}
        for joint, change in ({own: _SAME for own in self._directions} | {**edit.joints}).items():
            own = present.channels.get(joint, [])
            is_retyped = joint in self._retyped and change.values is not None and not (motion and motion.compares)
            is_converted = change.convert is not None or self._loses_stops(joint, change)
            for action in present.actions if own and (is_retyped or is_converted) else ():
                found = action_curves(rig, action, create=False) or ()
                curves = {curve_id(curve): curve for curve in found}
                mine = [curves[place] for each in own for place in each.curves() if place in curves]
                mine = [curve for curve in dict.fromkeys(mine) if len(curve.keyframe_points)]
                unmuted = [curve for curve in mine if not curve.mute]
                mine = unmuted or mine
                curves = {place: curve for place, curve in curves.items() if not unmuted or not curve.mute}
                if mine and is_converted:
                    self._convert(action, joint, own, change, curves, mine)
                if mine and is_retyped:
                    frames = sorted({float(point.co[0]) for curve in mine for point in curve.keyframe_points})
                    values = curve_coordinates(rig, own, curves, np.array(frames))
                    off = lost_motion(before[joint].dofs, after[joint].dofs, change, values, present.pose[joint])
                    self._report_lost(action, after[joint].name, frames, *off)
        if motion is not None:
            self._add_solved(motion, edit)
        self._report_drivers({own: before[own] for own in changed}, present, edit)

    def _report_drivers(self, changed: Mapping[str, Joint], present: RigState, edit: Edit) -> None:
        """Report drivers that go on moving joints, or their loops, whose bodies move otherwise (``changed`` by id)."""
        driven = {curve_id(curve) for curve in user_drivers(self.rig)}
        for own, old in changed.items() if driven else ():
            channels, new, change = present.channels.get(own, []), self._joints[own], edit.joints.get(own)
            bone = self._driven.get(own)
            bone = channels[0].bone if channels and not driven.isdisjoint(curve_ids(channels)) else bone
            seen = present.pose.get(own)
            is_lost = own in self._retyped and not (change and change.numbers)  # the driver is removed
            if bone is None or seen is None or old.ends != new.ends or is_lost:
                continue
            now = seen if change is None or change.values is None else change.values
            if len(now) != len(seen) or np.abs(_tried_moves(old, seen) - _tried_moves(new, now)).max() < _KEPT_MOTION:
                continue
            self.report.warn(
                "driven-motion-changed",
                Message(
                    "Driver of {}: away from the present pose, joint {} moves its bodies otherwise now. Adapt it",
                    repr(bone),
                    repr(new.name),
                ),
                where=bone,
            )

    def _loses_stops(self, joint: str, change: JointEdit) -> bool:
        """Return whether a value of a joint (id) continues without its stops, past which keyframes would move it."""
        after = joint_stops(self._joints[joint].dofs) if joint in self._joints else []
        return any(
            self._stops.get((joint, was), NO_STOPS) != NO_STOPS and after[now] == NO_STOPS
            for was, (now, _factor) in (change.numbers or {}).items()
            if now < len(after)
        )

    def _add_solved(self, motion: KeyframePoses, edit: Edit) -> None:
        """Add the motions of joints that follow closed loops, for those that the edit frees or gives another type."""
        own = _actions_by_origin(self.rig)
        for each in motion.solved:
            if each.joint not in self._joints:
                continue
            action = own.get(each.action)  # a split copies every motion
            change = edit.joints.get(each.joint)
            values = each.values if change is None else change.converted(each.values)
            if action is not None:
                is_constant = bool(np.ptp(values, axis=0).max(initial=0.0) < CONVERSION_TOLERANCE)
                self._solved.append(replace(each, action=action, values=values, is_constant=is_constant))

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
                _format_change(distances[worst], _POSE_TOLERANCE),
                _format_change(angles[worst], _POSE_TOLERANCE, np.degrees(1.0)),
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
        """Convert the keyframes of a joint in an Action; curves that continue, none of them past a stop, stay."""
        keys = [CurveKeys.of(curve) for curve in mine]
        given = np.unique(np.concatenate([each.places for each in keys])).astype(np.float64)
        held = np.all([each.held_at(given) for each in keys], axis=0)
        frames = with_frames_between(given, held)
        values = curve_coordinates(self.rig, own, curves, frames)
        for _round in range(_MAX_HALVINGS if len(frames) > 1 else 0):
            middles = 0.5 * (frames[:-1] + frames[1:])
            between = curve_coordinates(self.rig, own, curves, middles)
            bent = np.abs(between - 0.5 * (values[:-1] + values[1:])).max(axis=1) > _BEND_TOLERANCE
            bent |= np.abs(np.diff(values, axis=0)).max(axis=1) > _MAX_STEP
            bent &= ~is_held_at(given, held, frames)[:-1] & (np.diff(frames) > 2.0 * MIN_KEY_SPACING)
            if not bent.any():
                break
            frames, values = np.concatenate([frames, middles[bent]]), np.concatenate([values, between[bent]])
            order = np.argsort(frames)
            frames, values = frames[order], values[order]
        shown = _within_stops(joint, own, values, self._stops)
        if edit.convert is None and np.array_equal(shown, values):
            return
        self._found.append(
            ConvertedKeys(
                action,
                joint,
                frames,
                edit.converted(shown),
                np.where(is_held_at(given, held, frames), CONSTANT, LINEAR).astype(np.int32),
                np.isin(frames, given),
                read_curve(mine[0]),
                bool(np.ptp(shown, axis=0).max() < CONVERSION_TOLERANCE),
                all(curve.mute for curve in mine),
            )
        )

    def write(self) -> Report:
        """Write the keyframes to the channels that the joints have now.

        Returns:
            Joints that follow their closed loop no longer and whose keyframes cannot tell all of their motion: where
            strips are blended, and where a driver moves an input, so that they stay.
        """
        report = Report()
        if not (self._found or self._solved or self._driven):
            return report
        channels = servo_channels(self.rig)
        seen = read_joint_values(self.rig, channels)  # as the update of the armature posed them
        edited = [
            keys
            for keys in self._found
            if (own := channels.get(keys.joint))
            and (keys.joint in self._edited or self._directions[keys.joint] != own[0].is_reversed)
        ]
        blocks = [keys for keys in edited if not channels[keys.joint][0].is_single]
        others = [keys for keys in edited if channels[keys.joint][0].is_single]
        edited = [*others, *self._lowest(blocks, {"REPLACE", "COMBINE"})]  # quaternions cannot be added
        for keys in edited:
            write_converted_keys(self.rig, keys, channels[keys.joint])
        following = {keys.action: following_joints(self.rig, keys.action) for keys in self._solved}
        posed = [keys for keys in self._solved if keys.joint in channels]  # a joint that closes a loop has none
        freed_keys = [keys for keys in posed if keys.joint not in following[keys.action]]
        changed = self._retyped | joints_sharing_loops(self.rig, {keys.joint for keys in freed_keys})  # or other inputs
        freed_keys = self._lowest(freed_keys, {"REPLACE"})
        for keys in freed_keys:
            write_converted_keys(self.rig, keys, channels.get(keys.joint, []))
        followers = [keys for keys in posed if keys.joint in changed and keys.joint in following[keys.action]]
        held_keys = self._lowest([keys for keys in followers if not self._follows_as_before(keys)], {"REPLACE"})
        for keys in held_keys:
            write_converted_keys(self.rig, keys, channels.get(keys.joint, []))
        is_mixed = (edited or freed_keys or held_keys) and has_mixed_actions(self.rig)
        if is_mixed:
            self._meet_present([*edited, *freed_keys, *held_keys], channels, seen)
        if is_mixed and (freed_keys or held_keys):
            report.warn(
                "blended-loop-opened",
                Message(
                    "NLA: joints that an edit frees from a closed loop are keyed for the present frame. At others, "
                    "where several Actions are blended, the bodies may move otherwise"
                ),
            )
        freed = self._driven.keys() & channels.keys()
        freed -= following_joints(self.rig, active_action(self.rig)) if freed else set()
        if freed:
            bone = self._driven[min(freed)]
            names = abbreviate_names(sorted({channels[joint][0].bone for joint in freed}))
            report.warn(
                "driven-loop-opened",
                Message(
                    "Closed loop: joints {} followed the driver of {} through it, and stay where they are now. "
                    "Keyframe them, or give them drivers",
                    names,
                    repr(bone),
                ),
                where=bone,
            )
        return report

    def _lowest(self, every: Sequence[ConvertedKeys], kept: Collection[str]) -> list[ConvertedKeys]:
        """Return keyframes without those blended otherwise than ``kept`` with others of a joint, of a lower Action."""
        layers, lowest = layered_actions(self.rig), dict[str, bpy.types.Action]()
        for action in layers:
            lowest = {keys.joint: action for keys in every if keys.action == action} | lowest
        return [
            keys for keys in every if layers.get(keys.action, "REPLACE") in kept or keys.action == lowest[keys.joint]
        ]

    def _meet_present(
        self,
        written: Sequence[ConvertedKeys],
        channels: Mapping[str, Sequence[Channel]],
        seen: Mapping[str, Array],
    ) -> None:
        """Shift keyframes that are blended so that their joints are at the values ``seen`` at the present frame."""
        first = dict[str, ConvertedKeys]()
        for action in layered_actions(self.rig):
            first = {keys.joint: keys for keys in written if keys.action == action} | first
        pose = bone_properties(self.rig)
        for _round in range(_MAX_SHIFTS if first else 0):
            bpy.context.scene.frame_set(bpy.context.scene.frame_current, subframe=bpy.context.scene.frame_subframe)
            for joint, keys in first.items():
                own, wanted = channels[joint], seen[joint]
                shown = read_pose(self.rig, own)
                if np.abs(wanted - shown).max(initial=0.0) < CONVERSION_TOLERANCE:
                    continue
                made = self._joints[joint]
                if all(channel.is_single for channel in own):
                    values = keys.values + (wanted - shown)
                else:
                    turn = joint_motion(made, wanted[None]) @ inverse(joint_motion(made, shown[None]))
                    values = joint_values_from_transform(made, turn @ joint_motion(made, keys.values))
                first[joint] = replace(keys, values=values, is_constant=True)
                write_converted_keys(self.rig, first[joint], own)
        set_bone_properties(self.rig, pose)  # others may be posed without keyframes

    def _follows_as_before(self, keys: ConvertedKeys) -> bool:
        """Return whether a joint follows its loop as it moved before; else it is keyed too."""
        curves = posing_curves(self.rig, keys.action)
        for loop in live_loops(self.rig):
            if isinstance(loop, RigidLoop):
                if keys.joint in loop.channels:
                    return True
            elif keys.joint in loop.channels:
                inputs = loop.given_joints(keys.action)
                now = loop_values(self.rig, loop, inputs, curves, keys.frames).get(keys.joint)
                if now is None:
                    return False
                before, after = (joint_motion(self._joints[keys.joint], each) for each in (keys.values, now))
                return bool(np.abs(after - before).max(initial=0.0) < _FOLLOWING_TOLERANCE)
        return False


def _tried_moves(joint: Joint, seen: Array) -> Array:
    """Return motions (size, 4, 4) of a joint's child in its parent as each of its values grows by a half from seen."""
    moves = joint_motion(joint, seen + 0.5 * np.eye(len(seen))) @ inverse(joint_motion(joint, seen[None]))
    return joint.frame_parent @ moves @ inverse(joint.frame_parent)


def dof_kinds(joint: Joint) -> list[str]:
    """Return the kinds of a joint's degrees of freedom."""
    return [dof.kind for dof in joint.dofs]
