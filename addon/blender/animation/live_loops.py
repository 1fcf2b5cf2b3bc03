"""Closed loops that move while posing, scrubbing and rendering: what drives a loop poses the rest of it.

A joint whose record says that it ``follows`` has a bone whose channels are written here, and never by hand. Before a
frame, the curves tell where the drivers will be, so that one evaluation poses all. After it, and after every other
change, the evaluated pose is looked at: what moves drivers in other ways (strips, drivers, a drag of the hand) is
followed then. Nothing is computed while the drivers are where they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import bpy
import numpy as np
from bpy.app.handlers import persistent

from ...model.followers import Followed, Follower, Linkage, linkages
from ...model.kinematics import CLOSES_LOOP
from ...model.loop_newton import CLOSED
from ...model.loops import Positions, joint_initial
from ...model.records import Array, Body, Joint, Mechanism
from ...model.report import Report
from ..access import record_of, settings
from ..bone_limits import is_stop
from ..channels import Channel, block_turn, servo_channels
from ..compat import action_curves
from ..joint_sides import sides_of
from ..model_parts import parts, rigs_in
from ..posing import read_pose, write_pose
from ..records import read_dofs, start_of
from ..reporting import add_to_report

#: Loops of rigs by the ``session_uid`` that they keep until another file is opened.
_loops: dict[int, list[LiveLoop | RigidLoop]] = {}
#: What tells that a loop does not close at the present pose.
_CODE = "loop-open"
#: And that its drivers are held where it does.
_HELD = "loop-held"
#: What a joint of a rigid loop may be off by (rad or length units): bones have 32-bit numbers.
_STANDS = 1e-5


class LiveLoop:
    """A linkage of a rig's: where its drivers are now, and the channels that follow them."""

    def __init__(
        self,
        rig: bpy.types.Object,
        linkage: Linkage,
        start: Positions,
        drivers: list[str],
        every: Mapping[str, list[Channel]],
    ) -> None:
        self.rig, self.drivers = rig, drivers
        self.channels = {joint: every[joint] for joint in linkage.joints if joint in every}
        self._turns = {
            channels[0].bone: block_turn(rig, channels[0].bone)
            for channels in self.channels.values()
            if not channels[0].is_single
        }
        self.size = linkage.system.length
        self.chord = linkage.chords[0]
        self.follower = Follower(linkage, start)
        self._seen: dict[str, Array] | None = None
        #: Where drivers were told to be that were held short of it, and where everything is held.
        self._wanted: dict[str, Array] = {}
        self._held: Positions = {}
        now = {joint: self._read(rig, joint) for joint in self.channels}
        if self.follower.adopt(now):
            self._seen = self._given(now)
        self._told = ""

    def before_frame(self, frame: float) -> None:
        """Follow where curves will have the drivers at a frame, as far as nothing else tells."""
        values = {joint: self._read(self.rig, joint) for joint in self._given_joints()}
        for joint, numbers in values.items():
            for number, channel in enumerate(self.channels[joint]):
                if not channel.is_single:
                    return
                curve = self._curve(channel)
                if curve is not None:
                    numbers[number] = curve.evaluate(frame)
        self._follow({joint: np.float32(value).astype(np.float64) for joint, value in values.items()})

    def after_change(self, evaluated: bpy.types.Object) -> None:
        """Follow where the drivers of an evaluated rig are."""
        self._follow({joint: self._read(evaluated, joint) for joint in self._given_joints()})

    def _given(self, values: dict[str, Array]) -> dict[str, Array]:
        return {joint: values[joint] for joint in self._given_joints()}

    def _given_joints(self) -> list[str]:
        """What is not to be moved: keyed joints, and drivers unless the keyed ones are as many as drive the loops."""
        keyed = [joint for joint, channels in self.channels.items() if any(map(self._curve, channels))]
        if len(keyed) >= len(self.drivers):
            return keyed
        return list(dict.fromkeys([*self.drivers, *keyed]))

    def _curve(self, channel: Channel) -> bpy.types.FCurve | None:
        data = self.rig.animation_data
        if data is None or data.action is None:
            return None
        curves = action_curves(self.rig, data.action, create=False)
        found = (curves.find(path, index=index) for path, index in channel.curves()) if curves is not None else ()
        return next((curve for curve in found if curve is not None and not curve.mute), None)

    def _unstopped(self) -> Iterator[str]:
        """The joints whose stops the user has switched off on their bones."""
        for joint, channels in self.channels.items():
            limits = [c for each in channels for c in self.rig.pose.bones[each.bone].constraints if is_stop(c)]
            if any(limit.mute or limit.influence == 0.0 for limit in limits):
                yield joint

    def _follow(self, given: dict[str, Array]) -> None:
        if _same(given, self._seen):
            return
        self._seen = given
        if len(given) == len(self.channels):
            return  # keys say it all
        if not _same(given, self._wanted):
            self.follower.stops.leave_out(set(self._unstopped()))
            # what keys say of more joints than drive the loops is not for the loops to mend
            found = self.follower.follow(given, hold=len(given) == len(self.drivers))
            self._wanted, self._held = (given, found.positions) if found.held else ({}, {})
            self._tell(found)
            positions = found.positions
        else:
            positions = self._held
        for joint in self.channels.keys() - (given.keys() - self._wanted.keys()):
            self._write(joint, positions[joint])
        if self._wanted:
            self._seen = {joint: positions[joint].astype(np.float32).astype(np.float64) for joint in given}

    def _tell(self, found: Followed) -> None:
        """Say in the model's report that the loop does not close at the present pose, or that its drivers are held
        where it does; no more when they are where they should be again."""
        message, code = "", _CODE
        if found.held and found.stop is not None:
            joint, upper = found.stop
            message = f"Joint {joint!r} is at its {'upper' if upper else 'lower'} stop: its loop is held there"
            code = _HELD
        elif found.held:
            message, code = "A loop closes no further than here: its drivers are held where it does", _HELD
        elif found.opening > 2.0 * CLOSED:
            message = (
                "A loop cannot close where its drivers are now: the others are as near to it as they can be, which "
                f"leaves it open by {found.opening * self.size:.3g} (length, or as much at an arm of {self.size:.3g})"
            )
        if message == self._told:
            return
        lines = settings(self.rig).report
        for number, line in reversed(list(enumerate(lines))):
            if line.code in {_CODE, _HELD} and line.where == self.chord:
                lines.remove(number)
        self._told = message
        if message:
            report = Report()
            report.warn(code, message, where=self.chord)
            add_to_report(self.rig, report)

    def _read(self, rig: bpy.types.Object, joint: str) -> Array:
        channels = self.channels[joint]
        return read_pose(rig, channels, self._turns.get(channels[0].bone))

    def _write(self, joint: str, values: Array) -> None:
        channels = self.channels[joint]
        write_pose(self.rig, channels, values, self._turns.get(channels[0].bone))


class RigidLoop:
    """A linkage of a rig's without a degree of freedom: its joints stay where the loops are closed."""

    drivers: tuple[str, ...] = ()

    def __init__(
        self, rig: bpy.types.Object, linkage: Linkage, start: Positions, every: Mapping[str, list[Channel]]
    ) -> None:
        self.rig = rig
        self.channels = {joint: every[joint] for joint in linkage.joints if joint in every}
        self._start = {joint: start[joint] for joint in self.channels}
        #: What was posed and put back last: what something poses again at once, a driver, is left alone.
        self._refused: dict[str, Array] | None = None

    def before_frame(self, _frame: float) -> None:
        """Let curves pose anew what was put back at the frame before."""
        self._refused = None

    def after_change(self, evaluated: bpy.types.Object) -> None:
        """Put joints back that an evaluated rig has elsewhere."""
        now = {joint: read_pose(evaluated, channels) for joint, channels in self.channels.items()}
        moved = {joint: value for joint, value in now.items() if not _near(value, self._start[joint])}
        if not moved or _same(moved, self._refused):
            self._refused = self._refused if moved else None
            return
        self._refused = moved
        for joint in moved:
            write_pose(self.rig, self.channels[joint], self._start[joint])


def _near(one: Array, other: Array) -> bool:
    return bool((np.abs(one - other) <= _STANDS * np.maximum(1.0, np.abs(other))).all())


def _same(one: dict[str, Array], other: dict[str, Array] | None) -> bool:
    return (
        other is not None
        and one.keys() == other.keys()
        and all(np.array_equal(value, other[joint]) for joint, value in one.items())
    )


# ---------------------------------------------------------------- from Blender's objects


def loops_mechanism(rig: bpy.types.Object) -> Mechanism:
    """The joints of a model as they stand in Blender, with the bodies (by their objects' names) that they hold
    together. Joints that close loops are the rig's."""
    bodies, joints = parts(rig, "BODY"), {}
    for empty in parts(rig, "JOINT"):
        record = record_of(empty)
        joint = record.joint
        lost = (joint.parent is None) + (joint.child is None)
        if not joint.active or lost > int(joint.at_world) or record.source_id in joints:
            continue
        names = [end.name if end is not None else None for end in (joint.parent, joint.child)]
        made = Joint(record.source_id, record.source_name, joint.type, names[0], names[1], *sides_of(empty))
        made.dofs = [_begun(dof, start_of(kept)) for dof, kept in zip(read_dofs(joint), joint.dofs, strict=True)]
        made.extra[CLOSES_LOOP] = joint.loop
        joints[record.source_id] = made
    return Mechanism(rig.name, bodies=[Body(obj.name, obj.name) for obj in bodies], joints=list(joints.values()))


def _begun(dof: Any, start: list[float]) -> Any:
    return replace(dof, position=start[0]) if len(start) == 1 else replace(dof, start=tuple(start))


def live_loops(rig: bpy.types.Object) -> list[LiveLoop | RigidLoop]:
    """The loops of a rig that have followers, gathered once."""
    if rig.session_uid not in _loops:
        _loops[rig.session_uid] = list(_gathered(rig))
    return _loops[rig.session_uid]


def rigid_joints(rig: bpy.types.Object) -> set[str]:
    """The ids of the joints of loops without a degree of freedom."""
    return {joint for loop in live_loops(rig) if not loop.drivers for joint in loop.channels}


def has_none(rig: bpy.types.Object) -> None:
    """Know of a rig that was made just now that nothing in it follows."""
    _loops[rig.session_uid] = []


def _gathered(rig: bpy.types.Object) -> Iterator[LiveLoop | RigidLoop]:
    follows = {record_of(empty).source_id for empty in parts(rig, "JOINT") if record_of(empty).joint.follows}
    if not follows:
        return
    mechanism, channels = loops_mechanism(rig), servo_channels(rig)
    start = {joint.id: joint_initial(joint) for joint in mechanism.joints}
    for linkage in linkages(mechanism):
        if any(joint not in channels for joint in linkage.joints if joint not in linkage.chords):
            continue  # a bone is gone: nothing can be followed until it is made again
        drivers = [joint for joint in linkage.joints if joint not in follows and joint not in linkage.chords]
        if drivers and follows.intersection(linkage.joints):
            yield LiveLoop(rig, linkage, start, drivers, channels)
        elif not drivers and linkage.joints:
            yield RigidLoop(rig, linkage, _closed(rig, linkage, start, channels), channels)


def _closed(rig: bpy.types.Object, linkage: Linkage, start: Positions, every: Mapping[str, list[Channel]]) -> Positions:
    """Where a loop without a degree of freedom is closed: at the file's positions, or where it stands, as one does that
    an edit closed there."""
    if np.abs(linkage.system.residual(linkage.system.vector(start))).max(initial=0.0) <= CLOSED:
        return start
    return {**start, **{joint: read_pose(rig, every[joint]) for joint in linkage.joints if joint in every}}


# ---------------------------------------------------------------- what Blender calls


_resting = {"depth": 0}


@contextmanager
def resting() -> Iterator[None]:
    """Within it nothing is followed: while an armature is made anew, bones and records do not fit each other."""
    _resting["depth"] += 1
    try:
        yield
    finally:
        _resting["depth"] -= 1


def is_resting() -> bool:
    """Whether an armature is being made anew."""
    return _resting["depth"] > 0


@persistent
def before_frame(scene: bpy.types.Scene, _depsgraph: Any = None) -> None:
    """Pose the followers for the frame that is about to be evaluated."""
    for loop in _of_scene(scene):
        loop.before_frame(scene.frame_current_final)


@persistent
def after_frame(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """Follow what the curves alone did not tell. Blender then evaluates the frame once more."""
    for loop in _of_scene(scene):
        loop.after_change(loop.rig.evaluated_get(depsgraph))


@persistent
def after_update(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """Follow what a change of poses did. The loops tell themselves whether their drivers moved: what Blender tells of
    is everything that a pose carries, one by one."""
    if depsgraph.id_type_updated("OBJECT"):
        for loop in _of_scene(depsgraph.scene):
            loop.after_change(loop.rig.evaluated_get(depsgraph))


def _of_scene(scene: bpy.types.Scene) -> Iterator[LiveLoop | RigidLoop]:
    for rig in rigs_in(scene) if not _resting["depth"] else ():
        if rig.mode != "EDIT" and live_loops(rig):
            yield from _whole(rig)


def _whole(rig: bpy.types.Object) -> list[LiveLoop | RigidLoop]:
    """The loops of a rig of which no bone was renamed or deleted since they were gathered."""
    loops = live_loops(rig)
    bones = rig.pose.bones
    if any(channel.bone not in bones for loop in loops for each in loop.channels.values() for channel in each):
        forget(rig)
        loops = live_loops(rig)
    return loops


def forget(rig: bpy.types.Object | None = None) -> None:
    """What was gathered, of a rig or of all, is gathered anew when it is needed."""
    if rig is None:
        _loops.clear()
    else:
        _loops.pop(rig.session_uid, None)
