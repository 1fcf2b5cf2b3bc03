"""Solutions of closed loops at frames, kept until something changes.

The numbers of all bones of a rig's loops are one array. Before a frame that is known it is put into the rig, and after
it compared with what was evaluated: drivers that are where they were then need no solving, and Blender need not
evaluate the frame once more.

Note:
    Writing a bone's property tags the geometry of its rig: before a frame that costs Blender 0.15 ms (a rig of 5 bones,
    0.03 ms a frame without) to 0.6 ms (41 bones, 0.25 ms), and after it as much again (4.2 to 5.2). ``foreach_set``
    tags nothing in 4.2, where the evaluated rigs have to be written too; graphs of renders and exporters cannot be come
    to before the frame: that they lack the numbers is seen after it, and the rig is tagged for them. From 4.5 on it
    tags the rig as one whose parameters changed, the evaluated ones follow by that, and it costs 0.02 ms. Poses then
    are right to the last digit, as all bones of an animated rig are evaluated.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...compat import POSE_SETTING_TAGS
from ...data.channels import Channel

PoseArray = NDArray[np.float32]
#: Properties of bones with the places of some numbers among those of all bones, and the numbers.
ChosenValues = tuple[tuple[str, NDArray[np.intp], PoseArray], ...]
_PROPERTY_SIZES = {"rotation_euler": 3, "location": 3, "rotation_quaternion": 4}
#: Frames that are kept of a rig at most.
MAX_CACHED_FRAMES = 10_000


class PoseValues:
    """The numbers of some joints' bones as one array (n,), in the order of the joints and their channels."""

    def __init__(self, rig: bpy.types.Object, joints: Iterable[tuple[str, Sequence[Channel]]]) -> None:
        place = {name: number for number, name in enumerate(rig.pose.bones.keys())}
        self.rows: dict[str, slice] = {}
        props: list[str] = []
        places: list[int] = []
        for joint, channels in joints:
            first = len(props)
            for prop, index, bone in pose_value_paths(channels):
                props.append(prop)
                places.append(place[bone] * _PROPERTY_SIZES[prop] + index)
            self.rows[joint] = slice(first, len(props))
        self.size, self._bones = len(props), len(place)
        told, every = np.array(props), np.array(places, dtype=np.intp)
        of_props = {prop: np.flatnonzero(told == prop) for prop in dict.fromkeys(props)}
        self._props = [(prop, rows, every[rows]) for prop, rows in of_props.items()]
        self._buffers = {prop: np.empty(_PROPERTY_SIZES[prop] * len(place), dtype=np.float32) for prop in of_props}

    def read(self, rig: bpy.types.Object) -> PoseArray | None:
        """The numbers of a rig, which may be an evaluated one; None where its bones are others."""
        return self.last_read() if self.read_whole(rig) else None

    def read_whole(self, rig: bpy.types.Object) -> bytes:
        """What a rig's bones say in the properties that have some of the numbers: to see that nothing is another, which
        is quicker than to compare numbers. Nothing where its bones are others."""
        bones = self._bones_of(rig)
        if bones is None:
            return b""
        for prop, buffer in self._buffers.items():
            bones.foreach_get(prop, buffer)
        return b"".join([buffer.tobytes() for buffer in self._buffers.values()])

    def last_read(self) -> PoseArray:
        """The numbers of the rig that was read last."""
        out = np.empty(self.size, dtype=np.float32)
        for prop, rows, places in self._props:
            out[rows] = self._buffers[prop][places]
        return out

    def chosen(self, numbers: PoseArray, which: NDArray[np.bool_]) -> list[ChosenValues]:
        """Some of the numbers at frames (frames, n), as ``write`` takes them, for each frame."""
        every = [(prop, places[which[rows]], numbers[:, rows[which[rows]]]) for prop, rows, places in self._props]
        every = [each for each in every if len(each[1])]
        return [tuple((prop, places, own[row]) for prop, places, own in every) for row in range(len(numbers))]

    def write(self, rig: bpy.types.Object, evaluated: Sequence[bpy.types.Object], chosen: ChosenValues) -> None:
        """Have a rig, and what is ``evaluated`` of it, say some numbers by ``foreach_set``.

        What is evaluated has all others as the rig has them, until it is evaluated again.
        """
        own = self._bones_of(rig)
        every = [own, *map(self._bones_of, evaluated)]
        for prop, places, numbers in chosen if own is not None else ():
            buffer = self._buffers[prop]
            own.foreach_get(prop, buffer)
            buffer[places] = numbers
            for bones in every:
                if bones is not None:
                    bones.foreach_set(prop, buffer)

    def _bones_of(self, rig: bpy.types.Object) -> Any:
        """A rig's bones; None where they are others."""
        pose = rig.pose
        bones = None if pose is None else pose.bones
        return bones if bones is not None and len(bones) == self._bones else None


def pose_value_paths(channels: Sequence[Channel]) -> list[tuple[str, int, str]]:
    """The (property, index, bone) of every number that poses a joint, in the order of its channels."""
    out = []
    for channel in channels:
        if channel.is_single:
            out.append((channel.prop, channel.index, channel.bone))
        elif channel.index == 0:
            out += [(prop, index, channel.bone) for prop, index in channel.numbers()]
    return out


@dataclass
class CachedFrame:
    """Solution of a rig's loops at a frame: the numbers that are evaluated there, which of them the loops give, and the
    states of the loops."""

    numbers: PoseArray
    given: ChosenValues
    states: tuple[Any, ...]
    #: All that the bones said when the numbers were found to be these last.
    whole: bytes = b""

    @cached_property
    def is_held(self) -> bool:
        """Return whether drivers are held short of where they are told to be."""
        return any(state is not None and state.is_held for state in self.states)


class FrameCache:
    """The known frames of a rig in a scene, of one state of the file. ``loops`` are those that the numbers are of."""

    def __init__(self, loops: Sequence[Any], numbers: PoseValues) -> None:
        self.loops, self.numbers = loops, numbers
        self._frames: dict[float, CachedFrame] = {}

    def get(self, frame: float) -> CachedFrame | None:
        """Return what is known of a frame."""
        return self._frames.get(frame)

    def keep(self, frame: float, known: CachedFrame) -> None:
        """Know a frame."""
        if len(self._frames) >= MAX_CACHED_FRAMES:
            del self._frames[next(iter(self._frames))]
        self._frames[frame] = known

    def put(self, scene: bpy.types.Scene, rig: bpy.types.Object, known: CachedFrame) -> None:
        """Have a rig and what is evaluated of it in a scene say what the loops give at a frame."""
        evaluated: list[bpy.types.Object] = []
        if not POSE_SETTING_TAGS and not bpy.app.is_job_running("RENDER"):  # else what is shown is drawn meanwhile
            graphs = (layer.depsgraph for layer in scene.view_layers)
            evaluated = [rig.evaluated_get(graph) for graph in graphs if graph is not None]
        self.numbers.write(rig, evaluated, known.given)
