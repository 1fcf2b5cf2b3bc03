"""Cache of closed loop solutions by frame, until something changes.

The channel values of all bones of a rig's loops form one array. Before a cached frame it is written to the rig, and
after the frame it is compared with the evaluated pose: if the input joints are the same nothing has to be solved, and
Blender need not evaluate the frame again.

Note:
    Writing a property of a bone tags the geometry of its rig: before a frame that costs 0.15 ms (a rig of 5 bones, 0.03
    ms a frame without) to 0.6 ms (41 bones, 0.25 ms), and after it as much again (4.2 to 5.2). ``foreach_set`` tags
    nothing in 4.2, where the evaluated rigs have to be written too; depsgraphs of renders and exporters cannot be
    reached before the frame: that they lack the values is detected after it, and the rig is tagged for them. From 4.5
    on it tags the rig as one whose parameters changed, the evaluated ones are updated by that, and it costs 0.02 ms.
    Poses are then bitwise right, since all bones of an animated rig are evaluated.
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
#: Property, indices of some of its values among those of all bones, and the values.
ChosenValues = tuple[tuple[str, NDArray[np.intp], PoseArray], ...]
_PROPERTY_SIZES = {"rotation_euler": 3, "location": 3, "rotation_quaternion": 4}
#: Maximum number of cached frames per rig.
MAX_CACHED_FRAMES = 10_000


class PoseValues:
    """Channel values of some joints' bones as one array (n,), in the order of the joints and their channels."""

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
        """Return the values of a rig, which may be an evaluated copy; None if its bones changed."""
        return self.last_read() if self.read_whole(rig) else None

    def read_whole(self, rig: bpy.types.Object) -> bytes:
        """Return the raw bytes of all bone properties that contain some of the values; empty if the bones changed.

        Comparing bytes is faster than comparing values.
        """
        bones = self._bones_of(rig)
        if bones is None:
            return b""
        for prop, buffer in self._buffers.items():
            bones.foreach_get(prop, buffer)
        return b"".join([buffer.tobytes() for buffer in self._buffers.values()])

    def last_read(self) -> PoseArray:
        """Return the values of the rig that was read last."""
        out = np.empty(self.size, dtype=np.float32)
        for prop, rows, places in self._props:
            out[rows] = self._buffers[prop][places]
        return out

    def chosen(self, numbers: PoseArray, which: NDArray[np.bool_]) -> list[ChosenValues]:
        """Return the values selected by a mask, in the form that ``write`` takes.

        Args:
            numbers: All values at frames (frames, n).
            which: Mask (n,).

        Returns:
            The selected values of each frame.
        """
        every = [(prop, places[which[rows]], numbers[:, rows[which[rows]]]) for prop, rows, places in self._props]
        every = [each for each in every if len(each[1])]
        return [tuple((prop, places, own[row]) for prop, places, own in every) for row in range(len(numbers))]

    def write(self, rig: bpy.types.Object, evaluated: Sequence[bpy.types.Object], chosen: ChosenValues) -> None:
        """Write selected values to a rig and its ``evaluated`` copies by ``foreach_set``.

        The other values of the evaluated copies become the rig's until it is evaluated again.
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
        """Return the pose bones of a rig; None if they changed."""
        pose = rig.pose
        bones = None if pose is None else pose.bones
        return bones if bones is not None and len(bones) == self._bones else None


def pose_value_paths(channels: Sequence[Channel]) -> list[tuple[str, int, str]]:
    """Return (property, index, bone) of every channel value of a joint, in the order of its channels."""
    out = []
    for channel in channels:
        if channel.is_single:
            out.append((channel.prop, channel.index, channel.bone))
        elif channel.index == 0:
            out += [(prop, index, channel.bone) for prop, index in channel.numbers()]
    return out


@dataclass
class CachedFrame:
    """Solution of a rig's loops at a frame: evaluated values, the part given by the loops, and the loops' states."""

    numbers: PoseArray
    given: ChosenValues
    states: tuple[Any, ...]
    #: Raw bytes of the bones when they last matched the values.
    whole: bytes = b""

    @cached_property
    def is_held(self) -> bool:
        """Return whether input joints are held short of their values."""
        return any(state is not None and state.is_held for state in self.states)


class FrameCache:
    """Cached frames of a rig in a scene, for one state of the .blend; ``loops`` are those that the values belong to."""

    def __init__(self, loops: Sequence[Any], numbers: PoseValues) -> None:
        self.loops, self.numbers = loops, numbers
        self._frames: dict[float, CachedFrame] = {}

    def get(self, frame: float) -> CachedFrame | None:
        """Return the cached solution of a frame, or None."""
        return self._frames.get(frame)

    def keep(self, frame: float, known: CachedFrame) -> None:
        """Cache a frame; the oldest is dropped beyond ``MAX_CACHED_FRAMES``."""
        if len(self._frames) >= MAX_CACHED_FRAMES:
            del self._frames[next(iter(self._frames))]
        self._frames[frame] = known

    def put(self, scene: bpy.types.Scene, rig: bpy.types.Object, known: CachedFrame) -> None:
        """Write the values that the loops determine at a frame to a rig and its evaluated copies in a scene."""
        evaluated: list[bpy.types.Object] = []
        if not POSE_SETTING_TAGS and not bpy.app.is_job_running("RENDER"):  # else the viewport draws them meanwhile
            graphs = (layer.depsgraph for layer in scene.view_layers)
            evaluated = [rig.evaluated_get(graph) for graph in graphs if graph is not None]
        self.numbers.write(rig, evaluated, known.given)
