"""How far an edit of a joint takes the motion of a model from what it was."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np

from ...model.kinematics import initial_coordinates
from ...model.records import Array
from ...model.report import Report
from ...model.stops import put_within
from ..animation.actions import active_action
from ..animation.stops import stops_of
from ..blocks import coordinates_of
from ..channels import Channel, block_turn, servo_channels
from ..compat import action_curves
from ..extract import extract
from ..model_parts import parts
from .present import Present, present_tree

#: Bodies that are no farther apart, as a share of the model's size, are where they were.
_SAME = 1e-4
#: How many keyframes are compared: of more, as many of them, evenly chosen.
_MOST = 200


class KeyedMotion:
    """Where bodies are at the keyframes of a joint that is to be edited. Costs nothing where it has none."""

    def __init__(self, rig: bpy.types.Object, present: Present, joint: str) -> None:
        self.rig = rig
        places = {place for channel in present.channels.get(joint, ()) for place in channel.curves()}
        curves = [curve for place, curve in _curves(rig).items() if place in places]
        keys = {float(point.co[0]) for curve in curves for point in curve.keyframe_points}
        self.frames = sorted(keys)[:: 1 + len(keys) // _MOST]
        self.names: list[str] = []
        self.before = self._bodies() if self.frames else np.zeros(0)

    def change(self) -> Report:
        """What is to be said of the keyframes once the joint was edited."""
        report = Report()
        if not self.frames:
            return report
        after = self._bodies()
        apart = np.linalg.norm(after[:, :, :3, 3] - self.before[:, :, :3, 3], axis=2)
        turned = np.abs(after[:, :, :3, :3] - self.before[:, :, :3, :3]).max(axis=(2, 3))
        size = float(np.ptp(self.before[:, :, :3, 3].reshape(-1, 3), axis=0).max())
        off = apart if apart.max() > _SAME * size else turned  # a body that turns in place is off as well
        frame, body = np.unravel_index(int(np.argmax(off)), off.shape)
        if apart[frame, body] > _SAME * size or turned[frame, body] > _SAME:
            angle = np.degrees(2.0 * np.arcsin(min(1.0, turned[frame, body] / 2.0)))
            report.warn(
                "motion-changed",
                f"Keyframes: body {self.names[body]!r} is {apart[frame, body]:.3g} (length) and {angle:.3g}° off at "
                f"frame {self.frames[frame]:g}, the most of {len(self.frames)}. Key the joint anew there; the present "
                "frame is held",
                where=self.names[body],
            )
        return report

    def _bodies(self) -> Array:
        """Where bodies are at the frames (frames, bodies, 4, 4), their origins at their centers of mass and the roots
        where they are designed."""
        mechanism = extract(self.rig)
        self.names = [body.name for body in mechanism.bodies]
        values = {**initial_coordinates(mechanism), **self._coordinates()}
        poses = present_tree(self.rig, mechanism).forward(values, len(self.frames))
        centers = np.array([body.com for body in mechanism.bodies]).reshape(-1, 3, 1)
        poses[:, :, :3, 3] += (poses[:, :, :3, :3] @ centers)[..., 0]
        return poses

    def _coordinates(self) -> dict[str, Array]:
        """The coordinates (frames, size) of joints by their keyframes, within their stops."""
        curves, stops, out = _curves(self.rig), stops_of(parts(self.rig, "JOINT")), dict[str, Array]()

        def numbers(bone: str, prop: str, path: str, index: int) -> Array:
            curve = curves.get((path, index))
            if curve is None:
                return np.full(len(self.frames), getattr(self.rig.pose.bones[bone], prop)[index])
            return np.array([curve.evaluate(frame) for frame in self.frames])

        def block(own: Sequence[Channel]) -> Array:
            first = own[0]
            found = [numbers(first.bone, path.rpartition(".")[2], path, index) for path, index in first.curves()]
            places = np.array(found[4:]).T if first.kind == "free" else None
            turn = block_turn(self.rig, first.bone)
            return coordinates_of(places, np.array(found[:4]).T, turn, first.against, first.kind == "free")

        for joint, own in servo_channels(self.rig).items():
            columns: list[Array] = []
            for channel in own:
                if channel.is_single:
                    value = numbers(channel.bone, channel.prop, channel.path, channel.index)
                    columns.append(put_within(value, stops.get((joint, channel.number), (None, None))))
                elif channel.index == 0:
                    columns += list(block([c for c in own if c.bone == channel.bone and not c.is_single]).T)
            out[joint] = np.array(columns).T
        return out


def _curves(rig: bpy.types.Object) -> dict[tuple[str, int], bpy.types.FCurve]:
    """The curves that play on a model, by their places."""
    action = active_action(rig)
    curves = action_curves(rig, action, create=False) if action is not None else None
    return {(curve.data_path, curve.array_index): curve for curve in curves or () if not curve.mute}
