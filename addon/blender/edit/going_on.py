"""The channels of joints after their bones were planned anew: what poses and keys them goes on where it can; what a
joint no longer has is reset, and its curves and drivers go."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import bpy
import numpy as np

from ..animation.keys import NEAREST
from ..animation.renamed import bone_in
from ..build.rig import is_screw
from ..channels import Channel, block_turn, bone_path, servo_channels
from ..compat import action_curves, new_curve
from ..model_parts import joint_bones
from ..posing import write_pose
from .present import JointEdit, Present

Curve = tuple[str, int]
#: What poses a bone, and how many numbers each is.
_PROPERTIES = {"location": 3, "rotation_euler": 3, "rotation_quaternion": 4}


def go_on(rig: bpy.types.Object, present: Present, edits: Mapping[str, JointEdit], renewed: Collection[str]) -> None:
    """Pose and key the joints of a model as they were.

    Args:
        rig: the armature, whose bones are made anew.
        present: how it stood before.
        edits: what was done to joints, by their ids.
        renewed: names of new bones that others had, which are gone.
    """
    _put_back(rig, present, renewed)
    after = servo_channels(rig)
    moved, gone = _where_curves_go(rig, present, edits, after)
    for name in renewed:
        gone |= set(_curves_of(name))
    _reset(rig, (gone | moved.keys()) - {place for own in after.values() for each in own for place in each.curves()})
    for joint, own in after.items():
        edit, old = edits.get(joint, _AS_IT_WAS), present.channels.get(joint, [])
        values = edit.values
        if values is None and len(old) == len(own) and not _is_same(rig, present, old, own):
            values = present.pose[joint]
        if values is not None and len(values) == len(own):
            write_pose(rig, own, values)
    if gone or any(old != new or factor != 1.0 for old, (new, factor) in moved.items()):
        _move_curves(rig, present, moved, gone)
    for own in after.values():
        for channel in own:
            if not channel.is_single and channel.index == 0 and not present.is_turned_alike(rig, channel):
                _turn_curves(rig, present, channel)


_AS_IT_WAS = JointEdit()


def _put_back(rig: bpy.types.Object, present: Present, renewed: Collection[str]) -> None:
    """Have bones that stay say what they said: in edit mode Blender evaluates their curves at some other frame."""
    for number, name in enumerate(present.names):
        pose: bpy.types.PoseBone | None = rig.pose.bones.get(name)
        for prop, values in present.numbers.items() if pose is not None and name not in renewed else ():
            if prop != "scale" and not np.array_equal(getattr(pose, prop), values[number]):
                setattr(pose, prop, values[number])


def make_fresh(pose: bpy.types.PoseBone) -> None:
    """Have a new bone be as none was before it: Blender gives one what a deleted bone of its name had."""
    for constraint in list(pose.constraints):
        pose.constraints.remove(constraint)
    pose.location = pose.rotation_euler = (0.0, 0.0, 0.0)
    pose.rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
    pose.scale = (1.0, 1.0, 1.0)
    pose.lock_location = pose.lock_rotation = (False, False, False)
    pose.lock_rotation_w = pose.lock_ik_x = pose.lock_ik_y = pose.lock_ik_z = False
    pose.custom_shape = pose.custom_shape_transform = None
    pose.color.palette = "DEFAULT"


def _where_curves_go(
    rig: bpy.types.Object,
    present: Present,
    edits: Mapping[str, JointEdit],
    after: Mapping[str, list[Channel]],
) -> tuple[dict[Curve, tuple[Curve, float]], set[Curve]]:
    """The curves of joints that go on, with where and by which factor, and those that do not."""
    chains, moved, before = joint_bones(rig), dict[Curve, tuple[Curve, float]](), set[Curve]()
    for joint, old in present.channels.items():
        if joint in after or joint in edits:
            before.update(place for channel in old for place in channel.curves())
            moved.update(_of_joint(old, after.get(joint, []), edits.get(joint, _AS_IT_WAS)))
    for joint, edit in edits.items():
        if edit.held is not None:
            before.update(place for bone in chains.get(joint, ()) for place in _curves_of(bone))
    return moved, before - moved.keys()


def _of_joint(old: list[Channel], new: list[Channel], edit: JointEdit) -> Iterator[tuple[Curve, tuple[Curve, float]]]:
    numbers = edit.numbers
    if numbers is None:
        numbers = {channel.number: (channel.number, 1.0) for channel in old} if len(old) == len(new) else {}
    for channel in old:
        number, factor = numbers.get(channel.number, (-1, 1.0))
        if not 0 <= number < len(new) or new[number].is_single != channel.is_single:
            continue
        if channel.is_single:
            yield channel.curves()[0], (new[number].curves()[0], factor)
        elif channel.index == 0:
            yield from ((was, (now, 1.0)) for was, now in zip(channel.curves(), new[number].curves(), strict=False))


def _curves_of(bone: str) -> Iterator[Curve]:
    """All that poses a bone."""
    for name, count in _PROPERTIES.items():
        for index in range(count):
            yield bone_path(bone, name), index


def _is_same(rig: bpy.types.Object, present: Present, old: list[Channel], new: list[Channel]) -> bool:
    """Whether channels are those that they were, and mean the same."""
    if [c.curves() for c in old] != [c.curves() for c in new] or [c.against for c in old] != [c.against for c in new]:
        return False
    return all(present.is_turned_alike(rig, channel) for channel in new)


def _reset(rig: bpy.types.Object, places: Collection[Curve]) -> None:
    """Set channels to what they are of a bone that nobody posed."""
    for path, index in places:
        prop = path.rpartition(".")[2]
        pose: bpy.types.PoseBone | None = rig.pose.bones.get(bone_in(path))
        usual = 1.0 if (prop, index) == ("rotation_quaternion", 0) else 0.0
        if pose is not None and getattr(pose, prop)[index] != usual:
            getattr(pose, prop)[index] = usual


def _move_curves(
    rig: bpy.types.Object, present: Present, moved: Mapping[Curve, tuple[Curve, float]], gone: Collection[Curve]
) -> None:
    """Have the curves and drivers of a model pose the channels that their coordinates have now; of those that no
    coordinate has they go."""
    data = rig.animation_data
    owners = [curves for action in present.actions if (curves := action_curves(rig, action, create=False)) is not None]
    for curves in (*owners, *(() if data is None else (data.drivers,))):
        found = [(curve, (curve.data_path, curve.array_index)) for curve in curves if not is_screw(curve.driver)]
        going = [(curve, *moved[place]) for curve, place in found if place in moved]
        for curve in [curve for curve, place in found if place in gone]:
            curves.remove(curve)
        for curve, place, factor in going:
            if (curve.data_path, curve.array_index) != place:
                curve.data_path, curve.array_index = place
            if factor < 0.0:
                _negate(curve)


def _turn_curves(rig: bpy.types.Object, present: Present, first: Channel) -> None:
    """Have the keys of a ball's or free block's bone, which has other axes in its joint's frame now, say what they
    said. What turns its axes turns the three numbers of its places, and of its quaternions beside the real one."""
    turn = block_turn(rig, first.bone).T @ present.turns[first.bone]
    for action in present.actions:
        curves = action_curves(rig, action, create=False)
        for prop, indices in (("rotation_quaternion", (1, 2, 3)), ("location", (0, 1, 2))):
            path = bone_path(first.bone, prop)
            found = [curves.find(path, index=index) for index in indices] if curves is not None else []
            if prop == "location" and first.kind != "free" or not any(found):
                continue
            frames = sorted({point.co[0] for curve in found if curve is not None for point in curve.keyframe_points})
            three = [
                curve or new_curve(curves, path, index, first.bone) for curve, index in zip(found, indices, strict=True)
            ]
            for curve in three:
                values = {frame: curve.evaluate(frame) for frame in frames}
                for frame in frames:
                    if not any(abs(point.co[0] - frame) < NEAREST for point in curve.keyframe_points):
                        curve.keyframe_points.insert(frame, values[frame])
            for name in ("co", "handle_left", "handle_right"):
                numbers = np.empty((3, 2 * len(frames)), dtype=np.float32)
                for row, curve in zip(numbers, three, strict=True):
                    curve.keyframe_points.foreach_get(name, row)
                numbers[:, 1::2] = turn @ numbers[:, 1::2]
                for row, curve in zip(numbers, three, strict=True):
                    curve.keyframe_points.foreach_set(name, row)
            for curve in three:
                curve.update()


def _negate(curve: bpy.types.FCurve) -> None:
    """Have a curve, or the driver whose value it maps, say the opposite."""
    points = curve.keyframe_points
    if curve.driver is not None and not len(points):  # it says the driver's value itself
        curve.extrapolation = "LINEAR"
        for at in (0.0, 1.0):
            points.insert(at, at).interpolation = "LINEAR"
    for name in ("co", "handle_left", "handle_right"):
        numbers = np.empty(2 * len(points), dtype=np.float32)
        points.foreach_get(name, numbers)
        numbers[1::2] *= -1.0
        points.foreach_set(name, numbers)
    for modifier in curve.modifiers:
        _negate_modifier(modifier)
    curve.update()


def _negate_modifier(modifier: Any) -> None:
    """Have a curve modifier do to the opposite curve the opposite of what it did. Cycles and steps do so as they are,
    and a noise that multiplies."""
    if modifier.type == "GENERATOR":
        factored = modifier.mode == "POLYNOMIAL_FACTORISED"
        numbers = list(modifier.coefficients)
        count = 2 if factored else len(numbers)  # of factors (a + b x) the first
        modifier.coefficients = [*(-number for number in numbers[:count]), *numbers[count:]]
    elif modifier.type == "FNGENERATOR":
        modifier.amplitude, modifier.value_offset = -modifier.amplitude, -modifier.value_offset
    elif modifier.type == "NOISE" and modifier.blend_type != "MULTIPLY":
        modifier.strength = -modifier.strength
    elif modifier.type == "LIMITS":
        lowest, highest = modifier.min_y, modifier.max_y
        modifier.use_min_y, modifier.use_max_y = modifier.use_max_y, modifier.use_min_y
        modifier.min_y, modifier.max_y = -highest, -lowest
    elif modifier.type == "ENVELOPE":
        modifier.reference_value = -modifier.reference_value
        modifier.default_min, modifier.default_max = -modifier.default_max, -modifier.default_min
        for point in modifier.control_points:
            point.min, point.max = -point.max, -point.min
